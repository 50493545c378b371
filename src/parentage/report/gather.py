"""From results to the report's record: what is known is collected, what is not stays out.

The first step of the report. A solution brings its proof and gains; a table the counts, the
variables that were refused and how it was read; lists the next candidates; support its columns;
near-optimal networks the alternatives. Only the network has to be there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parentage.arcs.records import ArcSupport
from parentage.network.elimination import plan_elimination
from parentage.network.network import arc_gains
from parentage.network.parameters import joint_states
from parentage.network.posteriors import MAX_TABLE
from parentage.report.facts import (
    citation,
    data_facts,
    origin_facts,
    proof_facts,
    search_facts,
    verdict,
)
from parentage.report.records import (
    MOST_CELLS,
    Alternatives,
    NearClass,
    Report,
    VariableFacts,
    WhatIf,
)
from parentage.report.refused import next_sets, prior_of, refused_parents
from parentage.work.display import number

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from parentage.arcs.records import Support
    from parentage.data.table import Table
    from parentage.network.finding import Finding
    from parentage.network.network import Network
    from parentage.network.parameters import Parameters
    from parentage.optimise.near import NearOptimal
    from parentage.scoring.constraints import Arc
    from parentage.scoring.lists import CandidateLists
    from parentage.scoring.scope import Scope

MOST_WORK = 4_000_000
"""Cells of all products of an elimination that a page computes at every click."""

MOST_CLASSES = 60


@dataclass(frozen=True)
class Material:
    """What a report can be made of.

    Parameters
    ----------
    network
        The network.
    title
        What to call it.
    finding
        What is known of how good it is: the facts of a solution, or of a network's file.
    scope
        What it was compared with.
    gains
        What every arc gains.
    table, lists, parameters, support, near
        As far as they are there.
    provenance
        Versions, command, data.
    listed_gains
        Whether gains compare with what is listed (:class:`parentage.optimise.Solution`).
    """

    network: Network
    title: str
    finding: Finding
    scope: Scope | None = None
    gains: Mapping[Arc, float] | None = None
    table: Table | None = None
    lists: CandidateLists | None = None
    parameters: Parameters | None = None
    support: Support | None = None
    near: NearOptimal | None = None
    provenance: Mapping[str, Any] | None = None
    listed_gains: bool = False


def gather(material: Material) -> Report:
    """Collect everything that the page shows."""
    m = material
    whole = m.table is not None and not m.table.has_holes
    score = (m.scope.score if m.scope is not None else None) or "bic"
    refused: list[Any] = [() for _ in m.network.names]
    if m.table is not None and whole and score != "pnal":
        refused = refused_parents(m.network, m.table, score, m.scope)
    nexts: list[Any] = [() for _ in m.network.names]
    if m.lists is not None:
        nexts = next_sets(m.network, m.lists)
    equivalent = None if m.scope is None else m.scope.equivalent
    arcs = _arcs(m, score, whole=whole)
    parameters = fitted(m)
    return Report(
        title=m.title,
        verdict=verdict(m.network, m.table, m.finding, m.scope),
        network=m.network,
        equivalent=equivalent,
        arcs=arcs,
        others=() if m.support is None else m.support.others[:40],
        about_arcs=(about_gains(m), *about_directions(arcs, equivalent), *about_support(m.support)),
        variables=tuple(VariableFacts(*both) for both in zip(refused, nexts, strict=True)),
        what_if=_what_if(m, parameters, whole=whole),
        alternatives=None if m.near is None else alternatives(m.near),
        data=data_facts(m.table, m.scope, m.provenance or {}),
        proof=proof_facts(m.table, m.finding, m.scope),
        search=search_facts(m.finding, m.scope),
        origin=origin_facts(m.provenance or {}),
        citation=citation(m.finding, m.scope, m.provenance or {}),
    )


def _arcs(m: Material, score: str, *, whole: bool) -> tuple[ArcSupport, ...]:
    """Return one record for every arc, with the gains that can be known."""
    gains = dict(m.gains or {})
    if not gains and m.table is not None and whole and score != "pnal":
        base = m.scope.log_base if m.scope is not None else None
        gains = arc_gains(m.network, m.table, score, base, prior_of(m.scope))
    directed = m.scope is not None and m.scope.equivalent is False
    reversible = m.network.equivalence_class().reversible
    known = {} if m.support is None else {one.arc: one for one in m.support.arcs}
    found = []
    for arc in m.network.arcs:
        one = known.get(arc, ArcSupport(*arc))
        gain = gains.get(arc) if one.gain is None else one.gain
        either = None if directed else (min(arc), max(arc)) in reversible
        found.append(replace(one, gain=gain, reversible=either))
    return tuple(found)


def about_gains(m: Material) -> str:
    """Say in a sentence what a gain is."""
    if m.listed_gains and m.support is None:
        return (
            "Gain: the score that is lost when this parent leaves its child, compared with the "
            "best listed set of the other parents; the table behind the lists was not there to "
            "score the other parents themselves."
        )
    return "Gain: the score that is lost when this parent alone leaves its child."


def about_directions(arcs: tuple[ArcSupport, ...], equivalent: bool | None) -> tuple[str, ...]:
    """Say in sentences what the directions of the arcs mean, and what reversing one costs."""
    said = []
    if equivalent is not False and arcs:
        either = "an equivalent network has the arc reversed"
        other = "“compelled” where none has"
        if equivalent:
            either += ", with the same score, or reversing it loses nothing"
            other = "“preferred by the score” elsewhere"
        said.append(f"Direction: “either” where {either}; {other}. Neither tells what is a cause.")
    if any(one.need_direction is not None for one in arcs):
        said.append(
            "Loss if reversed: how far the best network with the arc reversed falls short of the "
            "best one; where the work was stopped early, at least that much."
        )
    elif any(one.reversible is False for one in arcs):
        said.append(
            "How much the best network with an arc reversed loses was not computed; it belongs to "
            "the needs of “parentage report” and “parentage support”."
        )
    return tuple(said)


def about_support(support: Support | None) -> tuple[str, ...]:
    """Say in sentences how support was measured."""
    if support is None:
        return ()
    said = []
    if any(one.need is not None for one in support.arcs):
        said.append(
            "Need: how far the best network without this link falls short of the best one, both "
            "proven; where the work was stopped early, at least that much."
        )
    if support.bootstrap is not None:
        b = support.bootstrap
        said.append(
            f"Seen again: the share of {b.done:,} resamplings of the rows whose best network has "
            f"the link ({b.proven:,} of these networks are proven best; seed {b.seed}). "
            "This direction: the share of those that have it this way."
        )
    if support.near is not None:
        near = support.near
        said.append(
            f"In near-optimal: the share of {near.classes:,} equivalence classes at most "
            f"{near.factor:g} times less probable than the best that have the arc"
            f"{'' if near.complete else '; the list is not complete'}. Weight there: the share of "
            "their probability that the networks with the arc have."
        )
    return tuple(said)


def fitted(m: Material) -> Parameters | None:
    """Return the probabilities that are given or those of the table, if there is one."""
    if m.parameters is not None or m.table is None:
        return m.parameters
    return m.network.fit(m.table)


def _what_if(m: Material, parameters: Parameters | None, *, whole: bool) -> WhatIf | None:
    if parameters is None:
        return None
    network = parameters.network
    if network.names != m.network.names:
        raise AssertionError("parameters of another network")
    sizes = [len(labels) for labels in parameters.states]
    cells = sum(table.size for table in parameters.tables)
    counts = None
    if m.table is not None and whole and cells <= MOST_CELLS:
        counts = family_counts(parameters, m.table)
    families = [(v, *members) for v, members in enumerate(network.parents)]
    plan = plan_elimination(families, sizes)
    refused = ""
    marginals: tuple[tuple[float, ...], ...] = ()
    if cells > MOST_CELLS:
        refused = f"The probability tables have {number(cells)} cells, too many for a page."
    elif plan.total > MOST_WORK:
        refused = (
            f"Setting findings would take tables of {number(plan.total)} cells at every click, "
            f"the largest over {len(plan.largest)} variables together: too many for a page."
        )
        if plan.cells <= MAX_TABLE:
            refused += " The command “parentage query” can compute more."
    else:
        found = parameters.query()
        marginals = tuple(
            tuple(found[name][label] for label in labels)
            for name, labels in zip(network.names, parameters.states, strict=True)
        )
    if not marginals and counts is not None:
        marginals = observed_shares(parameters, m.table)
    order = () if refused else plan.order
    completed = m.table is not None and not whole
    return WhatIf(parameters, counts, marginals, order, refused, completed)


def family_counts(parameters: Parameters, table: Table) -> tuple[npt.NDArray[np.int64], ...]:
    """Return the rows of every cell of the probability tables."""
    codes = parameters.codes_of(table)
    sizes = [len(labels) for labels in parameters.states]
    counts = []
    for v, members in enumerate(parameters.network.parents):
        q, r = math.prod(sizes[p] for p in members), sizes[v]
        cells = joint_states(codes, members, sizes) * r + codes[v]
        counts.append(np.bincount(cells, minlength=q * r).reshape(q, r))
    return tuple(counts)


def observed_shares(parameters: Parameters, table: Table | None) -> tuple[tuple[float, ...], ...]:
    """Return how often every state occurs."""
    if table is None:
        return ()
    codes = parameters.codes_of(table)
    return tuple(
        tuple((np.bincount(column, minlength=len(labels)) / len(column)).tolist())
        for column, labels in zip(codes, parameters.states, strict=True)
    )


def alternatives(near: NearOptimal) -> Alternatives:
    """Say which other networks are about as good, and what they do differently."""
    networks = f"{len(near):,} network{'' if len(near) == 1 else 's'}"
    count = len(near.classes)
    classes = f"{count:,} equivalence class{'' if count == 1 else 'es'}"
    factor = math.exp(near.width * near.unit)
    words = (
        f"{'' if near.complete else 'At least '}{networks} in {classes} are at most {factor:.4g} "
        f"times less probable than the best{'' if near.complete else ' one found'}."
    )
    listed = [
        NearClass(
            len(members),
            math.exp((near.score - max(near.scores[i] for i in members)) * near.unit),
            *near.difference(number),
        )
        for number, members in enumerate(near.classes[:MOST_CLASSES])
    ]
    return Alternatives(words, tuple(listed), max(0, count - MOST_CLASSES))
