r"""Conditional probability tables of a network: estimated from data, evaluated, sampled.

For a variable X with r states and parents Π with q joint states, θ[j, k] is the probability of
state k given joint state j of the parents. With n[j, k] rows in that cell,

.. math:: \theta_{jk} = \frac{n_{jk} + \alpha}{\sum_l (n_{jl} + \alpha)}

α is the smoothing: α = 0 is maximum likelihood, α > 0 the posterior mean under a symmetric
Dirichlet prior (α = 1, the default, is Laplace's). A joint state of the parents that never occurs
has the uniform distribution. In data with missing values n[j, k] is expected, given what is
observed (:mod:`parentage.network.expectation`), or, where that would take too long, counted in the
rows in which X and Π are all known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from parentage.data.columns import dates_in
from parentage.data.discretize import cuts_between, interval_of, rule_at
from parentage.data.table import MAX_STATES, MISSING, Table
from parentage.errors import (
    InputError,
    Objection,
    ParentageWarning,
    ResourceError,
    TableError,
    UndecidedError,
    Way,
    did_you_mean,
    shown_names,
    warn,
)
from parentage.files.detect import plain_float
from parentage.network import SMOOTHING
from parentage.network.expectation import (
    Expectation,
    distributions,
    family_counts,
    joint_states,
    refuse_late,
)
from parentage.network.inference import (
    ABSENT,
    NOTHING,
    Filling,
    Joint,
    LogTables,
    MostProbable,
    Named,
    Posterior,
    Situation,
    filled,
    joint_posterior,
    log_probabilities,
    most_probable_codes,
    posteriors,
    predicted,
    sampled_intervals,
)
from parentage.work.context import Context
from parentage.work.stop import MOMENT

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from parentage.network.expectation import Block
    from parentage.network.inference import Intervals
    from parentage.network.network import Network

Probabilities = npt.NDArray[np.float64]
"""Conditional probabilities ``float64[q, r]``: one row per joint state of the parents."""

Counts = npt.NDArray[np.int64]
"""Rows of the data in every cell of a table of probabilities, ``int64[q, r]``."""

MAX_CELLS = 50_000_000
SUM_TOLERANCE = 1e-3
_ROWS_AT_ONCE = 1 << 19

SECONDS_PER_CELL = 3e-7
"""Seconds that preparing expectation maximisation takes for each cell of the data."""

FALLBACK = (
    "the probabilities of each variable are estimated from the rows in which it and its parents "
    "are known"
)


@dataclass(frozen=True, eq=False, repr=False)
class Parameters:
    """A network with a conditional probability table for every variable.

    Parameters
    ----------
    network
        The structure.
    states
        State labels of every variable.
    tables
        For every variable ``float64[q, r]``. Row j is the joint state of the parents in their
        order in ``network.parents``, the last parent's state changing fastest.
    note
        Why only the rows where a family is complete were used; empty if all rows were.
    smoothing
        Number added to every count; None if the tables were not estimated from data.
    counts
        Number of rows in every cell; None unless the tables were counted in complete rows.

    Examples
    --------
    >>> from parentage.network.network import Network
    >>> rain = Network.from_arcs(["rain", "wet"], [("rain", "wet")])
    >>> table = Table.from_columns({"rain": "nnny", "wet": "nnyy"})
    >>> parameters = fit_parameters(rain, table)
    >>> parameters
    Parameters: 2 variables, 3 free parameters
    >>> round(parameters.probability("wet", "y", {"rain": "n"}), 3)
    0.4
    """

    network: Network
    states: tuple[tuple[str, ...], ...]
    tables: tuple[Probabilities, ...]
    note: str = ""
    smoothing: float | None = None
    counts: tuple[Counts, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "states", tuple(tuple(labels) for labels in self.states))
        tables = tuple(
            _checked(name, table, self._shape(v))
            for v, (name, table) in enumerate(zip(self.network.names, self.tables, strict=True))
        )
        object.__setattr__(self, "tables", tables)

    def _shape(self, v: int) -> tuple[int, int]:
        name, labels = self.network.names[v], self.states[v]
        if not labels or len(labels) > MAX_STATES or len(set(labels)) != len(labels):
            raise InputError(f"variable {name!r} needs 1 to {MAX_STATES} states, all different")
        return math.prod(len(self.states[p]) for p in self.network.parents[v]), len(labels)

    @property
    def n_free(self) -> int:
        """Number of free parameters, Σ q·(r − 1)."""
        return sum(len(table) * (table.shape[1] - 1) for table in self.tables)

    @cached_property
    def _codes(self) -> tuple[dict[str, int], ...]:
        return tuple({label: k for k, label in enumerate(labels)} for labels in self.states)

    def code(self, name: str, label: str) -> int:
        """Position of a state of a variable, or of the interval that a number or a date is in.

        Equal numbers are one state: 4 and 4.0, if only one is a label. ``>=`` and ``<=`` stand for
        ``≥`` and ``≤``. An unknown label is refused.
        """
        codes = self._codes[self.network.index(name)]
        label = label if label in codes else label.replace(">=", "≥").replace("<=", "≤")
        if label not in codes:
            equal = [k for state, k in codes.items() if _same_number(state, label)]
            if len(equal) == 1:
                return equal[0]
            value = _number_in(label)
            if value is not None and (at := interval_of(tuple(codes), value)) is not None:
                return at
            raise InputError(
                f"variable {name!r} has no state {label!r}; {did_you_mean(label, codes)}"
            )
        return codes[label]

    def has_state(self, name: str, label: str) -> bool:
        """Whether a variable is in the network and has a state of this label."""
        if name not in self.network.names:
            return False
        own = self.states[self.network.index(name)]
        return label in own or label.replace(">=", "≥").replace("<=", "≤") in own

    def named(self, findings: Mapping[str, object]) -> dict[str, str]:
        """Return the states of variables, where a number stands for its interval."""
        return {
            name: self.states[self.network.index(name)][self.code(name, str(label))]
            for name, label in findings.items()
        }

    def probability(self, child: str, state: str, given: Mapping[str, str] = NOTHING) -> float:
        """Return the probability of a child's state given the state of each of its parents."""
        v, parents = self.network.index(child), self.network.parents_of(child)
        if set(given) != set(parents):
            raise InputError(f"{child!r} has the parents {list(parents)}; give a state for each")
        row = 0
        for parent in parents:
            row *= len(self.states[self.network.index(parent)])
            row += self.code(parent, given[parent])
        return float(self.tables[v][row, self.code(child, state)])

    def codes_of(self, table: Table) -> npt.NDArray[np.int64]:
        """Codes of a table in these states: ``int64[variables, rows]``, columns by name.

        A row that occurs several times is there once, as in the codes of the table.
        A cell that is missing has the code −1. A label that is not a state here is refused: its
        probability is not known.
        """
        rows = np.full((len(self.states), table.stored_rows), ABSENT, np.int64)
        for v, name in enumerate(self.network.names):
            column = table.column(table.index(name))
            labels = table.states[table.index(name)]
            there = column != MISSING
            seen = np.unique(column[there])
            unknown = [labels[k] for k in seen if labels[k] not in self._codes[v]]
            if unknown:
                raise TableError(
                    f"column {name!r} has the state {unknown[0]!r}, which the network does not "
                    f"have; {did_you_mean(unknown[0], self.states[v])}"
                )
            translate = np.array([self._codes[v].get(label, ABSENT) for label in labels], np.int64)
            rows[v, there] = translate[column[there]]
        return rows

    def counted(self, table: Table) -> tuple[Counts, ...]:
        """Rows of a table in every cell of the probability tables, a row as often as it repeats.

        A row with a missing value counts for the variables that are known with their parents.
        """
        sizes = [len(labels) for labels in self.states]
        return family_counts(self.network, sizes, [(self.codes_of(table), table.repeats)])

    def log_likelihoods(self, table: Table) -> npt.NDArray[np.float64]:
        """Natural logarithm of the probability of every row of the codes; −∞ if impossible.

        Missing cells are summed over: it is the probability of what is known of the row.
        """
        codes = self.codes_of(table)
        total = np.zeros(table.stored_rows)
        whole = (codes != ABSENT).all(axis=0)
        complete = codes[:, whole]
        with np.errstate(divide="ignore"):
            for v, theta in enumerate(self.tables):
                total[whole] += np.log(theta[self._joint(v, complete), complete[v]])
        total[~whole] = log_probabilities(self.model, codes[:, ~whole])
        return total

    def log_likelihood(self, table: Table) -> float:
        """Natural logarithm of the probability of the whole table."""
        logs = self.log_likelihoods(table)
        return math.fsum(logs * table.repeats if len(table.repeats) else logs)

    def predict(self, table: Table, column: str) -> npt.NDArray[np.float64]:
        """Probabilities of a column's states in every row, given the rest of the row.

        ``float64[rows, states]``. What the table has in that column does not count; missing cells
        are summed over.
        """
        return predicted(self.model, self.codes_of(table), self.network.index(column))

    def impute(self, table: Table, how: Filling = "each") -> Table:
        """Fill the missing cells of a table, given what is known of their rows.

        Parameters
        ----------
        table
            Rows with missing values, in these states; the result has the variables of the network.
        how
            ``"each"``: every cell gets its most probable state, which makes fewest wrong cells on
            average; ``"joint"``: the cells of a row get their most probable states together.
        """
        codes = filled(self.model, self.codes_of(table), how)
        cuts = {name: cut for name, cut in table.cuts.items() if name in self.network.names}
        whole = codes.astype(np.uint16)
        return Table(self.network.names, self.states, whole, cuts, repeats=table.repeats)

    @cached_property
    def model(self) -> LogTables:
        """The tables as inference takes them."""
        return LogTables.of(self)

    def query(
        self,
        given: Mapping[str, str] = NOTHING,
        *,
        intervene: Mapping[str, str] = NOTHING,
        targets: Sequence[str] = (),
    ) -> Posterior:
        """Return the exact posterior of every target.

        Parameters
        ----------
        given
            The evidence: what was seen, ``{variable: state}``.
        intervene
            What is set from outside, ``{variable: state}``: it changes what follows from it and
            says nothing about its causes.
        targets
            Variables to ask about; all others when not given.

        Raises
        ------
        EvidenceError
            The evidence has probability 0.
        ResourceError
            The tables would be too large; the message has the number.

        Examples
        --------
        >>> from parentage.network.network import Network
        >>> rain = Network.from_arcs(["rain", "wet"], [("rain", "wet")])
        >>> table = Table.from_columns({"rain": "nnny", "wet": "nnyy"})
        >>> parameters = rain.fit(table, smoothing=0)
        >>> round(parameters.query({"wet": "y"})["rain"]["y"], 3)
        0.5
        >>> round(parameters.query(intervene={"wet": "y"})["rain"]["y"], 3)
        0.25
        """
        case = Situation.of(self, given, intervene)
        asked = case.targets(targets)
        free = [v for v in asked if v not in case.codes]
        found, logs = posteriors(case.model, case.observed, free)
        log_probability = case.possible(float(logs[0]))
        marginals: Named[Named[float]] = Named()
        for v in asked:
            labels = self.states[v]
            known = [float(k == case.codes.get(v)) for k in range(len(labels))]
            shares = found[v][0].tolist() if v in found else known
            marginals[self.network.names[v]] = Named(zip(labels, shares, strict=True))
        return Posterior(case.given, case.intervene, log_probability, marginals)

    def joint(
        self,
        targets: Sequence[str],
        given: Mapping[str, str] = NOTHING,
        *,
        intervene: Mapping[str, str] = NOTHING,
    ) -> Joint:
        """Return the exact joint distribution of some targets; the rest as in :meth:`query`."""
        case = Situation.of(self, given, intervene)
        asked = case.targets(targets)
        names = tuple(self.network.names[v] for v in asked)
        for v, name in zip(asked, names, strict=True):
            if v in case.codes:
                raise InputError(f"target {name!r} is already evidence; leave it out of the joint")
        values, logs = joint_posterior(case.model, case.observed, asked)
        log_probability = case.possible(float(logs[0]))
        states = tuple(self.states[v] for v in asked)
        return Joint(case.given, case.intervene, log_probability, names, states, values[0])

    def most_probable(
        self,
        given: Mapping[str, str] = NOTHING,
        *,
        intervene: Mapping[str, str] = NOTHING,
    ) -> MostProbable:
        """Return the most probable joint state of all variables that are not known."""
        case = Situation.of(self, given, intervene)
        evidence = posteriors(case.model, case.observed, ())[1]
        log_probability = case.possible(float(evidence[0]))
        codes, logs = most_probable_codes(case.model, case.observed)
        states = {self.network.names[v]: self.states[v][int(codes[v][0])] for v in sorted(codes)}
        return MostProbable(case.given, case.intervene, log_probability, states, float(logs[0]))

    def intervals(
        self,
        given: Mapping[str, str] = NOTHING,
        *,
        intervene: Mapping[str, str] = NOTHING,
        targets: Sequence[str] = (),
        seed: int = 0,
    ) -> Intervals:
        """Return 95 % credible intervals of what :meth:`query` answers: how sure the data make it.

        Tables are sampled 1,000 times from their Dirichlet posteriors, and the answer is computed
        exactly in each (:mod:`parentage.network.inference`). The structure is taken as given.

        Examples
        --------
        >>> from parentage.network.network import Network
        >>> table = Table.from_columns({"coin": "h" * 60 + "t" * 40})
        >>> low, high = Network(("coin",), ((),)).fit(table).intervals()["coin"]["h"]
        >>> round(low, 1), round(high, 1)
        (0.5, 0.7)
        """
        return sampled_intervals(self, given, intervene, targets, seed)

    def sample(self, rows: int, seed: int | None = None) -> Table:
        """Draw a table by ancestral sampling: every variable after its parents.

        >>> from parentage.network.network import Network
        >>> coin = Parameters(Network(("coin",), ((),)), (("head", "tail"),), ([[0.5, 0.5]],))
        >>> coin.sample(1000, seed=1)
        Table: 1000 rows, 1 variables, 2 states each
        """
        if rows < 0:
            raise InputError(f"the number of rows to sample must be at least 0, not {rows}")
        random = np.random.default_rng(seed)
        codes = np.zeros((len(self.states), rows), np.int64)
        for v in self.network.order_indices:
            cumulative = np.cumsum(self.tables[v], axis=1)
            cumulative /= cumulative[:, -1:]
            joint = self._joint(v, codes)
            draws = random.random(rows)
            for j in np.unique(joint):
                here = joint == j
                codes[v, here] = np.searchsorted(cumulative[j], draws[here], side="right")
        return Table(self.network.names, self.states, codes.astype(np.uint16))

    def _joint(self, v: int, codes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return joint_states(codes, self.network.parents[v], [len(labels) for labels in self.states])

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        table: Table | None = None,
        size: str | None = None,
    ) -> None:
        """Write the network with its probabilities; see :meth:`parentage.Solution.save`."""
        from parentage.report.page import save

        save(self, path, table=table, size=size)

    def __repr__(self) -> str:
        return f"Parameters: {len(self.states):,} variables, {self.n_free:,} free parameters"

    def to_dict(self) -> dict[str, list[list[float]]]:
        """Return ``{variable: rows of its table}``."""
        named = zip(self.network.names, self.tables, strict=True)
        return {name: table.tolist() for name, table in named}


def _same_number(one: str, other: str) -> bool:
    """Tell whether two labels are the same number.

    >>> _same_number("4.0", "4"), _same_number("4", "5"), _same_number("x", "x")
    (True, False, False)
    """
    try:
        return plain_float(one) == plain_float(other)
    except ValueError:
        return False


def _number_in(label: str) -> float | None:
    """Return the number that evidence is, a date as a decimal year; None for other labels.

    >>> _number_in("2.5"), _number_in("1989-07-01"), _number_in("yes")
    (2.5, 1989.495890410959, None)
    """
    try:
        return float(label)
    except ValueError:
        dates = dates_in([label])
        return None if dates is None else float(dates[0])


def fit_parameters(
    network: Network,
    table: Table,
    *,
    smoothing: float = SMOOTHING,
    context: Context | None = None,
) -> Parameters:
    """Estimate the conditional probability tables of a network from data.

    Parameters
    ----------
    network
        The structure; its variables are columns of the table.
    table
        The data; states that never occur keep a place in the tables. Where values are missing, the
        likelihood of what is observed is maximised by expectation maximisation. If that takes too
        much time or memory, every table is estimated from the rows in which the variable and its
        parents are known.
    smoothing
        What is added to every count; 0 is maximum likelihood.
    context
        Its stop ends expectation maximisation, after a moment at least; its report is called with
        every step.

    Warns
    -----
    ParentageWarning
        When the tables are estimated from complete families alone.
    """
    if not (math.isfinite(smoothing) and smoothing >= 0):
        raise InputError(
            "must be a number of at least 0",
            about=Way("smoothing", smoothing),
        )
    data = in_states_of(network, table.select(network.names))
    cardinalities = [len(labels) for labels in data.states]
    priors = []
    for v, parents in enumerate(network.parents):
        r, q = cardinalities[v], math.prod(cardinalities[p] for p in parents)
        if q * r > MAX_CELLS:
            raise ResourceError(
                f"the probability table of {network.names[v]!r} with {len(parents)} parents would "
                f"have {q * r:,} cells, more than {MAX_CELLS:,}",
                Way("max_parents", len(parents) - 1, "when learning"),
            )
        priors.append(np.full((q, r), smoothing))
    note = ""
    if data.has_holes:
        context = context or Context()
        late = context.ending(context.stop.leaving(MOMENT))
        try:
            tables = _by_expectation(network, data, priors, late)
            return Parameters(network, data.states, tuple(tables), smoothing=smoothing)
        except ResourceError as error:
            note = error.message
            ways = [way for way in error.ways if isinstance(way, str)]  # settings are of learning
            warn(ParentageWarning(f"{note}; {FALLBACK}", *ways))
    counts = family_counts(network, cardinalities, _blocks(data))
    tables = [distributions(cells + prior) for cells, prior in zip(counts, priors, strict=True)]
    known = None if data.has_holes else counts
    return Parameters(network, data.states, tuple(tables), note, smoothing, known)


def in_states_of(network: Network, data: Table) -> Table:
    """Return a table of the variables with the states of the network, if it knows them.

    Raises
    ------
    UndecidedError
        The table has another state: other values, or other cut points.
    """
    if network.states is None or network.states == data.states:
        return data
    codes = data.to_codes().astype(np.uint16)
    for v, (name, own) in enumerate(zip(network.names, network.states, strict=True)):
        labels = data.states[v]
        if not set(labels) <= set(own):
            raise _other_states(network, name, labels, own)
        place = np.array([own.index(label) for label in labels], np.uint16)
        there = codes[v] != MISSING
        codes[v, there] = place[codes[v, there]]
    return replace(data, states=network.states, codes=codes, recipe=None)


def _other_states(
    network: Network, name: str, labels: Sequence[str], own: Sequence[str]
) -> UndecidedError:
    """Refuse a column whose states are not those of the network; say how to get these."""
    seen = f"has the states {_quoted(labels)} in the table and {_quoted(own)} in the network"
    rules = discretizing(network)
    remedy = [Way("discretize", list(rules.values()))] if name in rules else []
    way = Way("recipe", ..., "of the table that was learned from")
    if remedy:
        way = Way("discretize", rules[name])
    return UndecidedError([Objection(name, seen, (way,), (way,), refused=True)], "", remedy)


def _quoted(labels: Sequence[str]) -> str:
    return f"{{{shown_names([repr(label) for label in labels], 8)}}}"


def discretizing(network: Network) -> dict[str, str]:
    """Return the rules with which columns get the cut points that the network has, by name.

    >>> from parentage.network.network import Network
    >>> discretizing(Network(("age",), ((),), states=(("< 40", "[40, 65)", "≥ 65"),)))
    {'age': 'age=at:40,65'}
    """
    cuts = zip(network.names, map(cuts_between, network.states or ()), strict=False)
    return {name: rule_at(name, points) for name, points in cuts if points is not None}


def _blocks(data: Table) -> Iterator[Block]:
    """Yield the codes of some rows at a time, missing ones as −1, and how often each repeats."""
    for first in range(0, data.stored_rows, _ROWS_AT_ONCE):
        codes = data.rows(first, first + _ROWS_AT_ONCE).astype(np.int64)
        codes[codes == MISSING] = ABSENT
        yield codes, data.repeats[first : first + _ROWS_AT_ONCE]


def _by_expectation(
    network: Network,
    table: Table,
    priors: Sequence[Probabilities],
    context: Context,
) -> list[Probabilities]:
    """Return the tables that expectation maximisation ends in.

    Raises
    ------
    ResourceError
        It takes too much memory, or more time than the stop allows.
    """
    refuse_late(context.stop, SECONDS_PER_CELL * table.stored_rows * table.n_variables)
    expected = Expectation.of_table(network, table, stop=context.stop)
    theta, _ = expected.maximised(np.concatenate([prior.ravel() for prior in priors]), context)
    refuse_late(context.stop)
    return expected.tables(theta)


def from_rows(
    network: Network,
    states: Mapping[str, Sequence[str]],
    tables: Mapping[str, npt.ArrayLike],
) -> Parameters:
    """Make parameters from mappings by variable name, as files and other libraries give them."""
    for name in network.names:
        if name not in states or name not in tables:
            raise InputError(f"variable {name!r} has no states or no probabilities")
    return Parameters(
        network,
        tuple(tuple(states[name]) for name in network.names),
        tuple(np.asarray(tables[name], np.float64) for name in network.names),
    )


def _checked(name: str, table: npt.ArrayLike, shape: tuple[int, int]) -> Probabilities:
    """Return a read-only copy; refuse what is not a table of distributions of this shape."""
    theta = np.array(table, np.float64)
    if theta.shape != shape:
        raise InputError(
            f"the probability table of {name!r} has shape {theta.shape}; it should be {shape}, "
            "the numbers of states of its parents and its own"
        )
    if not (np.isfinite(theta).all() and (theta >= 0).all()):
        raise InputError(f"the probability table of {name!r} has a value that is not a probability")
    wrong = np.flatnonzero(np.abs(theta.sum(axis=1) - 1) > SUM_TOLERANCE)
    if wrong.size:
        total = float(theta[wrong[0]].sum())
        raise InputError(
            f"row {wrong[0]} of the probability table of {name!r} sums to {total:g}, not 1"
        )
    theta.setflags(write=False)
    return theta
