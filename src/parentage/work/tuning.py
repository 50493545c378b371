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
    """

    writing_share: float = 0.04
    seconds_apart: float = 1.0
    chunk_seconds_apart: float = 60.0
    seconds_to_write: float = 0.03
    bytes_a_second: float = 4e8
    disk_left: int = 2**30


TUNING = Tuning()
