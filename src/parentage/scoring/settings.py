"""Which parent sets are listed, and under which score: the settings of scoring."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypedDict

from parentage.errors import InputError, Way
from parentage.scoring.catalogue import score_help
from parentage.work.settings import Option, setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from parentage.scoring.constraints import Constraints
    from parentage.scoring.prior import Prior


class ScoringKeywords(TypedDict, total=False):
    """What may be given for the settings of scoring."""

    max_parents: int | Mapping[str, int] | None
    score: str
    lambda_: float | None
    prior: Prior | Mapping[tuple[str, str], float] | float | None
    log_base: float | str | None
    rules: str | Iterable[str] | None
    width: float | None
    constraints: Constraints | None


@dataclass(frozen=True)
class Scoring:
    """Settings of the second stage; see :func:`parentage.scoring.candidates.score`."""

    max_parents: int | Mapping[str, int] | None = setting(
        None,
        "Largest number of parents, for all variables or by name; None for no limit at all.",
        Option(
            ("-k", "--max-parents"),
            "Largest number of parents, of all or of one variable (repeatable). "
            "No limit by default.",
            "K|NAME=K",
            repeatable=True,
            common=True,
        ),
    )
    score: str = setting(
        "bic",
        'What is maximised, by name: ``"bic"``, ``"aic"``, ``"ebic:0.5"`` … (``docs/scores.md``).',
        Option(("--score",), score_help(), "NAME", page="scores.md", common=True),
    )
    lambda_: float | None = setting(
        None,
        """
        The penalty λ of a free parameter and row under ``"pnal"``, the score of tables with holes;
        N^(−1/4) / p by default, for N rows and p columns that vary.
        """,
        Option(
            ("--lambda",),
            "Penalty of a free parameter and row under pnal, for tables with holes; "
            "N^(-1/4) / columns by default.",
            "L",
            float,
            page="missing.md",
        ),
    )
    prior: Prior | Mapping[tuple[str, str], float] | float | None = setting(
        None,
        """
        Soft arcs: the probability that an arc is there, one for all or by arc ``(parent, child)``.
        The log prior, relative to the network without arcs, is part of every score.
        """,
        Option(
            ("--prior",),
            "Probability of every arc, or a TOML file of probabilities (docs/constraints.md). "
            "Scores then include the log prior.",
            "P|FILE",
            page="constraints.md",
        ),
    )
    log_base: float | str | None = setting(
        None,
        'Unit of the scores: None or ``"e"`` for nats, 2 for bits, 10 …',
        Option(
            ("--log-base",), "Unit of scores and widths: e (default: nats), 2 (bits), 10 …", "BASE"
        ),
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
            page="rules.md",
        ),
    )
    width: float | None = setting(
        None,
        """
        Keep also the sets that score at most this much below their best subset, in the unit of
        ``log_base``, so that every network within that distance of the optimum survives.
        """,
        Option(
            ("--width",),
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

    def for_missing(self, missing: str) -> Scoring:
        """Return the settings for a table read with this way to treat missing cells.

        ``pnal`` is a way and a score at once.

        Raises
        ------
        InputError
            Another score was asked for.
        """
        if missing != "pnal" or self.score.strip().lower().startswith("pnal"):
            return self
        if self.score != "bic":
            raise InputError(
                f"has a score of its own, and {self.score} is asked for",
                Way("missing", "em"),
                "leave the score out",
                about=Way("missing", missing),
            )
        return replace(self, score="pnal")


class GrowingKeywords(TypedDict, total=False):
    """What may be given for the settings of growing."""

    complete: int | None
    effort: float | None


@dataclass(frozen=True)
class Growing:
    """Settings of learning where the complete lists do not fit (``docs/scale.md``)."""

    complete: int | None = setting(
        None,
        """
        Search every set up to this many parents only, and grow the lists beyond that around the
        best network; None searches as far as time and memory allow.
        """,
        Option(
            ("--complete",),
            "Search every set up to K parents only, and larger ones around the best network.",
            "K",
            int,
            least=0,
            page="scale.md",
        ),
    )
    effort: float | None = setting(
        None,
        """
        How much work growing may take, in nominal seconds of one core: counted in work and not by
        a clock, so that runs repeat. None grows until the time limit, without one for a minute or
        as long as scoring took.
        """,
        Option(
            ("--effort",),
            "Work for growing lists, in nominal seconds of one core: runs with it repeat. "
            "Until the time limit by default.",
            "S",
            float,
            least=0,
        ),
    )

    def __post_init__(self) -> None:
        if self.complete is not None and self.complete < 0:
            raise InputError(f"complete must be at least 0, not {self.complete}")
        if self.effort is not None and not self.effort >= 0:
            raise InputError(f"the effort must not be negative, but is {self.effort}")
