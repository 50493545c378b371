"""How sure each arc is: needs, bootstrap, near-optimal shares; here what may be asked."""

from __future__ import annotations

from dataclasses import dataclass

from parentage.optimise.near import MAX_NETWORKS
from parentage.work.settings import Option, Settings, setting


@dataclass(frozen=True)
class Supporting(Settings):
    """Settings of the last stage; see :func:`parentage.support`."""

    need: bool = setting(
        True,
        "Compute the need of every arc, and the loss if it is reversed.",
        Option(),
    )
    bootstrap: int = setting(
        0,
        "Number of bootstrap replicates (default: 0); at least 100 for a paper.",
        Option("N", int, least=0, common=True),
    )
    within: float | None = setting(
        None,
        """
        Also find all networks that are at least 1/FACTOR as probable as the best. For each arc: the
        share of these networks that contain the link, weighted by posterior probability.
        """,
        Option("FACTOR", float, least=1, common=True),
    )
    max_networks: int = setting(
        MAX_NETWORKS,
        "Largest number of near-optimal networks.",
        Option("N", int, least=1),
    )
