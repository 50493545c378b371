"""How the network is found: the settings of optimising."""

from __future__ import annotations

from dataclasses import dataclass

from parentage.errors import InputError, did_you_mean
from parentage.work.settings import Option, Settings, setting

ENGINES = ("auto", "branch-and-cut", "orders", "subsets")


@dataclass(frozen=True)
class Optimising(Settings):
    """Settings of the third stage; see :func:`parentage.optimise.optimise_lists`."""

    engine: str = setting(
        "auto",
        """
        How the network is found: ``"subsets"`` (dynamic programming with proof, for parts of up to
        about 28 variables), ``"branch-and-cut"`` (integer programming with proof), ``"orders"``
        (local search without proof), or ``"auto"``, which chooses for each part that can be solved
        separately.
        """,
        Option("auto|subsets|orders|branch-and-cut"),
    )
    gap_limit: float = setting(
        0.0,
        "Stop when the optimality gap is at most G, in the unit of the score.",
        Option("G", float, least=0),
    )
    seed: int = setting(0, "Seed of the random numbers.", Option("INTEGER", int, least=0))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.engine not in ENGINES:
            raise InputError(
                f"unknown engine {self.engine!r}; {did_you_mean(self.engine, ENGINES)}"
            )
