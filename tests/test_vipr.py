"""Certificates as VIPR files: accepted by a checker that knows nothing of networks, and true.

Where ``viprchk``, the checker of the format's authors, is on the path, it is asked as well, and
has to say the same about every file here, forged ones included.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from certificates import all_clusters, document, random_local
from naive_network import best_network, random_constraints, random_lists, varied_lists
from parentage.check import ProofError, check
from parentage.check.document import parse_document
from parentage.check.families import allowed_sets, make_families, whole_scores
from parentage.errors import ConstraintError, ListsError
from parentage.scoring.lists import CandidateLists
from parentage.vipr import Size, is_vipr, write_vipr
from parentage.vipr.model import Lines, Model, Row
from solving import learn_lists
from strategies import each
from test_check import DECIMAL, certificate, small_case
from test_forest import one_parent_lists
from test_proofs import TACTICS, forced
from vipr_checker import RefusedError, Stated, check_vipr, problem_faults, read_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from real_data import RealData

SIZES = (0.2, 0.2, 0.2, 0.15, 0.15, 0.05, 0.05)
"""How often lists have 4 to 10 variables."""

VIPRCHK = shutil.which("viprchk")

ACCEPTED = (
    "slim_survey-5000.jkl",
    "water1000_BIC",
    "alarm_BIC",
)
"""Instances whose files both checkers read in a moment."""


def accepted(path: Path) -> Stated:
    """Both checkers accept a file."""
    stated = check_vipr(path)
    assert viprchk_accepts(path) is not False
    return stated


def viprchk_accepts(path: Path) -> bool | None:
    """What ``viprchk`` says of a file; None if it is not here."""
    if VIPRCHK is None:
        return None
    done = subprocess.run([VIPRCHK, str(path)], capture_output=True, text=True, check=False)
    return done.returncode == 0 and "Successfully verified" in done.stdout


def refused(text: str, path: Path) -> bool:
    """Neither checker accepts a file."""
    path.write_text(text, encoding="ascii")
    try:
        check_vipr(text)
    except RefusedError:
        return viprchk_accepts(path) is not True
    return False


def assert_translated(
    lists: CandidateLists, content: Mapping[str, Any], path: Path, best: float | None = None
) -> Stated:
    """The file is accepted, states the problem of the lists, and bounds it as the certificate."""
    forecast: list[Size] = []
    size = write_vipr(lists, content, path, announce=forecast.append)
    stated = accepted(path)
    parsed = parse_document(content, lists.n_variables, lists.n_sets)
    allowed = allowed_sets(lists, parsed.constraints)
    families = make_families(lists, allowed, whole_scores(lists.scores, parsed.unit)[0])
    costs = dict(enumerate(families.cost.tolist()))
    kept = np.flatnonzero(allowed).tolist()
    assert problem_faults(stated, lists, costs, kept) == []
    claimed = sum(costs[i] for i in parsed.chosen)
    assert (stated.lower, stated.upper) == (claimed - parsed.tolerance, claimed)
    assert stated.derivations == size.derivations == forecast[0].derivations
    assert size.bytes == len(read_text(path))
    assert 0.5 < forecast[0].bytes / size.bytes < 2
    if best is not None:  # brute force says the same
        tops = [lists.scores[lists.offsets[v] : lists.offsets[v + 1]][kept_of(allowed, lists, v)]
                for v in range(lists.n_variables)]  # fmt: skip
        cost = sum(float(own.max()) for own in tops) - best
        assert stated.lower is not None
        assert float(stated.lower) <= cost * unit_factor(content) + 1e-3 * (1 + abs(cost))
    return stated


def kept_of(allowed: Any, lists: CandidateLists, v: int) -> Any:
    """Which sets of a variable are allowed."""
    return allowed[lists.offsets[v] : lists.offsets[v + 1]]


def unit_factor(content: Mapping[str, Any]) -> float:
    """Units that make one."""
    ((kind, digits),) = content["unit"].items()
    return float((10.0 if kind == "decimals" else 2.0) ** digits)


def assert_learned(seed: int, path: Path) -> None:
    """Lists of four to ten variables: solved in a random way, certified, translated, checked."""
    rng = np.random.default_rng([seed, 11])
    lists = varied_lists(rng, int(rng.choice([4, 5, 6, 7, 8, 9, 10], p=SIZES)))
    rules = random_constraints(rng, lists) if seed % 4 == 0 else None
    with forced() as solver:
        if seed % 3:
            solver.at_random(rng)
        else:
            solver.use(**TACTICS[-1])
        engine = "branch-and-cut" if rng.random() < 0.8 else "subsets"
        try:
            solution = learn_lists(lists, engine=engine, constraints=rules)
        except (ListsError, ConstraintError):
            return
    assert solution.certificate is not None
    truth = best_network(lists) if rules is None else None
    content = solution.certificate.document
    stated = assert_translated(lists, content, path, None if truth is None else truth[0])
    if truth is not None:
        assert solution.score == pytest.approx(truth[0], abs=1e-5, rel=1e-12)
    assert stated.upper is not None


@each("seed", 15)
def test_random_lists(seed: int, tmp_path: Path) -> None:
    assert_learned(seed, tmp_path / "proof.vipr")


@pytest.mark.long
@pytest.mark.parametrize("block", range(40))
@each("seed", 50)
def test_random_lists_by_the_thousand(seed: int, block: int, tmp_path: Path) -> None:
    assert_learned(1000 + 50 * block + seed, tmp_path / "proof.vipr")


@each("seed", 40)
def test_cuts_of_all_kinds(seed: int, tmp_path: Path) -> None:
    """Clusters with every k, local cuts through others; branches, ancestors and dominance."""
    lists, content = certificate(seed)
    assert check(lists, content)
    assert_translated(lists, content, tmp_path / "proof.vipr")


@pytest.mark.long
@pytest.mark.parametrize("block", range(20))
@each("seed", 50)
def test_cuts_of_all_kinds_by_the_thousand(seed: int, block: int, tmp_path: Path) -> None:
    lists, content = certificate(1000 + 50 * block + seed)
    assert check(lists, content)
    assert_translated(lists, content, tmp_path / "proof.vipr")


@each("seed", 30)
def test_every_cut_follows_from_the_model(seed: int, tmp_path: Path) -> None:
    """Each cut alone, for all sets and for some of them."""
    from parentage.check.nodes import checked_row
    from parentage.vipr.cuts import derive_cut

    lists, _, rng = small_case(seed)
    cuts = [*all_clusters(lists.n_variables, 6), *(random_local(rng, lists) for _ in range(4))]
    content = document(lists, [0] * lists.n_variables, unit=DECIMAL, cuts=cuts, nodes=[{}])
    parsed = parse_document(content, lists.n_variables, lists.n_sets)
    families = make_families(
        lists, np.ones(lists.n_sets, np.bool_), whole_scores(lists.scores, parsed.unit)[0]
    )
    for cut in parsed.cuts:
        some = {i for i in range(lists.n_sets) if rng.random() < 0.7}
        for sets in (set(range(lists.n_sets)), some):
            lines = Lines(Model(families))
            found = derive_cut(lines, cut, sets)
            wanted = checked_row(families, cut)
            weights = {
                i: w
                for i, w in zip(wanted.sets.tolist(), wanted.weight.tolist(), strict=True)
                if w and i in sets
            }
            if found is None:
                assert not weights
            else:
                assert lines.row(found) == Row(weights, -1, wanted.right)


@each("seed", 8)
def test_forests(seed: int, tmp_path: Path) -> None:
    lists = one_parent_lists(np.random.default_rng(seed), 10, ties=seed % 2 == 0)
    solution = learn_lists(lists, engine="branch-and-cut")
    assert solution.engine == "forest"
    assert solution.certificate is not None
    assert_translated(lists, solution.certificate.document, tmp_path / "proof.vipr")


def test_nothing_to_prove(tmp_path: Path) -> None:
    """The best sets are a network, or there is only one."""
    lists = CandidateLists.from_families({"a": [(-1.0, [])], "b": [(-1.0, ["a"]), (-2.0, [])]})
    solution = learn_lists(lists)
    assert solution.certificate is not None
    assert_translated(lists, solution.certificate.document, tmp_path / "proof.vipr")
    single = CandidateLists.from_families({"a": [(-1.0, [])]})
    solution = learn_lists(single)
    assert solution.certificate is not None
    assert_translated(single, solution.certificate.document, tmp_path / "proof.vipr")


def test_a_packed_file_is_the_same(tmp_path: Path) -> None:
    lists, content = certificate(3)
    write_vipr(lists, content, tmp_path / "a.vipr")
    write_vipr(lists, content, tmp_path / "a.vipr.gz")
    assert read_text(tmp_path / "a.vipr.gz") == read_text(tmp_path / "a.vipr")
    assert (tmp_path / "a.vipr.gz").stat().st_size < (tmp_path / "a.vipr").stat().st_size
    assert is_vipr(tmp_path / "a.vipr.gz")


def test_certificates_that_do_not_hold_are_not_translated(tmp_path: Path) -> None:
    lists, content = certificate(3)
    other, _ = certificate(4)
    target = tmp_path / "proof.vipr"
    claim = {**content["claim"], "tolerance": -1}
    for broken, given in (
        ({**content, "nodes": [{}]}, lists),
        ({**content, "cuts": []}, lists),
        ({**content, "claim": claim}, lists),
        (content, other),
    ):
        with pytest.raises(ProofError):
            write_vipr(given, broken, target)
        assert not target.exists()


def test_dynamic_programming_over_many_variables_is_not_translated(tmp_path: Path) -> None:
    lists = random_lists(np.random.default_rng(1), 13)
    solution = learn_lists(lists, engine="subsets")
    assert solution.certificate is not None
    with pytest.raises(ProofError, match=r"13 variables by dynamic programming.*at most 12$"):
        write_vipr(lists, solution.certificate.document, tmp_path / "proof.vipr")


@pytest.mark.parametrize("name", ACCEPTED)
def test_instances(real: RealData, name: str, tmp_path: Path) -> None:
    lists = real.instance(name)
    solution = learn_lists(lists, engine="branch-and-cut")
    assert solution.certificate is not None
    assert_translated(lists, solution.certificate.document, tmp_path / "proof.vipr")


# Forgeries


class Forgery:
    """A file taken apart: what comes before the derivations, and these line by line."""

    def __init__(self, text: str, rng: random.Random) -> None:
        self.rng = rng
        lines = text.rstrip("\n").split("\n")
        at = next(k for k, line in enumerate(lines) if line.startswith("DER "))
        self.head, self.lines = lines[:at], lines[at + 1 :]

    def text(self, count: int | None = None) -> str:
        """The file put together again."""
        number = len(self.lines) if count is None else count
        return "\n".join([*self.head, f"DER {number}", *self.lines]) + "\n"

    @property
    def first(self) -> int:
        """The index of the first derivation."""
        return int(self.find("CON ").split()[1])

    def find(self, start: str) -> str:
        """The line of the head that begins so."""
        return next(line for line in self.head if line.startswith(start))

    def replace(self, old: str, new: str) -> None:
        """Replace a line of the head."""
        self.head[self.head.index(old)] = new

    def some(self, kind: str, wanted: Callable[[str], bool] = lambda _: True) -> int:
        """A derivation of a kind."""
        found = [k for k, line in enumerate(self.lines) if f"{{ {kind}" in line and wanted(line)]
        return self.rng.choice(found)

    def row(self, start: str, wanted: Callable[[list[str]], bool]) -> tuple[str, list[str]]:
        """A constraint of the model and its words."""
        found = [line for line in self.head if line.startswith(start) and wanted(line.split(" "))]
        line = self.rng.choice(found)
        return line, line.split(" ")


def split(line: str) -> tuple[list[str], list[str], str]:
    """A derivation as the words of its row, of its reason, and its last word."""
    row, rest = line.split(" { ")
    reason, last = rest.split(" } ")
    return row.split(" "), reason.split(" "), last


def joined(row: list[str], reason: list[str], last: str) -> str:
    return f"{' '.join(row)} {{ {' '.join(reason)} }} {last}"


def has_terms(line: str) -> bool:
    return len(split(line)[1]) > 3


def counted(line: str) -> bool:
    """Whether a line has coefficients of its own."""
    return len(split(line)[0]) > 4


def changed(forgery: Forgery, kind: str, change: Callable[..., Any], wanted: Any = counted) -> str:
    """A file with one derivation changed in place."""
    k = forgery.some(kind, wanted)
    row, reason, last = split(forgery.lines[k])
    answer = change(row, reason)
    forgery.lines[k] = joined(row, reason, last if answer is None else answer)
    return forgery.text()


def set_word(words: list[str], at: int, word: str) -> None:
    words[at] = word


def add_to(words: list[str], at: int, more: int) -> None:
    words[at] = str(int(words[at]) + more)


def tighter(row: list[str], _: list[str]) -> None:
    add_to(row, 2, 1 if row[1] == "G" else -1)


def claim_more(f: Forgery) -> str:
    _, kind, low, high = f.find("RTP").split(" ")
    f.replace(f.find("RTP"), f"RTP {kind} {int(low) + 1} {int(high) + 1}")
    return f.text()


def claim_more_at_the_end(f: Forgery) -> str:
    row, reason, last = split(f.lines[-1])
    add_to(row, 2, 1)
    f.lines[-1] = joined(row, reason, last)
    return claim_more(f)


def claim_less_cost(f: Forgery) -> str:
    _, kind, low, high = f.find("RTP").split(" ")
    f.replace(f.find("RTP"), f"RTP {kind} {int(low) - 1} {int(high) - 1}")
    return f.text()


def claim_infeasible(f: Forgery) -> str:
    f.replace(f.find("RTP"), "RTP infeas")
    return f.text()


def scale_multiplier(f: Forgery) -> str:
    def change(_: list[str], reason: list[str]) -> None:
        over, bar, under = reason[3].partition("/")
        set_word(reason, 3, f"{2 * int(over)}{bar}{under}")

    return changed(f, "lin", change, lambda line: counted(line) and has_terms(line))


def turn_multiplier(f: Forgery) -> str:
    def change(_: list[str], reason: list[str]) -> None:
        set_word(reason, 3, reason[3][1:] if reason[3][0] == "-" else f"-{reason[3]}")

    return changed(f, "rnd", change, lambda line: counted(line) and has_terms(line))


def drop_term(f: Forgery) -> str:
    def change(_: list[str], reason: list[str]) -> None:
        add_to(reason, 1, -1)
        del reason[2:4]

    return changed(f, "lin", change, lambda line: counted(line) and has_terms(line))


def repeat_term(f: Forgery) -> str:
    def change(_: list[str], reason: list[str]) -> None:
        add_to(reason, 1, 1)
        half = reason[3]
        reason[3] = f"{half}/1" if "/" not in half else half
        reason += [reason[2], "7/3"]

    return changed(f, "lin", change, lambda line: counted(line) and has_terms(line))


def raise_right_side(f: Forgery) -> str:
    return changed(f, "rnd", tighter)


def raise_right_side_of_cases(f: Forgery) -> str:
    return changed(f, "uns", tighter)


def change_coefficient(f: Forgery) -> str:
    return changed(f, "lin", lambda row, _: add_to(row, 5, 1))


def drop_coefficient(f: Forgery) -> str:
    def change(row: list[str], _: list[str]) -> None:
        add_to(row, 3, -1)
        del row[4:6]

    return changed(f, "rnd", change)


def turn_sense(f: Forgery) -> str:
    return changed(f, "rnd", lambda row, _: set_word(row, 1, {"L": "G", "G": "L"}[row[1]]))


def claim_equality(f: Forgery) -> str:
    return changed(f, "rnd", lambda row, _: set_word(row, 1, "E"))


def drop_line(f: Forgery) -> str:
    del f.lines[f.some("rnd")]
    return f.text()


def drop_line_but_not_from_the_count(f: Forgery) -> str:
    number = len(f.lines)
    del f.lines[-1]
    return f.text(number)


def drop_the_last_line(f: Forgery) -> str:
    del f.lines[-1]
    return f.text()


def drop_an_assumption(f: Forgery) -> str:
    del f.lines[f.some("asm")]
    return f.text()


def exchange_lines(f: Forgery) -> str:
    places = [
        k
        for k, (_, after) in enumerate(pairwise(f.lines))
        if str(f.first + k) in split(after)[1][2::2] and "asm" not in f.lines[k]
    ]
    k = f.rng.choice(places)
    f.lines[k], f.lines[k + 1] = f.lines[k + 1], f.lines[k]
    return f.text()


def reverse_lines(f: Forgery) -> str:
    f.lines.reverse()
    return f.text()


def refer_forward(f: Forgery) -> str:
    k = f.some("lin", has_terms)
    row, reason, last = split(f.lines[k])
    set_word(reason, 2, str(f.first + len(f.lines) + 10**6))
    f.lines[k] = joined(row, reason, last)
    return f.text()


def refer_to_a_later_case(f: Forgery) -> str:
    k = f.some("uns")
    row, reason, last = split(f.lines[k])
    set_word(reason, 1, str(f.first + k))
    f.lines[k] = joined(row, reason, last)
    return f.text()


def refer_after_last_use(f: Forgery) -> str:
    """The file says that a row is not needed any more, and needs it."""
    used = [
        (int(index) - f.first)
        for line in f.lines
        if " { lin" in line or " { rnd" in line
        for index in split(line)[1][2::2]
        if int(index) >= f.first
    ]
    k = f.rng.choice(used)
    row, reason, _ = split(f.lines[k])
    f.lines[k] = joined(row, reason, str(f.first + k))
    return f.text()


def do_not_round(f: Forgery) -> str:
    """A row that only rounding gives."""
    k = f.some("rnd", lambda line: counted(line) and "/" in line)
    f.lines[k] = f.lines[k].replace("{ rnd", "{ lin")
    return f.text()


def round_fractions(f: Forgery) -> str:
    """A row of halves, with a right side that is rounded up."""
    k = f.some("lin", lambda line: counted(line) and has_terms(line))
    row, reason, last = split(f.lines[k])
    row[5::2] = [f"{number}/2" for number in row[5::2]]
    row[2] = str(int(row[2]) + (1 if row[1] == "G" else -1))
    reason[0] = "rnd"
    reason[3::2] = [halved(number) for number in reason[3::2]]
    f.lines[k] = joined(row, reason, last)
    return f.text()


def halved(number: str) -> str:
    over, _, under = number.partition("/")
    return f"{over}/{2 * int(under or 1)}"


def forget_whole_numbers(f: Forgery) -> str:
    at = f.head.index(f.find("INT "))
    end = f.head.index(f.find("OBJ "))
    f.head[at:end] = ["INT 0"]
    return f.text()


def assume_the_end(f: Forgery) -> str:
    row, _, last = split(f.lines[-1])
    f.lines[-1] = joined(row, ["asm"], last)
    return f.text()


def assume_a_cut(f: Forgery) -> str:
    return changed(f, "uns", lambda _, reason: reason.__setitem__(slice(None), ["asm"]))


def confuse_cases(f: Forgery) -> str:
    def change(_: list[str], reason: list[str]) -> None:
        reason[2], reason[4] = reason[4], reason[2]

    return changed(f, "uns", change, lambda _: True)


def leave_a_gap_between_cases(f: Forgery) -> str:
    """One of two assumptions leaves something out, and the result gains."""
    k = f.some("uns", lambda line: counted(line))
    row, reason, last = split(f.lines[k])
    low = int(reason[2]) - f.first
    above, assumed, end = split(f.lines[low])
    tighter(above, assumed)
    f.lines[low] = joined(above, assumed, end)
    tighter(row, reason)
    f.lines[k] = joined(row, reason, last)
    return f.text()


def one_case_twice(f: Forgery) -> str:
    def change(_: list[str], reason: list[str]) -> None:
        reason[3:5] = reason[1:3]

    return changed(f, "uns", change, lambda _: True)


def solve_otherwise(f: Forgery) -> str:
    """Another set for a child, or one set more."""
    line = f.find("network ")
    words = line.split(" ")
    add_to(words, 2, 1)
    set_word(words, 2, str(int(words[2])))
    f.replace(line, " ".join(words))
    return f.text()


def solve_twice(f: Forgery) -> str:
    line = f.find("network ")
    words = line.split(" ")
    chosen = set(words[2::2])
    more = next(str(i) for i in range(10**6) if str(i) not in chosen)
    f.replace(line, " ".join([words[0], str(int(words[1]) + 1), *words[2:], more, "1"]))
    return f.text()


def solve_by_halves(f: Forgery) -> str:
    line = f.find("network ")
    f.replace(line, line.replace(" 1", " 1/2", 3))
    return f.text()


def solve_not_at_all(f: Forgery) -> str:
    at = f.head.index("SOL 1")
    f.head[at:] = ["SOL 0"]
    return f.text()


def loosen_a_cycle(f: Forgery) -> str:
    used = {index for line in f.lines for index in split(line)[1][2::2]}
    line, words = f.row("c", lambda w: w[1] == "L" and w[3] == "3" and w[0][1:] in used)
    add_to(words, 2, 1)
    f.replace(line, " ".join(words))
    return f.text()


def loosen_a_child(f: Forgery) -> str:
    line, words = f.row("c", lambda w: w[1] == "E")
    add_to(words, 2, 1)
    f.replace(line, " ".join(words))
    return f.text()


def drop_a_set_from_a_child(f: Forgery) -> str:
    line, words = f.row("c", lambda w: w[1] == "E" and int(w[3]) > 1)
    f.replace(line, " ".join([*words[:3], str(int(words[3]) - 1), *words[6:]]))
    return f.text()


def change_the_objective(f: Forgery) -> str:
    at = f.head.index("OBJ min") + 1
    words = f.head[at].split(" ")
    words[2::2] = [str(int(number) + 1) for number in words[2::2]]
    f.head[at] = " ".join(words)
    return f.text()


def maximise(f: Forgery) -> str:
    f.replace("OBJ min", "OBJ max")
    return f.text()


def another_version(f: Forgery) -> str:
    f.replace("VER 1.0", "VER 2.0")
    return f.text()


def sections_out_of_order(f: Forgery) -> str:
    a, b = f.head.index(f.find("VAR ")), f.head.index(f.find("INT "))
    end = f.head.index(f.find("OBJ "))
    f.head[a:end] = [*f.head[b:end], *f.head[a:b]]
    return f.text()


def unknown_reason(f: Forgery) -> str:
    k = f.some("rnd")
    f.lines[k] = f.lines[k].replace("{ rnd", "{ obviously")
    return f.text()


def lost_brace(f: Forgery) -> str:
    k = f.some("rnd")
    f.lines[k] = f.lines[k].replace(" } ", " ")
    return f.text()


def unknown_variable(f: Forgery) -> str:
    return changed(f, "rnd", lambda row, _: set_word(row, 4, "10000000"))


def cut_off(f: Forgery) -> str:
    text = f.text()
    return text[: text.rindex("\n", 0, len(text) - 2) - 10]


FORGERIES = (
    claim_more,
    claim_more_at_the_end,
    claim_less_cost,
    claim_infeasible,
    scale_multiplier,
    turn_multiplier,
    drop_term,
    repeat_term,
    raise_right_side,
    raise_right_side_of_cases,
    change_coefficient,
    drop_coefficient,
    turn_sense,
    claim_equality,
    drop_line,
    drop_line_but_not_from_the_count,
    drop_the_last_line,
    drop_an_assumption,
    exchange_lines,
    reverse_lines,
    refer_forward,
    refer_to_a_later_case,
    refer_after_last_use,
    do_not_round,
    round_fractions,
    forget_whole_numbers,
    assume_the_end,
    assume_a_cut,
    confuse_cases,
    leave_a_gap_between_cases,
    one_case_twice,
    solve_otherwise,
    solve_twice,
    solve_by_halves,
    solve_not_at_all,
    loosen_a_cycle,
    loosen_a_child,
    drop_a_set_from_a_child,
    change_the_objective,
    maximise,
    another_version,
    sections_out_of_order,
    unknown_reason,
    lost_brace,
    unknown_variable,
    cut_off,
)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file with everything in it, which is accepted."""
    path = tmp_path_factory.mktemp("vipr") / "proof.vipr"
    lists, content = proof_with_everything()
    assert_translated(lists, content, path)
    return read_text(path)


def proof_with_everything(seed: int = 550) -> tuple[CandidateLists, Mapping[str, Any]]:
    """A certificate that branches, and uses clusters and local cuts, through others, too."""
    lists, content = certificate(seed)
    steps = [step for node in content["nodes"] for step in node.get("steps", [])]
    used = [content["cuts"][c] for step in steps if step[0] == "round" for c in step[1]]
    assert {(cut[0], len(cut)) for cut in used} >= {("cluster", 3), ("local", 5)}
    assert any("branch" in node for node in content["nodes"])
    return lists, content


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
@each("seed", 4)
def test_forgeries_are_refused(
    forge: Callable[[Forgery], str], seed: int, original: str, tmp_path: Path
) -> None:
    text = forge(Forgery(original, random.Random(seed)))
    assert text != original
    assert refused(text, tmp_path / "forged.vipr")


def test_there_are_more_than_thirty_kinds_of_forgery() -> None:
    assert len(set(FORGERIES)) > 30


def test_the_problem_of_other_lists_is_refused(original: str, tmp_path: Path) -> None:
    """The derivations of one file after the head of another, and a whole file of other lists."""
    lists, content = proof_with_everything()
    others, other = proof_with_everything(143)
    write_vipr(others, other, tmp_path / "other.vipr")
    theirs = Forgery(read_text(tmp_path / "other.vipr"), random.Random(0))
    mixed = Forgery(original, random.Random(0))
    mixed.head = theirs.head
    assert refused(mixed.text(), tmp_path / "mixed.vipr")
    stated = check_vipr(tmp_path / "other.vipr")
    costs = dict.fromkeys(range(lists.n_sets), 0)
    assert problem_faults(stated, lists, costs, range(lists.n_sets))
    assert content is not other


@pytest.mark.skipif("PARENTAGE_SHARED" not in os.environ, reason="needs the instances")
@pytest.mark.skipif(VIPRCHK is None, reason="needs viprchk")
@pytest.mark.long
def test_all_instances(real: RealData, tmp_path: Path) -> None:
    """Every instance that is proved by cuts in a minute or two, by the checker of the format."""
    for path in sorted((real.folder / "instances").iterdir(), key=lambda path: path.stat().st_size):
        lists = real.instance(path.name)
        if lists.n_sets > 7_000:  # hundreds of megabytes: benchmarks/bench_certificates.py
            continue
        solution = learn_lists(lists, engine="branch-and-cut", time_limit=120.0)
        if solution.certificate is None:
            continue
        write_vipr(lists, solution.certificate.document, tmp_path / "proof.vipr")
        assert viprchk_accepts(tmp_path / "proof.vipr"), path.name
