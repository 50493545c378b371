from __future__ import annotations

import dataclasses
import pickle
from collections import defaultdict
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from network_cases import ASIA, Parents, all_dags, is_acyclic, random_network
from parentage.data.table import MISSING, Table
from parentage.errors import InputError, TableError
from parentage.network.network import (
    Network,
    arc_gains,
    listed_gains,
    topological_order,
)
from parentage.scoring.lists import CandidateLists
from parentage.scoring.scores import family_score
from strategies import random_table, tables

Key = tuple[frozenset[frozenset[int]], frozenset[tuple[frozenset[int], int]]]


def class_key(parents: Parents) -> Key:
    """Skeleton and v-structures: what decides equivalence (Verma & Pearl)."""
    skeleton = frozenset(frozenset((p, v)) for v, members in enumerate(parents) for p in members)
    colliders = frozenset(
        (frozenset(pair), v)
        for v, members in enumerate(parents)
        for pair in combinations(members, 2)
        if frozenset(pair) not in skeleton
    )
    return skeleton, colliders


def check_classes(n: int) -> int:
    names = tuple("abcde"[:n])
    classes: dict[Key, list[Parents]] = defaultdict(list)
    for parents in all_dags(n):
        classes[class_key(parents)].append(parents)
    seen = set()
    for members in classes.values():
        arcs = [set(Network(names, parents).arcs) for parents in members]
        compelled = set.intersection(*arcs)
        reversible = {(min(a), max(a)) for own in arcs for a in own if a not in compelled}
        found = {Network(names, parents).equivalence_class() for parents in members}
        assert len(found) == 1
        (cpdag,) = found
        assert cpdag.compelled == compelled
        assert cpdag.reversible == reversible
        seen.add(cpdag)
    assert len(seen) == len(classes)
    return len(classes)


@pytest.mark.parametrize(("n", "classes"), [(1, 1), (2, 2), (3, 11), (4, 185)])
def test_equivalence_classes_equal_brute_force(n: int, classes: int) -> None:
    assert check_classes(n) == classes  # OEIS A007984


@pytest.mark.long
def test_equivalence_classes_of_five_variables() -> None:
    assert check_classes(5) == 8782


def test_compare_equals_the_definitions() -> None:
    dags = [Network(("x", "y", "z"), parents) for parents in all_dags(3)]
    for one in dags:
        for other in dags:
            result = one.compare(other)
            mine, theirs = set(one.arcs), set(other.arcs)
            flipped = {(b, a) for a, b in theirs}
            assert set(result.added) == mine - theirs - flipped
            assert set(result.missing) == {a for a in theirs - mine if a[::-1] not in mine}
            assert set(result.reversed) == mine & flipped
            assert result.same_class == (class_key(one.parents) == class_key(other.parents))
            assert (result.shd == 0) == (one == other)
            assert (result.class_shd == 0) == result.same_class
            back = other.compare(one)
            assert (result.shd, result.class_shd) == (back.shd, back.class_shd)


def test_compare_does_not_mind_the_order_of_names() -> None:
    one = Network.from_arcs("abc", [("a", "b"), ("c", "b")])
    other = Network.from_arcs("cba", [("c", "b"), ("a", "b")])
    assert one == other
    assert hash(one) == hash(other)
    assert one.compare(other).shd == 0
    assert one.equivalence_class() == other.equivalence_class()
    assert one != Network.from_arcs("abc", [("a", "b")])
    assert one != "network"


def test_compare_refuses_other_variables() -> None:
    with pytest.raises(InputError, match="'d' is in only one of them"):
        Network(("a", "b"), ((), ())).compare(Network(("a", "b", "d"), ((), (), ())))


@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_order_puts_parents_first(seed: int, n: int) -> None:
    network = random_network(seed, n)
    place = {name: i for i, name in enumerate(network.order)}
    assert sorted(place) == sorted(network.names)
    assert all(place[parent] < place[child] for parent, child in network.arcs)
    assert set(network.arcs) == {(p, c) for p in network.names for c in network.children_of(p)}
    assert Network.from_parents(network.to_dict()) == network
    assert Network.from_arcs(network.names, network.arcs) == network


@given(st.lists(st.sets(st.integers(0, 5)), min_size=6, max_size=6))
def test_a_graph_is_refused_exactly_when_it_has_a_cycle(parents: list[set[int]]) -> None:
    sets = tuple(tuple(sorted(members)) for members in parents)
    if is_acyclic(sets):
        assert Network(tuple("abcdef"), sets).parents == sets
    else:
        with pytest.raises(InputError, match="the arcs form a cycle") as caught:
            Network(tuple("abcdef"), sets)
        cycle = str(caught.value).partition(": ")[2].replace("'", "").split(" → ")
        assert cycle[0] == cycle[-1]
        for parent, child in pairwise(cycle):
            assert "abcdef".index(parent) in sets["abcdef".index(child)]


def test_a_cycle_is_named() -> None:
    with pytest.raises(InputError, match="cycle: 'a' → 'b' → 'c' → 'a'"):
        Network.from_arcs("abcd", [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")])
    with pytest.raises(InputError, match="cycle: 'a' → 'a'"):
        Network.from_arcs("a", [("a", "a")])
    assert topological_order((), ()) == ()


@pytest.mark.parametrize(
    ("names", "parents", "message"),
    [
        (("a", "a"), ((), ()), "'a' occurs twice"),
        (("a", "b"), ((),), "2 variables but 1 parent sets"),
        (("a", "b"), ((), (7,)), "'b' has the parent number 7"),
        (("a", "b"), ((), (-1,)), "'b' has the parent number -1"),
        (("a", "b"), ((), (0, 0)), "'b' has the parent 'a' twice"),
    ],
)
def test_malformed_families_are_refused(
    names: tuple[str, ...], parents: Parents, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Network(names, parents)


def test_unknown_names_get_a_hint() -> None:
    with pytest.raises(InputError, match="did you mean 'smoke'"):
        ASIA.parents_of("smok")
    with pytest.raises(InputError, match="'lung' → 'x' names 'x', which is not a variable"):
        Network.from_arcs(["lung"], [("lung", "x")])


def test_immutable_and_picklable() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        ASIA.names = ("x",)  # type: ignore[misc]  # the point of the test
    assert pickle.loads(pickle.dumps(ASIA)) == ASIA  # noqa: S301  # made one line above


def test_repr_and_picture() -> None:
    assert repr(ASIA) == "Network: 8 variables, 8 arcs, at most 2 parents"
    html = ASIA._repr_html_()
    assert html.startswith("<svg")
    assert all(f">{name}</text>" in html for name in ASIA.names)


@given(tables(), st.integers(0, 2**32 - 1))
def test_score_is_the_sum_of_local_scores(table: Table, seed: int) -> None:
    network = Network(table.names, random_network(seed, table.n_variables).parents)
    for score, base in (("bic", None), ("aic", 2)):
        expected = sum(
            family_score(table, name, network.parents_of(name), score=score, log_base=base)
            for name in network.names
            if network.parents_of(name) or name not in table.constant
        )
        assert network.score(table, score, base) == pytest.approx(expected, rel=1e-12)


def test_equivalent_networks_score_the_same() -> None:
    drawn = (random_table(seed, most_variables=4) for seed in range(100))
    table = next(t for t in drawn if t.n_variables == 4 and not t.constant)
    by_class = defaultdict(set)
    for parents in all_dags(4):
        network = Network(table.names, parents)
        by_class[network.equivalence_class()].add(round(network.score(table), 6))
    assert all(len(scores) == 1 for scores in by_class.values())


def test_score_needs_the_columns() -> None:
    table = Table.from_columns({"a": "0101", "b": "0011"})
    with pytest.raises(TableError, match="no column 'c'"):
        Network(("a", "c"), ((), ())).score(table)


def test_gains_of_a_table_and_of_its_lists() -> None:
    table = Table.from_columns({"a": "0011" * 20, "b": "0011" * 19 + "0111", "c": "01" * 40})
    network = Network.from_arcs("abc", [("a", "b")])
    alone, joined = family_score(table, "b"), family_score(table, "b", ["a"])
    assert arc_gains(network, table) == {("a", "b"): pytest.approx(joined - alone)}
    lists = CandidateLists.from_families(
        {"a": [(-1.0, [])], "b": [(alone, []), (joined, ["a"])], "c": [(-1.0, [])]}
    )
    assert listed_gains(network, lists) == {("a", "b"): pytest.approx(joined - alone)}


def test_gains_from_lists_use_the_best_subset_that_is_listed() -> None:
    lists = CandidateLists.from_families(
        {"a": [(0.0, [])], "b": [(0.0, [])],
         "c": [(-1.0, ["a", "b"]), (-5.0, ["a"]), (-9.0, [])], "d": [(-3.0, ["a"])]}
    )  # fmt: skip
    network = Network.from_arcs("abcd", [("a", "c"), ("b", "c"), ("a", "d")])
    assert listed_gains(network, lists) == {("a", "c"): 8.0, ("b", "c"): 4.0}
    with pytest.raises(InputError, match="another network"):
        listed_gains(Network.from_arcs("abcd", [("b", "c")]), lists)


def test_arcs_of_a_family_that_is_never_observed_together_have_no_gain() -> None:
    codes = np.array([[0, 1, MISSING, MISSING], [MISSING, MISSING, 0, 1], [0, 1, 0, 1]], np.uint16)
    table = Table(("a", "b", "c"), (("x", "y"),) * 3, codes)
    network = Network.from_arcs("abc", [("a", "b"), ("c", "a")])
    assert set(arc_gains(network, table, "pnal:0.1")) == {("c", "a")}
