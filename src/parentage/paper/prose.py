"""The words around the numbers, shared by the Markdown and the HTML report. Plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parentage.paper.published import BOUNDS, DATASETS
from parentage.paper.sources import how_to_add

if TYPE_CHECKING:
    from parentage.paper.reproduction import Reproduction, TableRun, Tally

TITLE = "Entropy-based pruning, reproduced"

KINDS = {
    "counts": "counts in Tables 2–3",
    "search_space": "search-space sizes |S|",
    "bounds": "bounds in Table 1",
    "figures": "figure statistics",
    "example": "numbers of the worked example",
}
"""What is compared, in the words of a reader."""

READINGS = {
    "published": "the number in the paper",
    "printed": "what the authors’ program counted, its deviations from the theorems included",
    "stated": "what the theorems say",
}

CONVENTIONS = (
    "A numeric attribute takes the state 0 below the median of its observed values and 1 from "
    "there on; missing numbers are replaced by that median, missing labels by the mode.",
    "A variable has the states that its header declares, also those that never occur. Identifiers "
    "(zoo: animal; flags: name) and columns with one observed state are left out.",
    "Counted are all families with 1 to k parents, the empty set not included. A family that a "
    "rule prunes is flagged, and so are its supersets; a combined column is the union of flags.",
    "Figures: quartiles by linear interpolation, whiskers at the extremes, diamond at the mean; "
    "0/0 counts as 1.",
)


def verdict(result: Reproduction) -> str:
    """Sum up in one or two sentences."""
    tallies = result.tallies.values()
    matched, of = sum(t.matched for t in tallies), sum(t.of for t in tallies)
    moved = sum(c.corrected for c in result.counts)
    have = len(result.tables)
    tables = f"all {have} tables" if not result.missing else f"{have} of {len(DATASETS)} tables"
    outcome = (
        f"all {of} published numbers come out in the printed reading"
        if matched == of
        else f"{of - matched} of {of} published numbers do not come out in the printed reading"
    )
    return (
        f"On {tables} {outcome}. As stated, {moved} of {len(result.counts)} counts differ from "
        "what was printed."
    )


def tile(kind: str, tally: Tally) -> str:
    """Describe a tally of the summary."""
    if tally.of == 0:
        needs = "need all 18 tables" if kind == "figures" else "need glass.arff"
        return f"{KINDS[kind]}: {needs}"
    return KINDS[kind]


def missing_note(result: Reproduction) -> str | None:
    """Name what is missing and how to add it."""
    if not result.missing:
        return None
    count = len(result.missing)
    tables = "1 table is" if count == 1 else f"{count} tables are"
    them = "it" if count == 1 else "them"
    return f"{tables} missing. To add {them}, {how_to_add(result.missing)}."


def shape_differs(table: TableRun) -> bool:
    """Whether a table has other dimensions than in the paper."""
    known = BOUNDS[table.name]
    return (table.variables, table.rows) != (known.variables, known.rows)


def figure_note(result: Reproduction) -> str:
    """Say over how many tables the boxes are."""
    if not result.missing:
        return "Each box is over the 18 tables; dots are tables, the diamond is the mean."
    return (
        f"Each box is over the tables at hand, {len(result.tables)} of {len(DATASETS)}, and cannot "
        "be compared with the paper."
    )
