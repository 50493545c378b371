"""The whole run: every table at hand, as printed and as stated, beside the published numbers.

None of the 18 tables is shipped and none is fetched: tic-tac-toe is made by the package, the others
are ARFF files in a folder of the user's. They are read as in the paper: numeric attributes are
discretised at the median of the observed values, missing numbers take that median and missing
labels the mode, a variable has the states its header declares, identifiers and constant columns are
left out.

:func:`reproduce` returns a :class:`Reproduction`; its :class:`Cell` lists hold what every output
file shows. A number matches if it equals the published one as printed: counts and bounds exactly,
figures to three decimals, the worked example to two.
"""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from parentage.data.datasets import tic_tac_toe
from parentage.data.reading import read_table
from parentage.errors import DataWarning, InputError, TableError
from parentage.scoring.candidates import score
from parentage.scoring.encoding import encode
from reproduction import published
from reproduction.counting import (
    PRINTED,
    QUANTITIES,
    STATED,
    Convention,
    Counts,
    GlassRun,
    ParentBounds,
    Ratios,
    Statistics,
    count_pruned,
    missing_columns,
    parent_bounds,
    ratios_of,
    run_example,
    show_spread,
    statistics_of,
)
from reproduction.published import BOUNDS, COLUMNS, DATASETS, FIGURES, IN_DEGREES, STATISTICS

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    from parentage.data.table import Table

# ---------------------------------------------------------------------------------------------
# Where the tables come from, and how the paper reads them


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


# ---------------------------------------------------------------------------------------------
# The run


SPACE = "|S|"
Value = int | float | str


class Cell(NamedTuple):
    """One number of the paper in its three readings; ``published`` is None if not comparable."""

    dataset: str
    in_degree: int | None
    column: str
    published: Value | None
    printed: Value
    stated: Value

    @property
    def matched(self) -> bool:
        """Whether the printed reading gives the published number."""
        return self.published == self.printed

    @property
    def corrected(self) -> bool:
        """Whether the theorems give another number than the printed reading."""
        return self.stated != self.printed


class Tally(NamedTuple):
    """How many of the numbers that can be compared are matched."""

    matched: int
    of: int

    def __str__(self) -> str:
        return f"{self.matched} of {self.of}"


class Readings(NamedTuple):
    """What one table gives under one convention."""

    counts: Counts
    bounds: ParentBounds
    search_space: dict[int, int]


class Conventions(NamedTuple):
    """The conventions of a run: both readings, and the printed one with one deviation corrected."""

    printed: Convention
    stated: Convention
    exact_division: Convention
    all_at_hand: Convention

    @classmethod
    def around(cls, printed: Convention) -> Conventions:
        """Derive the others from the printed reading."""
        return cls(
            printed,
            STATED,
            replace(printed, halve_whole=False),
            replace(printed, only_evaluated=False),
        )


@dataclass(frozen=True)
class TableRun:
    """One table of the paper, counted."""

    source: PaperTable
    rows: int
    variables: int
    digest: str
    printed: Readings
    stated: Readings
    exact_division: Counts
    """As printed, but with q/2 exact."""
    all_at_hand: Counts
    """As printed, but with every entropy at hand."""
    left_by_theorem1_plus: int
    """Families up to the largest in-degree that Theorem 1⁺ leaves to score, empty sets aside."""
    example: GlassRun | None

    @property
    def name(self) -> str:
        """The table's name in the paper."""
        return self.source.name


@dataclass(frozen=True)
class Reproduction:
    """Everything the run found."""

    tables: tuple[TableRun, ...]

    @property
    def datasets(self) -> tuple[str, ...]:
        """Names of the tables that were at hand."""
        return tuple(table.name for table in self.tables)

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of the tables that were not."""
        return tuple(name for name in DATASETS if name not in self.datasets)

    @cached_property
    def counts(self) -> tuple[Cell, ...]:
        """Tables 2 and 3: the families that the rules prune."""
        return tuple(
            Cell(
                t.name, k, column, published.COUNTS[t.name][k][column],
                t.printed.counts[k][column], t.stated.counts[k][column],
            )
            for t in self.tables for k in IN_DEGREES for column in COLUMNS
        )  # fmt: skip

    @cached_property
    def search_space(self) -> tuple[Cell, ...]:
        """Tables 2 and 3: |S|."""
        return tuple(
            Cell(
                t.name, k, SPACE, published.SEARCH_SPACE[t.name][k],
                t.printed.search_space[k], t.stated.search_space[k],
            )
            for t in self.tables for k in IN_DEGREES
        )  # fmt: skip

    @cached_property
    def bounds(self) -> tuple[Cell, ...]:
        """Table 1: Theorem 3 and Corollary 1."""
        return tuple(cell for t in self.tables for cell in _bound_cells(t))

    @cached_property
    def figures(self) -> tuple[Cell, ...]:
        """The statistics of both figures; comparable only if no table is missing."""
        return tuple(
            Cell(
                f"Figure {figure}", k, name,
                None if self.missing else float(published.FIGURE_STATISTICS[figure][k][name]),
                round(self.statistics("printed", figure, k)[name], 3),
                round(self.statistics("stated", figure, k)[name], 3),
            )
            for figure in FIGURES for k in IN_DEGREES for name in STATISTICS
        )  # fmt: skip

    @cached_property
    def example(self) -> tuple[Cell, ...]:
        """The worked example; empty if glass is missing or has other columns."""
        run = self.glass
        return () if run is None else tuple(_example_cells(run))

    @property
    def glass(self) -> GlassRun | None:
        """The worked example in all its readings."""
        return next((t.example for t in self.tables if t.name == "glass"), None)

    @cached_property
    def ratios(self) -> dict[str, Ratios]:
        """The ratios behind the figures, by reading; one per table at hand."""
        return {
            "printed": ratios_of(t.printed.counts for t in self.tables),
            "stated": ratios_of(t.stated.counts for t in self.tables),
        }

    def statistics(self, reading: str, figure: int, in_degree: int) -> Statistics:
        """Return what one box of a figure shows."""
        return statistics_of(self.ratios[reading][figure][in_degree])

    @property
    def tallies(self) -> dict[str, Tally]:
        """How much of the paper is matched, by kind of number."""
        return {
            "counts": tally(self.counts),
            "bounds": tally(self.bounds),
            "search_space": tally(self.search_space),
            "figures": tally(self.figures),
            "example": tally(self.example),
        }

    @property
    def mismatches(self) -> tuple[Cell, ...]:
        """Numbers that can be compared and differ."""
        cells = (*self.example, *self.bounds, *self.search_space, *self.counts, *self.figures)
        return tuple(c for c in cells if c.published is not None and not c.matched)


def tally(cells: Iterable[Cell]) -> Tally:
    """Count the cells that match, among those that can be compared."""
    comparable = [cell for cell in cells if cell.published is not None]
    return Tally(sum(cell.matched for cell in comparable), len(comparable))


def _bound_cells(table: TableRun) -> Iterator[Cell]:
    known = BOUNDS[table.name]
    yield Cell(
        table.name, None, "Theorem 3", show_spread(known.theorem3),
        show_spread(table.printed.bounds.spread), show_spread(table.stated.bounds.spread),
    )  # fmt: skip
    yield Cell(
        table.name, None, "Corollary 1", known.corollary1,
        table.printed.bounds.corollary1, table.stated.bounds.corollary1,
    )  # fmt: skip


def _example_cells(run: GlassRun) -> Iterator[Cell]:
    for name, known in published.GLASS_EXAMPLE.items():
        numbers = (known.entropy_child, known.entropy_parent, known.added)
        for i, quantity in enumerate(QUANTITIES):
            yield Cell(
                f"glass {name}", None, quantity, numbers[i],
                round(run.printed[name].numbers[i], 2), round(run.stated[name].numbers[i], 4),
            )  # fmt: skip


def reproduce(
    folder: str | os.PathLike[str] | None = None,
    *,
    threads: int = 1,
    printed: Convention = PRINTED,
) -> Reproduction:
    """Count every table at hand in both readings.

    Parameters
    ----------
    folder
        Where the ARFF files are; without it only tic-tac-toe is there.
    threads
        Tables counted at the same time; the result does not depend on it.
    printed
        The reading that is compared with the published numbers.

    Examples
    --------
    >>> str(reproduce().tallies["counts"])
    '21 of 21'
    """
    sources = find_sources(folder)
    tables = [load(source) for source in sources]
    conventions = Conventions.around(printed)
    run = partial(run_table, conventions)
    with ThreadPoolExecutor(threads) as pool:
        return Reproduction(tuple(pool.map(run, sources, tables)))


def run_table(conventions: Conventions, source: PaperTable, table: Table) -> TableRun:
    """Count one table in every reading."""
    encoded = encode(table, "bic", live_only=False)
    printed, stated, exact_division, all_at_hand = count_pruned(encoded, conventions)
    with_example = source.name == "glass" and not missing_columns(table)

    def reading(convention: Convention, counts: Counts) -> Readings:
        sizes = {k: convention.search_space(encoded.n_variables, k) for k in IN_DEGREES}
        return Readings(counts, parent_bounds(table, encoded, convention), sizes)

    return TableRun(
        source,
        table.n_rows,
        table.n_variables,
        table.digest,
        reading(conventions.printed, printed),
        reading(conventions.stated, stated),
        exact_division,
        all_at_hand,
        _left_by_theorem1_plus(table),
        run_example(table, conventions.printed) if with_example else None,
    )


def _left_by_theorem1_plus(table: Table) -> int:
    lists = score(table, rules="thm1p", max_parents=max(IN_DEGREES), threads=1)
    return lists.known().tallies.families_scored - table.n_variables
