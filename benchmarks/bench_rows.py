"""Many rows: how many are distinct, what counting them once saves, what reading in batches takes.

``python benchmarks/bench_rows.py [ROWS | FILE …]``. Rows are drawn from the network that 1,000 rows
of alarm teach (37 variables, at most 2 parents), and written as text into a Parquet file of row
groups of a million; a FILE is one that was drawn before. Every measurement is a process of its own:
CPU time of one thread, peak resident memory (what the interpreter and compiled kernels take, about
0.25 GB, is part of it).
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import measure
from parentage.data.reading import read_table
from parentage.files.parquet import count_rows
from parentage.learner import learn

if TYPE_CHECKING:
    from parentage.network.parameters import Parameters

ROWS = (100_000, 1_000_000, 10_000_000)
DRAWN = 1_000_000

READ = """
import json, time
import numpy as np
import measure
from parentage.data.formats import batches
from parentage.data.reading import read_table
from parentage.scoring import merging
from parentage.scoring.candidates import score

batches.ROWS = {batch}
merging.WORTH = {worth}
score(read_table({small!r}), max_parents=2, threads=1)
before = measure.peak_memory_mb()
began = time.process_time()
table = read_table({path!r})
read = time.process_time() - began
after = measure.peak_memory_mb()
began = time.process_time()
lists = score(table, max_parents={k}, threads=1) if {k} else None
print(json.dumps({{
    "before_mb": before, "read_seconds": read, "read_mb": after,
    "score_seconds": time.process_time() - began, "peak_mb": measure.peak_memory_mb(),
    "distinct": int(merging.merged(table).codes.shape[1]), "digest": table.digest[:12],
    "lists": lists.digest[:12] if lists else "",
}}))
"""


def teacher() -> Parameters:
    """The network that the rows are drawn from."""
    table = read_table(measure.shared() / "data/tables/alarm_10000.csv").head(1000).observed()
    return learn(table, max_parents=2).network.fit(table)


def draw(parameters: Parameters, rows: int, path: Path) -> None:
    """Write rows as text into a Parquet file, a million at a time."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    writer = None
    for seed, first in enumerate(range(0, rows, DRAWN), 1):
        part = parameters.sample(min(DRAWN, rows - first), seed)
        text = pa.table(
            {
                name: pa.array(np.array(states, object)[codes], pa.string())
                for name, states, codes in zip(part.names, part.states, part.codes, strict=True)
            }
        )
        writer = writer or ParquetWriter(path, text.schema, compression="zstd")
        writer.write_table(text)
    if writer is not None:
        writer.close()


def measured(path: Path, small: Path, *, batch: int, worth: float, k: int) -> dict[str, Any]:
    """Read and score in a process of its own."""
    code = READ.format(batch=batch, worth=worth, k=k, path=str(path), small=str(small))
    return measure.in_fresh_process(code)


def main(sizes: tuple[int | Path, ...]) -> None:
    """Measure and write ``results/rows.md``."""
    parameters = teacher()
    found: dict[str, Any] = {}
    lines = [
        "# Many rows",
        "",
        "Made by `python benchmarks/bench_rows.py`; 37 variables as text in Parquet, CPU s of one "
        "thread, peak memory of the process.",
        "",
        "| rows | file | distinct | read | memory, reading | score, k = 2 | memory, all | "
        "every row counted | the file read whole |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.parquet"
        draw(parameters, 1000, small)
        for size in sizes:
            path, rows = Path(folder) / "rows.parquet", size
            if isinstance(rows, Path):
                path, rows = rows, count_rows(rows.read_bytes())
            else:
                draw(parameters, rows, path)
            own = measured(path, small, batch=1 << 18, worth=0.75, k=2)
            plain = whole = None
            if rows <= DRAWN:
                plain = measured(path, small, batch=1 << 18, worth=-1.0, k=2)
                whole = measured(path, small, batch=1 << 40, worth=0.75, k=0)
                if not own["digest"] == plain["digest"] == whole["digest"]:
                    raise SystemExit("the tables differ")
                if own["lists"] != plain["lists"]:
                    raise SystemExit("the lists differ")
            found[str(rows)] = {"own": own, "every_row": plain, "whole": whole}
            lines.append(
                f"| {rows:,} | {path.stat().st_size / 1e6:.0f} MB | {own['distinct']:,} | "
                f"{own['read_seconds']:.1f} s | {own['read_mb'] / 1e3:.2f} GB | "
                f"{own['score_seconds']:.1f} s | {own['peak_mb'] / 1e3:.2f} GB | "
                + (f"{plain['score_seconds']:.1f} s | " if plain else "– | ")
                + (
                    f"{whole['read_seconds']:.1f} s, {whole['read_mb'] / 1e3:.2f} GB |"
                    if whole
                    else "– |"
                )
            )
    measure.write("rows", found, "\n".join(lines))


if __name__ == "__main__":
    given = [Path(text) if Path(text).exists() else int(float(text)) for text in sys.argv[1:]]
    main(tuple(given) or ROWS)
