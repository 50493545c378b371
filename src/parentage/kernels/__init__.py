"""All Numba code: arrays in, arrays out.

Imported only when first needed (compiling takes seconds, loading from the cache half a second):
nothing outside this package imports it at module level. Every kernel has one signature, names
its axes, and has a readable reference in ``tests/naive.py``.
"""

from parentage.kernels._options import check_settings

check_settings()
