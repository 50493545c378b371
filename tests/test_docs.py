"""The documentation says what is so: examples run, links lead somewhere, nothing is left out."""

from __future__ import annotations

import doctest
import json
import re
import tomllib
from typing import TYPE_CHECKING

import click
import pytest

import parentage
from command import in_a_process
from living_docs import BIRTHS, PAGES, ROOT, refreshed, without_times
from parentage.cli import cli
from parentage.cli.score import account_json
from parentage.scoring import rules as theorems
from parentage.scoring.catalogue import PENALISED
from parentage.scoring.explanation import explain
from parentage.scoring.overview import overview
from parentage.scoring.rules import ORDER, RULES, RuleSet

if TYPE_CHECKING:
    from pathlib import Path

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
WITH_EXAMPLES = [
    str(page.relative_to(ROOT)) for page in PAGES if ">>>" in page.read_text(encoding="utf-8")
]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def page_id(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_python_examples_run(name: str) -> None:
    path = str(ROOT / name)
    failed, attempted = doctest.testfile(path, False, optionflags=FLAGS, encoding="utf-8")
    assert attempted > 3
    assert failed == 0


def test_pages_with_examples_are_found() -> None:
    """The check above must not pass because it sees nothing."""
    assert {"README.md", "docs/api.md", "docs/tutorials/research.md"} <= set(WITH_EXAMPLES)


def slug(heading: str) -> str:
    """How a heading is called in links: lower case, blanks to hyphens, no punctuation."""
    plain = re.sub(r"[`*\\]", "", heading.strip().lower())
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        linked = page.parent / file if file else page
        assert linked.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", linked.read_text(encoding="utf-8"), re.M)
            assert anchor in map(slug, headings), target


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_made_parts_are_fresh(page: Path) -> None:
    """Made again by ``python tests/living_docs.py``."""
    text = page.read_text(encoding="utf-8")
    assert without_times(refreshed(text)) == without_times(text)


def test_made_parts_are_found() -> None:
    """The check above must not pass because it sees nothing."""
    whole = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert whole.count("$ parentage ") >= 7
    assert whole.count("<!-- from ") >= 4
    stale = read("docs/rules.md").replace("350,266", "350,267").replace("13.8155", "13.8156")
    assert without_times(refreshed(stale)) == without_times(read("docs/rules.md")) != stale


def rules_table() -> dict[str, list[str]]:
    """The rows of the theorem-to-function table by rule."""
    part = read("docs/rules.md").split("## Theorem to function")[1].split("\n## ")[0]
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in part.splitlines() if line[:3] == "| `"]
    cells = [[cell.strip() for cell in row] for row in rows if len(row) == 5]
    return {row[0].strip("`"): row[1:] for row in cells if row[0] != "`--rules`"}


def test_every_rule_is_in_the_table() -> None:
    table = rules_table()
    assert tuple(table) == ORDER
    for rule in RULES:
        function, _, scores, closed = table[rule.name]
        assert getattr(theorems, function.strip("`")) is rule.function, rule.name
        listed = {score.lower() for score in scores.split(", ")}
        proved = PENALISED if scores == "penalised" else listed
        assert proved == rule.scores, rule.name
        alone = RuleSet((rule.name,))
        known = "yes" if alone.closed else "Prop. 2" if alone.bounded else "no"
        assert closed == known, rule.name


def test_every_rule_is_proved() -> None:
    proofs = read("docs/theory.md")
    for rule in RULES:
        assert re.search(rf"^\*\*{re.escape(rule.theorem)}[.*]", proofs, re.M), rule.name


def commands() -> dict[str, click.Command]:
    context = click.Context(cli)
    found = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    return {name: command for name, command in found.items() if command is not None}


def test_every_command_and_option_is_in_the_cli_page() -> None:
    """Each command has its section, made from it; what is made has every option."""
    page = read("docs/cli.md")
    assert page.count("<!-- commands -->") == 1
    assert re.findall(r"^## (\w+)\n\n<!-- command (\w+) -->$", page, re.M) == [
        (name, name) for name in commands()
    ]
    for name, command in commands().items():
        part = page.split(f"<!-- command {name} -->")[1].split("<!-- end -->")[0]
        for parameter in command.params:
            for flag in parameter.opts if isinstance(parameter, click.Option) else ():
                assert re.search(rf"`{re.escape(flag)}[` ]", part), (name, flag)


def quoted_commands(text: str) -> list[tuple[str, list[str]]]:
    """Return the commands that a page quotes, as lines of a block or as code, and their options.

    >>> quoted_commands("`parentage learn t.csv --auto`")
    [('learn', ['--auto'])]
    """
    block = re.compile(r"^```\w*\n(.*?)^```", re.M | re.S)
    typed = re.findall(r"`parentage ([a-z]+)\b(?! \d)([^`\n]*)`", block.sub("", text))
    for lines in block.findall(text):
        typed += re.findall(r"^(?:\$ )?parentage ([a-z]+)\b([^#\n]*)", lines, re.M)
    return [(name, re.findall(r" (--[a-z][a-z-]*)", given)) for name, given in typed]


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_quoted_commands_have_their_options(page: Path) -> None:
    """Also commands that are only quoted, not run, must be accepted."""
    if page.name == "CHANGELOG.md":  # speaks of earlier versions, too
        return
    for name, flags in quoted_commands(page.read_text(encoding="utf-8")):
        command = commands()[name]
        known = {flag for one in command.params for flag in (*one.opts, *one.secondary_opts)}
        assert set(flags) <= known, (name, flags)


def test_quoted_commands_are_found() -> None:
    """The check above must not pass because it sees nothing."""
    assert ("learn", ["--auto"]) in quoted_commands(read("README.md"))
    assert ("support", ["--bootstrap"]) in quoted_commands(read("docs/support.md"))
    stale = quoted_commands("Type `parentage score t.csv --no-such 1`.")
    assert stale == [("score", ["--no-such"])]


@pytest.mark.parametrize("shell", ("bash", "zsh", "fish"))
def test_the_shell_can_complete(shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the page says to type prints the script of the shell."""
    asked = f"{shell}_source"
    assert f"_PARENTAGE_COMPLETE={asked} parentage" in read("docs/cli.md")
    monkeypatch.setenv("_PARENTAGE_COMPLETE", asked)
    assert f"_PARENTAGE_COMPLETE={shell}_complete" in in_a_process().stdout


def test_every_json_key_is_in_the_cli_page() -> None:
    page = read("docs/cli.md")
    table = parentage.datasets.chest_clinic(200)
    keys = {
        *account_json(parentage.score(table)),
        "lists",
        *explain(table, "dysp", ["bronc"]).to_dict(),
    }
    keys |= {*(first := overview(table).to_dict()), *first["forecast"], *first["variables"][0]}
    for key in keys:
        assert re.search(rf"\b{key}\b", page), key


def test_every_public_name_is_in_the_api_page() -> None:
    page = read("docs/api.md")
    for name in parentage.__all__:
        assert f"`{name}`" in page, name


def test_readme_has_two_commands_for_setting_up() -> None:
    text = read("README.md").split("## Install")[1].split("\n## ")[0]
    blocks = re.findall(r"```text\n(.*?)```", text, re.S)
    assert all(line.startswith("pip install ") for line in blocks[0].splitlines())
    assert "pip install build/wheel/parentage-*.whl\n" in blocks[0]
    assert "--wheel-dir build/wheel" in read("Makefile")
    typed = [line.split("  ")[0] for line in blocks[1].splitlines()]
    assert typed == ["make demo", "make test"]
    targets = re.findall(r"^(\w+):", read("Makefile"), re.M)
    assert {"demo", "test"} <= set(targets)


def test_the_reasons_of_the_readme_quote_results() -> None:
    """Every number in bold is in the page of results that its sentence links to."""
    part = read("README.md").split("## Why")[1].split("\n## ")[0]
    quoted = re.findall(r"\*\*([\d,]+(?: ×)?)\*\*[^*]*?\]\(([^)#]+)[^)]*\)", part)
    assert len(quoted) == 3
    for number, page in quoted:
        assert re.search(rf"(?<![\d,]){re.escape(number)}(?![\d,])", read(page)), number


def test_every_result_is_on_the_page_of_benchmarks() -> None:
    page = read("docs/benchmarks.md")
    for result in sorted((ROOT / "benchmarks" / "results").glob("*.md")):
        assert f"(../benchmarks/results/{result.name})" in page, result.name
        assert f"\n../benchmarks/results/{result.stem}\n" in page, result.stem


def test_a_proven_result_depends_on_neither_columns_nor_threads() -> None:
    """What the README promises: the same score and the same equivalence class."""
    table = parentage.datasets.chest_clinic()
    first = parentage.learn(table, threads=1)
    assert first.optimal
    for threads, order in enumerate(([7, 2, 5, 0, 3, 6, 1, 4], [4, 3, 2, 1, 0, 7, 6, 5]), start=1):
        names = tuple(table.names[v] for v in order)
        states = tuple(table.states[v] for v in order)
        again = parentage.learn(
            parentage.Table(names, states, table.to_codes()[order]), threads=threads
        )
        assert again.score == first.score
        assert again.network.compare(first.network).same_class


def test_the_size_of_an_installation_is_the_measured_one() -> None:
    sizes = json.loads(read("benchmarks/results/start.json"))["megabytes"]
    (said,) = re.findall(r"An installation takes (\d+) MB", read("docs/install.md"))
    assert int(said) == round(sum(sizes.values()))
    assert {"parentage", "numba", "llvmlite", "polars"} <= set(sizes)


def test_the_wheel_holds_the_package_alone() -> None:
    """Neither tests nor benchmarks nor data: what is in the folder, and that is source."""
    hatch = tomllib.loads(read("pyproject.toml"))["tool"]["hatch"]
    assert hatch["build"]["targets"]["wheel"] == {"packages": ["src/parentage"]}
    package = [path for path in (ROOT / "src" / "parentage").rglob("*") if path.is_file()]
    shipped = [path for path in package if "__pycache__" not in path.parts]
    kinds = {path.suffix for path in shipped}
    assert kinds == {".py", ".pyi", ".typed", ".css", ".js", ".html"}
    assert not [path for path in shipped if path.name.startswith(("test_", "bench_"))]
    assert sum(path.stat().st_size for path in shipped) < 5e6


def test_the_numbers_of_the_paper_are_printed_above_it() -> None:
    """The results paragraph of the tutorial quotes the output of its commands."""
    above, paper = read("docs/tutorials/paper.md").split("## What goes into the paper")
    shown = "".join(re.findall(r"```text\n(.*?)```", above, re.S))
    quoted = re.findall(r"\d[\d,.]*\d|\d", " ".join(re.findall(r"^> (.+)$", paper, re.M)))
    assert len(quoted) > 20
    for number in quoted:
        assert re.search(rf"(?<![\d.]){re.escape(number)}(?!\.?\d)", shown), number
    assert BIRTHS in above
