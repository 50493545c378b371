"""Read tables from Parquet, read and write candidate lists as Parquet.

Both ends of the path. Lists are a flat table, one row a parent set: ``child`` (text), ``parents``
(list of text), ``score`` (double). The order of the variables and the provenance stand in the
file's metadata under ``parentage``; without it the order of first sight counts.

Polars does the reading. What it refuses becomes a message; a file damaged inside a page can make
it ask for more memory than there is, which ends the process and cannot be caught here.
"""

from __future__ import annotations

import io
import itertools
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from parentage.errors import InputError, ListsError
from parentage.formats import frame as frames
from parentage.formats.atomic import replacing
from parentage.formats.families import FamilyCollector
from parentage.formats.jkl import dump_meta, load_meta

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    import polars as pl

    from parentage.formats.raw import RawTable
    from parentage.lists import CandidateLists

_KEY = "parentage"
_Result = TypeVar("_Result")


def holds_lists(data: bytes) -> bool:
    """Tell whether a Parquet file is one of candidate lists."""
    import polars as pl

    schema = _guarded(pl.read_parquet_schema, data)
    return set(schema) == {"child", "parents", "score"} and isinstance(schema["parents"], pl.List)


def read_table(data: bytes) -> RawTable:
    """Read a Parquet table."""
    import polars as pl

    return frames.read(_guarded(pl.read_parquet, data))


def read_lists(data: bytes) -> CandidateLists:
    """Read candidate lists."""
    import polars as pl

    frame = _guarded(pl.read_parquet, data)
    if not holds_lists(data):
        raise ListsError(
            f"the Parquet file has the columns {', '.join(frame.columns)}; candidate lists have "
            "child, parents (a list) and score"
        )
    typed = [
        pl.col("child").cast(pl.String),
        pl.col("parents").cast(pl.List(pl.String)),
        pl.col("score").cast(pl.Float64),
    ]
    plain = _guarded(lambda _: frame.select(typed), data)
    names, meta = _facts(_guarded(pl.read_parquet_metadata, data).get(_KEY, "{}"))
    return _collect(plain, names, meta)


def write_lists(lists: CandidateLists, path: str | os.PathLike[str]) -> None:
    """Write candidate lists, whole or not at all."""
    import polars as pl

    if not np.isfinite(lists.scores).all():
        raise ListsError("a score is not finite; such a set cannot be written")
    names = np.array([*lists.names, ""], dtype=object)
    sizes = np.diff(lists.offsets)
    bounds = lists.starts.tolist()
    parents = names[lists.parents].tolist()
    frame = pl.DataFrame(
        {
            "child": np.repeat(names[:-1], sizes).tolist(),
            "parents": [parents[i:j] for i, j in itertools.pairwise(bounds)],
            "score": lists.scores,
        },
        schema={"child": pl.String, "parents": pl.List(pl.String), "score": pl.Float64},
    )
    written = dump_meta({"names": list(lists.names), "meta": dict(lists.meta)})
    with replacing(path) as draft:
        frame.write_parquet(draft, metadata={_KEY: written})


def _facts(written: str) -> tuple[list[str], dict[str, Any]]:
    """Read names and provenance from the file's metadata."""
    facts = load_meta(written)
    names, meta = facts.get("names", []), facts.get("meta", {})
    if not isinstance(names, list) or not isinstance(meta, dict):
        raise ListsError("the metadata of the Parquet file are damaged; write it again")
    return [str(name) for name in names], meta


def _collect(frame: pl.DataFrame, names: list[str], meta: dict[str, Any]) -> CandidateLists:
    families = FamilyCollector("row")
    for name in names:
        families.add_child(name, 0)
    for row, (child, parents, score) in enumerate(frame.rows()):
        if child is None or parents is None or score is None or None in parents:
            raise ListsError(f"row {row}: child, parents and score must all be there")
        index = families.children.get(child)
        if index is None:
            index = families.add_child(child, row)
        families.add(index, families.score(repr(score), row), parents, row)
    if not families.children:
        raise ListsError("the Parquet file has no rows, so no variables")
    return families.lists(meta=meta)


def _guarded(reader: Callable[[io.BytesIO], _Result], data: bytes) -> _Result:
    """Call a polars reader; whatever it makes of a damaged file becomes a message."""
    import polars as pl

    try:
        return reader(io.BytesIO(data))
    except (pl.exceptions.PanicException, Exception) as error:
        reason = str(error).split("\n")[0][:200] or type(error).__name__
        raise InputError(f"the Parquet file cannot be read: {reason}") from None
