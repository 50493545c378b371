"""A certificate written as a VIPR file: tried first for its size, then written line by line.

Every node ends in a row that cannot be, cuts come before their first use. Inside a node it is
assumed that its cost is less than its goal. A round is then one row: the cost, the cuts with their
multipliers, and one set per child give a left side that every set without which there would be
room adds more to than there is. So the sets that it removes add up to less than 1: to 0. A round
without room cannot be.
"""

from __future__ import annotations

import gzip
import io
import json
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parentage.check.document import ProofError, parse_document, read_document
from parentage.check.families import (
    Families,
    allowed_sets,
    check_lists,
    lists_digest,
    make_families,
    whole_scores,
)
from parentage.files.atomic import replacing
from parentage.vipr.cuts import Member, OrderBound, derive_cut, forced
from parentage.vipr.model import SENSES, Lines, Model, Row, terms_text
from parentage.vipr.walk import Forced, Removal, Walk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Any, TextIO

    from parentage.check.document import Document, Lists
    from parentage.check.families import Ints
    from parentage.files.source import SourceLike
    from parentage.vipr.walk import WalkedNode


@dataclass
class Known:
    """What is known in a node: the row of its cost, sets that are 0, and orders that are forced."""

    cost: int
    zeros: list[int] = field(default_factory=list)
    arcs: dict[tuple[int, int], int] = field(default_factory=dict)

    def also(self, *zeros: int) -> Known:
        """Return the same and more."""
        return Known(self.cost, [*self.zeros, *zeros], dict(self.arcs))


class Derivation:
    """Writes the nodes of a walk as lines."""

    def __init__(self, lines: Lines, walk: Walk) -> None:
        self.lines, self.model, self.walk = lines, lines.model, walk
        self._cuts: dict[int, int | None] = {}

    def prove(self, node: WalkedNode, zeros: list[int]) -> int:
        """Derive that the variables of a node cost its goal at least; return the row's number."""
        model = self.model
        cost = model.objective
        if len(node.variables) < model.n:
            inside = set(node.variables)
            cost = {i: c for i, c in model.objective.items() if model.child[i] in inside}
        if not cost:  # nothing costs anything
            found = self.lines.derive(Row(cost, 1, node.goal), [])
            self.lines.settle(found)
            return found
        low = self.lines.assume(Row(cost, -1, node.goal - 1))
        high = self.lines.assume(Row(cost, 1, node.goal))
        self.lines.settle(low, high)
        absurd = self._close(node, Known(low, list(zeros)))
        found = self.lines.either(Row(cost, 1, node.goal), (high, high), (absurd, low))
        self.lines.settle(found)
        return found

    def _close(self, node: WalkedNode, known: Known) -> int:
        """Derive what cannot be from what is known in a node; return that row's number."""
        absurd = None
        for move in node.moves:
            if isinstance(move, Removal):
                absurd = self._round(node, move, known)
            elif isinstance(move, Forced):
                absurd = self._forced(move, known)
            else:
                absurd = self._exhausted(move, known)
        if absurd is not None:
            return absurd
        if node.branch is not None:
            return self._branch(*node.branch, known)
        if node.left is not None:
            return self._subsets(node, known)
        return self._split(node, known)

    def _zero_sets(self, known: Known) -> set[int]:
        """The sets that are known to be 0."""
        return {i for index in known.zeros for i in self.lines.row(index).coefficients}

    def _derived(self, k: int) -> int | None:
        """The row of a cut, derived for all it is used for when it is first asked for."""
        if k not in self._cuts:
            sets = set(np.flatnonzero(self.walk.used[k]).tolist())
            found = derive_cut(self.lines, self.walk.cuts[k], sets)
            self.lines.settle(*([] if found is None else [found]))
            self._cuts[k] = found
        return self._cuts[k]

    def _round(self, node: WalkedNode, move: Removal, known: Known) -> int | None:
        """Derive that the sets a round removes are 0, or that there is no room."""
        model, lines = self.model, self.lines
        terms = [(known.cost, move.scale)]
        for k, times in zip(*move.round, strict=True):
            row = self._derived(k)
            if row is not None:
                terms.append((row, times))
        reduced: dict[int, int] = {}
        for index, times in terms:
            for i, weight in lines.row(index).coefficients.items():
                reduced[i] = reduced.get(i, 0) + weight * times
        zero = self._zero_sets(known)
        room = sum(times * lines.row(index).right for index, times in terms)
        for v in node.variables:
            least = min(reduced.get(i, 0) for i in model.sets(v) if i not in zero)
            room -= least
            terms.append((model.one(v), -least))
        if not len(move.gone):
            absurd = lines.derive(Row({}, -1, -1), terms, zeros=known.zeros)
            lines.settle(absurd)
            return absurd
        gone = dict.fromkeys(move.gone.tolist(), 1)
        row = lines.derive(
            Row(gone, -1, 0), terms, divide=room + 1, rounded=True, zeros=known.zeros
        )
        lines.settle(row)
        known.zeros.append(row)
        return None

    def _forced(self, move: Forced, known: Known) -> int | None:
        """Derive that sets against a forced order are 0, or that the order is a cycle."""
        model, lines = self.model, self.lines
        fresh = []
        for u, v in pairwise(move.path):
            if (u, v) not in known.arcs:
                known.arcs[u, v] = lines.derive(
                    model.clause([(u, v)]),
                    [(model.one(v), 1), (model.link(u, v), -1)],
                    zeros=known.zeros,
                )
                fresh.append(known.arcs[u, v])
        before = set(known.arcs.values())
        first, last = move.path[0], move.path[-1]
        if first == last:
            above = forced(lines, move.path[:-1], known.arcs)
            back = known.arcs[move.path[-2], last]
            found = lines.derive(Row({}, 1, 1), [(above, 1), (back, 1)])
        else:
            above = forced(lines, move.path, known.arcs)
            gone = Row(dict.fromkeys(move.gone.tolist(), 1), -1, 0)
            found = lines.derive(gone, [(model.link(last, first), 1), (above, -1)])
        lines.settle(found, *fresh, *(set(known.arcs.values()) - before))
        if first == last:
            return found
        known.zeros.append(found)
        return None

    def _exhausted(self, variable: int, known: Known) -> int:
        absurd = self.lines.derive(
            Row({}, 1, 1), [(self.model.one(variable), 1)], zeros=known.zeros
        )
        self.lines.settle(absurd)
        return absurd

    def _branch(
        self, child: int, sets: Ints, low: WalkedNode, high: WalkedNode, known: Known
    ) -> int:
        """Close both cases of a branching: none of some sets of a child, and one of them."""
        lines, inside = self.lines, dict.fromkeys(sets.tolist(), 1)
        absent = lines.assume(Row(inside, -1, 0))
        lines.settle(absent)
        without = self._close(low, known.also(absent))
        present = lines.assume(Row(inside, 1, 1))
        others = {i: 1 for i in self.model.sets(child) if i not in inside}
        zeros = [present]
        if others:
            zeros.append(
                lines.derive(Row(others, -1, 0), [(self.model.one(child), 1), (present, -1)])
            )
        lines.settle(*zeros)
        with_ = self._close(high, known.also(*zeros[1:]))
        absurd = lines.either(Row({}, 1, 1), (without, absent), (with_, present))
        lines.settle(absurd)
        return absurd

    def _split(self, node: WalkedNode, known: Known) -> int:
        """Add up parts, and the least costs of variables in none."""
        model, lines = self.model, self.lines
        parts = [self.prove(part, known.zeros) for part in node.parts]
        zero = self._zero_sets(known)
        free = set(node.variables).difference(*(part.variables for part in node.parts))
        terms = [(known.cost, -1), *((part, 1) for part in parts)]
        for v in sorted(free):
            least = min(model.cost[i] for i in model.sets(v) if i not in zero)
            terms.append((model.one(v), least))
        absurd = lines.derive(Row({}, 1, 1), terms, zeros=known.zeros)
        lines.settle(absurd)
        return absurd

    def _subsets(self, node: WalkedNode, known: Known) -> int:
        """Close a node by dynamic programming, as a local cut: worth is what is not paid."""
        model, lines = self.model, self.lines
        left = set(node.left.tolist() if node.left is not None else ())
        members, ones, right = [], [], -node.goal
        for v in node.variables:
            own = [i for i in model.sets(v) if i in left]
            dearest = max(node.goal, 1 + max(model.cost[i] for i in own))
            right += dearest
            ones.append((model.one(v), -dearest))
            choices = {i: (dearest - model.cost[i], model.held(i, node.variables)) for i in own}
            members.append(Member(v, choices, model.links(v, node.variables)))
        bound = OrderBound(lines, members).derive(right)
        absurd = lines.derive(
            Row({}, -1, -1), [(known.cost, 1), (bound, 1), *ones], zeros=known.zeros
        )
        lines.settle(absurd)
        return absurd


class Size(NamedTuple):
    """How large a file is or will be: derivations, and bytes before compression."""

    derivations: int
    bytes: int

    def text(self) -> str:
        """The size in words.

        >>> Size(17417, 7_640_000).text()
        '17,417 derivations, 7.6 MB'
        """
        return f"{self.derivations:,} derivations, {self.bytes / 1e6:.1f} MB"


def is_vipr(path: str | Path) -> bool:
    """Whether a file of this name is a VIPR file, compressed or not.

    >>> is_vipr("proof.vipr"), is_vipr("proof.vipr.gz"), is_vipr("proof.json")
    (True, True, False)
    """
    return str(path).lower().endswith((".vipr", ".vipr.gz"))


def write_vipr(
    lists: Lists,
    certificate: SourceLike | Mapping[str, Any],
    path: str | Path,
    *,
    announce: Callable[[Size], None] | None = None,
) -> Size:
    """Write the proof of a certificate as a VIPR 1.0 file; compressed when the name ends in .gz.

    Parameters
    ----------
    lists
        The lists that the certificate is about.
    certificate
        A path, bytes, or the document itself.
    path
        The file.
    announce
        Called with a forecast before anything is written.

    Raises
    ------
    InputError
        A file that is not a certificate, or lists that are broken.
    ProofError
        A certificate that does not hold, or with a step that no VIPR file is written for.
    """
    document = read_document(certificate)
    check_lists(lists)
    parsed = parse_document(document, lists.n_variables, lists.n_sets)
    if parsed.digest != lists_digest(lists):
        raise ProofError("lists: their digest differs; the proof is about other lists")
    families, chosen = _families(lists, parsed)
    cost = sum(families.cost[chosen].tolist())
    goal = cost - parsed.tolerance
    walk = Walk(families, parsed)
    root = walk.root(goal)
    known = Model(families)
    trial = Lines(known)
    Derivation(trial, walk).prove(root, [])
    model = Model(families, known)
    head = _head(model, chosen, (goal, cost), trial.count, lists, parsed)
    text = "".join(head)
    if announce is not None:
        announce(Size(trial.count, trial.size + len(text)))
    packed = str(path).lower().endswith(".gz")
    with replacing(path) as draft, _opened(draft, packed=packed) as out:
        out.write(text)
        lines = Lines(model, out)
        Derivation(lines, walk).prove(root, [])
    return Size(lines.count, lines.size + len(text))


def _opened(draft: Path, *, packed: bool) -> TextIO:
    if packed:
        return io.TextIOWrapper(gzip.GzipFile(draft, "wb", mtime=0), encoding="ascii")
    return draft.open("w", encoding="ascii", newline="\n")


def _families(lists: Lists, document: Document) -> tuple[Families, Ints]:
    """Return the sets that the constraints allow, and those of the claim among them."""
    allowed = allowed_sets(lists, document.constraints)
    whole, _ = whole_scores(lists.scores, document.unit)
    full = make_families(lists, allowed, whole)
    kept = np.flatnonzero(allowed)
    families = Families(
        np.cumsum([0, *np.bincount(full.child[kept], minlength=full.n)]),
        np.cumsum([0, *np.diff(full.starts)[kept]]),
        full.parents[allowed[full.owner]],
        np.ones(len(kept), np.bool_),
        full.cost[kept],
    )
    chosen = np.array(document.chosen, np.int64)
    if not allowed[chosen].all():
        raise ProofError("claim.sets: a set breaks the constraints")
    return families, np.searchsorted(kept, chosen)


def _head(
    model: Model,
    chosen: Ints,
    bounds: tuple[int, int],
    derivations: int,
    lists: Lists,
    document: Document,
) -> list[str]:
    """Everything before the derivations."""
    base, digits = document.unit
    text = [
        "% The best network of candidate lists, as an integer programme.\n",
        f"% lists {document.digest}\n",
        f"% unit of costs {base}^-{digits}\n",
        *(f"% {v} {json.dumps(name)}\n" for v, name in enumerate(lists.names)),
        f"VER 1.0\nVAR {model.n_variables}\n",
        "\n".join(model.names()),
        f"\nINT {model.n_variables}\n",
        "\n".join(map(str, range(model.n_variables))),
        "\nOBJ min\n",
        terms_text(model.objective),
        f"\nCON {model.n_rows} {model.ones}\n",
    ]
    for index in range(model.n_rows):
        row = model.row(index)
        text.append(f"c{index} {SENSES[row.sense]} {row.right} {terms_text(row.coefficients)}\n")
    ones = model.solution(chosen.tolist())
    text.append(f"RTP range {bounds[0]} {bounds[1]}\nSOL 1\n")
    text.append(f"network {terms_text(dict.fromkeys(ones, 1))}\n")
    text.append(f"DER {derivations}\n")
    return text
