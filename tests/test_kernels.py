"""Kernels against their plain versions."""

from __future__ import annotations

import importlib
import inspect
import itertools
import pkgutil
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parentage import kernels
from parentage.kernels import judging
from parentage.kernels._options import JIT, Kernel, njit
from parentage.kernels.bits import LANES, lanes_at, less_lanes, plus_rows, put_lanes, transpose
from parentage.scoring.encoding import encode, residuals
from parentage.scoring.rules import RULES
from parentage.scoring.scores import entropy_sum
from strategies import make_table, naive_of, random_columns, tables

if TYPE_CHECKING:
    from parentage.data.table import Table


def bits_of(words: np.ndarray) -> np.ndarray:
    return np.unpackbits(words.view(np.uint8).reshape(64, 8), axis=1, bitorder="little")


@given(st.integers(0, 2**32 - 1))
def test_transpose(seed: int) -> None:
    words = np.random.default_rng(seed).integers(0, 2**63, 64).astype(np.uint64)
    turned = words.copy()
    transpose(turned)
    assert (bits_of(turned) == bits_of(words).T).all()


@njit(**{**JIT, "cache": False})
def _lanes_of_all_kinds(words, counts, at, mask, shift):  # type: ignore[no-untyped-def]  # kernel
    before = lanes_at(counts, at)
    after = plus_rows(words, at, mask, shift, before)
    put_lanes(counts, at, after)
    put_lanes(counts, np.uint64(0), less_lanes(after, before))


@given(st.integers(0, 2**32 - 1), st.integers(LANES, 3 * LANES), st.integers(0, 32))
def test_lanes_are_those_of_the_plain_versions(seed: int, at: int, shift: int) -> None:
    rng = np.random.default_rng(seed)
    words, (mask,) = (rng.integers(0, 2**64, n, np.uint64) for n in (4 * LANES, 1))
    compiled, plain = np.arange(2 * 4 * LANES, dtype=np.uint64).reshape(2, -1)
    plain[:] = compiled
    arguments = np.uint64(at), mask, np.uint64(shift)
    _lanes_of_all_kinds.compiled(words, compiled, *arguments)
    _lanes_of_all_kinds.interpreted(words, plain, *arguments)
    assert compiled.tolist() == plain.tolist()
    rows = [(int(word) & int(mask)).bit_count() << shift for word in words[at : at + LANES]]
    assert compiled[:LANES].tolist() == rows


OTHERS_IN_JUDGING = (
    "DEAD", "N_RULES", "MEMBER", "SUBSET", "STATES", "BEST", "CEILING", "ROW", "ROWS",
)  # fmt: skip
"""Constants that are no rule's number."""


def test_rule_numbers_are_in_step() -> None:
    """A number in the kernel is the place of the rule's record; neither has one too many."""
    in_kernel = {
        name: value
        for name, value in vars(judging).items()
        if name.isupper() and isinstance(value, int) and name not in OTHERS_IN_JUDGING
    }
    in_records = {
        rule.name.upper().replace("-", "_"): place
        for place, rule in enumerate(RULES)
        if not rule.is_cap
    }
    assert in_kernel == in_records
    assert len(RULES) == judging.N_RULES


def kernels_with_arguments() -> dict[str, int]:
    """Every function in ``kernels/`` that Numba compiles, and how many arguments it takes."""
    found = {}
    for module in pkgutil.iter_modules(kernels.__path__, "parentage.kernels."):
        for name, kernel in vars(importlib.import_module(module.name)).items():
            if isinstance(kernel, Kernel) and kernel.py_func.__module__ == module.name:
                arguments = inspect.signature(kernel.py_func).parameters
                found[f"{module.name}.{name}"] = len(arguments)
    return found


def test_kernels_take_at_most_twelve_arguments() -> None:
    found = kernels_with_arguments()
    assert found["parentage.kernels.counting.count_sets"] == 9
    assert len(found) > 50
    assert {name: count for name, count in found.items() if count > 12} == {}


def all_G(table: Table, size: int, live_only: bool) -> dict[tuple[int, ...], int]:
    """G of every set of one size by the kernel, in the table's indices."""
    e = encode(table, "bic", live_only=live_only)
    sets = list(itertools.combinations(range(e.n_variables), size))
    G = e.count(np.array(sets, np.uint16))
    return {
        tuple(sorted(int(e.order[v]) for v in members)): int(g)
        for members, g in zip(sets, G, strict=True)
    }


@settings(max_examples=60, deadline=None)
@given(tables(6, 60), st.booleans())
def test_counting_equals_counting_by_hand(table: Table, live_only: bool) -> None:
    """The same integers as adding f over a Counter: exact, not close."""
    e = encode(table, "bic")
    for size in range(2, e.n_variables + 1):
        for members, g in all_G(table, size, live_only).items():
            rows = zip(*(table.to_codes()[v].tolist() for v in members), strict=True)
            counts: dict[tuple[int, ...], int] = {}
            for row in rows:
                counts[row] = counts.get(row, 0) + 1
            assert g == sum(int(e.grid.f[c]) for c in counts.values())


@settings(max_examples=40, deadline=None)
@given(tables(6, 60), st.integers(0, 2**32 - 1))
def test_every_set_may_have_its_own_function(table: Table, seed: int) -> None:
    """Rows of f by set, and the number of joint states that occur, exactly."""
    e = encode(table, "bic")
    rng = np.random.default_rng(seed)
    f = rng.integers(0, 2**40, (3, table.n_rows + 1))
    f[:, :2] = 0
    for size in range(2, e.n_variables + 1):
        sets = np.array(list(itertools.combinations(range(e.n_variables), size)), np.uint16)
        row = rng.integers(0, 3, len(sets)).astype(np.int32)
        excess = np.empty(len(sets), np.int64)
        found = e.count(sets, f, row, excess)
        assert (found == e.count(sets, f, row)).all()
        for i, members in enumerate(sets):
            counts = np.unique(table.to_codes()[e.order[members]], axis=1, return_counts=True)[1]
            assert found[i] == f[row[i], counts].sum()
            assert excess[i] == table.n_rows - len(counts)


@pytest.mark.parametrize(("rows", "states"), [(700, 4), (5000, 3), (300, 90), (130, 300)])
def test_counting_large_groups_and_many_states(rows: int, states: int) -> None:
    rng = np.random.default_rng(rows)
    columns = random_columns(rng, 4, rows, 4)
    columns += [[int(c) for c in rng.integers(0, states, rows)] for _ in range(2)]
    table = make_table(columns)
    e = encode(table, "bic")
    for size in (2, 3, 4, 5):
        for members, g in all_G(table, size, live_only=True).items():
            assert float(e.grid.to_float(g)) == pytest.approx(
                entropy_sum(table, members), rel=1e-12
            )


@settings(max_examples=60, deadline=None)
@given(tables(6))
def test_residuals(table: Table) -> None:
    e = encode(table, "bic")
    naive, keep = naive_of(table)
    expected = {keep[v]: naive.h(v) for v in range(naive.n)}
    for v, h in zip(e.order, e.grid.to_float(residuals(e, table)), strict=True):
        assert float(h) == pytest.approx(expected[int(v)], abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(tables(6), st.data())
def test_counting_in_a_context(table: Table, data: st.DataObject) -> None:
    """With a context every G(S) is G(S ∪ context)."""
    free = [v for v, name in enumerate(table.names) if name not in table.constant]
    context = data.draw(
        st.lists(st.sampled_from(free), min_size=1, max_size=len(free) - 1, unique=True)
    )
    e = encode(table, "bic", context=context)
    single = e.grid.to_float(e.single)
    for v, g in zip(e.order, single, strict=True):
        assert float(g) == pytest.approx(entropy_sum(table, [*context, int(v)]), abs=1e-9)
    sets = list(itertools.combinations(range(e.n_variables), 2))
    if sets:
        G = e.count(np.array(sets, np.uint16))
        for members, g in zip(sets, e.grid.to_float(G), strict=True):
            whole = [*context, *(int(e.order[v]) for v in members)]
            assert float(g) == pytest.approx(entropy_sum(table, whole), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(tables(6))
def test_the_fast_path_of_theorem1_plus_is_the_general_one(table: Table) -> None:
    """``thm1p`` alone takes a kernel of its own; with an idle rule beside it, the general one."""
    from parentage.scoring.candidates import score

    fast = score(table, rules="thm1p", threads=1)
    # lemma3 is implied by thm1p, so the sets counted are the same; only the credit differs
    general = score(table, rules="lemma3,thm1p", threads=1)
    assert fast.known().tallies.sets_counted == general.known().tallies.sets_counted
    assert fast.known().tallies.families_scored == general.known().tallies.families_scored
    assert sum(fast.known().tallies.pruned.values()) == sum(general.known().tallies.pruned.values())
