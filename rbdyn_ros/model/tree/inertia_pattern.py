# SPDX-License-Identifier: Apache-2.0
"""The sparsity pattern of the joint-space inertia matrix M, and the sums that fill it."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Ints, NamedArrays
from rbdyn_ros.model.declared.joints import JointClass

#: A Data has M only if M has at most this number of entries.
MAX_M_ENTRIES = 2_000_000


def inertia_pattern(arrays: NamedArrays) -> dict[str, NDArray[Any]]:
    """Return the fields M_* and pair_*; all empty if M has more than MAX_M_ENTRIES entries.

    A row of M holds the dofs on the path to the root of the elimination tree. For a plain tree the
    elimination tree is the tree itself. With mimic joints the L^T D L factors have no entries
    outside this pattern. Source: Liu, The role of elimination trees in sparse factorization, 1990.

    Args:
        arrays: the fields of bodies, joints and dofs.
    """
    nv = len(arrays["dof_parentid"])
    parent = arrays["dof_parentid"].astype(np.int64)
    if len(arrays["mimic_jntid"]):
        parent = _elimination_tree(arrays, nv)
    depth = np.ones(nv, np.int64)
    for i, p in enumerate(parent):
        if p >= 0:
            depth[i] += depth[p]
    if depth.sum() > MAX_M_ENTRIES or _count_pairs(arrays) > MAX_M_ENTRIES:
        depth[:] = 0
    starts = np.cumsum(depth) - depth
    columns = np.empty(depth.sum(), np.int64)
    for i, p in enumerate(parent):
        n, row = depth[i], starts[i]
        if n > 0:
            columns[row + n - 1] = i
        if n > 1:
            columns[row : row + n - 1] = columns[starts[p] : starts[p] + n - 1]
    pattern = {"M_rownnz": depth, "M_rowadr": starts, "M_colind": columns}
    return {**pattern, **_pairs(arrays, pattern)}


def _dofs_on_way(arrays: NamedArrays, body: int) -> list[tuple[int, int, float]]:
    """Return coordinate, dof and ratio of a body's free and mimic ancestor joints, tip first."""
    way = []
    while body > 0:
        j = body - 1
        own, leading = int(arrays["jnt_dofadr_all"][j]), int(arrays["jnt_dofadr"][j])
        if arrays["jnt_class"][j] == JointClass.FREE:
            last = own + int(arrays["jnt_dofnum"][j]) - 1
            way += [(k, k, 1.0) for k in range(last, own - 1, -1)]
        elif arrays["jnt_class"][j] == JointClass.MIMIC:
            way.append((own, leading, float(arrays["jnt_mimic_ratio"][j])))
        body = int(arrays["body_parentid"][body])
    return way


def _elimination_tree(arrays: NamedArrays, nv: int) -> Ints:
    """Return the parent of each dof: the last dof before it in its row after elimination."""
    met: list[set[int]] = [set() for _ in range(nv)]
    below = np.zeros(len(arrays["body_parentid"]), bool)  # whether a body is below a mimic joint
    below[arrays["mimic_jntid"] + 1] = True
    for i, parent in enumerate(arrays["body_parentid"][1:], start=1):
        below[i] |= below[parent]
        if below[i]:
            # all dofs that move one body are coupled; a chain in descending order is enough
            together = sorted({dof for _, dof, _ in _dofs_on_way(arrays, i)}, reverse=True)
            for high, low in itertools.pairwise(together):
                met[high].add(low)
    for k, above in enumerate(arrays["dof_parentid"]):
        if above >= 0 and not below[arrays["dof_bodyid"][k]]:
            met[k].add(int(above))
    parents = np.full(nv, -1, np.int64)
    for k in range(nv - 1, -1, -1):
        if met[k]:
            parents[k] = max(met[k])
            met[parents[k]] |= met[k] - {parents[k]}
    return parents


def _pairs(arrays: NamedArrays, pattern: NamedArrays) -> dict[str, NDArray[Any]]:
    """Return pairs of coordinates on one path, each with its entry of M and its weight."""
    coords: list[tuple[int, int]] = []
    entries: list[int] = []
    weights: list[float] = []
    if len(arrays["mimic_jntid"]) and len(pattern["M_colind"]):
        first, number = pattern["M_rowadr"], pattern["M_rownnz"]
        place = [
            {int(c): int(first[k]) + n for n, c in enumerate(_row(pattern, k))}
            for k in range(len(number))
        ]
        for i in range(1, len(arrays["body_parentid"])):
            way = _dofs_on_way(arrays, i)
            own = [one for one in way if _carries(arrays, i, one[0])]
            for n, (c, k, r) in enumerate(own):
                for other, dof, share in way[n:]:
                    coords.append((c, other))
                    entries.append(place[max(k, dof)][min(k, dof)])
                    weights.append(r * share * (2.0 if k == dof and c != other else 1.0))
    return {
        "pair_coord": np.array(coords, np.int64).reshape(-1, 2),
        "pair_entry": np.array(entries, np.int64),
        "pair_weight": np.array(weights),
    }


def _count_pairs(arrays: NamedArrays) -> int:
    """Return an upper bound of the number of pairs, without a list of them."""
    if len(arrays["mimic_jntid"]) == 0:
        return 0
    number = np.concatenate([[0], arrays["jnt_dofnum"]])
    above = number.copy()
    for i, parent in enumerate(arrays["body_parentid"][1:], start=1):
        above[i] += above[parent]
    return int((number * above).sum())


def _row(pattern: NamedArrays, k: int) -> Ints:
    start: int = pattern["M_rowadr"][k]
    columns: Ints = pattern["M_colind"][start : start + pattern["M_rownnz"][k]]
    return columns


def _carries(arrays: NamedArrays, body: int, coordinate: int) -> bool:
    first = arrays["jnt_dofadr_all"][body - 1]
    return bool(first <= coordinate < first + arrays["jnt_dofnum"][body - 1])
