"""Which directions of a network are set by the constraints and not by the data.

Equivalent networks have the same score. Where the constraints, or limits on parents, forbid all
equivalent networks that have an arc reversed, its direction is an assumption of the user. All
networks of a class are reached by reversing covered arcs, one after the other: arcs p → v for which
v has the parents of p, and p, and no others (D. M. Chickering, "A transformational characterization
of equivalent Bayesian network structures", UAI 1995).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parentage.scoring.account import limits_by_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parentage.network.network import Network
    from parentage.scoring.account import Scope
    from parentage.scoring.constraints import Arc

MOST_NETWORKS = 2_000
"""Networks of the class that are looked at; in larger classes some directions stay not known."""

_Parents = tuple[frozenset[int], ...]


def imposed_directions(network: Network, scope: Scope | None) -> dict[Arc, bool | None]:
    """Tell of every arc whether the constraints set its direction; None if that is not known.

    >>> from parentage.network.network import Network
    >>> from parentage.scoring.account import Scope, Unknown
    >>> from parentage.scoring.constraints import Constraints
    >>> chain = Network.from_arcs("abc", [("a", "b"), ("b", "c")])
    >>> imposed_directions(chain, Scope(Unknown(), None, Constraints(forbidden=[("c", "b")]), 0.0))
    {('a', 'b'): False, ('b', 'c'): True}
    >>> imposed_directions(chain, Scope(Unknown(), None, Constraints(forbidden=[("b", "a")]), 0.0))
    {('a', 'b'): True, ('b', 'c'): True}
    """
    found: dict[Arc, bool | None] = dict.fromkeys(network.arcs, False)
    if scope is None or not (scope.constraints or scope.max_parents is not None):
        return found
    constraints, names = scope.constraints, network.names
    barred = constraints.barred(names)  # [child, parent]
    for parent, child in found:
        reverse_barred = bool(barred[network.index(parent), network.index(child)])
        found[parent, child] = reverse_barred or (parent, child) in constraints.required
    limits = limits_by_name(names, scope.max_parents)
    reversible = network.equivalence_class().reversible
    open_ = {arc for arc in found if not found[arc] and (min(arc), max(arc)) in reversible}
    for number, members in enumerate(_members(network) if open_ else ()):
        named = [(names[v], [names[p] for p in own]) for v, own in enumerate(members)]
        if all(
            constraints.allowed(child, own) and len(own) <= limits.get(child, len(names))
            for child, own in named
        ):
            open_ -= {(child, parent) for child, own in named for parent in own}
        if not open_:
            break
        if number == MOST_NETWORKS:
            return found | dict.fromkeys(open_)
    return found | dict.fromkeys(open_, True)


def _members(network: Network) -> Iterator[_Parents]:
    """Yield the networks of the equivalence class, the network itself first."""
    first: _Parents = tuple(map(frozenset, network.parents))
    seen, waiting = {first}, [first]
    for members in waiting:
        yield members
        for child, own in enumerate(members):
            for parent in own:
                if own - {parent} != members[parent]:
                    continue
                turned = list(members)
                turned[child], turned[parent] = own - {parent}, members[parent] | {child}
                other = tuple(turned)
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
