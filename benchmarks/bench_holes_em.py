"""Structural expectation maximisation measured: steps, time and distance from the complete table.

``python benchmarks/bench_holes_em.py`` takes cells of alarm and insurance away at random and learns
with ``--missing em``; it needs the shared tables (``PARENTAGE_SHARED``).
"""

from __future__ import annotations

import os
import time
import warnings
from pathlib import Path

import numpy as np

from parentage.data.reading import read_table
from parentage.data.table import MISSING, Table
from parentage.learner import learn
from parentage.scoring.account import Account

ROWS, MOST_PARENTS = 1000, 3
SHARES = (0.05, 0.1, 0.2)


def with_holes(table: Table, share: float, seed: int) -> Table:
    """Take cells away completely at random."""
    gone = np.random.default_rng(seed).random(table.codes.shape) < share
    codes = np.where(gone, MISSING, table.codes).astype(np.uint16)
    return Table(table.names, table.states, codes)


def main() -> None:
    """Print a table of results."""
    warnings.simplefilter("ignore")
    folder = Path(os.environ["PARENTAGE_SHARED"]) / "data" / "tables"
    print("| table | missing | way | steps | distance of classes | CPU s |")
    print("| --- | ---: | --- | ---: | ---: | ---: |")
    for name in ("alarm", "insurance"):
        table = read_table(folder / f"{name}_10000.csv").head(ROWS)
        began = time.process_time()
        whole = learn(table, max_parents=MOST_PARENTS)
        print(f"| {name} | 0 % | complete | | 0 | {time.process_time() - began:.1f} |", flush=True)
        for share in SHARES:
            holes = with_holes(table, share, seed=1)
            for way in ("pnal", "em"):
                began = time.process_time()
                found = learn(holes, missing=way, max_parents=MOST_PARENTS)
                seconds = time.process_time() - began
                account = found.scope.origin
                done = account.completion if isinstance(account, Account) else None
                steps = "" if done is None else f"{len(done.steps)}{'' if done.settled else '+'}"
                distance = found.network.compare(whole.network).class_shd
                print(
                    f"| {name} | {share:.0%} | {way} | {steps} | {distance} | {seconds:.1f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
