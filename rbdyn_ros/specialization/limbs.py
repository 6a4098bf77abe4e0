"""Limbs that are alike, computed side by side: the legs of a robot fill a vector register.

Two limbs whose joints are of the same types lead kernels through the same operations on other
numbers. Where every operation on one has its like on the others, one on vectors does the work of
all. Which inputs are alike the tree says; from there on operations are alike whose operands are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.model.data import DATA_FIELDS
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.model_fields import MODEL_FIELDS
from rbdyn_ros.specialization.likes import Likes, Places
from rbdyn_ros.specialization.packing import Packing
from rbdyn_ros.specialization.program import LEAVES, Program

#: Limbs of a kind that are computed side by side.
LANES = (2, 4, 8)

#: Numbers for each body that may make a difference between limbs that are taken for alike.
FEW = 2

Limbs = tuple[tuple[int, ...], ...]  # by lane the bodies of all limbs in it, in one order


def side_by_side(m: Model, program: Program, width: int) -> Program:
    """Return a program in which operations on limbs that are alike are operations on vectors.

    Args:
        m: the Model whose program it is.
        program: of one robot.
        width: numbers in a vector register.
    """
    best = program
    for lanes in LANES:
        limbs = alike(m, lanes) if lanes <= width else ()
        if limbs:
            likes = Likes(program, _places(m, limbs), lanes - 1)
            packed = Packing(program, likes).program(program.outputs)
            best = min(best, packed, key=_instructions)
    return best


def _instructions(program: Program) -> int:
    return sum(operation[0] not in LEAVES for operation in program.operations)


def uneven(m: Model) -> dict[str, set[int]]:
    """Return by array of a Model the places of numbers that a trace must not take for known.

    A zero, a one or a minus one leaves no operation behind, another number does; so where limbs
    differ in one of these, as where a URDF has 1e-11 on the right and 0 on the left, nothing that
    comes of it is alike. Where such numbers are few it costs little to keep the operations.
    Kernels see symbols in these places, so they may not look at the numbers.
    """
    found: dict[str, set[int]] = {}
    for lanes in LANES:
        limbs = alike(m, lanes)
        kept = _uneven(m, limbs) if limbs else {}
        if sum(map(len, kept.values())) <= FEW * lanes * len(limbs[0] if limbs else ()):
            for name, places in kept.items():
                found.setdefault(name, set()).update(places)
    return found


def _uneven(m: Model, limbs: Limbs) -> dict[str, set[int]]:
    places = _places(m, limbs)
    found: dict[str, set[int]] = {}
    for field in MODEL_FIELDS:
        # parameters of joints go to functions of users, which may look at known numbers
        if field.kind == "float" and field.name in places and field.name != "jnt_param":
            flat = getattr(m, field.name).reshape(-1)
            rows = [[first, *others] for first, others in places[field.name].items()]
            # joints that follow have their entries behind, not in every array
            kept = [row for row in rows if max(row) < flat.size and _parts(flat[row])]
            if kept:
                found[field.name] = {k for row in kept for k in row}
    return found


def _parts(numbers: NDArray[np.float64]) -> bool:
    """Whether some of these numbers leave an operation behind and others do not, or another."""
    return bool(np.isin(numbers, (0.0, 1.0, -1.0)).any() and (numbers != numbers[0]).any())


def alike(m: Model, lanes: int) -> Limbs:
    """Return limbs that hang on one body and are alike, so many of a kind; empty if none are."""
    children: list[list[int]] = [[] for _ in range(m.nbody)]
    for body in range(1, m.nbody):
        children[m.body_parentid[body]].append(body)
    kinds: list[tuple[Any, ...]] = [()] * m.nbody
    for body in range(m.nbody - 1, 0, -1):
        below = tuple(kinds[child] for child in children[body])
        j = body - 1
        size = int(m.jnt_dofnum[j]), m.jnt_kind(j).nq
        kinds[body] = (int(m.jnt_type[j]), m.jnt_usertype[j], size, int(m.jnt_reversed[j]), below)
    found: list[list[int]] = [[] for _ in range(lanes)]
    left = [0]
    while left:
        body = left.pop()
        groups: dict[Any, list[int]] = {}
        for child in children[body]:
            groups.setdefault(kinds[child], []).append(child)
        for group in groups.values():
            together = len(group) // lanes * lanes
            for k in range(0, together, lanes):
                for lane in range(lanes):
                    found[lane] += _subtree(children, group[k + lane])
            left += group[together:]
    return tuple(map(tuple, found)) if found[0] else ()


def _subtree(children: Sequence[Sequence[int]], body: int) -> list[int]:
    bodies = [body]
    for child in children[body]:
        bodies += _subtree(children, child)
    return bodies


def _places(m: Model, limbs: Limbs) -> Places:
    """Return by array and place in it, on the first limbs, the places on the others."""
    rows = {
        "nbody": [np.array(lane) for lane in limbs],
        "njnt": [np.array(lane) - 1 for lane in limbs],
        "nv": [_entries(m.jnt_dofadr_all, m.jnt_dofnum, lane) for lane in limbs],
        "nq": [_entries(m.jnt_qposadr_all, _position_numbers(m), lane) for lane in limbs],
    }
    found: dict[str, dict[int, tuple[int, ...]]] = {}
    for field in (*DATA_FIELDS, *MODEL_FIELDS):
        if field.dims and field.dims[0] in rows:
            width = int(np.prod([dim for dim in field.dims[1:] if isinstance(dim, int)]))
            lanes = [
                (row[:, None] * width + np.arange(width)).ravel().tolist()
                for row in rows[str(field.dims[0])]
            ]
            found[field.name] = {
                first: tuple(others) for first, *others in zip(*lanes, strict=True)
            }
    return found


def _entries(first: Any, number: Any, bodies: Sequence[int]) -> Any:
    return np.array([k for b in bodies for k in range(first[b - 1], first[b - 1] + number[b - 1])])


def _position_numbers(m: Model) -> list[int]:
    return [m.jnt_kind(j).nq for j in range(m.njnt)]
