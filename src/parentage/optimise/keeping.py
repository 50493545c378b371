"""What is known while a network is looked for, saved in a folder: a proof resumes after a kill.

The state of a run is its incumbent and its cuts (:meth:`.run.Run.to_state`), in one file,
``solving-0.json``, replaced in one step; further runs that a bound needs have further numbers. A
run that resumes begins from both: bounds, removed sets and nodes of a tree are made again. The
order search and dynamic programming begin anew.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from parentage.optimise.run import from_state
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
    from pathlib import Path

    from parentage.optimise.cuts import Cut
    from parentage.optimise.run import Run
    from parentage.optimise.settings import Optimising
    from parentage.scoring.account import Limit
    from parentage.scoring.constraints import Constraints
    from parentage.scoring.lists import CandidateLists
    from parentage.work.context import Places

FORMAT = 3
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
        keeper = Keeper(path, json.loads(json.dumps(job)), lists)
        if self.resume:
            keeper.read(strict=number == 0)
        return keeper


class Keeper:
    """Keeps one run in one file."""

    def __init__(self, path: Path, job: dict[str, Any], lists: CandidateLists) -> None:
        self.path, self.job, self.lists = path, job, lists
        self.orders: list[list[int]] = []
        self.cuts: list[Cut] = []
        self.pace = Pace(EVERY)

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
            order, self.cuts = from_state(json.loads(sealed.content), self.lists)
        except (*DAMAGE, IndexError) as error:
            raise unreadable(self.path, error) from None
        self.orders = [order]

    def tick(self, run: Run) -> None:
        """Write, if it is time to."""
        if self.pace.due():
            self.write(run)

    def write(self, run: Run) -> None:
        """Keep everything that is known."""
        began = time.perf_counter()
        text = json.dumps(run.to_state())
        sealed = Sealed(self.job, {}, text.encode())
        self.pace.keep(self.path.parent, lambda: write_sealed(self.path, FORMAT, sealed))
        self.pace.wrote(began)
