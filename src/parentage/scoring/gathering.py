"""The sets that a step finds, chunk after chunk: in memory, and in files from when they must be.

A part of :mod:`parentage.scoring.search`. Chunks are collected in memory and put together at the
end. When memory is short, or a checkpoint is due, what is there goes to the end of one file per
field; the level is then mapped from those files instead of put together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from parentage.files.growing import GrowingArray

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from parentage.files.growing import Array, Facts


Bounds = npt.NDArray[np.float64]


class Gathering:
    """The chunks of one level; ``name`` begins the names of its files."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.parts: list[list[Array]] = []
        self.files: list[GrowingArray] = []
        self.in_memory = 0
        """Bytes that are not in files."""

    def add(self, fields: Sequence[Array]) -> None:
        """Take a chunk: one array per field, a row per set."""
        self.parts.append(list(fields))
        self.in_memory += sum(field.nbytes for field in fields)

    @property
    def n_sets(self) -> int:
        """Sets so far."""
        written = self.files[0].facts.rows if self.files else 0
        return written + sum(len(part[0]) for part in self.parts)

    def write(self, folder: Path) -> None:
        """Move what is in memory into files."""
        if not self.parts:
            return
        if not self.files:
            self.files = [
                GrowingArray(folder, f"{self.name}-{i}", field.dtype, field.shape[1:])
                for i, field in enumerate(self.parts[0])
            ]
        while self.parts:
            for file, field in zip(self.files, self.parts[0], strict=True):
                file.append(field)
            del self.parts[0]
        self.in_memory = 0

    def fields(self) -> list[Array]:
        """Put the level together, field by field, letting go of each field's pieces at once."""
        if not self.files:
            n_fields = len(self.parts[0])
            return [np.concatenate([part.pop(0) for part in self.parts]) for _ in range(n_fields)]
        self.write(self.files[0].folder)
        return [file.mapped() for file in self.files]

    def take_up(self, folder: Path, facts: list[Facts]) -> None:
        """Begin with what files hold."""
        self.files = [GrowingArray.reopened(folder, fact) for fact in facts]

    def sync(self) -> list[Facts]:
        """Make sure that files are on the disk; return what is in them."""
        for file in self.files:
            file.sync()
        return [file.facts for file in self.files]

    def clear(self) -> None:
        """Let go of everything."""
        self.parts.clear()
        self.in_memory = 0
        for file in self.files:
            file.remove()
        self.files = []


class Bounding(Gathering):
    """A level that may turn out to be the last: then its chunks are not stored.

    Of a level that nobody joins only one thing is needed, what lies beyond it can score, and that
    is the most of what its chunks say (``bound``). ``worth`` is asked whether so many joins will be
    made, whenever there are more; as soon as not, what is stored is let go.
    """

    def __init__(
        self,
        name: str,
        bound: Callable[[Sequence[Array]], Bounds],
        worth: Callable[[int], bool],
    ) -> None:
        super().__init__(name)
        self._bound, self._worth = bound, worth
        self.beyond: Bounds | None = None
        self.last = not worth(0)
        """Whether nothing is stored."""
        self.passed, self.joins = 0, 0

    def add(self, fields: Sequence[Array]) -> None:
        """Take a chunk, with all sets of a prefix in it; its second field has the subsets."""
        bound = self._bound(fields)
        self.beyond = bound if self.beyond is None else np.maximum(self.beyond, bound)
        self.passed += len(fields[0])
        siblings = np.unique(fields[1][:, -1], return_counts=True)[1]
        self.joins += int((siblings * (siblings - 1) // 2).sum())
        if not self.last and not self._worth(self.joins):
            self.clear()
            self.last = True
        if not self.last:
            super().add(fields)
