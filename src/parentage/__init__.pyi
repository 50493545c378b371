from .answers.effect import effect as effect
from .answers.path import path as path
from .answers.validate import validate as validate
from .arcs.records import Support as Support
from .arcs.support import support as support
from .data import datasets as datasets
from .data.reading import read_table as read_table
from .data.table import Table as Table
from .estimator import ParentageLearner as ParentageLearner
from .network import bridges as bridges
from .network.formats import read_network as read_network
from .network.network import Network as Network
from .network.parameters import Parameters as Parameters
from .optimise import Solution as Solution
from .pipeline import Advanced as Advanced
from .pipeline import learn as learn
from .scoring.candidates import score as score
from .scoring.constraints import Constraints as Constraints
from .scoring.constraints import Prior as Prior
from .scoring.explanation import explain as explain
from .scoring.formats import read_lists as read_lists
from .scoring.lists import CandidateLists as CandidateLists

__version__: str
__all__: list[str]
