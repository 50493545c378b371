"""Kernels that disturb an order at random, for the order search; the random numbers are our own.

``order[n]`` holds the variables, first to last; ``state[1]`` the state of the random numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.kernels._options import JIT, njit

if TYPE_CHECKING:
    from parentage.arrays import Ints, Words


class Moves(NamedTuple):
    """How far an order search goes at a time (:class:`parentage.optimise.tuning.Tuning`)."""

    strength: int
    """Most moves of one disturbance."""
    block: int
    """Longest block that changes places."""
    width: int
    """Most variables of a region."""
    tries: int
    """Draws for each member of a region."""


@njit(**JIT)
def overwrite(target: npt.NDArray[Any], source: npt.NDArray[Any]) -> None:
    """Copy element by element: ``target[:] = source`` compiles for seconds, to raise errors."""
    for j in range(target.shape[0]):
        target[j] = source[j]


@njit(**JIT)
def shift(order: Ints, source: int, target: int) -> None:
    """Move the variable at one position to another; those between close up."""
    v = order[source]
    if target < source:
        for j in range(source, target, -1):
            order[j] = order[j - 1]
    else:
        for j in range(source, target):
            order[j] = order[j + 1]
    order[target] = v


@njit(**JIT)
def draw(state: Words, below: int) -> int:
    """Draw a whole number below a limit (splitmix64; the state is the caller's)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return int((z >> np.uint64(11)) % np.uint64(below))


@njit(**JIT)
def shuffle(values: Ints, state: Words) -> None:
    """Permute an array at random (Fisher–Yates)."""
    for j in range(values.shape[0] - 1, 0, -1):
        k = draw(state, j + 1)
        values[j], values[k] = values[k], values[j]


@njit(**JIT)
def exchange_blocks(order: Ints, longest: int, state: Words) -> None:
    """Exchange two neighbouring blocks of random lengths up to ``longest``."""
    n = order.shape[0]
    start = draw(state, n)
    middle = min(n, start + 1 + draw(state, longest))
    end = min(n, middle + 1 + draw(state, longest))
    block = order[start:middle].copy()
    for j in range(middle, end):
        order[start + j - middle] = order[j]
    for j in range(block.shape[0]):
        order[end - block.shape[0] + j] = block[j]
