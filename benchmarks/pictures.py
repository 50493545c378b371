"""Our layout beside Graphviz's ``dot``: time, size, crossings. Needs ``dot`` on the path.

Networks are drawn at random with arcs between variables that are near in their order, about as
many as learned networks have. A crossing is a pair of arcs without a common end whose curves meet;
both programs are measured on their own curves, in boxes of the same size of text.

Run: ``python benchmarks/pictures.py``; writes ``benchmarks/results/pictures.md``.
"""

from __future__ import annotations

import random
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt

from parentage.network.network import Network
from parentage.view.drawing import curve, network_drawing

RESULTS = Path(__file__).parent / "results" / "pictures.md"
SIZES = (10, 20, 40, 80, 150, 250)
Points = npt.NDArray[np.float64]


def sample_network(n: int) -> Network:
    """A network with about 1.4 arcs a variable, mostly between neighbours in the order."""
    random.seed(n)
    parents: list[tuple[int, ...]] = []
    for v in range(n):
        count = min(v, random.choice((0, 1, 1, 1, 2, 2, 3)))
        near = {max(0, v - 1 - int(random.expovariate(1 / 6))) for _ in range(count)}
        parents.append(tuple(sorted(near)))
    return Network(tuple(f"variable_{v}" for v in range(n)), tuple(parents))


def bezier(corners: Points) -> Points:
    """Eight points on a curve of third degree."""
    t = np.linspace(0, 1, 8)[:, None]
    a, b, c, d = corners
    inner = 3 * t * (1 - t) ** 2 * b + 3 * t**2 * (1 - t) * c
    points: Points = (1 - t) ** 3 * a + inner + t**3 * d
    return points


def own_curves(network: Network) -> tuple[dict[tuple[int, int], Points], float, float]:
    """The curves of our picture, and its size."""
    drawing = network_drawing(network)
    curves = {}
    for arc in drawing.arcs:
        points = [np.array(arc.points[0])[None, :]]
        last = arc.points[0]
        for piece in curve(arc.points):
            if len(piece) == 1:
                points.append(np.array(piece))
            else:
                points.append(bezier(np.array([last, *piece])))
            last = piece[-1]
        curves[arc.tail, arc.head] = np.concatenate(points)
    return curves, drawing.width, drawing.height


def dot_curves(network: Network) -> tuple[dict[tuple[int, int], Points], float, float]:
    """Curves of ``dot -Tplain``; its unit is an inch."""
    nodes = "".join(f'{v} [label="{name}"];' for v, name in enumerate(network.names))
    arcs = "".join(f"{p}->{v};" for v, members in enumerate(network.parents) for p in members)
    style = "node [shape=box fontsize=9.75 fontname=sans margin=0.12 height=0.33];"
    program = shutil.which("dot") or "dot"
    done = subprocess.run(
        [program, "-Tplain"], input=f"digraph {{{style}{nodes}{arcs}}}", capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    curves, width, height = {}, 0.0, 0.0
    for line in done.stdout.splitlines():
        words = line.split()
        if words[0] == "graph":
            width, height = (96 * float(x) for x in words[2:4])
        elif words[0] == "edge":
            count = int(words[3])
            corners = np.array([float(x) for x in words[4 : 4 + 2 * count]]).reshape(count, 2) * 96
            pieces = [bezier(corners[i : i + 4]) for i in range(0, count - 1, 3)]
            curves[int(words[1]), int(words[2])] = np.concatenate(pieces)
    return curves, width, height


def crossings(curves: dict[tuple[int, int], Points]) -> int:
    """Pairs of arcs without a common end whose curves meet."""
    arcs = list(curves)
    total = 0
    for i, one in enumerate(arcs):
        for other in arcs[:i]:
            if not set(one) & set(other) and meet(curves[one], curves[other]):
                total += 1
    return total


def meet(a: Points, b: Points) -> bool:
    """Whether two chains of straight pieces meet."""
    if (a.max(0) < b.min(0)).any() or (b.max(0) < a.min(0)).any():
        return False
    p, r = a[:-1, None], np.diff(a, axis=0)[:, None]
    q, s = b[None, :-1], np.diff(b, axis=0)[None]
    cross = r[..., 0] * s[..., 1] - r[..., 1] * s[..., 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        t = ((q - p)[..., 0] * s[..., 1] - (q - p)[..., 1] * s[..., 0]) / cross
        u = ((q - p)[..., 0] * r[..., 1] - (q - p)[..., 1] * r[..., 0]) / cross
    return bool(((t >= 0) & (t <= 1) & (u >= 0) & (u <= 1) & (cross != 0)).any())


def cpu() -> float:
    """CPU seconds of this process and of those it waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def main() -> None:
    """Draw, measure, write."""
    rows = []
    for n in SIZES:
        network = sample_network(n)
        cells = [f"{n}", f"{network.n_arcs}"]
        for draw in (own_curves, dot_curves):
            began = cpu()
            curves, width, height = draw(network)
            seconds = cpu() - began
            cells += [f"{seconds:.2f} s", f"{width:.0f} × {height:.0f}", f"{crossings(curves)}"]
        rows.append("| " + " | ".join(cells) + " |")
        print(rows[-1], flush=True)
    version = subprocess.run(  # its version goes to stderr
        [shutil.which("dot") or "dot", "-V"], capture_output=True, text=True, check=True
    ).stderr.strip()
    RESULTS.write_text(
        "# Pictures\n\n`python benchmarks/pictures.py`: random networks drawn by us and by "
        f"`{version}`, CPU time, pixels, pairs of arcs that cross.\n\n## Beside Graphviz\n\n"
        "| variables | arcs | ours | size | crossings | dot | size | crossings |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- |\n" + "\n".join(rows) + "\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    if shutil.which("dot") is None:
        sys.exit("Graphviz is not installed: apt-get install graphviz")
    main()
