"""The scores by name: what is typed, what it means, when to use which. Below everything in scoring.

One record per kind of score. The text of ``--score`` in the help, the words in messages and files,
and the table of ``docs/scores.md`` follow from :data:`KINDS`; what a score *computes* is in
:mod:`parentage.scoring.scores`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from parentage.errors import InputError, did_you_mean

Family = Literal["penalised", "sums", "missing"]


@dataclass(frozen=True)
class Kind:
    """A kind of score.

    Parameters
    ----------
    name
        What is typed, in lower case.
    title
        How it is written in a sentence.
    use
        When to use it, in one line.
    equivalent
        Whether Markov equivalent networks score alike.
    parameter
        What follows the colon; None if nothing does.
    default
        The parameter when none is typed; None if it has to be.
    zero_allowed
        Whether the parameter, which must not be negative, may be 0.
    """

    name: str
    title: str
    use: str
    equivalent: bool = True
    parameter: str | None = None
    default: float | None = None
    zero_allowed: bool = False
    by_table: bool = False
    """Whether the parameter may be left out because the table then decides it."""
    family: Family = "penalised"
    """Whether it is a penalised likelihood, sums, or an average over the rows with a family."""

    @property
    def typed(self) -> str:
        """The name with what follows it: ``ebic:GAMMA``."""
        return self.name if self.parameter is None else f"{self.name}:{self.parameter}"

    def spell(self, parameter: float | None) -> str:
        """Return the full name of one score of this kind, parameter included.

        >>> by_name("ebic").spell(0.5), by_name("penalty").spell(3.0)
        ('ebic:0.5', 'penalty:3')
        """
        if parameter is None:
            return self.name
        return f"{self.name}:{repr(parameter).removesuffix('.0')}"


KINDS: tuple[Kind, ...] = (
    Kind("bic", "BIC", "the usual choice: few arcs"),
    Kind("aic", "AIC", "to predict; more arcs"),
    Kind("hqc", "HQC", "between AIC and BIC"),
    Kind(
        "ebic",
        "eBIC",
        "hundreds of variables; GAMMA 0.5",
        parameter="GAMMA",
        default=0.5,
        zero_allowed=True,
    ),
    Kind("penalty", "penalty", "W nats a parameter", parameter="W"),
    Kind("qnml", "qNML", "to predict; few rows and variables", family="sums"),
    Kind("bdeu", "BDeu", "Bayesian; ESS 1", parameter="ESS", default=1.0, family="sums"),
    Kind("k2", "K2", "Bayesian, uniform priors", equivalent=False, family="sums"),
    Kind("jeffreys", "Jeffreys", "Bayesian, Jeffreys' priors", equivalent=False, family="sums"),
    Kind("fnml", "fNML", "qNML's forerunner", equivalent=False, family="sums"),
    Kind(
        "pnal",
        "PNAL",
        "missing values; see docs/missing.md",
        equivalent=False,
        parameter="LAMBDA",
        by_table=True,
        family="missing",
    ),
)
"""All kinds of scores, in the order in which they are shown."""

_BY_NAME = {kind.name: kind for kind in KINDS}
PENALISED = frozenset(kind.name for kind in KINDS if kind.family == "penalised")
"""The kinds that are a likelihood minus a weight times the number of free parameters."""


_LOG_POSTERIORS = frozenset({"bic", "bdeu", "k2", "jeffreys"})


def is_log_posterior(name: str | None) -> bool:
    """Tell whether differences of a score are log ratios of probabilities, approximately for BIC.

    Lists that do not name their score are taken for such.

    >>> is_log_posterior("bdeu:1"), is_log_posterior("aic"), is_log_posterior(None)
    (True, False, True)
    """
    return name is None or name.partition(":")[0] in _LOG_POSTERIORS


def by_name(name: str) -> Kind:
    """Return the kind of a score; its parameter, if typed, does not matter.

    >>> by_name("penalty:2").title
    'penalty'
    """
    return _BY_NAME[name.partition(":")[0]]


def shown_name(name: str) -> str:
    """Return the full name of a score as people read it, its parameter in four digits.

    >>> shown_name("pnal:0.021238829"), shown_name("bic")
    ('pnal:0.02124', 'bic')
    """
    kind, colon, parameter = name.partition(":")
    return f"{kind}:{float(parameter):.4g}" if colon else kind


_PARAMETERS = {
    "ESS": "equivalent sample size {}",
    "GAMMA": "γ = {}",
    "W": "{} nats per parameter",
    "LAMBDA": "λ = {}",
}
"""What the number after the colon is, by the name it has in ``Kind.typed``."""


def in_brackets(name: str | None) -> str:
    """Return what follows a number that is this score; nothing if it is not known.

    >>> in_brackets("bic"), in_brackets("bdeu:1"), in_brackets(None)
    (' (BIC)', ' (BDeu, equivalent sample size 1)', '')
    """
    if name is None:
        return ""
    kind, _, number = shown_name(name).partition(":")
    found = by_name(kind)
    words = [found.title]
    if number and found.parameter is not None:
        words.append(_PARAMETERS[found.parameter].format(number))
    return f" ({', '.join(words)})"


def parse_name(text: str) -> tuple[Kind, float | None]:
    """Take apart what was typed: the kind of score and its parameter.

    >>> kind, gamma = parse_name("eBIC")
    >>> kind.spell(gamma)
    'ebic:0.5'

    Raises
    ------
    InputError
        An unknown score, or a parameter that is missing, superfluous or makes no sense.
    """
    name, colon, number = text.strip().lower().partition(":")
    kind = _BY_NAME.get(name)
    if kind is None:
        raise InputError(f"unknown score {text!r}; {did_you_mean(name, _BY_NAME)}")
    if kind.parameter is None:
        if colon:
            raise InputError(f"the score {text!r} accepts no number; type {name}")
        return kind, None
    if not colon and (kind.default is not None or kind.by_table):
        return kind, kind.default
    return kind, _parameter(kind, text, number)


def _parameter(kind: Kind, text: str, number: str) -> float:
    example = kind.spell(kind.default or (0.01 if kind.by_table else 2.0))
    try:
        value = float(number)
    except ValueError:
        raise InputError(
            f"the score {text!r} needs a number: {kind.typed}, for example {example}"
        ) from None
    enough = value >= 0 if kind.zero_allowed else value > 0
    if not (math.isfinite(value) and enough):
        bound = "at least" if kind.zero_allowed else "above"
        raise InputError(
            f"the score {text!r}: {kind.parameter} must be a number {bound} 0, "
            f"for example {example}"
        )
    return value


def not_equivalent(name: str) -> str:
    """Say of a score what networks of one class can expect of it.

    >>> not_equivalent("k2")
    'K2 is not score equivalent: treat the directions of reversible arcs as arbitrary.'
    """
    return (
        f"{by_name(name).title} is not score equivalent: treat the directions of reversible arcs "
        "as arbitrary."
    )


def names_and_uses() -> tuple[tuple[str, str], ...]:
    """Return what is typed for every score, and when to use it; PNAL is typed as a way to read."""
    return tuple((kind.typed, kind.use) for kind in KINDS if kind.name != "pnal")
