r"""Structural expectation maximisation: the best network of a table with holes, step by step.

Friedman (1997, 1998). With a network and parameters at hand,

1. *Expectation*: every row that lacks cells becomes its completions, weighted by their posterior
   (:mod:`parentage.network.expectation`); weights are whole multiples of 2^−b of a row
   (:mod:`parentage.scoring.encoding.rows`);
2. *Maximisation*: the completed data are scored and the network that is best on them found, with
   proof; then parameters of that network that maximise the likelihood of what is observed.

Each step makes the penalised likelihood of the observed cells grow (up to the rounding of
weights), so no network comes back but the last: the method ends when the best network on the
completed data is the one that completed them. That is what is proved: it is the best for *these*
completions; another start may end elsewhere. There are two, which need no completion: the optimum
under the node-average likelihood (``pnal``) with its own penalty, and with that of the score. What
is kept is the end at which the penalised likelihood of the observed cells is larger.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parentage.data.table import MISSING, Table
from parentage.files.decoding import decoded
from parentage.network.expectation import Expectation, completed_rows
from parentage.network.network import Network
from parentage.optimise import Start, optimise_lists
from parentage.optimise.settings import Optimising
from parentage.scoring.account import Completion, EmStep, limits_by_name
from parentage.scoring.candidates import score_table
from parentage.scoring.constraints import Constraints
from parentage.scoring.encoding.rows import WeightedTable
from parentage.scoring.prior import Prior
from parentage.scoring.scores import Penalised, parse_score, unit_of
from parentage.scoring.scores.node_average import check_observed
from parentage.scoring.search.plan import check_weighable
from parentage.work.checkpoint import COMPLETION, SavedState
from parentage.work.stop import MOMENT, now

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from parentage.optimise import Solution
    from parentage.scoring.lists import CandidateLists
    from parentage.scoring.settings import Scoring
    from parentage.work.checkpoint import Slot
    from parentage.work.context import Context
    from parentage.work.stop import Stop

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]

MOST_STEPS = 50
SHARE_OF_ORDERS = 0.2
"""The share of the time left that one step of the engine ``orders`` may take under a time limit:
that engine would take all of it, and no step would follow."""
FEW_PARENTS = 2
"""Of the second start: it is only a start, and has to be found soon."""
SAME_END = 1e-4
"""Two ways to one network end this near to each other: parameters are iterated, too."""
MOST_UNITS = 2**24
"""Units that all rows together may have: so many numbers are tabulated."""
MOST_BITS, FEWEST_BITS = 10, 4


@dataclass(frozen=True)
class Work:
    """What every step needs; ``numbers`` are those of the rows in the table as it was read."""

    table: Table
    numbers: Ints
    settings: Scoring
    optimising: Optimising
    context: Context
    progress: EmProgress

    @property
    def stop(self) -> Stop:
        """When to end."""
        return self.context.stop

    def solve(
        self, table: Table, settings: Scoring, start: Network | None = None
    ) -> tuple[CandidateLists, Solution]:
        """Score a table and find its best network, from ``start`` on: none that is worse."""
        lists = score_table(table, settings, self.context.share(0.5))
        alone, context = self.optimising.engine == "orders", self.context.unsaved()
        solution = optimise_lists(
            lists,
            self.optimising,
            context.share(SHARE_OF_ORDERS) if alone else context,
            max_parents=settings.max_parents,
            constraints=settings.constraints,
            start=Start(start),
        )
        return lists, solution


@dataclass(frozen=True)
class Iterate:
    """Where the iteration from one start is: ``network`` completes the data next."""

    network: Network
    before: Network | None = None
    steps: tuple[EmStep, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; :meth:`from_dict` is the way back."""
        return {
            "network": _to_dict(self.network),
            "before": None if self.before is None else _to_dict(self.before),
            "steps": [asdict(step) for step in self.steps],
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Iterate:
        """Read what :meth:`to_dict` returned."""
        before = content["before"]
        return cls(
            _network(content["network"]),
            None if before is None else _network(before),
            tuple(EmStep(**step) for step in content["steps"]),
        )


@dataclass(frozen=True)
class End:
    """Where the iteration from one start ended: ``network`` is best on data it completed.

    ``found`` are the lists, the solution and the completed data; None in a resumed run.
    """

    completed_by: Network
    network: Network
    completion: Completion
    found: tuple[CandidateLists, Solution, Table] | None = field(default=None, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, but for what was found."""
        return {
            "completed_by": _to_dict(self.completed_by),
            "network": _to_dict(self.network),
            "completion": self.completion.to_dict(),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> End:
        """Read what :meth:`to_dict` returned."""
        return cls(
            _network(content["completed_by"]),
            _network(content["network"]),
            decoded(Completion, content["completion"]),
        )


class EmProgress:
    """What was done so far, saved in the slot of a checkpoint if there is one.

    Parameters, lists and proofs follow from a network and the table, the same whenever they are
    made. So a resumed run needs no more than the networks: it repeats the step that was cut short,
    and makes an end again by its last step.
    """

    def __init__(self, slot: Slot | None = None) -> None:
        self.slot = slot
        self.ends: list[End] = []
        self.at: Iterate | None = None
        self._saved = False  # an empty state is saved as well
        if slot is not None and slot.state is not None:
            with slot.reading():
                self.from_state(slot.state)

    def move(self, at: Iterate) -> None:
        """Note which network completes next, and save it if a write is due."""
        self.at, self._saved = at, False
        if self.slot is not None and self.slot.due():
            self.save()

    def end(self, end: End) -> None:
        """Note where a start ended, and save it if a write is due."""
        self.ends.append(end)
        self.at, self._saved = None, False
        if self.slot is not None and self.slot.due():
            self.save()

    def save(self) -> None:
        """Save what was noted, if it is not saved yet."""
        if self.slot is not None and not self._saved:
            self._saved = self.slot.write(self.to_state)

    def to_state(self) -> SavedState:
        """Return the ends of earlier starts, and where this one is."""
        at = None if self.at is None else self.at.to_dict()
        return SavedState({"ends": [end.to_dict() for end in self.ends], "at": at})

    def from_state(self, state: SavedState) -> None:
        """Continue from what an earlier run saved."""
        self.ends = [End.from_dict(end) for end in state.values["ends"]]
        at = state.values["at"]
        self.at, self._saved = None if at is None else Iterate.from_dict(at), True


def _to_dict(network: Network) -> dict[str, Any]:
    return {"names": list(network.names), "parents": [list(above) for above in network.parents]}


def _network(content: Mapping[str, Any]) -> Network:
    return Network(tuple(content["names"]), tuple(tuple(above) for above in content["parents"]))


def _slot(
    context: Context,
    table: Table,
    settings: Scoring,
    optimising: Optimising,
    start: Network | None,
) -> Slot | None:
    """Return where progress is saved; None without a checkpoint.

    Raises
    ------
    InputError
        The checkpoint is of another job.
    """
    if context.checkpoint is None:
        return None
    limit, rules = settings.max_parents, settings.rules
    job = {
        "kind": COMPLETION,
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
        "start": None if start is None else _to_dict(start),
    }
    context.checkpoint.claim(job)
    return context.checkpoint.slot("em")


class Completed(NamedTuple):
    """The data completed last, their lists, and the best network on them."""

    lists: CandidateLists
    solution: Solution
    table: Table


def complete_and_score(
    table: Table,
    settings: Scoring,
    context: Context,
    *,
    optimising: Optimising | None = None,
    start: Network | None = None,
) -> Completed:
    """Iterate until the network repeats; return the lists of the data completed by it.

    Their account is that of the table with its holes, and has the steps. The solution is that of
    these lists: where the iteration was ended before the network repeated, its proof speaks of data
    that the network before completed. Every step is solved with the settings ``optimising``. What
    is done is saved in the checkpoint of the context; levels that do not fit into memory go to its
    folder for exchange.

    Raises
    ------
    InputError
        A score that is not proved for expected counts; a checkpoint of another job.
    ResourceError
        A row with too many completions, known before the first step of its network.
    """
    score = check_weighable(parse_score(settings.score))
    check_observed(table)
    seen = np.zeros(table.stored_rows, np.bool_)
    for v in range(table.n_variables):
        seen |= table.column(v) != MISSING
    rows = table.chosen_rows(seen)
    numbers = np.flatnonzero(seen)
    optimising = optimising or Optimising()
    work = Work(
        rows,
        numbers,
        settings,
        optimising,
        context.unsaved(),
        EmProgress(_slot(context, table, settings, optimising, start)),
    )
    try:
        lists, solution, completed, completion = _best_end(work, score, start)
    finally:
        work.progress.save()
    account = replace(
        lists.known(),
        rows=table.n_rows,
        data=table.digest,
        recipe=table.recipe,
        missing_cells=tuple(int(n) for n in table.missing_cells),
        completion=replace(completion, empty_rows=table.rows_in(~seen)),
    )
    lists, proof = replace(lists, account=account), solution.certificate
    found = replace(
        solution,
        scope=replace(solution.scope, origin=account),
        certificate=None if proof is None else replace(proof, lists=lists),
    )
    return Completed(lists, found.with_gains(lists, completed), completed)


def _best_end(
    work: Work, score: Penalised, start: Network | None
) -> tuple[CandidateLists, Solution, Table, Completion]:
    """Iterate from the start that was given, or from both of our own; return the better end."""
    if start is not None:
        return _found(work, _end_of(work, 0, lambda: start, score))
    first = start_settings(work.settings)
    began = now()
    best = _end_of(work, 0, lambda: _started(work, first), score)
    took = now() - began
    if work.stop.reason() is not None or took > work.stop.seconds_left:
        return _found(work, best)
    own = score.weight(work.table) / work.table.n_rows
    second = replace(first, score=f"pnal:{own!r}", max_parents=_few_parents(work))
    other = _end_of(work, 1, lambda: _started(work, second), score, best.network)
    mine, theirs = best.completion, other.completion
    if (theirs.settled, theirs.reached - SAME_END) > (mine.settled, mine.reached):
        best = other
    return _found(work, replace(best, completion=replace(best.completion, starts=2)))


def _found(work: Work, end: End) -> tuple[CandidateLists, Solution, Table, Completion]:
    """Return lists, solution and data at an end; after a break its last step makes them again."""
    if end.found is not None:
        return *end.found, end.completion
    theta, _ = _parameters(work, end.completed_by)
    bits = end.completion.bits
    completed = completed_table(end.completed_by, work.table, theta, bits, work.numbers)
    lists, solution = work.solve(completed, work.settings, end.network)
    settled = end.completion.settled and work.stop.reason() is None
    return lists, solution, completed, replace(end.completion, settled=settled)


def start_settings(settings: Scoring) -> Scoring:
    """Return how the network to begin with is scored: on the rows where a family is complete."""
    return replace(settings, score="pnal", width=None, rules=None)


def _started(work: Work, settings: Scoring) -> Network:
    """Return a network to begin with, found in half of the time that is left."""
    work = replace(work, context=work.context.share(0.5))
    return work.solve(work.table, settings)[1].network


def _few_parents(work: Work) -> dict[str, int]:
    """Return limits for a start under a light penalty, which by itself ends no search."""
    required = () if work.settings.constraints is None else work.settings.constraints.required
    forced = Counter(child for _, child in required)
    few = {name: max(FEW_PARENTS, forced[name]) for name in work.table.names}
    asked = limits_by_name(work.table.names, work.settings.max_parents)
    return {name: min(most, asked.get(name, most)) for name, most in few.items()}


def _end_of(
    work: Work,
    number: int,
    start: Callable[[], Network],
    score: Penalised,
    known: Network | None = None,
) -> End:
    """Return where the start of this number ends; nothing is done twice because of a break."""
    progress = work.progress
    if number < len(progress.ends):
        return progress.ends[number]
    at = progress.at
    if at is None:
        at = Iterate(start())
        if work.stop.reason() is None:
            progress.move(at)
    return _iterate(work, at, score, known)


def _iterate(work: Work, at: Iterate, score: Penalised, known: Network | None = None) -> End:
    """Complete and learn until the network repeats or there is no time left.

    A step that is cut short does not count when there was one before: its lists would be worse. So
    none is begun for which the time will not do, if it takes as long as the one before; nor is one
    kept: after a break it is done again. What comes to an end that is ``known`` goes no further;
    nor does a network that repeats unproven, because the settings ask for no proof.

    Another network may score as much on the completed data as the one that completed them. If it
    completes them differently, its own completions are tried next: the answer is to be the best
    network on data that it completed itself. If that leads back to a network that was tried, the
    iteration ends without having settled.
    """
    bits, unit = bits_for(work.table.n_rows), unit_of(work.settings.log_base)
    prior = Prior.of(work.settings.prior)
    network, before, steps = at.network, at.before, list(at.steps)
    tried: set[Network] = set()
    last: End | None = None
    while True:
        began = now()
        theta, likelihood = _parameters(work, network)
        cut = work.stop.is_over()
        if cut and last is not None:
            return last
        completed = completed_table(network, work.table, theta, bits, work.numbers)
        lists, solution = work.solve(completed, work.settings, network)
        stopped = work.stop.reason() is not None
        if last is not None and not lists.account.complete and stopped:
            return last
        steps.append(
            EmStep(
                network.n_arcs,
                0 if before is None else _changes(before, network),
                likelihood,
                (likelihood + prior.log_odds_of(network.arcs) - _price(network, work.table, score))
                / unit,
                solution.score,
                solution.optimal,
            )
        )
        best = not cut and solution.optimal and _is_best(network, lists, solution)
        settled = best and _completes_alike(network, solution.network)
        completion = Completion(tuple(steps), settled, bits, completed.stored_rows)
        last = End(network, solution.network, completion, (lists, solution, completed))
        if stopped:
            return last
        tried.add(network)
        again = solution.network in (known, network) or (best and solution.network in tried)
        if settled or again or len(steps) == MOST_STEPS:
            work.progress.end(last)
            return last
        before, network = network, solution.network
        work.progress.move(Iterate(network, before, tuple(steps)))
        if now() - began > work.stop.seconds_left:
            return last


def bits_for(n_rows: int) -> int:
    """Return how finely rows can be divided: fewer bits for more rows.

    >>> bits_for(1000), bits_for(100_000), bits_for(10_000_000)
    (10, 7, 4)
    """
    return max(FEWEST_BITS, min(MOST_BITS, int(math.log2(max(MOST_UNITS / n_rows, 1)))))


def _parameters(work: Work, network: Network) -> tuple[Floats, float]:
    """Return the parameters of greatest likelihood, or those reached in time; and that."""
    expected = Expectation.of_table(network, work.table, numbers=work.numbers)
    context = work.context.ending(work.stop.leaving(MOMENT))
    return expected.maximised(np.zeros_like(expected.known), context)


def _changes(one: Network, other: Network) -> int:
    comparison = other.compare(one)
    return len(comparison.added) + len(comparison.missing) + len(comparison.reversed)


def _price(network: Network, table: Table, score: Penalised) -> float:
    """Return the penalty of a network: of all families but those of constant columns alone."""
    constant = set(table.constant)
    return math.fsum(
        score.price(table, table.index(name), [table.index(p) for p in network.parents_of(name)])
        for name in network.names
        if network.parents_of(name) or name not in constant
    )


def _completes_alike(network: Network, other: Network) -> bool:
    """Whether two networks complete data alike: equivalent ones have the same distributions."""
    return network == other or network.equivalence_class() == other.equivalence_class()


def _is_best(network: Network, lists: CandidateLists, solution: Solution) -> bool:
    """Whether a network scores as much on these lists as the best one."""
    if network == solution.network:
        return True
    total = 0.0
    for name in network.names:
        parents = frozenset(network.parents_of(name))
        score = lists.subsets_of(name, parents).get(parents)
        if score is None:
            return False
        total += score
    return total >= solution.score - lists.known().tolerance


def completed_table(
    network: Network, table: Table, theta: Floats, bits: int, numbers: Ints | None = None
) -> WeightedTable:
    """Complete a table: every row as its completions, weighted by their posterior.

    The weights of a row are its posterior in units of 2^−bits, rounded so that they sum to the row:
    each down, and what is left to those that lost most.
    """
    expected = Expectation.of_table(network, table, every_cell=True, numbers=numbers)
    found = completed_rows(expected, theta, 1 << bits)
    order = [network.index(name) for name in table.names]
    return WeightedTable(
        table.names,
        table.states,
        np.ascontiguousarray(found.codes[order]),
        table.cuts,
        repeats=found.weights.astype(np.uint32),
        bits=bits,
    )
