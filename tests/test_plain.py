"""Kernels run as plain Python where the work is small: with the same results, bit for bit.

Every call that learning makes to a kernel with a plain version is made to both, on copies of the
same arrays, and everything that comes back or was written is compared.
"""

from __future__ import annotations

import copy
import importlib
import os
import pkgutil
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from parentage import Advanced, datasets, kernels, learn
from parentage.kernels._options import Kernel, njit
from parentage.optimise import within
from parentage.scoring.candidates import score
from parentage.work.tuning import TUNING
from strategies import BY_SUMS, PENALISED, random_table, with_holes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from parentage.scoring.lists import CandidateLists

SCRATCH = {"solve_blocks": {6}}
"""Arguments, by place, that hold nothing that counts afterwards, or hold it in any order."""


@contextmanager
def only(how: Any) -> Iterator[None]:
    """Run all kernels in one way."""
    before, Kernel.only = Kernel.only, how
    try:
        yield
    finally:
        Kernel.only = before


def same(one: Any, other: Any) -> bool:
    """Whether two results are equal to the last bit, types of arrays included."""
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        alike = one.dtype == other.dtype and one.shape == other.shape
        return bool(alike and one.tobytes() == other.tobytes())
    return bool(one == other)


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Have every kernel run both ways and compared; return how often each was."""
    calls: Counter[str] = Counter()

    def both(kernel: Kernel, *args: Any) -> Any:
        if kernel.work is None:
            return kernel.compiled(*args)
        assert kernel.work(*args) >= 0
        copies = copy.deepcopy(args)
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            found = kernel.interpreted(*copies)
        expected = kernel.compiled(*args)
        name = kernel.__name__
        assert same(found, expected), name
        for place, (mine, theirs) in enumerate(zip(copies, args, strict=True)):
            if place not in SCRATCH.get(name, ()):
                assert same(mine, theirs), (name, place)
        calls[name] += 1
        return expected

    monkeypatch.setattr(Kernel, "__call__", both)
    return calls


def with_plain_version() -> set[str]:
    """Names of the kernels that say how much work they are."""
    return {
        value.__name__
        for module in pkgutil.iter_modules(kernels.__path__, "parentage.kernels.")
        for value in vars(importlib.import_module(module.name)).values()
        if isinstance(value, Kernel) and value.work is not None
    }


@pytest.mark.usefixtures("small_tables_expand")
@pytest.mark.filterwarnings("ignore::parentage.errors.UnprovenWarning")
@pytest.mark.parametrize("tables", [15, pytest.param(60, marks=pytest.mark.long)])
def test_all_calls_of_a_kernel_give_the_same_both_ways(tables: int, compared: Counter[str]) -> None:
    for seed in range(tables):
        table = random_table(seed, most_variables=7, most_rows=100, least_rows=3)
        for name in (*PENALISED, *BY_SUMS):
            learn(table, score=name, threads=1)
        holes = with_holes(table, seed)
        for how in ("pnal", "em"):
            learn(holes, missing=how, threads=1)
    for name in ("bic", "bdeu"):
        for seed in range(3):
            table = random_table(seed, most_variables=9, most_rows=200, least_rows=100)
            learn(table, score=name, threads=1, advanced=Advanced(complete=1, effort=0.02))
    within(score(datasets.chest_clinic(200), width=3.0), factor=20)
    learn(datasets.chest_clinic(5000), threads=1)
    learn(datasets.tic_tac_toe(), threads=1)
    learn(datasets.tic_tac_toe(), threads=1, max_parents=1)
    score(datasets.tic_tac_toe(), prior=0.3, threads=1)
    assert set(compared) == with_plain_version()
    assert compared["count_sets"] > 500 and compared["solve_blocks"] > 500


def facts(lists: CandidateLists) -> tuple[Any, ...]:
    """All that lists say, for comparison."""
    arrays = lists.offsets, lists.starts, lists.parents, lists.scores
    account = lists.known()
    tallies = replace(account.tallies, seconds=0.0)
    return *(array.tobytes() for array in arrays), replace(account, tallies=tallies)


@pytest.mark.parametrize("name", ["bic", "qnml", "bdeu", "k2"])
def test_lists_and_networks_are_the_same_both_ways(name: str) -> None:
    table = random_table(12345, most_variables=11, most_rows=300, least_rows=300)
    found = []
    for how in ("plain", "compiled"):
        with only(how), np.errstate(over="raise"):
            lists = score(table, score=name, threads=1)
            solution = learn(lists)
        found.append((*facts(lists), solution.score, solution.network, solution.optimal))
    assert found[0] == found[1]


COLD = """
import sys
from parentage import datasets, learn, score
from parentage.optimise import within
from parentage.work.stop import compiling

table = datasets.chest_clinic(1000)
for name in ("bic", "bdeu", "qnml"):
    assert learn(table, score=name).optimal
assert len(within(score(table, width=3.0), factor=20)) > 1
print("numba" in sys.modules, compiling.seconds)
"""


def test_a_small_table_needs_no_numba(tmp_path: Path) -> None:
    """With nothing in the cache everything of a small table is done in plain Python."""
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", COLD], capture_output=True, text=True, check=True, env=env
    )
    assert done.stdout == "False 0.0\n"


def set_limits(monkeypatch: pytest.MonkeyPatch, **seconds: Any) -> None:
    """Limit the plain work, of which nothing is done yet."""
    monkeypatch.setattr("parentage.kernels._options.TUNING", replace(TUNING, **seconds))
    for name, value in (("only", None), ("plain", 0.0), ("loadable", 0.0)):
        monkeypatch.setattr(Kernel, name, value)


def test_plain_work_ends_where_compiling_is_cheaper(monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, plain_cached=1.0, plain_missing=3.0)
    ran: list[str] = []

    @njit(work=lambda seconds: 1e6 * seconds, cache=False)
    def wait(seconds):  # type: ignore[no-untyped-def]
        return seconds

    @wait.as_numpy  # type: ignore[untyped-decorator, unused-ignore]  # a kernel has no types
    def _wait(seconds: float) -> float:
        ran.append("plain")
        return seconds

    assert wait(0.5) == 0.5 and ran == ["plain"]
    assert wait(2.0) == 2.0 and ran == ["plain", "plain"]  # nothing is in the cache
    assert wait(3.5) == 3.5 and ran == ["plain", "plain"]
    assert wait(0.5) == 0.5 and ran == ["plain", "plain"]  # it is compiled by now


@pytest.mark.parametrize(("loaded", "most"), [(False, 1.0), (True, 0.1)])
def test_plain_work_ends_where_loading_is_cheaper(
    loaded: bool, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Importing Numba has a price, and loading one kernel after that a smaller one."""
    options = "parentage.kernels._options"
    set_limits(monkeypatch, plain_cached=1.0, plain_load=0.1, plain_missing=0.0)
    monkeypatch.setattr(f"{options}.is_cached", lambda _: True)
    monkeypatch.setattr(f"{options}.sys", SimpleNamespace(modules={"numba"} if loaded else set()))
    kernel = Kernel(lambda _: "", {}, work=lambda seconds: 1e6 * seconds)
    assert kernel._is_short((0.9 * most,))
    kernel._add(0.2 * most)
    assert not kernel._is_short((0.9 * most,))
    assert kernel._is_short((0.7 * most,))


CACHED = """
import sys
import numpy as np
from parentage.kernels._cache import cached_kernels, is_cached
from parentage.kernels.levels import live_members

print(is_cached(live_members.py_func), len(cached_kernels()), "numba" in sys.modules)
live_members.compiled(np.zeros((1, 2), np.int64), np.zeros(1, np.uint64))
print(len(cached_kernels()))
"""


def test_what_is_in_the_cache_is_known_without_numba(tmp_path: Path) -> None:
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    for known in (0, 1):
        done = subprocess.run(
            [sys.executable, "-c", CACHED], capture_output=True, text=True, check=True, env=env
        )
        assert done.stdout == f"{bool(known)} {known} False\n1\n"
    for file in tmp_path.rglob("*.nbc"):
        os.utime(file, (0, 0))  # older than the source: of another version
    done = subprocess.run(
        [sys.executable, "-c", CACHED], capture_output=True, text=True, check=True, env=env
    )
    assert done.stdout.startswith("False 0 False")
