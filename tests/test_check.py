"""The checker of certificates: what holds passes, what does not is refused, nothing escapes."""

from __future__ import annotations

import copy
import gzip
import json
import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from certificates import (
    Document,
    Prover,
    all_clusters,
    costs,
    document,
    parent_sets,
    random_local,
    right_sides,
    weights,
)
from naive_network import all_networks, constrained, random_constraints, random_lists
from parentage.check import check, lists_digest, sealed
from parentage.check.document import ProofError, parse_document, read_document
from parentage.check.families import (
    Families,
    allowed_sets,
    make_families,
    rounding_loss,
    whole_scores,
)
from parentage.check.nodes import NEVER, checked_row, least_cost, least_forest
from parentage.errors import InputError, ListsError
from parentage.scoring.lists import CandidateLists
from strategies import each

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from parentage.scoring.constraints import Constraints

DECIMAL = {"decimals": 2}


def families_of(lists: CandidateLists) -> Families:
    whole, _ = whole_scores(lists.scores, (10, 2))
    return make_families(lists, np.ones(lists.n_sets, np.bool_), whole)


def index_of(lists: CandidateLists, parents: tuple[tuple[int, ...], ...]) -> list[int]:
    """The best set of every variable with these parents."""
    sets = parent_sets(lists)
    return [
        next(
            i
            for i in range(int(lists.offsets[v]), int(lists.offsets[v + 1]))
            if sets[i] == frozenset(parents[v])
        )
        for v in range(lists.n_variables)
    ]


def on_the_grid(lists: CandidateLists) -> CandidateLists:
    """The same lists with scores of two decimals, exactly."""
    scores = np.round(lists.scores, 2)
    return CandidateLists(lists.names, lists.offsets, lists.starts, lists.parents, scores)


def small_case(seed: int) -> tuple[CandidateLists, list[tuple[float, Any]], np.random.Generator]:
    """Lists with at least one network, all their networks by falling score."""
    lists, networks, rng = known_case(seed)
    return lists, networks, copy.deepcopy(rng)


@cache
def known_case(seed: int) -> tuple[CandidateLists, list[tuple[float, Any]], np.random.Generator]:
    rng = np.random.default_rng(seed)
    while True:
        lists = on_the_grid(random_lists(rng, int(rng.integers(2, 6))))
        networks = sorted(all_networks(lists), key=lambda entry: -entry[0])
        if networks:
            return lists, networks, rng


def certificate(seed: int) -> tuple[CandidateLists, Document]:
    """Lists and a certificate of their best network."""
    lists, networks, rng = small_case(seed)
    cost = costs(lists, [True] * lists.n_sets, 100)
    chosen = index_of(lists, networks[0][1])
    cuts = all_clusters(lists.n_variables) + [random_local(rng, lists) for _ in range(12)]
    prover = Prover(lists, cost, cuts, rng)
    prover.prove(sum(cost[i] for i in chosen), list(range(lists.n_sets)))
    return lists, document(lists, chosen, unit=DECIMAL, cuts=cuts, nodes=prover.nodes)


def claim_is_true(lists: CandidateLists, content: Document) -> bool:
    """Whether what a certificate claims is so, by trying every network."""
    chosen = content["claim"]["sets"]
    score = math.fsum(float(lists.scores[i]) for i in chosen)
    return bool(best_of(lists) <= score + content["claim"]["tolerance"] / 100 + 1e-9)


@cache
def best_of(lists: CandidateLists) -> float:
    return max(score for score, _ in all_networks(lists))


@each("seed", 40)
def test_proofs_of_random_lists_are_verified(seed: int) -> None:
    lists, content = certificate(seed)
    verdict = check(lists, content)
    assert verdict, verdict.reason
    assert verdict.tolerance == 0
    assert verdict.score == content["claim"]["score"]
    assert verdict.counts["nodes"] >= 1


def mutations(rng: np.random.Generator, content: Document) -> list[Document]:
    """Certificates with one thing changed."""
    changed = []

    def change(edit: Callable[[Document], object]) -> None:
        other = copy.deepcopy(content)
        edit(other)
        changed.append(other)

    rounds = [
        (i, j)
        for i, node in enumerate(content["nodes"])
        for j, step in enumerate(node["steps"])
        if step[0] == "round" and step[1]
    ]
    local = [i for i, cut in enumerate(content["cuts"]) if cut[0] == "local"]
    for i, j in rounds:
        at = int(rng.integers(len(content["nodes"][i]["steps"][j][2])))
        for delta in (-1, 1, 1000):

            def move(c: Document, i: int = i, j: int = j, at: int = at, d: int = delta) -> None:
                times = c["nodes"][i]["steps"][j][2]
                times[at] = max(0, times[at] + d)

            change(move)
        change(lambda c, i=i, j=j: c["nodes"][i]["steps"].pop(j))  # type: ignore[misc]
    for i in local:

        def lower(c: Document, i: int = i) -> None:
            c["cuts"][i][4] = max(0, c["cuts"][i][4] - 1)

        def raise_value(c: Document, i: int = i) -> None:
            c["cuts"][i][3][0][0] += 1

        def lower_weight(c: Document, i: int = i) -> None:
            if len(c["cuts"][i]) == 7:
                c["cuts"][i][6] = max(0, c["cuts"][i][6] - 1)

        for edit in (lower, raise_value, lower_weight):
            change(edit)
    for i in range(len(content["nodes"])):
        change(lambda c, i=i: c["nodes"][i].pop("branch", None))  # type: ignore[misc]
    return changed


@each("seed", 15)
def test_mutations_pass_only_where_the_claim_still_follows(seed: int) -> None:
    """The true network with a damaged proof: no damaged cut may be used."""
    lists, content = certificate(seed)
    rng = np.random.default_rng(seed)
    for other in mutations(rng, content):
        verdict = check(lists, other)
        if not verdict:
            assert verdict.reason
            continue
        for cut in used_local_cuts(other):
            right, plain = right_sides(lists, cut)
            assert right <= cut[4]
            assert len(cut) == 5 or plain <= cut[4] + cut[6]


def used_local_cuts(content: Document) -> list[list[Any]]:
    """The local cuts that a proof uses up to where the checker may stop: only single nodes."""
    if len(content["nodes"]) > 1 or len(content["nodes"][0]["steps"]) > 1:
        return []
    return [
        content["cuts"][i]
        for step in content["nodes"][0]["steps"]
        if step[0] == "round"
        for i in step[1]
        if content["cuts"][i][0] == "local"
    ]


def forgery(seed: int) -> tuple[CandidateLists, Document] | None:
    """A second-best network 'proved' by cuts of which some do not hold; None if it fails."""
    lists, networks, rng = small_case(seed)
    worse = [entry for entry in networks if entry[0] < networks[0][0] - 1e-6]
    if not worse:
        return None
    cost = costs(lists, [True] * lists.n_sets, 100)
    chosen = index_of(lists, worse[0][1])
    cuts = all_clusters(lists.n_variables)
    for _ in range(20):
        cut = random_local(rng, lists)
        if len(cut) == 7 and cut[6] > 0 and rng.random() < 0.5:
            cut[6] -= 1
        elif rng.random() < 0.5:
            cut[4] = max(0, cut[4] - 1)
        else:
            j = int(rng.integers(len(cut[1])))
            cut[3][j][0] += 2
        cuts.append(cut)
    prover = Prover(lists, cost, cuts, rng, most_nodes=12)
    prover.prove(sum(cost[i] for i in chosen), list(range(lists.n_sets)))
    return lists, document(lists, chosen, unit=DECIMAL, cuts=cuts, nodes=prover.nodes)


@each("seed", 40)
def test_forged_proofs_of_worse_networks_are_refused(seed: int) -> None:
    forged = forgery(seed)
    if forged is None:
        return  # all networks of these lists score the same
    lists, content = forged
    assert not claim_is_true(lists, content)
    verdict = check(lists, content)
    assert not verdict
    assert verdict.reason


@pytest.mark.no_cover
def test_many_forgeries_would_pass_if_cuts_were_not_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The forgeries bite: only the check of the cuts keeps them out."""
    forged = [entry for seed in range(25) if (entry := forgery(seed)) is not None]
    refused = [check(*entry).reason for entry in forged]
    assert sum("does not hold" in reason for reason in refused) > 5
    monkeypatch.setattr("parentage.check.nodes.best_order", lambda _: 0)
    assert sum(check(*entry).verified for entry in forged) > 5


@pytest.mark.long
@pytest.mark.parametrize("block", range(20))
def test_proofs_and_forgeries_often(block: int) -> None:
    for seed in range(1000 + 100 * block, 1100 + 100 * block):
        lists, content = certificate(seed)
        assert check(lists, content), seed
        for other in mutations(np.random.default_rng(seed), content)[:10]:
            assert check(lists, other).verified <= claim_is_true(lists, other), seed
        forged = forgery(seed)
        assert forged is None or not check(*forged), seed


@each("seed", 60)
def test_rows_are_those_of_the_definition_and_hold(seed: int) -> None:
    lists, networks, rng = small_case(seed)
    families = families_of(lists)
    chosen = [index_of(lists, parents) for _, parents in networks[:200]]
    for cut in [
        *all_clusters(lists.n_variables)[:6],
        *(random_local(rng, lists) for _ in range(8)),
    ]:
        parsed = parse_cut(lists, cut)
        row = checked_row(families, parsed)
        weight, right = weights(lists, cut)
        dense = np.zeros(lists.n_sets, np.int64)
        dense[row.sets] = row.weight
        assert dense.tolist() == weight
        assert row.right == right
        for own in chosen:
            assert sum(weight[i] for i in own) <= right


def parse_cut(lists: CandidateLists, cut: list[Any]) -> Any:
    content = document(lists, [0] * lists.n_variables, unit=DECIMAL, cuts=[cut], nodes=[{}])
    return parse_document(content, lists.n_variables, lists.n_sets).cuts[0]


@each("seed", 60)
def test_a_right_side_or_m_one_too_small_is_refused(seed: int) -> None:
    lists, _, rng = small_case(seed)
    families = families_of(lists)
    for _ in range(8):
        cut = parse_cut(lists, random_local(rng, lists))
        assert cut.k == 0
        assert checked_row(families, cut).right >= cut.right
        if cut.right > 0:
            with pytest.raises(ProofError, match="more than"):
                checked_row(families, cut._replace(right=cut.right - 1, weight=cut.weight + 1))
        if cut.weight > 0:
            with pytest.raises(ProofError, match="without its through variables"):
                checked_row(families, cut._replace(weight=cut.weight - 1))


@each("seed", 40)
def test_dynamic_programming_finds_the_optimum_and_no_more(seed: int) -> None:
    lists, networks, _ = small_case(seed)
    chosen = index_of(lists, networks[0][1])
    proof = document(lists, chosen, unit=DECIMAL, cuts=[], nodes=[{"subsets": True}])
    assert check(lists, proof)
    for score, parents in networks[1:30]:
        worse = document(
            lists, index_of(lists, parents), unit=DECIMAL, cuts=[], nodes=[{"subsets": True}]
        )
        assert check(lists, worse).verified == (score > networks[0][0] - 1e-6)
        missing = round((networks[0][0] - score) * 100)
        worse["claim"]["tolerance"] = missing
        assert check(lists, sealed(worse))
        if missing:
            worse["claim"]["tolerance"] = missing - 1
            assert check(lists, sealed(worse)).reason.startswith("node 0: ")


@pytest.mark.no_cover
@pytest.mark.parametrize("n", [1, 2, 5, 13, 14, 15])
def test_dynamic_programming_in_blocks_agrees_with_one_subset_after_the_other(n: int) -> None:
    rng = np.random.default_rng(n)
    masks = [np.array([0, *(int(m) & ~(1 << j) for m in rng.integers(0, 1 << n, 20))])
             for j in range(n)]  # fmt: skip
    price = [np.array([1000, *rng.integers(0, 1000, 20)]) for _ in range(n)]
    best = [0] + [10**9] * ((1 << n) - 1)
    for subset in range(1, 1 << n):
        for j in range(n):
            if subset >> j & 1:
                rest = subset ^ (1 << j)
                own = min(int(c) for m, c in zip(masks[j], price[j], strict=True)
                          if not int(m) & ~rest)  # fmt: skip
                best[subset] = min(best[subset], best[rest] + own)
    assert least_cost(masks, price, 1e9) == best[-1]


@each("seed", 100)
def test_forests_are_best(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    into = rng.integers(0, 20, (n + 1, n + 1))
    into[rng.random((n + 1, n + 1)) < 0.2] = NEVER
    best = NEVER
    for choice in np.ndindex(*[n + 1] * n):
        parents = tuple((u - 1,) if u else () for u in choice)
        total = sum(int(into[u, v + 1]) for v, u in enumerate(choice) if u != v + 1)
        looped = any(u == v + 1 for v, u in enumerate(choice))
        if not looped and total < best and _acyclic(parents):
            best = total
    assert least_forest(into) == best


def _acyclic(parents: tuple[tuple[int, ...], ...]) -> bool:
    from naive_network import is_acyclic

    return is_acyclic(parents)


@each("seed", 20)
def test_a_forest_node_proves_lists_of_one_parent(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    lists = CandidateLists.from_families(
        {
            f"v{v}": [(-20.0, [])]
            + [(-20 + float(rng.integers(1, 15)), [f"v{u}"]) for u in range(n) if u != v]
            for v in range(n)
        }
    )
    networks = sorted(all_networks(lists), key=lambda entry: -entry[0])
    node = [{"forest": True}]
    best = document(lists, index_of(lists, networks[0][1]), unit=DECIMAL, cuts=[], nodes=node)
    assert check(lists, best)
    worst = document(lists, index_of(lists, networks[-1][1]), unit=DECIMAL, cuts=[], nodes=node)
    assert check(lists, worst).verified == (networks[-1][0] == networks[0][0])


@each("seed", 60)
def test_a_forest_node_proves_only_what_is_true(seed: int) -> None:
    """Of several parents one is kept, which makes the bound weaker, never wrong."""
    lists, networks, rng = small_case(seed)
    tolerance = int(rng.integers(0, 200))
    for score, parents in networks[:: max(1, len(networks) // 20)]:
        content = document(
            lists,
            index_of(lists, parents),
            unit=DECIMAL,
            cuts=[],
            nodes=[{"forest": True}],
            tolerance=tolerance,
        )
        true = networks[0][0] <= score + tolerance / 100 + 1e-9
        assert true or not check(lists, content)


def test_a_forest_node_needs_no_dominance_step() -> None:
    names = [f"v{v}" for v in range(4)]
    families: dict[str, list[tuple[float, list[str]]]] = {v: [(-5.0, [])] for v in names}
    for v, before, after in zip(names, names[-1:] + names, names[1:] + names[:1], strict=False):
        families[v] += [(-1.0, [before]), (-2.0, [after]), (-1.0, [before, after])]
        families[v] += [
            (-5.0, [u, w]) for u in names for w in names if len({u, v, w}) == 3 and u < w
        ]
    lists = CandidateLists.from_families(families)
    best, parents = max(all_networks(lists), key=lambda entry: entry[0])
    content = document(
        lists, index_of(lists, parents), unit=DECIMAL, cuts=[], nodes=[{"forest": True}]
    )
    verdict = check(lists, content)
    assert verdict, verdict.reason
    assert (verdict.score, verdict.tolerance) == (best, 0)


def two_pairs() -> tuple[CandidateLists, Document]:
    """Two pairs of variables that do not touch, proved apart."""
    lists = CandidateLists.from_families(
        {
            "a": [(-3.0, ["b"]), (-5.0, [])],
            "b": [(-2.0, ["a"]), (-6.0, [])],
            "c": [(-1.0, ["d", "a"]), (-4.0, ["d"]), (-7.0, [])],
            "d": [(-1.0, ["c"]), (-2.0, [])],
            "e": [(-1.0, ["a"]), (-2.0, [])],
        }
    )
    nodes: list[Document] = [
        {"split": [[[0, 1], 2, 1], [[3, 2], 1, 2]]},
        {"steps": [["round", [0], [2 * 2**16]]]},
        {"subsets": True},
    ]
    content = document(
        lists, [1, 2, 4, 8, 9], unit={"decimals": 0}, cuts=[["cluster", [0, 1], 1]], nodes=nodes
    )
    return lists, content


def test_parts_are_proved_apart() -> None:
    lists, content = two_pairs()
    assert check(lists, content), check(lists, content).reason
    content["nodes"][0]["split"][0][1] = 1
    assert "add up to 2, less than 3" in check(lists, content).reason
    content["nodes"][0]["split"][0][1] = 3
    assert (
        check(lists, content).reason
        == "node 1: neither its steps nor a branch, split or solution closes it"
    )
    content["nodes"][0]["split"] = [[[0, 1], 2, 1], [[1, 3, 2], 1, 2]]
    assert "part 1 is not separate" in check(lists, content).reason


def test_a_wrong_network_is_refused() -> None:
    lists, content = two_pairs()
    good = content["claim"]
    for sets, message in [
        ([0, 2, 4, 8, 9], "cycle among a, b."),
        ([1, 1, 4, 8, 9], "belongs to another variable"),
        ([1, 3, 4, 8, 9], r"node 1"),
        ([1, 2, 4, 8], "4 sets for 5 variables"),
        ([1, 2, 4, 8, 99], "out of range"),
    ]:
        score = math.fsum(float(lists.scores[i]) for i in sets if i < 11)
        content["claim"] = {**good, "sets": sets, "score": score}
        verdict = check(lists, sealed(content))
        assert not verdict
        if "node" not in message:
            assert message in f"{verdict.reason}."
    content["claim"] = {**good, "score": good["score"] + 1e-9}
    assert "the sets add up to" in check(lists, sealed(content)).reason


def test_other_lists_are_refused() -> None:
    lists, content = two_pairs()
    arrays = lists.offsets, lists.starts, lists.parents
    scores = lists.scores.copy()
    scores[3] = np.nextafter(scores[3], 0)
    assert "other lists" in check(CandidateLists(lists.names, *arrays, scores), content).reason
    renamed = CandidateLists(("x", *lists.names[1:]), *arrays, lists.scores)
    assert "other lists" in check(renamed, content).reason
    fewer = CandidateLists.from_families({"a": [(-1.0, [])]})
    assert "about 5 variables" in check(fewer, content).reason


def test_the_digest_is_the_documented_one() -> None:
    import hashlib
    import struct

    lists = CandidateLists.from_families({"a": [(-1.5, ["ü"]), (-2.0, [])], "ü": [(-0.0, [])]})
    text = b"parentage lists 1\n" + struct.pack("<q", 2)
    for name in ("a", "ü"):
        text += struct.pack("<q", len(name.encode())) + name.encode()
    text += struct.pack("<3q", 0, 2, 3) + struct.pack("<4q", 0, 1, 1, 1) + struct.pack("<q", 1)
    text += struct.pack("<3d", -1.5, -2.0, 0.0)
    assert lists_digest(lists) == "sha256:" + hashlib.sha256(text).hexdigest()


def test_the_digest_of_a_certificate_is_the_documented_one() -> None:
    import hashlib

    lists = CandidateLists.from_families({"ü": [(-1.5, [])]})
    node = [{"steps": [["round", [], []]]}]
    rules = {"max_parents": {"ü": 0}}
    content = document(lists, [0], unit=DECIMAL, cuts=[], nodes=node, constraints=rules)
    text = (
        '{"claim":{"score":-1.5,"sets":[0],"tolerance":0},'
        '"constraints":{"max_parents":{"\\u00fc":0}},'
        f'"lists":{{"digest":"{lists_digest(lists)}","sets":1,"variables":1}},"settings":null}}'
    )
    digest = hashlib.sha256(f"parentage certificate 2\n{text}".encode()).hexdigest()
    assert content["digest"] == f"sha256:{digest}"
    assert check(lists, content)


@pytest.mark.parametrize("most", [-1, -(10**30), 0, 10**30])
def test_a_limit_of_any_size_is_a_verdict(most: int) -> None:
    lists = CandidateLists.from_families({"a": [(-1.5, [])]})
    node, rules = [{"steps": [["round", [], []]]}], {"max_parents": {"a": most}}
    content = document(lists, [0], unit=DECIMAL, cuts=[], nodes=node, constraints=rules)
    found = check(lists, content)
    assert bool(found) == (most >= 0)
    assert found or found.reason == "constraints: no set of 'a' satisfies them"


@each("seed", 40)
def test_constraints_are_part_of_the_claim(seed: int) -> None:
    lists, _, rng = small_case(seed)
    rules = random_constraints(rng, lists)
    assert_constraints(lists, rules)


def assert_constraints(lists: CandidateLists, rules: Constraints) -> None:
    allowed = allowed_sets(lists, rules.to_dict())
    names = lists.names
    expected = [
        rules.allowed(names[c], [names[p] for p in lists.parents_of(i)])
        for i, c in enumerate(np.repeat(np.arange(lists.n_variables), np.diff(lists.offsets)))
    ]
    assert allowed.tolist() == expected
    if not all(allowed[a:b].any() for a, b in zip(lists.offsets, lists.offsets[1:], strict=False)):
        return
    left = sorted(all_networks(constrained(lists, rules)), key=lambda entry: -entry[0])
    if not left:
        return
    content = document(
        lists,
        index_of(lists, left[0][1]),
        unit=DECIMAL,
        cuts=[],
        nodes=[{"subsets": True}],
        constraints=rules.to_dict(),
    )
    assert check(lists, content), check(lists, content).reason
    free = max(score for score, _ in all_networks(lists))
    without = {**content, "constraints": {}}
    assert check(lists, sealed(without)).verified == (free <= left[0][0] + 1e-9)
    if rules:
        assert check(lists, without).reason.startswith("digest: ")


def test_scores_off_the_decimal_grid_are_refused_and_bits_say_what_is_lost() -> None:
    lists = CandidateLists.from_families({"a": [(-1 / 3, ["b"]), (-1.0, [])], "b": [(-0.1, [])]})
    node = [{"steps": [["round", [], []]]}]
    content = document(lists, [0, 2], unit={"decimals": 4}, cuts=[], nodes=node)
    assert "not a multiple of 10^-4" in check(lists, content).reason
    content["unit"] = {"bits": 20}
    verdict = check(lists, content)
    assert verdict
    assert 0 < verdict.tolerance < 2**-20  # the two errors of a's sets
    content["claim"] = {**content["claim"], "sets": [1, 2], "score": -1.1, "tolerance": 700_000}
    content = sealed(content)
    verdict = check(lists, content)
    assert verdict, verdict.reason
    assert verdict.tolerance == pytest.approx(700_000 * 2**-20, abs=2**-20)
    content["unit"] = {"bits": 60}
    assert "more than 53 bits" in check(lists, content).reason


@each("seed", 50)
def test_rounding_never_hides_more_than_it_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = -rng.random(12) * 10
    offsets = np.array([0, 5, 12])
    chosen = np.array([int(rng.integers(0, 5)), int(rng.integers(5, 12))])
    whole, lost = whole_scores(scores, (2, 8))
    loss = rounding_loss(lost, offsets, np.ones(12, np.bool_), chosen)
    exact = float(scores[chosen].sum())
    for i in range(5):
        for j in range(5, 12):
            more = scores[i] + scores[j] - exact
            units = int(whole[[i, j]].sum() - whole[chosen].sum())
            assert more <= (units + loss) * 2**-8 + 1e-12


def test_files_plain_and_compressed(tmp_path: Path) -> None:
    lists, content = two_pairs()
    text = json.dumps(content).encode()
    plain, packed = tmp_path / "proof.json", tmp_path / "proof.json.gz"
    plain.write_bytes(text)
    packed.write_bytes(gzip.compress(text))
    assert check(lists, plain)
    assert check(lists, packed)
    assert check(lists, text)
    packed.write_bytes(gzip.compress(text)[:-12])
    with pytest.raises(InputError, match="damaged gzip"):
        check(lists, packed)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not a certificate in JSON"),
        (b"[1, 2]", "lacks"),
        (b'{"format": "x"}', "lacks"),
        (b'{"format": "parentage certificate", "version": 1}', "has version 1"),
        (b'{"format": "parentage certificate", "version": 3}', "has version 3"),
        (b'{"format": "parentage certificate", "version": true}', "has version True"),
        (b'{"format": NaN}', "NaN is not a JSON number"),
        (b'{"a": 1, "a": 2}', "repeats"),
        (b"[" * 100_000, "nested too deeply"),
        (b"9" * 10_000, "not a certificate in JSON"),
        (b"\xff\xfe\x00", "not a certificate in JSON"),
        (b"\x1f\x8bnonsense", "damaged gzip"),
    ],
)
def test_other_files_are_bad_input(data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_document(data)


def test_a_gzip_bomb_is_refused() -> None:
    with pytest.raises(InputError, match="more than 256 MB"):
        read_document(gzip.compress(b" " * (300 * 2**20), 1))


JUNK: list[Any] = [
    None, True, -1, 10**30, 2**62, 0.5, 1e308, "x", [], {}, [[]], [None], [-1], [10**30], [True],
    {"x": 1}, [["round", [0], [-1]]], [["local", [0], [[0]], [[1]], 0]], [[[[[[]]]]]],
]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a document."""
    found = [path] if path else []
    if isinstance(value, dict):
        for key, part in value.items():
            found += places(part, (*path, key))
    elif isinstance(value, list):
        for i, part in enumerate(value):
            found += places(part, (*path, i))
    return found


@pytest.mark.no_cover
@pytest.mark.parametrize("junk", JUNK, ids=str)
def test_junk_anywhere_is_refused_without_a_traceback(junk: Any) -> None:
    """Junk may be bad input or a refusal; verified it may be only where the claim is true."""
    lists, content = certificate(3)
    content["cuts"] = content["cuts"][-14:-12] + content["cuts"][-3:]  # of both kinds
    content["nodes"] = [{"steps": [["round", [0, 4], [5, 6]], ["ancestors"]], "subsets": True}]
    content["constraints"] = {"required": [], "tiers": [["v0"]], "max_parents": {"v1": 5}}
    content = sealed(content)
    assert check(lists, content), check(lists, content).reason
    for path in places(content):
        other = copy.deepcopy(content)
        where = other
        for key in path[:-1]:
            where = where[key]
        where[path[-1]] = copy.deepcopy(junk)
        for edited in (other, sealed(other)):
            try:
                verdict = check(lists, edited)
            except InputError:
                assert path[0] in ("format", "version")
                continue
            assert verdict or verdict.reason
            assert not verdict or claim_is_true(lists, edited)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([], "the proof is empty"),
        ([{"branch": [0, 1, 0, 1]}], "node 0 must come after"),
        ([{"branch": [0, 1, 1, 1]}, {}], "node 1 is used twice"),
        ([{"branch": [0, 0, 1, 2]}, {}, {}], "must be [parent, child"),
        ([{"branch": [0, 1, 1, 2], "subsets": True}, {}, {}], "cannot be combined"),
        ([{"steps": [["round", [0], [-1]]]}], "-1 is out of range"),
        ([{"steps": [["round", [7], [1]]]}], "7 is out of range"),
        ([{"steps": [["round", [0], [2**61]], ["round", [0, 0], [2**61, 2**61]]]}], "62 bits"),
        ([{"steps": [["leap"]]}], 'must be ["round"'),
        ([{"split": [[[2, 3], 3, 1]]}, {"forest": True}], "its bound 1 is less than the goal 3"),
        ([{"split": [[[], 5, 1]]}, {}], "part 0 is not separate"),
        ([{}], "neither its steps nor a branch"),
    ],
)
def test_proofs_that_are_no_proofs(nodes: list[Document], message: str) -> None:
    lists, content = two_pairs()
    content["nodes"] = nodes
    assert message in check(lists, content).reason


def test_too_large_dynamic_programmes_are_refused_before_they_start() -> None:
    lists = CandidateLists.from_families(
        {f"v{i}": [(-1.0, [f"v{(i + 1) % 40}"]), (-2.0, [])] for i in range(40)}
    )
    chosen = [1, *range(2, 80, 2)]
    nodes: list[Document] = [{"subsets": True}]
    content = document(lists, chosen, unit={"decimals": 0}, cuts=[], nodes=nodes)
    assert "40 variables, at most 28" in check(lists, content).reason
    nodes = [{"split": [[list(range(26)), 0, 1]]}, {"subsets": True}]
    content = document(lists, chosen, unit={"decimals": 0}, cuts=[], nodes=nodes, tolerance=1)
    assert "26 variables need 0.5 GB" in check(lists, content, memory=5e8).reason
    large = ["local", list(range(17)), [[]] * 17, [[]] * 17, 0]
    content = document(lists, chosen, unit={"decimals": 0}, cuts=[large], nodes=nodes)
    assert "17 members; must be 1 to 16" in check(lists, content).reason


def test_broken_lists_are_bad_input() -> None:
    lists, content = two_pairs()
    scores = lists.scores.copy()
    scores[0] = np.nan
    with pytest.raises(ListsError, match="not a finite number"):
        check(
            CandidateLists(lists.names, lists.offsets, lists.starts, lists.parents, scores), content
        )
    parents = lists.parents.copy()
    parents[0] = 0
    with pytest.raises(ListsError, match="not another variable"):
        check(
            CandidateLists(lists.names, lists.offsets, lists.starts, parents, lists.scores), content
        )


def test_the_room_needs_no_solver_and_no_kernels() -> None:
    import subprocess
    import sys

    code = (
        "import sys, parentage.check\n"
        "bad = ('numba', 'highspy', 'pyscipopt', 'parentage.optimise', 'parentage.kernels',"
        " 'parentage.network')\n"
        "print([name for name in sys.modules if name.startswith(bad)])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
