"""Lists that grow under every score, with required arcs, priors and holes, against brute force."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive_network import best_network, is_acyclic
from parentage.growth.anytime import families_of, grow_lists
from parentage.growth.growth import Growth, can_grow
from parentage.growth.score import growth_score
from parentage.network.network import Network
from parentage.pipeline import learn
from parentage.scoring.account import Account
from parentage.scoring.candidates import score
from parentage.scoring.constraints import Constraints, Prior
from parentage.scoring.encoding import Encoded, pack_states
from parentage.scoring.measures import measure as measures
from parentage.scoring.measures import penalised, sums
from parentage.scoring.measures.measure import with_a_bit_in_front
from parentage.scoring.search.plan import encode_plans, prepare_search
from parentage.scoring.settings import Scoring
from parentage.work.context import Context
from strategies import BY_SUMS, random_table, with_holes
from test_growth import SEEDS, grown, searched, wide_table
from test_prior import Soft

if TYPE_CHECKING:
    from parentage.arrays import Ints
    from parentage.data.table import Table
    from parentage.scoring.measures.measure import Members

KINDS = ["bic", "aic", *BY_SUMS, "pnal:0.05"]


class Asked:
    """A random table with a score, required and forbidden arcs and a prior, each in turn."""

    def __init__(self, seed: int, name: str, most_variables: int) -> None:
        rng = np.random.default_rng(seed)
        self.name = name
        self.table = random_table(seed, most_variables, 60, least_rows=3)
        if name.startswith("pnal"):
            self.table = with_holes(self.table, seed)
        varying = [v for v in self.table.names if v not in self.table.constant]
        order = [varying[i] for i in rng.permutation(len(varying))]
        arcs = [(a, b) for i, a in enumerate(order) for b in order[i + 1 :]]
        share = rng.choice([0.0, 0.2, 0.5])
        self.required = frozenset(arc for arc in arcs if rng.random() < share)
        barred = rng.random() < 0.3
        self.forbidden = frozenset(a for a in arcs if barred and rng.random() < 0.2) - self.required
        shares = {arc: float(rng.choice([0.01, 0.2, 0.7, 0.95])) for arc in arcs[::2]}
        default = float(rng.choice([0.1, 0.5, 0.6]))
        self.prior = Prior(default, shares) if rng.random() < 0.5 else Prior()

    @property
    def wanted(self) -> dict[str, object]:
        constraints = Constraints(required=self.required, forbidden=self.forbidden)
        return {"score": self.name, "constraints": constraints, "prior": self.prior}

    def allowed(self, child: str, parents: tuple[str, ...]) -> bool:
        needed = {a for a, b in self.required if b == child}
        return needed <= set(parents) and not any((p, child) in self.forbidden for p in parents)


def seen_together(asked: Asked) -> bool:
    """Whether the required families have rows: those without are refused before anything."""
    rows = np.array([codes != 65_535 for codes in asked.table.to_codes()])
    for child in asked.table.names:
        family = [child, *(a for a, b in asked.required if b == child)]
        if not rows[[asked.table.index(v) for v in family]].all(axis=0).any():
            return False
    return True


@given(st.sampled_from(KINDS), SEEDS, st.integers(0, 2))
def test_grown_families_score_as_brute_force_and_as_complete_lists(
    name: str, seed: int, complete: int
) -> None:
    asked = Asked(seed, name, 5)
    if not seen_together(asked):
        return
    found = searched(asked.table, complete, **asked.wanted)
    if not can_grow(found):
        assert found.complete
        return
    more, expanded = grow_lists(found, 1.0, Context())
    network, lists, short = expanded.network, more.lists(), found.lists()
    whole = score(asked.table, **asked.wanted)  # type: ignore[arg-type]  # by name
    assert whole.account.complete
    truth = Soft(asked.table, name, asked.prior)
    at = {label: i for i, label in enumerate(truth.label)}
    for child in truth.label:
        sets = {c.parents: c.score for c in lists[child]}
        exact = {c.parents: c.score for c in whole[child]}
        first = {c.parents for c in short[child] if len(c.parents) <= complete}
        assert {p for p in sets if len(p) <= complete} == first
        assert {p for p in exact if len(p) <= complete} == first
        for parents, value in sets.items():
            assert asked.allowed(child, parents)
            expected = truth.s(at[child], tuple(sorted(at[p] for p in parents)))
            assert value == pytest.approx(expected, abs=1e-6)
            assert value == exact.get(parents, value)  # bit for bit
    assert is_acyclic(network.parents)
    for child, chosen in network.to_dict().items():
        assert asked.allowed(child, tuple(chosen))


@settings(max_examples=50)
@given(st.sampled_from(KINDS), SEEDS, st.integers(0, 1))
def test_enlarging_finds_what_beats_a_set_and_its_subsets(
    name: str, seed: int, complete: int
) -> None:
    """Of every family that is enlarged, by definition: the order of the families decides ties."""
    asked = Asked(seed, name, 5)
    if not seen_together(asked):
        return
    found = searched(asked.table, complete, **asked.wanted)
    if not can_grow(found):
        return
    growth = Growth(found)
    truth = Soft(asked.table, name, asked.prior)
    label = [asked.table.names[v] for v in growth.encoded.order]
    at = [truth.label.index(name) for name in label]

    def exact(child: int, parents: tuple[int, ...]) -> float:
        whole = (*parents, *growth.score.required[child])
        return truth.s(at[child], tuple(sorted(at[p] for p in whole)))

    done = 0
    while done < growth.n_sets:
        child, parents = growth.family(done)
        assert growth.nats(np.array([done]))[0] == pytest.approx(exact(child, parents), abs=1e-6)
        known = {growth.family(i) for i in range(growth.n_sets)}
        expected = set()
        for y in range(growth.n if growth.is_open((child, parents)) else 0):
            whole = tuple(sorted((*parents, y)))
            named = (*whole, *growth.score.required[child])
            if y in (child, *parents, *growth.score.required[child]):
                continue
            if not asked.allowed(label[child], tuple(label[p] for p in named)):
                continue
            subsets = [tuple(p for p in whole if p != gone) for gone in whole]
            rivals = [s for s in subsets if s == parents or (child, s) in known]
            if all(exact(child, whole) > exact(child, s) + 1e-6 for s in rivals):
                expected.add((child, whole))
        growth.enlarge([(child, parents)])
        after = {growth.family(i) for i in range(growth.n_sets)}
        assert after == known | expected
        done += 1


@settings(max_examples=50)
@given(st.sampled_from(KINDS), SEEDS, st.integers(0, 2))
def test_no_more_is_claimed_than_proven_of_any_kind(name: str, seed: int, complete: int) -> None:
    asked = Asked(seed, name, 5)
    if not seen_together(asked):
        return
    best = best_network(score(asked.table, **asked.wanted))  # type: ignore[arg-type]  # by name
    assert best is not None
    solution = grown(asked.table, complete, **asked.wanted)  # type: ignore[arg-type]  # by name
    assert solution.score <= best[0] + 1e-6
    assert solution.bound >= best[0] - 1e-6
    assert solution.bound >= solution.score
    if solution.optimal:
        assert solution.score == pytest.approx(best[0], abs=1e-6)


def kinds_of(table: Table) -> list[dict[str, object]]:
    """Everything that may be asked for and grows, one at a time and together."""
    required = Constraints(required=frozenset({("v0", "v9"), ("v4", "v9"), ("v7", "v8")}))
    arcs = {("v1", "v7"): 0.9, ("v2", "v8"): 0.05}
    holes = with_holes(table, 4)
    return [
        {"table": table, "score": "bdeu"},
        {"table": table, "score": "qnml"},
        {"table": table, "constraints": required},
        {"table": table, "prior": Prior(0.2, arcs)},
        {"table": table, "score": "k2", "constraints": required, "prior": Prior(0.3, arcs)},
        {"table": holes, "score": "pnal:0.01", "constraints": required},
    ]


@pytest.mark.usefixtures("small_tables_expand")
@pytest.mark.parametrize("number", range(6))
def test_growing_finds_the_optimum_and_repeats(number: int) -> None:
    how = kinds_of(wide_table(n=10))[number]
    table = how.pop("table")
    best = learn(table, **how)  # type: ignore[arg-type]  # by name
    short = grown(table, 1, effort=0.0, **how)  # type: ignore[arg-type]  # by name
    solution = grown(table, 1, effort=0.1, threads=1, **how)  # type: ignore[arg-type]  # by name
    again = grown(table, 1, effort=0.1, threads=2, **how)  # type: ignore[arg-type]  # by name
    assert best.optimal
    assert short.score < solution.score
    assert solution.score == pytest.approx(best.score, abs=1e-6)
    assert solution.bound >= best.score - 1e-6
    assert (solution.network, solution.score) == (again.network, again.score)
    one, other = solution.scope.origin, again.scope.origin
    assert isinstance(one, Account)
    assert isinstance(other, Account)
    assert one.digest == other.digest
    assert one.explored == other.explored > 0


@pytest.mark.parametrize("name", BY_SUMS)
def test_functions_reach_every_count(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The sweep of the empty sweep begins with a column of one state: it has all rows."""
    lengths: dict[int, int] = {}
    counted = measures.sums_with_each

    def noting(swept: Encoded, sweeps: Members, others: Members, f: Ints, row: Any = None) -> Ints:
        lengths[sweeps.shape[1]] = f.shape[1]
        return counted(swept, sweeps, others, f, row)

    for module in (penalised, sums):
        monkeypatch.setattr(module, "sums_with_each", noting)
    table = random_table(2, 5, 60, 60)
    rows = table.n_rows
    prepared = prepare_search(table, Scoring(score=name))
    by = growth_score(prepared, encode_plans(prepared))
    for number in range(len(by.counters)):
        by.count(number, [()])
        assert lengths[0] > rows
        by.count(number, [(0, 1)])
        assert lengths[2] > max(np.bincount(column).max() for column in table.to_codes())


def test_bits_behind_a_column_of_one_state_are_those_of_its_codes() -> None:
    for variables in (5, 31, 32, 40):  # 63, 64 and 65 bits among them
        codes = np.random.default_rng(variables).integers(0, 2, (variables, 50)).astype(np.uint16)
        arity = np.full(variables, 2)
        front = np.vstack([np.zeros((1, 50), np.uint16), codes])
        expected = pack_states(front, np.concatenate([[1], arity]))
        bits = with_a_bit_in_front(pack_states(codes, arity), 1 + 2 * variables)
        assert (bits == expected).all()


@settings(max_examples=150)
@given(st.sampled_from(KINDS), SEEDS, st.integers(0, 2))
def test_families_are_taken_as_they_are_with_the_scores_of_complete_lists(
    name: str, seed: int, complete: int
) -> None:
    """Of a random network: what is allowed and beats what is known, and nothing else."""
    asked = Asked(seed, name, 6)
    if not seen_together(asked):
        return
    found = searched(asked.table, complete, **asked.wanted)
    if not can_grow(found):
        return
    start = random_network(asked.table, seed)
    growth = Growth(found, widest=max(map(len, start.parents)))
    first = growth.n_sets
    order = found.plans[0].encoded.order
    at = {asked.table.names[v]: i for i, v in enumerate(order.tolist())}
    taken = growth.take(families_of(start, at, growth.score.required))
    assert growth.n_sets == first + taken
    assert growth.take(families_of(start, at, growth.score.required)) == 0
    truth = Soft(asked.table, name, asked.prior)
    label = {i: truth.label.index(asked.table.names[v]) for i, v in enumerate(order.tolist())}
    entered = set()
    for i in range(first, growth.n_sets):
        child, parents = growth.family(i)
        whole = (*parents, *growth.score.required[child])
        expected = truth.s(label[child], tuple(sorted(label[p] for p in whole)))
        assert growth.nats(np.array([i]))[0] == pytest.approx(expected, abs=1e-6)
        entered.add(asked.table.names[order[child]])
    both = Growth(found)
    for family in (growth.family(i) for i in range(first, growth.n_sets)):
        child, parents = family
        sweeps = both.score.sweeps_of(family)
        both._sweeps.hold(sweeps)
        without, along = (both._sweeps.vectors[both._sweeps.row[sweep]] for sweep in sweeps)
        counted = [both.score.count_alone(s) for s in sweeps if s[1]]
        assert counted[-1] == along[child]  # bit for bit
        assert both.score.measures[0].whole_families or counted[0] == without[parents[0]]
    for own, chosen in start.to_dict().items():
        if own in entered:
            assert asked.allowed(own, tuple(p for p in chosen if p in at))


@settings(max_examples=100)
@given(st.sampled_from(KINDS), SEEDS, st.integers(0, 1), st.sampled_from([None, 2, 3]))
def test_no_answer_is_worse_than_a_start_that_is_allowed(
    name: str, seed: int, complete: int, most: int | None
) -> None:
    asked = Asked(seed, name, 6)
    if not seen_together(asked):
        return
    start = random_network(asked.table, seed, most)
    varying = [v for v in asked.table.names if v not in asked.table.constant]
    chosen = {v: tuple(p for p in start.to_dict()[v] if p in varying) for v in varying}
    needed = max(sum(b == v for _, b in asked.required) for v in asked.table.names)
    wanted = dict(asked.wanted) if most is None else {**asked.wanted, "max_parents": most}
    if most is not None and needed > most:
        return
    solution = grown(asked.table, complete, 0.0, start=start, **wanted)
    limit = len(varying) if most is None else most
    assert all(len(parents) <= limit for parents in solution.network.parents)
    assert all(asked.allowed(v, tuple(solution.network.to_dict()[v])) for v in varying)
    if all(asked.allowed(v, parents) for v, parents in chosen.items()):
        truth = Soft(asked.table, name, asked.prior)
        at = {label: i for i, label in enumerate(truth.label)}
        own = sum(truth.s(at[v], tuple(sorted(at[p] for p in chosen[v]))) for v in varying)
        assert solution.score >= own - 1e-6


def random_network(table: Table, seed: int, most: int | None = None) -> Network:
    """A network with many arcs, whatever the data say."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(table.n_variables).tolist()
    parents: list[tuple[int, ...]] = [()] * table.n_variables
    for i, v in enumerate(order):
        chosen = [p for p in order[:i] if rng.random() < 0.7]
        parents[v] = tuple(sorted(chosen[:most]))
    return Network(table.names, tuple(parents))
