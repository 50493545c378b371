from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from network_cases import ASIA, ODD_NAMES, random_network, random_parameters
from parentage.arcs.support import support
from parentage.data.datasets import chest_clinic
from parentage.errors import InputError, MissingExtraError
from parentage.network.bridges import (
    from_model_string,
    from_networkx,
    from_pgmpy,
    from_pyagrum,
    network_of,
    to_model_string,
    to_networkx,
    to_pgmpy,
    to_pyagrum,
)
from parentage.network.formats import read_parameters, write_network
from parentage.network.formats.bif import parse_bif, parse_xmlbif, unescape
from parentage.network.network import Network
from parentage.network.parameters import Parameters
from parentage.pipeline import learn

if TYPE_CHECKING:
    from pathlib import Path


def some_parameters(seed: int = 3, fewest_states: int = 2) -> Parameters:
    rng = np.random.default_rng(seed)
    network = random_network(seed, 7)
    states = [["x", "y", "z"][: int(rng.integers(fewest_states, 4))] for _ in network.names]
    return random_parameters(network, states, rng)


READABLE = tuple(name for name in ODD_NAMES if "\0" not in name)


def odd_parameters() -> Parameters:
    rng = np.random.default_rng(0)
    network = Network(READABLE, random_network(1, len(READABLE), most=2).parents)
    labels = np.array(READABLE, object)
    states = [list(rng.permutation(labels))[: 2 + v % 3] for v in range(len(READABLE))]
    return random_parameters(network, states, rng)


def assert_close(one: Parameters, other: Parameters, tolerance: float = 1e-12) -> None:
    assert one.network == other.network
    for v, name in enumerate(one.network.names):
        w = other.network.index(name)
        assert one.states[v] == other.states[w]
        for row in range(len(one.tables[v])):
            given = _given(one, v, row)
            for k, label in enumerate(one.states[v]):
                found = other.probability(name, label, given)
                assert found == pytest.approx(one.tables[v][row, k], rel=tolerance, abs=tolerance)


def _given(parameters: Parameters, v: int, row: int) -> dict[str, str]:
    given = {}
    for p in reversed(parameters.network.parents[v]):
        row, k = divmod(row, len(parameters.states[p]))
        given[parameters.network.names[p]] = parameters.states[p][k]
    return given


def test_networkx_both_ways() -> None:
    networkx = pytest.importorskip("networkx")
    graph = to_networkx(ASIA)
    assert set(graph.edges) == set(ASIA.arcs)
    assert networkx.is_directed_acyclic_graph(graph)
    assert from_networkx(graph) == ASIA
    assert from_networkx(graph).names == ASIA.names
    assert from_networkx(networkx.DiGraph([(1, 2)])).arcs == (("1", "2"),)
    with pytest.raises(InputError, match="undirected"):
        from_networkx(networkx.Graph([(1, 2)]))
    with pytest.raises(InputError, match="cycle"):
        from_networkx(networkx.DiGraph([(1, 2), (2, 1)]))
    with pytest.raises(InputError, match="'1' occurs twice"):
        from_networkx(networkx.DiGraph([(1, 2), ("1", 3)]))


def test_pyagrum_both_ways() -> None:
    pytest.importorskip("pyagrum")
    for seed in range(10):
        parameters = some_parameters(seed, fewest_states=1)
        found = from_pyagrum(to_pyagrum(parameters))
        assert_close(parameters, found)
        assert found.network.names == parameters.network.names
    odd = odd_parameters()
    assert_close(odd, from_pyagrum(to_pyagrum(odd)))


def test_pyagrum_takes_a_bare_network() -> None:
    pytest.importorskip("pyagrum")
    model = to_pyagrum(ASIA)
    assert {(model.variable(a).name(), model.variable(b).name()) for a, b in model.arcs()} == set(
        ASIA.arcs
    )


def unescaped(parameters: Parameters) -> Parameters:
    """What another program read, which knows nothing of our escapes."""
    network = Network(tuple(map(unescape, parameters.network.names)), parameters.network.parents)
    states = tuple(tuple(map(unescape, labels)) for labels in parameters.states)
    return Parameters(network, states, parameters.tables)


@pytest.mark.parametrize("extension", [".bif", ".bifxml"])
def test_pyagrum_reads_our_files(tmp_path: Path, extension: str) -> None:
    gum = pytest.importorskip("pyagrum")
    path = tmp_path / f"net{extension}"
    for parameters in (some_parameters(), odd_parameters()):
        write_network(parameters, path)
        found = from_pyagrum(gum.loadBN(str(path)))
        assert_close(parameters, unescaped(found), tolerance=1e-6)  # it reads BIF as 32-bit


@pytest.mark.parametrize("extension", [".bif", ".bifxml"])
def test_we_read_files_of_pyagrum(tmp_path: Path, extension: str) -> None:
    gum = pytest.importorskip("pyagrum")
    parameters = some_parameters()
    path = tmp_path / f"net{extension}"
    gum.saveBN(to_pyagrum(parameters), str(path))
    assert_close(parameters, read_parameters(path), tolerance=1e-5)


def test_pgmpy_both_ways() -> None:
    pytest.importorskip("pgmpy")
    for seed in range(5):
        parameters = some_parameters(seed, fewest_states=1)
        model = to_pgmpy(parameters)
        assert model.check_model()
        found = from_pgmpy(model)
        assert isinstance(found, Parameters)
        assert_close(parameters, found)
    bare = from_pgmpy(to_pgmpy(ASIA))
    assert bare == ASIA


def test_pgmpy_reads_our_files() -> None:
    pytest.importorskip("pgmpy")
    from pgmpy.readwrite import BIFReader, XMLBIFReader

    from parentage.network.formats.bif import bif_text, xmlbif_text

    for parameters in (some_parameters(), odd_parameters()):
        for reader, text in ((BIFReader, bif_text), (XMLBIFReader, xmlbif_text)):
            found = from_pgmpy(reader(string=text(parameters)).get_model())
            assert isinstance(found, Parameters)
            assert_close(parameters, unescaped(found))


def test_we_read_files_of_pgmpy() -> None:
    pytest.importorskip("pgmpy")
    from pgmpy.readwrite import BIFWriter, XMLBIFWriter

    parameters = some_parameters()
    model = to_pgmpy(parameters)
    assert_close(parameters, parse_bif(str(BIFWriter(model)), "x.bif"))
    assert_close(parameters, parse_xmlbif(str(XMLBIFWriter(model)), "x.xml"))


def test_pgmpy_agrees_on_the_score_and_the_likelihood() -> None:
    pytest.importorskip("pgmpy")
    pandas = pytest.importorskip("pandas")
    from pgmpy.structure_score import BIC, LogLikelihood

    parameters = some_parameters(4)
    table = parameters.sample(400, seed=1).observed()
    frame = pandas.DataFrame(
        {
            name: [table.states[v][k] for k in table.to_codes()[v]]
            for v, name in enumerate(table.names)
        }
    )
    fitted = parameters.network.fit(table, smoothing=0)
    model = to_pgmpy(fitted)
    assert parameters.network.score(table) == pytest.approx(BIC(frame).score(model), rel=1e-9)
    assert fitted.log_likelihood(table) == pytest.approx(LogLikelihood(frame).score(model))


def test_networks_of_other_libraries_start_a_search_and_are_assessed() -> None:
    pgmpy_models = pytest.importorskip("pgmpy.models")
    gum = pytest.importorskip("pyagrum")
    table = chest_clinic(200, seed=1)
    known = random_parameters(ASIA, [["no", "yes"]] * 8, np.random.default_rng(1))
    bare = pgmpy_models.DiscreteBayesianNetwork(list(ASIA.arcs))
    for model in (to_networkx(ASIA), to_pgmpy(ASIA), to_pyagrum(ASIA), to_pyagrum(known), bare):
        assert network_of(model, "it") == ASIA
        assert learn(table, start=model).score == learn(table, start=ASIA).score
        assert support(table, model, need=False).network == ASIA
    best = learn(table)
    assert network_of(best, "it") == network_of(best.network.fit(table), "it") == best.network
    for wrong in ("clinic.bif", gum.DAG(), list(ASIA.arcs)):
        with pytest.raises(InputError, match=rf"start from is a {type(wrong).__name__}; pass a N"):
            learn(table, start=wrong)
        with pytest.raises(InputError, match=rf"to assess is a {type(wrong).__name__}; pass a Net"):
            support(table, wrong)
    with pytest.raises(InputError, match=r"is a DiGraph; pass a Network \(parentage.bridges conv"):
        ASIA.compare(to_networkx(ASIA))


def test_model_strings() -> None:
    assert to_model_string(ASIA).endswith("[dysp|bronc:either]")
    assert from_model_string(to_model_string(ASIA)) == ASIA
    assert from_model_string(" [a] [b|a]\n[c|a:b] ").arcs == (("a", "b"), ("a", "c"), ("b", "c"))
    assert from_model_string("") == Network((), ())
    for text, message in (
        ("a|b", "cannot read the model string at 'a|b'"),
        ("[a][b|a", r"cannot read the model string at '\[b|a'"),
        ("[a][a]", "has 'a' twice"),
        ("[|a][a]", "a family without a child"),
        ("[a|b]", "names 'b', which is not a variable"),
        ("[a|b:][b]", "names '', which is not a variable"),
    ):
        with pytest.raises(InputError, match=message):
            from_model_string(text)
    for name in ("a|b", "a:b", "[a", "", " a", "a\nb", "\ud800", "\0"):
        with pytest.raises(InputError, match="cannot be written in a model string"):
            to_model_string(Network((name,), ((),)))


@pytest.mark.parametrize(
    ("bridge", "library"), [(to_networkx, "networkx"), (to_pgmpy, "pgmpy"), (to_pyagrum, "pyagrum")]
)
def test_a_missing_library_names_the_command(
    monkeypatch: pytest.MonkeyPatch, bridge: Any, library: str
) -> None:
    for module in [name for name in sys.modules if name.partition(".")[0] == library]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=rf"pip install 'parentage\[{library}\]'"):
        bridge(ASIA)


def test_no_bridge_is_crossed_on_import() -> None:
    code = (
        "import sys, parentage.network.bridges, parentage.network.formats, parentage.view.figure\n"
        "print(sorted({'networkx', 'pgmpy', 'pyagrum', 'pandas', 'numba'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
