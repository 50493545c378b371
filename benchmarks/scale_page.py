"""The page about many variables: tables and a plot of score against CPU time.

Everything on it comes from what :mod:`bench_scale` recorded and from :mod:`scale_tables`.
"""

from __future__ import annotations

import io
import statistics
from typing import Any

from measure import markdown
from scale_tables import DENSITY, LARGE, LONGER, PEER_SECONDS, Large

OURS, AGRUM, BLIP, GREY = "#0f766e", "#b45309", "#6d28d9", "#6b7280"
COSTS = ("CPU s", "memory", "gap at most")
PROVEN = 0.02
"""A gap of two decimals that is below this is one of rounding."""

NEAREST = 1.0
"""Nats below the best score that the plot still tells apart."""


def page(known: dict[str, Any]) -> str:
    """Lay out the results."""
    large = [name for name in LARGE if name in known]
    density = [name for name in DENSITY if name in known]
    return "\n\n".join(
        [
            "# Many variables",
            "How high networks of many variables score, beside those of other programs, and in "
            "what time. Made by `benchmarks/bench_scale.py`: BIC, natural logarithm, constant "
            "columns left out. CPU seconds of all threads, compiling and reading excluded, on a "
            "shared machine with two cores. Lists are complete to k parents and expanded from "
            "there with a fixed budget of work, so that every run can be repeated.",
            "## Beside other programs",
            "Score (higher is better) and CPU seconds; ours is the median over the seeds (1 to 5, "
            "[below](#runs)). pyAgrum 3.3 is its tabu search on one core, stopped after "
            f"{PEER_SECONDS} CPU s; in italics a run "
            "of it, and of blip (one core, at most 6 parents), that the tables' README records. "
            "*True* is the network that the rows were drawn from, fitted to them.",
            markdown(
                ["table", "variables", "rows", "parentage", "pyAgrum", "blip", "true network"],
                [beside(name, known[name], LARGE[name]) for name in large],
            ),
            "![Nats below the best score known, against CPU seconds](scale.svg)",
            "Each line is a run, with its own seed; the dot is where pyAgrum ended. Dotted: by how "
            "much the bound for the lists of that moment exceeds the best score known, in the "
            "longest run; lists become longer, so it may rise.",
            "## Runs",
            "*Memory* is the peak of the process so far, which may have run other tables before. "
            "*Target*: the score and time that were "
            "set beforehand; not every run reached it. *Listed*: number of listed parent sets in "
            "the median run. *For its lists*: optimality gap among the listed parent sets, in the "
            "worst run. *Gap at most*: optimality gap over all networks; none of these networks "
            f"is proven optimal. *Longer*: one run with {LONGER} times the work; –: not run.",
            markdown(
                [
                    "table",
                    "k",
                    "seeds",
                    "target",
                    "median",
                    "worst",
                    "CPU s",
                    "memory",
                    "listed",
                    "for its lists",
                    "gap at most",
                    "longer",
                ],
                [runs_of(name, known[name], LARGE[name]) for name in large],
            ),
            "## Density-estimation tables (the validation part of each)",
            "*Published* is the best of the methods that the data's README records (three order "
            "searches, "
            "GOBNILP on lists that were stopped early, and k-MAX, which "
            f"bounds the treewidth). *Longer*: with {LONGER} times the work. –: not run.",
            markdown(
                [
                    "table",
                    "variables",
                    "k",
                    "parentage",
                    "published",
                    "CPU s",
                    "memory",
                    "gap at most",
                    "longer",
                    "pyAgrum",
                ],
                [density_row(name, known[name]) for name in density],
            ),
            "",
        ]
    )


def beside(name: str, own: dict[str, Any], table: Large) -> list[str]:
    """Return the row of a table beside other programs."""
    ours = f"**{number(middle(own, 'score'))}** ({middle(own, 'cpu'):.0f} s)"
    return [
        name.split("_")[0], f"{own['variables']:,}", f"{own['rows']:,}", ours,
        peer(own, table.pyagrum), noted(table.blip), number(table.true),
    ]  # fmt: skip


def runs_of(name: str, own: dict[str, Any], table: Large) -> list[str]:
    """Return the row of a table with what its runs took."""
    worst = min(run["score"] for run in own["runs"])
    return [
        name, str(own["complete"]), str(len(own["runs"])),
        f"{number(table.target)} in {table.seconds:.0f} s", f"**{number(middle(own, 'score'))}**",
        number(worst), f"{middle(own, 'cpu'):.0f}", f"{middle(own, 'memory_mb'):.0f} MB",
        *listed_gap(own), gap(own), longer(own),
    ]  # fmt: skip


def listed_gap(own: dict[str, Any]) -> tuple[str, str]:
    """Write how many sets are listed, and what the bound for them leaves open in the worst run."""
    if any("listed_bound" not in run for run in own["runs"]):
        return "–", "–"
    listed = f"{middle(own, 'listed'):,.0f}"
    worst = max(run["listed_bound"] - run["score"] for run in own["runs"])
    return listed, "proven" if worst < PROVEN else f"{worst:,.1f}"


def density_row(name: str, own: dict[str, Any]) -> list[str]:
    """Return the row of a table of density estimation."""
    k = str(own["complete"]) if DENSITY[name].effort else "all"
    return [
        name, f"{own['variables']:,}", k, f"**{number(middle(own, 'score'))}**",
        f"{DENSITY[name].published:,.0f}", f"{middle(own, 'cpu'):.0f}",
        f"{middle(own, 'memory_mb'):.0f} MB", gap(own), longer(own), peer(own, None),
    ]  # fmt: skip


def peer(own: dict[str, Any], elsewhere: float | None) -> str:
    """Write what pyAgrum finds, and in how many seconds if it was measured here."""
    found = own.get("pyagrum")
    if found is None:
        return noted(elsewhere)
    if found["score"] is None:
        beside = "" if elsewhere is None else f" {noted(elsewhere)}"
        return f"no result in {found['cpu']} s{beside}"
    return f"{number(found['score'])} ({found['cpu']:.0f} s)"


def noted(value: float | None) -> str:
    """Write a score that was measured elsewhere."""
    return "–" if value is None else f"*{number(value)}*"


def number(value: float) -> str:
    """Write a score."""
    return f"{value:,.1f}"


def gap(own: dict[str, Any]) -> str:
    """Write what the bound leaves open, for the run in the middle."""
    if all(run["optimal"] for run in own["runs"]):
        return "proven"
    return f"{statistics.median(run['bound'] - run['score'] for run in own['runs']):,.0f}"


def longer(own: dict[str, Any]) -> str:
    """Write what the run with more work has found."""
    found = own.get("long")
    return "–" if found is None else f"{number(found['score'])} ({found['cpu']:.0f} s)"


def middle(own: dict[str, Any], key: str) -> float:
    """Return the median over the seeds."""
    return float(statistics.median(run[key] for run in own["runs"]))


def plot(known: dict[str, Any]) -> str:
    """Draw how far every run is below the best score known, against CPU time; an SVG."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    names = [name for name in (*LARGE, *DENSITY) if name in known and pictured(name, known[name])]
    columns = 2
    rows = -(-len(names) // columns)
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": "scale", "font.size": 8}
    with mpl.rc_context(settings):
        figure = Figure(figsize=(8.4, 2.5 * rows), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for name, ax in zip(names, axes, strict=False):
            draw(ax, name, known[name])
        for ax in axes[len(names) :]:
            ax.set_axis_off()
        figure.supxlabel("CPU seconds")
        figure.supylabel("nats below the best score known")
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def pictured(name: str, own: dict[str, Any]) -> bool:
    """Whether a table is in the plot: the large ones, and others where pyAgrum ended."""
    return name in LARGE or own.get("pyagrum", {"score": None})["score"] is not None


def draw(ax: Any, name: str, own: dict[str, Any]) -> None:
    """Draw one table: runs as steps to their end, others as lines, pyAgrum's end as a dot."""
    runs = [*own["runs"], *([own["long"]] if "long" in own else [])]
    best = max(run["score"] for run in runs)

    def below(score: float) -> float:
        return max(float(best) - score, NEAREST)

    bounds = max(runs, key=lambda run: float(run["cpu"])).get("bounds", [])
    ax.step(
        [max(t, 0.1) for t, _ in bounds], [max(bound - best, NEAREST) for _, bound in bounds],
        where="post", color=OURS, lw=0.8, ls=":",
    )  # fmt: skip
    for run in runs:
        end = (run["cpu"], run["score"])
        seconds, scores = zip(*run["rise"], end, strict=True)
        times = [max(t, 0.1) for t in seconds]
        ax.step(times, [below(s) for s in scores], where="post", color=OURS, lw=1)
    tabu = own.get("pyagrum", {"score": None})
    if tabu["score"] is not None:
        ax.plot([max(tabu["cpu"], 0.1)], [below(tabu["score"])], "o", color=AGRUM, ms=4)
    lines = [(label, below(score), color) for label, score, color in others(name, own)]
    for _, y, color in lines:
        ax.axhline(y, color=color, lw=0.8, ls=(0, (4, 3)))
    ax.set_xscale("log")
    ax.set_yscale("log")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter("{x:,g}")
        axis.set_minor_formatter("")
    ax.invert_yaxis()
    ax.set_title(f"{name}, {own['variables']:,} variables", loc="left", fontsize=9)
    ax.spines[["top", "right"]].set_visible(False)
    ax.margins(x=0.02)
    label_lines(ax, lines)


def others(name: str, own: dict[str, Any]) -> list[tuple[str, float, str]]:
    """Return what others find: label, score, colour."""
    tabu = own.get("pyagrum", {"score": None})["score"]
    if name in DENSITY:
        found = [("pyAgrum", tabu, AGRUM), ("published", DENSITY[name].published, GREY)]
    else:
        table = LARGE[name]
        agrum = table.pyagrum if tabu is None else tabu
        found = [("pyAgrum", agrum, AGRUM), ("blip", table.blip, BLIP), ("true", table.true, GREY)]
    return [(label, score, color) for label, score, color in found if score is not None]


def label_lines(ax: Any, lines: list[tuple[str, float, str]]) -> None:
    """Name lines at their right end, far enough from each other to be read."""
    place = ax.transData
    inverse = ax.transAxes.inverted()
    last = 2.0
    for label, y, color in sorted(lines, key=lambda line: line[1]):
        at = inverse.transform(place.transform((1.0, y)))[1]
        last = min(at, last - 0.09)
        ax.text(1.01, last, label, color=color, transform=ax.transAxes, va="center")
