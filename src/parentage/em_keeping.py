"""What structural expectation maximisation has done, kept in a folder: it goes on after a kill.

Kept after a step, as often as it takes little of the time, in the ``state.json`` of a checkpoint
(:mod:`parentage.scoring.checkpoint`): the network that completes next, the one before, the steps so
far, and where starts before this one have ended. Parameters, lists and proofs follow from a network
and the table, the same whenever they are made; so nothing else is needed to go on with the step
that was cut, and an end that is asked for after all is made again by its last step.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from parentage.network.network import Network
from parentage.scoring.checkpoint import DAMAGE, Checkpoint, Pace, unreadable
from parentage.scoring.completion import Completion, EmStep
from parentage.scoring.constraints import Constraints
from parentage.scoring.prior import Prior
from parentage.work.folder import STATE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parentage.data.table import Table
    from parentage.optimise import Solution
    from parentage.optimise.settings import Optimising
    from parentage.scoring.lists import CandidateLists
    from parentage.scoring.settings import Scoring
    from parentage.work.context import Places

KEY = "completion"
"""What a checkpoint calls this, where it has numbers of searches otherwise."""


@dataclass(frozen=True)
class Standing:
    """Where the way from one start is: which network completes next."""

    network: Network
    before: Network | None = None
    steps: tuple[EmStep, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; :meth:`from_dict` is the way back."""
        return {
            "network": _written(self.network),
            "before": None if self.before is None else _written(self.before),
            "steps": [asdict(step) for step in self.steps],
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Standing:
        """Read what :meth:`to_dict` returned."""
        before = content["before"]
        return cls(
            _read(content["network"]),
            None if before is None else _read(before),
            tuple(EmStep(**step) for step in content["steps"]),
        )


@dataclass(frozen=True)
class End:
    """Where the way from one start ended: who completed the data, and what is best on them.

    ``found`` are their lists, the solution and the completed data; None after a break.
    """

    completed_by: Network
    network: Network
    completion: Completion
    found: tuple[CandidateLists, Solution, Table] | None = field(default=None, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, but for what was found."""
        return {
            "completed_by": _written(self.completed_by),
            "network": _written(self.network),
            "completion": self.completion.to_dict(),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> End:
        """Read what :meth:`to_dict` returned."""
        return cls(
            _read(content["completed_by"]),
            _read(content["network"]),
            Completion.from_dict(content["completion"]),
        )


def _written(network: Network) -> dict[str, Any]:
    return {"names": list(network.names), "parents": [list(above) for above in network.parents]}


def _read(content: Mapping[str, Any]) -> Network:
    return Network(tuple(content["names"]), tuple(tuple(above) for above in content["parents"]))


class EmKeeper:
    """Keeps the way so far, in a checkpoint if there is one, with that of an earlier run."""

    def __init__(self, checkpoint: Checkpoint | None = None) -> None:
        self.checkpoint = checkpoint
        self.ends: list[End] = []
        self.standing: Standing | None = None
        self.pace = Pace(0.0)
        self._written = False  # nothing is something to keep, too: the folder is of this job then
        if checkpoint is not None and KEY in checkpoint.searches:
            self._read(checkpoint.searches[KEY], checkpoint)

    @classmethod
    def of(
        cls,
        places: Places | None,
        table: Table,
        settings: Scoring,
        optimising: Optimising,
        start: Network | None,
    ) -> EmKeeper:
        """Return what keeps the way to the best network of a table with holes.

        Raises
        ------
        InputError
            The folder is not new and nothing is to be gone on with, or it is of another job.
        """
        if places is None or places.checkpoint is None:
            return cls()
        job = _job(table, settings, optimising, start)
        return cls(Checkpoint(places.checkpoint, job, resume=places.resume))

    def stand(self, standing: Standing) -> None:
        """Note which network completes next, and write it if it is time to."""
        self.standing, self._written = standing, False
        if self.pace.due():
            self.write()

    def end(self, end: End) -> None:
        """Note where a start ended."""
        self.ends.append(end)
        self.standing, self._written = None, False
        if self.pace.due():
            self.write()

    def write(self) -> None:
        """Keep what was noted, if it is not kept yet."""
        if self.checkpoint is None or self._written:
            return
        began = time.perf_counter()
        state = {
            "ends": [end.to_dict() for end in self.ends],
            "standing": None if self.standing is None else self.standing.to_dict(),
        }
        checkpoint = self.checkpoint
        self._written = self.pace.keep(checkpoint.folder, lambda: checkpoint.write(KEY, state))
        self.pace.wrote(began)

    def _read(self, state: Mapping[str, Any], checkpoint: Checkpoint) -> None:
        try:
            self.ends = [End.from_dict(end) for end in state["ends"]]
            if state["standing"] is not None:
                self.standing = Standing.from_dict(state["standing"])
            self._written = True
        except DAMAGE as error:
            raise unreadable(checkpoint.folder / STATE, error) from None


def _job(
    table: Table, settings: Scoring, optimising: Optimising, start: Network | None
) -> dict[str, Any]:
    """Say what is done: what a checkpoint has to be of to be gone on with."""
    from parentage import __version__

    limit, rules = settings.max_parents, settings.rules
    return {
        "missing": "em",
        "table": table.digest,
        "rows": table.n_rows,
        "variables": table.n_variables,
        "score": settings.score,
        "log_base": settings.log_base,
        "rules": rules if rules is None or isinstance(rules, str) else list(rules),
        "max_parents": limit if limit is None or isinstance(limit, int) else dict(limit),
        "width": settings.width,
        "prior": Prior.of(settings.prior).to_dict(),
        "constraints": (settings.constraints or Constraints()).to_dict(),
        **asdict(optimising),
        "start": None if start is None else _written(start),
        "version": __version__,
    }
