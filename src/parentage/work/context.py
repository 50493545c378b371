"""What long work may use and whom it tells: one object, handed down the whole path.

A :class:`Context` is made once, where the user's limits are known. An algorithm takes it, asks its
``stop`` at safe points, runs its tasks on its ``workers`` and calls its ``report``; clocks, folders
and clusters stay outside the algorithm.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from parentage.work.executor import size_of
from parentage.work.stop import Stop

if TYPE_CHECKING:
    from pathlib import Path

    from parentage.work.checkpoint import Checkpoint
    from parentage.work.executor import Workers
    from parentage.work.progress import Report


@dataclass(frozen=True)
class Context:
    """Limits, workers, progress and folders of one piece of work.

    Parameters
    ----------
    stop
        When to end.
    threads
        Number of threads of this process.
    workers
        What tasks run on if not on these threads: an executor or the workers of a cluster.
    report
        Called with the progress; None for nobody.
    exchange
        A folder for large arrays: read by all workers, and used when memory is short; None for a
        temporary one.
    checkpoint
        Where the state of the work is saved; None for nowhere.

    Examples
    --------
    >>> Context(threads=3).tasks
    3
    """

    stop: Stop = field(default_factory=Stop)
    threads: int = 1
    workers: Workers | None = None
    report: Report | None = None
    exchange: Path | None = None
    checkpoint: Checkpoint | None = None

    @property
    def pool(self) -> Workers:
        """What tasks run on."""
        return self.threads if self.workers is None else self.workers

    @property
    def tasks(self) -> int:
        """Number of tasks that run at a time."""
        return size_of(self.pool)

    def ending(self, stop: Stop) -> Context:
        """Return the same with another end."""
        return replace(self, stop=stop)

    def share(self, part: float) -> Context:
        """Return the same for a part of the time that is left."""
        return self.ending(self.stop.share(part))

    def unsaved(self) -> Context:
        """Return the same without a checkpoint."""
        return replace(self, checkpoint=None)
