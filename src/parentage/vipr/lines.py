"""Derivations, worked out exactly and written as lines of a VIPR file.

A derivation is given by its result and the rows that it combines. What the combination leaves
over is made up with bounds of variables. A result that does not follow is an error here, not a
line that a checker has to refuse. All rows are in whole numbers; a combination may be divided by a
whole number, which is where fractions come from.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd
from typing import TYPE_CHECKING, TextIO

from parentage.check.records import ProofError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parentage.vipr.model import Model, Row

SENSES = {1: "G", 0: "E", -1: "L"}

Terms = Iterable[tuple[int, int]]
"""Rows by number, with multipliers."""


class Lines:
    """The derivations of a file, in order.

    Lines wait until :meth:`settle` says which of their rows are still needed. Of the others the
    file says where they are used last, so that a checker need not keep them.

    Parameters
    ----------
    model
        The model they start from.
    out
        Where lines go; None to count them and their size only.
    """

    def __init__(self, model: Model, out: TextIO | None = None) -> None:
        self.model, self.out = model, out
        self.count = self.size = 0
        self._rows: dict[int, Row] = {}
        self._waiting: list[tuple[int, str]] = []
        self._last: dict[int, int] = {}

    def row(self, index: int) -> Row:
        """A row of the model, or one that was derived."""
        return self.model.row(index) if index < self.model.n_rows else self._rows[index]

    def assume(self, row: Row) -> int:
        """Assume a row."""
        return self._put(row, "asm")

    def either(self, row: Row, low: tuple[int, int], high: tuple[int, int]) -> int:
        """Derive a row from two cases, each with what follows from it and its assumption."""
        for index in (*low, *high):
            self._last[index] = self.model.n_rows + self.count
        return self._put(row, f"uns {low[0]} {low[1]} {high[0]} {high[1]}")

    def derive(
        self,
        row: Row,
        terms: Terms,
        *,
        divide: int = 1,
        rounded: bool = False,
        zeros: Iterable[int] = (),
    ) -> int:
        """Derive a row by a combination of others, and return its number.

        Parameters
        ----------
        row
            The result; without coefficients, anything that cannot be.
        terms
            Rows and multipliers, before the division.
        divide
            What the combination is divided by.
        rounded
            Whether its right side is then rounded to a whole number.
        zeros
            Rows "these sets add up to 0 at most", for coefficients that x ≥ 0 cannot make up.

        Raises
        ------
        ProofError
            The row does not follow.
        """
        sense, total, right = row.sense, dict[int, int](), 0
        times: dict[int, int] = {}
        for index, factor in terms:
            if factor:
                times[index] = times.get(index, 0) + factor
        for index, factor in times.items():
            own = self.row(index)
            if own.sense * sense * factor < 0:
                raise ProofError("VIPR: a row is used the wrong way round")
            right += factor * own.right
            for variable, coefficient in own.coefficients.items():
                total[variable] = total.get(variable, 0) + factor * coefficient
        for variable, coefficient in row.coefficients.items():
            total[variable] = total.get(variable, 0) - divide * coefficient
        for index in zeros:
            own = self.row(index)
            most = max((sense * total.get(variable, 0) for variable in own.coefficients), default=0)
            if most > 0:
                times[index] = times.get(index, 0) - sense * most
                for variable in own.coefficients:
                    total[variable] = total.get(variable, 0) - sense * most
        right += self._bounds(total, sense, times)
        self._check(row, right, divide, rounded)
        for index in times:
            self._last[index] = self.model.n_rows + self.count
        return self._put(row, "rnd" if rounded else "lin", times, divide)

    def settle(self, *keep: int) -> None:
        """Write the lines that wait; only the rows to keep can be used afterwards."""
        kept = set(keep)
        for index, text in self._waiting:
            last = -1 if index in kept else self._last.get(index, index)
            if self.out is not None:
                line = f"{text} {last}\n"
                self.size += len(line)
                self.out.write(line)
            if index not in kept:
                del self._rows[index]
        self._waiting.clear()
        self._last.clear()

    def drop(self, index: int) -> None:
        """Forget a row that was kept."""
        del self._rows[index]

    def _bounds(self, total: Mapping[int, int], sense: int, times: dict[int, int]) -> int:
        """Make up with bounds what is left over; return what that adds to the right side."""
        right = 0
        for variable, rest in total.items():
            if rest:
                upper = sense * rest > 0
                if upper and variable < self.model.m:
                    raise ProofError("VIPR: a set would need an upper bound")
                index = self.model.bound(variable, upper=upper)
                times[index] = times.get(index, 0) - rest
                right -= rest * upper
        return right

    @staticmethod
    def _check(row: Row, right: int, divide: int, rounded: bool) -> None:
        """Refuse a row that the combination does not give."""
        if not row.coefficients and row.sense * right > 0:
            return  # 0 ≥ something above 0 cannot be, and everything follows
        if rounded:
            reached = -(-right // divide) if row.sense > 0 else right // divide
            holds = row.sense * (reached - row.right) >= 0
        else:
            holds = row.sense * (right - divide * row.right) >= 0
        if not holds:
            raise ProofError("VIPR: a row does not follow from those it is derived from")

    def _put(
        self, row: Row, reason: str, times: Mapping[int, int] | None = None, divide: int = 1
    ) -> int:
        index = self.model.n_rows + self.count
        self._rows[index] = row
        self.count += 1
        text = ""
        if self.out is None:
            self.size += _length(row.coefficients, 1) + _length(times or {}, divide) + 40
        else:
            if times is not None:
                reason += f" {len(times)}" + _terms(times, divide)
            text = f"d{index} {SENSES[row.sense]} {row.right} {self.left(row)} {{ {reason} }}"
        self._waiting.append((index, text))
        return index

    def left(self, row: Row) -> str:
        """The left side of a row as the format has it."""
        if row.coefficients is self.model.objective:
            return "OBJ"
        return str(len(row.coefficients)) + _terms(row.coefficients, 1)


def _terms(numbers: Mapping[int, int], divide: int) -> str:
    if divide == 1:
        return "".join([f" {index} {number}" for index, number in numbers.items()])
    return "".join([f" {index} {_fraction(number, divide)}" for index, number in numbers.items()])


def _fraction(number: int, divide: int) -> str:
    common = gcd(number, divide)
    if common == divide:
        return str(number // divide)
    return f"{number // common}/{divide // common}"


def _length(numbers: Mapping[int, int], divide: int) -> int:
    """About the number of characters of terms whose rows are not numbered yet."""
    bits = sum(map(int.bit_length, numbers.values()))
    fraction = 1 + divide.bit_length() * 3 // 10 if divide > 1 else 0
    return len(numbers) * (8 + fraction) + bits * 3 // 10
