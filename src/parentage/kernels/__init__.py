"""All Numba code: arrays in, arrays out.

Imported only when first needed: nothing outside this package imports it at module level. Every
kernel has one signature, names its axes, and has a readable reference in ``tests/naive.py``. Small
work runs without Numba (:mod:`parentage.kernels._options`).
"""

from parentage.kernels._options import check_settings

check_settings()
