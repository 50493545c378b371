"""How sure arcs are: gains, needs and near-optimal networks, against all networks of a table."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

from fuzz.draw import as_table, question, scoring_keywords
from fuzz.truth import (
    Family,
    Parents,
    Question,
    Scores,
    all_networks,
    best_total,
    best_where,
    families,
)
from keywords import for_learn
from naive_support import equivalent_networks, meetings
from parentage.arcs.support import support
from parentage.errors import ConstraintError, ParentageWarning

if TYPE_CHECKING:
    from parentage.arcs.records import ArcSupport, Support

CLOSE = 1e-6
EQUIVALENT = ("bic", "aic", "hqc", "ebic", "penalty", "qnml", "bdeu")
"""Scores that value the networks of a class alike."""


def make(seed: int) -> Question:
    """Draw a table of so few variables that all networks can be tried."""
    return question(seed, most_variables=4, most_rows=40)


def kinds_of(asked: Question) -> list[str]:
    """What is counted; ``width`` is how far near-optimal networks are from the best."""
    parts = {
        "constraints": asked.required or asked.forbidden or asked.tiers or asked.caps,
        "missing cells": asked.has_holes,
        "near-optimal networks": asked.width is not None,
        "prior": asked.default != 0.5 or asked.beliefs,
    }
    return [kind for kind, there in parts.items() if there]


def check(asked: Question) -> None:
    """Compare every number of every arc with the truth.

    Raises
    ------
    AssertionError
        They differ.
    """
    truth = families(asked)
    best = best_total(asked.n, truth)
    given = {**scoring_keywords(asked), "width": None}
    factor = None if asked.width is None else math.exp(asked.width)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ParentageWarning)
        try:
            found = support(as_table(asked), within=factor, **for_learn(**given))
        except ConstraintError:
            assert best == -math.inf, "constraints were refused that leave a network"
            return
    assert abs(found.best * asked.unit - best) < CLOSE, (found.best, best)
    assert found.optimal and not found.open_points, found.open_points
    for arc in found.arcs:
        check_arc(asked, truth, best, found, arc)
    if asked.width is not None:
        check_near(asked, truth, best, found)


def check_arc(asked: Question, truth: Scores, best: float, found: Support, arc: ArcSupport) -> None:
    """Gain, need, need of the direction and class of one arc."""
    a, b = (found.network.index(name) for name in arc.arc)
    parents = found.network.parents

    def apart(family: Family) -> bool:
        return not (family[0] == b and a in family[1]) and not (family[0] == a and b in family[1])

    def turned(family: Family) -> bool:
        return family[0] != a or b in family[1]

    same(asked, "need", best - best_where(asked.n, truth, apart), arc.need, arc.need_at_most)
    other = best - best_where(asked.n, truth, turned)
    same(asked, "direction", other, arc.need_direction, arc.need_direction_at_most)
    alone = b, tuple(p for p in parents[b] if p != a)
    if alone in truth:
        gain = truth[b, parents[b]] - truth[alone]
        same(asked, "gain", gain, arc.gain, arc.gain)
    reversible = any(a not in above[b] for above in equivalent_networks(parents))
    plain = asked.score.partition(":")[0] in EQUIVALENT and not asked.beliefs
    assert arc.reversible == reversible if plain else arc.reversible in (None, reversible), arc


def same(asked: Question, what: str, truth: float, least: float | None, most: float | None) -> None:
    """A distance between its bounds, which meet; None where no network is that far."""
    if truth == math.inf:
        assert least is None and most is None, f"{what}: {least} where no network fits"
        return
    assert least is not None and most is not None, f"{what}: nothing where it is {truth}"
    assert abs(least * asked.unit - truth) < CLOSE, f"{what}: {least * asked.unit}, not {truth}"
    assert abs(most * asked.unit - truth) < CLOSE, f"{what}: {most * asked.unit}, not {truth}"


def check_near(asked: Question, truth: Scores, best: float, found: Support) -> None:
    """Near-optimal networks, their classes and weight, and the weight of all others."""
    networks = all_networks(asked.n, truth)
    distance = [best - score for score, _ in networks]
    width, facts = asked.width or 0.0, found.near
    assert facts is not None
    if any(abs(d - width) < CLOSE for d in distance if width):
        return  # whether it is among them is a matter of rounding
    near = [
        (math.exp(-d), p) for d, (_, p) in zip(distance, networks, strict=True) if d < width + CLOSE
    ]
    assert facts.complete and facts.networks == len(near), (facts.networks, len(near))
    classes: dict[object, list[Parents]] = {}
    for _, parents in near:
        classes.setdefault(class_of(parents), []).append(parents)
    assert facts.classes == len(classes), (facts.classes, len(classes))
    weight = math.fsum(w for w, _ in near)
    missing = 1 - weight / math.fsum(math.exp(-d) for d in distance)
    if facts.missing is None:  # some families have no score: not all networks can be summed
        assert asked.has_holes, facts
    else:
        assert abs(facts.missing - missing) < CLOSE, (facts, missing)
    for arc in (*found.arcs, *found.others):
        a, b = (found.network.index(name) for name in arc.arc)
        share = math.fsum(w for w, p in near if a in p[b]) / weight
        joined = math.fsum(w for w, p in near if a in p[b] or b in p[a]) / weight
        among = [any(a in p[b] for p in own) for own in classes.values()]
        told = (arc.near_weight, arc.near_adjacency, arc.in_near_optimal)
        for said, right in zip(told, (share, joined, sum(among) / len(among)), strict=True):
            assert said is not None and abs(said - right) < CLOSE, (arc, share, joined, among)


def class_of(parents: Parents) -> object:
    """What equivalent networks share: who is joined, and where arrows of strangers meet."""
    joined = frozenset(frozenset((p, v)) for v, above in enumerate(parents) for p in above)
    return joined, frozenset(meetings(parents))
