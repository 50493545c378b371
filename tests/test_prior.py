"""Soft arcs against brute force: every score, with constraints, widths, limits, holes, cuts."""

from __future__ import annotations

import itertools
import json
import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command import ok, refused
from naive import TIE
from parentage import learn
from parentage.data.datasets import chest_clinic
from parentage.errors import ConstraintError, InputError
from parentage.network.formats import read_network, read_record, write_network
from parentage.optimise.near import within
from parentage.scoring.candidates import score
from parentage.scoring.constraints import Constraints, Prior, most_added, read_prior
from parentage.scoring.explanation import explain
from parentage.scoring.formats import read_lists, write_lists
from parentage.scoring.search import levels
from parentage.scoring.settings import Scoring
from strategies import BY_SUMS, PENALISED, each, naive_of, random_table, with_holes
from test_candidates import assert_same, families
from test_pnal import is_acyclic
from test_scope import assert_honest
from tuned import tune

if TYPE_CHECKING:
    from pathlib import Path

    from naive import Naive, Set
    from parentage.data.table import Table
    from test_candidates import Families

SCORES = [*PENALISED, *BY_SUMS, "pnal:0.05"]
SHARES = [0.0, 0.01, 0.2, 0.5, 0.5, 0.7, 0.95, 0.999]


def random_prior(rng: np.random.Generator, names: list[str]) -> Prior:
    """A prior of every kind: prices, bonuses, arcs that are certain (acyclic ones)."""
    default = float(rng.choice([0.5, 0.05, 0.3, 0.6, 0.9], p=[0.4, 0.2, 0.2, 0.1, 0.1]))
    arcs: dict[tuple[str, str], float] = {}
    for a, b in itertools.permutations(names, 2):
        if rng.random() < 0.4:
            arcs[a, b] = float(rng.choice(SHARES))
        if names.index(a) < names.index(b) and rng.random() < 0.07:
            arcs[a, b] = 1.0
    return Prior(default, arcs)


class Soft:
    """Brute force with a prior: straight from its definition."""

    def __init__(self, table: Table, name: str, prior: Prior) -> None:
        naive, keep = naive_of(table, name)
        self.naive: Naive = naive
        self.label = [table.names[v] for v in keep]
        self.prior = prior

    def probability(self, parent: int, child: int) -> float:
        arc = self.label[parent], self.label[child]
        return self.prior.arcs.get(arc, self.prior.default)

    def allowed(self, x: int, parents: Set) -> bool:
        others = self.naive.others(x)
        return not any(self.probability(p, x) == (0 if p in parents else 1) for p in others)

    def s(self, x: int, parents: Set) -> float:
        shares = [self.probability(p, x) for p in parents]
        added = math.fsum(math.log(p / (1 - p)) for p in shares if p < 1)
        return self.naive.s(x, parents) + added

    def lists(self, most: int | None = None, width: float | None = None) -> Families:
        found: Families = {}
        for x in range(self.naive.n):
            sets = [s for s in self.naive.parent_sets(x, most) if self.allowed(x, s)]
            for own in sets:
                value = self.s(x, own)
                best = max((self.s(x, s) for s in sets if set(s) < set(own)), default=-math.inf)
                lead = TIE if width is None else -width - TIE
                if value > -math.inf and (best == -math.inf or value > best + lead):
                    found[self.label[x], tuple(self.label[p] for p in own)] = value
        return found


def drawn(seed: int, most_variables: int = 5) -> tuple[Table, str, Prior]:
    rng = np.random.default_rng(seed)
    table, name = random_table(seed, most_variables, 40, 3), SCORES[seed % len(SCORES)]
    if name.startswith("pnal"):
        table = with_holes(table, seed)
    varying = [v for v in table.names if v not in table.constant]
    return table, name, random_prior(rng, varying)


def assert_lists_are_right(seed: int) -> bool:
    """Compare with brute force; False if required parents are never seen together."""
    table, name, prior = drawn(seed)
    k = [None, None, 1, 2][seed % 4]
    width = [None, None, 0.0, 1.0, 10.0][seed % 5]
    needed = max(sum(c == x and p == 1 for (_, c), p in prior.arcs.items()) for x in table.names)
    if k is not None and needed > k:
        k = None
    try:
        lists = score(table, score=name, prior=prior, max_parents=k, width=width, threads=1)
    except ConstraintError as error:
        assert "never observed" in str(error)
        return False
    expected = Soft(table, name, prior).lists(k, width)
    expected.update({(constant, ()): 0.0 for constant in table.constant})
    assert_same(families(lists), expected)
    return True


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6))
def test_lists_equal_brute_force(seed: int) -> None:
    assert_lists_are_right(seed)


@pytest.mark.long
@pytest.mark.parametrize("block", range(10))
def test_four_thousand_tables(block: int) -> None:
    right = [assert_lists_are_right(seed) for seed in range(400 * block, 400 * (block + 1))]
    assert sum(right) > 380


def best_of_all(soft: Soft, k: int | None = None) -> float:
    """The best network by trying every one."""
    n = soft.naive.n
    sets = [[s for s in soft.naive.parent_sets(x, k) if soft.allowed(x, s)] for x in range(n)]
    return max(
        (
            math.fsum(soft.s(x, chosen[x]) for x in range(n))
            for chosen in itertools.product(*sets)
            if is_acyclic([list(s) for s in chosen])
        ),
        default=-math.inf,
    )


@each("seed", 2 * len(SCORES))
def test_the_optimum_is_that_of_all_networks(seed: int) -> None:
    table, name, prior = drawn(seed, 4)
    soft = Soft(table, name, prior)
    try:
        solution = learn(table, score=name, prior=prior)
    except ConstraintError as error:
        assert "never observed" in str(error)
        return
    assert solution.optimal
    assert solution.score == pytest.approx(best_of_all(soft), abs=1e-8)
    parents = solution.network.to_dict()
    own = [soft.s(x, tuple(soft.label.index(p) for p in parents[name]))
           for x, name in enumerate(soft.label)]  # fmt: skip
    assert math.fsum(own) == pytest.approx(solution.score, abs=1e-8)


def test_a_prior_that_forgets_what_it_may_lift_would_be_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The harness bites: without the width that the bonus needs, sets are lost."""
    monkeypatch.setattr(
        "parentage.scoring.search.plan.most_added", lambda odds, *_: np.zeros(len(odds))
    )
    with pytest.raises(AssertionError):
        for seed in range(200):
            assert_lists_are_right(seed)


def test_most_added_counts_what_may_be_used() -> None:
    odds = np.array([[0.0, 2.0, -1.0, 3.0]] * 4)
    barred = np.zeros((4, 4), np.bool_)
    barred[1, 3] = True
    assert most_added(odds, barred, np.array([3, 3, 1, 0])).tolist() == [5.0, 2.0, 3.0, 0.0]


@pytest.mark.parametrize("chunk", [1, 65_536])
def test_cut_searches_bound_what_they_left_out(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tune(monkeypatch, levels, fewest_joins=min(chunk, 256))
    tune(monkeypatch, levels, most_joins=chunk)
    cuts = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        table = random_table(seed, 6, 40)
        varying = [v for v in table.names if v not in table.constant]
        prior = random_prior(rng, varying).uncertain()
        asked = Scoring(score=["bic", "aic", *BY_SUMS][seed % 9], prior=prior)
        cuts += assert_honest(table, int(rng.integers(0, 3 if chunk > 1 else 8)), asked)
    assert cuts > 10


# ---------------------------------------------------------------------------------------------
# What it means


def test_one_half_says_nothing() -> None:
    table = chest_clinic(300)
    plain = score(table)
    assert score(table, prior=0.5).digest == plain.digest
    assert score(table, prior={("smoke", "lung"): 0.5}).digest == plain.digest
    assert not score(table, prior=0.5).known().prior


def test_the_ends_are_constraints() -> None:
    table = chest_clinic(300)
    known = Constraints(
        required=frozenset({("asia", "tub")}), forbidden=frozenset({("smoke", "bronc")})
    )
    soft = learn(table, prior={("asia", "tub"): 1, ("smoke", "bronc"): 0})
    hard = learn(table, constraints=known)
    assert soft.score == hard.score and soft.network == hard.network
    assert soft.scope.constraints == known


def test_belief_can_turn_and_add_arcs() -> None:
    table = chest_clinic(1000)
    plain = learn(table).network
    assert ("smoke", "bronc") in plain.arcs or ("bronc", "smoke") in plain.arcs
    for arc in [("smoke", "bronc"), ("bronc", "smoke")]:
        found = learn(table, prior={arc: 0.999, arc[::-1]: 0.001})
        assert arc in found.network.arcs
        assert not found.scope.equivalent
        assert "The prior values" in found.scope.about_directions()
    sparse = learn(table, prior=1e-9)
    assert sparse.network.n_arcs < plain.n_arcs
    assert sparse.scope.equivalent
    assert "log prior" in sparse.scope.about_scores()


def test_gains_and_near_networks_include_the_prior() -> None:
    table = chest_clinic(500)
    prior = {("smoke", "bronc"): 0.99}
    lists = score(table, prior=prior, width=3.0)
    solution = learn(lists)
    gain = solution.gains["smoke", "bronc"]
    plain = explain(table, "bronc", ["smoke"]).score - explain(table, "bronc", []).score
    assert gain == pytest.approx(plain + math.log(99), abs=1e-9)
    near = within(lists, width=2.0)
    assert near.about_directions
    assert near.scores[0] == pytest.approx(solution.score, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.data())
def test_explanations_agree_with_brute_force(seed: int, data: st.DataObject) -> None:
    table, name, drawn_prior = drawn(seed, 4)
    prior = drawn_prior.uncertain()
    soft = Soft(table, name, prior)
    x = data.draw(st.sampled_from(range(soft.naive.n)))
    parents = tuple(sorted(data.draw(st.sets(st.sampled_from(soft.naive.others(x))))))
    labels = [soft.label[p] for p in parents]
    found = explain(table, soft.label[x], labels, score=name, prior=prior)
    kept = soft.lists()
    assert found.kept == ((soft.label[x], tuple(labels)) in kept)
    if math.isfinite(found.score):
        assert found.score == pytest.approx(soft.s(x, parents), abs=1e-9)
        for larger in soft.naive.parent_sets(x):
            if set(parents) <= set(larger):
                assert soft.s(x, larger) <= found.at_most + 1e-9
    for check in found.fired():
        for larger in soft.naive.parent_sets(x):
            if set(parents) <= set(larger):
                names = tuple(soft.label[p] for p in larger)
                assert (soft.label[x], names) not in kept, check


def test_files_and_json_carry_the_prior(tmp_path: Path) -> None:
    table = chest_clinic(300)
    prior = Prior(0.2, {("smoke", "lung"): 0.9})
    lists = score(table, prior=prior)
    write_lists(lists, tmp_path / "lists.jkl")
    assert read_lists(tmp_path / "lists.jkl").account == lists.account
    solution = learn(lists)
    write_network(solution, tmp_path / "net.json")
    scope = read_record(tmp_path / "net.json").scope
    assert scope is not None and scope.origin == lists.account
    assert read_network(tmp_path / "net.json") == solution.network
    with pytest.raises(InputError, match=r"prior=0\.2 is for tables, and these are lists"):
        learn(lists, prior=0.2)


# ---------------------------------------------------------------------------------------------
# The command line and bad input


def test_the_command_line(tmp_path: Path) -> None:
    table = chest_clinic(300)
    data = tmp_path / "clinic.csv"
    labels = [[table.states[v][c] for v, c in enumerate(row)] for row in table.to_codes().T]
    data.write_text("\n".join(",".join(row) for row in [table.names, *labels]))
    belief = tmp_path / "belief.toml"
    belief.write_text('default = 0.2\narcs = [["smoke", "lung", 0.9], ["xray", "smoke", 0]]\n')
    found = json.loads(ok("learn", str(data), "--prior", str(belief), "--json"))
    expected = learn(table, prior=Prior(0.2, {("smoke", "lung"): 0.9, ("xray", "smoke"): 0}))
    assert found["score"] == pytest.approx(expected.score)
    assert found["scope"]["account"]["prior"]["arcs"] == [
        ["smoke", "lung", 0.9], ["xray", "smoke", 0.0],
    ]  # fmt: skip
    assert "Scores include the log prior" in ok("learn", str(data), "--prior", "0.2")
    assert "Scores include the log prior" in ok("score", str(data), "--prior", "0.2", "-k", "1")
    ok("explain", str(data), "lung", "smoke", "--prior", str(belief))
    assert "lie between 0 and 1" in refused("learn", str(data), "--prior", "1.5")
    assert "neither a probability nor a file" in refused("learn", str(data), "--prior", "nofile")


BAD_FILES = {
    "arcs = [[1, 2, 3]]": "arcs.0.0 must be a text, not 1 .docs",
    'arcs = [["a", "b"]]': "arcs.0 must be a list of 3",
    'arcs = [["a", "b", true]]': "arcs.0.2 must be a number, not True",
    'arcs = [["a", "b", 1.5]]': "a probability lies",
    'arcs = [["a", "b", 0.1], ["a", "b", 0.2]]': "twice",
    "default = 'x'": "default must be a number, not 'x'",
    "default = 1.0": "lie between 0 and 1",
    "arc = []": "did you mean 'arcs'",
    "= = =": "not a TOML file",
}


@pytest.mark.parametrize("text", BAD_FILES)
def test_bad_files_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "belief.toml"
    path.write_text(text)
    with pytest.raises((InputError, ConstraintError), match=BAD_FILES[text]):
        read_prior(path)


def test_bad_priors_are_refused() -> None:
    table = chest_clinic(100)
    with pytest.raises(ConstraintError, match="names 'smok', which is not a variable; did you"):
        score(table, prior={("smok", "lung"): 0.9})
    with pytest.raises(ConstraintError, match="connects a variable to itself"):
        score(table, prior={("lung", "lung"): 0.9})
    for bad in (1.0, 0.0, -0.1, math.nan, "0.5", True):
        with pytest.raises(InputError):
            score(table, prior=bad)  # type: ignore[arg-type]  # on purpose
    with pytest.raises(ConstraintError, match="required and forbidden"):
        score(
            table,
            prior={("smoke", "lung"): 0},
            constraints=Constraints(required=frozenset({("smoke", "lung")})),
        )
    with pytest.raises(ConstraintError, match="cycle"):
        score(table, prior={("smoke", "lung"): 1, ("lung", "smoke"): 1})


def test_explanations_add_nothing_for_arcs_that_are_certain() -> None:
    table = chest_clinic(300)
    belief = Prior(0.1, {("smoke", "lung"): 1.0})
    listed = families(score(table, prior=belief))["lung", ("smoke",)]
    assert explain(table, "lung", ["smoke"], prior=belief).score == pytest.approx(listed)
