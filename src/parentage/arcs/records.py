"""How sure each arc is, as records and files: what is asked about, and the answers.

Every question starts from a :class:`Baseline`. A :class:`Support` has one :class:`ArcSupport` for
every arc of a network and for every other pair that the bootstrap or the near-optimal networks
join. A number that was not asked for, or that has no meaning for the arc, is None. Nothing here
computes.

Files are CSV, one line an arc, or JSON with everything. Spreadsheets take a cell that begins with
``=``, ``+``, ``-`` or ``@`` for a formula, whoever named the column. Names that begin so, or with a
tab or a line break, get an apostrophe in front; numbers are ours and stay numbers. JSON has the
names as they are.
"""

from __future__ import annotations

import json
import math
from dataclasses import astuple, dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from parentage.errors import InputError, Way, counted
from parentage.files.atomic import csv_text, extension_of, write_text
from parentage.files.decoding import fields_in, plain
from parentage.scoring.catalogue import is_log_posterior
from parentage.scoring.constraints import Constraints

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from parentage.data.table import Table
    from parentage.network.network import Network
    from parentage.optimise import Solution
    from parentage.optimise.near import NearOptimal
    from parentage.optimise.settings import Optimising
    from parentage.scoring.constraints import Arc
    from parentage.scoring.lists import CandidateLists
    from parentage.scoring.settings import Scoring
    from parentage.work.stop import Reason


@dataclass(frozen=True, eq=False)
class Baseline:
    """A table that was learned from, with everything that learning again can use.

    Parameters
    ----------
    table
        The data.
    lists
        Its candidate lists.
    scoring, optimising
        How they were made, and how networks are found.
    best
        The best network, proven or not; its cuts hold for every network of these variables.
    grown
        Whether the lists were cut short and grew around the network.
    """

    table: Table
    lists: CandidateLists
    scoring: Scoring
    optimising: Optimising
    best: Solution
    grown: bool = False

    @property
    def constraints(self) -> Constraints:
        """What is required and forbidden; nothing if nothing is."""
        return self.scoring.constraints or Constraints()

    @property
    def equivalent(self) -> bool:
        """Whether the score, with its prior, values equivalent networks alike."""
        return self.best.scope.equivalent is True

    @property
    def free(self) -> bool:
        """Whether every network equivalent to an allowed one is allowed and scores the same."""
        return self.equivalent and not self.constraints and self.scoring.max_parents is None


FILES = (".csv", ".json")
"""Extensions of the files that support is written to."""

AVERAGING = Way("bootstrap", 100, "to learn from 100 bootstrap samples")
"""What an averaged network needs."""


Label = Literal["firm", "open", "not known", "required"]
"""How well the data support a link, in one word; "required" where the constraints demand it."""


@dataclass(frozen=True)
class ArcSupport:
    """How sure one arc is.

    Parameters
    ----------
    parent, child
        The arc. For a pair that is not joined in the network, its more frequent direction.
    gain
        The score lost when this parent alone leaves its child, which keeps its other parents.
    need
        How far the best network without this adjacency, of all that were allowed, falls short of
        the optimum; proven to be at least this much.
    need_at_most
        The same from above: equal to ``need`` when both networks are proven best, larger when a
        limit ended the work.
    need_direction, need_direction_at_most
        The same for the best network in which the arc points the other way; only for arcs that are
        compelled.
    reversible
        Whether an equivalent network has the arc the other way; None where the score values
        equivalent networks differently, so that turning it is never free.
    adjacency
        Share of the bootstrap replicates in whose best network the two are adjacent.
    direction
        Among those replicates, the share with this direction; one half for a replicate whose
        equivalence class has both.
    in_near_optimal
        Share of the equivalence classes of near-optimal networks with a member that has the arc.
    near_weight
        Share of the posterior weight that the near-optimal networks with this arc have.
    near_adjacency
        The same for those in which the two are adjacent, whichever way.
    support
        Whether the link is firm, in one word (:func:`judged`); None for pairs outside the network,
        and if neither needs nor a bootstrap were requested.
    in_network
        Whether the network has this arc.
    """

    parent: str
    child: str
    gain: float | None = None
    need: float | None = None
    need_at_most: float | None = None
    need_direction: float | None = None
    need_direction_at_most: float | None = None
    reversible: bool | None = None
    adjacency: float | None = None
    direction: float | None = None
    in_near_optimal: float | None = None
    near_weight: float | None = None
    near_adjacency: float | None = None
    support: Label | None = None
    in_network: bool = True

    @property
    def arc(self) -> Arc:
        """The arc as ``(parent, child)``."""
        return self.parent, self.child

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by column."""
        return dict(zip(COLUMNS, astuple(self), strict=True))


COLUMNS = ("from", "to", *(field.name for field in fields(ArcSupport)[2:]))
"""Columns of the table that is written: both ends, then the other fields of an arc."""


@dataclass(frozen=True)
class PairShare:
    """How often two variables are adjacent in the bootstrap, and which way.

    Parameters
    ----------
    a, b
        The pair, in the order of the table.
    adjacency
        Share of the replicates that join them.
    forward
        Among those, the share of a → b; a replicate whose class has both directions counts half.
    compelled
        Among those, the share in which the direction is compelled.
    """

    a: str
    b: str
    adjacency: float
    forward: float
    compelled: float


@dataclass(frozen=True)
class Bootstrap:
    """What resampling the rows showed.

    Parameters
    ----------
    asked, done
        Replicates that were asked for, and that were learned before a limit or an interrupt.
    proven
        Of those, how many networks are proven to be the best of their replicate. Others are counted
        with the network that was found.
    seed
        Of the resampling: the same seed gives the same replicates, whatever the threads.
    scores
        Score of the best network of each replicate, in their order.
    pairs
        All pairs that some replicate joins, most frequent first.
    threshold
        Pairs joined more often than this are in the averaged network
        (:func:`parentage.arcs.resampling.inclusion_threshold`).
    averaged
        The averaged network's arcs.
    stopped
        Why not all replicates were done; None when they were.
    """

    asked: int
    done: int
    proven: int
    seed: int
    scores: tuple[float, ...]
    pairs: tuple[PairShare, ...]
    threshold: float
    averaged: tuple[Arc, ...]
    stopped: Reason | None = None

    @property
    def words(self) -> str:
        """Say how many replicates there are, and whether the bootstrap was stopped.

        >>> Bootstrap(200, 7, 7, 0, (), (), 0.5, (), "time").words
        'bootstrap stopped after 7 of 200 replicates'
        """
        if self.done < self.asked:
            return f"bootstrap stopped after {self.done:,} of {self.asked:,} replicates"
        return counted(self.done, "bootstrap replicate")

    @property
    def enough(self) -> bool:
        """Whether shares of replicates say something: all are there, or a fair number."""
        return self.done == self.asked or self.done >= FEWEST_REPLICATES

    @property
    def mean_score(self) -> float:
        """Mean score of the replicates' best networks."""
        return math.fsum(self.scores) / len(self.scores)

    @property
    def score_deviation(self) -> float | None:
        """Standard deviation of these scores; None for fewer than two."""
        if len(self.scores) < 2:
            return None
        mean = self.mean_score
        squares = math.fsum((score - mean) ** 2 for score in self.scores)
        return math.sqrt(squares / (len(self.scores) - 1))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, with the mean of the scores and their deviation."""
        mean = self.mean_score if self.scores else None
        return {**fields_in(self), "mean_score": mean, "score_deviation": self.score_deviation}


@dataclass(frozen=True)
class NearSet:
    """The near-optimal networks the shares are taken of.

    Parameters
    ----------
    factor
        How many times less probable than the best the networks may be.
    networks, classes
        How many were found.
    complete
        Whether these are all networks within the gap.
    each_missing
        No single network that is missing weighs more than this share of those that were found;
        None where the best network is not proven, so that a better one may be missing.
    missing
        Share of the weight of *all* networks that is missing here, summed exactly; None where there
        are too many variables for that.
    stopped
        Why the search ended early; None when it did not.
    """

    factor: float
    networks: int
    classes: int
    complete: bool
    each_missing: float | None
    missing: float | None = None
    stopped: str | None = None


def within_text(
    networks: int,
    classes: int,
    factor: float,
    score: str | None,
    *,
    complete: bool,
    best: str = "the best",
) -> str:
    """Say how many networks are within a factor of the best; at least so many if not complete.

    Unless the ``score`` is a log posterior, the factor is a difference of scores.

    >>> within_text(1, 1, 20.0, "bic", complete=True)
    '1 network in 1 equivalence class has at least 1/20 of the posterior probability of the best'
    >>> within_text(3, 2, 20.0, "aic", complete=True)
    '3 networks in 2 equivalence classes score at most 3.00 nats lower than the best'
    """
    found = (
        f"{'' if complete else 'at least '}{counted(networks, 'network')} in "
        f"{counted(classes, 'equivalence class', 'equivalence classes')}"
    )
    if not is_log_posterior(score):
        verb = "scores" if networks == 1 else "score"
        return f"{found} {verb} at most {math.log(factor):.2f} nats lower than {best}"
    return (
        f"{found} {'has' if networks == 1 else 'have'} at least 1/{factor:g} of the posterior "
        f"probability of {best}"
    )


@dataclass(frozen=True)
class Support:
    """How well the data support each arc of a network.

    Parameters
    ----------
    network
        The network; its figures show the support of the arcs.
    score
        Score of this network.
    best
        Score of the best network; the same, unless a network was given.
    optimal
        Whether ``best`` is proven to be the highest score.
    arcs
        The arcs of the network, by child.
    others
        Pairs that are not adjacent in the network, but in a replicate or a near-optimal network;
        the most frequent first.
    bootstrap, near
        Summary of the replicates and of the near-optimal networks; None if not requested.
    open_points
        What is not proven or was not done, one sentence each; empty if nothing is open.
    seconds
        Wall time of each piece of work.
    near_networks
        The near-optimal networks; None if not requested.
    """

    network: Network
    score: float
    best: float
    optimal: bool
    arcs: tuple[ArcSupport, ...]
    others: tuple[ArcSupport, ...] = ()
    bootstrap: Bootstrap | None = None
    near: NearSet | None = None
    open_points: tuple[str, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict, compare=False)
    near_networks: NearOptimal | None = field(default=None, compare=False, repr=False)

    @cached_property
    def _by_arc(self) -> dict[Arc, ArcSupport]:
        return {one.arc: one for one in (*self.arcs, *self.others)}

    def __getitem__(self, arc: Arc) -> ArcSupport:
        return self._by_arc[arc]

    def __len__(self) -> int:
        return len(self.arcs)

    @property
    def shares(self) -> dict[Arc, float]:
        """One number from 0 to 1 for every arc, for figures; empty if none is known.

        The bootstrap's adjacency if there was one, otherwise that of the near-optimal networks.
        """
        return shares_of(self.arcs)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON can hold."""
        return {
            "score": self.score,
            "best": self.best,
            "optimal": self.optimal,
            "arcs": [one.to_dict() for one in self.arcs],
            "others": [one.to_dict() for one in self.others],
            "bootstrap": plain(self.bootstrap),
            "near_optimal": plain(self.near),
            "open_points": list(self.open_points),
            "seconds": dict(self.seconds),
        }

    @property
    def averaged(self) -> Network:
        """The averaged network of the bootstrap, with how often every link was seen.

        ``support.averaged.save("average.bif", table=table)`` writes it.

        Raises
        ------
        InputError
            There was no bootstrap.
        """
        from parentage.network.network import Network

        drawn = self.bootstrap
        if drawn is None:
            raise InputError("the averaged network needs a bootstrap", AVERAGING)
        seen = {frozenset((pair.a, pair.b)): pair.adjacency for pair in drawn.pairs}
        shares = {arc: seen[frozenset(arc)] for arc in drawn.averaged}
        return replace(Network.from_arcs(self.network.names, drawn.averaged), shares=shares)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one line an arc as ``.csv``, or everything as ``.json``."""
        if extension_of(path, *FILES) == ".csv":
            write_text(path, self.to_csv())
            return
        content = {"format": "parentage support", **self.to_dict()}
        write_text(path, json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1) + "\n")

    def to_csv(self) -> str:
        """Return arcs, then other pairs, one a line."""
        found = (one.to_dict().values() for one in (*self.arcs, *self.others))
        return csv_text(COLUMNS, (map(spreadsheet_cell, row) for row in found))

    def _repr_html_(self) -> str:
        from html import escape

        gains = {one.arc: one.gain for one in self.arcs if one.gain is not None}
        picture = self.network.to_svg(gains)
        said = [repr(self), *self.open_points]
        return f"<p>{escape('; '.join(said))}</p>{picture}{_table(self)}"

    def __repr__(self) -> str:
        known = [name for name, there in (
            ("need", any(one.need is not None for one in self.arcs)),
            ("bootstrap", self.bootstrap is not None),
            ("near-optimal", self.near is not None),
        ) if there]  # fmt: skip
        return f"Support: {counted(len(self.arcs), 'arc')}; {', '.join(known) or 'gains only'}"


FIRM_NEED, FIRM_SHARE = math.log(20), 0.8
"""A link is firm when the best network without it is at least 20 times less probable, and at least
four in five replicates have it."""

FEWEST_REPLICATES = 20
"""Replicates from which a bootstrap that was stopped decides whether a link is firm or open."""


def judged(
    one: ArcSupport, unit: float, *, need: bool, bootstrap: Bootstrap | None
) -> Label | None:
    """Say whether a link of the network is firm by all criteria that were requested.

    ``unit`` are the nats of one unit of the score. One criterion that the link fails makes it
    open; one that was not computed, or whose interval leaves it undecided, makes it not known.

    >>> judged(ArcSupport("a", "b", need=5.0), 1.0, need=True, bootstrap=None)
    'firm'
    >>> judged(ArcSupport("a", "b", need=2.0), 1.0, need=True, bootstrap=None)
    'open'
    >>> judged(ArcSupport("a", "b", need=2.0, need_at_most=9.0), 1.0, need=True, bootstrap=None)
    'not known'
    """
    criteria: list[bool | None] = []
    if need:
        criteria.append(_is_needed(one, unit))
    if bootstrap is not None:
        known = one.adjacency is not None and bootstrap.enough
        criteria.append((one.adjacency or 0.0) >= FIRM_SHARE if known else None)
    if not criteria:
        return None
    if False in criteria:
        return "open"
    return "not known" if None in criteria else "firm"


def decided_by(found: Support) -> str | None:
    """Return the one number that made links firm; None if both did, or no link is firm."""
    if all(one.support != "firm" for one in found.arcs):
        return None
    if found.bootstrap is None:
        return "need"
    return None if any(one.need is not None for one in found.arcs) else "bootstrap"


def direction_of(one: ArcSupport, imposed: bool | None = False) -> str:
    """Say what is known of an arc's direction.

    An arc whose best reversed network loses nothing is reversible, whatever its class. ``imposed``:
    whether the constraints set the direction; None if that is not known.

    >>> direction_of(ArcSupport("a", "b", reversible=False, need_direction_at_most=2.6))
    'compelled'
    >>> direction_of(ArcSupport("a", "b", reversible=False, need_direction_at_most=1e-9))
    'reversible'
    >>> direction_of(ArcSupport("a", "b", reversible=True, need_direction=114.0), True)
    'set by the constraints'
    """
    if imposed:
        return "set by the constraints"
    least, loss = one.need_direction or 0.0, one.need_direction_at_most
    if loss is not None and round(loss, 2) == 0:
        return "reversible"
    if one.reversible and round(least, 2) == 0:
        return "not known" if imposed is None else "reversible"
    return "compelled"


def _is_needed(one: ArcSupport, unit: float) -> bool | None:
    """Tell whether the need is large; None if that is not known."""
    if one.need is None:
        return None
    if one.need * unit >= FIRM_NEED:
        return True
    most = one.need if one.need_at_most is None else one.need_at_most
    return None if most * unit >= FIRM_NEED else False


def shares_of(arcs: Iterable[ArcSupport]) -> dict[Arc, float]:
    """Return how often the two variables of each arc are adjacent, where that is known."""
    found = (
        (one.arc, one.near_adjacency if one.adjacency is None else one.adjacency) for one in arcs
    )
    return {arc: share for arc, share in found if share is not None}


def _table(support: Support) -> str:
    """Lay out the arcs as HTML, with the columns that are known."""
    from html import escape

    rows = [one.to_dict() for one in support.arcs]
    known = [name for name in COLUMNS[:-1] if any(row[name] is not None for row in rows)]
    head = "".join(f"<th>{name.replace('_', ' ')}</th>" for name in known)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_shown(row[name]))}</td>" for name in known) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def spreadsheet_cell(value: Any) -> str:
    r"""Write a value so that a spreadsheet shows it and computes nothing.

    >>> [spreadsheet_cell(value) for value in ("=1+1", "age", -2.5, 18 / 31, True, None)]
    ["'=1+1", 'age', '-2.5', '0.580645', 'true', '']
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) else value
    return f"{value:.6g}" if isinstance(value, float) else repr(value)
