"""Networks: the graph, its equivalence class, its parameters, its files and its bridges."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, ["bridges"])
