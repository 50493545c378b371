"""Compile the kernels that most tests use, once, before any test starts.

``python tests/warm_kernels.py``: two processes compile different kernels at the same time. What
they compile is copied to the user's cache folder under a digest of this file and the kernels'
source, Numba and Python, so that another checkout of the same source does not compile again, nor
start those processes. Kernels say themselves what they were compiled from
(:mod:`parentage.kernels._options`); a wrong copy is compiled anew.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import numba

import parentage.kernels
from parentage.kernels._cache import source_digest

BEGIN = """
import warnings; warnings.simplefilter("ignore")
from parentage.kernels._options import Kernel
Kernel.only = "compiled"
"""
SCORING = """
import numpy as np, parentage
from parentage import datasets, learn, score
table = datasets.chest_clinic(300)
for name in ("bic", "bdeu", "qnml", "k2", "fnml"):
    score(table, score=name)
codes = table.to_codes().copy()
codes[0, ::7] = np.iinfo(codes.dtype).max
holes = type(table)(table.names, table.states, codes)
for how in ("pnal", "em"):
    learn(holes, missing=how)
other = datasets.chest_clinic(300, seed=1)  # lists of up to 12 variables are never expanded
names = (*table.names, *(name + " again" for name in other.names))
both = np.concatenate([table.to_codes(), other.to_codes()])
wide = type(table)(names, table.states + other.states, both)
few = parentage.Advanced(complete=1, effort=0.2)
learn(wide, advanced=few)
learn(wide, score="bdeu", advanced=few)
"""
SOLVING = """
import numpy as np
import parentage
from parentage import CandidateLists, learn
def lists(n, most, seed):
    rng = np.random.default_rng(seed)
    names = [f"v{i}" for i in range(n)]
    families = {}
    for v in names:
        others = [u for u in names if u != v]
        own = {tuple(sorted(rng.choice(others, rng.integers(0, most + 1), replace=False)))
               for _ in range(25)} | {()}
        families[v] = [(float(-rng.random() * 100), list(s)) for s in sorted(own)]
    return CandidateLists.from_families(families)
for engine in ("subsets", "orders", "branch-and-cut"):
    learn(lists(14, 3, 1), advanced=parentage.Advanced(engine=engine), time_limit=0.5)
learn(lists(30, 3, 2), time_limit=3.0)
learn(lists(12, 1, 3))
lists(8, 2, 4).within(factor=20)
"""


def main() -> None:
    """Copy what was compiled before, or compile it; then keep what is new."""
    own = Path(parentage.kernels.__path__[0]) / "__pycache__"
    home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    asked = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:8]
    key = f"{source_digest()[:16]}-{asked}-numba{numba.__version__}-{platform.python_version()}"
    kept = home / "parentage-tests" / key
    whole = kept / "whole"
    newest = max(file.stat().st_mtime for file in own.parent.glob("*.py"))
    if whole.exists():
        copy_compiled(kept, own, 0.0, newest)
    else:
        compile_all()
    if "NUMBA_CACHE_DIR" not in os.environ and own.is_dir():
        copy_compiled(own, kept, newest, 0.0)
        whole.touch()


def compile_all() -> None:
    """Have two processes compile."""
    running = [
        subprocess.Popen([sys.executable, "-c", BEGIN + code]) for code in (SCORING, SOLVING)
    ]
    codes = [process.wait() for process in running]
    if any(codes):
        raise SystemExit("the kernels could not be compiled")


def copy_compiled(source: Path, target: Path, since: float, stale: float) -> None:
    """Copy what was compiled since one time and is not in the target, or is from before another.

    Copies have the time of copying: entries that are older than the source count as stale.
    """
    target.mkdir(parents=True, exist_ok=True)
    for file in source.glob("*.nb[ci]"):
        there = target / file.name
        if file.stat().st_mtime >= since and not (there.exists() and there.stat().st_mtime > stale):
            shutil.copy(file, there)


if __name__ == "__main__":
    main()
