"""The numbers of this room: the unit of ``--effort``, by definition, and those that were chosen.

**Effort** is work as nominal seconds of one core. Its numbers are fixed. They were close to what
work took on one machine when they were written down, and they are not a forecast
(:mod:`parentage.scoring.search.forecast`): a result that is promised to repeat with the same effort
may not change when a forecast becomes better.
"""

from __future__ import annotations

from dataclasses import dataclass

PER_SET = 6e-7
"""Nominal seconds for counting one set, whatever the rows."""

PER_SET_AND_ROW = 1.1e-10
"""Nominal seconds that each row adds to counting one set."""

PER_LOOK = 5e-9
"""Nominal seconds for looking at one set in the order search."""

PER_SET_LAID = 5e-8
"""Nominal seconds for putting one set where the order search finds it."""

PER_STEP = 6e-10
"""Nominal seconds for one unit of the solver's work (:mod:`parentage.optimise.tuning`)."""

PER_SET_SOLVED = 1e-5
"""Nominal seconds for listing one set and preparing it for the solver."""


def of_counting(sets: int, n_rows: int) -> float:
    """Return the effort of counting sets.

    >>> of_counting(1000, 1000)
    0.00071
    """
    return sets * (PER_SET + PER_SET_AND_ROW * n_rows)


@dataclass(frozen=True)
class Tuning:
    """How lists are expanded. Most of these decide which sets are found; none makes a score wrong.

    Parameters
    ----------
    always_complete
        Tables of at most this many variables are not expanded: counting all sets takes less time,
        and no kernel has to be compiled (benchmarks/results/start.md, expansion).
    kept_per_set
        Families kept of those made from one parent set by every further parent.
    most_parents
        More parents are not tried: with two states each they have 2^24 joint states.
    sets_at_once
        Parent sets enlarged together.
    sweeps_per_chunk
        Sweeps that a thread counts at a time.
    fewest_sweeps
        Sweeps whose vectors are held, however little memory there is.
    sweep_bytes
        Bytes that vectors of sweeps may take, if that much is allowed.
    sweep_share
        Part of the memory limit that vectors of sweeps may take.
    effort_worth_sending
        Effort of a chunk of sweeps above which workers elsewhere count it: sending a task takes a
        few milliseconds by itself.
    order_share
        Part of the effort for the order search, as long as it finds something.
    near_per_child
        Sets of one child that are enlarged at a time because they are near.
    patience
        Rounds of orders without a gain, with nothing left to enlarge, after which the work ends.
    proof_again
        Times the work of the last proof that proving the lists again may take, after they have
        grown a little.
    soon
        Part of the work of the last attempt to solve the lists. If that narrowed the gap, the next
        attempt follows after so much work without a rise of the score; otherwise after all of it.
    least_share
        Part of all work that an attempt to solve the lists may take, at least.
    closing
        Part of the gap of the time before that solving may leave, to be taken as closing it.
    step
        Part by which proven lists become longer before they are solved again.
    cost_per_parent
        Nats by which each parent makes a set cost more, so that of two sets with one score the
        smaller comes first.
    seconds_to_list
        Seconds that making lists and an answer takes at the end, for each set.
    listing_share
        Part of the time that is left when expanding begins: what listing the families of a level
        that was cut short may take at the end.
    last_share, seconds_to_end
        Part of the time limit after which lists of many variables are put together for the answer,
        earlier if that takes so many seconds for each variable (benchmarks/results/limits.md,
        column s after it).
    least_effort
        Effort of expanding where there is no time limit (benchmarks/results/scale.md).
    proof_share
        Part of that effort which solving the last lists may take in addition, at least.
    first_effort, first_share
        Effort for a network before scoring takes long, and the share of the time limit that it may
        take (benchmarks/results/first.md, first network).
    """

    always_complete: int = 12
    kept_per_set: int = 40
    most_parents: int = 24
    sets_at_once: int = 128
    sweeps_per_chunk: int = 16
    fewest_sweeps: int = 512
    sweep_bytes: int = 2**29
    sweep_share: float = 0.25
    effort_worth_sending: float = 0.05
    order_share: float = 0.5
    near_per_child: int = 4
    patience: int = 20
    proof_again: float = 4.0
    soon: float = 0.25
    least_share: float = 0.25
    closing: float = 0.8
    step: float = 0.125
    cost_per_parent: float = 1e-9
    seconds_to_list: float = 4e-6
    listing_share: float = 0.1
    last_share: float = 0.93
    seconds_to_end: float = 8e-4
    least_effort: float = 60.0
    proof_share: float = 0.5
    first_effort: float = 1.0
    first_share: float = 0.1


TUNING = Tuning()
