"""The numbers of this room that were chosen: each says its unit and what pays for its value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tuning:
    """How tables are counted and how far a search goes. No field changes a score.

    Parameters
    ----------
    many_rows
        Above this many rows a table is encoded without codes, and a sample tells whether merging
        rows pays (benchmarks/results/rows.md, memory of 10,000,000 rows and more).
    rows_at_once
        Rows that are counted together where a set is counted the plain way.
    block_rows
        Rows whose states are packed together into words and bits, and numbers whose logarithms are
        taken together.
    rows_merged
        Rows that are sorted together when equal ones are merged (benchmarks/results/rows.md, memory
        of 10,000,000 rows and more).
    worth_merging
        The share of distinct rows above which nothing is merged (benchmarks/results/rows.md, the
        row of uniform columns beside the others).
    sample_bits
        Of 2^this rows one is in the sample.
    sets_at_once
        Sets of a level that are looked through at a time: between two blocks a search can be
        stopped, and the pages of mapped levels are let go (benchmarks/results/memory.md, rows
        with a disk).
    narrow_bins
        Values of Bin of one child whose numbers have two bytes.
    prefixes_at_once
        Prefixes of a level whose joins are added up together, to know how many joins come before a
        set without storing it for each.
    subsets_at_once
        Sets whose subsets are looked up together when lists are made.
    most_joins, fewest_joins, rows_joined
        A thread joins, counts and scores this many sets together: what fits a cache, of many rows
        as many as make this many rows (benchmarks/results/score.md, CPU).
    feeding
        Nominal seconds that a task elsewhere takes its caller and its scheduler (measured by
        benchmarks/bench_cluster.py).
    shortest_task, longest_task
        Nominal seconds of a task of long work, for few workers and for many.
    task_share
        Of the time that is left, for a task elsewhere: what runs when it is over is lost.
    bytes_in_hand
        Bytes of a chunk, while it is worked on and while it waits.
    first_level
        Seconds that single parents get at least, even if the time is over: without all of them
        there is nothing to grow from (benchmarks/results/limits.md, limits of 1 s).
    measured_off_by
        A level is abandoned only if the seconds it takes by the rate measured so far exceed the
        remaining time by this factor (benchmarks/results/limits.md, column s after it).
    forecast_off_by
        The same for the forecast from the table alone.
    long_level
        Seconds of one core, by the forecast: before the first level that takes longer a network is
        found, if one is asked for (benchmarks/results/first.md).
    longest_level
        Seconds of a level that is not begun without a time limit where something else can be done.
    longest_in_vain
        Seconds of one core of the longest level that is begun where a later one will not be, so
        that lists will not be complete (benchmarks/results/first.md, andes).
    longest_search
        Seconds of a search over all sets that is refused.
    most_sets
        Sets of a level beyond which nothing is begun where no rule ends the search and no limit
        was asked for.
    seconds_per_set, seconds_per_set_and_row
        What counting a set takes one core, as far as it is told before any set was counted
        (benchmarks/results/score.md, CPU of the largest jobs).
    plain_per_join
        CPU seconds that a join takes at least where kernels run as plain Python.
    joining
        What a level takes when it is joined, in sizes of what is stored of it: with its siblings.
    listing
        What making lists of kept families takes, in sizes of what is kept.
    kernel_bytes
        What compiled kernels take when they have been loaded.
    least_room
        Bytes for levels below which nothing is begun; this and the three before it:
        benchmarks/results/memory.md, column "of the limit".
    most_table, most_products, most_functions
        Scores by sums: bytes of functions beyond which a level is not counted, products of arities
        beyond which the parent's side of qNML is not worth its tables, bytes of functions that a
        sweep keeps or uses at a time (benchmarks/results/scores.md).
    probe_seconds, probe_memory, most_to_probe
        ``info`` searches this long, in this many bytes; above the last, bytes by the forecast, a
        moment of searching tells no number of sets.
    """

    many_rows: int = 1 << 22
    rows_at_once: int = 1 << 20
    block_rows: int = 1 << 14
    rows_merged: int = 1 << 22
    worth_merging: float = 0.75
    sample_bits: int = 6
    sets_at_once: int = 1 << 20
    narrow_bins: int = 1 << 16
    prefixes_at_once: int = 1 << 8
    subsets_at_once: int = 1 << 16
    most_joins: int = 65_536
    fewest_joins: int = 256
    rows_joined: int = 1 << 30
    feeding: float = 0.02
    shortest_task: float = 0.5
    longest_task: float = 30.0
    task_share: float = 0.05
    bytes_in_hand: int = 8 << 20
    first_level: float = 2.0
    measured_off_by: float = 2.0
    forecast_off_by: float = 4.0
    long_level: float = 5.0
    longest_level: float = 3600.0
    longest_in_vain: float = 300.0
    longest_search: float = 30 * 24 * 3600.0
    most_sets: int = 1 << 25
    seconds_per_set: float = 6e-7
    seconds_per_set_and_row: float = 1.1e-10
    plain_per_join: float = 1e-5
    joining: float = 1.2
    listing: int = 8
    kernel_bytes: int = 60 << 20
    least_room: int = 16 << 20
    most_table: int = 1 << 30
    most_products: int = 5_000
    most_functions: int = 1 << 26
    probe_seconds: float = 4.0
    probe_memory: int = 1 << 31
    most_to_probe: int = 1 << 40


TUNING = Tuning()
