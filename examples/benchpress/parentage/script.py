"""Learn a network from a table in Benchpress's format and write its adjacency matrix.

Benchpress runs this file through Snakemake, which puts an object ``snakemake`` into its globals. By
hand: ``python script.py data.csv adjmat.csv [--score bic] [--max-parents 3] [--timeout 60]``.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import parentage
from parentage.errors import UnprovenWarning


def read_table(path: Path) -> parentage.Table:
    """Read names, numbers of states, and rows of states as numbers."""
    with path.open(newline="") as file:
        names, sizes, *rows = csv.reader(file)
    states = tuple(tuple(str(k) for k in range(int(size))) for size in sizes)
    codes = np.array(rows, dtype=np.float64).astype(np.uint16).T
    return parentage.Table(tuple(names), states, codes)


def adjacency(network: parentage.Network) -> list[list[int]]:
    """Return the matrix with a 1 in row i and column j for an arc from i to j."""
    n = network.n_variables
    return [[int(i in network.parents[j]) for j in range(n)] for i in range(n)]


def learn(data: Path, score: str, max_parents: int | None, timeout: float | None) -> Any:
    """Return the best network that was found in time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnprovenWarning)  # the benchmark compares what was found
        return parentage.learn(
            read_table(data), score=score, max_parents=max_parents, time_limit=timeout
        ).network


def write_matrix(network: parentage.Network, path: Path) -> None:
    """Write the adjacency matrix below a line of names."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(network.names)
        writer.writerows(adjacency(network))


def optional(text: str) -> float | None:
    """Read a number of the configuration, in which ``None`` stands for nothing."""
    return None if text == "None" else float(text)


def run_in_benchpress(job: Any) -> None:
    """Do what a Snakemake job asks for, and write its time."""
    began = time.perf_counter()
    most = optional(job.wildcards["max_parents"])
    network = learn(
        Path(job.input["data"]),
        job.wildcards["score"],
        None if most is None else int(most),
        optional(job.wildcards["timeout"]),
    )
    Path(job.output["time"]).write_text(str(time.perf_counter() - began))
    write_matrix(network, Path(job.output["adjmat"]))
    Path(job.output["ntests"]).write_text("None")  # no tests of independence are made


def run_by_hand() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("adjmat", type=Path)
    parser.add_argument("--score", default="bic")
    parser.add_argument("--max-parents", type=int)
    parser.add_argument("--timeout", type=float)
    given = parser.parse_args()
    network = learn(given.data, given.score, given.max_parents, given.timeout)
    write_matrix(network, given.adjmat)


if "snakemake" in globals():
    run_in_benchpress(globals()["snakemake"])
elif __name__ == "__main__":
    run_by_hand()
