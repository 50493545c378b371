"""Parquet files as frames, through polars, each tried first (:mod:`parentage.files.trial`)."""

from __future__ import annotations

import io
from typing import IO, TYPE_CHECKING

from parentage.files.trial import guarded, try_out

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl


def read_frame(data: bytes) -> pl.DataFrame:
    """Read all columns."""
    import polars as pl

    try_out(data)
    return guarded(lambda: pl.read_parquet(io.BytesIO(data)))


def count_rows(data: bytes) -> int:
    """Return the number of rows."""
    import polars as pl

    try_out(data)
    count = guarded(lambda: pl.scan_parquet(io.BytesIO(data)).select(pl.len()).collect())
    return int(count.item())


def read_batches(data: bytes, n_rows: int, size: int) -> Iterator[pl.DataFrame]:
    """Read all columns, so many rows at a time."""
    import polars as pl

    try_out(data)
    for first in range(0, n_rows, size):
        rows = pl.scan_parquet(io.BytesIO(data)).slice(first, size)
        yield guarded(rows.collect)


def read_facts(data: bytes, key: str) -> str | None:
    """Return what the file's metadata say under a key, None if nothing."""
    import polars as pl

    try_out(data)
    return guarded(lambda: pl.read_parquet_metadata(io.BytesIO(data))).get(key)


def holds_lists(data: bytes) -> bool:
    """Tell whether the columns are those of candidate lists."""
    import polars as pl

    try_out(data)
    schema = guarded(lambda: pl.read_parquet_schema(io.BytesIO(data)))
    return set(schema) == {"child", "parents", "score"} and isinstance(schema["parents"], pl.List)


def write_frame(frame: pl.DataFrame, file: IO[bytes], facts: dict[str, str]) -> None:
    """Write a frame and its metadata; what the disk refuses is an ``OSError``."""
    import polars as pl

    try:
        frame.write_parquet(file, metadata=facts)
        file.flush()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise OSError(str(error).split("\n")[0][:200]) from None
