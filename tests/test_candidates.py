"""The search against brute force: identical lists for every rule set, limit, gap and threads."""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parentage.data.table import Table
from parentage.errors import InputError, TableError, UnprovenWarning
from parentage.kernels.judging import DEAD, THM1P
from parentage.scoring.candidates import score
from parentage.scoring.constraints import Constraints
from parentage.scoring.measures.penalised import PenalisedMeasure
from parentage.scoring.rules import RULES, RuleSet
from parentage.scoring.search.plan import count_families
from strategies import (
    BY_SUMS,
    PENALISED,
    make_table,
    naive_of,
    random_columns,
    random_table,
    tables,
)

if TYPE_CHECKING:
    from naive import Naive
    from parentage.scoring.lists import CandidateLists

Families = dict[tuple[str, tuple[str, ...]], float]
RULE_SETS = [
    None, "none", "all", "alg1", "alg2", "alg3", "alg4", "thm1", "thm2", "lemma3",
    "thm1p", "thm3", "cor1", "thm3pp", "cor1p", "alg1,alg2", "alg3,alg4", "alg1,alg4",
    "lemma3,alg2", "lemma3,thm2", "thm1,thm3", "thm1p,alg2",
]  # fmt: skip
BY_FAMILY = [rule.name for rule in RULES if rule.sides is not None and "bic" in rule.scores]
CLOSED = sorted({needed for rule in RULES for needed in rule.closed_with}, key=sorted)
BIC_ONLY = {"thm3", "cor1", "cor1p", "thm1,thm3"}


def families(lists: CandidateLists) -> Families:
    return {(c, p.parents): p.score for c in lists for p in lists[c]}


def truth(
    table: Table, name: str = "bic", most: int | None = None, gap: float | None = None
) -> Families:
    naive, keep = naive_of(table, name)
    found: Families = {
        (table.names[keep[x]], tuple(table.names[keep[p]] for p in parents)): value
        for (x, parents), value in naive.lists(most, gap).items()
    }
    found.update({(name, ()): 0.0 for name in table.constant})
    return found


def assert_same(found: Families, expected: Families) -> None:
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        assert math.isclose(found[key], value, rel_tol=1e-11, abs_tol=1e-9)


@settings(max_examples=150)
@given(tables(), st.sampled_from(RULE_SETS), st.sampled_from([None, 0, 1, 2, 3]))
def test_lists_equal_brute_force(table: Table, rules: str | None, k: int | None) -> None:
    assert_same(families(score(table, rules=rules, max_parents=k, threads=1)), truth(table, most=k))


@settings(max_examples=60)
@given(
    tables(least_rows=3),
    st.sampled_from([r for r in RULE_SETS if r not in BIC_ONLY]),
    st.sampled_from(PENALISED[1:]),
)
def test_lists_of_other_weights_equal_brute_force(
    table: Table, rules: str | None, name: str
) -> None:
    assert_same(families(score(table, score=name, rules=rules, threads=1)), truth(table, name))


@settings(max_examples=60)
@given(
    tables(5, least_rows=3),
    st.sampled_from([r for r in RULE_SETS if r not in BIC_ONLY]),
    st.sampled_from(PENALISED),
    st.sampled_from([0.0, 0.3, 2.0, 50.0]),
)
def test_lists_with_a_gap_equal_brute_force(
    table: Table, rules: str | None, name: str, gap: float
) -> None:
    found = families(score(table, score=name, rules=rules, width=gap, threads=1))
    assert_same(found, truth(table, name, gap=gap))


@settings(max_examples=25)
@given(tables(7))
def test_threads_and_column_order_do_not_matter(table: Table) -> None:
    one = score(table, threads=1)
    two = score(table, threads=2)
    assert one.scores.tobytes() == two.scores.tobytes()
    assert one.parents.tobytes() == two.parents.tobytes()
    assert replace(two.known().tallies, seconds=0.0) == replace(one.known().tallies, seconds=0.0)
    assert replace(two.known(), tallies=one.known().tallies) == one.known()
    turned = score(table.select(reversed(table.names)), threads=1)
    again = {(c, tuple(sorted(p))): s for (c, p), s in families(turned).items()}
    assert again == {(c, tuple(sorted(p))): s for (c, p), s in families(one).items()}


@settings(max_examples=30)
@given(tables(5), st.sampled_from(BY_FAMILY), st.sampled_from([1, 2, 4]))
def test_tally_is_what_the_rule_removes(table: Table, rule: str, k: int) -> None:
    """With every set counted, a rule's tally is the number of families it removes."""
    naive, _ = naive_of(table)
    lists = score(table, rules=rule, max_parents=k, threads=1)
    if RuleSet((rule,)).closed:
        assert lists.known().tallies.pruned[rule] <= len(naive.removed(rule, k))
    else:
        assert lists.known().tallies.pruned[rule] == len(naive.removed(rule, k))
        whole = lists.known().tallies.families_scored + sum(lists.known().tallies.pruned.values())
        assert whole == lists.known().tallies.families


def families_met(naive: Naive, rules: frozenset[str], k: int) -> list[tuple[int, int, int, int]]:
    """Go through the sets of a closed search: per size, sets met and live, families dead and live.

    A set is met if all its subsets are stored and one of its families has no family inside that is
    dead or has ended; it is live if one of its families is, and stored unless it has ended too
    (Proposition 4, with Theorem 1⁺).
    """
    removed = set[tuple[int, tuple[int, ...]]]().union(*(naive.removed(rule) for rule in rules))

    def inside(child: int, members: tuple[int, ...]) -> list[tuple[int, tuple[int, ...]]]:
        parents = tuple(v for v in members if v != child)
        return [(child, tuple(v for v in parents if v != left_out)) for left_out in parents]

    def is_over(child: int, members: tuple[int, ...]) -> bool:
        parents = tuple(v for v in members if v != child)
        return (child, parents) in removed or (
            "thm1p" in rules and len(members) > 1 and naive.has_ended(child, parents)
        )

    def is_stored(members: tuple[int, ...]) -> bool:
        return not (
            "thm1p" in rules
            and all(is_over(child, members) for child in members)
            and naive.ends_outside(members)
        )

    stored: set[tuple[int, ...]] = {(v,) for v in range(naive.n)}
    found = [(naive.n, naive.n, 0, naive.n)]
    for size in range(2, min(k + 1, naive.n) + 1):
        met = [
            members
            for members in itertools.combinations(range(naive.n), size)
            if all(tuple(v for v in members if v != out) in stored for out in members)
            and any(
                not any(
                    is_over(x, tuple(sorted((x, *parents)))) for x, parents in inside(c, members)
                )
                for c in members
            )
        ]
        alive = {
            members: sum(
                (child, tuple(v for v in members if v != child)) not in removed for child in members
            )
            for members in met
        }
        live = {members for members in met if alive[members]}
        stored = {members for members in live if is_stored(members)}
        n_alive = sum(alive.values())
        found.append((len(met), len(live), size * len(met) - n_alive, n_alive))
    return found


@settings(max_examples=60)
@given(
    tables(6),
    st.sampled_from(CLOSED),
    st.sampled_from([1, 2, 3, 9]),
    st.sampled_from(["bic", "aic"]),
)
def test_the_tally_of_a_closed_search_is_of_the_families_it_meets(
    table: Table, rules: frozenset[str], k: int, name: str
) -> None:
    naive, _ = naive_of(table, name)
    tallies = score(table, score=name, rules=rules, max_parents=k, threads=1).known().tallies
    by_size = families_met(naive, rules, k)
    dead, alive = (sum(row[i] for row in by_size) for i in (2, 3))
    assert sum(tallies.pruned.values()) == dead
    assert tallies.families_scored == alive
    behind_h = naive.n + 1 if "thm1p" in rules else 0
    assert tallies.sets_counted == sum(row[1] for row in by_size) + behind_h
    known = len(tallies.live_sets)  # the last size is streamed when nothing is built on it
    assert list(tallies.live_sets) == [row[1] for row in by_size][:known]
    assert tallies.families_scored + dead <= tallies.families


@settings(max_examples=40)
@given(tables(6))
def test_closure_theorem(table: Table) -> None:
    """If a closed rule set removes every family inside Π, it removes (X, Π) for every X."""
    naive, _ = naive_of(table)
    for rules in CLOSED:
        removed = set[tuple[int, tuple[int, ...]]]()
        for rule in rules:
            removed |= naive.removed(rule)
        for size in range(1, naive.n):
            for members in itertools.combinations(range(naive.n), size):
                inside = [(a, tuple(b for b in members if b != a)) for a in members]
                if all(family in removed for family in inside):
                    outside = [x for x in range(naive.n) if x not in members]
                    assert all((x, members) in removed for x in outside), (rules, members)


@settings(max_examples=60)
@given(tables(5, least_rows=3), st.sampled_from(PENALISED))
def test_no_rule_discards_what_lemma1_keeps(table: Table, name: str) -> None:
    naive, _ = naive_of(table, name)
    kept = naive.lists().keys()
    for rule in BY_FAMILY:
        assert not naive.removed(rule) & kept, rule


@pytest.mark.long
@pytest.mark.parametrize("block", range(20))
def test_twenty_thousand_tables(block: int) -> None:
    rng = np.random.default_rng(block)
    for seed in range(1000 * block, 1000 * (block + 1)):
        table = random_table(seed, 7 if seed % 10 == 0 else 5, least_rows=3)
        name = "bic" if seed % 3 else PENALISED[1 + seed % 4]
        rules = RULE_SETS[int(rng.integers(len(RULE_SETS)))]
        if name != "bic" and rules in BIC_ONLY:
            rules = None
        k = [None, None, 1, 2, 3][seed % 5]
        found = families(score(table, score=name, rules=rules, max_parents=k, threads=1))
        assert_same(found, truth(table, name, most=k))
        if seed % 4 == 0:
            gap = float(rng.choice([0.0, 0.1, 1.0, 10.0]))
            found = families(score(table, score=name, width=gap, max_parents=k, threads=1))
            assert_same(found, truth(table, name, most=k, gap=gap))
        if seed % 4 == 1:
            assert_constraints_hold(table, Random(seed), None, [None, 0.0, 1.5][seed % 3], name)
        if seed % 10 == 2:
            naive, _ = naive_of(table, name)
            kept = naive.lists().keys()
            assert not any(naive.removed(rule) & kept for rule in BY_FAMILY)


def assert_constraints_hold(
    table: Table, random: Random, rules: str | None, gap: float | None, name: str
) -> None:
    """Draw required, forbidden and limits; compare with filtering before dominance."""
    naive, keep = naive_of(table, name)
    n = naive.n
    order = random.sample(range(n), n)
    arcs = [(p, c) for c in range(n) for p in range(n) if order[p] < order[c]]
    share, barred = random.choice([0.1, 0.25, 0.6]), random.choice([0.1, 0.2, 0.7])
    required = {arc for arc in arcs if random.random() < share}
    forbidden = {
        (p, c)
        for p in range(n)
        for c in range(n)
        if p != c and (p, c) not in required and random.random() < barred
    }
    label = [table.names[v] for v in keep]
    most = [max(sum(c == x for _, c in required), random.randrange(n)) for x in range(n)]
    constraints = Constraints(
        frozenset((label[p], label[c]) for p, c in required),
        frozenset((label[p], label[c]) for p, c in forbidden),
        dict(zip(label, most, strict=True)),
    )
    lists = score(table, score=name, rules=rules, width=gap, constraints=constraints, threads=1)
    need = [frozenset(p for p, c in required if c == x) for x in range(n)]
    bar = [frozenset(p for p, c in forbidden if c == x) for x in range(n)]
    expected: Families = {
        (label[x], tuple(label[p] for p in parents)): value
        for (x, parents), value in naive.lists(most, gap, need, bar).items()
    }
    expected.update({(constant, ()): 0.0 for constant in table.constant})
    assert_same(families(lists), expected)


@settings(max_examples=120)
@given(
    tables(5, least_rows=3),
    st.randoms(use_true_random=False),
    st.sampled_from([None, "none", "alg1,alg2", "thm1", "all", "lemma3,alg2"]),
    st.sampled_from([None, 0.0, 1.5]),
    st.sampled_from(PENALISED),
)
def test_lists_with_constraints_equal_brute_force(
    table: Table, random: Random, rules: str | None, gap: float | None, name: str
) -> None:
    assert_constraints_hold(table, random, rules, gap, name)


@settings(max_examples=80)
@given(
    tables(5, least_rows=3),
    st.randoms(use_true_random=False),
    st.sampled_from([None, 0.0, 1.5]),
    st.sampled_from(BY_SUMS),
)
def test_lists_of_other_scores_with_constraints_equal_brute_force(
    table: Table, random: Random, gap: float | None, name: str
) -> None:
    assert_constraints_hold(table, random, None, gap, name)


def test_children_of_other_searches_that_were_taken_for_dead_would_be_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The harness bites: a child with required parents is judged in the others' search too."""
    first = PenalisedMeasure.first

    def without_the_others(self: PenalisedMeasure) -> Any:
        level, below = first(self)
        level.best[self.plan.most < 0] = DEAD + THM1P
        return level, below

    monkeypatch.setattr(PenalisedMeasure, "first", without_the_others)
    with pytest.raises(AssertionError):
        for seed in range(200):
            assert_constraints_hold(random_table(seed, 5, 90, 3), Random(seed), None, None, "aic")


def test_no_limit_means_no_limit() -> None:
    """The parity of six bits needs all six parents."""
    rows = list(itertools.product((0, 1), repeat=6)) * 8
    columns = [[row[v] for row in rows] for v in range(6)] + [[sum(row) % 2 for row in rows]]
    lists = score(make_table(columns), threads=1)
    assert len(lists["v6"][0].parents) == 6
    assert lists.known().max_parents is None


def test_counts_of_a_full_search() -> None:
    table = make_table(random_columns(np.random.default_rng(5), 8, 200))
    n = table.n_variables - len(table.constant)
    lists = score(table, rules="none", max_parents=3, threads=1)
    assert lists.known().tallies.sets_counted == sum(math.comb(n, s) for s in range(1, 5))
    assert (
        lists.known().tallies.families_scored
        == lists.known().tallies.families
        == n * count_families(n - 1, 3)
    )


def test_families_of_thousands_of_variables_are_counted_at_once() -> None:
    for free, most in itertools.product(range(7), range(-1, 9)):
        truth = sum(math.comb(free, k) for k in range(most + 1))
        assert count_families(free, most) == truth
    began = time.process_time()
    assert count_families(20_001, 10_000) == 1 << 20_000  # half of all, by symmetry
    assert time.process_time() - began < 3


@pytest.mark.parametrize("most", [1, None])
def test_a_limit_for_no_variable_is_refused(most: int | None) -> None:
    with pytest.raises(TableError, match="no column 'v9'"):
        score(random_table(11, 6), max_parents={"v9": most})  # type: ignore[dict-item]  # no limit
    every = score(random_table(11, 6), max_parents=dict.fromkeys(["v0"]))  # type: ignore[arg-type]  # as before
    assert every.known().max_parents is None


def test_limit_by_name() -> None:
    table = random_table(11, 6)
    naive, keep = naive_of(table)
    limits = {table.names[keep[0]]: 0, table.names[keep[1]]: 1}
    most = [limits.get(table.names[v], naive.n - 1) for v in keep]
    found = families(score(table, max_parents=limits, threads=1))
    expected = {
        (table.names[keep[x]], tuple(table.names[keep[p]] for p in parents)): value
        for (x, parents), value in naive.lists(most).items()
    }
    expected.update({(name, ()): 0.0 for name in table.constant})
    assert_same(found, expected)


@pytest.mark.usefixtures("levels_alone", "no_disk")
def test_a_level_that_does_not_fit_ends_the_search_honestly() -> None:
    table = make_table(random_columns(np.random.default_rng(3), 9, 400))
    whole = score(table, rules="none", threads=1)
    with pytest.warns(UnprovenWarning, match="lack of memory"):
        cut = score(table, rules="none", memory=6_000, threads=1)
    complete = cut.known().complete_to
    assert complete is not None and 1 <= complete < whole.max_in_degree + 3
    limited = score(table, rules="none", max_parents=complete, threads=1)
    assert_complete_and_more(cut, limited, whole)


def assert_complete_and_more(
    cut: CandidateLists, limited: CandidateLists, whole: CandidateLists
) -> None:
    """Lists have all families up to where they are complete, and of the others only right ones."""
    found, everything = families(cut), families(whole)
    complete = cut.known().complete_to
    assert complete is not None
    most = {family: value for family, value in found.items() if len(family[1]) <= complete}
    assert most == families(limited)
    assert all(everything[family] == value for family, value in found.items())
    assert cut.known().explored == len(found) - len(most)


@pytest.mark.usefixtures("levels_alone")
def test_lists_that_do_not_fit_end_the_search_honestly() -> None:
    """A wide gap keeps nearly every family: it is the lists that fill the memory."""
    table = make_table(random_columns(np.random.default_rng(3), 9, 40, 2))
    with pytest.warns(UnprovenWarning, match="complete up to 2 parents"):
        cut = score(table, width=1e4, memory=60_000, threads=1)
    complete = cut.known().complete_to
    assert complete == 2
    whole = score(table, width=1e4, threads=1)
    assert_complete_and_more(cut, score(table, width=1e4, max_parents=complete, threads=1), whole)
    assert cut.n_sets < whole.n_sets


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_parents": -1}, "at least 0"),
        ({"max_parents": {"nobody": 2}}, "no column"),
        ({"score": "bix"}, "did you mean 'bic'"),
        ({"rules": "alg5"}, "did you mean"),
        ({"log_base": 1}, "above 1"),
        ({"width": -1.0}, "at least 0"),
    ],
)
def test_bad_options_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        score(random_table(1), **options)  # type: ignore[arg-type]


def test_useless_tables_are_refused() -> None:
    with pytest.raises(TableError, match="1 data row"):
        score(Table.from_columns({"a": "0", "b": "1"}))
    with pytest.raises(TableError, match="at least 2"):
        score(Table.from_columns({"a": "0101", "b": "0000"}))
    many = 65_536
    wide = Table(
        tuple(f"v{i}" for i in range(many)),
        (("0", "1"),) * many,
        np.tile(np.array([0, 1], np.uint16), (many, 1)),
    )
    with pytest.raises(TableError, match="65536 columns that vary"):
        score(wide, max_parents=0)


def test_log_base_changes_the_unit_only() -> None:
    table = random_table(4)
    nats, bits = score(table, threads=1), score(table, log_base=2, threads=1)
    assert np.allclose(nats.scores / math.log(2), bits.scores, rtol=1e-14)
    assert (nats.parents == bits.parents).all()
