"""A proof that was interrupted, read back: parts, nodes, steps and cuts, for the solver to go on.

The other direction of :mod:`.proof_nodes`. What is read is a claim only: the solver goes through
the steps again with the incumbent it has (:meth:`.root_lp.Cutter.replay`), which gives bounds and
removes sets as it did the first time, or more where the incumbent has become better since. A node
that a step does not close any more is open again. So a bound is never taken from a file; of the
cuts it is taken that they hold, which a checksum protects and ``parentage check`` proves.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from parentage.optimise.cuts import Cut, counting_cut

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from parentage.optimise.problem import Floats, Ints

    KeptStep = tuple[list[Cut], Floats] | None


@dataclass(eq=False)
class KeptNode:
    """The steps of a node, and how it was branched: an arc, the node without it, the one with."""

    steps: list[KeptStep]
    branch: tuple[int, int, KeptNode, KeptNode] | None = None


@dataclass(eq=False)
class KeptPart:
    """How far a part was: its root, the cuts of its programme, the pieces it was split into.

    ``number`` is that of its node in the document.
    """

    variables: tuple[int, ...]
    number: int
    root: KeptNode
    pool: list[Cut] = field(default_factory=list)
    pieces: list[KeptPart] = field(default_factory=list)

    @property
    def root_is_done(self) -> bool:
        """Whether it went on from the root."""
        return self.root.branch is not None or bool(self.pieces)


@dataclass(eq=False)
class KeptProof:
    """What was known of a run: the incumbent's parents, and the parts that were cut.

    ``content`` is the document it was read from.
    """

    content: Mapping[str, Any]
    parents: list[list[int]]
    parts: list[KeptPart]

    def cuts(self) -> list[Cut]:
        """Return all cuts, over the variables of the lists."""
        return [read_cut(cut) for cut in self.content["cuts"]]

    def of(self, variables: Ints) -> KeptPart | None:
        """Return the part of these variables."""
        return kept_part(self.parts, variables)


def kept_part(parts: Sequence[KeptPart], variables: Ints) -> KeptPart | None:
    """Return the one of some parts that has these variables."""
    asked = tuple(variables.tolist())
    return next((part for part in parts if part.variables == asked), None)


def read_proof(content: Mapping[str, Any]) -> KeptProof:
    """Read what :class:`.keeping.Keeper` wrote.

    Raises
    ------
    KeyError, TypeError, ValueError, IndexError
        It is something else.
    """
    reader = _Reader(content["nodes"], content["cuts"])
    parents = [[int(p) for p in above] for above in content["parents"]]
    return KeptProof(content, parents, reader.parts(content["nodes"][0]))


def read_cut(written: Sequence[Any]) -> Cut:
    """Read a cut, over the variables of the lists."""
    kind, members = written[0], tuple(int(v) for v in written[1])
    if kind == "cluster":
        return counting_cut(members, int(written[2]))
    if kind != "local":
        raise ValueError(f"a cut of the kind {kind!r}")
    masks, values, side = written[2:5]
    through = tuple(
        (int(u), tuple(int(p) for p in above)) for u, above in (written[5:6] or [[]])[0]
    )
    return Cut(
        "shrunken" if through else "local",
        members,
        int(side),
        0,
        rising_table(masks, values),
        through,
        int(written[6]) if through else 0,
    )


def rising_table(
    masks: Sequence[Sequence[int]], values: Sequence[Sequence[int]]
) -> npt.NDArray[np.int16]:
    """Return coefficients by child and mask: the highest that is stated for a subset.

    >>> rising_table([[2], []], [[3], []]).tolist()
    [[0, 0, 3, 3], [0, 0, 0, 0]]
    """
    count = len(masks)
    table = np.zeros((count, 1 << count), np.int16)
    for j, (own, worth) in enumerate(zip(masks, values, strict=True)):
        table[j, np.array(own, np.int64)] = worth
    for bit in range(count):
        halves = table.reshape(count, -1, 2, 1 << bit)
        np.maximum(halves[:, :, 1], halves[:, :, 0], out=halves[:, :, 1])
    return table


class _Reader:
    """Turns the nodes of a document into parts, with cuts over the positions in each."""

    def __init__(self, nodes: Sequence[Mapping[str, Any]], cuts: Sequence[Any]) -> None:
        self.nodes, self.cuts = nodes, cuts

    def parts(self, node: Mapping[str, Any]) -> list[KeptPart]:
        """Return the parts of a split that were cut; the others begin anew."""
        found = []
        for variables, _, number in node.get("split", ()):
            content = self.nodes[number]
            if "pool" in content:
                found.append(self.part(tuple(int(v) for v in variables), int(number)))
        return found

    def part(self, variables: tuple[int, ...], number: int) -> KeptPart:
        """Return one part."""
        content = self.nodes[number]
        place = {v: i for i, v in enumerate(variables)}
        own: dict[int, Cut] = {}
        root = KeptNode(self.steps(content, place, own))
        waiting = [(root, content)]
        while waiting:
            node, written = waiting.pop()
            if "branch" in written:
                u, v, *numbers = written["branch"]
                sides = [self.nodes[number] for number in numbers]
                without, with_ = (KeptNode(self.steps(side, place, own)) for side in sides)
                node.branch = place[u], place[v], without, with_
                waiting += zip((without, with_), sides, strict=True)
        pool = [self.cut(number, place, own) for number in content["pool"]]
        return KeptPart(variables, number, root, pool, self.parts(content))

    def steps(
        self, content: Mapping[str, Any], place: Mapping[int, int], own: dict[int, Cut]
    ) -> list[KeptStep]:
        """Return the steps of a node; dominance is what the solver begins with anyway."""
        found: list[KeptStep] = []
        for kind, *rest in content["steps"]:
            if kind == "ancestors":
                found.append(None)
            elif kind == "round":
                numbers, times = rest
                cuts = [self.cut(number, place, own) for number in numbers]
                y = np.array(times, np.float64)
                if len(y) != len(cuts) or not (np.isfinite(y) & (y >= 0)).all():
                    raise ValueError("multipliers that are none")
                found.append((cuts, y))
            elif kind != "dominance":
                raise ValueError(f"a step of the kind {kind!r}")
        return found

    def cut(self, number: int, place: Mapping[int, int], own: dict[int, Cut]) -> Cut:
        """Return a cut over the positions of a part."""
        if number not in own:
            cut = read_cut(self.cuts[number])
            own[number] = Cut(
                cut.family,
                tuple(place[v] for v in cut.members),
                cut.side,
                cut.k,
                cut.table,
                tuple((place[u], tuple(place[p] for p in above)) for u, above in cut.through),
                cut.weight,
            )
        return own[number]
