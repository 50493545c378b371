"""Conversion to and from networkx, pgmpy, pyAgrum and R's bnlearn.

``to_x`` converts a network, or parameters if the other library stores probabilities; ``from_x``
converts back. The libraries are optional and are imported when a function is called; a missing one
raises :class:`parentage.errors.MissingExtraError`. :func:`network_of` accepts a network of any of
them where only its arcs are needed.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from parentage.errors import InputError, MissingExtraError
from parentage.network.network import Network
from parentage.network.parameters import Parameters, from_rows

if TYPE_CHECKING:
    from types import ModuleType

_NOT_IN_MODEL_STRING = re.compile(r"[\[\]|:\n\r\0\ud800-\udfff]")
_FAMILY = re.compile(r"\s*\[([^\[\]|]*)(?:\|([^\[\]|]*))?\]\s*")


def network_of(model: object, use: str) -> Network:
    """Return the network of a solution, of parameters, or of a networkx, pgmpy or pyAgrum model.

    Raises
    ------
    InputError
        It is something else; the message names its ``use``.

    Examples
    --------
    >>> network_of("clinic.bif", "the network to start from")
    Traceback (most recent call last):
    parentage.errors.InputError: the network to start from is a str; pass a Network, \
which parentage.read_network(FILE) reads from a file
    """
    if isinstance(model, Network):
        return model
    inner = getattr(model, "network", None)
    if isinstance(inner, Network):
        return inner
    libraries = {kind.__module__.partition(".")[0] for kind in type(model).__mro__}
    if "networkx" in libraries:  # pgmpy's models are among them
        return from_networkx(model)
    if "pyagrum" in libraries and hasattr(model, "variable"):
        return _of_pyagrum(model)
    raise InputError(
        f"{use} is a {type(model).__name__}; pass a Network, which parentage.read_network(FILE) "
        "reads from a file"
    )


def to_networkx(network: Network) -> Any:
    """Return a ``networkx.DiGraph`` with the same names and arcs."""
    graph = _library("networkx", "networkx").DiGraph()
    graph.add_nodes_from(network.names)
    graph.add_edges_from(network.arcs)
    return graph


def from_networkx(graph: Any) -> Network:
    """Make a network from a directed graph; nodes become names by ``str``."""
    if not graph.is_directed():
        raise InputError("the graph is undirected; a network needs a networkx.DiGraph")
    names = {node: str(node) for node in graph.nodes}
    arcs = dict.fromkeys((names[tail], names[head]) for tail, head in graph.edges())
    return Network.from_arcs(names.values(), arcs)


def to_pgmpy(model: Network | Parameters) -> Any:
    """Return pgmpy's ``DiscreteBayesianNetwork``, with CPDs when there are parameters."""
    pgmpy_models = _library("pgmpy.models", "pgmpy")
    network, parameters = _parts(model)
    kind = getattr(pgmpy_models, "DiscreteBayesianNetwork", None) or pgmpy_models.BayesianNetwork
    result = kind()
    result.add_nodes_from(network.names)
    result.add_edges_from(network.arcs)
    if parameters is None:
        return result
    tabular = _library("pgmpy.factors.discrete", "pgmpy").TabularCPD
    for v, name in enumerate(network.names):
        members = network.parents[v]
        named_states = {network.names[u]: list(parameters.states[u]) for u in (v, *members)}
        cpd = tabular(
            name,
            len(parameters.states[v]),
            parameters.tables[v].T,
            evidence=[network.names[p] for p in members] or None,
            evidence_card=[len(parameters.states[p]) for p in members] or None,
            state_names=named_states,
        )
        result.add_cpds(cpd)
    return result


def from_pgmpy(model: Any) -> Network | Parameters:
    """Make parameters from a pgmpy model, or a network when it has no CPDs."""
    network = from_networkx(model)  # which pgmpy's models are
    cpds = {str(cpd.variable): cpd for cpd in model.get_cpds()}
    if set(cpds) != set(network.names):
        return network
    states, tables = {}, {}
    for name, cpd in cpds.items():
        variables = [str(variable) for variable in cpd.variables]
        states[name] = [str(state) for state in cpd.state_names[cpd.variable]]
        order = [variables.index(parent) for parent in network.parents_of(name)]
        array = np.asarray(cpd.values, np.float64).transpose([*order, variables.index(name)])
        tables[name] = array.reshape(-1, len(states[name]))
    return from_rows(network, states, tables)


def to_pyagrum(model: Network | Parameters) -> Any:
    """Return a ``pyagrum.BayesNet``; without parameters every variable has states 0 and 1."""
    gum = _library("pyagrum", "pyagrum")
    network, parameters = _parts(model)
    result = gum.BayesNet()
    for v, name in enumerate(network.names):
        labels = list(parameters.states[v]) if parameters is not None else ["0", "1"]
        result.add(gum.LabelizedVariable(name, name, labels))
    for parent, child in network.arcs:
        result.addArc(parent, child)
    if parameters is None:
        return result
    for name, table in zip(network.names, parameters.tables, strict=True):
        cpt = result.cpt(name)
        members = network.parents_of(name)
        sizes = [len(parameters.states[network.index(parent)]) for parent in members]
        axes = [*members, name]
        order = [axes.index(axis) for axis in reversed(cpt.names)]
        array = np.asarray(table).reshape([*sizes, table.shape[1]])
        cpt.fillWith([float(p) for p in array.transpose(order).ravel()])
    return result


def from_pyagrum(model: Any) -> Parameters:
    """Make parameters from a ``pyagrum.BayesNet``."""
    network = _of_pyagrum(model)
    states = {
        name: [str(label) for label in model.variable(name).labels()] for name in network.names
    }
    tables = {}
    for name in network.names:
        cpt = model.cpt(name)
        axes = list(reversed(cpt.names))
        order = [axes.index(axis) for axis in (*network.parents_of(name), name)]
        array = np.asarray(cpt.toarray(), np.float64)
        tables[name] = array.transpose(order).reshape(-1, len(states[name]))
    return from_rows(network, states, tables)


def to_model_string(network: Network) -> str:
    """Return R bnlearn's model string, parents before children.

    >>> to_model_string(Network.from_arcs("abc", [("a", "c"), ("b", "c")]))
    '[a][b][c|a:b]'
    """
    for name in network.names:
        if not name or _NOT_IN_MODEL_STRING.search(name) or name != name.strip():
            raise InputError(
                f"the name {name!r} cannot be written in a model string, which has no quoting for "
                "brackets, |, :, line ends and blanks at the ends; rename it or write .json"
            )
    families = []
    for name in network.order:
        given = ":".join(network.parents_of(name))
        families.append(f"[{name}|{given}]" if given else f"[{name}]")
    return "".join(families)


def from_model_string(text: str) -> Network:
    """Make a network from R bnlearn's model string.

    >>> from_model_string("[c|a:b][a][b]").arcs
    (('a', 'c'), ('b', 'c'))
    """
    parents: dict[str, list[str]] = {}
    at = 0
    while at < len(text):
        family = _FAMILY.match(text, at)
        if family is None:
            raise InputError(
                f"cannot read the model string at {text[at : at + 20]!r}; write e.g. [A][B][C|A:B]"
            )
        child = family[1].strip()
        if not child or child in parents:
            problem = f"has {child!r} twice" if child else "has a family without a child"
            raise InputError(f"the model string {problem}")
        parents[child] = [name.strip() for name in family[2].split(":")] if family[2] else []
        at = family.end()
    return Network.from_parents(parents)


def _of_pyagrum(model: Any) -> Network:
    names = {node: model.variable(node).name() for node in model.nodes()}
    return Network.from_arcs(
        names.values(), ((names[tail], names[head]) for tail, head in model.arcs())
    )


def _parts(model: Network | Parameters) -> tuple[Network, Parameters | None]:
    return (model.network, model) if isinstance(model, Parameters) else (model, None)


def _library(module: str, extra: str) -> ModuleType:
    try:
        return import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        if error.name is not None and error.name.partition(".")[0] != name:
            raise  # the library is there and itself incomplete
        raise MissingExtraError(f"Conversion to {name}", name, extra) from None
