"""The sections of the report page as HTML, each from its part of the record.

What is here can be read and printed without a script; the script adds choosing, findings, sorting
and moving.
"""

from __future__ import annotations

from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, NamedTuple

from parentage.network.parameters import FALLBACK
from parentage.view.drawing import Stroke, network_drawing
from parentage.view.labels import printable
from parentage.view.strokes import opacity_of
from parentage.view.svg import parts_svg

if TYPE_CHECKING:
    from collections.abc import Iterable

    from parentage.arcs.records import ArcSupport
    from parentage.network.network import Network
    from parentage.report.records import Alternatives, Fact, Refused, Report, WhatIf

MEASURES = (
    ("gain", "gain"),
    ("need", "need"),
    ("adjacency", "seen again"),
    ("near_weight", "near-optimal weight"),
)
"""What the slider can go by, and the words for it."""

COLUMNS = (
    ("need_direction", "Loss if reversed", False),
    ("gain", "Gain", False),
    ("need", "Need", False),
    ("adjacency", "Seen again", True),
    ("direction", "This direction", True),
    ("in_near_optimal", "In near-optimal", True),
    ("near_weight", "Weight there", True),
)
"""Columns of the table of arcs: field, heading, whether it is a share."""


LONGEST_NAME = 200
MOST_BARS = 30
"""States of a variable that have a bar: the most frequent ones."""

LEAST_VIEW = (760.0, 480.0)
"""A picture smaller than this is not blown up."""


class Section(NamedTuple):
    """One section: its anchor, its title, its HTML."""

    key: str
    title: str
    html: str


def sections(report: Report) -> list[Section]:
    """Return the sections there is something to say in."""
    found = [("network", "Network", _network(report))]
    if report.what_if is not None:
        found.append(("what-if", "What if", _what_if(report, report.what_if)))
    found.append(("arcs", "Arcs", _arcs(report)))
    if report.alternatives is not None:
        found.append(("alternatives", "Alternatives", _alternatives(report.alternatives)))
    if report.data:
        found.append(("data", "Data", _facts(report.data)))
    found.append(("proof", "Proof", _proof(report)))
    return [
        Section(
            key,
            title,
            f'<section id="{key}" aria-labelledby="{key}-title"><h2 id="{key}-title">{title}</h2>\n'
            f"{html}\n</section>",
        )
        for key, title, html in found
    ]


def asset(name: str) -> str:
    """Return a file of the page's own."""
    return (files("parentage.report") / "assets" / name).read_text(encoding="utf-8")


def shown(name: str) -> str:
    """Return a name or a label as it is shown: what cannot be is replaced, a long one cut.

    >>> shown(chr(9) + "b"), len(shown("x" * 1000))
    (' b', 200)
    """
    plain = printable(name)
    half = LONGEST_NAME // 2
    return plain if len(plain) <= LONGEST_NAME else f"{plain[:half]}…{plain[1 - half :]}"


def text(value: str) -> str:
    """Return text as HTML; what cannot be shown is replaced.

    >>> text("</script> & co")
    '&lt;/script&gt; &amp; co'
    """
    return escape(printable(value))


def _network(report: Report) -> str:
    gains = {one.arc: one.gain for one in report.arcs if one.gain is not None}
    drawing = network_drawing(report.network, gains, report.shares, directed=report.directed)
    known = [
        (key, name)
        for key, name in MEASURES
        if any(getattr(one, key) is not None for one in report.arcs)
    ]
    slider = ""
    if known:
        options = "".join(f'<option value="{key}">{name}</option>' for key, name in known)
        slider = (
            f'<label>Hide low <select id="measure">{options}</select></label>'
            '<label><input type="range" id="weak" min="0" max="1" value="0" '
            'aria-label="Hide weak arcs" aria-describedby="weak-told">'
            '<output id="weak-told" for="weak"></output></label>'
        )
    names = "".join(f'<option value="{escape(shown(name))}">' for name in report.network.names)
    bottom = max((box.box.y + box.box.height / 2 for box in drawing.boxes), default=0.0) + 18
    width, height = max(drawing.width, LEAST_VIEW[0]), max(bottom, LEAST_VIEW[1])
    view = f"{(drawing.width - width) / 2:.0f} {(bottom - height) / 2:.0f} {width:.0f} {height:.0f}"
    return Template(asset("network.html")).substitute(
        names=names,
        slider=slider,
        label=text(f"{drawing.title}. The table of arcs says the same in words."),
        view=view,
        size="small" if bottom <= LEAST_VIEW[1] else "large",
        parts="".join(parts_svg(drawing)),
        legend=_legend(report),
    )


def _legend(report: Report) -> str:
    """Say what arrows, widths and shades mean."""
    reversible = [one.reversible for one in report.arcs]
    entries = []
    if report.directed:
        entries.append((Stroke(1.6, 1.0, True), "parent to child"))
    else:
        if False in reversible:
            words = "the score prefers this direction"
            if not report.equivalent:
                words = "all equivalent networks have this direction"
            entries.append((Stroke(1.6, 1.0, True), words))
        if True in reversible:
            entries.append((Stroke(1.6, 1.0, False), "either direction fits as well"))
    if any(one.gain is not None for one in report.arcs):
        entries.append((Stroke(5.0, 1.0, False), "wide: gains much"))
    if report.shares:
        entries.append((Stroke(3.0, opacity_of(0.2), False), "faint: little support"))
    items = "".join(f"<li>{_sample(stroke)}{escape(words)}</li>" for stroke, words in entries)
    return f'<ul class="legend">{items}</ul>' if items else ""


def _sample(stroke: Stroke) -> str:
    length, half = stroke.head if stroke.arrow else (0.0, 0.0)
    head = ""
    if stroke.arrow:
        base = 34 - length
        head = f'<polygon class="head" points="34,6 {base},{6 - half} {base},{6 + half}"/>'
    return (
        f'<svg viewBox="0 0 34 12" aria-hidden="true" opacity="{stroke.opacity:.2f}">'
        f'<path class="line" d="M0 6H{34 - length}" stroke-width="{stroke.width}"/>{head}</svg>'
    )


def _what_if(report: Report, what_if: WhatIf) -> str:
    states = what_if.parameters.states
    prior = _prior(what_if)
    if what_if.refused:
        said = f"{what_if.refused} The bars show how often each state occurs."
        if not what_if.marginals:
            return f'<p class="note">{text(what_if.refused)}</p>'
    else:
        said = (
            "Click a state to say that it was seen: every bar then shows the probability given all "
            "that was seen, and a tick stays where it was before. Click again to forget."
        )
    off = " off" if what_if.refused else ""
    disabled = " disabled" if what_if.refused else ""
    cards = "".join(
        _card(v, name, states[v], what_if.marginals[v], disabled)
        for v, name in enumerate(report.network.names)
    )
    search = ""
    if report.network.n_variables > 12:
        search = (
            '<p class="filter"><label>Show only <input type="search" id="filter" '
            'placeholder="part of a name"></label></p>'
        )
    kind = "note" if what_if.refused else "hint"
    return (
        f'<p class="{kind}">{text(said)}</p><p class="note">{escape(prior)}</p>{search}'
        f'<div class="cards{off}">{cards}</div>'
    )


def _prior(what_if: WhatIf) -> str:
    parameters = what_if.parameters
    added = f", with {parameters.smoothing:g} added to every count" if parameters.smoothing else ""
    if parameters.smoothing is None:
        return "Probabilities are those of the file."
    if what_if.completed and parameters.note:
        note = parameters.note
        return f"{note[:1].upper()}{note[1:]}: {FALLBACK}{added}."
    if what_if.completed:
        return (
            "Cells are missing: probabilities are those that make the observed ones likeliest "
            f"(expectation maximisation){added}."
        )
    if added:
        return f"Probabilities are shares of rows{added}."
    return (
        "Probabilities are shares of rows (maximum likelihood): what never occurs together has "
        "probability 0."
    )


def _card(
    v: int, name: str, labels: tuple[str, ...], shares: tuple[float, ...], disabled: str
) -> str:
    frequent = sorted(range(len(labels)), key=lambda k: -shares[k])[:MOST_BARS]
    items = "".join(_state(v, k, labels[k], shares[k], disabled) for k in sorted(frequent))
    if len(labels) > MOST_BARS:
        items += f'<li class="note">and {len(labels) - MOST_BARS:,} states less frequent</li>'
    return (
        f'<article class="card" data-v="{v}"><h3><button class="link" type="button" '
        f'data-choose="{v}">{escape(shown(name))}</button></h3><ul class="states">{items}</ul>'
        "</article>"
    )


def _state(v: int, k: int, label: str, share: float, disabled: str) -> str:
    name = escape(shown(label))
    return (
        f'<li><button class="state" type="button" data-v="{v}" data-k="{k}" data-p="{share!r}" '
        f'aria-pressed="false"{disabled}><span class="label" title="{name}">{name}</span>'
        f'{_bar(share)}<span class="value">{escape(percent(share))}</span></button></li>'
    )


def _bar(share: float) -> str:
    tick = min(99.2, max(0.0, 100 * share - 0.4))
    return (
        '<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="rail" width="100" height="10"/>'
        f'<rect class="fill" width="{100 * share:.3f}" height="10"/>'
        f'<rect class="tick" x="{tick:.3f}" width="0.8" height="10"/></svg>'
    )


def percent(share: float) -> str:
    """Write a share, 0 and 100 % only where they are exact; the page's script does the same.

    >>> percent(0.1234), percent(0.00001), percent(1.0)
    ('12.3 %', '< 0.1 %', '100 %')
    """
    if share <= 0:
        return "0 %"
    if share >= 1:
        return "100 %"
    if share < 0.0005:
        return "< 0.1 %"
    return "> 99.9 %" if share > 0.9995 else f"{100 * share:.1f} %"


def _arcs(report: Report) -> str:
    known = [
        column
        for column in COLUMNS
        if any(getattr(one, column[0]) is not None for one in (*report.arcs, *report.others))
    ]
    table = _arc_table(report, report.arcs, known, "Arcs of the network")
    html = f'<p class="note">{text(" ".join(report.about_arcs))}</p>{table}'
    if report.others:
        seen = [column for column in known if column[0] not in ("gain", "need", "need_direction")]
        html += "<h3>Links that are not in this network but in others</h3>"
        html += _arc_table(report, report.others, seen, "Links of other networks")
    return html


def _arc_table(
    report: Report,
    arcs: tuple[ArcSupport, ...],
    known: list[tuple[str, str, bool]],
    caption: str,
) -> str:
    index = {name: v for v, name in enumerate(report.network.names)}
    turned = any(one.reversible is not None for one in arcs)
    heads = "".join(
        f'<th scope="col"{css}><button type="button">{escape(title)}</button></th>'
        for title, css in [
            ("From", ""),
            ("To", ""),
            *([("Direction", "")] if turned else []),
            *((title, ' class="number"') for _, title, _ in known),
        ]
    )
    rows = []
    for one in arcs:
        cells = "".join(
            f'<td data-value="{escape(shown(name))}"><button class="link" type="button" '
            f'data-choose="{index[name]}">{escape(shown(name))}</button></td>'
            for name in one.arc
        )
        if turned:
            words = direction_of(one, report.equivalent)
            cells += f'<td data-value="{words}">{words}</td>'
        cells += "".join(_number(getattr(one, key), share=share) for key, _, share in known)
        rows.append(f"<tr>{cells}</tr>")
    if not rows:
        return "<p>There are none.</p>"
    return (
        f'<div class="scroll-x"><table class="sortable" aria-label="{escape(caption)}"><thead>'
        f"<tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def direction_of(one: ArcSupport, equivalent: bool | None) -> str:
    """Say what is known of an arc's direction, under a score that may value equivalents alike.

    A direction whose best reversed network loses nothing is not preferred, whatever its class.

    >>> from parentage.arcs.records import ArcSupport
    >>> direction_of(ArcSupport("a", "b", reversible=False, need_direction_at_most=2.6), True)
    'preferred by the score'
    >>> direction_of(ArcSupport("a", "b", reversible=False, need_direction_at_most=1e-9), True)
    'either'
    """
    loss = one.need_direction_at_most
    if one.reversible or (loss is not None and round(loss, 2) == 0):
        return "either"
    return "preferred by the score" if equivalent else "compelled"


def _number(value: float | None, *, share: bool) -> str:
    if value is None:
        return '<td class="number" data-value="">–</td>'
    shown = escape(percent(value)) if share else f"{value:.2f}"
    return f'<td class="number" data-value="{value!r}">{shown}</td>'


def _alternatives(found: Alternatives) -> str:
    items = []
    for number, one in enumerate(found.classes):
        what = f"{one.networks:,} network{'' if one.networks == 1 else 's'}"
        if number == 0:
            items.append(f"<li>{what}: the class of the network above.</li>")
            continue
        parts = [
            *(f"with {mark}" for mark in one.added),
            *(f"without {mark}" for mark in one.removed),
            *one.changed,
        ]
        said = "; ".join(parts) or "the same links"
        items.append(f"<li>{what}, {one.times_less:.3g} times less probable: {text(said)}.</li>")
    more = f"<p>And {found.left_out:,} more classes.</p>" if found.left_out else ""
    return f'<p>{text(found.words)}</p><ol class="classes">{"".join(items)}</ol>{more}'


def _proof(report: Report) -> str:
    html = _facts(report.proof)
    if report.search:
        html += f"<h3>The search</h3>{_facts(report.search)}"
    if report.origin:
        html += f"<h3>Made with</h3>{_facts(report.origin)}"
    limits = (
        "Proven means: of the networks that were allowed, none has a higher score on these rows. "
        "It does not mean that an arc is a cause, nor that other rows would give the same network."
    )
    return (
        f'{html}<p class="note">{limits}</p><h3>How to cite</h3>'
        f"<blockquote>{text(report.citation)}</blockquote>"
    )


def _facts(facts: Iterable[Fact]) -> str:
    items = "".join(f"<dt>{text(label)}</dt><dd>{text(value)}</dd>" for label, value in facts)
    return f'<dl class="facts">{items}</dl>'


def why_text(network: Network, v: int, one: Refused) -> str:
    """Say why a variable is not a parent of another, in words and numbers."""
    members = [shown(network.names[p]) for p in network.parents[v]]
    beside = f"Beside {' and '.join(members)} it" if members else "It"
    alone = f"On its own it would gain {one.alone:.1f}. " if members and one.alone > 0 else ""
    if one.why == "cost":
        if one.cost is None:
            return f"{alone}{beside} would lower the score by {-one.change:.1f}."
        explains = max(0.0, one.change + one.cost)
        return (
            f"{alone}{beside} explains {explains:.1f}{' more' if members else ''} and costs "
            f"{one.cost:.1f}."
        )
    gain = f"It would gain {one.change:.1f} here, but"
    if one.why == "circle":
        way = " → ".join(shown(network.names[u]) for u in one.circle)
        return f"{gain} it comes after: {way}. An arc back would close a circle."
    if one.why == "limit":
        return f"{gain} the limit leaves no room for another parent."
    if one.why == "constraint":
        return f"{gain} the constraints do not allow it."
    return f"It would gain {one.change:.1f} here: this network can be improved."
