"""Each rule is its statement, run by brute force; caps never cut what Lemma 1 keeps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import TIE, Naive, Set
from parentage.errors import InputError
from parentage.scoring import rules as r
from parentage.scoring.rules import (
    BY_NAME,
    CAPS,
    ORDER,
    RULES,
    FamilyNumbers,
    TableNumbers,
    caps_by_rule,
    choose_rules,
)
from strategies import PENALISED, naive_of, tables

if TYPE_CHECKING:
    from parentage.data.table import Table


def numbers_of(naive: Naive, x: int, parents: Set, y: int, gap: float) -> FamilyNumbers:
    """What the rules know of a family and one parent, straight from the definitions."""
    star = tuple(p for p in parents if p != y)
    bin_star = naive.best_subset(x, star)
    return FamilyNumbers(
        n_h_x=naive.NH([x]),
        n_h_y=naive.NH([y]),
        n_h_x_star=naive.NH([x], star),
        n_h_y_star=naive.NH([y], star),
        h_x=naive.h(x),
        h_y=naive.h(y),
        added=(naive.arity[y] - 1) * naive.pen(x, star),
        penalty=naive.pen(x, parents),
        bin_star=bin_star,
        delta=bin_star - naive.s(x, star),
        width=gap,
    )


@settings(max_examples=60, deadline=None)
@given(tables(5, 60, 3), st.sampled_from(PENALISED), st.sampled_from([0.0, 1.5]), st.data())
def test_rules_say_what_their_statements_say(
    table: Table, name: str, gap: float, data: st.DataObject
) -> None:
    naive, _ = naive_of(table, name)
    x = data.draw(st.sampled_from(range(naive.n)))
    for parents in naive.parent_sets(x, 3):
        for y in parents:
            numbers = numbers_of(naive, x, parents, y, gap)
            for rule in RULES:
                if rule.sides is not None and rule.why_not(name, None) is None:
                    found = bool(r.fires(rule.sides(numbers), TIE))
                    assert found == naive.rule_fires(rule.name, x, parents, y, gap), rule.name


def test_every_record_is_whole() -> None:
    for rule in RULES:
        assert (rule.sides is None) != (rule.cap is None), rule.name
        assert rule.function is getattr(r, rule.function.__name__), rule.name
        assert all(rule.name in needed <= set(ORDER) for needed in rule.closed_with), rule.name
        for other in RULES:  # a set that closes one rule closes all its members
            for needed in other.closed_with:
                assert (rule.name in needed) == (needed in rule.closed_with), rule.name
    assert len(BY_NAME) == len(RULES)
    assert {rule.function for rule in RULES} == {
        getattr(r, name)
        for name in vars(r)
        if name.startswith(("alg", "theorem", "corollary")) and name != "theorem3_term"
    } | {r.lemma3, r.functional}


@settings(max_examples=60, deadline=None)
@given(tables(5))
def test_lemmas_2_and_4_hold(table: Table) -> None:
    naive, _ = naive_of(table)
    for x in range(naive.n):
        for parents in naive.parent_sets(x):
            for y in parents:
                star = tuple(p for p in parents if p != y)
                less, more = -naive.NH([x], star), -naive.NH([x], parents)
                assert less <= more + TIE
                assert naive.pen(x, star) < naive.pen(x, parents)
                assert more - less <= min(naive.NH([x], star), naive.NH([y], star)) + TIE


@settings(max_examples=120, deadline=None)
@given(tables(6, 60, 3), st.sampled_from(PENALISED), st.sampled_from([None, 0.0, 2.0]))
def test_caps_never_cut_what_is_kept(table: Table, name: str, gap: float | None) -> None:
    naive, _ = naive_of(table, name)
    largest = [0] * naive.n
    for x, parents in naive.lists(gap=gap):
        largest[x] = max(largest[x], len(parents))
    numbers = TableNumbers(
        naive.rows,
        [naive.NH([v]) for v in range(naive.n)],
        [naive.h(v) for v in range(naive.n)],
        naive.arity,
        naive.w,
        gap or 0.0,
    )
    caps = caps_by_rule(choose_rules("all", name, gap), numbers)
    assert "thm3pp" in caps
    for rule, cap in caps.items():
        assert all(cap[x] >= largest[x] for x in range(naive.n)), rule


def test_theorem3_double_prime_by_enumeration() -> None:
    """The largest |Π| by trying all of them, against the sorted walk."""
    import itertools
    import random

    for seed in range(300):
        rng = random.Random(seed)
        n = rng.randint(2, 6)
        arity = [rng.randint(2, 5) for _ in range(n)]
        n_h = [rng.uniform(1, 80) for _ in range(n)]
        h = [rng.uniform(0, 0.5) * x for x in n_h]
        w = 1.7
        slow = []
        for x in range(n):
            own = 1 + (n_h[x] - h[x]) / (w * (arity[x] - 1))
            best = 0
            for size in range(1, n):
                for parents in itertools.combinations([v for v in range(n) if v != x], size):
                    q = math.prod(arity[y] for y in parents)
                    each = [
                        (n_h[y] - h[y]) / (w * (arity[x] - 1) * (1 - 1 / arity[y])) for y in parents
                    ]
                    if q < min(own, *each):
                        best = size
            slow.append(best)
        assert r.theorem3_double_prime(n_h, h, arity, w) == slow


def test_choosing_rules() -> None:
    assert choose_rules(None, "bic").names == ("cor1p", "thm3pp", "thm1p")
    assert choose_rules(None, "aic").names == ("thm3pp", "thm1p")
    assert choose_rules(None, "bic", width=0.0).names == ("thm3pp", "thm1p")
    assert choose_rules("none", "bic").names == ()
    penalised = tuple(rule.name for rule in RULES if "bic" in rule.scores)
    assert choose_rules("all", "bic").names == penalised == ORDER[:-4]
    of_bic = {rule.name for rule in RULES if rule.scores == {"bic"}}
    assert of_bic == {"cor1", "cor1p", "thm3"}
    assert of_bic.isdisjoint(choose_rules("all", "aic").names)
    assert of_bic.isdisjoint(choose_rules("all", "bic", width=0.0).names)
    assert of_bic.isdisjoint(choose_rules("all", "bic").in_context().names)
    for rule in of_bic:
        with pytest.raises(InputError, match="BIC only, not for AIC; use thm3pp instead"):
            choose_rules(rule, "aic")
        with pytest.raises(InputError, match="does not hold with a width; use thm3pp instead"):
            choose_rules(rule, "bic", width=1.0)
    with pytest.raises(InputError, match="did you mean 'lemma3'"):
        choose_rules("lema3", "bic")
    with pytest.raises(InputError, match=r"not for penalty; use thm3pp"):
        choose_rules("thm3", "penalty:2")
    assert choose_rules(None, "ebic:0.5") == choose_rules(None, "hqc") == choose_rules(None, "aic")
    with pytest.raises(InputError, match="leave it out"):
        choose_rules("thm1p", "no score of ours")


def test_what_follows_from_the_records() -> None:
    assert CAPS == ORDER[: len(CAPS)] == ("cor1", "cor1p", "thm3", "thm3pp")
    closed = ["thm1p", "thm1", "thm2", "alg1,alg2", "lemma3,alg2", "alg3,alg4"]
    for rules in [*ORDER[:-4], "alg1,alg4", "alg3,alg2", "lemma3,alg4", *closed]:
        assert choose_rules(rules, "bic").closed == (rules in closed), rules
    needing = [name for name in ORDER[:-4] if choose_rules(name, "bic").needs_residuals]
    assert needing == ["thm3pp", "thm1p"]
    assert choose_rules("cor1,alg3,alg4", "bic").mask == 1 << 4 | 1 << 5
