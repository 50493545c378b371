"""Example tables: two that the package computes.

No data are shipped or downloaded: tic-tac-toe is enumerated, chest clinic is sampled.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from parentage.data.table import Table
from parentage.errors import InputError

_BLANK, _O, _X = 0, 1, 2
_LINES = (
    *((r, r + 1, r + 2) for r in (0, 3, 6)),
    *((c, c + 3, c + 6) for c in (0, 1, 2)),
    (0, 4, 8),
    (2, 4, 6),
)
_SQUARES = tuple(
    f"{row}.{column}.square"
    for row in ("top", "middle", "bottom")
    for column in ("left", "middle", "right")
)


def tic_tac_toe() -> Table:
    """Return the 958 boards on which a game of tic-tac-toe can end when x moves first.

    Nine squares with the states b (blank), o and x, and the class: ``majority`` when x has won
    (626 boards), ``minority`` otherwise. Boards won by x come first, then in the order x, o, b.
    The class is a function of the squares, yet needs many of them at once: a hard small table.

    Examples
    --------
    >>> table = tic_tac_toe()
    >>> table
    Table: 958 rows, 10 variables, 2–3 states each
    >>> table.names[0], table.names[-1], table.states[-1]
    ('top.left.square', 'class', ('minority', 'majority'))
    """
    rows = []
    for board in itertools.product((_BLANK, _O, _X), repeat=9):
        more, won, lost = (
            board.count(_X) - board.count(_O),
            _has_line(board, _X),
            _has_line(board, _O),
        )
        full = _BLANK not in board
        if (more == 1 and not lost and (won or full)) or (more == 0 and lost and not won):
            rows.append((*board, int(won)))
    rows.sort(key=lambda row: [-state for state in (row[-1], *row[:-1])])
    return Table(
        (*_SQUARES, "class"),
        (("b", "o", "x"),) * 9 + (("minority", "majority"),),
        np.array(rows, np.uint16).T,
    )


def _has_line(board: tuple[int, ...], player: int) -> bool:
    return any(all(board[i] == player for i in line) for line in _LINES)


def chest_clinic(rows: int = 1000, seed: int = 0) -> Table:
    """Sample patients of the chest clinic ("asia"), the textbook network with eight variables.

    A visit to Asia raises the risk of tuberculosis, smoking that of lung cancer and bronchitis;
    ``either`` says whether tuberculosis or cancer is there; the X-ray depends on it, and
    shortness of breath (``dysp``) on it and on bronchitis. Structure and probabilities are those
    of Lauritzen and Spiegelhalter, "Local computations with probabilities on graphical
    structures and their application to expert systems", J. R. Stat. Soc. B 50 (1988).

    Parameters
    ----------
    rows
        Number of patients.
    seed
        The same seed gives the same patients.

    Examples
    --------
    >>> chest_clinic(500, seed=1)
    Table: 500 rows, 8 variables, 2 states each
    """
    if rows < 1:
        raise InputError(f"chest_clinic needs at least 1 row, not {rows}")
    rng = np.random.default_rng(seed)

    def draw(probability: Any) -> Any:
        return rng.random(rows) < probability

    asia = draw(0.01)
    tub = draw(np.where(asia, 0.05, 0.01))
    smoke = draw(0.5)
    lung = draw(np.where(smoke, 0.1, 0.01))
    bronc = draw(np.where(smoke, 0.6, 0.3))
    either = tub | lung
    xray = draw(np.where(either, 0.98, 0.05))
    dysp = draw(np.where(either, np.where(bronc, 0.9, 0.7), np.where(bronc, 0.8, 0.1)))
    columns = {
        "asia": asia,
        "tub": tub,
        "smoke": smoke,
        "lung": lung,
        "bronc": bronc,
        "either": either,
        "xray": xray,
        "dysp": dysp,
    }
    codes = np.array(list(columns.values()), np.uint16)
    return Table(tuple(columns), (("no", "yes"),) * len(columns), codes)
