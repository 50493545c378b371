"""Each rule is its statement, run by brute force; caps never cut what Lemma 1 keeps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import TIE
from parentage.errors import InputError
from parentage.scoring import rules as r
from strategies import naive_of, tables

if TYPE_CHECKING:
    from parentage.data.table import Table


@settings(max_examples=60, deadline=None)
@given(tables(5), st.sampled_from(["bic", "aic"]))
def test_rules_say_what_their_statements_say(table: Table, name: str) -> None:
    naive, _ = naive_of(table, name)
    for x in range(naive.n):
        for parents in naive.parent_sets(x, 3):
            for y in parents:
                star = tuple(p for p in parents if p != y)
                added = (naive.arity[y] - 1) * naive.pen(x, star)
                bin_star = naive.best_subset(x, star)
                given_star = naive.NH([x], star), naive.NH([y], star)
                sides = {
                    "alg1": r.alg1(given_star[0], added),
                    "alg2": r.alg2(given_star[1], added),
                    "alg3": r.alg3(naive.NH([x]), added),
                    "alg4": r.alg4(naive.NH([y]), added),
                    "thm1": r.theorem1(*given_star, added),
                    "thm2": r.theorem2(naive.NH([x]), naive.NH([y]), added),
                    "lemma3": r.lemma3(bin_star, naive.pen(x, parents)),
                    "thm1p": r.theorem1_plus(
                        *given_star, naive.h(x), naive.h(y), added, bin_star - naive.s(x, star)
                    ),
                }
                for rule, both in sides.items():
                    assert bool(r.fires(both, TIE)) == naive.rule_fires(rule, x, parents, y), rule


@settings(max_examples=60, deadline=None)
@given(tables(5))
def test_lemmas_hold(table: Table) -> None:
    naive, _ = naive_of(table)
    for x in range(naive.n):
        for parents in naive.parent_sets(x):
            for y in parents:
                star = tuple(p for p in parents if p != y)
                less, more = -naive.NH([x], star), -naive.NH([x], parents)
                assert r.lemma2(less - TIE, more, naive.pen(x, star), naive.pen(x, parents))
                bound = r.lemma4(naive.NH([x], star), naive.NH([y], star))
                assert more - less <= bound + TIE
                kept = r.lemma1(naive.s(x, parents), naive.best_subset(x, star), TIE)
                assert not kept or naive.s(x, parents) > naive.s(x, star)


@settings(max_examples=120, deadline=None)
@given(tables(6), st.sampled_from(["bic", "aic"]), st.sampled_from([None, 0.0, 2.0]))
def test_caps_never_cut_what_is_kept(table: Table, name: str, gap: float | None) -> None:
    naive, _ = naive_of(table, name)
    largest = [0] * naive.n
    for x, parents in naive.lists(gap=gap):
        largest[x] = max(largest[x], len(parents))
    caps = r.caps_by_rule(
        r.choose_rules("all", name, gap),
        naive.rows,
        [naive.NH([v]) for v in range(naive.n)],
        [naive.h(v) for v in range(naive.n)],
        naive.arity,
        naive.w,
        gap or 0.0,
    )
    assert "thm3pp" in caps
    for rule, cap in caps.items():
        assert all(cap[x] >= largest[x] for x in range(naive.n)), rule


def test_theorem3_second_by_enumeration() -> None:
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
        assert r.theorem3_second(n_h, h, arity, w) == slow


def test_choosing_rules() -> None:
    assert r.choose_rules(None, "bic").names == r.DEFAULT
    assert r.choose_rules(None, "aic").names == ("thm3pp", "thm1p")
    assert r.choose_rules("none", "bic").names == ()
    assert set(r.choose_rules("all", "bic").names) == set(r.ORDER)
    assert r.BIC_ONLY.isdisjoint(r.choose_rules("all", "aic").names)
    assert r.BIC_ONLY.isdisjoint(r.choose_rules("all", "bic", gap=0.0).names)
    for rule in r.BIC_ONLY:
        with pytest.raises(InputError, match="BIC only"):
            r.choose_rules(rule, "aic")
        with pytest.raises(InputError, match="gap"):
            r.choose_rules(rule, "bic", gap=1.0)
    with pytest.raises(InputError, match="did you mean 'lemma3'"):
        r.choose_rules("lema3", "bic")
    assert not r.choose_rules("alg1,alg4", "bic").closed
    assert r.choose_rules("alg1,alg2", "bic").closed
