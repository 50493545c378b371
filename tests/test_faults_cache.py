"""The cache of compiled kernels may be read-only, damaged or full; settings may be wrong."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import parentage
from parentage.errors import InputError, ParentageWarning
from parentage.kernels import _options

TINY = """
import sys
from parentage.kernels._options import JIT, njit

@njit(**JIT)
def twice(x):
    return 2 * x

assert twice(21) == 42
print(sum(twice.stats.cache_hits.values()))
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
        for size in (0, 10, 100):
            for file in cache.glob(pattern):
                file.write_bytes(file.read_bytes()[:size])
            done = run_copy(tmp_path)
            assert done.returncode == 0, done.stderr
            assert done.stderr.count("the cache of compiled kernels cannot be used") == 1
            assert run_copy(tmp_path).stdout == "1\n"  # mended


def test_no_place_for_a_cache(tmp_path: Path) -> None:
    """A file stands where each cache folder would be: works for root too, who may write all."""
    (tmp_path / "__pycache__").write_text("")
    (tmp_path / "home").write_text("")
    home = str(tmp_path / "home")
    done = run_copy(tmp_path, HOME=home, XDG_CACHE_HOME=home)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("the cache of compiled kernels cannot be used") == 1


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    run_copy(tmp_path)
    shutil.rmtree(tmp_path / "__pycache__")
    cache = _options.PatientCache(Broken())
    _options._told.clear()
    with pytest.warns(ParentageWarning, match="No space left"):
        cache.save_overload("signature", "data")
    assert cache.load_overload("signature", "context") is None
    assert cache.elsewhere == 7
    _options._told.clear()


class Broken:
    elsewhere = 7

    def load_overload(self, *_: object) -> None:
        raise EOFError("Ran out of input")

    def save_overload(self, *_: object) -> None:
        raise OSError(28, "No space left on device")

    def flush(self) -> None:
        raise OSError(28, "No space left on device")


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
