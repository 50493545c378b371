"""Node-average likelihood against brute force: tables with holes, columns that never meet."""

from __future__ import annotations

import itertools
import json
import math
import warnings
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command import by_recipe, ok, refused
from naive import TIE
from naive_holes import NaiveHoles
from naive_network import best_network
from parentage import learn, read_table
from parentage.data.datasets import chest_clinic
from parentage.data.table import MISSING, Table
from parentage.errors import ConstraintError, InputError, TableError, UnprovenWarning
from parentage.network.formats import read_record
from parentage.scoring.candidates import score
from parentage.scoring.constraints import Constraints
from parentage.scoring.explanation import explain
from parentage.scoring.formats import read_lists
from parentage.scoring.rules import choose_rules
from parentage.scoring.scores import family_score
from parentage.scoring.search import levels
from parentage.scoring.settings import Scoring
from strategies import each, make_table, naive_of, random_columns, random_table, with_holes
from strategies import tables_with_holes as tables
from test_candidates import assert_constraints_hold, assert_same, families, truth
from test_scope import assert_honest
from tuned import tune

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

RATES = ["pnal:0.01", "pnal:0.05", "pnal:0.2", "pnal:1.5"]


def naive_holes(table: Table, name: str) -> NaiveHoles:
    naive, _ = naive_of(table, name)
    assert isinstance(naive, NaiveHoles)
    return naive


def holes(*columns: Sequence[int | None], arity: int = 2) -> Table:
    """A table from codes; None is missing."""
    codes = [[MISSING if c is None else c for c in column] for column in columns]
    states = tuple(tuple(f"s{i}" for i in range(arity)) for _ in columns)
    names = tuple(f"v{i}" for i in range(len(columns)))
    return Table(names, states, np.array(codes, np.uint16))


# ---------------------------------------------------------------------------------------------
# The definition


@settings(max_examples=60, deadline=None)
@given(tables(5), st.sampled_from(RATES), st.data())
def test_local_scores_equal_the_definition(table: Table, name: str, data: st.DataObject) -> None:
    naive, keep = naive_of(table, name)
    x = data.draw(st.sampled_from(range(naive.n)))
    parents = data.draw(st.sets(st.sampled_from(naive.others(x))))
    label = [table.names[v] for v in keep]
    found = family_score(table, label[x], [label[p] for p in parents], score=name)
    if found != naive.s(x, parents):  # also −∞
        assert math.isclose(found, naive.s(x, parents), rel_tol=1e-11, abs_tol=1e-9)


@each("seed", 5)
def test_without_holes_it_is_a_penalised_likelihood(seed: int) -> None:
    table = random_table(seed, 6, 60, 8)
    rate = math.log(table.n_rows) / (2 * table.n_rows)
    found = families(score(table, missing=f"pnal:{rate!r}", threads=1))
    assert_same(found, families(score(table, score="bic", threads=1)))


def test_the_default_penalty() -> None:
    table = chest_clinic(1000)
    assert score(table, score="pnal").known().score == f"pnal:{1000**-0.25 / 8!r}"
    assert score(table, missing="pnal:0.5").known().score == "pnal:0.5"
    assert score(table, score="pnal:0.5").known().score == "pnal:0.5"


# ---------------------------------------------------------------------------------------------
# The rule (Theorem 8)


@settings(max_examples=60, deadline=None)
@given(tables(5), st.sampled_from(RATES))
def test_no_superset_exceeds_the_bound(table: Table, name: str) -> None:
    naive = naive_holes(table, name)
    for x in range(naive.n):
        for small in naive.parent_sets(x):
            rows = len(naive.complete([x, *small]))
            if not rows:
                continue
            bound = naive.bound(x, small, rows)
            assert bound <= naive.bound(x, small, len(naive.complete([x]))) + TIE
            for large in naive.parent_sets(x):
                if set(small) <= set(large):
                    assert naive.s(x, large) <= bound + TIE


def assert_the_rule_is_safe(table: Table, name: str) -> None:
    naive = naive_holes(table, name)
    assert not naive.removed("child") & naive.lists().keys()


@settings(max_examples=50, deadline=None)
@given(tables(5), st.sampled_from(RATES))
def test_the_rule_discards_nothing_that_lemma1_keeps(table: Table, name: str) -> None:
    assert_the_rule_is_safe(table, name)


def test_rules_for_holes() -> None:
    assert choose_rules(None, "pnal:0.1").names == ("child",)
    assert not choose_rules("all", "pnal:0.1").closed
    with pytest.raises(InputError, match="not for PNAL; use child instead"):
        choose_rules("thm1p", "pnal:0.1")


# ---------------------------------------------------------------------------------------------
# Lists


@settings(max_examples=150, deadline=None)
@given(
    tables(),
    st.sampled_from(RATES),
    st.sampled_from([None, "none"]),
    st.sampled_from([None, None, 0, 1, 2, 3]),
)
def test_lists_equal_brute_force(table: Table, name: str, rules: str | None, k: int | None) -> None:
    found = families(score(table, score=name, rules=rules, max_parents=k, threads=1))
    assert_same(found, truth(table, name, most=k))


@settings(max_examples=50, deadline=None)
@given(tables(5), st.sampled_from(RATES), st.sampled_from([0.0, 0.3, 2.0, 50.0]))
def test_lists_with_a_width_equal_brute_force(table: Table, name: str, width: float) -> None:
    found = families(score(table, score=name, width=width, threads=1))
    assert_same(found, truth(table, name, gap=width))


def assert_held_or_refused(table: Table, random: Random, width: float | None, name: str) -> bool:
    """Lists with constraints are right, or a required family is never seen; whether right."""
    try:
        assert_constraints_hold(table, random, None, width, name)
    except ConstraintError as refused:
        assert "never observed in one row" in str(refused)
        return False
    return True


@settings(max_examples=80, deadline=None)
@given(
    tables(5),
    st.randoms(use_true_random=False),
    st.sampled_from(RATES),
    st.sampled_from([None, 0.0, 1.5]),
)
def test_lists_with_constraints_equal_brute_force(
    table: Table, random: Random, name: str, width: float | None
) -> None:
    assert_held_or_refused(table, random, width, name)


def test_constraints_mostly_hold() -> None:
    held = [
        assert_held_or_refused(
            with_holes(random_table(seed, 5), seed), Random(seed), None, "pnal:0.1"
        )
        for seed in range(40)
    ]
    assert sum(held) > 20


@settings(max_examples=15, deadline=None)
@given(tables(7), st.sampled_from(RATES))
def test_threads_do_not_matter(table: Table, name: str) -> None:
    one, two = (score(table, score=name, threads=threads) for threads in (1, 2))
    assert one.digest == two.digest
    assert one.known().tallies.pruned == two.known().tallies.pruned


def test_many_joint_states_are_counted_by_labels() -> None:
    """Sets whose joint states do not fit an array, among others that do."""
    rng = np.random.default_rng(2)
    columns = [[int(c) for c in rng.integers(0, r, 40)] for r in (2, 9, 2, 8, 9, 2)]
    table = with_holes(make_table(columns, [0, 3, 0, 2, 4, 0]), 5)
    assert table.has_holes
    found = families(score(table, score="pnal:0.001", rules="none", threads=1))
    assert_same(found, truth(table, "pnal:0.001"))
    declared = make_table(columns, [300, 600, 300, 500, 300, 300])  # 10^16 joint states
    wide = Table(declared.names, declared.states, table.codes)
    lists = score(wide, score="pnal:0.000001", rules="none", max_parents=4, threads=1)
    for child in lists:
        for value, parents in lists[child]:
            own = family_score(wide, child, parents, score="pnal:0.000001")
            assert value == pytest.approx(own, abs=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("block", range(10))
def test_five_thousand_tables(block: int) -> None:
    for seed in range(500 * block, 500 * (block + 1)):
        table = with_holes(random_table(seed, 6 if seed % 10 == 0 else 5), seed)
        name, k = RATES[seed % len(RATES)], [None, None, 1, 2, 3][seed % 5]
        assert_the_rule_is_safe(table, name)
        assert_same(
            families(score(table, score=name, max_parents=k, threads=1)),
            truth(table, name, most=k),
        )
        assert_held_or_refused(table, Random(seed), [None, 0.0, 0.5, 5.0][seed % 4], name)


# ---------------------------------------------------------------------------------------------
# The whole path


@each("seed", 12)
def test_the_optimum_equals_brute_force_over_all_networks(seed: int) -> None:
    table = with_holes(random_table(seed, 4), seed)
    name = RATES[seed % len(RATES)]
    naive, keep = naive_of(table, name)
    arcs = list(itertools.permutations(range(naive.n), 2))
    best = -math.inf
    for chosen in itertools.product([False, True], repeat=len(arcs)):
        sets = [[p for (p, c), there in zip(arcs, chosen, strict=True) if there and c == x]
                for x in range(naive.n)]  # fmt: skip
        if is_acyclic(sets):
            best = max(best, math.fsum(naive.s(x, sets[x]) for x in range(naive.n)))
    solution = learn(table, score=name)
    assert solution.optimal
    assert solution.score == pytest.approx(best, abs=1e-8)
    assert keep


def is_acyclic(parents: list[list[int]]) -> bool:
    left = set(range(len(parents)))
    while left:
        free = {x for x in left if not left & set(parents[x])}
        if not free:
            return False
        left -= free
    return True


@pytest.mark.parametrize("chunk", [1, 65_536])
def test_cut_searches_bound_what_they_left_out(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tune(monkeypatch, levels, fewest_joins=min(chunk, 256))
    tune(monkeypatch, levels, most_joins=chunk)
    cuts = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        table = with_holes(random_table(seed, 6, 40), seed)
        looks = int(rng.integers(0, 3 if chunk > 1 else 8))
        rules = None if seed % 2 else "none"
        cuts += assert_honest(table, looks, Scoring(score=RATES[seed % 4], rules=rules))
    assert cuts > 10


@pytest.mark.usefixtures("levels_alone", "no_disk")
def test_memory_cuts_are_honest() -> None:
    table = with_holes(make_table(random_columns(np.random.default_rng(3), 8, 60)), 3)
    whole = best_network(score(table, score="pnal:0.01", max_parents=7))
    assert whole is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnprovenWarning)
        cut = score(table, score="pnal:0.01", memory=3_000, threads=1)
        solution = learn(cut)
    assert cut.known().ended == "memory"
    assert solution.bound >= whole[0] - 1e-9


def test_columns_that_never_meet_are_never_joined() -> None:
    table = holes([0, 1, 0, 1, None, None], [None] * 4 + [0, 1], [0, 1, 0, 1, 0, 1])
    assert family_score(table, "v0", ["v1"], score="pnal") == -math.inf
    lists = score(table, score="pnal:0.01")
    assert all("v1" not in c.parents for c in lists["v0"])
    assert all("v0" not in c.parents for c in lists["v1"])
    assert learn(table, score="pnal:0.01").network.n_arcs == 2
    said = explain(table, "v0", ["v1", "v2"], score="pnal:0.01")
    assert "never observed together in one row" in str(said)
    assert said.to_dict()["score"] is None
    required = Constraints(required=frozenset({("v1", "v0")}))
    with pytest.raises(ConstraintError, match=r"'v0' and its required parents \(v1\) are never"):
        score(table, score="pnal", constraints=required)


def test_a_column_missing_everywhere_is_refused() -> None:
    table = holes([0, 1, 0, 1], [0, 1, 1, 1], [None] * 4)
    with pytest.raises(TableError, match=r"column 'v2' has no values at all; pass drop=\['v2'\]"):
        score(table, score="pnal")


def test_rows_entirely_missing_only_change_the_unit() -> None:
    table = with_holes(random_table(3, 5, 40, 30), 3)
    nothing = np.full((table.n_variables, 10), MISSING, np.uint16)
    more = Table(table.names, table.states, np.hstack([table.to_codes(), nothing]))
    one, other = (families(score(t, score="pnal:0.05")) for t in (table, more))
    times = more.n_rows / table.n_rows
    assert_same(other, {family: times * value for family, value in one.items()})


def test_a_recipe_of_complete_data_leaves_the_penalty_open() -> None:
    """What it says about missing values it says with the penalty."""
    holes, given = b"a,b\nx,y\nx,\nu,y\nu,z\nx,y\n", "pnal:0.01"
    complete = read_table(b"a,b\nx,y\nx,z\nu,y\nu,z\nx,y\n").recipe
    found = read_table(holes, recipe=complete, missing=given).recipe
    assert found is not None and found.settings.rule == given
    with pytest.raises(InputError, match=r"^missing='pnal:0\.01' conflicts with the recipe"):
        read_table(holes, recipe=read_table(holes, missing="pnal").recipe, missing=given)


def test_settings_that_contradict() -> None:
    table = chest_clinic(100)
    for wrong in ("-1", "0", "nan", "", "much"):
        words = "needs a number above 0 after the colon; pass missing='pnal:0.01'"
        with pytest.raises(InputError, match=f"^missing='pnal:{wrong}' {words}$"):
            score(table, missing=f"pnal:{wrong}")
    with pytest.raises(TypeError, match="has no keyword 'lambda_'"):
        score(table, lambda_=0.1)  # type: ignore[call-arg]  # is refused
    with pytest.raises(InputError, match=r"missing='pnal' has its own score, and the score bdeu"):
        learn(b"a,b\n0,1\n1,0\n", missing="pnal", score="bdeu")


# ---------------------------------------------------------------------------------------------
# What is said


@settings(max_examples=40, deadline=None)
@given(tables(4), st.sampled_from(RATES), st.data())
def test_explanations_agree_with_brute_force(table: Table, name: str, data: st.DataObject) -> None:
    naive, keep = naive_of(table, name)
    x = data.draw(st.sampled_from(range(naive.n)))
    parents = tuple(sorted(data.draw(st.sets(st.sampled_from(naive.others(x))))))
    label = [table.names[v] for v in keep]
    found = explain(table, label[x], [label[p] for p in parents], score=name)
    if naive.s(x, parents) == -math.inf:
        assert not found.kept
        return
    assert found.score == pytest.approx(naive.s(x, parents), abs=1e-9)
    assert found.kept == ((x, parents) in naive.lists())
    assert found.score <= found.at_most + 1e-9
    for check in found.rules:
        assert check.fires == naive.rule_fires(check.rule, x, parents, label.index(check.Y)), check


def test_the_command_line_says_what_is_missing(tmp_path: Path) -> None:
    table = with_holes(chest_clinic(400), 8)
    assert table.has_holes
    labels = [
        ["" if c == MISSING else table.states[v][c] for v, c in enumerate(row)]
        for row in table.to_codes().T
    ]
    data = tmp_path / "clinic.csv"
    data.write_text("\n".join(",".join(row) for row in [table.names, *labels]))
    found = json.loads(ok("learn", str(data), "--missing", "pnal:0.02", "--json"))
    expected = learn(table.observed(), score="pnal:0.02")
    assert found["score"] == pytest.approx(expected.score)
    account = found["scope"]["account"]
    assert account["score"] == "pnal:0.02"
    assert account["missing_cells"] == table.missing_cells.tolist()
    for child, parents in found["parents"].items():
        family = [table.index(v) for v in (child, *parents)]
        rows = (table.to_codes()[family] != MISSING).all(axis=0).sum()
        assert found["rows_used"][child] == rows
    said = ok("learn", str(data), "--missing", "pnal:0.02")
    total = f"{table.missing_cells.sum():,} of {table.to_codes().size:,} values are missing"
    assert total in said and "pnal:0.02: every family is scored on the rows" in said
    assert "PNAL is not score equivalent" in said
    network = tmp_path / "net.json"
    ok("learn", str(data), "--missing", "pnal", "-o", str(network))
    stored = read_record(network)
    assert stored.provenance["rows_used"].keys() == set(table.names)
    assert sum(stored.provenance["data"]["missing_cells"].values()) == table.missing_cells.sum()
    assert stored.scope is not None and (stored.scope.score or "").startswith("pnal:0.0")
    lists = tmp_path / "lists.jkl"
    averaged = by_recipe(tmp_path, missing="pnal")
    ok("score", str(data), *averaged, "-o", str(lists))
    again = read_lists(lists).known()
    assert again.missing_cells == tuple(table.missing_cells.tolist())
    assert "missing" in ok("info", str(data), "--missing", "pnal")
    assert "scores" in ok("explain", str(data), "lung", "smoke", *averaged)
    assert "missing_cells" in ok("score", str(data), *averaged, "--json")
    assert "--missing pnal" in refused("learn", str(data))
