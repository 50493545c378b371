"""The table: categorical columns as integer codes. The first stage of the path.

A :class:`Table` is what every later stage works on: names, state labels and one row of codes
per variable. It is immutable and knows nothing of files; :mod:`parentage.data.formats` and
:func:`parentage.read_table` make tables, the rest of the package consumes them.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from parentage.errors import TableError, Way, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from parentage.data.recipe import Recipe

Codes = npt.NDArray[np.unsignedinteger[Any]]
"""State codes, one row per variable: ``codes[variable, row]``."""

MAX_STATES = 65_535

MISSING = 65_535
"""The code of a cell that is missing, in tables that keep their holes."""

_BLOCK = 1 << 20

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
        ``MISSING``: reading keeps holes with ``missing="pnal"`` and ``missing="em"`` only. A table
        without holes whose states are at most 256 each may have ``uint8``.
    cuts
        Cut points of the columns that were discretised, by name; a value ``x`` has the code
        ``number of cuts <= x``.
    recipe
        How it was read (:class:`parentage.data.recipe.Recipe`); None if it was not.

    Examples
    --------
    >>> Table.from_columns({"smoker": ["yes", "no", "no"], "cough": ["yes", "no", "yes"]})
    Table: 3 rows, 2 variables, 2 states each
    """

    names: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]
    codes: Codes
    cuts: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    recipe: Recipe | None = field(default=None, repr=False)

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
        narrow = isinstance(self.codes, np.ndarray) and self.codes.dtype == np.uint8
        codes = np.ascontiguousarray(self.codes, dtype=np.uint8 if narrow else np.uint16)
        if codes.ndim != 2 or codes.shape[0] != len(self.names):
            raise TableError(f"codes must be (variables, rows), got shape {codes.shape}")
        for name, labels, column in zip(self.names, self.states, codes, strict=True):
            if bool(((column >= len(labels)) & (column != MISSING)).any()):
                raise TableError(f"column {name!r} has a code without a state label")
        codes.setflags(write=False)
        object.__setattr__(self, "codes", codes)

    @classmethod
    def from_columns(cls, columns: Mapping[str, Sequence[object]]) -> Table:
        """Make a table from labels; the states of a column are its distinct labels, sorted.

        >>> Table.from_columns({"a": [10, 9, 10], "b": ["x", "y", "y"]}).states
        (('9', '10'), ('x', 'y'))
        """
        states: list[tuple[str, ...]] = []
        codes: list[npt.NDArray[np.int64]] = []
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
        """Number of rows, N."""
        return int(self.codes.shape[1])

    @cached_property
    def cardinalities(self) -> npt.NDArray[np.int64]:
        """Number of states of every variable, declared ones included: r."""
        return np.array([len(labels) for labels in self.states], dtype=np.int64)

    @cached_property
    def constant(self) -> tuple[str, ...]:
        """Names of the columns with one observed state, whatever their header declares."""
        return tuple(
            name for name, column in zip(self.names, self.codes, strict=True) if not _varies(column)
        )

    @cached_property
    def missing_cells(self) -> npt.NDArray[np.int64]:
        """Number of missing cells of every variable."""
        return np.array([np.count_nonzero(column == MISSING) for column in self.codes], np.int64)

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
        cells = "a cell is missing" if total == 1 else f"{total} cells are missing"
        raise TableError(
            f"{purpose} needs complete data, and {cells}, first in column {first!r}",
            *(ways or (Way("missing", "drop"), Way("missing", "mode"), Way("missing", "state"))),
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
            self.codes[chosen],
            {n: self.cuts[n] for n in (self.names[v] for v in chosen) if n in self.cuts},
            None if self.recipe is None else self.recipe.select(self.names[v] for v in chosen),
        )

    def drop(self, names: Iterable[str]) -> Table:
        """Return a table without these columns."""
        dropped = {self.names[self.index(name)] for name in names}
        return self.select(name for name in self.names if name not in dropped)

    def head(self, rows: int) -> Table:
        """Return the first rows; the states stay as declared or observed in the whole table."""
        return self._of_rows(self.states, self.codes[:, :rows])

    def observed(self) -> Table:
        """Return a table whose states are only those that occur."""
        states, codes = [], []
        for labels, column in zip(self.states, self.codes, strict=True):
            seen = np.unique(column[column != MISSING])
            states.append(tuple(labels[code] for code in seen))
            column_codes = np.searchsorted(seen, column).astype(np.uint16)
            codes.append(np.where(column == MISSING, np.uint16(MISSING), column_codes))
        return self._of_rows(tuple(states), np.array(codes).reshape(self.codes.shape))

    def _of_rows(self, states: tuple[tuple[str, ...], ...], codes: Codes) -> Table:
        """Return other rows of the same columns."""
        recipe = None if self.recipe is None else self.recipe.with_states(states)
        return Table(self.names, states, codes, self.cuts, recipe)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of names, states and codes: the data's identity in provenance records."""
        sha = hashlib.sha256()
        sha.update(repr((self.names, self.states)).encode())
        for column in self.codes:
            for first in range(0, len(column), _BLOCK):
                sha.update(column[first : first + _BLOCK].astype(np.uint16).tobytes())
        return sha.hexdigest()

    def __repr__(self) -> str:
        low, high = self.cardinalities.min(initial=MAX_STATES), self.cardinalities.max(initial=0)
        spread = f"{high}" if low >= high else f"{low}–{high}"
        holes = f", {int(self.missing_cells.sum())} cells missing" if self.has_holes else ""
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


def _varies(column: Codes) -> bool:
    """Whether two states are observed."""
    if not column.size:
        return False
    low = int(column.min())
    return bool(((column != low) & (column != MISSING)).any())


def as_numbers(labels: Sequence[str]) -> npt.NDArray[np.float64] | None:
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
