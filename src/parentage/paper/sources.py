"""Where the 18 tables of the paper come from, and how the paper reads them.

None is shipped and none is fetched: tic-tac-toe is made by the package, the others are ARFF files
in a folder of the user's. Numeric attributes are cut at the median of the observed values, missing
numbers take that median and missing labels the mode, a variable has the states its header
declares, identifiers and constant columns are left out.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from parentage.data.datasets import tic_tac_toe
from parentage.data.reading import read_table
from parentage.errors import DataWarning, InputError, TableError
from parentage.paper.published import DATASETS

if TYPE_CHECKING:
    import os

    from parentage.data.table import Table

IDENTIFIERS = {"zoo": "animal", "flags": "name"}
"""Columns that name the rows."""
MADE = "tic-tac-toe"


@dataclass(frozen=True)
class PaperTable:
    """One table of the paper: its name, and its file unless the package makes it."""

    name: str
    path: Path | None = None

    def __str__(self) -> str:
        return "made by the package" if self.path is None else self.path.name


def find_sources(folder: str | os.PathLike[str] | None = None) -> list[PaperTable]:
    """Return the tables at hand, in the paper's order; a file is preferred to a made table.

    >>> [str(source) for source in find_sources()]
    ['made by the package']
    """
    files = {} if folder is None else _arff_files(Path(folder))
    if folder is not None and not files.keys() & set(DATASETS):
        warnings.warn(
            DataWarning(
                f"none of the paper's tables is in {str(folder)!r}; files must be named like "
                "zoo.arff"
            ),
            stacklevel=2,
        )
    return [PaperTable(name, files.get(name)) for name in DATASETS if name in files or name == MADE]


def _arff_files(folder: Path) -> dict[str, Path]:
    if not folder.is_dir():
        raise InputError(f"no folder {str(folder)!r}; give a folder with files such as zoo.arff")
    found = [path for path in sorted(folder.iterdir()) if path.suffix.lower() == ".arff"]
    return {path.stem.lower(): path for path in found}


def how_to_add(missing: tuple[str, ...]) -> str:
    """Say which files to put where."""
    files = ", ".join(f"{name}.arff" for name in missing)
    return (
        f"put {files} (the UCI tables in Weka's form) into a folder and run again with that folder"
    )


def load(source: PaperTable) -> Table:
    """Read or make a table the way the paper does."""
    table = tic_tac_toe() if source.path is None else _read(source.path)
    identifier = IDENTIFIERS.get(source.name)
    dropped = {*table.constant, *(name for name in table.names if name == identifier)}
    return table.drop(dropped)


def _read(path: Path) -> Table:
    with warnings.catch_warnings():  # identifiers and constants are expected, and dropped
        warnings.simplefilter("ignore", DataWarning)
        try:
            return read_table(path, format="arff", discretize="median", missing="mode")
        except InputError as error:
            raise TableError(f"{path.name}: {error.message}") from error
