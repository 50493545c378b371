"""Rows with missing cells: likelihood, prediction and imputation against enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive_inference import joint_states, naive_joint
from network_cases import ASIA, some_parameters
from parentage.data.datasets import chest_clinic
from parentage.data.table import MISSING, Table
from parentage.errors import InputError
from parentage.network.inference import ABSENT, EvidenceError, patterns
from parentage.network.network import Network
from parentage.network.parameters import Parameters


def with_holes(found: Parameters, rng: np.random.Generator, rows: int, share: float) -> Table:
    """Rows of a network with cells removed at random."""
    table = found.sample(rows, int(rng.integers(2**31)))
    holes = rng.random(table.to_codes().shape) < share
    return Table(
        table.names, table.states, np.where(holes, MISSING, table.to_codes()).astype(np.uint16)
    )


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.3, 0.7, 1.0]), st.booleans())
def test_equals_enumeration(seed: int, share: float, zeros: bool) -> None:
    rng = np.random.default_rng(seed)
    found = some_parameters(rng, zeros)
    table = with_holes(found, rng, int(rng.integers(1, 12)), share)
    target = int(rng.integers(table.n_variables))
    logs = found.log_likelihoods(table)
    shares = found.predict(table, table.names[target])
    each, together = found.impute(table), found.impute(table, "joint")
    assert each.names == together.names == table.names
    for i in range(table.n_rows):
        row = table.to_codes()[:, i].tolist()
        seen = {v: code for v, code in enumerate(row) if code != MISSING}
        hidden = [v for v in range(len(row)) if v not in seen]
        _, p = naive_joint(found, [], seen, {})
        assert logs[i] == pytest.approx(math.log(p), abs=1e-9)
        rest = {v: code for v, code in seen.items() if v != target}
        expected, _ = naive_joint(found, [target], rest, {})
        for (k,), q in expected.items():
            assert shares[i, k] == pytest.approx(q, abs=1e-12)
        for v in range(len(row)):
            if v in seen:
                assert each.to_codes()[v, i] == together.to_codes()[v, i] == row[v]
                continue
            alone, _ = naive_joint(found, [v], seen, {})
            best = max(alone.values())
            assert alone[(int(each.to_codes()[v, i]),)] == pytest.approx(best)
        states, _ = naive_joint(found, hidden, seen, {})
        chosen = tuple(int(together.to_codes()[v, i]) for v in hidden)
        assert states[chosen] == pytest.approx(max(states.values()))


def test_many_rows_of_one_pattern_and_many_patterns() -> None:
    """Chunks and groups leave nothing out: every row alone says the same."""
    rng = np.random.default_rng(4)
    found = ASIA.fit(chest_clinic(200), smoothing=1.0)
    table = found.sample(9000, 1)
    codes = table.to_codes().astype(np.int64)
    codes[2, :8500] = ABSENT
    codes[:, 8500:][rng.random((8, 500)) < 0.3] = ABSENT
    seen = np.concatenate([pattern.rows for pattern in patterns(codes)])
    assert sorted(seen.tolist()) == list(range(9000))
    for pattern in patterns(codes):
        rows = codes[:, pattern.rows]
        assert {v for v in range(8) if (rows[v] == ABSENT).any()} == set(pattern.hidden)
        assert all((codes[v, pattern.rows] == c).all() for v, c in pattern.observed.items())
    holes = Table(table.names, table.states, np.where(codes < 0, MISSING, codes).astype(np.uint16))
    logs = found.log_likelihoods(holes)
    for i in (0, 4095, 4096, 8499, 8500, 8999):
        one = Table(table.names, table.states, holes.to_codes()[:, i : i + 1])
        assert found.log_likelihoods(one)[0] == pytest.approx(logs[i])


def test_rows_without_any_cell() -> None:
    found = ASIA.fit(chest_clinic(200), smoothing=1.0)
    empty = Table(ASIA.names, found.states, np.full((8, 3), MISSING, np.uint16))
    assert found.log_likelihoods(empty).tolist() == [0, 0, 0]
    prior = found.query()
    assert found.predict(empty, "dysp")[2].tolist() == pytest.approx(list(prior["dysp"].values()))
    best = found.most_probable().states
    filled = found.impute(empty, "joint")
    labels = {
        v: filled.states[filled.index(v)][filled.to_codes()[filled.index(v), 0]] for v in ASIA.names
    }
    assert labels == best


def test_impossible_rows_and_wrong_words() -> None:
    rain = Network.from_arcs(["rain", "wet"], [("rain", "wet")])
    wet = np.array([[1.0, 0.0], [0.0, 1.0]])
    found = Parameters(rain, (("n", "y"), ("n", "y")), (np.full((1, 2), 0.5), wet))
    third = Table(
        ("rain", "wet", "z"), (("n", "y"),) * 3, np.array([[0, 1], [0, 0], [0, 1]], np.uint16)
    )
    assert found.log_likelihoods(third).tolist() == [math.log(0.5), -math.inf]
    chain = Network.from_arcs(["rain", "wet", "z"], [("rain", "wet"), ("wet", "z")])
    longer = Parameters(chain, (("n", "y"),) * 3, (np.full((1, 2), 0.5), wet, wet))
    with pytest.raises(EvidenceError, match=r"^row 2 has probability 0 under these parameters"):
        longer.predict(third, "z")
    holes = Table(third.names, third.states, np.array([[0, 1], [0, 0], [0, MISSING]], np.uint16))
    for how in ("each", "joint"):
        with pytest.raises(EvidenceError, match=r"^row 2 has probability 0"):
            longer.impute(holes, how)
    with pytest.raises(
        InputError, match=r"'eahc' is not an imputation method; did you mean 'each'\?"
    ):
        longer.impute(third, "eahc")  # type: ignore[arg-type]  # what is refused
    assert sum(p for _, p in joint_states(found, {})) == pytest.approx(1)
