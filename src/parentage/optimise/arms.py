"""Which separation a round should use: what brought most for its work, tried again now and then.

An arm is a way to separate: 0 is the plain cuts alone, 1, 2, … local cuts on ever larger places.
What an arm brings is the logarithm of the factor by which the gap shrinks in the next
solution of the linear programme; what it costs is work, in steps that take roughly a nanosecond.
Both are counted, never timed, so the same input takes the same choices.
"""

from __future__ import annotations

import math

MEMORY = 0.6
"""How much of its past an arm keeps when it is used again."""

CURIOSITY = 1.12
"""By which factor an arm looks better with every round in which it was not used."""


class Arms:
    """What is known about the arms; only those up to ``limit`` can be chosen."""

    def __init__(self, count: int) -> None:
        self.limit = 0
        self._gain = [0.0] * count
        self._work = [0.0] * count
        self._waited = [0] * count

    def choose(self, least: int = 0) -> int:
        """Return the most promising arm of at least ``least``; one never used comes first."""
        allowed = range(least, max(self.limit, least) + 1)
        return max(allowed, key=lambda arm: (self._promise(arm), -arm))

    def learn(self, arm: int, gain: float, work: float) -> None:
        """Say what an arm brought and what it cost."""
        self._waited[arm] = -1
        self._gain[arm] = MEMORY * self._gain[arm] + max(0.0, gain)
        self._work[arm] = MEMORY * self._work[arm] + work

    def wait(self) -> None:
        """Let a round pass."""
        self._waited = [rounds + 1 for rounds in self._waited]

    def open(self, arm: int) -> None:
        """Let arms up to this one be chosen."""
        self.limit = max(self.limit, min(arm, len(self._gain) - 1))

    def _promise(self, arm: int) -> float:
        if self._work[arm] == 0.0:
            return math.inf
        return self._gain[arm] / self._work[arm] * CURIOSITY ** self._waited[arm]


def shrinkage(before: float, after: float) -> float:
    """Return the logarithm of the factor by which a gap became smaller."""
    return math.log(max(before, 1e-9) / max(after, 1e-9))
