"""Ways to treat missing cells: how far from the network of the complete table each ends.

Cells of a complete table are removed at random; every way learns from what is left, at most three
parents a variable. The distance is the structural Hamming distance between the equivalence classes
of what was learned and of the optimum under BIC on the complete table. CPU time of one thread is
kept too, to tell seconds from minutes. Results are kept as they come: a run that is ended goes on
where it was (``results/missing.json``), and ``--again WAY`` forgets one way.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import math
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import measure
from bench_score import alarm, insurance
from parentage import learn
from parentage.data.table import MISSING, Table
from parentage.network.network import Network

if TYPE_CHECKING:
    from collections.abc import Callable

TABLES: dict[str, Callable[[int], Table]] = {"alarm": alarm, "insurance": insurance}
ROWS = (1000, 5000)
SHARES = (0.05, 0.1, 0.2)
FEW = (0.02, 0.05, 0.1)
TOGETHER = 5
"""Columns that the same rows lack."""
NOISE = ((100, 25), (250, 25), (1000, 31))
"""Rows and columns of tables whose columns are independent."""
SEEDS = 3
K = 3
RESULT = measure.RESULTS / "missing.json"
PICTURE = Path(__file__).parent.parent / "docs" / "missing.svg"


def with_holes(table: Table, share: float, seed: int) -> Table:
    """Remove cells completely at random."""
    codes = table.to_codes().copy()
    codes[np.random.default_rng([seed, 2026]).random(codes.shape) < share] = MISSING
    return Table(table.names, table.states, codes)


def with_few_incomplete(table: Table, share: float, seed: int, *, together: bool) -> Table:
    """Remove a cell of a share of the rows, or the same five columns of all of them."""
    random = np.random.default_rng([seed, 2027])
    codes = table.to_codes().copy()
    rows = random.choice(table.n_rows, int(share * table.n_rows), replace=False)
    if together:
        codes[random.choice(len(codes), TOGETHER, replace=False)[:, None], rows] = MISSING
    else:
        codes[random.integers(0, len(codes), len(rows)), rows] = MISSING
    return Table(table.names, table.states, codes)


def mode(table: Table) -> Table:
    """Fill every hole with the most frequent state of its column."""
    codes = table.to_codes().copy()
    for column, labels in zip(codes, table.states, strict=True):
        counts = np.bincount(column[column != MISSING], minlength=len(labels))
        column[column == MISSING] = counts.argmax()
    return Table(table.names, table.states, codes)


def state(table: Table) -> Table:
    """Make missing a state of its own."""
    states = tuple((*labels, "missing") for labels in table.states)
    codes = table.to_codes().copy()
    for column, labels in zip(codes, table.states, strict=True):
        column[column == MISSING] = len(labels)
    return Table(table.names, states, codes)


def drop(table: Table) -> Table | None:
    """Leave out rows with a hole; None if hardly any is left."""
    complete = (table.to_codes() != MISSING).all(axis=0)
    left = Table(table.names, table.states, table.to_codes()[:, complete])
    return left if left.n_rows >= 2 and table.n_variables - len(left.constant) >= 2 else None


def best(table: Table, **settings: Any) -> Network:
    """The optimum."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solution = learn(table, max_parents=K, threads=1, **settings)
    assert solution.optimal and solution.scope.settled
    return solution.network


def climb(table: Table) -> Network | None:
    """Hill climbing of pyAgrum under BIC on the table filled with modes; None without it."""
    try:
        import pandas as pd
        import pyagrum as gum
    except ImportError:
        return None
    filled = mode(table)
    columns = {
        name: [filled.states[v][code] for code in filled.to_codes()[v]]
        for v, name in enumerate(filled.names)
    }
    learner = gum.BNLearner(  # type: ignore[no-untyped-call]  # it has none
        pd.DataFrame(columns, dtype="category")
    )
    learner.useScoreBIC()
    learner.useNoPrior()
    learner.setMaxIndegree(K)
    learner.useGreedyHillClimbing()
    arcs = [(table.names[a], table.names[b]) for a, b in learner.learnDAG().arcs()]
    return Network.from_arcs(table.names, arcs)


def as_bic(table: Table) -> Network:
    """Node averages with BIC's penalty, which is too light where rows differ."""
    return best(table, missing=f"pnal:{math.log(table.n_rows) / (2 * table.n_rows)!r}")


def dropped(table: Table) -> Network | None:
    """The optimum of the complete rows."""
    left = drop(table)
    return None if left is None else best(left)


WAYS: dict[str, Callable[[Table], Network | None]] = {
    "pnal": lambda table: best(table, score="pnal"),
    "pnal, BIC's penalty": as_bic,
    "em": lambda table: best(table, missing="em"),
    "mode": lambda table: best(mode(table)),
    "state": lambda table: best(state(table)),
    "drop": dropped,
    "hill climbing on mode": climb,
}


def measured(jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Run what is not among the results yet, seed after seed; write after every run."""
    done = {tuple(job[key] for key in ("table", "rows", "share", "seed", "way")) for job in jobs}
    order = itertools.product(ROWS, range(SEEDS), TABLES, SHARES, WAYS)
    for rows, seed, name, share, way in order:
        if (name, rows, share, seed, way) in done:
            continue
        table, truth = complete(name, rows)
        holes, began = with_holes(table, share, seed), time.process_time()
        found = WAYS[way](holes)
        seconds = time.process_time() - began
        distance = None if found is None else found.compare(truth).class_shd
        jobs.append(
            {"table": name, "rows": rows, "share": share, "seed": seed, "way": way,
             "distance": distance, "arcs": None if found is None else found.n_arcs,
             "truth": truth.n_arcs, "cpu": round(seconds, 1)}
        )  # fmt: skip
        print(jobs[-1], flush=True)
        write(jobs)
    return jobs


@functools.cache
def complete(name: str, rows: int) -> tuple[Table, Network]:
    """Return a complete table and its optimum."""
    table = TABLES[name](rows)
    return table, best(table)


def other_starts(name: str, rows: int, share: float, seed: int) -> list[dict[str, Any]]:
    """Where expectation maximisation ends from several starts, and what observed cells score."""
    table, truth = complete(name, rows)
    holes = with_holes(table, share, seed)
    starts = {
        "both (default)": None,
        "pnal": best(holes, score="pnal"),
        "pnal, BIC's penalty": as_bic(holes),
        "mode": best(mode(holes)),
        "optimum of the complete table": truth,
    }
    found = []
    for start, network in starts.items():
        solution = learn(holes, missing="em", max_parents=K, threads=1, start=network)
        completion = solution.scope.origin.completion
        assert completion is not None
        assert completion.settled
        found.append(
            {"table": name, "rows": rows, "share": share, "seed": seed, "start": start,
             "score": round(completion.steps[-1].score, 2),
             "distance": solution.network.compare(truth).class_shd}
        )  # fmt: skip
        print(found[-1], flush=True)
    return found


def few_incomplete() -> list[dict[str, Any]]:
    """Measure the ways where few rows lack values, 1,000 rows of each table."""
    found = []
    for name, together, share, way in itertools.product(
        TABLES, (False, True), FEW, ("pnal", "em", "state", "drop")
    ):
        table, truth = complete(name, ROWS[0])
        away = []
        for seed in range(SEEDS):
            network = WAYS[way](with_few_incomplete(table, share, seed, together=together))
            assert network is not None
            away.append(network.compare(truth).class_shd)
        found.append(
            {"table": name, "together": together, "share": share, "way": way, "distances": away}
        )
        print(found[-1], flush=True)
    return found


def independent() -> list[dict[str, Any]]:
    """Count arcs between independent columns, all of them false, by the penalty λ of `pnal`."""
    found = []
    for rows, columns in NOISE:
        twice = math.log(rows) / rows
        rates = {"N^(−1/4)/p": rows**-0.25 / columns, "BIC's": twice / 2, "twice BIC's": twice}
        for kind, places in {"one": 1, "three": 3, "all": columns}.items():
            arcs: dict[str, list[int]] = {}
            for seed in range(SEEDS):
                random = np.random.default_rng([seed, 2028])
                share = np.where(random.random((columns, 1)) < 0.5, 0.5, 0.2)
                codes = (random.random((columns, rows)) < share).astype(np.uint16)
                names = tuple(f"v{v}" for v in range(columns))
                whole = Table(names, (("0", "1"),) * columns, codes.copy())
                lacking = random.random((places, rows)) < (0.1 if kind == "all" else 0.3)
                codes[:places][lacking] = MISSING
                table = Table(names, whole.states, codes)
                of = {name: best(table, missing=f"pnal:{rate!r}") for name, rate in rates.items()}
                of |= {"default": best(table, score="pnal"), "complete data, BIC": best(whole)}
                for name, network in of.items():
                    arcs.setdefault(name, []).append(network.n_arcs)
            found.append({"rows": rows, "columns": columns, "missing": kind, "arcs": arcs})
            print(found[-1], flush=True)
    return found


def write(jobs: list[dict[str, Any]], **sections: list[dict[str, Any]]) -> None:
    """Write the results and the tables that the docs quote; other sections stay as they are."""
    kept = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    results = {"starts": [], "few": [], "noise": []} | kept | {"jobs": jobs} | sections
    RESULT.write_text(json.dumps(results, indent=1) + "\n")
    parts = [as_markdown(jobs), *_few(results["few"]), *_starts(results["starts"])]
    parts += _independent(results["noise"])
    RESULT.with_suffix(".md").write_text("\n\n".join(parts) + "\n")


def _few(runs: list[dict[str, Any]]) -> list[str]:
    """Where few rows lack values."""
    if not runs:
        return []
    about = (
        f"{ROWS[0]:,} rows, of which a share lacks one value each, or the same {TOGETHER} columns "
        f"(*together*): mean distance of {SEEDS} seeds."
    )
    kinds = list(dict.fromkeys((run["table"], run["together"], run["share"]) for run in runs))
    head = ["treatment", *(f"{n}, {share:.0%}{', together' if t else ''}" for n, t, share in kinds)]
    lines = [
        [
            f"`{way}`",
            *(
                f"{sum(run['distances']) / len(run['distances']):.1f}"
                for run in runs
                if run["way"] == way
            ),
        ]
        for way in dict.fromkeys(run["way"] for run in runs)
    ]
    return ["## Few rows with missing values", about, measure.markdown(head, lines)]


def _independent(runs: list[dict[str, Any]]) -> list[str]:
    """False arcs by penalty."""
    if not runs:
        return []
    about = (
        "Tables of independent columns with two states, at most three parents: mean number of "
        f"arcs (all false) of {SEEDS} seeds, by the penalty λ of `pnal`. 30 % of the values of one "
        "or three columns are missing, or 10 % of all. The default is at least BIC's times 1 + the "
        "share of incomplete rows (here 30, 66 and 93 to 96 %), so between the last two."
    )
    head = ["rows × columns", "missing in", *(f"{name}" for name in runs[0]["arcs"])]
    lines = [
        [
            f"{run['rows']:,} × {run['columns']}",
            run["missing"],
            *(f"{sum(arcs) / len(arcs):.1f}" for arcs in run["arcs"].values()),
        ]
        for run in runs
    ]
    return ["## Independent columns", about, measure.markdown(head, lines)]


def _starts(starts: list[dict[str, Any]]) -> list[str]:
    """Where `em` ends from other starts."""
    if not starts:
        return []
    one = starts[0]
    about = (
        f"{one['table']}, {one['rows']:,} rows, {one['share']:.0%} of the cells removed, three "
        "random deletions: the network that `em` ends with, by the one it starts from. Each cell "
        "has the score of the observed cells, which `em` increases, and in brackets the distance."
    )
    cells: dict[str, list[str]] = {}
    for o in starts:
        cells.setdefault(o["start"], []).append(f"{o['score']:,.2f} ({o['distance']})")
    seeds = sorted({o["seed"] for o in starts})
    head = ["start", *(f"deletion {seed + 1}" for seed in seeds)]
    table = measure.markdown(head, [[start, *row] for start, row in cells.items()])
    return ["## Other starts of `em`", about, table]


def distances(jobs: list[dict[str, Any]], **wanted: Any) -> list[int]:
    """Distances of the runs that fit."""
    return [
        job["distance"]
        for job in jobs
        if job["distance"] is not None and all(job[key] == value for key, value in wanted.items())
    ]


def mean(jobs: list[dict[str, Any]], **wanted: Any) -> float | None:
    """Mean distance of the runs that fit; None if there are none."""
    found = distances(jobs, **wanted)
    return sum(found) / len(found) if found else None


def as_markdown(jobs: list[dict[str, Any]]) -> str:
    """One table of mean distances per number of rows."""
    parts = [
        "# Missing cells",
        "Structural Hamming distance between the equivalence classes of what was learned and of "
        "the optimum under BIC on the complete table; cells removed at random, at most three "
        f"parents, mean of {SEEDS} seeds, or of as many as stand in brackets; made by "
        "`python benchmarks/bench_missing.py`.",
    ]
    for rows in ROWS:
        head = ["treatment", *(f"{name}, {share:.0%}" for name in TABLES for share in SHARES)]
        lines = []
        for way in WAYS:
            cells = [
                distances(jobs, way=way, rows=rows, table=name, share=share)
                for name in TABLES
                for share in SHARES
            ]
            if any(cells):
                lines.append([f"`{way}`", *map(_cell, cells)])
        if lines:
            parts += [f"## {rows:,} rows", measure.markdown(head, lines)]
    arcs = {(job["table"], job["rows"]): job["truth"] for job in jobs}
    known = ", ".join(f"{name} {rows:,} rows: {n} arcs" for (name, rows), n in sorted(arcs.items()))
    parts.append(f"The optima of the complete tables have: {known}.")
    return "\n\n".join([*parts, *_times(jobs)])


def _cell(found: list[int]) -> str:
    """The mean, and of how many if not all seeds are there."""
    if not found:
        return "–"
    few = "" if len(found) == SEEDS else f" ({len(found)})"
    return f"{sum(found) / len(found):.1f}{few}"


def _times(jobs: list[dict[str, Any]]) -> list[str]:
    """CPU seconds of expectation maximisation, the longest of the seeds."""
    lines = []
    for rows in ROWS:
        cells = []
        for name in TABLES:
            for share in SHARES:
                wanted = ("em", rows, name, share)
                found = [
                    job["cpu"]
                    for job in jobs
                    if (job["way"], job["rows"], job["table"], job["share"]) == wanted
                    and "cpu" in job
                ]
                cells.append(f"{max(found):.0f}" if found else "–")
        lines.append([f"{rows:,}", *cells])
    head = ["rows", *(f"{name}, {share:.0%}" for name in TABLES for share in SHARES)]
    about = "CPU seconds of one run of `em` on one thread, the slowest of the seeds."
    return ["## Time of `em`", about, measure.markdown(head, lines)]


COLOURS = {
    "pnal": "#1b6ca8", "em": "#2e8b57", "mode": "#c8553d", "state": "#8a6fb0", "drop": "#7a7a7a",
    "hill climbing on mode": "#d9a441",
}  # fmt: skip
PANEL, MARGIN, TOP = (250, 190), 54, 34


def as_svg(jobs: list[dict[str, Any]]) -> str:
    """Draw the distances: one panel per table and number of rows, one line per way."""
    most = max(job["distance"] or 0 for job in jobs)
    width = MARGIN + 2 * (PANEL[0] + MARGIN)
    height = TOP + 2 * (PANEL[1] + MARGIN) + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12" role="img">',
        "<title>Distance from the optimum of the complete table, by share of missing cells</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    panels = [(name, rows) for rows in ROWS for name in TABLES]
    for at, (name, rows) in enumerate(panels):
        left = MARGIN + (at % 2) * (PANEL[0] + MARGIN)
        top = TOP + (at // 2) * (PANEL[1] + MARGIN)
        parts += _panel(jobs, name, rows, left, top, most)
    there = {job["way"] for job in jobs}
    for at, way in enumerate(way for way in COLOURS if way in there):
        colour = COLOURS[way]
        x, y = MARGIN + at * 92, height - 14
        parts.append(f'<path d="M{x} {y - 4}h16" stroke="{colour}" stroke-width="2.5"/>')
        label = "hill climbing, mode" if way.startswith("hill") else way
        parts.append(f'<text x="{x + 20}" y="{y}">{label}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(
    jobs: list[dict[str, Any]], name: str, rows: int, left: int, top: int, most: float
) -> list[str]:
    """One table with one number of rows."""
    bottom = top + PANEL[1]
    parts = [f'<text x="{left}" y="{top - 10}" font-weight="bold">{name}, {rows:,} rows</text>']
    for tick in range(0, int(most) + 1, 10):
        y = bottom - tick / most * PANEL[1]
        parts.append(f'<path d="M{left} {y:.1f}h{PANEL[0]}" stroke="#dddddd"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{tick}</text>')
    at = {share: left + 20 + i * (PANEL[0] - 40) / 2 for i, share in enumerate(SHARES)}
    for share, x in at.items():
        parts.append(f'<text x="{x}" y="{bottom + 16}" text-anchor="middle">{share:.0%}</text>')
    for way, colour in COLOURS.items():
        means = [(at[s], mean(jobs, way=way, rows=rows, table=name, share=s)) for s in SHARES]
        points = [(x, bottom - y / most * PANEL[1]) for x, y in means if y is not None]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(
            f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2.5"/>'
        )
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
    return parts


def main() -> None:
    """Measure what is missing from the results, and draw them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--again", metavar="WAY", choices=WAYS, help="forget one way first")
    parser.add_argument("--starts", action="store_true", help="only try other starts of em")
    parser.add_argument("--few", action="store_true", help="only where few rows lack values")
    parser.add_argument("--noise", action="store_true", help="only independent columns")
    asked = parser.parse_args()
    jobs = json.loads(RESULT.read_text())["jobs"] if RESULT.exists() else []
    jobs = [job for job in jobs if job["way"] != asked.again]
    if asked.starts:
        seeds = (other_starts("insurance", 5000, 0.05, seed) for seed in range(SEEDS))
        write(jobs, starts=[one for found in seeds for one in found])
        return
    if asked.few:
        write(jobs, few=few_incomplete())
        return
    if asked.noise:
        write(jobs, noise=independent())
        return
    jobs = measured(jobs)
    write(jobs)
    PICTURE.write_text(as_svg(jobs), encoding="utf-8")


if __name__ == "__main__":
    main()
