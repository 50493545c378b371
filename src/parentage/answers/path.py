r"""The penalty path: every optimal network as the penalty per parameter grows.

With a penalty of w nats for each free parameter, a network G scores

.. math:: s_w(G) = L(G) - w\,p(G),

where L is the logarithm of its maximised likelihood and p its number of free parameters. As a
function of w that is a straight line, so the best score is the upper envelope of all lines: convex,
piecewise linear, with one network on each piece. Two facts make the whole envelope cheap.

**Lists are scored once.** If a parent set scores no more than one of its subsets at a weight w₀, it
scores no more than that subset at any w ≥ w₀, because it has at least as many parameters. So the
candidate lists of the smallest weight hold, with their scores lowered by (w − w₀) p, every set that
an optimal network needs at any larger weight.

**Crossings are solved, not searched for.** Let a and b be optimal at two weights. At the weight
where their lines cross, the best network is either no better than both, and then nothing lies
between them; or it is better, and the two halves are treated in the same way. Every piece of the
envelope is found after at most two optimisations for each of its networks.

BDeu has no such lines: its path is a grid of equivalent sample sizes, and is called a grid.
"""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.data.reading import as_table
from parentage.data.settings import OF_WHOLE_DATA
from parentage.errors import InputError, UnprovenWarning, Way, counted, warn
from parentage.files.atomic import csv_text, extension_of, write_text
from parentage.optimise import Start, optimise_lists
from parentage.optimise.settings import Optimising
from parentage.scoring.candidates import score_table
from parentage.scoring.lists import CandidateLists
from parentage.scoring.scores.score import free_parameters
from parentage.scoring.settings import Scoring
from parentage.view.figure import DARK, FONTS, LIGHT, svg_document
from parentage.work.context import Context, Running, working
from parentage.work.progress import Progress
from parentage.work.stop import now

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from parentage.data.table import Table
    from parentage.network.network import Network
    from parentage.optimise import Solution
    from parentage.optimise.cuts import Cut
    from parentage.scoring.constraints import Constraints
    from parentage.work.progress import Report
    from parentage.work.stop import Reason

LEAST, MOST = 0.5, 4.0
"""The range of the penalty, as multiples of BIC's."""

SAMPLE_SIZES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
"""The grid of equivalent sample sizes for BDeu."""

EQUAL = 1e-9
"""Weights that differ by less than this share of BIC's penalty are one weight."""

FILES = (".json", ".csv", ".svg")
"""Extensions of the files that a path is written to."""

Pair = tuple[str, str]
Numbers = npt.NDArray[np.int64]
"""One whole number for each listed set."""


@dataclass(frozen=True)
class Stretch:
    """One optimal network and the weights for which it is optimal.

    Parameters
    ----------
    low, high
        The interval: multiples of BIC's penalty, or two times the same equivalent sample size.
    network
        An optimal network; others of its equivalence class score the same.
    score
        Its BIC; on a grid of equivalent sample sizes its score there.
    parameters
        Its number of free parameters.
    optimal
        Whether it is proven to be best in the whole interval.
    """

    low: float
    high: float
    network: Network
    score: float
    parameters: int
    optimal: bool


@dataclass(frozen=True)
class PenaltyPath:
    """The optimal networks of a range of penalties, from the smallest penalty to the largest.

    Parameters
    ----------
    stretches
        One for each network, in turn.
    grid
        False: the path is exact, and nothing lies between two stretches. True: these are the
        networks at some equivalent sample sizes, and others may lie between them.
    score
        The score whose weight varies: ``"bic"`` or ``"bdeu"``.
    """

    stretches: tuple[Stretch, ...]
    grid: bool
    score: str

    def __len__(self) -> int:
        return len(self.stretches)

    @property
    def optimal(self) -> bool:
        """Whether every network is proven to be best in its interval."""
        return all(one.optimal for one in self.stretches)

    def at(self, weight: float) -> Stretch:
        """Return the stretch of a weight; where two meet, the one with fewer parameters."""
        for one in reversed(self.stretches):
            if one.low <= weight <= one.high:
                return one
        raise InputError(
            f"the penalty {weight:g} is outside the path, which runs from "
            f"{self.stretches[0].low:g} to {self.stretches[-1].high:g}"
        )

    def spans(self) -> dict[Pair, tuple[tuple[float, float], ...]]:
        """Return, for each pair that is adjacent in some network, the intervals in which it is.

        Pairs that last longest come first.
        """
        found: dict[Pair, list[tuple[float, float]]] = {}
        for one in self.stretches:
            for pair in _pairs(one.network):
                spans = found.setdefault(pair, [])
                if spans and spans[-1][1] == one.low and not self.grid:
                    spans[-1] = (spans[-1][0], one.high)
                else:
                    spans.append((one.low, one.high))
        last = sorted(found, key=lambda pair: (-found[pair][-1][1], found[pair][0][0], pair))
        return {pair: tuple(found[pair]) for pair in last}

    def changes(self, number: int) -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
        """Return the pairs that stop and that begin to be adjacent where a stretch begins."""
        before = _pairs(self.stretches[number - 1].network)
        now = _pairs(self.stretches[number].network)
        return tuple(sorted(before - now)), tuple(sorted(now - before))

    def sentence(self) -> str:
        """Say for which penalties the network of the score itself stays the same."""
        if self.grid:
            alike = itertools.groupby(self.stretches, lambda one: _pairs(one.network))
            runs = ([one.low for one in members] for _, members in alike)
            sizes = next(run for run in runs if 1.0 in run)
            return (
                "The network is the same at all equivalent sample sizes tried from "
                f"{sizes[0]:g} to {sizes[-1]:g}."
            )
        own = self.at(1.0)
        return (
            f"The network is the same for all penalties from {own.low:.2f} to {own.high:.2f} times "
            f"{self.score.upper()}'s."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what ``parentage path --json`` prints."""
        return {
            "score": self.score,
            "grid": self.grid,
            "optimal": self.optimal,
            "networks": [
                {
                    "from": one.low,
                    "to": one.high,
                    "arcs": [list(arc) for arc in one.network.arcs],
                    "score": one.score,
                    "parameters": one.parameters,
                    "optimal": one.optimal,
                }
                for one in self.stretches
            ],
        }

    def to_csv(self) -> str:
        """Return one line for each arc of each network."""
        return csv_text(
            ("network", "low", "high", "parameters", "score", "proven", "from", "to"),
            (
                (number, one.low, one.high, one.parameters, one.score, one.optimal, *arc)
                for number, one in enumerate(self.stretches, 1)
                for arc in one.network.arcs or [("", "")]
            ),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the path as ``.json``, ``.csv``, or a figure, ``.svg``."""
        ending = extension_of(path, *FILES)
        if ending == ".json":
            text = json.dumps(self.to_dict(), ensure_ascii=False) + "\n"
        else:
            text = self.to_csv() if ending == ".csv" else svg(self)
        write_text(path, text)

    def __repr__(self) -> str:
        exact = "on a grid" if self.grid else "exact"
        return f"PenaltyPath: {counted(len(self), 'network')}, {exact}"


def path(
    source: object,
    *,
    score: str = "bic",
    least: float = LEAST,
    most: float = MOST,
    max_parents: int | Mapping[str, int] | None = None,
    constraints: Constraints | None = None,
    auto: bool = False,
    time_limit: float | None = None,
    threads: int | None = None,
    progress: Report | bool | None = None,
) -> PenaltyPath:
    """Find every optimal network as the penalty of a parameter grows, and prove each.

    Parameters
    ----------
    source
        A table without missing values, a data frame or a path to one.
    score
        ``"bic"``: every optimal network of the range of penalties. ``"bdeu"``: the optimal
        network at each equivalent sample size of a grid.
    least, most
        The range of the penalty, as multiples of BIC's.
    max_parents, constraints, time_limit, threads, progress
        As in :func:`parentage.learn`.
    auto
        Take the recommended decisions about columns and missing values, as in
        :func:`parentage.read_table`. To set other options of reading, pass the table that
        ``read_table`` returns.

    Warns
    -----
    UnprovenWarning
        A limit stopped the search before every network was proven.

    Examples
    --------
    >>> from parentage.data.datasets import chest_clinic
    >>> found = path(chest_clinic(1000))
    >>> len(found), found.optimal
    (2, True)
    >>> found.sentence()
    "The network is the same for all penalties from 0.73 to 4.00 times BIC's."
    """
    scoring = Scoring(score=score, max_parents=max_parents, constraints=constraints)
    with working(Running(threads, time_limit), progress) as context:
        found = path_of(
            as_table(source, ways=OF_WHOLE_DATA, auto=auto), scoring, (least, most), context
        )
    if not found.optimal:
        warn(UnprovenWarning(unproven_text(found, context.stop.reason())))
    return found


def unproven_text(found: PenaltyPath, stopped: Reason | None) -> str:
    """Say how many networks of a path are not proven, and what to do if time was too short."""
    open_ = sum(not one.optimal for one in found.stretches)
    way = {"time": "; raise the time limit", "interrupt": "; an interrupt stopped the search"}
    return (
        f"{open_} of {len(found)} networks of the path are not proven optimal in their interval"
        f"{way.get(stopped or '', '')}"
    )


def path_of(
    table: Table, scoring: Scoring, range_: tuple[float, float], context: Context
) -> PenaltyPath:
    """Find the path of a table."""
    if table.has_holes:
        raise InputError(
            "the penalty path needs data without missing values, and this table has some",
            Way("missing", "drop"),
            Way("missing", "state"),
        )
    if scoring.score == "bdeu":
        return _grid(table, scoring, context)
    if scoring.score != "bic":
        raise InputError(
            "has no penalty path: only bic and bdeu have one",
            Way("score", "bic"),
            about=Way("score", scoring.score),
        )
    least, most = range_
    if not (math.isfinite(most) and 0 < least < most):
        raise InputError(
            f"the penalty cannot run from {least:g} to {most:g} times BIC's; give two positive "
            "numbers, the smaller one first"
        )
    return Envelope(table, scoring, (least, most), context).path()


class Point(NamedTuple):
    """An optimal network at one weight: its line, and whether it is proven there."""

    likelihood: float
    parameters: int
    network: Network
    optimal: bool

    def value(self, weight: float) -> float:
        """Return its score at a weight."""
        return self.likelihood - weight * self.parameters


class Envelope:
    """The upper envelope of the lines of all networks, piece by piece.

    ``self.pieces`` are the crossings found: the weight, the point that is best below it, the one
    that is best above it, and whether the optimisation at the crossing proved that nothing lies
    between them.
    """

    def __init__(
        self, table: Table, scoring: Scoring, range_: tuple[float, float], context: Context
    ) -> None:
        self.table, self.scoring, self.context = table, scoring, context
        self.unit = math.log(table.n_rows) / 2
        self.least, self.most = (self.unit * end for end in range_)
        priced = replace(scoring, score=f"penalty:{self.least!r}")
        self.lists = score_table(table, priced, context.share(0.5))
        self.parameters = parameters_of_sets(self.lists, table)
        self.cuts: dict[float, tuple[Cut, ...]] = {}
        self.crossings: list[tuple[float, Point, Point, bool]] = []
        self.solved, self.began = 0, now()

    def path(self) -> PenaltyPath:
        """Find every piece, with BIC's own network among the points where it is in the range."""
        weights = [self.least, self.most]
        if self.least < self.unit < self.most:
            weights.insert(1, self.unit)
        points: list[tuple[float, Point]] = []
        for weight in weights:
            points.append((weight, self.solve(weight, points[-1] if points else None)))
        for first, last in itertools.pairwise(points):
            self.between(first, last)
        return PenaltyPath(tuple(self._stretches(points)), grid=False, score="bic")

    def solve(self, weight: float, near: tuple[float, Point] | None) -> Point:
        """Find the best network at a weight, from a network and the cuts of a weight nearby."""
        lists = reweighted(self.lists, self.parameters, weight - self.least, weight)
        start = Start() if near is None else Start(near[1].network, self.cuts[near[0]])
        solution = _best(lists, self.scoring, self.context, start)
        self.cuts[weight] = solution.cuts
        self.solved += 1
        network = solution.network
        number = free_parameters_of(network, self.table)
        if self.context.report is not None:
            share = weight / self.unit
            seconds = now() - self.began
            phase = f"{share:.3g} times BIC's penalty"
            self.context.report(Progress("path", phase, seconds, self.solved))
        return Point(solution.score + weight * number, number, network, solution.optimal)

    def between(self, low: tuple[float, Point], high: tuple[float, Point]) -> None:
        """Find the pieces between two weights with their best networks."""
        (_, a), (_, b) = low, high
        if a.parameters <= b.parameters:  # one line, or rounding
            return
        weight = (a.likelihood - b.likelihood) / (a.parameters - b.parameters)
        weight = min(max(weight, low[0]), high[0])
        c = self.solve(weight, low)
        slack = self.lists.known().tolerance * self.lists.n_variables + 1e-12 * abs(a.likelihood)
        if c.value(weight) <= a.value(weight) + slack or c.parameters in (
            a.parameters,
            b.parameters,
        ):
            self.crossings.append((weight, a, b, c.optimal))
            return
        self.between(low, (weight, c))
        self.between((weight, c), high)

    def _stretches(self, points: list[tuple[float, Point]]) -> list[Stretch]:
        """Put the pieces in a row: a network is proven if it is at both ends of its interval."""
        crossings = sorted(self.crossings, key=lambda one: one[0])
        own = {id(point): point for _, point in points}
        ends = [self.least, *(one[0] for one in crossings), self.most]
        best = [points[0][1], *(one[2] for one in crossings)]
        sure = [points[0][1].optimal, *(one[3] for one in crossings), points[-1][1].optimal]
        found = []
        for i, point in enumerate(best):
            low, high = ends[i] / self.unit, ends[i + 1] / self.unit
            if high - low <= EQUAL:
                continue
            known = next((p for p in own.values() if p.parameters == point.parameters), point)
            found.append(
                Stretch(
                    low,
                    high,
                    known.network,
                    point.value(self.unit),
                    point.parameters,
                    sure[i] and sure[i + 1],
                )
            )
        return found


def parameters_of_sets(lists: CandidateLists, table: Table) -> Numbers:
    """Return the free parameters of every listed family; a constant column has none."""
    child = np.repeat(np.arange(lists.n_variables), np.diff(lists.offsets))
    states = np.ones(lists.n_sets, np.int64)
    sets = np.repeat(np.arange(lists.n_sets), np.diff(lists.starts))
    np.multiply.at(states, sets, table.cardinalities[lists.parents])
    varying = np.array([name not in table.constant for name in table.names])
    return states * np.where(varying, table.cardinalities - 1, 0)[child]


def reweighted(
    lists: CandidateLists,
    parameters: Numbers,
    more: float,
    weight: float,
) -> CandidateLists:
    """Return lists with ``more`` taken off for every parameter: those of a larger weight."""
    lowered = CandidateLists.from_arrays(
        lists.names,
        np.repeat(np.arange(lists.n_variables), np.diff(lists.offsets)),
        lists.starts,
        lists.parents,
        lists.scores - more * parameters,
    )
    account = replace(lists.known(), score=f"penalty:{weight!r}", digest=lowered.digest)
    return replace(lowered, account=account)


def free_parameters_of(network: Network, table: Table) -> int:
    """Return the number of free parameters of a network; a constant column has none."""
    return sum(
        free_parameters(table, child, parents)
        for child, parents in enumerate(network.parents)
        if network.names[child] not in table.constant
    )


def _grid(table: Table, scoring: Scoring, context: Context) -> PenaltyPath:
    """Learn the BDeu network of every sample size of the grid."""
    found: list[Stretch] = []
    for size in SAMPLE_SIZES:
        lists = score_table(table, replace(scoring, score=f"bdeu:{size!r}"), context)
        solution = _best(lists, scoring, context, Start(found[-1].network if found else None))
        number = free_parameters_of(solution.network, table)
        found.append(
            Stretch(size, size, solution.network, solution.score, number, solution.optimal)
        )
    return PenaltyPath(tuple(found), grid=True, score="bdeu")


def _best(lists: CandidateLists, scoring: Scoring, context: Context, start: Start) -> Solution:
    """Find the best network of some lists; its progress is not that of the path."""
    return optimise_lists(
        lists,
        Optimising(),
        Context(context.stop, context.threads),
        max_parents=scoring.max_parents,
        constraints=scoring.constraints,
        start=start,
    )


def _pairs(network: Network) -> frozenset[Pair]:
    return frozenset((min(arc), max(arc)) for arc in network.arcs)


ROW, BAR, WIDTH, TOP, BOTTOM = 18.0, 8.0, 520.0, 34.0, 46.0
"""In pixels: the height of a row and of its bar, the width of the axis, the margins."""

LETTER = 7.2
"""Pixels of a letter of a label, on average."""

TICKS = (0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 5.0, 10.0, 20.0, 50.0, 100.0)

_STYLE = f"""\
@media (prefers-color-scheme:dark){{
.parentage .paper{{fill:{DARK["paper"]}}}
.parentage text{{fill:{DARK["ink"]}}}
.parentage .grid{{stroke:{DARK["box"]}}}
.parentage .own{{stroke:{DARK["ink"]}}}
.parentage .bar{{fill:{DARK["edge"]}}}
}}
"""


def svg(path: PenaltyPath) -> str:
    """Return a complete SVG document: one row for each pair, one bar for each of its intervals.

    The axis is logarithmic, and a line marks the score's own penalty.
    """
    spans = path.spans()
    least, most = path.stretches[0].low, path.stretches[-1].high
    left = 16 + LETTER * max((len(f"{a} — {b}") for a, b in spans), default=8)
    width, height = left + WIDTH + 24, TOP + ROW * max(len(spans), 1) + BOTTOM

    def at(weight: float) -> float:
        return left + WIDTH * math.log(weight / least) / math.log(most / least)

    lines = [
        f'<g font-family="{FONTS}" font-size="12" fill="{LIGHT["ink"]}">',
        f'<text x="{left:.1f}" y="18">{escape(path.sentence())}</text>',
    ]
    foot = height - BOTTOM
    for tick in TICKS:
        if least <= tick <= most:
            kind = ("own", LIGHT["ink"]) if tick == 1.0 else ("grid", LIGHT["box"])
            lines.append(
                f'<path class="{kind[0]}" d="M{at(tick):.1f} {TOP:.1f}V{foot:.1f}" '
                f'stroke="{kind[1]}" fill="none"/>'
                f'<text x="{at(tick):.1f}" y="{foot + 16:.1f}" text-anchor="middle">{tick:g}</text>'
            )
    axis = "equivalent sample size" if path.grid else "penalty, as a multiple of BIC's"
    lines.append(
        f'<text x="{left + WIDTH / 2:.1f}" y="{foot + 34:.1f}" text-anchor="middle">{axis}</text>'
    )
    for row, ((a, b), intervals) in enumerate(spans.items()):
        y = TOP + ROW * row + ROW / 2
        lines.append(
            f'<text x="{left - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">'
            f"{escape(f'{a} — {b}')}</text>"
        )
        for low, high in intervals:
            lines.append(
                f'<rect class="bar" x="{at(low) - (3 if path.grid else 0):.1f}" '
                f'y="{y - BAR / 2:.1f}" width="{max(at(high) - at(low), 0) + 6 * path.grid:.1f}" '
                f'height="{BAR:.0f}" rx="2" fill="{LIGHT["edge"]}">'
                f"<title>{escape(f'{a} — {b}')}: {low:.3g} to {high:.3g}</title></rect>"
            )
    return svg_document(path.sentence(), (width, height), _STYLE, [*lines, "</g>"])
