"""Inference by enumeration: every joint state, one after the other. Slow and obviously right."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parentage.network.parameters import Parameters

Row = tuple[int, ...]


def joint_states(
    parameters: Parameters, intervene: Mapping[int, int]
) -> Iterator[tuple[Row, float]]:
    """Yield every joint state of all variables with its probability, some set from outside."""
    sizes = [range(len(labels)) for labels in parameters.states]
    for row in product(*sizes):
        if any(row[v] != code for v, code in intervene.items()):
            continue
        p = 1.0
        for v, parents in enumerate(parameters.network.parents):
            if v in intervene:
                continue
            j = 0
            for u in parents:
                j = j * len(parameters.states[u]) + row[u]
            p *= float(parameters.tables[v][j][row[v]])
        yield row, p


def naive_joint(
    parameters: Parameters,
    targets: Sequence[int],
    given: Mapping[int, int],
    intervene: Mapping[int, int],
) -> tuple[dict[Row, float], float]:
    """P(targets | given) by joint state of the targets, and P(given)."""
    terms: dict[Row, list[float]] = {}
    for row, p in joint_states(parameters, intervene):
        if all(row[v] == code for v, code in given.items()):
            terms.setdefault(tuple(row[v] for v in targets), []).append(p)
    sums = {state: math.fsum(found) for state, found in terms.items()}
    total = math.fsum(sums.values())
    return {state: p / total if total else math.nan for state, p in sums.items()}, total


def naive_most_probable(
    parameters: Parameters, given: Mapping[int, int], intervene: Mapping[int, int]
) -> float:
    """The largest probability of a joint state that agrees with the evidence."""
    return max(
        p
        for row, p in joint_states(parameters, intervene)
        if all(row[v] == code for v, code in given.items())
    )
