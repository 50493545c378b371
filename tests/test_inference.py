"""Exact inference: equal to enumeration, to pyAgrum, and clear about what it refuses."""

from __future__ import annotations

import gzip
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive_inference import naive_joint, naive_most_probable
from network_cases import ASIA, parameters, some_case, some_parameters
from parentage.cli.query import parse_findings
from parentage.data.datasets import chest_clinic
from parentage.data.reading import read_table
from parentage.errors import InputError, ResourceError
from parentage.network import inference
from parentage.network.bridges import to_pyagrum
from parentage.network.elimination import CliqueTree, Factor, log_max, log_sum, plan_elimination
from parentage.network.inference import EvidenceError, brief
from parentage.network.network import Network
from parentage.network.parameters import Parameters
from parentage.scoring.scores import family_score

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parentage.data.table import Table
    from real_data import RealData


def named(found: Parameters, codes: Mapping[int, int]) -> dict[str, str]:
    return {found.network.names[v]: found.states[v][code] for v, code in codes.items()}


@settings(max_examples=200)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_equals_enumeration(seed: int, zeros: bool) -> None:
    rng = np.random.default_rng(seed)
    found = some_parameters(rng, zeros)
    seen, outside, targets = some_case(rng, found)
    evidence, do = named(found, seen), named(found, outside)
    names = [found.network.names[v] for v in targets]
    expected, p = naive_joint(found, targets, seen, outside)
    if p == 0:
        for ask in (found.query, found.most_probable):
            with pytest.raises(EvidenceError, match="has probability 0 under these parameters"):
                ask(evidence, intervene=do)
        return
    answer = found.query(evidence, intervene=do, targets=names)
    assert answer.probability == pytest.approx(p, rel=1e-12)
    for a, (v, name) in enumerate(zip(targets, names, strict=True)):
        for k, label in enumerate(found.states[v]):
            by_hand = math.fsum(q for state, q in expected.items() if state[a] == k)
            assert answer[name][label] == pytest.approx(by_hand, abs=1e-12)
    if targets:
        together = found.joint(names, evidence, intervene=do)
        assert together.log_probability == pytest.approx(math.log(p), abs=1e-12)
        assert together.names == tuple(names)
        for state, q in expected.items():
            assert together.probabilities[state] == pytest.approx(q, abs=1e-12)
    best = found.most_probable(evidence, intervene=do)
    assert math.exp(best.log_joint) == pytest.approx(naive_most_probable(found, seen, outside))
    row = {
        **seen,
        **outside,
        **{found.network.index(n): found.code(n, s) for n, s in best.states.items()},
    }
    assert len(row) == len(found.states)
    _, p_row = naive_joint(found, [], {v: c for v, c in row.items() if v not in outside}, outside)
    assert p_row == pytest.approx(math.exp(best.log_joint))


def test_all_other_variables_are_targets_when_none_is_named() -> None:
    clinic = ASIA.fit(chest_clinic(500), smoothing=1.0)
    answer = clinic.query({"smoke": "yes"}, intervene={"xray": "no"})
    assert list(answer.marginals) == [n for n in ASIA.names if n not in ("smoke", "xray")]
    known = clinic.query({"smoke": "yes"}, targets=["smoke", "lung"])
    assert known["smoke"] == {"no": 0.0, "yes": 1.0}
    assert known["lung"] == pytest.approx(answer["lung"])


def test_rows_of_evidence_at_once_equal_one_by_one() -> None:
    clinic = ASIA.fit(chest_clinic(400), smoothing=0.5)
    table = chest_clinic(60, seed=5)
    seen = {v: table.to_codes()[v].astype(np.int64) for v in (0, 2, 6)}
    found, logs = inference.posteriors(clinic.model, seen, [1, 3, 7])
    for i in range(60):
        one = {v: codes[i : i + 1] for v, codes in seen.items()}
        alone, log = inference.posteriors(clinic.model, one, [1, 3, 7])
        assert logs[i] == pytest.approx(log[0])
        for v in (1, 3, 7):
            assert found[v][i] == pytest.approx(alone[v][0])


def test_nothing_underflows() -> None:
    """500 findings of 1e-4 against the only state that is possible."""
    names = ["cause", *(f"sign{i}" for i in range(500))]
    network = Network.from_arcs(names, [("cause", name) for name in names[1:]])
    sign = [[1e-4, 1 - 1e-4], [0.5, 0.5], [0.3, 0.7]]
    last = [[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]]
    tables: list[Any] = [[[0.9, 0.05, 0.05]], *[sign] * 499, last]
    found = Parameters(network, (("a", "b", "c"), *[("0", "1")] * 500), tuple(tables))
    answer = found.query(dict.fromkeys(names[1:], "0"))
    assert answer["cause"] == pytest.approx({"a": 0, "b": 0, "c": 1})
    assert answer.log_probability == pytest.approx(math.log(0.05) + 499 * math.log(0.3))
    assert found.query()["sign499"]["1"] == pytest.approx(0.95)


def test_contradicting_evidence_is_named() -> None:
    clinic = ASIA.fit(chest_clinic(1000), smoothing=0)
    with pytest.raises(
        EvidenceError, match=r"^tub=yes, lung=no, either=no has probability 0"
    ) as told:
        clinic.query({"smoke": "yes", "tub": "yes", "lung": "no", "asia": "no", "either": "no"})
    assert "smoothing=1" in str(told.value)
    assert "--smoothing 1" in told.value.text("command line")
    cut = clinic.query({"tub": "yes", "lung": "no"}, intervene={"either": "no"})
    assert cut["xray"] == clinic.query({"either": "no"})["xray"]
    with pytest.raises(
        EvidenceError, match=r"^tub=yes, lung=no, either=no .* after setting dysp=no"
    ):
        clinic.query({"tub": "yes", "lung": "no", "either": "no"}, intervene={"dysp": "no"})
    smooth = ASIA.fit(chest_clinic(1000))
    assert 0 < smooth.query({"tub": "yes", "lung": "no", "either": "no"}).probability < 1e-2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"given": {"smok": "yes"}}, r"no variable 'smok'; did you mean 'smoke'\?"),
        ({"given": {"smoke": "Yes"}}, r"variable 'smoke' has no state 'Yes'; did you mean 'yes'\?"),
        ({"given": {"smoke": "y"}, "intervene": {"smoke": "n"}}, "'smoke' is both evidence"),
        ({"targets": ["lun"]}, r"no variable 'lun'; did you mean 'lung'\?"),
        ({"targets": ["lung", "lung"]}, "target 'lung' is named twice"),
        ({"intervene": {"x<ray": "a"}}, "no variable 'x<ray'"),
    ],
)
def test_refusals(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ASIA.fit(chest_clinic(100)).query(**arguments)


def test_a_width_too_large_is_refused_beforehand() -> None:
    """Nine rows and columns of eight states: no order does with small tables."""
    side = 10
    names = [f"{i}{j}" for i in range(side) for j in range(side)]
    arcs = [(f"{i}{j}", f"{i + 1}{j}") for i in range(side - 1) for j in range(side)]
    arcs += [(f"{i}{j}", f"{i}{j + 1}") for i in range(side) for j in range(side - 1)]
    network = Network.from_arcs(names, arcs)
    states = tuple(tuple("abcdefgh") for _ in names)
    tables = tuple(np.full((8 ** len(p), 8), 1 / 8) for p in network.parents)
    grid = Parameters(network, states, tables)
    with pytest.raises(
        ResourceError, match=r"a table of [\d,]{12,} cells over 1\d variables \("
    ) as told:
        grid.query(targets=["99"])
    assert "give evidence on some of them" in str(told.value)
    assert grid.query(targets=["10"])["10"]["a"] == pytest.approx(1 / 8)  # the rest is barren
    column = {f"{i}5": "a" for i in range(side)}
    row = {f"5{j}": "b" for j in range(side) if j != 5}
    assert grid.query({**column, **row}, targets=["99"])["99"]["h"] == pytest.approx(1 / 8)


def test_plans_keep_what_is_asked_and_know_their_price() -> None:
    """Every variable is eliminated once or kept; the largest product is as large as told."""
    rng = np.random.default_rng(3)
    for _ in range(50):
        n = int(rng.integers(2, 9))
        sizes = [int(r) for r in rng.integers(2, 4, n)]
        scopes = [tuple(sorted({v, *map(int, rng.integers(0, n, 2))})) for v in range(n)]
        keep = tuple(sorted({int(v) for v in rng.integers(0, n, 2)}))
        plan = plan_elimination(scopes, sizes, keep)
        assert sorted([*plan.order, *plan.keep]) == list(range(n))
        tables = [rng.random([1, *(sizes[v] for v in scope)]) for scope in scopes]
        factors = [Factor(s, np.log(t)) for s, t in zip(scopes, tables, strict=True)]
        whole = np.ones(sizes)
        for scope, table in zip(scopes, tables, strict=True):
            whole = whole * table.reshape([sizes[v] if v in scope else 1 for v in range(n)])
        gone = tuple(v for v in range(n) if v not in keep)
        products: list[int] = []

        def watched(values: Any, axes: Any, seen: list[int] = products) -> Any:
            seen.append(values.size)
            return log_sum(values, axes)

        summed, best = (
            CliqueTree(factors, plan, watched).root,
            CliqueTree(factors, plan, log_max).root,
        )
        assert summed.scope == best.scope == keep
        assert np.exp(summed.values[0]) == pytest.approx(whole.sum(axis=gone))
        assert np.exp(best.values[0]) == pytest.approx(whole.max(axis=gone))
        assert max([*products, summed.values.size]) == plan.cells


def learned(table: Table, most: int = 3) -> Network:
    """A network by greedily adding parents along the columns: no proof needed here."""
    parents: dict[str, list[str]] = {}
    for v, child in enumerate(table.names):
        chosen: list[str] = []
        best = family_score(table, child, chosen)
        while len(chosen) < most:
            tried = [
                (family_score(table, child, [*chosen, other]), other)
                for other in table.names[max(0, v - 12) : v]
                if other not in chosen
            ]
            if not tried or max(tried)[0] <= best:
                break
            best, other = max(tried)
            chosen.append(other)
        parents[child] = chosen
    return Network.from_parents(parents)


@pytest.mark.filterwarnings("ignore::parentage.errors.DataWarning")  # two columns say the same
@pytest.mark.parametrize("name", ["alarm", "insurance", "hailfinder"])
def test_equals_pyagrum(name: str, real: RealData) -> None:
    gum = pytest.importorskip("pyagrum")
    if name == "hailfinder":
        content = gzip.decompress((real.folder / "large" / "hailfinder_5000.csv.gz").read_bytes())
        table = read_table(content)
    else:
        table = real.table(f"{name}_10000.csv")
    table = table.head(1000)
    found = learned(table).fit(table)
    assert found.network.n_arcs >= len(table.names) * 0.6
    theirs = to_pyagrum(found)
    rng = np.random.default_rng(1)
    for share in (0.0, 0.1, 0.4):
        row = int(rng.integers(table.n_rows))
        evidence = {
            v: labels[table.to_codes()[i, row]]
            for i, (v, labels) in enumerate(zip(table.names, table.states, strict=True))
            if rng.random() < share
        }
        answer = found.query(evidence)
        engine = gum.LazyPropagation(theirs)
        engine.setEvidence(evidence)
        engine.makeInference()
        for target in answer.marginals:
            expected = engine.posterior(target).tolist()
            assert list(answer[target].values()) == pytest.approx(expected, abs=1e-9)
        assert answer.probability == pytest.approx(engine.evidenceProbability(), rel=1e-9)
        pair = sorted(answer.marginals)[:2]
        both = gum.LazyPropagation(theirs)
        both.setEvidence(evidence)
        both.addJointTarget(set(pair))
        both.makeInference()
        potential = both.jointPosterior(set(pair))
        array = np.asarray(potential.toarray())
        order = [list(reversed(potential.names)).index(v) for v in pair]
        assert found.joint(pair, evidence).probabilities == pytest.approx(
            array.transpose(order), abs=1e-9
        )


@settings(max_examples=40)
@given(parameters())
def test_odd_names_and_labels(found: Parameters) -> None:
    answer = found.query()
    assert list(answer.marginals) == list(found.network.names)
    for name, labels in zip(found.network.names, found.states, strict=True):
        assert list(answer[name]) == list(labels)
        assert math.fsum(answer[name].values()) == pytest.approx(1)


def test_answers_show_themselves_as_the_command_does() -> None:
    found = ASIA.fit(chest_clinic(300))
    answer = found.query({"smoke": "yes"}, targets=["lung", "either"])
    assert repr(answer).splitlines() == [
        f"given smoke = yes (probability {answer.probability:.4f})",
        "", "variable  state  probability",
        f"lung      no          {answer['lung']['no']:.4f}",
        f"          yes         {answer['lung']['yes']:.4f}",
        f"either    no          {answer['either']['no']:.4f}",
        f"          yes         {answer['either']['yes']:.4f}",
    ]  # fmt: skip
    assert repr(found.joint(["lung", "either"])).startswith("lung  either  probability\n")
    assert repr(found.most_probable()).startswith("variable  most probable\n")


def test_an_answer_of_many_lines_is_shortened() -> None:
    text = "\n".join(map(str, range(100)))
    assert brief(text).splitlines()[-2:] == ["59", "… and 40 more lines"]


def test_an_unknown_name_in_an_answer_is_refused_with_the_nearest() -> None:
    answer = ASIA.fit(chest_clinic(100)).query()
    for wrong, message in (
        ("lnug", "no 'lnug'; did you mean 'lung'?"),
        ("vot", "no 'vot'; known: "),
    ):
        with pytest.raises(KeyError) as refused:
            answer[wrong]
        assert str(refused.value).startswith(message)
    with pytest.raises(InputError, match="no 'ye'; did you mean 'yes'"):
        answer["lung"]["ye"]


def test_dates_and_comparisons_are_evidence() -> None:
    found = Parameters(
        Network.from_arcs(["when", "bili"], []),
        (("< 1988.5", "[1988.5, 1990.25)", "≥ 1990.25"), ("< 2.2", "≥ 2.2")),
        (np.array([[0.2, 0.3, 0.5]]), np.array([[0.4, 0.6]])),
    )
    for text, state in (
        ("1989-07-01", "[1988.5, 1990.25)"),
        ("1990-12-31", "≥ 1990.25"),
        ("1988", "< 1988.5"),
    ):
        assert found.named({"when": text}) == {"when": state}
    assert found.named({"bili": ">= 2.2"}) == {"bili": "≥ 2.2"}
    assert parse_findings(["bili=>= 2.2,when=[1988.5, 1990.25)"], found, "--given") == {
        "bili": "≥ 2.2", "when": "[1988.5, 1990.25)",
    }  # fmt: skip
    with pytest.raises(InputError, match="no state 'soon'"):
        found.named({"when": "soon"})
