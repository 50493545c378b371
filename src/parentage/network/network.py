"""The network: an immutable directed acyclic graph over named variables, what learning returns.

A :class:`Network` is names and, for every variable, its parents; it is acyclic by construction.
It knows its arcs, a topological order, its Markov equivalence class and its difference from another
network; it scores new data, takes parameters from data (:mod:`parentage.network.parameters`) and
shows itself (:mod:`parentage.view`). Files are written by
:func:`parentage.network.formats.write_network`; :mod:`parentage.network.bridges` converts networks
to and from other libraries.

Two networks are equivalent (they state the same independences, and BIC, AIC and BDeu score them
the same) iff they have the same skeleton and the same v-structures a → c ← b with a, b not
adjacent (Verma & Pearl 1990). An arc is *compelled* when every member of the class has it and
*reversible* otherwise; the class is drawn as a CPDAG, reversible arcs without heads. Compelled
arcs are found by the labelling of Chickering (1995, "A transformational characterization of
equivalent Bayesian network structures"), one pass over the arcs in a topological order.

Functions here work on ``parents``: for every variable the indices of its parents.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from parentage.errors import InputError, UndecidedError, counted, did_you_mean
from parentage.network import SMOOTHING
from parentage.scoring.account import limits_by_name

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping

    from parentage.data.table import Table
    from parentage.network.parameters import Parameters
    from parentage.scoring.account import Scope
    from parentage.scoring.constraints import Arc, Prior
    from parentage.scoring.lists import CandidateLists

LEARNED_FROM = (
    "type solution.network.fit(solution.table), or read another table like that one: "
    "parentage.read_table(…, recipe=solution.table.recipe)"
)
"""How Python reads a table in the states that a network knows."""

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
            f"arcs; SHD {self.shd}, between the classes {self.class_shd}; {verdict}"
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


@dataclass(frozen=True, eq=False, repr=False)
class Network:
    """A directed acyclic graph: ``parents[v]`` are the indices of the parents of variable ``v``.

    Networks with the same variables and the same arcs are equal; the order of the variables does
    not matter.

    Parameters
    ----------
    names
        Variable names, unique.
    parents
        For every variable the indices of its parents, in increasing order.
    shares
        Support of the arcs, from 0 to 1, if known; figures show it. Comparisons ignore it.
    states
        State labels of every variable, if known: :meth:`fit` refuses a table with others.
        Comparisons ignore them.

    Raises
    ------
    InputError
        The arcs form a cycle, a name occurs twice, or a parent is unknown, is listed twice or is
        the child itself.

    Examples
    --------
    >>> net = Network.from_parents({"smoker": [], "cancer": ["smoker"], "cough": ["cancer"]})
    >>> net
    Network: 3 variables, 2 arcs, at most 1 parent
    >>> net.arcs
    (('smoker', 'cancer'), ('cancer', 'cough'))
    """

    names: tuple[str, ...]
    parents: tuple[tuple[int, ...], ...]
    shares: Mapping[Arc, float] | None = None
    states: tuple[tuple[str, ...], ...] | None = None

    def __post_init__(self) -> None:
        names = tuple(str(name) for name in self.names)
        parents = tuple(tuple(sorted(int(p) for p in members)) for members in self.parents)
        _check_families(names, parents)
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "parents", parents)
        _ = self.order_indices  # refuses a cycle

    @classmethod
    def from_parents(cls, parents: Mapping[str, Iterable[str]]) -> Network:
        """Make a network from ``{child: parents}``; every variable is a key."""
        return cls.from_arcs(
            parents, ((parent, child) for child, members in parents.items() for parent in members)
        )

    @classmethod
    def from_arcs(cls, names: Iterable[str], arcs: Iterable[Arc]) -> Network:
        """Make a network from its variables and arcs ``(parent, child)``.

        >>> Network.from_arcs("abc", [("a", "c"), ("b", "c")]).parents_of("c")
        ('a', 'b')
        """
        ordered = tuple(names)
        index = {name: v for v, name in enumerate(ordered)}
        parents: list[list[int]] = [[] for _ in ordered]
        for arc in arcs:
            for end in arc:
                if end not in index:
                    raise InputError(
                        f"the arc {arc[0]!r} → {arc[1]!r} names {end!r}, which is not "
                        f"a variable; {did_you_mean(end, index)}"
                    )
            parents[index[arc[1]]].append(index[arc[0]])
        return cls(ordered, tuple(tuple(members) for members in parents))

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return len(self.names)

    @property
    def n_arcs(self) -> int:
        """Number of arcs."""
        return sum(len(members) for members in self.parents)

    @property
    def max_in_degree(self) -> int:
        """Size of the largest parent set."""
        return max((len(members) for members in self.parents), default=0)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """For every variable the indices of its children, rising."""
        found: list[list[int]] = [[] for _ in self.names]
        for v, members in enumerate(self.parents):
            for p in members:
                found[p].append(v)
        return tuple(map(tuple, found))

    @cached_property
    def arcs(self) -> tuple[Arc, ...]:
        """All ``(parent, child)``, by child in the order of the variables."""
        return tuple(
            (self.names[p], self.names[v])
            for v, members in enumerate(self.parents)
            for p in members
        )

    @cached_property
    def order_indices(self) -> tuple[int, ...]:
        """Indices in topological order, smallest index first among those that are free."""
        return topological_order(self.names, self.parents)

    @property
    def order(self) -> tuple[str, ...]:
        """Names in topological order: parents before children."""
        return tuple(self.names[v] for v in self.order_indices)

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: v for v, name in enumerate(self.names)}

    def index(self, name: str) -> int:
        """Position of a variable; an unknown name is refused with the nearest known one."""
        if name not in self._index:
            raise InputError(f"no variable {name!r}; {did_you_mean(name, self.names)}")
        return self._index[name]

    def parents_of(self, name: str) -> tuple[str, ...]:
        """Names of the parents of a variable."""
        return tuple(self.names[p] for p in self.parents[self.index(name)])

    def children_of(self, name: str) -> tuple[str, ...]:
        """Names of the children of a variable."""
        return tuple(self.names[v] for v in self.children[self.index(name)])

    def to_dict(self) -> dict[str, list[str]]:
        """Return ``{child: [parents]}``."""
        return {name: list(self.parents_of(name)) for name in self.names}

    def equivalence_class(self) -> EquivalenceClass:
        """Return the Markov equivalence class (CPDAG).

        >>> chain = Network.from_arcs("abc", [("a", "b"), ("b", "c")])
        >>> sorted(chain.equivalence_class().reversible)
        [('a', 'b'), ('b', 'c')]
        """
        compelled = frozenset(
            (self.names[p], self.names[v])
            for p, v in compelled_arcs(self.parents, self.order_indices)
        )
        reversible = frozenset((min(arc), max(arc)) for arc in self.arcs if arc not in compelled)
        return EquivalenceClass(frozenset(self.names), compelled, reversible)

    def compare(self, reference: object) -> Comparison:
        """Compare with a reference over the same variables.

        >>> learnt = Network.from_arcs("abc", [("a", "b"), ("b", "c")])
        >>> truth = Network.from_arcs("abc", [("b", "a"), ("a", "c")])
        >>> print(learnt.compare(truth))
        1 added, 1 missing, 1 reversed arcs; SHD 3, between the classes 2; different classes
        """
        if not isinstance(reference, Network):
            raise InputError(
                f"the reference is a {type(reference).__name__}; pass a Network "
                "(parentage.bridges converts those of other libraries)"
            )
        different = set(self.names) ^ set(reference.names)
        if different:
            raise InputError(
                f"the networks have different variables: {min(different)!r} is in only one of them"
            )
        mine, theirs = set(self.arcs), set(reference.arcs)
        own_class, their_class = self.equivalence_class(), reference.equivalence_class()
        return Comparison(
            added=tuple(a for a in self.arcs if a not in theirs and a[::-1] not in theirs),
            missing=tuple(a for a in reference.arcs if a not in mine and a[::-1] not in mine),
            reversed=tuple(a for a in self.arcs if a[::-1] in theirs),
            same_class=own_class == their_class,
            class_shd=own_class.distance(their_class),
        )

    def score(self, table: Table, score: str = "bic", log_base: float | str | None = None) -> float:
        """Score of the network on a table whose columns include its variables.

        A column with one observed state and no parents counts 0, as it does in candidate lists.
        """
        from parentage.scoring.scores import family_score

        return math.fsum(
            family_score(table, name, self.parents_of(name), score, log_base) for name in self.names
        )

    def fit(self, table: object, *, smoothing: float = SMOOTHING) -> Parameters:
        """Estimate the conditional probabilities from a table, a data frame or a file.

        See ``parameters.fit_parameters``. Of a table that needed decisions pass the one that was
        learned from: ``solution.network.fit(solution.table)``.
        """
        from parentage.data.reading import as_table
        from parentage.network.parameters import fit_parameters

        try:
            return fit_parameters(self, as_table(table), smoothing=smoothing)
        except UndecidedError as error:
            if self.states is None:
                raise
            seen = f"the table has to be read in the states of the network: {error.message}"
            raise InputError(seen, LEARNED_FROM) from None

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        table: Table | None = None,
        size: str | None = None,
    ) -> None:
        """Write the network as its extension says; see :meth:`parentage.Solution.save`.

        ``.bif`` and ``.xmlbif`` take their probabilities from the table.
        """
        from parentage.report.page import save

        save(self, path, table=table, size=size)

    def to_svg(
        self,
        gains: Mapping[Arc, float] | None = None,
        *,
        imposed: Mapping[Arc, bool | None] | None = None,
    ) -> str:
        """Draw the layered figure (:mod:`parentage.view`).

        Arcs are as wide as what they gain, as strong as their support (the network's
        ``shares``), and have a head where all equivalent networks have them in this direction, or
        the constraints set it, as ``imposed`` says.
        """
        from parentage.view.drawing import network_drawing
        from parentage.view.figure import drawing_svg

        return drawing_svg(network_drawing(self, gains, imposed=imposed))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Network):
            return NotImplemented
        return self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @cached_property
    def _identity(self) -> tuple[frozenset[str], frozenset[Arc]]:
        return frozenset(self.names), frozenset(self.arcs)

    def __repr__(self) -> str:
        degree = self.max_in_degree
        return (
            f"Network: {counted(self.n_variables, 'variable')}, {counted(self.n_arcs, 'arc')}, "
            f"at most {counted(degree, 'parent')}"
        )

    def _repr_html_(self) -> str:
        return self.to_svg()


def topological_order(names: Sequence[str], parents: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Sort indices so that parents come before children; refuse a cycle and name it.

    >>> topological_order("abc", [[2], [], [1]])
    (1, 2, 0)
    >>> topological_order("ab", [[1], [0]])
    Traceback (most recent call last):
    parentage.errors.InputError: the arcs form a cycle: 'a' → 'b' → 'a'
    """
    sorter = TopologicalSorter(dict(enumerate(parents)))
    try:
        sorter.prepare()
    except CycleError as error:
        cycle = error.args[1][:-1]
        start = cycle.index(min(cycle))
        walk = [*cycle[start:], *cycle[: start + 1]]
        told = " → ".join(repr(names[v]) for v in walk)
        raise InputError(f"the arcs form a cycle: {told}") from None
    free, order = sorted(sorter.get_ready()), list[int]()
    while free:
        order.append(heapq.heappop(free))
        sorter.done(order[-1])
        for v in sorter.get_ready():
            heapq.heappush(free, v)
    return tuple(order)


def arc_gains(
    network: Network,
    table: Table,
    score: str = "bic",
    log_base: float | str | None = None,
    prior: Prior | None = None,
    lists: CandidateLists | None = None,
) -> dict[Arc, float]:
    """Return what every arc gains: the score lost when that parent alone leaves its child.

    Both families are scored on the table, or taken from ``lists`` of this table, score and prior.
    A child that is observed together with all its parents in no row has no score, and its arcs have
    no gain.
    """
    from parentage.scoring.scores import family_score

    gains: dict[Arc, float] = {}
    for child in network.names:
        members = network.parents_of(child)
        if not members:
            continue
        listed = {} if lists is None else lists.subsets_of(child, members)
        families = [members, *(tuple(p for p in members if p != left) for left in members)]
        whole, *without = (
            listed[parents]
            if (parents := frozenset(family)) in listed
            else family_score(table, child, family, score, log_base, prior)
            for family in families
        )
        if whole > -math.inf:
            gains |= {(p, child): whole - rest for p, rest in zip(members, without, strict=True)}
    return gains


def listed_gains(network: Network, lists: CandidateLists) -> dict[Arc, float]:
    """Return what every arc gains as far as lists can tell, without their table.

    The family without the parent may not be listed: the child then takes the best listed subset of
    the parents that remain. An arc into a child that has no such subset is left out.
    """
    gains: dict[Arc, float] = {}
    for child in network.names:
        members = network.parents_of(child)
        if not members:
            continue
        inside = lists.subsets_of(child, members)
        whole = inside.get(frozenset(members))
        if whole is None:
            raise InputError(
                f"the lists have no parent set {sorted(members)} for {child!r}; "
                f"they belong to another network"
            )
        for parent in members:
            rest = [score for some, score in inside.items() if parent not in some]
            if rest:
                gains[parent, child] = whole - max(rest)
    return gains


def _check_families(names: tuple[str, ...], parents: tuple[tuple[int, ...], ...]) -> None:
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"variable {twice!r} occurs twice; rename one of them")
    if len(parents) != len(names):
        raise InputError(f"{len(names)} variables but {len(parents)} parent sets")
    for name, members in zip(names, parents, strict=True):
        if members and not 0 <= members[0] <= members[-1] < len(names):
            wrong = members[0] if members[0] < 0 else members[-1]
            raise InputError(f"{name!r} has the parent number {wrong}, which is not a variable")
        if len(set(members)) != len(members):
            twice = next(names[p] for p in members if members.count(p) > 1)
            raise InputError(f"{name!r} has the parent {twice!r} twice")


MOST_NETWORKS = 2_000
"""Networks of the class that are looked at; in larger classes some directions stay not known."""


def imposed_directions(network: Network, scope: Scope | None) -> dict[Arc, bool | None]:
    """Tell of every arc whether the constraints set its direction; None if that is not known.

    Equivalent networks score the same. Where the constraints, or limits on parents, forbid all
    equivalent networks that have an arc reversed, its direction is an assumption of the user.

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


def _members(network: Network) -> Iterator[tuple[frozenset[int], ...]]:
    """Yield the networks of the equivalence class, the network itself first.

    All are reached by reversing covered arcs, one after the other: arcs p → v for which v has the
    parents of p, and p, and no others (Chickering 1995).
    """
    first = tuple(map(frozenset, network.parents))
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
