"""Other scores against BIC: counting time per set and the whole search, within one run.

One core, kernels compiled, CPU time, best of several. *Counting* is the kernel alone, every set
counted; *search* is everything from the table to the lists, with the rules of each score.

``python benchmarks/bench_scores.py gobnilp`` measures one part anew (speed, lists or gobnilp).
"""

from __future__ import annotations

import json
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import measure
from bench_score import alarm, insurance, uci
from parentage.scoring import encoding as entropy
from parentage.scoring.candidates import score

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from parentage.data.table import Table

SCORES = ["bic", "qnml", "bdeu:1", "k2", "jeffreys", "fnml"]
SPEED: dict[str, tuple[Callable[[], Table], int]] = {
    "alarm 1000 rows, k = 3": (lambda: alarm(1000), 3),
    "alarm 1000 rows, k = 4": (lambda: alarm(1000), 4),
    "flags, k = 5": (lambda: uci("flags", ("name",)), 5),
    "alarm 10,000 rows, k = 3": (lambda: alarm(10_000), 3),
}
LISTS: list[tuple[str, Callable[[], Table], str, int | None, int]] = [
    ("alarm 1000 rows", lambda: alarm(1000), "bdeu:1", 2, 1123),
    ("alarm 1000 rows", lambda: alarm(1000), "bdeu:1", 3, 1697),
    ("alarm 1000 rows", lambda: alarm(1000), "bdeu:1", 4, 1889),
    ("alarm 1000 rows", lambda: alarm(1000), "bdeu:10", 3, 4294),
    ("alarm 10,000 rows", lambda: alarm(10_000), "bdeu:1", 3, 4373),
    ("insurance 1000 rows", lambda: insurance(1000), "bdeu:1", 3, 905),
    ("hepatitis", lambda: uci("hepatitis"), "bdeu:1", None, 322),
    ("vote", lambda: uci("vote"), "bdeu:1", None, 1700),
    ("alarm 1000 rows", lambda: alarm(1000), "qnml", 3, 1572),
    ("alarm 1000 rows", lambda: alarm(1000), "qnml", 4, 1602),
    ("insurance 1000 rows", lambda: insurance(1000), "qnml", 3, 1178),
    ("hepatitis", lambda: uci("hepatitis"), "qnml", None, 2729),
    ("vote", lambda: uci("vote"), "qnml", None, 4597),
]


class _Counting:
    """Adds up the CPU time spent in the counting kernel."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._count = entropy.Encoded.count

    def __enter__(self) -> _Counting:
        def timed(*arguments: Any) -> Any:
            began = time.process_time()
            found = self._count(*arguments)
            self.seconds += time.process_time() - began
            return found

        setattr(entropy.Encoded, "count", timed)  # noqa: B010  # mypy minds an assignment
        return self

    def __exit__(self, *_: object) -> None:
        setattr(entropy.Encoded, "count", self._count)  # noqa: B010  # the same


def _times(table: Table, k: int, repeat: int = 2) -> Iterator[tuple[str, float, float]]:
    """Yield score, least seconds of counting every set, and of the whole search with rules."""
    counting = dict.fromkeys(SCORES, float("inf"))
    searching = dict.fromkeys(SCORES, float("inf"))
    for _ in range(repeat):  # in turn, so that a busy moment does not hit one score alone
        for name in SCORES:
            with _Counting() as clock:
                score(table, score=name, max_parents=k, rules="none", threads=1)
            counting[name] = min(counting[name], clock.seconds)
            seconds, _ = measure.cpu(partial(score, table, score=name, max_parents=k, threads=1), 1)
            searching[name] = min(searching[name], seconds)
    for name in SCORES:
        yield name, counting[name], searching[name]


def bench_speed() -> list[dict[str, Any]]:
    """Counting time of every score relative to BIC's, on the same sets."""
    found = []
    for job, (make, k) in SPEED.items():
        table = make()
        times = list(_times(table, k))
        base = times[0][1]
        found += [
            {"job": job, "score": name, "counting": counting, "to_bic": counting / base,
             "search": search}
            for name, counting, search in times
        ]  # fmt: skip
    return found


def bench_lists() -> list[dict[str, Any]]:
    """Sizes of lists that are known from elsewhere, and what they take."""
    found = []
    for job, make, name, k, expected in LISTS:
        table = make()
        seconds, lists = measure.cpu(partial(score, table, score=name, max_parents=k, threads=1), 2)
        assert lists.n_sets == expected, (job, name, k, lists.n_sets)
        tallies = lists.known().tallies
        found.append({"job": job, "score": name, "k": k, "kept": lists.n_sets,
                      "sets": tallies.sets_counted, "scored": tallies.families_scored,
                      "deepest": lists.max_in_degree, "seconds": seconds})  # fmt: skip
    return found


def bench_gobnilp() -> dict[str, Any] | None:
    """BDeu on alarm with up to three parents beside pygobnilp, in one run; None without it.

    Only its scoring is used, which needs no solver: ``pip install --no-deps pygobnilp``.
    """
    try:
        from pygobnilp import scoring
    except ImportError:
        return None
    import pandas as pd

    table = alarm(1000)
    columns = {
        name: [table.states[v][code] for code in table.to_codes()[v]]
        for v, name in enumerate(table.names)
    }
    data = scoring.DiscreteData(pd.DataFrame(columns, dtype="category"))

    class BDeu(scoring.BDeu):  # type: ignore[misc]  # no types there
        """Its own list of all scores takes the component alone; in 1.0 a count comes with it."""

        def bdeu_score_component(self, *arguments: Any) -> float:
            return float(super().bdeu_score_component(*arguments)[0])

    BDeu(data, 1.0).bdeu_scores(palim=1)  # compiles
    theirs, kept = measure.cpu(lambda: BDeu(data, 1.0).bdeu_scores(palim=3), 1)
    ours, lists = measure.cpu(partial(score, table, score="bdeu:1", max_parents=3, threads=1), 5)
    assert lists.n_sets == sum(len(sets) for sets in kept.values())
    return {"pygobnilp": theirs, "parentage": ours, "ratio": theirs / ours, "kept": lists.n_sets}


PARTS: dict[str, Callable[[], Any]] = {
    "speed": bench_speed,
    "lists": bench_lists,
    "gobnilp": bench_gobnilp,
}


def main(chosen: list[str]) -> None:
    """Run the parts that are named, or all, and write ``results/scores``; the others stay."""
    small = alarm(100)
    for name in SCORES:
        score(small, score=name, max_parents=2, threads=1)
    before = measure.RESULTS / "scores.json"
    content = json.loads(before.read_text()) if chosen else {}
    content |= {part: PARTS[part]() for part in chosen or PARTS}
    measure.write("scores", content, as_markdown(content))


def as_markdown(content: dict[str, Any]) -> str:
    """The tables that the docs quote."""
    jobs = list(SPEED)
    counting, search = [], []
    for name in SCORES:
        rows = {row["job"]: row for row in content["speed"] if row["score"] == name}
        counting.append([f"`{name}`", *(f"{rows[job]['to_bic']:.2f} ×" for job in jobs)])
        search.append([f"`{name}`", *(f"{rows[job]['search']:.2f}" for job in jobs)])
    lists = [
        [row["job"], f"`{row['score']}`", "–" if row["k"] is None else str(row["k"]),
         f"{row['kept']:,}", str(row["deepest"]), f"{row['sets']:,}", f"{row['scored']:,}",
         f"{row['seconds']:.2f}"]
        for row in content["lists"]
    ]  # fmt: skip
    other = content["gobnilp"]
    beside = "pygobnilp is not installed: not measured."
    if other is not None:
        beside = (
            f"alarm, 1000 rows, k = 3, BDeu with ess 1: pygobnilp takes {other['pygobnilp']:.2f} "
            f"CPU s, we take {other['parentage']:.3f}, {other['ratio']:.0f} times less; the same "
            f"{other['kept']:,} sets."
        )
    return "\n\n".join(
        [
            "# Scores",
            "One core, kernels compiled, reading excluded, CPU time, best of several; made by "
            "`python benchmarks/bench_scores.py`.",
            "## Counting time relative to BIC",
            "All sets counted, the kernel alone. K2, Jeffreys and fNML count the sets that become "
            "parents once more for every number of states:",
            measure.markdown(["score", *jobs], counting),
            "## Seconds of the whole search, default rules",
            measure.markdown(["score", *jobs], search),
            "## Lists",
            measure.markdown(
                ["table", "score", "k", "kept", "most parents", "sets counted", "families scored",
                 "CPU s"],
                lists,
            ),
            "## Beside pygobnilp",
            beside,
        ]
    )  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
