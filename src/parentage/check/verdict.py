"""The check as a whole: whether a proof is about these lists and every step of it holds.

A network is the best one only among those that were allowed and under the score that was chosen. A
verdict states all of it (:func:`terms_text`), and what was not limited as well, so that nothing has
to be guessed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any

import numpy as np

from parentage.check.document import (
    ProofError,
    carried_lists,
    parse_document,
    read_document,
    recorded_settings,
)
from parentage.check.families import (
    allowed_sets,
    check_lists,
    lists_digest,
    make_families,
    rounding_loss,
    unit_size,
    whole_scores,
)
from parentage.check.nodes import Proof
from parentage.check.table import Recounter
from parentage.errors import InputError, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parentage.check.document import Lists
    from parentage.check.families import Families
    from parentage.check.table import Say
    from parentage.data.table import Table
    from parentage.files.source import SourceLike
    from parentage.scoring.lists import CandidateLists

MEMORY = 4e9
"""Bytes that dynamic programming may take unless more are allowed."""


@dataclass
class Verdict:
    """What became of a certificate.

    Parameters
    ----------
    reason
        The first step that fails; empty when every step holds.
    score
        The score of the network (NaN when the check did not get that far).
    tolerance
        No network scores more than this above it; 0 when the proof is exact.
    parents
        For every variable the indices of its parents in the network, if it is one.
    settings
        How the lists were made, as their account states it (docs/certificates.md); None for lists
        of another program.
    constraints
        What the networks had to satisfy beyond the lists.
    terms
        Score, limits on parents, constraints, prior, width, rows and digest of the data, in words;
        empty when the check did not get that far.
    counts
        What was checked: ``nodes``, ``rounds``, cuts by kind (``cluster``, ``local``,
        ``through``), ``removed`` sets, ``subsets`` and ``forest`` nodes; ``counted`` sets of
        columns where the check began with a table.
    among
        Which networks it is about.
    """

    reason: str = ""
    score: float = math.nan
    tolerance: float = math.nan
    parents: tuple[tuple[int, ...], ...] = ()
    settings: Mapping[str, Any] | None = None
    constraints: Mapping[str, Any] = field(default_factory=dict)
    terms: str = ""
    counts: Counter[str] = field(default_factory=Counter)
    among: str = "these lists"

    @property
    def verified(self) -> bool:
        """Whether every step holds."""
        return not self.reason

    @property
    def claim(self) -> str:
        """What is proved, in words; what would have been, if it is refused."""
        if math.isnan(self.tolerance):
            return "no claim was read"
        among = self.among + (" within the constraints" if any(self.constraints.values()) else "")
        more = "higher" if self.tolerance == 0 else f"more than {self.tolerance:.3g} higher"
        return f"the network scores {self.score:.12g} and no network of {among} scores {more}"

    def __bool__(self) -> bool:
        return self.verified

    def __repr__(self) -> str:
        if not self.verified:
            return f"Verdict: refused: {self.reason}"
        return f"Verdict: verified: {self.claim} ({self.terms})"


def check(
    lists: CandidateLists,
    certificate: SourceLike | Mapping[str, Any],
    *,
    memory: float = MEMORY,
) -> Verdict:
    """Verify a certificate of optimality against candidate lists.

    Parameters
    ----------
    lists
        The lists that the network was made from.
    certificate
        A path, bytes, or the document itself (docs/certificates.md).
    memory
        Bytes that parts solved by dynamic programming may take.

    Raises
    ------
    InputError
        A file that is not a certificate, or lists that are broken.

    Examples
    --------
    >>> from parentage.check import sealed
    >>> from parentage.scoring.lists import CandidateLists
    >>> lists = CandidateLists.from_families(
    ...     {"rain": [(-3.0, ["wet"]), (-5.0, [])], "wet": [(-2.0, ["rain"]), (-6.0, [])]})
    >>> proof = sealed({
    ...     "format": "parentage certificate", "version": 2,
    ...     "lists": {"variables": 2, "sets": 4, "digest": lists_digest(lists)},
    ...     "settings": None, "constraints": {},
    ...     "claim": {"sets": [1, 2], "score": -7.0, "tolerance": 0},
    ...     "unit": {"decimals": 0}, "denominator": 1,
    ...     "cuts": [["cluster", [0, 1], 1]],
    ...     "nodes": [{"steps": [["round", [0], [2]]]}]})
    >>> check(lists, proof).claim
    'the network scores -7 and no network of these lists scores higher'
    >>> check(lists, {**proof, "nodes": [{"steps": [["round", [0], [1]]]}]})
    Verdict: refused: node 0: neither its steps nor a branch, split or solution closes it
    """
    document = read_document(certificate)
    check_lists(lists)
    verdict = Verdict()
    try:
        _verify(lists, lists.account.settings(), document, memory, verdict)
    except ProofError as refusal:
        verdict.reason = str(refusal)
    return verdict


def check_table(
    table: Table,
    certificate: SourceLike | Mapping[str, Any],
    *,
    memory: float = MEMORY,
    threads: int = 1,
    say: Say = lambda phase, sets, seconds: None,
) -> Verdict:
    """Verify a certificate of optimality against the table that it is about.

    The lists that it carries are checked by a recount (:mod:`parentage.check.table`), and the proof
    against the lists; no other part of this package is asked.

    Parameters
    ----------
    table
        The data, complete, as they were read for the network.
    certificate
        A path, bytes, or the document itself (docs/certificates.md).
    memory
        Bytes that parts solved by dynamic programming may take.
    threads
        Processes that count.
    say
        Called with where the recount is, and first with how long it will take.

    Raises
    ------
    InputError
        A file that is not a certificate, one that does not carry its lists, or a score, data or
        constraints that a recount does not know.
    """
    document = read_document(certificate)
    verdict = Verdict(among="this table")
    try:
        settings = recorded_settings(document)
        if settings is None:
            raise InputError(
                "this certificate does not say how its lists were made; give the candidate lists "
                "instead of the table"
            )
        if settings["data"] != table.digest or settings["rows"] != table.n_rows:
            raise ProofError(
                "settings.data: the certificate is about other data; if this is the same table, "
                "read it with the same options as for learning"
            )
        lists = carried_lists(document, table.names)
        recounter = Recounter(table, lists, settings)
        _refuse_later_requirements(settings, document["constraints"])
        _verify(lists, settings, document, memory, verdict)
        seconds = recounter.forecast(lists.counted, threads)
        say("", 0, seconds)
        off = recounter.run(
            threads=threads, say=lambda phase: say(phase, recounter.sets_counted, seconds)
        )
    except ProofError as refusal:
        verdict.reason = str(refusal)
        return verdict
    unit = math.log(settings["log_base"] or math.e)
    verdict.tolerance += off / unit * (1 + 1e-9)
    verdict.counts["counted"] = recounter.sets_counted
    constants = f"{len(table.constant)} constant columns" if table.constant else ""
    left_out = f"{constants} left out" if constants else "no constant columns"
    verdict.terms += f"; no missing values; {left_out}"
    return verdict


def _refuse_later_requirements(settings: Mapping[str, Any], constraints: Any) -> None:
    """Refuse arcs that were required after scoring: the lists need not have the best such sets."""
    later = constraints.get("required", ()) if isinstance(constraints, Mapping) else ()
    before = [list(arc) for arc in settings["constraints"].get("required", ())]
    added = [" → ".join(arc) for arc in later if list(arc) not in before]
    if added:
        raise InputError(
            f"these arcs were required after scoring: {listed(added)}; the lists may lack the best "
            "sets with them; give the candidate lists instead of the table, or require these arcs "
            "when scoring"
        )


def _verify(
    lists: Lists,
    settings: Mapping[str, Any] | None,
    document: Mapping[str, Any],
    memory: float,
    verdict: Verdict,
) -> None:
    """Check the proof of a document, and enter what it says into the verdict.

    Raises
    ------
    ProofError
        The first step that does not hold.
    """
    read = parse_document(document, lists.n_variables, lists.n_sets)
    if read.digest != lists_digest(lists):
        raise ProofError("lists: their digest differs; the proof is about other lists")
    _check_settings(read.settings, settings)
    allowed = allowed_sets(lists, read.constraints)
    whole, lost = whole_scores(lists.scores, read.unit)
    families = make_families(lists, allowed, whole)
    chosen = np.array(read.chosen, np.int64)
    verdict.parents = _check_network(lists, families, read.chosen)
    verdict.score = math.fsum(lists.scores[chosen].tolist())
    verdict.settings, verdict.constraints = settings, read.constraints
    verdict.terms = terms_text(lists.names, settings, read.constraints)
    loss = rounding_loss(lost, families.offsets, families.allowed, chosen)
    verdict.tolerance = (read.tolerance + loss) * unit_size(read.unit)
    if verdict.score != read.score:
        raise ProofError(f"claim.score: {read.score!r}, but the sets add up to {verdict.score!r}")
    goal = sum(families.cost[chosen].tolist()) - read.tolerance
    Proof(families, read, memory, verdict.counts).verify(goal)


def _check_settings(stated: Mapping[str, Any] | None, made: Mapping[str, Any] | None) -> None:
    """Refuse a certificate that states other settings than those the lists were made with."""
    if stated is None or made is None:  # what is not known contradicts nothing
        return
    for key, value in made.items():
        if stated[key] != value:
            raise ProofError(
                f"settings.{key}: the certificate states {_short(stated[key])}, and the lists were "
                f"made with {_short(value)}"
            )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "…"


def _check_network(
    lists: Lists, families: Families, chosen: Sequence[int]
) -> tuple[tuple[int, ...], ...]:
    """Return the parents of the claimed sets: one allowed set per variable, no cycle."""
    for v, i in enumerate(chosen):
        if families.child[i] != v:
            raise ProofError(f"claim.sets[{v}]: set {i} belongs to another variable")
        if not families.allowed[i]:
            raise ProofError(f"claim.sets[{v}]: set {i} breaks the constraints")
    parents = tuple(tuple(lists.parents_of(i).tolist()) for i in chosen)
    try:
        TopologicalSorter(dict(enumerate(parents))).prepare()
    except CycleError as error:
        names = [lists.names[v] for v in sorted(set(error.args[1]))]
        raise ProofError(f"claim.sets: the network has a cycle among {listed(names)}") from None
    return parents


def terms_text(
    names: Sequence[str], settings: Mapping[str, Any] | None, constraints: Mapping[str, Any]
) -> str:
    """State the terms of a claim about lists of these variables.

    ``settings`` say how the lists were made (docs/certificates.md), None if another program made
    them; ``constraints`` what networks must satisfy beyond the lists.

    >>> terms_text(["a", "b"], None, {"max_parents": {"a": 1, "b": 1}})[:44]
    'at most 1 parent per variable; no constraint'
    """
    scoring = {} if settings is None else settings["constraints"]
    limit = None if settings is None else settings["max_parents"]
    by_name = limit if isinstance(limit, Mapping) else dict.fromkeys(names, limit)
    limits = _limits(
        names, (by_name, *(part.get("max_parents", {}) for part in (scoring, constraints)))
    )
    terms = [_limits_text(names, limits), _constraints_text(scoring, constraints)]
    if settings is None:
        return "; ".join(
            [
                *terms,
                "lists of another program: their score, prior, width, rows and data are unknown",
            ]
        )
    base = settings["log_base"]
    unit = "" if base is None else f" in logarithms to base {base:g}"
    width = settings["width"]
    after = [
        _prior_text(settings["prior"]),
        "no width" if width is None else f"width {width:g}",
        f"{settings['rows']:,} rows",
        f"data sha256:{settings['data']}",
    ]
    if settings["settled"] is not None:
        end = "" if settings["settled"] else ", which was stopped early"
        after.append(f"missing values completed by expectation maximisation{end}")
    if settings["complete_to"] is not None:
        after.append(f"sets of more than {settings['complete_to']} parents were not all searched")
    return "; ".join([f"score {settings['score']}{unit}", *terms, *after])


def _limits(names: Sequence[str], given: Sequence[Mapping[str, int | None]]) -> dict[str, int]:
    """The smallest limit on the parents of every variable that has one."""
    found = {}
    for name in names:
        own = [limit for limits in given if (limit := limits.get(name)) is not None]
        if own:
            found[name] = min(own)
    return found


def _limits_text(names: Sequence[str], limits: Mapping[str, int]) -> str:
    if not limits:
        return "no limit on parents"
    if len(limits) == len(names) and len(set(limits.values())) == 1:
        return f"{_parents(limits[names[0]])} per variable"
    return listed([f"{_parents(limit)} of {name}" for name, limit in limits.items()])


def _parents(limit: int) -> str:
    return f"at most {limit} parent{'' if limit == 1 else 's'}"


def _constraints_text(*given: Mapping[str, Any]) -> str:
    """Name arcs and tiers of constraints before and after scoring; limits are stated apart."""
    parts = []
    for kind in ("required", "forbidden"):
        arcs = {(parent, child) for part in given for parent, child in part.get(kind, ())}
        if arcs:
            parts.append(f"{kind} arcs: {listed([' → '.join(arc) for arc in sorted(arcs)])}")
    tiers = dict.fromkeys(tuple(map(tuple, part.get("tiers", ()))) for part in given)
    parts += [f"tiers: {' < '.join(map(listed, groups))}" for groups in tiers if groups]
    return "; ".join(parts) or "no constraints on arcs"


def _prior_text(prior: Mapping[str, Any]) -> str:
    parts = [] if prior["default"] == 0.5 else [f"{prior['default']:g} for every arc"]
    parts += [f"{p:g} for {parent} → {child}" for parent, child, p in prior["arcs"]]
    return f"prior: {listed(parts)}" if parts else "no prior"
