"""What a search will cost, before it is started.

Three kinds of knowledge, from sure to rough. (1) Where every set is counted (no closure), the
number of sets is a sum of binomials: exact. (2) Where only live sets are, Theorem 3″ bounds the
product of their arities, so the sets that can be live are counted by a small dynamic program over
products: a proved upper bound. (3) :func:`sharpen` takes a search that ran for a moment and, if it
did not end by itself, extends its levels: an estimate.

Times are for one core and come from a rate per set that was measured once
(``benchmarks/results``); memory is what the arrays take.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING

from parentage.errors import Bytes, ResourceError, Way
from parentage.scoring.tuning import TUNING
from parentage.work import tuning as work_tuning
from parentage.work.memory import available_memory, gigabytes, used_memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parentage.scoring.encoding import Encoding
    from parentage.scoring.search.plan import SearchPlan
    from parentage.scoring.search.state import Outcome


MOST_COUNTED = 10**300  # as many as that, or more: what they take still is a finite float
BASES = ("counted", "searched", "extrapolated", "at most")  # from sure to rough
_SMALLER = (Way("max_parents", 3), Way("rules", "default"))


@dataclass(frozen=True)
class Forecast:
    """What a search will take."""

    sets: int
    """Sets to be counted."""
    basis: str
    """How ``sets`` is known: counted, searched, extrapolated, or at most."""
    sets_at_most: int
    """Proved upper bound; MOST_COUNTED stands for any number above it, here and in ``levels``."""
    seconds: float
    """On one core."""
    memory: int
    """Bytes at the peak."""
    levels: tuple[int, ...] = ()
    """Sets by size, from single variables on."""

    @property
    def parents(self) -> int:
        """The most parents of a set."""
        return len(self.levels) - 1

    def up_to(self, fixed: int, more: int = 0) -> list[Forecast]:
        """Return what sets of up to 1, 2, 3 … parents take, ``fixed`` bytes for the table.

        The last level of each is scored and forgotten.
        """
        per_set = self.seconds / max(1, self.sets)
        found = []
        for parents in range(1, len(self.levels)):
            levels = self.levels[: parents + 1]
            sets = min(sum(levels), MOST_COUNTED)
            memory = fixed + level_memory(levels[:-1], more)
            found.append(
                replace(self, sets=sets, seconds=per_set * sets, memory=memory, levels=levels)
            )
        return found


def bytes_per_set(size: int, more: int = 0) -> int:
    """Return what a stored set of ``size`` variables takes: members, subsets, Bin, G and more."""
    return 8 * size + 8 + more


def fixed_memory(encoded: Encoding, threads: int) -> int:
    """Return what encoding and the threads' workspaces take, in bytes."""
    n_rows = encoded.distinct_rows
    columns = int(encoded.arity.sum())
    repeated = 32 if len(encoded.repeats) else 0
    return int(encoded.nbytes + threads * n_rows * (48 + repeated + columns // 4))


def room_for_levels(most: int, workers: int) -> int:
    """Return what levels and kept families may take where the process may take ``most``.

    Raises
    ------
    ResourceError
        The program and the table leave too little of it.
    """
    chunks = workers * (1 + work_tuning.TUNING.tasks_ahead)
    taken = used_memory() + TUNING.kernel_bytes + TUNING.bytes_in_hand * chunks
    room, begin = most - taken, TUNING.least_room
    if room < begin:
        least = -(-(taken + begin) // 10**8) * 10**8
        raise ResourceError(
            f"{gigabytes(most)} of memory is not enough: {gigabytes(taken + begin)} is needed, "
            f"{gigabytes(taken)} for the program and this table, and {gigabytes(begin)} to "
            "start a search",
            Way("memory", Bytes(least), "or more"),
        )
    return room


def level_memory(sizes: Sequence[int], more: int = 0) -> int:
    """Return the peak of two adjacent levels, the new one while it is put together."""
    peak = 0
    for s in range(2, len(sizes) + 1):
        below = sizes[s - 2] * bytes_per_set(s - 1, more)
        peak = max(peak, below + int(TUNING.joining * sizes[s - 1] * bytes_per_set(s, more)))
    return peak


def all_sets(n: int, deepest: int) -> list[int]:
    """Return the number of sets of 1 … deepest + 1 variables, or MOST_COUNTED if there are more.

    >>> all_sets(4, 2)
    [4, 6, 4]
    """
    sizes = range(1, min(deepest + 1, n) + 1)
    return [min(math.comb(n, size), MOST_COUNTED) for size in sizes]


def many(sets: int) -> str:
    """Write a large number of sets.

    >>> many(123_456_789_012), many(10**300)
    ('1.23e+11', 'over 1e+300')
    """
    return f"{sets:.3g}" if sets < MOST_COUNTED else f"over {MOST_COUNTED:.3g}"


def seconds_for(sets: int, n_rows: int) -> float:
    """Return how long one core counts this many sets."""
    return sets * (TUNING.seconds_per_set + TUNING.seconds_per_set_and_row * n_rows)


def forecast(plan: SearchPlan, threads: int = 1) -> Forecast:
    """Say what is known without searching."""
    encoded, closed = plan.encoded, plan.leaves_out
    n = encoded.n_variables
    sizes = sizes_at_most(plan)
    stored = sizes[:-1] if len(sizes) < n else sizes
    behind_h = n + 1 if plan.rules.needs_residuals else 0
    sets = min(sum(sizes) + behind_h, MOST_COUNTED)
    return Forecast(
        sets,
        "at most" if closed else "counted",
        sets,
        seconds_for(sets, encoded.distinct_rows),
        fixed_memory(encoded, threads) + level_memory(stored, plan.measure.more_bytes_per_set),
        tuple(sizes),
    )


def sizes_at_most(plan: SearchPlan) -> list[int]:
    """Return a proved upper bound on the sets of each size, from single variables on."""
    encoded = plan.encoded
    deepest = min(plan.deepest, encoded.n_variables - 1)
    sizes = all_sets(encoded.n_variables, deepest)
    if not plan.rules.closed:
        return sizes
    bound = plan.measure.live_at_most(deepest)
    if bound is None:
        return sizes
    bound[0] = encoded.n_variables  # single variables are counted whether they are live or not
    return [min(a, b) for a, b in zip(sizes, bound, strict=True)]


def sharpen(known: Forecast, plan: SearchPlan, outcome: Outcome, spent: float) -> Forecast:
    """Sharpen a forecast by what a search found before it ended or was stopped.

    ``spent`` are its CPU seconds.
    """
    encoded, finished = plan.encoded, outcome.complete_to is None
    sizes = outcome.live
    if not finished:
        sizes = extrapolate(outcome.live, encoded.n_variables, sizes_at_most(plan))
    sets = outcome.sets_counted
    if not finished:
        sets = max(sets, min(sum(sizes), known.sets_at_most))
    return Forecast(
        sets,
        "searched" if finished else "extrapolated",
        known.sets_at_most,
        spent * sets / max(outcome.sets_counted, 1),
        min(
            known.memory,
            fixed_memory(encoded, 1) + level_memory(sizes, plan.measure.more_bytes_per_set),
        ),
        tuple(sizes),
    )


def together(forecasts: Sequence[Forecast]) -> Forecast:
    """Return what searches take that run one after the other."""
    bounded = any(one.basis == "at most" for one in forecasts)
    at_most = min(sum(one.sets_at_most for one in forecasts), MOST_COUNTED)
    return Forecast(
        at_most if bounded else min(sum(one.sets for one in forecasts), MOST_COUNTED),
        max((one.basis for one in forecasts), key=BASES.index),
        at_most,
        sum(one.seconds for one in forecasts),
        max(one.memory for one in forecasts),
        tuple(sum(level) for level in zip_longest(*(one.levels for one in forecasts), fillvalue=0)),
    )


def extrapolate(sizes: Sequence[int], n: int, bound: Sequence[int]) -> list[int]:
    """Extend the levels of a search that was stopped.

    The share of all sets of a size that are live falls faster and faster: the drop of its
    logarithm grows from size to size, and is taken to grow half as much again each time.

    >>> extrapolate([37, 666, 7770, 66045, 420481, 1307397], 37, [10**8] * 9)[:6]
    [37, 666, 7770, 66045, 420481, 1307397]
    """
    levels = list(sizes)
    shares = [math.log(x / math.comb(n, s)) for s, x in enumerate(levels, 1)]
    drop = shares[-1] - shares[-2] if len(shares) > 1 else 0.0
    before = shares[-2] - shares[-3] if len(shares) > 2 else 0.0
    more = min(drop - before, -0.2)
    share = shares[-1]
    while len(levels) < len(bound) and levels[-1] > 1:
        more *= 1.5
        drop += more
        share += drop
        every = min(math.comb(n, len(levels) + 1), MOST_COUNTED)
        size = int(every * math.exp(max(share, -700.0)))
        levels.append(min(size, bound[len(levels)]))
    return levels


def refuse_what_cannot_fit(plan: SearchPlan, threads: int) -> None:
    """Refuse a search over all sets that is too large; one over live sets stops in time."""
    if plan.leaves_out:
        return
    known = forecast(plan, threads)
    what = f"counting every set ({plan.rules} leaves none out)"
    free = available_memory()
    if known.memory > free:
        raise ResourceError(
            f"{what} needs {many(known.sets)} sets and {gigabytes(known.memory)} of memory, "
            f"{gigabytes(free)} is free",
            *_SMALLER,
        )
    if known.seconds > TUNING.longest_search:
        raise ResourceError(
            f"{what} needs {many(known.sets)} sets, about {known.seconds / 86400:.3g} days",
            *_SMALLER,
        )
