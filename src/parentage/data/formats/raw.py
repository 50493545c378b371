"""What a reader of tables hands on: columns as they are in the source, not yet states.

Between file and table. A reader (:mod:`parentage.data.formats.delimited`, ``arff``, ``dat``,
``parquet``, ``frame``) only says what is there; :mod:`parentage.data.columns` alone decides what
missing cells, continuous columns and states become.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from parentage.data.packed import PackedColumn

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from parentage.data.table import Repeats

CellCodes = npt.NDArray[np.signedinteger[Any]]
"""For every row the index of its value among the column's values; −1: the cell is missing."""

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class RawColumn:
    """One column of a source.

    Parameters
    ----------
    name
        Its name.
    codes
        ``int32[rows]``, or fewer bytes: position in ``values``, −1 where the cell is missing. Of
        very many rows they are packed; :meth:`part` and :meth:`to_codes` unpack them.
    values
        The distinct values: labels, or an array when the source has numbers.
    declared
        The source declares ``values`` as the states, in this order, used or not.
    numeric
        The source declares a number (True) or something else (False); None: the values decide.
    refused
        Why the column cannot be used unless it is dropped; None if it can.
    repeats
        ``uint32[rows]``: how often each row occurs; empty: once, each.
    """

    name: str
    codes: CellCodes | PackedColumn
    values: Sequence[str] | npt.NDArray[Any]
    declared: bool = False
    numeric: bool | None = None
    refused: str | None = None
    repeats: Repeats = field(default_factory=lambda: np.empty(0, np.uint32))

    @property
    def packed(self) -> PackedColumn | None:
        """The codes of very many rows; None: they are an array."""
        return self.codes if isinstance(self.codes, PackedColumn) else None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.codes.n_rows if isinstance(self.codes, PackedColumn) else len(self.codes)

    @property
    def total_rows(self) -> int:
        """Number of rows, each counted as often as it occurs."""
        return int(self.repeats.sum(dtype=np.int64)) if len(self.repeats) else self.n_rows

    def chosen_rows(self, chosen: npt.NDArray[Any]) -> RawColumn:
        """Return the rows of a mask, or with these numbers; what is packed stays so."""
        codes = self.to_codes()[chosen]
        return replace(
            self,
            codes=codes if self.packed is None else PackedColumn.of(codes),
            repeats=self.repeats[chosen] if len(self.repeats) else self.repeats,
        )

    def renamed(self, name: str) -> RawColumn:
        """Return the column under another name; what is packed stays so."""
        return replace(self, name=name)

    def part(self, first: int, last: int) -> CellCodes:
        """Return the codes of some rows."""
        codes = self.codes
        if isinstance(codes, PackedColumn):
            return codes.part(first, last)
        return codes[first:last]

    def to_codes(self) -> CellCodes:
        """Return the codes of all rows."""
        return self.part(0, self.n_rows)


@dataclass(frozen=True)
class RawTable:
    """The columns of a source, and where its rows are.

    Parameters
    ----------
    columns
        In the order of the source; names may still be blank or repeated.
    n_rows
        Number of data rows of the source, but for those with the count 0.
    place
        Says where row ``i`` is in the source, for messages: ``"line 7"``.
    source, format
        Its name, and what it is in, for the record.
    passing
        Nobody else has the codes, and they are not needed any more once a table is made of them.
    repeats
        ``uint32[rows]``: how often each row occurs; empty: once, each.
    empty_lines
        Rows of the source that were left out because their count is 0.
    """

    columns: tuple[RawColumn, ...]
    n_rows: int
    place: Callable[[int], str]
    source: str = "frame"
    format: str = "frame"
    passing: bool = False
    repeats: Repeats = field(default_factory=lambda: np.empty(0, np.uint32))
    empty_lines: int = 0

    @property
    def total_rows(self) -> int:
        """Number of rows, each counted as often as it occurs."""
        return int(self.repeats.sum(dtype=np.int64)) if len(self.repeats) else self.n_rows


WORDS_FOR_MISSING = frozenset({
    "?", "-", "NA", "na", "N/A", "n/a", "N.A.", "n.a.", "#NA", "#N/A", "#N/A N/A", "<NA>",
    "NaN", "nan", "NAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN",
    "NULL", "Null", "null", "None", "k.A.", "K.A.", "k.a.", "k. A.", "k. a.",
})  # fmt: skip
"""What a cell of text holds when its value is missing, besides nothing; all that pandas knows."""


def words_for_missing(labels: Collection[str]) -> frozenset[str]:
    """Return which of the labels of a column of text mean that the value is missing.

    A minus sign beside a plus sign is a result of a test, not a missing value.

    >>> sorted(words_for_missing(["yes", "NA", "-", "Na"])), words_for_missing(["+", "-"])
    (['-', 'NA'], frozenset())
    """
    found = WORDS_FOR_MISSING.intersection(labels)
    return (
        found - {"-"} if "-" in found and any(not label.strip("+") for label in labels) else found
    )


def text_column(name: str, codes: CellCodes, cells: Sequence[str | None]) -> RawColumn:
    """Make a column of labels from distinct cells as they are in a text.

    Blanks around a cell do not count, and a blank cell is missing.

    >>> column = text_column("smoker", np.array([0, 1, 2, 1], np.int32), ["yes", " no ", " "])
    >>> column.values, column.to_codes().tolist()
    (['yes', 'no'], [0, 1, -1, 1])
    """
    position: dict[str, int] = {}
    new_code = np.full(len(cells) + 1, -1, np.int32)  # the last entry serves code −1
    for i, cell in enumerate(cells):
        label = "" if cell is None else cell.strip()
        if label:
            new_code[i] = position.setdefault(label, len(position))
    return RawColumn(name, new_code[codes], list(position))


def number_label(number: float | np.integer[Any] | np.floating[Any]) -> str:
    """Write a number as a state label; whole numbers without a decimal point.

    >>> number_label(2.0), number_label(2.5), number_label(7)
    ('2', '2.5', '7')
    """
    if isinstance(number, float | np.floating) and not float(number).is_integer():
        return repr(float(number))
    return str(int(number))
