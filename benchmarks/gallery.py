"""The pictures of the documentation drawn again, and report pages measured.

Run: ``python benchmarks/gallery.py``; writes ``docs/pictures/clinic.svg`` and
``benchmarks/results/report.md``. Pages are of the chest clinic and of random networks of three
states a variable with 1000 rows drawn from them.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

from parentage.data.datasets import chest_clinic
from parentage.learner import learn
from parentage.network.formats import write_network
from parentage.network.parameters import Parameters
from parentage.report import write_report
from pictures import sample_network

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
RESULTS = Path(__file__).parent / "results" / "report.md"


def random_model(n: int) -> Parameters:
    """A network of n variables of three states."""
    network, rng = sample_network(n), np.random.default_rng(n)
    tables = tuple(rng.dirichlet(np.ones(3), size=3 ** len(members)) for members in network.parents)
    return Parameters(network, (("low", "middle", "high"),) * n, tables)


def main() -> None:
    """Draw, write, measure."""
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
            write_report(result, page, table=table)
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
