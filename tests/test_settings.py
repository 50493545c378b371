"""What the user can set is the same everywhere: settings, functions, estimator and commands."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import os
import subprocess
import sys
import textwrap
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import polars as pl
import pytest

import parentage
from command import run
from parentage.arcs.settings import Supporting
from parentage.cli import LazyGroup, cli
from parentage.cli.options import load_table
from parentage.data.reading import as_table, read_table
from parentage.data.settings import Reading, ReadingKeywords
from parentage.errors import ESTIMATOR, InputError
from parentage.estimator import ParentageLearner
from parentage.learner import learn
from parentage.network.settings import Estimating
from parentage.optimise import learn_lists
from parentage.optimise.settings import Optimising, OptimisingKeywords
from parentage.scoring.candidates import score
from parentage.scoring.settings import Growing, GrowingKeywords, Scoring, ScoringKeywords
from parentage.work.running import Running, RunningKeywords
from parentage.work.scaling import Scaling, ScalingKeywords
from parentage.work.settings import meaning_of, option_of

if TYPE_CHECKING:
    from collections.abc import Callable

Settings = (
    type[Reading]
    | type[Scoring]
    | type[Growing]
    | type[Optimising]
    | type[Running]
    | type[Scaling]
    | type[Estimating]
    | type[Supporting]
)
STAGES: tuple[Settings, ...] = (Reading, Scoring, Growing, Optimising, Running, Scaling)

ASKED_FOR_DIFFERENTLY = {"constraints", "client", "executor"}
"""Typed as --require, --forbid, --tiers and --constraints; and as --cluster."""


def defaults_of(*stages: Settings) -> dict[str, Any]:
    return {field.name: field.default for stage in stages for field in dataclasses.fields(stage)}


def keywords_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Keyword parameters with their defaults."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


FUNCTIONS: dict[Callable[..., Any], tuple[tuple[Settings, ...], set[str]]] = {
    learn: ((*STAGES, Growing), {"progress", "start"}),
    score: ((Scoring, Running, Scaling), {"progress"}),
    read_table: ((Reading,), set()),
}
"""Functions that take all settings of these stages, and what else they take."""


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_functions_take_the_settings_of_their_stages(function: Callable[..., Any]) -> None:
    stages, more = FUNCTIONS[function]
    found, expected = keywords_of(function), defaults_of(*stages)
    assert found.keys() == expected.keys() | more
    assert {name: found[name] for name in expected} == expected
    for name in more:
        assert found[name] is None


KEYWORDS: dict[Settings, type] = {
    Reading: ReadingKeywords,
    Scoring: ScoringKeywords,
    Growing: GrowingKeywords,
    Optimising: OptimisingKeywords,
    Running: RunningKeywords,
    Scaling: ScalingKeywords,
}
"""What callers may give for the settings of a stage."""


@pytest.mark.parametrize("stage", KEYWORDS, ids=lambda stage: stage.__name__)
def test_keywords_are_those_of_the_settings(stage: Settings) -> None:
    names = [field.name for field in dataclasses.fields(stage)]
    assert list(KEYWORDS[stage].__annotations__) == names


@pytest.mark.parametrize(
    ("call", "wrong", "right"),
    [
        (learn, "max_parent", "max_parents"),
        (score, "time_limt", "time_limit"),
        (read_table, "mising", "missing"),
        (learn_lists, "engin", "engine"),
    ],
)
def test_a_wrong_keyword_is_refused_with_the_right_one(
    call: Callable[..., Any], wrong: str, right: str
) -> None:
    with pytest.raises(TypeError, match=rf"has no keyword '{wrong}'; did you mean '{right}'"):
        call(pl.DataFrame({"a": [0, 1]}), **{wrong: 1})


def test_settings_have_one_name_each() -> None:
    names = [field.name for stage in STAGES for field in dataclasses.fields(stage)]
    assert len(names) == len(set(names))


def test_learn_lists_takes_the_settings_of_optimising_and_what_picks_among_lists() -> None:
    found = keywords_of(learn_lists)
    expected = defaults_of(Optimising, Running)
    picking = {name: defaults_of(Scoring)[name] for name in ("max_parents", "constraints")}
    assert found == expected | picking | {"progress": None, "start": None, "stop": None}


def test_a_frame_is_read_as_a_file_is() -> None:
    frame = pl.DataFrame({"a": [0, 1, 1], "b": ["x", "y", "x"], "c": ["u", "u", "v"]})
    with pytest.raises(TypeError, match="no keyword 'mising'; did you mean 'missing'"):
        read_table(frame, mising="drop")  # type: ignore[call-arg]  # is refused
    assert read_table(frame, drop=["a"]).names == ("b", "c")
    assert read_table(frame, drop=()).digest == as_table(frame, Reading()).digest


def test_the_estimator_takes_the_settings_that_make_sense_for_it() -> None:
    """What data and tables are is said before; the names are those of scikit-learn."""
    taken = ("max_parents", "constraints", "prior", "missing", "discretize", "time_limit")
    expected = {name: defaults_of(*STAGES)[name] for name in taken} | defaults_of(Estimating)
    expected |= {"criterion": defaults_of(Scoring)["score"], "target": None, "unseen": "error"}
    expected |= {"n_jobs": 1, "random_state": defaults_of(Optimising)["seed"]}
    assert len(expected) <= 12
    assert set(ESTIMATOR.values()) == {*expected, "X"}
    assert keywords_of(ParentageLearner) == expected
    assert ParentageLearner().get_params() == expected
    assert all(getattr(ParentageLearner(), name) == value for name, value in expected.items())


def test_docstrings_have_every_setting() -> None:
    for function, (stages, _) in FUNCTIONS.items():
        for stage in stages:
            for field in dataclasses.fields(stage):
                lines = [line.strip() for line in (function.__doc__ or "").split("\n")]
                assert field.name in lines, (function.__name__, field.name)
                assert meaning_of(field).split("\n")[0].strip() in lines


COMMANDS: dict[str, tuple[Settings, ...]] = {
    "info": (Reading,),
    "score": (Reading, Scoring, Running, Scaling),
    "learn": STAGES,
}


def command(name: str) -> click.Command:
    assert isinstance(cli, LazyGroup)
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_have_an_option_for_every_setting_of_their_stages(name: str) -> None:
    options = {p.name: p for p in command(name).params if isinstance(p, click.Option)}
    for stage in COMMANDS[name]:
        for field in dataclasses.fields(stage):
            declared = option_of(field)
            if declared is None:
                assert field.name in ASKED_FOR_DIFFERENTLY
                continue
            option = options[field.name]
            assert set(declared.flags) == set(option.opts), field.name
            assert option.help == declared.help
            if not declared.repeatable:
                typed = option.get_default(click.Context(command(name)))
                assert typed == field.default, field.name


def functions_from(start: Any) -> set[Any]:
    """A function of the command line with all others of it that are named in it."""
    found, waiting = set(), [start]
    while waiting:
        function = inspect.unwrap(waiting.pop())
        if function in found:
            continue
        found.add(function)
        known = dict(function.__globals__)
        for node in ast.walk(tree_of(function)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("parentage.cli"):
                module = importlib.import_module(node.module or "")
                known |= {
                    name.asname or name.name: getattr(module, name.name) for name in node.names
                }
        for node in ast.walk(tree_of(function)):
            named = known.get(node.id) if isinstance(node, ast.Name) else None
            if inspect.isfunction(named) and named.__module__.startswith("parentage.cli"):
                waiting.append(named)
    return found


def tree_of(function: Any) -> ast.AST:
    return ast.parse(textwrap.dedent(inspect.getsource(function)))


def options_read(callback: Any) -> set[str]:
    """What a command looks at: its own arguments, names in quotes, fields of settings it makes."""
    read = set(inspect.signature(callback).parameters)
    for function in functions_from(callback):
        for node in ast.walk(tree_of(function)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                read.add(node.value)
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "take":
                kind = function.__globals__[ast.unparse(node.args[0])]
                read |= {field.name for field in dataclasses.fields(kind)}
    return read


EVERY_COMMAND = [name for part in LazyGroup.parts.values() for name in part]


@pytest.mark.parametrize("name", EVERY_COMMAND)
def test_every_option_is_read(name: str) -> None:
    found = command(name)
    options = {str(p.name) for p in found.params if isinstance(p, click.Option)}
    assert options <= options_read(found.callback)


def test_an_option_that_nothing_reads_is_noticed() -> None:
    def callback(data: str, **options: Any) -> None:
        load_table(data, options)

    assert {"missing", "as_json", "data"} <= options_read(callback)
    assert not {"seed", "threads"} & options_read(callback)


@cache
def attributes_asked_for() -> set[str]:
    """Every name that stands after a dot in the package, where it is not assigned to."""
    package = Path(parentage.__file__).parent
    return {
        node.attr
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    }


@pytest.mark.parametrize("stage", [*STAGES, Estimating, Supporting], ids=lambda s: s.__name__)
def test_every_setting_is_used(stage: Settings) -> None:
    """Somewhere in the package it is asked for; its declaration and its copies do not count."""
    assert {field.name for field in dataclasses.fields(stage)} <= attributes_asked_for()


@pytest.mark.parametrize("name", EVERY_COMMAND)
def test_no_flag_means_two_things(name: str) -> None:
    flags = [flag for p in command(name).params for flag in p.opts]
    assert len(flags) == len(set(flags))


def test_constraints_are_asked_for_in_their_own_way() -> None:
    for name in ("score", "learn", "support"):
        flags = {flag for p in command(name).params for flag in p.opts}
        assert {"--require", "--forbid", "--tiers", "--constraints"} <= flags


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system has no affinity")
def test_threads_follow_the_cores_that_a_process_may_use() -> None:
    """Not those of the machine; tried in a process of its own, whose affinity is set."""
    program = (
        "import os; from parentage.work.running import Running; "
        "os.sched_setaffinity(0, list(os.sched_getaffinity(0))[:1]); print(Running().workers)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "1"
    assert Running().workers == len(os.sched_getaffinity(0))
    assert Running(threads=3).workers == 3


def test_a_number_in_quotes_is_recognised() -> None:
    table = parentage.datasets.chest_clinic(50)
    given: list[dict[str, Any]] = [{"time_limit": "20"}, {"threads": "2"}, {"seed": "1"}]
    for wrong, right in zip(given, ("20.0", "2", "1"), strict=True):
        (name,) = wrong
        message = f"{name}='.*' is a text, and a number is needed; pass {name}={right}$"
        with pytest.raises(InputError, match=message):
            parentage.learn(table, **wrong)
    with pytest.raises(InputError, match=r"time_limit='soon' is a text, and a number is needed$"):
        parentage.learn(table, time_limit="soon")  # type: ignore[arg-type]  # that is the point


def test_names_of_other_programs_are_known() -> None:
    table = parentage.datasets.chest_clinic(50)
    with pytest.raises(TypeError, match=r"no keyword 'blacklist'; did you mean 'constraints'\?"):
        parentage.learn(table, blacklist=[("xray", "dysp")])  # type: ignore[call-arg]
    for wrong, right in (
        ("--blacklist", "--forbid"), ("--whitelist", "--require"), ("--maxp", "--max-parents"),
    ):  # fmt: skip
        said = run("learn", "t.csv", wrong, "a,b").stderr
        assert f"Did you mean '{right}'?" in said
    assert "Did you mean '--output'?" in run("learn", "t.csv", "--outputt", "x").stderr
