"""Collect parent sets while a file of lists is read, refusing contradictions. Shared by readers.

Between file and candidate lists: the readers of .jkl, .pss and Parquet say which child has which
parents at which place of the file; here names become indices, and every contradiction (a repeated
set, a parent that is not a variable, a score that is not a number) an error with its place.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from parentage.errors import ListsError, did_you_mean
from parentage.files.numbers import plain_float
from parentage.scoring.lists import CandidateLists

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parentage.scoring.account import Origin


class FamilyCollector:
    """Families in the order of the file, parents still as written.

    Parameters
    ----------
    unit
        What a place counts, for messages: ``"line"`` or ``"row"``.
    """

    def __init__(self, unit: str = "line") -> None:
        self.unit = unit
        self.children: dict[str, int] = {}
        self._child_of: list[int] = []
        self._parents: list[Sequence[str]] = []
        self._scores: list[float] = []
        self._places: list[int] = []

    def add_child(self, name: str, place: int) -> int:
        """Start a child; its name must be new."""
        if name in self.children:
            raise ListsError(f"{self.unit} {place}: the variable {name!r} has a block already")
        self.children[name] = len(self.children)
        return self.children[name]

    def add(self, child: int, score: float, parents: Sequence[str], place: int) -> None:
        """Append one parent set."""
        self._child_of.append(child)
        self._parents.append(parents)
        self._scores.append(score)
        self._places.append(place)

    def score(self, token: str, place: int) -> float:
        """Read a score; it must be a finite number."""
        try:
            value = plain_float(token)
        except ValueError:
            raise ListsError(
                f"{self.unit} {place}: the score {token[:40]!r} is not a number"
            ) from None
        if not math.isfinite(value):
            raise ListsError(
                f"{self.unit} {place}: the score is {token[:40]}; leave out sets without a finite "
                "score"
            )
        return value

    def lists(
        self, names: Sequence[str] | None = None, account: Origin | None = None
    ) -> CandidateLists:
        """Return the lists; ``names`` gives another order of the variables than the file's."""
        order = list(self.children if names is None else names)
        index = {name: i for i, name in enumerate(order)}
        child_index = [index[name] for name in self.children]
        children = [child_index[child] for child in self._child_of]
        members: list[int] = []
        starts = [0]
        seen: dict[tuple[int, ...], int] = {}
        for i, child in enumerate(children):
            family = self._members(i, child, index, order)
            first = seen.setdefault((child, *family), i)
            if first != i:
                raise ListsError(
                    f"{self.unit} {self._places[i]}: the parent set "
                    f"{{{', '.join(self._parents[i])}}} of {order[child]!r} is already in "
                    f"{self.unit} {self._places[first]}; keep one of them"
                )
            members += family
            starts.append(len(members))
        return CandidateLists.from_arrays(
            order,
            np.array(children, np.int64),
            np.array(starts, np.int64),
            np.array(members, np.int64),
            np.array(self._scores, np.float64),
            account,
        )

    def _members(
        self, i: int, child: int, index: Mapping[str, int], names: Sequence[str]
    ) -> list[int]:
        try:
            family = sorted([index[name] for name in self._parents[i]])
        except KeyError as error:
            wrong = str(error.args[0])
            raise ListsError(
                f"{self.unit} {self._places[i]}: {names[child]!r} has the parent {wrong!r}, which "
                f"is not a variable; {did_you_mean(wrong, names)}"
            ) from None
        if child in family:
            raise ListsError(f"{self.unit} {self._places[i]}: {names[child]!r} is its own parent")
        if len(set(family)) < len(family):
            raise ListsError(
                f"{self.unit} {self._places[i]}: a parent of {names[child]!r} is named twice"
            )
        return family
