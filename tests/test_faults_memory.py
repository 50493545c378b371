"""Limits on memory from outside: ``ulimit -v`` and control groups end in a refusal."""

from __future__ import annotations

import resource
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

from parentage.work import memory

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

GB = 1 << 30


def run_limited(program: str, limit: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )


def test_ulimit_is_seen() -> None:
    done = run_limited(
        "from parentage.work.memory import available_memory; print(available_memory())", 2 * GB
    )
    assert done.returncode == 0, done.stderr
    assert 0 < int(done.stdout) < 2 * GB


def test_a_table_of_subsets_under_ulimit_is_refused_not_killed() -> None:
    program = """
        from parentage.errors import ResourceError
        from parentage.work.memory import require_memory
        try:
            require_memory(6 << 30, "a large table", "use less")
        except ResourceError as error:
            print(error)
    """
    done = run_limited(program, 4 * GB)
    assert done.returncode == 0, done.stderr
    assert "needs 6.4 GB of memory" in done.stdout


def group(folder: Path, limit: str, used: int, cached: int = 0) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.max").write_text(f"{limit}\n")
    (folder / "memory.current").write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 1\ninactive_file {cached}\nactive_file 5\n")


def test_control_groups_of_this_process_and_above(tmp_path: Path) -> None:
    root, own = tmp_path / "cgroup", tmp_path / "own"
    own.write_text("0::/user/job\n")
    group(root, "max", 10)
    assert memory._control_group(root, own) is None
    group(root / "user", "1000", 400, 100)
    assert memory._control_group(root, own) == 700
    group(root / "user" / "job", "500", 450)
    assert memory._control_group(root, own) == 50
    (root / "user" / "job" / "memory.max").write_text("nonsense")
    assert memory._control_group(root, own) == 700
    assert memory._control_group(root, tmp_path / "nothing") is None


def test_without_limits_free_memory_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_control_group", lambda: None)
    monkeypatch.setattr(memory, "_address_space", lambda: None)
    monkeypatch.setattr(memory, "_free", lambda: 123)
    assert memory.available_memory() == 123
    monkeypatch.setattr(memory, "_address_space", lambda: 45)
    assert memory.available_memory() == 45
