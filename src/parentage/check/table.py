"""Candidate lists checked against their table: a recount that shares no code with scoring.

The best network of a table is one of its lists if every parent set that is allowed has a listed
subset that scores as much. The sets of every child are gone through size by size; a set and all
its supersets are passed over where an inequality of docs/theory.md says that a subset scores as
much as any of them, and every other set is counted and compared (docs/certificates.md).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.check.counting import LARGEST, WORKING, DistinctRows, counting, ln_ratio, measure_of
from parentage.check.document import ProofError
from parentage.check.families import restrictions, variable_of
from parentage.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parentage.check.counting import Sums
    from parentage.check.document import Lists
    from parentage.check.families import Flags, Ints
    from parentage.data.table import Table

Keys = npt.NDArray[Any]
"""Sets of columns as numbers, a bit for each member."""

NONE = -4 * LARGEST
"""Less than every score."""

PAIRS = 1 << 19
"""Joins that are looked at together."""

JUDGING = 1.5
"""A recount takes so many times as long as its counting."""


Say = Callable[[str, int, float], None]
"""What is called with where a recount is: in words (``"asia, 2 parents"``; empty before it begins),
the sets counted so far, and the seconds that all of it will take, as judged before it began."""


class Child(NamedTuple):
    """What may be parents of a column, and what is listed for it."""

    x: int
    required: tuple[int, ...]
    free: Ints
    """Columns that may be parents besides."""
    most: int
    """How many of them."""
    odds: Ints
    """``[column]``: what the prior adds for it as a parent, rounded up."""
    bonus: int
    """The most that the prior adds to any set."""
    keys: Keys
    """Listed sets, rising."""
    scores: Ints
    """Their scores, rounded down."""

    def listed(self, keys: Keys) -> Ints:
        """Return the listed scores of sets; NONE for those that are not listed."""
        found = np.full(len(keys), NONE, np.int64)
        at, there = _places(self.keys, keys)
        found[there] = self.scores[at[there]]
        return found


class ParentSets(NamedTuple):
    """Parent sets of one child and one size; F and joint states where they are known."""

    members: Ints
    """``[set, member]`` besides the required ones, rising; in lexicographic order."""
    keys: Keys
    q: Ints
    """Joint states of the parents by declaration."""
    best: Ints
    """The best listed score of a subset."""
    own: Ints
    """F of the parents."""
    joint: Ints
    """F of the parents and the child."""
    cells: Ints
    """Joint states of the parents and the child that occur, or fewer."""
    below: Ints
    """``[set, member]``: the place of the set without that member among those one smaller."""

    def where(self, chosen: Flags | Ints) -> ParentSets:
        """Return some of them."""
        return ParentSets(*(part[chosen] for part in self))


class Recounter:
    """A recount of one table: what all children share, above all what was counted.

    The table is complete, the lists are those of its columns, and the settings (score, limits,
    constraints and prior) are as a certificate records them.

    Raises
    ------
    InputError
        A table or settings that a recount does not know.
    ProofError
        Settings that break the format.
    """

    def __init__(self, table: Table, lists: Lists, settings: Mapping[str, Any]) -> None:
        _check_known(table, settings)
        self.names, self.lists, base = table.names, lists, settings["log_base"]
        self.base = 1 << WORKING if base is None else ln_ratio(Fraction(base))
        constant = set(table.constant)
        self.varying = [v for v, name in enumerate(table.names) if name not in constant]
        self.arity = np.array([len(labels) for labels in table.states], np.int64)
        self.required, self.barred, self.most, odds = allowed_by(self.names, settings)
        logs = np.sort(np.log(self.arity[self.varying]))[::-1][: int(self.most.max()) + 1]
        added = sum(max(0, *row) for row in odds) * len(self.names) / 2**WORKING
        scores = float(np.abs(lists.scores).max(initial=0.0)) * self.base / 2**WORKING
        self.measure = measure_of(
            settings["score"], table.n_rows, len(self.varying), float(logs.sum()),
            4 * scores + added + (settings["width"] or 0.0) * self.base / 2**WORKING,
        )  # fmt: skip
        codes, repeats = _distinct_rows(table)
        self.rows = DistinctRows(codes, repeats, tuple(self.arity.tolist()), self.measure)
        self.odds = np.array([[self.measure.up(x) for x in row] for row in odds], np.int64)
        width = Fraction(settings["width"] or 0)
        self.width = max(0, self.measure.down(math.floor(width * self.base)))
        self.slack = min(table.n_rows // 2, codes.shape[1]) + 1
        self.tolerance = self._tolerance(table.n_rows, codes.shape[1])
        self.unexplained = self._unexplained()
        n = len(self.names)
        self.bits: Keys = np.array([1 << v for v in range(n)], np.int64 if n < 63 else object)
        """``[column]``: its bit in a key."""
        self.sums: Sums = self.rows.sums
        self.known: dict[int, tuple[Keys, Ints, Ints]] = {}
        """By size: keys, rising, F and joint states of the sets that were counted."""
        self.sets_counted = 0

    def keys(self, sets: Ints) -> Keys:
        """Return the keys of sets of one size."""
        total: Keys = self.bits[sets].sum(axis=1)
        return total if sets.shape[1] else np.zeros(len(sets), self.bits.dtype)

    def count(self, sets: Ints) -> tuple[Ints, Ints]:
        """Return F, rounded down, and joint states of sets of one size, members in any order.

        They are counted when first asked for.
        """
        keys, none = self.keys(sets), np.zeros(0, np.int64)
        known = self.known.get(sets.shape[1], (keys[:0], none, none))
        distinct, first = np.unique(keys, return_index=True)
        fresh = first[~_places(known[0], distinct)[1]]
        if len(fresh):
            missing = np.sort(sets[fresh], axis=1)
            order = np.lexsort(missing.T[::-1]) if missing.shape[1] else np.arange(1)
            found = (keys[fresh[order]], *self.sums(missing[order]))
            joined = [np.concatenate(pair) for pair in zip(known, found, strict=True)]
            order = np.argsort(joined[0], kind="stable")
            known = joined[0][order], joined[1][order], joined[2][order]
            self.known[sets.shape[1]] = known
            self.sets_counted += len(fresh)
        at = np.searchsorted(known[0], keys)
        return known[1][at], known[2][at]

    def _tolerance(self, n_rows: int, distinct: int) -> int:
        """Return how far scoring, for which scores that are close are equal, may be off."""
        if not self.measure.weight:
            return 12 * (n_rows + 8)
        weight = self.measure.weight / 2**WORKING
        parameters = math.ceil(n_rows * math.log(n_rows) / weight + int(self.arity.max()))
        wide, fine = 6 * (n_rows + 8 + parameters), 24 * (min(n_rows // 2, distinct) + 8)
        return wide if wide < 1e-6 * 2**self.measure.bits else fine

    def _unexplained(self) -> Ints:
        """Return h_X of every column, rounded down; 0 of constants."""
        rows = replace(self.rows, measure=replace(self.measure, kind="bic"))
        (whole,), _ = rows.sums(np.array([self.varying], np.int64))
        backwards = self.varying[::-1]  # so that the others come in lexicographic order
        others = [[u for u in self.varying if u != v] for v in backwards]
        rest, _ = rows.sums(np.array(others, np.int64))
        found = np.zeros(len(self.names), np.int64)
        found[backwards] = np.maximum(0, rest - whole - self.slack)
        return found

    def forecast(self, expected: int, threads: int = 1) -> float:
        """Return the seconds that so many sets will take, judged by some of three columns."""
        columns = self.varying[:12]
        sample = np.array(list(combinations(columns, min(3, len(columns)))), np.int64)
        began = time.perf_counter()
        self.rows.sums(sample)
        each = (time.perf_counter() - began) / len(sample)
        return JUDGING * expected * each * (0.5 + 0.5 / max(1, threads))

    def run(self, *, threads: int = 1, say: Callable[[str], None] = lambda phase: None) -> float:
        """Check that every allowed set has a listed subset that scores as much.

        Return how far that may be off, in nats, over all columns: by how much a set may score above
        the best of its listed subsets, and a listed score may lie above the true one. As many
        processes as ``threads`` count; ``say`` is called with where the recount is, in words.

        Raises
        ------
        ProofError
            A set that is missing, or a score that is wrong.
        """
        off = 0
        with counting(self.rows, threads) as sums:
            self.sums = sums
            children = [self._child(x) for x in range(len(self.names))]
            checked = [self._check_scores(child) for child in children]
            for child, (low, high) in zip(children, checked, strict=True):
                x, most = child.x, low
                if x in self.varying:
                    most = max(most, self._check_sets(child, say))
                off += max(0, most) + max(0, high)
        return math.ldexp(off, -self.measure.bits)

    def _child(self, x: int) -> Child:
        """Put together what is allowed and listed for a child; a constant has no parents."""
        lists, required, others = self.lists, self.required[x], self.varying
        if x not in others:
            others = []
        free = [v for v in others if v not in (x, *required) and not self.barred[x, v]]
        most = min(len(free), int(self.most[x]) - len(required))
        first, last = int(lists.offsets[x]), int(lists.offsets[x + 1])
        sets = [lists.parents_of(i).tolist() for i in range(first, last)]
        for members in sets:
            extra = set(members) - set(required)
            if len(members) - len(extra) < len(required) or not extra <= set(free):
                raise ProofError(f"lists: {self._set(x, members)} is not allowed")
            if len(extra) > most:
                raise ProofError(f"lists: {self._set(x, members)} has too many parents")
        keys: Keys = np.array([sum(1 << v for v in m) for m in sets], self.bits.dtype)
        order = np.argsort(keys, kind="stable")
        if (keys[order][1:] == keys[order][:-1]).any():
            raise ProofError(f"lists: a set of {self.names[x]!r} is listed twice")
        scores = [
            self.measure.down(math.floor(Fraction(score) * self.base))
            for score in lists.scores[first:last].tolist()
        ]
        odds = self.odds[x]
        gains = sorted((max(0, int(odds[v])) for v in free), reverse=True)[: max(0, most)]
        bonus = sum(gains) + int(odds[list(required)].sum())
        return Child(
            x, required, np.array(free, np.int64), most, odds, bonus,
            keys[order], np.array(scores, np.int64)[order],
        )  # fmt: skip

    def _set(self, x: int, members: Sequence[int]) -> str:
        names = ", ".join(self.names[v] for v in members)
        return f"the set {{{names}}} of {self.names[x]!r}"

    def _said(self, units: int) -> str:
        """A recounted score in words, in the unit of the lists."""
        score = Fraction(units << WORKING - self.measure.bits, self.base)
        return f"scored again, it has {float(score):.12g}"

    def _check_scores(self, child: Child) -> tuple[int, int]:
        """Compare every listed score; return how far one may be too low, and too high."""
        x, lists = child.x, self.lists
        first, last = int(lists.offsets[x]), int(lists.offsets[x + 1])
        sizes = np.diff(lists.starts[first : last + 1])
        low = high = 0
        for size in np.unique(sizes).tolist():
            which = first + np.flatnonzero(sizes == size)
            sets = np.array([lists.parents_of(i) for i in which.tolist()], np.int64)
            sets = sets.reshape(len(which), size)
            true = np.zeros(len(which), np.int64)  # of a constant
            if x in self.varying:
                joint, own = self.count(_with(sets, x))[0], self.count(sets)[0]
                true = joint - own - self._price(child, sets, self._states(sets))
            listed = child.listed(self.keys(sets))
            above = true + self.slack - listed
            under = listed + 2 - (true - self.slack - 2 - size)
            for off in (above, under):
                if off.max() > self.tolerance:
                    i = int(np.argmax(off))
                    raise ProofError(
                        f"lists: {self._set(x, sets[i].tolist())} does not score "
                        f"{float(lists.scores[which[i]])!r}; {self._said(int(true[i]))}"
                    )
            low, high = max(low, int(above.max())), max(high, int(under.max()))
        return low, high

    def _states(self, sets: Ints) -> Ints:
        """Return the joint states of sets by declaration."""
        if np.log2(self.arity[sets]).sum(axis=1).max(initial=0) >= math.log2(LARGEST):
            raise ProofError("lists: a set has too many joint states for 64 bits")
        found: Ints = np.prod(self.arity[sets], axis=1, dtype=np.int64)
        return found

    def _price(self, child: Child, sets: Ints, q: Ints) -> Ints:
        """Return the price of sets, rounded down, less what the prior adds, rounded up."""
        odds: Ints = child.odds[sets].sum(axis=1)
        return self.measure.prices(q, int(self.arity[child.x])) - odds

    def _check_sets(self, child: Child, say: Callable[[str], None]) -> int:
        """Go through the allowed sets of a child; return how far one may exceed its subsets."""
        level, excess = self._first(child)
        for size in range(1, child.most + 1):
            if not len(level.keys):
                break
            parts = []
            for joined in self._joined(child, level):
                noun = "parent" if size == 1 else "parents"
                say(f"{self.names[child.x]}, {size} {noun}")
                part, most = self._judged(child, level, joined)
                parts.append(part)
                excess = max(excess, most)
            level = ParentSets(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        return excess

    def _first(self, child: Child) -> tuple[ParentSets, int]:
        """Begin with the required parents alone."""
        sets = np.array([child.required], np.int64).reshape(1, -1)
        none, empty = np.zeros(1, np.int64), np.zeros((1, 0), np.int64)
        own = self.count(sets)[0]
        first = ParentSets(
            empty, self.keys(sets), self._states(sets), none + NONE, own, none, none, empty
        )
        return self._compared(child, first)

    def _joined(self, child: Child, level: ParentSets) -> Iterator[ParentSets]:
        """Yield the sets one larger all of whose subsets one smaller are in the level."""
        bits, order = self.bits, np.argsort(level.keys, kind="stable")
        rising = level.keys[order]
        for left, new, below in _pairs(child, level):
            members = np.concatenate([level.members[left], new[:, None]], axis=1)
            keys, q = level.keys[left] + bits[new], level.q[left]
            if q.max(initial=0) >= LARGEST // int(self.arity.max()):
                raise ProofError("the table has sets of too many joint states for 64 bits")
            q = q * self.arity[new]
            for p in range(members.shape[1] - 3, -1, -1):
                at, there = _places(rising, keys - bits[members[:, p]])
                below = [order[at[there]], *(place[there] for place in below)]
                members, keys, q = members[there], keys[there], q[there]
            places, none = np.stack(below, axis=1), np.zeros(len(q), np.int64)
            best, cells = level.best[places].max(axis=1), level.cells[places].max(axis=1)
            yield ParentSets(members, keys, q, best, none, none, cells, places)

    def _judged(self, child: Child, level: ParentSets, sets: ParentSets) -> tuple[ParentSets, int]:
        """Pass over sets whose supersets cannot exceed a subset; count and compare the others."""
        sets = sets.where(sets.best - self.width < self._ceilings(child, sets))
        own, cells = self.count(_with(sets.members, *child.required))
        sets = sets._replace(own=own, cells=np.maximum(sets.cells, cells))
        if self.measure.kind == "bdeu":  # what occurs of the parents is known now
            sets = sets.where(sets.best - self.width < self._ceilings(child, sets))
        elif self.measure.weight:
            sets = sets.where(~self._parents_side(child, level, sets))
        return self._compared(child, sets)

    def _ceilings(self, child: Child, sets: ParentSets) -> Ints:
        """Return what no set scores above that contains one of these, or is one."""
        r, unexplained = int(self.arity[child.x]), int(self.unexplained[child.x])
        ceilings = self.measure.ceilings(sets.q, r, unexplained, sets.cells)
        losses: Ints = np.minimum(child.odds, 0)[sets.members].sum(axis=1)
        return ceilings + losses + child.bonus

    def _parents_side(self, child: Child, level: ParentSets, sets: ParentSets) -> Flags:
        """Say which sets have a parent that explains too little in them and in all supersets."""
        fires = np.zeros(len(sets.keys), np.bool_)
        price = self._price(child, _with(sets.members, *child.required), sets.q)
        for p in range(sets.members.shape[1]):
            y, star = sets.members[:, p], sets.below[:, p]
            spare = self.slack + self.width - sets.own - self.unexplained[y]
            itself = level.joint[star] + spare - price <= level.best[star]
            parameters = 2 * level.q[star] * (self.arity[y] - 1)
            added = self.measure.prices(parameters, int(self.arity[child.x]))
            fires |= itself & (level.own[star] + spare + child.odds[y] <= added)
        return fires

    def _compared(self, child: Child, sets: ParentSets) -> tuple[ParentSets, int]:
        """Count sets with the child, and compare them with the best listed subset.

        Returns those that may have supersets to look at, and how far one may exceed its subsets.
        """
        whole = _with(sets.members, *child.required)
        joint, cells = self.count(_with(whole, child.x))
        scores = joint + self.slack - sets.own - self._price(child, whole, sets.q)
        listed = child.listed(sets.keys)
        best = np.maximum(sets.best, listed)
        missing = np.where(listed == NONE, scores - best + self.width, NONE)
        if missing.max(initial=0) > self.tolerance:
            i = int(np.argmax(missing))
            more = " plus the width" if self.width else ""
            raise ProofError(
                f"lists: {self._set(child.x, sorted(whole[i].tolist()))} is missing, and no listed "
                f"subset scores as much{more}; {self._said(int(scores[i]))}"
            )
        sets = sets._replace(best=best, joint=joint, cells=cells)
        live = best - self.width < self._ceilings(child, sets)
        return sets.where(live), int((scores - best).max(initial=0))


def _pairs(child: Child, level: ParentSets) -> Iterator[tuple[Ints, Ints, list[Ints]]]:
    """Yield, some at a time, sets of a level with one more member, larger than all of theirs.

    As the places of the sets, the members, and the places of the results without their last but
    one and without their last member. Sets are joined that differ in their last member alone.
    """
    count, size = level.members.shape
    if not size:
        left = np.zeros(len(child.free), np.int64)
        yield left, child.free, [left]
        return
    differ = (level.members[1:, :-1] != level.members[:-1, :-1]).any(axis=1)
    ends = np.append(np.flatnonzero(differ) + 1, count)
    partners = ends[np.searchsorted(ends, np.arange(count), side="right")] - np.arange(count) - 1
    total, first = np.cumsum(partners), 0
    while first < count:
        before = total[first] - partners[first]
        last = max(first + 1, int(np.searchsorted(total, before + PAIRS, side="right")))
        here = partners[first:last]
        left = np.repeat(np.arange(first, last), here)
        right = left + 1 + np.arange(len(left)) - np.repeat(np.cumsum(here) - here, here)
        yield left, level.members[right, -1], [right, left]
        first = last


def _with(sets: Ints, *more: int) -> Ints:
    """Return sets with more members."""
    return np.concatenate([sets, np.tile(np.array(more, np.int64), (len(sets), 1))], axis=1)


def _places(known: Keys, keys: Keys) -> tuple[Ints, Flags]:
    """Return where keys are among known ones, which rise, and whether they are there."""
    at = np.searchsorted(known, keys)
    there = at < len(known)
    there[there] = known[at[there]] == keys[there]
    return at, there


def _distinct_rows(table: Table) -> tuple[npt.NDArray[np.uint16], Ints]:
    """Return codes, and how often each row occurs; nothing: once, each."""
    codes = np.ascontiguousarray(table.to_codes(), np.uint16)
    repeats = table.repeats.astype(np.int64)
    rows = np.ascontiguousarray(codes.T).view(np.dtype((np.void, 2 * len(codes)))).ravel()
    _, first, where = np.unique(rows, return_index=True, return_inverse=True)
    if 2 * len(first) > len(rows):
        return codes, repeats
    counts = np.bincount(where.ravel(), repeats if len(repeats) else None)
    return np.ascontiguousarray(codes[:, first]), counts.astype(np.int64)


def _check_known(table: Table, settings: Mapping[str, Any]) -> None:
    """Refuse what a recount does not know, and values that settings cannot have."""
    instead = "give the candidate lists instead of the table"
    if settings["settled"] is not None:
        raise InputError(
            f"this certificate is about data that expectation maximisation completed; {instead}"
        )
    if settings["complete_to"] is not None:
        raise InputError(
            f"scoring of the lists of this certificate was stopped early; {instead}, or "
            "score the table without a time limit"
        )
    if table.has_holes:
        raise InputError(
            f"values are missing, and only complete data can be scored again; {instead}"
        )
    if table.n_rows < 2 or len(table.names) - len(table.constant) < 2:
        raise InputError("checking needs a table of at least 2 rows and 2 columns that vary")
    kinds = {
        "score": str,
        "max_parents": int | Mapping | None,
        "log_base": int | float | None,
        "width": int | float | None,
        "constraints": Mapping,
        "prior": Mapping,
    }
    for key, kind in kinds.items():
        value = settings[key]
        right = isinstance(value, kind) and not isinstance(value, bool)
        if right and isinstance(value, int | float):
            right = 0 <= value < math.inf
        if not right or (key == "log_base" and value is not None and value <= 1):
            raise InputError(f"settings.{key} in this certificate is not a possible value")


def allowed_by(
    names: Sequence[str], settings: Mapping[str, Any]
) -> tuple[list[tuple[int, ...]], Flags, Ints, list[list[int]]]:
    """Return what settings allow; arcs that are certain by the prior are required or barred.

    Of every column its required parents, the barred ones ``[child, parent]``, the largest number of
    parents, and ``[child][parent]`` the log odds of the arc in units of 2^−WORKING.

    Raises
    ------
    ProofError
        Settings of a form that is not in the format.
    """
    index, limit = {name: v for v, name in enumerate(names)}, settings["max_parents"]
    required, barred, most = restrictions(settings["constraints"], names)
    given = limit if isinstance(limit, Mapping) else dict.fromkeys(names, limit)
    limits = {name: own for name, own in given.items() if own is not None}
    most = np.minimum(most, restrictions({"max_parents": limits}, names)[2])
    odds = [[_log_odds(_share(settings["prior"].get("default")))] * len(names) for _ in names]
    for entry in settings["prior"].get("arcs", ()):
        if not isinstance(entry, list | tuple) or len(entry) != 3:
            raise InputError("settings.prior in this certificate is not a possible value")
        parent, child = (variable_of(name, "settings.prior", index) for name in entry[:2])
        share = _share(entry[2])
        odds[child][parent] = _log_odds(share)
        required[child, parent] |= share == 1
        barred[child, parent] |= share == 0
    return [tuple(np.flatnonzero(own).tolist()) for own in required], barred, most, odds


def _share(p: Any) -> Fraction:
    """Return a probability as an exact fraction."""
    if isinstance(p, bool) or not isinstance(p, int | float) or not 0 <= p <= 1:
        raise InputError("settings.prior in this certificate is not a possible value")
    return Fraction(p)


def _log_odds(share: Fraction) -> int:
    """Return ln(p / (1 − p)) in units of 2^−WORKING; 0 for what is certain."""
    return 0 if share in (0, 1) else ln_ratio(share / (1 - share))
