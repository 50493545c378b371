"""The report page in a real browser: findings, slider, sorting, names, print, silence."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from browser import chromium, complaints, open_page, requests
from network_cases import random_network, random_parameters
from parentage.arcs.records import ArcSupport, Bootstrap, Support
from parentage.data.datasets import chest_clinic
from parentage.learner import learn
from parentage.network.network import Network
from parentage.report import write_report
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
    arcs = tuple(
        ArcSupport(*arc, need=float((5 * i) % 7), adjacency=1 - i / 10)
        for i, arc in enumerate(solution.network.arcs)
    )
    drawn = Bootstrap(20, 20, 20, 0, (), (), 0.5, ())
    found = Support(solution.network, solution.score, solution.score, True, arcs, bootstrap=drawn)
    path = pages / "clinic.html"
    write_report(solution, path, table=table, lists=lists, support=found, title="clinic")
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
        write_report(parameters, path)
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
        write_report(network, path, table=table, parameters=smooth)
        assert '"tables":null' in path.read_text()  # the page works them out itself
        open_page(window, path)
        window.execute_script(CLICK % (7, 1))
        check_bars(window, smooth, {7: 1})
    other = pages / "other.html"
    smooth = replace(smooth, smoothing=None)  # those of a file, not those of the counts
    write_report(network, other, table=table, parameters=smooth)
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
    for v, k in ((1, 0), (3, 1), (5, 0)):  # cancer and no tuberculosis, but neither
        window.execute_script(CLICK % (v, k))
    assert "cannot occur together" in strip.text
    assert window.execute_script(BARS)[0] == [None, None]
    strip.find_elements("tag name", "button")[-1].click()
    assert window.execute_script(BARS)[0] != [None, None]
    assert complaints(window) == []


def test_a_variable_is_told_of(window: Any, clinic: Path) -> None:
    open_page(window, clinic)
    box = window.find_element("css selector", '#picture .box[data-v="7"] rect')
    window.execute_script("document.getElementById('network').scrollIntoView()")
    box.click()
    panel = window.find_element("id", "panel").text
    assert panel.startswith("dysp\n")
    assert "bronc" in panel.split("Parents\n")[1].split("Children")[0]
    assert "Children\nnone" in panel
    table = window.find_element("css selector", "#panel table").text
    assert "470" in table  # rows behind the first cell
    assert re.search(r"smoke: On its own it would gain \d+\.\d\. Beside bronc and either", panel)
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
    count = "return document.querySelectorAll('#picture .arc:not(.weak)').length"
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
    assert "seen again above 40.0 %" in window.find_element("id", "weak-told").text


def test_arcs_are_sorted(window: Any, clinic: Path) -> None:
    open_page(window, clinic)
    table = window.find_element("css selector", "#arcs table")
    window.execute_script("arguments[0].scrollIntoView({block: 'center'})", table)
    heads = table.find_elements("css selector", "th button")
    titles = [head.text for head in heads]
    assert titles == ["From", "To", "Direction", "Gain", "Need", "Seen again"]

    def column(i: int) -> list[str]:
        read = (
            "const [table, i] = arguments;"
            "return Array.from(table.tBodies[0].rows, (row) => row.cells[i].textContent)"
        )
        return list(window.execute_script(read, table, i))

    for i in (3, 4):
        heads[i].click()
        falling = [float(cell) for cell in column(i)]
        assert falling == sorted(falling, reverse=True)
        heads[i].click()
        assert [float(cell) for cell in column(i)] == sorted(falling)
    assert table.find_elements("css selector", "th")[4].get_attribute("aria-sort") == "ascending"
    heads[0].click()
    assert column(0) == sorted(column(0))


def test_moving_and_zooming(window: Any, clinic: Path) -> None:
    open_page(window, clinic)
    view = "return document.querySelector('#picture svg').getAttribute('viewBox')"
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
    write_report(parameters, path, title="<img src=x onerror=alert(1)>")
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
    write_report(parameters, path, table=parameters.sample(40, seed=1))
    open_page(window, path)
    text = window.find_element("id", "what-if").text
    assert re.search(r"tables of [\d,]+ cells", text)
    assert not window.find_elements("css selector", ".state:not([disabled])")
    assert len(window.find_elements("css selector", ".state")) == 36
    window.execute_script("document.querySelector('[data-choose=\"3\"]').click()")
    assert window.find_element("css selector", "#panel h3").text == "v3"
    assert complaints(window) == []


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
    printed = window.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})
    pdf = base64.b64decode(printed["data"])
    sizes = {tuple(map(float, m.split())) for m in re.findall(rb"/MediaBox\s*\[([^\]]+)\]", pdf)}
    assert len(sizes) == 1
    (box,) = sizes
    assert box[2:] == pytest.approx((595, 842), abs=1.5)  # A4 in points
    assert complaints(window) == []
