"""The theory page run as tests: false friends with their counter-examples, closure, contexts.

A *false friend* is a rule that looks right and is not. One harness, :func:`lost`, applies a rule
the way the search does (what removes a set removes all its supersets) and returns the families
that Lemma 1 keeps and the rule removes. True rules lose nothing; each false friend loses what
``docs/theory.md`` says.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import TIE, Naive, Set
from naive_holes import HOLE, NaiveHoles
from naive_scores import NaiveSum, log_regret
from parentage.data.table import Table
from parentage.errors import InputError
from parentage.scoring import rules as r
from parentage.scoring.candidates import score
from parentage.scoring.constraints import Constraints
from parentage.scoring.rules import RULES, choose_rules
from strategies import PENALISED, each, make_table, naive_of, random_table, tables

Rule = Callable[[Naive, int, Set, int], bool]
Family = tuple[int, Set]

BY_FAMILY = [rule.name for rule in RULES if rule.sides is not None and "bic" in rule.scores]
"""The rules that are decided per family; the others are caps."""


def without(parents: Set, y: int) -> Set:
    return tuple(p for p in parents if p != y)


def removed_by(naive: Naive, rule: Rule, children: range | list[int] | None = None) -> set[Family]:
    """All families that a rule removes, directly or because it removes a subset."""
    removed = set[Family]()
    for x in range(naive.n) if children is None else children:
        for parents in naive.parent_sets(x):
            inherited = any((x, without(parents, y)) in removed for y in parents)
            if inherited or any(rule(naive, x, parents, y) for y in parents):
                removed.add((x, parents))
    return removed


def lost(
    naive: Naive, rule: Rule, required: list[frozenset[int]] | None = None
) -> dict[Family, float]:
    """Families that Lemma 1 keeps and the rule removes, with their scores."""
    removed = removed_by(naive, rule)
    kept = naive.lists(required=required)
    return {family: value for family, value in kept.items() if family in removed}


def true_rule(name: str) -> Rule:
    return lambda naive, x, parents, y: naive.rule_fires(name, x, parents, y)


# ---------------------------------------------------------------------------------------------
# False friends


def information(naive: Naive, x: int, parents: Set, y: int) -> bool:
    """What Y tells about X given Π* is worth less than what it costs."""
    star = without(parents, y)
    gain = naive.NH([x], star) - naive.NH([x], parents)
    return gain <= (naive.arity[y] - 1) * naive.pen(x, star) - TIE


def skip(naive: Naive, x: int, parents: Set, y: int) -> bool:
    """An upper bound on the score from the one-smaller sets is no better than a subset."""
    members = (*parents, x)
    ceiling = min(naive.G(set(members) - {i}) for i in members)
    best = max(naive.best_subset(x, without(parents, z)) for z in parents)
    return ceiling - naive.G(parents) - naive.pen(x, parents) <= best - TIE


def inflated(factor: float) -> Rule:
    """Alg2 with the penalty multiplied."""

    def rule(naive: Naive, x: int, parents: Set, y: int) -> bool:
        star = without(parents, y)
        return naive.NH([y], star) <= factor * (naive.arity[y] - 1) * naive.pen(x, star)

    return rule


def not_kept(naive: Naive, x: int, parents: Set, y: int) -> bool:
    """Only kept sets are extended: a set that loses to a subset takes its supersets along."""
    return (x, parents) not in naive.lists()


class FalseFriend(NamedTuple):
    """A wrong rule, a table, and a kept family that the rule would lose."""

    rule: Rule
    table: Naive
    family: Family


def xor_table() -> Naive:
    """X = Y xor Z, 16 rows."""
    rows = list(itertools.product((0, 1), repeat=2)) * 4
    y, z = zip(*rows, strict=True)
    return Naive((tuple(a ^ b for a, b in rows), y, z), (2, 2, 2))


def pair_table() -> Naive:
    """X = (Y, Z xor W) with four states, 64 rows."""
    rows = list(itertools.product((0, 1), repeat=3)) * 8
    y, z, w = zip(*rows, strict=True)
    return Naive((tuple(2 * a + (b ^ c) for a, b, c in rows), y, z, w), (4, 2, 2, 2))


def copy_table(rows: int) -> Naive:
    """X = Y with three states, two of them seen once."""
    column = (*[0] * (rows - 2), 1, 2)
    return Naive((column, column), (3, 3))


FALSE_FRIENDS = {
    "information": FalseFriend(information, xor_table(), (0, (1, 2))),
    "not kept": FalseFriend(not_kept, xor_table(), (0, (1, 2))),
    "skip": FalseFriend(skip, pair_table(), (0, (1, 2, 3))),
    "inflated 1.5": FalseFriend(inflated(1.5), copy_table(21), (0, (1,))),
    "inflated 1.2": FalseFriend(inflated(1.2), copy_table(1000), (0, (1,))),
}


@pytest.mark.parametrize("name", FALSE_FRIENDS)
def test_false_friends_lose_what_the_page_says(name: str) -> None:
    friend = FALSE_FRIENDS[name]
    assert friend.family in lost(friend.table, friend.rule)


@pytest.mark.parametrize("name", FALSE_FRIENDS)
def test_true_rules_lose_nothing_there(name: str) -> None:
    table = FALSE_FRIENDS[name].table
    for rule in BY_FAMILY:
        assert not lost(table, true_rule(rule)), rule


def test_false_friends_are_also_caught_by_random_tables() -> None:
    """Without a table made for them: the property tests would notice such a rule."""
    for rule in (information, not_kept, inflated(1.5)):
        assert any(lost(naive_of(random_table(seed, 5))[0], rule) for seed in range(400))


def test_the_skip_is_true_where_it_stands() -> None:
    """Not scoring a skipped set loses nothing; dropping its supersets does."""
    for naive in [pair_table(), *(naive_of(random_table(seed, 5))[0] for seed in range(60))]:
        for x, parents in naive.lists():
            assert not parents or not skip(naive, x, parents, parents[0])


def test_a_rule_on_a_required_parent_loses_the_only_sets_there_are() -> None:
    """X copies Z; Y, 1 in one of 64 rows, is required: Alg2 on Y would drop {Y} and {Y, Z}."""
    z = tuple(i % 4 for i in range(64))
    y = (1, *[0] * 63)
    naive = Naive((z, y, z), (4, 2, 4))
    required = [frozenset({1}), frozenset[int](), frozenset[int]()]
    found = lost(naive, true_rule("alg2"), required)
    assert {(0, (1,)), (0, (1, 2))} <= found.keys()

    def only_on_others(naive: Naive, x: int, parents: Set, y: int) -> bool:
        if not required[x] <= set(parents) or y in required[x]:
            return False
        return naive.rule_fires("alg2", x, parents, y)

    assert not lost(naive, only_on_others, required)


def test_a_rule_without_a_width_loses_what_a_prior_lifts() -> None:
    """X fair with four states, Y = 1 in one of 16 rows: Alg4 drops {Y}, log odds lift it."""
    x, y = tuple(i % 4 for i in range(16)), (1, *[0] * 15)
    naive = Naive((x, y), (4, 2))
    assert naive.rule_fires("alg4", 0, (1,), 1)
    plain, with_y, odds = naive.s(0, ()), naive.s(0, (1,)), math.log(0.95 / 0.05)
    found = [round(value, 4) for value in (plain, with_y, with_y + odds)]
    assert found == [-26.3396, -29.0071, -26.0627]


# ---------------------------------------------------------------------------------------------
# False caps


def parity(bits: int, times: int) -> Table:
    """All rows of some bits, so many times each, and their parity as the last column."""
    rows = list(itertools.product((0, 1), repeat=bits)) * times
    columns = [[row[v] for row in rows] for v in range(bits)]
    return make_table([*columns, [sum(row) % 2 for row in rows]])


def test_corollary1_prime_is_false_for_aic() -> None:
    """N = 64, X the parity of five fair bits: five parents are best, the corollary says four."""
    table = parity(5, 2)
    assert table.n_rows == 64 and r.corollary1_prime(64) == 4
    best = score(table, score="aic", threads=1)["v5"][0]
    assert len(best.parents) == 5
    with pytest.raises(InputError, match="BIC only"):
        score(table, score="aic", rules="cor1p")
    assert "cor1p" in choose_rules("all", "bic").names
    assert len(score(table, threads=1)["v5"][0].parents) <= 4  # BIC obeys it


def test_the_logarithm_needs_its_one() -> None:
    """N = 3, X = Y or Z: two parents are best, "at most log2(2N / log2 N)" says one."""
    naive = Naive(((0, 1, 1), (0, 0, 1), (0, 1, 0)), (2, 2, 2))
    kept = {parents: value for (x, parents), value in naive.lists().items() if x == 0}
    assert max(kept, key=lambda parents: kept[parents]) == (1, 2)
    assert math.floor(math.log2(2 * 3 / math.log2(3))) == 1
    assert r.corollary1_prime(3) == 2


def test_the_corollaries_are_false_with_a_gap_or_required_parents() -> None:
    """Both keep sets that no optimal network needs, of any size."""
    table = make_table([[0, 1, 0, 1], [0, 0, 1, 1], [0, 1, 1, 0], [0, 1, 1, 1], [1, 0, 0, 0]])
    assert r.corollary1_prime(4) == 2
    near = score(table, width=100.0, threads=1)
    assert near.max_in_degree == 4
    arcs = frozenset((f"v{p}", "v4") for p in range(3))
    forced = score(table, constraints=Constraints(required=arcs), threads=1)
    assert min(len(c.parents) for c in forced["v4"]) == 3
    false = [rule for rule in RULES if not rule.with_width and "bic" in rule.scores]
    assert {rule.name for rule in false} == {"cor1", "cor1p", "thm3"}
    for rule in false:
        assert not rule.in_context
        with pytest.raises(InputError, match="width"):
            score(table, rules=rule.name, width=0.0)


def best_total(naive: Naive, caps: list[int]) -> float:
    """The best network with at most so many parents each, by trying all orders."""
    return max(
        math.fsum(
            max(
                naive.s(x, parents)
                for size in range(caps[x] + 1)
                for parents in itertools.combinations(sorted(order[:i]), size)
            )
            for i, x in enumerate(order)
        )
        for order in itertools.permutations(range(naive.n))
    )


def test_the_printed_theorem3_mixes_bases_and_loses_the_optimum() -> None:
    """N = 21, X = Y1 xor Y2 xor Y3: H in nats beside log2 N allows two parents, three are best."""
    times = {(0, 0, 0): 14, (0, 0, 1): 2, (0, 1, 0): 2, (1, 0, 0): 1, (1, 0, 1): 1, (1, 1, 0): 1}
    rows = [row for row, count in times.items() for _ in range(count)]
    y1, y2, y3 = zip(*rows, strict=True)
    naive = Naive((tuple(sum(row) % 2 for row in rows), y1, y2, y3), (2, 2, 2, 2))
    assert naive.rows == 21
    nats = [naive.NH([v]) / 21 for v in range(4)]
    printed = r.theorem3(21, nats, naive.arity, log_n=math.log2(21))
    stated = r.theorem3(21, nats, naive.arity)
    assert (printed[0], stated[0]) == (2, 3)
    assert stated == r.theorem3(21, [h / math.log(2) for h in nats], naive.arity, math.log2(21))
    assert (0, (1, 2, 3)) in naive.lists()
    assert round(best_total(naive, [3, 3, 3, 3]), 4) == -42.5822
    assert round(best_total(naive, printed), 4) == -43.4527


# ---------------------------------------------------------------------------------------------
# Closure


def unclosed(naive: Naive, removed: set[Family]) -> list[Family]:
    """Families that are not removed although every family inside their parent set is."""
    found = []
    for size in range(1, naive.n):
        for members in itertools.combinations(range(naive.n), size):
            if all((a, without(members, a)) in removed for a in members):
                outside = [x for x in range(naive.n) if x not in members]
                found += [(x, members) for x in outside if (x, members) not in removed]
    return found


PARENT_SIDE = ("alg2", "alg4")


@settings(max_examples=40, deadline=None)
@given(tables(5))
def test_rules_on_the_parent_side_are_closed_alone(table: Table) -> None:
    naive, _ = naive_of(table)
    for rule in PARENT_SIDE:
        assert not unclosed(naive, naive.removed(rule)), rule


def test_rules_on_the_child_side_are_not_closed_alone() -> None:
    """A and B copy each other and are rare, X is fair: inside {A, B} all is dead, (X, AB) lives."""
    rare, fair = (*[0] * 82, 1, 2), tuple(i % 2 for i in range(84))
    naive = Naive((rare, rare, fair), (4, 4, 2))
    for rule in ("alg1", "alg3", "lemma3"):
        assert (2, (0, 1)) in unclosed(naive, naive.removed(rule)), rule


@settings(max_examples=40, deadline=None)
@given(tables(5), st.sets(st.sampled_from(BY_FAMILY), min_size=1))
def test_sets_without_a_live_family_are_never_needed(table: Table, rules: set[str]) -> None:
    """Whatever rules are on, closed or not: Theorem 1⁺ removes what lies above a dead set."""
    naive, _ = naive_of(table)
    removed = set[Family]().union(*(naive.removed(rule) for rule in rules))
    strongest = naive.removed("thm1p")
    assert removed <= strongest
    assert not set(unclosed(naive, removed)) - strongest


@settings(max_examples=40, deadline=None)
@given(tables(5, least_rows=3))
def test_the_caps_remove_nothing_that_theorem_1_plus_keeps(table: Table) -> None:
    """3″ ⇒ 1⁺, Corollary 1′ ⇒ 3″, Corollary 1 ⇒ Theorem 3 ⇒ Theorem 2."""
    naive, _ = naive_of(table)
    everything = range(naive.n)
    numbers = r.TableNumbers(
        naive.rows,
        [naive.NH([v]) for v in everything],
        [naive.h(v) for v in everything],
        naive.arity,
        naive.w,
    )
    strongest = {"thm1p": naive.removed("thm1p"), "thm2": naive.removed("thm2")}
    for name, caps in r.caps_by_rule(choose_rules("all", "bic"), numbers).items():
        removed = strongest["thm2" if name in ("cor1", "thm3") else "thm1p"]
        for x in everything:
            beyond = {(x, parents) for parents in naive.parent_sets(x) if len(parents) > caps[x]}
            assert beyond <= removed, name


# ---------------------------------------------------------------------------------------------
# Constraints: closure for the allowed families, with Bin over allowed subsets


@dataclass(frozen=True, eq=False)
class Constrained(Naive):
    """A table as the rules see it under constraints; the lists of ``elsewhere`` are not wanted."""

    forbidden: tuple[frozenset[int], ...] = ()
    most: tuple[int, ...] = ()
    elsewhere: frozenset[int] = frozenset()

    def allowed(self, x: int, parents: Set) -> bool:
        most = 0 if x in self.elsewhere else self.most[x]
        return len(parents) <= most and not self.forbidden[x] & set(parents)

    def best_subset(self, x: int, parents: Set) -> float:
        """Bin: the best of the allowed subsets, the empty set among them."""
        subsets = (s for k in range(len(parents) + 1) for s in itertools.combinations(parents, k))
        return max(self.s(x, own) for own in subsets if self.allowed(x, own))

    def needed_and_not_reached(self, removed: set[Family]) -> list[Family]:
        """Families that are allowed and live although a set that a search joins is dead."""
        found = []
        for x in set(range(self.n)) - self.elsewhere:
            for parents in self.parent_sets(x):
                if (x, parents) in removed or not parents or not self.allowed(x, parents):
                    continue
                joined = [parents, *(tuple(sorted((x, *without(parents, y)))) for y in parents)]
                dead = (all((a, without(s, a)) in removed for a in s) for s in joined)
                if any(dead):
                    found.append((x, parents))
        return found


def constrained(seed: int, score: str) -> Constrained:
    """A random table under random constraints, many or few."""
    rows = 3 if seed % 3 else 90  # with more rows more families live
    plain, _ = naive_of(random_table(seed, 5, 300, rows), score)
    rng, n = np.random.default_rng(seed), plain.n
    barred = rng.random((n, n)) < rng.choice([0.1, 0.4, 0.7])
    forbidden = tuple(frozenset(np.flatnonzero(barred[x]).tolist()) - {x} for x in range(n))
    most = tuple(int(k) for k in np.where(rng.random(n) < 0.2, rng.integers(0, n, n), n))
    elsewhere = frozenset(np.flatnonzero(rng.random(n) < rng.choice([0.0, 0.4])).tolist())
    return Constrained(plain.columns, plain.arity, score, forbidden, most, elsewhere)


def assert_closed_under_constraints(seed: int) -> None:
    """Allowed families that stay live are reached by joining live sets, and rules lose none."""
    naive = constrained(seed, PENALISED[seed % len(PENALISED)])
    removed = naive.removed("thm1p")
    assert not naive.needed_and_not_reached(removed)
    kept = naive.lists(naive.most, forbidden=naive.forbidden)
    assert not {family for family in kept if family[0] not in naive.elsewhere} & removed


@each("seed", 300)
def test_closure_under_constraints(seed: int) -> None:
    assert_closed_under_constraints(seed)


@pytest.mark.long
@pytest.mark.parametrize("block", range(4))
def test_closure_under_constraints_of_four_thousand_tables(block: int) -> None:
    for seed in range(1000 * block, 1000 * (block + 1)):
        assert_closed_under_constraints(seed)


def test_closure_is_about_allowed_families_that_are_judged_like_others() -> None:
    """An excluded family may stay where closure removes an allowed one; were it dead, sets go."""
    a, b, x = digits("11122220", "10000000", "00011111")
    columns, arity, barred = (a, b, x), (3, 2, 2), (frozenset[int](), frozenset[int]())
    naive = Constrained(columns, arity, "bic", (*barred, frozenset({0})), (3, 3, 3))
    assert unclosed(naive, naive.removed("thm1p")) == [(2, (0, 1))]
    assert not naive.allowed(2, (0, 1))
    plain = Naive(columns, arity)
    assert not unclosed(plain, plain.removed("thm1p"))
    xor, pair = xor_table(), (frozenset[int](), frozenset({2}), frozenset({1}))
    naive = Constrained(xor.columns, xor.arity, "bic", pair, (3, 3, 3))  # Y and Z: no arc
    removed, excluded = naive.removed("thm1p"), {(1, (2,)), (2, (1,))}
    assert not excluded & removed and (0, (1, 2)) in naive.lists(forbidden=pair)
    assert naive.needed_and_not_reached(removed | excluded) == [(0, (1, 2))]


# ---------------------------------------------------------------------------------------------
# Sets without needed supersets


def ended_and_live_above(naive: Naive, by_outside: bool = True) -> list[tuple[bool, bool]]:
    """Say of every set and one more variable whether the set has ended, and whether it is live.

    A set has ended by Proposition 4, or by its part (a) alone.
    """
    removed, found = naive.removed("thm1p"), []

    def without(x: int, members: Iterable[int]) -> Set:
        return tuple(sorted(v for v in members if v != x))

    for size in range(2, naive.n):
        for members in itertools.combinations(range(naive.n), size):
            families = [(x, without(x, members)) for x in members]
            over = all(one in removed or naive.has_ended(*one) for one in families)
            over = over and (not by_outside or naive.ends_outside(members))
            for y in without(-1, set(range(naive.n)) - set(members)):
                live = any((x, without(x, (*members, y))) not in removed for x in (*members, y))
                found.append((over, live))
    return found


@settings(max_examples=40)
@given(tables(5), st.sampled_from(PENALISED))
def test_families_and_sets_that_have_ended_have_no_live_one_above(table: Table, name: str) -> None:
    """Proposition 4, (a) and (b)."""
    naive, _ = naive_of(table, name)
    removed = naive.removed("thm1p")
    for x in range(naive.n):
        for parents in naive.parent_sets(x, naive.n - 2):
            if naive.has_ended(x, parents):
                more = (y for y in naive.others(x) if y not in parents)
                assert all((x, tuple(sorted((*parents, y)))) in removed for y in more)
    assert (True, True) not in ended_and_live_above(naive)


def test_sets_end_and_need_both_parts_of_the_proposition() -> None:
    """Sets do end in random tables; by part (a) alone some would that are needed."""
    found = [naive_of(random_table(seed, 5))[0] for seed in range(200)]
    assert any((True, False) in ended_and_live_above(naive) for naive in found)
    assert any((True, True) in ended_and_live_above(naive, by_outside=False) for naive in found)


@settings(max_examples=60, deadline=None)
@given(tables(5, 60, 3), st.sampled_from(PENALISED))
def test_the_slack_is_below_a_penalty(table: Table, name: str) -> None:
    """δ(Π) ≤ w (r_X − 1)(q_Π − 1): what the superset half of Theorem 1⁺ rests on."""
    naive, _ = naive_of(table, name)
    for x in range(naive.n):
        for parents in naive.parent_sets(x):
            delta = naive.best_subset(x, parents) - naive.s(x, parents)
            assert -TIE <= delta <= naive.pen(x, parents) - naive.pen(x, ()) + TIE


# ---------------------------------------------------------------------------------------------
# Other scores: closure and the parent's side are false


def digits(*columns: str) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(int(c) for c in column) for column in columns)


UNCLOSED = {
    "bdeu": (
        NaiveSum(
            digits("122222211022", "100101111010", "222323322032", "222323322032", "122121111212"),
            (4, 2, 4, 4, 3),
            "bdeu:1",
        ),
        (0, (1, 2, 3, 4)),
        (-5.5853, -5.6251),
    ),
    "qnml": (
        NaiveSum(
            digits("000000000001", "000000000001", "110131011000", "010111011011", "122111121211"),
            (4, 3, 4, 2, 3),
            "qnml",
        ),
        (3, (2, 4)),
        (-8.9769, -9.1680),
    ),
}


@pytest.mark.parametrize("name", UNCLOSED)
def test_closure_is_false_for_bdeu_and_qnml(name: str) -> None:
    """All families inside a set are removed, and the set is kept as parents of another."""
    naive, family, (own, below) = UNCLOSED[name]
    rules = choose_rules(None, naive.score).names
    removed = set[Family]().union(*(naive.removed(rule) for rule in rules))
    assert family in unclosed(naive, removed)
    x, members = family
    assert family in naive.lists()
    best = max(naive.s(x, sub) for sub in naive.allowed_subsets(x, members))
    assert (round(naive.s(x, members), 4), round(best, 4)) == (own, below)
    states = tuple(tuple(f"s{i}" for i in range(r)) for r in naive.arity)
    table = Table(tuple("abcde"), states, np.array(naive.columns, np.uint16))
    kept = {c.parents for c in score(table, score=naive.score, threads=1)["abcde"[x]]}
    assert tuple("abcde"[v] for v in members) in kept  # Proposition 2 finds it


def test_bdeu_has_no_side_of_the_parent() -> None:
    """Four equal columns: every further copy raises the score although it explains nothing."""
    column = (0, 0, 0, 0, 1, 1, 1, 1)
    naive = NaiveSum((column,) * 4, (2,) * 4, "bdeu:1")
    found = [round(naive.s(0, tuple(range(1, k + 1))), 4) for k in range(4)]
    assert found == [-6.8419, -2.1099, -1.7898, -1.6007]
    functional = true_rule("functional")
    assert (0, (1, 2, 3)) in lost(naive, functional)
    k2 = NaiveSum((column,) * 4, (2,) * 4, "k2")
    assert not lost(k2, functional)


def test_what_a_parent_adds_under_qnml_falls_again() -> None:
    def added(q: int) -> float:
        return log_regret(12, 4 * q) - 2 * log_regret(12, 2 * q) + log_regret(12, q)

    assert [round(added(q), 2) for q in (1, 8, 1000)] == [0.62, 1.13, 0.05]


# ---------------------------------------------------------------------------------------------
# False friends where cells are missing


def with_holes(*columns: str) -> NaiveHoles:
    """A table of binary columns; ? is missing."""
    cells = tuple(tuple(HOLE if c == "?" else int(c) for c in column) for column in columns)
    return NaiveHoles(cells, (2,) * len(cells), "pnal:0.05")


def average(naive: NaiveHoles, x: int, parents: Set) -> float:
    rows = naive.complete([x, *parents])
    return naive.likelihood(x, parents, rows) / len(rows)


def test_with_holes_the_likelihood_may_fall_when_a_parent_is_added() -> None:
    naive = with_holes("10001", "010?1")
    assert [round(average(naive, 0, pi), 4) for pi in ((), (1,))] == [-0.6730, -0.6931]


def test_with_holes_there_is_no_parents_side() -> None:
    """X, Y, Z: H(Y | Z) = 0, yet Y is worth more than it costs."""
    naive = with_holes("1100", "011?", "1?01")
    assert average(naive, 1, (2,)) == 0
    assert naive.price(0, (1, 2)) - naive.price(0, (2,)) == pytest.approx(0.1)
    assert (0, (1, 2)) in naive.lists()
    own, best = naive.s(0, (1, 2)) / 4, naive.best_subset(0, (2,)) / 4
    assert (round(own, 4), round(best, 4)) == (-0.2, -0.5621)


def test_with_holes_the_average_over_complete_rows_bounds_nothing() -> None:
    naive = with_holes("011?", "001?", "00?1")
    complete = naive.complete(range(3))
    bound = -naive.h(0) / len(complete) - naive.price(0, (1,))
    assert (round(naive.h(0) / len(complete), 4), round(bound, 4)) == (0.6931, -0.7931)
    assert round(naive.s(0, (1,)) / 4, 4) == -0.5621
    assert (0, (1,)) in naive.lists()


def test_with_holes_the_rule_is_not_closed() -> None:
    naive = with_holes("1?0?10", "?10000", "1?001?", "10101?", "110101")
    removed, kept = naive.removed("child"), naive.lists()
    assert all((a, without((0, 1, 2), a)) in removed for a in (0, 1, 2))
    assert round(kept[4, (0, 1, 2)] / 6, 4) == -0.4
    best = max(naive.best_subset(4, without((0, 1, 2), a)) for a in (0, 1, 2))
    assert round(best / 6, 4) == -0.6545


# ---------------------------------------------------------------------------------------------
# Required parents: the same theory within a context


@dataclass(frozen=True, eq=False)
class InContext(Naive):
    """The table as its rules see it when a child must have the parents ``context``."""

    context: frozenset[int] = frozenset()

    @property
    def w(self) -> float:
        return super().w * math.prod(self.arity[v] for v in self.context)

    def G(self, members: Iterable[int]) -> float:
        return super().G({*members, *self.context})

    def others(self, x: int) -> list[int]:
        return [v for v in super().others(x) if v not in self.context]

    def free(self) -> list[int]:
        return [v for v in range(self.n) if v not in self.context]


@settings(max_examples=60, deadline=None)
@given(tables(5, 32, 3), st.integers(0, 10**6), st.sampled_from(PENALISED))
def test_every_rule_holds_within_a_context(table: Table, number: int, name: str) -> None:
    plain, _ = naive_of(table, name)
    context = frozenset({number % plain.n, number // 7 % plain.n} if plain.n > 3 else {0})
    naive = InContext(plain.columns, plain.arity, name, context)
    free = naive.free()
    required = [context if x in free else frozenset[int]() for x in range(plain.n)]
    kept = {
        (x, tuple(p for p in parents if p not in context)): value
        for (x, parents), value in plain.lists(required=required).items()
        if x in free
    }
    for (x, parents), value in kept.items():
        assert math.isclose(naive.s(x, parents), value, abs_tol=1e-9)
    removed = {rule: removed_by(naive, true_rule(rule), free) for rule in BY_FAMILY}
    for rule in BY_FAMILY:
        assert not removed[rule] & kept.keys(), rule
    for size in range(1, len(free)):
        for members in itertools.combinations(free, size):
            if all((a, without(members, a)) in removed["thm1p"] for a in members):
                assert all((x, members) in removed["thm1p"] for x in free if x not in members)
    caps = r.theorem3_double_prime(
        [naive.NH([v]) for v in free],
        [naive.NH([v], [u for u in free if u != v]) for v in free],
        [naive.arity[v] for v in free],
        naive.w,
    )
    for x, parents in kept:
        assert len(parents) <= caps[free.index(x)]


# ---------------------------------------------------------------------------------------------
# Bounds that are true and were left out


@settings(max_examples=40, deadline=None)
@given(tables(5))
def test_bounds_on_G_that_are_not_used(table: Table) -> None:
    """Intervals, blocks and functional dependence, as the page states them."""
    naive, _ = naive_of(table)
    states = {
        members: len({tuple(naive.columns[v][i] for v in members) for i in range(naive.rows)})
        for members in naive.G_of
    }
    for members in naive.G_of:
        if len(members) < 2:
            continue
        S = set(members)
        for a, b in itertools.permutations(members, 2):
            low = naive.G(S - {a}) + naive.G(S - {b}) - naive.G(S - {a, b})
            assert low - TIE <= naive.G(S) <= naive.G(S - {a}) + TIE
            if states[tuple(sorted(S - {a}))] == states[tuple(sorted(S - {a, b}))]:
                assert math.isclose(naive.G(S), naive.G(S - {b}), abs_tol=1e-9)
        everything = set(range(naive.n))
        for i in members:
            block = naive.G(everything - {i}) - naive.G(everything)
            assert naive.G(S) <= naive.G(S - {i}) - block + TIE


@settings(max_examples=40, deadline=None)
@given(tables(4))
def test_minimum_per_joint_state_lies_between(table: Table) -> None:
    """N·I(X;Y|Π*) ≤ Σ_c n_c min{H_c(X), H_c(Y)} ≤ N·min{H(X|Π*), H(Y|Π*)}."""
    naive, _ = naive_of(table)
    for x in range(naive.n):
        for parents in naive.parent_sets(x):
            for y in parents:
                star = without(parents, y)
                groups: dict[Set, list[int]] = {}
                for i in range(naive.rows):
                    groups.setdefault(tuple(naive.columns[v][i] for v in star), []).append(i)
                total = 0.0
                for inside in groups.values():
                    pair = [tuple(naive.columns[v][i] for i in inside) for v in (x, y)]
                    part = Naive((pair[0], pair[1]), (2, 2))
                    total += min(part.NH([0]), part.NH([1]))
                gain = naive.NH([x], star) - naive.NH([x], parents)
                assert gain - TIE <= total <= min(naive.NH([x], star), naive.NH([y], star)) + TIE
