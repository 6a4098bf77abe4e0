# SPDX-License-Identifier: Apache-2.0
"""Compute similar limbs, such as the legs of a robot, side by side in a vector register.

Kernels do the same operations, with different numbers, on two limbs whose joints have the same
types. One vector operation replaces the matching operations of all such limbs. The kinematic tree
determines which inputs match, and operations match if their operands match.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.model.declared.data_fields import DATA_FIELDS
from rbdyn_ros.model.declared.model_fields import MODEL_FIELDS
from rbdyn_ros.model.model import Model
from rbdyn_ros.specialization.programs.matching import Matching, Places
from rbdyn_ros.specialization.programs.program import LEAVES, Program
from rbdyn_ros.specialization.programs.vectorize import Vectorizer

#: Numbers of similar limbs that are computed side by side.
LANES = (2, 4, 8)

#: Differing numbers stay symbols if a limb has at most this many of them per body.
FEW = 2

Limbs = tuple[tuple[int, ...], ...]  # for each lane, the bodies of its limbs, in the same order


def side_by_side(m: Model, program: Program, width: int) -> Program:
    """Return a program with vector operations for similar limbs.

    Args:
        m: the Model of the program.
        program: program of one robot.
        width: number of values in a vector register.
    """
    best = program
    for lanes in LANES:
        limbs = similar_limbs(m, lanes) if lanes <= width else ()
        if limbs:
            matching = Matching(program, _places(m, limbs), lanes - 1)
            packed = Vectorizer(program, matching).program(program.outputs)
            best = min(best, packed, key=_instructions)
    return best


def _instructions(program: Program) -> int:
    return sum(operation[0] not in LEAVES for operation in program.operations)


def uneven(m: Model) -> dict[str, set[int]]:
    """Return the indices, in each array of a Model, of numbers that a trace must not simplify.

    A trace drops operations with zero, one and minus one. If limbs differ in such a number, for
    example 1e-11 on the right and 0 on the left, the operations that depend on it do not match.
    Keeping the operations costs little if such numbers are few. In a kernel the numbers at these
    indices are symbols, so kernels cannot branch on them.
    """
    found: dict[str, set[int]] = {}
    for lanes in LANES:
        limbs = similar_limbs(m, lanes)
        kept = _uneven(m, limbs) if limbs else {}
        if sum(map(len, kept.values())) <= FEW * lanes * len(limbs[0] if limbs else ()):
            for name, places in kept.items():
                found.setdefault(name, set()).update(places)
    return found


def _uneven(m: Model, limbs: Limbs) -> dict[str, set[int]]:
    places = _places(m, limbs)
    found: dict[str, set[int]] = {}
    for field in MODEL_FIELDS:
        # skip joint parameters: user functions get them, and may branch on known numbers
        if field.kind == "float" and field.name in places and field.name != "jnt_param":
            flat = getattr(m, field.name).reshape(-1)
            rows = [[first, *others] for first, others in places[field.name].items()]
            # entries of mimic joints are at the end, and not in every array
            there = [row for row in rows if max(row) < flat.size]
            numbers = flat[np.array(there, int).reshape(len(there), len(limbs))]
            kept = [row for row, differs in zip(there, _differ(numbers), strict=True) if differs]
            if kept:
                found[field.name] = {k for row in kept for k in row}
    return found


def _differ(rows: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return, for each row of numbers, whether they differ and one is 0, 1 or -1.

    A row has the corresponding number of each limb. A trace would then drop operations in only
    some of the limbs.
    """
    simple = np.isin(rows, (0.0, 1.0, -1.0)).any(axis=1)
    different = (rows != rows[:, :1]).any(axis=1)
    return np.asarray(simple & different)


def similar_limbs(m: Model, lanes: int) -> Limbs:
    """Return for each of `lanes` lanes the bodies of its limbs; () without similar limbs."""
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
    """Return, for each array and index of the first limb, the matching indices of other limbs."""
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
