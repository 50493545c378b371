"""Claims checked from their tables: how many sets a recount counts, and what that takes.

``python benchmarks/bench_recount.py [TABLE …]``

Every table is learned as ``learn`` does it; then a fresh process without the kernels reads it and
checks the certificate with one process that counts. CPU seconds, and the peak of its memory.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import warnings
from pathlib import Path
from typing import Any

import measure

CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "zoo, BIC": ("uci/zoo.arff", {"discretize": "median"}, {}),
    "zoo, BDeu": ("uci/zoo.arff", {"discretize": "median"}, {"score": "bdeu:1"}),
    "zoo, qNML": ("uci/zoo.arff", {"discretize": "median"}, {"score": "qnml"}),
    "vote, BIC": ("uci/vote.arff", {"missing": "mode"}, {}),
    "vote, BDeu": ("uci/vote.arff", {"missing": "mode"}, {"score": "bdeu:1"}),
    "vote, qNML": ("uci/vote.arff", {"missing": "mode"}, {"score": "qnml"}),
    "hepatitis, BIC": ("uci/hepatitis.arff", {"discretize": "median", "missing": "mode"}, {}),
    "alarm, BIC": ("tables/alarm1000.csv", {"header": False}, {}),
    "alarm, AIC, at most 3 parents": (
        "tables/alarm1000.csv", {"header": False}, {"score": "aic", "max_parents": 3},
    ),
    "alarm, BDeu, at most 3 parents": (
        "tables/alarm1000.csv", {"header": False}, {"score": "bdeu:1", "max_parents": 3},
    ),
    "alarm, 10,000 rows, BIC, at most 3 parents": (
        "tables/alarm_10000.csv", {}, {"max_parents": 3},
    ),
}  # fmt: skip
"""By name: the file, how it is read, how it is learned."""

CHECK = """
import json, time, warnings
import measure
from parentage.check import check_table
from parentage.data.reading import read_table
warnings.simplefilter("ignore")
table = read_table({path!r}, **{reading!r})
began = time.process_time()
verdict = check_table(table, {proof!r})
assert verdict, verdict.reason
print(json.dumps({{"check": time.process_time() - began, "memory": measure.peak_memory_mb(),
    "counted": verdict.counts["counted"], "tolerance": verdict.tolerance}}))
"""


def measured(name: str) -> dict[str, Any]:
    """Learn from a table, and check that in another process."""
    from parentage import learn, read_table

    file, reading, settings = CASES[name]
    path = str(measure.shared() / "data" / file)
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        table = read_table(path, **reading)
        solution = learn(table, **settings)
        assert solution.certificate is not None, name
        proof = Path(folder) / "proof.json"
        solution.certificate.write(proof)
        document = json.loads(proof.read_text())
        found = measure.in_fresh_process(CHECK.format(path=path, reading=reading, proof=str(proof)))
        size = proof.stat().st_size
    return {
        "rows": table.n_rows, "n": table.n_variables, "json": size,
        "sets": document["lists"]["sets"], "scored": document["families"]["counted"], **found,
    }  # fmt: skip


def report(found: dict[str, Any]) -> str:
    """Lay out what is known."""
    head = ["table", "rows", "n", "listed", "counted by scoring", "counted again", "JSON kB",
            "CPU s", "MB", "tolerance"]  # fmt: skip
    rows = [
        [name, f"{one['rows']:,}", str(one["n"]), f"{one['sets']:,}", f"{one['scored']:,}",
         f"{one['counted']:,}", f"{one['json'] / 1e3:,.0f}", f"{one['check']:.1f}",
         f"{one['memory']:.0f}", f"{one['tolerance']:.1e}"]
        for name, one in found.items()
    ]  # fmt: skip
    return "\n\n".join(
        [
            "# Claims checked from their tables",
            "`bench_recount.py`: `parentage check TABLE proof.json`, one process. No limit on "
            "parents unless stated.",
            "## Recounts",
            measure.markdown(head, rows),
        ]
    )


def main() -> None:
    """Measure what is asked for, or everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", nargs="*")
    asked = parser.parse_args()
    record = measure.RESULTS / "recount.json"
    for name in CASES:
        if asked.table and not any(name.startswith(table) for table in asked.table):
            continue
        found = json.loads(record.read_text()) if record.exists() else {}
        found[name] = measured(name)
        ordered = {case: found[case] for case in CASES if case in found}
        measure.write("recount", ordered, report(ordered))


if __name__ == "__main__":
    main()
