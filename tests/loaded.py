"""Imported by the server that workers of test_cluster.py fork from: they have kernels loaded."""

from __future__ import annotations

import importlib
import os

from parentage import score
from strategies import make_table

score(make_table([[0, 1, 0, 1], [0, 0, 1, 1], [0, 1, 1, 0]]), threads=1)


def serve(name: str, options: tuple[str, ...]) -> None:
    """Be ``dask scheduler`` or ``dask worker``, without a word."""
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    importlib.import_module(f"distributed.cli.dask_{name}").main(options)
