"""Certificates and lists, genuine and forged: what is verified or read as proven must be true.

Genuine ones must be accepted. Forged ones may be, where what they state is true all the same: that
is judged by the truth. Every forgery has its digest made anew, as a forger would.
"""

from __future__ import annotations

import contextlib
import copy
import json
import math
import random
import re
import tempfile
import warnings
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fuzz import draw
from fuzz.truth import Parents, Question, Scores, best_total, families, has_cycle
from naive_network import random_constraints, random_lists
from parentage.check import ProofError, check, lists_digest, sealed
from parentage.check import check_table as recounted
from parentage.check.counting import KNOWN
from parentage.check.document import carried_lists
from parentage.errors import (
    ConstraintError,
    InputError,
    ListsError,
    ParentageError,
    ParentageWarning,
)
from parentage.files.decoding import decoded
from parentage.scoring.account import Account
from parentage.scoring.candidates import score
from parentage.scoring.constraints import Constraints
from parentage.scoring.formats import read_lists, write_lists
from parentage.scoring.lists import CandidateLists
from solving import learn_lists

if TYPE_CHECKING:
    from parentage.check import Verdict
    from parentage.data.table import Table
    from parentage.optimise import Solution

Document = dict[str, Any]

CLOSE = 1e-6
LOOSEST = 1e-4
"""A genuine proof leaves no more open than this."""

FORGERIES = 3
"""How many are made of one certificate."""


@dataclass(frozen=True)
class Choice:
    """Candidate lists of another program, and what is asked of them.

    ``families[child]`` are (score, parents); constraints are as in a certificate.
    """

    families: tuple[tuple[tuple[float, tuple[int, ...]], ...], ...]
    constraints: Document = field(default_factory=dict)
    engine: str = "auto"
    seed: int = 0

    @property
    def n(self) -> int:
        """Number of variables."""
        return len(self.families)

    def lists(self) -> CandidateLists:
        """The lists."""
        return CandidateLists.from_families(
            {
                f"v{child}": [(s, [f"v{p}" for p in members]) for s, members in own]
                for child, own in enumerate(self.families)
            }
        )


# ---------------------------------------------------------------------------------------------
# Tables


def make(seed: int) -> Question:
    """Draw a table and what is asked of it."""
    return replace(draw.question(seed, 4, 40), engine=random.Random(seed).choice(draw.ENGINES))


def kinds_of(asked: Question) -> list[str]:
    """What is counted."""
    return ["certificates", "forged certificates", "forged lists", *draw.kinds_of(asked)[1:]]


def check_table(asked: Question) -> None:
    """A certificate of a table, checked from lists and from the table; then forgeries.

    Raises
    ------
    AssertionError
        A genuine one is refused, or a false one accepted.
    """
    table, rng = draw.as_table(asked), random.Random(asked.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ParentageWarning)
        try:
            lists = score(table, **draw.scoring_keywords(asked))
            solution = learn_lists(lists, engine=asked.engine, seed=asked.seed)
        except ConstraintError:
            return  # whether rightly so is what tables.py asks
        document = certified(lists, solution)
        known = asked.score.partition(":")[0] in KNOWN
        if known:
            again = recounted(table, document)
            assert again, f"a genuine certificate is refused from its table: {again.reason}"
        for _ in range(FORGERIES):
            forged = forge(rng, lists, document)
            verdict = verdict_of(lists, forged)
            if verdict:
                judge(asked.n, listed(lists), lists, forged, verdict)
            if known and counted_again(table, forged):
                judge_table(asked, forged)
        check_files(rng, lists)


def counted_again(table: Table, document: Document) -> bool:
    """Whether a certificate is verified from its table."""
    try:
        return bool(recounted(table, document))
    except InputError:
        return False


def judge_table(asked: Question, document: Document) -> None:
    """No network that the settings and constraints of a certificate allow scores higher."""
    stated, claim = document["settings"], document["claim"]
    number = {f"v{v}": v for v in range(asked.n)}
    limit, caps = stated["max_parents"], []
    if isinstance(limit, dict):
        caps, limit = [(number[name], cap) for name, cap in limit.items() if cap is not None], None
    given = stated["constraints"]
    caps += [(number[name], cap) for name, cap in given.get("max_parents", {}).items()]
    base = stated["log_base"]
    said = replace(
        asked,
        score=stated["score"],
        most=limit,
        caps=tuple(caps),
        log_base=None,
        required=tuple((number[a], number[b]) for a, b in given.get("required", ())),
        forbidden=tuple((number[a], number[b]) for a, b in given.get("forbidden", ())),
        tiers=tuple(tuple(number[name] for name in tier) for tier in given.get("tiers", ())),
        default=stated["prior"]["default"],
        beliefs=tuple((number[a], number[b], p) for a, b, p in stated["prior"]["arcs"]),
    )
    fitting = {
        family: value / (1.0 if base is None else math.log(base))
        for family, value in families(said).items()
        if fits(document["constraints"], *family)
    }
    best, told = best_total(asked.n, fitting), claim["score"] + open_by(document)
    assert best < told + CLOSE, f"verified: {told}, and {best} is possible as stated"


# ---------------------------------------------------------------------------------------------
# Lists of other programs


def make_choice(seed: int) -> Choice:
    """Draw lists of every kind: pruned or not, ties, children without an empty set."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([2, 3, 4, 5, 5, 6, 7, 8, 9, 10]))
    lists = forest_lists(rng, n) if rng.random() < 0.2 else random_lists(rng, n)
    given = random_constraints(rng, lists) if rng.random() < 0.3 else Constraints()
    return Choice(
        tuple(
            tuple((value, tuple(int(p) for p in own)) for value, own in lists.candidates(v))
            for v in range(n)
        ),
        given.to_dict(),
        str(rng.choice(draw.ENGINES)),
        seed,
    )


def forest_lists(rng: np.random.Generator, n: int) -> CandidateLists:
    """Lists that need one parent at most: larger sets are there, and never better."""
    names = [f"v{v}" for v in range(n)]
    families: dict[str, list[tuple[float, list[str]]]] = {}
    for name in names:
        others = [str(u) for u in rng.permutation(names) if u != name]
        gains = {u: round(float(rng.normal(3, 3)), 2) for u in others[: int(rng.integers(1, 6))]}
        own: list[tuple[float, list[str]]] = [(-100.0, [])]
        own += [(gain - 100, [u]) for u, gain in gains.items()]
        for a, b in pairwise(gains):
            if rng.random() < 0.4:
                own.append((max(gains[a], gains[b], 0.0) - 100 - float(rng.integers(0, 3)), [a, b]))
        families[name] = own
    return CandidateLists.from_families(families)


def kinds_of_choice(asked: Choice) -> list[str]:
    """What is counted."""
    found = ["certificates", "forged certificates"]
    return found + (["constraints"] if asked.constraints else [])


def check_choice(asked: Choice) -> None:
    """The best network of lists, its certificate, and forgeries of it.

    Raises
    ------
    AssertionError
        The network is not the best, a genuine proof is refused, or a false one accepted.
    """
    lists, rng = asked.lists(), random.Random(asked.seed)
    truth = {
        (child, tuple(sorted(members))): value
        for child, own in enumerate(asked.families)
        for value, members in own
    }
    best = best_within(asked.n, truth, asked.constraints)
    try:
        solution = learn_lists(
            lists,
            engine=asked.engine,
            seed=asked.seed,
            constraints=decoded(Constraints, asked.constraints),
        )
    except (ListsError, ConstraintError):
        assert best == -math.inf, "lists were refused that have a network"
        return
    assert solution.optimal, f"{asked.engine} proves nothing"
    assert abs(solution.score - best) < CLOSE, f"called optimal: {solution.score}, not {best}"
    parents = tuple(tuple(sorted(own)) for own in solution.network.parents)
    assert not has_cycle(parents), "the network has a cycle"
    document = certified(lists, solution)
    for _ in range(FORGERIES):
        forged = forge(rng, lists, document)
        verdict = verdict_of(lists, forged)
        if verdict:
            judge(asked.n, truth, lists, forged, verdict)


# ---------------------------------------------------------------------------------------------
# Genuine and forged certificates


def certified(lists: CandidateLists, solution: Solution) -> Document:
    """The certificate of a solution, which holds, also after a way through JSON."""
    assert solution.optimal and solution.certificate is not None, "an optimum without a proof"
    document: Document = json.loads(solution.certificate.to_json())
    accepted(lists, document, solution)
    return document


def accepted(lists: CandidateLists, document: Document, solution: Solution) -> None:
    """A genuine certificate holds, and says what the solution says."""
    verdict = check(lists, document)
    assert verdict, f"a genuine certificate is refused: {verdict.reason}"
    assert abs(verdict.score - solution.score) < CLOSE
    assert verdict.parents == tuple(tuple(sorted(own)) for own in solution.network.parents)
    assert verdict.tolerance < LOOSEST, verdict.tolerance
    assert verdict.settings == lists.account.settings()


def verdict_of(lists: CandidateLists, document: Document) -> Verdict | None:
    """The verdict if it is verified; None if it is refused, in whatever way."""
    try:
        verdict = check(lists, document)
    except InputError:
        return None
    return verdict if verdict else None


def judge(
    n: int, truth: Scores, lists: CandidateLists, document: Document, verdict: Verdict
) -> None:
    """What was verified is so: a network, its score, and nothing better within what is stated."""
    stated = document["constraints"]
    assert verdict.settings == lists.account.settings(), "verified on terms that are not so"
    assert verdict.constraints == stated, "verified within other constraints than are stated"
    parents: Parents = verdict.parents
    assert not has_cycle(parents), "verified: a network with a cycle"
    assert all(fits(stated, v, own) for v, own in enumerate(parents)), "against the constraints"
    total = math.fsum(truth[v, tuple(sorted(own))] for v, own in enumerate(parents))
    assert abs(total - verdict.score) < CLOSE, f"verified: {verdict.score}, it is {total}"
    best = best_within(n, truth, stated)
    assert best < total + verdict.tolerance + CLOSE, f"verified: {total}, and {best} is possible"


def listed(lists: CandidateLists) -> Scores:
    """The families of lists with their scores."""
    return {
        (v, tuple(sorted(int(p) for p in own))): value
        for v in range(lists.n_variables)
        for value, own in lists.candidates(v)
    }


def best_within(n: int, truth: Scores, constraints: Document) -> float:
    """Score of the best network within constraints as a certificate states them."""
    return best_total(n, {f: value for f, value in truth.items() if fits(constraints, *f)})


def fits(constraints: Document, child: int, parents: tuple[int, ...]) -> bool:
    """Whether constraints as a certificate states them allow a family; v3 is variable 3."""
    name, own = f"v{child}", {f"v{p}" for p in parents}
    level = {v: i for i, tier in enumerate(constraints.get("tiers", ())) for v in tier}
    later = any(level.get(p, -1) > level[name] for p in own) if name in level else False
    return (
        all(a in own for a, b in constraints.get("required", ()) if b == name)
        and not any(a in own for a, b in constraints.get("forbidden", ()) if b == name)
        and len(parents) <= constraints.get("max_parents", {}).get(name, len(parents))
        and not later
    )


def open_by(document: Document) -> float:
    """The tolerance of a claim in the unit of the scores, and room for rounding them."""
    kind, places = next(iter(document["unit"].items()))
    size = float((10 if kind == "decimals" else 2) ** -places)
    return float(document["claim"]["tolerance"] + 2 * document["lists"]["variables"]) * size


def forge(rng: random.Random, lists: CandidateLists, document: Document) -> Document:
    """Change one thing or several, and make the digest anew."""
    forged = copy.deepcopy(document)
    ways = rng.sample(WAYS, rng.choice((1, 1, 2, 3)))
    for way in sorted(ways, key=WAYS.index):
        way(rng, lists, forged)
    if rng.random() < 0.1:
        return forged  # with the digest of what it stated before
    return sealed(forged)


def _other_network(rng: random.Random, lists: CandidateLists, forged: Document) -> None:
    """Claim another network, with its honest score; now and then one with a cycle."""
    chosen, before = forged["claim"]["sets"], set[int]()
    places = list(pairwise(lists.offsets.tolist()))
    for v in rng.sample(range(len(places)), len(places)):
        sets = range(*places[v])
        inside = [i for i in sets if before.issuperset(lists.parents_of(i).tolist())]
        if rng.random() < 0.8:
            chosen[v] = rng.choice(inside or sets)
        before.add(v)
    forged["claim"]["score"] = math.fsum(float(lists.scores[i]) for i in chosen)


def _tolerance(rng: random.Random, _: CandidateLists, forged: Document) -> None:
    forged["claim"]["tolerance"] = rng.choice((0, 1, 10**6))


def _multipliers(rng: random.Random, _: CandidateLists, forged: Document) -> None:
    """Make all rounds stronger, or weaker."""
    times = rng.choice((0, 2, 1000))
    for node in forged["nodes"]:
        for step in node.get("steps", ()):
            if step[0] == "round":
                step[2] = [factor * times for factor in step[2]]


def _anything(rng: random.Random, _: CandidateLists, forged: Document) -> None:
    """Change some place of the proof or of what is stated."""
    part = rng.choice(("nodes", "nodes", "cuts", "settings", "constraints", "claim", "unit"))
    place, key = forged, part
    while isinstance(place[key], dict | list) and place[key] and rng.random() < 0.85:
        place = place[key]
        key = rng.choice(list(place)) if isinstance(place, dict) else rng.randrange(len(place))  # type: ignore[assignment]
    value = place[key]
    if isinstance(value, list) and value and rng.random() < 0.7:
        del value[rng.randrange(len(value))]
    elif isinstance(value, int | float) and not isinstance(value, bool):
        place[key] = rng.choice((value + 1, value - 1, value * 2, 0, -value))
    elif isinstance(place, dict) and rng.random() < 0.3:
        del place[key]
    else:
        place[key] = rng.choice((None, 0, 1, "bic", [], {}, copy.deepcopy(value)))
    for name in ("nodes", "cuts", "settings", "constraints", "claim", "unit"):
        forged.setdefault(name, {})  # without a key there is no digest to make


def _settings(rng: random.Random, _: CandidateLists, forged: Document) -> None:
    """State that the lists were made in another way."""
    stated = forged["settings"]
    if not isinstance(stated, dict):
        return
    key, value = rng.choice(
        (
            ("max_parents", None), ("max_parents", 3), ("constraints", {}), ("width", None),
            ("score", "bic"), ("score", "k2"), ("log_base", None),
            ("prior", {"default": 0.5, "arcs": []}),
        )
    )  # fmt: skip
    stated[key] = value


def _constraints(rng: random.Random, lists: CandidateLists, forged: Document) -> None:
    """Let networks satisfy more, or less."""
    names = list(lists.names)
    a, b = rng.sample(names, 2)
    key, value = rng.choice(
        (
            ("forbidden", [[a, b]]), ("required", [[a, b]]), ("max_parents", {a: 1}),
            ("tiers", [[a], [b]]), ("forbidden", []), ("max_parents", {}),
        )
    )  # fmt: skip
    if isinstance(forged["constraints"], dict):
        forged["constraints"][key] = value


def _families(rng: random.Random, lists: CandidateLists, forged: Document) -> None:
    """Take a set out of the lists that it carries, or move a score, and make their digest anew."""
    if "families" not in forged:
        return
    own = rng.choice(forged["families"]["sets"])
    if rng.random() < 0.5:
        del own[rng.randrange(len(own))]
    else:
        rng.choice(own)[0] += rng.choice((-1.0, 1e-6, 1e-3, 1.0))
    with contextlib.suppress(ProofError):
        carried = carried_lists(forged, lists.names)
        sizes = {"variables": carried.n_variables, "sets": carried.n_sets}
        forged["lists"] = {**sizes, "digest": lists_digest(carried)}


WAYS = (_families, _other_network, _tolerance, _multipliers, _settings, _constraints, _anything)
"""What a forger changes, in this order: the last may leave nothing as it was."""


# ---------------------------------------------------------------------------------------------
# Forged lists


def check_files(rng: random.Random, lists: CandidateLists) -> None:
    """Lists whose file was changed are refused, or nobody vouches for them."""
    suffix = rng.choice((".jkl", ".pss"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"lists{suffix}"
        write_lists(lists, path)
        same = read_lists(path)
        assert same.digest == lists.digest and same.account.settings() == lists.account.settings()
        text = path.read_text()
        changed = changed_facts(rng, text) if rng.random() < 0.7 else changed_set(rng, text)
        path.write_text(changed)
        try:
            forged = read_lists(path)
        except ParentageError:
            return
        vouched = isinstance(forged.account, Account)
        assert not vouched or facts_of(changed) == facts_of(text), "a changed account is believed"
        assert not vouched or forged.digest == lists.digest, "changed sets are believed"


def facts_of(text: str) -> Any:
    """The facts that a file of lists states."""
    return json.loads(_facts_line(text)[0])


def _facts_line(text: str) -> re.Match[str]:
    found = re.search(r"\{\"account\".*\}", text)
    assert found is not None
    return found


def changed_facts(rng: random.Random, text: str) -> str:
    """Change one fact of the account, or leave one out."""
    facts = facts_of(text)
    place: Any = facts["account"] if rng.random() < 0.9 else facts
    key = rng.choice(list(place))
    if rng.random() < 0.2:
        del place[key]
    else:
        value = place[key]
        other: list[Any] = [None, 0, 1, 7, "aic", [], {}]
        place[key] = rng.choice(other if not isinstance(value, int) else [value + 1, None])
    return text.replace(_facts_line(text)[0], json.dumps(facts, separators=(",", ":")))


def changed_set(rng: random.Random, text: str) -> str:
    """Change one digit of a score, or take one line away."""
    lines = text.split("\n")
    at = rng.choice([i for i, line in enumerate(lines) if re.match(r"-?\d+\.\d+ ", line)] or [0])
    if rng.random() < 0.5:
        del lines[at]
    else:
        lines[at] = re.sub(
            r"\d(?= )", lambda digit: str((int(digit[0]) + 1) % 10), lines[at], count=1
        )
    return "\n".join(lines)
