"""From files and frames to a table of states: the first stage of the path."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, ["datasets"])
