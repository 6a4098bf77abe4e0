# SPDX-License-Identifier: Apache-2.0
"""Constraints in a Model (lengths, gears and rolling), and the numbers of their equations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbdyn_ros.arrays import Arrays
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.parts.types import Constraint, Gear, Length, Roll
from rbdyn_ros.model.declared.joints import JointType
from rbdyn_ros.model.tree.lumping import Placement

#: Number of equations of a rolling body: distance from the plane, and slip in two directions.
ROLL_ROWS = 3


def constraints(
    given: Sequence[Constraint], frames: Mapping[str, Placement], joints: Mapping[str, int]
) -> Arrays:
    """Return the fields length_*, point_*, gear_*, term_* and roll_*.

    Args:
        given: constraints that have passed description/checks.
        frames: placement of each link.
        joints: numbers of the joints by name.
    """
    lengths = [one for one in given if isinstance(one, Length)]
    gears = [one for one in given if isinstance(one, Gear)]
    rolls = [one for one in given if isinstance(one, Roll)]
    return {**_lengths(lengths, frames), **_gears(gears, joints), **_rolls(rolls, frames)}


def constraint_names(given: Sequence[Constraint]) -> dict[str, list[str]]:
    """Return the names of the constraints of each kind, in the order of the equations."""
    kinds = {"length_names": Length, "gear_names": Gear, "roll_names": Roll}
    return {
        key: [one.name for one in given if isinstance(one, kind)] for key, kind in kinds.items()
    }


def _lengths(lengths: Sequence[Length], frames: Mapping[str, Placement]) -> Arrays:
    corners = [
        frames[link].then(Pose(point))
        for length in lengths
        for link, point in zip(length.links, length.points, strict=True)
    ]
    number = np.array([len(length.points) for length in lengths], np.int64)
    return {
        "length_pointnum": number,
        "length_closed": np.array([length.closed for length in lengths], np.int64),
        "length_total": np.array([length.length for length in lengths]),
        "point_bodyid": np.array([corner.body for corner in corners], np.int64),
        "point_pos": np.array([corner.pos for corner in corners]),
    }


def _gears(gears: Sequence[Gear], joints: Mapping[str, int]) -> Arrays:
    terms = [term for gear in gears for term in gear.terms]
    number = np.array([len(gear.terms) for gear in gears], np.int64)
    return {
        "gear_termnum": number,
        "gear_offset": np.array([gear.offset for gear in gears]),
        "term_jntid": np.array([joints[term.joint] for term in terms], np.int64),
        "term_coord": np.array([term.coordinate for term in terms], np.int64),
        "term_factor": np.array([term.factor for term in terms]),
    }


def _rolls(rolls: Sequence[Roll], frames: Mapping[str, Placement]) -> Arrays:
    ends = [(frames[roll.link], frames[roll.on]) for roll in rolls]
    return {
        "roll_bodyid": np.array([[end.body for end in pair] for pair in ends], np.int64),
        "roll_centre": _each(ends, 0, [roll.centre for roll in rolls], point=True),
        "roll_axis": _each(ends, 0, [roll.axis or (0.0, 0.0, 0.0) for roll in rolls]),
        "roll_radius": np.array([roll.radius for roll in rolls]),
        "roll_point": _each(ends, 1, [roll.point for roll in rolls], point=True),
        "roll_normal": _each(ends, 1, [roll.normal for roll in rolls]),
    }


def _each(
    ends: Sequence[tuple[Placement, Placement]],
    side: int,
    vectors: Sequence[ArrayLike],
    point: bool = False,
) -> NDArray[np.float64]:
    """Convert vectors (points if `point`) of one side of `ends` from link to body frames."""
    places = [pair[side] for pair in ends]
    return np.array(
        [
            place.mat @ np.asarray(vector) + (place.pos if point else 0.0)
            for place, vector in zip(places, vectors, strict=True)
        ]
    )


def equations(arrays: Mapping[str, NDArray[Any]], freedoms: Sequence[int]) -> Arrays:
    """Return the first equation of each constraint, and the bodies that equations act on.

    Args:
        arrays: the fields of loop joints, lengths, gears and rolling.
        freedoms: degrees of freedom of each loop joint.
    """
    rows = 6 - np.array(freedoms, np.int64)
    balls = np.isin(arrays["loop_type"], (JointType.BALL, JointType.YPR))
    bodies: list[list[int]] = []
    for ends, count in zip(arrays["loop_bodyid"].tolist(), rows.tolist(), strict=True):
        bodies += [ends] * count
    for first, count in zip(arrays["length_pointadr"], arrays["length_pointnum"], strict=True):
        bodies.append(arrays["point_bodyid"][first : first + count].tolist())
    bodies += [[]] * len(arrays["gear_offset"])
    for ends in arrays["roll_bodyid"].tolist():
        bodies += [ends] * ROLL_ROWS
    number = np.array([len(row) for row in bodies], np.int64)
    return {
        "loop_ball": balls.astype(np.int64),
        "loop_efcadr": np.cumsum(rows) - rows,
        "loop_efcnum": rows,
        "efc_wrenchadr": np.cumsum(number) - number,
        "efc_wrenchnum": number,
        "wrench_bodyid": np.array([body for row in bodies for body in row], np.int64),
    }
