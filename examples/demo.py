"""The whole path on a table the package makes itself: score, learn, compare, explain.

Run by ``make demo``. With a file name, the table is written there as CSV for the command line:
``python examples/demo.py clinic.csv``.
"""

from __future__ import annotations

import csv
import sys
import time
from pathlib import Path

import parentage
from parentage.cli.output import say_if_compiling
from parentage.scoring.scores import family_score
from parentage.view.aligned import table_text

SAMPLED_FROM = parentage.Network.from_parents(
    {
        "asia": [],
        "tub": ["asia"],
        "smoke": [],
        "lung": ["smoke"],
        "bronc": ["smoke"],
        "either": ["tub", "lung"],
        "xray": ["either"],
        "dysp": ["either", "bronc"],
    }
)


def say(text: str = "") -> None:
    """Print a line at once, also into a pipe."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def write_csv(table: parentage.Table, path: Path) -> None:
    """Write a table with its labels."""
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(table.names)
        columns = zip(table.states, table.to_codes(), strict=True)
        out.writerows(
            zip(*([labels[code] for code in codes] for labels, codes in columns), strict=True)
        )


def warm_up() -> None:
    """Compile the kernels, which happens once, so that the times shown are those of the work."""
    say_if_compiling()
    began = time.perf_counter()
    parentage.learn(parentage.datasets.chest_clinic(50))
    seconds = time.perf_counter() - began
    if seconds > 5:
        say(f"(The kernels were compiled first: {seconds:.0f} s. That happens once.)\n")


def show_lists(lists: parentage.CandidateLists) -> None:
    """Show how many parent sets each child has left, and the best one."""
    rows = [
        (child, ", ".join(lists[child][0].parents) or "∅", str(len(lists[child])))
        for child in lists
    ]
    say(table_text(("child", "best parents, taken alone", "candidates"), rows, left=2))
    tallies = lists.known().tallies
    say(
        f"\n{lists.n_sets} of {tallies.families:,} parent sets can be in an optimal network. "
        f"To know that,\n{tallies.sets_counted} sets were counted ({tallies.seconds:.2f} s)."
    )


def show_network(solution: parentage.Solution) -> None:
    """Show the arcs and what was proved about them."""
    network = solution.network
    for child in network.order:
        parents = ", ".join(network.parents_of(child))
        say(f"  {parents} → {child}" if parents else f"  {child}")
    proof = "no network at all scores higher" if solution.optimal else f"gap {solution.gap:.4f}"
    say(f"\nBIC {solution.score:.4f}: {proof} ({solution.engine}, {solution.seconds:.2f} s).")


def main() -> None:
    """Tell the story."""
    table = parentage.datasets.chest_clinic()
    if len(sys.argv) > 1:
        write_csv(table, Path(sys.argv[1]))
        say(f"wrote {table.n_rows} rows to {sys.argv[1]}")
        return
    say(f"A chest clinic: {table.n_rows} made-up patients, {table.n_variables} yes/no findings.\n")
    warm_up()
    lists = parentage.score(table)
    show_lists(lists)

    say("\nOne set per finding, no cycles, the best total:\n")
    solution = parentage.learn(lists)
    show_network(solution)

    say("\nAgainst the network the patients were sampled from:")
    difference = solution.network.compare(SAMPLED_FROM)
    say(f"  {difference}")
    for parent, child in difference.missing:
        cost = family_score(table, child) - family_score(table, child, [parent])
        say(f"  {parent} → {child} would cost {cost:.2f}: too few rows show it.")

    say("\nWhy is xray no parent of dysp?")
    say(f"  {parentage.explain(table, 'dysp', ['bronc', 'either', 'xray'])}".replace("\n", "\n  "))
    say("\nYour own table: .venv/bin/parentage learn your.csv")


if __name__ == "__main__":
    main()
