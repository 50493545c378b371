"""Candidate lists in files, the detection of formats, and files that appear whole or not at all."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accounts import account, cut_account
from parentage.errors import DataWarning, InputError, ListsError, ParentageError
from parentage.files import atomic
from parentage.files.atomic import digest_of
from parentage.files.detect import Detected, detect
from parentage.files.parquet import holds_lists, read_facts, read_frame
from parentage.scoring.account import Completion, EmStep, Origin, Unknown
from parentage.scoring.constraints import Constraints, Prior
from parentage.scoring.formats import parquet, read_lists, write_lists
from parentage.scoring.formats.families import Contradiction, first_contradiction, rising
from parentage.scoring.formats.text import (
    decode_name,
    encode_name,
    is_whole,
    jkl_text,
    looks_like_score,
    pss_text,
    read_jkl,
    read_pss,
)
from parentage.scoring.lists import CandidateLists
from solving import learn_lists

if TYPE_CHECKING:
    from collections.abc import Iterator

    from real_data import RealData

AWKWARD = ["", " ", "a b", "100%", "%20", "#no", "7", "-1.5", "0", "nan", "é ü", "VAR", "\u2028"]
names = st.one_of(st.sampled_from(AWKWARD), st.text(max_size=6))
scores = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def candidate_lists(draw: st.DrawFn) -> CandidateLists:
    chosen = draw(st.lists(names, min_size=1, max_size=5, unique=True))
    families: dict[str, list[tuple[float, frozenset[str]]]] = {}
    for child in chosen:
        others = [name for name in chosen if name != child]
        possible = st.frozensets(st.sampled_from(others)) if others else st.just(frozenset[str]())
        sets = draw(st.lists(possible, max_size=5, unique=True))
        families[child] = [(draw(scores), parents) for parents in sets]
    notes = draw(st.dictionaries(st.text(max_size=4), st.text()))
    origins: list[Origin] = [Unknown(notes), account(), cut_account(len(families))]
    origin = draw(st.sampled_from(origins))
    return CandidateLists.from_families(families, origin)


def same(one: CandidateLists, other: CandidateLists) -> bool:
    return (
        one.names == other.names
        and one.account == other.account
        and [list(map(repr, one.candidates(v))) for v in range(len(one))]
        == [list(map(repr, other.candidates(v))) for v in range(len(other))]
    )


# --- round trips -------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["jkl", "scores", "jaa", "pss", "parquet"])
@given(lists=candidate_lists())
@settings(max_examples=25)
def test_writing_and_reading_lose_nothing(
    suffix: str, lists: CandidateLists, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("lists") / f"lists.{suffix}"
    write_lists(lists, path)
    assert same(read_lists(path), lists)
    elsewhere = path.with_suffix(".unknown")
    path.rename(elsewhere)
    assert same(read_lists(elsewhere), lists)


@pytest.mark.long
@pytest.mark.parametrize(("read", "text_of"), [(read_jkl, jkl_text), (read_pss, pss_text)])
@given(lists=candidate_lists())
@settings(max_examples=3000)
def test_text_round_trips_lose_nothing(read: Any, text_of: Any, lists: CandidateLists) -> None:
    assert same(read(text_of(lists)), lists)


@given(names)
def test_encoded_names_are_one_word_that_is_no_score_and_no_comment(name: str) -> None:
    written = encode_name(name)
    assert decode_name(written) == name
    assert written.split() == [written]
    assert not written.startswith("#")
    assert is_whole(written) or not looks_like_score(written)


def test_percent_signs_of_other_programs_stay() -> None:
    text = "2\na%20b 1\n-1 0\nc 1\n-2 1 a%20b\n"
    assert read_jkl(text).names == ("a%20b", "c")
    assert read_jkl("# a remark\n" + jkl_text(read_jkl(text))).names == ("a%20b", "c")
    assert read_pss("VAR a%20b\n-1\nVAR c\n-2 a%20b\n").names == ("a%20b", "c")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("suffix", ["jkl", "pss", "parquet"])
def test_scores_that_cannot_be_read_back_are_not_written(
    value: float, suffix: str, tmp_path: Path
) -> None:
    lists = CandidateLists.from_families({"a": [(value, [])]})
    with pytest.raises(ListsError, match="not finite"):
        write_lists(lists, tmp_path / f"lists.{suffix}")
    assert list(tmp_path.iterdir()) == []


def test_unknown_extensions_are_refused_with_the_known_ones(tmp_path: Path) -> None:
    lists = CandidateLists.from_families({"a": [(-1.0, [])]})
    with pytest.raises(InputError, match=r"use \.jkl, \.jaa, \.scores, \.pss or \.parquet"):
        write_lists(lists, tmp_path / "lists.xyz")


# --- .jkl --------------------------------------------------------------------------------------

GOOD = "# remark\n3\n\n2 1\n-1.5 0\n0 2\n-2.5 2 1 2\n# inside\n-3 0\n1 1\n-4.25 1 0\n"


def test_ids_in_any_order_with_comments_and_without_empty_sets() -> None:
    lists = read_jkl(GOOD)
    assert lists.names == ("0", "1", "2")
    assert lists["0"] == [(-2.5, ("1", "2")), (-3.0, ())]
    assert lists["1"] == [(-4.25, ("0",))]
    assert lists["2"] == [(-1.5, ())]


def test_names_keep_the_order_of_the_blocks() -> None:
    assert read_jkl("2\nb 1\n-1 1 a\na 1\n-2 0\n").names == ("b", "a")
    assert read_jkl("2\n2 1\n-1 1 1\n1 1\n-2 0\n").names == ("2", "1")


def test_trailing_whole_numbers_are_skipped_with_one_warning() -> None:
    with pytest.warns(DataWarning, match=r"2 lines .* line 12: '1 4'") as caught:
        lists = read_jkl(GOOD + "1 4\n\n7 0 3\n")
    assert len(caught) == 1
    assert same(lists, read_jkl(GOOD))


REFUSED = {
    "empty": ("# only a remark\n", "is empty"),
    "no size": ("a b\n", "line 1: 'a b' is not a number of variables"),
    "no variables": ("0\n", "line 1: '0' is not a number of variables"),
    "too many variables": (GOOD.replace("3", "4", 1), "line 2 announces 4 variables, but only 3"),
    "too few variables": (
        GOOD.replace("3\n", "2\n", 1),
        r"line 11: '-4.25 1 0' comes after the last block.*\(2, line 2\)",
    ),
    "too many sets announced": (GOOD.replace("0 2", "0 3"), "line 10: '1 1' is not a parent set"),
    "too many sets at the end": (GOOD.replace("1 1\n", "1 2\n"), "announces 2 parent sets, but 1"),
    "too few sets announced": (GOOD.replace("0 2", "0 1"), "line 9: '-3 0' does not start a block"),
    "too few at the end": (GOOD.replace("1 1\n", "1 0\n"), "line 11: '-4.25 1 0' comes after"),
    "too few parents": (GOOD.replace("2 1 2", "2 1"), "line 7: '-2.5 2 1' is not a parent set"),
    "too many parents": (
        GOOD.replace("2 1 2", "1 1 2"),
        "line 7: '-2.5 1 1 2' is not a parent set",
    ),
    "unknown parent": (
        GOOD.replace("2 1 2", "2 1 9"),
        "line 7: '0' has the parent '9'.*not a variable",
    ),
    "own parent": (GOOD.replace("2 1 2", "2 0 2"), "line 7: '0' is its own parent"),
    "parent twice": (GOOD.replace("2 1 2", "2 1 1"), "line 7: a parent of '0' is named twice"),
    "child twice": (
        GOOD.replace("1 1\n", "0 1\n"),
        "line 10: the variable '0' has a block already",
    ),
    "repeated set": (
        GOOD.replace("0 2", "0 3").replace("-3 0", "-3 0\n-2 2 2 1"),
        r"line 10: the parent set \{2, 1\} of '0' is already in line 7",
    ),
    "repeated empty set": (GOOD.replace("2 1\n-1.5 0", "2 2\n-1.5 0\n-1 0"), "is already"),
    "nan": (GOOD.replace("-4.25", "nan"), "line 11: the score is nan"),
    "infinite": (GOOD.replace("-4.25", "-inf"), "line 11: the score is -inf"),
    "no score": (GOOD.replace("-4.25", "x"), "line 11: the score 'x' is not a number"),
    "trailing text": (GOOD + "hello\n", "line 12: 'hello' comes after the last block"),
    "trailing set": (GOOD + "-1 0\n", "line 12: '-1 0' comes after the last block"),
    "huge counts": ("9" * 5000 + "\n0 1\n", "is not a number of variables"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_contradictions_are_refused_with_their_line(case: str) -> None:
    text, message = REFUSED[case]
    with pytest.raises(ListsError, match=message):
        read_jkl(text)


@pytest.mark.long
@pytest.mark.no_cover
def test_every_instance_reads(shared: Path) -> None:
    paths = sorted((shared / "data/instances").iterdir())
    assert len(paths) >= 47
    for path in paths:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            assert detect(path) == Detected("lists", "jkl")
            lists = read_lists(path)
        lines = [
            line.split() for line in path.read_text().splitlines() if line[:1] not in ("#", "")
        ]
        n_variables, at, sets = int(lines[0][0]), 1, 0
        for _ in range(n_variables):
            sets += int(lines[at][1])
            at += int(lines[at][1]) + 1
        assert (lists.n_variables, lists.n_sets) == (n_variables, sets), path.name


def test_an_instance_is_read_to_the_digit(shared: Path, real: RealData) -> None:
    lists = real.instance("slim_survey-5000.jkl")
    lines = (shared / "data/instances/slim_survey-5000.jkl").read_text().split("\n")
    lines = [line for line in lines if line and not line.startswith("#")]
    at = 1
    for _ in range(lists.n_variables):
        child, count = lines[at].split()
        expected = {
            (float(fields[0]), tuple(sorted(fields[2:], key=int)))
            for fields in (line.split() for line in lines[at + 1 : at + 1 + int(count)])
        }
        assert {(score, parents) for score, parents in lists[child]} == expected
        at += 1 + int(count)


@pytest.mark.long
@pytest.mark.no_cover
def test_large_instances_read_and_write_fast(shared: Path, tmp_path: Path) -> None:
    started = time.process_time()
    lists = read_lists(shared / "data/instances/mobs_steel_BIC.txt")
    write_lists(lists, tmp_path / "steel.jkl")
    assert time.process_time() - started < 5  # about 1 s
    for suffix in ("parquet", "pss"):
        write_lists(lists, tmp_path / f"steel.{suffix}")
        again = read_lists(tmp_path / f"steel.{suffix}")
        assert np.array_equal(again.scores, lists.scores)
        assert np.array_equal(again.parents, lists.parents)


# --- .pss and Parquet --------------------------------------------------------------------------


def test_pss_of_other_programs() -> None:
    text = (
        "META pss_version = 0.1\nMETA score_type=bic\n\nVAR a\nMETA arity=2\nMETA values=no yes \n"
        "-1.500000 \n-0.5 b \n\n# remark\nvar b\n-2 \n"
    )
    lists = read_pss(text)
    assert lists["a"] == [(-0.5, ("b",)), (-1.5, ())]
    assert lists.account == Unknown({"pss_version": "0.1", "score_type": "bic"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("META x=1\n", "no VAR line"),
        ("META x\nVAR a\n", "line 1: 'META x' should be META key=value"),
        ("META x=1\n-1\n", "line 2: '-1' comes before the first VAR"),
        ("VAR a b\n", "line 1: VAR needs one name"),
        ("VAR a\n-1\nVAR a\n", "line 3: the variable 'a' has a block already"),
        ("VAR a\n-1 b\n", "line 2: 'a' has the parent 'b', which is not a variable"),
        ("VAR a\nnan\n", "line 2: the score is nan"),
        ("VAR a\n-1\n-1\n", "line 3: the parent set .* is already in line 2"),
        ("VAR a\nhello\n", "line 2: the score 'hello' is not a number"),
    ],
)
def test_pss_contradictions_are_refused_with_their_line(text: str, message: str) -> None:
    with pytest.raises(ListsError, match=message):
        read_pss(text)


def _parquet(columns: dict[str, Any], metadata: dict[str, str] | None = None) -> bytes:
    stored = io.BytesIO()
    pl.DataFrame(columns).write_parquet(stored, metadata=metadata)
    return stored.getvalue()


def naive_contradiction(child: list[int], sets: list[list[int]]) -> Contradiction | None:
    seen: dict[tuple[int, ...], int] = {}
    for i, (own, members) in enumerate(zip(child, sets, strict=True)):
        if -1 in members:
            return (i, "unknown", -1)
        if own in members:
            return (i, "own", -1)
        if len(set(members)) < len(members):
            return (i, "twice", -1)
        first = seen.setdefault((own, *sorted(members)), i)
        if first != i:
            return (i, "repeated", first)
    return None


def test_the_first_contradiction_is_found() -> None:
    found: dict[str | None, int] = {}
    for seed in range(600):
        rng = np.random.default_rng(seed)
        n, count = int(rng.integers(2, 9)), int(rng.integers(1, 12))
        child = rng.integers(0, n, count)
        worst = -1 if rng.random() < 0.2 else 0
        sets = [rng.integers(worst, n, rng.integers(0, 4)).tolist() for _ in child]
        if rng.random() < 0.7:  # most have nothing but what stands there twice
            sets = [sorted(set(s) - {-1, own}) for s, own in zip(sets, child.tolist(), strict=True)]
        starts = np.concatenate([[0], np.cumsum([len(s) for s in sets])]).astype(np.int64)
        members = rising(np.array([p for s in sets for p in s], np.int64), starts, n)
        wrong = first_contradiction(child, starts, members)
        assert wrong == naive_contradiction(child.tolist(), sets)
        kind = None if wrong is None else wrong[1]
        found[kind] = found.get(kind, 0) + 1
    assert set(found) == {None, "unknown", "own", "twice", "repeated"}
    assert min(found.values()) > 10


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"parents": [["b"], None, []]}, "row 1: child, parents and score must all be there"),
        ({"parents": [[], ["b", None], None]}, "row 1: child, parents and score must all be"),
        ({"child": ["a", "b", None]}, "row 2: child, parents and score must all be there"),
        ({"score": [None, -1.0, None]}, "row 0: child, parents and score must all be there"),
        ({"score": [-1.0, math.inf, math.nan]}, "row 1: the score is inf"),
        ({"score": [-1.0, -2.0, math.nan]}, "row 2: the score is nan"),
        ({"parents": [["a"], ["b"], ["c"]]}, "row 0: 'a' is its own parent"),
        ({"parents": [["b", "b"], [], ["c"]]}, "row 0: a parent of 'a' is named twice"),
        ({"parents": [["b"], [], ["c"]]}, "row 2: 'b' has the parent 'c', which is not"),
    ],
)
def test_rows_of_parquet_lists_are_refused_with_their_number(
    columns: dict[str, Any], message: str
) -> None:
    rows: dict[str, Any] = {
        "child": ["a", "b", "b"], "parents": [["b"], [], ["a"]], "score": [-1.0, -2.0, -1.0],
    }  # fmt: skip
    assert parquet.read_parquet(_parquet(rows)).n_sets == 3
    with pytest.raises(ListsError, match=message):
        parquet.read_parquet(_parquet({**rows, **columns}))


def test_names_that_are_no_text_in_the_facts_of_parquet_are_a_message() -> None:
    rows = {"child": ["a", "b"], "parents": [["b"], []], "score": [-1.0, -2.0]}
    facts = {"names": ["a", "b", "\ud800"], "account": "unknown", "digest": ""}
    with pytest.raises(ListsError, match="digest"):
        parquet.read_parquet(_parquet(rows, {"parentage": json.dumps(facts)}))


def test_parquet_lists_of_others_and_damaged_ones() -> None:
    data = _parquet({"score": [-1.0, -2.0], "child": ["b", "a"], "parents": [["a"], []]})
    lists = parquet.read_parquet(data)
    assert lists.names == ("b", "a")
    assert lists["b"] == [(-1.0, ("a",))]
    rows: dict[str, Any] = {"child": ["a", "a"], "parents": [["b"], ["b"]], "score": [-1.0, -2.0]}
    with pytest.raises(ListsError, match="row 0: 'a' has the parent 'b'"):
        parquet.read_parquet(_parquet(rows))
    with pytest.raises(ListsError, match="row 1: the parent set"):
        facts = {"names": ["a", "b"], "account": "unknown", "digest": ""}
        parquet.read_parquet(_parquet(rows, {"parentage": json.dumps(facts)}))
    for damaged in ('{"names": 3, "digest": ""}', "[]", "{"):
        with pytest.raises(ListsError, match="damaged"):
            parquet.read_parquet(_parquet(rows, {"parentage": damaged}))
    with pytest.raises(ListsError, match="must all be there"):
        parquet.read_parquet(_parquet({**rows, "score": [None, 1.0]}))
    with pytest.raises(ListsError, match="no rows"):
        parquet.read_parquet(_parquet({**pl.DataFrame(rows).clear().to_dict()}))
    with pytest.raises(ListsError, match="has the columns a, b"):
        parquet.read_parquet(_parquet({"a": [1], "b": [2]}))


# --- the facts and their digest ----------------------------------------------------------------


def stated_lists() -> CandidateLists:
    """Lists with an account that states something everywhere."""
    stated = account(
        max_parents={"a": 1, "b": None},
        width=1.5,
        log_base=2.0,
        complete_to=1,
        ended="time",
        beyond=(-0.5, None),
        constraints=Constraints(forbidden=frozenset({("b", "a")}), max_parents={"a": 1}),
        prior=Prior(0.2, {("a", "b"): 0.9}),
        completion=Completion((EmStep(1, 1, -3.0, -4.0, -4.0, True),), True, 10, 7),
        missing_cells=(1, 2),
        explored=3,
    )
    none: list[str] = []
    families = {"a": [(-2.5, ["b"]), (-3.0, none)], "b": [(-1.0, none)]}
    return CandidateLists.from_families(families, stated)


def written_facts(kind: str, path: Path) -> dict[str, Any]:
    """The facts in a file."""
    if kind == "parquet":
        text = pl.read_parquet_metadata(path)["parentage"]
    else:
        mark = {"jkl": "# facts ", "pss": "META parentage="}[kind]
        text = next(line for line in path.read_text().split("\n") if line.startswith(mark))
        text = text.removeprefix(mark)
    facts: dict[str, Any] = json.loads(text)
    return facts


def with_facts(kind: str, path: Path, facts: dict[str, Any]) -> bytes:
    """The same file with other facts."""
    text = json.dumps(facts, separators=(",", ":"))
    if kind == "parquet":
        return _parquet(pl.read_parquet(path).to_dict(as_series=False), {"parentage": text})
    mark = {"jkl": "# facts ", "pss": "META parentage="}[kind]
    lines = path.read_text().split("\n")
    return "\n".join(mark + text if line.startswith(mark) else line for line in lines).encode()


def changed_somewhere(value: Any) -> Iterator[Any]:
    """Every way to change one thing in plain values, or to leave one out."""
    if isinstance(value, dict):
        for key in value:
            yield {k: v for k, v in value.items() if k != key}
            for other in changed_somewhere(value[key]):
                yield {**value, key: other}
    elif isinstance(value, list):
        for i in range(len(value)):
            yield value[:i] + value[i + 1 :]
            for other in changed_somewhere(value[i]):
                yield [*value[:i], other, *value[i + 1 :]]
    else:
        yield from (other for other in (None, 0, 2, "x") if other != value)


@pytest.mark.parametrize("kind", ["jkl", "pss", "parquet"])
def test_no_fact_of_lists_can_be_changed_by_hand(kind: str, tmp_path: Path) -> None:
    lists, path = stated_lists(), tmp_path / f"lists.{kind}"
    write_lists(lists, path)
    facts = written_facts(kind, path)
    assert same(read_lists(with_facts(kind, path, facts)), lists)
    changes = 0
    for other in changed_somewhere(facts["account"]):
        changes += 1
        with pytest.raises(ListsError, match=r"the digest differs|the account .* is damaged"):
            read_lists(with_facts(kind, path, {**facts, "account": other}))
    assert changes > 100
    for other in ({**facts, "digest": "x"}, {**facts, "note": "true"}):
        with pytest.raises(ListsError, match="the digest differs"):
            read_lists(with_facts(kind, path, other))


@pytest.mark.parametrize("kind", ["jkl", "pss", "parquet"])
@pytest.mark.parametrize("change", [{}, {"max_parents": None, "complete_to": None, "beyond": []}])
def test_without_a_digest_over_the_account_lists_are_those_of_another_program(
    kind: str, change: dict[str, Any], tmp_path: Path
) -> None:
    """As in files of releases before 0.3, whose digest covers the sets alone."""
    lists, path = stated_lists(), tmp_path / f"lists.{kind}"
    write_lists(lists, path)
    facts = written_facts(kind, path)
    facts["account"] |= change
    del facts["digest"]
    for older in (facts, {**facts, "digest": lists.digest}):
        with pytest.warns(DataWarning, match="an account without a digest") as warned:
            found = read_lists(with_facts(kind, path, older))
        assert len(warned) == 1
        assert found.account == Unknown()
        assert found.digest == lists.digest
        solution = learn_lists(found)
        assert solution.optimal
        assert solution.scope.words() == " among the networks that these lists allow"


@pytest.mark.parametrize("kind", ["jkl", "pss", "parquet"])
def test_older_files_of_other_programs_lists_are_read_without_a_word(
    kind: str, tmp_path: Path
) -> None:
    lists = CandidateLists.from_families({"a": [(-1.0, [])]}, Unknown({"score_type": "BIC"}))
    path = tmp_path / f"lists.{kind}"
    write_lists(lists, path)
    facts = written_facts(kind, path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert same(read_lists(with_facts(kind, path, {**facts, "digest": lists.digest})), lists)
    with pytest.raises(ListsError, match="the digest differs"):
        read_lists(with_facts(kind, path, {**facts, "account": account().to_dict()}))


def test_the_digest_of_facts_is_the_documented_one(tmp_path: Path) -> None:
    lists = CandidateLists.from_families({"ü": [(-1.0, [])]}, Unknown({"score": "BIC"}))
    write_lists(lists, tmp_path / "lists.jkl")
    text = f'{{"account":"unknown","lists":"{lists.digest}","notes":{{"score":"BIC"}}}}'
    digest = hashlib.sha256(f"parentage facts 1\n{text}".encode()).hexdigest()
    assert written_facts("jkl", tmp_path / "lists.jkl")["digest"] == f"sha256:{digest}"


def test_facts_nested_beyond_reason_are_a_message() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InputError, match="nested too deeply"):
        digest_of("facts 1", deep)


# --- detection ---------------------------------------------------------------------------------

CONTENT = {
    "csv": b"a,b\n0,1\n1,0\n",
    "tsv": b"a\tb\n0\t1\n1\t0\n",
    "arff": b"% c\n@relation r\n@attribute a {0,1}\n@attribute b {0,1}\n@data\n0,1\n1,0\n",
    "dat": b"a b\n2 2\n0 1\n1 0\n",
    "parquet": _parquet({"a": [0, 1], "b": [1, 0]}),
    "jkl": b"# c\n2\na 1\n-1 0\nb 1\n-1 0\n",
    "pss": b"META x = 1\nVAR a\n-1\nVAR b\n-2\n",
    "lists.parquet": _parquet({"child": ["a", "b"], "parents": [["b"], []], "score": [-1.0, -2.0]}),
}
FOUND = {
    "csv": Detected("table", "csv"),
    "tsv": Detected("table", "csv"),
    "arff": Detected("table", "arff"),
    "dat": Detected("table", "dat"),
    "parquet": Detected("table", "parquet"),
    "jkl": Detected("lists", "jkl"),
    "pss": Detected("lists", "pss"),
    "lists.parquet": Detected("lists", "parquet"),
}


@pytest.mark.parametrize("kind", CONTENT)
@pytest.mark.parametrize("suffix", ["", ".csv", ".jkl", ".pss", ".dat", ".arff", ".parquet"])
def test_content_decides_not_the_extension(kind: str, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"file{suffix}"
    path.write_bytes(CONTENT[kind])
    assert detect(path) == FOUND[kind]


def test_the_extension_decides_only_what_the_content_leaves_open(tmp_path: Path) -> None:
    for suffix, expected in ((".jkl", "jkl"), (".pss", "pss"), (".txt", "csv")):
        path = tmp_path / f"damaged{suffix}"
        path.write_text("damaged\nfile\n")
        assert detect(path).format == expected


def test_format_overrides_the_content() -> None:
    assert detect(CONTENT["csv"], "jkl") == Detected("lists", "jkl")
    assert detect(CONTENT["jkl"], ".CSV") == Detected("table", "csv")
    assert detect(CONTENT["jkl"], "scores") == Detected("lists", "jkl")
    with pytest.raises(InputError, match="format='docx' is not a format; known: csv, tsv"):
        detect(CONTENT["csv"], "docx")
    with pytest.raises(InputError, match="is empty"):
        detect(b"", "parquet")
    with pytest.raises(InputError, match="is empty"):
        detect(b"\n")


def test_a_table_is_no_list() -> None:
    with pytest.raises(ListsError, match=r"holds a table \(csv\).*`score` makes lists"):
        read_lists(CONTENT["csv"])


# --- fuzzing -----------------------------------------------------------------------------------


def assert_lists_or_message(data: bytes, kind: str | None = None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        try:
            lists = read_lists(data, kind)
        except ParentageError as error:
            assert str(error)
        else:
            assert isinstance(lists, CandidateLists)
            assert np.isfinite(lists.scores).all()


@given(st.binary(max_size=200), st.sampled_from([None, "jkl", "pss", "parquet"]))
def test_any_bytes_give_lists_or_a_message(data: bytes, kind: str | None) -> None:
    assert_lists_or_message(data, kind)


tokens = st.sampled_from(
    ["0", "1", "2", "3", "a", "b", "-1.5", "-2", "nan", "inf", "#", "VAR", "META", "x=1", "%", ","]
)


@given(st.lists(st.lists(tokens, max_size=4), max_size=12), st.sampled_from(["jkl", "pss", None]))
def test_any_lines_give_lists_or_a_message(lines: list[list[str]], kind: str | None) -> None:
    assert_lists_or_message("\n".join(" ".join(line) for line in lines).encode(), kind)


@given(candidate_lists(), st.integers(0, 10_000), st.sampled_from([b"", b" ", b"\n", b"9", b"-"]))
def test_damaged_files_give_lists_or_a_message(
    lists: CandidateLists, position: int, patch: bytes
) -> None:
    for kind, text_of in {"jkl": jkl_text, "pss": pss_text}.items():
        data = text_of(lists).encode()
        at = position % len(data)
        assert_lists_or_message(data[:at] + patch + data[at + 1 :], kind)


def test_parquet_frames_and_facts_are_what_was_written() -> None:
    frame = pl.DataFrame(
        {
            "text": ["a", None, "ü"],
            "share": [0.5, None, float("nan")],
            "list": [["x"], [], ["y", "z"]],
            "kind": pl.Series(["u", "v", "u"], dtype=pl.Categorical),
            "sure": [True, False, None],
        }
    )
    stored = io.BytesIO()
    frame.write_parquet(stored, metadata={"parentage": "facts"})
    data = stored.getvalue()
    assert read_frame(data).equals(frame)
    assert read_facts(data, "parentage") == "facts"
    assert read_facts(data, "nothing") is None
    assert not holds_lists(data)


def test_truncated_parquet_gives_a_message() -> None:
    data = CONTENT["lists.parquet"]
    for length in range(4, len(data), 7):
        with pytest.raises(InputError, match="the Parquet file cannot be read"):
            read_lists(data[:length])


# --- files that appear whole or not at all -----------------------------------------------------


def test_a_file_appears_only_when_it_is_complete(tmp_path: Path) -> None:
    target = tmp_path / "lists.jkl"
    with atomic.replacing(target) as draft:
        draft.write_text("new")
        assert not target.exists()
        assert draft.parent == target.parent
    assert target.read_text() == "new"
    assert [entry.name for entry in tmp_path.iterdir()] == ["lists.jkl"]


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, RuntimeError, SystemExit])
def test_nothing_is_left_behind(interruption: type[BaseException], tmp_path: Path) -> None:
    target = tmp_path / "lists.jkl"
    target.write_text("old")
    with pytest.raises(interruption), atomic.replacing(target) as draft:
        draft.write_text("half")
        raise interruption
    assert [entry.name for entry in tmp_path.iterdir()] == ["lists.jkl"]
    assert target.read_text() == "old"


def test_ctrl_c_while_lists_are_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists = CandidateLists.from_families({"a": [(-1.0, [])]})
    written: list[Path] = []

    def interrupted(self: Path, *_args: Any, **_options: Any) -> int:
        self.write_bytes(b"half a file")
        written.append(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_text", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_lists(lists, tmp_path / "lists.jkl")
    assert len(written) == 1
    assert list(tmp_path.iterdir()) == []


def test_new_files_have_the_usual_permissions_and_links_stay(tmp_path: Path) -> None:
    plain, atomically = tmp_path / "plain", tmp_path / "atomic"
    plain.write_text("x")
    atomic.write_text(atomically, "x")
    assert plain.stat().st_mode == atomically.stat().st_mode
    link = tmp_path / "link"
    link.symlink_to(plain)
    atomic.write_text(link, "through the link")
    assert link.is_symlink()
    assert plain.read_text() == "through the link"


def test_places_that_cannot_be_written_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder"):
        atomic.write_text(tmp_path, "x")
    with pytest.raises(InputError, match="there is no folder"):
        atomic.write_text(tmp_path / "nowhere" / "file", "x")
    with pytest.raises(InputError, match="cannot write"):
        atomic.write_text(tmp_path / ("x" * 300), "x")
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_regular_file_is_written_to_directly() -> None:
    atomic.write_text(os.devnull, "x")
    assert not Path(os.devnull).is_file()
