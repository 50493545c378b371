"""Somebody comes first: what follows when everyone has somebody before them.

A clause of v says that one of its *others* comes before v. If everyone has a clause, there is no
first one, which cannot be. To derive that, one member m after the other is eliminated: whoever had
m among its others gets those of m instead. Let K_v be the clause of v with m among its others, K_m
the one of m, with q others besides v; then

    a · K_v + K_m − sum over others u of m, but v, of cycle (u, m, v)

with a = q + 1 if v is one of m's others, else a = q, leaves (a or 1, or a + 1) · "u before v" for
everybody who is then before v, on the right 1, and nothing of m. Divided by the largest
coefficient and rounded up, that is the new clause of v.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parentage.vipr.lines import Lines

Others = dict[int, set[int]]
"""By variable the others in its clause."""


def refute(lines: Lines, clauses: dict[int, int], others: Others, *, after: bool = False) -> int:
    """Derive what cannot be from a clause of everyone; return the number of that row.

    Parameters
    ----------
    lines
        Where derivations go.
    clauses
        The row of every variable's clause.
    others
        Whom it is about, variables with clauses only.
    after
        Whether clauses say "comes after" in place of "comes before".
    """
    rows, others = dict(clauses), {v: set(who) for v, who in others.items()}
    while True:
        for v, who in others.items():
            if not who:
                return rows[v]
        having: Others = {v: set() for v in others}
        for v, who in others.items():
            for u in who:
                having[u].add(v)
        m = min(others, key=lambda v: (len(others[v]) * len(having[v]), v))
        for v in sorted(having[m]):
            rows[v] = _eliminate(lines, rows, others, m, v, after=after)
            others[v] = (others[v] | others[m]) - {m, v}
        del rows[m], others[m]


def _eliminate(
    lines: Lines, rows: dict[int, int], others: Others, m: int, v: int, *, after: bool
) -> int:
    model, beyond = lines.model, others[m] - {v}
    times = len(beyond) + (v in others[m])
    cycles = [model.cycle(v, m, u) if after else model.cycle(u, m, v) for u in sorted(beyond)]
    terms = [(rows[v], times), (rows[m], 1), *((cycle, -1) for cycle in cycles)]
    who = sorted((others[v] | others[m]) - {m, v})
    clause = model.clause([(v, u) if after else (u, v) for u in who])
    both = bool(beyond & others[v])
    divide = max(1, times + both)
    return lines.derive(clause, terms, divide=divide, rounded=True)


def forced(lines: Lines, path: list[int], arcs: dict[tuple[int, int], int]) -> int:
    """Derive that the first of a path comes before the last; return the number of that row.

    ``arcs`` has the rows of "u comes before v" that are known; those of all arcs of the path are,
    and what is derived is added.
    """
    model, first = lines.model, path[0]
    for u, v in pairwise(path[1:]):
        if (first, v) not in arcs:
            arcs[first, v] = lines.derive(
                model.clause([(first, v)]),
                [(arcs[first, u], 1), (arcs[u, v], 1), (model.cycle(first, u, v), -1)],
            )
    return arcs[first, path[-1]]
