"""What is known while a network is looked for, kept in a folder: a proof goes on after a kill.

A checkpoint of the solver is a certificate that is not finished (:mod:`.proof_nodes`): nodes with
their rounds of cuts and multipliers, some of them open, and the incumbent; beside it the cuts that
the programmes had. It is one file, ``solving-0.json``, replaced in one step when it is on the disk
(:func:`parentage.scoring.checkpoint.write_synced`); further runs that a bound needs have further
numbers. A run that goes on goes through the steps again (:mod:`.replay`).

The order search and dynamic programming begin anew. Lists that have grown since, because more was
scored, are solved anew too, but from the incumbent and with the cuts, which hold for all networks.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from parentage.errors import InputError
from parentage.optimise.proof_nodes import NodeWriter
from parentage.optimise.replay import read_proof
from parentage.scoring.account import Account
from parentage.scoring.checkpoint import (
    DAMAGE,
    LISTS,
    Pace,
    Sealed,
    another_kind,
    begin_or_go_on,
    compare,
    read_sealed,
    unreadable,
    write_sealed,
)
from parentage.work.folder import SOLVING, holds_checkpoint, made_folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from parentage.optimise.cuts import Cut
    from parentage.optimise.replay import KeptPart, KeptProof
    from parentage.optimise.run import Part, Run
    from parentage.optimise.settings import Optimising
    from parentage.scoring.account import Limit
    from parentage.scoring.constraints import Constraints
    from parentage.scoring.lists import CandidateLists
    from parentage.work.context import Places

FORMAT = 2
EVERY = 1.0
"""Seconds between two writes at least."""


class Keeping:
    """The folder of a checkpoint, for the runs of one solution.

    Parameters
    ----------
    folder
        Where.
    resume
        Whether what is there is gone on with.
    source
        What is solved: the digest of a table or of lists, by its name.

    Raises
    ------
    InputError
        There is a checkpoint in the folder and ``resume`` is not set, or it is of something else.
    """

    def __init__(self, folder: Path, *, resume: bool, source: dict[str, Any]) -> None:
        self.folder, self.resume, self.source = folder, resume, source
        self.runs = 0
        if "table" not in source:  # otherwise scoring has looked already
            begin_or_go_on(folder, resume=resume)
            if holds_checkpoint(folder) and not list(folder.glob(SOLVING)):
                raise another_kind(folder, "a table", LISTS)
        made_folder(folder, resume=True)

    @classmethod
    def of(
        cls, places: Places | None, lists: CandidateLists, *, from_table: bool
    ) -> Keeping | None:
        """Return what keeps the solution of lists; None where nothing is to be kept."""
        if places is None or places.checkpoint is None:
            return None
        source = {"lists": lists.digest}
        if from_table and isinstance(lists.account, Account):
            source = {"table": lists.account.data}
        return cls(places.checkpoint, resume=places.resume, source=source)

    def keeper(
        self,
        lists: CandidateLists,
        settings: Optimising,
        max_parents: Limit,
        constraints: Constraints | None,
    ) -> Keeper:
        """Return what keeps the next run, with what an earlier one has kept."""
        from parentage import __version__
        from parentage.scoring.constraints import Constraints as Known

        job = {
            **self.source,
            "variables": lists.n_variables,
            "max_parents": max_parents,
            "constraints": (constraints or Known()).to_dict(),
            "engine": settings.engine,
            "seed": settings.seed,
            "version": __version__,
        }
        number = self.runs
        self.runs += 1
        path = self.folder / SOLVING.replace("*", str(number))
        keeper = Keeper(path, json.loads(json.dumps(job)), lists.digest)
        if self.resume:
            keeper.read(strict=number == 0)
        return keeper


class Keeper:
    """Keeps one run in one file."""

    def __init__(self, path: Path, job: dict[str, Any], digest: str) -> None:
        self.path, self.job, self.digest = path, job, digest
        self.known: KeptProof | None = None
        self.same_lists = False
        self.pace = Pace(EVERY)
        self._writer = _PartialWriter()

    # Back

    def read(self, *, strict: bool) -> None:
        """Read what an earlier run kept, if it did; ``strict`` refuses another job."""
        sealed = read_sealed(self.path, FORMAT)
        if sealed is None:
            return
        if strict:
            compare(self.path.parent, sealed.job, self.job)
        elif sealed.job != self.job:
            return
        try:
            self.known = read_proof(json.loads(sealed.content))
            self.same_lists = sealed.facts["lists"] == self.digest
        except InputError:
            raise
        except (*DAMAGE, IndexError) as error:
            raise unreadable(self.path, error) from None

    def order(self) -> list[list[int]]:
        """Return an order that the incumbent of an earlier run respects, if there was one."""
        from parentage.network.network import topological_order

        if self.known is None:
            return []
        parents = self.known.parents
        return [list(topological_order([str(v) for v in range(len(parents))], parents))]

    def cuts(self) -> list[Cut]:
        """Return the cuts of an earlier run of other lists: its proof does not help here."""
        return [] if self.known is None or self.same_lists else self.known.cuts()

    def of(self, part: Part) -> KeptPart | None:
        """Return what an earlier run knew of a part."""
        if self.known is None or not self.same_lists:
            return None
        return self.known.of(part.problem.variables)

    # Forward

    def tick(self, run: Run) -> None:
        """Write, if it is time to."""
        if self.pace.due():
            self.write(run)

    def write(self, run: Run) -> None:
        """Keep everything that is known."""
        began = time.perf_counter()
        text = json.dumps(self._writer.proof(run, self.known), separators=(",", ":"))
        sealed = Sealed(self.job, {"lists": self.digest}, text.encode())
        self.pace.keep(self.path.parent, lambda: write_sealed(self.path, FORMAT, sealed))
        self.pace.wrote(began)


class _PartialWriter(NodeWriter):
    """Writes a proof as far as it is, with what an earlier run knew of parts not yet begun."""

    def __init__(self) -> None:
        super().__init__(lambda part: 0, lambda y: y.tolist())
        self._carried: dict[int, int] = {}
        self._known: Mapping[str, Any] = {}

    def proof(self, run: Run, known: KeptProof | None) -> dict[str, Any]:
        """Return what is known of a run."""
        self._known = {} if known is None else known.content
        parents = [run.lists.parents_of(i).tolist() for i in run.chosen().tolist()]
        nodes = self.write(run.parts)
        return {"parents": parents, "cuts": self.cuts, "nodes": nodes}

    def _part(self, written: dict[str, Any], part: Part) -> None:
        if part.kept is not None and not part.closed_by:
            self._carry(written, part.kept.number)
            return
        super()._part(written, part)
        if part.root is not None and "steps" in written:
            pool = part.pool if part.programme is None else part.programme.cuts
            written["pool"] = [self.number(cut, part) for cut in pool]

    def _carry(self, written: dict[str, Any], number: int) -> None:
        """Copy a node of an earlier run, and all below it."""
        waiting = [(written, number)]
        while waiting:
            to, at = waiting.pop()
            node = self._known["nodes"][at]
            for name, content in node.items():
                to[name] = content
            if "steps" in node:
                to["steps"] = [self._carried_step(step) for step in node["steps"]]
            if "pool" in node:
                to["pool"] = [self._carried_cut(cut) for cut in node["pool"]]
            below: list[int] = []
            if "branch" in node:
                u, v, *below = node["branch"]
                to["branch"] = [u, v, *self._reserve(len(below))]
                waiting += self._pairs(to["branch"][2:], below)
            if "split" in node:
                below = [entry[2] for entry in node["split"]]
                numbers = self._reserve(len(below))
                to["split"] = [
                    [*entry[:2], new] for entry, new in zip(node["split"], numbers, strict=True)
                ]
                waiting += self._pairs(numbers, below)

    def _reserve(self, count: int) -> list[int]:
        """Make room for nodes; return their numbers."""
        first = len(self.nodes)
        self.nodes += [{} for _ in range(count)]
        return list(range(first, first + count))

    def _pairs(self, new: list[int], old: list[int]) -> list[tuple[dict[str, Any], int]]:
        return [(self.nodes[i], j) for i, j in zip(new, old, strict=True)]

    def _carried_step(self, step: list[Any]) -> list[Any]:
        if step[0] != "round":
            return step
        return ["round", [self._carried_cut(cut) for cut in step[1]], step[2]]

    def _carried_cut(self, number: int) -> int:
        if number not in self._carried:
            self._carried[number] = len(self.cuts)
            self.cuts.append(self._known["cuts"][number])
        return self._carried[number]
