"""Facts in words: what was found, how the data were read, what was proved, where it comes from.

Part of gathering the report; takes what records say and adds nothing to it.
"""

from __future__ import annotations

import os
import shlex
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from parentage.arcs.records import Label, within_text
from parentage.data.discretize import AT_MEDIAN
from parentage.errors import counted, listed
from parentage.network.parameters import FALLBACK
from parentage.scoring.account import Account
from parentage.scoring.catalogue import by_name, shown_name
from parentage.scoring.scores.node_average import about_few_rows
from parentage.work.progress import amount

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parentage.arcs.records import ArcSupport, Support
    from parentage.data.recipe import ColumnRecipe, Recipe
    from parentage.data.table import Table
    from parentage.network.parameters import Parameters
    from parentage.network.record import NetworkRecord, SearchRecord
    from parentage.scoring.account import Scope
    from parentage.scoring.constraints import Arc

LISTED = 12
"""Names that are listed before the rest is counted."""


class Fact(NamedTuple):
    """A line of a list of facts."""

    label: str
    value: str


def score_title(scope: Scope | None) -> str:
    """Name what was maximised as people write it: the score, with the prior if there is one."""
    if scope is None or scope.score is None:
        return "the score of the lists"
    kind = by_name(scope.score)
    _, _, parameter = shown_name(scope.score).partition(":")
    title = f"{kind.title} ({parameter})" if parameter else kind.title
    return f"{title} with the log prior of the arcs" if scope.about_scores() else title


def account_of(scope: Scope | None) -> Account | None:
    """Return the account of the lists that a network was learned from; None if it is not known."""
    return scope.origin if scope is not None and isinstance(scope.origin, Account) else None


def about_other_data(table: Table | None, scope: Scope | None) -> bool:
    """Tell whether a proof is about other data than the table that is shown."""
    account = account_of(scope)
    return table is not None and account is not None and account.data != table.digest


def verdict(record: NetworkRecord, table: Table | None) -> str:
    """Say what was found and what was proved, for somebody who reads only this."""
    network, found, scope = record.network, record.finding, record.scope
    rows = f" from {counted(table.n_rows, 'row')}" if table is not None else ""
    first = f"{counted(network.n_variables, 'variable')}, {counted(network.n_arcs, 'arc')}{rows}."
    if found.optimal is None or scope is None:
        return f"{first} The file does not record how this network was found."
    if about_other_data(table, scope):
        return f"{first} It was learned from other data; nothing is proved about these rows."
    among = scope.words() or " among all networks"
    if found.optimal:
        return f"{first} Proven{among}: no network scores higher under {score_title(scope)}."
    listed = "" if found.score is None else scope.about_lists(found.score)
    last = f" It is {listed}." if listed else ""
    if (beside := found.beside()) is not None:
        how = f"under {score_title(scope)}; {beside}."
        return f"{first} Not proven optimal{among} {how}{last}"
    more = "higher" if found.gap is None else f"up to {amount(found.gap)} higher"
    return (
        f"{first} Not proven optimal{among}: another network may score {more} under "
        f"{score_title(scope)}.{last}"
    )


def summary(
    arcs: Sequence[ArcSupport],
    directions: Mapping[Arc, str],
    support: Support | None,
    path: str,
) -> tuple[str, ...]:
    """Say in phrases how sure links and directions are; ``path``: over which penalties it stays.

    ``directions`` are those of :func:`parentage.arcs.records.direction_of`; none if the score makes
    all directions.

    >>> from parentage.arcs.records import ArcSupport
    >>> one = ArcSupport("a", "b", reversible=True, support="firm")
    >>> two = ArcSupport("b", "c", reversible=False, support="open")
    >>> summary([one, two], {one.arc: "reversible", two.arc: "compelled"}, None, "")
    ('2 links: 1 firm, 1 open', '1 direction compelled, 1 reversible')
    """
    if not arcs:
        return ("no links",)
    labels = Counter(one.support for one in arcs)
    parts = [f"{labels[label]:,} {label}" for label in get_args(Label) if labels[label]]
    told = [f"{counted(len(arcs), 'link')}: {', '.join(parts) or 'their support was not computed'}"]
    drawn = None if support is None else support.bootstrap
    if drawn is not None and drawn.done < drawn.asked:
        told.append(drawn.words)
    if directions:
        words = Counter(directions.values())
        told.append(
            f"{counted(words['compelled'], 'direction')} compelled, "
            f"{words['reversible']:,} reversible"
        )
        for rare in ("set by the constraints", "not known"):
            told[-1] += f", {words[rare]:,} {rare}" if words[rare] else ""
    if support is not None and support.near is not None:
        least = "" if support.near.complete else "at least "
        number = counted(support.near.classes, "equivalence class", "equivalence classes")
        told.append(f"{least}{number} within a factor of {support.near.factor:g}")
    return (*told, *([path] if path else []))


def methods(record: NetworkRecord, table: Table | None, support: Support | None) -> str:
    """Return a paragraph for the methods section of a paper, from what was done in this run."""
    network, scope, found, parameters = (
        record.network,
        record.scope,
        record.finding,
        record.parameters,
    )
    program = f"parentage {record.version}".rstrip()
    said = []
    if table is not None:
        data = f"{counted(table.n_rows, 'row')} of {counted(table.n_variables, 'variable')}"
        missing = int(table.missing_cells.sum())
        said.append(f"The data are {data}{f' with {missing:,} missing values' if missing else ''}.")
        recipe = table.recipe
        if recipe is not None and recipe.account is not None and recipe.account.rows_dropped:
            said.append(f"Rows left out for missing values: {recipe.account.rows_dropped:,}.")
        cut = [] if recipe is None else [c for c in recipe.columns if c.cuts]
        if cut:
            said.append(_about_discretised(cut))
    if found.score is None or scope is None:
        said.append(f"The network was analysed with {program}.")
    else:
        said.append(_about_structure(record, scope, program))
        said += [treated] if (treated := _about_missing(scope)) else []
        if table is not None and (scope.score or "").startswith("pnal"):
            few = about_few_rows(table, network.to_dict())
            said += [f"{few}."] if few else []
        if scope.constraints:
            said.append(f"Constraints: {_constraints(scope)}.")
    if support is not None:
        if any(one.need is not None for one in support.arcs):
            said.append(
                "The need of a link is how much lower the best network without it scores; the loss "
                "of a direction is how much lower the best network with the arc reversed scores."
            )
        if support.bootstrap is not None and support.bootstrap.done:
            b = support.bootstrap
            early = "" if b.done == b.asked else f"; {b.words}"
            said.append(
                f"Stability was assessed on {b.done:,} bootstrap replicates of the rows (seed "
                f"{b.seed}), {b.proven:,} of them learned to proven optimality{early}."
            )
        if support.near is not None:
            near = support.near
            score = None if scope is None else scope.score
            text = within_text(
                near.networks, near.classes, near.factor, score, complete=near.complete
            )
            said.append(f"{text[0].upper()}{text[1:]}.")
    if parameters is not None and parameters.smoothing is not None:
        counts = (
            ""
            if parameters.counts is None
            else ("; intervals are 95 % credible intervals of their Dirichlet posteriors")
        )
        said.append(
            f"Probabilities were estimated with {parameters.smoothing:g} added to every "
            f"count{counts}."
        )
    said.append("Arcs are not claimed to be causal effects.")
    return " ".join(said)


def _about_discretised(columns: Sequence[ColumnRecipe]) -> str:
    """Say how columns were discretised, and for which of them no cut point raises BIC."""
    by_rule = [c.rule for c in columns if c.rule != AT_MEDIAN]
    at_median = [c.name for c in columns if c.rule == AT_MEDIAN]
    said = []
    if by_rule:
        rules = ", ".join(sorted({rule for rule in by_rule if rule}))
        said.append(f"{' by ' if rules else ''}{rules}: {len(by_rule):,}")
    if at_median:
        names = listed(at_median, LISTED)
        said.append(
            f" at the median, because no cut point raises BIC: {len(at_median):,} ({names})"
        )
    return f"Columns discretised{';'.join(said)}."


def _about_structure(record: NetworkRecord, scope: Scope, program: str) -> str:
    """Say how the structure was learned, and claim the highest score only where it is proven."""
    found = record.finding
    limit = scope.max_parents
    parents = "no limit on the number of parents"
    if isinstance(limit, int):
        parents = f"at most {counted(limit, 'parent')}"
    elif limit is not None:
        parents = "limits on the parents of single variables"
    highest, how = f"the highest {score_title(scope)}", f"with {program} ({parents})"
    among = scope.words() or " among all networks"
    size = f"It has {counted(record.network.n_arcs, 'arc')} and the score {found.score:.4f}."
    if found.optimal:
        return (
            f"The structure with {highest} was learned {how}: it is proven optimal{among} "
            f"(tolerance {scope.tolerance:.2g}). {size}"
        )
    gap = "" if found.gap is None else f"; the optimality gap is at most {amount(found.gap)}"
    if (beside := found.beside()) is not None:
        gap = f"; {beside}"
    return (
        f"Structures were searched for {highest} {how}: the best one found is not proven "
        f"optimal{among}{gap}. {size}"
    )


def _about_missing(scope: Scope) -> str:
    """Say how missing values were treated when the structure was learned."""
    if scope.origin.completion is not None:
        steps, starts = len(scope.origin.completion.steps), scope.origin.completion.starts
        return (
            "Missing values were treated by structural expectation maximisation "
            f"({counted(steps, 'step')}, {counted(starts, 'start')}): the data are completed by "
            "their expected counts under the current network, and the network is learned again, "
            "until it does not change."
        )
    if (scope.score or "").startswith("pnal"):
        return (
            "Every family was scored on the rows where it is complete (penalised node-average "
            "likelihood)."
        )
    return ""


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
            "Values are missing: probabilities maximise the likelihood of the observed values "
            f"(expectation maximisation){added}."
        )
    if added:
        return f"Probabilities are relative frequencies of the rows{added}."
    return (
        "Probabilities are relative frequencies of the rows (maximum likelihood): what never "
        "occurs together has probability 0."
    )


def data_facts(record: NetworkRecord, table: Table | None) -> tuple[Fact, ...]:
    """How the data were read: from the table's recipe, or that of the lists."""
    scope, provenance = record.scope, record.provenance
    recipe = table.recipe if table is not None else None
    if recipe is None and scope is not None:
        recipe = scope.origin.recipe
    source, account = provenance.get("source"), None if recipe is None else recipe.account
    told = account is not None and os.path.basename(str(source)) == os.path.basename(account.source)  # noqa: PTH119  # any text
    facts = [Fact("Source", str(source))] if source and not told else []
    if table is not None:
        facts.append(Fact("Rows", f"{table.n_rows:,}"))
        facts.append(Fact("Columns", f"{table.n_variables:,}"))
        low, high = int(table.cardinalities.min()), int(table.cardinalities.max())
        facts.append(Fact("States of a column", f"{low}" if low == high else f"{low} to {high}"))
        missing = int(table.missing_cells.sum())
        facts.append(Fact("Missing values kept", f"{missing:,}" if missing else "none"))
        facts.append(Fact("Constant columns", listed(table.constant, LISTED) or "none"))
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
            facts.append(Fact("Rows left out for missing values", f"{account.rows_dropped:,}"))
        for label, counts in (
            ("Missing values", account.missing),
            ("Values treated as missing", account.blanked),
        ):
            if counts and (counts is account.missing or counts != account.missing):
                facts.append(
                    Fact(label, listed([f"{name} {n:,}" for name, n in counts.items()], LISTED))
                )
        if account.left_out:
            left = [f"{name} ({why})" for name, why in account.left_out.items()]
            facts.append(Fact("Columns left out", listed(left, LISTED)))
        facts += [Fact("Decided automatically", str(one)) for one in account.decisions]
    if recipe.filled:
        how = (
            "the most frequent state"
            if recipe.settings.missing == "mode"
            else "a state of their own"
        )
        facts.append(Fact("Missing values treated as", how))
    for column in recipe.columns:
        if column.cuts:
            rule = f" ({column.rule})" if column.rule else ""
            points = ", ".join(f"{cut:.6g}" for cut in column.cuts)
            facts.append(Fact(f"Cut points of “{column.name}”", points + rule))
    return facts


def proof_facts(record: NetworkRecord, table: Table | None) -> tuple[Fact, ...]:
    """What was proved."""
    found, scope = record.finding, record.scope
    facts: list[Fact] = []
    if (account := account_of(scope)) is not None and about_other_data(table, scope):
        other = f"{account.rows:,} rows, SHA-256 {account.data}"
        facts.append(Fact("Learned from other data than shown here", other))
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
    return listed(said, LISTED, "; ")


def search_facts(record: NetworkRecord) -> tuple[Fact, ...]:
    """What was counted on the way."""
    found, facts = record.finding, list[Fact]()
    account = account_of(record.scope)
    if account is not None:
        tallies = account.tallies
        pruned = ", ".join(f"{rule} {count:,}" for rule, count in tallies.pruned.items() if count)
        facts += [
            Fact("Parent sets that were possible", f"{tallies.families:,}"),
            Fact("Sets counted in the data", f"{tallies.sets_counted:,}"),
            Fact("Families scored", f"{tallies.families_scored:,}"),
            Fact("Candidate parent sets left", f"{tallies.kept:,}"),
            Fact("Pruned, by rule", pruned or "none"),
            Fact("Seconds of scoring", f"{tallies.seconds:.2f}"),
        ]
        if account.complete_to is not None:
            facts.append(Fact("All sets searched up to", counted(account.complete_to, "parent")))
    if found.engine:
        facts.append(Fact("Solved by", found.engine))
    if found.search is not None:
        facts += _counted(found.search)
    if found.seconds is not None:
        facts.append(Fact("Seconds of solving", f"{found.seconds:.2f}"))
    return tuple(facts)


def _counted(search: SearchRecord) -> list[Fact]:
    counts = (
        ("Subsets in the dynamic programme", search.subsets),
        ("Rounds of the order search", search.rounds),
        ("Linear programmes", search.lp_rounds),
        ("Nodes of the tree", search.nodes),
        ("Sets removed by reduced cost", search.fixed),
    )
    facts = [Fact(label, f"{count:,}") for label, count in counts if count]
    if search.cuts:
        cuts = sorted(search.cuts.items())
        facts.append(Fact("Cuts", ", ".join(f"{kind} {n:,}" for kind, n in cuts)))
    return facts


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


def citation(record: NetworkRecord) -> str:
    """Return what to write when the result is used."""
    found, scope, version, how = record.finding, record.scope, record.version, ""
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
