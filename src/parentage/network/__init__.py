"""Networks: the graph, its equivalence class, its parameters, its files and its bridges."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, ["bridges"])

SMOOTHING = 1.0
"""Added to every count unless told: what was never seen is rare, not impossible."""
