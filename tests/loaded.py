"""Imported by the server that workers of test_cluster.py fork from: they have kernels loaded.

No test imports it: it scores a table.
"""

from __future__ import annotations

from parentage import score
from strategies import make_table

score(make_table([[0, 1, 0, 1], [0, 0, 1, 1], [0, 1, 1, 0]]), threads=1)
