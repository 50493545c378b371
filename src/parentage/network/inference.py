r"""Exact answers from a network with parameters: posteriors, explanations, interventions.

What is asked in names is computed in numbers (:mod:`parentage.network.posteriors`).

An intervention do(C = c) sets C from outside: its own table is left out, so that nothing flows back
to its parents (Pearl 2009, §3.2). Evidence beside it is what is seen after the intervention.

The most probable explanation is the most probable joint state of all variables that are not known;
it need not consist of each one's most probable state.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from parentage.errors import InputError, Way
from parentage.network.posteriors import (
    Codes,
    Model,
    joint_posterior,
    log_evidence,
    most_probable_codes,
    posteriors,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parentage.network.parameters import Parameters

NOTHING: Mapping[str, str] = MappingProxyType({})


class EvidenceError(InputError):
    """Evidence that cannot occur under the parameters; the message names what contradicts."""


@dataclass(frozen=True)
class Posterior:
    """What is known of some variables, given evidence and interventions.

    ``posterior["lung"]["yes"]`` is a probability.

    Parameters
    ----------
    marginals
        ``{variable: {state: probability}}``.
    given
        The evidence.
    intervene
        What was set from outside.
    log_probability
        Natural logarithm of the probability of the evidence, under the interventions.
    """

    marginals: Mapping[str, Mapping[str, float]]
    given: Mapping[str, str]
    intervene: Mapping[str, str]
    log_probability: float

    def __getitem__(self, name: str) -> Mapping[str, float]:
        return self.marginals[name]

    @property
    def probability(self) -> float:
        """Probability of the evidence."""
        return math.exp(self.log_probability)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "given": dict(self.given),
            "intervene": dict(self.intervene),
            "log_probability": self.log_probability,
            "marginals": {name: dict(states) for name, states in self.marginals.items()},
        }


@dataclass(frozen=True, eq=False)
class Joint:
    """The joint distribution of some variables: ``probabilities[i, j, …]``, an axis for each."""

    names: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]
    probabilities: npt.NDArray[np.float64]
    given: Mapping[str, str]
    intervene: Mapping[str, str]
    log_probability: float

    def rows(self) -> list[tuple[tuple[str, ...], float]]:
        """Return every joint state with its probability, the last variable's changing fastest."""
        return [
            (tuple(self.states[a][k] for a, k in enumerate(at)), float(p))
            for at, p in np.ndenumerate(self.probabilities)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "given": dict(self.given),
            "intervene": dict(self.intervene),
            "log_probability": self.log_probability,
            "targets": list(self.names),
            "joint": [[*labels, p] for labels, p in self.rows()],
        }


@dataclass(frozen=True)
class MostProbable:
    """The most probable state of everything that is not known, together.

    Parameters
    ----------
    states
        ``{variable: state}`` without evidence and interventions.
    given, intervene
        The evidence, and what was set from outside.
    log_probability
        Natural logarithm of the probability of the evidence.
    log_joint
        That of the evidence and these states together.
    """

    states: Mapping[str, str]
    given: Mapping[str, str]
    intervene: Mapping[str, str]
    log_probability: float
    log_joint: float

    @property
    def probability(self) -> float:
        """Probability of these states given the evidence."""
        return math.exp(self.log_joint - self.log_probability)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "given": dict(self.given),
            "intervene": dict(self.intervene),
            "log_probability": self.log_probability,
            "most_probable": dict(self.states),
            "probability": self.probability,
        }


@dataclass(frozen=True)
class Situation:
    """Evidence and interventions, checked: the model they leave and the codes they fix."""

    parameters: Parameters
    model: Model
    given: Mapping[str, str]
    intervene: Mapping[str, str]
    codes: dict[int, int]

    @classmethod
    def of(
        cls, parameters: Parameters, given: Mapping[str, str], intervene: Mapping[str, str]
    ) -> Situation:
        """Check names and states; refuse a variable that is both seen and set."""
        both = [name for name in given if name in intervene]
        if both:
            raise InputError(f"variable {both[0]!r} is both given and set from outside; choose one")
        codes = {
            parameters.network.index(name): parameters.code(name, str(label))
            for name, label in (*given.items(), *intervene.items())
        }
        outside = [parameters.network.index(name) for name in intervene]
        model = parameters.model.with_intervention(outside) if outside else parameters.model
        return cls(parameters, model, dict(given), dict(intervene), codes)

    @property
    def observed(self) -> dict[int, Codes]:
        """The fixed codes as one row of evidence."""
        return {v: np.array([code]) for v, code in self.codes.items()}

    def targets(self, names: Sequence[str]) -> list[int]:
        """Return the indices of what is asked for; all that is not fixed when nothing is named."""
        if isinstance(names, str):
            names = [names]
        network = self.parameters.network
        asked = [network.index(name) for name in names] or [
            v for v in range(network.n_variables) if v not in self.codes
        ]
        if len(set(asked)) != len(asked):
            twice = next(v for v in asked if asked.count(v) > 1)
            raise InputError(f"target {network.names[twice]!r} is named twice")
        return asked

    def possible(self, log_probability: float) -> float:
        """Refuse evidence of probability 0, naming a smallest part of it that contradicts."""
        if log_probability > -np.inf:
            return log_probability
        culprits = dict(self.given)
        for name in self.given:
            fewer = {other: label for other, label in culprits.items() if other != name}
            rest = Situation.of(self.parameters, fewer, self.intervene)
            if log_evidence(rest.model, rest.observed)[0] == -np.inf:
                culprits = fewer
        found = ", ".join(f"{name}={label}" for name, label in culprits.items())
        outside = ", ".join(f"{name}={label}" for name, label in self.intervene.items())
        after = f" after setting {outside}" if outside else ""
        raise EvidenceError(
            f"{found} has probability 0 under these parameters{after}: nothing can be said "
            "given that",
            Way("smoothing", 1, "when the parameters are taken from a table"),
            "take evidence back",
        )


def query(
    parameters: Parameters,
    given: Mapping[str, str] = NOTHING,
    *,
    intervene: Mapping[str, str] = NOTHING,
    targets: Sequence[str] = (),
) -> Posterior:
    """Return the posterior of every target; see :meth:`Parameters.query`."""
    case = Situation.of(parameters, given, intervene)
    asked = case.targets(targets)
    free = [v for v in asked if v not in case.codes]
    found, logs = posteriors(case.model, case.observed, free)
    log_probability = case.possible(float(logs[0]))
    marginals = {}
    for v in asked:
        labels = parameters.states[v]
        shares = (
            found[v][0].tolist()
            if v in found
            else [float(k == case.codes[v]) for k in range(len(labels))]
        )
        marginals[case.model.names[v]] = dict(zip(labels, shares, strict=True))
    return Posterior(marginals, case.given, case.intervene, log_probability)


def joint(
    parameters: Parameters,
    targets: Sequence[str],
    given: Mapping[str, str] = NOTHING,
    *,
    intervene: Mapping[str, str] = NOTHING,
) -> Joint:
    """Return the joint distribution of some targets; see :meth:`Parameters.joint`."""
    case = Situation.of(parameters, given, intervene)
    asked = case.targets(targets)
    for v in asked:
        if v in case.codes:
            name = case.model.names[v]
            raise InputError(f"target {name!r} is known already; leave it out of the joint")
    values, logs = joint_posterior(case.model, case.observed, asked)
    log_probability = case.possible(float(logs[0]))
    return Joint(
        tuple(case.model.names[v] for v in asked),
        tuple(parameters.states[v] for v in asked),
        values[0],
        case.given,
        case.intervene,
        log_probability,
    )


def most_probable(
    parameters: Parameters,
    given: Mapping[str, str] = NOTHING,
    *,
    intervene: Mapping[str, str] = NOTHING,
) -> MostProbable:
    """Return the most probable explanation; see :meth:`Parameters.most_probable`."""
    case = Situation.of(parameters, given, intervene)
    log_probability = case.possible(float(log_evidence(case.model, case.observed)[0]))
    codes, logs = most_probable_codes(case.model, case.observed)
    states = {case.model.names[v]: parameters.states[v][int(codes[v][0])] for v in sorted(codes)}
    return MostProbable(states, case.given, case.intervene, log_probability, float(logs[0]))
