"""The nodes of a proof as plain values: what a certificate and a checkpoint have in common.

A part is written as docs/certificates.md defines it: steps (rounds of cuts with multipliers), then
how it went on, by a branch or a split. A certificate (:mod:`.certificate`) has whole multipliers
and a proof that is complete; a checkpoint (:mod:`.keeping`) has the multipliers as they are, and
nodes that are still open. The way back is :mod:`.replay`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parentage.optimise.cuts import Sets, reach_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from parentage.optimise.cuts import Cut
    from parentage.optimise.problem import Floats, Ints
    from parentage.optimise.root_lp import Node, Step
    from parentage.optimise.run import Part


class NodeWriter:
    """Turns parts into nodes, and collects their cuts.

    Parameters
    ----------
    goal
        What a part has to reach.
    times
        Multipliers as numbers to be written; cuts with 0 are left out.

    What it wrote before it does not work out again: cuts and steps never change.
    """

    def __init__(
        self, goal: Callable[[Part], int], times: Callable[[Floats], list[int] | list[float]]
    ) -> None:
        self.goal, self.times = goal, times
        self.nodes: list[dict[str, Any]] = []
        self.cuts: list[list[Any]] = []
        self._numbers: dict[int, tuple[Cut, int]] = {}
        self._steps: dict[int, tuple[Step, list[Any]]] = {}
        self._sets: dict[int, Sets] = {}

    def write(self, parts: list[Part]) -> list[dict[str, Any]]:
        """Return the nodes of a run; the first one splits it into its parts."""
        self.nodes = [{}]
        self._split(self.nodes[0], parts)
        return self.nodes

    def number(self, cut: Cut, part: Part) -> int:
        """Return the number of a cut, which is written when it is met first."""
        if id(cut) not in self._numbers:
            self._numbers[id(cut)] = cut, len(self.cuts)
            if id(part) not in self._sets:
                self._sets[id(part)] = Sets.of(part.problem)
            self.cuts.append(written_cut(cut, part.problem.variables, self._sets[id(part)]))
        return self._numbers[id(cut)][1]

    def _split(self, node: dict[str, Any], parts: list[Part]) -> None:
        """Write the parts of a node, each with its goal; variables on their own need none."""
        node["split"] = []
        for part in parts:
            if part.problem.n > 1:
                number = len(self.nodes)
                self.nodes.append({})
                variables = part.problem.variables.tolist()
                node["split"].append([variables, self.goal(part), number])
                self._part(self.nodes[number], part)

    def _part(self, written: dict[str, Any], part: Part) -> None:
        """Write how a part was closed, or how far it is."""
        if part.closed_by in ("subsets", "forest") and not part.parts:
            written[part.closed_by] = True
        elif part.root is None:
            written["steps"] = [["round", [], []]]
        else:
            self._node(written, part.root, part)
            if part.parts:
                self._split(written, part.parts)

    def _node(self, written: dict[str, Any], node: Node, part: Part) -> None:
        """Write the steps of a node, and the nodes below it."""
        written["steps"] = self._steps_of(node, part)
        if node.depth == 0 and node.branch:
            written["steps"].insert(0, ["dominance"])
        waiting = [(written, node)]
        while waiting:
            above, upper = waiting.pop()
            if upper.branch is None:
                continue
            u, v, *sides = upper.branch
            numbers = []
            for side in sides:
                below = {"steps": self._steps_of(side, part)}
                numbers.append(len(self.nodes))
                self.nodes.append(below)
                waiting.append((below, side))
            variables = part.problem.variables
            above["branch"] = [int(variables[u]), int(variables[v]), *numbers]

    def _steps_of(self, node: Node, part: Part) -> list[Any]:
        """Write the steps of a node: those that removed sets, and the one of the best bound."""
        steps = list(node.steps)
        if node.best is not None and (not steps or steps[-1] is not node.best):
            steps.append(node.best)
        return [self._step(step, part) for step in steps]

    def _step(self, step: Step, part: Part) -> list[Any]:
        if step is None:
            return ["ancestors"]
        if id(step) not in self._steps:
            cuts, y = step
            times = self.times(y)
            used = [i for i, value in enumerate(times) if value]
            numbers = [self.number(cuts[i], part) for i in used]
            self._steps[id(step)] = step, ["round", numbers, [times[i] for i in used]]
        return self._steps[id(step)][1]


def written_cut(cut: Cut, variables: Ints, sets: Sets) -> list[Any]:
    """Write a cut with variables of the lists."""
    members = variables[list(cut.members)].tolist()
    if cut.table is None:
        return ["cluster", members, cut.k]
    masks, values = [], []
    reach = reach_of(cut, len(variables))
    for j, v in enumerate(cut.members):
        low, high = sets.starts[sets.offsets[v]], sets.starts[sets.offsets[v + 1]]
        owner = np.repeat(
            np.arange(sets.offsets[v + 1] - sets.offsets[v]),
            np.diff(sets.starts[sets.offsets[v] : sets.offsets[v + 1] + 1]),
        )
        inside = np.zeros(sets.offsets[v + 1] - sets.offsets[v], np.int64)
        np.bitwise_or.at(inside, owner, reach[sets.parents[low:high]])
        met = np.unique(inside & ~(1 << j))
        worth = cut.table[j, met].astype(np.int64)
        implied = ((met[None, :] & ~met[:, None]) == 0) & (met[None, :] != met[:, None])
        known = np.where(implied, worth[None, :], 0).max(axis=1, initial=0)
        stated = worth > known
        masks.append(met[stated].tolist())
        values.append(worth[stated].tolist())
    written = ["local", members, masks, values, cut.side]
    if cut.through:
        through = [[int(variables[u]), variables[list(w)].tolist()] for u, w in cut.through]
        written += [through, cut.weight]
    return written
