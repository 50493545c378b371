"""Engine 3, branch-and-cut: the integer programme of a part, solved by SCIP to proof.

The programme of :mod:`.cuts` on the sets that the root LP left over, with its cuts as a start.
Acyclicity is a constraint handler: it separates the same cuts at every node, refuses cyclic
whole-numbered solutions with the cut of a cycle, and turns fractional solutions into orders
whose networks, climbed, become incumbents. SCIP (through PySCIPOpt) does the rest.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from parentage.optimise.cuts import Cut, Row, cut_row
from parentage.optimise.orders import OrderSpace, climb_from
from parentage.optimise.separate import (
    Support,
    cycles,
    exact_cluster,
    fractional_order,
    quick_cuts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from parentage.optimise.problem import Floats, Ints
    from parentage.optimise.run import Part

T = TypeVar("T")

PHASE = "branch-and-cut"
MOST, FEW = 40, 5
"""Cuts of one kind added in a round; with few of them, k-cluster cuts are looked for, too."""

EXACT_SECONDS = 2.0

SETTINGS = {
    "misc/catchctrlc": False,  # the run handles Ctrl-C
    "separating/gomory/maxroundsroot": -1,  # fractional solutions are mostly half-integral:
    "separating/zerohalf/freq": 1,  # these two close most of what the clusters leave
    "separating/zerohalf/maxroundsroot": -1,
    "numerics/dualfeastol": 1e-9,  # bounds may err by this times the number of variables
}
"""What we ask of SCIP. Its heuristics are off: the order search does their work better."""


class BranchAndCut:
    """The model of one part in SCIP, and what its callbacks do.

    ``x[i]`` is SCIP's variable of set ``i`` of the part's problem.
    """

    def __init__(self, part: Part, cuts: Iterable[Cut], *, set_packing: bool = True) -> None:
        from pyscipopt import Model
        from pyscipopt.scip import PY_SCIP_PARAMSETTING

        self.part = part
        self.problem = part.problem
        self.members = part.problem.members()
        self.space = OrderSpace.of(part.problem)
        self.set_packing = set_packing
        self.n_cuts = 0
        self.failure: BaseException | None = None
        self.fruitless = 0
        self.calls_to_skip = 0
        self.model = Model()
        self.model.hideOutput()
        self.model.setMinimize()
        self.model.setHeuristics(PY_SCIP_PARAMSETTING.OFF)
        for name, value in SETTINGS.items():
            self.model.setParam(name, value)
        self.x = [
            self.model.addVar(vtype="B", obj=float(cost), name=f"x{i}")
            for i, cost in enumerate(self.problem.cost)
        ]
        self.columns: list[Any] = self.x
        for row in self._starting_rows(cuts):
            self._add_constraint(row)

    def _starting_rows(self, cuts: Iterable[Cut]) -> Iterable[Row]:
        for a, b in self.problem.spans():
            yield Row(np.arange(a, b), 1.0, 1.0)
        pairs = [Cut(pair, 1) for pair in self._possible_two_cycles()]
        for cut in dict.fromkeys([*pairs, *cuts]):
            yield cut_row(self.problem, cut)

    def _possible_two_cycles(self) -> list[tuple[int, int]]:
        starts, parents = self.members
        child = np.repeat(self.problem.child, np.diff(starts))
        arcs = set(zip(parents.tolist(), child.tolist(), strict=True))
        return sorted((u, v) for u, v in arcs if u < v and (v, u) in arcs)

    def _add_constraint(self, row: Row) -> None:
        from pyscipopt import quicksum

        total = quicksum(self.x[i] for i in row.columns)
        if row.lower == row.upper:
            self.model.addCons(total == row.lower)
        elif math.isfinite(row.lower):
            self.model.addCons(total >= row.lower)
        else:
            self.model.addCons(total <= row.upper)

    def values(self, solution: Any = None) -> Floats:
        """Return x of a solution, of the current LP when none is given."""
        value = self.model.getSolVal
        return np.array([value(solution, x) for x in self.x])

    def add_cut(self, cut: Cut, *, force: bool = False) -> bool:
        """Add a cut to the LP; whether SCIP finds the node infeasible by it."""
        row = cut_row(self.problem, cut)
        scip_row = self.model.createEmptyRowUnspec(
            "cut",
            lhs=row.lower if math.isfinite(row.lower) else None,
            rhs=row.upper if math.isfinite(row.upper) else None,
            local=False,
            removable=True,
        )
        self.model.cacheRowExtensions(scip_row)
        for i in row.columns:
            self.model.addVarToRow(scip_row, self.columns[i], 1.0)
        self.model.flushRowExtensions(scip_row)
        infeasible = self.model.addCut(scip_row, force)
        self.model.addPoolCut(scip_row)
        self.model.releaseRow(scip_row)
        self.n_cuts += 1
        return bool(infeasible)

    def watch(self) -> bool:
        """Pass on the bound, stop SCIP when the run stops; whether it does."""
        bound = self.model.getDualbound()
        if abs(bound) < 1e19:
            self.part.raise_bound(bound, PHASE)
        self.part.tick(PHASE)
        if self.part.stopped():
            self.model.interruptSolve()
            return True
        return False

    def separate(self) -> tuple[int, bool]:
        """Separate the current LP solution; return the number of cuts and if one cuts off."""
        if self.watch():
            return 0, False
        support = Support.of(self.problem, self.members, self.values())
        found = quick_cuts(support, set_packing=self.set_packing, most=MOST, few=FEW)
        found = found or self._exact(support)
        return len(found), sum(self.add_cut(cut) for cut in found) > 0

    def _exact(self, support: Support) -> list[Cut]:
        """Separate exactly, the more seldom the oftener it found nothing."""
        self.calls_to_skip -= 1
        if self.calls_to_skip >= 0 or self.model.getDepth() > 0:
            return []
        cut = exact_cluster(support, EXACT_SECONDS)
        if cut is None:
            self.fruitless += 1
            self.calls_to_skip = 2**self.fruitless
        return [] if cut is None else [cut]

    def guarded(self, action: Callable[[], T], otherwise: T) -> T:
        """Do what a callback is for; keep an exception and stop SCIP."""
        if self.failure is not None:
            return otherwise
        try:
            return action()
        except BaseException as failure:  # raised again by solve()
            self.failure = failure
            self.model.interruptSolve()
            return otherwise

    def enforce(self) -> tuple[int, bool]:
        """Cut off the cycles of the whole-numbered LP solution, if it has any."""
        found = self.violated_cycles()
        return len(found), sum(self.add_cut(cut, force=True) for cut in found) > 0

    def acyclic(self, solution: Any = None) -> bool:
        """Whether a whole-numbered solution has no cycle."""
        return not self.violated_cycles(solution)

    def violated_cycles(self, solution: Any = None) -> list[Cut]:
        """Return a cut for each cycle of a whole-numbered solution."""
        chosen = np.flatnonzero(self.values(solution) > 0.5)
        return cycles(self.problem, self.members, chosen)

    def climb(self) -> bool:
        """Climb from the order of the current LP solution; hand SCIP what improves."""
        support = Support.of(self.problem, self.members, self.values())
        climb_from(self.part, self.space, fractional_order(support))
        if self.part.cost >= self.model.getPrimalbound() - self.part.run.tolerance:
            return False
        return bool(self.model.trySol(self._as_solution(self.part.choice)))

    def _as_solution(self, choice: Ints) -> Any:
        solution = self.model.createOrigSol()
        for i in choice:
            self.model.setSolVal(solution, self.x[i], 1.0)
        return solution

    def choice(self, solution: Any) -> Ints:
        """Return the sets of an acyclic solution, one per variable."""
        return np.flatnonzero(self.values(solution) > 0.5).astype(np.int64)

    def solve(self, *, warm: bool = True, seconds: float = math.inf) -> None:
        """Let SCIP work until it has the proof, the run stops or ``seconds`` are over."""
        part, model = self.part, self.model
        install(self)
        if warm:
            model.addSol(self._as_solution(part.choice))
        seconds = min(seconds, part.seconds_left)
        if math.isfinite(seconds):
            model.setParam("limits/time", max(0.01, seconds))
        model.optimize()
        if self.failure is not None:
            raise self.failure
        if model.getNSols():
            part.offer(self.choice(model.getBestSol()), PHASE, PHASE)
        if model.getStatus() == "optimal":
            part.prove(PHASE, PHASE)
        else:
            self.watch()
        part.effort.nodes += int(model.getNTotalNodes())
        part.effort.cuts += self.n_cuts


def install(search: BranchAndCut) -> None:
    """Give SCIP the constraint handler for acyclicity and the climbing heuristic.

    PySCIPOpt ignores exceptions in callbacks: :meth:`BranchAndCut.guarded` keeps the first one
    and stops SCIP, and :meth:`BranchAndCut.solve` raises it.
    """
    from pyscipopt import Conshdlr, Heur
    from pyscipopt.scip import PY_SCIP_HEURTIMING, PY_SCIP_RESULT

    def separated(count: int, cutoff: bool) -> dict[str, Any]:
        if cutoff:
            return {"result": PY_SCIP_RESULT.CUTOFF}
        return {"result": PY_SCIP_RESULT.SEPARATED if count else PY_SCIP_RESULT.DIDNOTFIND}

    def feasible(yes: bool) -> dict[str, Any]:
        return {"result": PY_SCIP_RESULT.FEASIBLE if yes else PY_SCIP_RESULT.INFEASIBLE}

    class Acyclic(Conshdlr):
        """SCIP's view of the callbacks of :class:`BranchAndCut`."""

        def consinitlp(self, constraints: Any) -> dict[str, Any]:
            search.columns = [search.model.getTransformedVar(x) for x in search.x]
            return {}

        def constrans(self, sourceconstraint: Any) -> dict[str, Any]:
            return {}

        def conssepalp(self, constraints: Any, nusefulconss: Any) -> dict[str, Any]:
            return separated(*search.guarded(search.separate, (0, False)))

        def consenfolp(self, constraints: Any, useful: Any, infeasible: Any) -> dict[str, Any]:
            count, cutoff = search.guarded(search.enforce, (0, False))
            if count == 0 and search.failure is None:
                return feasible(True)
            return separated(count, cutoff) if count else feasible(False)

        def consenfops(self, *args: Any) -> dict[str, Any]:
            return feasible(search.guarded(search.acyclic, False))

        def conscheck(self, constraints: Any, solution: Any, *args: Any) -> dict[str, Any]:
            return feasible(search.guarded(lambda: search.acyclic(solution), False))

        def conslock(self, constraint: Any, locktype: Any, nlockspos: int, nlocksneg: int) -> None:
            starts, _ = search.members
            for i, x in enumerate(search.x):
                if starts[i + 1] > starts[i]:
                    search.model.addVarLocks(x, nlocksneg, nlockspos)

    class Climb(Heur):
        """Turns the LP solution of a node into a network."""

        def heurexec(self, heurtiming: Any, nodeinfeasible: Any) -> dict[str, Any]:
            found = search.guarded(search.climb, False)
            return {"result": PY_SCIP_RESULT.FOUNDSOL if found else PY_SCIP_RESULT.DIDNOTFIND}

    search.model.includeHeur(
        Climb(),
        "climb",
        "order of the LP solution, climbed",
        "c",
        freq=5,
        maxdepth=-1,
        timingmask=PY_SCIP_HEURTIMING.AFTERLPNODE,
    )
    handler = Acyclic()
    search.model.includeConshdlr(
        handler,
        "acyclic",
        "no directed cycle",
        sepapriority=100,
        enfopriority=-10,
        chckpriority=-10,
        sepafreq=1,
        propfreq=-1,
        eagerfreq=100,
        maxprerounds=0,
        delaysepa=False,
        delayprop=False,
        needscons=True,
    )
    search.model.addPyCons(search.model.createCons(handler, "acyclic"))
