"""Tables the package makes."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest

from parentage.data.datasets import chest_clinic, tic_tac_toe
from parentage.data.reading import read_table
from parentage.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from parentage.data.table import Table


def _rows(table: Table) -> Counter[tuple[int, ...]]:
    return Counter(tuple(row) for row in table.to_codes().T.tolist())


def test_end_boards_are_legal_distinct_and_as_many_as_known() -> None:
    table = tic_tac_toe()
    rows = _rows(table)
    assert len(rows) == table.n_rows == 958
    assert sum(row[-1] for row in rows) == 626
    for *board, x_won in rows:
        crosses, noughts = board.count(2), board.count(1)
        assert crosses - noughts in (0, 1)
        lines = [board[0:3], board[3:6], board[6:9], board[0::3], board[1::3], board[2::3]]
        lines += [board[0::4], board[2:7:2]]
        assert ([2, 2, 2] in lines) == bool(x_won)
        assert not ([2, 2, 2] in lines and [1, 1, 1] in lines)
        assert [2, 2, 2] in lines or [1, 1, 1] in lines or 0 not in board


def test_tic_tac_toe_equals_the_public_table(shared: Path) -> None:
    made, read = tic_tac_toe(), read_table(shared / "data/uci/tic-tac-toe.arff")
    assert made.names == read.names
    assert made.states == read.states
    assert _rows(made) == _rows(read)


def test_chest_clinic_repeats_and_follows_its_network() -> None:
    table = chest_clinic(200_000, seed=3)
    assert table.digest == chest_clinic(200_000, seed=3).digest
    assert table.digest != chest_clinic(200_000, seed=4).digest
    column = {
        name: codes.astype(bool) for name, codes in zip(table.names, table.to_codes(), strict=True)
    }
    assert table.names == ("asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp")
    assert np.array_equal(column["either"], column["tub"] | column["lung"])

    def share(event: str, given: np.ndarray) -> float:
        return float(column[event][given].mean())

    smoke, either, bronc = column["smoke"], column["either"], column["bronc"]
    assert column["asia"].mean() == pytest.approx(0.01, abs=0.002)
    assert share("lung", smoke) == pytest.approx(0.1, abs=0.005)
    assert share("lung", ~smoke) == pytest.approx(0.01, abs=0.002)
    assert share("bronc", smoke) == pytest.approx(0.6, abs=0.01)
    assert share("bronc", ~smoke) == pytest.approx(0.3, abs=0.01)
    assert share("xray", either) == pytest.approx(0.98, abs=0.01)
    assert share("xray", ~either) == pytest.approx(0.05, abs=0.005)
    assert share("dysp", either & bronc) == pytest.approx(0.9, abs=0.02)
    assert share("dysp", either & ~bronc) == pytest.approx(0.7, abs=0.02)
    assert share("dysp", ~either & bronc) == pytest.approx(0.8, abs=0.01)
    assert share("dysp", ~either & ~bronc) == pytest.approx(0.1, abs=0.01)


def test_no_rows_are_refused() -> None:
    with pytest.raises(InputError, match="at least 1 row"):
        chest_clinic(0)
