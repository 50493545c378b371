"""Markov equivalence of networks, and how far apart two networks are. Used by the network stage.

Two networks are equivalent (they state the same independences, and BIC, AIC and BDeu score them
the same) iff they have the same skeleton and the same v-structures a → c ← b with a, b not
adjacent (Verma & Pearl 1990). An arc is *compelled* when every member of the class has it and
*reversible* otherwise; the class is drawn as a CPDAG, reversible arcs without heads. Compelled
arcs are found by the labelling of Chickering (1995, "A transformational characterization of
equivalent Bayesian network structures"), one pass over the arcs in a topological order.

Functions here work on ``parents``: for every variable the indices of its parents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parentage.scoring.constraints import Arc

Parents = Sequence[Sequence[int]]
IndexArc = tuple[int, int]


@dataclass(frozen=True)
class EquivalenceClass:
    """A Markov equivalence class, as its completed partially directed graph (CPDAG).

    Parameters
    ----------
    names
        The variables.
    compelled
        Arcs ``(parent, child)`` that every member of the class has.
    reversible
        Adjacent pairs, in the order of their names, whose arc points either way among members.
    """

    names: frozenset[str]
    compelled: frozenset[Arc]
    reversible: frozenset[Arc]

    def mark(self, a: str, b: str) -> str:
        """How two variables are joined: ``"→"``, ``"←"``, ``"—"`` or nothing at all.

        >>> EquivalenceClass(frozenset("ab"), frozenset(), frozenset({("a", "b")})).mark("b", "a")
        '—'
        """
        if (a, b) in self.compelled:
            return "→"
        if (b, a) in self.compelled:
            return "←"
        return "—" if (min(a, b), max(a, b)) in self.reversible else ""

    def distance(self, other: EquivalenceClass) -> int:
        """Structural Hamming distance of two classes: pairs that are joined differently."""
        pairs = {
            (min(pair), max(pair))
            for one in (self, other)
            for pair in one.compelled | one.reversible
        }
        return sum(self.mark(a, b) != other.mark(a, b) for a, b in pairs)


@dataclass(frozen=True)
class Comparison:
    """What distinguishes a network from a reference.

    Parameters
    ----------
    added
        Arcs between variables that are not adjacent in the reference.
    missing
        Arcs of the reference between variables that are not adjacent in the network.
    reversed
        Arcs of the network that point the other way in the reference.
    same_class
        Whether both are in one Markov equivalence class.
    class_shd
        Structural Hamming distance of the two equivalence classes (Tsamardinos et al. 2006).
    """

    added: tuple[Arc, ...]
    missing: tuple[Arc, ...]
    reversed: tuple[Arc, ...]
    same_class: bool
    class_shd: int

    @property
    def shd(self) -> int:
        """Structural Hamming distance of the two networks, one for each differing arc."""
        return len(self.added) + len(self.missing) + len(self.reversed)

    def __str__(self) -> str:
        verdict = "the same equivalence class" if self.same_class else "different classes"
        return (
            f"{len(self.added)} added, {len(self.missing)} missing, {len(self.reversed)} reversed "
            f"arcs; SHD {self.shd}, of the classes {self.class_shd}; {verdict}"
        )


def compelled_arcs(parents: Parents, order: Sequence[int]) -> set[IndexArc]:
    """Find the arcs ``(parent, child)`` every equivalent network has, by Chickering's labelling.

    Parameters
    ----------
    parents
        Parent indices of every variable.
    order
        A topological order of the variables.
    """
    rank = {v: i for i, v in enumerate(order)}
    compelled: set[IndexArc] = set()
    for y in order:
        if not parents[y]:
            continue
        x = max(parents[y], key=rank.__getitem__)
        inherited = [w for w in parents[x] if (w, x) in compelled]
        meets = any(z != x and z not in parents[x] for z in parents[y])
        if meets or any(w not in parents[y] for w in inherited):
            compelled.update((z, y) for z in parents[y])
        else:
            compelled.update((w, y) for w in inherited)
    return compelled


def equivalence_classes(networks: Sequence[Parents]) -> tuple[tuple[int, ...], ...]:
    """Group networks with the same skeleton and the same v-structures (Verma and Pearl 1990)."""
    classes: dict[object, list[int]] = {}
    for i, parents in enumerate(networks):
        classes.setdefault(_class_key(parents), []).append(i)
    return tuple(tuple(members) for members in classes.values())


def _class_key(parents: Parents) -> object:
    """Skeleton and v-structures, as bits."""
    joined = [0] * len(parents)
    for child, above in enumerate(parents):
        for parent in above:
            joined[child] |= 1 << parent
            joined[parent] |= 1 << child
    meeting = [
        (child, a, b)
        for child, above in enumerate(parents)
        for k, b in enumerate(above)
        for a in above[:k]
        if not joined[a] >> b & 1
    ]
    return tuple(joined), tuple(meeting)
