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
    from parentage.arcs.records import Support as Support
    from parentage.arcs.support import support as support
    from parentage.data import datasets as datasets
    from parentage.data.reading import read_table as read_table
    from parentage.data.table import Table as Table
    from parentage.estimator import ParentageLearner as ParentageLearner
    from parentage.learner import learn as learn
    from parentage.network import bridges as bridges
    from parentage.network.formats import read_network as read_network
    from parentage.network.network import Network as Network
    from parentage.network.parameters import Parameters as Parameters
    from parentage.optimise import Solution as Solution
    from parentage.pipeline import Advanced as Advanced
    from parentage.scoring.candidates import score as score
    from parentage.scoring.constraints import Constraints as Constraints
    from parentage.scoring.explanation import explain as explain
    from parentage.scoring.formats import read_lists as read_lists
    from parentage.scoring.lists import CandidateLists as CandidateLists
    from parentage.scoring.prior import Prior as Prior

_HOME = {
    "Advanced": "parentage.pipeline",
    "CandidateLists": "parentage.scoring.lists",
    "Constraints": "parentage.scoring.constraints",
    "Network": "parentage.network.network",
    "Parameters": "parentage.network.parameters",
    "ParentageLearner": "parentage.estimator",
    "Prior": "parentage.scoring.prior",
    "Solution": "parentage.optimise",
    "Support": "parentage.arcs.records",
    "Table": "parentage.data.table",
    "bridges": "parentage.network.bridges",
    "datasets": "parentage.data.datasets",
    "explain": "parentage.scoring.explanation",
    "learn": "parentage.learner",
    "read_lists": "parentage.scoring.formats",
    "read_network": "parentage.network.formats",
    "read_table": "parentage.data.reading",
    "score": "parentage.scoring.candidates",
    "support": "parentage.arcs.support",
}

__all__ = [  # one sorted list; the names are loaded when first used
    "Advanced",
    "CandidateLists",
    "Constraints",
    "Network",
    "Parameters",
    "ParentageLearner",
    "Prior",
    "Solution",
    "Support",
    "Table",
    "bridges",
    "datasets",
    "explain",
    "learn",
    "read_lists",
    "read_network",
    "read_table",
    "score",
    "support",
]

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: importing the package loads nothing heavy."""
    if name not in _HOME:
        raise AttributeError(f"module 'parentage' has no attribute {name!r}")
    module = importlib.import_module(_HOME[name])
    value = getattr(module, name, module)  # ``bridges`` and ``datasets`` are modules
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
