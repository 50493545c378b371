r"""Structural expectation maximisation: the best network of data with missing values, step by step.

Friedman (1997, 1998). With a network and parameters at hand,

1. *Expectation*: every row that lacks cells becomes its completions, weighted by their posterior
   (:mod:`parentage.network.expectation`); weights are whole multiples of 2^−b of a row
   (:mod:`parentage.scoring.encoding`);
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
from typing import TYPE_CHECKING, Any

import numpy as np

from parentage.data.table import MISSING, Table
from parentage.files.decoding import decoded, fields_in, plain
from parentage.network.expectation import Expectation, completed_rows
from parentage.network.network import Network
from parentage.optimise import Start, optimise_lists
from parentage.optimise.settings import Optimising
from parentage.scoring.account import Completion, EmStep, limits_by_name
from parentage.scoring.candidates import job_of, score_table
from parentage.scoring.constraints import Prior
from parentage.scoring.scores import Penalised, parse_score, unit_of
from parentage.scoring.scores.node_average import check_observed
from parentage.scoring.search.plan import check_weighable
from parentage.work.checkpoint import COMPLETION, SavedState
from parentage.work.stop import MOMENT, now

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from parentage.arrays import Floats, Ints
    from parentage.optimise import Solution
    from parentage.scoring.settings import Scoring
    from parentage.work.checkpoint import Slot
    from parentage.work.context import Context

MOST_STEPS = 50
SHARE_OF_ORDERS = 0.2
"""The share of the time left that one step of the engine ``orders`` may take under a time limit:
that engine would take all of it, and no step would follow."""
FEW_PARENTS = 2
"""Parents per variable in the network of the second start, which has to be found soon."""
SAME_END = 1e-4
"""Likelihoods of one network reached in two ways differ by at most this: its parameters are
iterated, too."""
MOST_UNITS = 2**24
"""Units that all rows together may have: as many numbers are tabulated."""
MOST_BITS, FEWEST_BITS = 10, 4


@dataclass(frozen=True)
class Iterate:
    """Where the iteration from one start is: after ``tried``, ``network`` is the best one.

    It completes the data next, or it is the end. ``found`` is None in a resumed run.
    """

    network: Network
    tried: tuple[Network, ...] = ()
    """The networks that completed the data so far, in turn."""
    completion: Completion | None = None
    """The steps so far; None before the first."""
    found: Solution | None = field(default=None, compare=False)
    """That network, with the data completed last as its table."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, but for what was found; :meth:`from_dict` is the way back."""
        return fields_in(replace(self, found=None))

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Iterate:
        """Read what :meth:`to_dict` returned."""
        completion = content["completion"]
        return cls(
            Network.from_parents(content["network"]),
            tuple(map(Network.from_parents, content["tried"])),
            None if completion is None else decoded(Completion, completion),
        )


def complete_and_score(
    table: Table,
    settings: Scoring,
    context: Context,
    *,
    optimising: Optimising | None = None,
    start: Network | None = None,
) -> Solution:
    """Iterate until the network repeats; return the best network on the data completed by it.

    These data are its table, and its lists are theirs; their account is that of the table with
    missing values, and has the steps. Where the iteration was ended before the network repeated,
    the proof speaks of data that the network before completed. Every step is solved with the
    settings ``optimising``.
    What is done is saved in the checkpoint of the context; levels that do not fit into memory go to
    its folder for exchange.

    Raises
    ------
    InputError
        A score that is not proved for expected counts; a checkpoint of another job.
    ResourceError
        A row with too many completions, known before the first step of its network.
    """
    work = StructuralEM(table, settings, optimising or Optimising(), context, start)
    try:
        found, completion = work.best_end()
    finally:
        work.save()
    account = replace(
        found.lists.known(),
        rows=table.n_rows,
        data=table.digest,
        recipe=table.recipe,
        missing_cells=tuple(int(n) for n in table.missing_cells),
        completion=replace(completion, empty_rows=table.n_rows - work.table.n_rows),
    )
    lists, proof = replace(found.lists, account=account), found.certificate
    found = replace(
        found,
        lists=lists,
        scope=replace(found.scope, origin=account),
        certificate=None if proof is None else replace(proof, lists=lists),
    )
    return found if found.table is None else found.with_gains(found.table)


class StructuralEM:
    """The iteration from one start or two, and what was done so far.

    With a checkpoint the latter is saved in a slot. Parameters, lists and proofs follow from a
    network and the table, the same whenever they are made. So a resumed run needs no more than the
    networks: it repeats the step that was cut short, and makes an end again by its last step.

    Raises
    ------
    InputError
        A score that is not proved for expected counts; a checkpoint of another job.
    """

    def __init__(
        self,
        table: Table,
        settings: Scoring,
        optimising: Optimising,
        context: Context,
        start: Network | None,
    ) -> None:
        self.score = check_weighable(parse_score(settings.score))
        check_observed(table)
        seen = np.zeros(table.stored_rows, np.bool_)
        for v in range(table.n_variables):
            seen |= table.column(v) != MISSING
        self.table, self.numbers = table.chosen_rows(seen), np.flatnonzero(seen)
        self.settings, self.optimising, self.start = settings, optimising, start
        self.context, self.stop = context.unsaved(), context.stop
        self.ends: list[Iterate] = []
        self.at: Iterate | None = None
        self._saved = False  # an empty state is saved as well
        self._slot: Slot | None = None
        if context.checkpoint is not None:
            began = None if start is None else start.to_dict()
            job = job_of(COMPLETION, table, settings)
            context.checkpoint.claim({**job, **asdict(optimising), "start": began})
            self._slot = context.checkpoint.slot("em")
            if self._slot.state is not None:
                with self._slot.reading():
                    self.from_state(self._slot.state)

    def to_state(self) -> SavedState:
        """Return the ends of earlier starts, and where this one is."""
        return SavedState({"ends": plain(self.ends), "at": plain(self.at)})

    def from_state(self, state: SavedState) -> None:
        """Continue from what an earlier run saved."""
        self.ends = [Iterate.from_dict(end) for end in state.values["ends"]]
        at = state.values["at"]
        self.at, self._saved = None if at is None else Iterate.from_dict(at), True

    def save(self) -> None:
        """Save what was noted, if it is not saved yet."""
        if self._slot is not None and not self._saved:
            self._saved = self._slot.write(self.to_state)

    def _note(self, at: Iterate | None) -> None:
        """Note where this start is, None at its end; save it if a write is due."""
        self.at, self._saved = at, False
        if self._slot is not None and self._slot.due():
            self.save()

    def best_end(self) -> tuple[Solution, Completion]:
        """Iterate from the start that was given, or from both of our own; return the better end."""
        start = self.start
        if start is not None:
            return self._found(self._end_of(0, lambda: start))
        first = start_settings(self.settings)
        began = now()
        best = self._end_of(0, lambda: self._first_network(first))
        took = now() - began
        if self.stop.is_over() or took > self.stop.seconds_left:
            return self._found(best)
        own = self.score.weight(self.table) / self.table.n_rows
        second = replace(first, score=f"pnal:{own!r}", max_parents=self._few_parents())
        other = self._end_of(1, lambda: self._first_network(second), best.network)
        (_, mine), (_, theirs) = _last_step(best), _last_step(other)
        if (theirs.settled, theirs.reached - SAME_END) > (mine.settled, mine.reached):
            best = other
        found, completion = self._found(best)
        return found, replace(completion, starts=2)

    def _found(self, end: Iterate) -> tuple[Solution, Completion]:
        """Return what was found at an end; after a break its last step makes it again."""
        before, completion = _last_step(end)
        if end.found is not None:
            return end.found, completion
        theta, _ = self._parameters(before)
        completed = completed_table(before, self.table, theta, completion.bits, self.numbers)
        solution = self._solve(completed, self.settings, self.context, end.network)
        settled = completion.settled and not self.stop.is_over()
        return solution, replace(completion, settled=settled)

    def _solve(
        self,
        table: Table,
        settings: Scoring,
        context: Context,
        start: Network | None = None,
    ) -> Solution:
        """Score a table and find its best network, from ``start`` on: none that is worse."""
        lists = score_table(table, settings, context.share(0.5))
        alone = self.optimising.engine == "orders"
        solution = optimise_lists(
            lists,
            self.optimising,
            context.share(SHARE_OF_ORDERS) if alone else context,
            max_parents=settings.max_parents,
            constraints=settings.constraints,
            start=Start(start),
        )
        return replace(solution, table=table)

    def _first_network(self, settings: Scoring) -> Network:
        """Return a network to begin with, found in half of the time that is left."""
        return self._solve(self.table, settings, self.context.share(0.5)).network

    def _few_parents(self) -> dict[str, int]:
        """Return limits for a start under a light penalty, which by itself ends no search."""
        constraints, names = self.settings.constraints, self.table.names
        forced = Counter(child for _, child in constraints.required) if constraints else Counter()
        few = {name: max(FEW_PARENTS, forced[name]) for name in names}
        asked = limits_by_name(names, self.settings.max_parents)
        return {name: min(most, asked.get(name, most)) for name, most in few.items()}

    def _end_of(
        self, number: int, start: Callable[[], Network], known: Network | None = None
    ) -> Iterate:
        """Return where the start of this number ends; nothing is done twice because of a break."""
        if number < len(self.ends):
            return self.ends[number]
        at = self.at
        if at is None:
            at = Iterate(start())
            if not self.stop.is_over():
                self._note(at)
        return self._iterate(at, known)

    def _iterate(self, at: Iterate, known: Network | None = None) -> Iterate:
        """Complete and learn until the network repeats or there is no time left.

        A step that is cut short does not count when there was one before: its lists would be worse.
        So none is begun for which the time will not do, if it takes as long as the one before; nor
        is one kept: after a break it is done again. What comes to an end that is ``known`` goes no
        further; nor does a network that repeats unproven, because the settings ask for no proof.

        Another network may score as much on the completed data as the one that completed them. If
        it completes them differently, its own completions are tried next: the answer is to be the
        best network on data that it completed itself. If that leads back to a network that was
        tried, the iteration ends without having settled.
        """
        bits = bits_for(self.table.n_rows)
        network, tried = at.network, at.tried
        steps = [] if at.completion is None else list(at.completion.steps)
        last: Iterate | None = None
        while True:
            began = now()
            theta, likelihood = self._parameters(network)
            cut = self.stop.is_over()
            if cut and last is not None:
                return last
            completed = completed_table(network, self.table, theta, bits, self.numbers)
            solution = self._solve(completed, self.settings, self.context, network)
            stopped = self.stop.is_over()
            if last is not None and not solution.lists.account.complete and stopped:
                return last
            steps.append(
                EmStep(
                    network.n_arcs,
                    _changes(tried[-1], network) if tried else 0,
                    likelihood,
                    self._penalised(network, likelihood),
                    solution.score,
                    solution.optimal,
                )
            )
            best = not cut and solution.optimal and _is_best(network, solution)
            settled = best and _completes_alike(network, solution.network)
            completion = Completion(tuple(steps), settled, bits, completed.stored_rows)
            tried = (*tried, network)
            last = Iterate(solution.network, tried, completion, solution)
            if stopped:
                return last
            again = solution.network in (known, network) or (best and solution.network in tried)
            if settled or again or len(steps) == MOST_STEPS:
                self.ends.append(last)
                self._note(None)
                return last
            network = solution.network
            self._note(last)
            if now() - began > self.stop.seconds_left:
                return last

    def _parameters(self, network: Network) -> tuple[Floats, float]:
        """Return the parameters of greatest likelihood, or those reached in time; and that."""
        expected = Expectation.of_table(network, self.table, numbers=self.numbers)
        context = self.context.ending(self.stop.leaving(MOMENT))
        return expected.maximised(np.zeros_like(expected.known), context)

    def _penalised(self, network: Network, likelihood: float) -> float:
        """Return a likelihood less the penalty of its network, plus the log prior of its arcs."""
        odds = Prior.of(self.settings.prior).log_odds_of(network.arcs)
        price = _price(network, self.table, self.score)
        return (likelihood + odds - price) / unit_of(self.settings.log_base)


def _last_step(end: Iterate) -> tuple[Network, Completion]:
    """Return the network that completed the data of an end, and all steps."""
    if end.completion is None:
        raise AssertionError("an iteration ends after a step")
    return end.tried[-1], end.completion


def start_settings(settings: Scoring) -> Scoring:
    """Return how the network to begin with is scored: on the rows where a family is complete."""
    return replace(settings, score="pnal", width=None, rules=None)


def bits_for(n_rows: int) -> int:
    """Return how finely rows can be divided: fewer bits for more rows.

    >>> bits_for(1000), bits_for(100_000), bits_for(10_000_000)
    (10, 7, 4)
    """
    return max(FEWEST_BITS, min(MOST_BITS, int(math.log2(max(MOST_UNITS / n_rows, 1)))))


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


def _is_best(network: Network, solution: Solution) -> bool:
    """Whether a network scores as much on the lists of a solution as that one."""
    if network == solution.network:
        return True
    total = 0.0
    for name in network.names:
        parents = frozenset(network.parents_of(name))
        score = solution.lists.subsets_of(name, parents).get(parents)
        if score is None:
            return False
        total += score
    return total >= solution.score - solution.lists.known().tolerance


def completed_table(
    network: Network, table: Table, theta: Floats, bits: int, numbers: Ints | None = None
) -> Table:
    """Complete a table: every row as its completions, weighted by their posterior.

    The weights of a row are its posterior in units of 2^−bits, rounded so that they sum to the row:
    each down, and what is left to those that lost most.
    """
    expected = Expectation.of_table(network, table, every_cell=True, numbers=numbers)
    codes, weights = completed_rows(expected, theta, 1 << bits)
    order = [network.index(name) for name in table.names]
    return Table(
        table.names,
        table.states,
        np.ascontiguousarray(codes[order]),
        table.cuts,
        repeats=weights.astype(np.uint32),
        unit_bits=bits,
    )
