"""Results that may not change: digests of lists, optima and expanded lists, compared with a record.

``python benchmarks/digests.py [SECTION …] [--only TEXT] [--write]``

Sections: ``lists`` (every table of the shared folder under every kind of score), ``missing``
(tables with missing values, node-average likelihood and expectation maximisation), ``expanded``
(lists expanded around a network by a fixed effort) and ``optima`` (every instance to proof: score,
bound, arcs and the digest of the proof).

A refactoring is right when this prints no difference; ``--write`` records what was found, which is
for changes that are meant to change results. Exit code 1 if anything differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

import measure
import parentage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from parentage.data.table import Table

Record = dict[str, Any]
Job = tuple[str, "Callable[[], Record]"]

SCORES = ("bic", "aic", "hqc", "ebic", "penalty:3", "qnml", "bdeu", "k2", "jeffreys", "fnml")
NAMED = ("alarm_10000", "insurance_10000")
IDENTIFIER = {"flags": ["name"], "zoo": ["animal"]}
SLOW = ("mobs_steel_BIC.txt", "slim_munin1-5000.jkl")
"""Instances that take more than a minute: left out."""


def tables() -> Iterator[tuple[str, Table]]:
    """Every table of the UCI folder and of the literature, by name."""
    folder = measure.shared() / "data"
    for path in sorted((folder / "uci").glob("*.arff")):
        yield (
            path.stem,
            parentage.read_table(
                path, discretize="median", missing="mode", drop=IDENTIFIER.get(path.stem, [])
            ),
        )
    for path in sorted((folder / "tables").glob("*.csv")):
        yield path.stem, parentage.read_table(path, header=path.stem in NAMED, na=[])


def limit(table: Table, score: str) -> int | None:
    """The number of parents that keeps a job below some seconds; None where none is needed."""
    if table.n_variables > 30:
        return 2
    if score in ("aic", "hqc") or table.n_variables > 18 or table.n_rows > 5000:
        return 3
    return None if score == "bic" else 4


def lists_record(table: Table, score: str, **options: Any) -> Record:
    """Score a table; what must not change."""
    found = parentage.score(table, score=score, **options)
    return {
        "sets": found.n_sets,
        "digest": found.digest,
        "counted": found.known().tallies.sets_counted,
    }


def lists_jobs() -> Iterator[Job]:
    """Every table under every score."""
    for name, table in tables():
        for score in SCORES:
            k = limit(table, score)
            yield f"{name} {score} k={k}", partial(lists_record, table, score, max_parents=k)


def missing_jobs() -> Iterator[Job]:
    """Tables with missing values."""
    for name in ("vote", "hepatitis", "breast-cancer", "primary-tumor"):
        path = measure.shared() / "data" / "uci" / f"{name}.arff"
        for how in ("pnal", "em"):
            settings = {"missing": how, "discretize": "median", "max_parents": 2}
            yield f"{name} {how}", partial(learned_record, path, **settings)


def expanded_jobs() -> Iterator[Job]:
    """Lists that are expanded around a network, by a fixed effort."""
    for name in ("andes_1000", "munin1_1000", "pigs_1000"):
        path = measure.shared() / "data" / "large" / f"{name}.csv.gz"
        for score in ("bic", "bdeu"):
            few = parentage.Advanced(complete=1, effort=2.0)
            settings: dict[str, Any] = {"score": score, "advanced": few, "seed": 1}
            yield f"{name} {score}", partial(learned_record, path, **settings)


def solution_record(found: parentage.Solution) -> Record:
    """What must not change of a solution."""
    arcs = json.dumps(sorted(found.network.arcs))
    return {
        "score": repr(found.score),
        "bound": repr(found.bound),
        "optimal": found.optimal,
        "arcs": hashlib.sha256(arcs.encode()).hexdigest()[:16],
    }


def learned_record(path: Path, **settings: Any) -> Record:
    """Learn from a table."""
    return solution_record(parentage.learn(path, **settings))


def instances() -> Iterator[Path]:
    """Candidate lists of the literature."""
    folder = measure.shared() / "data" / "instances"
    return (path for path in sorted(folder.iterdir()) if path.name not in SLOW)


def optimum_record(path: Path) -> Record:
    """Prove an instance: its optimum, and the digest of its proof."""
    found = parentage.learn(parentage.read_lists(path), seed=0, threads=1)
    record = solution_record(found)
    if found.certificate is not None:
        document = found.certificate.document
        proof = json.dumps([document[part] for part in ("claim", "cuts", "nodes")])
        record["proof"] = hashlib.sha256(proof.encode()).hexdigest()[:16]
    return record


def optima_jobs() -> Iterator[Job]:
    """Every instance to proof."""
    for path in instances():
        yield path.name, partial(optimum_record, path)


SECTIONS = {
    "lists": lists_jobs,
    "missing": missing_jobs,
    "expanded": expanded_jobs,
    "optima": optima_jobs,
}


def main() -> None:
    """Compare, or record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []])
    parser.add_argument("--only", default="", help="jobs whose name contains this")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    path = measure.RESULTS / "digests.json"
    recorded: dict[str, Record] = json.loads(path.read_text()) if path.exists() else {}
    different = compared = 0
    for section in given.sections or SECTIONS:
        known = recorded.setdefault(section, {})
        for name, job in SECTIONS[section]():
            if given.only not in name:
                continue
            began = time.process_time()
            found = job()
            seconds = time.process_time() - began
            same = known.get(name) == found
            compared += 1
            different += not same
            print(f"{'same' if same else 'DIFFERENT'} {section} {name} {seconds:.2f} s", flush=True)
            if not same:
                print(f"  was {known.get(name)}\n  is  {found}")
            if given.write:
                known[name] = found
                path.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n")
    print(f"{different} of {compared} differ")
    sys.exit(bool(different) and not given.write)


if __name__ == "__main__":
    main()
