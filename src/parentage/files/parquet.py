"""Parquet files as frames, through polars: what it refuses becomes a message.

A file damaged inside a page can make polars ask for more memory than there is, which ends the
process and cannot be caught here.
"""

from __future__ import annotations

import io
from typing import IO, TYPE_CHECKING, TypeVar

from parentage.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

_Result = TypeVar("_Result")


def read_frame(data: bytes) -> pl.DataFrame:
    """Read all columns."""
    import polars as pl

    return guarded(pl.read_parquet, data)


def read_facts(data: bytes, key: str) -> str | None:
    """Return what the file's metadata say under a key, None if nothing."""
    import polars as pl

    return guarded(pl.read_parquet_metadata, data).get(key)


def holds_lists(data: bytes) -> bool:
    """Tell whether the columns are those of candidate lists."""
    import polars as pl

    schema = guarded(pl.read_parquet_schema, data)
    return set(schema) == {"child", "parents", "score"} and isinstance(schema["parents"], pl.List)


def write_frame(frame: pl.DataFrame, file: IO[bytes], facts: dict[str, str]) -> None:
    """Write a frame and its metadata; what the disk refuses is an ``OSError``."""
    import polars as pl

    try:
        frame.write_parquet(file, metadata=facts)
        file.flush()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise OSError(str(error).split("\n")[0][:200]) from None


def guarded(reader: Callable[[io.BytesIO], _Result], data: bytes) -> _Result:
    """Call a polars reader; whatever it makes of a damaged file becomes a message."""
    import polars as pl

    try:
        return reader(io.BytesIO(data))
    except (pl.exceptions.PanicException, Exception) as error:
        reason = str(error).split("\n")[0][:200] or type(error).__name__
        raise InputError(f"the Parquet file cannot be read: {reason}") from None
