"""Kernels on candidate sets as bit masks: dominance and strongly connected components.

Axes: ``m`` sets, all children together, cut by ``offsets[n + 1]``; ``W`` 64-bit words per mask.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from parentage.kernels._options import JIT, njit


@njit(**JIT)
def undominated(
    offsets: npt.NDArray[np.int64], masks: npt.NDArray[np.uint64]
) -> npt.NDArray[np.bool_]:
    """Mark the sets that no earlier kept set of the same child is contained in.

    ``masks[m, W]``; the sets of a child stand by rising cost, so an earlier subset is never
    dearer and can take the place of the later set in any network.
    """
    n_words = masks.shape[1]
    keep = np.zeros(masks.shape[0], np.bool_)
    kept = np.empty(masks.shape[0], np.int64)
    for child in range(offsets.shape[0] - 1):
        n_kept = 0
        for i in range(offsets[child], offsets[child + 1]):
            dominated = False
            for j in range(n_kept):
                beyond = np.uint64(0)
                for w in range(n_words):
                    beyond |= masks[kept[j], w] & ~masks[i, w]
                if beyond == np.uint64(0):
                    dominated = True
                    break
            if not dominated:
                kept[n_kept] = i
                n_kept += 1
                keep[i] = True
    return keep


@njit(**JIT)
def best_proper_subsets(
    offsets: npt.NDArray[np.int64],
    masks: npt.NDArray[np.uint64],
    scores: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Return for every set the best score of a proper subset in the same child's list; −∞: none.

    ``masks[m, W]``, ``scores[m]``; the sets of a child stand by falling score.
    """
    n_words = masks.shape[1]
    best = np.full(masks.shape[0], -np.inf)
    for child in range(offsets.shape[0] - 1):
        for i in range(offsets[child], offsets[child + 1]):
            for j in range(offsets[child], offsets[child + 1]):
                beyond, fewer = np.uint64(0), np.uint64(0)
                for w in range(n_words):
                    beyond |= masks[j, w] & ~masks[i, w]
                    fewer |= masks[i, w] & ~masks[j, w]
                if beyond == np.uint64(0) and fewer != np.uint64(0):
                    best[i] = scores[j]
                    break
    return best


@njit(**JIT)
def strong_components(
    starts: npt.NDArray[np.int64], heads: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Label the strongly connected components of a graph (Tarjan 1972, without recursion).

    Node ``v`` points to ``heads[starts[v]:starts[v + 1]]``. Labels count up in the order in
    which components are completed: a component's successors have smaller labels.
    """
    n = starts.shape[0] - 1
    label = np.full(n, -1, np.int64)
    number = np.full(n, -1, np.int64)
    low = np.zeros(n, np.int64)
    at = np.zeros(n, np.int64)
    stack = np.empty(n, np.int64)
    path = np.empty(n, np.int64)
    on_stack, visited, labels = 0, 0, 0
    for root in range(n):
        if number[root] >= 0:
            continue
        depth = 0
        path[0] = root
        number[root] = low[root] = visited
        visited += 1
        at[root] = starts[root]
        stack[on_stack] = root
        on_stack += 1
        while depth >= 0:
            v = path[depth]
            if at[v] < starts[v + 1]:
                u = heads[at[v]]
                at[v] += 1
                if number[u] < 0:
                    number[u] = low[u] = visited
                    visited += 1
                    at[u] = starts[u]
                    stack[on_stack] = u
                    on_stack += 1
                    depth += 1
                    path[depth] = u
                elif label[u] < 0:
                    low[v] = min(low[v], number[u])
            else:
                depth -= 1
                if depth >= 0:
                    low[path[depth]] = min(low[path[depth]], low[v])
                if low[v] == number[v]:
                    while True:
                        on_stack -= 1
                        label[stack[on_stack]] = labels
                        if stack[on_stack] == v:
                            break
                    labels += 1
    return label
