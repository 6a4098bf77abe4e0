# SPDX-License-Identifier: Apache-2.0
"""Find the parts that two Models have in common, by names and, for joints, also by types."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.model.declared.joints import joint_kinds
from rbdyn_ros.model.model import Model


class Match:
    """The parts that two Models have in common.

    Args:
        old, new: the Models.

    Attributes:
        old, new: the Models.
        places: for each size, the indices of the common entries in both Models, ascending.
    """

    def __init__(self, old: Model, new: Model) -> None:
        self.old, self.new = old, new
        joints = _common_joints(old, new)
        world: Ints = np.zeros(1, np.int64)
        q = _entries(joints, old, new, "jnt_qposadr_all", "nq")
        v = _entries(joints, old, new, "jnt_dofadr_all", "nv")
        self.places: dict[str, tuple[Ints, Ints]] = {
            "njnt": joints,
            "nbody": (np.append(world, joints[0] + 1), np.append(world, joints[1] + 1)),
            "nqall": q,
            "nvall": v,
            "nq": _below(q, old.nq, new.nq),
            "nv": _below(v, old.nv, new.nv),
        }

    def coordinates(self, old: Array, new: Array) -> Array:
        """Return positions (nq,) of the new Model: `old` for common joints, `new` for others."""
        qpos = np.array(new)
        before, now = self.places["nq"]
        qpos[now] = old[before]
        return qpos


def common_numbers(old: Sequence[str], new: Sequence[str]) -> dict[int, int]:
    """Return a dict from old to new numbers, for the names that are in both lists."""
    known = {name: k for k, name in enumerate(new)}
    return {k: known[name] for k, name in enumerate(old) if name in known}


def _common_joints(old: Model, new: Model) -> tuple[Ints, Ints]:
    """Return the old and the new numbers of joints of the same name and type."""
    types = [list(zip(m.jnt_type.tolist(), m.jnt_usertype, strict=True)) for m in (old, new)]
    found = [
        (a, b)
        for a, b in common_numbers(old.jnt_names, new.jnt_names).items()
        if types[0][a] == types[1][b]
    ]
    pairs: Ints = np.array(found, np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _entries(
    joints: tuple[Ints, Ints], old: Model, new: Model, address: str, number: str
) -> tuple[Ints, Ints]:
    """Return the indices in both Models of common joints' coordinates (number: nq or nv)."""
    kinds = joint_kinds(old.jnt_type, old.jnt_usertype)
    pairs = [
        (getattr(old, address)[a] + n, getattr(new, address)[b] + n)
        for a, b in zip(*(x.tolist() for x in joints), strict=True)
        for n in range(getattr(kinds[a], number))
    ]
    found: Ints = np.array(pairs, np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def _below(entries: tuple[Ints, Ints], old: int, new: int) -> tuple[Ints, Ints]:
    kept = (entries[0] < old) & (entries[1] < new)
    return entries[0][kept], entries[1][kept]
