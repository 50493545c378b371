"""A claim checked from the table: brute force, forgeries, and nothing of scoring."""

from __future__ import annotations

import ast
import copy
import json
import math
import subprocess
import sys
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from naive_scores import log_regret
from parentage.check import ProofError, check_table, lists_digest, sealed
from parentage.check.counting import (
    KNOWN,
    WEIGHED,
    WORKING,
    DistinctRows,
    WholeScore,
    counting,
    ln,
    ln_ratio,
    ln_regret,
)
from parentage.check.document import carried_lists
from parentage.check.table import Recounter
from parentage.data.table import Table
from parentage.errors import InputError
from parentage.scoring.candidates import score
from parentage.scoring.constraints import Constraints, Prior
from solving import learn_lists
from strategies import make_table, naive_of, random_table, with_holes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parentage.scoring.lists import CandidateLists

SCORES = ["bic", "aic", "hqc", "ebic:0.5", "penalty:0.3", "bdeu:1", "bdeu:0.1", "bdeu:10", "qnml"]
ONE = 1 << WORKING


def proof_of(lists: CandidateLists, constraints: Constraints | None = None) -> dict[str, Any]:
    """The certificate of the best network."""
    found = learn_lists(lists, constraints=constraints, threads=1).certificate
    assert found is not None
    document: dict[str, Any] = json.loads(found.to_json())
    return document


def brute_force(scores: dict[tuple[int, tuple[int, ...]], float], n: int) -> float:
    """The best score of all acyclic networks, over all families given."""
    own: list[dict[frozenset[int], float]] = [{} for _ in range(n)]
    for (x, parents), value in scores.items():
        own[x][frozenset(parents)] = value
    best = {frozenset[int](): 0.0}
    for size in range(1, n + 1):
        for members in map(frozenset, combinations(range(n), size)):
            best[members] = max(
                best[members - {sink}]
                + max((s for w, s in own[sink].items() if w <= members - {sink}), default=-math.inf)
                for sink in members
            )
    return best[frozenset(range(n))]


def all_families(
    table: Table,
    score_name: str,
    limit: int | None = None,
    constraints: Constraints | None = None,
    prior: Prior | None = None,
) -> tuple[dict[tuple[int, tuple[int, ...]], float], list[int]]:
    """The score of every allowed family, from the definitions; and the columns that vary."""
    naive, keep = naive_of(table, score_name)
    names = [table.names[v] for v in keep]
    found = {}
    for x in range(naive.n):
        for parents in naive.parent_sets(x, limit):
            above = [names[p] for p in parents]
            if constraints is None or constraints.allowed(names[x], above):
                added = 0.0 if prior is None else prior.log_odds_of((p, names[x]) for p in above)
                found[x, parents] = naive.s(x, parents) + added
    return found, keep


def check_against_brute_force(seed: int, score_name: str, most_variables: int = 5) -> None:
    """One random table: settings of every kind; the claim is the optimum of all networks."""
    rng = np.random.default_rng([seed, SCORES.index(score_name)])
    table = random_table(seed, most_variables, 40, 3)
    if rng.random() < 0.3:  # rows that stand for several
        repeats = rng.integers(1, 5, table.stored_rows)
        table = Table(table.names, table.states, table.codes, repeats=repeats.astype(np.uint32))
        table_once = Table(table.names, table.states, np.repeat(table.to_codes(), repeats, axis=1))
    else:
        table_once = table
    names = [name for name in table.names if name not in table.constant]
    limit = None if rng.random() < 0.5 else int(rng.integers(1, 4))
    constraints, prior, base, width = None, None, None, None
    if rng.random() < 0.4:
        a, b = (str(name) for name in rng.permutation(names)[:2])
        kind = rng.integers(3)
        constraints = Constraints(
            required=frozenset({(a, b)} if kind == 0 else set()),
            forbidden=frozenset({(a, b)} if kind == 1 else set()),
            tiers=((a,), (b,)) if kind == 2 else (),
        )
    if rng.random() < 0.3:
        a, b = (str(name) for name in rng.permutation(names)[:2])
        prior = Prior(float(rng.choice([0.5, 0.1, 0.7])), {(a, b): float(rng.choice([0.9, 0.01]))})
    if rng.random() < 0.2:
        base = float(rng.choice([2.0, 10.0]))
    if rng.random() < 0.2:
        width = float(rng.choice([0.0, 0.5, 3.0]))
    lists = score(
        table, score=score_name, max_parents=limit, constraints=constraints, prior=prior,
        log_base=base, width=width, threads=1,
    )  # fmt: skip
    verdict = check_table(table, proof_of(lists, constraints))
    assert verdict, verdict.reason
    families, keep = all_families(table_once, score_name, limit, constraints, prior)
    best = brute_force(families, len(keep)) / math.log(base or math.e)
    assert math.isclose(verdict.score, best, rel_tol=0, abs_tol=1e-7)
    assert 0 < verdict.tolerance < 1e-5
    assert verdict.counts["counted"] > 0
    for _ in range(4):
        check_without_one_set(rng, table, lists, width or 0.0)


def check_without_one_set(
    rng: np.random.Generator, table: Table, lists: CandidateLists, width: float
) -> None:
    """A set that is taken out is missed, unless it ties with what takes its place."""
    x = int(rng.integers(lists.n_variables))
    own = list(lists.candidates(x))
    value, members = own.pop(int(rng.integers(len(own))))
    best = max((s for s, w in own if set(w) < set(members)), default=-math.inf)
    fewer = {
        name: [
            (s, [lists.names[p] for p in w]) for s, w in (own if v == x else lists.candidates(v))
        ]
        for v, name in enumerate(lists.names)
    }
    forged = type(lists).from_families(fewer)
    recounter = Recounter(table, forged, lists.known().settings())
    if value - best + width < 1e-6:
        return
    if lists.names[x] in table.constant:  # it has no score, so its list may be empty here
        return
    with pytest.raises(ProofError, match="is missing, and no listed subset"):
        recounter.run()


@pytest.mark.parametrize("score_name", SCORES)
def test_the_claim_is_the_optimum_of_all_networks(score_name: str) -> None:
    for seed in range(4):
        check_against_brute_force(seed, score_name)


@pytest.mark.long
@pytest.mark.parametrize("score_name", SCORES)
def test_the_claim_is_the_optimum_of_all_networks_by_the_thousand(score_name: str) -> None:
    for seed in range(100, 400):
        check_against_brute_force(seed, score_name, 6)


# --- forgeries -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def case() -> tuple[Table, dict[str, Any]]:
    """A table in which three columns nearly decide a fourth, and its certificate."""
    rng = np.random.default_rng(5)
    a, b, c = rng.integers(0, 2, (3, 300))
    copied, parity = (x ^ (rng.random(300) < 0.05) for x in (a, a ^ b ^ c))
    columns = [x.tolist() for x in (a, b, c, np.zeros(300, np.int64), copied, parity)]
    table = make_table(columns)
    return table, proof_of(score(table, threads=1))


def resealed(table: Table, content: dict[str, Any]) -> dict[str, Any]:
    """A forger's best: digests of what is there now."""
    lists = carried_lists(content, table.names)
    content["lists"] = {
        "variables": lists.n_variables, "sets": lists.n_sets, "digest": lists_digest(lists),
    }  # fmt: skip
    return sealed(content)


def test_a_score_that_is_wrong_in_the_ninth_digit_is_refused(
    case: tuple[Table, dict[str, Any]],
) -> None:
    table, content = case
    assert check_table(table, content)
    for change in (1e-7, -1e-7, 5e-10, -5e-10):
        for v in range(table.n_variables):
            forged = copy.deepcopy(content)
            entry = forged["families"]["sets"][v][-1]
            entry[0] += change
            assert "digest differs" in check_table(table, forged).reason
            again = resealed(table, forged)
            again["claim"]["score"] = math.fsum(
                score for own in again["families"]["sets"] for score, _ in own
            )
            recounter = Recounter(table, carried_lists(again, table.names), content["settings"])
            names = ", ".join(table.names[p] for p in entry[1])
            with pytest.raises(ProofError, match=r"lists: the set .* does not score") as refusal:
                recounter.run()
            assert f"the set {{{names}}} of {table.names[v]!r}" in str(refusal.value)


def test_every_set_that_is_taken_out_is_missed(case: tuple[Table, dict[str, Any]]) -> None:
    table, content = case
    for v, own in enumerate(content["families"]["sets"]):
        for i, (_, members) in enumerate(own):
            if len(own) == 1:
                continue
            forged = copy.deepcopy(content)
            del forged["families"]["sets"][v][i]
            recounter = Recounter(table, carried_lists(forged, table.names), content["settings"])
            names = ", ".join(table.names[p] for p in members)
            with pytest.raises(ProofError, match="is missing, and no listed subset") as refusal:
                recounter.run()
            assert f"the set {{{names}}} of {table.names[v]!r} is missing" in str(refusal.value)


FORGERIES = {
    "another score": ("score", "aic", "does not score"),
    "a limit": ("max_parents", 2, "has too many parents"),
    "a limit by name": ("max_parents", {"v5": 1}, "has too many parents"),
    "a barred arc": ("constraints", {"forbidden": [["v0", "v5"]]}, "is not allowed"),
    "a required arc": ("constraints", {"required": [["v0", "v5"]]}, "is not allowed"),
    "tiers": ("constraints", {"tiers": [["v5"], ["v0"]]}, "is not allowed"),
    "a prior": ("prior", {"default": 0.3, "arcs": []}, "does not score"),
    "a base": ("log_base", 2.0, "does not score"),
    "a width": ("width", 50.0, "is missing"),
    "rows": ("rows", 299, "about other data"),
    "data": ("data", "0" * 64, "about other data"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_settings_that_the_lists_were_not_made_with(
    forgery: str, case: tuple[Table, dict[str, Any]]
) -> None:
    table, content = case
    key, value, reason = FORGERIES[forgery]
    forged = sealed({**content, "settings": {**content["settings"], key: value}})
    verdict = check_table(table, forged)
    assert not verdict
    assert reason in verdict.reason


def test_lists_that_break_the_format(case: tuple[Table, dict[str, Any]]) -> None:
    table, content = case
    first = content["families"]["sets"][0]
    for sets in (
        5, [], [5] * 6, [[[1.0]]] * 6, [[["x", []]]] * 6, [[[math.inf, []]]] * 6,
        [[[-1.0, [0]]]] * 6, [[[-1.0, [9]]]] * 6, [[[-1.0, [2, 1]]]] * 6, [[[-1.0, [1, 1]]]] * 6,
        [[*first, first[0]], *content["families"]["sets"][1:]],
    ):  # fmt: skip
        forged = {**content, "families": {"counted": 1, "sets": sets}}
        verdict = check_table(table, forged)
        assert not verdict
        assert verdict.reason.startswith(("families", "lists"))


def test_an_empty_list_is_refused(case: tuple[Table, dict[str, Any]]) -> None:
    table, content = case
    for v in range(table.n_variables):
        forged = copy.deepcopy(content)
        forged["families"]["sets"][v] = []
        assert check_table(table, forged).reason.startswith(f"families.sets[{v}]: a variable needs")


# --- what a recount does not know ----------------------------------------------------------------


@pytest.mark.parametrize("score_name", ["k2", "jeffreys", "fnml"])
def test_other_scores_are_refused_clearly(score_name: str) -> None:
    table = random_table(3, 4, 30)
    content = proof_of(score(table, score=score_name, threads=1))
    with pytest.raises(InputError, match=f"not under {score_name}; give the candidate lists"):
        check_table(table, content)


def test_holes_short_lists_and_later_requirements_are_refused_clearly() -> None:
    table = random_table(4, 4, 30, 20)
    content = proof_of(score(table, threads=1))
    short = sealed({**content, "settings": {**content["settings"], "complete_to": 1}})
    with pytest.raises(InputError, match="was stopped early; give"):
        check_table(table, short)
    settings = {**content["settings"], "settled": True}
    with pytest.raises(InputError, match="expectation maximisation completed"):
        check_table(table, sealed({**content, "settings": settings}))
    with pytest.raises(InputError, match="does not carry its lists"):
        check_table(table, {k: v for k, v in content.items() if k != "families"})
    with pytest.raises(InputError, match="does not say how"):
        check_table(table, sealed({**content, "settings": None}))
    later = sealed({**content, "constraints": {"required": [[table.names[0], table.names[1]]]}})
    with pytest.raises(InputError, match="these arcs were required after scoring: "):
        check_table(table, later)
    holes = with_holes(table, 1)
    settings = {**content["settings"], "data": holes.digest}
    with pytest.raises(
        InputError, match="only complete data can be scored again; give the candidate lists"
    ):
        check_table(holes, sealed({**content, "settings": settings}))


# --- in another interpreter ----------------------------------------------------------------------

BLOCKED = """
import json, sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        for blocked in {blocked!r}:
            if name == blocked or name.startswith(blocked + "."):
                raise ImportError("blocked: " + name)

sys.meta_path.insert(0, Blocker())
"""

ALONE = """
import numpy as np
from parentage.check import check_table
from parentage.data.table import Table

names, states, proof = json.load(open(sys.argv[1]))
if __name__ == "__main__":
    table = Table(tuple(names), tuple(map(tuple, states)), np.load(sys.argv[2]))
    verdict = check_table(table, proof, threads=int(sys.argv[3]))
    print(json.dumps([verdict.verified, verdict.claim]))
"""


def test_nothing_of_scoring_is_needed(case: tuple[Table, dict[str, Any]], tmp_path: Path) -> None:
    """From codes and certificate to the claim, without Numba, scoring, kernels and solver."""
    table, content = case
    given = tmp_path / "given.json"
    given.write_text(json.dumps([table.names, table.states, content]))
    np.save(tmp_path / "codes.npy", table.to_codes())
    blocked = (
        "numba", "llvmlite", "highspy", "scipy", "parentage.scoring", "parentage.kernels",
        "parentage.optimise", "parentage.network", "parentage.work", "parentage.pipeline",
    )  # fmt: skip
    program = tmp_path / "alone.py"
    program.write_text(BLOCKED.format(blocked=blocked) + ALONE)
    for threads in ("1", "2"):
        done = subprocess.run(
            [sys.executable, str(program), str(given), str(tmp_path / "codes.npy"), threads],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        verified, claim = json.loads(done.stdout)
        assert verified
        assert "no network of this table scores more than" in claim


def lines_of_code(source: str) -> int:
    """Count the lines of a module but for blank lines, comments and docstrings."""
    found: set[int] = set()
    for statement in ast.walk(ast.parse(source)):
        text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if isinstance(statement, ast.stmt) and not text:
            body = getattr(statement, "body", None)
            last = body[0].lineno - 1 if body else statement.end_lineno
            found.update(range(statement.lineno, (last or statement.lineno) + 1))
    blank = {i for i, line in enumerate(source.splitlines(), 1) if not line.strip(" )]},:")}
    return len(found - blank)


def test_the_page_says_how_large_the_checker_is() -> None:
    root = Path(__file__).parent.parent
    package = root / "src" / "parentage"
    modules = [*(package / "check").glob("*.py"), package / "data" / "table.py"]
    lines = sum(lines_of_code(module.read_text()) for module in modules)
    page = (root / "docs" / "certificates.md").read_text()
    assert f"about {round(lines, -2):,} lines of code" in page


def test_the_command_needs_no_numba(case: tuple[Table, dict[str, Any]], tmp_path: Path) -> None:
    table = case[0].drop(case[0].constant)
    labels = [[table.states[v][c] for c in table.column(v)] for v in range(table.n_variables)]
    rows = [",".join(row) for row in zip(*labels, strict=True)]
    path = tmp_path / "table.csv"
    path.write_text("\n".join([",".join(table.names), *rows]) + "\n")
    from parentage.data.reading import read_table

    proof = tmp_path / "proof.json"
    proof.write_text(json.dumps(proof_of(score(read_table(path), threads=1))))
    program = tmp_path / "command.py"
    program.write_text(
        BLOCKED.format(blocked=("numba", "llvmlite", "highspy", "parentage.optimise"))
        + "from parentage.cli import cli\nif __name__ == '__main__':\n    cli()\n"
    )
    done = subprocess.run(
        [sys.executable, str(program), "check", str(path), str(proof)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Verified: the network scores ")
    assert "no missing values" in done.stdout
    assert "sets again, about" in done.stderr


# --- numbers and counts --------------------------------------------------------------------------


def test_logarithms_are_right_to_140_bits() -> None:
    from decimal import Decimal, localcontext

    rng = np.random.default_rng(0)
    numbers = [1, 2, 3, 127, 128, 129, 255, 256, 257, 2**53 + 1, 10**30, 3**400]
    numbers += [int(n) for n in rng.integers(2, 2**40, 200)]
    with localcontext() as context:
        context.prec = 80
        for m in numbers:
            off = Decimal(ln(m)) / ONE - Decimal(m).ln()
            assert abs(off) < Decimal(2) ** -140
        third = Decimal(ln_ratio(Fraction(1, 3))) / ONE
        assert abs(third + Decimal(3).ln()) < Decimal(2) ** -139


def test_regrets_are_those_of_the_definition() -> None:
    for rows in (1, 2, 3, 10, 61):
        for states in (1, 2, 3, 5, 64, 1000):
            assert math.isclose(
                ln_regret(rows, states) / ONE, log_regret(rows, states), abs_tol=1e-9
            )
    assert ln_regret(5000, 2**40) / ONE > 5000 * math.log(2**40 / 5000)


def measure(kind: str, n_rows: int, ess: Fraction = Fraction(1)) -> WholeScore:
    """A measure on a grid that is fine for small tables."""
    return WholeScore(kind, n_rows, 40, ONE if kind in WEIGHED else 0, ess)


@pytest.mark.parametrize("kind", ["bic", "bdeu"])
def test_sums_enclose_those_of_the_definition(kind: str) -> None:
    for seed in range(20):
        table = random_table(seed, 6, 50)
        codes, arity = table.to_codes(), tuple(int(r) for r in table.cardinalities)
        own = measure(kind, table.n_rows, Fraction(1, 3))
        rows = DistinctRows(codes.astype(np.uint16), np.zeros(0, np.int64), arity, own)
        for size in range(table.n_variables + 1):
            sets = list(combinations(range(table.n_variables), size))
            sums, cells = rows.sums(np.array(sets, np.int64).reshape(len(sets), size))
            for members, low, occupied in zip(sets, sums.tolist(), cells.tolist(), strict=True):
                counts = np.unique(codes[list(members)], axis=1, return_counts=True)[1]
                if not size:
                    counts = np.array([table.n_rows])
                q = math.prod(arity[v] for v in members)
                true = math.fsum(value_of(kind, int(c), q, 1 / 3) for c in counts) * 2**40
                assert occupied == len(counts)
                assert low - 1e-3 <= true <= low + table.n_rows // 2 + 1


def value_of(kind: str, c: int, q: int, ess: float) -> float:
    """f(c) from its definition."""
    if kind == "bic":
        return c * math.log(c)
    return math.fsum(math.log1p(i * q / ess) for i in range(1, c))


def test_processes_count_alike() -> None:
    table = random_table(8, 6, 60, 60)
    arity = tuple(int(r) for r in table.cardinalities)
    rows = DistinctRows(
        table.to_codes().astype(np.uint16), np.zeros(0, np.int64), arity, measure("bic", 60)
    )
    pairs = list(combinations(range(table.n_variables), 2))
    sets = np.array([pair for pair in pairs for _ in range(80_000 // len(pairs))], np.int64)
    with counting(rows, 2) as sums:
        found, cells = sums(sets)
    alone, alone_cells = rows.sums(sets)
    assert (found == alone).all()
    assert (cells == alone_cells).all()


def test_more_columns_than_bits_of_a_number() -> None:
    rng = np.random.default_rng(2)
    columns = rng.integers(0, 2, (70, 80))
    columns[69] = columns[3] ^ columns[64]
    table = make_table(columns.tolist())
    few = Constraints(max_parents={f"v{v}": 1 for v in range(69)})
    lists = score(table, max_parents=2, constraints=few, threads=1)
    content = proof_of(lists)
    verdict = check_table(table, content)
    assert verdict, verdict.reason
    assert [table.names[p] for p in verdict.parents[69]] == ["v3", "v64"] or any(
        {69} <= set(own) for own in verdict.parents
    )
    forged = copy.deepcopy(content)
    own = forged["families"]["sets"][69]
    gone = next(i for i, (_, members) in enumerate(own) if members == [3, 64])
    del own[gone]
    recounter = Recounter(table, carried_lists(forged, table.names), content["settings"])
    with pytest.raises(ProofError, match=r"the set \{v3, v64\} of 'v69' is missing"):
        recounter.run()


def test_known_scores_are_those_of_the_tests() -> None:
    assert {name.partition(":")[0] for name in SCORES} == set(KNOWN)


def names_of(moments: Sequence[tuple[str, int, float]]) -> set[str]:
    """The children a recount was at."""
    return {phase.partition(",")[0] for phase, _, _ in moments if phase}


def test_a_forecast_comes_first_and_progress_after(case: tuple[Table, dict[str, Any]]) -> None:
    table, content = case
    moments: list[tuple[str, int, float]] = []
    verdict = check_table(table, content, say=lambda *moment: moments.append(moment))
    assert verdict
    assert moments[0][:2] == ("", 0)
    assert content["families"]["counted"] > 0
    assert moments[0][2] > 0
    assert names_of(moments) == set(table.names) - set(table.constant)
    assert moments[-1][1] <= verdict.counts["counted"]
