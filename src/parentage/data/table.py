"""The table: categorical columns as integer codes. The first stage of the path.

A :class:`Table` is what every later stage works on: names, state labels and one row of codes
per variable. It is immutable and knows nothing of files; :mod:`parentage.data.formats` and
:func:`parentage.read_table` make tables, the rest of the package consumes them.

The codes of very many rows are stored as bit planes (:class:`PackedColumn`): plane k of a column
holds bit k of every code, eight rows a byte, and one more plane marks missing cells, if there are
any. A column grows by planes when larger codes come; only methods whose names say so unpack it.
"""

from __future__ import annotations

import hashlib
import re
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from parentage.errors import TableError, Way, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from parentage.arrays import Flags, Floats, Ints, Octets
    from parentage.data.recipe import Recipe

ROWS_AT_ONCE = 1 << 17
"""Rows of a column that are packed or unpacked together; a multiple of 8."""

MISSING = 65_535
"""The code of a cell that is missing, in tables that keep missing values."""

Codes = npt.NDArray[np.unsignedinteger[Any]]
"""State codes, one row per variable: ``codes[variable, row]``."""

CellCodes = npt.NDArray[np.signedinteger[Any]]
"""Codes of one column while it is read: for every row the index of its value; −1: missing."""


class PackedColumn:
    """The codes of one column; −1 is a missing cell. Rows are written in their order."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows
        self._planes: list[Octets] = []
        self._missing: Octets | None = None

    @classmethod
    def of(cls, codes: CellCodes) -> PackedColumn:
        """Pack the codes of a whole column."""
        column = cls(len(codes))
        for first in range(0, len(codes), ROWS_AT_ONCE):
            column.write(first, codes[first : first + ROWS_AT_ONCE])
        return column

    @property
    def nbytes(self) -> int:
        """Bytes of all planes."""
        missing = 0 if self._missing is None else self._missing.nbytes
        return missing + sum(plane.nbytes for plane in self._planes)

    @property
    def has_holes(self) -> bool:
        """Whether cells are missing."""
        return self._missing is not None

    @property
    def kind(self) -> type[np.signedinteger[Any]]:
        """The narrowest type for the codes and −1."""
        return _kind_for((1 << len(self._planes)) - 1)

    def write(self, first: int, codes: npt.NDArray[np.integer[Any]]) -> None:
        """Write the codes of some rows, from row ``first`` on, behind those that are there."""
        if first % 8:  # the byte in which they begin has rows already
            start = first - first % 8
            codes = np.concatenate([self.part(start, first), codes])
            first = start
        absent = codes < 0
        if absent.any():
            if self._missing is None:
                self._missing = self._empty()
            codes = np.where(absent, 0, codes)
        while int(codes.max(initial=0)) >> len(self._planes):
            self._planes.append(self._empty())
        codes = codes.astype(self.kind, copy=False)
        end = first // 8 + -(-len(codes) // 8)
        if self._missing is not None:
            self._missing[first // 8 : end] = np.packbits(absent, bitorder="little")
        for k, plane in enumerate(self._planes):
            plane[first // 8 : end] = np.packbits(codes & (1 << k) != 0, bitorder="little")

    def part(self, first: int, last: int) -> CellCodes:
        """Unpack the rows ``first … last − 1``."""
        codes = np.empty(max(0, min(last, self.n_rows) - first), self.kind)
        for at, block in self._blocks(first, first + len(codes)):
            codes[at - first : at - first + len(block)] = block
        return codes

    def unpacked(self) -> CellCodes:
        """Unpack all rows."""
        return self.part(0, self.n_rows)

    def missing_cells(self) -> int:
        """Return how many cells are missing."""
        if self._missing is None:
            return 0
        return sum(
            int(np.count_nonzero(np.unpackbits(self._missing[at : at + ROWS_AT_ONCE])))
            for at in range(0, len(self._missing), ROWS_AT_ONCE)
        )

    def recoded(self, lookup: npt.NDArray[np.integer[Any]]) -> PackedColumn:
        """Return ``lookup[code]`` of every cell, −1 standing for the last entry."""
        column = PackedColumn(self.n_rows)
        lookup = narrowed(lookup)
        for first in range(0, self.n_rows, ROWS_AT_ONCE):
            column.write(first, lookup[self.part(first, first + ROWS_AT_ONCE)])
        return column

    def become(self, other: PackedColumn) -> None:
        """Take the planes of another column; those of before are let go."""
        self._planes, self._missing = other._planes, other._missing

    def _empty(self) -> Octets:
        return np.zeros(-(-self.n_rows // 8), np.uint8)

    def _blocks(self, first: int, last: int) -> Iterator[tuple[int, CellCodes]]:
        """Yield where some rows begin, and their codes."""
        while first < last:
            start = first - first % 8
            end = min(last, start + ROWS_AT_ONCE)
            codes = self._codes(slice(start // 8, -(-end // 8)), end - start)
            yield first, codes[first - start :]
            first = end

    def _codes(self, where: slice, rows: int) -> CellCodes:
        """Unpack some bytes of every plane."""
        codes = np.zeros(rows, self.kind)
        for k, plane in enumerate(self._planes):
            bits = np.unpackbits(plane[where], count=rows, bitorder="little")
            codes |= bits.astype(self.kind, copy=False) << self.kind(k)
        if self._missing is not None:
            codes[np.unpackbits(self._missing[where], count=rows, bitorder="little") != 0] = -1
        return codes


def narrowed(codes: npt.NDArray[np.integer[Any]]) -> CellCodes:
    """Return codes in the narrowest type that holds them and −1."""
    return codes.astype(_kind_for(int(codes.max(initial=0))), copy=False)


def _kind_for(largest: int) -> type[np.signedinteger[Any]]:
    return next(kind for kind in (np.int8, np.int16, np.int32) if largest <= np.iinfo(kind).max)


@dataclass(frozen=True, eq=False)
class PackedCodes:
    """The codes of all columns of a table; a missing cell has the code ``MISSING``."""

    columns: tuple[PackedColumn, ...]
    n_rows: int

    @property
    def nbytes(self) -> int:
        """Bytes of all planes."""
        return sum(column.nbytes for column in self.columns)

    @property
    def kind(self) -> type[np.unsignedinteger[Any]]:
        """The type of the codes: bytes where every code fits."""
        wide = any(column.has_holes or column.kind != np.int8 for column in self.columns)
        return np.uint16 if wide else np.uint8

    def column(self, v: int, first: int, last: int) -> Codes:
        """Unpack some rows of a column."""
        column, codes = self.columns[v], self.columns[v].part(first, last)
        found = codes.astype(self.kind)
        return np.where(codes < 0, np.uint16(MISSING), found) if column.has_holes else found

    def unpacked(self) -> Codes:
        """Unpack everything."""
        return self.rows(0, self.n_rows)

    def rows(self, first: int, last: int) -> Codes:
        """Unpack some rows of all columns: ``[variable, row]``."""
        codes = np.empty((len(self.columns), max(0, min(last, self.n_rows) - first)), self.kind)
        for v in range(len(self.columns)):
            codes[v] = self.column(v, first, last)
        return codes

    def select(self, columns: list[int]) -> PackedCodes:
        """Return some of the columns; their planes are shared."""
        return PackedCodes(tuple(self.columns[v] for v in columns), self.n_rows)


MAX_STATES = 65_535

MOST_ROWS = 2**32 - 1
"""Rows that a table can stand for: repetitions are 32-bit numbers."""

Repeats = npt.NDArray[np.uint32]
"""How often each row occurs; empty: once, each."""

_BLOCK = 1 << 20
"""Rows of a column that are looked at together."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


@dataclass(frozen=True, eq=False)
class Table:
    """Categorical data: ``codes[v, i]`` is the state of variable ``v`` in row ``i``.

    Parameters
    ----------
    names
        Variable names, unique.
    states
        For every variable its state labels. A label that never occurs still counts as a state:
        it enlarges the penalty of the variable's families.
    codes
        ``uint16[variables, rows]``, C-contiguous, every code below the number of states, or
        ``MISSING``, which only ``missing="pnal"`` and ``missing="em"`` keep. Tables of very many
        rows are packed (:class:`parentage.data.table.PackedCodes`): :meth:`column` and
        :meth:`rows` unpack a part, :meth:`to_codes` everything.
    cuts
        Cut points of the columns that were discretised, by name; a value ``x`` has the code
        ``number of cuts <= x``.
    recipe
        How the table was read (:class:`parentage.data.recipe.Recipe`); None if it was built in
        memory.
    repeats
        ``uint32[row of the codes]``: number of times each row occurs; empty if each occurs once.
        ``n_rows`` is their sum. Results are those of the table with every row repeated.
    unit_bits
        b, where ``repeats`` are in units of 2^−b of a row, as in a table whose rows are completions
        with their probabilities.

    Examples
    --------
    >>> Table.from_columns({"smoker": ["yes", "no", "no"], "cough": ["yes", "no", "yes"]})
    Table: 3 rows, 2 variables, 2 states each
    """

    names: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]
    codes: Codes | PackedCodes
    cuts: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    recipe: Recipe | None = field(default=None, repr=False)
    repeats: Repeats = field(default_factory=lambda: np.empty(0, np.uint32), repr=False)
    unit_bits: int = field(default=0, repr=False)

    def __post_init__(self) -> None:
        if len(set(self.names)) != len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise TableError(f"column {twice!r} occurs twice; rename one of them")
        for name, labels in zip(self.names, self.states, strict=True):
            if len(labels) > MAX_STATES:
                raise TableError(
                    f"column {name!r} has {len(labels)} states, more than {MAX_STATES}",
                    Way("drop", [name], "to leave it out"),
                    "merge its states",
                )
        if not isinstance(self.codes, PackedCodes):
            narrow = isinstance(self.codes, np.ndarray) and self.codes.dtype == np.uint8
            given = np.ascontiguousarray(self.codes, dtype=np.uint8 if narrow else np.uint16)
            if given.ndim != 2 or given.shape[0] != len(self.names):
                raise TableError(f"codes must be (variables, rows), got shape {given.shape}")
            given.setflags(write=False)
            object.__setattr__(self, "codes", given)
        for v, (name, labels) in enumerate(zip(self.names, self.states, strict=True)):
            if any(
                bool(((part >= len(labels)) & (part != MISSING)).any()) for part in self._parts(v)
            ):
                raise TableError(f"column {name!r} has a code without a state label")
        object.__setattr__(self, "repeats", self._checked_repeats())

    def _checked_repeats(self) -> Repeats:
        given = np.asarray(self.repeats)
        if given.size:
            if given.shape != (self.stored_rows,) or given.dtype.kind not in "iu":
                raise TableError("repeats are whole numbers, one for each row of the codes")
            if int(given.min()) < 1:
                raise TableError(f"a row occurs {int(given.min())} times; leave it out")
            if int(given.sum(dtype=np.float64)) > MOST_ROWS:
                raise TableError(f"repeats add up to more than {MOST_ROWS:,} rows")
        repeats = given.astype(np.uint32, copy=False)
        if int(repeats.sum(dtype=np.int64)) % (1 << self.unit_bits):
            raise ValueError("the weights do not sum to whole rows")
        repeats.setflags(write=False)
        return repeats

    @classmethod
    def from_columns(cls, columns: Mapping[str, Sequence[object]]) -> Table:
        """Make a table from labels; the states of a column are its distinct labels, sorted.

        >>> Table.from_columns({"a": [10, 9, 10], "b": ["x", "y", "y"]}).states
        (('9', '10'), ('x', 'y'))
        """
        states: list[tuple[str, ...]] = []
        codes: list[Ints] = []
        for name, values in columns.items():
            labels = [str(value) for value in values]
            if codes and len(labels) != len(codes[0]):
                raise TableError(
                    f"column {str(name)!r} has {len(labels)} rows, the first has {len(codes[0])}"
                )
            distinct = sorted_states(set(labels))
            code = {label: i for i, label in enumerate(distinct)}
            states.append(tuple(distinct))
            codes.append(np.array([code[label] for label in labels], np.int64))
        shape = (len(codes), len(codes[0]) if codes else 0)
        return cls(
            tuple(str(name) for name in columns),
            tuple(states),
            np.array(codes).reshape(shape).astype(np.uint16),
        )

    @property
    def n_variables(self) -> int:
        """Number of columns."""
        return len(self.names)

    @property
    def n_rows(self) -> int:
        """Number of rows, N, each counted as often as it occurs."""
        if not len(self.repeats):
            return self.stored_rows
        return int(self.repeats.sum(dtype=np.int64)) >> self.unit_bits

    @property
    def packed(self) -> PackedCodes | None:
        """The codes of a table of very many rows; None: they are an array."""
        return self.codes if isinstance(self.codes, PackedCodes) else None

    @property
    def stored_rows(self) -> int:
        """Number of rows of the codes."""
        codes = self.codes
        return codes.n_rows if isinstance(codes, PackedCodes) else int(codes.shape[1])

    def column(self, v: int, first: int = 0, last: int | None = None) -> Codes:
        """Return the codes of a variable, in all rows or in ``first … last − 1``."""
        codes, last = self.codes, self.stored_rows if last is None else last
        if isinstance(codes, PackedCodes):
            return codes.column(v, first, last)
        return codes[v, first:last]

    def rows(self, first: int, last: int) -> Codes:
        """Return the codes of some rows, of all variables."""
        codes = self.codes
        if isinstance(codes, PackedCodes):
            return codes.rows(first, last)
        return codes[:, first:last]

    def to_codes(self, variables: Sequence[int] | None = None) -> Codes:
        """Return all codes, or those of some variables, as one array ``[variable, row]``.

        It is made for the purpose where the table is packed or variables are chosen.

        >>> Table.from_columns({"a": "xyx", "b": "uvv"}).to_codes([1]).tolist()
        [[0, 1, 1]]
        """
        codes = self.codes if variables is None else self._of_columns(variables)
        return codes.unpacked() if isinstance(codes, PackedCodes) else codes

    def _of_columns(self, variables: Sequence[int]) -> Codes | PackedCodes:
        chosen, codes = list(variables), self.codes
        return codes.select(chosen) if isinstance(codes, PackedCodes) else codes[chosen]

    def chosen_rows(self, chosen: npt.NDArray[Any]) -> Table:
        """Return the table of the rows of a mask, or with these numbers."""
        codes, repeats = self.codes, self.repeats[chosen] if len(self.repeats) else self.repeats
        if not isinstance(codes, PackedCodes):
            return self._of_rows(self.states, np.ascontiguousarray(codes[:, chosen]), repeats)
        n_rows = int(np.count_nonzero(chosen)) if chosen.dtype == np.bool_ else len(chosen)
        parts = (column.unpacked()[chosen] for column in codes.columns)
        packed = PackedCodes(tuple(map(PackedColumn.of, parts)), n_rows)
        return self._of_rows(self.states, packed, repeats)

    def repeated_rows(self, counts: npt.NDArray[np.integer[Any]]) -> Table:
        """Return each row of the codes as often as it is counted, none of those counted 0."""
        there = counts > 0
        return replace(self.chosen_rows(there), repeats=counts[there].astype(np.uint32))

    def counted(self, labels: npt.NDArray[Any], at_least: int = 0) -> Ints:
        """Return the number of rows with each label, given a label for each row of the codes.

        >>> table = Table(("a",), (("x", "y"),), np.array([[0, 1, 1]]), repeats=[5, 2, 1])
        >>> table.counted(table.column(0)).tolist()
        [5, 3]
        """
        return class_sizes(labels, self.repeats, at_least)

    def rows_in(self, mask: Flags) -> int:
        """Return the number of rows, given for each row of the codes whether it counts."""
        return int(self.repeats[mask].sum() if len(self.repeats) else np.count_nonzero(mask))

    def _parts(self, v: int) -> Iterator[Codes]:
        """Yield the codes of a variable, some rows at a time."""
        for first in range(0, self.stored_rows, _BLOCK):
            yield self.column(v, first, first + _BLOCK)

    @cached_property
    def cardinalities(self) -> Ints:
        """Number of states of every variable, declared ones included: r."""
        return np.array([len(labels) for labels in self.states], dtype=np.int64)

    @cached_property
    def constant(self) -> tuple[str, ...]:
        """Names of the columns with one observed state, whatever their header declares."""
        return tuple(name for v, name in enumerate(self.names) if not _varies(self._parts(v)))

    @cached_property
    def missing_cells(self) -> Ints:
        """Number of missing cells of every variable."""
        codes, once = self.codes, not len(self.repeats)
        if isinstance(codes, PackedCodes) and once:
            return np.array([column.missing_cells() for column in codes.columns], np.int64)
        columns = (self.column(v) for v in range(self.n_variables))
        return np.array([self.rows_in(column == MISSING) for column in columns], np.int64)

    @property
    def has_holes(self) -> bool:
        """Whether cells are missing."""
        return bool(self.missing_cells.any())

    def refuse_holes(self, purpose: str, *ways: Way | str) -> None:
        """Refuse a table with missing cells where only complete ones will do.

        Parameters
        ----------
        purpose
            What needs complete data, as the beginning of a sentence.
        ways
            What to do instead; by default, to fill the cells or drop their rows when reading.

        Raises
        ------
        TableError
            Cells are missing.
        """
        if not self.has_holes:
            return
        first = self.names[int(np.flatnonzero(self.missing_cells)[0])]
        total = int(self.missing_cells.sum())
        cells = "a value is missing" if total == 1 else f"{total} values are missing"
        raise TableError(
            f"{purpose} needs complete data, and {cells}, first in column {first!r}",
            *(ways or (Way("missing", "drop"), Way("missing", "state"))),
        )

    def index(self, name: str) -> int:
        """Position of a variable; an unknown name is refused with the nearest known one."""
        try:
            return self.names.index(name)
        except ValueError:
            raise TableError(f"no column {name!r}; {did_you_mean(name, self.names)}") from None

    def select(self, names: Iterable[str]) -> Table:
        """Return a table with these columns only, in this order."""
        chosen = [self.index(name) for name in names]
        return Table(
            tuple(self.names[v] for v in chosen),
            tuple(self.states[v] for v in chosen),
            self._of_columns(chosen),
            {n: self.cuts[n] for n in (self.names[v] for v in chosen) if n in self.cuts},
            None if self.recipe is None else self.recipe.select(self.names[v] for v in chosen),
            self.repeats,
        )

    def drop(self, names: Iterable[str]) -> Table:
        """Return a table without these columns."""
        dropped = {self.names[self.index(name)] for name in names}
        return self.select(name for name in self.names if name not in dropped)

    def head(self, rows: int) -> Table:
        """Return the first rows; the states stay as declared or observed in the whole table."""
        last = len(range(self.n_rows)[:rows])
        if not len(self.repeats):
            return self._of_rows(self.states, self.rows(0, last), self.repeats)
        upto = np.minimum(np.cumsum(self.repeats, dtype=np.int64), last)
        repeats = np.diff(upto, prepend=0)
        there = int(np.count_nonzero(repeats))
        return self._of_rows(self.states, self.rows(0, there), repeats[:there].astype(np.uint32))

    def observed(self) -> Table:
        """Return a table whose states are only those that occur."""
        lookups, states = [], []
        for v, labels in enumerate(self.states):
            seen = np.zeros(MISSING + 1, np.bool_)
            for part in self._parts(v):
                seen[part] = True
            kept = np.flatnonzero(seen[:MISSING])
            states.append(tuple(labels[code] for code in kept))
            lookup = np.full(MISSING + 1, MISSING, np.uint16)
            lookup[kept] = np.arange(len(kept))
            lookups.append(lookup)
        codes = self.codes
        if isinstance(codes, PackedCodes):
            columns = (
                column.recoded(np.append(lookup[: len(labels)].astype(np.int32), -1))
                for column, lookup, labels in zip(codes.columns, lookups, self.states, strict=True)
            )
            packed = PackedCodes(tuple(columns), codes.n_rows)
            return self._of_rows(tuple(states), packed, self.repeats)
        found = [lookup[column] for lookup, column in zip(lookups, codes, strict=True)]
        return self._of_rows(tuple(states), np.array(found).reshape(codes.shape), self.repeats)

    def with_recipe(self, recipe: Recipe) -> Table:
        """Return the same table with a record of how it was read."""
        table = copy(self)
        object.__setattr__(table, "recipe", recipe)
        return table

    def _of_rows(
        self, states: tuple[tuple[str, ...], ...], codes: Codes | PackedCodes, repeats: Repeats
    ) -> Table:
        """Return other rows of the same columns."""
        recipe = None if self.recipe is None else self.recipe.with_states(states)
        return Table(self.names, states, codes, self.cuts, recipe, repeats)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of names, states and codes: the data's identity in provenance records.

        A row that occurs several times enters so many times: a table with repeats has the digest
        of the table in which they are written out.
        """
        sha = hashlib.sha256()
        sha.update(repr((self.names, self.states)).encode())
        upto = np.cumsum(self.repeats, dtype=np.int64)
        for v in range(self.n_variables):
            for part in self._parts(v) if not len(upto) else _repeated(self.column(v), upto):
                sha.update(part.astype(np.uint16).tobytes())
        return sha.hexdigest()

    def __repr__(self) -> str:
        low, high = self.cardinalities.min(initial=MAX_STATES), self.cardinalities.max(initial=0)
        spread = f"{high}" if low >= high else f"{low}–{high}"
        holes = f", {int(self.missing_cells.sum())} missing values" if self.has_holes else ""
        return (
            f"Table: {self.n_rows} rows, {self.n_variables} variables, {spread} states each{holes}"
        )

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><td>{escape(name)}</td><td>{len(labels)}</td>"
            f"<td>{escape(', '.join(labels[:8]))}{' …' if len(labels) > 8 else ''}</td></tr>"
            for name, labels in zip(self.names, self.states, strict=True)
        )
        head = "<tr><th>variable</th><th>states</th><th>labels</th></tr>"
        return f"<p>{escape(repr(self))}</p><table>{head}{rows}</table>"


def class_sizes(
    labels: npt.NDArray[Any], repeats: npt.NDArray[np.integer[Any]], at_least: int = 0
) -> Ints:
    """Return the rows of every label; sums of whole numbers below 2^53, so floats are exact."""
    weights = repeats if len(repeats) else None
    return np.bincount(labels, weights, minlength=at_least).astype(np.int64, copy=False)


def _repeated(column: Codes, upto: Ints) -> Iterator[Codes]:
    """Yield a column with its cells repeated, some rows at a time, given the rows up to each."""
    for first in range(0, int(upto[-1]), _BLOCK):
        a, b = np.searchsorted(upto, [first, first + _BLOCK - 1], side="right")
        ends = np.minimum(upto[a : b + 1], first + _BLOCK)
        yield np.repeat(column[a : b + 1], np.diff(ends, prepend=first))


def _varies(parts: Iterable[Codes]) -> bool:
    """Whether two states are observed."""
    first = MISSING
    for part in parts:
        seen = part[part != MISSING]
        if seen.size:
            first = int(seen[0]) if first == MISSING else first
            if bool((seen != first).any()):
                return True
    return False


def as_numbers(labels: Sequence[str]) -> Floats | None:
    """Read labels as finite decimal numbers; None when one of them is not.

    >>> as_numbers(["1", "2.5", "-3e2"])
    array([   1. ,    2.5, -300. ])
    >>> as_numbers(["1", "low"]) is None
    True
    """
    if not all(map(_NUMBER.fullmatch, labels)):
        return None
    numbers = np.fromiter(map(float, labels), np.float64, len(labels))
    return numbers if bool(np.isfinite(numbers).all()) else None


def sorted_states(labels: Iterable[str]) -> list[str]:
    """Put undeclared states in order: numbers by value, other labels by code point.

    >>> sorted_states(["10", "9"]), sorted_states(["10", "9", "x"])
    (['9', '10'], ['10', '9', 'x'])
    """
    found = list(labels)
    numbers = as_numbers(found)
    if numbers is None:
        return sorted(found)
    return [label for _, label in sorted(zip(numbers.tolist(), found, strict=True))]
