"""The cache of compiled kernels may be read-only, damaged, full, stale or crossed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import parentage
from parentage.errors import InputError, ParentageWarning
from parentage.kernels import _cache, _options

TINY = """
from parentage.cli.output import say_if_compiling
from parentage.kernels._options import JIT, njit

say_if_compiling()

@njit(**JIT)
def twice(x):
    return 2 * x

assert twice(21) == 42
print(sum(twice.compiled.stats.cache_hits.values()))
"""


def run_copy(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a kernel of a small module that Numba caches in ``folder``."""
    script = folder / "tiny_kernel.py"
    if not script.exists():
        script.write_text(TINY)
    root = str(Path(parentage.__file__).parent.parent)
    env = {**os.environ, "PYTHONPATH": root, "NUMBA_CACHE_DIR": "", **environment}
    return subprocess.run([sys.executable, script], capture_output=True, text=True, env=env)


def test_a_damaged_cache_is_made_again(tmp_path: Path) -> None:
    assert run_copy(tmp_path).stdout == "0\n"
    assert run_copy(tmp_path).stdout == "1\n"
    cache = tmp_path / "__pycache__"
    for pattern in ("*.nbc", "*.nbi"):
        for size in (0, 100):
            for file in cache.glob(pattern):
                file.write_bytes(file.read_bytes()[:size])
            done = run_copy(tmp_path)
            assert done.returncode == 0, done.stderr
            assert done.stderr.count("a file in the cache of compiled kernels is damaged") == 1
            assert "later runs reuse them" in done.stderr
        assert run_copy(tmp_path).stdout == "1\n"  # mended


def test_no_place_for_a_cache(tmp_path: Path) -> None:
    """A file stands where each cache folder would be: works for root too, who may write all."""
    (tmp_path / "__pycache__").write_text("")
    (tmp_path / "home").write_text("")
    home = str(tmp_path / "home")
    done = run_copy(tmp_path, HOME=home, XDG_CACHE_HOME=home)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("compiled kernels cannot be cached") == 1
    assert "type export NUMBA_CACHE_DIR=FOLDER" in done.stderr
    assert "compiling parts of the program" in done.stderr
    assert "once" not in done.stderr and "reuse" not in done.stderr
    folder = tmp_path / "elsewhere"
    done = run_copy(tmp_path, HOME=home, XDG_CACHE_HOME=home, NUMBA_CACHE_DIR=str(folder))
    assert done.stdout == "0\n" and "cannot be cached" not in done.stderr
    assert run_copy(tmp_path, NUMBA_CACHE_DIR=str(folder)).stdout == "1\n"


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    run_copy(tmp_path)
    shutil.rmtree(tmp_path / "__pycache__")
    cache = Broken()
    _cache.let_failures_pass(cache)
    _cache._told.clear()
    with pytest.warns(ParentageWarning, match="No space left"):
        cache.save_overload("signature", "data")
    with pytest.warns(ParentageWarning, match="damaged .EOFError"):
        assert cache.load_overload("signature", "context") is None  # type: ignore[func-returns-value]
    _cache._told.clear()


class Broken:
    cache_path = "somewhere"

    def load_overload(self, *_: object) -> None:
        raise EOFError("Ran out of input")

    def save_overload(self, *_: object) -> None:
        raise OSError(28, "No space left on device")

    def flush(self) -> None:
        raise OSError(28, "No space left on device")


HASH = """
import numpy as np
from parentage.kernels.missing import total_of

given = np.array([[1], [0], [1]], np.uint64), np.ones(3, np.int64), np.array([0, 1, 5])
print(total_of(*given), sum(total_of.compiled.stats.cache_hits.values()))
"""


def test_a_change_in_another_file_of_the_kernels_is_seen(tmp_path: Path) -> None:
    """``missing.total_of`` uses a constant of ``bits``; its own file stays the same."""
    package = Path(parentage.__file__).parent
    copy = tmp_path / "parentage"
    copy.mkdir()
    for name in ("__init__.py", "__init__.pyi", "errors.py"):
        shutil.copy(package / name, copy)
    for name in ("kernels", "work"):
        shutil.copytree(package / name, copy / name, ignore=lambda *_: ["__pycache__"])
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def hashed() -> list[int]:
        done = subprocess.run(
            [sys.executable, "-c", HASH], capture_output=True, text=True, env=env, check=True
        )
        return [int(word) for word in done.stdout.split()]

    assert hashed() == [6, 0]
    assert hashed() == [6, 1]
    bits = copy / "kernels" / "bits.py"
    text = bits.read_text()
    assert text.count("0x9E3779B97F4A7C15") == 1
    bits.write_text(text.replace("0x9E3779B97F4A7C15", "0x9E3779B97F4A7C17"))
    assert hashed() == [6, 0]
    assert hashed() == [6, 1]


TOTAL = """
import sys
from parentage.kernels._options import JIT, njit

@njit(**JIT)
def total(values):
    return values[0] + values[1]

kind = {"whole": int, "real": float}[sys.argv[1]]
print(total((kind(3), kind(5))), sum(total.compiled.stats.cache_hits.values()))
"""


def test_data_of_another_signature_are_not_used(tmp_path: Path) -> None:
    """Of two processes that share a cache, one left the index and the other the data."""
    script = tmp_path / "total.py"
    script.write_text(TOTAL)

    def total(kind: str, cache: str) -> str:
        env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / cache)}
        command = [sys.executable, str(script), kind]
        return subprocess.run(command, capture_output=True, text=True, env=env, check=True).stdout

    assert total("whole", "shared") == "8 0\n"
    assert total("real", "other") == "8.0 0\n"
    (mine,) = (tmp_path / "shared").rglob("*.nbc")
    (theirs,) = (tmp_path / "other").rglob("*.nbc")
    assert mine.name == theirs.name
    shutil.copy(theirs, mine)
    assert total("whole", "shared") == "8 0\n"  # compiled again
    assert total("whole", "shared") == "8 1\n"


@pytest.mark.parametrize(
    ("name", "value"),
    [("NUMBA_NUM_THREADS", "0"), ("NUMBA_NUM_THREADS", "-3"), ("NUMBA_NUM_THREADS", "many"),
     ("NUMBA_DISABLE_JIT", "1")],
)  # fmt: skip
def test_settings_under_which_nothing_runs(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match=f"unset {name}"):
        _options.check_settings()


def test_settings_are_a_message_of_the_command(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n0,1\n1,0\n1,1\n")
    command = [sys.executable, "-m", "parentage", "score", str(tmp_path / "t.csv")]
    env = {**os.environ, "NUMBA_NUM_THREADS": "0"}
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("parentage: error: NUMBA_NUM_THREADS is '0'")


ALONE = """
import sys
import numpy as np
from parentage.kernels._options import Kernel
from parentage.kernels.missing import total_of

Kernel.only = "compiled"
given = np.array([[1], [0], [1]], np.uint64), np.ones(3, np.int64), np.array([0, 1, 5])
found = total_of(*given)
loaded = sum(total_of.compiled.stats.cache_hits.values())
light = "numba.np.linalg" not in sys.modules
import numba

@numba.njit
def product(a, b, keys, times, f):
    return np.dot(a, b) + total(keys, times, f) * 0.0

total = total_of.compiled
print(found, loaded, light, product(np.ones((2, 2)), np.ones((2, 2)), *given)[0, 0])
"""


def test_a_kernel_is_loaded_without_what_compiling_needs(tmp_path: Path) -> None:
    first = printed_by(ALONE, tmp_path)
    again = printed_by(ALONE, tmp_path)
    assert first[1:3] == ["0", "False"], "it is compiled, with all that Numba knows"
    assert again[1:3] == ["1", "True"]
    assert first[0] == again[0] and first[3] == again[3] == "2.0"


def printed_by(code: str, cache: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
    )  # fmt: skip
    return done.stdout.split()
