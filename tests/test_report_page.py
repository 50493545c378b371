"""The report page in a real browser: findings, slider, sorting, names, print, silence."""

from __future__ import annotations

import base64
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from browser import chromium, complaints, open_page, requests
from naive_intervals import entry_intervals
from network_cases import random_network, random_parameters
from parentage.arcs.records import ArcSupport, Bootstrap, Support, judged
from parentage.data.datasets import chest_clinic
from parentage.network.network import Network
from parentage.pipeline import learn
from parentage.report import save
from parentage.scoring.candidates import score

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from parentage.network.parameters import Parameters

pytestmark = pytest.mark.long

HOSTILE = (
    "</script><script>window.hacked=1</script>",
    '"><img src=x onerror="window.hacked=1">',
    "<!--",
    "日本語 😀",
    "' onclick='window.hacked=1",
    "\u202eevil\u2028\x00",
    "${window.hacked=1}",
    "a & b \\u003c",
)
CLICK = 'document.querySelector(\'.card[data-v="%d"] .state[data-k="%d"]\').click();'
TARGET = (
    "{const s = document.getElementById('target-variable'); s.value = '%d';"
    " s.dispatchEvent(new Event('change'));}"
)
FORM = """{const s = document.querySelector('#target-form select[data-v="%d"]'), k = %d;
  s.value = k < 0 ? '' : k; s.dispatchEvent(new Event('change'));}"""
TARGET_BARS = """return Array.from(document.querySelectorAll('#target-now .state'),
  (b) => +b.dataset.p)"""
CHOOSE = """{const box = document.getElementById('find');
  box.value = 'v%d'; box.dispatchEvent(new Event('change'));}"""
OVERLAPS = """const boxes = Array.from(
  document.querySelectorAll('#picture svg:not(.off) .box > rect'),
  (r) => ['x', 'y', 'width', 'height'].map((key) => +r.getAttribute(key)));
  return boxes.filter(([x, y, w, h], i) => boxes.some(([a, b, c, d], j) =>
    i !== j && x < a + c && a < x + w && y < b + d && b < y + h)).length"""
BARS = """return Array.from(document.querySelectorAll('.card')).map((card) =>
  Array.from(card.querySelectorAll('.state'), (b) => b.dataset.p === '' ? null : +b.dataset.p))"""


@pytest.fixture(scope="module")
def window() -> Iterator[Any]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def clinic(pages: Path) -> Path:
    """The page of the chest clinic, with support."""
    table = chest_clinic()
    lists = score(table)
    solution = learn(lists)
    drawn = Bootstrap(20, 20, 20, 0, (), (), 0.5, ())
    known = [
        ArcSupport(*arc, need=float((5 * i) % 7), adjacency=1 - i / 10)
        for i, arc in enumerate(solution.network.arcs)
    ]
    arcs = tuple(
        replace(one, support=judged(one, 1.0, need=True, bootstrap=drawn)) for one in known
    )
    found = Support(solution.network, solution.score, solution.score, True, arcs, bootstrap=drawn)
    path = pages / "clinic.html"
    save(solution, path, table=table, lists=lists, support=found, title="clinic")
    return path


def states_of(network: Network, rng: np.random.Generator) -> list[list[str]]:
    return [[f"s{k}" for k in range(int(rng.integers(1, 4)))] for _ in network.names]


def check_bars(window: Any, parameters: Parameters, given: dict[int, int]) -> None:
    """Every bar is what ``Network.query`` says."""
    names, states = parameters.network.names, parameters.states
    evidence = {names[v]: states[v][k] for v, k in given.items()}
    expected = parameters.query(evidence, targets=names)
    for name, labels, bars in zip(names, states, window.execute_script(BARS), strict=True):
        assert bars == pytest.approx([expected[name][label] for label in labels], abs=1e-9), name
    told = window.execute_script("return document.getElementById('evidence').textContent")
    for v, k in given.items():
        assert f"{names[v]} = {states[v][k]}" in told


def test_findings_agree_with_python(window: Any, pages: Path) -> None:
    rng = np.random.default_rng(5)
    for seed, n in ((1, 6), (2, 14), (3, 37)):
        network = random_network(seed, n, most=3 if n < 30 else 2)
        parameters = random_parameters(network, states_of(network, rng), rng)
        path = pages / f"random{n}.html"
        save(parameters, path)
        open_page(window, path)
        check_bars(window, parameters, {})
        given: dict[int, int] = {}
        row = parameters.sample(1, seed=seed).to_codes()[
            :, 0
        ]  # can occur, so far as there is evidence
        for v in rng.permutation(n)[:5].tolist():
            given[v] = int(row[v])
            window.execute_script(CLICK % (v, given[v]))
            check_bars(window, parameters, given)
        v = next(iter(given))
        del given[v]
        window.execute_script(CLICK % (v, int(row[v])))  # a second click forgets
        check_bars(window, parameters, given)
        assert complaints(window) == []
        assert requests(window, path) == []


def test_probabilities_from_counts_agree(window: Any, pages: Path, clinic: Path) -> None:
    table = chest_clinic()
    network = learn(table).network
    open_page(window, clinic)
    window.execute_script(CLICK % (2, 1) + CLICK % (6, 0))
    check_bars(window, network.fit(table), {2: 1, 6: 0})
    for smoothing in (0.0, 0.5):
        smooth = network.fit(table, smoothing=smoothing)
        path = pages / "smooth.html"
        save(network, path, table=table, parameters=smooth)
        assert '"tables":null' in path.read_text()  # the page works them out itself
        open_page(window, path)
        window.execute_script(CLICK % (7, 1))
        check_bars(window, smooth, {7: 1})
    other = pages / "other.html"
    smooth = replace(smooth, smoothing=None)  # those of a file, not those of the counts
    save(network, other, table=table, parameters=smooth)
    open_page(window, other)
    check_bars(window, smooth, {})


def test_findings_are_shown_and_forgotten(window: Any, clinic: Path) -> None:
    open_page(window, clinic)
    strip = window.find_element("id", "evidence")
    assert not strip.is_displayed()
    button = window.find_element("css selector", '.card[data-v="2"] .state[data-k="1"]')
    button.send_keys("\n")  # from the keyboard
    assert button.get_attribute("aria-pressed") == "true"
    assert strip.is_displayed()
    assert "smoke = yes" in strip.text
    assert "51.9 %" in strip.text
    assert window.find_elements("css selector", '#picture .box.seen[data-v="2"]')
    assert button.find_element("class name", "value").text == "100 %"
    strip.find_element("class name", "chip").click()
    assert button.get_attribute("aria-pressed") == "false"
    assert not strip.is_displayed()
    table = chest_clinic()
    bare = clinic.with_name("bare.html")
    network = learn(table).network
    save(network, bare, table=table, parameters=network.fit(table, smoothing=0.0))
    open_page(window, bare)
    strip = window.find_element("id", "evidence")
    for v, k in ((1, 0), (3, 1), (5, 0)):  # cancer and no tuberculosis, but neither
        window.execute_script(CLICK % (v, k))
    assert "cannot occur together" in strip.text
    assert window.execute_script(BARS)[0] == [None, None]
    strip.find_elements("tag name", "button")[-1].click()
    assert window.execute_script(BARS)[0] != [None, None]
    assert complaints(window) == []


def test_a_variable_is_told_of(window: Any, clinic: Path) -> None:
    open_page(window, clinic)
    box = window.find_element("css selector", '#picture svg.whole .box[data-v="7"] rect')
    window.execute_script("document.getElementById('network').scrollIntoView()")
    box.click()
    panel = window.find_element("id", "panel").text
    assert panel.startswith("dysp\n")
    assert "bronc" in panel.split("Parents\n")[1].split("Children")[0]
    assert "Children\nnone" in panel
    table = window.find_element("css selector", "#panel table").text
    assert "524" in table  # rows behind the first line
    cell = window.find_element("css selector", "#panel td.number")
    assert cell.get_attribute("title") == "470 of 524 rows"
    told = (
        r"smoke: As the only parent it would raise the score by \d+\.\d\. Beside bronc and either"
    )
    assert re.search(told, panel)
    assert "Other parent sets" in panel
    inside = '#panel .state[data-k="1"]'
    window.find_element("css selector", inside).click()
    assert window.find_element("css selector", inside).get_attribute("aria-pressed") == "true"
    assert window.find_elements("css selector", '.card[data-v="7"].known')
    search = window.find_element("id", "find")
    search.send_keys("XRA\n")
    assert window.find_element("id", "panel").text.startswith("xray\n")


def test_the_slider_hides_weak_arcs(window: Any, clinic: Path) -> None:
    open_page(window, clinic)
    count = "return document.querySelectorAll('#picture svg:not(.off) .arc:not(.weak)').length"
    assert window.execute_script(count) == 7
    slider = window.find_element("id", "weak")
    slider.send_keys("\ue014\ue014")  # twice the right arrow key
    assert window.execute_script(count) == 5
    assert window.find_element("id", "weak-told").text.startswith("5 of 7 arcs: gain above 31.8")
    window.execute_script(
        "const m = document.getElementById('measure'); m.value = 'adjacency';"
        "m.dispatchEvent(new Event('change'))"
    )
    assert window.execute_script(count) == 7
    slider.send_keys("\ue014")
    assert window.execute_script(count) == 6
    assert "bootstrap strength above 40.0 %" in window.find_element("id", "weak-told").text


def test_arcs_are_sorted(window: Any, clinic: Path) -> None:
    open_page(window, clinic)
    table = window.find_element("css selector", "#arcs table")
    window.execute_script("arguments[0].scrollIntoView({block: 'center'})", table)
    heads = table.find_elements("css selector", "th button")
    titles = [head.text for head in heads]
    assert titles == ["From", "To", "Direction", "Need", "Adjacent", "Gain", "Support"]

    def column(i: int) -> list[str]:
        read = (
            "const [table, i] = arguments;"
            "return Array.from(table.tBodies[0].rows, (row) => row.cells[i].textContent)"
        )
        return list(window.execute_script(read, table, i))

    needs = [float(cell) for cell in column(3)]
    assert needs == sorted(needs, reverse=True)  # by need from the beginning
    for i in (5, 3):
        heads[i].click()
        falling = [float(cell) for cell in column(i)]
        assert falling == sorted(falling, reverse=True)
        heads[i].click()
        assert [float(cell) for cell in column(i)] == sorted(falling)
    assert table.find_elements("css selector", "th")[3].get_attribute("aria-sort") == "ascending"
    heads[0].click()
    assert column(0) == sorted(column(0))


def test_moving_and_zooming(window: Any, clinic: Path) -> None:
    open_page(window, clinic)
    view = "return document.querySelector('#picture svg:not(.off)').getAttribute('viewBox')"
    whole = window.execute_script(view)
    picture = window.find_element("id", "picture")
    seen = {whole}
    for key in ("+", "\ue014", "-", "\ue015"):
        picture.send_keys(key)
        seen.add(window.execute_script(view))
    assert len(seen) == 5
    picture.send_keys("0")
    assert window.execute_script(view) == whole
    drag = (
        "const p = document.getElementById('picture'), at = p.getBoundingClientRect();"
        "const go = (kind, x) => p.dispatchEvent(new PointerEvent(kind,"
        " {bubbles: true, button: 0, clientX: at.x + x, clientY: at.y + 50}));"
        "go('pointerdown', 50); go('pointermove', 150); go('pointerup', 150);"
    )
    window.execute_script(drag)
    assert window.execute_script(view) != whole


def test_hostile_names_are_only_text(window: Any, pages: Path) -> None:
    rng = np.random.default_rng(1)
    network = Network(HOSTILE, random_network(4, len(HOSTILE), most=2).parents)
    labels = [["</script>", "<b>", "&lt;"][: 2 + v % 2] for v in range(len(HOSTILE))]
    parameters = random_parameters(network, labels, rng)
    path = pages / "hostile.html"
    save(parameters, path, title="<img src=x onerror=alert(1)>")
    open_page(window, path)
    for v in range(len(HOSTILE)):
        window.execute_script(f"document.querySelector('[data-choose=\"{v}\"]').click()")
        shown = window.find_element("css selector", "#panel h3").text
        if HOSTILE[v].isprintable():
            assert shown == HOSTILE[v]
        window.execute_script(CLICK % (v, 0))
    assert window.execute_script("return window.hacked") is None
    assert window.execute_script("return document.querySelectorAll('img, b').length") == 0
    assert window.find_element("css selector", "h1").text == "<img src=x onerror=alert(1)>"
    assert complaints(window) == []
    assert requests(window, path) == []


def test_the_policy_stops_what_names_could_not(window: Any, clinic: Path, pages: Path) -> None:
    """The check of requests and complaints can fail: a page that asks is caught, and stopped."""
    path = pages / "broken.html"
    text = clinic.read_text().replace("</main>", '</main><img src="https://example.org/x.png">')
    path.write_text(text)
    open_page(window, path)
    assert any("Content Security Policy" in said for said in complaints(window))


def test_too_wide_is_greyed_out(window: Any, pages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parentage.report.gather.MOST_WORK", 500)
    rng = np.random.default_rng(2)
    network = random_network(7, 12, most=4)
    parameters = random_parameters(network, [["a", "b", "c"]] * 12, rng)
    path = pages / "wide.html"
    save(parameters, path, table=parameters.sample(40, seed=1))
    open_page(window, path)
    text = window.find_element("id", "what-if").text
    assert re.search(r"tables of [\d,]+ cells", text)
    assert not window.find_elements("css selector", ".card .state:not([disabled])")
    assert len(window.find_elements("css selector", ".card .state")) == 36
    window.execute_script("document.querySelector('[data-choose=\"3\"]').click()")
    assert window.find_element("css selector", "#panel h3").text == "v3"
    assert complaints(window) == []


def test_the_part_that_matters_is_computed_where_the_whole_is_too_wide(
    window: Any, pages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(2)
    network = random_network(7, 12, most=4)
    parameters = random_parameters(network, [["a", "b", "c"]] * 12, rng)
    rows = parameters.sample(40, seed=1)
    path = pages / "part.html"
    for most, narrow in ((500_000, True), (20, False)):
        monkeypatch.setattr("parentage.report.gather.MOST_WORK", 500)
        monkeypatch.setattr("parentage.report.page.MOST_WORK", most)
        save(parameters, path, table=rows)
        open_page(window, path)
        given: dict[int, int] = {}
        for v, k in ((11, 1), (2, 0), (5, 2)):
            for target in (0, 7):
                window.execute_script(TARGET % target)
                window.execute_script(FORM % (v, k))
                given[v] = k
                evidence = {f"v{u}": "abc"[state] for u, state in given.items()}
                expected = parameters.query(evidence, targets=[f"v{target}"])[f"v{target}"]
                shown = window.execute_script(TARGET_BARS)
                if narrow:
                    assert shown == pytest.approx(list(expected.values()), abs=1e-9)
                elif target == 0 and len(given) == 1:
                    assert "the part that matters" in window.find_element("id", "target-next").text
        assert complaints(window) == []


def naive_bits(parameters: Parameters, target: str, other: str, given: dict[str, str]) -> float:
    """Mutual information of two variables given evidence, from their joint distribution."""
    p = parameters.joint([target, other], given).probabilities
    independent = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True)
    there = p > 0
    return float((p[there] * np.log2(p[there] / independent[there])).sum())


def test_the_target_is_told_of_in_order_of_information(window: Any, pages: Path) -> None:
    rng = np.random.default_rng(8)
    network = random_network(5, 9, most=3)
    parameters = random_parameters(network, states_of(network, rng), rng)
    path = pages / "target.html"
    save(parameters, path)
    open_page(window, path)
    names, states = network.names, parameters.states
    target = max(range(9), key=lambda v: len(states[v]))
    window.execute_script(TARGET % target)
    window.execute_script("document.getElementById('target-more').click()")
    given: dict[str, str] = {}
    read = (
        "return Array.from(document.querySelectorAll('#target-form tbody tr'), (row) =>"
        " [+row.querySelector('select').dataset.v, +row.querySelector('[data-bits]').dataset.bits])"
    )
    for _ in range(3):
        rows = [(v, bits) for v, bits in window.execute_script(read) if names[v] not in given]
        assert [bits for _, bits in rows] == sorted((bits for _, bits in rows), reverse=True)
        assert len(rows) == 8 - len(given)
        for v, bits in rows:
            truth = naive_bits(parameters, names[target], names[v], given)
            assert bits == pytest.approx(truth, abs=1e-9), names[v]
        if rows[0][1] < 1e-9:
            assert "No other variable" in window.find_element("id", "target-next").text
            break
        best = window.find_element("css selector", "#target-next button")
        assert int(best.get_attribute("data-best")) == rows[0][0]
        asked = rows[0][0]
        given[names[asked]] = states[asked][0]
        window.execute_script(FORM % (asked, 0))
        expected = parameters.query(given, targets=[names[target]])[names[target]]
        assert window.execute_script(TARGET_BARS) == pytest.approx(
            list(expected.values()), abs=1e-9
        )
    assert given  # at least one question was worth asking
    window.execute_script(FORM % (asked, -1))  # not known again
    del given[names[asked]]
    expected = parameters.query(given, targets=[names[target]])[names[target]]
    assert window.execute_script(TARGET_BARS) == pytest.approx(list(expected.values()), abs=1e-9)
    assert complaints(window) == []


def test_intervals_agree_with_python(window: Any, clinic: Path) -> None:
    table = chest_clinic()
    fitted = learn(table).network.fit(table)
    assert fitted.counts is not None
    open_page(window, clinic)
    read = (
        "return Array.from(document.querySelectorAll('#panel tbody tr'), (row) => Array.from("
        "row.querySelectorAll('small'), (s) => [+s.dataset.low, +s.dataset.high]))"
    )
    few = "return Array.from(document.querySelectorAll('#panel tbody tr'), (r) => r.className)"
    greys = []
    for v, counts in enumerate(fitted.counts):
        window.execute_script(f"document.querySelector('[data-choose=\"{v}\"]').click()")
        assert np.array(window.execute_script(read)) == pytest.approx(
            entry_intervals(counts, 1.0), abs=1e-9
        )
        grey = [name == "few" for name in window.execute_script(few)]
        assert grey == [total < 10 for total in counts.sum(axis=1)]
        greys += grey
    assert any(greys) and not all(greys)


def test_bars_and_colours_follow_the_evidence(window: Any, clinic: Path) -> None:
    open_page(window, clinic)
    window.find_element("id", "bars").click()
    assert window.find_element("css selector", "svg.barred").is_displayed()
    widths = (
        "return Array.from(document.querySelectorAll('svg.barred .box'), (box) => Array.from("
        "box.querySelectorAll('.mini'), (m) => m.querySelector('.fill').getAttribute('width')"
        " / m.querySelector('.rail').getAttribute('width')))"
    )
    table = chest_clinic()
    fitted = learn(table).network.fit(table)
    for given in ({}, {"xray": "yes"}):
        if given:
            window.execute_script(CLICK % (6, 1))
        answer = fitted.query(given, targets=fitted.network.names)
        expected = [list(answer[name].values()) for name in fitted.network.names]
        assert np.array(window.execute_script(widths)) == pytest.approx(
            np.array(expected), abs=1e-6
        )
    moved = window.execute_script(
        "return Array.from(document.querySelectorAll('svg.barred .box'), (b) => +b.dataset.moved)"
    )
    before = fitted.query()
    steps = (0.01, 0.05, 0.1, 0.2, 0.4)
    for name, step in zip(fitted.network.names, moved, strict=True):
        shift = sum(abs(answer[name][k] - before[name][k]) for k in answer[name]) / 2
        assert step == (0 if name in given else sum(shift >= least for least in steps))
    assert max(moved) >= 4
    assert window.find_element("id", "moved").is_displayed()
    assert complaints(window) == []


def test_a_large_network_is_shown_around_a_variable(window: Any, pages: Path) -> None:
    network = random_network(3, 90, most=2)
    path = pages / "large.html"
    save(network, path)
    open_page(window, path)
    shown = (
        "return Array.from(document.querySelectorAll('#picture svg:not(.off) .box'),"
        " (b) => +b.dataset.v).sort((a, b) => a - b)"
    )
    links: list[set[int]] = [set() for _ in network.names]
    for v, members in enumerate(network.parents):
        for p in members:
            links[v].add(p)
            links[p].add(v)

    def near(v: int) -> list[int]:
        one = {v} | links[v]
        two = one.union(*(links[u] for u in one))
        return sorted(two if len(two) <= 45 else one)

    hub = max(range(90), key=lambda v: len(links[v]))
    assert window.execute_script(shown) == near(hub)
    for v in (0, 40, 89):
        window.execute_script(f"document.querySelector('[data-choose=\"{v}\"]').click()"
                              if window.find_elements("css selector", f'[data-choose="{v}"]')
                              else CHOOSE % v)  # fmt: skip
        assert window.execute_script(shown) == near(v)
        overlap = window.execute_script(OVERLAPS)
        assert overlap == 0
    window.execute_script(
        "const s = document.getElementById('scope'); s.value = 'whole';"
        "s.dispatchEvent(new Event('change'))"
    )
    assert window.execute_script(shown) == list(range(90))
    assert complaints(window) == []


def test_the_figure_and_the_texts_are_taken_along(window: Any, clinic: Path) -> None:
    open_page(window, clinic)
    window.execute_script(
        "window.saved = []; URL.createObjectURL = (blob) => { window.saved.push(blob);"
        " return 'about:blank#'; };"
        "HTMLAnchorElement.prototype.click = function () {};"
    )
    for kind in ("svg", "png"):
        window.execute_script(f"document.querySelector('[data-save=\"{kind}\"]').click()")
    wait = (
        "const done = arguments[arguments.length - 1];"
        "const look = () => window.saved.length < 2 ? setTimeout(look, 20)"
        " : Promise.all([window.saved[0].text(), window.saved[1].arrayBuffer()]).then("
        "([text, png]) => done([text, Array.from(new Uint8Array(png).slice(0, 24))])); look();"
    )
    text, png = window.execute_async_script(wait)
    figure = ElementTree.fromstring(text)  # noqa: S314  # the page's own
    assert figure.get("viewBox") and text.count('class="box"') == 8
    assert bytes(png[:8]) == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(bytes(png[16:20])) >= 700
    window.execute_script(
        "window.copied = []; Object.defineProperty(navigator, 'clipboard', {value:"
        " {writeText: (t) => { window.copied.push(t); return Promise.resolve(); }}});"
        "for (const b of document.querySelectorAll('[data-copy]')) b.click();"
    )
    methods, latex, table = window.execute_script("return window.copied")
    assert "1,000 rows of 8 variables" in methods
    assert latex.startswith("\\begin{tabular}") and table.startswith("from,to,need")
    assert len(table.splitlines()) == 8
    assert complaints(window) == []


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_nothing_is_wider_than_the_screen(window: Any, clinic: Path, width: int) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    window.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        open_page(window, clinic)
        window.execute_script("document.querySelector('[data-choose=\"7\"]').click()")
        window.execute_script(TARGET % 3 + CLICK % (2, 1))
        wide = "return document.documentElement.scrollWidth"
        assert window.execute_script(wide) <= width
        cut = (
            "return Array.from(document.querySelectorAll('#panel th, #panel td')).filter("
            "(cell) => cell.scrollWidth > cell.clientWidth + 1).length"
        )
        assert window.execute_script(cut) == 0
    finally:
        window.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_short_names_stay_whole_on_a_narrow_screen(window: Any, clinic: Path) -> None:
    narrow = {"width": 380, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    window.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", narrow)
    try:
        open_page(window, clinic)
        lines = (
            "return [...document.querySelectorAll('td button.link')].map("
            "(b) => b.getBoundingClientRect().height / parseFloat(getComputedStyle(b).fontSize))"
        )
        heights = window.execute_script(lines)
        assert heights and max(heights) < 2
    finally:
        window.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_dark_and_print(window: Any, clinic: Path) -> None:
    open_page(window, clinic)
    background = "return getComputedStyle(document.body).backgroundColor"
    shade = {}
    for scheme in ("light", "dark"):
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        window.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        shade[scheme] = sum(map(int, re.findall(r"\d+", window.execute_script(background))))
    assert shade["light"] > 700
    assert shade["dark"] < 100
    media["media"] = "print"  # type: ignore[assignment]  # of another kind than the features
    window.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    hidden = (
        "const look = (s) => getComputedStyle(document.querySelector(s)).display;"
        "return ['nav', '#panel', '.tools'].map(look)"
    )
    assert window.execute_script(hidden) == ["none"] * 3
    assert window.execute_script(background) == "rgb(255, 255, 255)"
    window.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    window.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": []})
    below = (
        "const at = (s) => document.querySelector(s).getBoundingClientRect();"
        "return at('.legend').top - Math.max(...Array.from("
        "document.querySelectorAll('svg.whole .box'), (b) => b.getBoundingClientRect().bottom))"
    )
    assert window.execute_script(below) >= 0  # the legend is under the figure
    window.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    printed = window.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})
    pdf = base64.b64decode(printed["data"])
    sizes = {tuple(map(float, m.split())) for m in re.findall(rb"/MediaBox\s*\[([^\]]+)\]", pdf)}
    assert len(sizes) == 1
    (box,) = sizes
    assert box[2:] == pytest.approx((595, 842), abs=1.5)  # A4 in points
    assert complaints(window) == []
