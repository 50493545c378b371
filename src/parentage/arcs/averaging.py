r"""From many networks to shares of pairs, and to one averaged network.

Every network is taken as its equivalence class (CPDAG): a pair that is joined counts one for its
adjacency, and for its direction one if that is compelled, one half for each direction if it is
reversible. So counts do Friedman, Goldszmidt and Wyner (1999) and bnlearn's ``boot.strength``. A
direction that the constraints leave no choice about, or that the score itself prefers (one that is
not score equivalent), counts in full.

Which pairs are significant? Scutari and Nagarajan (2013) compare the distribution function F of the
shares of all pairs with that of an ideal bootstrap, in which a part t of the pairs is never joined
and the others always, F_t(x) = t for 0 <= x < 1, and take the t with the least

    L1(t) = ∫₀¹ |F(x) − t| dx.

F rises, so its values at x and at 1 − x lie on either side of F(½), and the least is at t = F(½):
a median. The threshold F⁻¹(t) is then the largest share that is not above ½, and a pair is
significant when its share is larger: *joined in more than half of the replicates*. Where shares of
exactly ½ make several t equally good, the largest is taken, which leaves those pairs out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parentage.arcs.records import PairShare
from parentage.network.equivalence import compelled_arcs
from parentage.network.network import topological_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from parentage.network.equivalence import IndexArc, Parents
    from parentage.scoring.constraints import Arc


@dataclass(frozen=True, eq=False)
class Directions:
    """Which directions are not a matter of chance: by the score, or by the constraints.

    Parameters
    ----------
    names
        The variables.
    equivalent
        Whether the score values equivalent networks alike; if not, every direction is meant.
    barred
        ``bool[child, parent]``: arcs that may not be.
    required
        Arcs ``(parent, child)`` that must be, as indices.
    """

    names: tuple[str, ...]
    equivalent: bool
    barred: npt.NDArray[np.bool_]
    required: frozenset[IndexArc]

    def of(self, parents: Parents) -> tuple[set[IndexArc], set[IndexArc]]:
        """Return the arcs of a network that count in full, and those that count half each way."""
        arcs = {(p, v) for v, members in enumerate(parents) for p in members} | self.required
        if not self.equivalent:
            return arcs, set()
        sure = compelled_arcs(parents, topological_order(self.names, parents)) | self.required
        sure |= {(p, v) for p, v in arcs if self.barred[p, v]}
        return sure, arcs - sure


def pair_shares(networks: Iterable[Parents], directions: Directions) -> tuple[PairShare, ...]:
    """Return the shares of all pairs that some network joins, most frequent first."""
    names = directions.names
    n = len(names)
    points = np.zeros((n, n))
    """[parent, child]: what the replicates count for the arc; both directions add up to one."""
    compelled = np.zeros((n, n))
    count = 0
    for parents in networks:
        count += 1
        sure, open_ = directions.of(parents)
        for p, v in sure:
            points[p, v] += 1.0
            compelled[p, v] += 1.0
        for p, v in open_:
            points[p, v] += 0.5
            points[v, p] += 0.5
    joined = points + points.T
    shares = [
        PairShare(
            names[a],
            names[b],
            float(joined[a, b] / count),
            float(points[a, b] / joined[a, b]),
            float((compelled[a, b] + compelled[b, a]) / joined[a, b]),
        )
        for a, b in np.argwhere(np.triu(joined) > 0).tolist()
    ]
    return tuple(sorted(shares, key=lambda share: -share.adjacency))


def inclusion_threshold(shares: Sequence[float]) -> float:
    """Return the share above which pairs are significant (Scutari and Nagarajan 2013).

    Pairs that are never joined may be left out: they have the share 0.

    The example of the paper, six pairs:

    >>> inclusion_threshold([0.0460, 0.2242, 0.3921, 0.7689, 0.8935, 0.9439])
    0.3921
    """
    return max((share for share in shares if share <= 0.5), default=0.0)


def averaged_arcs(
    pairs: Sequence[PairShare], threshold: float, preferred: frozenset[Arc]
) -> tuple[Arc, ...]:
    """Return the arcs of the averaged network: significant pairs, each in its usual direction.

    Pairs enter by falling share. Where both directions are as frequent, ``preferred`` decides, then
    the order of the variables. An arc that would close a cycle is turned: then it cannot.
    """
    arcs: list[Arc] = []
    above: dict[str, set[str]] = {}
    for pair in pairs:
        if pair.adjacency <= threshold:
            continue
        forward = pair.forward > 0.5
        if pair.forward == 0.5:
            forward = (pair.b, pair.a) not in preferred
        p, v = (pair.a, pair.b) if forward else (pair.b, pair.a)
        if v in _ancestors(above, p):
            p, v = v, p
        arcs.append((p, v))
        above.setdefault(v, set()).add(p)
    return tuple(arcs)


def _ancestors(above: dict[str, set[str]], name: str) -> set[str]:
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for parent in above.get(waiting.pop(), ()):
            if parent not in found:
                found.add(parent)
                waiting.append(parent)
    return found
