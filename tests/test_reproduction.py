"""The reproduction: slow truth first, then every published number, then what must not match."""

from __future__ import annotations

import doctest
import importlib
import itertools
import json
import math
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from parentage.data.datasets import tic_tac_toe
from parentage.data.table import Table
from parentage.errors import DataWarning, InputError, TableError
from parentage.scoring.candidates import score
from parentage.scoring.encoding import encode
from parentage.scoring.rules import theorem3
from reproduction import published
from reproduction.counting import (
    BIT,
    PRINTED,
    STATED,
    Convention,
    count_all_sets,
    count_pruned,
    extend,
    floating_binomial,
    lexicographic_rank,
    parent_bounds,
    ratio,
    statistics_of,
)
from reproduction.errata import counter_example, order_of_alg3_and_alg4, parity_table
from reproduction.experiments import Reproduction, find_sources, load, reproduce
from reproduction.published import COLUMNS, DATASETS, IN_DEGREES
from strategies import naive_of, random_table

if TYPE_CHECKING:
    from pathlib import Path

    from naive import Naive

pytestmark = pytest.mark.long

Family = tuple[int, tuple[int, ...]]
SMALL = ("glass", "breast-cancer", "zoo")


@pytest.fixture(scope="session")
def uci(shared: Path) -> Path:
    """The folder with the 18 ARFF files."""
    return shared / "data" / "uci"


@pytest.fixture(scope="session")
def known(shared: Path) -> dict[str, Any]:
    """The printed numbers as they were typed from the paper."""
    content: dict[str, Any] = json.loads((shared / "data" / "published.json").read_text())
    return content


@pytest.fixture
def some(uci: Path, tmp_path: Path) -> Path:
    """A folder with a few small tables."""
    for name in SMALL:
        (tmp_path / f"{name}.arff").write_bytes((uci / f"{name}.arff").read_bytes())
    return tmp_path


@pytest.fixture(scope="session")
def right(uci: Path, tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """What comes out of those tables, counted once."""
    folder = tmp_path_factory.mktemp("some")
    for name in SMALL:
        (folder / f"{name}.arff").write_bytes((uci / f"{name}.arff").read_bytes())
    return reproduce(folder)


@pytest.mark.parametrize("name", ["counting", "errata", "experiments", "figures"])
def test_examples_in_docstrings_run(name: str) -> None:
    failed, attempted = doctest.testmod(importlib.import_module(f"reproduction.{name}"))
    assert attempted > 0
    assert failed == 0


# ---------------------------------------------------------------------------------------------
# Slow, obvious truth


def naive_flags(naive: Naive, convention: Convention, most: int = 5) -> dict[Family, set[str]]:
    """Flag every family, one at a time, straight from the description of the conventions."""
    flags: dict[Family, set[str]] = {}
    for size in range(min(most, naive.n - 1) + 1):
        for x in range(naive.n):
            others = [v for v in range(naive.n) if v != x]
            for parents in itertools.combinations(others, size):
                flags[x, parents] = naive_family_flags(naive, x, parents, flags, convention)
    return flags


def naive_family_flags(
    naive: Naive,
    x: int,
    parents: tuple[int, ...],
    flags: dict[Family, set[str]],
    convention: Convention,
) -> set[str]:
    found: set[str] = set()
    for y in parents:
        star = tuple(v for v in parents if v != y)
        q = math.prod(naive.arity[v] for v in star)
        half = q // 2 if convention.halve_whole else q / 2
        right = (naive.arity[y] - 1) * math.log(naive.rows) * (naive.arity[x] - 1) * half
        evaluated = {v: not flags[v, star] & {"Alg1", "Alg2"} for v in (x, y)}
        for rule, v, given in (
            ("Alg1", x, star),
            ("Alg2", y, star),
            ("Alg3", x, ()),
            ("Alg4", y, ()),
        ):
            at_hand = evaluated[v] or not convention.only_evaluated
            if at_hand and naive.NH([v], given) <= right - 1e-9:
                found.add(rule)
        found |= flags[x, star]
    return found


def naive_counts(naive: Naive, convention: Convention) -> dict[int, dict[str, int]]:
    flags = naive_flags(naive, convention)
    return {
        k: {
            column: sum(
                bool(set(column.split("+")) & found)
                for (_, parents), found in flags.items()
                if 1 <= len(parents) <= k
            )
            for column in COLUMNS
        }
        for k in range(1, 6)
    }


CONVENTIONS = (
    PRINTED,
    STATED,
    replace(PRINTED, halve_whole=False),
    replace(PRINTED, only_evaluated=False),
)


def check_against_naive(seed: int) -> bool:
    """Compare all four conventions on one random table; whether availability mattered there."""
    table = random_table(seed, most_variables=7)
    naive, _ = naive_of(table)
    expected = [naive_counts(naive, convention) for convention in CONVENTIONS]
    assert count_pruned(encode(table, "bic", live_only=False), CONVENTIONS) == expected
    return expected[0] != expected[3]


def test_fast_counts_equal_slow_counts() -> None:
    mattered = [check_against_naive(seed) for seed in range(40)]
    assert any(mattered), "availability never mattered: the tables are too tame"


@pytest.mark.parametrize("first", range(1000, 2000, 100))
def test_fast_counts_equal_slow_counts_often(first: int) -> None:
    for seed in range(first, first + 100):
        check_against_naive(seed)


@pytest.mark.parametrize("n", [2, 3, 7])
def test_levels_are_all_combinations_in_order(n: int) -> None:
    members = np.arange(n, dtype=np.uint16)[:, None]
    for size in range(1, n + 1):
        expected = list(itertools.combinations(range(n), size))
        assert [tuple(row) for row in members.tolist()] == expected
        assert lexicographic_rank(members, n).tolist() == list(range(len(expected)))
        members = extend(members, n)
    assert len(members) == 0


def test_levels_have_the_entropies_of_brute_force() -> None:
    table = random_table(5, most_variables=6)
    naive, keep = naive_of(table)
    encoded = encode(table, "bic", live_only=False)
    levels = count_all_sets(encoded, 4)
    assert len(levels) == min(4, naive.n) + 1
    for level, below in zip(levels[1:], levels, strict=False):
        for row, subsets, G in zip(level.members, level.subsets, level.G, strict=True):
            variables = [keep.index(int(encoded.order[v])) for v in row]
            assert float(encoded.grid.to_float(int(G))) == pytest.approx(naive.G(variables))
            for t, at in enumerate(subsets):
                assert below.members[at].tolist() == np.delete(row, t).tolist()


def test_bounds_equal_the_formula() -> None:
    table = tic_tac_toe()
    for convention, log_n in ((PRINTED, math.log2(958)), (STATED, math.log(958))):
        found = parent_bounds(table, encode(table, "bic"), convention).theorem3
        for x, bound in found.items():
            assert bound == max(
                bound_of_pair(table, table.index(x), y, log_n)
                for y in range(table.n_variables)
                if table.names[y] != x
            )


def bound_of_pair(table: Table, x: int, y: int, log_n: float) -> int:
    n_rows = table.n_rows
    h = [
        math.log(n_rows) - sum(c * math.log(c) for c in np.bincount(column) if c) / n_rows
        for column in (table.to_codes()[x], table.to_codes()[y])
    ]
    r = table.cardinalities
    z = 1 + math.log2(min(h) / ((r[x] - 1) * (r[y] - 1))) + math.log2(n_rows) - math.log2(log_n)
    return max(0, math.ceil(z))


# ---------------------------------------------------------------------------------------------
# The published numbers


def test_published_numbers_are_those_of_the_paper(known: dict[str, Any]) -> None:
    assert [name for name in known if name in DATASETS] == list(DATASETS)
    assert set(known) - set(DATASETS) == {"figures", "glass_example"}
    for name in DATASETS:
        row = known[name]
        assert published.BOUNDS[name] == (
            row["n"],
            row["N"],
            {int(bound): count for bound, count in row["thm3"].items()},
            row["cor1"],
        )
        for k in IN_DEGREES:
            assert published.SEARCH_SPACE[name][k] == row["ind"][str(k)]["S"]
            assert published.COUNTS[name][k] == row["ind"][str(k)]["counts"]
    for figure in (1, 2):
        for k in IN_DEGREES:
            assert published.FIGURE_STATISTICS[figure][k] == known["figures"][str(figure)][str(k)]
    for name, example in published.GLASS_EXAMPLE.items():
        row = known["glass_example"][name]
        assert (example.child, list(example.star), example.parent) == (
            row["child"],
            row["parents"],
            row["Y"],
        )
        numbers = (example.entropy_child, example.entropy_parent, example.added)
        assert numbers == (row["N*H(X|P)"], row["N*H(Y|P)"], row["rhs"])


def test_published_numbers_are_complete() -> None:
    assert len(DATASETS) == 18
    assert sum(len(row) for rows in published.COUNTS.values() for row in rows.values()) == 378
    assert sum(len(rows) for rows in published.SEARCH_SPACE.values()) == 54
    figures = published.FIGURE_STATISTICS.values()
    assert sum(len(row) for rows in figures for row in rows.values()) == 36


def test_tic_tac_toe_comes_out_everywhere() -> None:
    result = reproduce()
    assert result.datasets == ("tic-tac-toe",)
    assert len(result.missing) == 17
    assert result.tallies == {
        "counts": (21, 21),
        "bounds": (2, 2),
        "search_space": (3, 3),
        "figures": (0, 0),
        "example": (0, 0),
    }
    (table,) = result.tables
    expected = published.COUNTS["tic-tac-toe"]
    assert {k: table.printed.counts[k] for k in IN_DEGREES} == expected
    assert table.stated.counts[5] == expected[5] | {"Alg2": 1134, "Alg1+Alg2": 1260}
    assert table.printed.bounds.spread == {6: 10}
    assert table.stated.bounds.spread == {7: 10}
    assert table.printed.search_space == table.stated.search_space == {3: 1290, 4: 2550, 5: 3810}


def test_tic_tac_toe_is_the_table_of_the_file(uci: Path) -> None:
    file = load(next(source for source in find_sources(uci) if source.name == "tic-tac-toe"))
    made = tic_tac_toe()
    assert file.n_rows == made.n_rows

    def rows(table: Table) -> Counter[tuple[str, ...]]:
        labels = [
            [states[code] for code in column]
            for states, column in zip(table.states, table.to_codes(), strict=True)
        ]
        return Counter(zip(*labels, strict=True))

    relabel = {"positive": "majority", "negative": "minority"}
    seen = Counter({tuple(relabel.get(v, v) for v in row): c for row, c in rows(file).items()})
    assert seen == rows(made)


def test_all_numbers_come_out(everything: Reproduction, known: dict[str, Any]) -> None:
    assert everything.missing == ()
    assert everything.tallies == {
        "counts": (378, 378),
        "bounds": (36, 36),
        "search_space": (54, 54),
        "figures": (36, 36),
        "example": (6, 6),
    }
    assert everything.mismatches == ()
    for table in everything.tables:
        row = known[table.name]
        assert (table.variables, table.rows) == (row["n"], row["N"])
        assert table.printed.bounds.spread == {int(b): c for b, c in row["thm3"].items()}
        assert table.printed.bounds.corollary1 == row["cor1"]
        for k in IN_DEGREES:
            assert table.printed.counts[k] == row["ind"][str(k)]["counts"]
            assert table.printed.search_space[k] == row["ind"][str(k)]["S"]
    for figure, k in itertools.product((1, 2), IN_DEGREES):
        for name, value in known["figures"][str(figure)][str(k)].items():
            assert round(everything.statistics("printed", figure, k)[name], 3) == value


def test_threads_change_nothing(right: Reproduction) -> None:
    path = right.tables[0].source.path
    assert path is not None
    assert reproduce(path.parent, threads=3) == right


def test_stated_reading_of_the_counts(everything: Reproduction) -> None:
    steps = [int(cell.stated) - int(cell.printed) for cell in everything.counts]
    assert sum(step > 0 for step in steps) == 224
    assert min(steps) == 0
    by_name = {table.name: table for table in everything.tables}
    assert by_name["zoo"].stated.counts[4]["Alg4"] == 9058
    space = by_name["flags"].stated.search_space
    assert space == {3: 106778, 4: 700553, 5: 3550673}


def test_stated_reading_of_the_bounds(everything: Reproduction) -> None:
    steps = [
        table.stated.bounds.theorem3[v] - bound
        for table in everything.tables
        for v, bound in table.printed.bounds.theorem3.items()
    ]
    assert (len(steps), sum(steps), set(steps)) == (289, 140, {0, 1})


def test_stated_reading_of_the_figures(everything: Reproduction) -> None:
    means = {
        figure: [round(everything.statistics("stated", figure, k)["mean"], 3) for k in IN_DEGREES]
        for figure in (1, 2)
    }
    assert means == {1: [1.428, 1.535, 1.685], 2: [1.270, 1.173, 1.121]}
    assert order_of_alg3_and_alg4([t.printed.counts for t in everything.tables]) == (22, 21, 11)
    assert order_of_alg3_and_alg4([t.stated.counts for t in everything.tables]) == (5, 23, 26)


def test_worked_example(everything: Reproduction) -> None:
    run = everything.glass
    assert run is not None
    stated = {name: tuple(round(x, 4) for x in e.numbers) for name, e in run.stated.items()}
    assert stated == {"E1": (126.6813, 210.8882, 128.7834), "E2": (102.8166, 71.2344, 75.1237)}
    assert {name: e.fired for name, e in run.stated.items()} == {"E1": ("Alg1",), "E2": ("Alg2",)}
    assert run.printed["E1"].numbers == pytest.approx((126.68, 210.88, 128.76))
    assert run.printed["E2"].numbers == pytest.approx((102.81, 71.23, 75.11))
    assert (run.declared_states, run.observed_states) == (7, 6)
    assert round(run.observed["E1"].numbers[2], 2) == 107.32
    assert round(run.observed["E2"].numbers[2], 2) == 64.39
    assert all(e.fired == () for e in run.observed.values())


@pytest.mark.parametrize("name", ["glass", "cmc", "solar-flare", "zoo", "lymph"])
def test_stated_counts_equal_the_marks_of_the_search(
    everything: Reproduction, uci: Path, name: str
) -> None:
    """The search, told to apply one rule and follow nothing, marks the same families."""
    table = load(next(source for source in find_sources(uci) if source.name == name))
    run = next(t for t in everything.tables if t.name == name)
    for k, rule in itertools.product(IN_DEGREES, BIT):
        lists = score(table, rules=rule.lower(), max_parents=k)
        assert lists.known().tallies.pruned == {rule.lower(): run.stated.counts[k][rule]}


def test_stated_counts_of_tic_tac_toe_equal_the_marks_of_the_search() -> None:
    (run,) = reproduce().tables
    for rule in BIT:
        lists = score(tic_tac_toe(), rules=rule.lower(), max_parents=5)
        assert lists.known().tallies.pruned == {rule.lower(): run.stated.counts[5][rule]}


# ---------------------------------------------------------------------------------------------
# Wrong conventions and changed data must not match


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        (replace(PRINTED, halve_whole=False), "counts"),
        (replace(PRINTED, only_evaluated=False), "counts"),
        (replace(PRINTED, log_of_bounds=math.log), "bounds"),
        (replace(PRINTED, cut_example=False), "example"),
        (STATED, "counts"),
    ],
)
def test_another_convention_does_not_match(
    some: Path, right: Reproduction, wrong: Convention, kind: str
) -> None:
    assert right.mismatches == ()
    result = reproduce(some, printed=wrong)
    assert result.tallies[kind].matched < result.tallies[kind].of
    assert result.mismatches


@pytest.mark.parametrize(
    ("wrong", "matched"),
    [
        (replace(PRINTED, halve_whole=False), {"counts": 19, "bounds": 2}),
        (replace(PRINTED, log_of_bounds=math.log), {"counts": 21, "bounds": 1}),
    ],
)
def test_another_convention_does_not_match_tic_tac_toe(
    wrong: Convention, matched: dict[str, int]
) -> None:
    tallies = reproduce(printed=wrong).tallies
    assert {kind: tallies[kind].matched for kind in matched} == matched


def test_exact_binomials_do_not_match() -> None:
    right = replace(PRINTED, binomial=math.comb)
    printed = published.SEARCH_SPACE["flags"]
    assert {k: PRINTED.search_space(29, k) for k in IN_DEGREES} == printed
    assert all(right.search_space(29, k) != printed[k] for k in IN_DEGREES)
    assert floating_binomial(20, 10) == math.comb(20, 10)


def write_arff(path: Path, table: Table) -> None:
    lines = ["@relation made"]
    lines += [
        f"@attribute '{name}' {{{','.join(states)}}}"
        for name, states in zip(table.names, table.states, strict=True)
    ]
    lines.append("@data")
    for i in range(table.n_rows):
        row = (states[c] for states, c in zip(table.states, table.to_codes()[:, i], strict=True))
        lines.append(",".join(row))
    path.write_text("\n".join(lines) + "\n")


def test_a_file_goes_before_the_made_table(tmp_path: Path) -> None:
    write_arff(tmp_path / "tic-tac-toe.arff", tic_tac_toe())
    result = reproduce(tmp_path)
    assert str(result.tables[0].source) == "tic-tac-toe.arff"
    assert result.mismatches == ()


def test_a_changed_table_does_not_match(tmp_path: Path) -> None:
    """Two thirds of the rows of tic-tac-toe: other bounds and other counts."""
    write_arff(tmp_path / "tic-tac-toe.arff", tic_tac_toe().head(640))
    result = reproduce(tmp_path)
    assert result.tables[0].rows == 640
    assert result.tallies["counts"].matched < 21
    assert result.tallies["search_space"] == (3, 3)


@pytest.mark.parametrize("name", ["glass", "breast-cancer", "zoo"])
def test_one_row_removed_does_not_match(some: Path, name: str) -> None:
    path = some / f"{name}.arff"
    lines = path.read_text().split("\n")
    last = max(i for i, line in enumerate(lines) if line.strip() and not line.startswith("%"))
    del lines[last]
    path.write_text("\n".join(lines))
    result = reproduce(some)
    assert {cell.dataset for cell in result.mismatches if cell.in_degree} == {name}
    run = next(t for t in result.tables if t.name == name)
    assert run.rows == published.BOUNDS[name].rows - 1


def test_figures_are_compared_only_if_no_table_is_missing(right: Reproduction) -> None:
    result = right
    assert result.datasets == ("glass", "tic-tac-toe", "breast-cancer", "zoo")
    assert all(cell.published is None for cell in result.figures)
    assert result.tallies["figures"] == (0, 0)


# ---------------------------------------------------------------------------------------------
# Data


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no folder"):
        reproduce(tmp_path / "nothing")


def test_a_folder_without_the_tables_is_pointed_out(tmp_path: Path) -> None:
    (tmp_path / "other.arff").write_text("@relation x\n")
    with pytest.warns(DataWarning, match=r"named like zoo\.arff"):
        sources = find_sources(tmp_path)
    assert [source.name for source in sources] == ["tic-tac-toe"]


def test_a_broken_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "zoo.arff").write_text("@relation zoo\n@attribute a {x,y}\n@data\nx\nz\n")
    with pytest.raises(TableError):
        reproduce(tmp_path)


def test_identifiers_and_constants_are_left_out(tmp_path: Path) -> None:
    columns = {"animal": "abcd", "legs": "xxyy", "tail": "xyxy", "one": "xxxx"}
    write_arff(tmp_path / "zoo.arff", Table.from_columns(columns))
    (source, *_) = [s for s in find_sources(tmp_path) if s.name == "zoo"]
    assert load(source).names == ("legs", "tail")


def test_a_table_with_few_variables_is_counted(tmp_path: Path) -> None:
    columns = {"a": "xxyyxy", "b": "xyxyxy", "c": "xxxyyy"}
    write_arff(tmp_path / "zoo.arff", Table.from_columns(columns))
    zoo = next(t for t in reproduce(tmp_path).tables if t.name == "zoo")
    assert zoo.stated.search_space == {3: 9, 4: 9, 5: 9}
    assert zoo.printed.counts[5] == zoo.printed.counts[3]


def test_glass_with_other_columns_has_no_example(tmp_path: Path) -> None:
    columns = {"RI": "xxyyxy", "Na": "xyxyxy", "kind": "xxxyyy"}
    write_arff(tmp_path / "glass.arff", Table.from_columns(columns))
    result = reproduce(tmp_path)
    assert result.glass is None
    assert result.example == ()


# ---------------------------------------------------------------------------------------------
# Figures and the counter-example


def test_ratios_and_statistics() -> None:
    assert (ratio(0, 0), ratio(3, 2), ratio(1, 0)) == (1.0, 1.5, math.inf)
    values = [3.0, 1.0, 2.0, 10.0]
    expected = {"min": 1, "q1": 1.75, "median": 2.5, "q3": 4.75, "max": 10, "mean": 4}
    assert statistics_of(values) == pytest.approx(expected)
    assert statistics_of([1.0, math.inf])["max"] == math.inf


def all_networks(n: int) -> list[tuple[tuple[int, ...], ...]]:
    """Every DAG on a few variables, as parents by child."""
    choices = [
        [p for size in range(n) for p in itertools.combinations(set(range(n)) - {x}, size)]
        for x in range(n)
    ]
    return [network for network in itertools.product(*choices) if is_acyclic(network)]


def is_acyclic(network: tuple[tuple[int, ...], ...]) -> bool:
    left = set(range(len(network)))
    while left:
        free = {x for x in left if not left & set(network[x])}
        if not free:
            return False
        left -= free
    return True


def test_counter_example_by_brute_force() -> None:
    found = counter_example()
    naive, _ = naive_of(found.table)
    networks = all_networks(4)
    assert len(networks) == 543

    def total(network: tuple[tuple[int, ...], ...]) -> float:
        return sum(
            -naive.NH([x], parents) - naive.pen(x, parents) for x, parents in enumerate(network)
        )

    caps = [found.printed[name] for name in found.table.names]
    within = [n for n in networks if all(len(p) <= caps[x] for x, p in enumerate(n))]
    assert found.optimum.total == pytest.approx(max(map(total, networks)))
    assert found.capped.total == pytest.approx(max(map(total, within)))
    assert round(found.optimum.total, 4) == -42.5822
    assert round(found.capped.total, 4) == -43.4527
    assert found.optimum.parents["X"] == ("Y1", "Y2", "Y3")
    assert (found.printed["X"], found.stated["X"]) == (2, 3)


def test_counter_example_is_safe_for_the_search() -> None:
    """The package's own Theorem 3 keeps the optimal parent set."""
    table = parity_table()
    for rules in (None, "thm3", "all"):
        sets = [candidate.parents for candidate in score(table, rules=rules)["X"]]
        assert ("Y1", "Y2", "Y3") in sets
    encoded = encode(table, "bic")
    entropies = [float(x) / 21 for x in encoded.grid.to_float(encoded.empty - encoded.single)]
    assert min(theorem3(21, entropies, [2] * 4)) == 3


def test_counter_example_is_that_of_the_file(shared: Path) -> None:
    lines = (shared / "data" / "thm3_counterexample_N21_k3.csv").read_text().split()
    table = parity_table()
    rows = Counter(",".join(map(str, row)) for row in table.to_codes().T.tolist())
    assert ",".join(table.names) == lines[0]
    assert rows == Counter(lines[1:])
