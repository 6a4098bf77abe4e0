# SPDX-License-Identifier: Apache-2.0
"""Switch off contact between geometries of one robot that overlap in a rest pose."""

from collections.abc import Iterable, Iterator

import numpy as np

from rbdyn_ros.description.parts.geometries import GroupState
from rbdyn_ros.dynamics import collisions
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.errors import Finding, counted, listing, quote
from rbdyn_ros.loading.keyframes import given_by
from rbdyn_ros.model.declared.joints import JointClass
from rbdyn_ros.model.declared.model_fields import PRIMARY
from rbdyn_ros.model.geometry.pushing import of_one_robot, pushing
from rbdyn_ros.model.model import Model, with_arrays

_Pair = tuple[int, int]


def without_overlaps(m: Model, states: Iterable[GroupState] = ()) -> tuple[Model, list[Finding]]:
    """Return the Model without contact between geometries of a robot that overlap at rest.

    The rest poses of two geometries are qpos0 and each state that sets all joints between them.

    Args:
        m: the Model.
        states: poses from the SRDFs of its robots.

    Returns:
        The Model, and for each rest pose with overlaps a note that names the pairs.
    """
    own = of_one_robot(vars(m), m.push_geom)
    if not own.any():
        return m, []
    wanted, notes = set(map(tuple, m.push_geom[own].tolist())), []
    for where, overlaps, advice in _overlaps(m, states):
        new = [one for one in overlaps if _pair(m, one) in wanted]
        wanted -= {_pair(m, one) for one in new}
        if new:
            text = (
                f"{counted(len(new), 'pair')} of geometries that overlap at {where} cannot push "
                "each other: "
                f"{listing(collisions.overlap_names(new))}{advice}"
            )
            notes.append(Finding("start-overlaps", text, "note"))
    return (_with_pairs(m, wanted) if notes else m), notes


def _overlaps(
    m: Model, states: Iterable[GroupState]
) -> Iterator[tuple[str, Iterable[collisions.Distance], str]]:
    """Yield each rest pose, the pairs of geometries that overlap in it, and advice."""
    yield "qpos0", collisions.start_overlaps(m), "; an SRDF can disable them"
    for state in states:
        yield f"the state {quote(state.name)}", overlaps_in(m, state), ""


def _pair(m: Model, one: collisions.Distance) -> _Pair:
    return m.geom_numbers[one.geom1], m.geom_numbers[one.geom2]


def _with_pairs(m: Model, own: set[_Pair]) -> Model:
    """Return the Model without contact within a robot, except in the pairs `own`."""
    several = ~of_one_robot(vars(m), m.push_geom)
    kept = [tuple(pair) in own for pair in m.push_geom.tolist()]
    arrays = {name: getattr(m, name) for name in PRIMARY}
    arrays |= pushing(vars(m), m.push_geom[several | np.array(kept, bool)])
    return with_arrays(m, arrays)


def overlaps_in(
    m: Model, state: GroupState, reach: float = -collisions.TOUCHING
) -> Iterator[collisions.Distance]:
    """Yield pairs of shapes nearer than `reach` [m]; the state sets all joints between them."""
    d, memory, skipped = make_data(m), collisions.NearPairs(m), np.zeros(m.ndistance, np.int64)
    given = given_by(m, state)
    for q in given:
        d.qpos[q] = given[q]
    number = collisions.find_near(m, d, reach, skipped, memory)
    pairs, body = m.distance_geom[memory.found[:number]].tolist(), m.geom_bodyid
    for (g, h), row in zip(pairs, memory.out, strict=False):
        if all(_is_given(m, joint, given) for joint in between(m, body[g], body[h])):
            yield collisions.named_distance(m, g, h, row)


def _is_given(m: Model, joint: int, given: dict[int, float]) -> bool:
    """Return whether a state gives the position of a joint; mimic joints follow their leaders."""
    return m.jnt_class[joint] == JointClass.DRIVEN or int(m.jnt_qposadr[joint]) in given


def between(m: Model, one: int, other: int) -> Iterator[int]:
    """Yield the joints between two bodies."""
    while one != other:
        low, one = sorted((one, other))
        yield one - 1
        one, other = int(m.body_parentid[one]), low
