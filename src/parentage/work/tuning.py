"""The numbers of this room that were chosen: each says its unit and what pays for its value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tuning:
    """What may be chosen differently without changing any result.

    Parameters
    ----------
    writing_share
        The part of a job's time that writing its checkpoint may take
        (benchmarks/results/checkpoint.md, column CPU).
    seconds_apart
        Least time between two writes of a state that is replaced as a whole.
    chunk_seconds_apart
        Least time between two writes within one level of a search. A finished level is written
        sooner.
    seconds_to_write, bytes_a_second
        What a write is expected to take before one was measured: a fixed part, and what each byte
        adds.
    disk_left
        Bytes of a disk that temporary files leave free.
    tasks_ahead
        Tasks started per worker: one that runs, and some that wait for it
        (docs/scale.md, the tables of benchmarks/bench_cluster.py).
    unknown_workers
        Workers of an executor that does not say how many it has.
    poll_seconds
        Time between two polls of the stop while something elsewhere is waited for.
    watch_seconds
        Time between two looks at a cluster while a task runs there.
    grace_seconds
        Time after a deadline for the answers of tasks elsewhere, which know the deadline.
    most_losses
        How often one task may be lost; after that it is the task that ends its workers.
    patience
        Seconds without any worker at work, or without an answer of the scheduler, after which a
        cluster counts as lost.
    silence
        This many times the patience is waited for workers that do not say what they do: they may
        be too busy.
    seconds_to_close
        Time that closing the connection to a scheduler may take, which may not answer any more.
    slowest_link
        Bytes a second with which shared objects are expected to travel at least.
    memory_share
        The share of the free memory that scoring and expansion take without a limit: it leaves a
        machine that can be used (benchmarks/results/first.md, peak).
    page_share
        The share of the memory limit above which the pages of mapped files are dropped
        (benchmarks/results/memory.md, rows with a disk).
    worker_memory
        The share of a worker's memory that its tasks may use: Dask spills and pauses above.
    plain_cached
        CPU seconds of plain Python, by kernels that the cache has, before a process imports Numba
        to load them, which takes half a second (benchmarks/results/start.md).
    plain_load
        CPU seconds of plain Python, by one kernel, before it is loaded, once Numba is there.
    plain_missing
        CPU seconds that a process works in plain Python before it compiles kernels.
    kernels_to_solve, kernels_to_score
        About how many kernels a job compiles, with its solver and without: the end of the progress
        bar (benchmarks/results/start.md, 37 variables).
    """

    writing_share: float = 0.04
    seconds_apart: float = 1.0
    chunk_seconds_apart: float = 60.0
    seconds_to_write: float = 0.03
    bytes_a_second: float = 4e8
    disk_left: int = 2**30
    tasks_ahead: int = 4
    unknown_workers: int = 16
    poll_seconds: float = 0.5
    watch_seconds: float = 2.0
    grace_seconds: float = 3.0
    most_losses: int = 5
    patience: float = 60.0
    silence: float = 6.0
    seconds_to_close: float = 5.0
    slowest_link: float = 5e6
    memory_share: float = 0.5
    page_share: float = 0.85
    worker_memory: float = 0.5
    plain_cached: float = 0.15
    plain_load: float = 0.005
    plain_missing: float = 4.0
    kernels_to_solve: int = 120
    kernels_to_score: int = 50


TUNING = Tuning()
