"""Cuts derived from the model: clusters, local cuts, and local cuts through other variables.

A cut is derived for the sets that a proof still needs it for; without the others it is weaker, so
it holds as well. Every derivation assumes the opposite of what it is about, finds that nobody can
be first (or last) then, and has the cut from the two cases.

**Somebody comes first** (:func:`refute`). A clause of v says that one of its *others* comes before
v. If everyone has a clause, there is no first one, which cannot be. To derive that, one member m
after the other is eliminated: whoever had m among its others gets those of m instead. Let K_v be
the clause of v with m among its others, K_m the one of m, with q others besides v; then

    a · K_v + K_m − sum over others u of m, but v, of cycle (u, m, v)

with a = q + 1 if v is one of m's others, else a = q, leaves (a or 1, or a + 1) · "u before v" for
everybody who is then before v, on the right 1, and nothing of m. Divided by the largest
coefficient and rounded up, that is the new clause of v.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parentage.check.document import ProofError
from parentage.check.nodes import closed_values, reached_members, spread_up
from parentage.vipr.model import Row

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from parentage.check.document import StatedCut
    from parentage.vipr.model import Lines

Others = dict[int, set[int]]
"""By variable the others in its clause."""


def refute(lines: Lines, clauses: dict[int, int], others: Others, *, after: bool = False) -> int:
    """Derive what cannot be from a clause of everyone; return the number of that row.

    Parameters
    ----------
    lines
        Where derivations go.
    clauses
        The row of every variable's clause.
    others
        Whom it is about, variables with clauses only.
    after
        Whether clauses say "comes after" in place of "comes before".
    """
    rows, others = dict(clauses), {v: set(who) for v, who in others.items()}
    while True:
        for v, who in others.items():
            if not who:
                return rows[v]
        having: Others = {v: set() for v in others}
        for v, who in others.items():
            for u in who:
                having[u].add(v)
        m = min(others, key=lambda v: (len(others[v]) * len(having[v]), v))
        for v in sorted(having[m]):
            rows[v] = _eliminate(lines, rows, others, m, v, after=after)
            others[v] = (others[v] | others[m]) - {m, v}
        del rows[m], others[m]


def _eliminate(
    lines: Lines, rows: dict[int, int], others: Others, m: int, v: int, *, after: bool
) -> int:
    model, beyond = lines.model, others[m] - {v}
    times = len(beyond) + (v in others[m])
    cycles = [model.cycle(v, m, u) if after else model.cycle(u, m, v) for u in sorted(beyond)]
    terms = [(rows[v], times), (rows[m], 1), *((cycle, -1) for cycle in cycles)]
    who = sorted((others[v] | others[m]) - {m, v})
    clause = model.clause([(v, u) if after else (u, v) for u in who])
    both = bool(beyond & others[v])
    divide = max(1, times + both)
    return lines.derive(clause, terms, divide=divide, rounded=True)


def forced(lines: Lines, path: list[int], arcs: dict[tuple[int, int], int]) -> int:
    """Derive that the first of a path comes before the last; return the number of that row.

    ``arcs`` has the rows of "u comes before v" that are known; those of all arcs of the path are,
    and what is derived is added.
    """
    model, first = lines.model, path[0]
    for u, v in pairwise(path[1:]):
        if (first, v) not in arcs:
            arcs[first, v] = lines.derive(
                model.clause([(first, v)]),
                [(arcs[first, u], 1), (arcs[u, v], 1), (model.cycle(first, u, v), -1)],
            )
    return arcs[first, path[-1]]


def ways_down(above: Mapping[int, Iterable[int]], v: int) -> dict[int, int]:
    """Return the ancestors of a variable, each with the next one on a shortest way down to it."""
    found: dict[int, int] = {}
    waiting = [v]
    for below in waiting:
        for u in sorted(above.get(below, ())):
            if u not in found:
                found[u] = below
                waiting.append(u)
    return found


def path_down(below: Mapping[int, int], first: int, last: int) -> list[int]:
    """Follow :func:`ways_down` from an ancestor to the variable, which may be the same one."""
    path = [first, below[first]]
    while path[-1] != last:
        path.append(below[path[-1]])
    return path


Weights = dict[int, int]
"""By set what it is worth."""

MOST_WRITTEN = 12
"""Members of a local cut, or variables of a part solved by dynamic programming."""


class Member(NamedTuple):
    """A member of a local cut: its variable, choices by set, and rows that put others before it.

    A choice is what the set is worth, and the members, as bits, that must come before. ``rows[t]``
    put member ``t`` first: whatever set holds it in its mask is in one of them.
    """

    variable: int
    choices: dict[int, tuple[int, int]]
    rows: dict[int, list[int]]

    @property
    def worth(self) -> Weights:
        """By set its value."""
        return {i: value for i, (value, _) in self.choices.items()}


def derive_cut(lines: Lines, cut: StatedCut, sets: Collection[int]) -> int | None:
    """Derive a cut for some of the sets; return the number of its row, None if it weighs none.

    Raises
    ------
    ProofError
        A cut that does not hold, or of more members than a file is written for.
    """
    if cut.k:
        return _cluster(lines, frozenset(cut.members), cut.k, sets, {})
    if len(cut.members) > MOST_WRITTEN:
        raise ProofError(
            f"VIPR: a local cut has {len(cut.members)} members, at most {MOST_WRITTEN} are written"
        )
    return _local(lines, cut, sets)


def _cluster(
    lines: Lines,
    members: frozenset[int],
    k: int,
    sets: Collection[int],
    known: dict[tuple[frozenset[int], int], int | None],
) -> int | None:
    """Derive that at most |C| − k members have k parents or more in C.

    Assume that more have. For k = 1 everyone then has a parent in C. Otherwise, if f came first in
    C, the others would have k − 1 parents or more without it, and of them there are too few. Where
    k is large, fewer sets of members come up in the dynamic programme of a local cut.
    """
    if (members, k) in known:
        return known[members, k]
    if 2 * k > len(members) <= MOST_WRITTEN:
        found = _packing(lines, members, k, sets)
    else:
        found = _crowd(lines, members, k, sets, known)
    known[members, k] = found
    return found


def _packing(lines: Lines, members: frozenset[int], k: int, sets: Collection[int]) -> int | None:
    """Derive a cluster cut as a local cut in which every set of k parents or more is worth 1."""
    model, order = lines.model, sorted(members)
    found = []
    for v in order:
        masks = {i: model.held(i, order) for i in model.sets(v) if i in sets}
        choices = {i: (1, mask) for i, mask in masks.items() if mask.bit_count() >= k}
        found.append(Member(v, choices, model.links(v, order)))
    if not any(member.choices for member in found):
        return None
    return OrderBound(lines, found).derive(len(members) - k)


def _crowd(
    lines: Lines,
    members: frozenset[int],
    k: int,
    sets: Collection[int],
    known: dict[tuple[frozenset[int], int], int | None],
) -> int | None:
    """Derive a cluster cut by who comes first."""
    model = lines.model
    many = {
        v: [
            i
            for i in model.sets(v)
            if i in sets and len(members.intersection(model.parents[i])) >= k
        ]
        for v in sorted(members)
    }
    weights = {i: 1 for own in many.values() for i in own}
    right = len(members) - k
    some = [v for v, own in many.items() if own]
    if not some:
        return None
    if len(some) <= right:
        return lines.derive(Row(weights, -1, right), [(model.one(v), 1) for v in some])
    low = lines.assume(Row(weights, -1, right))
    high = lines.assume(Row(weights, 1, right + 1))
    others = {
        v: {u for i in own for u in model.parents[i] if u in members} for v, own in many.items()
    }
    clauses: dict[int, int] = {}
    if k == 1:
        _share(lines, high, some, many, others, clauses)
    else:
        bare = [v for v, own in many.items() if not own][:1]
        others = {v: others[v] for v in bare or others}  # such a one cannot be first by itself
        for f in others:
            fewer = _cluster(lines, members - {f}, k - 1, sets, known)
            terms = [(high, 1)] + ([] if fewer is None else [(fewer, -1)])
            clauses[f] = _clause(lines, f, others[f], terms)
    absurd = refute(lines, clauses, others)
    return lines.either(Row(weights, -1, right), (low, low), (absurd, high))


def _share(
    lines: Lines,
    row: int,
    group: list[int],
    many: dict[int, list[int]],
    others: dict[int, set[int]],
    clauses: dict[int, int],
) -> None:
    """From "each of a group has a parent in C" to a clause of each, half by half."""
    model = lines.model
    half = len(group) // 2
    for part, rest in ((group[:half], group[half:]), (group[half:], group[:half])):
        terms = [(row, 1), *((model.one(v), -1) for v in rest)]
        if len(part) == 1:
            clauses[part[0]] = _clause(lines, part[0], others[part[0]], terms)
        elif part:
            weights = {i: 1 for v in part for i in many[v]}
            below = lines.derive(Row(weights, 1, len(part)), terms)
            _share(lines, below, part, many, others, clauses)


def _clause(lines: Lines, v: int, others: set[int], terms: list[tuple[int, int]]) -> int:
    """Derive that one of ``others`` comes before ``v``, from rows by which its set holds one."""
    model = lines.model
    clause = model.clause([(u, v) for u in sorted(others)])
    links = [(model.link(u, v), -1) for u in sorted(others)]
    return lines.derive(clause, [*terms, *links], rounded=True)


def _local(lines: Lines, cut: StatedCut, sets: Collection[int]) -> int | None:
    """Derive a local cut.

    One that passes through other variables holds without them up to M more. Assume that it does
    not hold: then each of them has the parents it should have, whoever it reaches comes before it,
    and before those who hold it. With these orders it is a local cut like others.
    """
    model = lines.model
    reached, worth = reached_members(cut), closed_values(cut)
    plain, passing = [], []
    for j, v in enumerate(cut.members):
        own, all_ = {}, {}
        for i in model.sets(v):
            if i not in sets:
                continue
            direct = seen = model.held(i, cut.members)
            for u in model.parents[i]:
                seen |= reached.get(u, 0)
            seen &= ~(1 << j)
            if value := int(worth[j, seen]):
                own[i], all_[i] = (value, direct), (value, seen)
        links = model.links(v, cut.members)
        plain.append(Member(v, own, links))
        passing.append(Member(v, all_, links))
    if not cut.through or cut.weight == 0:
        if not any(member.choices for member in plain):
            return None
        return OrderBound(lines, plain).derive(cut.right)
    return _through(lines, cut, plain, passing, reached, sets)


def _through(
    lines: Lines,
    cut: StatedCut,
    plain: list[Member],
    passing: list[Member],
    reached: dict[int, int],
    sets: Collection[int],
) -> int | None:
    model, weight = lines.model, cut.weight
    needed = {
        u: [i for i in model.sets(u) if i in sets and set(parents) <= set(model.parents[i])]
        for u, parents in cut.through
    }
    worth = {i: value for member in passing for i, value in member.worth.items()}
    whole = {**worth, **{i: weight for own in needed.values() for i in own}}
    right = cut.right + weight * len(needed)
    if not whole:
        return None
    ones = [(model.one(u), weight) for u, own in needed.items() if own]
    if not worth:
        return lines.derive(Row(whole, -1, right), ones)
    without = OrderBound(lines, plain).derive(cut.right + weight)
    if len(ones) < len(needed):  # one of them cannot have its parents
        return lines.derive(Row(whole, -1, right), [(without, 1), *ones])
    low = lines.assume(Row(whole, -1, right))
    high = lines.assume(Row(whole, 1, right + 1))
    holding = lines.derive(
        Row({i: 1 for own in needed.values() for i in own}, 1, len(needed)),
        [(high, 1), (without, -1)],
        divide=weight,
        rounded=True,
    )
    arcs: dict[tuple[int, int], int] = {}
    for u, parents in cut.through:
        rest = [(model.one(other), -1) for other in needed if other != u]
        for p in sorted({*parents} & {*cut.members, *needed}):
            row = [(holding, 1), *rest, (model.link(p, u), -1)]
            arcs[p, u] = lines.derive(model.clause([(p, u)]), row)
    members = _with_passages(lines, cut, passing, reached, arcs)
    bound = OrderBound(lines, members).derive(cut.right)
    absurd = lines.derive(
        Row({}, 1, 1), [(high, 1), (bound, -1), *((one, -times) for one, times in ones)]
    )
    return lines.either(Row(whole, -1, right), (low, low), (absurd, high))


def _with_passages(
    lines: Lines,
    cut: StatedCut,
    passing: list[Member],
    reached: dict[int, int],
    arcs: dict[tuple[int, int], int],
) -> list[Member]:
    """Add rows by which what a variable reaches comes before those that hold it."""
    model = lines.model
    above = dict(cut.through)
    below = {u: ways_down(above, u) for u in reached}
    found = []
    for j, member in enumerate(passing):
        v, rows = member.variable, {t: list(own) for t, own in member.rows.items()}
        for u in reached:
            if (u, v) not in model.holders or not any(
                u in model.parents[i] for i in member.choices
            ):
                continue
            for t, w in enumerate(cut.members):
                if reached[u] >> t & 1 and t != j:
                    first = forced(lines, path_down(below[u], w, u), arcs)
                    terms = [(model.link(u, v), 1), (model.cycle(w, u, v), 1), (first, -1)]
                    holders = [i for i in model.holders[u, v] if i in member.choices]
                    variable, coefficient, constant = model.before(w, v)
                    row = {**dict.fromkeys(holders, 1), variable: -coefficient}
                    rows.setdefault(t, []).append(lines.derive(Row(row, -1, constant), terms))
        found.append(Member(v, member.choices, rows))
    return found


class OrderBound:
    """What the choices of members are worth at most, derived by dynamic programming over subsets.

    For a set T of members, "if T comes before the rest, it is worth at most b(T)" is

        values of T − M · (number of pairs with one of the rest before one of T) ≤ b(T).

    Assume more. Then no j of T is the last of them: the others would be worth b(T) − g at most, g
    the most that j is worth with them. So nobody is last, which cannot be. b(T) is what T may be
    worth for the whole to hold, asked for from the whole set down; a set whose members cannot reach
    it together, whatever the order, or with a member that nobody waits for, needs no such cases.
    """

    def __init__(self, lines: Lines, members: Sequence[Member]) -> None:
        self.lines, self.members = lines, members
        size = len(members)
        values = np.zeros((size, 1 << size), np.int64)
        self.waits = [0] * size
        for j, member in enumerate(members):
            for value, mask in member.choices.values():
                values[j, mask] = max(int(values[j, mask]), value)
                self.waits[j] |= mask
        spread_up(values)
        self.most: list[list[int]] = values.tolist()
        rows = max((len(own) for member in members for own in member.rows.values()), default=1)
        self.large = max(1, rows * int(values.max(initial=0)))
        self.proved: dict[int, int] = {}

    def derive(self, right: int) -> int:
        """Derive that all are worth ``right`` at most; return the number of that row.

        Raises
        ------
        ProofError
            An order reaches more.
        """
        full = (1 << len(self.members)) - 1
        needs = self._needs(full, right)
        for mask in sorted(needs, key=lambda mask: (mask.bit_count(), mask)):
            self._prove(mask, needs[mask])
        row = self.lines.row(self.proved[full])
        if row.right == right and not any(v >= self.lines.model.m for v in row.coefficients):
            return self.proved[full]
        raise ProofError("VIPR: the whole is not what was to be derived")

    def _needs(self, full: int, right: int) -> dict[int, int]:
        """What every set of members must be shown to stay within."""
        needs = {full: right}
        layer = [full]
        while layer:
            below: dict[int, int] = {}
            for mask in layer:
                if mask == 0 or self._together(mask) <= needs[mask]:
                    continue
                last = self._last(mask)
                for j in self._inside(mask) if last is None else [last]:
                    rest = mask ^ 1 << j
                    need = needs[mask] - self.most[j][rest]
                    below[rest] = min(need, below.get(rest, need))
            needs.update(below)
            layer = list(below)
        if needs.get(0, 0) < 0:
            raise ProofError("VIPR: an order reaches more than the right side")
        needs.pop(0, None)
        return needs

    def _inside(self, mask: int) -> list[int]:
        return [j for j in range(len(self.members)) if mask >> j & 1]

    def _together(self, mask: int) -> int:
        """What members are worth if each comes after all others of the set."""
        return sum(self.most[j][mask ^ 1 << j] for j in self._inside(mask))

    def _last(self, mask: int) -> int | None:
        """A member that no other of the set waits for."""
        for j in self._inside(mask):
            if not any(self.waits[k] >> j & 1 for k in self._inside(mask)):
                return j
        return None

    def _row(self, mask: int, right: int, sense: int) -> Row:
        coefficients: dict[int, int] = {}
        for j in self._inside(mask):
            coefficients.update(self.members[j].worth)
        for j in self._inside(mask):
            for w in self._inside(self.waits[j] & ~mask):
                variable, coefficient, constant = self._before(w, j)
                coefficients[variable] = coefficients.get(variable, 0) - self.large * coefficient
                right += self.large * constant
        return Row(coefficients, sense, right)

    def _before(self, w: int, j: int) -> tuple[int, int, int]:
        return self.lines.model.before(self.members[w].variable, self.members[j].variable)

    def _own(self, j: int, mask: int) -> list[tuple[int, int]]:
        """Rows by which ``j`` is worth its most with others of a set, more only after the rest."""
        member, rest = self.members[j], mask & ~(1 << j)
        most = self.most[j][rest]
        more = self.most[j][-1] - most
        found = [(self.lines.model.one(member.variable), most)]
        for w in self._inside(self.waits[j] & ~rest):
            found += [(row, more) for row in member.rows[w]]
        return found

    def _prove(self, mask: int, right: int) -> None:
        row = self._row(mask, right, -1)
        if self._together(mask) <= right:
            terms = [term for j in self._inside(mask) for term in self._own(j, mask)]
            self.proved[mask] = self.lines.derive(row, terms)
            return
        last = self._last(mask)
        if last is not None:
            terms, rest = self._own(last, mask), mask ^ 1 << last
            terms += [(self.proved[rest], 1)] if rest else []
            self.proved[mask] = self.lines.derive(row, terms)
            return
        low = self.lines.assume(row)
        high = self.lines.assume(self._row(mask, right + 1, 1))
        clauses, others = {}, {}
        for j in self._inside(mask):
            v = self.members[j].variable
            after = [
                self.members[k].variable
                for k in self._inside(mask ^ 1 << j)
                if self.waits[k] >> j & 1
            ]
            clause = self.lines.model.clause([(v, u) for u in after])
            terms = [(high, 1), (self.proved[mask ^ 1 << j], -1)]
            terms += [(row_, -times) for row_, times in self._own(j, mask)]
            clauses[v] = self.lines.derive(clause, terms, divide=self.large, rounded=True)
            others[v] = set(after)
        absurd = refute(self.lines, clauses, others, after=True)
        self.proved[mask] = self.lines.either(row, (low, low), (absurd, high))
