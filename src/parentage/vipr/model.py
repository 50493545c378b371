"""Networks as an integer programme: which set every child takes, and who comes before whom.

Variables, all of them whole numbers: x of every set, 1 if its child takes it; o of pairs u < v, 1
if u comes before v. Rows, in the order of the file:

- x ≥ 0; o ≥ 0; o ≤ 1;
- *one*: the sets of a child add up to 1;
- *link* (u, v): the sets of v that hold u add up to 1 at most, and to 0 unless u is before v;
- *cycle* (a, b, c): not a before b, b before c and c before a.

Every network satisfies them all, with any order that it respects. Of the cycles only those that a
proof needs are there: a bound that follows from fewer rows holds all the more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

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
        ends = [APART * (k + 1) for k in range(4)] if known is None else _running(sizes)
        self.upper, self.ones, self.links, self.cycles = ends
        self.n_rows = APART * 5 if known is None else self.cycles + len(self.triples)

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return self.m + len(self.pairs)

    def sets(self, v: int) -> range:
        """The sets of a variable."""
        return range(self.offsets[v], self.offsets[v + 1])

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
        return self.links + self._link[u, v]

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
        if index >= self.links:
            u, v = self.arcs[index - self.links]
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
        waiting = {v: set(self.parents[i]) for v, i in enumerate(sets)}
        place: dict[int, int] = {}
        ready = [v for v, above in waiting.items() if not above]
        below: dict[int, list[int]] = {}
        for v, above in waiting.items():
            for u in above:
                below.setdefault(u, []).append(v)
        while ready:
            u = ready.pop()
            place[u] = len(place)
            for v in below.get(u, ()):
                waiting[v].discard(u)
                if not waiting[v]:
                    ready.append(v)
        ordered = [self.m + k for k, (u, v) in enumerate(self.pairs) if place[u] < place[v]]
        return [*sets, *ordered]


def _running(sizes: Iterable[int]) -> list[int]:
    total, sums = 0, []
    for size in sizes:
        total += size
        sums.append(total)
    return sums
