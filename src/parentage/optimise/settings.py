"""How the network is found: the settings of optimising."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from parentage.errors import InputError, did_you_mean
from parentage.work.settings import Option, setting

ENGINES = ("auto", "branch-and-cut", "orders", "subsets")


class OptimisingKeywords(TypedDict, total=False):
    """What may be given for the settings of optimising."""

    engine: str
    gap_limit: float
    seed: int


@dataclass(frozen=True)
class Optimising:
    """Settings of the third stage; see :func:`parentage.optimise.learn_lists`."""

    engine: str = setting(
        "auto",
        """
        ``"subsets"``: dynamic programming, sure, for parts of up to about 28 variables;
        ``"orders"``: anytime local search, no proof; ``"branch-and-cut"``: integer programming
        with proof; ``"auto"``: what suits each strongly connected part.
        """,
        Option(("--engine",), "How the network is found.", "auto|subsets|orders|branch-and-cut"),
    )
    gap_limit: float = setting(
        0.0,
        "Stop when no network can score more than this above the one found.",
        Option(
            ("--gap-limit",),
            "Stop when no network can score more than G better.",
            "G",
            float,
            least=0,
        ),
    )
    seed: int = setting(
        0,
        "Seed of the order search.",
        Option(("--seed",), "Seed of everything random.", "INTEGER", int),
    )

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise InputError(f"no engine {self.engine!r}; {did_you_mean(self.engine, ENGINES)}")
        if self.seed < 0:
            raise InputError(f"the seed must not be negative, but is {self.seed}")
        if not self.gap_limit >= 0:
            raise InputError(f"the gap limit must not be negative, but is {self.gap_limit}")
