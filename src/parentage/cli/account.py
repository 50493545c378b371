"""The account of candidate lists, as text and as JSON: what ``score`` and ``learn`` print of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from parentage.work.display import number

if TYPE_CHECKING:
    from parentage.scoring.account import Account, Limit
    from parentage.scoring.lists import CandidateLists


def account_json(lists: CandidateLists) -> dict[str, Any]:
    """Return what ``score --json`` prints of scored lists, without the lists."""
    account = lists.known()
    tallies = account.tallies
    return {
        "variables": list(lists.names),
        "rows": account.rows,
        "score": account.score,
        "max_parents": account.max_parents,
        "families": tallies.families,
        "sets_counted": tallies.sets_counted,
        "families_scored": tallies.families_scored,
        "pruned": dict(tallies.pruned),
        "kept": tallies.kept,
        "seconds": tallies.seconds,
        "rules": list(account.rules),
        "log_base": "e" if account.log_base is None else account.log_base,
        "width": account.width,
        "complete_to": account.complete_to,
        "missing_cells": dict(zip(lists.names, account.missing_cells, strict=False)),
        "prior": account.prior.to_dict(),
        "ended": account.ended,
        "explored": account.explored,
        "completion": None if account.completion is None else account.completion.to_dict(),
        "digest": lists.digest,
        "live_sets": list(tallies.live_sets),
        "recipe": None if account.recipe is None else account.recipe.to_dict(),
    }


def account_text(account: Account) -> str:
    """Say what was kept, counted and skipped."""
    tallies = account.tallies
    limit = account.max_parents if account.complete else account.complete_to
    families = number(tallies.families + len(account.constant))
    whole = f" of {families}" if account.complete else ""
    beyond = f"; {account.explored:,} larger families tried" if account.explored else ""
    lines = [
        f"{tallies.kept:,} candidate parent sets{whole} ({limit_text(limit)}{beyond})",
        f"{tallies.sets_counted:,} sets counted, {tallies.families_scored:,} families scored, "
        f"{tallies.seconds:.2f} s",
    ]
    lines += [line for line in (holes_text(account), account.prior.words()) if line]
    pruned = [f"{rule} {count:,}" for rule, count in tallies.pruned.items() if count]
    if pruned:
        lines.append("families ruled out when met: " + ", ".join(pruned))
    return "\n".join(lines)


def holes_text(account: Account) -> str:
    """Say how many cells are missing and what was done about it; nothing if none is."""
    if not account.missing_cells:
        return ""
    total, most = sum(account.missing_cells), max(account.missing_cells)
    cells = account.rows * len(account.missing_cells)
    told = f"{total:,} of {cells:,} cells are missing, at most {most:,} in a column"
    if account.completion is not None:
        return f"{told}\n{account.completion.words()}"
    return f"{told}; {account.score}: every family is scored on the rows where it is complete"


def limit_text(limit: Limit) -> str:
    """Say what limits the parents."""
    if limit is None:
        return "no limit on parents"
    if isinstance(limit, Mapping):
        return "with limits on parents by name"
    return f"at most {limit} parent{'' if limit == 1 else 's'}"
