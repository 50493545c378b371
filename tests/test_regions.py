"""Regions of a network, chosen again exactly, against all choices there are."""

from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive_network import best_network, random_lists
from parentage.kernels.orders import CLIMBING, MOVING, SETTLING, new_work
from parentage.kernels.regions import (
    choose_in_region,
    draw_region,
    links_of,
    members_above,
    order_of,
    settle,
)
from parentage.optimise import orders as order_search
from parentage.optimise.orders import Stream, best_of, climb_order, renew
from parentage.optimise.problem import OrderSpace, make_problem, numbers_of
from parentage.optimise.tuning import TUNING

if TYPE_CHECKING:
    import numpy.typing as npt

    from parentage.scoring.lists import CandidateLists

    Ints = npt.NDArray[np.int64]

WIDTH = np.int64(TUNING.width)
SEEDS = st.integers(0, 10**6)


def space_of(lists: CandidateLists) -> OrderSpace:
    return OrderSpace.of(make_problem(lists, np.ones(lists.n_sets, np.bool_)).pruned())


def random_network(space: OrderSpace, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Any sets that some order allows, and that order."""
    n = len(space.offsets) - 1
    order = rng.permutation(n)
    place = np.append(np.argsort(order), -1)  # padding stands in front of everybody
    fit = np.array(
        [
            rng.choice([i for i in sets_of(space, v) if place[space.sets[i]].max() < place[v]])
            for v in range(n)
        ]
    )
    return order, fit


def sets_of(space: OrderSpace, v: int) -> range:
    return range(int(space.offsets[v]), int(space.offsets[v + 1]))


def is_acyclic(space: OrderSpace, fit: Ints) -> bool:
    """Variables whose parents are all gone go, until none is left or none can."""
    n = len(fit)
    left = set(range(n))
    while left:
        gone = {v for v in left if not left & set(space.sets[fit[v]].tolist())}
        if not gone:
            return False
        left -= gone
    return True


def naive_region(space: OrderSpace, fit: Ints, region: list[int]) -> float:
    """The least cost of any acyclic choice in a region, all others as they are."""
    best, trial = np.inf, fit.copy()
    for choice in product(*(sets_of(space, v) for v in region)):
        trial[region] = choice
        if is_acyclic(space, trial):
            best = min(best, float(space.cost[trial].sum()))
    return best


def chosen(
    space: OrderSpace, order: Ints, fit: Ints, region: list[int], *, blind: bool = False
) -> tuple[float, Ints]:
    """Let the kernel choose; ``blind`` to paths outside, as a wrong version would be."""
    n, w = len(fit), len(region)
    place, above = np.full(n, -1), np.zeros(n, np.int64)
    place[region] = np.arange(w)
    members_above(order, place, fit, space.sets, above)
    if blind:
        above[place < 0] = 0
    found = fit.copy()
    gain = choose_in_region(
        w, np.array(region), found, space.offsets, space.sets, space.cost, above,
        np.empty((w, 1 << w)), np.empty((w, 1 << w), np.int64), new_work(),
    )  # fmt: skip
    return gain, found


@given(SEEDS, st.integers(2, 6), st.integers(1, 3))
def test_a_region_gets_its_best_sets(seed: int, n: int, w: int) -> None:
    rng = np.random.default_rng(seed)
    space = space_of(random_lists(rng, n))
    order, fit = random_network(space, rng)
    region = rng.choice(n, min(w, n), replace=False).tolist()
    gain, found = chosen(space, order, fit, region)
    assert is_acyclic(space, found)
    outside = np.setdiff1d(np.arange(n), region)
    assert (found[outside] == fit[outside]).all()
    assert space.cost[found].sum() == pytest.approx(naive_region(space, fit, region), abs=1e-6)
    assert space.cost[found].sum() == pytest.approx(space.cost[fit].sum() - gain)


def test_paths_outside_a_region_matter() -> None:
    """Without them cycles arise: the test above would notice."""
    cycles = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        space = space_of(random_lists(rng, 6))
        order, fit = random_network(space, rng)
        _, found = chosen(space, order, fit, rng.choice(6, 2, replace=False).tolist(), blind=True)
        cycles += not is_acyclic(space, found)
    assert cycles > 10


@given(SEEDS, st.integers(2, 9))
def test_settling_gains_what_it_says_and_stays_a_network(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    lists = random_lists(rng, n)
    space = space_of(lists)
    order, fit = random_network(space, rng)
    before, optimum = space.cost[fit].sum(), best_network(lists)
    work, state = new_work(), np.array([seed], np.uint64)
    work.pause = 1 << 40
    arrays = space.offsets, space.sets, space.cost, WIDTH, state, work
    marked = np.ones(n, np.bool_)
    gain = settle(order, fit, marked, *arrays)
    assert not marked.any()
    assert space.cost[fit].sum() == pytest.approx(before - gain)
    place = np.append(np.argsort(order), -1)
    assert all(place[space.sets[fit[v]]].max() < place[v] for v in range(n))
    if optimum is not None and (space.real[fit] >= 0).all():
        top = sum(max(score for score, _ in lists.candidates(v)) for v in range(n))
        assert space.cost[fit].sum() >= top - optimum[0] - 1e-6


def test_settling_ends_at_its_limit_and_goes_on() -> None:
    rng = np.random.default_rng(5)
    space = space_of(random_lists(rng, 9))
    order, fit = random_network(space, rng)
    work, state = new_work(), np.array([1], np.uint64)
    work.pause = 1
    marked = np.ones(9, np.bool_)
    settle(order, fit, marked, space.offsets, space.sets, space.cost, WIDTH, state, work)
    assert 0 < marked.sum() < 9 + 1
    assert work.looked >= 1
    work.pause = 1 << 40
    settle(order, fit, marked, space.offsets, space.sets, space.cost, WIDTH, state, work)
    assert not marked.any()


@given(SEEDS, st.integers(2, 9), st.integers(2, 6))
def test_a_region_hangs_together(seed: int, n: int, w: int) -> None:
    rng = np.random.default_rng(seed)
    space = space_of(random_lists(rng, n))
    _, fit = random_network(space, rng)
    first, links = links_of(fit, space.sets, True)
    region, place = np.full(min(w, n), -1), np.full(n, -1)
    region[0] = rng.integers(n)
    state = np.array([seed], np.uint64)
    count = draw_region(region, place, fit, first, links, space.offsets, space.sets, state)
    members = region[:count].tolist()
    assert len(set(members)) == count >= 1
    assert place[members].tolist() == list(range(count))
    assert (np.delete(place, members) == -1).all()
    for k in range(1, count):
        near: set[int] = set()
        for v in members[:k]:
            near |= set(links[first[v] : first[v + 1]].tolist())
            near |= set(space.sets[space.offsets[v] : fit[v]].ravel().tolist())
        assert members[k] in near


@given(SEEDS, st.integers(2, 9))
def test_parents_come_first_unless_there_is_a_cycle(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    space = space_of(random_lists(rng, n))
    fit = np.array([rng.choice(sets_of(space, v)) for v in range(n)])
    order = np.empty(n, np.int64)
    assert order_of(fit, space.sets, order) == is_acyclic(space, fit)


def hard_space(n: int, seed: int) -> OrderSpace:
    """Sets of up to three parents of many variables, with scores at random."""
    rng = np.random.default_rng(seed)
    sets, cost, counts = [], [], []
    for v in range(n):
        prices = np.sort(rng.random(30) * 100)
        own = [rng.choice(np.delete(np.arange(n), v), 3, replace=False) for _ in prices[:-1]]
        sets += [*own, np.full(3, n)]
        cost += prices.tolist()
        counts.append(len(prices))
    starts = np.arange(len(sets) + 1) * 3
    numbers = numbers_of(starts, np.concatenate(sets), n)
    reach = np.full((n, 1 + n // 64), ~np.uint64(0))
    offsets = np.concatenate([[0], np.cumsum(counts)])
    return OrderSpace(offsets, numbers, np.array(cost), reach, np.arange(len(sets)))


def test_regions_go_on_where_insertions_end() -> None:
    space, gains = hard_space(60, 0), []
    for seed in range(5):
        start = np.random.default_rng(seed).permutation(60)
        totals = []
        for regions in (False, True):
            order, state = start.copy(), np.array([seed], np.uint64)
            looked, ended = climb_order(space, order, state, lambda: False, regions=regions)
            assert ended
            assert looked > 0
            totals.append(space.cost[space.fit(order)].sum())
        gains.append(totals[0] - totals[1])
    assert min(gains) >= 0
    assert max(gains) > 10


def stream_of(n: int, seed: int, slack: float = 0.0) -> Stream:
    order = np.random.default_rng(seed).permutation(n)
    return Stream.at(order, slack, np.array([seed + 1], np.uint64))


def never(asked: Counter[str]) -> bool:
    """Never stop, and count how often that was asked."""
    asked["stop?"] += 1
    return False


@pytest.mark.parametrize("pause", [order_search.CLIMB, 50_000])
def test_a_search_keeps_its_best_and_repeats(monkeypatch: pytest.MonkeyPatch, pause: int) -> None:
    """However often it pauses: climbing, settling and disturbing go on where they were."""
    monkeypatch.setattr(order_search, "CLIMB", pause)
    space = hard_space(50, 1)
    found = []
    for _ in range(2):
        stream, best, asked = stream_of(50, 1, 0.01), np.inf, Counter[str]()
        for _ in range(4):
            stream.advance(space, 2_000_000, partial(never, asked))
            assert stream.work.best <= min(best, stream.work.cost)
            best = stream.work.best
            for order, known in zip(stream.orders, (stream.work.cost, best), strict=False):
                assert space.cost[space.fit(order)].sum() == pytest.approx(known)
        orders = [order.tolist() for order in stream.orders]
        found.append((best, orders, int(stream.state[0]), asked.total()))
    assert found[0] == found[1]
    assert (asked.total() > 40) == (pause == 50_000)


@pytest.mark.parametrize(
    ("after", "phase"), [(0, CLIMBING), (1, CLIMBING), (20, SETTLING), (120, MOVING)]
)
def test_a_search_that_is_stopped_ends_at_the_next_pause(
    monkeypatch: pytest.MonkeyPatch, after: int, phase: int
) -> None:
    monkeypatch.setattr(order_search, "CLIMB", 50_000)
    space, stream = hard_space(50, 1), stream_of(50, 1)
    asks = iter(range(after + 1))
    assert not stream.advance(space, 20_000_000, lambda: next(asks) == after)
    assert next(asks, None) is None  # nobody asked once more
    assert 50_000 * (after - 1) < stream.work.looked < 20_000_000
    assert stream.work.phase == phase
    assert np.isfinite(stream.work.cost) == (phase != CLIMBING)
    assert stream.advance(space, 2_000_000, lambda: False)
    assert space.cost[space.fit(stream.best)].sum() == pytest.approx(stream.work.best)


def test_a_search_too_large_to_be_settled_goes_on_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Eight budgets are enough for no region here, or for some; what was climbed to counts."""
    monkeypatch.setattr(order_search, "CLIMB", 10_000)
    space, stream, costs = hard_space(50, 1), stream_of(50, 1), []
    for _ in range(80):
        assert stream.advance(space, 20_000, lambda: False)
        assert stream.work.phase != SETTLING  # moves come next
        costs.append(float(stream.work.best))
    known = [cost for cost in costs if np.isfinite(cost)]
    assert len(known) > 6
    assert known == sorted(known, reverse=True)
    assert known[-1] < known[0]
    assert space.cost[space.fit(stream.best)].sum() == pytest.approx(known[-1])


def test_streams_behind_the_leader_start_at_random_and_lose_nothing() -> None:
    space, n = hard_space(50, 2), 50
    streams = [stream_of(n, k) for k in range(3)]
    for stream in streams:
        stream.advance(space, 1_000_000, lambda: False)
    least = min(float(stream.work.best) for stream in streams)
    leader = best_of(streams, space)
    assert leader.work.best <= least
    assert space.cost[space.fit(leader.best)].sum() == pytest.approx(leader.work.best)
    for stream in streams:
        stream.stale = stream.tuning.stale
    kept = leader.best.copy()
    renew(streams, leader)
    assert (leader.best == kept).all()
    for stream in streams:
        if stream is not leader:
            assert stream.climbing
            assert stream.work.cost == stream.work.best == np.inf
            assert (stream.orders.trial == stream.orders.base).all()
            assert (stream.orders.best == stream.orders.base).all()
            assert (stream.orders.base != kept).any()
