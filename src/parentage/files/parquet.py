"""Parquet files as frames, through polars, each tried first (:mod:`parentage.files.trial`).

The content is in memory, or a file that is left where it is: then only what is asked for is read.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from parentage.errors import InputError
from parentage.files.trial import guarded, identity, try_out

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from parentage.files.trial import Content

_AS_IT_IS: dict[str, Any] = {"glob": False, "hive_partitioning": False}
"""A path is one file, whatever stands in its name."""


def read_frame(content: Content) -> pl.DataFrame:
    """Read all columns."""
    import polars as pl

    try_out(content)
    return guarded(lambda: pl.read_parquet(_opened(content), **_AS_IT_IS))


def count_rows(content: Content) -> int:
    """Return the number of rows."""
    import polars as pl

    try_out(content)
    rows = guarded(lambda: pl.scan_parquet(_opened(content), **_AS_IT_IS).select(pl.len()))
    return int(guarded(rows.collect).item())


def read_batches(content: Content, n_rows: int, size: int) -> Iterator[pl.DataFrame]:
    """Read all columns, so many rows at a time."""
    import polars as pl

    try_out(content)
    before = identity(content)
    for first in range(0, n_rows, size):
        rows = pl.scan_parquet(_opened(content), **_AS_IT_IS).slice(first, size)
        batch = guarded(rows.collect)
        if isinstance(content, Path) and identity(content) != before:
            raise InputError(f"{str(content)!r} was changed while it was read; read it again")
        yield batch


def read_facts(content: Content, key: str) -> str | None:
    """Return what the file's metadata say under a key, None if nothing."""
    import polars as pl

    try_out(content)
    return guarded(lambda: pl.read_parquet_metadata(_opened(content))).get(key)


def holds_lists(content: Content) -> bool:
    """Tell whether the columns are those of candidate lists."""
    import polars as pl

    try_out(content)
    schema = guarded(pl.scan_parquet(_opened(content), **_AS_IT_IS).collect_schema)
    return set(schema) == {"child", "parents", "score"} and isinstance(schema["parents"], pl.List)


def _opened(content: Content) -> io.BytesIO | Path:
    return content if isinstance(content, Path) else io.BytesIO(content)


def write_frame(frame: pl.DataFrame, file: IO[bytes], facts: dict[str, str]) -> None:
    """Write a frame and its metadata; what the disk refuses is an ``OSError``."""
    import polars as pl

    try:
        frame.write_parquet(file, metadata=facts)
        file.flush()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise OSError(str(error).split("\n")[0][:200]) from None
