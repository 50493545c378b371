"""Accounts for lists that tests make up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from parentage.scoring.account import Account, Tallies
from parentage.scoring.constraints import Constraints


def cut_account(n_variables: int) -> Account:
    """An account of lists that were cut short."""
    beyond = tuple(-10.5 if v % 2 else None for v in range(n_variables))
    return account(complete_to=2, ended="time", beyond=beyond, max_parents={"a": 3, "b": None})


def account(**changes: Any) -> Account:
    """A complete account under BIC, with changes."""
    tallies = Tallies(1024, 137, 299, {"thm1p": 243}, (8, 28, 40), 76, 0.25)
    made = Account(
        score="bic",
        log_base=None,
        rows=1000,
        data="0" * 64,
        constant=(),
        rules=("cor1p", "thm1p"),
        max_parents=None,
        width=None,
        constraints=Constraints(),
        complete_to=None,
        ended=None,
        beyond=(),
        tolerance=1e-10,
        tallies=tallies,
    )
    return replace(made, **changes)
