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
    from parentage.arcs.files import write_support as write_support
    from parentage.arcs.records import Support as Support
    from parentage.arcs.support import support as support
    from parentage.data import datasets as datasets
    from parentage.data.reading import read_table as read_table
    from parentage.data.reading import table_from_frame as table_from_frame
    from parentage.data.recipe import Recipe as Recipe
    from parentage.data.recipe_file import read_recipe as read_recipe
    from parentage.data.recipe_file import write_recipe as write_recipe
    from parentage.data.table import Table as Table
    from parentage.estimator import ParentageLearner as ParentageLearner
    from parentage.learner import learn as learn
    from parentage.network import bridges as bridges
    from parentage.network.formats import read_network as read_network
    from parentage.network.formats import write_network as write_network
    from parentage.network.network import Network as Network
    from parentage.network.parameters import Parameters as Parameters
    from parentage.optimise import Solution as Solution
    from parentage.optimise import within as within
    from parentage.report import write_report as write_report
    from parentage.scoring.account import Account as Account
    from parentage.scoring.candidates import score as score
    from parentage.scoring.constraints import Constraints as Constraints
    from parentage.scoring.explanation import Explanation as Explanation
    from parentage.scoring.explanation import explain as explain
    from parentage.scoring.formats import read_lists as read_lists
    from parentage.scoring.formats import write_lists as write_lists
    from parentage.scoring.lists import CandidateLists as CandidateLists
    from parentage.scoring.prior import Prior as Prior
    from parentage.scoring.scope import Scope as Scope
    from parentage.scoring.scores import local_score as local_score

_HOME = {
    "Account": "parentage.scoring.account",
    "CandidateLists": "parentage.scoring.lists",
    "Constraints": "parentage.scoring.constraints",
    "Explanation": "parentage.scoring.explanation",
    "Network": "parentage.network.network",
    "Parameters": "parentage.network.parameters",
    "ParentageLearner": "parentage.estimator",
    "Prior": "parentage.scoring.prior",
    "Recipe": "parentage.data.recipe",
    "Scope": "parentage.scoring.scope",
    "Solution": "parentage.optimise",
    "Support": "parentage.arcs.records",
    "Table": "parentage.data.table",
    "bridges": "parentage.network.bridges",
    "datasets": "parentage.data.datasets",
    "explain": "parentage.scoring.explanation",
    "learn": "parentage.learner",
    "local_score": "parentage.scoring.scores",
    "read_lists": "parentage.scoring.formats",
    "read_network": "parentage.network.formats",
    "read_recipe": "parentage.data.recipe_file",
    "read_table": "parentage.data.reading",
    "score": "parentage.scoring.candidates",
    "support": "parentage.arcs.support",
    "table_from_frame": "parentage.data.reading",
    "within": "parentage.optimise",
    "write_lists": "parentage.scoring.formats",
    "write_network": "parentage.network.formats",
    "write_recipe": "parentage.data.recipe_file",
    "write_report": "parentage.report",
    "write_support": "parentage.arcs.files",
}

__all__ = [  # one sorted list; the names are loaded when first used
    "Account",
    "CandidateLists",
    "Constraints",
    "Explanation",
    "Network",
    "Parameters",
    "ParentageLearner",
    "Prior",
    "Recipe",
    "Scope",
    "Solution",
    "Support",
    "Table",
    "bridges",
    "datasets",
    "explain",
    "learn",
    "local_score",
    "read_lists",
    "read_network",
    "read_recipe",
    "read_table",
    "score",
    "support",
    "table_from_frame",
    "within",
    "write_lists",
    "write_network",
    "write_recipe",
    "write_report",
    "write_support",
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
