"""Help fits on a screen: a few options in groups, a line each; every option by ``--help-all``."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
import pytest

from command import ok, refused
from parentage.check import MEMORY
from parentage.cli import cli
from parentage.cli.options import (
    GROUPS,
    WIDE,
    WITH_VALUES,
    GroupedCommand,
    GroupedOption,
)
from parentage.scoring.constraints import read_constraints
from parentage.work.settings import parse_size

NAMES = cli.list_commands(click.Context(cli))


def command_of(name: str) -> GroupedCommand:
    command = cli.get_command(click.Context(cli), name)
    assert isinstance(command, GroupedCommand)
    return command


def flags_in(text: str) -> list[str]:
    """The options that the groups of a help text list, without what follows them."""
    lines = text[text.index(":\n  -") :].splitlines()
    return [line.split()[0].rstrip(",") for line in lines if line[:3] == "  -"]


@pytest.mark.parametrize("name", NAMES)
def test_help_shows_the_common_options(name: str) -> None:
    shown, every = flags_in(ok(name, "--help")), flags_in(ok(name, "--help-all"))
    options = [p for p in command_of(name).params if isinstance(p, click.Option)]
    assert all(isinstance(option, GroupedOption) for option in options)
    assert 2 < len(shown) <= 20
    assert set(shown) <= set(every)
    assert len(every) == len(options) + 2  # the two that show help
    rare = {o.opts[0] for o in options if isinstance(o, GroupedOption) and not o.common}
    assert set(every) - set(shown) == rare


@pytest.mark.parametrize("name", NAMES)
def test_an_option_takes_one_line(name: str) -> None:
    """No common option needs a second line where there is room for a hundred characters."""
    context = click.Context(command_of(name), max_content_width=WIDE, terminal_width=WIDE)
    text = command_of(name).get_help(context)
    plain = [
        f" {option.brief(context)[1]}\n"
        for option in command_of(name).params
        if isinstance(option, GroupedOption)
        and option.common
        and not option.values
        and option.name not in WITH_VALUES
    ]
    assert plain
    for line in plain:
        assert line in text


def test_help_shows_defaults() -> None:
    text = " ".join(ok("validate", "--help").split())
    assert "Number of folds (default: 10)." in text
    assert "or learn with them (pnal, em) (default: error)." in " ".join(ok("info", "-h").split())


@pytest.mark.parametrize("name", NAMES)
def test_groups_come_in_their_order(name: str) -> None:
    for asked in ("--help", "--help-all"):
        lines = ok(name, asked).splitlines()
        found = [line[:-1] for line in lines if line.endswith(":") and line[:-1] in GROUPS]
        assert found == [group for group in GROUPS if group in found]
        assert {"Output", "Help"} <= set(found)


def test_commands_are_listed_by_what_they_are_for() -> None:
    text = ok("--help")
    places = [text.index(f"\n{part}:\n") for part in ("Learn", "Trust", "Use", "Research")]
    assert places == sorted(places)
    for name in NAMES:
        assert f"\n  {name} " in text


def test_without_a_command_the_help_is_shown() -> None:
    assert ok() == ok("--help")


def test_report_names_a_page_after_its_table() -> None:
    for table, page in (("cake.csv", "cake"), ("d/visits.csv.gz", "visits"), ("-", "report")):
        assert f"; type -o {page}.html\n" in refused("report", table, "--auto")
    assert "(default" not in ok("report", "--help")


def test_check_says_how_much_memory_it_takes() -> None:
    assert "4GB by default" in ok("check", "--help")
    assert parse_size("memory", "4GB") == MEMORY


@pytest.mark.parametrize(
    "name", ["explain", "support", "check", "query", "apply", "report", "score", "learn", "path"]
)
def test_details_of_reading_go_into_a_recipe(name: str) -> None:
    """The advice is taken: ``info`` has the option and writes the recipe."""
    said = refused(name, "t.csv", "--decimal", ",")
    assert f"parentage {name} has no --decimal; write it into a recipe: parentage info" in said
    assert "no such option" in refused(name, "t.csv", "--decimals", ",")


@pytest.mark.parametrize(
    ("name", "typed", "said"),
    [
        (
            "support",
            ["--tiers", "a<b,c", "--forbid", "b,c"],
            "write into the file constraints.toml",
        ),
        ("support", ["--constraints", "c.toml", "--require=a,b"], "add to the file c.toml"),
        ("report", ["-o", "r.html", "--forbid", "arcs.csv"], "parentage support t.csv -o r.html"),
        ("report", ["-o", "r.html", "--constraints", "c.toml"], "type\n  parentage support t.csv"),
    ],
)
def test_advice_on_constraints_works(
    name: str, typed: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lines shown go into the file, and the command at the end is taken."""
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("a,b,c\n" + "0,0,1\n1,1,0\n0,1,1\n1,0,0\n" * 9)
    Path("arcs.csv").write_text("from,to\na,b\nb,c\n")
    Path("c.toml").write_text("forbidden = []\n")
    answer = refused(name, "t.csv", *typed)
    assert f"parentage {name} has no --" in answer and said in answer
    lines = [line.strip() for line in answer.splitlines() if line.startswith("  ")]
    file = "c.toml" if "c.toml" in typed else "constraints.toml"
    with Path(file).open("a") as constraints:
        constraints.writelines(f"{line}\n" for line in lines[:-1])
    ok(*shlex.split(lines[-1])[1:])
    found = read_constraints(file)
    arcs = {"arcs.csv": {("a", "b"), ("b", "c")}, "b,c": {("b", "c")}}
    assert found.forbidden == arcs.get(typed[-1], set())
    assert found.required == ({("a", "b")} if "--require=a,b" in typed else set())
    assert found.tiers == ((("a",), ("b", "c")) if "--tiers" in typed else ())


def test_a_recipe_reads_what_was_typed_for_it(tmp_path: Path) -> None:
    data, recipe = str(tmp_path / "t.csv"), str(tmp_path / "read.toml")
    rows = "".join(f"{'no' if k % 3 else 'yes'};{k},5;{'fm'[k % 2]}\n" for k in range(40))
    Path(data).write_text("ill;age;sex\n" + rows)
    typed = ["--decimal", ",", "--discretize", "median"]
    ok("info", data, *typed, "--write-recipe", recipe)
    found = ok("explain", data, "ill", "age", "--recipe", recipe)
    assert "{age}" in found
    assert "ill" in ok("support", data, "--recipe", recipe, "--no-need", "-k", "0", "--json")


@pytest.mark.parametrize("command", ("info", "score", "learn"))
def test_many_variables_are_shown_in_part(command: str, tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    names = [f"v{i}" for i in range(61)]
    rows = [[str((i * j + i) % 2) for j in range(61)] for i in range(8)]
    path.write_text("\n".join(",".join(row) for row in [names, *rows]))
    told = ok(command, str(path), "-k", "0") if command != "info" else ok(command, str(path))
    assert "and 31 more variables (all: --json" in told
    assert "v29" in told
    assert "\nv30" not in told


def test_help_lists_what_scores_discretisation_and_outputs_there_are() -> None:
    text = " ".join(ok("learn", "--help").split())
    for part in (
        "Score to maximise (default: bic): bic,", "HOW is mdl (cut points that raise BIC), median,",
        "a figure (.svg, .png, .pdf) or a report (.html).", '--tiers "A,B<C,D"',
    ):  # fmt: skip
        assert part in text, part


@pytest.mark.parametrize(
    ("command", "words"),
    [("learn", ("margin is", "–: there", "rows is")), ("support", ("adjacent is", "firm", "open"))],
)
def test_help_defines_the_words_of_the_output(command: str, words: tuple[str, ...]) -> None:
    told = " ".join(ok(command, "--help").split()).partition("In the output, ")[2]
    for word in words:
        assert word in told
