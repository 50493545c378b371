"""What ``make reproduce`` writes: files, page, figures, and the script itself."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pytest

from parentage.data.datasets import tic_tac_toe
from parentage.errors import InputError
from reproduction.errata import errata
from reproduction.experiments import Reproduction, reproduce
from reproduction.figures import FiveNumbers, Group, boxplot_svg, figure_svg
from reproduction.page import html_page
from reproduction.published import COLUMNS, DATASETS
from reproduction.run import main, write_folder

pytestmark = pytest.mark.long

FILES = {
    "tables.csv", "bounds.csv", "variables.csv", "figures.csv", "example.csv",
    "index.html", "figure1.svg", "figure2.svg",
}  # fmt: skip


@pytest.fixture(scope="module")
def made() -> Reproduction:
    """Tic-tac-toe alone: runs anywhere."""
    return reproduce()


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """Tic-tac-toe with rows missing."""
    folder = tmp_path_factory.mktemp("changed")
    write_tic_tac_toe(folder / "tic-tac-toe.arff", 640)
    return reproduce(folder)


def write_tic_tac_toe(path: Path, rows: int) -> None:
    table = tic_tac_toe()
    lines = ["@relation t"]
    lines += [
        f"@attribute {name} {{{','.join(states)}}}"
        for name, states in zip(table.names, table.states, strict=True)
    ]
    lines += ["@data"]
    for row in table.to_codes().T[:rows].tolist():
        lines.append(",".join(states[c] for states, c in zip(table.states, row, strict=True)))
    path.write_text("\n".join(lines))


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


# ---------------------------------------------------------------------------------------------
# Files


def test_the_folder_has_every_file(made: Reproduction, tmp_path: Path) -> None:
    home = tmp_path / "deep" / "results"
    written = write_folder(home, made)
    assert {path.name for path in written} == FILES == {path.name for path in home.iterdir()}
    assert all(path.stat().st_size > 0 for path in written)


def test_tables_csv_has_every_count(made: Reproduction, tmp_path: Path) -> None:
    write_folder(tmp_path, made)
    text = (tmp_path / "tables.csv").read_text()
    assert text.startswith("dataset,in_degree,column,published,printed,stated\n")
    rows = rows_of(text)
    assert len(rows) == 3 * 8
    assert [row["column"] for row in rows[:8]] == ["|S|", *COLUMNS]
    last = next(r for r in rows if (r["in_degree"], r["column"]) == ("5", "Alg2"))
    assert (last["published"], last["printed"], last["stated"]) == ("1114", "1114", "1134")


def test_csv_files_of_all_tables(everything: Reproduction, tmp_path: Path) -> None:
    write_folder(tmp_path, everything)
    tables = rows_of((tmp_path / "tables.csv").read_text())
    assert len(tables) == 378 + 54
    assert all(row["published"] == row["printed"] for row in tables)
    assert sum(row["stated"] != row["printed"] for row in tables) == 224 + 3
    bounds = rows_of((tmp_path / "bounds.csv").read_text())
    assert list(bounds[0]) == ["dataset", "column", "published", "printed", "stated"]
    assert len(bounds) == 36
    assert all(row["published"] == row["printed"] for row in bounds)
    figures = rows_of((tmp_path / "figures.csv").read_text())
    assert list(figures[0]) == [
        "figure", "in_degree", "statistic", "published", "printed", "stated",
    ]  # fmt: skip
    assert len(figures) == 36
    assert all(row["published"] == row["printed"] for row in figures)
    variables = rows_of((tmp_path / "variables.csv").read_text())
    assert len(variables) == 289
    assert sum(int(row["stated"]) - int(row["printed"]) for row in variables) == 140
    example = rows_of((tmp_path / "example.csv").read_text())
    assert len(example) == 6
    assert all(row["published"] == row["printed"] for row in example)


def test_figures_csv_leaves_published_blank_if_tables_are_missing(
    made: Reproduction, tmp_path: Path
) -> None:
    write_folder(tmp_path, made)
    figures = rows_of((tmp_path / "figures.csv").read_text())
    assert {row["published"] for row in figures} == {""}
    assert figures[0]["printed"] == "1.000"


def test_output_that_is_a_file_is_refused(made: Reproduction, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(InputError, match="cannot make the folder"):
        write_folder(tmp_path / "taken", made)


# ---------------------------------------------------------------------------------------------
# The page


class Balance(HTMLParser):
    """Checks that tags close in order, and collects ids, links and addresses."""

    VOID = frozenset({"meta", "col", "br", "rect", "line", "path"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.sources: list[str] = []
        self.classes: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids += [given["id"] or ""] if "id" in given else []
        self.classes += (given.get("class") or "").split()
        if tag == "a":
            self.links.append(given["href"] or "")
        self.sources += [v or "" for k, v in attrs if k in ("src", "srcset", "data")]
        assert tag not in ("script", "link", "img", "iframe")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in self.VOID

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parsed(page: str) -> Balance:
    parser = Balance()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return parser


def test_the_page_stands_alone(made: Reproduction) -> None:
    page = html_page(made)
    found = parsed(page)
    assert found.sources == []
    assert len(set(found.ids)) == len(found.ids)
    assert found.links
    assert {link.removeprefix("#") for link in found.links} <= set(found.ids)
    outside = set(re.findall(r"https?://[^\"' )]+", page))
    assert outside == {"http://www.w3.org/2000/svg"}
    for needed in ("prefers-color-scheme:dark", "@media print", "max-width:560px", "viewport"):
        assert needed in page


def test_the_page_shows_matches_and_differences(made: Reproduction, changed: Reproduction) -> None:
    good, bad = parsed(html_page(made)), parsed(html_page(changed))
    assert good.classes.count("move") > 0
    assert good.classes.count("ok") >= 21 + 2 + 3
    assert good.classes.count("bad") == 0
    squares = 3 * 8
    assert sum(good.classes.count(f"s{i}") for i in range(5)) == squares + 5  # the key has five
    wrong = sum(not c.matched for c in changed.counts)
    assert wrong > 0
    assert bad.classes.count("sx") == wrong + 1
    assert bad.classes.count("bad") > wrong


def test_the_page_of_all_tables(everything: Reproduction) -> None:
    page = html_page(everything)
    found = parsed(page)
    assert set(DATASETS) <= set(found.ids)
    assert found.classes.count("bad") == 0
    for number in ("378 / 378", "36 / 36", "54 / 54", "6 / 6"):
        assert f"<b>{number}</b>" in page
    assert "missing. To add" not in page


# ---------------------------------------------------------------------------------------------
# Errata


def test_errata_are_computed(everything: Reproduction) -> None:
    found = {e.key: " ".join(e.paragraphs) for e in errata(everything)}
    assert "224 of the 378 counts grow and none shrink" in found["tables"]
    assert "Alg4 on zoo at in-degree 4 prunes 9,058 families, not 2,843" in found["tables"]
    assert "140 of 289 bounds are one larger, none smaller" in found["mixed-bases"]
    assert "−42.5822" in found["counter-example"]
    assert "−43.4527" in found["counter-example"]
    assert "3 of 54 values: flags" in found["binomials"]
    assert "7 states in the header and 6 in the data" in found["example"]
    assert "none of the two families is pruned" in found["example"]
    assert "22/21/11" in found["conclusions"]
    assert "5/23/26" in found["conclusions"]
    assert "the order flips" in found["conclusions"]


def test_errata_say_what_they_are_about(made: Reproduction, changed: Reproduction) -> None:
    found = {e.key: " ".join(e.paragraphs) for e in errata(made)}
    assert "2 of the 21 counts grow" in found["tables"]
    assert "10 of 10 bounds" in found["mixed-bases"]
    assert "None of the 3 values" in found["binomials"]
    assert "example" not in found
    assert "A verdict needs all tables" in found["conclusions"]
    other = {e.key: " ".join(e.paragraphs) for e in errata(changed)}
    assert other["tables"] != found["tables"]


# ---------------------------------------------------------------------------------------------
# Boxplots


def numbers(svg: str, pattern: str) -> list[float]:
    return [float(x) for x in re.findall(pattern, svg)]


def test_figures_are_well_formed(made: Reproduction) -> None:
    for figure in (1, 2):
        root = ET.fromstring(figure_svg(made, figure))  # noqa: S314  # written by us
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert len(root.findall(".//{*}path[@class='mean']")) == 6


def test_a_box_stands_where_its_numbers_are() -> None:
    box = FiveNumbers("a<b", 1.0, 1.5, 2.0, 3.0, 4.0, 2.5, (("t", 2.0),))
    svg = boxplot_svg("title", "axis", [Group("g", (box,))])
    ET.fromstring(svg)  # noqa: S314  # written by us
    assert "a&lt;b" in svg
    (left,) = numbers(svg, r'<rect class="line" x="([\d.]+)"')
    (width,) = numbers(svg, r'<rect class="line" [^>]*width="([\d.]+)"')
    (median,) = numbers(svg, r'class="median" x1="([\d.]+)"')
    (mean,) = numbers(svg, r'class="mean" d="M([\d.]+)')
    (dot,) = numbers(svg, r'<circle class="dot" cx="([\d.]+)"')
    unit = width / 1.5
    assert median - left == pytest.approx(0.5 * unit, abs=0.2)
    assert mean + 6 - left == pytest.approx(1.0 * unit, abs=0.2)
    assert dot == pytest.approx(median, abs=0.1)


def test_boxes_of_one_value_and_of_none() -> None:
    flat = FiveNumbers("flat", 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
    wild = FiveNumbers("wild", 1.0, 1.0, 1.0, math.nan, math.inf, math.inf, (("t", math.inf),))
    svg = boxplot_svg("t", "a", [Group("g", (flat, wild))])
    ET.fromstring(svg)  # noqa: S314  # written by us
    assert "not finite" in svg
    assert "nan" not in svg
    assert "inf" not in svg.replace("not finite", "")


# ---------------------------------------------------------------------------------------------
# The script

SCRIPT = Path(__file__).resolve().parents[1] / "reproduction" / "run.py"


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    main(arguments)
    done = capsys.readouterr()
    assert done.err == ""
    return done.out


def test_the_script_runs_from_anywhere(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT)], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1:] == [
        "counts in Tables 2–3: 21 of 21",
        "bounds in Table 1: 2 of 2",
        "search-space sizes |S|: 3 of 3",
        "figure statistics: need all 18 tables",
        "numbers of the worked example: need glass.arff",
    ]


def test_json_is_one_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = json.loads(printed(capsys, "--json", "-o", str(tmp_path / "out")))
    assert answer["counts"] == {"matched": 21, "of": 21}
    assert answer["bounds"] == {"matched": 2, "of": 2}
    assert answer["search_space"] == {"matched": 3, "of": 3}
    assert answer["figures"] == {"matched": 0, "of": 0}
    assert answer["datasets"] == ["tic-tac-toe"]
    assert len(answer["missing"]) == 17
    assert answer["mismatches"] == []
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES
    assert answer["files"] == [str(tmp_path / "out" / Path(file).name) for file in answer["files"]]
    assert len(answer["files"]) == len(FILES)


def test_changed_data_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_tic_tac_toe(tmp_path / "tic-tac-toe.arff", 640)
    answer = json.loads(printed(capsys, "--data", str(tmp_path), "--json"))
    assert answer["counts"]["matched"] < answer["counts"]["of"] == 21
    assert {row["dataset"] for row in answer["mismatches"]} == {"tic-tac-toe"}
    text = printed(capsys, "--data", str(tmp_path))
    assert f"counts in Tables 2–3: {answer['counts']['matched']} of 21" in text


def test_bad_input_ends_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "zoo.arff").write_text("@relation zoo\n@data\n")
    (tmp_path / "file").write_text("")
    for arguments, words in (
        (["--data", str(tmp_path / "none")], "no folder"),
        (["--data", str(tmp_path)], "zoo.arff"),
        (["-o", str(tmp_path / "file")], "cannot make the folder"),
        (["surplus"], "surplus"),
    ):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 2
        done = capsys.readouterr()
        assert done.out == ""
        assert words in done.err


def test_the_docs_say_how_much_comes_out(everything: Reproduction) -> None:
    page = (SCRIPT.parents[1] / "docs" / "reproduction.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \|.*\| (\d+) \| (\d+) \|$", page, re.M)
    found = {kind: (int(matched), int(of)) for kind, matched, of in rows}
    assert found == everything.tallies


def test_all_tables_in_json(
    everything: Reproduction,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What the script prints of them; other tests check that it counts the folder it is given."""
    folders: list[str] = []

    def counted_before(folder: str, **_: object) -> Reproduction:
        folders.append(folder)
        return everything

    monkeypatch.setattr("reproduction.run.reproduce", counted_before)
    answer = json.loads(printed(capsys, "--data", "uci", "--json"))
    assert folders == ["uci"]
    assert {k: tuple(answer[k].values()) for k in ("counts", "bounds", "search_space")} == {
        "counts": (378, 378),
        "bounds": (36, 36),
        "search_space": (54, 54),
    }
    assert answer["figures"] == {"matched": 36, "of": 36}
    assert answer["example"] == {"matched": 6, "of": 6}
    assert answer["datasets"] == list(DATASETS)
    assert answer["missing"] == answer["mismatches"] == []
