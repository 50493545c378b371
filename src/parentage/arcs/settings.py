"""What is asked about arcs: the settings of support."""

from __future__ import annotations

import math
from dataclasses import dataclass

from parentage.errors import InputError
from parentage.optimise.near import MAX_NETWORKS
from parentage.work.settings import Option, setting


@dataclass(frozen=True)
class Supporting:
    """Settings of the last stage; see :func:`parentage.support`."""

    need: bool = setting(
        True,
        """
        Whether to find, for every arc, the best network without it, and the best one with it the
        other way.
        """,
        Option(("--no-need",), "Do not look for the best network without each arc.", is_flag=True),
    )
    bootstrap: int = setting(
        0,
        "How often to draw rows anew and learn from them; 0 for not at all, 200 is usual.",
        Option(
            ("--bootstrap",), "Draw rows anew and learn, N times.", "N", int, least=0, common=True
        ),
    )
    within: float | None = setting(
        None,
        """
        How many times less probable than the best the near-optimal networks may be, whose arcs are
        counted; None for not at all.
        """,
        Option(
            ("--within",),
            "Count arcs in the networks at most FACTOR times less probable.",
            "FACTOR",
            float,
            least=1,
            common=True,
        ),
    )
    max_networks: int = setting(
        MAX_NETWORKS,
        "The largest number of near-optimal networks.",
        Option(
            ("--max-networks",), "With --within: the largest number of networks.", "N", int, least=1
        ),
    )

    def __post_init__(self) -> None:
        if self.bootstrap < 0:
            raise InputError(f"the number of replicates must not be negative: {self.bootstrap}")
        if self.within is not None and not 1 <= self.within < math.inf:
            raise InputError(f"the factor must be at least 1, not {self.within}")
        if self.max_networks < 1:
            raise InputError(f"max_networks must be at least 1, not {self.max_networks}")
