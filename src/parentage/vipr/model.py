"""Networks as an integer programme, and derivations from it as lines of a VIPR file.

Variables, all of them whole numbers: x of every set, 1 if its child takes it; o of pairs u < v, 1
if u comes before v. Rows, in the order of the file:

- x ≥ 0; o ≥ 0; o ≤ 1;
- *one*: the sets of a child add up to 1;
- *link* (u, v): the sets of v that hold u add up to 1 at most, and to 0 unless u is before v;
- *cycle* (a, b, c): not a before b, b before c and c before a.

Every network satisfies them all, with any order that it respects. Of the cycles only those that a
proof needs are there: a bound that follows from fewer rows holds all the more.

A derivation (:class:`Lines`) is given by its result and the rows that it combines. What the
combination leaves over is made up with bounds of variables. A result that does not follow is an
error here, not a line that a checker has to refuse. All rows are in whole numbers; a combination
may be divided by a whole number, which is where fractions come from.
"""

from __future__ import annotations

from collections.abc import Iterable
from graphlib import TopologicalSorter
from itertools import accumulate
from math import gcd
from typing import TYPE_CHECKING, NamedTuple, TextIO

from parentage.check.document import ProofError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parentage.check.families import Families

Pair = tuple[int, int]
Triple = tuple[int, int, int]

APART = 10**8
"""Distance between the numbers of rows of different kinds while their counts are not known."""


class Row(NamedTuple):
    """A constraint: coefficients by variable, sense (1: ≥, 0: =, −1: ≤) and right side."""

    coefficients: Mapping[int, int]
    sense: int
    right: int


class Model:
    """The programme of lists, its variables and rows by number.

    Without ``known`` it is open: pairs and cycles are added as they are asked for, and numbers
    are far apart. Made from an open one it has what that one was asked for, and the numbers of
    the file.

    Parameters
    ----------
    families
        The sets, all of them allowed.
    known
        The open model that a proof was tried with.
    """

    def __init__(self, families: Families, known: Model | None = None) -> None:
        self.n, self.m = families.n, families.m
        starts, parents = families.starts.tolist(), families.parents.tolist()
        self.offsets: list[int] = families.offsets.tolist()
        self.parents = [tuple(parents[starts[i] : starts[i + 1]]) for i in range(self.m)]
        self.child: list[int] = families.child.tolist()
        self.cost: list[int] = families.cost.tolist()
        self.objective = {i: cost for i, cost in enumerate(self.cost) if cost}
        self.holders: dict[Pair, list[int]] = {}
        for i in range(self.m):
            for u in self.parents[i]:
                self.holders.setdefault((u, self.child[i]), []).append(i)
        self.arcs = sorted(self.holders)
        self._link = {arc: k for k, arc in enumerate(self.arcs)}
        self.is_open = known is None
        pairs = {(min(arc), max(arc)) for arc in self.arcs}
        self.triples: list[Triple] = []
        if known is not None:
            pairs |= set(known.pairs)
            self.triples = sorted(known.triples)
        self.pairs: list[Pair] = sorted(pairs)
        self._pair = {pair: k for k, pair in enumerate(self.pairs)}
        self._triple = {triple: k for k, triple in enumerate(self.triples)}
        sizes = (self.m + len(self.pairs), len(self.pairs), self.n, len(self.arcs))
        ends = [APART * (k + 1) for k in range(4)] if known is None else accumulate(sizes)
        self.upper, self.ones, self.first_link, self.cycles = ends
        self.n_rows = APART * 5 if known is None else self.cycles + len(self.triples)

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return self.m + len(self.pairs)

    def sets(self, v: int) -> range:
        """The sets of a variable."""
        return range(self.offsets[v], self.offsets[v + 1])

    def held(self, i: int, members: Sequence[int]) -> int:
        """The members, as bits, that set ``i`` holds."""
        return sum(1 << t for t, u in enumerate(members) if u in self.parents[i])

    def links(self, v: int, members: Sequence[int]) -> dict[int, list[int]]:
        """By member, as an index, the row that puts it before ``v`` where a set of ``v`` holds it.

        Only for members that some set of ``v`` holds.
        """
        return {t: [self.link(u, v)] for t, u in enumerate(members) if (u, v) in self.holders}

    def before(self, u: int, v: int) -> tuple[int, int, int]:
        """``u`` before ``v`` as a variable, its coefficient and a constant."""
        pair = (u, v) if u < v else (v, u)
        if self.is_open and pair not in self._pair:
            self._pair[pair] = len(self.pairs)
            self.pairs.append(pair)
        variable = self.m + self._pair[pair]
        return (variable, 1, 0) if u < v else (variable, -1, 1)

    def clause(self, arcs: Iterable[Pair]) -> Row:
        """One of these arcs at least has its first end before the second."""
        coefficients, right = {}, 1
        for u, v in arcs:
            variable, coefficient, constant = self.before(u, v)
            coefficients[variable] = coefficient
            right -= constant
        return Row(coefficients, 1, right)

    def one(self, v: int) -> int:
        """Number of the row that gives a child one set."""
        return self.ones + v

    def link(self, u: int, v: int) -> int:
        """Number of the row that puts ``u`` before ``v`` where a set of ``v`` holds it."""
        return self.first_link + self._link[u, v]

    def cycle(self, a: int, b: int, c: int) -> int:
        """Number of the row that forbids a cycle of three."""
        least = min(a, b, c)
        triple = (a, b, c) if a == least else (b, c, a) if b == least else (c, a, b)
        if self.is_open and triple not in self._triple:
            self._triple[triple] = len(self.triples)
            self.triples.append(triple)
        return self.cycles + self._triple[triple]

    def bound(self, variable: int, *, upper: bool) -> int:
        """Number of the row x ≥ 0 or o ≥ 0, or o ≤ 1."""
        return self.upper + variable - self.m if upper else variable

    def row(self, index: int) -> Row:
        """Return a row by its number."""
        if index >= self.cycles:
            a, b, c = self.triples[index - self.cycles]
            some = self.clause(((a, b), (b, c), (c, a)))
            return Row(some.coefficients, -1, some.right + 1)
        if index >= self.first_link:
            u, v = self.arcs[index - self.first_link]
            variable, coefficient, constant = self.before(u, v)
            coefficients = dict.fromkeys(self.holders[u, v], 1)
            coefficients[variable] = -coefficient
            return Row(coefficients, -1, constant)
        if index >= self.ones:
            return Row(dict.fromkeys(self.sets(index - self.ones), 1), 0, 1)
        if index >= self.upper:
            return Row({index - self.upper + self.m: 1}, -1, 1)
        return Row({index: 1}, 1, 0)

    def names(self) -> Iterator[str]:
        """Names of the variables: a child with its parents, and pairs."""
        for i, parents in enumerate(self.parents):
            yield f"x{self.child[i]}({','.join(map(str, parents))})"
        for u, v in self.pairs:
            yield f"o{u}<{v}"

    def solution(self, chosen: Iterable[int]) -> list[int]:
        """Return the variables that are 1 for a network: its sets, and an order it respects."""
        sets = list(chosen)
        order = TopologicalSorter({v: self.parents[i] for v, i in enumerate(sets)}).static_order()
        place = {v: k for k, v in enumerate(order)}
        ordered = [self.m + k for k, (u, v) in enumerate(self.pairs) if place[u] < place[v]]
        return [*sets, *ordered]


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
                reason += f" {terms_text(times, divide)}"
            text = f"d{index} {SENSES[row.sense]} {row.right} {self.left(row)} {{ {reason} }}"
        self._waiting.append((index, text))
        return index

    def left(self, row: Row) -> str:
        """The left side of a row as the format has it."""
        objective = row.coefficients is self.model.objective
        return "OBJ" if objective else terms_text(row.coefficients)


def terms_text(numbers: Mapping[int, int], divide: int = 1) -> str:
    """Write numbers by index as the format has them: how many there are, then each in turn.

    >>> terms_text({3: 2, 5: -1}), terms_text({3: 2, 5: -1}, divide=4)
    ('2 3 2 5 -1', '2 3 1/2 5 -1/4')
    """
    if divide == 1:
        terms = [f" {index} {number}" for index, number in numbers.items()]
    else:
        terms = [f" {index} {_fraction(number, divide)}" for index, number in numbers.items()]
    return str(len(numbers)) + "".join(terms)


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
