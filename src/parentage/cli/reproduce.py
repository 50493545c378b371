"""``parentage reproduce``: says where the tables and figures of the 2018 paper are made."""

from __future__ import annotations

import click


@click.command(
    context_settings={"ignore_unknown_options": True, "help_option_names": []}, hidden=True
)
@click.argument("anything", nargs=-1, type=click.UNPROCESSED)
def reproduce(anything: tuple[str, ...]) -> None:
    """Say what to type instead; every argument of the former command is accepted."""
    from parentage.errors import InputError

    raise InputError(
        "the reproduction of the 2018 paper is no longer a command",
        "run `make reproduce DATA=DIR` in a checkout of the source",
    )
