"""Candidate lists: what scoring hands to learning.

For every variable the parent sets that may be in an optimal network, with their scores. Three
flat arrays hold them (CSR, twice): ``offsets`` cuts the sets by child, ``starts`` cuts
``parents`` by set. Sets of a child are sorted by falling score; ties by size, then by index.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.errors import ListsError, did_you_mean
from parentage.scoring.account import Account, Unknown

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from parentage.arrays import Ints
    from parentage.optimise.near import NearOptimal
    from parentage.scoring.account import Origin
    from parentage.scoring.constraints import Constraints


class Candidate(NamedTuple):
    """One parent set of a child and its local score."""

    score: float
    parents: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class CandidateLists:
    """Candidate parent sets of every variable, with local scores (higher is better).

    Parameters
    ----------
    names
        Variable names.
    offsets
        ``int64[n + 1]``: the sets of child ``v`` are ``offsets[v] … offsets[v + 1] − 1``.
    starts
        ``int64[m + 1]``: the parents of set ``i`` are ``parents[starts[i]:starts[i + 1]]``.
    parents
        ``int32``: variable indices, rising within a set.
    scores
        ``float64[m]``.
    account
        How the lists were made and how far they reach
        (:class:`parentage.scoring.account.Account`), or ``Unknown`` for other programs' lists.

    Examples
    --------
    >>> lists = CandidateLists.from_families(
    ...     {"a": [(-2.0, ["b"]), (-3.0, [])], "b": [(-1.5, [])]})
    >>> lists
    CandidateLists: 2 variables, 3 parent sets, at most 1 parent
    >>> lists["a"][0]
    Candidate(score=-2.0, parents=('b',))
    """

    names: tuple[str, ...]
    offsets: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    parents: npt.NDArray[np.int32]
    scores: npt.NDArray[np.float64]
    account: Origin = field(default_factory=Unknown)

    @classmethod
    def from_arrays(
        cls,
        names: Sequence[str],
        children: npt.NDArray[np.integer[Any]],
        starts: npt.NDArray[np.integer[Any]],
        parents: npt.NDArray[np.integer[Any]],
        scores: npt.NDArray[np.floating[Any]],
        account: Origin | None = None,
    ) -> CandidateLists:
        """Sort families given in any order (child, CSR parents rising within a set, score)."""
        n_sets = len(scores)
        sizes = np.diff(starts)
        width = int(sizes.max(initial=0))
        padded = np.full((n_sets, width), -1, np.int64)
        inside = np.arange(width) < sizes[:, None]
        padded[inside] = parents
        keys = [padded[:, c] for c in range(width - 1, -1, -1)] + [sizes, -scores, children]
        order = np.lexsort(keys)
        offsets = np.zeros(len(names) + 1, np.int64)
        offsets[1:] = np.cumsum(np.bincount(children, minlength=len(names)))
        new_starts = np.zeros(n_sets + 1, np.int64)
        new_starts[1:] = np.cumsum(sizes[order])
        return cls(
            tuple(names),
            offsets,
            new_starts,
            padded[order][inside[order]].astype(np.int32),
            np.asarray(scores, np.float64)[order],
            account or Unknown(),
        )

    @classmethod
    def from_families(
        cls,
        families: Mapping[str, Iterable[tuple[float, Iterable[str]]]],
        account: Origin | None = None,
    ) -> CandidateLists:
        """Make lists from ``{child: [(score, parents), …]}``; names must be keys."""
        names = tuple(families)
        index = {name: i for i, name in enumerate(names)}
        children, starts, parents, scores = [], [0], [], []
        for child, sets in families.items():
            for score, names_of_set in sets:
                members = sorted(_position(index, name, child) for name in names_of_set)
                children.append(index[child])
                parents.extend(members)
                starts.append(len(parents))
                scores.append(float(score))
        return cls.from_arrays(
            names,
            np.array(children, np.int64),
            np.array(starts, np.int64),
            np.array(parents, np.int64),
            np.array(scores, np.float64),
            account,
        )

    @cached_property
    def digest(self) -> str:
        """SHA-256 of names, sets and scores (docs/certificates.md): equal for equal lists."""
        content = hashlib.sha256(b"parentage lists 1\n")
        names = [name.encode(errors="surrogatepass") for name in self.names]
        content.update(len(names).to_bytes(8, "little"))
        for name in names:
            content.update(len(name).to_bytes(8, "little") + name)
        for numbers in (self.offsets, self.starts, self.parents):
            content.update(np.ascontiguousarray(numbers, "<i8").tobytes())
        content.update(np.ascontiguousarray(self.scores + 0.0, "<f8").tobytes())
        return content.hexdigest()

    def known(self) -> Account:
        """Return the account; refuse lists that have none, because another program made them."""
        if isinstance(self.account, Account):
            return self.account
        raise ListsError("nothing is known of how these lists were made; score the table instead")

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return len(self.names)

    @property
    def n_sets(self) -> int:
        """Number of candidate parent sets, all children together."""
        return len(self.scores)

    @property
    def children(self) -> npt.NDArray[np.int64]:
        """``int64[m]``: the child of every set."""
        return np.repeat(np.arange(self.n_variables), np.diff(self.offsets))

    @property
    def owners(self) -> npt.NDArray[np.int64]:
        """The set of every entry of ``parents``."""
        return np.repeat(np.arange(self.n_sets), np.diff(self.starts))

    @property
    def max_in_degree(self) -> int:
        """Size of the largest parent set."""
        return int(np.diff(self.starts).max(initial=0))

    def parents_of(self, i: int) -> npt.NDArray[np.int32]:
        """Parent indices of set ``i``."""
        return self.parents[self.starts[i] : self.starts[i + 1]]

    def candidates(self, child: int) -> Iterator[tuple[float, tuple[int, ...]]]:
        """Yield ``(score, parent indices)`` of one child, best first."""
        for i in range(int(self.offsets[child]), int(self.offsets[child + 1])):
            yield float(self.scores[i]), tuple(int(p) for p in self.parents_of(i))

    def subsets_of(self, child: str, parents: Iterable[str]) -> dict[frozenset[str], float]:
        """Return the listed sets of a child that hold no other parents than these, with scores."""
        v = self.index(child)
        first, last = int(self.offsets[v]), int(self.offsets[v + 1])
        starts = self.starts[first : last + 1]
        allowed = np.zeros(self.n_variables, np.bool_)
        allowed[[self.index(parent) for parent in parents]] = True
        outside = np.cumsum(~allowed[self.parents[starts[0] : starts[-1]]])
        strangers = np.diff(np.concatenate([[0], outside])[starts - starts[0]])
        return {
            frozenset(self.names[p] for p in self.parents_of(first + i)): float(
                self.scores[first + i]
            )
            for i in np.flatnonzero(strangers == 0).tolist()
        }

    def index(self, name: str) -> int:
        """Position of a variable; an unknown name is refused with the nearest known one."""
        if name not in self._index:
            raise ListsError(f"no variable {name!r}; {did_you_mean(name, self.names)}")
        return self._index[name]

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: v for v, name in enumerate(self.names)}

    def __getitem__(self, child: str) -> list[Candidate]:
        return [
            Candidate(score, tuple(self.names[p] for p in members))
            for score, members in self.candidates(self.index(child))
        ]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return self.n_variables

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the lists: ``.jkl``, ``.pss`` or ``.parquet``, by the extension."""
        from parentage.scoring.formats import write_lists

        write_lists(self, path)

    def within(
        self,
        factor: float | None = None,
        *,
        width: float | None = None,
        max_networks: int | None = None,
        constraints: Constraints | None = None,
        threads: int = 1,
        seed: int = 0,
    ) -> NearOptimal:
        """Return all networks whose score is within a factor, or a width, of the optimum.

        Parameters
        ----------
        factor
            Networks at most this many times less probable than the best.
        width
            Networks at most this much below the best score. Give one of the two.
        max_networks
            The largest number of networks, 100,000 by default; with more, the best of them, and a
            warning.
        constraints
            Required and forbidden arcs, in-degrees, tiers.
        threads, seed
            As in :func:`parentage.learn`.

        Warns
        -----
        UnprovenWarning
            There are more networks than ``max_networks``.
        DataWarning
            The lists were pruned for the optimum: ``score(…, width=…)`` makes wider ones.
        """
        from parentage.optimise.near import within
        from parentage.work.context import Context

        limit = {} if max_networks is None else {"max_networks": max_networks}
        return within(
            self,
            factor=factor,
            width=width,
            constraints=constraints,
            seed=seed,
            context=Context(threads=threads),
            **limit,
        )

    def __repr__(self) -> str:
        degree = self.max_in_degree
        return (
            f"CandidateLists: {self.n_variables:,} variables, {self.n_sets:,} parent sets, "
            f"at most {degree} parent{'' if degree == 1 else 's'}"
        )


def masks_of(
    n: int, sets: Ints, starts: Ints, parents: npt.NDArray[np.integer[Any]]
) -> npt.NDArray[np.uint64]:
    """Return some of the sets of ``n`` variables that CSR arrays hold, as bits: ``[set, word]``.

    >>> masks_of(70, np.array([1, 0]), np.array([0, 2, 3]), np.array([0, 69, 1])).tolist()
    [[2, 0], [1, 32]]
    """
    sizes = starts[sets + 1] - starts[sets]
    row = np.repeat(np.arange(len(sets)), sizes)
    at = np.arange(len(row)) + np.repeat(starts[sets] - np.cumsum(sizes) + sizes, sizes)
    member = parents[at].astype(np.int64)
    masks = np.zeros((len(sets), -(-n // 64)), np.uint64)
    bits = np.uint64(1) << (member & 63).astype(np.uint64)
    np.bitwise_or.at(masks, (row, member >> 6), bits)
    return masks


def _position(index: Mapping[str, int], name: str, child: str) -> int:
    if name not in index:
        raise ListsError(
            f"{child!r} has the parent {name!r}, which is not a variable; "
            f"{did_you_mean(name, index)}"
        )
    return index[name]
