from __future__ import annotations

import re
import time
from dataclasses import replace
from itertools import combinations, pairwise, permutations, product
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command import ok, refused
from network_cases import ASIA, ODD_NAMES, all_dags, random_network, random_parents
from parentage.errors import DataWarning, InputError, MissingExtraError
from parentage.network.bridges import from_model_string
from parentage.network.formats import check_network_target, write_network
from parentage.network.network import Network
from parentage.network.record import NetworkRecord
from parentage.view.crossings import (
    _sift,
    _swap_neighbours,
    layered_graph,
    ordered_layers,
    total_crossings,
)
from parentage.view.drawing import (
    LONGEST_LINE,
    NARROW,
    PLAIN,
    WIDE,
    label_lines,
    network_drawing,
    opacity_of,
    printable,
    stroke_widths,
    text_width,
)
from parentage.view.figure import DARK, LIGHT, drawing_svg, paper_width, row_width_for, scale_for
from parentage.view.layout import Placement, components, layout, shortest_levels, split_wide_layers

if TYPE_CHECKING:
    from pathlib import Path

SVG = "{http://www.w3.org/2000/svg}"
Box = tuple[float, float, float, float]

ALARM = from_model_string(
    "[HIST|LVF][CVP|LVV][PCWP|LVV][HYP][LVV|HYP:LVF][LVF][STKV|HYP:LVF][ERLO][HRBP|ERLO:HR]"
    "[HREK|ERCA:HR][ERCA][HRSA|ERCA:HR][ANES][APL][TPR|APL][ECO2|ACO2:VLNG][KINK][MINV|INT:VLNG]"
    "[FIO2][PVS|FIO2:VALV][SAO2|PVS:SHNT][PAP|PMB][PMB][SHNT|INT:PMB][INT][PRSS|INT:KINK:VTUB]"
    "[DISC][MVS][VMCH|MVS][VTUB|DISC:VMCH][VLNG|INT:KINK:VTUB][VALV|INT:VLNG][ACO2|VALV]"
    "[CCHL|ACO2:ANES:SAO2:TPR][HR|CCHL][CO|HR:STKV][BP|CO:TPR]"
)


def arcs_of(parents: tuple[tuple[int, ...], ...]) -> list[tuple[int, int]]:
    return [(p, v) for v, members in enumerate(parents) for p in members]


def length(level: list[int] | tuple[int, ...], arcs: list[tuple[int, int]]) -> int:
    return sum(level[head] - level[tail] for tail, head in arcs)


def is_layering(level: list[int] | tuple[int, ...], arcs: list[tuple[int, int]]) -> bool:
    return all(level[tail] < level[head] for tail, head in arcs)


def check_levels(parents: tuple[tuple[int, ...], ...]) -> None:
    arcs, n = arcs_of(parents), len(parents)
    found = shortest_levels(n, arcs)
    assert is_layering(found, arcs)
    assert min(found) == 0
    every = product(range(n), repeat=n)
    assert length(found, arcs) == min(length(lv, arcs) for lv in every if is_layering(lv, arcs))


def test_levels_are_shortest_by_brute_force() -> None:
    connected = [p for p in all_dags(4) if len(components(4, arcs_of(p))) == 1]
    assert len(connected) == 446
    for parents in connected[::3]:
        check_levels(parents)


@pytest.mark.long
def test_levels_are_shortest_for_six_variables() -> None:
    rng = np.random.default_rng(1)
    done = 0
    while done < 300:
        parents = random_parents(rng, 6)
        if len(components(6, arcs_of(parents))) == 1:
            check_levels(parents)
            done += 1


@given(st.integers(0, 2**32 - 1), st.integers(2, 40))
def test_splitting_keeps_a_layering_and_the_limit(seed: int, n: int) -> None:
    arcs = arcs_of(random_network(seed, n).parents)
    rng = np.random.default_rng(seed)
    for part in components(n, arcs):
        place = {v: i for i, v in enumerate(part)}
        own = [(place[a], place[b]) for a, b in arcs if a in place]
        widths = [float(w) for w in rng.integers(50, 200, len(part))]
        level = split_wide_layers(shortest_levels(len(part), own), widths, own, 500.0)
        assert is_layering(level, own)
        assert set(level) == set(range(max(level) + 1))
        for layer in range(max(level) + 1):
            row = [w for w, own_layer in zip(widths, level, strict=True) if own_layer == layer]
            assert sum(row) <= 500.0 + max(row)


def naive_crossings(parts: list[list[int]], below: list[list[int]]) -> int:
    total = 0
    for upper, lower in pairwise(parts):
        ends = [(upper.index(v), lower.index(w)) for v in upper for w in below[v]]
        total += sum((a - c) * (b - d) < 0 for (a, b), (c, d) in combinations(ends, 2))
    return total


def moved(layers: list[list[int]], at: int, source: int, target: int) -> list[list[int]]:
    """The layers with one place of one of them elsewhere."""
    layer = list(layers[at])
    layer.insert(target, layer.pop(source))
    return [*layers[:at], layer, *layers[at + 1 :]]


def test_places_are_moved_as_long_as_that_helps() -> None:
    """Swaps until none helps; sifting until no place is better anywhere; both against counting."""
    rng = np.random.default_rng(5)
    saved = 0
    for _ in range(15):
        level = sorted(rng.integers(0, 4, 18).tolist())
        pairs = [(a, b) for a, b in combinations(range(18), 2) if level[b] > level[a]]
        arcs = [pairs[i] for i in rng.permutation(len(pairs))[:24]]
        graph = layered_graph(level, arcs)
        places = np.arange(len(graph.level))
        layers = [rng.permutation(places[np.array(graph.level) == k]).tolist() for k in range(4)]
        before = naive_crossings(layers, graph.below)
        _swap_neighbours(graph, layers)
        after = naive_crossings(layers, graph.below)
        for at, layer in enumerate(layers):
            for i in range(len(layer) - 1):
                assert naive_crossings(moved(layers, at, i, i + 1), graph.below) >= after
        _sift(graph, layers, rounds=100)
        least = naive_crossings(layers, graph.below)
        for at, layer in enumerate(layers):
            for i, k in product(range(len(layer)), repeat=2):
                assert naive_crossings(moved(layers, at, i, k), graph.below) >= least
        assert before >= after >= least
        saved += (before > after) + (after > least)
    assert saved > 20


@pytest.mark.no_cover
def test_few_crossings_by_brute_force() -> None:
    rng = np.random.default_rng(3)
    ours = least = 0
    for _ in range(40):
        level = [0, 0, 0, 1, 1, 1, 1, 2, 2, 2]
        pairs = [(a, b) for a, b in combinations(range(10), 2) if level[b] == level[a] + 1]
        arcs = [pairs[i] for i in rng.permutation(len(pairs))[:11]]
        graph = layered_graph(level, arcs)
        layers = ordered_layers(graph)
        assert sorted(map(sorted, layers)) == [[0, 1, 2], [3, 4, 5, 6], [7, 8, 9]]
        count = total_crossings(graph, layers)
        assert count == naive_crossings(layers, graph.below)
        ours += count
        choices = product(*(permutations(sorted(layer)) for layer in layers))
        least += min(naive_crossings([list(row) for row in rows], graph.below) for rows in choices)
    assert ours <= 1.02 * least


def boxes_and_paths(svg: str) -> tuple[list[Box], list[tuple[str, list[tuple[float, float]]]]]:
    """Every box as (left, top, right, bottom), and every arc as points along its path."""
    root = ElementTree.fromstring(svg)  # noqa: S314  # our own picture
    boxes, paths = [], []
    for group in root.iter(f"{SVG}g"):
        if group.get("class") == "box":
            rect = group.find(f"{SVG}rect")
            assert rect is not None
            x, y, w, h = (float(rect.get(key, "nan")) for key in ("x", "y", "width", "height"))
            boxes.append((x, y, x + w, y + h))
        elif group.get("class") == "arc":
            path, title = group.find(f"{SVG}path"), group.find(f"{SVG}title")
            assert path is not None
            assert title is not None
            paths.append((str(title.text), points_of(path.get("d", ""))))
    return boxes, paths


def points_of(d: str) -> list[tuple[float, float]]:
    points: list[tuple[float, float]] = []
    for command, numbers in re.findall(r"([MVC])([^MVC]*)", d):
        values = [float(word) for word in numbers.split()]
        if command == "M":
            points.append((values[0], values[1]))
        elif command == "V":
            x, y = points[-1]
            points += [(x, y + t * (values[0] - y)) for t in np.linspace(0, 1, 30)]
        else:
            corners = np.array([*points[-1], *values]).reshape(4, 2)
            for t in np.linspace(0, 1, 60):
                b = np.array([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3])
                points.append((float(b @ corners[:, 0]), float(b @ corners[:, 1])))
    return points


def check_picture(network: Network, gains: dict[tuple[str, str], float] | None = None) -> None:
    svg = network.to_svg(gains)
    boxes, paths = boxes_and_paths(svg)
    assert len(boxes) == network.n_variables
    assert len(paths) == network.n_arcs
    root = ElementTree.fromstring(svg)  # noqa: S314  # our own picture
    width, height = float(root.get("width", "nan")), float(root.get("height", "nan"))
    for box in boxes:
        assert -20 <= box[0] < box[2] <= width
        assert 0 <= box[1] < box[3] <= height
    for (l1, t1, r1, b1), (l2, t2, r2, b2) in combinations(boxes, 2):
        assert r1 + 10 <= l2 or r2 + 10 <= l1 or b1 + 10 <= t2 or b2 + 10 <= t1
    for _, points in paths:
        for left, top, right, bottom in boxes:
            inside = [p for p in points if left < p[0] < right and top + 0.1 < p[1] < bottom - 0.1]
            assert not inside
        assert all(a[1] <= b[1] + 1e-6 for a, b in pairwise(points))


def test_no_arc_touches_a_box_of_others_in_known_networks() -> None:
    check_picture(ASIA)
    check_picture(ALARM, {arc: float(i**2) for i, arc in enumerate(ALARM.arcs)})


@pytest.mark.no_cover
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(0, 4))
def test_no_arc_touches_a_box_of_others(seed: int, n: int, most: int) -> None:
    network = random_network(seed, n, most)
    rng = np.random.default_rng(seed)
    names = tuple(f"{i} " + "long_name " * int(rng.integers(0, 7)) for i in range(n))
    check_picture(Network(names, network.parents))


def test_the_picture_of_alarm_has_few_crossings() -> None:
    sizes = [(80.0, 32.0)] * ALARM.n_variables
    arcs = arcs_of(ALARM.parents)
    level = split_wide_layers(shortest_levels(37, arcs), [106.0] * 37, arcs, 1300.0)
    graph = layered_graph(level, arcs)
    assert total_crossings(graph, ordered_layers(graph)) <= 7
    drawn = layout(sizes, ALARM.parents)
    assert drawn.width < 1000
    assert drawn.height < 1000


@pytest.mark.no_cover
def test_pictures_are_repeatable_and_fast() -> None:
    began = time.process_time()
    assert ALARM.to_svg() == ALARM.to_svg()
    large = random_network(8, 200, 2)
    assert large.to_svg().count('class="box"') == 200
    assert time.process_time() - began < 60  # seconds; an endless layout takes minutes


def test_many_children_do_not_make_one_endless_row() -> None:
    star = Network.from_arcs(
        ["class", *(f"feature {i}" for i in range(40))],
        [("class", f"feature {i}") for i in range(40)],
    )
    check_picture(star)
    drawn = layout([(90.0, 32.0)] * 41, star.parents)
    assert drawn.width < 1700
    upside_down = Network.from_arcs(star.names, [(b, a) for a, b in star.arcs])
    check_picture(upside_down)


def test_nothing_and_hardly_anything_can_be_drawn() -> None:
    empty = layout([], [])
    assert empty == Placement(0.0, 0.0, (), {})
    check_picture(Network((), ()))
    check_picture(Network(("alone",), ((),)))
    check_picture(Network(tuple("abcdefgh"), ((),) * 8))
    check_picture(Network.from_arcs("abcdef", [("a", "b"), ("c", "d")]))


def test_odd_names_make_valid_pictures() -> None:
    own = (*ODD_NAMES, "lone \ud800 surrogate", "x" * 300, "</title><script>alert(1)</script>")
    network = Network(own, random_network(1, len(own), most=2).parents)
    svg = network.to_svg(dict.fromkeys(network.arcs, 1.0))
    svg.encode()
    root = ElementTree.fromstring(svg)  # noqa: S314  # our own picture
    assert not list(root.iter(f"{SVG}script"))
    titles = [element.text for element in root.iter(f"{SVG}title")]
    for name in own:
        assert printable(name) in titles


def test_the_picture_has_light_and_dark_and_asks_nobody() -> None:
    svg = ASIA.to_svg()
    assert "prefers-color-scheme:dark" in svg
    assert "<script" not in svg
    assert re.findall(r"https?://[^\"]*", svg) == ["http://www.w3.org/2000/svg"]
    assert "max-width:100%" in svg


def test_colours_need_no_style_sheet() -> None:
    """What librsvg, Inkscape and cairosvg see: every shape has its own colours and sizes."""
    gains = {arc: float(i) for i, arc in enumerate(ASIA.arcs)}
    svg = replace(ASIA, shares=dict.fromkeys(ASIA.arcs, 0.5)).to_svg(gains)
    assert "var(" not in svg
    root = ElementTree.fromstring(svg)  # noqa: S314  # our own picture
    assert "style" not in root.attrib  # cairosvg takes height:auto for no height at all
    shapes = {"rect": ("fill",), "path": ("fill", "stroke", "stroke-width"), "polygon": ("fill",)}
    for name, attributes in shapes.items():
        for shape in root.iter(f"{SVG}{name}"):
            assert all(shape.get(key) for key in attributes), ElementTree.tostring(shape)
    inherited = {
        group.get("fill") for group in root.iter(f"{SVG}g") if group.find(f"{SVG}text") is not None
    }
    assert LIGHT["ink"] in inherited
    outside = re.sub(r"@media[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", "", svg)
    assert "height:auto" not in outside
    assert not any(colour in outside for colour in DARK.values())


def arcs_drawn(svg: str) -> dict[str, bool]:
    """What is told of every arc, and whether it has a head."""
    root = ElementTree.fromstring(svg)  # noqa: S314  # our own picture
    groups = [g for g in root.iter(f"{SVG}g") if g.get("class") == "arc"]
    return {str(g.findtext(f"{SVG}title")): g.find(f"{SVG}polygon") is not None for g in groups}


def test_heads_show_what_is_compelled() -> None:
    heads = arcs_drawn(ASIA.to_svg())
    compelled = ASIA.equivalence_class().compelled
    assert heads == {
        f"{a} {'→' if (a, b) in compelled else '—'} {b}": (a, b) in compelled for a, b in ASIA.arcs
    }
    assert len(set(heads.values())) == 2


def texts(svg: str) -> list[str]:
    root = ElementTree.fromstring(svg)  # noqa: S314  # our own picture
    return [str(text.text) for text in root.iter(f"{SVG}text")]


def test_the_legend_says_what_can_be_seen() -> None:
    chain = Network.from_arcs("abc", [("a", "b"), ("b", "c")])
    assert texts(chain.to_svg())[3:] == ["reversible", "3 variables, 2 arcs"]
    limited = chain.to_svg(imposed={("a", "b"): True})
    assert texts(limited)[3:5] == ["set by the constraints", "reversible"]
    assert arcs_drawn(limited) == {"a → b": True, "b — c": False}
    unclear = texts(chain.to_svg(imposed={("a", "b"): None}))[3]
    assert unclear == "reversible, unless the constraints set the direction"
    meet = Network.from_arcs("abc", [("a", "c"), ("b", "c")])
    gains = {("a", "c"): 2.0, ("b", "c"): 30.0}
    shown = texts(replace(meet, shares={("a", "c"): 0.25}).to_svg(gains))[3:]
    assert shown[:4] == ["compelled", "gains 2", "gains 30", "support 25%"]
    assert 'opacity="0.40"' in replace(meet, shares={("a", "c"): 0.25}).to_svg(gains)
    assert texts(Network(("a",), ((),)).to_svg())[1:] == ["1 variables, 0 arcs"]


def test_support_is_opacity() -> None:
    assert opacity_of(0.0) < opacity_of(0.5) < opacity_of(1.0) == opacity_of(None) == 1.0
    assert opacity_of(float("nan")) == opacity_of(7.0) == 1.0
    assert opacity_of(-1.0) == opacity_of(0.0)


def test_sizes_for_paper() -> None:
    assert row_width_for(None) is None
    narrow = drawing_svg(network_drawing(ALARM, row_width=row_width_for("column")))
    wide = drawing_svg(network_drawing(ALARM, row_width=row_width_for("page")))
    widths = [float(ElementTree.fromstring(s).get("width", "nan")) for s in (narrow, wide)]  # noqa: S314
    assert widths[0] < 600 < widths[1] < 1000
    assert 13 * scale_for(widths[0], "column") > 5.5  # points of the text
    for wrong in ("wide", "3", "-5mm", "nan mm", "1e9mm", "1mm", "99999in", ""):
        with pytest.raises(InputError, match="is not a width"):
            paper_width(wrong)


@pytest.mark.parametrize(
    ("form", "begins"), [("png", b"\x89PNG"), ("pdf", b"%PDF-"), ("svg", b"<svg")]
)
def test_pictures_are_written(form: str, begins: bytes, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    hostile = Network(("$a_b$", "\\frac{1}", "<b>"), ((), (0,), (0, 1)))
    for network, size in ((ASIA, None), (ASIA, "column"), (hostile, "12cm")):
        path = tmp_path / f"net.{form}"
        record = NetworkRecord(network, gains=dict.fromkeys(network.arcs, 2.0))
        write_network(record, path, size=size)
        assert path.read_bytes().startswith(begins)
    write_network(ASIA, tmp_path / f"again.{form}", size="column")
    first = (tmp_path / f"again.{form}").read_bytes()
    write_network(ASIA, tmp_path / f"again.{form}", size="column")
    assert (tmp_path / f"again.{form}").read_bytes() == first


def test_characters_without_a_font_are_told(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    odd = Network(("\U0001f9ec gene", "b"), ((), (0,)))
    with pytest.warns(DataWarning, match=r"in none of the fonts here .* \.svg"):
        write_network(odd, tmp_path / "net.png")


def test_no_matplotlib_is_told_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parentage.view.figure.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'parentage\[plot\]'"):
        check_network_target("net.png", needs_table=False)


def test_learn_draws_for_paper(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    table = tmp_path / "t.csv"
    table.write_text("a,b\n" + "0,0\n1,1\n" * 20)
    ok("learn", str(table), "-o", str(tmp_path / "n.pdf"), "--size", "column")
    assert (tmp_path / "n.pdf").read_bytes().startswith(b"%PDF-")
    told = refused("learn", str(table), "-o", str(tmp_path / "m.svg"), "--size", "huge")
    assert "column, page, slide" in told
    assert not (tmp_path / "m.svg").exists()


def test_widths_grow_with_gains() -> None:
    arcs = [("a", "b"), ("a", "c"), ("b", "c")]
    gains = {("a", "b"): 100.0, ("a", "c"): 1.0, ("b", "c"): 25.0}
    widths = stroke_widths(arcs, gains)
    assert widths["a", "b"] == WIDE > widths["b", "c"] > widths["a", "c"] > NARROW
    assert stroke_widths(arcs)["a", "b"] == PLAIN
    assert stroke_widths(arcs, {("a", "b"): -3.0}) == dict.fromkeys(arcs, WIDE) | {("a", "b"): WIDE}
    negative = stroke_widths(arcs, {**gains, ("a", "c"): -1.0})
    assert negative["a", "c"] == NARROW
    missing = stroke_widths(arcs, {("a", "b"): 4.0, ("a", "c"): float("inf")})
    assert missing["a", "c"] == missing["b", "c"] == WIDE
    svg = Network.from_arcs("abc", arcs).to_svg(gains)
    assert 'stroke-width="6.00"' in svg
    assert "a — b, gains 100" in svg  # all equivalent: a triangle without a v-structure
    assert "at most 100" in svg


@given(st.text(max_size=80))
def test_labels_fit_and_can_be_drawn(name: str) -> None:
    lines = label_lines(name)
    assert 1 <= len(lines) <= 3
    for line in lines:
        assert line
        assert text_width(line) <= LONGEST_LINE
        assert all(c.isprintable() or c in "\u200d" for c in line)
