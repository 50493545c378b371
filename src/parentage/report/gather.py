"""From results to the page's record: what is known is collected, what is not stays out.

A solution brings its proof and gains; a table the counts, the variables that were refused and how
it was read; lists the next candidates; support its columns and the near-optimal networks. Only the
network has to be there.

Variables that go with a child by themselves (largest mutual information) and are not joined to it
are the ones a reader will ask for. For each: what it would gain alone, what it would add beside the
parents that are there, how much of that is penalty, and the cycle an arc from it would close.

:class:`Page` is what the report page shows, as types. Variables are indices into the network's
names; what was not computed is None or empty.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

import numpy as np
import numpy.typing as npt

from parentage.arcs.records import ArcSupport, decided_by, direction_of, shares_of, within_text
from parentage.errors import InputError, counted
from parentage.network.elimination import plan_elimination
from parentage.network.inference import MAX_TABLE
from parentage.network.network import arc_gains, imposed_directions
from parentage.network.record import NetworkRecord
from parentage.report.facts import (
    about_probabilities,
    account_of,
    citation,
    data_facts,
    methods,
    origin_facts,
    proof_facts,
    search_facts,
    summary,
    verdict,
)
from parentage.scoring.account import limits_by_name
from parentage.scoring.catalogue import is_log_posterior
from parentage.scoring.constraints import Constraints, Prior
from parentage.scoring.scores import Penalised, parse_score, unit_of
from parentage.work.progress import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from parentage.arcs.records import Support
    from parentage.data.table import Table
    from parentage.network.network import Network
    from parentage.network.parameters import Counts, Parameters
    from parentage.optimise import Solution
    from parentage.optimise.near import NearOptimal
    from parentage.report.facts import Fact
    from parentage.scoring.account import Scope
    from parentage.scoring.constraints import Arc
    from parentage.scoring.lists import CandidateLists

MOST_CELLS = 300_000
"""Cells of all probability tables together that a page carries."""


@dataclass(frozen=True)
class Refused:
    """A variable that goes with a child but is not its parent, and why.

    Parameters
    ----------
    parent
        The variable.
    alone
        What it would gain as the only parent.
    change
        What the score changes when it joins the parents that are there.
    cost
        How much of that is penalty; None for scores that are not likelihood minus penalty.
    cycle
        The way from the child to this variable that an arc back would close; empty: none.
    why
        What rules it out: ``"cost"``, ``"cycle"``, ``"limit"``, ``"constraint"``; or nothing
        does: ``"unproven"``.
    """

    parent: int
    alone: float
    change: float
    cost: float | None
    cycle: tuple[int, ...]
    why: str


NextSet = tuple[tuple[int, ...], float]
"""Another candidate parent set of a child: how much higher it scores, or lower if negative."""


class Alternatives(NamedTuple):
    """The networks close to the best: how many, in what their classes differ, how many are left."""

    words: str
    classes: tuple[str, ...]
    left_out: int


@dataclass(frozen=True)
class WhatIf:
    """Probabilities the page computes with.

    Parameters
    ----------
    parameters
        The tables.
    counts
        Rows behind every cell, ``int64[q, r]`` per variable; None without a table, or if cells are
        missing.
    marginals
        Probabilities of every variable's states when nothing is known; empty when too hard.
    order
        Order of elimination for the page; empty when ``refused`` says why there is none.
    about
        How the probabilities were estimated, in a sentence.
    refused
        Why evidence cannot be set.
    """

    parameters: Parameters
    counts: tuple[Counts, ...] | None
    marginals: tuple[tuple[float, ...], ...]
    order: tuple[int, ...]
    about: str
    refused: str = ""

    @property
    def small(self) -> bool:
        """Whether a page can carry all tables."""
        return sum(table.size for table in self.parameters.tables) <= MOST_CELLS


@dataclass(frozen=True)
class Page:
    """Everything on the page.

    Parameters
    ----------
    title
        Name of the data or the file.
    verdict
        What was found and proved, in one or two sentences.
    network
        The network.
    equivalent
        Whether the score values Markov equivalent networks alike; None if that is not known.
    arcs
        How sure every arc is, in the order of ``network.arcs``.
    others
        Pairs that are not joined here, but in a replicate or a near-optimal network.
    about_arcs
        What gains are and how support was measured, in sentences.
    refused, next_sets
        For every variable those that are not its parents and why, and its next candidate sets.
    what_if
        Probabilities; None when the source has none.
    alternatives
        Networks close to the best; None when they were not asked for.
    data, proof, search, origin
        Facts: how the data were read, what was proved, what was counted, versions.
    citation
        What to write when the result is used.
    methods
        A paragraph for the methods section of a paper, filled in from the run.
    summary
        How sure the links and directions are, in phrases.
    directions
        What is known of the direction of every arc, in words; empty if equivalent networks have
        different scores.
    imposed
        Whether the constraints set the direction of every arc; None if that is not known.
    """

    title: str
    verdict: str
    network: Network
    equivalent: bool | None
    arcs: tuple[ArcSupport, ...]
    others: tuple[ArcSupport, ...]
    about_arcs: tuple[str, ...]
    refused: tuple[tuple[Refused, ...], ...]
    next_sets: tuple[tuple[NextSet, ...], ...]
    what_if: WhatIf | None
    alternatives: Alternatives | None
    data: tuple[Fact, ...]
    proof: tuple[Fact, ...]
    search: tuple[Fact, ...]
    origin: tuple[Fact, ...]
    citation: str
    methods: str
    summary: tuple[str, ...]
    directions: dict[Arc, str]
    imposed: dict[Arc, bool | None]

    @property
    def shares(self) -> dict[Arc, float]:
        """How often the two variables of each arc are adjacent, as :class:`Support` has it."""
        return shares_of(self.arcs)


MOST_WORK = 4_000_000
"""Cells of all products of an elimination that a page computes at every click."""

MOST_CLASSES = 60


def gather(
    result: Network | Parameters | Solution | NetworkRecord,
    *,
    table: Table | None = None,
    lists: CandidateLists | None = None,
    support: Support | None = None,
    title: str | None = None,
    path: str = "",
) -> Page:
    """Collect everything that the page shows.

    Parameters
    ----------
    result
        A solution, a network, parameters, or a record of all that is known.
    table
        The data: counts, probabilities (unless known), why other parents are not there.
    lists
        The candidate lists: the next best parent sets of every variable.
    support
        How sure every arc is (:func:`parentage.support`), and the networks close to the best.
    title
        What to call it; by default the name of the source.
    path
        Over which penalties the network stays the same, in a phrase for the summary.
    """
    record = NetworkRecord.of(result)
    network, scope, parameters = record.network, record.scope, record.parameters
    if support is not None and support.network != network:
        raise InputError("the support belongs to another network")
    weighted = scope is None or is_log_posterior(scope.score)
    if support is not None and not weighted:
        support = _without_weights(support)
    near = None if support is None else support.near_networks
    if near is not None and set(near.names) != set(network.names):
        raise InputError("the near-optimal networks have other variables than the network")
    if parameters is not None and parameters.network.names != network.names:
        raise InputError("the variables of the parameters are in another order than the network's")
    table = None if table is None else table.select(network.names)
    if parameters is None and table is not None:
        parameters = network.fit(table)
        record = replace(record, parameters=parameters)
    refused: Sequence[tuple[Refused, ...]] = [() for _ in network.names]
    if _scorable(table, record):
        refused = refused_parents(network, table, _score_of(record), scope)
    nexts = [() for _ in network.names] if lists is None else next_sets(network, lists)
    equivalent = None if scope is None else scope.equivalent
    arcs = _arcs(record, table, support)
    imposed = imposed_directions(network, scope)
    directions: dict[Arc, str] = {}
    if equivalent is not False:
        directions = {one.arc: direction_of(one, imposed[one.arc]) for one in arcs}
    source = os.path.basename(str(record.provenance.get("source") or ""))  # noqa: PTH119  # any text
    return Page(
        title=title or source or "Bayesian network",
        verdict=verdict(record, table),
        network=network,
        equivalent=equivalent,
        arcs=arcs,
        others=() if support is None else support.others[:40],
        about_arcs=(
            about_gains(listed=record.listed_gains and support is None),
            *about_directions(arcs, equivalent, directions),
            *about_support(support, weighted=weighted),
        ),
        refused=tuple(refused),
        next_sets=tuple(nexts),
        what_if=None if parameters is None else _what_if(parameters, table),
        alternatives=None if near is None else alternatives(near),
        data=data_facts(record, table),
        proof=proof_facts(record, table),
        search=search_facts(record),
        origin=origin_facts(record.provenance),
        citation=citation(record),
        methods=methods(record, table, support),
        summary=summary(arcs, directions, support, path),
        directions=directions,
        imposed=imposed,
    )


def _score_of(record: NetworkRecord) -> str:
    return (record.scope.score if record.scope is not None else None) or "bic"


def _scorable(table: Table | None, record: NetworkRecord) -> TypeGuard[Table]:
    """Tell whether families can be scored again on the table."""
    return table is not None and not table.has_holes and _score_of(record) != "pnal"


def _without_weights(support: Support) -> Support:
    """Leave out shares that are weighted by probability, under a score that gives none."""
    arcs, others = (
        tuple(replace(one, near_weight=None, near_adjacency=None) for one in found)
        for found in (support.arcs, support.others)
    )
    return replace(support, arcs=arcs, others=others)


def _arcs(
    record: NetworkRecord, table: Table | None, support: Support | None
) -> tuple[ArcSupport, ...]:
    """Return one record for every arc, with the gains that can be known."""
    gains, scope = dict(record.gains or {}), record.scope
    if not gains and _scorable(table, record):
        base = scope.log_base if scope is not None else None
        gains = arc_gains(record.network, table, _score_of(record), base, prior_of(scope))
    reversible = record.network.equivalence_class().reversible
    known = {} if support is None else {one.arc: one for one in support.arcs}
    found = []
    for arc in record.network.arcs:
        one = known.get(arc, ArcSupport(*arc))
        gain = gains.get(arc) if one.gain is None else one.gain
        either = (min(arc), max(arc)) in reversible
        found.append(replace(one, gain=gain, reversible=either))
    return tuple(found)


def about_gains(*, listed: bool) -> str:
    """Say in a sentence what a gain is; ``listed``: compared with candidate lists alone."""
    if listed:
        return (
            "Gain: the score that is lost when this parent leaves its child, compared with the "
            "best listed set of the other parents, because the table behind the lists is missing."
        )
    return "Gain: the score that is lost when this parent alone leaves its child."


def about_directions(
    arcs: tuple[ArcSupport, ...], equivalent: bool | None, directions: Mapping[Arc, str]
) -> tuple[str, ...]:
    """Say in sentences what the directions of the arcs mean, and what reversing one costs."""
    said = []
    if equivalent is not False and arcs:
        also = ", or one with the same score," if equivalent else ""
        said.append(
            f"Direction: “reversible” where an equivalent network{also} has the arc reversed; "
            "“compelled” elsewhere. No direction shows a cause."
        )
    if "set by the constraints" in directions.values():
        said.append(
            "“Set by the constraints”: the constraints (or limits on parents) forbid every "
            "equivalent network with the arc reversed; the direction is an assumption."
        )
    if any(one.need_direction is not None for one in arcs):
        said.append(
            "Loss if reversed: how much lower the best network with the arc reversed scores than "
            "the best network; a lower bound where the work was stopped early."
        )
    elif equivalent is not False and any(one.reversible is False for one in arcs):
        said.append(
            "How much the best network with an arc reversed loses was not computed; it belongs to "
            "the needs of “parentage report” and “parentage support”."
        )
    return tuple(said)


def about_support(support: Support | None, *, weighted: bool = True) -> tuple[str, ...]:
    """Say in sentences how support was measured."""
    if support is None:
        return ()
    said = []
    said.append(
        "A link is firm if the best network without it scores at least ln 20 = 3.00 nats lower "
        "(under Bayesian scores: is at most 1/20 as probable) and at least 80 % of the replicates "
        "have it, as far as these were requested; it is open if it fails one of the two, and not "
        "known if the work was stopped before that was decided."
    )
    if alone := decided_by(support):
        said.append(f"Here the {alone} alone decided; nothing else was requested.")
    if any(one.need is not None for one in support.arcs):
        said.append(
            "Need: how much lower the best network without this link scores than the best "
            "network; a lower bound where the work was stopped early."
        )
    if support.bootstrap is not None:
        b = support.bootstrap
        early = "" if b.done == b.asked else f"{b.words}; "
        said.append(
            f"Adjacent: the share of {b.done:,} replicates whose best network has "
            f"the link ({early}{b.proven:,} of these networks are proven best; seed {b.seed}). "
            "This direction: the share of those in which the arc has this direction."
        )
    if support.near is not None:
        near = support.near
        said.append(
            "In near-optimal: the share of "
            f"{counted(near.classes, 'equivalence class', 'equivalence classes')} "
            + (
                f"with at least 1/{near.factor:g} of the best one's probability"
                if weighted
                else f"that score at most {math.log(near.factor):.2f} nats lower than the best one"
            )
            + f" that have the arc{'' if near.complete else '; the list is not complete'}."
        )
        if weighted:
            said[-1] += (
                " Share: the posterior probability of the networks of these classes with the arc, "
                "divided by that of all."
            )
    return tuple(said)


def _what_if(parameters: Parameters, table: Table | None) -> WhatIf:
    sizes = [len(labels) for labels in parameters.states]
    cells = sum(table.size for table in parameters.tables)
    completed = table is not None and table.has_holes
    counts = None
    marginals: tuple[tuple[float, ...], ...] = ()
    if table is not None and not completed and cells <= MOST_CELLS:
        counts = parameters.counts if parameters.counts is not None else parameters.counted(table)
    families = [(v, *members) for v, members in enumerate(parameters.network.parents)]
    plan = plan_elimination(families, sizes)
    refused = ""
    if cells > MOST_CELLS:
        refused = f"The probability tables have {number(cells)} cells, too many for a report."
    elif plan.total > MOST_WORK:
        refused = (
            f"Setting evidence would take tables of {number(plan.total)} cells at every click, "
            f"the largest over {len(plan.largest)} variables together: too many for a report."
        )
        if plan.cells <= MAX_TABLE:
            refused += " The command “parentage query” can compute more."
    else:
        found = parameters.query()
        marginals = tuple(tuple(found[name].values()) for name in parameters.network.names)
    if not marginals and counts is not None:
        marginals = _observed_shares(counts)
    order = () if refused else plan.order
    about = about_probabilities(parameters, completed=completed)
    return WhatIf(parameters, counts, marginals, order, about, refused)


def _observed_shares(counts: tuple[Counts, ...]) -> tuple[tuple[float, ...], ...]:
    """Return how often every state occurs."""
    totals = (table.sum(axis=0) for table in counts)
    return tuple(tuple((states / max(1, states.sum())).tolist()) for states in totals)


def alternatives(near: NearOptimal) -> Alternatives:
    """Say which other networks are about as good, and what they do differently."""
    count, factor = len(near.classes), math.exp(near.width * near.unit)
    best = "the best" if near.complete else "the best one found"
    words = within_text(
        len(near), count, factor, near.score_name, complete=near.complete, best=best
    )
    listed = []
    for at, members in enumerate(near.classes[:MOST_CLASSES]):
        difference = "; ".join(_difference(**near.difference(at))) or "the same links"
        how = f", {near.below(at)}: {difference}."
        listed.append(
            counted(len(members), "network") + (how if at else ": the class of the network above.")
        )
    words = f"{words[0].upper()}{words[1:]}."
    return Alternatives(words, tuple(listed), max(0, count - MOST_CLASSES))


SHOWN = 5
SCREENED_ROWS = 20_000
"""Rows that decide which variables are shown; their numbers are from all rows."""

MOST_STATES = 5_000
"""States of all variables together; with more, nothing is said."""

MUCH, TOO_MUCH = 5_000_000, 50_000_000
"""Cells of a table from which fewer variables, and none, are looked at: every row is counted."""


def _difference(
    added: Iterable[str], removed: Iterable[str], changed: Iterable[str]
) -> tuple[str, ...]:
    return *(f"with {mark}" for mark in added), *(f"without {mark}" for mark in removed), *changed


def refused_parents(
    network: Network, table: Table, score: str, scope: Scope | None
) -> list[tuple[Refused, ...]]:
    """Return for every variable those that go with it most and are not joined to it."""
    table = table.select(network.names)
    shown = _how_many(table)
    if not shown:
        return [() for _ in network.names]
    judge = _Judge(network, table, score, scope)
    going_with = mutual_information(table)
    found = []
    for v, members in enumerate(network.parents):
        joined = {v, *members, *network.children[v]}
        ranked = [int(u) for u in np.argsort(-going_with[v], kind="stable") if u not in joined]
        varying = [u for u in ranked if network.names[u] not in table.constant]
        constant = network.names[v] in table.constant
        found.append(() if constant else tuple(judge(v, u) for u in varying[:shown]))
    return found


def _how_many(table: Table) -> int:
    cells = table.stored_rows * table.n_variables
    if cells > TOO_MUCH or int(table.cardinalities.sum()) > MOST_STATES:
        return 0
    return SHOWN if cells <= MUCH else 2


def mutual_information(table: Table) -> npt.NDArray[np.float64]:
    """Return the mutual information of every pair in the first rows, in nats."""
    table = table.head(SCREENED_ROWS)
    codes = table.to_codes().astype(np.int64)
    sizes = table.cardinalities
    starts = np.concatenate([[0], np.cumsum(sizes)])
    indicator = np.zeros((int(starts[-1]), codes.shape[1]), np.float32)
    for v, column in enumerate(codes):
        indicator[starts[v] + column, np.arange(codes.shape[1])] = 1
    times = table.repeats.astype(np.float32) if len(table.repeats) else np.float32(1)
    joint = ((indicator * times) @ indicator.T).astype(np.float64) / table.n_rows
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = joint * np.log(joint / np.outer(joint.diagonal(), joint.diagonal()))
    terms[~np.isfinite(terms)] = 0.0
    by_row = np.add.reduceat(terms, starts[:-1], axis=0)
    result: npt.NDArray[np.float64] = np.add.reduceat(by_row, starts[:-1], axis=1)
    return result


def prior_of(scope: Scope | None) -> Prior:
    """Return what was believed of arcs beforehand; nothing if that is not known."""
    account = account_of(scope)
    return Prior() if account is None else account.prior


class _Judge:
    """Says why one variable is not a parent of another."""

    def __init__(self, network: Network, table: Table, score: str, scope: Scope | None) -> None:
        self.network, self.table, self.scope = network, table, scope
        self.by = parse_score(score)
        self.unit = unit_of(scope.log_base if scope is not None else None)
        self.prior = prior_of(scope)
        self.tolerance = 0.0 if scope is None else scope.tolerance
        limit = None if scope is None else scope.max_parents
        given = Constraints() if scope is None else scope.constraints
        self.limits = limits_by_name(network.names, limit)
        for name, most in given.max_parents.items():
            self.limits[name] = min(most, self.limits.get(name, most))
        self.barred = given.barred(network.names)
        self.own: dict[tuple[int, ...], float] = {}

    def __call__(self, v: int, u: int) -> Refused:
        members, names = self.network.parents[v], self.network.names
        believed = self.prior.log_odds(names[u], names[v]) / self.unit
        change = self.local(v, (*members, u)) - self.local(v, members) + believed
        alone = self.local(v, (u,)) - self.local(v, ()) + believed
        cost = None
        if isinstance(self.by, Penalised):
            price = self.by.price
            more = price(self.table, v, [*members, u]) - price(self.table, v, list(members))
            cost = more / self.unit - believed
        cycle = self.way(v, u)
        return Refused(u, alone, change, cost, cycle, self.why(v, u, change, cycle))

    def local(self, v: int, parents: tuple[int, ...]) -> float:
        key = (v, *parents)
        if key not in self.own:
            self.own[key] = self.by.local(self.table, v, list(parents)) / self.unit
        return self.own[key]

    def why(self, v: int, u: int, change: float, cycle: tuple[int, ...]) -> str:
        if change <= self.tolerance:
            return "cost"
        if cycle:
            return "cycle"
        child = self.network.names[v]
        if len(self.network.parents[v]) >= self.limits.get(child, len(self.network.names)):
            return "limit"
        return "constraint" if self.barred[v, u] else "unproven"

    def way(self, start: int, end: int) -> tuple[int, ...]:
        """Return a shortest way along the arcs; empty when there is none."""
        before: dict[int, int] = {start: start}
        queue = [start]
        for v in queue:
            for child in self.network.children[v]:
                if child not in before:
                    before[child] = v
                    queue.append(child)
        if end not in before:
            return ()
        path = [end]
        while path[-1] != start:
            path.append(before[path[-1]])
        return tuple(reversed(path))


def next_sets(network: Network, lists: CandidateLists, most: int = 3) -> list[tuple[NextSet, ...]]:
    """Return for every variable the candidate sets just above and just below the one chosen."""
    found: list[tuple[NextSet, ...]] = []
    place = [lists.index(name) for name in network.names]
    back = {at: v for v, at in enumerate(place)}
    for v, members in enumerate(network.parents):
        chosen = tuple(sorted(place[p] for p in members))
        ranked = list(lists.candidates(place[v]))
        at = next((i for i, (_, own) in enumerate(ranked) if own == chosen), None)
        if at is None:
            found.append(())
            continue
        near = [*ranked[max(0, at - most) : at], *ranked[at + 1 : at + 1 + most]]
        found.append(
            tuple(
                (tuple(sorted(back[p] for p in own)), score - ranked[at][0]) for score, own in near
            )
        )
    return found
