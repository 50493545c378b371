"""Compile the kernels of the solver in a second process, while the first compiles those of scoring.

Threads would not help: Numba compiles under one lock. The second process solves made lists, which
uses the same kernels as any lists do, and leaves them in the cache; the first one waits for it
before it would compile one of them itself (:class:`parentage.work.stop.CompileClock`).
"""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from parentage.work.tuning import TUNING

if TYPE_CHECKING:
    from collections.abc import Callable

    from parentage.scoring.lists import CandidateLists

SOLVING = ("cuts", "digraph", "disturb", "local", "orders", "regions")
"""Modules of :mod:`parentage.kernels` that are compiled ahead."""


class Ahead:
    """A second process, started when the first kernel of scoring is compiled.

    Called with the module of a kernel that is about to be compiled; whether it is in the cache now.

    Parameters
    ----------
    wait
        Called now and then while the process is waited for.
    """

    def __init__(self, wait: Callable[[], None]) -> None:
        self._wait = wait
        self._process: subprocess.Popen[bytes] | None = None
        self._asked = False

    def __call__(self, module: str) -> bool:
        """Start the process at the first call, wait for it when a kernel of the solver is due."""
        is_solving = module.rpartition(".")[2] in SOLVING
        if not self._asked and not is_solving and (os.cpu_count() or 1) > 1:
            quiet = subprocess.DEVNULL
            command = [sys.executable, "-m", "parentage.cli.ahead"]
            self._process = subprocess.Popen(  # noqa: S603  # our own module
                command, stdin=quiet, stdout=quiet, stderr=quiet
            )
            atexit.register(self.end)
        self._asked = True
        if self._process is None or not is_solving:
            return False
        done = None
        while done is None:
            self._wait()
            with contextlib.suppress(subprocess.TimeoutExpired):
                done = self._process.wait(TUNING.poll_seconds)
        self._process = None
        return done == 0

    def end(self) -> None:
        """End the process: nobody waits for it any more."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()


def made_lists(n: int, parents: int, sets: int) -> CandidateLists:
    """Draw lists whose best network takes cuts to find."""
    import numpy as np

    from parentage.scoring.lists import CandidateLists

    rng = np.random.default_rng(2)
    names = [f"v{i}" for i in range(n)]
    families = {}
    for v in names:
        others = [u for u in names if u != v]
        drawn = {tuple(sorted(rng.choice(others, rng.integers(1, parents + 1), replace=False)))
                 for _ in range(sets)}  # fmt: skip
        families[v] = [(-100 * rng.random(), list(s)) for s in sorted(drawn)] + [(-100.0, [])]
    return CandidateLists.from_families(families)


def main() -> None:
    """Solve made lists with every kernel compiled."""
    from parentage.kernels._options import Kernel
    from parentage.optimise import optimise_lists
    from parentage.optimise.settings import Optimising
    from parentage.work.context import Context
    from parentage.work.stop import Stop

    Kernel.only = "compiled"
    optimise_lists(made_lists(30, 3, 25), Optimising(), Context(Stop.after(10.0)))


if __name__ == "__main__":
    main()
