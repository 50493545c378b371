"""The penalty path and effects: networks found, and CPU seconds of one thread."""

from __future__ import annotations

import itertools
import time
from typing import Any

import measure
import parentage
from digests import tables
from parentage.answers.effect import FACTOR, effect_of, near_networks
from parentage.network import SMOOTHING
from parentage.scoring.settings import Scoring
from parentage.work.context import Context

TABLES = ("zoo", "vote", "hepatitis", "insurance_10000", "alarm1000")


def path_record(table: parentage.Table) -> dict[str, Any]:
    """Find the path, twice; the second time nothing is loaded."""
    seconds, found = measure.cpu(lambda: parentage.path(table, threads=1), repeat=2)
    own = found.at(1.0)
    return {
        "variables": table.n_variables,
        "rows": table.n_rows,
        "networks": len(found),
        "proven": found.optimal,
        "from": own.low,
        "to": own.high,
        "seconds": seconds,
    }


def effects_record() -> dict[str, Any]:
    """All pairs of the chest clinic."""
    table = parentage.datasets.chest_clinic()
    parentage.learn(table)  # loads the kernels
    began = time.process_time()
    near = near_networks(table, Scoring(), FACTOR, Context())
    pairs = list(itertools.permutations(table.names, 2))
    for x, y in pairs:
        effect_of(table, near, (x, None), (y, None), FACTOR, SMOOTHING)
    seconds = time.process_time() - began
    return {"pairs": len(pairs), "networks": len(near), "seconds": seconds}


def main() -> None:
    """Measure, and write the tables."""
    paths = {"chest clinic": path_record(parentage.datasets.chest_clinic())}
    paths |= {name: path_record(table) for name, table in tables() if name in TABLES}
    effects = effects_record()
    rows = [
        [name, f"{one['variables']}", f"{one['rows']:,}", f"{one['networks']}",
         "all" if one["proven"] else "not all", f"{one['from']:.2f} to {one['to']:.2f}",
         f"{one['seconds']:.1f}"]
        for name, one in paths.items()
    ]  # fmt: skip
    head = ["table", "variables", "rows", "networks", "proven", "range of BIC's network", "CPU s"]
    pairs = [[f"{effects[key]}" for key in ("pairs", "networks")] + [f"{effects['seconds']:.1f}"]]
    text = [
        "# Penalty path and effects",
        "",
        "## Penalty path",
        "",
        "All optimal networks from half of BIC's penalty to four times BIC's.",
        "",
        measure.markdown(head, rows),
        "",
        "## Effects",
        "",
        "Every pair of the chest clinic, in all networks within a factor of 20.",
        "",
        measure.markdown(["pairs", "networks", "CPU s"], pairs),
    ]
    measure.write("answers", {"path": paths, "effects": effects}, "\n".join(text))


if __name__ == "__main__":
    main()
