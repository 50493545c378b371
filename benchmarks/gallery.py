"""The figures of the documentation drawn again, and report pages measured.

Run: ``python benchmarks/gallery.py``; writes ``docs/pictures`` and ``results/report.md``.
``python benchmarks/gallery.py screens`` writes the screenshots of the report page alone; they need
Chromium with its driver. The pages that are measured are those of the chest clinic and of random
networks with three states per variable and 1000 rows drawn from them.
"""

from __future__ import annotations

import base64
import contextlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from parentage.data.datasets import chest_clinic
from parentage.network.formats import write_network
from parentage.network.parameters import Parameters
from parentage.pipeline import learn
from parentage.report import save
from pictures import sample_network

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
RESULTS = Path(__file__).parent / "results" / "report.md"

SMOKE_SEEN, DYSP_CHOSEN = (
    """document.querySelector('.card[data-v="2"] .state[data-k="1"]').click();""",
    """{const box = document.getElementById('find');
    box.value = 'dysp'; box.dispatchEvent(new Event('change'));}""",
)
"""What is clicked: evidence smoke = yes, and the variable dysp in the figure."""

SCREENS = {
    "report.png": ("body", 0, 1160, 905),
    "card-learn.png": ("#picture", 90, 600, 340),
    "card-trust.png": ("#arcs table", -6, 680, 300),
    "card-use.png": ("#what-if .card", 0, 600, 340),
}
"""File, an element, how far below its top the screenshot begins, width and height in pixels."""


def random_model(n: int) -> Parameters:
    """A network of n variables of three states."""
    network, rng = sample_network(n), np.random.default_rng(n)
    tables = tuple(rng.dirichlet(np.ones(3), size=3 ** len(members)) for members in network.parents)
    return Parameters(network, (("low", "middle", "high"),) * n, tables)


def take(window: Any, name: str) -> None:
    """Write one screenshot of the page that the window shows."""
    selector, down, width, height = SCREENS[name]
    corner = window.execute_script(
        "const box = document.querySelector(arguments[0]).getBoundingClientRect();"
        "return [box.left + window.scrollX, box.top + window.scrollY];",
        selector,
    )
    clip = {"x": corner[0], "y": corner[1] + down, "width": width, "height": height, "scale": 1}
    shot = {"clip": clip, "captureBeyondViewport": True}
    taken = window.execute_cdp_cmd("Page.captureScreenshot", shot)
    (FOLDER / name).write_bytes(base64.b64decode(taken["data"]))


def screens() -> None:
    """Write the report page of the demo's table and take its screenshots, in light mode."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    from browser import chromium, open_page
    from command import ok

    demo = str(Path(__file__).parent.parent / "examples" / "demo.py")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        subprocess.run([sys.executable, demo, "clinic.csv"], check=True, capture_output=True)
        ok("report", "clinic.csv", "-o", "clinic.html")
        with chromium() as window:
            for name, (selector, _, width, _) in SCREENS.items():
                margins = 0 if selector == "body" else 48
                window.set_window_size(width + margins, 1000)
                open_page(window, Path("clinic.html").absolute())
                if name != "card-learn.png":
                    window.execute_script(DYSP_CHOSEN + SMOKE_SEEN)
                take(window, name)


def main() -> None:
    """Draw, write, measure."""
    screens()
    if sys.argv[1:] == ["screens"]:
        return
    clinic = chest_clinic()
    solution = learn(clinic)
    write_network(solution, FOLDER / "clinic.svg")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        for n in (8, 37, 100, 200):
            model = None if n == 8 else random_model(n)
            table = clinic if model is None else model.sample(1000, seed=1)
            result = solution if model is None else model.network
            began = time.process_time()
            save(result, page, table=table)
            seconds = time.process_time() - began
            arcs = (solution.network if model is None else model.network).n_arcs
            rows.append(f"| {n} | {arcs} | {page.stat().st_size / 1000:.0f} kB | {seconds:.1f} s |")
            print(rows[-1], flush=True)
    RESULTS.write_text(
        "# Report pages\n\n`python benchmarks/gallery.py`: size of the file, CPU time of writing "
        "it once the network is known.\n\n## Size of a page\n\n"
        "| variables | arcs | file | written in |\n| --- | --- | --- | --- |\n"
        + "\n".join(rows) + "\n",
        encoding="utf-8",
    )  # fmt: skip


if __name__ == "__main__":
    main()
