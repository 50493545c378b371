"""What all files of lists share: their sets, and the facts they state.

**Sets** are collected while a file is read, and contradictions refused.

**Facts** are the account of the lists and one digest over both. It is checked when the file is
read:

- it holds: the lists are what their account says;
- it does not: the file is refused, because the sets or the account were changed;
- there is none, or one over the sets alone, as releases before 0.3 wrote: nobody vouches for the
  account. The lists are read as those of another program, and what is proven of them holds among
  the networks that these lists allow.
"""

from __future__ import annotations

import json
import math
from array import array
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from parentage.errors import DataWarning, ListsError, did_you_mean, warn
from parentage.files.atomic import digest_of
from parentage.files.detect import plain_float
from parentage.scoring.account import Account, Unknown, origin_from_dict, origin_to_dict
from parentage.scoring.lists import CandidateLists

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from parentage.arrays import Ints
    from parentage.scoring.account import Origin


Kind = Literal["unknown", "own", "twice", "repeated"]
Contradiction = tuple[int, Kind, int]
"""A set, what is wrong with it, and the set that it repeats (−1: none)."""


class FamilyCollector:
    """Families in the order of the file, parents by number in the order they were first named.

    Parameters
    ----------
    unit
        What a place counts, for messages: ``"line"`` or ``"row"``.
    decode
        How names are read; None as they are.
    """

    def __init__(self, unit: str = "line", decode: Callable[[str], str] | None = None) -> None:
        self.unit, self.decode = unit, decode
        self.children: dict[str, int] = {}
        self._named: dict[str, int] = {}
        self._child_of = array("q")
        self._parents = array("q")
        self._starts = array("q", [0])
        self._scores = array("d")
        self._places = array("q")

    def add_child(self, name: str, place: int) -> int:
        """Start a child; its name must be new."""
        name = name if self.decode is None else self.decode(name)
        if name in self.children:
            raise ListsError(f"{self.unit} {place}: the variable {name!r} has a block already")
        self.children[name] = len(self.children)
        return self.children[name]

    def add(self, child: int, score: str, parents: Sequence[str], place: int) -> None:
        """Append one parent set, with its score as it is written."""
        value, named = self.score(score, place), self._named
        for name in parents if self.decode is None else map(self.decode, parents):
            self._parents.append(named.setdefault(name, len(named)))
        self._starts.append(len(self._parents))
        self._child_of.append(child)
        self._scores.append(value)
        self._places.append(place)

    def add_rows(
        self,
        children: Ints,
        scores: npt.NDArray[np.float64],
        sizes: Ints,
        parents: Ints,
        words: Sequence[str],
    ) -> None:
        """Take all sets of a table, one a row; parents, all in a row, are numbers of words."""
        for row in np.flatnonzero(~np.isfinite(scores))[:1].tolist():
            self.score(repr(float(scores[row])), row)
        self._named = {word: i for i, word in enumerate(words)}
        self._child_of = array("q", children.tobytes())
        self._scores = array("d", scores.tobytes())
        self._starts = array("q", np.concatenate([[0], np.cumsum(sizes)]).tobytes())
        self._parents = array("q", parents.tobytes())
        self._places = array("q", np.arange(len(children)).tobytes())

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
        child_index = np.array([index[name] for name in self.children], np.int64)
        child = child_index[np.asarray(self._child_of)]
        known = np.array([index.get(name, -1) for name in self._named], np.int64)
        starts = np.asarray(self._starts)
        members = rising(known[np.asarray(self._parents)], starts, len(order))
        wrong = first_contradiction(child, starts, members)
        if wrong is not None:
            raise ListsError(self._complaint(wrong, order, int(child[wrong[0]])))
        return CandidateLists.from_arrays(
            order, child, starts, members, np.asarray(self._scores), account
        )

    def _complaint(self, wrong: Contradiction, names: Sequence[str], child: int) -> str:
        """Say what is wrong with a set, and where."""
        at, kind, first = wrong
        place, owner = f"{self.unit} {self._places[at]}", names[child]
        spelled = list(self._named)
        members = [spelled[p] for p in self._parents[self._starts[at] : self._starts[at + 1]]]
        if kind == "unknown":
            stranger = next(name for name in members if name not in self.children)
            return (
                f"{place}: {owner!r} has the parent {stranger!r}, which is not a variable; "
                f"{did_you_mean(stranger, names)}"
            )
        if kind == "own":
            return f"{place}: {owner!r} is its own parent"
        if kind == "twice":
            return f"{place}: a parent of {owner!r} is named twice"
        return (
            f"{place}: the parent set {{{', '.join(members)}}} of {owner!r} is already in "
            f"{self.unit} {self._places[first]}; keep one of them"
        )


def rising(members: Ints, starts: Ints, n: int) -> Ints:
    """Sort the members, −1 … n − 1, within every set (CSR).

    >>> rising(np.array([2, 0, 1, -1]), np.array([0, 2, 4]), 3).tolist()
    [0, 2, -1, 1]
    """
    width = n + 1
    row = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return np.sort(row * width + members + 1) - row * width - 1


def first_contradiction(child: Ints, starts: Ints, members: Ints) -> Contradiction | None:
    """Return the first set that cannot be, if there is one: sets as CSR, members rising."""
    row = np.repeat(np.arange(len(child)), np.diff(starts))
    repeat = np.flatnonzero((np.diff(members) == 0) & (np.diff(row) == 0))
    rows: dict[Kind, Ints] = {
        "unknown": row[members < 0],
        "own": row[members == child[row]],
        "twice": row[repeat],
    }
    found: list[Contradiction] = [
        (int(some[0]), kind, -1) for kind, some in rows.items() if len(some)
    ]
    found += repeated_sets(child, starts, members)
    return min(found, key=lambda one: one[0], default=None)


def repeated_sets(child: Ints, starts: Ints, members: Ints) -> list[Contradiction]:
    """Return the sets that stand there once more.

    Every set gets a random number, the sum of those of its child and its members, so that equal
    sets have equal ones; of those that have, each is compared as it is.
    """
    rng = np.random.default_rng(0)
    most = max(int(child.max(initial=0)), int(members.max(initial=0))) + 2
    of_child, of_member = rng.integers(1 << 63, size=(2, most), dtype=np.uint64)
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(of_member[members])])
    number = of_child[child] + sums[starts[1:]] - sums[starts[:-1]]
    order = np.argsort(number, kind="stable")
    same = np.diff(number[order]) == 0
    alike = np.unique(np.concatenate([order[1:][same], order[:-1][same]]))
    first_of: dict[tuple[int, ...], int] = {}
    found: list[Contradiction] = []
    for i in alike.tolist():
        first = first_of.setdefault((child[i], *members[starts[i] : starts[i + 1]].tolist()), i)
        if first != i:
            found.append((i, "repeated", first))
    return found


def with_facts(lists: CandidateLists, content: Mapping[str, Any]) -> CandidateLists:
    """Return the lists with the account that their file states, as far as its digest vouches.

    Raises
    ------
    ListsError
        The account is damaged, or the digest is that of other sets or of another account.
    """
    account = {key: value for key, value in content.items() if key != "digest"}
    origin, digest = origin_from_dict(account), content.get("digest")
    if digest == _digest(lists, account):
        return replace(lists, account=origin)
    if digest not in (None, lists.digest):
        raise ListsError(
            "the sets or the account have changed since the file was written (the digest "
            "differs): the file is damaged, or was changed by hand; write it again, or delete "
            "its account (the line # facts or META parentage) to use the lists as those of another "
            "program"
        )
    if isinstance(origin, Account):
        origin = Unknown()
        warn(
            DataWarning(
                "these lists have an account without a digest (a release before 0.3 wrote the "
                "file, or it was changed by hand): the account is ignored, and a proof covers only "
                "the networks that the lists allow; for a proof about the table, score it again"
            ),
        )
    return replace(lists, account=origin)


def facts_text(lists: CandidateLists) -> str:
    """Write the facts as one line of JSON with blanks inside strings only."""
    account = origin_to_dict(lists.account)
    content = {**account, "digest": _digest(lists, account)}
    return json.dumps(content, separators=(",", ":"), allow_nan=False)


def json_object(text: str) -> dict[str, Any]:
    """Read what :func:`facts_text` wrote; anything but a JSON object is damage."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ListsError(f"the account in the file is damaged: {str(error)[:80]}") from None
    if not isinstance(content, dict):
        raise ListsError("the account in the file is damaged: not an object")
    return content


def _digest(lists: CandidateLists, account: Mapping[str, Any]) -> str:
    return digest_of("facts 1", {**account, "lists": lists.digest})
