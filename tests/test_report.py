"""The report without a browser: what is gathered is true, what is written is safe."""

from __future__ import annotations

import csv
import html
import io
import itertools
import json
import math
import re
import shlex
from dataclasses import replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings

import parentage
from command import ok, refused
from naive_network import is_acyclic
from network_cases import ASIA, ODD_NAMES, random_network, random_parameters
from parentage.arcs.records import ArcSupport, Bootstrap, NearSet, Support, direction_of, judged
from parentage.data.datasets import chest_clinic
from parentage.data.reading import read_table
from parentage.data.table import Table
from parentage.errors import InputError
from parentage.network.formats.network_json import network_json_text, parse_network_json
from parentage.network.network import Network, arc_gains, imposed_directions
from parentage.network.parameters import Parameters
from parentage.network.record import NetworkRecord
from parentage.optimise.near import near_optimal
from parentage.report import save
from parentage.report.facts import data_facts
from parentage.report.gather import (
    gather,
    mutual_information,
    next_sets,
    refused_parents,
)
from parentage.report.page import (
    COLUMNS,
    arcs_csv,
    document,
    embedded,
    latex,
    page_data,
    percent,
    why_text,
)
from parentage.scoring.account import Scope, Unknown
from parentage.scoring.constraints import Constraints
from parentage.scoring.scores import family_score
from strategies import tables
from test_view import ALARM

if TYPE_CHECKING:
    from pathlib import Path

    from parentage.optimise import NearOptimal, Solution
    from parentage.report.gather import Page


def data_of(page: str) -> Any:
    found = re.search(r'<script id="page-data" type="application/json">(.*?)</script>', page, re.S)
    assert found is not None
    return json.loads(found[1])


def naive_information(table: Table, a: int, b: int) -> float:
    n, total = table.n_rows, 0.0
    for i in range(len(table.states[a])):
        for j in range(len(table.states[b])):
            x, y = table.to_codes()[a] == i, table.to_codes()[b] == j
            both = int((x & y).sum())
            if both:
                total += both / n * np.log(both * n / (int(x.sum()) * int(y.sum())))
    return float(total)


@settings(max_examples=30)
@given(tables())
def test_who_goes_with_whom(table: Table) -> None:
    found = mutual_information(table)
    for a in range(table.n_variables):
        for b in range(table.n_variables):
            assert found[a, b] == pytest.approx(naive_information(table, a, b), abs=1e-5)


@settings(max_examples=40, deadline=None)
@given(tables())
def test_reasons_are_true(table: Table) -> None:
    """For a proven network without limits every other parent costs more, or closes a cycle."""
    if table.n_variables - len(table.constant) < 2:
        return
    solution = parentage.learn(table, threads=1)
    network = solution.network
    assert solution.optimal
    refused_ones = refused_parents(network, table, "bic", solution.scope)
    for v, ones in enumerate(refused_ones):
        child, members = network.names[v], network.parents_of(network.names[v])
        for one in ones:
            other = network.names[one.parent]
            assert one.parent not in network.parents[v]
            assert v not in network.parents[one.parent]
            whole = family_score(table, child, [*members, other])
            assert one.change == pytest.approx(whole - family_score(table, child, members))
            alone = family_score(table, child, [other]) - family_score(table, child)
            assert one.alone == pytest.approx(alone)
            for a, b in zip(one.cycle, one.cycle[1:], strict=False):
                assert a in network.parents[b]
            if one.cycle:
                assert (one.cycle[0], one.cycle[-1]) == (v, one.parent)
            assert one.why in ("cost", "cycle") or one.change < 1e-6
            assert why_text(network, v, one)


def whys(solution: Solution, table: Table) -> set[str]:
    found = refused_parents(solution.network, table, "bic", solution.scope)
    return {one.why for ones in found for one in ones}


def test_reasons_name_limits_and_constraints() -> None:
    table = chest_clinic()
    tight = parentage.learn(table, max_parents=1)
    whys = {
        one.why
        for ones in refused_parents(tight.network, table, "bic", tight.scope)
        for one in ones
    }
    assert "limit" in whys
    rules = parentage.Constraints(forbidden=frozenset({("bronc", "dysp"), ("dysp", "bronc")}))
    bound = parentage.learn(table, constraints=rules)
    whys = {
        one.why
        for ones in refused_parents(bound.network, table, "bic", bound.scope)
        for one in ones
    }
    assert "constraint" in whys
    empty = Network(table.names, ((),) * 8)
    poor = refused_parents(empty, table, "bic", None)
    assert {one.why for ones in poor for one in ones} >= {"unproven", "cost"}
    assert "can be improved" in why_text(empty, 7, poor[7][0])


def test_next_sets_are_beside_the_chosen_one() -> None:
    table = chest_clinic()
    lists = parentage.score(table)
    network = parentage.learn(lists).network
    for v, sets in enumerate(next_sets(network, lists)):
        name = network.names[v]
        scores = {frozenset(c.parents): c.score for c in lists[name]}
        chosen = scores[frozenset(network.parents_of(name))]
        for parents, ahead in sets:
            members = frozenset(network.names[p] for p in parents)
            assert ahead == pytest.approx(scores[members] - chosen)
            assert members != frozenset(network.parents_of(name))


def test_everything_there_is_gets_told() -> None:
    table = chest_clinic()
    lists = parentage.score(table, width=3.0)
    solution = parentage.learn(lists)
    near = lists.within(width=3.0)
    arcs = tuple(ArcSupport(*arc, need=1.5, adjacency=0.75) for arc in solution.network.arcs)
    support = Support(
        solution.network, solution.score, solution.score, True, arcs,
        (ArcSupport("asia", "xray", in_network=False, adjacency=0.25),),
        Bootstrap(9, 9, 9, 3, (), (), 0.5, ()), NearSet(20.0, 4, 2, True, 0.1, 0.2),
    )  # fmt: skip
    report = gather(
        solution, table=table, lists=lists, support=replace(support, near_networks=near)
    )
    assert report.verdict == (
        "8 variables, 7 arcs from 1,000 rows. Proven among all networks: no network scores higher "
        "under BIC."
    )
    assert [one.gain for one in report.arcs] == [solution.gains[a] for a in solution.network.arcs]
    assert report.alternatives is not None
    assert len(report.alternatives.classes) == len(near.classes)
    assert set(report.shares.values()) == {0.75}
    page = document(report)
    for words in ("Adjacent", "9 replicates",
                  "2 equivalence classes", "SHA-256", "How to cite",
                  "Links that are not in this network", table.digest):  # fmt: skip
        assert words in page, words
    about = " ".join(report.about_arcs)
    for _, head, _ in COLUMNS[1:]:
        assert f"{head}: " in about, head


def test_the_summary_counts_what_is_firm_and_open() -> None:
    table = chest_clinic()
    solution = parentage.learn(table)
    arcs = solution.network.arcs
    sure = [ArcSupport(*arc, need=9.0, need_at_most=9.0, adjacency=0.9) for arc in arcs]
    sure[1] = replace(sure[1], need=2.9, need_at_most=2.9)
    sure[2] = replace(sure[2], adjacency=0.5)
    drawn = Bootstrap(100, 30, 30, 0, (), (), 0.5, (), "time")
    sure = [replace(one, support=judged(one, 1.0, need=True, bootstrap=drawn)) for one in sure]
    support = Support(
        solution.network, solution.score, solution.score, True, tuple(sure), bootstrap=drawn
    )
    page = gather(solution, table=table, support=support, path="the same for penalties 0.9 to 1.3")
    assert page.summary[0] == "7 links: 5 firm, 2 open"
    assert page.summary[-1] == "the same for penalties 0.9 to 1.3"
    directions = [row[2] for row in cells_of(document(page))[1:]]
    compelled, either = directions.count("compelled"), directions.count("reversible")
    assert page.summary[1] == "bootstrap stopped after 30 of 100 replicates"
    assert page.summary[2] == f"{compelled} directions compelled, {either} reversible"
    assert [one.support == "open" for one in page.arcs] == [i in (1, 2) for i in range(7)]
    html_text = document(page)
    figure = html_text.split('<svg class="whole"')[1].split("</svg>")[0]
    dashed = re.findall(
        r'data-arc="(\d+) (\d+)"[^>]*><title>[^<]*</title><path[^>]*dasharray', figure
    )
    names = solution.network.names
    assert {(names[int(a)], names[int(b)]) for a, b in dashed} == {arcs[1], arcs[2]}
    assert "dashed: open" in html_text and "; ".join(page.summary) + "." in html_text
    bare = gather(solution, table=table)
    assert bare.summary[0] == "7 links: their support was not computed"
    assert "dasharray=" not in document(bare).split("<script")[0]
    assert gather(Network(("a",), ((),))).summary == ("no links",)


def test_firmness_is_in_nats() -> None:
    two = ArcSupport("a", "b", need=3.5)
    assert judged(two, 1.0, need=True, bootstrap=None) == "firm"
    assert judged(two, math.log(2), need=True, bootstrap=None) == "open"


@pytest.mark.usefixtures("no_moment")
def test_the_methods_paragraph_is_filled_from_the_run() -> None:
    table = chest_clinic(300)
    solution = parentage.learn(table, max_parents=2)
    found = parentage.support(table, max_parents=2, bootstrap=3, seed=5)
    origin = {"versions": {"parentage": "9.9"}}
    told = gather(NetworkRecord.of(solution, None, origin), table=table, support=found).methods
    for words in ("300 rows of 8 variables", "BIC", "parentage 9.9", "proven optimal among",
                  f"{solution.network.n_arcs} arcs", f"{solution.score:.4f}", "need of a link",
                  "3 bootstrap replicates of the rows (seed 5)", "1 added to every count",
                  "95 % credible intervals", "not claimed to be causal"):  # fmt: skip
        assert words in told, words
    bare = gather(solution.network).methods
    assert "analysed" in bare and "optimal" not in bare and "bootstrap" not in bare
    with pytest.warns(parentage.errors.UnprovenWarning):
        hasty = parentage.learn(table, time_limit=0)
    unproven = gather(hasty, table=table).methods
    assert "The structure with the highest BIC was learned" in told
    assert "the best one found is not proven optimal among all networks" in unproven
    assert "structure with the highest" not in unproven  # which it need not be


def test_the_table_of_arcs_is_taken_along() -> None:
    names = ("=sum", "b_1 & c", "100%", "x\\y")
    network = Network.from_arcs(names, [(names[0], names[1]), (names[2], names[1])])
    arcs = tuple(
        ArcSupport(*arc, need=need, adjacency=0.25)
        for arc, need in zip(network.arcs, (1.0, 7.5), strict=True)
    )
    page = gather(network, support=Support(network, 0.0, 0.0, True, arcs))
    shown = [column for column in COLUMNS if column.key in ("need", "adjacency")]
    rows = list(csv.reader(io.StringIO(arcs_csv(page, shown))))
    assert rows == [
        ["from", "to", "need", "adjacency"],
        ["100%", "b_1 & c", "7.5", "0.25"],
        ["'=sum", "b_1 & c", "1", "0.25"],
    ]
    lines = latex(page, shown).splitlines()
    assert lines[0] == r"\begin{tabular}{llrr}" and lines[-1] == r"\end{tabular}"
    assert lines[4] == r"100\% & b\_1 \& c & 7.50 & 25.0 \% \\"
    written = document(page)
    for text in (arcs_csv(page, shown), latex(page, shown)):
        assert html.escape(text.splitlines()[1], quote=False)[:12] in written


def test_only_a_network_is_enough(tmp_path: Path) -> None:
    for network in (ASIA, Network((), ()), Network(("alone",), ((),))):
        path = tmp_path / "net.html"
        save(network, path)
        data = data_of(path.read_text())
        assert data["names"] == list(network.names)
        assert data["order"] == []
        assert "does not record" in path.read_text()


@pytest.mark.usefixtures("no_moment")
def test_unproven_says_so() -> None:
    table = chest_clinic()
    with pytest.warns(parentage.errors.UnprovenWarning):
        hasty = parentage.learn(table, time_limit=0)
    report = gather(hasty, table=table)
    assert "Not proven optimal among all networks" in report.verdict
    assert "above the network without arcs and " in report.verdict
    assert "the best tree" in report.verdict
    near = replace(hasty, compared=None)
    assert "another network may score up to" in gather(near, table=table).verdict


def test_other_scores_show_their_own_gains_and_heads() -> None:
    table = chest_clinic()
    solution = parentage.learn(table, score="k2")
    report = gather(solution, table=table)
    compelled = len(solution.network.equivalence_class().compelled)
    figures = 2  # without bars and with them; and the legend
    shown = document(report)
    assert 0 < compelled < solution.network.n_arcs
    assert shown.count('class="head"') == figures * compelled + 1
    assert "an equivalent network has the other direction" in shown
    assert "both directions fit equally well" not in shown
    bare = gather(solution.network, table=table)
    expected = arc_gains(solution.network, table)
    assert [one.gain for one in bare.arcs] == [expected[arc] for arc in solution.network.arcs]


def test_the_page_says_what_gains_of_lists_are_compared_with(tmp_path: Path) -> None:
    """The command takes the table that comes with lists; without it only listed sets are known."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 200))
    table = Table.from_columns({"a": a.tolist(), "b": b.tolist(), "c": (a ^ b).tolist()})
    (tmp_path / "t.csv").write_text(
        "a,b,c\n" + "".join(f"{x},{y},{x ^ y}\n" for x, y in zip(a, b, strict=True))
    )
    lists = str(tmp_path / "t.jkl")
    ok("score", str(tmp_path / "t.csv"), "-o", lists)
    ok("learn", lists, "-o", str(tmp_path / "lists.html"))
    ok("learn", lists, "--data", str(tmp_path / "t.csv"), "-o", str(tmp_path / "both.html"))
    ok("learn", str(tmp_path / "t.csv"), "-o", str(tmp_path / "table.html"))
    pages = {name: (tmp_path / f"{name}.html").read_text() for name in ("lists", "both", "table")}
    alone = "when this parent alone leaves its child."
    listed = "compared with the best listed set of the other parents"
    assert [alone in page for page in pages.values()] == [False, True, True]
    assert [listed in page for page in pages.values()] == [True, False, False]
    truth = arc_gains(Network.from_arcs("abc", [("a", "c"), ("b", "c")]), table)
    for name, page in pages.items():
        shown = {arc["p"]: arc["gain"] for arc in data_of(page)["arcs"]}
        same = shown[0] == pytest.approx(truth["a", "c"], abs=1e-6)
        assert same == (name != "lists")


def cells_of(page: str) -> list[list[str]]:
    """The table of arcs as text, its heading first."""
    [table] = re.findall('aria-label="Arcs of the network".*?</table>', page, re.DOTALL)
    rows = re.findall("<tr>(.*?)</tr>", table, re.DOTALL)
    cells = [re.findall("<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]
    return [[html.unescape(re.sub("<[^>]*>", "", cell)) for cell in row] for row in cells]


def test_a_compelled_direction_costs_what_is_beside_it() -> None:
    table = chest_clinic()
    found = parentage.support(table)
    solution = parentage.learn(table)
    page = document(gather(solution, table=table, support=found))
    head, *rows = cells_of(page)
    assert head[:4] == ["From", "To", "Direction", "Loss if reversed"]
    needs = [found[a, b].need for a, b, *_ in rows]
    assert needs == sorted(needs, key=lambda need: -(need or 0.0))
    for (a, b, direction, loss, *_), one in ((row, found[row[0], row[1]]) for row in rows):
        assert (a, b) == one.arc
        assert loss == f"{one.need_direction:.2f}"
        assert direction == ("reversible" if loss == "0.00" else "compelled")
    assert {row[2] for row in rows} == {"reversible", "compelled"}
    assert "the score prefers this direction" in page
    assert not re.search(r"\bfix", page.split("<script")[0])
    bare = document(gather(solution, table=table))
    assert "loses was not computed" in bare and "loses was not computed" not in page
    assert {row[2] for row in cells_of(bare)[1:]} == {"reversible", "compelled"}


@pytest.mark.parametrize(
    "asked",
    [{"score": "k2"}, {"score": "fnml"}, {"prior": {("smoke", "bronc"): 0.9}}],
    ids=["k2", "fnml", "prior of directions"],
)
def test_no_direction_is_compelled_where_equivalent_networks_differ(asked: dict[str, Any]) -> None:
    table = chest_clinic(300)
    found = parentage.support(table, **asked)
    solution = parentage.learn(table, **asked)
    for support in (None, found):
        page = document(gather(solution, table=table, support=support))
        assert "Direction" not in cells_of(page)[0]
        for claim in ("compelled", "“reversible”"):
            assert claim not in page


def test_where_the_score_is_not_known_nothing_is_said_of_it() -> None:
    solution = parentage.learn(chest_clinic())
    page = document(gather(solution.network))
    assert {row[2] for row in cells_of(page)[1:]} == {"reversible", "compelled"}
    assert "with the same score" not in page
    assert "all equivalent networks have this direction" in page


def test_counts_are_those_of_the_rows() -> None:
    table = chest_clinic(300, seed=2)
    parameters = ASIA.fit(table)
    for v, counts in enumerate(parameters.counted(table)):
        members = ASIA.parents_of(ASIA.names[v])
        assert counts.shape == (2 ** len(members), 2)
        for row, pair in enumerate(counts):
            bits = [row >> (len(members) - 1 - i) & 1 for i in range(len(members))]
            here = np.ones(table.n_rows, bool)
            for name, bit in zip(members, bits, strict=True):
                here &= table.to_codes()[table.index(name)] == bit
            column = table.to_codes()[table.index(ASIA.names[v])]
            assert pair.tolist() == [int((here & (column == k)).sum()) for k in (0, 1)]


class Elements(HTMLParser):
    """Counts elements and collects attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: dict[str, int] = {}
        self.attributes: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.attributes |= {name for name, _ in attrs}


def hostile_report() -> Page:
    rng = np.random.default_rng(1)
    odd = (*ODD_NAMES, "lone \ud800", "</script><script>x", "</style>", "<!--<script>", "$title")
    network = Network(odd, random_network(3, len(odd), most=2).parents)
    states = [[f"{name}{k}" for k in "01"] for name in odd]
    parameters = random_parameters(network, states, rng)
    return gather(NetworkRecord.of(network, parameters), title="</title><script>")


def test_names_cannot_become_markup() -> None:
    page = document(hostile_report())
    page.encode()
    plain = document(gather(ASIA.fit(chest_clinic())))
    hostile, usual = Elements(page), Elements(plain)
    assert set(hostile.tags) == set(usual.tags)
    assert hostile.attributes - {"placeholder"} == usual.attributes - {"placeholder"}
    assert not any(name.startswith("on") or name == "style" for name in hostile.attributes)
    assert hostile.tags["script"] == usual.tags["script"] == 2
    assert page.count("</script>") == 2
    assert page.count("</style>") == 1
    text = embedded(["</script>", "<!--", "\u2028", "&"])
    assert not set(text) & set("<>&\u2028")
    assert json.loads(text) == ["</script>", "<!--", "\u2028", "&"]


def test_the_page_asks_nobody() -> None:
    page = document(hostile_report())
    assert re.findall(r"https?://[^\s\"'<>]*", page) == ["http://www.w3.org/2000/svg"]
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy[1]


def test_a_page_of_37_variables_is_small(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    parameters = random_parameters(ALARM, [["low", "normal", "high"]] * 37, rng)
    path = tmp_path / "alarm.html"
    save(ALARM, path, table=parameters.sample(1000, seed=1))
    assert 50_000 < path.stat().st_size < 500_000


def test_tables_that_are_too_large_stay_out(monkeypatch: pytest.MonkeyPatch) -> None:
    table = chest_clinic()
    monkeypatch.setattr("parentage.report.gather.MOST_CELLS", 10)
    report = gather(ASIA, table=table)
    assert report.what_if is not None
    assert "too many for a report" in report.what_if.refused
    data = page_data(report)
    assert data["tables"] is data["counts"] is None
    assert "too many for a report" in document(report)


def test_shares_are_exact_only_at_the_ends() -> None:
    shown = [percent(p) for p in (0.0, 1e-9, 0.0004999, 0.0005, 0.5, 0.9995, 0.99951, 1 - 1e-12, 1)]
    assert shown == [
        "0 %", "< 0.1 %", "< 0.1 %", "0.1 %", "50.0 %", "100.0 %", "> 99.9 %", "> 99.9 %", "100 %",
    ]  # fmt: skip


def test_results_of_another_network_are_refused(tmp_path: Path) -> None:
    table = chest_clinic()
    other = Network(table.names, ((),) * 8)
    with pytest.raises(InputError, match="the parameters belong to another network"):
        save(ASIA, tmp_path / "x.html", parameters=other.fit(table))
    with pytest.raises(InputError, match="the support belongs to another network"):
        save(ASIA, tmp_path / "x.html", support=Support(other, 0.0, 0.0, True, ()))
    swapped = Network(ASIA.names[::-1], tuple(
        tuple(7 - p for p in members) for members in ASIA.parents[::-1]
    ))  # fmt: skip
    assert swapped == ASIA
    with pytest.raises(InputError, match="in another order"):
        save(ASIA, tmp_path / "x.html", parameters=swapped.fit(table))
    assert not (tmp_path / "x.html").exists()


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    table = chest_clinic(300, seed=4)
    folder = tmp_path_factory.mktemp("clinic")
    columns = [[table.states[v][code] for code in table.to_codes()[v]] for v in range(8)]
    lines = [",".join(table.names), *(",".join(row) for row in zip(*columns, strict=True))]
    (folder / "clinic.csv").write_text("\n".join(lines) + "\n")
    return folder / "clinic.csv"


def test_near_optimal_networks_are_enumerated_once(
    clinic: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def counted(*args: Any, **settings: Any) -> NearOptimal:
        calls.append(settings)
        return near_optimal(*args, **settings)

    monkeypatch.setattr("parentage.arcs.near_shares.near_optimal", counted)
    ok("support", str(clinic), "-o", str(tmp_path / "r.html"), "--within", "20", "--no-need")
    assert len(calls) == 1
    near = parentage.score(parentage.read_table(clinic), width=3.0).within(20)
    page = (tmp_path / "r.html").read_text()
    assert f"{len(near)} networks in {len(near.classes)} equivalence classes" in page
    assert page.count("times less probable: ") == len(near.classes) - 1 > 0


@pytest.mark.parametrize("title", ["", "two  blanks, 'quotes' & <b>", "$HOME; *"])
def test_the_command_on_the_page_can_be_pasted(clinic: Path, tmp_path: Path, title: str) -> None:
    typed = ["report", str(clinic), "-o", str(tmp_path / "r.html"), "--title", title]
    ok(*typed)
    page = (tmp_path / "r.html").read_text()
    [shown] = re.findall("<dt>Command</dt><dd>(.*?)</dd>", page)
    assert shlex.split(html.unescape(shown)) == ["parentage", *typed]
    assert "white-space: pre-wrap" in page, "blanks are kept"


def test_the_command_reports_a_table(clinic: Path, tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    ok("report", str(clinic), "-o", str(page), "--title", "My clinic")
    text = page.read_text()
    assert "<h1>My clinic</h1>" in text
    assert "clinic.csv" in text
    data = data_of(text)
    assert data["smoothing"] == 1.0
    assert all(arc["need"] is not None for arc in data["arcs"])
    ok("report", str(clinic), "-o", str(page))  # its own file may be replaced
    said = parentage.path(clinic).sentence().replace("'", "&#39;")
    assert f"; t{said[1:]}<" in page.read_text()


def test_support_writes_the_page_with_all_its_options(clinic: Path, tmp_path: Path) -> None:
    page, net = tmp_path / "r.html", tmp_path / "net.json"
    ok("support", str(clinic), "-o", str(page), "--bootstrap", "3", "-k", "2")
    text = page.read_text()
    assert "3 replicates" in text
    assert "at most 2 parents per variable" in text
    assert all(arc["need"] is not None for arc in data_of(text)["arcs"])
    ok("learn", str(clinic), "-o", str(net))
    assert "would show the best network" in refused(
        "support", str(clinic), str(net), "-o", str(page)
    )
    assert "no such folder" in refused("support", str(clinic), "-o", str(net / "r.html"))


def test_the_command_reports_a_network(clinic: Path, tmp_path: Path) -> None:
    net, page = tmp_path / "net.json", tmp_path / "learn.html"
    bare = tmp_path / "bare.json"
    ok("learn", str(clinic), "-o", str(page), "-o", str(net))
    assert "Proven among all networks" in page.read_text()
    ok("learn", str(clinic), "-o", str(tmp_path / "net.bif"))
    learned = data_of(page.read_text())
    parentage.read_network(net).save(bare)
    for name in ("net.json", "net.bif", "bare.json"):
        ok("report", str(tmp_path / name), "-o", str(tmp_path / "r.html"))
        found = data_of((tmp_path / "r.html").read_text())
        assert found["names"] == learned["names"]
        assert found["parents"] == learned["parents"]
        assert (found["tables"] is None) == (name == "bare.json")
    assert "does not record" in (tmp_path / "r.html").read_text()
    ok("report", str(net), "--data", str(clinic), "-o", str(tmp_path / "r.html"))
    found = data_of((tmp_path / "r.html").read_text())
    assert found["counts"] == learned["counts"]
    assert found["why"] == learned["why"]


def test_the_command_refuses_what_it_cannot_write(clinic: Path, tmp_path: Path) -> None:
    assert "use .html" in refused("report", str(clinic), "-o", str(tmp_path / "r.pdf"))
    away = str(tmp_path / "nowhere" / "r.html")
    assert "no such folder" in refused("report", str(clinic), "-o", away)
    said = refused("report", str(clinic), "--data", str(clinic), "-o", str(tmp_path / "r.html"))
    assert "goes with a network" in said
    net = tmp_path / "net.json"
    ok("learn", str(clinic), "-o", str(net))
    said = refused("report", str(net), "--recipe", "r.toml", "-o", str(tmp_path / "r.html"))
    assert "--data" in said


def test_parameters_alone_are_enough(tmp_path: Path) -> None:
    coin = Parameters(Network(("coin",), ((),)), (("head", "tail"),), (np.array([[0.25, 0.75]]),))
    save(coin, tmp_path / "coin.html")
    data = data_of((tmp_path / "coin.html").read_text())
    assert data["marginals"][0] == pytest.approx([0.25, 0.75])


@pytest.mark.no_cover
def test_many_states_and_long_names_stay_bounded(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    names = ("n" * 100_000, "b")
    labels = [[f"{k} " + "s" * 10_000 for k in range(300)], ["x", "y"]]
    wide = random_parameters(Network(names, ((), (0,))), labels, rng)
    path = tmp_path / "wide.html"
    save(wide, path, table=wide.sample(50, seed=1))
    page = path.read_text()
    assert page.count('class="state"') == 30 + 2
    assert "and 270 states less frequent" in page
    assert len(page) < 1_000_000
    assert data_of(page)["why"] == [[], []]  # they are joined


def test_reasons_are_not_worked_out_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    table, network = chest_clinic(), Network(chest_clinic().names, ((),) * 8)
    for limit, most in ((8000, 5), (7999, 2)):
        monkeypatch.setattr("parentage.report.gather.MUCH", limit)
        assert {len(ones) for ones in refused_parents(network, table, "bic", None)} == {most}
    monkeypatch.setattr("parentage.report.gather.TOO_MUCH", 7999)
    assert set(refused_parents(network, table, "bic", None)) == {()}


def test_a_proof_is_not_claimed_for_other_data() -> None:
    table, other = chest_clinic(), chest_clinic(seed=7)
    solution = parentage.learn(table)
    assert "Proven" in gather(solution, table=table).verdict
    report = gather(solution, table=other)
    assert "Proven" not in report.verdict
    assert "nothing is proved about these rows" in report.verdict
    assert any(table.digest in fact.value for fact in report.proof)


def test_a_prior_is_part_of_what_the_page_says() -> None:
    table = chest_clinic(200, seed=3)
    belief = 0.0005
    solution = parentage.learn(table, prior=belief)
    plain = parentage.learn(table)
    assert solution.optimal and solution.network.n_arcs < plain.network.n_arcs
    report = gather(solution, table=table)
    reasons = {one.why for out in report.refused for one in out}
    assert "unproven" not in reasons  # nothing improves a network that is proven best
    added = np.log(belief / (1 - belief))
    for v, out in enumerate(report.refused):
        for one in out:
            child, names = table.names[v], [table.names[p] for p in solution.network.parents[v]]
            more = family_score(table, child, [*names, table.names[one.parent]])
            assert one.change == pytest.approx(more - family_score(table, child, names) + added)
    assert "no network scores higher under BIC with the log prior of the arcs." in report.verdict
    assert "BIC with the log prior of the arcs" in report.citation
    assert any(fact.label == "Prior" for fact in report.proof)
    without = NetworkRecord(solution.network, finding=solution.finding)
    for arc in gather(without, table=table).arcs:  # as of a file
        assert arc.gain == pytest.approx(solution.gains[arc.arc], abs=1e-6)


def test_what_the_proof_takes_for_a_tie_is_no_improvement() -> None:
    table, empty = chest_clinic(), Network(chest_clinic().names, ((),) * 8)
    exact, coarse = (
        Scope(Unknown(), None, parentage.Constraints(), tolerance) for tolerance in (0.0, 1e6)
    )
    for scope, expected in ((exact, {"cost", "unproven"}), (coarse, {"cost"})):
        judged = refused_parents(empty, table, "bic", scope)
        assert {one.why for ones in judged for one in ones} == expected


def test_a_file_without_a_bound_is_shown_without_one(tmp_path: Path) -> None:
    solution = parentage.learn(chest_clinic(100), max_parents=1)
    found = replace(solution.finding, optimal=False, bound=float("inf"))
    record = NetworkRecord(solution.network, None, found)
    read = parse_network_json(network_json_text(record), "net.json")
    save(read, tmp_path / "net.html")
    assert "another network may score higher under BIC" in (tmp_path / "net.html").read_text(
        "utf-8"
    )


def test_no_fact_about_the_data_is_told_twice(tmp_path: Path) -> None:
    rows = ["NA,x", "p,y", "q,x", "p,y", "q,NA"] * 9
    (tmp_path / "t.csv").write_text("\n".join(["a,b", *rows]) + "\n")
    table = read_table(tmp_path / "t.csv", missing="state")
    facts = data_facts(NetworkRecord(ASIA, provenance={"source": str(tmp_path / "t.csv")}), table)
    told = [value for label, value in facts if "a 9, b 9" in value]
    assert told == ["a 9, b 9"]
    assert [label for label, value in facts if "t.csv" in value] == ["Read from"]
    bare = NetworkRecord(ASIA, provenance={"source": "net.bif"})
    assert data_facts(bare, None) == (("Source", "net.bif"),)


def test_the_table_of_arcs_says_firm_or_open() -> None:
    network = Network.from_arcs("abc", [("a", "b"), ("b", "c")])
    arcs = (
        ArcSupport("a", "b", need=5.0, support="firm"),
        ArcSupport("b", "c", need=1.0, support="open"),
    )
    text = document(gather(network, support=Support(network, 0.0, 0.0, True, arcs)))
    assert text.count("<td>firm</td>") == text.count("<td>open</td>") == 1
    halted = tuple(replace(one, need=None, support="not known") for one in arcs)
    text = document(gather(network, support=Support(network, 0.0, 0.0, True, halted)))
    assert "2 links: 2 not known" in text and text.count("<td>not known</td>") == 2
    bare = tuple(replace(one, support=None) for one in arcs)
    text = document(gather(network, support=Support(network, 0.0, 0.0, True, bare)))
    assert "<td>firm</td>" not in text


def test_boxes_with_bars_have_room_for_the_labels_of_their_states() -> None:
    from parentage.report.page import BAR_WIDTH, LETTER, MOST_LETTERS, picture

    widths = []
    for label in ("yes", "stage II (extensive disease)"):
        table = Table.from_columns({"a": ["no", label] * 20})
        page = gather(Network.from_arcs("a", []), table=table)
        boxes = re.findall(r'<rect[^>]* width="([\d.]+)"', picture(page, bars=True)["parts"])
        widths.append(float(boxes[0]))
    assert widths[0] >= BAR_WIDTH and widths[1] >= BAR_WIDTH + LETTER * MOST_LETTERS


def test_a_direction_that_constraints_set_is_not_called_either() -> None:
    table = chest_clinic().select(["smoke", "bronc", "dysp"])
    tiers = Constraints(tiers=(("smoke",), ("bronc",), ("dysp",)))
    page = gather(parentage.learn(table, constraints=tiers), table=table)
    assert set(page.directions.values()) == {"set by the constraints"}
    n = len(page.arcs)
    assert page.summary[1] == f"0 directions compelled, 0 reversible, {n} set by the constraints"
    shown = document(page)
    assert "forbid every equivalent network" in shown and "unless the constraints" not in shown
    assert shown.count('class="head"') == 2 * n + 1  # two figures and the legend
    solution = parentage.learn(table, constraints=tiers)
    assert solution._repr_html_().count('class="head"') == n + 1  # the figure and its legend
    assert "set by the constraints" in solution._repr_html_()
    free = gather(parentage.learn(table), table=table)
    assert "reversible" in free.directions.values()
    costly = ArcSupport("smoke", "bronc", reversible=True, need_direction=114.0)
    assert direction_of(costly) == "compelled"
    limited = gather(parentage.learn(table, max_parents=1), table=table)
    assert set(limited.directions.values()) == {"reversible"}


@pytest.mark.parametrize("seed", range(3))
def test_imposed_directions_are_those_of_all_allowed_equivalent_networks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = tuple("abcd")
    sets = [tuple(p for p in range(4) if mask >> p & 1) for mask in range(16)]
    choices = itertools.product(*([own for own in sets if v not in own] for v in range(4)))
    everything = [Network(names, parents) for parents in choices if is_acyclic(parents)]
    for network in [everything[i] for i in rng.integers(len(everything), size=12)]:
        missing = [
            (a, b) for a in names for b in names if a != b and (a, b) not in set(network.arcs)
        ]
        barred = Constraints(forbidden=frozenset(arc for arc in missing if rng.random() < 0.3))
        found = imposed_directions(network, Scope(Unknown(), 2, barred, 0.0))
        class_ = network.equivalence_class()
        allowed = [
            one
            for one in everything
            if one.equivalence_class() == class_
            and all(
                barred.allowed(v, one.parents_of(v)) and len(one.parents_of(v)) <= 2 for v in names
            )
        ]
        for a, b in network.arcs:
            if (min(a, b), max(a, b)) in class_.reversible:
                turns = any((b, a) in one.arcs for one in allowed)
                assert found[a, b] is not turns, (network.arcs, barred, a, b)
