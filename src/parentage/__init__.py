"""The provably best Bayesian network for a table of categorical data.

Two steps, one path: :func:`score` lists for every variable the parent sets that can be in an
optimal network; :func:`learn` chooses one per variable, without cycles, with the best total, and
proves it. Functions first; classes are results. The public names are in ``__init__.pyi``; each is
loaded when it is first used, so that importing the package loads nothing heavy.

>>> import parentage
>>> table = parentage.datasets.chest_clinic(500, seed=1)
>>> parentage.score(table)["lung"][0].parents
('tub', 'either')
"""

import lazy_loader

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
