"""Many rows: how many are distinct, what counting them once saves, what memory they take.

``python benchmarks/bench_rows.py [ROWS | distinct:ROWS | FILE …]``. Rows are drawn from the network
that 1,000 rows of alarm teach (37 variables, at most 2 parents) and written as text, or, with
``distinct``, drawn uniformly (40 variables of 2 and 3 states in turn) and written as numbers, into
a Parquet file of row groups of a million; a FILE is one that was drawn before. What was measured
before stays in the results. Every measurement is a process of its own: CPU time of one thread, peak
resident memory (what the interpreter and compiled kernels take, about 0.22 GB, is part of it), and
that of the child that tries the file.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import measure
from parentage.data.reading import read_table
from parentage.files.parquet import count_rows
from parentage.pipeline import learn

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from parentage.network.parameters import Parameters

JOBS = ("1e6", "1e7", "1e8", "distinct:2e7")
DRAWN = 1_000_000
WIDTH = 40

READ = """
import json, time
from dataclasses import replace
import measure
from parentage.data.formats import frame as batches
from parentage.data.reading import read_table
from parentage.scoring import encoding as merging
from parentage.scoring.candidates import score
from parentage.scoring.encoding import encode

batches.ROWS = {batch}
merging.TUNING = replace(merging.TUNING, worth_merging={worth})
score(read_table({small!r}), max_parents=2, threads=1)
before = measure.peak_memory_mb()
began = time.process_time()
table = read_table({path!r})
read = time.process_time() - began
after = measure.peak_memory_mb()
began = time.process_time()
lists = score(table, max_parents={k}, threads=1) if {k} else None
seconds, peak = time.process_time() - began, measure.peak_memory_mb()
encoded = encode(table, "bic")
print(json.dumps({{
    "before_mb": before, "read_seconds": read, "read_mb": after,
    "score_seconds": seconds, "peak_mb": peak, "distinct": int(merging.merged(table).stored_rows),
    "planes_mb": table.packed.nbytes / 1e6 if table.packed else table.codes.nbytes / 1e6,
    "bits_mb": encoded.row_bits.nbytes / 1e6, "f_mb": encoded.grid.f.nbytes / 1e6,
    "digest": table.digest[:12], "lists": lists.digest[:12] if lists else "",
}}))
"""


def teacher() -> Parameters:
    """The network that the rows are drawn from."""
    table = read_table(measure.shared() / "data/tables/alarm_10000.csv").head(1000).observed()
    return learn(table, max_parents=2).network.fit(table)


def of_network(parameters: Parameters) -> Callable[[int, int], pa.Table]:
    """Return who draws so many rows with a seed, as text."""
    import pyarrow as pa

    def drawn(rows: int, seed: int) -> pa.Table:
        part = parameters.sample(rows, seed)
        columns = zip(part.names, part.states, part.to_codes(), strict=True)
        return pa.table(
            {
                name: pa.DictionaryArray.from_arrays(codes.astype(np.int32), states).cast("string")
                for name, states, codes in columns
            }
        )

    return drawn


def uniform(rows: int, seed: int) -> pa.Table:
    """Draw rows that hardly ever are equal."""
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    return pa.table({f"v{v}": rng.integers(0, 2 + v % 2, rows, np.int8) for v in range(WIDTH)})


def draw(drawn: Callable[[int, int], pa.Table], rows: int, path: Path) -> None:
    """Write rows into a Parquet file, a million at a time."""
    from pyarrow.parquet import ParquetWriter

    writer = None
    for seed, first in enumerate(range(0, rows, DRAWN), 1):
        part = drawn(min(DRAWN, rows - first), seed)
        writer = writer or ParquetWriter(path, part.schema, compression="zstd")
        writer.write_table(part)
    if writer is not None:
        writer.close()


def measured(path: Path, small: Path, *, batch: int, worth: float, k: int) -> dict[str, Any]:
    """Read and score in a process of its own."""
    code = READ.format(batch=batch, worth=worth, k=k, path=str(path), small=str(small))
    return measure.in_fresh_process(code)


def all_ways(path: Path, small: Path, rows: int) -> dict[str, Any]:
    """Measure as it is; of few rows also without merging, and read whole."""
    own = measured(path, small, batch=1 << 18, worth=0.75, k=2)
    plain = whole = None
    if rows <= DRAWN:
        plain = measured(path, small, batch=1 << 18, worth=-1.0, k=2)
        whole = measured(path, small, batch=1 << 40, worth=0.75, k=0)
        if not own["digest"] == plain["digest"] == whole["digest"]:
            raise SystemExit("the tables differ")
        if own["lists"] != plain["lists"]:
            raise SystemExit("the lists differ")
    size = path.stat().st_size / 1e6
    return {"rows": rows, "file_mb": size, "own": own, "every_row": plain, "whole": whole}


def report(found: dict[str, Any]) -> str:
    """Everything that was measured, as tables."""
    head = ["rows", "file", "distinct", "table", "bits of the rows counted", "c ln c", "read",
            "memory, reading", "score, k = 2", "memory, all"]  # fmt: skip
    body, ways = list[list[str]](), list[list[str]]()
    for name, job in sorted(found.items(), key=lambda item: (":" in item[0], item[1]["rows"])):
        own, plain, whole = job["own"], job["every_row"], job["whole"]
        kind = " (uniform)" if ":" in name else ""
        body.append(
            [
                f"{job['rows']:,}{kind}", f"{job['file_mb']:.0f} MB", f"{own['distinct']:,}",
                f"{own['planes_mb'] / 1e3:.2f} GB", f"{own['bits_mb'] / 1e3:.2f} GB",
                f"{own['f_mb'] / 1e3:.2f} GB", f"{own['read_seconds']:.1f} s",
                f"{own['read_mb'] / 1e3:.2f} GB", f"{own['score_seconds']:.1f} s",
                f"{own['peak_mb'] / 1e3:.2f} GB",
            ]
        )  # fmt: skip
        if plain and whole:
            ways.append(
                [f"{job['rows']:,}", f"{own['score_seconds']:.1f} s",
                 f"{plain['score_seconds']:.1f} s",
                 f"{own['read_seconds']:.1f} s, {own['read_mb'] / 1e3:.2f} GB",
                 f"{whole['read_seconds']:.1f} s, {whole['read_mb'] / 1e3:.2f} GB"]
            )  # fmt: skip
    notes = [f"{job['rows']:,} rows: {job['note']}." for job in found.values() if "note" in job]
    other = ["rows", "score, equal rows once", "every row", "read in batches", "read whole"]
    return "\n".join(
        [
            "# Many rows",
            "",
            "Made by `python benchmarks/bench_rows.py`: 37 variables as text in Parquet (uniform: "
            f"{WIDTH} of numbers), CPU s of one thread, peak memory of the process, of which about "
            "0.22 GB are the interpreter and compiled kernels.",
            "",
            measure.markdown(head, body),
            *(line for note in notes for line in ("", note)),
            "",
            measure.markdown(other, ways),
        ]
    )


def main(jobs: tuple[str, ...]) -> None:
    """Measure and write ``results/rows.md``."""
    network = of_network(teacher())
    recorded = measure.RESULTS / "rows.json"
    found: dict[str, Any] = json.loads(recorded.read_text()) if recorded.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        small, path = Path(folder) / "small.parquet", Path(folder) / "rows.parquet"
        draw(network, 1000, small)
        for job in jobs:
            kind, _, text = job.rpartition(":")
            if Path(text).exists():
                rows, file = count_rows(Path(text)), Path(text)
            else:
                rows, file = int(float(text)), path
                draw(uniform if kind else network, rows, path)
            found[f"{kind}:{rows}" if kind else str(rows)] = all_ways(file, small, rows)
            measure.write("rows", found, report(found))


if __name__ == "__main__":
    main(tuple(sys.argv[1:]) or JOBS)
