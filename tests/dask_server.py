"""A scheduler or a worker of Dask in a process of its own, for test_cluster.py."""

from __future__ import annotations

import importlib
import os


def serve(name: str, options: tuple[str, ...]) -> None:
    """Be ``dask scheduler`` or ``dask worker``, without a word."""
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    importlib.import_module(f"distributed.cli.dask_{name}").main(options)
