"""Many variables: score against CPU time where complete lists do not fit, beside other programs.

``python benchmarks/bench_scale.py [TABLE …] [--seeds N] [--again] [--no-peers]``

Tables are those of ``data/large`` and ``data/density`` of the shared folder (their READMEs say
where they come from and what others find on them). A run searches every set up to k parents and
grows the lists with a budget of work, so that it can be repeated: same seed, same network. What is
recorded already is not measured again unless asked for, so a long benchmark can be run piece by
piece. Reading and compiling are excluded. CPU seconds of all threads together.

pyAgrum's tabu search (the fastest of the other programs here) is measured in the same run, in a
process of its own with limited CPU time; blip's numbers are those of the tables' READMEs.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from typing import TYPE_CHECKING, Any

import measure
from parentage.data.reading import read_table
from parentage.learner import learn

if TYPE_CHECKING:
    from parentage.data.table import Table
    from parentage.work.progress import Progress

RESULT = measure.RESULTS / "scale.json"
THREADS = 2

LARGE: dict[str, tuple[int, float, float, float]] = {
    "andes_1000": (2, 6.0, 15.0, -95_134.7),
    "andes_5000": (2, 12.0, 30.0, -468_488.0),
    "munin1_1000": (2, 8.0, 15.0, -55_794.0),
    "link_1000": (2, 20.0, 45.0, -250_065.0),
    "genes_500": (1, 28.0, 60.0, -411_795.0),
    "pigs_1000": (2, 15.0, 60.0, -348_886.5),
}
"""Complete to k, nominal seconds for growing, CPU seconds allowed, score to be reached."""

OTHERS: dict[str, tuple[float | None, float | None, float]] = {
    "andes_1000": (-95_583.2, -95_375.6, -96_168.2),
    "andes_5000": (-468_852.8, -470_686.6, -468_993.2),
    "munin1_1000": (-57_006.2, -56_906.8, -75_412.8),
    "link_1000": (-288_210.3, -304_773.5, -257_118.7),
    "genes_500": (None, None, -415_813.5),
    "pigs_1000": (None, -351_299.9, -348_886.5),
}
"""pyAgrum's tabu, blip, and the network that was sampled from, as measured when they were made."""

DENSITY: dict[str, tuple[int, float, float]] = {
    "nltcs": (0, 0.0, -13_368), "msnbc": (0, 0.0, -246_620), "kdd": (2, 15.0, -49_046),
    "plants": (2, 15.0, -33_269), "baudio": (2, 15.0, -84_177), "bnetflix": (2, 15.0, -117_445),
    "jester": (2, 15.0, -56_258), "accidents": (2, 15.0, -49_719), "tretail": (2, 15.0, -32_656),
    "pumsb_star": (2, 15.0, -42_742), "dna": (2, 15.0, -33_513), "kosarek": (2, 15.0, -51_877),
    "msweb": (2, 15.0, -34_274), "book": (2, 15.0, -41_810), "tmovie": (2, 15.0, -62_657),
    "cwebkb": (1, 20.0, -91_022), "cr52": (1, 20.0, -98_637), "bbc": (1, 20.0, -55_921),
    "ad": (1, 20.0, -13_835),
}  # fmt: skip
"""Complete to k and nominal seconds (0: everything, with proof), and the best score published."""

PEER_SECONDS = 60
"""CPU seconds that pyAgrum gets."""

TOO_LONG = {"score": None, "cpu": PEER_SECONDS}
"""What is recorded of a search that was not ready by then."""


def table_of(name: str) -> Table:
    """Read a table; those of density estimation have no header."""
    density = name in DENSITY
    where = measure.shared() / "data" / ("density" if density else "large")
    packed = where / f"{name}{'.valid' if density else ''}.csv.gz"
    with tempfile.NamedTemporaryFile(suffix=".csv") as plain:
        plain.write(gzip.decompress(packed.read_bytes()))
        plain.flush()
        return read_table(plain.name, header=not density)


def warm_up(table: Table) -> None:
    """Compile: the same path with little work."""
    learn(table.select(table.names[:230]), complete=1, effort=2.0, threads=THREADS)


def run(table: Table, complete: int, effort: float, seed: int) -> dict[str, Any]:
    """Learn once; the rise of the score by CPU seconds."""
    rise: list[tuple[float, float]] = []
    began = time.process_time()

    def note(progress: Progress) -> None:
        if progress.incumbent is not None:
            rise.append((round(time.process_time() - began, 2), round(progress.incumbent, 1)))

    settings: dict[str, Any] = {"complete": complete, "effort": effort} if effort else {}
    found = learn(table, seed=seed, threads=THREADS, progress=note, **settings)
    spent = time.process_time() - began
    rise.append((round(spent, 2), round(found.score, 1)))
    best, kept = -float("inf"), []
    for seconds, score in rise:
        if score > best:
            kept.append((seconds, score))
            best = score
    return {
        "seed": seed, "score": round(found.score, 2), "bound": round(found.bound, 1),
        "optimal": found.optimal, "cpu": round(spent, 1), "rise": thinned(kept),
        "explored": found.scope.explored,
        "memory_mb": round(measure.peak_memory_mb()),
    }  # fmt: skip


def thinned(rise: list[tuple[float, float]], most: int = 60) -> list[tuple[float, float]]:
    """Leave out points that a plot would not show."""
    step = max(1, len(rise) // most)
    return [*rise[:-1:step], rise[-1]]


def pyagrum(name: str) -> dict[str, Any]:
    """Run its tabu search in a process with a limit on CPU time."""
    asked = [sys.executable, __file__, name, "--tabu"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    if done.returncode < 0:  # ended by the limit
        return TOO_LONG
    if done.returncode:
        raise RuntimeError(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def tabu(table: Table) -> dict[str, Any]:
    """Run pyAgrum's tabu search here, and score what it finds from the rows."""
    import pandas as pd

    gum: Any = importlib.import_module("pyagrum")
    columns = {
        name: [states[c] for c in codes]
        for name, states, codes in zip(table.names, table.states, table.codes, strict=True)
        if name not in table.constant
    }
    learner = gum.BNLearner(pd.DataFrame(columns))
    learner.useScoreBIC()
    learner.useLocalSearchWithTabuList()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # threads that wait burn CPU time
    began = time.process_time()
    resource.setrlimit(resource.RLIMIT_CPU, (int(began) + PEER_SECONDS, resource.RLIM_INFINITY))
    dag = learner.learnDAG()
    spent = time.process_time() - began
    parents: dict[str, list[str]] = {name: [] for name in table.names}
    names = learner.names()
    for tail, head in dag.arcs():
        parents[names[head]].append(names[tail])
    return {"score": round(bic(table, parents), 1), "cpu": round(spent, 1)}


def bic(table: Table, parents: dict[str, list[str]]) -> float:
    """Score a network from the rows alone."""
    import math

    import numpy as np

    total, half = 0.0, math.log(table.n_rows) / 2
    for child, above in parents.items():
        label, states = np.zeros(table.n_rows, np.int64), 1
        for name in above:
            v = table.index(name)
            label = np.unique(label * len(table.states[v]) + table.codes[v], return_inverse=True)[1]
            states *= int(table.cardinalities[v])
        v = table.index(child)
        joint = np.bincount(label * len(table.states[v]) + table.codes[v])
        joint, alone = joint[joint > 0], np.bincount(label)
        total += float((joint * np.log(joint)).sum() - (alone * np.log(alone)).sum())
        total -= half * (int(table.cardinalities[v]) - 1) * states
    return total


def recorded() -> dict[str, Any]:
    """What is known already."""
    found: dict[str, Any] = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    return found


def measure_table(name: str, own: dict[str, Any], seeds: int, again: bool) -> None:
    """Add what is missing about a table."""
    done = {} if again else {r["seed"]: r for r in own["runs"]}
    if all(seed in done for seed in range(seeds)):
        return
    table = table_of(name)
    complete, effort = LARGE[name][:2] if name in LARGE else DENSITY[name][:2]
    warm_up(table)
    for seed in range(seeds):
        if seed not in done:
            done[seed] = run(table, complete, effort, seed)
            print(name, {k: v for k, v in done[seed].items() if k != "rise"}, flush=True)
    own["runs"] = [done[seed] for seed in sorted(done)]
    own |= {"variables": table.n_variables, "rows": table.n_rows}
    own |= {"complete": complete, "effort": effort}


def page(known: dict[str, Any]) -> str:
    """Lay out the results."""
    lines = [
        "# Many variables",
        "",
        "Made by `benchmarks/bench_scale.py`: BIC, natural logarithm, constant columns left out,",
        "two threads on a shared machine, CPU seconds of both, median over seeds; compiling and",
        "reading excluded. Lists are complete to k parents and grow from there with a fixed budget",
        "of work, so that every run can be repeated. *Memory* is the peak of the whole process,",
        "*gap* what the bound leaves open: none of these networks is called optimal unless the",
        "table says so. pyAgrum 3.3.1: its tabu search, with CPU seconds where this script",
        f"measured it (at most {PEER_SECONDS}), else from the tables' README, as blip (one core,",
        "in-degree 6). pyAgrum had one core on andes; on munin1, nltcs and tretail it had two.",
        "*True*: the network sampled from, fitted.",
        "",
        "| table | n | k | seeds | score | worst seed | CPU s | memory | gap at most | asked for |"
        " pyAgrum | blip | true |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, (_, _, seconds, target) in LARGE.items():
        if name not in known:
            continue
        own, (gum, blip, true) = known[name], OTHERS[name]
        lines.append(
            f"| {name} | {own['variables']} | {own['complete']} | {len(own['runs'])} | "
            f"**{middle(own, 'score'):.1f}** | {worst(own):.1f} | {middle(own, 'cpu'):.0f} | "
            f"{middle(own, 'memory_mb'):.0f} MB | {gap(own):.0f} | "
            f"{target:.1f} in {seconds:.0f} s | {peer(own, gum)} | "
            f"{number(blip)} | {number(true)} |"
        )
    lines += [
        "",
        "![score against CPU time](scale.svg)",
        "",
        "## Density-estimation tables (`*.valid`)",
        "",
        "*Published* is the best of seven methods in the tables' README.",
        "",
        "| table | n | k | score | published | CPU s | memory | gap at most | pyAgrum |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, (_, effort, published) in DENSITY.items():
        if name not in known:
            continue
        own = known[name]
        left = "proven" if own["runs"][0]["optimal"] else f"{gap(own):.0f}"
        k = own["complete"] if effort else "all"
        lines.append(
            f"| {name} | {own['variables']} | {k} | **{middle(own, 'score'):.1f}** | "
            f"{published:.0f} | {middle(own, 'cpu'):.0f} | {middle(own, 'memory_mb'):.0f} MB | "
            f"{left} | {peer(own, None)} |"
        )
    return "\n".join([*lines, ""])


def peer(own: dict[str, Any], elsewhere: float | None) -> str:
    """Write what pyAgrum finds, and in how many seconds if it was measured here."""
    found = own.get("pyagrum")
    if found is None:
        return number(elsewhere)
    if found["score"] is None:
        return f"{number(elsewhere)} (not ready in {found['cpu']} s)"
    return f"{found['score']:.1f} ({found['cpu']:.0f} s)"


def gap(own: dict[str, Any]) -> float:
    """What the bound leaves open, for the run in the middle."""
    return float(statistics.median(run["bound"] - run["score"] for run in own["runs"]))


def worst(own: dict[str, Any]) -> float:
    """Lowest score over the seeds."""
    return float(min(run["score"] for run in own["runs"]))


def number(value: float | None) -> str:
    """Write a score, or that there is none."""
    return "–" if value is None else f"{value:.1f}"


def middle(own: dict[str, Any], key: str) -> float:
    """Median over the seeds."""
    return float(statistics.median(run[key] for run in own["runs"]))


def plot(known: dict[str, Any]) -> str:
    """Draw score against CPU time, one panel per table, other programs as lines and points."""
    names = [
        name
        for name in (*LARGE, *DENSITY)
        if name in known and (name in LARGE or measured(known[name]))
    ]
    wide, high = 300, 190
    columns = 2
    rows = -(-len(names) // columns)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide * columns} {high * rows}" '
        'font-family="sans-serif" font-size="9" role="img">',
        "<title>Score against CPU seconds</title>",
        f'<rect width="{wide * columns}" height="{high * rows}" fill="#fff"/>',
    ]
    for i, name in enumerate(names):
        parts.append(f'<g transform="translate({wide * (i % columns)},{high * (i // columns)})">')
        parts += panel(name, known[name], wide, high)
        parts.append("</g>")
    return "\n".join([*parts, "</svg>", ""])


def measured(own: dict[str, Any]) -> bool:
    """Whether pyAgrum was measured and came to an end."""
    return own.get("pyagrum", TOO_LONG)["score"] is not None


def lines_of(name: str, own: dict[str, Any]) -> list[tuple[str, float, str]]:
    """Return what others find: label, score, colour."""
    gum, blip, true = OTHERS.get(name, (None, None, None))
    published = float(DENSITY[name][2]) if name in DENSITY else None
    found = [
        ("pyAgrum", own["pyagrum"]["score"] if measured(own) else gum, "#b45309"),
        ("blip", blip, "#6d28d9"),
        ("true", true, "#6b7280"),
        ("published", published, "#6b7280"),
    ]
    return [(label, value, color) for label, value, color in found if value is not None]


def panel(name: str, own: dict[str, Any], wide: int, high: int) -> list[str]:
    """Draw one table."""
    left, right, top, bottom = 62, 10, 22, 24
    rises: list[list[tuple[float, float]]]
    rises = [[p for p in run["rise"] if p[0] > 0] for run in own["runs"]]
    others = lines_of(name, own)
    best = max(p[1] for rise in rises for p in rise)
    worst = min(rise[0][1] for rise in rises)
    low = max(min([worst, *(v for _, v, _ in others)]), best - 4 * (best - worst) - 1)
    late = max(rise[-1][0] for rise in rises)
    tabu_point = own["pyagrum"] if measured(own) else None
    if tabu_point is not None:
        late = max(late, min(tabu_point["cpu"], 2 * late))

    def x(seconds: float) -> float:
        return left + (wide - left - right) * seconds / late

    def y(score: float) -> float:
        return top + (high - top - bottom) * (best - max(score, low)) / max(best - low, 1e-9)

    out = [
        f'<text x="{left}" y="13" font-size="11">{name} ({own["variables"]} variables)</text>',
        f'<line x1="{left}" y1="{high - bottom}" x2="{wide - right}" y2="{high - bottom}" '
        'stroke="#444"/>',
        f'<text x="{wide - right}" y="{high - 8}" text-anchor="end">{late:.0f} CPU s</text>',
        f'<text x="{left - 4}" y="{y(best) + 3:.1f}" text-anchor="end">{best:.0f}</text>',
        f'<text x="{left - 4}" y="{y(low) + 3:.1f}" text-anchor="end">{low:.0f}</text>',
    ]
    for label, value, color in others:
        below = " (below)" if value < low else ""
        out.append(
            f'<line x1="{left}" y1="{y(value):.1f}" x2="{wide - right}" y2="{y(value):.1f}" '
            f'stroke="{color}" stroke-dasharray="4 3"/>'
            f'<text x="{wide - right}" y="{y(value) - 3:.1f}" text-anchor="end" fill="{color}">'
            f"{label}{below}</text>"
        )
    for rise in rises:
        points, last = [], None
        for seconds, score in rise:
            if last is not None:
                points.append(f"{x(seconds):.1f},{y(last):.1f}")
            points.append(f"{x(seconds):.1f},{y(score):.1f}")
            last = score
        out.append(f'<polyline points="{" ".join(points)}" fill="none" stroke="#0f766e"/>')
    if tabu_point is not None and tabu_point["cpu"] <= late:
        out.append(
            f'<circle cx="{x(tabu_point["cpu"]):.1f}" cy="{y(tabu_point["score"]):.1f}" r="3" '
            'fill="#b45309"/>'
        )
    return out


def main() -> None:
    """Measure what is asked for and write the page, the numbers and the plot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", help="names; all by default")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--tabu", action="store_true", help="only pyAgrum, and print it")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.tabu:
        print(json.dumps(tabu(table_of(asked.tables[0]))))
        return
    names = asked.tables or [*LARGE, *DENSITY]
    for name in names:
        own = recorded().get(name, {"runs": []})
        measure_table(name, own, asked.seeds, asked.again)
        write(name, own)
    for name in [] if asked.no_peers else names:
        own = recorded()[name]
        if "pyagrum" not in own:
            write(name, own | {"pyagrum": pyagrum(name)})


def write(name: str, own: dict[str, Any]) -> None:
    """Write what is known of a table; others may have written in the meantime."""
    known = recorded() | {name: own}
    RESULT.write_text(json.dumps(known, indent=1) + "\n")
    RESULT.with_suffix(".md").write_text(page(known))
    RESULT.with_suffix(".svg").write_text(plot(known))


if __name__ == "__main__":
    main()
