"""The terms of a claim in words: under which score, of which data, among which networks.

A network is the best one only among those that were allowed and under the score that was chosen. A
verdict states all of it, and what was not limited as well, so that nothing has to be guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST = 10
"""Names and arcs that are listed; a text states the number of the others, JSON has them all."""


def terms_text(
    names: Sequence[str], settings: Mapping[str, Any] | None, constraints: Mapping[str, Any]
) -> str:
    """State the terms of a claim about lists.

    Parameters
    ----------
    names
        The variables.
    settings
        How the lists were made (docs/certificates.md); None if another program made them.
    constraints
        What networks must satisfy beyond the lists.

    Examples
    --------
    >>> terms_text(["a", "b"], None, {"max_parents": {"a": 1, "b": 1}})[:42]
    'at most 1 parent a variable; no constraint'
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
        return f"{_parents(limits[names[0]])} a variable"
    return _some([f"{_parents(limit)} of {name}" for name, limit in limits.items()])


def _parents(limit: int) -> str:
    return f"at most {limit} parent{'' if limit == 1 else 's'}"


def _constraints_text(*given: Mapping[str, Any]) -> str:
    """Name arcs and tiers of constraints before and after scoring; limits are stated apart."""
    parts = []
    for kind in ("required", "forbidden"):
        arcs = {(parent, child) for part in given for parent, child in part.get(kind, ())}
        if arcs:
            parts.append(f"{kind} arcs: {_some([' -> '.join(arc) for arc in sorted(arcs)])}")
    tiers = dict.fromkeys(tuple(map(tuple, part.get("tiers", ()))) for part in given)
    parts += [f"tiers: {' < '.join(map(_some, groups))}" for groups in tiers if groups]
    return "; ".join(parts) or "no constraints on arcs"


def _prior_text(prior: Mapping[str, Any]) -> str:
    parts = [] if prior["default"] == 0.5 else [f"{prior['default']:g} for every arc"]
    parts += [f"{p:g} for {parent} -> {child}" for parent, child, p in prior["arcs"]]
    return f"prior: {_some(parts)}" if parts else "no prior"


def _some(items: Sequence[str]) -> str:
    """The first items, and how many there are besides."""
    more = len(items) - MOST
    return ", ".join(items[:MOST]) + (f" and {more:,} more" if more > 0 else "")
