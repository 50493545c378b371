"""Files and streams that cannot be written: a message and exit code 2, and nothing is destroyed."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import command
from parentage.errors import InputError
from parentage.files.atomic import check_targets, write_text
from parentage.network.formats import check_network_target
from parentage.scoring.formats import check_lists_target

SMALL = "a,b,c\n" + "x,0,u\nx,0,v\ny,1,u\ny,1,v\ny,0,u\n" * 6
Done = subprocess.CompletedProcess[str]


def shell(line: str, folder: Path, limit: int | None = None) -> Done:
    """Run a line of bash in a folder; ``parentage`` in it is ours, files are at most ``limit``."""

    def preexec() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    start = f'parentage() {{ "{sys.executable}" -m parentage "$@"; }}\n'
    return subprocess.run(
        ["bash", "-c", start + line],  # noqa: S607 # the bash of the machine
        capture_output=True,
        text=True,
        cwd=folder,
        preexec_fn=preexec,
    )


def here(line: str, folder: Path) -> command.Done:
    """Run a command in a folder, but in this process."""
    name, *arguments = shlex.split(line)
    assert name == "parentage"
    with contextlib.chdir(folder):
        return command.run(*arguments)


def assert_refused(done: Done | command.Done, *words: str) -> None:
    assert done.returncode == 2, (done.returncode, done.stderr)
    assert "Traceback" not in done.stderr, done.stderr
    assert "Exception ignored" not in done.stderr, done.stderr
    assert done.stderr.startswith("parentage: error: "), done.stderr
    for word in words:
        assert word in done.stderr, done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.csv").write_text(SMALL)
    (tmp_path / "lists.jkl").write_text("2\na 1\n-2.5 0\nb 2\n-1.5 1 a\n-3 0\n")
    return tmp_path


def test_the_input_is_not_overwritten(folder: Path) -> None:
    (folder / "in.jkl").write_text(SMALL)
    done = here("parentage score in.jkl -o ./in.jkl", folder)
    assert_refused(done, "is read here", "another name")
    assert (folder / "in.jkl").read_text() == SMALL


def test_what_is_read_is_not_overwritten_under_any_name(folder: Path) -> None:
    os.link(folder / "small.csv", folder / "hard.jkl")
    (folder / "soft.jkl").symlink_to("small.csv")
    for name in ("hard.jkl", "soft.jkl", "../" + folder.name + "/small.csv"):
        with pytest.raises(InputError, match="is read here"):
            check_targets([None, str(folder / name)], ["-", None, str(folder / "small.csv")])


@pytest.mark.parametrize(
    ("line", "outputs"),
    [
        ("learn IN.json", "-o --certificate --log --write-recipe"),
        ("learn lists.jkl --data IN.json", "-o --certificate --log --write-recipe"),
        ("learn small.csv --constraints IN.json", "-o --certificate --log --write-recipe"),
        ("learn small.csv --start IN.json", "-o --certificate --log --write-recipe"),
        ("learn small.csv --recipe IN.json", "-o --certificate --log --write-recipe"),
        ("score IN.jkl", "-o"),
        ("score small.csv --constraints IN.jkl", "-o"),
        ("score small.csv --recipe IN.jkl", "-o"),
        ("info IN.csv", "--write-recipe"),
        ("info small.csv --recipe IN.csv", "--write-recipe"),
        ("support IN.json", "-o"),
        ("support small.csv IN.json", "-o"),
        ("support small.csv --constraints IN.json", "-o"),
        ("support small.csv --recipe IN.json", "-o"),
        ("apply IN.bif small.csv", "-o"),
        ("apply net.bif IN.csv", "-o"),
        ("apply net.bif small.csv --data IN.csv", "-o"),
        ("apply net.bif small.csv --recipe IN.csv", "-o"),
        ("report IN.html", "-o"),
        ("report net.bif --data IN.html", "-o"),
        ("support small.csv --constraints IN.html", "-o"),
        ("report small.csv --recipe IN.html", "-o"),
    ],
)
def test_no_input_is_overwritten(folder: Path, line: str, outputs: str) -> None:
    (name,) = re.findall(r"IN\.\w+", line)
    (folder / name).write_text(SMALL)
    for output in outputs.split():
        done = here(f"parentage {line} {output} ./{name}", folder)
        assert_refused(done, "is read here", "another name")
        assert (folder / name).read_text() == SMALL


def test_any_other_file_is_overwritten(folder: Path) -> None:
    for verb, name in (("score", "n.jkl"), ("learn", "n.json"), ("report", "n.html")):
        (folder / name).write_text("Notes that took an afternoon.\n")
        done = here(f"parentage {verb} small.csv -o {name}", folder)
        assert done.returncode == 0, done.stderr
        assert not (folder / name).read_bytes().startswith(b"Notes")


def test_two_results_need_two_names(folder: Path) -> None:
    (folder / "link.json").symlink_to("n.json")
    for line in (
        "-o n.json --certificate n.json",
        "-o n.json --certificate ./n.json",
        "-o n.json --certificate link.json",
        "--log n.json --certificate n.json",
    ):
        assert_refused(here(f"parentage learn small.csv {line}", folder), "for two results")
        assert not (folder / "n.json").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_device_that_is_full(folder: Path) -> None:
    done = here("parentage learn small.csv --certificate /dev/full", folder)
    assert_refused(done, "cannot write '/dev/full'", "No space left")
    done = here("parentage learn small.csv --log /dev/full", folder)
    assert done.returncode == 0
    assert done.stderr.count("cannot write to the log '/dev/full' any more: No space left") == 1
    assert "proven optimal" in done.stdout


@pytest.mark.parametrize("line", ["score small.csv -o loop.jkl", "learn small.csv -o loop.json"])
def test_a_loop_of_links(folder: Path, line: str) -> None:
    for suffix in ("jkl", "json"):
        (folder / f"loop.{suffix}").symlink_to(f"loop.{suffix}")
    assert_refused(here(f"parentage {line}", folder), "loop")


def test_null_characters_in_names() -> None:
    with pytest.raises(InputError, match="null"):
        write_text("a\0b.jkl", "")
    with pytest.raises(InputError, match="null"):
        check_targets(["a\0b.jkl"], [])
    with pytest.raises(InputError, match="null"):
        check_lists_target("a\0b.jkl")
    with pytest.raises(InputError, match="null"):
        check_network_target("a\0b.json", needs_table=None)


@pytest.mark.skipif(not Path("/sys/kernel").is_dir(), reason="no /sys, where nobody may write")
def test_a_folder_that_cannot_be_written(folder: Path) -> None:
    done = here("parentage score small.csv -o /sys/kernel/n.jkl", folder)
    assert_refused(done, "cannot write", "ermission denied")


@pytest.mark.parametrize("name", ["n.jkl", "n.parquet", "n.json"])
def test_a_full_disk(folder: Path, name: str) -> None:
    verb = "score" if name.endswith(("jkl", "pss", "parquet")) else "learn"
    before = sorted(folder.iterdir())
    done = shell(f"parentage {verb} small.csv -o {name}", folder, limit=64)
    assert_refused(done, "cannot write", name)
    assert sorted(folder.iterdir()) == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("verb", ["info", "score --json"])
def test_stdout_is_full(folder: Path, verb: str) -> None:
    done = shell(f"parentage {verb} small.csv > /dev/full", folder)
    assert_refused(done, "stdout", "No space left")


def test_stdout_is_closed(folder: Path) -> None:
    assert_refused(shell("parentage score small.csv >&-", folder), "stdout", "closed")
    done = shell("parentage score small.csv -o n.jkl >&-", folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "n.jkl").stat().st_size > 0


def test_stderr_is_closed_or_full(folder: Path) -> None:
    for where in ("2>&-", "2>/dev/full"):
        done = shell(f"parentage score small.csv -o n.jkl {where} && cat n.jkl", folder)
        assert done.returncode == 0
        assert done.stdout.startswith("# parentage")


def test_stdin_is_closed(folder: Path) -> None:
    for verb in ("score", "info"):
        assert_refused(shell(f"parentage {verb} - <&-", folder), "standard input", "closed")


@pytest.mark.parametrize(
    ("line", "code"),
    [("info small.csv", 0),
     ("learn small.csv --engine orders --time-limit 0 --require-optimal", 1)],
)  # fmt: skip
def test_a_broken_pipe_is_quiet_and_keeps_the_code(folder: Path, line: str, code: int) -> None:
    if code:  # something that cannot be proved at once
        rows = "\n".join(",".join(f"{(i * k) % 7 % 3}" for k in range(1, 13)) for i in range(99))
        (folder / "small.csv").write_text(",".join("abcdefghijkl") + "\n" + rows + "\n")
    plain = shell(f"parentage {line}", folder)
    assert plain.returncode == code, plain.stderr
    done = shell(f"(sleep 0.2; parentage {line}) | true; echo ${{PIPESTATUS[0]}} >&2", folder)
    *said, found = done.stderr.splitlines()
    assert int(found) == code
    assert not [line for line in said if "error" in line.lower() or "Traceback" in line]


def test_names_on_a_terminal_do_not_command_it(folder: Path) -> None:
    (folder / "n.csv").write_text("\x1b[31mred,b\x9b2J,c\n" + SMALL.split("\n", 1)[1])
    script = f"{sys.executable} -m parentage info n.csv"
    shown = shell(f'script -qec "{script}" /dev/null < /dev/null', folder)
    assert "\\x1b[31mred" in shown.stdout, shown.stderr
    assert "\x1b[31m" not in shown.stdout
    assert "\x9b" not in shown.stdout
