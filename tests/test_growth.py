"""Lists that grow where complete ones do not fit: right scores, honest answers, repeatable."""

from __future__ import annotations

import itertools
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keywords import for_learn
from naive_network import all_networks, is_acyclic
from parentage.errors import InputError, ResourceError, UnprovenWarning
from parentage.growth.anytime import Anytime, Ranking, grow_lists
from parentage.growth.growth import Growth, can_grow
from parentage.growth.score import Sweeps, growth_score
from parentage.network.network import Network
from parentage.optimise.settings import Optimising
from parentage.pipeline import Advanced, learn
from parentage.scoring.account import Account
from parentage.scoring.candidates import score, search_table
from parentage.scoring.constraints import Constraints
from parentage.scoring.search import levels
from parentage.scoring.search.plan import encode_plans, prepare_search
from parentage.scoring.search.state import LevelBuffer
from parentage.scoring.settings import Scoring
from parentage.work.context import Context
from parentage.work.stop import Stop
from solving import learn_lists
from strategies import naive_of, random_table, tables
from tuned import tune

if TYPE_CHECKING:
    from parentage.data.table import Table
    from parentage.optimise import Solution
    from parentage.scoring.candidates import Searched
    from parentage.scoring.lists import CandidateLists
    from parentage.scoring.search.state import Outcome
    from parentage.work.stop import Reason

SEEDS = st.integers(0, 10**6)


def searched(table: Table, complete: int, **settings: object) -> Searched:
    return search_table(table, Scoring(**settings), Context(), up_to=complete)  # type: ignore[arg-type]  # by name


def grown(table: Table, complete: int, effort: float = 1.0, **how: object) -> Solution:
    """Learn with lists forced to grow."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnprovenWarning)
        return learn(table, **for_learn(complete=complete, effort=effort, **how))


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
def test_a_sweep_is_counted_with_every_variable(table: Table) -> None:
    prepared = prepare_search(table, Scoring(max_parents=1))
    plans = encode_plans(prepared)
    encoded = plans[0].encoded
    n, f = encoded.n_variables, encoded.grid.f
    sweeps = [s for size in range(n + 1) for s in itertools.combinations(range(n), size)]
    counter = Sweeps(growth_score(prepared, plans), 1, 2**20)
    counter.hold((0, sweep) for sweep in sweeps)
    for sweep in sweeps:
        for y in range(n):
            members = sorted({*sweep, y})
            _, label = np.unique(
                table.to_codes()[encoded.order[members]], axis=1, return_inverse=True
            )
            expected = int(f[np.bincount(label.ravel())].sum())
            assert counter.vectors[counter.row[(0, sweep)], y] == expected


def test_vectors_that_had_to_go_are_counted_again() -> None:
    table = wide_table()
    prepared = prepare_search(table, Scoring(max_parents=1))
    by = growth_score(prepared, encode_plans(prepared))
    small, large = Sweeps(by, 1, 1), Sweeps(by, 1, 2**30)
    pairs = [(0, s) for s in itertools.combinations(range(table.n_variables), 3)]
    for first in range(0, len(pairs), 100):
        for sweeps in (small, large):
            sweeps.hold(pairs[first : first + 100])
    small.hold(pairs[:50])
    for sweep in pairs[:50]:
        assert (small.vectors[small.row[sweep]] == large.vectors[large.row[sweep]]).all()
    assert len(small.row) <= 512 < len(large.row)


@given(tables(most_variables=6, most_rows=60), st.integers(0, 2))
def test_grown_sets_have_the_right_scores_and_complete_ones_are_all_there(
    table: Table, complete: int
) -> None:
    found = searched(table, complete)
    if not can_grow(found):
        assert found.complete
        return
    more, expanded = grow_lists(found, 1.0, Context())
    network, lists = expanded.network, more.lists()
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
    for v, chosen in enumerate(network.parents):
        names = tuple(table.names[p] for p in chosen)
        assert any(c.parents == names for c in lists[table.names[v]])


@pytest.mark.no_cover
@given(SEEDS, st.integers(0, 2))
def test_no_more_is_claimed_than_proven(seed: int, complete: int) -> None:
    """Against the best of all networks: never above it, and never bounded below it."""
    table = random_table(seed, 5, 80)
    truth = max(value for value, _ in all_networks(score(table)))
    solution = grown(table, complete)
    assert solution.score <= truth + 1e-6
    assert solution.bound >= truth - 1e-6
    assert solution.bound >= solution.score
    if solution.optimal:
        assert solution.score == pytest.approx(truth, abs=1e-6)


def test_growing_finds_the_optimum_where_one_parent_does_not_do() -> None:
    table = wide_table(n=13)
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


def test_a_budget_of_work_gives_the_same_network() -> None:
    table = wide_table(n=20)
    found = searched(table, 1)
    seven = Optimising(seed=7)
    first, one = grow_lists(found, 0.15, Context(), optimising=seven)
    for threads in (1, 2, 3):
        again, other = grow_lists(found, 0.15, Context(threads=threads), optimising=seven)
        assert one.network == other.network
        lists = [first.lists(), again.lists()]
        assert lists[0].digest == lists[1].digest
        assert lists[0].known().explored == lists[1].known().explored


def test_limits_and_forbidden_arcs_hold_beyond_the_complete_sets() -> None:
    table = wide_table(n=14)
    forbidden = Constraints(forbidden=frozenset({("v0", "v5"), ("v1", "v9")}))
    found = searched(table, 1, max_parents={"v5": 2, "v8": 3}, constraints=forbidden)
    lists = grow_lists(found, 1.0, Context())[0].lists()
    assert lists.max_in_degree > 2
    assert max(len(c.parents) for c in lists["v5"]) <= 2
    assert max(len(c.parents) for c in lists["v8"]) <= 3
    assert not any("v0" in c.parents for c in lists["v5"])
    assert not any("v1" in c.parents for c in lists["v9"])


class Late(Stop):
    """Asks to stop at the fourth look."""

    def reason(self) -> Reason | None:
        looks = vars(self)
        looks["looks"] = looks.get("looks", 0) + 1
        return "time" if looks["looks"] > 4 else None


@pytest.mark.parametrize("name", ["bic", "bdeu:1"])
def test_sets_of_a_level_that_was_cut_short_are_candidates(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of every score: what is there of the level is used, and said to be beyond the complete."""
    tune(monkeypatch, levels, most_joins=256)
    table = wide_table(n=24)
    found = search_table(table, Scoring(score=name), Context(Late()))
    (outcome,) = found.outcomes
    assert outcome.complete_to == 1
    assert outcome.ended == "time"
    assert outcome.partial
    whole, short = found.with_partial().lists(), found.lists()
    assert whole.max_in_degree == 2 > short.max_in_degree
    assert whole.known().explored == whole.n_sets - short.n_sets
    full = {c.parents: c.score for c in score(table, score=name, max_parents=2)["v20"]}
    assert all(abs(full[c.parents] - c.score) < 1e-6 for c in whole["v20"])


def test_what_cannot_grow_is_taken_as_it_is() -> None:
    solution = grown(wide_table(n=13), 1, 1.0, width=1.0)
    assert solution.scope.complete_to == 1
    assert solution.scope.explored == 0


@pytest.mark.parametrize("n", [8, 12])
def test_all_sets_of_few_variables_are_listed_anyway(n: int) -> None:
    """That takes less than expanding some, and the network is proven."""
    table = wide_table(n=n)
    solution, best = learn(table, advanced=Advanced(complete=1, effort=0.0)), learn(table)
    assert solution.optimal and solution.scope.complete_to is None
    assert (solution.network, solution.score) == (best.network, best.score)


def test_lists_do_not_grow() -> None:
    with pytest.raises(InputError):
        learn(score(wide_table(n=5)), advanced=Advanced(complete=1))


def test_nothing_to_do_ends_by_itself() -> None:
    table = random_table(1, 4, 40)
    found = searched(table, 0)
    growth = Growth(found)
    with ThreadPoolExecutor(1) as pool:
        anytime = Anytime(growth, Context(), pool)
        anytime.run(1e9)
    assert anytime.work < 60


@given(tables(most_variables=6, most_rows=40), st.integers(1, 40))
def test_families_are_ranked_as_if_sorted_anew(table: Table, at_once: int) -> None:
    found = searched(table, 0)
    if not can_grow(found):
        return
    growth = Growth(found)
    ranking, done = Ranking(growth), 0
    while done < growth.n_sets < 200:
        families = [growth.family(i) for i in range(done, min(done + at_once, growth.n_sets))]
        done += len(families)
        growth.enlarge(families)
        space = ranking.space()
        score = growth.nats(np.arange(growth.n_sets))
        order = sorted(
            range(growth.n_sets),
            key=lambda i: (growth.children[i], -growth.scores[i], growth.sizes[i], i),
        )
        assert space.real.tolist() == order
        for place, i in enumerate(order):
            child, parents = growth.family(i)
            assert space.offsets[child] <= place < space.offsets[child + 1]
            assert tuple(p for p in space.sets[place].tolist() if p < growth.n) == parents
            best = score[order[space.offsets[child]]]
            assert space.cost[place] == pytest.approx(best - score[i] + 1e-9 * len(parents))
            assert all(space.reach[child, 0] >> np.uint64(p) & np.uint64(1) for p in parents)


def test_constant_columns_and_a_start() -> None:
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


def many_lists(n: int, per: int) -> CandidateLists:
    """Random lists of ``n * per`` sets of up to three parents."""
    from parentage.scoring.lists import CandidateLists

    rng = np.random.default_rng(0)
    sizes = np.tile(np.concatenate([[0], rng.integers(1, 4, per - 1)]), n)
    starts, owner = np.concatenate([[0], np.cumsum(sizes)]), np.repeat(np.arange(n * per), sizes)
    child, step = np.repeat(np.arange(n), per), (n - 1) // 4
    nth = np.arange(starts[-1]) - np.repeat(starts[:-1], sizes)
    first = rng.integers(1, step, n * per)
    parents = np.sort(owner * n + (child[owner] + first[owner] + nth * step) % n) % n
    scores = -100.0 - 100.0 * rng.random(n * per) + 20.0 * sizes
    names = [f"v{v}" for v in range(n)]
    return CandidateLists.from_arrays(names, child, starts, parents, scores)


def test_a_time_limit_holds_with_a_million_sets() -> None:
    learn_lists(many_lists(120, 20), engine="orders", time_limit=0.1)  # compiles
    learn_lists(many_lists(210, 20), engine="orders", time_limit=0.1)
    lists = many_lists(700, 1_450)
    before = time.process_time()
    solution = learn_lists(lists, engine="orders", time_limit=1.5, threads=1)
    assert lists.n_sets > 10**6
    assert time.process_time() - before < 12.0
    assert solution.stopped == "time"
    assert is_acyclic(solution.network.parents)


def test_lists_that_do_not_fit_are_refused_beforehand() -> None:
    with pytest.raises(ResourceError, match="fewer parents"):
        learn_lists(many_lists(120, 400), memory=2**20)


def outcome_of(table: Table, how: str, up_to: int, chunk: int) -> Outcome:
    """Search in chunks of a few joins."""
    with pytest.MonkeyPatch.context() as patch:
        tune(patch, levels, most_joins=chunk)
        tune(patch, levels, fewest_joins=chunk)
        return search_table(table, Scoring(score=how), Context(), up_to=up_to).outcomes[0]


@given(
    tables(most_variables=6, most_rows=60),
    st.sampled_from(["bic", "aic", "bdeu:1", "qnml"]),
    st.integers(1, 3),
    st.integers(1, 30),
)
def test_a_level_that_nobody_joins_bounds_as_one_that_is_stored(
    table: Table, how: str, up_to: int, chunk: int
) -> None:
    streamed = outcome_of(table, how, up_to, chunk)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(levels, "LevelBuffer", lambda name, *_: LevelBuffer(name))
        stored = outcome_of(table, how, up_to, chunk)
    assert streamed.live == stored.live
    assert streamed.complete_to == stored.complete_to
    assert streamed.ended == stored.ended
    assert sum(len(part.scores) for part in streamed.kept) == sum(
        len(part.scores) for part in stored.kept
    )
    if stored.beyond is None or streamed.beyond is None:
        assert stored.beyond is streamed.beyond
    elif how in ("bic", "aic"):
        assert (streamed.beyond == stored.beyond).all()
    else:  # of chunks apart no less is known than of all together
        assert (streamed.beyond <= stored.beyond).all()


def test_a_level_that_cannot_be_joined_in_time_is_let_go() -> None:
    table = wide_table(n=12)
    asked: list[int] = []

    def worth(joins: int) -> bool:
        asked.append(joins)
        return joins < 50

    whole = outcome_of(table, "bic", 2, 20)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(levels.LevelSearch, "_is_worth", lambda _, joins: worth(joins))
        cut = outcome_of(table, "bic", 4, 20)
    assert asked[0] == 0
    assert max(asked) >= 50
    assert cut.ended == "forecast"  # there is no time limit
    assert cut.complete_to is not None
    level = outcome_of(table, "bic", cut.complete_to, 20)
    assert cut.live == level.live
    assert (np.asarray(cut.beyond) == np.asarray(level.beyond)).all()
    assert whole.ended == "asked"


@given(st.integers(2, 9), SEEDS)
def test_what_is_better_elsewhere_is_taken_over_and_stays_acyclic(n: int, seed: int) -> None:
    from parentage.kernels.orders import combine

    rng = np.random.default_rng(seed)
    members = [[], *([int(p)] for p in range(n)), *([int(p), int(p) + 1] for p in range(n - 1))]
    sets: list[list[int]] = []
    cost: list[float] = []
    of_child: list[range] = []
    for v in range(n):
        own = [m for m in members if v not in m]
        of_child.append(range(len(sets), len(sets) + len(own)))
        sets += [m + [n] * (2 - len(m)) for m in own]
        cost += rng.random(len(own)).round(1).tolist()
    table, prices = np.array(sets, np.uint16), np.array(cost)

    def network() -> np.ndarray:
        place = rng.permutation(n)
        before = np.append(np.argsort(place), -1)  # where a variable stands; padding fits anywhere
        fitting = [[i for i in of_child[v] if max(before[sets[i]]) < before[v]] for v in range(n)]
        return np.array([rng.choice(own) for own in fitting])

    one, other = network(), network()
    fit, order = one.copy(), np.arange(n)
    gain = combine(fit, other, table, prices, order)
    assert gain >= 0
    assert prices[fit].sum() == pytest.approx(prices[one].sum() - gain)
    assert all(fit[v] in (one[v], other[v]) for v in range(n))
    if gain > 0:
        place = np.argsort(order)
        assert all(p == n or place[p] < place[v] for v in range(n) for p in sets[fit[v]])


def test_two_networks_give_the_better_of_each_region() -> None:
    from parentage.kernels.orders import combine

    sets = np.array([[4], [1], [4], [0], [4], [3], [4], [2]], np.uint16)  # of 0, 0, 1, 1, 2 …
    cost = np.array([2.0, 0.0, 3.0, 0.0, 2.0, 0.0, 3.0, 0.0])
    one, other = np.array([0, 3, 5, 6]), np.array([1, 2, 4, 7])  # 0 → 1, 3 → 2; 1 → 0, 2 → 3
    fit, order = one.copy(), np.array([0, 1, 3, 2])
    assert combine(fit, other, sets, cost, order) == 1.0
    assert fit.tolist() == [0, 3, 4, 7]
    assert order.tolist().index(2) < order.tolist().index(3)


def test_an_answer_is_no_worse_than_the_network_it_starts_from() -> None:
    """Without any effort, too: its sets are listed though the search did not reach them."""
    table = wide_table()
    first = grown(table, 1, 0.5)
    assert max(map(len, first.network.parents)) > 1
    again = grown(table, 1, 0.0, start=first.network)
    assert again.score >= first.score - 1e-9
    assert again.score > grown(table, 1, 0.0).score + 1
    assert not again.optimal
    assert again.scope.explored > 0  # and it is said that larger sets were tried


@pytest.mark.parametrize("complete", [1, None])
def test_a_start_of_other_variables_is_refused_before_the_work(
    complete: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = wide_table(n=6)
    monkeypatch.setattr("parentage.pipeline.search_table", None)
    for names in (("v0", "v1"), (*table.names, "v6")):
        start = Network(names, ((),) * len(names))
        with pytest.raises(InputError, match=r"has other variables: 'v[26]' is in only one"):
            learn(table, advanced=Advanced(complete=complete), start=start)


def test_a_start_has_the_columns_that_do_not_vary() -> None:
    table = wide_table(n=8)
    table = replace(
        table,
        names=("same", *table.names),
        states=(("x",), *table.states),
        codes=np.vstack([np.zeros_like(table.to_codes()[:1]), table.to_codes()]),
    )
    assert table.constant == ("same",)
    start = Network(table.names, ((), (0,), *((0, 1),) * 7))
    solution = grown(table, 1, 0.0, start=start)
    assert solution.network.names == table.names
