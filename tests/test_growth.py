"""Lists that grow where complete ones do not fit: right scores, honest answers, the same each time."""

from __future__ import annotations

import itertools
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive_network import all_networks, is_acyclic
from parentage.errors import InputError, UnprovenWarning
from parentage.learner import learn
from parentage.optimise.anytime import Anytime, grow_lists
from parentage.scoring.account import Account
from parentage.scoring.candidates import score, search_table
from parentage.scoring.constraints import Constraints
from parentage.scoring.growth import Growth, Stems, can_grow
from parentage.scoring.plan import prepare
from parentage.scoring.settings import Scoring
from parentage.work.stop import Stop
from strategies import naive_of, random_table, tables

if TYPE_CHECKING:
    from parentage.data.table import Table
    from parentage.optimise import Solution
    from parentage.scoring.candidates import Searched

SEEDS = st.integers(0, 10**6)


def searched(table: Table, complete: int, **settings: object) -> Searched:
    return search_table(table, Scoring(**settings), Stop(), 1, up_to=complete)  # type: ignore[arg-type]  # by name


def grown(table: Table, complete: int, effort: float = 1.0, **how: object) -> Solution:
    """Learn with lists forced to grow."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnprovenWarning)
        return learn(table, complete=complete, effort=effort, **how)  # type: ignore[arg-type]  # by name


def wide_table(seed: int = 3, n: int = 24, rows: int = 300) -> Table:
    """A table whose variables depend on three others each: one parent does not do."""
    from parentage.data.table import Table

    rng = np.random.default_rng(seed)
    codes = np.zeros((n, rows), np.int64)
    for v in range(n):
        codes[v] = rng.integers(0, 2, rows)
        if v >= 3:
            parents = rng.choice(v, 3, replace=False)
            noise = rng.random(rows) < 0.1
            codes[v] = np.where(noise, codes[v], codes[parents].sum(axis=0) > 1)
    return Table.from_columns({f"v{v}": [str(x) for x in codes[v]] for v in range(n)})


@given(tables(most_variables=6, most_rows=60))
def test_a_stem_is_counted_with_every_variable(table: Table) -> None:
    encoded = prepare(table, Scoring(max_parents=1)).plans[0].encoded
    n, f = encoded.n_variables, encoded.grid.f
    stems = [s for size in range(n + 1) for s in itertools.combinations(range(n), size)]
    counter = Stems(encoded, 1, 2**20)
    counter.hold(stems)
    for stem in stems:
        for y in range(n):
            members = sorted({*stem, y})
            _, label = np.unique(encoded.codes[members], axis=1, return_inverse=True)
            expected = int(f[np.bincount(label.ravel())].sum())
            assert counter.vectors[counter.row[stem], y] == expected


def test_vectors_that_had_to_go_are_counted_again() -> None:
    encoded = prepare(wide_table(), Scoring(max_parents=1)).plans[0].encoded
    small, large = Stems(encoded, 1, 1), Stems(encoded, 1, 2**30)
    pairs = list(itertools.combinations(range(encoded.n_variables), 3))
    for first in range(0, len(pairs), 100):
        for stems in (small, large):
            stems.hold(pairs[first : first + 100])
    small.hold(pairs[:50])
    for stem in pairs[:50]:
        assert (small.vectors[small.row[stem]] == large.vectors[large.row[stem]]).all()
    assert len(small.row) <= 512 < len(large.row)


@given(tables(most_variables=6, most_rows=60), st.integers(0, 2))
def test_grown_sets_have_the_right_scores_and_complete_ones_are_all_there(
    table: Table, complete: int
) -> None:
    found = searched(table, complete)
    if not can_grow(found.prepared, found.outcomes):
        assert found.complete
        return
    outcome, network, _ = grow_lists(found, 1.0, Stop())
    lists = replace(found, outcomes=(outcome,)).lists()
    naive, columns = naive_of(table)
    at = {v: i for i, v in enumerate(columns)}
    exact = score(table, max_parents=complete)
    for v, name in enumerate(table.names):
        sets = {c.parents: c.score for c in lists[name]}
        small = {parents: s for parents, s in sets.items() if len(parents) <= complete}
        assert small == {c.parents: c.score for c in exact[name]}
        if v not in at:
            continue
        for parents, value in sets.items():
            own = tuple(at[table.index(p)] for p in parents)
            assert value == pytest.approx(naive.s(at[v], own), abs=1e-6)
            for other, better in sets.items():
                assert not (set(other) < set(parents) and better >= value)
    assert is_acyclic(network.parents)
    for v, parents in enumerate(network.parents):
        names = tuple(table.names[p] for p in parents)
        assert any(c.parents == names for c in lists[table.names[v]])


@given(SEEDS, st.integers(0, 2))
def test_no_more_is_claimed_than_proven(seed: int, complete: int) -> None:
    """Against the best of all networks: never above it, and never bounded below it."""
    table = random_table(np.random.default_rng(seed), 5, 80)
    truth = max(value for value, _ in all_networks(score(table)))
    solution = grown(table, complete)
    assert solution.score <= truth + 1e-6
    assert solution.bound >= truth - 1e-6
    assert solution.bound >= solution.score
    if solution.optimal:
        assert solution.score == pytest.approx(truth, abs=1e-6)


def test_growing_finds_the_optimum_where_one_parent_does_not_do() -> None:
    table = wide_table(n=12)
    best = learn(table)
    short = grown(table, 1, effort=0.0)
    solution = grown(table, 1, effort=3.0)
    assert best.optimal
    assert short.score < solution.score - 10
    assert solution.score == pytest.approx(best.score, abs=1e-6)
    assert solution.bound >= best.score - 1e-6


def test_the_answer_says_what_was_explored() -> None:
    solution = grown(wide_table(n=14), 1)
    account = solution.scope.origin
    assert isinstance(account, Account)
    assert account.complete_to == 1
    assert account.ended == "asked"
    assert account.explored > 0
    assert Account.from_dict(account.to_dict()) == account
    assert "larger ones" in solution.proof()
    assert not solution.optimal
    assert solution.stopped == "asked"
    assert [s for _, s, _ in solution.trace] == sorted(s for _, s, _ in solution.trace)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_budget_of_work_gives_the_same_network(threads: int) -> None:
    table = wide_table(n=20)
    found = searched(table, 1)
    first, network, _ = grow_lists(found, 0.5, Stop(), threads=1, seed=7)
    again, other, _ = grow_lists(found, 0.5, Stop(), threads=threads, seed=7)
    assert network == other
    lists = [replace(found, outcomes=(o,)).lists() for o in (first, again)]
    assert lists[0].digest == lists[1].digest
    assert lists[0].known().explored == lists[1].known().explored


def test_limits_and_forbidden_arcs_hold_beyond_the_complete_sets() -> None:
    table = wide_table(n=14)
    forbidden = Constraints(forbidden=frozenset({("v0", "v5"), ("v1", "v9")}))
    found = searched(table, 1, max_parents={"v5": 2, "v8": 3}, constraints=forbidden)
    outcome, _, _ = grow_lists(found, 1.0, Stop())
    lists = replace(found, outcomes=(outcome,)).lists()
    assert lists.max_in_degree > 2
    assert max(len(c.parents) for c in lists["v5"]) <= 2
    assert max(len(c.parents) for c in lists["v8"]) <= 3
    assert not any("v0" in c.parents for c in lists["v5"])
    assert not any("v1" in c.parents for c in lists["v9"])


def test_sets_of_a_level_that_was_cut_short_are_candidates() -> None:
    """Of every score: what is there of the level is used, and said to be beyond the complete."""
    table = wide_table(n=30)
    for name in ("bic", "bdeu:1"):
        calls = itertools.count()

        class Late(Stop):
            def reason(self):  # type: ignore[no-untyped-def]  # noqa: ANN202
                return "time" if next(calls) > 3 else None

        late = Late()
        import parentage.scoring.steps as steps

        before, steps.MOST_PAIRS = steps.MOST_PAIRS, 256
        try:
            found = search_table(table, Scoring(score=name), late, 1)
        finally:
            steps.MOST_PAIRS = before
        (outcome,) = found.outcomes
        assert outcome.complete_to == 1
        assert outcome.ended == "time"
        assert outcome.partial
        whole = found.with_partial().lists()
        assert whole.max_in_degree == 2 > found.lists().max_in_degree
        assert whole.known().explored == whole.n_sets - found.lists().n_sets
        full = {c.parents: c.score for c in score(table, score=name, max_parents=2)["v20"]}
        assert all(full[c.parents] == c.score for c in whole["v20"])


@pytest.mark.parametrize("how", [{"score": "bdeu:1"}, {"width": 1.0}])
def test_what_cannot_grow_is_taken_as_it_is(how: dict[str, object]) -> None:
    solution = grown(wide_table(n=9), 1, **how)
    assert solution.scope.complete_to == 1
    assert solution.scope.explored == 0


def test_required_arcs_stay() -> None:
    required = Constraints(required=frozenset({("v0", "v1"), ("v2", "v1")}))
    solution = grown(wide_table(n=9), 2, constraints=required)
    assert {"v0", "v2"} <= set(solution.network.to_dict()["v1"])
    with pytest.raises(InputError):
        learn(score(wide_table(n=5)), complete=1)


def test_nothing_to_do_ends_by_itself() -> None:
    table = random_table(np.random.default_rng(1), 4, 40)
    found = searched(table, 0)
    growth = Growth(found.prepared.plans[0], found.outcomes[0])
    anytime = Anytime(growth, Stop())
    anytime.run(1e9)
    assert anytime.work < 60


def test_constant_columns_and_a_start(tmp_path: object) -> None:
    del tmp_path
    from parentage.data.table import Table

    rng = np.random.default_rng(5)
    columns = {f"v{v}": [str(x) for x in rng.integers(0, 2, 50)] for v in range(6)}
    columns["v1"] = columns["v0"]
    columns["same"] = ["x"] * 50
    table = Table.from_columns(columns)
    first = grown(table, 0)
    again = grown(table, 0, start=first.network)
    assert again.score >= first.score - 1e-9
    assert again.network.to_dict()["same"] == []
