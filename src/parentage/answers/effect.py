r"""Effects with their range: what setting one variable does to another, in every likely network.

In one network the effect of X on Y is the difference of

.. math:: P(Y = y \mid do(X = x_1)) - P(Y = y \mid do(X = x_0)),

where do(X = x) sets X from outside and so removes the arcs into X (Pearl 2009, "Causality").
Equivalent networks score the same and may give different effects, and so may others that are nearly
as probable. So the effect is computed, by exact inference, in every network within a factor of the
best one, and the answer is an interval, a mean weighted by the probability of each network, and the
arc that decides where the effect is zero.

Only the ancestors of Y matter once the arcs into X are gone. Networks in which these are alike have
the same effect, which is computed once.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parentage.data.reading import as_table
from parentage.data.settings import OF_WHOLE_DATA
from parentage.errors import InputError, UnprovenWarning, Way, counted, did_you_mean, warn
from parentage.network import SMOOTHING
from parentage.network.expectation import family_counts
from parentage.network.network import Network
from parentage.optimise import limited
from parentage.optimise.near import cut_text, near_optimal, width_of
from parentage.scoring.candidates import score_table
from parentage.scoring.scores import unit_of
from parentage.scoring.settings import Scoring
from parentage.work.context import Running, working

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parentage.data.table import Table
    from parentage.optimise.near import NearOptimal
    from parentage.scoring.constraints import Arc, Constraints
    from parentage.work.context import Context
    from parentage.work.progress import Report

FACTOR = 20.0
"""Networks at most this many times less probable than the best are asked by default."""

ASSUMPTIONS = (
    "no hidden variable influences two of these variables",
    "one of these networks, with all its arcs read as causes, describes the data",
    "all networks are equally probable a priori, and {score} stands for their log posterior "
    "probability",
    "probabilities are estimated from the rows, with {smoothing:g} added to every count",
)

THOUSANDTH = 0.001
"""Effects that differ by less are shown as one."""

Family = tuple[str, tuple[str, ...]]


@dataclass(frozen=True)
class Group:
    """The networks in which an effect has about the same value: in thousandths.

    Parameters
    ----------
    difference, ratio
        The risk difference and the risk ratio, weighted by the probability of the networks; the
        ratio is infinite where the risk is zero without the cause.
    networks, classes
        Number of networks, and of equivalence classes that they are in.
    share
        Their share of the probability of all networks found.
    """

    difference: float
    ratio: float
    networks: int
    classes: int
    share: float


@dataclass(frozen=True)
class Deciding:
    """The arc on which an effect depends most.

    Parameters
    ----------
    arc
        The arc ``(parent, child)``.
    present, absent
        The mean effect in the networks with it and in those without it, by their probability.
    networks
        Number of networks without it.
    """

    arc: Arc
    present: float
    absent: float
    networks: int


@dataclass(frozen=True)
class Effect:
    """The effect of an intervention, in every network within a factor of the best.

    Parameters
    ----------
    cause, change
        The variable that is set, and from which state to which.
    outcome, state
        The variable whose probability is computed, and its state.
    groups
        The values of the effect, the most probable one first.
    low, high
        The smallest and the largest risk difference.
    without
        Number of networks in which nothing leads from the cause to the outcome.
    mean
        The risk difference, weighted by the probability of the networks.
    observed
        The difference without intervention, between the shares of rows with the state.
    deciding
        The arc on which the effect depends most; None if all networks agree.
    factor, complete
        The factor ``within``, and whether all networks within it were found.
    assumptions
        What has to hold for the numbers to be effects.
    """

    cause: str
    change: tuple[str, str]
    outcome: str
    state: str
    groups: tuple[Group, ...]
    low: float
    high: float
    without: int
    mean: float
    observed: float
    deciding: Deciding | None
    factor: float
    complete: bool
    assumptions: tuple[str, ...]

    @property
    def networks(self) -> int:
        """Number of networks."""
        return sum(group.networks for group in self.groups)

    def to_dict(self) -> dict[str, Any]:
        """Return what ``parentage effect --json`` prints."""
        return {
            "cause": self.cause,
            "change": list(self.change),
            "outcome": self.outcome,
            "state": self.state,
            "low": self.low,
            "high": self.high,
            "mean": self.mean,
            "observed": self.observed,
            "networks": self.networks,
            "complete": self.complete,
            "factor": self.factor,
            "deciding": None
            if self.deciding is None
            else {
                "arc": list(self.deciding.arc),
                "with": self.deciding.present,
                "without": self.deciding.absent,
                "networks_without": self.deciding.networks,
            },
            "groups": [
                asdict(group) | ({} if math.isfinite(group.ratio) else {"ratio": None})
                for group in self.groups
            ],
            "assumptions": list(self.assumptions),
        }

    def sentence(self) -> str:
        """Say the effect in one or two sentences."""
        moved = f"Setting {self.cause} from {self.change[0]} to {self.change[1]}"
        what = f"the probability of {self.outcome}={self.state}"
        number = counted(self.networks, "network")
        if self.low == self.high == 0:
            return f"{moved} does not change {what} in any of {number}."
        if f"{self.low:.3f}" == f"{self.high:.3f}":
            return f"{moved} changes {what} by {self.mean:+z.3f} in all {number}."
        told = (
            f"{moved} changes {what} by {self.low:+z.3f} to {self.high:+z.3f} in {number}; "
            f"mean, weighted by posterior probability: {self.mean:+z.3f}."
        )
        by = self.deciding
        if by is None or abs(by.present - by.absent) < THOUSANDTH:
            return told
        return f"{told} {self._decided(by)}"

    def _decided(self, by: Deciding) -> str:
        """Say on which arc the effect depends."""
        a, b = by.arc
        present = self.networks - by.networks
        if by.absent == 0 and by.networks == self.without:
            return (
                f"The effect is 0 in the {by.networks:,} networks (of {self.networks:,}) without "
                f"{a} → {b}."
            )
        return (
            f"The mean effect is {by.present:+z.3f} in the {present:,} "
            f"network{'' if present == 1 else 's'} with {a} → {b} and {by.absent:+z.3f} in the "
            f"{by.networks:,} without it."
        )

    def __repr__(self) -> str:
        return f"Effect: {self.sentence()}"


def effect(
    source: object,
    cause: str,
    outcome: str,
    *,
    change: tuple[str, str] | None = None,
    state: str | None = None,
    within: float = FACTOR,
    score: str = "bic",
    max_parents: int | Mapping[str, int] | None = None,
    constraints: Constraints | None = None,
    smoothing: float = SMOOTHING,
    auto: bool = False,
    time_limit: float | None = None,
    threads: int | None = None,
    progress: Report | bool | None = None,
) -> Effect:
    """Compute the effect of an intervention in every network close to the best.

    The effect is the change of P(outcome = state) when the cause is set from one state to another.

    Parameters
    ----------
    source
        A table without missing values, a data frame or a path to one.
    cause, outcome
        The variable that is set, and the variable whose probability is computed.
    change
        Two states of the cause: before and after. By default its first and its last.
    state
        The state of the outcome; by default its last.
    within
        Use networks with at least 1/within of the best one's probability.
    score, max_parents, constraints, time_limit, threads, progress
        As in :func:`parentage.learn`. Known arcs, given as constraints, narrow the range.
    smoothing
        Number added to every count when probabilities are estimated.
    auto
        Take the recommended decisions about columns and missing values, as in
        :func:`parentage.read_table`. To set other options of reading, pass the table that
        ``read_table`` returns.

    Warns
    -----
    UnprovenWarning
        A limit stopped the search, so networks within the factor may be missing.

    Examples
    --------
    >>> from parentage.data.datasets import chest_clinic
    >>> found = effect(chest_clinic(1000), "smoke", "bronc")
    >>> found.networks, found.without, found.deciding.arc
    (32, 9, ('smoke', 'bronc'))
    """
    table = as_table(source, ways=OF_WHOLE_DATA, auto=auto)
    setting = Scoring(score=score, max_parents=max_parents, constraints=constraints)
    with working(Running(threads, time_limit), progress) as context:
        near = near_networks(table, setting, within, context)
        found = effect_of(table, near, (cause, change), (outcome, state), within, smoothing)
    if not found.complete:
        warn(UnprovenWarning(cut_text(near)))
    return found


def near_networks(table: Table, scoring: Scoring, factor: float, context: Context) -> NearOptimal:
    """Find every network within a factor of the best."""
    if table.has_holes:
        raise InputError(
            "effects need data without missing values, and this table has some",
            Way("missing", "drop"),
            Way("missing", "state"),
        )
    if not factor >= 1:
        raise InputError("must be at least 1", about=Way("within", factor))
    wide = replace(scoring, width=math.log(factor) / unit_of(scoring.log_base))
    lists = score_table(table, wide, context.share(0.5))
    return near_optimal(
        lists,
        width_of(lists, factor),
        constraints=limited(lists, scoring.max_parents, scoring.constraints),
        context=context,
    )


def effect_of(
    table: Table,
    near: NearOptimal,
    cause: tuple[str, tuple[str, str] | None],
    outcome: tuple[str, str | None],
    factor: float,
    smoothing: float,
) -> Effect:
    """Compute one effect in networks that are known."""
    x, y = cause[0], outcome[0]
    if x == y:
        raise InputError(f"{x!r} cannot be its own outcome; name two variables")
    change = _change(table, x, cause[1])
    state = _state(table, y, outcome[1] or table.states[table.index(y)][-1])
    weights = [math.exp((score - near.score) * near.unit) for score in near.scores]
    total = math.fsum(weights)
    class_of = {i: number for number, members in enumerate(near.classes) for i in members}
    alike: defaultdict[tuple[Family, ...] | None, list[int]] = defaultdict(list)
    for i, network in enumerate(near.networks):
        alike[relevant(network, x, y)].append(i)
    values, ratios = dict[int, float](), dict[int, float]()
    for families, members in alike.items():
        effect = (0.0, 1.0)
        if families is not None:
            effect = _contrast(_risks(table, families, (x, change), (y, state), smoothing))
        values |= dict.fromkeys(members, effect[0])
        ratios |= dict.fromkeys(members, effect[1])
    merged: defaultdict[int, list[int]] = defaultdict(list)
    for i, difference in values.items():
        merged[round(difference / THOUSANDTH)].append(i)
    groups = [
        Group(
            _weighed(members, values, weights)[1],
            _weighed(members, ratios, weights)[1],
            len(members),
            len({class_of[i] for i in members}),
            math.fsum(weights[i] for i in members) / total,
        )
        for members in merged.values()
    ]
    groups.sort(key=lambda group: (-group.share, group.difference))
    told = {"score": (near.score_name or "the score").upper(), "smoothing": smoothing}
    return Effect(
        x,
        change,
        y,
        state,
        tuple(groups),
        min(values.values()),
        max(values.values()),
        len(alike.get(None, ())),
        _weighed(list(values), values, weights)[1],
        _observed(table, (x, change), (y, state)),
        deciding_arc(near.networks, values, weights),
        factor,
        near.complete,
        tuple(text.format(**told) for text in ASSUMPTIONS),
    )


def relevant(network: Network, cause: str, outcome: str) -> tuple[Family, ...] | None:
    """Return the families that an effect depends on; None if nothing leads to the outcome.

    These are the outcome and its ancestors once the arcs into the cause are removed.
    """
    found: dict[str, tuple[str, ...]] = {}
    waiting = [outcome]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = () if name == cause else network.parents_of(name)
            waiting += found[name]
    return tuple(sorted(found.items())) if cause in found else None


def deciding_arc(
    networks: Sequence[Network], values: Mapping[int, float], weights: Sequence[float]
) -> Deciding | None:
    """Return the arc whose presence explains most of the variance of an effect.

    That is the arc for which W₁ W₀ (m₁ − m₀)² is largest: W are the weights of the networks with it
    and without it, m their means. Of two arcs that explain the same, such as an arc and its
    reverse, it is the one with the larger effect where it is present.
    """
    members: defaultdict[Arc, list[int]] = defaultdict(list)
    for i, network in enumerate(networks):
        for arc in network.arcs:
            members[arc].append(i)
    found = []
    for arc, inside in sorted(members.items()):
        outside = sorted(set(values).difference(inside))
        if outside and len(set(values.values())) > 1:
            own, mean = _weighed(inside, values, weights)
            rest, other = _weighed(outside, values, weights)
            spread = float(f"{own * rest * (mean - other) ** 2:.9g}")
            found.append((spread, abs(mean) - abs(other), Deciding(arc, mean, other, len(outside))))
    return max(found, key=lambda one: one[:2])[2] if found else None


def _weighed(
    members: Sequence[int], values: Mapping[int, float], weights: Sequence[float]
) -> tuple[float, float]:
    """Return the weight of some networks, and the mean of their values."""
    weight = math.fsum(weights[i] for i in members)
    return weight, math.fsum(weights[i] * values[i] for i in members) / weight


def _risks(
    table: Table,
    families: tuple[Family, ...],
    cause: tuple[str, tuple[str, str]],
    outcome: tuple[str, str],
    smoothing: float,
) -> tuple[float, float]:
    """Return the probability of the outcome with the cause in its first and second state."""
    small = Network.from_parents(dict(families)).fit(table, smoothing=smoothing)
    (x, change), (y, state) = cause, outcome
    before, after = (
        small.query(intervene={x: one}, targets=[y])[y][state] for one in change
    )  # fmt: skip
    return before, after


def _contrast(risks: tuple[float, float]) -> tuple[float, float]:
    """Return difference and ratio, rounded so that sums in another order are the same effect."""
    before, after = risks
    return round(after - before, 12), round(after / before, 12) if before else math.inf


def _observed(table: Table, cause: tuple[str, tuple[str, str]], outcome: tuple[str, str]) -> float:
    """Return the difference of the shares of rows with the outcome; nan where there are no rows."""
    (x, change), (y, state) = cause, outcome
    pair, arc = table.select([x, y]), Network.from_arcs((x, y), [(x, y)])
    rows = pair.to_codes().astype(np.int64), pair.repeats
    counts = family_counts(arc, [len(labels) for labels in pair.states], [rows])[1]
    own = [counts[pair.states[0].index(one)] for one in change]
    before, after = (
        float(row[pair.states[1].index(state)] / row.sum()) if row.any() else math.nan
        for row in own
    )
    return after - before


def _change(table: Table, name: str, change: tuple[str, str] | None) -> tuple[str, str]:
    labels = table.states[table.index(name)]
    if change is None:
        if len(labels) < 2:
            raise InputError(f"{name!r} has one state and cannot be changed; name another variable")
        return labels[0], labels[-1]
    if len(change) != 2 or change[0] == change[1]:
        raise InputError(
            f"{name!r} must change from one of its states to another, "
            f"e.g. from {labels[0]!r} to {labels[-1]!r}"
        )
    return _state(table, name, change[0]), _state(table, name, change[1])


def _state(table: Table, name: str, label: str) -> str:
    labels = table.states[table.index(name)]
    if label not in labels:
        raise InputError(f"{name!r} has no state {label!r}; {did_you_mean(label, labels)}")
    return label
