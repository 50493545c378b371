"""Other programs' numbers: pyAgrum, pgmpy, and score files made by others from the same tables."""

from __future__ import annotations

import itertools
import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from parentage.data import datasets
from parentage.data.reading import read_table
from parentage.scoring.candidates import score
from parentage.scoring.scores import family_score

if TYPE_CHECKING:
    from pathlib import Path

    from parentage.data.table import Table
    from real_data import RealData

INSTANCES = {
    "alarm1000_BIC": "alarm1000.csv",
    "water1000_BIC": "water1000.csv",
    "mobs_soybean_BIC.txt": "soybean.csv",
    "ebnsl_wine.BIC.3": "wine.csv",
    "mobs_steel_BIC.txt": "steel.csv",
}


def sample_families(names: tuple[str, ...], count: int, seed: int) -> list[tuple[str, list[str]]]:
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        child, *parents = rng.permutation(len(names))[: 1 + int(rng.integers(0, 4))]
        found.append((names[child], sorted(names[p] for p in parents)))
    return found


def frame_of(table: Table) -> dict[str, list[str]]:
    return {
        name: [labels[c] for c in column]
        for name, labels, column in zip(table.names, table.states, table.to_codes(), strict=True)
    }


@pytest.mark.parametrize("make", [datasets.tic_tac_toe, datasets.chest_clinic])
def test_pyagrum_agrees(make: object, tmp_path: Path) -> None:
    """pyAgrum's BNLearner.score, in bits."""
    gum = pytest.importorskip("pyagrum")
    import csv

    table: Table = make()  # type: ignore[operator]
    path = tmp_path / "t.csv"
    with path.open("w", newline="") as f:
        writer = csv.writer(f)
        columns = frame_of(table)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    learner = gum.BNLearner(str(path))
    learner.useScoreBIC()
    learner.useNoPrior()
    for child, parents in sample_families(table.names, 60, 1):
        ours = family_score(table, child, parents, log_base=2)
        assert learner.score(child, parents) == pytest.approx(ours, rel=1e-9)


@pytest.mark.parametrize("make", [datasets.tic_tac_toe, datasets.chest_clinic])
def test_pgmpy_agrees(make: object) -> None:
    """pgmpy's BIC, in nats."""
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pgmpy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pgmpy.structure_score import BIC

        table: Table = make()  # type: ignore[operator]
        theirs = BIC(pd.DataFrame(frame_of(table)))
        for child, parents in sample_families(table.names, 40, 2):
            expected = theirs.local_score(child, tuple(parents))
            assert family_score(table, child, parents) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", ["aic", "bdeu:1", "bdeu:10", "k2"])
def test_pgmpy_agrees_on_other_scores(name: str) -> None:
    """pgmpy's AIC, BDeu and K2; it counts observed states, so all states must occur."""
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pgmpy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pgmpy.structure_score import AIC, K2, BDeu

        table = datasets.tic_tac_toe().observed()
        frame = pd.DataFrame(frame_of(table))
        kind, _, ess = name.partition(":")
        make = {"aic": AIC, "k2": K2}.get(kind)
        theirs = BDeu(frame, equivalent_sample_size=float(ess)) if make is None else make(frame)
        for child, parents in sample_families(table.names, 25, 3):
            expected = theirs.local_score(child, tuple(parents))
            ours = family_score(table, child, parents, score=name)
            assert ours == pytest.approx(expected, rel=1e-9), (child, parents)


@pytest.mark.parametrize(("name", "ess"), [("bdeu", 1.0), ("bdeu:10", 10.0)])
def test_lists_equal_pygobnilps(shared: Path, name: str, ess: float) -> None:
    """pygobnilp's BDeu lists (GOBNILP's scores in Python): the same sets, the same scores."""
    pd = pytest.importorskip("pandas")
    gobnilp = pytest.importorskip("pygobnilp.scoring")

    class BDeu(gobnilp.BDeu):  # type: ignore[misc, name-defined]  # no types there
        """Its list of all scores takes the component alone; in 1.0 a count comes with it."""

        def bdeu_score_component(self, *arguments: Any) -> float:
            return float(super().bdeu_score_component(*arguments)[0])

    clinic = datasets.chest_clinic(1000).observed()
    path = shared / "data" / "tables" / "insurance_10000.csv"
    for table, k in ((clinic, 3), (read_table(path, na=[]).head(1000).observed(), 2)):
        frame = pd.DataFrame(frame_of(table), dtype="category")
        theirs = BDeu(gobnilp.DiscreteData(frame), ess).bdeu_scores(palim=k)
        ours = score(table, score=name, max_parents=k)
        for child in ours:
            mine = {frozenset(c.parents): c.score for c in ours[child]}
            assert mine == pytest.approx(theirs[child], abs=1e-6)


@pytest.mark.parametrize("name", sorted(INSTANCES))
def test_score_files_of_others_agree(real: RealData, name: str) -> None:
    """Every family that another program scored from the same table has our score, to its digits."""
    table, theirs = real.table(INSTANCES[name]), real.instance(name)
    assert theirs.n_variables == table.n_variables
    rounding = 4e-7 * table.n_rows * math.log(table.n_rows)  # some added up in 32 bits
    checked = 0
    for v in range(theirs.n_variables):
        for value, parents in itertools.islice(theirs.candidates(v), 25):
            ours = family_score(table, table.names[v], [table.names[p] for p in parents])
            assert value == pytest.approx(ours, rel=2e-5, abs=rounding), (v, parents)
            checked += 1
    assert checked > theirs.n_variables


@pytest.mark.parametrize("name", ["alarm1000_BIC", "water1000_BIC"])
def test_lists_of_others_are_ours(real: RealData, name: str) -> None:
    """Their lists are cut at some in-degree; below it they are exactly the undominated sets."""
    table, theirs = real.table(INSTANCES[name]), real.instance(name)
    ours = score(table, max_parents=theirs.max_in_degree)
    for v in range(table.n_variables):
        mine = {parents: value for value, parents in ours.candidates(v)}
        their = {parents: value for value, parents in theirs.candidates(v)}
        missing = set(mine.keys() - their.keys())
        extra = set(their.keys() - mine.keys())
        assert not missing | extra, (table.names[v], missing, extra)


def test_tic_tac_toe_scores_by_hand() -> None:
    """N = 958: a family small enough to check with a pencil."""
    table = datasets.tic_tac_toe()
    assert table.n_rows == 958
    wins = int((table.to_codes()[-1] == table.states[-1].index("majority")).sum())
    assert wins == 626
    entropy = wins * math.log(wins / 958) + (958 - wins) * math.log(1 - wins / 958)
    expected = entropy - math.log(958) / 2
    assert family_score(table, table.names[-1]) == pytest.approx(expected, rel=1e-12)
