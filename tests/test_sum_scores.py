"""qNML, BDeu, K2, Jeffreys and fNML against brute force: rules, lists, limits, constraints."""

from __future__ import annotations

import itertools
import math
import warnings
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command import run
from naive import TIE, Set
from naive_scores import NaiveSum
from parentage import learn
from parentage.cli.learn import near_json, near_text
from parentage.cli.score import overview_text
from parentage.data.datasets import chest_clinic
from parentage.data.reading import read_table
from parentage.errors import InputError, UnprovenWarning
from parentage.optimise.near import within
from parentage.scoring import rules as r
from parentage.scoring.candidates import score
from parentage.scoring.explanation import explain
from parentage.scoring.measures.sums import Multisets
from parentage.scoring.overview import overview
from parentage.scoring.rules import RULES, FamilyNumbers, choose_rules
from parentage.scoring.scores import family_score, parse_score
from parentage.scoring.scores.sums import log_regret, log_regrets
from parentage.scoring.settings import Scoring
from strategies import BY_SUMS, make_table, naive_of, random_columns, random_table, tables
from test_candidates import assert_constraints_hold, assert_same, families, truth

if TYPE_CHECKING:
    from pathlib import Path

    from parentage.data.table import Table


def naive_sum(table: Table, name: str) -> NaiveSum:
    naive, _ = naive_of(table, name)
    assert isinstance(naive, NaiveSum)
    return naive


def rules_of(name: str) -> list[str]:
    return [rule.name for rule in RULES if rule.why_not(name, None) is None]


RULE_SETS: list[str | None] = [None, "none", "all", "each"]


def drawn(rules: str | None, name: str, seed: int, width: float | None = None) -> str | None:
    """A rule set by name; ``each`` is one of the score's rules."""
    if rules != "each":
        return rules
    own = [rule.name for rule in RULES if rule.why_not(name, width) is None]
    return own[seed % len(own)]


# ---------------------------------------------------------------------------------------------
# Definitions


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 12])
@pytest.mark.parametrize("states", [1, 2, 3, 5, 9, 17])
def test_the_regret_is_exact(rows: int, states: int) -> None:
    """Against rationals: C(N, q)·N^N/N! is the coefficient of z^N in (Σ n^n z^n/n!)^q."""
    one = [Fraction(n**n, math.factorial(n)) for n in range(rows + 1)]
    power = one
    for _ in range(states - 1):
        power = [sum((power[i] * one[m - i] for i in range(m + 1)), Fraction(0))
                 for m in range(rows + 1)]  # fmt: skip
    exact = math.log(power[rows] * Fraction(math.factorial(rows), rows**rows))
    assert float(log_regret(rows, states)) == pytest.approx(exact, rel=1e-15, abs=1e-15)
    assert float(log_regrets(rows, states)[rows]) == pytest.approx(exact, rel=1e-15, abs=1e-15)


def test_the_regret_of_many_states() -> None:
    assert float(log_regret(1000, 2**60)) == pytest.approx(34681.07555, abs=1e-4)
    assert float(log_regret(1000, 10**40)) > float(log_regret(1000, 2**100))
    both = [float(log_regrets(3000, 4)[c]) - float(log_regret(c, 4)) for c in (1, 10, 2999, 3000)]
    assert both == pytest.approx([0.0] * 4, abs=1e-14)


@settings(max_examples=60, deadline=None)
@given(tables(5), st.sampled_from(BY_SUMS), st.data())
def test_local_scores_equal_the_definition(table: Table, name: str, data: st.DataObject) -> None:
    naive, keep = naive_of(table, name)
    x = data.draw(st.sampled_from(range(naive.n)))
    parents = data.draw(st.sets(st.sampled_from(naive.others(x))))
    label = [table.names[v] for v in keep]
    found = family_score(table, label[x], [label[p] for p in parents], score=name)
    assert math.isclose(found, naive.s(x, parents), rel_tol=1e-11, abs_tol=1e-9)


@settings(max_examples=50, deadline=None)
@given(tables(4), st.sampled_from([*BY_SUMS, "bic", "aic", "ebic:0.5", "penalty:0.3"]))
def test_the_price_bounds_every_superset(table: Table, name: str) -> None:
    """s(Π') ≤ −(unexplained + price(Π)) for all Π' ⊇ Π: Theorems 4 and 6, Lemmas 5 to 9."""
    varying = table.select([v for v in table.names if v not in table.constant])
    by, n = parse_score(name), varying.n_variables
    for x in range(n):
        others = [v for v in range(n) if v != x]
        sets = [s for size in range(n) for s in itertools.combinations(others, size)]
        value = {s: by.local(varying, x, s) for s in sets}
        for small in sets:
            bound = -by.unexplained(varying, x) - by.price(varying, x, small)
            assert all(value[s] <= bound + 1e-8 for s in sets if set(small) <= set(s)), (x, small)


# ---------------------------------------------------------------------------------------------
# Rules


def numbers_of(naive: NaiveSum, x: int, parents: Set, y: int, gap: float) -> FamilyNumbers:
    star = tuple(p for p in parents if p != y)
    bin_star = naive.best_subset(x, star)
    bdeu, qnml = naive.kind == "bdeu", naive.kind == "qnml"
    price = 0.0 if bdeu else naive.price(x, parents)
    return FamilyNumbers(
        n_h_x=0.0,
        n_h_y=0.0,
        n_h_x_star=0.0,
        n_h_y_star=naive.NH([y], star),
        h_x=naive.h(x),
        h_y=naive.h(y),
        added=price - naive.price(x, star) if qnml else 0.0,
        penalty=price,
        bin_star=bin_star,
        delta=bin_star - naive.s(x, star),
        width=gap,
        cells=math.log(naive.arity[x]) * naive.cells(x, parents),
        adds=bdeu and naive.ess / naive.q(parents) <= 1 / 3,
        least_added=naive.least_added(x, y, star, gap) if qnml else 0.0,
        occupied=len(naive.counts(parents)),
        occupied_star=len(naive.counts(star)),
    )


@settings(max_examples=50, deadline=None)
@given(tables(5), st.sampled_from(BY_SUMS), st.sampled_from([0.0, 1.5]), st.data())
def test_rules_say_what_their_statements_say(
    table: Table, name: str, gap: float, data: st.DataObject
) -> None:
    naive = naive_sum(table, name)
    x = data.draw(st.sampled_from(range(naive.n)))
    for parents in naive.parent_sets(x, 3):
        for y in parents:
            numbers = numbers_of(naive, x, parents, y, gap)
            for rule in RULES:
                if rule.sides is not None and rule.name in rules_of(name):
                    found = bool(r.fires(rule.sides(numbers), TIE))
                    assert found == naive.rule_fires(rule.name, x, parents, y, gap), rule.name


def assert_rules_are_safe(table: Table, name: str) -> None:
    naive = naive_sum(table, name)
    kept = naive.lists().keys()
    for rule in rules_of(name):
        assert not naive.removed(rule) & kept, rule


@settings(max_examples=50, deadline=None)
@given(tables(5), st.sampled_from(BY_SUMS))
def test_no_rule_discards_what_lemma1_keeps(table: Table, name: str) -> None:
    assert_rules_are_safe(table, name)


def test_rules_by_score() -> None:
    assert choose_rules(None, "qnml").names == ("child", "parent")
    assert choose_rules(None, "bdeu:1").names == ("cells",)
    assert choose_rules(None, "k2").names == ("child", "functional")
    assert choose_rules(None, "fnml", width=1.0).names == ("child",)
    assert not choose_rules("all", "qnml").closed
    with pytest.raises(InputError, match="for qNML only, not for BDeu; use cells instead"):
        choose_rules("parent", "bdeu:1")
    with pytest.raises(InputError, match="BIC, AIC, HQC, eBIC, penalty only, not for K2"):
        choose_rules("thm1p", "k2")


# ---------------------------------------------------------------------------------------------
# Lists


@settings(max_examples=100, deadline=None)
@given(
    tables(),
    st.sampled_from(BY_SUMS),
    st.sampled_from(RULE_SETS),
    st.sampled_from([None, None, 0, 1, 2, 3]),
    st.integers(0, 9),
)
def test_lists_equal_brute_force(
    table: Table, name: str, rules: str | None, k: int | None, seed: int
) -> None:
    chosen = drawn(rules, name, seed)
    found = families(score(table, score=name, rules=chosen, max_parents=k, threads=1))
    assert_same(found, truth(table, name, most=k))


@settings(max_examples=60, deadline=None)
@given(
    tables(5),
    st.sampled_from(BY_SUMS),
    st.sampled_from([None, "none", "all"]),
    st.sampled_from([0.0, 0.3, 2.0, 50.0]),
)
def test_lists_with_a_width_equal_brute_force(
    table: Table, name: str, rules: str | None, width: float
) -> None:
    found = families(score(table, score=name, rules=rules, width=width, threads=1))
    assert_same(found, truth(table, name, gap=width))


@settings(max_examples=80, deadline=None)
@given(
    tables(5),
    st.randoms(use_true_random=False),
    st.sampled_from(BY_SUMS),
    st.sampled_from([None, "none", "all"]),
    st.sampled_from([None, 0.0, 1.5]),
)
def test_lists_with_constraints_equal_brute_force(
    table: Table, random: Random, name: str, rules: str | None, width: float | None
) -> None:
    assert_constraints_hold(table, random, rules, width, name)


@settings(max_examples=20, deadline=None)
@given(tables(7), st.sampled_from(BY_SUMS))
def test_threads_do_not_matter(table: Table, name: str) -> None:
    one, two = (score(table, score=name, threads=threads) for threads in (1, 2))
    assert one.digest == two.digest
    assert one.known().tallies.pruned == two.known().tallies.pruned


@pytest.mark.long
@pytest.mark.parametrize("block", range(10))
def test_five_thousand_tables(block: int) -> None:
    for seed in range(500 * block, 500 * (block + 1)):
        table = random_table(seed, 6 if seed % 10 == 0 else 5)
        name = BY_SUMS[seed % len(BY_SUMS)]
        assert_rules_are_safe(table, name)
        rules, k = drawn(RULE_SETS[seed % 4], name, seed), [None, None, 1, 2, 3][seed % 5]
        found = families(score(table, score=name, rules=rules, max_parents=k, threads=1))
        assert_same(found, truth(table, name, most=k))
        width = [None, 0.0, 0.5, 5.0][seed % 4]
        assert_constraints_hold(table, Random(seed), None, width, name)


@pytest.mark.usefixtures("levels_alone", "no_disk")
@pytest.mark.parametrize("name", BY_SUMS)
def test_a_search_that_is_cut_short_bounds_the_rest(name: str) -> None:
    table = make_table(random_columns(np.random.default_rng(3), 8, 60))
    whole = score(table, score=name, threads=1)
    reached = set()
    for memory in range(1_500, 15_000, 1_500):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnprovenWarning)
            cut = score(table, score=name, memory=memory, threads=1)
        account = cut.known()
        reached.add(account.complete_to)
        if account.complete_to is None:
            continue
        limited = score(table, score=name, max_parents=account.complete_to, threads=1)
        found, everything = families(cut), families(whole)
        most = {one: value for one, value in found.items() if len(one[1]) <= account.complete_to}
        assert most == pytest.approx(families(limited), abs=1e-9)
        for one in found.keys() - most.keys():  # of the level that was cut short
            assert found[one] == pytest.approx(everything[one], abs=1e-9)
        for v, beyond in enumerate(account.beyond):
            for value, parents in whole.candidates(v):
                if len(parents) > account.complete_to:
                    assert beyond is not None and value <= beyond + 1e-9
    assert reached - {None}


def test_products_beyond_64_bits() -> None:
    """A set of 30 variables with 10 states each has 10^30 joint states."""
    sizes = Multisets([10] * 30)
    assert sizes.products(30) == [10**30]
    assert sizes.times(29).tolist() == [[0]]
    rng = np.random.default_rng(1)
    table = make_table([[int(c) for c in rng.integers(0, 2, 6)] for _ in range(5)], [60_000] * 5)
    for name in ("qnml", "bdeu:1"):
        lists = score(table, score=name, threads=1)
        assert families(lists) == families(score(table, score=name, rules="none", threads=1))
        for child in lists:
            for value, parents in lists[child]:
                assert value == pytest.approx(family_score(table, child, parents, score=name))


# ---------------------------------------------------------------------------------------------
# Figures of other programs and of earlier measurements


@pytest.mark.parametrize(
    ("file", "name", "k", "kept"),
    [
        ("alarm", "bdeu", 2, 1123), ("alarm", "bdeu", 3, 1697), ("alarm", "bdeu", 4, 1889),
        ("alarm", "bdeu:10", 3, 4294), ("insurance", "bdeu", 3, 905),
        ("alarm", "qnml", 3, 1572), ("alarm", "qnml", 4, 1602), ("insurance", "qnml", 3, 1178),
    ],
)  # fmt: skip
def test_lists_of_benchmark_tables(shared: Path, file: str, name: str, k: int, kept: int) -> None:
    path = shared / "data" / "tables" / f"{file}_10000.csv"
    table = read_table(path, na=[]).head(1000).observed()
    assert score(table, score=name, max_parents=k).n_sets == kept


@pytest.mark.parametrize(
    ("file", "k", "bdeu", "qnml"),
    [
        ("breast-cancer", None, 32, 36), ("cmc", None, 112, 205), ("colic", 4, 297, 1126),
        ("diabetes", None, 92, 180), ("glass", None, 73, 272), ("heart-h", None, 48, 54),
        ("hepatitis", 5, 315, 2300), ("lymph", 5, 257, 570), ("primary-tumor", 5, 186, 611),
        ("solar-flare", None, 177, 185), ("tic-tac-toe", None, 66, 350), ("vote", 4, 1700, 4507),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::parentage.errors.DataWarning")
def test_lists_of_uci_tables(shared: Path, file: str, k: int | None, bdeu: int, qnml: int) -> None:
    table = read_table(
        shared / "data" / "uci" / f"{file}.arff", discretize="median", missing="mode"
    )
    for name, kept in (("bdeu", bdeu), ("qnml", qnml)):
        lists = score(table, score=name, max_parents=k)
        assert lists.n_sets - len(table.constant) == kept  # a constant has the empty set alone


@pytest.mark.filterwarnings("ignore:.*imput")
@pytest.mark.parametrize(("name", "kept", "deepest"), [("bdeu", 322, 11), ("qnml", 2729, 8)])
def test_hepatitis_without_a_limit(shared: Path, name: str, kept: int, deepest: int) -> None:
    path = shared / "data" / "uci" / "hepatitis.arff"
    lists = score(read_table(path, discretize="median", missing="mode"), score=name)
    assert (lists.n_sets, lists.max_in_degree) == (kept, deepest)
    assert lists.known().complete


# ---------------------------------------------------------------------------------------------
# What is said


@settings(max_examples=40, deadline=None)
@given(tables(4), st.sampled_from(BY_SUMS), st.data())
def test_explanations_agree_with_brute_force(table: Table, name: str, data: st.DataObject) -> None:
    naive, keep = naive_of(table, name)
    x = data.draw(st.sampled_from(range(naive.n)))
    parents = tuple(sorted(data.draw(st.sets(st.sampled_from(naive.others(x))))))
    label = [table.names[v] for v in keep]
    found = explain(table, label[x], [label[p] for p in parents], score=name)
    assert found.score == pytest.approx(naive.s(x, parents), abs=1e-9)
    assert found.kept == ((x, parents) in naive.lists())
    assert found.score <= found.at_most + 1e-9
    assert found.unexplained == pytest.approx(naive.h(x), abs=1e-9)
    for check in found.rules:
        assert check.fires == naive.rule_fires(check.rule, x, parents, label.index(check.Y)), check
    if parents:
        assert {check.rule for check in found.rules} == set(rules_of(name))
        assert "no variables explain" in str(found)


def test_explain_says_it_in_the_words_of_the_score() -> None:
    table = chest_clinic(500)
    said = str(explain(table, "dysp", ["bronc", "either", "xray"], score="bdeu"))
    assert "joint states that occur (ln 2 each)" in said
    assert "for the parents." in str(explain(table, "dysp", ["bronc"], score="qnml"))


def test_info_says_where_nothing_ends_the_search() -> None:
    rng = np.random.default_rng(0)
    wide = make_table([[int(c) for c in rng.integers(0, 2, 40)] for _ in range(26)])
    first = overview(wide, Scoring(score="bdeu"))
    assert not first.ends_by_itself
    assert first.variables[0].theorem3pp is None and first.corollary1p is None
    said = overview_text(first, wide)
    assert "Under BDeu no theorem limits the number of parents" in said and "-k 4" in said
    assert overview(wide, Scoring(score="bdeu", max_parents=2)).ends_by_itself
    assert overview(wide, Scoring(max_parents=2)).ends_by_itself
    small = overview(chest_clinic(200), Scoring(score="qnml"))
    assert small.ends_by_itself and small.forecast.basis == "searched"


@pytest.mark.usefixtures("levels_alone", "no_disk")
def test_a_search_without_an_end_is_ended_honestly() -> None:
    rng = np.random.default_rng(0)
    wide = make_table([[int(c) for c in rng.integers(0, 2, 40)] for _ in range(26)])
    with pytest.warns(UnprovenWarning, match="complete up to"):
        lists = score(wide, score="bdeu", memory=3_000_000, threads=1)
    assert lists.known().ended == "memory"
    complete = lists.known().complete_to
    assert complete is not None and complete >= 2


@pytest.mark.parametrize(("name", "equivalent"), [("bdeu:1", True), ("k2", False)])
def test_scores_that_are_not_equivalent_say_so(name: str, equivalent: bool) -> None:
    table = chest_clinic(200).select(["smoke", "lung", "bronc", "dysp"])
    lists = score(table, score=name, width=2.0)
    solution = learn(lists)
    assert solution.scope.equivalent is equivalent
    assert ("K2 is not score equivalent" in solution._repr_html_()) != equivalent
    near = within(lists, width=1.0)
    assert ("K2 is not score equivalent" in near_text(near, math.e)) != equivalent
    assert near_json(near, math.e)["score_equivalent"] is equivalent
    for members in near.classes:
        spread = near.scores[members[0]] - near.scores[members[-1]]
        assert not equivalent or abs(spread) < 1e-9


def test_that_directions_are_arbitrary_is_said_beside_files_too(tmp_path: Path) -> None:
    source = tmp_path / "t.csv"
    table = chest_clinic(200)
    rows = [[table.states[v][code] for v, code in enumerate(row)] for row in table.to_codes().T]
    source.write_text("\n".join(",".join(row) for row in [table.names, *rows]))
    for command in ("learn", "support"):
        done = run(command, str(source), "--score", "k2", "-o", str(tmp_path / f"{command}.html"))
        assert done.returncode == 0 and "K2 is not score equivalent" in done.stderr
