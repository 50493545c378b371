"""Parquet files as frames, through polars.

The content is in memory, or a file that is left where it is: then only what is asked for is read. A
file that does not begin and end as Parquet does is refused here; what polars makes of damage inside
becomes a message, unless polars aborts the process (docs/reliability.md).
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

from parentage.errors import InputError
from parentage.files.source import PARQUET

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import polars as pl

    from parentage.files.source import Content

_Result = TypeVar("_Result")

_AS_IT_IS: dict[str, Any] = {"glob": False, "hive_partitioning": False}
"""A path is one file, whatever stands in its name."""


def guarded(action: Callable[[], _Result], kind: str = "Parquet") -> _Result:
    """Let polars work on a file; whatever it raises becomes a message."""
    import polars as pl

    try:
        return action()
    except (pl.exceptions.PanicException, Exception) as error:
        raise refusal(str(error).split("\n")[0][:200] or type(error).__name__, kind) from None


def refusal(reason: str, kind: str = "Parquet") -> InputError:
    """Return the error for a file that cannot be read."""
    return InputError(f"the {kind} file cannot be read: {reason}")


def read_frame(content: Content) -> pl.DataFrame:
    """Read all columns."""
    import polars as pl

    return guarded(lambda: pl.read_parquet(_opened(content), **_AS_IT_IS))


def count_rows(content: Content) -> int:
    """Return the number of rows."""
    import polars as pl

    rows = guarded(lambda: pl.scan_parquet(_opened(content), **_AS_IT_IS).select(pl.len()))
    return int(guarded(rows.collect).item())


def read_batches(content: Content, n_rows: int, size: int) -> Iterator[pl.DataFrame]:
    """Read all columns, ``size`` rows at a time."""
    import polars as pl

    before = _written(content)
    for first in range(0, n_rows, size):
        rows = pl.scan_parquet(_opened(content), **_AS_IT_IS).slice(first, size)
        batch = guarded(rows.collect)
        if _written(content) != before:
            raise InputError(f"{str(content)!r} was changed while it was read; read it again")
        if batch.height < min(size, n_rows - first):
            raise refusal(f"it has fewer rows than the {n_rows} that it declares")
        yield batch


def read_facts(content: Content, key: str) -> str | None:
    """Return what the file's metadata say under a key, None if nothing."""
    import polars as pl

    return guarded(lambda: pl.read_parquet_metadata(_opened(content))).get(key)


def holds_lists(content: Content) -> bool:
    """Tell whether the columns are those of candidate lists."""
    import polars as pl

    schema = guarded(pl.scan_parquet(_opened(content), **_AS_IT_IS).collect_schema)
    return set(schema) == {"child", "parents", "score"} and isinstance(schema["parents"], pl.List)


def _opened(content: Content) -> io.BytesIO | Path:
    """Return what polars reads; a file without the mark of Parquet at both ends is refused."""
    if isinstance(content, bytes):
        ends = content[: len(PARQUET)], content[-len(PARQUET) :]
    else:
        ends = _ends(content)
    if ends != (PARQUET, PARQUET):
        raise refusal("it is not Parquet, or its end is missing")
    return content if isinstance(content, Path) else io.BytesIO(content)


def _ends(path: Path) -> tuple[bytes, bytes]:
    try:
        with path.open("rb") as file:
            first = file.read(len(PARQUET))
            file.seek(-len(PARQUET), os.SEEK_END)
            return first, file.read()
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror}") from None


def _written(content: Content) -> object:
    """Return what changes when a file is written to; nothing can change what is in memory."""
    if isinstance(content, bytes):
        return None
    try:
        about = content.stat()
    except OSError as error:
        raise InputError(f"cannot read {str(content)!r}: {error.strerror}") from None
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns


def write_frame(frame: pl.DataFrame, file: IO[bytes], facts: dict[str, str]) -> None:
    """Write a frame and its metadata; what the disk refuses is an ``OSError``."""
    import polars as pl

    try:
        frame.write_parquet(file, metadata=facts)
        file.flush()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise OSError(str(error).split("\n")[0][:200]) from None
