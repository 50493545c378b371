"""Which score predicts best: held-out log-likelihood per row on tables of the literature.

Every table is dealt into folds once; all scores see the same folds, at most three parents a
variable. Where complete lists are out of reach, lists are expanded within a time limit, so that
those networks are not proven. Results are kept as they come (``results/validate.json``); a table
that is recorded is not run again unless ``--again`` says so.
"""

from __future__ import annotations

import argparse
import json
import warnings
from typing import TYPE_CHECKING, Any

import digests
import measure
import parentage
import scale_tables
from parentage.answers.validate import validate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parentage.data.table import Table

SCORES = ("bic", "aic", "hqc", "ebic", "qnml", "bdeu", "bdeu:10")
DENSITY = tuple(scale_tables.DENSITY)
LARGE = ("hepar2_1000", "andes_1000", "link_1000")
FOLDS = 5
K = 3
SECONDS = 6.0
"""Wall time for each network."""
MANY, FOLDS_OF_MANY = 50, 3
"""Number of variables above which there are fewer folds and no limit on parents."""
RESULT = measure.RESULTS / "validate.json"


def tables() -> Iterator[tuple[str, Table]]:
    """The UCI tables, then those of density estimation, then samples of large networks."""
    data = measure.shared() / "data"
    names = {path.stem for path in (data / "uci").glob("*.arff")}
    yield from ((name, table) for name, table in digests.tables() if name in names)
    for name in DENSITY:
        path = data / "density" / f"{name}.valid.csv.gz"
        yield name, parentage.read_table(path, header=False)
    for name in LARGE:
        yield name, parentage.read_table(data / "large" / f"{name}.csv.gz")


def measured(table: Table) -> dict[str, Any]:
    """Held-out log-likelihood of every score and baseline."""
    many = table.n_variables > MANY
    folds = FOLDS_OF_MANY if many else FOLDS
    limit = SECONDS * folds * (len(SCORES) + 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = validate(
            table, scores=SCORES, folds=folds, max_parents=None if many else K, time_limit=limit
        )
    return {"variables": table.n_variables, **found.to_dict()}


def report(known: dict[str, Any]) -> str:
    """The table, and what follows from it."""
    head = ["table", "variables", "rows", "bic", *SCORES[1:], "tree", "no arcs", "proven"]
    sizes = [found["variables"] for found in known.values()]
    most, least = max(n for n in sizes if n <= MANY), min(n for n in sizes if n > MANY)
    few, many = f"better than BIC, up to {most} variables", f"from {least} variables on"
    rows, best = [], dict.fromkeys(SCORES, 0)
    for name, found in known.items():
        models = {one["name"]: one for one in found["models"]}
        top = max(models[score]["log_likelihood"] for score in SCORES)
        cells = [f"{models['bic']['log_likelihood']:.3f}"]
        for other in (*SCORES[1:], "tree", "empty"):
            behind = models[other]["difference"]
            sure = abs(behind) > 2 * models[other]["difference_error"]
            cells.append(f"{-behind:+.3f}" + ("*" if sure else ""))
        for score in SCORES:
            near = models[score]["log_likelihood"] >= top - 1e-9
            best[score] += near
        proven = sum(models[score]["proven"] for score in SCORES)
        shares = f"{proven} of {found['folds'] * len(SCORES)}"
        rows.append([name, str(found["variables"]), f"{found['rows']:,}", *cells, shares])
    counts = [[score, str(best[score]), *better(known, score)] for score in SCORES]
    return "\n".join(
        [
            "# Which score predicts best",
            "",
            f"Mean log-likelihood of a row that was held out ({FOLDS} folds, in nats). The column "
            "bic is that of BIC's networks; the others are what each score predicts better (+) or "
            "worse (−) than BIC. An asterisk marks differences of more than two standard errors. "
            f"At most {K} parents a variable and {SECONDS:.0f} s a network on average. Tables of "
            f"more than {MANY} variables have {FOLDS_OF_MANY} folds and no limit on parents; their "
            "candidate lists are expanded. Smoothing: 1 added to every count.",
            "",
            "## Held-out log-likelihood",
            "",
            measure.markdown(head, rows),
            "",
            "## How often each score is best",
            "",
            measure.markdown(["score", "best", few, many], counts),
        ]
    )


def better(known: dict[str, Any], score: str) -> list[str]:
    """Count the tables of few and of many variables where a score predicts better than BIC."""
    ahead: dict[bool, list[bool]] = {False: [], True: []}
    for found in known.values():
        behind = {one["name"]: one["difference"] for one in found["models"]}
        ahead[found["variables"] > MANY].append(behind[score] < 0)
    return ["" if score == "bic" else f"{sum(own)} of {len(own)}" for own in ahead.values()]


def main() -> None:
    """Measure what is not recorded yet, table by table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--again", action="store_true")
    given = parser.parse_args()
    known: dict[str, Any] = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    for name, table in tables():
        if given.names and name not in given.names:
            continue
        if name in known and not given.again:
            continue
        known[name] = measured(table)
        measure.write("validate", known, report(known))


if __name__ == "__main__":
    main()
