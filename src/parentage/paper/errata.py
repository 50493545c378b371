"""What the paper prints that its theorems do not say: found by comparing runs, never typed.

Every number in these paragraphs is computed from a :class:`~parentage.paper.reproduction.
Reproduction` (or from the counter-example); if the data changes, they change.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parentage.paper.conclusions import conclusions, worked_example
from parentage.paper.counterexample import BestNetwork, counter_example
from parentage.paper.erratum import Erratum, at_hand, none_or, number
from parentage.paper.published import COLUMNS, IN_DEGREES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from parentage.paper.counts import Counts
    from parentage.paper.reproduction import Cell, Reproduction, TableRun

MOST_EXAMPLES = 5


def errata(result: Reproduction) -> list[Erratum]:
    """Return every departure of the printed numbers from the theorems, with its size."""
    found = [
        integer_division(result),
        availability(result),
        both_together(result),
        mixed_bases(result),
        theorem3_counter_example(),
        floating_binomials(result),
        worked_example(result),
        conclusions(result),
    ]
    return [erratum for erratum in found if erratum is not None]


# ---------------------------------------------------------------------------------------------
# Tables 2 and 3


@dataclass(frozen=True)
class Change:
    """One count of Tables 2 and 3 before and after something is corrected."""

    table: str
    in_degree: int
    column: str
    before: int
    after: int

    @property
    def factor(self) -> float:
        """How many times more, infinite from nothing."""
        return self.after / self.before if self.before else float("inf")


def changes(result: Reproduction, corrected: Callable[[TableRun], Counts]) -> list[Change]:
    """Return the counts that differ from the printed reading once something is corrected."""
    every = [
        Change(t.name, k, column, t.printed.counts[k][column], corrected(t)[k][column])
        for t in result.tables
        for k in IN_DEGREES
        for column in COLUMNS
    ]
    return [change for change in every if change.before != change.after]


def integer_division(result: Reproduction) -> Erratum:
    """q_Π*/2 was a division of whole numbers."""
    found = changes(result, lambda t: t.exact_division)
    single = sum(t.stated.counts[1]["Alg1+Alg2"] for t in result.tables)
    families = sum(t.variables * (t.variables - 1) for t in result.tables)
    return Erratum(
        "integer-division",
        "Integer division in the penalty",
        (
            "The BIC penalty has the factor q/2, half the number of joint states of Π*. The "
            "printed counts come out only if that half is rounded down. It is then too small for "
            "every odd q, and 0 for Π* = ∅, so that no single parent is ever pruned; the theorems "
            f"prune {single:,} of the {families:,} families with one parent ({at_hand(result)}).",
            f"With this alone corrected, {_growth(found, result)}"
            + (
                " They shrink because of the next deviation: a set that is pruned is not "
                "evaluated, and its entropy is then withheld from other families."
                if any(c.after < c.before for c in found)
                else ""
            ),
        ),
    )


def availability(result: Reproduction) -> Erratum:
    """A rule was applied only if its entropy had been computed for something else."""
    found = changes(result, lambda t: t.all_at_hand)
    return Erratum(
        "availability",
        "Rules that waited for an evaluated set",
        (
            "The printed counts let Alg1 and Alg3 fire only if Π* had been evaluated as a parent "
            "set of X, and Alg2 and Alg4 only if it had been evaluated as one of Y; sets that "
            "Alg1 or Alg2 had flagged were not evaluated. The theorems have no such condition, "
            "and Alg3 and Alg4 need no evaluated set at all.",
            f"With this alone corrected, {_growth(found, result)}",
        ),
    )


def both_together(result: Reproduction) -> Erratum:
    """Both deviations corrected: the right tables."""
    found = changes(result, lambda t: t.stated.counts)
    largest = sorted(found, key=lambda c: (c.factor, c.after), reverse=True)
    finite = [c for c in largest if c.before][:MOST_EXAMPLES]
    return Erratum(
        "tables",
        "Tables 2 and 3, corrected",
        (
            f"As stated, {_growth(found, result)}{_no_longer_0(found)}"
            + (f" {_largest(finite[0])}" if finite else ""),
        ),
        ("table", "in-degree", "column", "printed", "stated", "factor") if finite else (),
        tuple(
            (
                c.table, str(c.in_degree), c.column, f"{c.before:,}", f"{c.after:,}",
                f"{c.factor:.2f}",
            )
            for c in finite
        ),
    )  # fmt: skip


def _largest(change: Change) -> str:
    return (
        f"The largest factor is {change.factor:.2f}: {change.column} on {change.table} at "
        f"in-degree {change.in_degree} prunes {change.after:,} families, not {change.before:,}."
    )


def _no_longer_0(found: Sequence[Change]) -> str:
    count = sum(c.before == 0 for c in found)
    verb = "is" if count == 1 else "are"
    return f" {number(count, 'count')} printed as 0 {verb} not 0." if count else ""


def _growth(found: Sequence[Change], result: Reproduction) -> str:
    grow = sum(c.after > c.before for c in found)
    return (
        f"{grow} of the {len(result.counts)} counts {'grows' if grow == 1 else 'grow'} and "
        f"{none_or(len(found) - grow)} shrink{'s' if len(found) - grow == 1 else ''}."
    )


# ---------------------------------------------------------------------------------------------
# Table 1 and the search space


def mixed_bases(result: Reproduction) -> Erratum:
    """Theorem 3 with H in nats and log N in base 2."""
    steps = [
        t.stated.bounds.theorem3[v] - printed
        for t in result.tables
        for v, printed in t.printed.bounds.theorem3.items()
    ]
    larger = [step for step in steps if step > 0]
    by = "one" if set(larger) <= {1} else f"up to {max(larger)}"
    tables = sum(c.corrected for c in result.bounds if c.column == "Theorem 3")
    return Erratum(
        "mixed-bases",
        "Table 1 mixes logarithms",
        (
            "Theorem 3 needs the entropies and log N in one base. Table 1 has H in nats beside "
            "log2 N, which takes log2(1/ln 2) = "
            f"{math.log2(1 / math.log(2)):.3f} off every bound before it is rounded up. "
            f"In one base {len(larger)} of {len(steps)} bounds are {by} larger, "
            f"{none_or(sum(step < 0 for step in steps))} smaller, and {tables} of "
            f"{number(len(result.tables), 'row')} of Table 1 "
            f"{'changes' if tables == 1 else 'change'} ({at_hand(result)}).",
        ),
    )


def theorem3_counter_example() -> Erratum:
    """The printed bound cuts off the optimum of a small table."""
    found = counter_example()
    capped, optimum = found.capped, found.optimum
    most = max(len(p) for p in optimum.parents.values())
    return Erratum(
        "counter-example",
        "The printed bound is not safe",
        (
            f"Take {found.table.n_rows} rows with X = Y1 xor Y2 xor Y3. The formula of Table 1 "
            f"allows X at most {found.printed['X']} parents, Theorem 3 allows "
            f"{found.stated['X']}. The optimal network gives X {most} parents and scores "
            f"{_signed(optimum.total)}; the best network within the printed bounds scores "
            f"{_signed(capped.total)}, worse by {optimum.total - capped.total:.4f}. Both were "
            "found by trying every order of the variables.",
        ),
        ("network", "parents of X", "BIC"),
        (
            ("optimal", _parents(optimum), _signed(optimum.total)),
            ("within the printed bounds", _parents(capped), _signed(capped.total)),
        ),
    )


def _signed(score: float) -> str:
    return f"{score:.4f}".replace("-", "−")


def _parents(network: BestNetwork) -> str:
    return ", ".join(network.parents["X"]) or "none"


def floating_binomials(result: Reproduction) -> Erratum:
    """|S| from factorials in double precision."""
    wrong = [cell for cell in result.search_space if cell.corrected]
    which = ", ".join(dict.fromkeys(cell.dataset for cell in wrong))
    return Erratum(
        "binomials",
        "Binomials from floating-point factorials",
        (
            "|S| = n·Σ C(n−1, i). The printed values are those of m!/((m−i)!·i!) with factorials "
            "in double precision, cut to whole numbers: once m! is no longer exact, the quotient "
            "can fall just short of a whole number and loses one. "
            + (
                f"That changes {len(wrong)} of {len(result.search_space)} values: {which}."
                if wrong
                else f"None of the {len(result.search_space)} values at hand is affected."
            ),
        ),
        ("table", "in-degree", "printed", "right", "short by") if wrong else (),
        tuple(_short_by(cell) for cell in wrong),
    )


def _short_by(cell: Cell) -> tuple[str, ...]:
    printed, right = int(cell.printed), int(cell.stated)
    return cell.dataset, str(cell.in_degree), f"{printed:,}", f"{right:,}", f"{right - printed:,}"
