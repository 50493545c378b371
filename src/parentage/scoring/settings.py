"""Which parent sets are listed, and under which score: the settings of scoring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from parentage.scoring.catalogue import score_help
from parentage.work.settings import Option, setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from parentage.scoring.constraints import Constraints


@dataclass(frozen=True)
class Scoring:
    """Settings of the second stage; see :func:`parentage.scoring.candidates.score`."""

    max_parents: int | Mapping[str, int] | None = setting(
        None,
        "Largest number of parents, for all variables or by name; None for no limit at all.",
        Option(
            ("-k", "--max-parents"),
            "Largest number of parents, for all or for one variable (repeatable). "
            "No limit by default.",
            "K|NAME=K",
            repeatable=True,
        ),
    )
    score: str = setting(
        "bic",
        'What is maximised, by name: ``"bic"``, ``"aic"``, ``"ebic:0.5"`` … (``docs/scores.md``).',
        Option(("--score",), score_help(), "NAME"),
    )
    log_base: float | str | None = setting(
        None,
        'Unit of the scores: None or ``"e"`` for nats, 2 for bits, 10 …',
        Option(("--log-base",), "Unit of scores and widths: e (default), 2, 10 …", "BASE"),
    )
    rules: str | Iterable[str] | None = setting(
        None,
        """
        Which rules prune, by name; see :mod:`parentage.scoring.rules`. The lists never depend on
        them, the time does.
        """,
        Option(
            ("--rules",),
            "Pruning rules by name, comma separated; none, all, default. The lists never "
            "depend on them, the time does.",
            "LIST",
        ),
    )
    width: float | None = setting(
        None,
        """
        Keep also the sets that score at most this much below their best subset, in the unit of
        ``log_base``, so that every network within that distance of the optimum survives.
        """,
        Option(
            ("--width", "--gap"),
            "Keep every set within W of its best subset, so that every network within W of "
            "the optimum survives.",
            "W",
            float,
        ),
    )
    constraints: Constraints | None = setting(
        None,
        "Required and forbidden arcs, tiers, limits by name: they act before dominance.",
    )
