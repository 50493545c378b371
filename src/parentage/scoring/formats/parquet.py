"""Read and write candidate lists as Parquet.

Lists are a flat table, one row a parent set: ``child`` (text), ``parents``
(list of text), ``score`` (double). The order of the variables and the provenance are in the
file's metadata under ``parentage``; without it variables are in the order of first occurrence.
"""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING

import numpy as np

from parentage.errors import ListsError
from parentage.files.atomic import replacing
from parentage.files.parquet import guarded, holds_lists, read_facts, read_frame, write_frame
from parentage.scoring.formats.families import FamilyCollector, facts_text, json_object, with_facts

if TYPE_CHECKING:
    import os

    import numpy.typing as npt
    import polars as pl

    from parentage.files.source import Content
    from parentage.scoring.lists import CandidateLists

_KEY = "parentage"


def read_parquet(data: Content) -> CandidateLists:
    """Read candidate lists."""
    import polars as pl

    frame = read_frame(data)
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
    plain = guarded(lambda: frame.select(typed))
    written = read_facts(data, _KEY)
    if written is None:
        return _collect(plain, [])
    content = json_object(written)
    names = content.pop("names", None)
    if not isinstance(names, list):
        raise ListsError("the metadata of the Parquet file are damaged; write it again")
    lists = _collect(plain, [str(name) for name in names])
    return with_facts(lists, content)


def write_parquet(lists: CandidateLists, path: str | os.PathLike[str]) -> None:
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
    written = json.dumps({"names": list(lists.names), **json_object(facts_text(lists))})
    with replacing(path) as draft, draft.open("wb") as file:
        write_frame(frame, file, {_KEY: written})


def _collect(frame: pl.DataFrame, names: list[str]) -> CandidateLists:
    """Put the rows together, column by column: no row becomes an object of its own."""
    child, parents, scores = frame["child"], frame["parents"], frame["score"]
    sizes = parents.list.len().fill_null(0)
    flat = parents.filter(sizes > 0).explode()
    row_of = np.repeat(np.arange(len(sizes)), sizes.to_numpy())
    lacking = np.concatenate(
        [
            row_of[flat.is_null().to_numpy()],
            *(np.flatnonzero(column.is_null()) for column in (child, parents, scores)),
        ]
    )
    if len(lacking):
        raise ListsError(f"row {lacking.min()}: child, parents and score must all be there")
    families = FamilyCollector("row")
    for name in names:
        families.add_child(name, 0)
    for name in _words(child):
        if name not in families.children:
            families.add_child(name, 0)
    if not families.children:
        raise ListsError("the Parquet file has no rows, so no variables")
    own, words = _words(child), _words(flat)
    place = np.array([families.children[name] for name in own], np.int64)
    families.add_rows(
        place[_numbers(child, own)],
        scores.to_numpy(),
        sizes.to_numpy().astype(np.int64),
        _numbers(flat, words),
        words,
    )
    return families.lists()


def _words(texts: pl.Series) -> list[str]:
    """Return the different texts, in the order they first come."""
    return texts.unique(maintain_order=True).to_list()


def _numbers(texts: pl.Series, words: list[str]) -> npt.NDArray[np.int64]:
    """Return where texts stand among words."""
    import polars as pl

    if not words:
        return np.zeros(0, np.int64)
    return texts.cast(pl.Enum(words)).to_physical().to_numpy().astype(np.int64)
