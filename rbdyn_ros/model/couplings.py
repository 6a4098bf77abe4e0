"""Joints that follow others: which, how fast, and what that does to the pattern of M.

A joint that follows has no freedom: q = ratio q_followed + offset, the explicit constraint of RBDA
eq 3.11 with a constant G. Its coordinate stands behind the others in qvel_all; what acts along it
acts, times the ratio, on the dof it follows.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbdyn_ros.description.types import Joint

Arrays = dict[str, NDArray[Any]]
Ints = NDArray[np.int64]

#: Classes of joints, in the order of their coordinates in qpos_all and qvel_all.
FREE, DRIVEN, FOLLOWING = range(3)

#: largest number of entries for which Data holds the joint-space inertia matrix
MAX_M_ENTRIES = 2_000_000


def couplings(joints: Sequence[Joint]) -> Arrays:
    """Return jnt_mimic, jnt_mimic_ratio and jnt_mimic_offset; chains lead to their last joint.

    Args:
        joints: in the order of the Model, passed by description/mimics.py.
    """
    number = {joint.name: j for j, joint in enumerate(joints)}
    followed = np.full(len(joints), -1)
    ratio, offset = np.ones(len(joints)), np.zeros(len(joints))
    mimics = {j: joint.mimic for j, joint in enumerate(joints) if joint.mimic}
    for first in mimics:
        chain = []  # of joints whose leader is not known yet
        j = first
        while j in mimics and followed[j] < 0:
            chain.append(j)
            j = number[mimics[j].joint]
        for follower in reversed(chain):
            mimic = mimics[follower]
            target = number[mimic.joint]
            # q = r (r' q' + o') + o
            followed[follower] = followed[target] if target in mimics else target
            ratio[follower] = mimic.ratio * ratio[target]
            offset[follower] = mimic.ratio * offset[target] + mimic.offset
    return {"jnt_mimic": followed, "jnt_mimic_ratio": ratio, "jnt_mimic_offset": offset}


def joint_classes(followed: Ints, driven: NDArray[np.bool_]) -> Ints:
    """Return FREE, DRIVEN or FOLLOWING by joint; what follows a driven joint is driven."""
    leader = np.where(followed >= 0, followed, np.arange(len(followed)))
    classes = np.where(followed >= 0, FOLLOWING, FREE)
    classes[driven[leader]] = DRIVEN
    return classes


def starts_by_class(lengths: ArrayLike, classes: Ints) -> Ints:
    """Return where each joint's share begins: those of a class come after all lower ones."""
    shares = np.asarray(lengths, np.int64)
    order = np.argsort(classes, kind="stable")
    starts = np.zeros_like(shares)
    starts[order] = np.cumsum(shares[order]) - shares[order]
    return starts


def joint_addresses(nq: ArrayLike, nv: ArrayLike, followed: Ints, classes: Ints) -> Arrays:
    """Return where the coordinates of each joint are, and those of the joint it follows."""
    own_q, own_v = starts_by_class(nq, classes), starts_by_class(nv, classes)
    leader = np.where(followed >= 0, followed, np.arange(len(followed)))
    return {
        "jnt_qposadr": own_q[leader],
        "jnt_dofadr": own_v[leader],
        "jnt_qposadr_all": own_q,
        "jnt_dofadr_all": own_v,
        "mimic_jntid": np.flatnonzero(classes == FOLLOWING),
    }


def inertia_pattern(arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """Return where M has entries, and what adds to them; none at all where they are too many.

    A row of M holds the dofs on its way to the root of the elimination tree: of a plain tree that
    is the tree itself; where joints follow others, L^T D L fills in no more than that.
    Source: Liu, The role of elimination trees in sparse factorization, 1990.
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


def _dofs_on_way(arrays: Mapping[str, NDArray[Any]], body: int) -> list[tuple[int, int, float]]:
    """Return coordinate, dof and ratio of all that moves a body and is not driven, tip first."""
    way = []
    nv, ndrive = len(arrays["dof_parentid"]), len(arrays["drive_knotnum"])
    while body > 0:
        j = body - 1
        own, leading = int(arrays["jnt_dofadr_all"][j]), int(arrays["jnt_dofadr"][j])
        if own < nv:
            way += [
                (k, k, 1.0) for k in range(own + int(arrays["jnt_dofnum"][j]) - 1, own - 1, -1)
            ]
        elif own >= nv + ndrive:
            way.append((own, leading, float(arrays["jnt_mimic_ratio"][j])))
        body = int(arrays["body_parentid"][body])
    return way


def _elimination_tree(arrays: Mapping[str, NDArray[Any]], nv: int) -> Ints:
    """Return, by dof, the highest lower one it meets in M when those above it are eliminated."""
    met: list[set[int]] = [set() for _ in range(nv)]
    below = np.zeros(len(arrays["body_parentid"]), bool)  # of a joint that follows
    below[arrays["mimic_jntid"] + 1] = True
    for i, parent in enumerate(arrays["body_parentid"][1:], start=1):
        below[i] |= below[parent]
        if below[i]:
            # all that move one body meet; a chain of them in descending order says as much
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


def _pairs(arrays: Mapping[str, NDArray[Any]], pattern: Arrays) -> Arrays:
    """Return every pair of coordinates that meet, the entry of M they add to, and how much."""
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


def _count_pairs(arrays: Mapping[str, NDArray[Any]]) -> int:
    """Return how many pairs there are, without making them."""
    if len(arrays["mimic_jntid"]) == 0:
        return 0
    number = np.concatenate([[0], arrays["jnt_dofnum"]])
    above = number.copy()
    for i, parent in enumerate(arrays["body_parentid"][1:], start=1):
        above[i] += above[parent]
    return int((number * above).sum())


def _row(pattern: Arrays, k: int) -> Ints:
    start: int = pattern["M_rowadr"][k]
    columns: Ints = pattern["M_colind"][start : start + pattern["M_rownnz"][k]]
    return columns


def _carries(arrays: Mapping[str, NDArray[Any]], body: int, coordinate: int) -> bool:
    first = arrays["jnt_dofadr_all"][body - 1]
    return bool(first <= coordinate < first + arrays["jnt_dofnum"][body - 1])
