"""Lists and constraints that cannot work are refused, with the culprits named."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from naive_network import random_lists
from parentage.errors import ConstraintError, ListsError, ResourceError
from parentage.optimise.problem import allowed_sets
from parentage.scoring.constraints import Constraints
from parentage.scoring.lists import CandidateLists
from parentage.work.memory import used_memory
from solving import learn_lists

NAMES = ("age", "bmi", "cost", "diet")


def lists_of(**families: list[tuple[float, list[str]]]) -> CandidateLists:
    return CandidateLists.from_families(families)


def full_lists() -> CandidateLists:
    """All sets of at most two parents; more parents score more."""
    families = {}
    for child in NAMES:
        others = [name for name in NAMES if name != child]
        sets: list[list[str]] = [[], *([a] for a in others)]
        sets += [[a, b] for i, a in enumerate(others) for b in others[i + 1 :]]
        families[child] = [(float(len(w)) - 10, w) for w in sets]
    return CandidateLists.from_families(families)


def test_one_variable_and_no_variable() -> None:
    alone = learn_lists(lists_of(a=[(-1.0, [])]))
    assert (alone.score, alone.optimal, alone.ties) == (-1.0, True, "fewest arcs")
    nothing = learn_lists(lists_of())
    assert (nothing.score, nothing.optimal, nothing.network.parents) == (0.0, True, ())


def test_no_acyclic_choice_names_the_smallest_group() -> None:
    lists = lists_of(
        a=[(-1.0, ["b"]), (-2.0, ["c"])],
        b=[(-1.0, ["c"])],
        c=[(-1.0, ["b"]), (-3.0, ["b", "d"])],
        d=[(-1.0, [])],
        e=[(-1.0, ["a"])],
    )
    with pytest.raises(ListsError, match="every set of b, c contains another of them"):
        learn_lists(lists)


def test_a_variable_without_sets() -> None:
    with pytest.raises(ListsError, match="'b' has no candidate set"):
        learn_lists(lists_of(a=[(-1.0, [])], b=[]))


@pytest.mark.parametrize("score", [float("nan"), float("inf"), float("-inf")])
def test_scores_that_are_no_numbers(score: float) -> None:
    with pytest.raises(ListsError, match="'b' has a set with the score"):
        learn_lists(lists_of(a=[(-1.0, [])], b=[(-1.0, []), (score, ["a"])]))


def test_impossible_parents() -> None:
    with pytest.raises(ListsError, match="'a' has itself as a parent; delete that set"):
        learn_lists(lists_of(a=[(-1.0, ["a"])]))
    broken = CandidateLists(
        ("a",), np.array([0, 1]), np.array([0, 1]), np.array([7], np.int32), np.array([-1.0])
    )
    with pytest.raises(ListsError, match="parent 7 is not the index"):
        learn_lists(broken)


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (Constraints(required=frozenset({("agee", "bmi")})), "did you mean 'age'"),
        (Constraints(forbidden=frozenset({("age", "age")})), "connects a variable to itself"),
        (Constraints(max_parents={"bmx": 1}), "did you mean 'bmi'"),
        (
            Constraints(max_parents={"bmi": -1}),
            "limit on parents of 'bmi' must be at least 0, not -1",
        ),
        (Constraints(tiers=(("age",), ("bmi", "age"))), "'age' is in two tiers"),
        (
            Constraints(
                required=frozenset({("age", "bmi")}), forbidden=frozenset({("age", "bmi")})
            ),
            "age → bmi is both required and forbidden",
        ),
        (
            Constraints(required=frozenset({("age", "bmi"), ("bmi", "cost"), ("cost", "age")})),
            "form a cycle: (age → bmi → cost → age|bmi → cost → age → bmi|cost → age)",
        ),
        (
            Constraints(required=frozenset({("cost", "age")}), tiers=(("age",), ("cost",))),
            "cost → age goes from tier 2 to the earlier tier 1",
        ),
        (
            Constraints(
                required=frozenset({("age", "cost"), ("bmi", "cost")}), max_parents={"cost": 1}
            ),
            "'cost' may have at most 1 parent, and 2 are required: age, bmi",
        ),
    ],
)
def test_contradictions_are_named(constraints: Constraints, message: str) -> None:
    with pytest.raises(ConstraintError, match=message):
        learn_lists(full_lists(), constraints=constraints)


def test_constraints_that_leave_a_child_nothing() -> None:
    lists = lists_of(a=[(-1.0, [])], b=[(-1.0, []), (-0.5, ["c"])], c=[(-1.0, [])])
    with pytest.raises(
        ConstraintError,
        match=r"every candidate set of 'b' violates a constraint: required arc a → b",
    ):
        learn_lists(lists, constraints=Constraints(required=frozenset({("a", "b")})))


def test_constraints_that_leave_no_acyclic_choice() -> None:
    lists = lists_of(a=[(-1.0, []), (-2.0, ["c", "b"])], b=[(-1.0, ["a"])], c=[(-1.0, [])])
    with pytest.raises(ConstraintError, match=r"every allowed set of a, b .*required"):
        learn_lists(lists, constraints=Constraints(required=frozenset({("b", "a")})))
    lists = lists_of(a=[(-1.0, ["c"]), (-2.0, ["b"])], b=[(-1.0, ["a"])], c=[(-1.0, [])])
    with pytest.raises(ConstraintError, match=r"set of a, b contains another of them; relax"):
        learn_lists(lists, constraints=Constraints(forbidden=frozenset({("c", "a")})))


def test_constraints_are_respected() -> None:
    lists = full_lists()
    free = learn_lists(lists)
    assert free.network.n_arcs == 5
    rules = Constraints(
        required=frozenset({("diet", "age")}),
        forbidden=frozenset({("diet", "bmi")}),
        max_parents={"cost": 1},
        tiers=(("age", "diet"), ("cost",)),
    )
    bound = learn_lists(lists, constraints=rules).network.to_dict()
    assert "diet" in bound["age"]
    assert "diet" not in bound["bmi"]
    assert len(bound["cost"]) <= 1
    assert not {"cost"} & ({*bound["age"]} | {*bound["diet"]})
    for child, parents in bound.items():
        assert rules.allowed(child, parents)


def test_a_cycle_of_required_arcs_beside_other_arcs() -> None:
    rules = Constraints(
        required=frozenset({("age", "bmi"), ("bmi", "cost"), ("age", "cost"), ("diet", "cost")})
    )
    rules.check(NAMES)
    with pytest.raises(
        ConstraintError, match=r"form a cycle: (bmi → cost → bmi|cost → bmi → cost)"
    ):
        Constraints(required=rules.required | {("cost", "bmi")}).check(NAMES)


def test_violations_are_told_in_words() -> None:
    rules = Constraints(
        required=frozenset({("age", "bmi")}),
        forbidden=frozenset({("cost", "bmi")}),
        max_parents={"bmi": 1},
        tiers=(("bmi",), ("diet",)),
    )
    assert rules.violated("bmi", ["cost", "diet"]) == [
        "required arc age → bmi",
        "forbidden arc cost → bmi",
        "tiers: 'diet' comes after 'bmi'",
        "at most 1 parent of 'bmi'",
    ]
    assert bool(rules)
    assert not Constraints()


def test_lists_that_do_not_fit_the_memory_are_refused_beforehand() -> None:
    lists = full_lists()
    with pytest.raises(ResourceError, match=r"learning from \d+ sets .* is free; allow fewer"):
        learn_lists(lists, memory=1_000)
    assert learn_lists(lists, memory=used_memory() + 10**9).optimal


def test_constraints_pick_the_same_sets_as_one_by_one() -> None:
    rng = np.random.default_rng(2)
    for seed in range(30):
        lists = random_lists(np.random.default_rng(seed), 5)
        names = list(lists.names)
        a, b, c, d = (str(name) for name in rng.permutation(names)[:4])
        rules = Constraints(
            forbidden=frozenset({(a, b), (c, d)}),
            required=frozenset({(b, c)}) if seed % 2 else frozenset(),
            max_parents={d: int(rng.integers(0, 3))},
            tiers=((a,), (b, c)) if seed % 3 else (),
        )
        slow = [
            rules.allowed(name, [names[p] for p in members])
            for v, name in enumerate(names)
            for _, members in lists.candidates(v)
        ]
        try:
            fast = allowed_sets(lists, rules).tolist()
        except ConstraintError:
            ends = lists.offsets.tolist()
            assert any(not any(slow[i:j]) for i, j in itertools.pairwise(ends))
            continue
        assert fast == slow
