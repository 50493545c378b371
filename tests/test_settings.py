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
from typing import TYPE_CHECKING, Any, cast

import click
import polars as pl
import pytest

import parentage
from command import run
from parentage.arcs import Supporting
from parentage.arcs.support import support
from parentage.cli import LazyGroup, cli
from parentage.cli.options import TypedModel, settings
from parentage.data.reading import as_table, read_table
from parentage.data.settings import Reading
from parentage.errors import (
    ESTIMATOR,
    OF_ADVANCED,
    ConstraintError,
    InputError,
    ParentageError,
)
from parentage.estimator import ParentageLearner
from parentage.network import SMOOTHING
from parentage.optimise.settings import Optimising
from parentage.pipeline import learn
from parentage.scoring.candidates import score
from parentage.scoring.explanation import explain
from parentage.scoring.settings import Growing, Scoring
from parentage.work.context import Running, Scaling
from parentage.work.settings import Settings, fields_of, flags_of, help_of, meaning_of, option_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

STAGES: tuple[type[Settings], ...] = (Reading, Scoring, Growing, Optimising, Running, Scaling)

ASKED_FOR_DIFFERENTLY = {"constraints", "rate"}
"""Typed as --require, --forbid, --tiers and --constraints; and in --missing."""


def defaults_of(*stages: type[Settings]) -> dict[str, Any]:
    return {field.name: field.default for stage in stages for field in dataclasses.fields(stage)}


def keywords_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Keyword parameters with their defaults."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


IN_SHORT = {"drop", "missing", "discretize", "recipe", "auto"}
"""How a table is read, where ``read_table`` has the details."""

RUN = {"time_limit", "memory", "threads", "checkpoint", "executor", "progress"}
MODEL = {"score", "max_parents", "constraints", "prior"}
LEARN = MODEL | IN_SHORT | RUN | {"seed", "start", "advanced"}

FUNCTIONS: dict[Callable[..., Any], set[str]] = {
    learn: LEARN,
    score: MODEL | IN_SHORT | RUN | {"rules", "width", "log_base", "exchange"},
    support: LEARN - {"start"} | set(defaults_of(Supporting)),
    explain: {"score", "prior", "log_base"},
    read_table: set(defaults_of(Reading)) - {"rate"},
}
"""Functions and the keywords they take."""

NOT_SETTINGS = {"start", "progress", "advanced"}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_functions_take_settings_with_their_defaults(function: Callable[..., Any]) -> None:
    found, settled = keywords_of(function), defaults_of(*STAGES, Supporting)
    assert found.keys() == FUNCTIONS[function]
    for name, default in found.items():
        assert default == (None if name in NOT_SETTINGS else settled[name]), name


def test_learn_has_few_keywords() -> None:
    assert len(LEARN) == 18
    together = set(fields_of(parentage.Advanced))
    assert together == set(OF_ADVANCED) and len(together) == 8
    assert not together & LEARN
    everything = set(defaults_of(*STAGES))
    assert everything <= together | LEARN | set(defaults_of(Reading))


@pytest.mark.parametrize(
    ("call", "wrong", "right"),
    [
        (learn, "max_parent", "max_parents"),
        (score, "time_limt", "time_limit"),
        (read_table, "mising", "missing"),
        (support, "bootstap", "bootstrap"),
        (explain, "scor", "score"),
        (parentage.Advanced, "rule", "rules"),
        (parentage.Constraints, "forbid", "forbidden"),
    ],
)
def test_a_wrong_keyword_is_refused_with_the_right_one(
    call: Callable[..., Any], wrong: str, right: str
) -> None:
    with pytest.raises(TypeError, match=rf"has no keyword '{wrong}'; did you mean '{right}'"):
        call(pl.DataFrame({"a": [0, 1]}), **{wrong: 1})


@pytest.mark.parametrize("call", [learn, score, support, explain], ids=lambda f: f.__name__)
def test_a_keyword_that_belongs_elsewhere_is_refused_with_its_place(
    call: Callable[..., Any],
) -> None:
    for name in set(defaults_of(Reading)) - keywords_of(call).keys() - {"rate"}:
        place = rf"it is an option of read_table: pass read_table\(…, {name}=…\) as the source"
        with pytest.raises(TypeError, match=rf"has no keyword '{name}'; {place}$"):
            call(1, **{name: 1})
    if call in (learn, support):
        for name in OF_ADVANCED:
            place = rf"it belongs in advanced=parentage.Advanced\({name}=…\)"
            with pytest.raises(TypeError, match=rf"has no keyword '{name}'; {place}$"):
                call(1, **{name: 1})


def test_settings_have_one_name_each() -> None:
    names = [field.name for stage in STAGES for field in dataclasses.fields(stage)]
    assert len(names) == len(set(names))


def test_a_frame_is_read_as_a_file_is() -> None:
    frame = pl.DataFrame({"a": [0, 1, 1], "b": ["x", "y", "x"], "c": ["u", "u", "v"]})
    with pytest.raises(TypeError, match="no keyword 'mising'; did you mean 'missing'"):
        read_table(frame, mising="drop")  # type: ignore[call-arg]  # is refused
    assert read_table(frame, drop=["a"]).names == ("b", "c")
    assert read_table(frame, drop=()).digest == as_table(frame, Reading()).digest


def test_the_estimator_takes_the_settings_that_make_sense_for_it() -> None:
    """What data and tables are is said before; the names are those of scikit-learn."""
    taken = ("max_parents", "constraints", "prior", "missing", "discretize", "auto", "time_limit")
    expected = {name: defaults_of(*STAGES)[name] for name in taken} | {"smoothing": SMOOTHING}
    expected |= {"criterion": defaults_of(Scoring)["score"], "target": None}
    expected |= {"n_jobs": 1, "random_state": defaults_of(Optimising)["seed"]}
    assert len(expected) <= 12
    assert set(ESTIMATOR.values()) == {*expected, "X"}
    assert keywords_of(ParentageLearner) == expected
    assert ParentageLearner().get_params() == expected
    assert all(getattr(ParentageLearner(), name) == value for name, value in expected.items())


def test_docstrings_have_every_setting() -> None:
    known = fields_of(*STAGES, Supporting)
    for function in FUNCTIONS:
        lines = [line.strip() for line in (function.__doc__ or "").split("\n")]
        for name in keywords_of(function).keys() & known.keys():
            assert name in lines or "max_parents" in name, (function.__name__, name)
            assert meaning_of(known[name]).split("\n")[0].strip() in lines


COMMANDS: dict[str, tuple[type[Settings], ...]] = {
    "info": (Reading,),
    "score": (TypedModel, Running, Scaling),
    "learn": (Reading, TypedModel, Growing, Optimising, Running, Scaling),
    "support": (Supporting, Running, Scaling),
}
"""Commands with an option for every setting of these classes, but for some."""

WITHOUT = {
    "info": set[str](),
    "score": {"require", "forbid", "tiers"},  # --constraints has them
    "learn": {"format", "encoding", "decimal", "sheet", "skip_rows", "rules", "width"},
    "support": {"max_networks", "exchange"},
}
"""Settings that go through a file, or that only Python takes."""


def command(name: str) -> click.Command:
    assert isinstance(cli, LazyGroup)
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_have_an_option_for_every_setting_of_their_stages(name: str) -> None:
    options = {p.name: p for p in command(name).params if isinstance(p, click.Option)}
    assert not WITHOUT[name] & options.keys() and WITHOUT[name] <= fields_of(*COMMANDS[name]).keys()
    for field in fields_of(*COMMANDS[name]).values():
        declared = option_of(field)
        if field.name in WITHOUT[name]:
            continue
        if declared is None:
            assert field.name in ASKED_FOR_DIFFERENTLY
            continue
        option = options[field.name]
        assert {*flags_of(field)} == set(option.opts), field.name
        shown = (option.help or "").replace(" (repeatable)", "")
        assert shown.startswith(help_of(field).rstrip("."))
        assert ("(repeatable)" in (option.help or "")) == declared.repeatable
        if not declared.repeatable:
            typed = option.get_default(click.Context(command(name)))
            assert typed == field.default, field.name


def test_every_typed_setting_of_scoring_is_one_of_the_model() -> None:
    typed = {name for name, field in fields_of(Scoring).items() if option_of(field) is not None}
    assert typed - {"log_base"} == set(fields_of(TypedModel)) & set(fields_of(Scoring)) - {
        "constraints"
    }


def tree_of(function: Any) -> ast.AST:
    return ast.parse(textwrap.dedent(inspect.getsource(function)))


def attributes_of(names: set[str], module: ModuleType) -> set[str]:
    """What the functions of a module ask of arguments and fields that have one of these names."""
    asked = set()
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Attribute):
            owner = node.value
            last = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
            if last in names:
                asked.add(node.attr)
    return asked


EVERY_COMMAND = [name for part in LazyGroup.parts.values() for name in part]


@pytest.mark.parametrize("name", EVERY_COMMAND)
def test_a_command_gets_settings_and_never_a_dictionary(name: str) -> None:
    callback = inspect.unwrap(cast("Any", command(name).callback))
    for parameter in inspect.signature(callback).parameters.values():
        assert parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        assert "dict" not in str(parameter.annotation).lower()


@pytest.mark.parametrize("name", EVERY_COMMAND)
def test_every_argument_of_a_command_is_read(name: str) -> None:
    """Options of its own too; mypy and the next test see to the settings in records."""
    callback = inspect.unwrap(cast("Any", command(name).callback))
    used = {node.id for node in ast.walk(tree_of(callback)) if isinstance(node, ast.Name)}
    assert set(inspect.signature(callback).parameters) <= used


def test_every_goal_of_learning_is_read() -> None:
    module = importlib.import_module("parentage.cli.learn")
    assert len(fields_of(module.Goal)) >= 9
    assert set(fields_of(module.Goal)) <= attributes_of({"self", "goal"}, module)


def test_an_option_that_is_not_handed_on_is_noticed() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'reading'"):
        settings("reading", Reading, "Data")(lambda: None)(
            **{name: value for name, value in defaults_of(Reading).items() if name != "rate"}
        )


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


@pytest.mark.parametrize("stage", [*STAGES, Supporting], ids=lambda s: s.__name__)
def test_every_setting_is_used(stage: type[Settings]) -> None:
    """Somewhere in the package it is asked for; its declaration and its copies do not count."""
    assert {field.name for field in dataclasses.fields(stage)} <= attributes_asked_for()


@pytest.mark.parametrize("name", EVERY_COMMAND)
def test_no_flag_means_two_things(name: str) -> None:
    flags = [flag for p in command(name).params for flag in p.opts]
    assert len(flags) == len(set(flags))


def test_constraints_are_asked_for_in_their_own_way() -> None:
    for name in ("score", "support", "path", "validate", "learn"):
        flags = {flag for p in command(name).params for flag in p.opts}
        assert "--constraints" in flags
        assert ({"--require", "--forbid", "--tiers"} <= flags) == (name == "learn")


def test_the_commands_have_few_options() -> None:
    """Commands and options together fit on one page."""
    pairs = [
        (name, option)
        for name in EVERY_COMMAND
        for option in command(name).params
        if isinstance(option, click.Option)
    ]
    assert len(pairs) <= 150


@pytest.mark.parametrize(
    ("name", "flag", "hint"),
    [
        ("path", "--threads", "leave it out: one thread per core is used"),
        ("query", "--smoothing", "parentage learn TABLE --smoothing A -o net.bif"),
        ("learn", "--sheet", "write it into a recipe: parentage info TABLE --sheet"),
    ],
)
def test_an_option_that_another_command_has_is_refused_with_its_place(
    name: str, flag: str, hint: str
) -> None:
    done = run(name, "a", "b", "c", flag)
    assert done.returncode == 2 and f"parentage {name} has no {flag}; {hint}" in done.stderr


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system has no affinity")
def test_threads_follow_the_cores_that_a_process_may_use() -> None:
    """Not those of the machine; tried in a process of its own, whose affinity is set."""
    program = (
        "import os; from parentage.work.context import Running; "
        "os.sched_setaffinity(0, list(os.sched_getaffinity(0))[:1]); print(Running().n_threads)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "1"
    assert Running().n_threads == len(os.sched_getaffinity(0))
    assert Running(threads=3).n_threads == 3


def test_a_number_in_quotes_is_recognised() -> None:
    table = parentage.datasets.chest_clinic(50)
    given: list[dict[str, Any]] = [{"time_limit": "20"}, {"threads": "2"}, {"seed": "1"}]
    for wrong, right in zip(given, ("20.0", "2", "1"), strict=True):
        (name,) = wrong
        message = f"{name}='.*' is text; a number is needed; pass {name}={right}$"
        with pytest.raises(InputError, match=message):
            parentage.learn(table, **wrong)
    with pytest.raises(InputError, match=r"time_limit='soon' is text; a number is needed$"):
        parentage.learn(table, time_limit="soon")  # type: ignore[arg-type]  # that is the point


def test_names_of_other_programs_are_known() -> None:
    table = parentage.datasets.chest_clinic(50)
    with pytest.raises(TypeError, match=r"no keyword 'blacklist'; did you mean 'constraints'\?"):
        parentage.learn(table, blacklist=[("xray", "dysp")])  # type: ignore[call-arg]
    for wrong, right in (
        ("--blacklist", "--forbid"), ("--whitelist", "--require"), ("--maxp", "--max-parents"),
    ):  # fmt: skip
        said = run("learn", "t.csv", wrong, "a,b").stderr
        assert f"did you mean '{right}'?" in said
    assert "did you mean '--output'?" in run("learn", "t.csv", "--outputt", "x").stderr


def test_the_estimator_refuses_a_wrong_keyword_with_the_right_one() -> None:
    unchecked: Any = parentage.ParentageLearner
    for wrong, right in (
        ("forbid", "pass constraints=parentage.Constraints"), ("score", "did you mean 'criterion'"),
        ("targt", "did you mean 'target'"), ("drop", r"use parentage.read_table\(X, drop=…\)"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=f"no keyword '{wrong}'; {right}"):
            unchecked(**{wrong: 1})


def test_constraints_may_be_a_mapping() -> None:
    table = parentage.datasets.chest_clinic(50)
    parts: Any = {"forbidden": [("smoke", "lung")], "max_parents": {"dysp": 1}}
    found = parentage.learn(table, constraints=parts)
    assert found.scope.constraints == parentage.Constraints(**parts)
    with pytest.raises(TypeError, match="no keyword 'forbid'; did you mean 'forbidden'"):
        parentage.learn(table, constraints={"forbid": []})  # type: ignore[arg-type]
    for wrong in ({"forbidden": [("smoke",)]}, "smoke"):
        with pytest.raises(ConstraintError, match="constraints"):
            parentage.learn(table, constraints=wrong)  # type: ignore[arg-type]


def test_memory_may_have_a_unit() -> None:
    assert Running(memory="1.5GB") == Running(memory=1_500_000_000)
    with pytest.raises(InputError, match="memory='much' is not a size; 4GB and 500MB are sizes"):
        Running(memory="much")
    table = parentage.datasets.chest_clinic(50)
    with pytest.raises(ParentageError, match="4 bytes of memory is not enough"):
        parentage.learn(table, memory=4)
