"""Which parent sets are listed, and under which score: the settings of scoring."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from parentage.data.settings import WAYS
from parentage.errors import InputError, Way
from parentage.scoring.catalogue import by_name, names_and_uses, parse_name
from parentage.scoring.constraints import Constraints
from parentage.work.settings import Option, Settings, setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from parentage.scoring.constraints import Prior


def treatments(score: str, ways: Sequence[str] = WAYS) -> tuple[str, ...]:
    """Return which of these ways to treat missing values this score can be used with.

    ``pnal`` is a score of its own, which takes the place of the default; expected counts, for
    ``em``, need a penalised likelihood (docs/theory.md, "Expected counts").

    >>> treatments("bic"), treatments("aic"), treatments("bdeu")
    (('em', 'pnal', 'state', 'drop'), ('em', 'state', 'drop'), ('state', 'drop'))
    """
    family = by_name(score.strip().lower()).family
    not_with = {
        "pnal": score != "bic" and family != "missing",
        "em": family != "penalised",
    }
    return tuple(way for way in ways if not not_with.get(way, False))


@dataclass(frozen=True)
class Scoring(Settings):
    """Settings of the second stage; see :func:`parentage.scoring.candidates.score`."""

    max_parents: int | Mapping[str, int] | None = setting(
        None,
        "Allow at most K parents for every variable, or for one. No limit by default.",
        Option("K|NAME=K", short="-k", repeatable=True, common=True),
    )
    score: str = setting(
        "bic",
        "Score to maximise.",
        Option("NAME", page="scores.md", common=True, values=names_and_uses()),
    )
    prior: Prior | Mapping[tuple[str, str], float] | float | None = setting(
        None,
        """
        Prior probability of every arc, or of single arcs (a TOML file). Scores then include
        ln(prior of the network / prior of the network without arcs).

        By arc: ``{("smoke", "lung"): 0.9}``, or a :class:`parentage.Prior`.
        """,
        Option("P|FILE", page="constraints.md"),
    )
    log_base: float | str | None = setting(
        None,
        "Unit of scores and widths: e (default: nats), 2 (bits), 10 …",
        Option("BASE"),
    )
    rules: str | Iterable[str] | None = setting(
        None,
        """
        Pruning rules to use: names separated by commas, none, all or default. They change the
        time, never the lists.
        """,
        Option("LIST", page="rules.md"),
    )
    width: float | None = setting(
        None,
        """
        Also keep sets that score up to W below their best subset, in the unit of the scores. The
        lists then contain every network that scores within W of the optimum.
        """,
        Option("W", float),
    )
    constraints: Constraints | None = setting(
        None,
        """
        Required and forbidden arcs, tiers, limits by name.

        A :class:`parentage.Constraints`, or a mapping with the parts of its file:
        ``{"forbidden": [["xray", "smoke"]]}``.
        """,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        parse_name(self.score)
        object.__setattr__(self, "constraints", Constraints.of(self.constraints))
        if self.rules is not None and not isinstance(self.rules, str):  # which may be read once
            object.__setattr__(self, "rules", tuple(self.rules))

    def for_missing(self, missing: str) -> Scoring:
        """Return the settings for a table read with this way to treat missing cells.

        ``pnal`` is a way and a score at once; ``pnal:0.01`` has its penalty.

        Raises
        ------
        InputError
            Another score was asked for.
        """
        if not missing.startswith("pnal") or self.score.strip().lower().startswith("pnal"):
            return self
        if self.score != "bic":
            others = [Way("missing", way) for way in treatments(self.score)]
            raise InputError(
                f"has its own score, and the score {self.score} was given as well",
                *others,
                "leave the score out",
                about=Way("missing", missing),
            )
        return replace(self, score=missing)


@dataclass(frozen=True)
class Growing(Settings):
    """Settings of learning where the complete lists do not fit (``docs/scale.md``)."""

    complete: int | None = setting(
        None,
        """
        List all parent sets of up to K parents, and larger ones only around the best network
        (with at most 12 variables all sets are listed). By default the lists are complete as far as
        time and memory allow.
        """,
        Option("K", int, least=0, page="scale.md"),
    )
    effort: float | None = setting(
        None,
        """
        Work for expanding incomplete lists, in nominal seconds: roughly seconds of one core, but
        counted in operations, so that every run does the same. By default lists are expanded until
        the time limit; without one, for a minute or for as long as scoring took, whichever is
        longer.
        """,
        Option("S", float, least=0),
    )
