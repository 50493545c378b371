"""Help in groups: what most people type by ``--help``, every option by ``--help-all``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

GROUPS = ("Data", "Model", "Limits", "Output", "Help")
"""The groups of options, in the order of every help."""

WIDE = 100
"""The widest help, in characters; a narrower terminal has a narrower one."""

_SENTENCE = re.compile(r"(?<=[\w)])(?:\. (?=[A-Z])|:\n)")


class GroupedOption(click.Option):
    """An option that knows its group, and whether most people may want it.

    Parameters
    ----------
    group
        One of :data:`GROUPS`.
    common
        Shown by ``--help``; others by ``--help-all`` only.
    page
        The page of the documentation with the details.
    """

    def __init__(
        self,
        *args: Any,
        group: str,
        common: bool,
        page: str | None = None,
        **facts: Any,
    ) -> None:
        assert group in GROUPS, group  # noqa: S101  # written by us, in the decorators
        super().__init__(*args, **facts)
        self.group, self.common, self.page = group, common, page

    def brief(self, context: click.Context) -> tuple[str, str]:
        """Return what is typed and the first sentence of the help, for one line."""
        record = self.get_help_record(context)
        assert record is not None  # noqa: S101  # none of ours is hidden
        return record[0], first_sentence(self.help or "")


def first_sentence(text: str) -> str:
    r"""Return the first sentence of a help text.

    >>> first_sentence("Memory, e.g. 4GB. What does not fit goes to disk.")
    'Memory, e.g. 4GB.'
    >>> first_sentence("What is maximised:\n\n\b\nbic  with penalty")
    'What is maximised.'
    """
    first = _SENTENCE.split(text, maxsplit=1)[0].strip()
    return first if first.endswith(".") else f"{first}."


def option(
    *flags: str, group: str = "Output", common: bool = True, **facts: Any
) -> Callable[[Any], Any]:
    """Declare an option of a command in a group; see :class:`GroupedOption`."""
    return click.option(*flags, cls=GroupedOption, group=group, common=common, **facts)


class GroupedCommand(click.Command):
    """A command whose ``--help`` shows the common options in groups, ``--help-all`` all of them."""

    def __init__(self, name: str | None, **facts: Any) -> None:
        super().__init__(name, **{"context_settings": {"max_content_width": WIDE}, **facts})

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, with the two options that show help at their end."""
        return [*super().get_params(ctx), _HELP_ALL]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Say how a table is read in details that only commands with ``--write-recipe`` take."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if not self._reads_by_recipe(error.option_name):
                raise
            raise click.UsageError(
                f"parentage {self.name} has no {error.option_name}; write it into a recipe: "
                f"parentage info TABLE {error.option_name} … --write-recipe read.toml, then type "
                f"--recipe read.toml here",
                ctx,
            ) from None

    def _reads_by_recipe(self, flag: str) -> bool:
        import dataclasses

        from parentage.data.settings import Reading
        from parentage.work.settings import option_of

        known = {name for parameter in self.params for name in parameter.opts}
        settings = filter(None, map(option_of, dataclasses.fields(Reading)))
        return "--recipe" in known and any(flag in option.flags for option in settings)

    def groups(self, ctx: click.Context) -> Iterator[tuple[str, list[click.Option]]]:
        """Yield every group that has options, with them."""
        options = [p for p in self.get_params(ctx) if isinstance(p, click.Option)]
        for group in GROUPS:
            found = [o for o in options if group_of(o) == group]
            if found:
                yield group, found

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by group: the common ones in a line each, or all in full."""
        whole = ctx.meta.get(_WHOLE, False)
        for group, options in self.groups(ctx):
            rows = []
            for one in options:
                if whole or not isinstance(one, GroupedOption):
                    rows.append(one.get_help_record(ctx))
                elif one.common:
                    rows.append(one.brief(ctx))
            if rows:
                with formatter.section(group):
                    formatter.write_dl([row for row in rows if row is not None])


def group_of(one: click.Option) -> str:
    """Return the group of an option; click's own one shows help."""
    return one.group if isinstance(one, GroupedOption) else "Help"


def command(**facts: Any) -> Callable[[Callable[..., Any]], GroupedCommand]:
    """Declare a command with help in groups."""
    return click.command(cls=GroupedCommand, **facts)


_WHOLE = "parentage.help.whole"


def _show_all(context: click.Context, _option: click.Parameter, given: bool) -> None:
    if given and not context.resilient_parsing:
        context.meta[_WHOLE] = True
        click.echo(context.get_help(), color=context.color)
        context.exit()


_HELP_ALL = GroupedOption(
    ["--help-all"], group="Help", common=True, is_flag=True, is_eager=True, expose_value=False,
    callback=_show_all, help="Show every option, and exit.",
)  # fmt: skip
