"""Certificates: the proof of a run as a document that anyone can check without the solver.

What the solver did is kept as it went (:class:`.cutting.Node`: rounds of cuts with multipliers,
branchings; :class:`.run.Part`: how it was split and which engine closed it) and is written down
only when asked for. docs/certificates.md defines the document; everything in it is whole
numbers. Scores that are multiples of a power of ten are taken as such, and the proof is exact;
others are rounded to a fine grid, and the tolerance says what that and the solver's own tolerance
leave open.
"""

from __future__ import annotations

import gzip
import json
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from parentage.check.document import FORMAT, VERSION, sealed
from parentage.check.nodes import MOST_VARIABLES
from parentage.files.atomic import replacing
from parentage.optimise.cuts import written_cut
from parentage.optimise.problem import allowed_sets
from parentage.scoring.account import Account
from parentage.vipr import is_vipr, write_vipr

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from parentage.arrays import Floats, Ints
    from parentage.optimise.cuts import Cut
    from parentage.optimise.cutting import Node, Step
    from parentage.optimise.run import Part, Run
    from parentage.scoring.lists import CandidateLists
    from parentage.vipr import Size

DECIMALS = 6
"""Scores with at most so many decimals are exact."""

BITS = 26
"""Other scores are rounded to multiples of two to the power of minus this."""

FINE = 20
"""Multipliers have at most so many bits beyond the unit."""

ROOM = 61
"""All numbers of a round must fit into so many bits."""


@dataclass(frozen=True, eq=False)
class Certificate:
    """The proof of one run, ready to be written.

    Parameters
    ----------
    lists
        The lists it is about. Their account may say more than that of the run's lists: how missing
        values were completed is known only after the last run.
    run
        The finished run.
    """

    lists: CandidateLists
    run: Run

    @cached_property
    def document(self) -> dict[str, Any]:
        """The document, as JSON will have it."""
        return _Writer(self.lists, self.run).document()

    def __getstate__(self) -> dict[str, Any]:
        """Take the finished document along when it is pickled, not the run behind it."""
        return {**self.__dict__, "document": self.document, "run": None}

    def to_json(self) -> str:
        """Return the document as text, without spaces."""
        return json.dumps(self.document, separators=(",", ":"), ensure_ascii=False) + "\n"

    def write(self, path: str | Path, *, announce: Callable[[Size], None] | None = None) -> None:
        """Write the document, or its proof as a VIPR file; compressed when the name ends in .gz.

        ``announce`` is called with a forecast of the size before a VIPR file (``.vipr`` or
        ``.vipr.gz``) is written. A proof that no such file is written for raises a
        :class:`~parentage.check.ProofError` with the reason.
        """
        if is_vipr(path):
            write_vipr(self.lists, self.document, path, announce=announce)
            return
        data = self.to_json().encode()
        if str(path).endswith(".gz"):
            data = gzip.compress(data, mtime=0)
        with replacing(path) as draft:
            draft.write_bytes(data)


def certificate_of(run: Run) -> Certificate | None:
    """Return the certificate of a run, None if it is not proven or an engine keeps no proof."""
    if not run.proven() or not all(_provable(part) for part in run.parts):
        return None
    return Certificate(run.lists, run)


def _provable(part: Part) -> bool:
    if part.closed_by == "subsets":
        return part.problem.n <= MOST_VARIABLES
    return all(_provable(piece) for piece in part.pieces)


def whole_unit(scores: Floats) -> tuple[dict[str, int], float, Ints]:
    """Return the grid of the scores, how many units make one, and the scores in units."""
    for decimals in range(DECIMALS + 1):
        factor = 10.0**decimals
        whole = np.rint(scores * factor)
        if (whole / factor == scores).all() and np.abs(whole).max(initial=0.0) < 2**52:
            return {"decimals": decimals}, factor, whole.astype(np.int64)
    largest = math.frexp(float(np.abs(scores).max(initial=1.0)))[1]
    bits = max(0, min(BITS, 52 - largest))
    return {"bits": bits}, 2.0**bits, np.rint(scores * 2.0**bits).astype(np.int64)


class _Writer:
    """Chooses the grids of a certificate, turns parts into nodes and collects their cuts."""

    def __init__(self, lists: CandidateLists, run: Run) -> None:
        self.lists, self.run, self.constraints = lists, run, run.constraints
        self.chosen = self.run.chosen()
        self.unit, self.factor, whole = whole_unit(self.lists.scores)
        allowed = np.ones(self.lists.n_sets, np.bool_)
        if self.constraints:
            allowed = allowed_sets(self.lists, self.constraints)
        lowest = np.where(allowed, whole, whole.min(initial=0))
        self.best = np.maximum.reduceat(lowest, self.lists.offsets[:-1])
        self.whole = whole
        largest = int(whole.max(initial=0)) - int(whole.min(initial=0))
        self.denominator = self._denominator(max(1, largest))
        self._nodes: list[dict[str, Any]] = [{}]  # the first one splits the run into its parts
        self._cuts: list[list[Any]] = []
        self._numbers: dict[Cut, int] = {}

    def document(self) -> dict[str, Any]:
        """Write the whole document."""
        tolerance = sum(self._tolerance(part) for part in self.run.parts)
        self._split(self._nodes[0], self.run.parts)
        lists = self.lists
        return sealed(
            {
                "format": FORMAT,
                "version": VERSION,
                "lists": {
                    "variables": lists.n_variables,
                    "sets": lists.n_sets,
                    "digest": f"sha256:{lists.digest}",
                },
                "settings": lists.account.settings(),
                "constraints": self.constraints.to_dict() if self.constraints else {},
                "claim": {
                    "sets": self.chosen.tolist(),
                    "score": self.run.score(),
                    "tolerance": tolerance,
                },
                "unit": self.unit,
                "denominator": self.denominator,
                "cuts": self._cuts,
                "nodes": self._nodes,
                **self._families(),
            }
        )

    def _families(self) -> dict[str, Any]:
        """Return lists that were made from a table: a check begins with it, not with scoring."""
        lists = self.lists
        if not isinstance(lists.account, Account):
            return {}
        sets = [
            [[score, list(members)] for score, members in lists.candidates(v)]
            for v in range(lists.n_variables)
        ]
        return {"families": {"counted": lists.account.tallies.sets_counted, "sets": sets}}

    def _denominator(self, largest: int) -> int:
        """Choose how finely multipliers are written, so that no number becomes too large."""
        most = float(largest)
        for part in self.run.all_parts():
            for node in _all_nodes(part.root):
                for step in (*node.steps, node.best):
                    if step is not None:
                        weights = [_largest(cut) for cut in step[0]]
                        total = float(step[1] @ np.array(weights, float)) if weights else 0.0
                        most = max(most, largest + self.factor * total)
        return 1 << max(0, min(FINE, ROOM - 1 - math.frexp(most)[1]))

    def _tolerance(self, part: Part) -> int:
        """Return the number of units that the proof of a part leaves open.

        That is what the solver leaves open, half its tolerance unless the bound of the part is
        lower, and what its arithmetic may lose; and one unit per variable where scores are
        rounded. Without rounding less than a unit is nothing. A variable on its own has its best
        set, or one that ties with it.
        """
        run, n, rounded = self.run, part.problem.n, "bits" in self.unit
        if n == 1:
            ties = int(self.lists.n_variables * run.rounding * self.factor) + rounded
            return min(ties, self._cost(part))
        gap = min(run.tolerance, max(run.tolerance / 2, part.best_cost - part.bound))
        own = int((gap + run.slack) * self.factor) + n * rounded
        return max(own, sum(self._tolerance(piece) for piece in part.pieces))

    def _cost(self, part: Part) -> int:
        """Return the whole cost of the incumbent of a part."""
        chosen = self.chosen.copy()
        if part.best_cost < math.inf:
            part.write(chosen)
        variables = part.problem.variables
        return int((self.best[variables] - self.whole[chosen[variables]]).sum())

    def _number(self, cut: Cut, part: Part) -> int:
        """Return the number of a cut, which is written when it is met first."""
        if cut not in self._numbers:
            self._numbers[cut] = len(self._cuts)
            self._cuts.append(written_cut(cut, part.problem.variables, part.problem.members))
        return self._numbers[cut]

    def _split(self, node: dict[str, Any], parts: list[Part]) -> None:
        """Write the parts of a node, each with its goal; variables on their own need none."""
        node["split"] = []
        for part in parts:
            if part.problem.n > 1:
                number = len(self._nodes)
                self._nodes.append({})
                variables = part.problem.variables.tolist()
                goal = self._cost(part) - self._tolerance(part)
                node["split"].append([variables, goal, number])
                self._part(self._nodes[number], part)

    def _part(self, written: dict[str, Any], part: Part) -> None:
        """Write how a part was closed."""
        if part.closed_by in ("subsets", "forest"):
            written[part.closed_by] = True
        elif part.root is None:
            written["steps"] = [["round", [], []]]
        else:
            self._node(written, part.root, part)
            if part.pieces:
                self._split(written, part.pieces)

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
                numbers.append(len(self._nodes))
                self._nodes.append(below)
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
        cuts, y = step
        times = np.rint(y * (self.factor * self.denominator)).astype(np.int64).tolist()
        used = [i for i, value in enumerate(times) if value]
        return ["round", [self._number(cuts[i], part) for i in used], [times[i] for i in used]]


def _largest(cut: Cut) -> int:
    return 1 if cut.table is None else max(int(cut.table.max()), cut.weight)


def _all_nodes(root: Node | None) -> list[Node]:
    found = [] if root is None else [root]
    for node in found:
        if node.branch is not None:
            found.extend(node.branch[2:])
    return found
