"""Lists expanded and solved in turn: right prices, honest claims, a fixed point, repeatable."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keywords import for_learn
from naive_network import all_networks
from parentage.data.table import Table
from parentage.errors import UnprovenWarning
from parentage.growth.anytime import Anytime, grow_lists
from parentage.growth.growth import Growth, can_grow
from parentage.growth.solving import UNSOLVED, ListSolver
from parentage.network.record import Finding, NetworkRecord
from parentage.optimise.cutting import root_lagrangian
from parentage.optimise.engines import solve
from parentage.optimise.run import Run, from_state
from parentage.optimise.settings import Optimising
from parentage.pipeline import learn
from parentage.report.facts import verdict
from parentage.scoring.candidates import score
from parentage.scoring.constraints import Constraints
from parentage.scoring.lists import CandidateLists
from parentage.work.context import Context
from solving import learn_lists
from strategies import each, random_table
from test_growth import searched, wide_table

if TYPE_CHECKING:
    from pathlib import Path

    from parentage.optimise import Solution
    from parentage.work.progress import Progress

BRANCHING = Optimising("branch-and-cut")


def learned(table: Table, complete: int, effort: float = 1.0, **how: object) -> Solution:
    """Learn with lists forced to be expanded."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnprovenWarning)
        return learn(table, **for_learn(complete=complete, effort=effort, **how))


class Solves(list[tuple[int, bool]]):
    """How many families there were whenever the lists were solved, and whether that proved them."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        own = ListSolver.solve

        def noting(solver: ListSolver, *given: object) -> object:
            found = own(solver, *given)  # type: ignore[arg-type]  # as they came
            self.append((len(found.rise), found.proven))
            return found

        patch.setattr(ListSolver, "solve", noting)


@pytest.mark.no_cover
@given(st.integers(0, 10**6), st.integers(0, 2), st.sampled_from(["auto", "branch-and-cut"]))
def test_what_is_proven_for_the_lists_is_best_among_their_networks(
    seed: int, complete: int, engine: str
) -> None:
    table = random_table(seed, 5, 80)
    solution = learned(table, complete, engine=engine)
    lists, bound = solution.lists, solution.scope.listed_bound
    assert lists is not None
    if bound is None:
        assert solution.optimal
        return
    best = max(value for value, _ in all_networks(lists))
    assert solution.score == pytest.approx(best, abs=1e-6)
    assert bound == pytest.approx(best, abs=1e-6)
    assert solution.bound >= bound
    assert solution.proof().startswith(
        f"proven best of the networks that the {lists.n_sets:,} listed parent sets allow"
    )


@each("seed", 3)
def test_a_rise_is_below_what_taking_the_set_costs(seed: int) -> None:
    """Every network with a set costs at least L(y) plus the rise of the set."""
    lists = score(wide_table(seed, 11, 60), max_parents=2)
    run = Run(lists, None, BRANCHING)
    solve(run)
    checked = 0
    for part in run.parts:
        cut = root_lagrangian(part)
        if cut is None:
            continue
        bound, rise = cut
        assert (rise >= 0).all()
        assert rise.max() > 0
        others = run.best_per_child - sum(p.bound for p in run.parts if p is not part)
        for i in np.random.default_rng(seed).choice(part.problem.m, 12, replace=False).tolist():
            own = int(part.problem.sets[i])
            best = learn_lists(only(lists, own), engine="subsets").score
            assert best <= others - bound - rise[i] + 1e-4
            checked += 1
    assert checked >= 12


def only(lists: CandidateLists, i: int) -> CandidateLists:
    """The lists, with set ``i`` as the only one of its child."""
    child = int(np.searchsorted(lists.offsets, i, side="right")) - 1
    return CandidateLists.from_families(
        {
            name: [
                (value, [lists.names[p] for p in members])
                for at, (value, members) in enumerate(lists.candidates(v), int(lists.offsets[v]))
                if v != child or at == i
            ]
            for v, name in enumerate(lists.names)
        }
    )


def test_listed_families_are_found_in_the_growth() -> None:
    """With required arcs, which families are held without, and a column that does not vary."""
    table = wide_table(n=9)
    same = Table.from_columns(
        {"c": "x" * table.n_rows}
        | {
            name: [table.states[v][code] for code in table.to_codes()[v]]
            for v, name in enumerate(table.names)
        }
    )
    required = Constraints(required=frozenset({("v1", "v7"), ("v2", "v7"), ("v0", "v4")}))
    found = searched(same, 1, constraints=required)
    growth = Growth(found)
    assert growth.enlarge([(v, ()) for v in range(growth.n)]) > 0
    solver = ListSolver(found, growth, BRANCHING, Context())
    lists = replace(found, outcomes=growth.result()).lists()
    where = growth.find(solver._keys(lists))
    order = [int(v) for v in found.plans[0].encoded.order]
    for i, at in enumerate(where.tolist()):
        child = int(np.searchsorted(lists.offsets, i, side="right")) - 1
        if lists.names[child] == "c":
            assert at == -1
            continue
        own, members = growth.family(at)
        members += growth.score.required[own]
        assert order[own] == child
        assert sorted(order[p] for p in members) == lists.parents_of(i).tolist()


def test_alternation_ends_at_a_fixed_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the effort is spent; from its network nothing better is found by the same way."""
    table = wide_table(n=14)
    solves = Solves(monkeypatch)
    first = learned(table, 1, effort=1e3)
    assert solves[-1][1]
    again = learned(table, 1, effort=1e3, start=first.network)
    assert first.scope.listed_bound == pytest.approx(first.score, abs=1e-6)
    assert again.score == pytest.approx(first.score, abs=1e-6)
    assert again.scope.listed_bound == pytest.approx(first.score, abs=1e-6)


def test_lists_are_solved_between_expansions(monkeypatch: pytest.MonkeyPatch) -> None:
    solves = Solves(monkeypatch)
    _, found = grow_lists(searched(wide_table(n=16), 1), 1e3, Context())
    assert len(solves) > 1
    assert [sets for sets, _ in solves] == sorted({sets for sets, _ in solves})
    assert found.work < 1e3


def test_solving_stays_within_its_share_of_the_work() -> None:
    """A round of cutting is finished, but nothing is begun when the work is used up."""
    table = wide_table(n=40)
    found = searched(table, 1)
    growth = Growth(found)
    solver = ListSolver(found, growth, Optimising(), Context())
    began = np.arange(growth.n)
    for _ in range(2):
        growth.enlarge([growth.family(i) for i in range(growth.n_sets)])
    some = solver.solve(began, UNSOLVED, 1e-3)
    more = solver.solve(began, UNSOLVED, 0.3)
    assert not some.proven
    assert some.work < more.work
    assert more.work - some.work < 0.6


def test_known_rounds_prove_the_same_lists_again() -> None:
    """Without a linear programme; longer lists are proven as if nothing were known."""
    from parentage.check.verdict import check

    lists = score(wide_table(seed=2, n=14), max_parents=2)
    some = Run(lists, None, BRANCHING)
    solve(some)
    known = some.to_state()
    assert len(known.arrays["price"]) > 0
    again = Run(lists, None, BRANCHING, start=from_state(known, lists))
    found = solve(again)
    assert again.proven()
    assert found.score == some.score()
    assert found.record.lp_rounds == 0 < some.parts[0].counted.lp_rounds
    assert found.certificate is not None
    assert check(lists, found.certificate.document).verified
    longer = score(wide_table(seed=2, n=14), max_parents=3)
    assert longer.n_sets > lists.n_sets
    best = solve(Run(longer, None, BRANCHING))
    found = solve(Run(longer, None, BRANCHING, start=from_state(known, longer)))
    assert found.optimal
    assert found.score == pytest.approx(best.score, abs=1e-6)


def test_alternation_repeats_on_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    found = searched(wide_table(n=20), 1)
    solves = Solves(monkeypatch)
    (lists, one), *again = [
        grow_lists(found, 0.5, Context(threads=count), optimising=BRANCHING) for count in (1, 2, 3)
    ]
    third = len(solves) // 3
    assert third > 0
    assert solves[:third] == solves[third : 2 * third] == solves[2 * third :]
    assert one.cuts
    for others, other in again:
        assert one.network == other.network
        assert lists.lists().digest == others.lists().digest
        assert [cut.members for cut in one.cuts] == [cut.members for cut in other.cuts]
        assert one.work == other.work


def test_other_engines_do_not_alternate(monkeypatch: pytest.MonkeyPatch) -> None:
    solves = Solves(monkeypatch)
    solution = learned(wide_table(n=14), 1, engine="orders")
    assert not solves
    assert solution.engine == "orders"


def test_work_ends_a_proof_and_the_bound_holds() -> None:
    """Cutting that ran out of work leaves a bound; more work leaves a better one."""
    found = searched(wide_table(n=40), 2)
    lists = found.with_partial().lists()
    best = learn_lists(lists, engine="orders", time_limit=1)
    bounds = []
    for work in (0.0, 1e7, 3e8):
        run = Run(lists, None, BRANCHING)
        run.limit_work(work)
        solution = solve(run)
        bounds.append(solution.bound)
        assert solution.bound >= best.score - 1e-6
    assert bounds[0] >= bounds[1] >= bounds[2]
    assert bounds[0] > bounds[2]


@pytest.mark.parametrize(("halved", "ends"), [(True, False), (False, True)])
def test_a_slice_that_halves_the_gap_is_followed_by_another(halved: bool, ends: bool) -> None:
    run = Run(score(wide_table(n=9), max_parents=1), None, BRANCHING)
    run.limit_work(math.inf, 10.0)
    gaps = iter([80.0, 39.0 if halved else 41.0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "score", lambda _: 0.0)
        patch.setattr(Run, "bound", lambda _: next(gaps))
        run.spend(9.0)
        assert run.work_left > 0
        run.spend(2.0)  # the first slice ends; any gap is better than none known
        assert run.work_left > 0
        run.spend(11.0)
    assert (run.work_left <= 0) is ends
    assert run.worked == 22.0


@pytest.mark.parametrize(
    ("n", "effort", "how"),
    [
        (14, 1.0, {}),
        (14, 1.0, {"engine": "orders"}),
        (40, 0.2, {"log_base": 2}),
        (14, 1.0, {"constraints": Constraints(required=frozenset({("v0", "v5")}))}),
    ],
)
def test_progress_says_nothing_better_than_the_answer(
    n: int, effort: float, how: dict[str, object]
) -> None:
    """Bounds for the lists are called so; those for everything stand beside the network known."""
    moments: list[Progress] = []
    solution = learned(wide_table(n=n), 1, effort, progress=moments.append, **how)
    learning = [at for at in moments if at.stage == "learning" and at.incumbent is not None]
    assert any(at.listed_bound is not None for at in learning)
    for at in learning:
        assert at.incumbent is not None and at.incumbent <= solution.score + 1e-9
        assert at.bound is None or at.bound >= solution.bound - 1e-6
    assert max(at.incumbent or -math.inf for at in learning) == pytest.approx(solution.score)


def test_bounds_for_everything_are_reported_beside_the_network() -> None:
    """Solving a wider problem for its bound does not show its network."""
    moments: list[Progress] = []
    table = wide_table(n=9)
    lists = score(table, max_parents=1)
    child, parent = next((x, ps[0]) for x in lists for _, ps in lists[x] if ps)
    solution = learn(
        lists,
        constraints=Constraints(required=frozenset({(parent, child)})),
        progress=moments.append,
    )
    assert any(at.bound is not None for at in moments)
    for at in moments:
        assert at.incumbent is None or at.incumbent <= solution.score + 1e-9
        assert at.bound is None or at.bound >= solution.bound - 1e-6


def test_a_solution_says_what_is_proven_for_its_lists(tmp_path: Path) -> None:
    solution = learned(wide_table(n=14), 1)
    lists, scope = solution.lists, solution.scope
    assert lists is not None
    assert not solution.optimal
    sentence = (
        f"proven best of the networks that the {lists.n_sets:,} listed parent sets allow (all sets "
        f"of up to 1 parent were searched, and {scope.explored:,} larger ones)"
    )
    assert sentence in solution.proof()
    assert "not proven optimal" in solution.proof()
    facts = json.loads(json.dumps(solution.finding.to_dict()))
    assert facts["scope"]["listed_bound"] == pytest.approx(solution.score, abs=1e-6)
    assert Finding.from_dict(facts) == solution.finding
    assert sentence in verdict(NetworkRecord.of(solution), solution.table)
    page = tmp_path / "page.html"
    solution.save(page)
    assert "listed parent sets" in page.read_text()
    unproven = replace(scope, listed_bound=solution.score + 3.0)
    assert unproven.about_lists(solution.score).startswith(
        "at most 3 below the best of the networks"
    )


def test_a_certificate_is_about_the_lists() -> None:
    from parentage.check.verdict import check

    solution = learned(wide_table(n=14), 1)
    assert solution.certificate is not None
    assert solution.lists is not None
    found = check(solution.lists, solution.certificate.document)
    assert "sets of more than 1 parent" in found.terms


def test_lists_that_do_not_beat_their_subsets_are_not_enlarged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A family that is in no list has no reduced cost, and nothing near is made of it."""
    found = searched(wide_table(n=16), 1)
    assert can_grow(found)
    seen: list[int] = []
    near = Anytime._near

    def checking(run: Anytime, count: int) -> object:
        families = near(run, count)
        known = {run.growth.family(i) for i in np.flatnonzero(run.solved.rise == np.inf).tolist()}
        seen.append(len(known))
        assert not known & set(families)
        return families

    monkeypatch.setattr(Anytime, "_near", checking)
    grow_lists(found, 1.0, Context())
    assert max(seen) > 0
