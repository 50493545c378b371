"""Facts in words: what was found, how the data were read, what was proved, where it comes from.

Part of gathering the report; takes what records say and adds nothing to it.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from parentage.network.parameters import FALLBACK
from parentage.report.records import Fact
from parentage.scoring.account import Account
from parentage.scoring.catalogue import by_name
from parentage.work.progress import amount

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from parentage.data.recipe import Recipe
    from parentage.data.table import Table
    from parentage.network.network import Network
    from parentage.network.parameters import Parameters
    from parentage.network.record import Effort, Finding
    from parentage.scoring.scope import Scope

LISTED = 12
"""Names that are listed before the rest is counted."""


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun.

    >>> counted(1, "arc"), counted(1200, "row"), counted(2, "class", "classes")
    ('1 arc', '1,200 rows', '2 classes')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def named(names: Iterable[str]) -> str:
    """List names, the first ones if there are many."""
    listed = list(names)
    more = len(listed) - LISTED
    return ", ".join(listed[:LISTED]) + (f" and {more:,} more" if more > 0 else "")


def score_title(scope: Scope | None) -> str:
    """Name what was maximised as people write it: the score, with the prior if there is one."""
    if scope is None or scope.score is None:
        return "the score of the lists"
    kind = by_name(scope.score)
    _, _, parameter = scope.score.partition(":")
    title = f"{kind.title} ({parameter})" if parameter else kind.title
    return f"{title} with the log prior of the arcs" if scope.about_scores() else title


def about_other_data(table: Table | None, scope: Scope | None) -> bool:
    """Tell whether a proof is about other data than the table that is shown."""
    if table is None or scope is None or not isinstance(scope.origin, Account):
        return False
    return scope.origin.data != table.digest


def verdict(network: Network, table: Table | None, found: Finding, scope: Scope | None) -> str:
    """Say what was found and what was proved, for somebody who reads only this."""
    rows = f" from {counted(table.n_rows, 'row')}" if table is not None else ""
    first = f"{counted(network.n_variables, 'variable')}, {counted(network.n_arcs, 'arc')}{rows}."
    if found.optimal is None or scope is None:
        return f"{first} Nothing is recorded of how this network was found."
    if about_other_data(table, scope):
        return f"{first} It was learned from other data; nothing is proved about these rows."
    among = scope.words() or " among all networks"
    if found.optimal:
        return f"{first} Proven{among}: none scores higher under {score_title(scope)}."
    more = "more" if found.gap is None else f"up to {amount(found.gap)} more"
    return (
        f"{first} Not proven to be the best{among}: another one may score {more} under "
        f"{score_title(scope)}."
    )


def about_probabilities(parameters: Parameters, *, completed: bool) -> str:
    """Say how probabilities were estimated; ``completed``: from data with missing values."""
    smoothing, note = parameters.smoothing, parameters.note
    added = f", with {smoothing:g} added to every count" if smoothing else ""
    if smoothing is None:
        return "Probabilities are those of the file."
    if completed and note:
        return f"{note[:1].upper()}{note[1:]}: {FALLBACK}{added}."
    if completed:
        return (
            "Values are missing: probabilities are those that make the observed ones likeliest "
            f"(expectation maximisation){added}."
        )
    if added:
        return f"Probabilities are shares of rows{added}."
    return (
        "Probabilities are shares of rows (maximum likelihood): what never occurs together has "
        "probability 0."
    )


def data_facts(
    table: Table | None, scope: Scope | None, provenance: Mapping[str, Any]
) -> tuple[Fact, ...]:
    """How the data were read: from the table's recipe, or that of the lists."""
    recipe = table.recipe if table is not None else None
    if recipe is None and scope is not None and isinstance(scope.origin, Account):
        recipe = scope.origin.recipe
    facts = [Fact("Source", str(provenance["source"]))] if provenance.get("source") else []
    if table is not None:
        facts.append(Fact("Rows", f"{table.n_rows:,}"))
        facts.append(Fact("Columns", f"{table.n_variables:,}"))
        low, high = int(table.cardinalities.min()), int(table.cardinalities.max())
        facts.append(Fact("States of a column", f"{low}" if low == high else f"{low} to {high}"))
        missing = int(table.missing_cells.sum())
        facts.append(Fact("Missing cells kept", f"{missing:,}" if missing else "none"))
        facts.append(Fact("Constant columns", named(table.constant) or "none"))
    if recipe is not None:
        facts += _reading(recipe)
    data = provenance.get("data") or {}
    if table is not None:
        facts.append(Fact("SHA-256 of the data", table.digest))
    elif "sha256" in data:
        facts.append(Fact("Rows", f"{data.get('rows', 0):,}"))
        facts.append(Fact("SHA-256 of the data", str(data["sha256"])))
    return tuple(facts)


def _reading(recipe: Recipe) -> list[Fact]:
    """What was done to rows and columns."""
    facts, account = [], recipe.account
    if account is not None:
        facts.append(Fact("Read from", f"{account.source} ({account.format})"))
        facts.append(Fact("Rows in the source", f"{account.rows_read:,}"))
        if account.lines:
            empty = f", {account.empty_lines:,} of them with count 0" if account.empty_lines else ""
            facts.append(
                Fact("Counted by", f"{recipe.settings.counts}, in {account.lines:,} lines{empty}")
            )
        if account.rows_dropped:
            facts.append(Fact("Rows left out for missing cells", f"{account.rows_dropped:,}"))
        for label, counts in (
            ("Missing cells", account.missing),
            ("Values treated as missing", account.blanked),
        ):
            if counts:
                facts.append(Fact(label, named(f"{name} {n:,}" for name, n in counts.items())))
        if account.left_out:
            left = (f"{name} ({why})" for name, why in account.left_out.items())
            facts.append(Fact("Columns left out", named(left)))
    if recipe.filled:
        how = (
            "the most frequent state"
            if recipe.settings.missing == "mode"
            else "a state of their own"
        )
        facts.append(Fact("Missing cells get", how))
    for column in recipe.columns:
        if column.cuts:
            rule = f" ({column.rule})" if column.rule else ""
            points = ", ".join(f"{cut:.6g}" for cut in column.cuts)
            facts.append(Fact(f"“{column.name}” cut at", points + rule))
    return facts


def proof_facts(table: Table | None, found: Finding, scope: Scope | None) -> tuple[Fact, ...]:
    """What was proved."""
    facts: list[Fact] = []
    if scope is not None and isinstance(scope.origin, Account) and about_other_data(table, scope):
        other = f"{scope.origin.rows:,} rows, SHA-256 {scope.origin.data}"
        facts.append(Fact("About other data than shown here", other))
    if found.score is not None:
        facts.append(Fact("Score", f"{found.score:.6f}"))
    if scope is not None:
        facts.append(Fact("Scored by", score_title(scope)))
        if scope.about_scores():
            facts.append(Fact("Prior", scope.about_scores()))
    if found.bound is not None:
        facts.append(Fact("No allowed network scores above", f"{found.bound:.6f}"))
    if found.gap is not None:
        facts.append(Fact("Gap", amount(found.gap)))
    if scope is None:
        return tuple(facts)
    facts.append(
        Fact("Allowed", (scope.words() or " all networks").removeprefix(" among ").strip())
    )
    if scope.constraints:
        facts.append(Fact("Constraints", _constraints(scope)))
    facts.append(Fact("Tolerance of the proof", f"{scope.tolerance:.3g}"))
    if found.ties == "fewest arcs":
        facts.append(Fact("Ties", "no other network with that score has fewer arcs"))
    if found.stopped:
        facts.append(Fact("Ended early by", found.stopped))
    if scope.about_directions():
        facts.append(Fact("Directions", scope.about_directions()))
    return tuple(facts)


def _constraints(scope: Scope) -> str:
    given = scope.constraints
    said = [f"{a} → {b} required" for a, b in sorted(given.required)]
    said += [f"{a} → {b} forbidden" for a, b in sorted(given.forbidden)]
    said += [f"{name}: at most {counted(k, 'parent')}" for name, k in given.max_parents.items()]
    if given.tiers:
        said.append("tiers " + " < ".join(", ".join(tier) for tier in given.tiers))
    more = len(said) - LISTED
    return "; ".join(said[:LISTED]) + (f"; and {more:,} more" if more > 0 else "")


def search_facts(found: Finding, scope: Scope | None) -> tuple[Fact, ...]:
    """What was counted on the way."""
    facts = []
    origin = None if scope is None else scope.origin
    if isinstance(origin, Account):
        tallies = origin.tallies
        facts += [
            Fact("Parent sets that were possible", f"{tallies.families:,}"),
            Fact("Sets counted in the data", f"{tallies.sets_counted:,}"),
            Fact("Families scored", f"{tallies.families_scored:,}"),
            Fact("Candidate parent sets left", f"{tallies.kept:,}"),
            Fact("Ruled out by theorem", _pruned(tallies.pruned)),
            Fact("Seconds of scoring", f"{tallies.seconds:.2f}"),
        ]
        if origin.complete_to is not None:
            facts.append(Fact("Searched up to", counted(origin.complete_to, "parent")))
    if found.engine:
        facts.append(Fact("Solved by", found.engine))
    if found.search is not None:
        facts += _effort(found.search.effort)
    if found.seconds is not None:
        facts.append(Fact("Seconds of solving", f"{found.seconds:.2f}"))
    return tuple(facts)


def _effort(effort: Effort) -> list[Fact]:
    counts = (
        ("Subsets in the dynamic programme", effort.subsets),
        ("Rounds of the order search", effort.rounds),
        ("Linear programmes", effort.lp_rounds),
        ("Nodes of the tree", effort.nodes),
        ("Sets removed by reduced cost", effort.fixed),
    )
    facts = [Fact(label, f"{count:,}") for label, count in counts if count]
    if effort.cuts:
        cuts = sorted(effort.cuts.items())
        facts.append(Fact("Cuts", ", ".join(f"{kind} {n:,}" for kind, n in cuts)))
    return facts


def _pruned(pruned: Mapping[str, int]) -> str:
    return ", ".join(f"{rule} {count:,}" for rule, count in pruned.items() if count) or "none"


def origin_facts(provenance: Mapping[str, Any]) -> tuple[Fact, ...]:
    """Versions, command, machine."""
    facts = []
    versions = provenance.get("versions") or {}
    if versions:
        facts.append(Fact("Versions", ", ".join(f"{k} {v}" for k, v in versions.items())))
    command = provenance.get("command")
    if command:
        typed = command if isinstance(command, str) else shlex.join(map(str, command))
        facts.append(Fact("Command", typed))
    for key, label in (("platform", "Machine"), ("written", "Written")):
        if provenance.get(key):
            facts.append(Fact(label, str(provenance[key])))
    return tuple(facts)


def citation(found: Finding, scope: Scope | None, provenance: Mapping[str, Any]) -> str:
    """Return what to write when the result is used."""
    version = (provenance.get("versions") or {}).get("parentage", "")
    how = ""
    if found.score is not None and scope is not None:
        proof = "proven optimal" if found.optimal else "not proven optimal"
        among = scope.words() or " among all networks"
        how = (
            f"The network was learned with parentage{f' {version}' if version else ''} under "
            f"{score_title(scope)} (score {found.score:.4f}, {proof}{among}). "
        )
    return (
        f"{how}Software: The parentage developers, parentage"
        f"{f', version {version}' if version else ''}. Rules: C. P. de Campos, M. Scanagatta, "
        "G. Corani, M. Zaffalon, Entropy-based pruning for learning Bayesian networks using BIC, "
        "Artificial Intelligence 260 (2018) 42–50."
    )
