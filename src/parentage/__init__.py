"""The provably best Bayesian network for a table of categorical data.

Two steps, one path: :func:`score` lists for every variable the parent sets that can be in an
optimal network; :func:`learn` chooses one per variable, without cycles, with the best total, and
proves it. Functions first; classes are results.

>>> import parentage
>>> table = parentage.datasets.chest_clinic(500, seed=1)
>>> parentage.score(table)["lung"][0].parents
('tub', 'either')
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from parentage import datasets as datasets
    from parentage.candidates import score as score
    from parentage.constraints import Constraints as Constraints
    from parentage.explanation import Explanation as Explanation
    from parentage.explanation import explain as explain
    from parentage.formats import read_lists as read_lists
    from parentage.formats import write_lists as write_lists
    from parentage.formats.networks import read_network as read_network
    from parentage.formats.networks import write_network as write_network
    from parentage.learner import ParentageLearner as ParentageLearner
    from parentage.learner import learn as learn
    from parentage.lists import CandidateLists as CandidateLists
    from parentage.network import Network as Network
    from parentage.optimise import Solution as Solution
    from parentage.reading import read_table as read_table
    from parentage.reading import table_from_frame as table_from_frame
    from parentage.scores import local_score as local_score
    from parentage.table import Table as Table

_HOME = {
    "CandidateLists": "parentage.lists",
    "Constraints": "parentage.constraints",
    "Explanation": "parentage.explanation",
    "Network": "parentage.network",
    "ParentageLearner": "parentage.learner",
    "Solution": "parentage.optimise",
    "Table": "parentage.table",
    "datasets": "parentage.datasets",
    "explain": "parentage.explanation",
    "learn": "parentage.learner",
    "local_score": "parentage.scores",
    "read_lists": "parentage.formats",
    "read_network": "parentage.formats.networks",
    "read_table": "parentage.reading",
    "score": "parentage.candidates",
    "table_from_frame": "parentage.reading",
    "write_lists": "parentage.formats",
    "write_network": "parentage.formats.networks",
}

__all__ = [  # one sorted list; the names are loaded when first used
    "CandidateLists",
    "Constraints",
    "Explanation",
    "Network",
    "ParentageLearner",
    "Solution",
    "Table",
    "datasets",
    "explain",
    "learn",
    "local_score",
    "read_lists",
    "read_network",
    "read_table",
    "score",
    "table_from_frame",
    "write_lists",
    "write_network",
]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: importing the package loads nothing heavy."""
    if name not in _HOME:
        raise AttributeError(f"module 'parentage' has no attribute {name!r}")
    module = importlib.import_module(_HOME[name])
    value = getattr(module, name, module)  # ``datasets`` is the module itself
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
