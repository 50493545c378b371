"""Measure what each rule does; write ``benchmarks/results/rules.json`` and ``rules.md``.

Three tables come out. (1) *At most four parents*: every rule set, what is left to be scored.
(2) *No limit*: how many sets are counted in all, for the rule sets that end by themselves.
(3) *When which rule works*: the families of one small table, by how much of the child's entropy
their parents explain, and how many of them Theorem 2 and Lemma 3 rule out.

Everything is a count, so every run gives the same numbers on every machine and there is nothing
to time. Tables the package makes are always measured; those of the folder PARENTAGE_SHARED when
it is set, and kept from the last run when it is not.

Usage: ``python benchmarks/rule_effects.py``
"""

from __future__ import annotations

import itertools
import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parentage.data.datasets import chest_clinic, tic_tac_toe
from parentage.data.reading import read_table
from parentage.scoring import rules as r
from parentage.scoring.candidates import score
from parentage.scoring.catalogue import by_name
from parentage.scoring.rules import ORDER, choose_rules
from parentage.scoring.scores import Penalised, entropy_sum

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from parentage.data.table import Table

RESULTS = Path(__file__).parent / "results"
LIMIT = 4

RULE_SETS = (
    "none",
    "cor1", "cor1p", "thm3", "thm3pp",
    "alg1", "alg2", "alg3", "alg4",
    "alg1,alg2", "alg1,alg4", "alg3,alg4",
    "thm1", "thm2", "lemma3", "lemma3,alg2",
    "thm1p", "default", "all",
)  # fmt: skip
ENDING = ("alg1,alg2", "lemma3,alg2", "thm1p", "default", "all")
"""Rule sets that end by themselves on tables of dozens of variables."""

SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
"""Borders of the groups of table (3)."""


def made_tables() -> dict[str, Callable[[], Table]]:
    """Tables that need nothing but the package."""
    return {"chest clinic, 1000 rows": chest_clinic, "tic-tac-toe": tic_tac_toe}


def shared_tables(folder: Path) -> dict[str, Callable[[], Table]]:
    """Tables of the shared folder, prepared as in the paper."""

    def uci(name: str, *drop: str) -> Callable[[], Table]:
        path = folder / "data" / "uci" / f"{name}.arff"
        return lambda: read_table(path, discretize="median", missing="mode", drop=drop)

    alarm = folder / "data" / "tables" / "alarm_10000.csv"
    return {
        "alarm, first 1000 rows": lambda: read_table(alarm).head(1000).observed(),
        "vote": uci("vote"),
        "hepatitis": uci("hepatitis"),
        "flags": uci("flags", "name"),
    }


def run(table: Table, rules: str, max_parents: int | None) -> dict[str, Any]:
    """One search and its counts."""
    tallies = score(table, rules=rules, max_parents=max_parents).known().tallies
    return {
        "rules": rules,
        "max_parents": max_parents,
        "closed": choose_rules(rules, "bic").closed,
        "families": tallies.families,
        "sets_counted": tallies.sets_counted,
        "families_scored": tallies.families_scored,
        "pruned": dict(tallies.pruned),
        "kept": tallies.kept,
    }


def measure(table: Table) -> dict[str, Any]:
    """All searches of one table."""
    usable = table.drop(table.constant)
    small = usable.n_variables <= 10
    unlimited = RULE_SETS if small else ENDING
    runs = [run(usable, rules, LIMIT) for rules in RULE_SETS]
    runs += [run(usable, rules, None) for rules in unlimited]
    for limit in (LIMIT, None):
        kept = {entry["kept"] for entry in runs if entry["max_parents"] == limit}
        assert len(kept) == 1, f"the lists depend on the rules: {kept}"
    return {"rows": usable.n_rows, "variables": usable.n_variables, "runs": runs}


# ---------------------------------------------------------------------------------------------
# When which rule works


def families(table: Table) -> Iterator[tuple[float, bool, bool, bool]]:
    """Yield of every family: share explained, Theorem 2 fires, Lemma 3 fires, Lemma 1 keeps it."""
    n, w = table.n_variables, Penalised(by_name("bic")).weight(table)
    arity = [int(a) for a in table.cardinalities]
    G = {
        members: entropy_sum(table, members)
        for size in range(n + 1)
        for members in itertools.combinations(range(n), size)
    }

    def entropy(v: int, given: tuple[int, ...] = ()) -> float:
        return G[given] - G[tuple(sorted((*given, v)))]

    for x in range(n):
        best: dict[tuple[int, ...], float] = {}
        others = [v for v in range(n) if v != x]
        for size in range(n):
            for parents in itertools.combinations(others, size):
                q = math.prod(arity[p] for p in parents)
                penalty = w * (arity[x] - 1) * q
                own = -entropy(x, parents) - penalty
                stars = {y: tuple(p for p in parents if p != y) for y in parents}
                below = max((best[star] for star in stars.values()), default=-math.inf)
                best[parents] = max(below, own)
                if not parents:
                    continue
                numbers = [
                    r.FamilyNumbers(
                        n_h_x=entropy(x),
                        n_h_y=entropy(y),
                        added=penalty * (1 - 1 / arity[y]),
                        penalty=penalty,
                        bin_star=best[star],
                    )
                    for y, star in stars.items()
                ]
                theorem2 = any(r.fires(r.theorem2(one), 1e-9) for one in numbers)
                lemma3 = any(r.fires(r.lemma3(one), 1e-9) for one in numbers)
                share = 1 - entropy(x, parents) / entropy(x)
                yield share, theorem2, lemma3, own > below + 1e-9


def by_quality(table: Table) -> list[dict[str, Any]]:
    """Group the families by the share of the child's entropy that their parents explain."""
    found = list(families(table))
    groups = []
    for low, high in itertools.pairwise(SHARES):
        last = high == SHARES[-1]
        inside = [f for f in found if low <= f[0] < high or (last and f[0] >= high)]
        groups.append(
            {
                "from": low,
                "to": high,
                "families": len(inside),
                "theorem 2": sum(f[1] for f in inside),
                "lemma 3": sum(f[2] for f in inside),
                "theorem 2 alone": sum(f[1] and not f[2] for f in inside),
                "lemma 3 alone": sum(f[2] and not f[1] for f in inside),
                "kept": sum(f[3] for f in inside),
            }
        )
    assert sum(group["families"] for group in groups) == len(found)
    return groups


# ---------------------------------------------------------------------------------------------
# Writing


def markdown(results: dict[str, Any]) -> str:
    """Lay the results out as Markdown tables."""
    parts = [
        "# What each rule does",
        "Written by `benchmarks/rule_effects.py`. All numbers are counts and repeat exactly. BIC; "
        "constant columns left out.",
        f"## At most {LIMIT} parents: families left to score",
        "The share of all families in brackets. The lists are the same in every row.",
        _limited(results["tables"]),
        "## No limit on parents: sets counted",
        "Everything counted at all, the n + 1 sets behind h included.",
        _unlimited(results["tables"], ENDING),
        "Every rule set, on the tables the package makes. Where closure does not hold all sets are "
        "counted, whatever the rules remove.",
        _unlimited({k: v for k, v in results["tables"].items() if k in made_tables()}, RULE_SETS),
        "## Who removes what first",
        f"At most {LIMIT} parents, `--rules all`: families credited to the first rule, in "
        "the order of `parentage.scoring.rules.RULES`, that removes them. Families never met, "
        "because a smaller set had no live family, are credited to none.",
        _credits(results["tables"]),
        "## When which rule works",
        f"{results['quality']['table']}, every family with at least one parent, by the share of "
        "N·H(X) that its parents explain. A rule *fires* on a family if it does so for one of its "
        "parents.",
        _quality(results["quality"]["groups"]),
    ]
    return "\n\n".join(parts) + "\n"


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _entry(content: dict[str, Any], rules: str, limit: int | None) -> dict[str, Any] | None:
    runs: list[dict[str, Any]] = content["runs"]
    chosen = (e for e in runs if e["rules"] == rules and e["max_parents"] == limit)
    return next(chosen, None)


def _limited(tables: dict[str, Any]) -> str:
    rows = []
    for rules in RULE_SETS:
        cells = []
        for content in tables.values():
            entry = _entry(content, rules, LIMIT)
            assert entry is not None
            share = entry["families_scored"] / entry["families"]
            cells.append(f"{entry['families_scored']:,} ({share:.1%})")
        rows.append([f"`{rules}`", *cells])
    return _table(["rules", *tables], rows)


def _unlimited(tables: dict[str, Any], rule_sets: tuple[str, ...]) -> str:
    rows = []
    for rules in rule_sets:
        entries = [_entry(content, rules, None) for content in tables.values()]
        rows.append([f"`{rules}`", *(f"{e['sets_counted']:,}" if e else "" for e in entries)])
    kept = [_entry(content, "default", None) for content in tables.values()]
    rows.append(["parent sets kept", *(f"{e['kept']:,}" if e else "" for e in kept)])
    return _table(["rules", *tables], rows)


def _credits(tables: dict[str, Any]) -> str:
    entries = [_entry(content, "all", LIMIT) for content in tables.values()]
    rows = [
        [f"`{rule}`", *(f"{e['pruned'][rule]:,}" if e else "" for e in entries)] for rule in ORDER
    ]
    return _table(["rule", *tables], rows)


def _quality(groups: list[dict[str, Any]]) -> str:
    counts = [key for key in groups[0] if key not in ("from", "to")]
    rows = [
        [f"{g['from']:.0%} to {g['to']:.0%}", *(f"{g[count]:,}" for count in counts)]
        for g in groups
    ]
    return _table(["explained", *counts], rows)


def main() -> None:
    """Measure and write."""
    target = RESULTS / "rules.json"
    before = json.loads(target.read_text()) if target.exists() else {"tables": {}}
    tables = made_tables()
    if os.environ.get("PARENTAGE_SHARED"):
        tables |= shared_tables(Path(os.environ["PARENTAGE_SHARED"]).resolve())
    else:
        print("PARENTAGE_SHARED is not set: tables measured earlier are kept")
    measured: dict[str, Any] = {}
    for name, make in tables.items():
        table = make()
        print(f"{name}: {table.n_rows} rows, {table.n_variables} variables")
        measured[name] = measure(table)
    small = chest_clinic(200)
    results = {
        "tables": {**measured, **{k: v for k, v in before["tables"].items() if k not in measured}},
        "quality": {"table": "chest clinic, 200 rows", "groups": by_quality(small)},
    }
    RESULTS.mkdir(exist_ok=True)
    target.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    (RESULTS / "rules.md").write_text(markdown(results), encoding="utf-8")
    print(f"wrote {target.name} and rules.md")


if __name__ == "__main__":
    main()
