from __future__ import annotations

import math
import warnings
from collections import Counter
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import parentage
from network_cases import random_network, random_parameters
from parentage.data.table import Table
from parentage.errors import (
    InputError,
    ParentageWarning,
    ResourceError,
    TableError,
    UndecidedError,
)
from parentage.network.network import Network
from parentage.network.parameters import Parameters, fit_parameters
from strategies import tables

RAIN = Network.from_arcs(["rain", "wet"], [("rain", "wet")])


def naive_probability(
    table: Table, network: Network, child: str, state: str, given: dict[str, str], alpha: float
) -> float:
    """Count rows one by one."""
    column = {
        name: [labels[k] for k in codes]
        for name, labels, codes in zip(table.names, table.states, table.to_codes(), strict=True)
    }
    rows = [
        i for i in range(table.n_rows) if all(column[parent][i] == s for parent, s in given.items())
    ]
    labels = table.states[table.index(child)]
    hits = sum(column[child][i] == state for i in rows)
    total = len(rows) + alpha * len(labels)
    return (hits + alpha) / total if total else 1 / len(labels)


@given(tables(4), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.5, 1.0]))
def test_estimates_equal_counting_by_hand(table: Table, seed: int, alpha: float) -> None:
    network = Network(table.names, random_network(seed, table.n_variables).parents)
    parameters = fit_parameters(network, table, smoothing=alpha)
    for child in network.names:
        parents = network.parents_of(child)
        for labels in product(*(table.states[table.index(p)] for p in parents)):
            given_states = dict(zip(parents, labels, strict=True))
            for state in table.states[table.index(child)]:
                expected = naive_probability(table, network, child, state, given_states, alpha)
                found = parameters.probability(child, state, given_states)
                assert found == pytest.approx(expected, rel=1e-12)


def test_one_is_added_to_every_count_unless_told() -> None:
    table = Table.from_columns({"rain": "nnny", "wet": "nnyy"})
    parameters = RAIN.fit(table)
    assert parameters.smoothing == 1.0
    assert parameters.probability("rain", "y") == pytest.approx((1 + 1) / (4 + 2))
    assert parameters.probability("wet", "n", {"rain": "y"}) == pytest.approx(1 / 3)
    assert RAIN.fit(table, smoothing=0).probability("wet", "n", {"rain": "y"}) == 0


def test_parent_states_without_rows_are_uniform() -> None:
    table = Table(
        ("rain", "wet"), (("n", "y"), ("a", "b", "c")), np.array([[0, 0], [0, 1]], np.uint16)
    )
    parameters = RAIN.fit(table, smoothing=0)
    assert parameters.tables[1].tolist() == [[0.5, 0.5, 0.0], [1 / 3, 1 / 3, 1 / 3]]


@given(tables(5, 60), st.integers(0, 2**32 - 1))
def test_bic_is_log_likelihood_minus_penalty(table: Table, seed: int) -> None:
    data = table.drop(table.constant)
    network = Network(data.names, random_network(seed, data.n_variables).parents)
    parameters = network.fit(data, smoothing=0)
    bic = parameters.log_likelihood(data) - math.log(data.n_rows) / 2 * parameters.n_free
    assert network.score(data) == pytest.approx(bic, rel=1e-9, abs=1e-9)
    aic = parameters.log_likelihood(data) - parameters.n_free
    assert network.score(data, "aic") == pytest.approx(aic, rel=1e-9, abs=1e-9)


def test_no_smoothing_is_likelier_on_the_data_it_was_fitted_to() -> None:
    table = Table.from_columns({"rain": "nnnyny", "wet": "nnyyny"})
    fits = [RAIN.fit(table, smoothing=a).log_likelihood(table) for a in (0, 0.5, 1, 5)]
    assert fits == sorted(fits, reverse=True)


def test_log_likelihood_agrees_with_pyagrum() -> None:
    gum = pytest.importorskip("pyagrum")
    from parentage.network.bridges import to_pyagrum

    rng = np.random.default_rng(5)
    network = random_network(11, 6)
    states = [["x", "y", "z"][: int(rng.integers(2, 4))] for _ in network.names]
    parameters = random_parameters(network, states, rng)
    model = to_pyagrum(parameters)
    table = parameters.sample(50, seed=3)
    whole = gum.Instantiation()
    for name in network.names:
        whole.add(model.variable(name))
    for i, own in enumerate(parameters.log_likelihoods(table)):
        for v, name in enumerate(network.names):
            whole.chgVal(name, table.states[v][table.to_codes()[v, i]])
        assert own / math.log(2) == pytest.approx(model.log2JointProbability(whole), rel=1e-9)


def test_bic_agrees_with_pyagrum() -> None:
    gum = pytest.importorskip("pyagrum")
    pandas = pytest.importorskip("pandas")
    network = random_network(11, 6)
    states = [["x", "y", "z"][: 2 + v % 2] for v in range(6)]
    table = (
        random_parameters(network, states, np.random.default_rng(5)).sample(500, seed=3).observed()
    )
    frame = pandas.DataFrame(
        {
            name: [table.states[v][k] for k in table.to_codes()[v]]
            for v, name in enumerate(table.names)
        }
    )
    learner = gum.BNLearner(frame)
    learner.useScoreBIC()
    learner.useNoPrior()
    theirs = sum(learner.score(name, list(network.parents_of(name))) for name in network.names)
    assert network.score(table, log_base=2) == pytest.approx(theirs, rel=1e-9)


def test_impossible_rows_have_no_probability() -> None:
    parameters = RAIN.fit(Table.from_columns({"rain": "ny", "wet": "ny"}), smoothing=0)
    table = Table.from_columns({"wet": "ny", "rain": "yy"})
    assert parameters.log_likelihoods(table).tolist() == [-math.inf, math.log(0.5)]
    assert parameters.log_likelihood(table) == -math.inf


def test_labels_decide_not_codes() -> None:
    parameters = RAIN.fit(Table.from_columns({"rain": "nny", "wet": "nny"}), smoothing=0)
    upside_down = Table(("wet", "rain"), (("y", "n"), ("y", "n")), np.array([[0], [0]], np.uint16))
    assert parameters.log_likelihood(upside_down) == pytest.approx(math.log(1 / 3))
    unused = Table(("wet", "rain"), (("y", "new"), ("y",)), np.array([[0], [0]], np.uint16))
    assert parameters.log_likelihood(unused) == pytest.approx(math.log(1 / 3))
    with pytest.raises(TableError, match="column 'wet' has the state 'perhaps'"):
        parameters.log_likelihood(Table.from_columns({"rain": ["n"], "wet": ["perhaps"]}))


def test_sampling_follows_the_joint_distribution() -> None:
    rng = np.random.default_rng(2)
    network = random_network(4, 4)
    parameters = random_parameters(network, [["x", "y", "z"]] * 4, rng)
    table = parameters.sample(40_000, seed=9)
    counts = Counter(zip(*table.to_codes().tolist(), strict=True))
    for row in product(range(3), repeat=4):
        single = Table(network.names, table.states, np.array(row, np.uint16)[:, None])
        p = math.exp(parameters.log_likelihood(single))
        spread = 5 * math.sqrt(40_000 * p * (1 - p)) + 1e-6
        assert abs(counts[row] - 40_000 * p) <= spread


def test_sampling_is_repeatable_and_never_draws_the_impossible() -> None:
    row = np.array([[0, 0.3, 0, 0.7]])
    parameters = Parameters(Network(("a",), ((),)), (("x", "y", "z", "w"),), (row,))
    one, other = parameters.sample(1000, seed=1), parameters.sample(1000, seed=1)
    assert one.digest == other.digest != parameters.sample(1000, seed=2).digest
    assert set(one.to_codes()[0].tolist()) == {1, 3}
    assert parameters.sample(0).n_rows == 0
    with pytest.raises(InputError, match="rows to sample must be at least 0, not -1"):
        parameters.sample(-1)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[0.5, 0.6]], "row 0 .* sums to 1.1"),
        ([[1.5, -0.5]], "not a probability"),
        ([[math.nan, 1.0]], "not a probability"),
        ([[1.0]], r"shape \(1, 1\)"),
        ([0.5, 0.5], r"shape \(2,\)"),
    ],
)
def test_malformed_tables_are_refused(table: list[list[float]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Parameters(Network(("a",), ((),)), (("x", "y"),), (table,))  # type: ignore[arg-type]  # lists do


def test_malformed_priors_states_and_questions_are_refused() -> None:
    table = Table.from_columns({"rain": "nnny", "wet": "nnyy"})
    for smoothing in (-1.0, math.inf):
        with pytest.raises(InputError, match=r"smoothing=.* must be a number of at least 0"):
            RAIN.fit(table, smoothing=smoothing)
    with pytest.raises(InputError, match="all different"):
        Parameters(Network(("a",), ((),)), (("x", "x"),), (np.array([[0.5, 0.5]]),))
    parameters = RAIN.fit(table)
    with pytest.raises(InputError, match=r"parents \['rain'\]"):
        parameters.probability("wet", "y")
    with pytest.raises(InputError, match="no state 'Y'; did you mean 'y'"):
        parameters.probability("wet", "Y", {"rain": "n"})


def test_tables_that_cannot_fit_are_refused() -> None:
    wide = Table.from_columns({f"v{i}": "01" * 20 for i in range(30)})
    network = Network(wide.names, ((),) * 29 + (tuple(range(29)),))
    with pytest.raises(ResourceError, match="1,073,741,824 cells"):
        network.fit(wide)


def test_a_frame_with_decisions_is_refused_with_the_table_learned_from() -> None:
    frame = pl.DataFrame({"a": np.random.default_rng(0).normal(size=99), "b": ["x", "y", "z"] * 33})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ParentageWarning)
        solution = parentage.learn(frame, auto=True)
    with pytest.raises(InputError, match=r"solution\.network\.fit\(solution\.table\)"):
        solution.network.fit(frame)
    assert solution.table is not None and solution.network.fit(solution.table).n_free
    again = parentage.read_table(frame, recipe=solution.table.recipe)
    assert solution.network.fit(again).states == solution.table.states
    with pytest.raises(UndecidedError):  # a network that knows no states
        parentage.Network(("a", "b"), ((), ())).fit(frame)


def test_a_table_with_other_states_than_the_network_is_refused() -> None:
    numbers = np.random.default_rng(0).normal(size=99)
    frame = pl.DataFrame({"a": numbers, "b": ["x", "y", "z"] * 33})
    solution = parentage.learn(frame, discretize="a=at:0")
    with pytest.raises(InputError) as refused:
        solution.network.fit(parentage.read_table(frame, discretize="a=at:1"))
    seen = "column 'a' has the states {'< 1', '≥ 1'} in the table and {'< 0', '≥ 0'} in the network"
    assert seen in str(refused.value)
    some = parentage.read_table(frame.filter(pl.col("b") != "x"), discretize="a=at:0")
    fitted = solution.network.fit(some)
    assert some.states[1] == ("y", "z") and fitted.states == solution.network.states
    assert fitted.query()["b"]["x"] < fitted.query()["b"]["y"]
