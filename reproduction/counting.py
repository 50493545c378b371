"""What the paper counts: Tables 1 to 3, Figures 1 and 2 and the worked example, from a table.

A :class:`Convention` says how to count. ``STATED`` is what the theorems say, with the functions of
:mod:`parentage.scoring.rules` as they are. ``PRINTED`` is what the authors' program did, found by
matching the printed numbers. It departs from the theorems in these fields, and nowhere else:

* ``halve_whole``: the penalty of BIC has the factor q_Π*/2, which was an integer division. With
  Π* = ∅ it is 0, so that single parents are never pruned.
* ``only_evaluated``: a rule could use an entropy only if the program had it at hand. Alg1 and Alg3
  need Π* among the evaluated parent sets of X, Alg2 and Alg4 among those of Y; a parent set was
  evaluated unless Alg1 or Alg2 had flagged it.
* ``log_of_bounds``: Theorem 3 takes H and log N in one base; Table 1 has H in nats and log2 N.
* ``binomial``: the binomials behind |S| were quotients of factorials in double precision, cut to
  whole numbers.
* ``cut_example``: the worked example cuts ln N after three decimals and entropies after two.

A family (X, Π) is flagged by a rule if the rule fires for some Y in Π, or if the rule has flagged
(X, Π′) for some Π′ ⊂ Π: rules are hereditary. A column of Tables 2 and 3 counts the families up to
an in-degree that have one of its flags. The experiments look at all families up to in-degree 5,
pruned or not, so here every set of up to six variables is counted, in lexicographic order, level by
level.

In the worked example on glass the family E1 is pruned by Alg1 alone, E2 by Alg2 alone, provided
that the class has the seven states its header declares; with the six that occur neither is pruned.
Figures 1 and 2 show how much more two rules prune than Alg1 alone: quartiles by linear
interpolation, whiskers at the extremes, 0/0 counted as 1.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.scoring import rules
from parentage.scoring.scores import entropy_sum
from reproduction.published import (
    COLUMNS,
    FIGURES,
    GLASS_EXAMPLE,
    IN_DEGREES,
    STATISTICS,
    Example,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from parentage.arrays import Ints
    from parentage.data.table import Table
    from parentage.scoring.encoding import Encoded

# ---------------------------------------------------------------------------------------------
# How to count: as printed and as stated


def floating_binomial(m: int, i: int) -> int:
    """Return m!/((m − i)!·i!) with factorials in double precision, cut to a whole number.

    >>> floating_binomial(28, 3), math.comb(28, 3)
    (3275, 3276)
    """
    return int(_floating_factorial(m) / (_floating_factorial(m - i) * _floating_factorial(i)))


def _floating_factorial(m: int) -> float:
    product = 1.0
    for factor in range(2, m + 1):
        product *= factor
    return product


def cut(x: float, decimals: int) -> float:
    """Cut a positive number after some decimals.

    >>> cut(126.6873, 2)
    126.68
    """
    unit: int = 10**decimals
    return math.floor(x * unit) / unit


@dataclass(frozen=True)
class Convention:
    """How the numbers of the paper are counted; the module's docstring has the fields."""

    name: str
    halve_whole: bool
    only_evaluated: bool
    log_of_bounds: Callable[[float], float]
    binomial: Callable[[int, int], int]
    cut_example: bool

    def added(self, log_rows: float, r_x: Any, r_y: Any, q_star: Any) -> Any:
        """Return (r_Y − 1)·pen(X, Π*), what Y adds to the penalty; numbers or arrays."""
        half = np.floor_divide(q_star, 2) if self.halve_whole else np.true_divide(q_star, 2)
        return (r_y - 1) * log_rows * (r_x - 1) * half

    def search_space(self, n_variables: int, in_degree: int) -> int:
        """Return |S| = n·Σ C(n − 1, i) over i = 1 … k: the empty set is not counted.

        >>> STATED.search_space(8, 3)
        504
        """
        sizes = range(1, min(in_degree, n_variables - 1) + 1)
        return n_variables * sum(self.binomial(n_variables - 1, i) for i in sizes)

    def example_log(self, n_rows: int) -> float:
        """Return ln N as the worked example uses it."""
        return cut(math.log(n_rows), 3) if self.cut_example else math.log(n_rows)

    def example_entropy(self, x: float) -> float:
        """Return an entropy as the worked example shows it."""
        return cut(x, 2) if self.cut_example else x


STATED = Convention("stated", False, False, math.log, math.comb, False)
PRINTED = Convention("printed", True, True, math.log2, floating_binomial, True)

# ---------------------------------------------------------------------------------------------
# Table 1: how many parents a variable can have


@dataclass(frozen=True)
class ParentBounds:
    """Theorem 3 for every variable of a table, and Corollary 1 for all of them."""

    theorem3: dict[str, int]
    corollary1: int

    @property
    def spread(self) -> dict[int, int]:
        """Number of variables by their Theorem 3 bound, largest bound first, as in Table 1."""
        return dict(sorted(Counter(self.theorem3.values()).items(), reverse=True))


def parent_bounds(table: Table, encoded: Encoded, convention: Convention) -> ParentBounds:
    """Return the bounds of a table; the convention says in which base log N is."""
    n_rows = table.n_rows
    n_h = encoded.grid.to_float(encoded.empty - encoded.single)
    caps = rules.theorem3(
        n_rows,
        [float(x) / n_rows for x in n_h],
        [int(r) for r in encoded.arity],
        convention.log_of_bounds(n_rows),
    )
    by_variable = dict(zip(encoded.order.tolist(), caps, strict=True))
    return ParentBounds(
        {name: by_variable[v] for v, name in enumerate(table.names) if v in by_variable},
        rules.corollary1(n_rows),
    )


def show_spread(spread: dict[int, int]) -> str:
    """Write a Theorem 3 cell: the bound, and in brackets how many variables have it.

    >>> show_spread({6: 7, 3: 1})
    '6 (7), 3 (1)'
    """
    return ", ".join(f"{bound} ({count})" for bound, count in spread.items())


# ---------------------------------------------------------------------------------------------
# G of every set up to a size: what the counts are made of


@dataclass(frozen=True, eq=False)
class SetLevel:
    """All sets of one size, in lexicographic order."""

    members: npt.NDArray[np.uint16]
    """``[set, member]``, rising."""
    subsets: npt.NDArray[np.int32]
    """``[set, member]``: where the set without this member is in the level below."""
    G: Ints
    """``[set]``, in the fixed point of the encoded table."""


def count_all_sets(encoded: Encoded, largest: int) -> list[SetLevel]:
    """Count the sets of 0, 1, … ``largest`` members; level s is at index s."""
    n = encoded.n_variables
    nothing = np.zeros((1, 0), np.uint16)
    single = np.arange(n, dtype=np.uint16)[:, None]
    levels = [
        SetLevel(nothing, np.zeros((1, 0), np.int32), np.array([encoded.empty], np.int64)),
        SetLevel(single, np.zeros((n, 1), np.int32), encoded.single),
    ]
    for _ in range(2, min(largest, n) + 1):
        members = extend(levels[-1].members, n)
        levels.append(SetLevel(members, ranks_of_subsets(members, n), encoded.count(members)))
    return levels


def extend(members: npt.NDArray[np.uint16], n: int) -> npt.NDArray[np.uint16]:
    """Append every larger variable to every set; the order stays lexicographic.

    >>> extend(np.array([[0], [1], [2]], np.uint16), 3).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    last = members[:, -1].astype(np.int64)
    copies = n - 1 - last
    start = np.cumsum(copies) - copies
    tail = np.arange(copies.sum()) + np.repeat(last + 1 - start, copies)
    return np.column_stack([np.repeat(members, copies, axis=0), tail.astype(np.uint16)])


def ranks_of_subsets(members: npt.NDArray[np.uint16], n: int) -> npt.NDArray[np.int32]:
    """Return, for each set and member, the rank of the set without that member."""
    size = members.shape[1]
    ranks = [lexicographic_rank(np.delete(members, t, axis=1), n) for t in range(size)]
    return np.column_stack(ranks).astype(np.int32)


def lexicographic_rank(members: npt.NDArray[np.uint16], n: int) -> Ints:
    """Return the rank of every set among the sets of its size: C(n, s) − 1 − Σ C(n−1−c_i, s−i).

    >>> lexicographic_rank(np.array([[0, 1], [0, 2], [1, 2]], np.uint16), 3)
    array([0, 1, 2])
    """
    size = members.shape[1]
    ranks = np.full(len(members), math.comb(n, size) - 1, np.int64)
    for i in range(size):
        behind = np.array([math.comb(n - 1 - v, size - i) for v in range(n)], np.int64)
        ranks -= behind[members[:, i]]
    return ranks


# ---------------------------------------------------------------------------------------------
# Tables 2 and 3: how many families each rule prunes


Flags = npt.NDArray[np.uint8]
"""``[set, child]``: one bit per rule."""
Counts = dict[int, dict[str, int]]
"""Families pruned, by in-degree and column."""

BIT = {"Alg1": 1, "Alg2": 2, "Alg3": 4, "Alg4": 8}
MASK = {column: sum(BIT[rule] for rule in column.split("+")) for column in COLUMNS}
LARGEST = max(IN_DEGREES) + 1


class Pair(NamedTuple):
    """All sets of a size, read as child X = member ``a``, parent Y = member ``b``, rest Π*.

    The set without ``b`` is X ∪ Π*, the one without ``a`` is Π = Y ∪ Π*. Arrays over the sets.
    """

    a: int
    x_star: npt.NDArray[np.int32]
    """Where X ∪ Π* is in the level below."""
    x_in_x_star: int
    pi: npt.NDArray[np.int32]
    y_in_pi: int
    sides_left: dict[str, npt.NDArray[np.float64]]
    """The entropy that each rule looks at."""
    r_x: npt.NDArray[np.float64]
    r_y: npt.NDArray[np.float64]
    q_star: npt.NDArray[np.float64]


def count_pruned(encoded: Encoded, conventions: Sequence[Convention]) -> list[Counts]:
    """Return, per convention, the families that each column prunes, by in-degree."""
    levels = count_all_sets(encoded, LARGEST)
    by_convention = flag_levels(levels, encoded, conventions)
    return [
        {k: count_columns(flags[: k + 2]) for k in range(1, LARGEST)} for flags in by_convention
    ]


def count_columns(flags: Sequence[Flags]) -> dict[str, int]:
    """Add up over the levels the families with one of a column's flags."""
    return {
        column: sum(int(np.count_nonzero(level & np.uint8(mask))) for level in flags)
        for column, mask in MASK.items()
    }


def flag_levels(
    levels: Sequence[SetLevel], encoded: Encoded, conventions: Sequence[Convention]
) -> list[list[Flags]]:
    """Flag, per convention, the families of every level; the empty parent set has no flag."""
    nothing = [np.zeros(level.members.shape, np.uint8) for level in levels[:2]]
    by_convention: list[list[Flags]] = [list(nothing) for _ in conventions]
    for size in range(2, len(levels)):
        for flags in by_convention:
            flags.append(np.zeros(levels[size].members.shape, np.uint8))
        for pair in pairs_of(levels[: size + 1], encoded):
            for flags, convention in zip(by_convention, conventions, strict=True):
                flags[size][:, pair.a] |= flag(pair, flags[size - 1], encoded, convention)
    return by_convention


def pairs_of(levels: Sequence[SetLevel], encoded: Encoded) -> Iterator[Pair]:
    """Read the sets of the last level as (X, Y, Π*) in every way."""
    two_below, one_below, level = levels[-3:]
    to_float = encoded.grid.to_float
    single = to_float(encoded.empty - encoded.single)
    arity = encoded.arity.astype(np.float64)[level.members]
    q = arity.prod(axis=1)
    size = level.members.shape[1]
    for a in range(size):
        for b in (b for b in range(size) if b != a):
            x_star, pi = level.subsets[:, b], level.subsets[:, a]
            x_in_x_star = a if a < b else a - 1
            G_star = two_below.G[one_below.subsets[x_star, x_in_x_star]]
            left = {
                "Alg1": to_float(G_star - one_below.G[x_star]),
                "Alg2": to_float(G_star - one_below.G[pi]),
                "Alg3": single[level.members[:, a]],
                "Alg4": single[level.members[:, b]],
            }
            r_x, r_y = arity[:, a], arity[:, b]
            q_star = q / (r_x * r_y)
            yield Pair(a, x_star, x_in_x_star, pi, b if b < a else b - 1, left, r_x, r_y, q_star)


def flag(
    pair: Pair, below: Flags, encoded: Encoded, convention: Convention
) -> npt.NDArray[np.uint8]:
    """Flag the families of a pair for what holds of Y, and for what (X, Π*) is flagged for."""
    log_rows = math.log(encoded.total_rows)
    added = convention.added(log_rows, pair.r_x, pair.r_y, pair.q_star)
    tolerance = float(encoded.grid.to_float(encoded.grid.tolerance))
    of_x, of_y = below[pair.x_star, pair.x_in_x_star], below[pair.pi, pair.y_in_pi]
    at_hand = _at_hand(of_x, of_y) if convention.only_evaluated else dict.fromkeys(BIT, True)
    flags: npt.NDArray[np.uint8] = of_x.copy()
    left = pair.sides_left
    numbers = rules.FamilyNumbers(
        left["Alg3"], left["Alg4"], left["Alg1"], left["Alg2"], added=added
    )
    for name in left:
        sides = rules.BY_NAME[name.lower()].function(numbers)
        fired = rules.fires(sides, tolerance) & at_hand[name]
        flags |= fired.view(np.uint8) * np.uint8(BIT[name])
    return flags


def _at_hand(of_x: Any, of_y: Any) -> dict[str, Any]:
    """Whether the program had each rule's entropy: Π* evaluated for X, or for Y."""
    unseen = np.uint8(BIT["Alg1"] | BIT["Alg2"])
    x_seen, y_seen = of_x & unseen == 0, of_y & unseen == 0
    return {"Alg1": x_seen, "Alg2": y_seen, "Alg3": x_seen, "Alg4": y_seen}


# ---------------------------------------------------------------------------------------------
# The worked example: two families, three numbers each, and what they decide


QUANTITIES = ("N·H(X|Π*)", "N·H(Y|Π*)", "(r_Y−1)·pen(X,Π*)")


@dataclass(frozen=True)
class ExampleRun:
    """The three numbers of one family and the rules that fire for it."""

    numbers: tuple[float, float, float]
    fired: tuple[str, ...]


@dataclass(frozen=True)
class GlassRun:
    """The worked example in every reading, by label (E1, E2)."""

    printed: dict[str, ExampleRun]
    stated: dict[str, ExampleRun]
    observed: dict[str, ExampleRun]
    """As stated, with the classes that occur instead of those declared."""
    declared_states: int
    observed_states: int


def missing_columns(table: Table) -> list[str]:
    """Return the columns of the example that a table lacks."""
    needed = {v for e in GLASS_EXAMPLE.values() for v in (e.child, e.parent, *e.star)}
    return sorted(needed - set(table.names))


def run_example(table: Table, printed: Convention) -> GlassRun:
    """Work out both families on the glass table."""
    seen = table.observed()
    at = table.index("class")

    def both(data: Table, convention: Convention) -> dict[str, ExampleRun]:
        return {name: one_family(data, e, convention) for name, e in GLASS_EXAMPLE.items()}

    return GlassRun(
        both(table, printed),
        both(table, STATED),
        both(seen, STATED),
        len(table.states[at]),
        len(seen.states[at]),
    )


def one_family(table: Table, example: Example, convention: Convention) -> ExampleRun:
    """Return N·H(X|Π*), N·H(Y|Π*), (r_Y − 1)·pen(X, Π*), and the rules that fire."""
    x, y = table.index(example.child), table.index(example.parent)
    star = [table.index(name) for name in example.star]
    G_star = entropy_sum(table, star)
    n_h_x = convention.example_entropy(G_star - entropy_sum(table, [x, *star]))
    n_h_y = convention.example_entropy(G_star - entropy_sum(table, [y, *star]))
    r = table.cardinalities
    log_rows = convention.example_log(table.n_rows)
    added = float(convention.added(log_rows, int(r[x]), int(r[y]), int(r[star].prod())))
    numbers = rules.FamilyNumbers(n_h_x_star=n_h_x, n_h_y_star=n_h_y, added=added)
    sides = {"Alg1": rules.alg1(numbers), "Alg2": rules.alg2(numbers)}
    return ExampleRun(
        (n_h_x, n_h_y, added), tuple(name for name, s in sides.items() if rules.fires(s))
    )


# ---------------------------------------------------------------------------------------------
# Figures 1 and 2: how much more two rules prune than Alg1 alone


Statistics = dict[str, float]
"""By name, in the order of :data:`STATISTICS`."""
Ratios = dict[int, dict[int, list[float]]]
"""By figure and in-degree, one ratio per table."""


def ratio(more: int, less: int) -> float:
    """Return how many times more; 0/0 counts as 1.

    >>> ratio(154, 114) > 1, ratio(0, 0), ratio(3, 0)
    (True, 1.0, inf)
    """
    if less == 0:
        return 1.0 if more == 0 else math.inf
    return more / less


def ratios_of(counts: Iterable[Counts]) -> Ratios:
    """Return the ratios behind both figures."""
    tables = list(counts)
    return {
        figure: {k: [ratio(c[k][more], c[k][less]) for c in tables] for k in IN_DEGREES}
        for figure, (more, less) in FIGURES.items()
    }


def statistics_of(values: Sequence[float]) -> Statistics:
    """Return what a box shows: extremes, quartiles, mean.

    >>> statistics_of([1.0, 2.0, 4.0])
    {'min': 1.0, 'q1': 1.5, 'median': 2.0, 'q3': 3.0, 'max': 4.0, 'mean': 2.3333333333333335}
    """
    with np.errstate(invalid="ignore"):  # infinite ratios, if any, have no quartiles between them
        quartiles = [float(q) for q in np.quantile(values, (0.25, 0.5, 0.75))]
    low, high, mean = min(values), max(values), float(np.mean(values))
    return dict(zip(STATISTICS, (low, *quartiles, high, mean), strict=True))
