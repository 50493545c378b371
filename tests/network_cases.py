"""Random networks, parameters and names for the tests of networks, formats and pictures."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import strategies as st

from parentage.network.network import Network
from parentage.network.parameters import Parameters

Parents = tuple[tuple[int, ...], ...]

ASIA = Network.from_parents(
    {
        "asia": [],
        "smoke": [],
        "tub": ["asia"],
        "lung": ["smoke"],
        "bronc": ["smoke"],
        "either": ["tub", "lung"],
        "xray": ["either"],
        "dysp": ["bronc", "either"],
    }
)

ODD_NAMES = (
    "", " ", "  x", "x ", "a b", "a  b", "_x", "_x_", "_x20_", "_x4 ", "_x5f", "x5f_", "__x20__",
    "table", "variable", "probability", "network", "type", "discrete", "property", "default",
    "table5", "xdefault1", "1", "12", "1e5", "1.5", "10-20", "-1", ".5", "2nd", "é", "日本語", "😀",
    '"', "'", '\\"', "\\", "a\\", "a\\n", "\n", "\t", "a\rb", "\x00", "\x7f", "\x85", "\u2028",
    "\ufeff", "\ufffe", "{", "}", "{a}", "(", ")", "[x]", "|", "a|b", ":", ",", ";", "=", "%",
    "100%", "//", "/*", "*/", "#", "-->", "->", "--", "<", "<b>", "&", "&amp;", "]]>", "<!ENTITY",
    "a", "A", "ab", "aB", "Ab", "AB", "digraph", "node", "strict", "null", "true", "nan",
)  # fmt: skip

names = st.sampled_from(ODD_NAMES) | st.text(max_size=8)


def random_parents(rng: np.random.Generator, n: int, most: int = 3) -> Parents:
    """Parents drawn along a random order."""
    order = rng.permutation(n)
    parents: list[tuple[int, ...]] = [()] * n
    for i, v in enumerate(order):
        size = int(rng.integers(0, min(i, most) + 1))
        parents[v] = tuple(sorted(int(p) for p in rng.permutation(order[:i])[:size]))
    return tuple(parents)


def random_network(seed: int, n: int, most: int = 3) -> Network:
    """A network over v0, v1, …"""
    rng = np.random.default_rng(seed)
    return Network(tuple(f"v{i}" for i in range(n)), random_parents(rng, n, most))


def random_parameters(
    network: Network, states: list[list[str]], rng: np.random.Generator
) -> Parameters:
    """Parameters with some zeros, for given states."""
    tables = []
    for v, members in enumerate(network.parents):
        shape = (int(np.prod([len(states[p]) for p in members])), len(states[v]))
        weights = rng.random(shape) * (rng.random(shape) < 0.8) + 1e-12
        tables.append(weights / weights.sum(axis=1, keepdims=True))
    return Parameters(network, tuple(tuple(labels) for labels in states), tuple(tables))


def some_parameters(rng: np.random.Generator, zeros: bool = False) -> Parameters:
    """Parameters of a small random network, states 1 to 4; zeros are zeros if asked for."""
    n = int(rng.integers(1, 7))
    network = random_network(int(rng.integers(2**31)), n)
    states = [[f"s{k}" for k in range(int(rng.integers(1, 5)))] for _ in range(n)]
    found = random_parameters(network, states, rng)
    if not zeros:
        return found
    tables = []
    for table in found.tables:
        hard = np.where(table < 1e-9, 0.0, table)
        tables.append(hard / hard.sum(axis=1, keepdims=True))
    return Parameters(network, found.states, tuple(tables))


def some_case(
    rng: np.random.Generator, found: Parameters
) -> tuple[dict[int, int], dict[int, int], list[int]]:
    """Random evidence, interventions and targets, disjoint."""
    n = len(found.states)
    kinds = rng.choice(["given", "set", "target", "other"], n, p=[0.3, 0.15, 0.3, 0.25])
    codes = [int(rng.integers(len(labels))) for labels in found.states]
    return (
        {v: codes[v] for v in range(n) if kinds[v] == "given"},
        {v: codes[v] for v in range(n) if kinds[v] == "set"},
        [int(v) for v in rng.permutation(n) if kinds[v] == "target"],
    )


@st.composite
def parameters(draw: st.DrawFn) -> Parameters:
    """Parameters with odd names and labels."""
    own = draw(st.lists(names, min_size=1, max_size=5, unique=True))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    states = [draw(st.lists(names, min_size=1, max_size=3, unique=True)) for _ in own]
    return random_parameters(Network(tuple(own), random_parents(rng, len(own))), states, rng)


def all_dags(n: int) -> list[Parents]:
    """Every acyclic choice of parents over n variables, by trying all graphs."""
    sets = [
        [tuple(u for u in range(n) if u != v and mask >> u & 1) for mask in range(2**n)
         if not mask >> v & 1]
        for v in range(n)
    ]  # fmt: skip
    return [parents for parents in product(*sets) if is_acyclic(parents)]


def is_acyclic(parents: Parents) -> bool:
    """Take away variables without parents until none is left."""
    left = set(range(len(parents)))
    while True:
        free = {v for v in left if not left.intersection(parents[v])}
        if not free:
            return not left
        left -= free
