"""A damaged Parquet file ends in a message, never in the end of the process."""

from __future__ import annotations

import io
import time
from pathlib import Path

import polars as pl
import pytest

from parentage.data.reading import read_table
from parentage.errors import InputError
from parentage.files import parquet
from parentage.files.detect import detect
from parentage.scoring.formats import read_lists

KILLER = Path(__file__).parent / "regressions" / "kills-polars.parquet"
"""A file with bytes changed so that polars asks for more memory than there is, and aborts."""


def as_bytes(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, metadata={"parentage": "facts"})
    return buffer.getvalue()


@pytest.mark.parametrize("reader", [detect, read_table, read_lists])
def test_a_file_that_kills_polars(reader: object) -> None:
    assert callable(reader)
    with pytest.raises(InputError, match="cannot be read: it is damaged"):
        reader(KILLER)


def test_what_the_child_reads_is_what_is_there() -> None:
    frame = pl.DataFrame(
        {
            "text": ["a", None, "ü"],
            "number": [1, 2, 3],
            "share": [0.5, None, float("nan")],
            "list": [["x"], [], ["y", "z"]],
            "kind": pl.Series(["u", "v", "u"], dtype=pl.Categorical),
            "sure": [True, False, None],
        }
    )
    data = as_bytes(frame)
    for _ in range(2):
        assert parquet.read_frame(data).equals(frame)
        assert parquet.read_facts(data, "parentage") == "facts"
        assert parquet.read_facts(data, "nothing") is None
        assert not parquet.holds_lists(data)


def test_a_module_that_lies_about_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "polars.py").write_text("raise SystemExit('run!')")
    monkeypatch.chdir(tmp_path)
    assert parquet.read_frame(as_bytes(pl.DataFrame({"a": [1, 2]}))).height == 2


def test_two_files_are_not_confused() -> None:
    one, two = (as_bytes(pl.DataFrame({"a": [k, 2]})) for k in (0, 1))
    assert not parquet.holds_lists(one)
    assert parquet.read_frame(two)["a"].to_list() == [1, 2]
    assert parquet.read_frame(one)["a"].to_list() == [0, 2]


def test_the_price_is_the_start_of_an_interpreter() -> None:
    data = as_bytes(pl.DataFrame({"a": list(range(1000))}))
    began = time.monotonic()
    parquet.holds_lists(data)
    parquet.read_frame(data)
    assert time.monotonic() - began < 20.0  # one child, on a machine that may be busy
