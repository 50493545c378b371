"""Count the tables of the 2018 paper again and write one page, the figures and CSV files.

``make reproduce DATA=DIR`` runs this file. "As printed" is what the authors' program counted, "as
stated" what the theorems say; both are set beside the published numbers. Without ``--data`` it
counts tic-tac-toe alone, which the package makes itself.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import math
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if __name__ == "__main__":  # as a script, Python looks for imports in this folder, not above it
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from parentage.errors import InputError, ParentageError
from parentage.files.atomic import write_text
from reproduction.experiments import Reproduction, Value, reproduce
from reproduction.figures import figure_svg
from reproduction.page import html_page, tile, verdict
from reproduction.published import FIGURES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

READINGS = ("published", "printed", "stated")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the reproduction; bad input ends with exit code 2 and a message."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--data", metavar="DIR", help="folder with the UCI tables as ARFF files (zoo.arff, …)"
    )
    parser.add_argument("-o", "--output", metavar="DIR", help="folder to write the results to")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    try:
        result = reproduce(options.data, threads=os.cpu_count() or 1)
        files = [] if options.output is None else write_folder(options.output, result)
    except ParentageError as error:
        parser.error(error.text("command line"))
    if options.json:
        print(json.dumps(as_object(result, files), ensure_ascii=False, allow_nan=False))
    else:
        print("\n".join([verdict(result), *summary(result), *map(str, files)]))


def summary(result: Reproduction) -> list[str]:
    """Return one line for each kind of number: how many are matched."""
    return [
        tile(kind, tally) + (f": {tally}" if tally.of else "")
        for kind, tally in result.tallies.items()
    ]


def as_object(result: Reproduction, files: Sequence[Path]) -> dict[str, Any]:
    """Return what ``--json`` prints."""
    compared = {
        kind: {"matched": tally.matched, "of": tally.of} for kind, tally in result.tallies.items()
    }
    return {
        **compared,
        "datasets": list(result.datasets),
        "missing": list(result.missing),
        "mismatches": [
            {
                "dataset": cell.dataset,
                "in_degree": cell.in_degree,
                "column": cell.column,
                "published": cell.published,
                "printed": cell.printed if _is_finite(cell.printed) else str(cell.printed),
            }
            for cell in result.mismatches
        ],
        "files": [str(path) for path in files],
    }


def _is_finite(value: Value) -> bool:
    return isinstance(value, str) or math.isfinite(value)


# ---------------------------------------------------------------------------------------------
# The folder of results


def write_folder(folder: str | os.PathLike[str], result: Reproduction) -> list[Path]:
    """Write every output file; return their paths. The folder is made if it is not there."""
    home = Path(folder)
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot make the folder {str(home)!r}: {error.strerror or error}; choose another"
        ) from error
    texts = {
        "tables.csv": tables_csv(result),
        "bounds.csv": bounds_csv(result),
        "variables.csv": variables_csv(result),
        "figures.csv": figures_csv(result),
        "example.csv": example_csv(result),
        "index.html": html_page(result),
    }
    texts |= {f"figure{figure}.svg": figure_svg(result, figure) + "\n" for figure in FIGURES}
    for name, text in texts.items():
        write_text(home / name, text)
    return [home / name for name in texts]


def tables_csv(result: Reproduction) -> str:
    """Tables 2 and 3, |S| first in every row of the paper."""
    order = {name: i for i, name in enumerate(result.datasets)}
    cells = sorted(
        (*result.search_space, *result.counts), key=lambda c: (order[c.dataset], c.in_degree)
    )
    rows = [(c.dataset, c.in_degree, c.column, c.published, c.printed, c.stated) for c in cells]
    return _csv(("dataset", "in_degree", "column", *READINGS), rows)


def bounds_csv(result: Reproduction) -> str:
    """Table 1: a Theorem 3 cell is ``bound (variables with it), …``."""
    rows = [(c.dataset, c.column, c.published, c.printed, c.stated) for c in result.bounds]
    return _csv(("dataset", "column", *READINGS), rows)


def variables_csv(result: Reproduction) -> str:
    """Theorem 3 variable by variable; the paper prints only how many have which bound."""
    rows = [
        (t.name, v, bound, t.stated.bounds.theorem3[v])
        for t in result.tables
        for v, bound in t.printed.bounds.theorem3.items()
    ]
    return _csv(("dataset", "variable", "printed", "stated"), rows)


def figures_csv(result: Reproduction) -> str:
    """The statistics of both figures, to three decimals."""
    rows = [
        (
            c.dataset.removeprefix("Figure "),
            c.in_degree,
            c.column,
            *("" if x is None else f"{x:.3f}" for x in (c.published, c.printed, c.stated)),
        )
        for c in result.figures
    ]
    return _csv(("figure", "in_degree", "statistic", *READINGS), rows)


def example_csv(result: Reproduction) -> str:
    """The worked example on glass."""
    rows = [(c.dataset, c.column, c.published, c.printed, c.stated) for c in result.example]
    return _csv(("family", "quantity", *READINGS), rows)


def _csv(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue()


if __name__ == "__main__":
    main()
