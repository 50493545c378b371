"""Results write themselves, in every format that they have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import parentage
from command import ok, refused
from parentage.data.datasets import chest_clinic
from parentage.errors import InputError
from parentage.network.formats import read_parameters, read_record

if TYPE_CHECKING:
    from pathlib import Path


def test_a_solution_writes_all_it_knows(tmp_path: Path) -> None:
    table = chest_clinic(300)
    found = parentage.learn(table)
    for name in ("x.bif", "x.xmlbif", "x.json"):
        found.save(tmp_path / name)
        read = read_parameters(tmp_path / name)
        assert read.network == found.network
        for ours, theirs in zip(found.network.fit(table).tables, read.tables, strict=True):
            assert ours == pytest.approx(theirs)
    assert read_record(tmp_path / "x.json").finding.score == found.score
    found.save(tmp_path / "x.svg", size="column")
    assert 'height="' in (tmp_path / "x.svg").read_text()
    support = parentage.support(table, found.network)
    found.save(tmp_path / "x.html", title="Chests", support=support)
    page = (tmp_path / "x.html").read_text()
    assert "<h1>Chests</h1>" in page
    assert '"counts":[' in page
    found.save(tmp_path / "own.bif", parameters=found.network.fit(table, smoothing=7))
    assert read_parameters(tmp_path / "own.bif").probability("smoke", "yes") == pytest.approx(
        found.network.fit(table, smoothing=7).probability("smoke", "yes")
    )


def test_a_solution_of_lists_has_no_probabilities(tmp_path: Path) -> None:
    table = chest_clinic(300)
    parentage.score(table).save(tmp_path / "x.jkl")
    found = parentage.learn(tmp_path / "x.jkl")
    assert found.lists is not None and found.table is None
    with pytest.raises(InputError, match="BIF needs probabilities"):
        found.save(tmp_path / "x.bif")
    found.save(tmp_path / "x.bif", parameters=found.network.fit(table))
    found.network.save(tmp_path / "y.bif", table=table)
    found.network.fit(table).save(tmp_path / "z.bif")
    written = {(tmp_path / name).read_text() for name in ("x.bif", "y.bif", "z.bif")}
    assert len(written) == 1


def test_lists_support_and_recipe_write_themselves(tmp_path: Path) -> None:
    frame = chest_clinic(300)
    lists = parentage.score(frame)
    for name in ("x.jkl", "x.pss", "x.parquet"):
        lists.save(tmp_path / name)
        assert parentage.read_lists(tmp_path / name).n_sets == lists.n_sets
    support = parentage.support(frame)
    for name in ("x.csv", "x.json"):
        support.save(tmp_path / name)
        assert "smoke" in (tmp_path / name).read_text()
    content = b"a,b\n1.5,x\n2.5,y\n3.5,x\n"
    table = parentage.read_table(content, discretize="median")
    assert table.recipe is not None
    table.recipe.save(tmp_path / "x.toml")
    assert parentage.read_table(content, recipe=tmp_path / "x.toml").digest == table.digest


def test_the_averaged_network_is_a_network(tmp_path: Path) -> None:
    table = chest_clinic(300)
    plain = parentage.support(table)
    with pytest.raises(InputError, match="pass bootstrap=100"):
        _ = plain.averaged
    found = parentage.support(table, bootstrap=5)
    assert found.bootstrap is not None and found.averaged.shares is not None
    assert set(found.averaged.arcs) == set(found.bootstrap.averaged)
    assert found.averaged.names == table.names
    assert all(found.bootstrap.threshold < s <= 1 for s in found.averaged.shares.values())
    found.averaged.save(tmp_path / "average.bif", table=table)
    expected = found.averaged.fit(table)
    read = read_parameters(tmp_path / "average.bif")
    assert read.network == expected.network
    data, net = tmp_path / "t.csv", str(tmp_path / "command.bif")
    rows = zip(*(np.array(s)[table.column(v)] for v, s in enumerate(table.states)), strict=True)
    data.write_text("\n".join(map(",".join, [table.names, *rows])) + "\n")
    ok("support", str(data), "--bootstrap", "5", "--no-need", "-o", net)
    assert read_parameters(net).network == found.averaged
    assert "type --bootstrap 100" in refused("support", str(data), "-o", net)
