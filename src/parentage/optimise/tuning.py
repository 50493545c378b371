"""How the solver works, never what it proves: every number it was tuned by, in one record.

Whatever these numbers are, a network that is called optimal is optimal: they decide how long that
takes (the tests force each of them to extremes). A field has a unit, a reason, and the row of the
ablation in ``benchmarks/results/optimise.md`` that shows what it is worth, empty until it has been
measured. What a row shows to earn nothing is deleted.

*Work* is counted in steps of innermost loops, each roughly a nanosecond. It is never timed, so the
same lists lead to the same proof on every machine and with any number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Patience = tuple[int, float]
"""Cutting goes on while so many rounds close at least such a share of the gap."""


def tuned(value: Any, unit: str, why: str, row: str) -> Any:
    """Declare a field: its value, its unit, why it is there, and the row that pays for it."""
    return field(default=value, metadata={"unit": unit, "why": why, "row": row})


@dataclass(frozen=True)
class Tuning:
    """The numbers, grouped by the part of the solver that reads them."""

    large: int = tuned(
        100,
        "variables",
        "A larger part is large: plain cuts continue until they stall, cycle cuts are separated in "
        "every round, cuts may pass through decided variables.",
        "small parts like large ones",
    )
    at_once: int = tuned(
        22,
        "variables",
        "A part of at most this size goes to dynamic programming without cutting, which shows as "
        "well that no network of the same score has fewer arcs.",
        "cuts from 9 variables on",
    )
    soon: float = tuned(
        0.3,
        "share",
        "Cutting may take this share of the work of dynamic programming before that takes over.",
        "cuts never hand over to subsets",
    )
    warm_rounds: int = tuned(
        1,
        "rounds",
        "An order search before cutting ends after this many rounds without a gain; 0: none.",
        "order search until 5 idle rounds",
    )
    set_packing: bool = tuned(
        True,
        "",
        "Whether set-packing cuts are used.",
        "no set packing, k-clusters and small cycles",
    )
    least: float = tuned(
        1e-3, "of the right side", "A cut that is violated by less is not added.", ""
    )
    few: int = tuned(
        8,
        "cuts",
        "With fewer plain cuts, cycle cuts and k-cluster cuts are separated, too.",
        "k-clusters and cycles in every round",
    )
    exact_tries: int = tuned(
        6,
        "programmes",
        "How often clusters are separated exactly at a root when nothing else is found.",
        "no exact clusters",
    )
    tenure: int = tuned(
        4,
        "steps",
        "The walk that looks for violated clusters does not move a variable again for this number "
        "of steps; it ends after three times this number without a better cluster.",
        "walks without tenure",
    )
    dry: int = tuned(
        20,
        "cuts",
        "With fewer plain cuts, local cuts are considered.",
        "local cuts from the first round",
    )
    stall: Patience = tuned(
        (12, 0.01),
        "rounds, share",
        "In a large part local cuts begin when plain cuts have raised the bound by less than this "
        "share of the gap in this number of rounds.",
        "large parts: local cuts at once",
    )
    sparse: int = tuned(
        10,
        "cuts",
        "With fewer local cuts, the next larger support sets are considered.",
        "larger support sets at once",
    )
    sizes: tuple[tuple[int, ...], ...] = tuned(
        ((5, 6), (5, 8), (5, 8, 11), (6, 9, 12)),
        "variables",
        "Sizes of support sets of local cuts, one level for each arm of the bandit; none: no "
        "local cuts.",
        "one level of support sets",
    )
    crowded: int = tuned(
        3,
        "cuts",
        "A support set is skipped if each of its variables is in this number of cuts of the round.",
        "support sets never passed over",
    )
    seeds: int = tuned(
        60,
        "support sets",
        "Support sets tried of each kind: around arcs, united, remembered.",
        "a third of the support sets",
    )
    enough: int = tuned(
        40,
        "cuts",
        "Local cuts after which a round ends; half as many as variables.",
        "no limit on local cuts",
    )
    noise: float = tuned(
        0.3,
        "of a tie",
        "Random share added to ties when support sets are grown; arcs double.",
        "support sets without noise",
    )
    memory: float = tuned(
        0.6,
        "share",
        "Share of its past reward that an arm keeps when it is used.",
        "bandit forgets nothing",
    )
    curiosity: float = tuned(
        1.12,
        "factor",
        "Exploration bonus of an arm per round in which it was not used.",
        "bandit without curiosity",
    )
    overhead: int = tuned(
        120_000, "work", "What a support set costs before anything is done.", "work: no overheads"
    )
    round_work: int = tuned(3_000_000, "work", "What a round costs besides.", "work: no overheads")
    old: int = tuned(
        4,
        "rounds",
        "A cut is old when its multiplier has been zero for more than this number of rounds. Old "
        "cuts go to the pool when they are a tenth of all.",
        "cuts never forgotten",
    )
    large_old: int = tuned(
        1, "rounds", "The same in a large part, where the time goes into solving the programme.", ""
    )
    pool: int = tuned(
        4000,
        "cuts",
        "Old cuts wait in a pool of this size and return when a solution violates them.",
        "",
    )
    spare: int = tuned(
        1000,
        "columns",
        "Removed columns are deleted once they are half of all columns and half of this number.",
        "removed columns stay",
    )
    columns: int = tuned(
        8,
        "columns",
        "Cheapest sets of a child that enter a linear programme at a time; others enter when their "
        "reduced cost is below zero.",
        "",
    )
    root_patience: Patience = tuned(
        (8, 0.04), "rounds, share", "Patience with cuts at a root.", "one patience for all roots"
    )
    large_patience: Patience = tuned(
        (30, 0.01),
        "rounds, share",
        "Patience with cuts at a large root.",
        "large roots like small ones",
    )
    node_patience: Patience = tuned(
        (4, 0.05), "rounds, share", "Patience with cuts at another node.", "nodes as long as roots"
    )
    slacks: tuple[float, ...] = tuned(
        (0.0, 1e-5, 1e-4, 1e-3),
        "of the cost",
        "How much worse each stream of the order search lets itself become.",
        "one stream",
    )
    width: int = tuned(10, "variables", "Most variables of a region.", "")
    stale: int = tuned(
        12,
        "rounds",
        "After this number of rounds without a gain the leader goes back to its best order; "
        "without a time limit the engine orders ends after twice this number.",
        "",
    )


TUNING = Tuning()
"""The values that the solver uses."""
