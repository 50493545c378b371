"""The plan of a search: from a table and the settings to what the kernels need.

The stage before the search, shared by ``score`` and ``info``: encoding, residual entropies, caps,
limits and constraints, with everything that can be refused refused. A plan plans and nothing
else; :class:`parentage.scoring.search.levels.LevelSearch` runs it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from parentage.errors import InfeasibleError, InputError, TableError, Way, counted
from parentage.scoring.account import as_limit, check_limit, limits_by_name
from parentage.scoring.constraints import Constraints, Prior, most_added
from parentage.scoring.measures import MEASURES
from parentage.scoring.rules import CAPS, ORDER, RuleSet, choose_rules
from parentage.scoring.scores import Penalised, parse_score, unit_of
from parentage.scoring.scores.node_average import observed_rows
from parentage.scoring.settings import treatments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parentage.arrays import Ints
    from parentage.data.table import Table
    from parentage.scoring.account import Limit
    from parentage.scoring.encoding import Encoding
    from parentage.scoring.measures.measure import Measure
    from parentage.scoring.scores import Score
    from parentage.scoring.settings import Scoring


MOST_VARIABLES = np.iinfo(np.uint16).max  # the type of members of sets
BARRED = -2  # a constraint, not a rule, bars these families


@dataclass(frozen=True, eq=False)
class SearchPlan:
    """One search: of all children without required parents, or of one child with some.

    The parent sets of a child that contain its required parents are found within the *context* of
    those: every count is taken with them, every penalty multiplied by their number of joint
    states, and the rules and the closure theorem hold unchanged (``docs/theory.md``).

    Parameters
    ----------
    score
        Score to maximise.
    encoded
        The table, ready for counting.
    rules
        The rules that prune.
    h
        ``[variable]``: residual entropies in fixed point; zeros where no rule needs them.
    forbidden
        ``[child, parent]``: arcs that no family may contain.
    most
        ``[variable]``: how many parents each child may have, besides the context; −1: not even the
        empty set, the child is treated elsewhere.
    caps
        ``[variable]`` by cap rule: the most parents that it proves.
    width
        How far below its best subset a kept set may be, in nats; None drops ties.
    context
        Required parents, as indices of the table.
    """

    score: Score
    encoded: Encoding
    rules: RuleSet
    h: Ints
    forbidden: npt.NDArray[np.bool_]
    most: Ints
    caps: dict[str, Ints]
    width: float | None
    context: tuple[int, ...]

    def capped(self, in_degree: int) -> Ints:
        """Return per child: −1, or the rule that bars this in-degree, or BARRED."""
        answer = np.full(len(self.most), -1, np.int64)
        for name in reversed(CAPS):
            if name in self.caps:
                answer[self.caps[name] < in_degree] = ORDER.index(name)
        answer[self.most < in_degree] = BARRED
        return answer

    @property
    def most_proved(self) -> Ints:
        """``[variable]``: how many parents each child may have, by limits and by rules."""
        found: Ints = np.min([self.most, *self.caps.values()], axis=0)
        return found

    @property
    def deepest(self) -> int:
        """The largest in-degree any child may have."""
        return int(self.most_proved.max(initial=0))

    @property
    def leaves_out(self) -> bool:
        """Whether sets that nobody needs are left out; else every set is counted."""
        return self.rules.closed or self.rules.bounded

    @cached_property
    def measure(self) -> Measure:
        """What the search needs to know of the score."""
        return MEASURES[self.score.kind.family](self)

    def n_families(self) -> int:
        """The size of the space: parent sets within all limits, empty ones included."""
        free = self.encoded.n_variables - 1 - self.forbidden.sum(axis=1)
        kinds = Counter(zip(free.tolist(), self.most.tolist(), strict=True))
        return sum(times * count_families(f, k) for (f, k), times in kinds.items())


@dataclass(frozen=True, eq=False)
class Preparation:
    """A table and its settings, checked; :func:`encode_plans` makes the plans of its searches.

    Parameters
    ----------
    table
        What is scored.
    score
        Under which score.
    log_base
        Base of the reported logarithms; None for natural ones.
    rules
        The rules chosen.
    width
        As asked for, in the reported unit.
    most
        ``[variable]``: the limit on parents; n − 1 for none.
    constraints
        Checked against the table.
    """

    table: Table
    score: Score
    log_base: float | None
    rules: RuleSet
    width: float | None
    most: Ints
    constraints: Constraints
    prior: Prior = field(default_factory=Prior)

    @cached_property
    def log_odds(self) -> npt.NDArray[np.float64]:
        """``[child, parent]``: what the prior adds for an arc, in nats."""
        return self.prior.matrix(self.table.names)

    @cached_property
    def most_added(self) -> npt.NDArray[np.float64]:
        """``[variable]``: the most that the prior can add to a parent set, in nats."""
        if not self.prior:
            return np.zeros(self.table.n_variables)
        barred = self.constraints.barred(self.table.names)
        constant = [self.table.index(name) for name in self.table.constant]
        barred[constant, :], barred[:, constant] = True, True
        return most_added(self.log_odds, barred, self.most)

    @property
    def search_width(self) -> float | None:
        """How far below its best subset a set may be that the search keeps, in nats.

        Where the prior rewards arcs, sets have to be kept that it may lift (Proposition 3).
        """
        spare = float(self.most_added.max(initial=0.0))
        if self.width is None and not spare:
            return None
        return (self.width or 0.0) * self.unit + spare

    @property
    def unit(self) -> float:
        """Size in nats of the unit scores are reported in."""
        return unit_of(self.log_base)

    @property
    def limit(self) -> Limit:
        """The limit on parents as reported: one number, None for none, or by name."""
        free = self.table.n_variables - 1
        most = (None if k >= free else int(k) for k in self.most)
        return as_limit(dict(zip(self.table.names, most, strict=True)))


def encode_plans(prepared: Preparation) -> tuple[SearchPlan, ...]:
    """Encode the table: for the search of all children, and for each with required parents."""
    children = [None, *sorted(prepared.constraints.required_parents)]
    return tuple(_encode_plan(prepared, child) for child in children)


def _encode_plan(prepared: Preparation, child: str | None) -> SearchPlan:
    table, required = prepared.table, prepared.constraints.required_parents
    context = tuple(table.index(p) for p in sorted(required.get(child or "", ())))
    rules = prepared.rules.in_context() if context else prepared.rules
    measure, width = MEASURES[prepared.score.kind.family], prepared.search_width
    most = int(prepared.most.max(initial=0))
    encoded = measure.encode(table, prepared.score, width or 0.0, context, rules.closed, most)
    order, grid = encoded.order, encoded.grid
    h = np.zeros(encoded.n_variables, np.int64)
    if rules.needs_residuals:
        h = measure.residuals(encoded, table, context)
    if child is None:
        elsewhere = [table.index(name) for name in required]
        limit = np.where(np.isin(order, elsewhere), -1, prepared.most[order])
    else:
        x = table.index(child)
        limit = np.where(order == x, prepared.most[x] - len(context), -1)
    below = (width or 0.0) + float(grid.to_float(grid.tolerance))  # kept may be that far below
    return SearchPlan(
        prepared.score,
        encoded,
        rules,
        h,
        prepared.constraints.barred(table.names)[np.ix_(order, order)],
        np.minimum(limit, encoded.n_variables - 1),
        measure.caps(encoded, table, rules, h, below),
        width,
        context,
    )


def prepare_search(table: Table, settings: Scoring) -> Preparation:
    """Check a table and its settings, and plan the searches they ask for.

    Raises
    ------
    ParentageError
        A table that nothing can be learned from, settings that make no sense, or constraints that
        contradict each other.
    """
    unit = unit_of(settings.log_base)
    check_learnable(table)
    score = score_for(table, settings.score)
    width = settings.width
    if width is not None and not (math.isfinite(width) and width >= 0):
        raise InputError("must be a number of at least 0", about=Way("width", width))
    prior = Prior.of(settings.prior)
    prior.check(table.names)
    constraints = (settings.constraints or Constraints()).merge(prior.certain())
    check_constraints(constraints, table)
    for child, parents in sorted(constraints.required_parents.items()):
        check_seen_together(table, child, sorted(parents))
    prepared = Preparation(
        table,
        score,
        None if unit == 1.0 else float(settings.log_base or math.e),
        RuleSet(()),
        width,
        max_parents_by_variable(table, settings.max_parents, constraints),
        constraints,
        prior,
    )
    rules = choose_rules(settings.rules, score.name, prepared.search_width)
    return replace(prepared, rules=rules)


def score_for(table: Table, name: str) -> Score:
    """Return the score of a name for a table: λ is settled, what it cannot deal with refused."""
    score = parse_score(name).settled(table)
    return check_weighable(score) if table.unit_bits else score


def check_learnable(table: Table) -> None:
    """Refuse tables that nothing can be learned from."""
    if table.n_rows < 2:
        raise TableError(
            f"the table has {counted(table.n_rows, 'data row')}; at least 2 are needed"
        )
    usable = table.n_variables - len(table.constant)
    if usable > MOST_VARIABLES:
        raise TableError(
            f"the table has {usable} columns that vary, more than {MOST_VARIABLES}; drop some"
        )
    if usable < 2:
        raise TableError(
            f"only {usable} of {table.n_variables} columns has more than one observed state; "
            f"at least 2 are needed"
        )


def check_constraints(constraints: Constraints, table: Table) -> None:
    """Refuse contradictory constraints and required arcs of constant columns."""
    constraints.check(table.names)
    for parent, child in sorted(constraints.required):
        for end in (parent, child):
            if end in table.constant:
                raise InfeasibleError(
                    f"the required arc {parent} → {child} has the constant column {end!r}; "
                    f"leave that arc out"
                )


def max_parents_by_variable(
    table: Table, max_parents: int | Mapping[str, int] | None, constraints: Constraints
) -> Ints:
    """Return the limit per column; no limit is n − 1."""
    most = np.full(table.n_variables, table.n_variables - 1, np.int64)
    by_name = limits_by_name(table.names, max_parents)
    for name in max_parents if isinstance(max_parents, Mapping) else ():
        table.index(name)  # a wrong name is refused without a limit, too
    for name, limit in [*by_name.items(), *constraints.max_parents.items()]:
        v = table.index(name)
        most[v] = min(most[v], check_limit(limit))
    for child, parents in constraints.required_parents.items():
        if len(parents) > most[table.index(child)]:
            raise InfeasibleError(
                f"{child!r} may have at most {most[table.index(child)]} parents but "
                f"{len(parents)} are required: {', '.join(sorted(parents))}"
            )
    return most


def count_families(free: int, most: int) -> int:
    """Return the number of parent sets of at most ``most`` among ``free`` variables.

    >>> count_families(4, 2), count_families(4, 9)
    (11, 16)
    """
    if most >= free:
        return 1 << free
    total, sets = 0, 1
    for size in range(most + 1):
        total += sets
        sets = sets * (free - size) // (size + 1)
    return total


def check_seen_together(table: Table, child: str, required: Sequence[str]) -> None:
    """Refuse required parents that are never observed in one row with their child."""
    family = [table.index(child), *(table.index(parent) for parent in required)]
    if not observed_rows(table, family).any():
        raise InfeasibleError(
            f"{child!r} and its required parents ({', '.join(required)}) are never observed in "
            "one row, so they have no joint score; require fewer"
        )


def check_weighable(score: Score) -> Penalised:
    """Return a score that is proved for expected counts; refuse another one.

    The log-likelihood is linear in the counts of complete rows at given parameters, so that its
    expectation is its value at expected counts, and each step makes the likelihood of what is
    observed grow. ln Γ and the regrets are not linear (docs/theory.md, "Expected counts").

    Raises
    ------
    InputError
        With the scores that are.
    """
    if not isinstance(score, Penalised):
        raise InputError(
            f"needs a penalised likelihood (bic, aic, hqc, ebic, penalty), not {score.name}: "
            "other scores cannot be computed from expected counts",
            *[Way("missing", way) for way in treatments(score.name)],
            about=Way("missing", "em"),
        )
    return score
