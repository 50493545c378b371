"""Messages fit their reader, what they say to type works, and all texts are plain English."""

from __future__ import annotations

import ast
import dataclasses
import random
import re
import shlex
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import messages
import parentage
from parentage.cli import main
from parentage.data.settings import Reading
from parentage.errors import (
    DataWarning,
    ParentageError,
    ParentageWarning,
    UnprovenWarning,
    Way,
)
from parentage.optimise.settings import Optimising
from parentage.scoring.settings import Scoring
from parentage.work.context import Running
from parentage.work.settings import flags_of, option_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parent.parent
DOCS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
COMMAND_LINE = re.compile(
    r"(?<!var\()--[a-z][a-z-]*(?![\w:-])|(?<!\S)-[ko]\b|`parentage |in Python:"
)
"""An option or a command; ``--name:`` and ``var(--name)`` are CSS."""

STIFF = re.compile(
    r"(?<!there )\b(is|are) no (?!longer|better|more|less)|\bfor want of\b|\bwanted\b|\bmend"
    r"|\bstands? (twice|already)\b|\bwhat (came|becomes) of\b|\bnobody's\b|\bknows? no\b",
    re.IGNORECASE,
)


# --- texts -------------------------------------------------------------------------------------


def literals(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the texts of a module that run: without docstrings and ``Option(…)``."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Option":
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.lineno, node.value
    for child in ast.iter_child_nodes(node):
        yield from literals(child)


def texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, re.sub(r"\s+", " ", node.value)


def test_only_the_command_line_speaks_of_its_options() -> None:
    found = [
        f"{name}:{line}: {text}"
        for name, tree in messages.modules().items()
        if not name.startswith("cli/") and name != "errors.py"
        for line, text in literals(tree)
        if COMMAND_LINE.search(text)
    ]
    assert not found


def test_the_search_for_options_sees_them() -> None:
    tree = ast.parse(
        'def f():\n    """-k"""\n    return f"{x}; type --missing drop", Option("--a")'
    )
    assert [text for _, text in literals(tree)] == ["; type --missing drop"]
    for text in ("(--missing)", "use -k 3", "`parentage learn` takes them", "--no-header"):
        assert COMMAND_LINE.search(text)
    for text in ("a{--ok-bg:#fff;color:var(--ok-bg)}", "edge '--'", "score-k", "−1 - x"):
        assert not COMMAND_LINE.search(text)


def test_english_is_plain() -> None:
    found = [
        f"{name}:{line}: {text}"
        for name, tree in messages.modules().items()
        for line, text in texts(tree)
        if STIFF.search(text)
    ]
    for path in DOCS:
        text = re.sub(r"\s+", " ", path.read_text(encoding="utf-8"))
        found += [
            f"{path.name}: {text[at.start() - 40 : at.end() + 40]}" for at in STIFF.finditer(text)
        ]
    assert not found


def test_the_search_for_stiff_phrases_sees_them() -> None:
    for text in (
        "'x' is no variable",
        "lost for want of a name",
        "the row stands twice",
        "Mend it",
    ):
        assert STIFF.search(text)
    for text in ("there is no folder", "once m! is no longer exact", "recommended", "understands"):
        assert not STIFF.search(text)


def test_the_list_of_messages_has_what_people_read_and_nothing_else() -> None:
    tree = ast.parse(
        'def f():\n    """Not this docstring of f."""\n'
        '    raise E(f"no column {name!r}; did you mean {near}?", "too short", "a, b")'
    )
    assert list(messages.sentences(tree)) == [
        (3, "no column ‹name›; did you mean ‹near›?"),
    ]
    assert "## data/reading.py" in messages.listed()


# --- readers -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A file that is refused or warned about, and what both readers are told to type."""

    content: bytes
    shown: list[tuple[str, str]]
    python: dict[str, Any] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    name: str = "table.csv"


SMALL = b"a,b,c\n" + b"x,0,u\nx,0,v\ny,1,u\ny,1,v\ny,0,u\n" * 6
NUMBERS = b"a,b,c\n" + b"".join(b"%d.5,%d,%d\n" % (i * i % 17, i % 2, i % 3) for i in range(30))
GAPS = b"a,b,my col\n0,1,x\n1,0,?\n1,1,y\n0,0,x\n"
IDS = b"id,a,b\n" + b"".join(b"p%d,%d,%d\n" % (i, i % 2, i % 3) for i in range(12))
FAR = b"a,b\n" + b"x,0\ny,1\nx,99\nx,1\n" * 3
COUNTS = b"a,b,c,n\n" + b"".join(
    b"%d,%d,%d,%d\n" % (i % 2, i // 2 % 2, i // 4, i * i % 11 + i) for i in range(8)
)
DAT = b"a b\n2 2\n0 1\n1 0\n5 1\n"
LISTS = b"2\na 1\n-2.5 0\nb 2\n-1.5 1 a\n-3 0\n"

REFUSED = {
    "missing cell": Case(GAPS, [
        ("missing='pnal'", "--missing pnal"),
        ("missing='drop'", "--missing drop"),
        ("missing='state'", "--missing state"),
        ("na=[]", "--na none"),
    ]),
    "few missing cells": Case(b"a,b\n" + b"0,1\n1,0\n" * 12 + b"?,0\n", [
        ("missing='em'", "--missing em"), ("missing='drop'", "--missing drop"),
    ]),
    "too few complete rows": Case(
        b"a,b,c\n0,1,?\n1,?,0\n?,1,1\n0,0,1\n",
        [("missing='em'", "--missing em"), ("drop=['a']", "--drop a")],
        {"missing": "drop"}, ("--missing", "drop"),
    ),
    "continuous": Case(NUMBERS, [
        ("discretize='mdl'", "--discretize mdl"), ("discretize='median'", "--discretize median"),
        ("categorical=['a']", "--categorical a"), ("drop=['a']", "--drop a"),
    ]),
    "way to cut": Case(
        NUMBERS,
        [("discretize='median'", "--discretize median"),
         ("discretize='quantile:4'", "--discretize quantile:4"),
         ("discretize='width:4'", "--discretize width:4")],
        {"discretize": "mean"}, ("--discretize", "mean"),
    ),
    "identifier": Case(IDS, [("drop=['id']", "--drop id"), ("keep=['id']", "--keep id")]),
    "counts": Case(COUNTS, [("counts='n'", "--counts n"), ("keep=['n']", "--keep n")]),
    "headerless": Case(b"0,0,1\n0,1,1\n1,0,0\n1,1,0\n", [("header=False", "--no-header")]),
    "column without a name": Case(
        b",b,c\n1,1,x\n2,0,y\n3,1,x\n", [("drop=['unnamed 1']", "--drop 'unnamed 1'")]
    ),
    "not utf-8": Case(
        "a,b\nä,1\nb,2\nä,2\n".encode("latin-1"), [("encoding='cp1252'", "--encoding cp1252")]
    ),
    "utf-16": Case("a,b\n0,1\n1,0\n0,0\n".encode("utf-16"), [
        ("encoding='utf-16'", "--encoding utf-16")
    ]),
    "unknown encoding": Case(
        SMALL, [("encoding='utf-8'", "--encoding utf-8")],
        {"encoding": "klingon"}, ("--encoding", "klingon"),
    ),
    "no values": Case(
        b"a,b,c\n?,1,x\n?,0,y\n?,1,y\n", [("drop=['a']", "--drop a")],
        {"missing": "mode"}, ("--missing", "mode"),
    ),
    "code too large": Case(DAT, [("format='csv'", "--format csv")], name="table.dat"),
    "string attribute": Case(
        b"@relation r\n@attribute note string\n@attribute a {0,1}\n@attribute b {0,1}\n@data\n"
        b"hi,0,1\nho,1,0\nhe,1,1\n",
        [("drop=['note']", "--drop note")], name="table.arff",
    ),
    "lists as a table": Case(
        LISTS, [("format='csv'", "--format csv")], {"format": "jkl"}, ("--format", "jkl")
    ),
}  # fmt: skip


def through_command(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    """Run a command in this process; return what it says on stderr."""
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        try:
            main(list(args))
        except SystemExit as stop:
            assert stop.code in (0, 2)
    return capsys.readouterr().err


def through_python(path: Path, **options: Any) -> str:
    """Read and score a table; return the message if it is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ParentageWarning)
        try:
            parentage.score(parentage.read_table(path, **options))
        except ParentageError as error:
            return str(error)
    return ""


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_every_reader_is_told_what_works(
    case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / case.name
    path.write_bytes(case.content)
    said = through_python(path, **case.python)
    shown = through_command(capsys, "info", str(path), *case.command)
    problem = problem_of(said)
    assert " --" not in said and ("pass " in said or "\nUse (or let auto=True decide" in said)
    assert "='" not in shown and ("type " in shown or "\nType (or let --auto decide" in shown)
    for keyword, option in case.shown:
        assert keyword in said
        assert option in shown
        typed: dict[str, Any] = eval(f"dict({keyword})")  # noqa: S307  # as a reader would type it
        assert problem_of(through_python(path, **{**case.python, **typed})) != problem
        after = through_command(capsys, "info", str(path), *case.command, *shlex.split(option))
        assert problem_of(shown) not in after


def problem_of(said: str) -> str:
    """What is wrong: the first line of a list of decisions, or what comes before the advice."""
    first, *lines = said.split("\n")
    return lines[0].strip() if lines and first.endswith(":") else first.split(";")[0]


@pytest.mark.parametrize("name", [name for name in REFUSED if not REFUSED[name].command])
def test_the_call_of_a_refusal_can_be_pasted(
    name: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / REFUSED[name].name
    path.write_bytes(REFUSED[name].content)
    said = through_python(path).strip().split("\n")[-1].strip()
    monkeypatch.chdir(tmp_path)
    for command in ("info", "learn", "score", "support"):
        shown = through_command(capsys, command, str(path)).strip().split("\n")
        typed = [shlex.split(line)[1:] for line in shown if line.startswith("  parentage ")]
        if name == "code too large":
            assert "read_table" not in said and not typed
            return
        assert len(typed) == (1 if command == typed[0][0] else 2) and typed[-1][0] == command
        assert "(or let --auto decide the same):" in shown[-1 - len(typed)]
        for words in typed:
            assert "error" not in through_command(capsys, *words)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        table = eval(said)  # noqa: S307  # as a reader would type it
        assert table.digest == parentage.read_table(path, auto=True).digest


FRAMES = ("missing cell", "few missing cells", "continuous", "identifier", "counts")
"""Refusals that a data frame can have as well as a file."""


@pytest.mark.parametrize("name", FRAMES)
def test_what_the_estimator_is_told_works(name: str) -> None:
    """The call at the end is typed as it is, and so is every way out that is offered."""
    X = pl.read_csv(REFUSED[name].content, null_values="?")  # as the message has it
    with pytest.raises(ParentageError) as refusal:
        parentage.ParentageLearner().fit(X)
    said = str(refusal.value)
    problem, call = problem_of(said), said.split("\n")[-1].strip()
    assert " --" not in said and call.startswith("parentage.")
    calls = [call]
    for way in refusal.value.ways:
        assert isinstance(way, Way)
        typed = way.typed("estimator").removesuffix(" in place of X")
        calls.append(typed if "(" in typed else f"parentage.ParentageLearner({typed})")
    for told in calls:
        given = eval(told, {"parentage": parentage, "X": X})  # noqa: S307  # as a reader types it
        learner = parentage.ParentageLearner()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ParentageWarning)
            try:
                learner.fit(given) if told.startswith("parentage.read_table") else given.fit(X)
            except ParentageError as error:
                assert told != call and problem_of(str(error)) != problem, told


@pytest.mark.parametrize("command", ["score", "support"])
def test_a_command_that_reads_by_recipe_says_how(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a message names and the command does not have goes through ``info``, as it says."""
    path, recipe = tmp_path / "t.csv", tmp_path / "read.toml"
    path.write_bytes(IDS)
    said = through_command(capsys, command, str(path), "-k", "1")
    asked = f"  parentage info {path} --drop id --write-recipe read.toml\n"
    assert f"{asked}  parentage {command} {path} -k 1 --recipe read.toml" in said
    typed = shlex.split(f"info {path} --keep id --write-recipe {recipe}")
    assert "error" not in through_command(capsys, *typed)
    assert "error" not in through_command(capsys, command, str(path), "--recipe", str(recipe))


def test_warnings_fit_their_reader_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "ids.csv"
    path.write_bytes(FAR)
    with pytest.warns(DataWarning, match=r"column 'b' holds 99 .*; pass na=\['b=99'\] if it"):
        parentage.read_table(path)
    assert "type --na b=99 if it" in through_command(capsys, "info", str(path))
    given = ("--na", "b=99", "--missing", "drop")
    assert "warning" not in through_command(capsys, "info", str(path), *given)
    note = (
        "parentage score has no --na; type\n"
        f"  parentage info {path} --na b=99 --auto --write-recipe read.toml\n"
        f"  parentage score {path} -k 1 --recipe read.toml"
    )
    assert note in through_command(capsys, "score", str(path), "-k", "1")
    recipe = str(tmp_path / "read.toml")
    typed = ("--na", "b=99", "--auto", "--write-recipe", recipe)
    assert "error" not in through_command(capsys, "info", str(path), *typed)
    assert "error" not in through_command(capsys, "score", str(path), "--recipe", recipe)


def test_a_search_that_is_too_large_names_its_limits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "wide.csv"
    draw = random.Random(1)
    lines = [",".join(draw.choices("01", k=40)) for _ in range(20)]
    path.write_text("\n".join([",".join(f"v{v}" for v in range(40)), *lines, ""]))
    table = parentage.read_table(path)
    with pytest.raises(ParentageError, match="pass max_parents=3 or rules='default'"):
        parentage.score(table, rules="none")
    assert parentage.score(table, rules="none", max_parents=3).n_variables == 40
    shown = through_command(capsys, "score", str(path), "--rules", "none")
    assert "type --max-parents 3 or --rules default" in shown
    assert "error" not in through_command(
        capsys, "score", str(path), "--rules", "none", "--max-parents", "3"
    )


def test_parameters_need_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, lists, target = tmp_path / "t.csv", tmp_path / "t.jkl", tmp_path / "t.bif"
    table.write_bytes(SMALL)
    scored = parentage.score(parentage.read_table(table))
    scored.save(lists)
    with pytest.raises(ParentageError, match=r"pass table=… .*, or write \.json or \.dot"):
        parentage.learn(scored).save(target)
    assert "type --data TABLE" in through_command(capsys, "learn", str(lists), "-o", str(target))
    assert not target.exists()
    through_command(capsys, "learn", str(lists), "-o", str(target), "--data", str(table))
    assert target.exists()


def test_settings_for_tables_are_refused_for_lists_in_the_readers_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "lists.jkl"
    path.write_bytes(LISTS)
    with pytest.raises(ParentageError, match=r"^missing='drop' is for tables"):
        parentage.learn(path, missing="drop")
    shown = through_command(capsys, "learn", str(path), "--missing", "drop")
    assert "error: --missing drop is for tables" in shown


def test_messages_and_commands_have_the_same_options() -> None:
    for kind in (Reading, Scoring, Optimising, Running):
        for setting in dataclasses.fields(kind):
            value = not setting.default if isinstance(setting.default, bool) else 1
            typed = Way(setting.name, value).typed("command line").split()
            assert option_of(setting) is None or typed[0] in flags_of(setting)


def test_ways_are_written_for_both_readers() -> None:
    error = ParentageError("bad", Way("drop", ["a", "b c"]), Way("header", False), "rename them")
    assert str(error) == "bad; pass drop=['a', 'b c'] or header=False, or rename them"
    typed = error.text("command line")
    assert typed == "bad; type --drop a --drop 'b c' or --no-header, or rename them"
    assert Way("complete", True).typed("command line") == "--complete"
    assert str(ParentageError("bad", "rename one", "drop it")) == "bad; rename one, or drop it"


CONSTANT = b"a,b,c\n" + b"x,u,k\ny,v,k\n" * 6
"""A table that every reader warns about: column c is constant."""


def calls_that_warn(path: Path) -> Iterator[tuple[type[ParentageWarning], Callable[[], object]]]:
    """Every way into the package, at its own depth above where the warning is issued."""
    table = parentage.datasets.chest_clinic(200)
    lists = parentage.score(table)
    learner = parentage.ParentageLearner(time_limit=1e-9)
    short: dict[str, Any] = {
        "advanced": parentage.Advanced(complete=1, effort=0.01),
        "time_limit": 1e-9,
    }
    yield DataWarning, lambda: parentage.read_table(path)
    yield DataWarning, lambda: parentage.learn(path)
    yield DataWarning, lambda: parentage.score(path)
    yield DataWarning, lambda: parentage.support(path, need=False)
    yield DataWarning, lambda: parentage.ParentageLearner().fit(path)
    yield DataWarning, lambda: lists.within(2)
    yield UnprovenWarning, lambda: parentage.learn(table, **short)
    yield UnprovenWarning, lambda: parentage.score(table, time_limit=1e-9)
    yield UnprovenWarning, lambda: parentage.support(table, time_limit=1e-9)
    yield UnprovenWarning, lambda: learner.fit(table)


@pytest.mark.usefixtures("no_moment")
def test_warnings_point_to_the_line_that_called(tmp_path: Path) -> None:
    path = tmp_path / "constant.csv"
    path.write_bytes(CONSTANT)
    for category, call in calls_that_warn(path):
        with pytest.warns(category) as caught:
            call()
        for warning in caught:
            assert warning.filename == __file__, warning.message
            assert warning.lineno == call.__code__.co_firstlineno


def test_every_warning_is_issued_by_the_one_function_that_finds_the_line() -> None:
    own = [
        name
        for name, tree in messages.modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in ("warn", "warn_explicit")
    ]
    assert own == ["errors.py", "view/figure.py"], "the second hands on what Matplotlib says"
