from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from network_cases import all_dags, random_network, random_parameters
from parentage.data.table import Table
from parentage.errors import InputError, TableError, UndecidedError, UnprovenWarning
from parentage.estimator import ParentageLearner
from parentage.network.bridges import from_pyagrum
from parentage.network.formats import write_network
from parentage.network.network import Network, arc_gains
from parentage.pipeline import learn
from parentage.scoring.candidates import score
from parentage.scoring.constraints import Constraints
from strategies import each

if TYPE_CHECKING:
    from pathlib import Path

    from real_data import RealData

COLUMNS = {"rain": list("0011" * 9), "wet": list("0011" * 8 + "0111"), "coin": list("01" * 18)}


def sampled(seed: int, n: int, rows: int) -> Table:
    network = random_network(seed, n)
    states = [["x", "y", "z"][: 2 + v % 2] for v in range(n)]
    return random_parameters(network, states, np.random.default_rng(seed)).sample(rows, seed=seed)


def frames() -> list[Any]:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    return [pandas.DataFrame(COLUMNS), polars.DataFrame(COLUMNS), pyarrow.table(COLUMNS)]


def test_all_kinds_of_frames_give_the_same() -> None:
    expected = ParentageLearner().fit(Table.from_columns(COLUMNS))
    assert set(expected.network_.arcs) in ({("rain", "wet")}, {("wet", "rain")})
    for frame in frames():
        learner = ParentageLearner().fit(frame)
        assert learner.network_ == expected.network_
        assert learner.score_ == expected.score_ == learner.bound_
        assert learner.gap_ == 0
        assert learner.optimal_ is True
        assert learner.candidates_.names == learner.table_.names == ("rain", "wet", "coin")
        assert learner.solution_.network == learner.network_


@each("seed", 6)
def test_the_network_is_the_best_of_all(seed: int) -> None:
    table = sampled(seed, 4, 60)
    if len(table.constant) > 2:
        return  # hardly any variable varies
    for name, base in (("bic", None), ("aic", None)):
        learner = ParentageLearner(criterion=name).fit(table)
        best = max(Network(table.names, p).score(table, name, base) for p in all_dags(4))
        assert learner.score_ == pytest.approx(best, rel=1e-9)
        assert learner.network_.score(table, name, base) == pytest.approx(best, rel=1e-9)
        assert all(gain > 0 for gain in arc_gains(learner.network_, table, name, base).values())
        assert learner.solution_.gains.keys() == set(learner.network_.arcs)


def test_a_constant_column_with_declared_states_counts_nothing() -> None:
    table = sampled(3, 3, 60)
    constant = Table(
        (*table.names, "still"),
        (*table.states, ("on", "off")),
        np.vstack([table.to_codes(), np.zeros((1, 60), np.uint16)]),
    )
    learner = ParentageLearner().fit(constant)
    assert learner.network_.parents_of("still") == learner.network_.children_of("still") == ()
    assert learner.network_.score(constant) == pytest.approx(learner.score_, rel=1e-9)


def test_parameters_reach_the_engines() -> None:
    table = sampled(1, 6, 2000)
    free = ParentageLearner().fit(table)
    assert free.network_.max_in_degree > 1
    assert ParentageLearner(max_parents=1).fit(table).network_.max_in_degree == 1
    parent, child = free.network_.arcs[0]
    forbidden = Constraints(forbidden=frozenset({(parent, child)}))
    assert (parent, child) not in ParentageLearner(constraints=forbidden).fit(table).network_.arcs
    required = Constraints(required=frozenset({(child, parent)}))
    held = ParentageLearner(constraints=required).fit(table)
    assert (child, parent) in held.network_.arcs
    assert held.score_ <= free.score_ + 1e-9
    assert ParentageLearner(n_jobs=-1).fit(table).network_ == free.network_
    for wrong in (0, -2):
        with pytest.raises(InputError, match=f"n_jobs={wrong} is not a number of threads"):
            ParentageLearner(n_jobs=wrong).fit(table)


def test_reading_options_reach_the_reader() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({**COLUMNS, "rain": [None, *COLUMNS["rain"][1:]]})
    with pytest.raises(TableError, match="missing"):
        ParentageLearner().fit(frame)
    assert ParentageLearner(missing="drop").fit(frame).table_.n_rows == 35
    numbers = polars.DataFrame({**COLUMNS, "size": [i / 7 for i in range(36)]})
    cut = ParentageLearner(discretize="median").fit(numbers).table_
    assert cut.cardinalities.tolist() == [2, 2, 2, 2]


def test_no_proof_is_a_warning_that_says_what_was_compared() -> None:
    table = sampled(8, 40, 300)
    learner = ParentageLearner(time_limit=1e-9)
    with pytest.warns(
        UnprovenWarning, match=r"above the network without arcs and .* above the best tree"
    ):
        learner.fit(table)
    assert learner.optimal_ is False
    assert learner.bound_ >= learner.score_
    assert learner.gap_ == learner.bound_ - learner.score_
    assert learner.network_.score(table) == pytest.approx(learner.score_, rel=1e-9)


def test_learn_takes_tables_frames_files_and_lists(tmp_path: Path) -> None:
    expected = learn(Table.from_columns(COLUMNS))
    rows = zip(*COLUMNS.values(), strict=True)
    path = tmp_path / "rain.csv"
    path.write_text("\n".join([",".join(COLUMNS), *(",".join(row) for row in rows)]) + "\n")
    for source in (*frames(), path, score(Table.from_columns(COLUMNS))):
        assert learn(source).network == expected.network
        assert learn(source).score == expected.score


def test_the_known_optimum_of_alarm(real: RealData, tmp_path: Path) -> None:
    gum = pytest.importorskip("pyagrum")
    table = real.table("alarm1000.csv")
    learner = ParentageLearner().fit(table)
    assert learner.optimal_
    assert learner.score_ == pytest.approx(-11783.0463, abs=0.01)  # as its producers print it
    assert learner.network_.score(table) == pytest.approx(learner.score_, abs=1e-6)
    write_network(learner.network_, tmp_path / "alarm.bifxml", table=table)
    theirs = from_pyagrum(gum.loadBN(str(tmp_path / "alarm.bifxml")))
    assert theirs.network == learner.network_
    ours = learner.network_.fit(table)
    assert theirs.log_likelihood(table) == pytest.approx(ours.log_likelihood(table), rel=1e-9)
    write_network(learner.solution_, tmp_path / "alarm.svg", table=table)
    assert (tmp_path / "alarm.svg").read_text().count(", gains ") == learner.network_.n_arcs


def test_the_same_seed_gives_the_same_network() -> None:
    table = sampled(9, 8, 200)
    assert (
        ParentageLearner(random_state=4).fit(table).network_
        == ParentageLearner(random_state=4).fit(table).network_
    )


def test_sklearn_can_clone() -> None:
    sklearn_base = pytest.importorskip("sklearn.base")
    tiers = Constraints(tiers=(("rain",), ("wet",)))
    learner = ParentageLearner(max_parents=2, constraints=tiers, time_limit=60.0)
    copy = sklearn_base.clone(learner)
    assert copy is not learner
    assert copy.get_params() == learner.get_params()
    fitted = learner.fit(Table.from_columns(COLUMNS))
    assert fitted is learner
    assert not hasattr(sklearn_base.clone(learner), "solution_")
    assert learner.network_.arcs == (("rain", "wet"),)


def test_params_can_be_set() -> None:
    learner = ParentageLearner().set_params(max_parents=3, criterion="aic")
    assert (learner.max_parents, learner.criterion) == (3, "aic")
    assert repr(learner) == "ParentageLearner(criterion='aic', max_parents=3)"
    assert repr(ParentageLearner()) == "ParentageLearner()"
    assert learner.get_params(deep=False) == learner.get_params()
    with pytest.raises(InputError, match="no parameter 'max_parent'; did you mean 'max_parents'"):
        learner.set_params(max_parent=3)
    with pytest.raises(AttributeError):
        _ = learner.network_


def test_fitted_learners_can_be_pickled() -> None:
    learner = ParentageLearner().fit(Table.from_columns(COLUMNS))
    copy = pickle.loads(pickle.dumps(learner))  # noqa: S301  # made in this line
    assert copy.network_ == learner.network_
    assert copy.score_ == learner.score_


def test_a_solution_shows_itself() -> None:
    """In a terminal one line with the proof, in a notebook the picture as well."""
    table = Table.from_columns({"rain": "0011" * 9, "wet": "0011" * 8 + "0111"})
    solution = learn(table)
    assert "optimal" in repr(solution)
    html = solution._repr_html_()
    assert "<svg" in html
    assert "optimal" in html


def test_every_function_takes_frames_paths_and_lists(tmp_path: Path) -> None:
    import polars as pl

    from parentage.scoring.explanation import explain
    from parentage.scoring.formats import write_lists

    frame = pl.DataFrame({"rain": list("0011" * 9), "wet": list("0011" * 8 + "0111")})
    path = tmp_path / "rain.csv"
    path.write_text("rain,wet\n" + "\n".join(",".join(row) for row in frame.iter_rows()) + "\n")
    lists = score(frame)
    assert score(path)["wet"] == lists["wet"]
    assert explain(frame, "wet", ["rain"]).kept
    write_lists(lists, tmp_path / "rain.jkl")
    best = learn(frame).score
    assert learn(tmp_path / "rain.jkl").score == pytest.approx(best)
    assert learn(path, missing="drop").score == pytest.approx(best)
    with pytest.raises(InputError, match="list of names"):
        explain(frame, "wet", "rain")


def test_constraints_may_be_lists() -> None:
    lists = Constraints(required=[("a", "b")], forbidden=[["b", "c"]], tiers=[["a"], ["b", "c"]])  # type: ignore[arg-type]  # as messages offer it
    sets = Constraints(frozenset({("a", "b")}), frozenset({("b", "c")}), tiers=(("a",), ("b", "c")))
    assert lists == sets
    assert hash(frozenset(lists.required)) == hash(sets.required)


def test_a_network_is_fitted_to_a_frame() -> None:
    frame = pl.DataFrame({"rain": list("nnny"), "wet": list("nnyy")})
    network = Network.from_arcs(["rain", "wet"], [("rain", "wet")])
    assert network.fit(frame).probability("wet", "y", {"rain": "n"}) == pytest.approx(0.4)
    with pytest.raises(InputError, match="no column 'wet'"):
        network.fit(frame.rename({"wet": "dry"}))


def test_a_refusal_repeats_what_was_typed() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": rng.normal(size=99), "b": ["x", "y", "z"] * 33})
    learner = ParentageLearner(target="b", max_parents=2)
    with pytest.raises(UndecidedError, match=r"Learner\(max_parents=2, target='b', discretize="):
        learner.fit(frame)
    numbered = frame.with_columns(id=pl.int_range(99))
    with pytest.raises(UndecidedError, match=r"read_table\(X, discretize='median', drop="):
        ParentageLearner(discretize="median").fit(numbered)
