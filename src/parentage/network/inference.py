r"""Exact answers from a network with parameters: posteriors, explanations, interventions.

With evidence e the posterior of X is P(X, e) / P(e), both sums of the product of all conditional
probability tables over what is neither asked nor known. Of these tables only those of the ancestors
of X and e matter (the others sum to 1: barren nodes), known variables are fixed in them before
anything is multiplied, and what falls apart by that is summed separately: these are the
d-separations (Lauritzen et al. 1990). The rest is :mod:`parentage.network.elimination`.

An intervention do(C = c) sets C from outside: its own table is left out, so that nothing flows back
to its parents (Pearl 2009, §3.2). Evidence beside it is observed after the intervention. The most
probable explanation is the most probable joint state of all variables that are not known; it need
not consist of each one's most probable state.

:class:`LogTables` and the functions on it compute with numbers, many rows of evidence over the same
variables at once. Rows in which the same values are missing are evaluated together: known values
are fixed in the tables, missing ones are summed over, as if they were missing at random (Rubin
1976). A :class:`Situation` checks what :meth:`parentage.Parameters.query` is asked in names.

*Credible intervals* say how well the data determine the probabilities. The rows of a table with the
parents in joint state j determine its probabilities θ[j, ·] up to a Dirichlet distribution with
parameters n[j, k] + α, where n are the counts of complete rows and α is the smoothing (1 where that
is 0: a uniform prior). The interval of a posterior given evidence is made by sampling: tables are
drawn from their Dirichlet distributions, the posterior is computed exactly in each draw, and the
ends are quantiles of these answers. Draws depend on the seed and on
the variable alone, so that results repeat. The structure is taken as given: an interval does not
say how sure the arcs are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from parentage.errors import InputError, ResourceError, Way, did_you_mean, listed
from parentage.network.elimination import (
    CliqueTree,
    Factor,
    Logs,
    Plan,
    log_max,
    log_sum,
    plan_elimination,
    product,
)
from parentage.view.aligned import table_text
from parentage.work.progress import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from parentage.network.network import Network
    from parentage.network.parameters import Parameters

_Value = TypeVar("_Value")

Codes = npt.NDArray[np.int64]
"""Codes of one variable, one per row of evidence."""

MAX_TABLE = 2**25
"""Cells of the largest table that is computed: 256 MB, and twice as much while it is summed."""


@dataclass(frozen=True)
class LogTables:
    """The tables as elimination takes them: logarithms, one axis per parent and one for the child.

    Parameters
    ----------
    network
        The network; the parents of a variable are the first axes of its table.
    cardinalities
        Number of states.
    logs
        ``float64[states of parents …, states]`` for every variable.
    set_from_outside
        Variables whose own tables do not count.
    """

    network: Network
    cardinalities: tuple[int, ...]
    logs: tuple[Logs, ...]
    set_from_outside: frozenset[int] = frozenset()

    @classmethod
    def of(cls, parameters: Parameters) -> LogTables:
        """Take the tables of parameters; rows that sum to 1 nearly are made to."""
        sizes = tuple(len(labels) for labels in parameters.states)
        network = parameters.network
        with np.errstate(divide="ignore"):
            logs = tuple(
                np.log(table / table.sum(axis=1, keepdims=True)).reshape(
                    *(sizes[p] for p in parents), sizes[v]
                )
                for v, (parents, table) in enumerate(
                    zip(network.parents, parameters.tables, strict=True)
                )
            )
        return cls(network, sizes, logs)

    def relevant(self, variables: Iterable[int]) -> list[int]:
        """Return those whose tables matter for what is asked and known, rising.

        They are the variables and all that they descend from; the rest of the network is barren.
        """
        found = set(variables)
        for v in reversed(self.network.order_indices):
            if v in found and v not in self.set_from_outside:
                found.update(self.network.parents[v])
        return sorted(found - self.set_from_outside)

    def factors(self, observed: Mapping[int, Codes], targets: Iterable[int]) -> list[Factor]:
        """Return the tables that matter for the targets and the evidence, evidence fixed in them.

        ``observed[v]`` are the codes of v, one per row of evidence.
        """
        relevant = self.relevant([*observed, *targets])
        return [self.fixed(v, self.logs[v][None], observed) for v in relevant]

    def fixed(self, v: int, logs: Logs, observed: Mapping[int, Codes]) -> Factor:
        """Fix the known variables in tables of v, ``float64[tables, states of parents …, states]``.

        There are many tables or many rows of evidence. A variable with one state is always known.
        """
        axes = (*self.network.parents[v], v)
        sizes = self.cardinalities
        hidden = [a for a, u in enumerate(axes) if u not in observed and sizes[u] > 1]
        known = [a for a in range(len(axes)) if a not in hidden]
        joint: Codes = np.zeros(1, np.int64)
        for a in known:
            joint = joint * sizes[axes[a]] + observed.get(axes[a], 0)
        hidden.sort(key=axes.__getitem__)
        shape = tuple(sizes[axes[a]] for a in hidden)
        flat = logs.transpose([0, *(1 + a for a in (*known, *hidden))]).reshape(
            len(logs), -1, *shape
        )
        return Factor(tuple(axes[a] for a in hidden), flat[:, joint].reshape(-1, *shape))

    def plan(self, factors: Sequence[Factor], keep: Iterable[int] = ()) -> Plan:
        """Plan the elimination; refuse a table that is too large to compute.

        Raises
        ------
        ResourceError
            With the number of cells and the variables of the largest table.
        """
        plan = plan_elimination((f.scope for f in factors), self.cardinalities, keep)
        if plan.cells > MAX_TABLE:
            names = [self.network.names[v] for v in plan.largest]
            raise ResourceError(
                f"this query needs a table of {number(plan.cells)} cells over {len(names)} "
                f"variables ({listed(names, 6)}), more than {MAX_TABLE:,}; give evidence on some "
                "of them, ask for fewer targets, or learn with fewer parents"
            )
        return plan


def posteriors(
    model: LogTables, observed: Mapping[int, Codes], targets: Sequence[int]
) -> tuple[dict[int, npt.NDArray[np.float64]], npt.NDArray[np.float64]]:
    """Return ``{target: float64[rows, states]}`` and the logarithm of P(evidence) of every row.

    Targets are neither observed nor set. A row of evidence that cannot occur has no posterior: NaN.
    """
    factors = model.factors(observed, targets)
    tree = CliqueTree(factors, model.plan(factors), log_sum)
    rows = rows_of(observed)
    logs = np.broadcast_to(tree.root.values, (rows,))
    found = {v: np.ones((rows, 1)) for v in targets if model.cardinalities[v] == 1}
    for v, shares in marginals(tree, targets) if targets else ():
        found[v] = np.where(logs[:, None] == -np.inf, np.nan, shares)
    return found, logs


def marginals(
    tree: CliqueTree, targets: Iterable[int]
) -> Iterator[tuple[int, npt.NDArray[np.float64]]]:
    """Yield the eliminated targets with the probabilities of their states in every row."""
    wanted = set(targets)
    for v, belief in tree.beliefs():
        if v in wanted:
            others = tuple(1 + a for a, u in enumerate(belief.scope) if u != v)
            yield v, normalised(log_sum(belief.values, others))


def joint_posterior(
    model: LogTables, observed: Mapping[int, Codes], targets: Sequence[int]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return P(targets | evidence) as ``float64[rows, states of every target …]``, and log P(e)."""
    factors = model.factors(observed, targets)
    wide = [v for v in targets if model.cardinalities[v] > 1]
    kept = CliqueTree(factors, model.plan(factors, wide), log_sum).root
    axes = tuple(range(1, kept.values.ndim))
    rows = rows_of(observed)
    order = [0, *(1 + kept.scope.index(v) for v in wide)]
    values = normalised(kept.values, axes).transpose(order)
    shape = (rows, *(model.cardinalities[v] for v in targets))
    values = np.broadcast_to(values, (rows, *values.shape[1:])).reshape(shape)
    return values, np.broadcast_to(log_sum(kept.values, axes), (rows,))


def most_probable_codes(
    model: LogTables, observed: Mapping[int, Codes]
) -> tuple[dict[int, Codes], npt.NDArray[np.float64]]:
    """Return the most probable codes of all variables not observed, and log P(they, evidence).

    Both one per row of evidence; among equally probable states the one that comes first is taken.
    """
    everything = [v for v in range(len(model.logs)) if v not in observed]
    factors = model.factors(observed, everything)
    plan = model.plan(factors)
    tree = CliqueTree(factors, plan, log_max)
    every = np.arange(rows_of(observed))
    chosen = {v: np.zeros_like(every) for v in everything if model.cardinalities[v] == 1}
    for i in reversed(range(len(plan.order))):
        v, clique = plan.order[i], plan.cliques[i]
        table = np.moveaxis(product(tree.entering(i), clique), 1 + clique.index(v), -1)
        row = every if table.shape[0] > 1 else 0
        chosen[v] = table[(row, *(chosen[u] for u in clique if u != v))].argmax(axis=-1) + 0 * every
    return chosen, np.broadcast_to(tree.root.values, every.shape)


def rows_of(observed: Mapping[int, Codes]) -> int:
    """Return the number of rows of evidence."""
    return max((len(codes) for codes in observed.values()), default=1)


def normalised(logs: Logs, axes: tuple[int, ...] = (1,)) -> npt.NDArray[np.float64]:
    """Return probabilities that sum to 1 over some axes; NaN where all are impossible."""
    if not axes:
        return np.where(logs == -np.inf, np.nan, 1.0)
    with np.errstate(invalid="ignore"):
        shares = np.exp(logs - logs.max(axis=axes, keepdims=True))
        result: npt.NDArray[np.float64] = shares / shares.sum(axis=axes, keepdims=True)
    return result


NOTHING: Mapping[str, str] = MappingProxyType({})


class EvidenceError(InputError):
    """Evidence that cannot occur under the parameters; the message names what contradicts."""


class UnknownNameError(InputError, KeyError):
    """A name that an answer does not have."""

    __str__ = Exception.__str__  # that of KeyError shows the message in quotes


class Named(dict[str, _Value]):
    """Values by name; an unknown name is refused with the nearest known one.

    >>> Named(lung=0.1)["lungs"]
    Traceback (most recent call last):
        ...
    parentage.network.inference.UnknownNameError: no 'lungs'; did you mean 'lung'?
    """

    def __missing__(self, name: str) -> _Value:
        raise UnknownNameError(f"no {name!r}; {did_you_mean(name, self)}")


Intervals = dict[str, dict[str, tuple[float, float]]]
"""``{variable: {state: (low, high)}}``."""

MOST_LINES = 60
"""Lines that Python shows of an answer."""

ABOUT_INTERVALS = (
    "95 % credible intervals from 1,000 draws of the probability tables (Dirichlet posteriors), "
    "for this structure"
)


def brief(text: str) -> str:
    """Return the first lines of an answer, and how many more it has."""
    lines = text.splitlines()
    more = len(lines) - MOST_LINES
    return text if more <= 0 else "\n".join([*lines[:MOST_LINES], f"… and {more:,} more lines"])


def probability_text(p: float) -> str:
    """Show a probability with four digits, a tiny one by its size.

    >>> [probability_text(p) for p in (0.0, 1.0, 0.12345, 0.0000123)]
    ['0.0000', '1.0000', '0.1235', '1.2e-05']
    """
    return f"{p:.4f}" if p == 0 or p >= 0.00005 else f"{p:.1e}"


@dataclass(frozen=True)
class Answer:
    """What every answer says of its question.

    Parameters
    ----------
    given
        The evidence.
    intervene
        What was set from outside.
    log_probability
        Natural logarithm of the probability of the evidence, under the interventions.
    """

    given: Mapping[str, str]
    intervene: Mapping[str, str]
    log_probability: float

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "given": dict(self.given),
            "intervene": dict(self.intervene),
            "log_probability": self.log_probability,
        }

    def case(self) -> list[str]:
        """Say in lines what was assumed, and how probable the evidence was."""
        lines = []
        if self.intervene:
            lines.append(f"after intervention: {_findings_text(self.intervene)}")
        if self.given:
            log_p = self.log_probability
            p = probability_text(math.exp(log_p)) if log_p > -700 else f"e^{log_p:.2f}"
            lines.append(f"given {_findings_text(self.given)} (probability {p})")
        return [*lines, ""] if lines else []

    def text(self) -> str:
        """Lay the answer out, as the command prints it."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return brief(self.text())


def _findings_text(findings: Mapping[str, str]) -> str:
    return ", ".join(f"{name} = {label}" for name, label in findings.items())


@dataclass(frozen=True, repr=False)
class Posterior(Answer):
    """What is known of some variables, given evidence and interventions.

    ``posterior["lung"]["yes"]`` is a probability; ``marginals`` are all of them,
    ``{variable: {state: probability}}``.
    """

    marginals: Mapping[str, Mapping[str, float]]

    def __getitem__(self, name: str) -> Mapping[str, float]:
        return self.marginals[name]

    @property
    def probability(self) -> float:
        """Probability of the evidence."""
        return math.exp(self.log_probability)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        marginals = {name: dict(states) for name, states in self.marginals.items()}
        return {**super().to_dict(), "marginals": marginals}

    def text(self, before: Posterior | None = None, ends: Intervals | None = None) -> str:
        """Lay out marginals, beside them their intervals and what they are without evidence."""
        rows = []
        for name, shares in self.marginals.items():
            for k, (label, p) in enumerate(shares.items()):
                row = [name if k == 0 else "", label, probability_text(p)]
                if ends:
                    pair = ends.get(name, {}).get(label)
                    row.append("" if pair is None else " – ".join(map(probability_text, pair)))
                if before is not None:
                    row.append(probability_text(before[name][label]))
                rows.append(tuple(row))
        head = ["variable", "state", "probability"]
        head += ["95 % interval"] if ends else []
        head += [] if before is None else ["without evidence"]
        lines = [*self.case(), table_text(tuple(head), rows, left=2)]
        return "\n".join([*lines, *(["", ABOUT_INTERVALS] if ends else [])])


@dataclass(frozen=True, eq=False, repr=False)
class Joint(Answer):
    """The joint distribution of some variables: ``probabilities[i, j, …]``, an axis for each."""

    names: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]
    probabilities: npt.NDArray[np.float64]

    def rows(self) -> list[tuple[tuple[str, ...], float]]:
        """Return every joint state with its probability, the last variable's changing fastest."""
        return [
            (tuple(self.states[a][k] for a, k in enumerate(at)), float(p))
            for at, p in np.ndenumerate(self.probabilities)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        joint = [[*labels, p] for labels, p in self.rows()]
        return {**super().to_dict(), "targets": list(self.names), "joint": joint}

    def text(self) -> str:
        """Lay out the joint states and their probabilities."""
        rows = [(*labels, probability_text(p)) for labels, p in self.rows()]
        head = (*self.names, "probability")
        return "\n".join([*self.case(), table_text(head, rows, left=len(self.names))])


@dataclass(frozen=True, repr=False)
class MostProbable(Answer):
    """The most probable state of everything that is not known, together.

    Parameters
    ----------
    states
        ``{variable: state}`` without evidence and interventions.
    log_joint
        Natural logarithm of the probability of the evidence and these states together.
    """

    states: Mapping[str, str]
    log_joint: float

    @property
    def probability(self) -> float:
        """Probability of these states given the evidence."""
        return math.exp(self.log_joint - self.log_probability)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        best = dict(self.states)
        return {**super().to_dict(), "most_probable": best, "probability": self.probability}

    def text(self) -> str:
        """Lay out the most probable states."""
        last = f"joint probability {probability_text(self.probability)}"
        table = table_text(("variable", "most probable"), list(self.states.items()), left=2)
        return "\n".join([*self.case(), table, "", last + (" given that" if self.given else "")])


@dataclass(frozen=True)
class Situation:
    """Evidence and interventions, checked: the model they leave and the codes they fix."""

    parameters: Parameters
    model: LogTables
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
            raise InputError(f"variable {both[0]!r} is both evidence and set by do; choose one")
        given, intervene = parameters.named(given), parameters.named(intervene)
        codes = {
            parameters.network.index(name): parameters.code(name, label)
            for name, label in (*given.items(), *intervene.items())
        }
        outside = frozenset(parameters.network.index(name) for name in intervene)
        model = replace(parameters.model, set_from_outside=outside)
        return cls(parameters, model, given, intervene, codes)

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
            if posteriors(rest.model, rest.observed, ())[1][0] == -np.inf:
                culprits = fewer
        found = ", ".join(f"{name}={label}" for name, label in culprits.items())
        outside = ", ".join(f"{name}={label}" for name, label in self.intervene.items())
        after = f" after setting {outside}" if outside else ""
        raise EvidenceError(
            f"{found} has probability 0 under these parameters{after}, so nothing "
            "can be computed given it",
            Way("smoothing", 1, "when the parameters are estimated from a table"),
            "remove some evidence",
        )


ABSENT = -1
"""The code of a cell that is missing."""

ROWS_AT_ONCE = 4096

Filling = Literal["each", "joint"]
FILLINGS: tuple[Filling, ...] = ("each", "joint")
"""Every cell's most probable state, or the most probable states of a row's cells together."""


class Pattern(NamedTuple):
    """Rows in which the same cells are missing."""

    rows: npt.NDArray[np.int64]
    hidden: list[int]
    observed: dict[int, Codes]


def patterns(codes: Codes) -> Iterator[Pattern]:
    """Group the columns of ``codes[variable, row]`` by what is missing, a few thousand at once."""
    if not codes.shape[1]:
        return
    absent = codes == ABSENT
    packed = np.packbits(absent, axis=0)
    order = np.lexsort(packed) if len(packed) else np.arange(codes.shape[1])
    changes = (np.diff(packed[:, order].astype(np.int16), axis=1) != 0).any(axis=0)
    for group in np.split(order, 1 + np.flatnonzero(changes)):
        hidden = [int(v) for v in np.flatnonzero(absent[:, group[0]])]
        for start in range(0, len(group), ROWS_AT_ONCE):
            rows = group[start : start + ROWS_AT_ONCE]
            seen = {v: codes[v, rows] for v in range(len(codes)) if not absent[v, rows[0]]}
            yield Pattern(rows, hidden, seen)


def log_probabilities(model: LogTables, codes: Codes) -> npt.NDArray[np.float64]:
    """Return the logarithm of the probability of what is known of every row; −∞ if impossible."""
    logs = np.zeros(codes.shape[1])
    for pattern in patterns(codes):
        if pattern.observed:
            logs[pattern.rows] = posteriors(model, pattern.observed, ())[1]
    return logs


def predicted(model: LogTables, codes: Codes, target: int) -> npt.NDArray[np.float64]:
    """Return the probabilities of a variable's states in every row, given the rest of the row.

    ``float64[row, state]``; what the row has in that place does not count.

    Raises
    ------
    EvidenceError
        The rest of a row is impossible.
    """
    rest = codes.copy()
    rest[target] = ABSENT
    shares = np.empty((codes.shape[1], model.cardinalities[target]))
    for pattern in patterns(rest):
        found, logs = posteriors(model, pattern.observed, [target])
        _refuse_impossible(pattern, logs)
        shares[pattern.rows] = found[target]
    return shares


def filled(model: LogTables, codes: Codes, how: Filling = "each") -> Codes:
    """Return codes in which the missing cells have their most probable states."""
    if how not in FILLINGS:
        raise InputError(f"{how!r} is not an imputation method; {did_you_mean(how, FILLINGS)}")
    whole = codes.copy()
    for pattern in patterns(codes):
        if not pattern.hidden:
            continue
        if how == "joint":
            best, logs = most_probable_codes(model, pattern.observed)
            states = {v: best[v] for v in pattern.hidden}
        else:
            found, logs = posteriors(model, pattern.observed, pattern.hidden)
            states = {v: found[v].argmax(axis=1) for v in pattern.hidden}
        _refuse_impossible(pattern, logs)
        for v, column in states.items():
            whole[v, pattern.rows] = column
    return whole


def _refuse_impossible(pattern: Pattern, logs: npt.NDArray[np.float64]) -> None:
    impossible = np.flatnonzero(np.broadcast_to(logs, pattern.rows.shape) == -np.inf)
    if impossible.size:
        raise EvidenceError(
            f"row {int(pattern.rows[impossible[0]]) + 1} has probability 0 under these parameters: "
            "conditional probabilities are undefined",
            Way("smoothing", 1, "when the parameters are estimated from a table"),
        )


Floats = npt.NDArray[np.float64]
LEVEL = 0.95
"""Probability that an interval contains."""

DRAWS = 1000
"""Sampled tables: the ends of a 95 % interval vary by about 2 % of its width from seed to seed."""

MOST_AT_ONCE = 1 << 22
"""Cells of the largest product of all draws that are computed together: 32 MB."""

UNIFORM = 1.0
"""Pseudo-count of the prior where the estimates themselves are not smoothed."""


def sampled_intervals(
    parameters: Parameters,
    given: Mapping[str, str],
    intervene: Mapping[str, str],
    targets: Sequence[str],
    seed: int,
    draws: int = DRAWS,
) -> Intervals:
    """Return the intervals of the posterior of every target that evidence leaves open.

    Raises
    ------
    InputError
        The counts behind the probabilities are not known.
    """
    if parameters.counts is None:
        why = "these come from a file"
        if parameters.smoothing is not None:
            why = "these are estimated from data with missing values"
        ways: list[Way | str] = [Way("table", ..., "without missing values, to count its rows")]
        if parameters.smoothing is not None:
            ways = [Way("missing", "drop"), Way("missing", "state", "to count its rows")]
        raise InputError(f"intervals need the counts behind the probabilities, and {why}", *ways)
    case = Situation.of(parameters, given, intervene)
    model, observed = case.model, case.observed
    asked = [v for v in case.targets(targets) if v not in case.codes]
    relevant = model.relevant([*observed, *asked])
    plan = model.plan(model.factors(observed, asked))
    size = max(1, min(draws, MOST_AT_ONCE // plan.cells))
    streams = {v: np.random.default_rng([seed, 1 + v]) for v in relevant}
    answers: dict[int, list[Floats]] = {v: [] for v in asked}
    for first in range(0, draws, size):
        count = min(size, draws - first)
        drawn = [_drawn(case, v, count, streams[v]) for v in relevant]
        for v, shares in marginals(CliqueTree(drawn, plan, log_sum), asked):
            answers[v].append(shares)
    ends = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
    found: Intervals = {}
    for v in asked:
        labels, name = parameters.states[v], parameters.network.names[v]
        if len(labels) == 1:
            found[name] = {labels[0]: (1.0, 1.0)}
            continue
        low, high = np.quantile(np.concatenate(answers[v]), ends, axis=0)
        pairs = zip(low.tolist(), high.tolist(), strict=True)
        found[name] = dict(zip(labels, pairs, strict=True))
    return found


def _drawn(case: Situation, v: int, count: int, random: np.random.Generator) -> Factor:
    """Draw the table of a variable, evidence fixed in it: one row of the factor for each draw."""
    parameters, model = case.parameters, case.model
    cells = (parameters.counts or ())[v] + (parameters.smoothing or UNIFORM)
    gammas = random.standard_gamma(np.broadcast_to(cells, (count, *cells.shape)))
    gammas = np.maximum(gammas, np.finfo(float).tiny)  # a pseudo-count near 0 may underflow
    logs = np.log(gammas / gammas.sum(axis=2, keepdims=True))
    return model.fixed(v, logs.reshape(count, *model.logs[v].shape), case.observed)
