# SPDX-License-Identifier: Apache-2.0
"""Tables of constraints: rods, bands, gears, rolling, mimic joints."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.description.parts.types import Constraint, Gear, Length
from rbdyn_ros.model.model import Model
from rbdyn_ros.report.words import Row, cut, direction, numbers


@dataclass(frozen=True, slots=True)
class ConstraintRow:
    """One constraint as in the robot file.

    Attributes:
        kind: rod, band, open band, gear or roll.
        between: names of the links, or of the joints of a gear.
    """

    name: str
    kind: str
    between: tuple[str, ...]


def constraint_row(constraint: Constraint) -> ConstraintRow:
    """Return the row of a constraint."""
    name = constraint.name
    if isinstance(constraint, Gear):
        return ConstraintRow(name, "gear", tuple(term.joint for term in constraint.terms))
    if isinstance(constraint, Length):
        return ConstraintRow(
            name, _shape(constraint.closed, len(constraint.links)), constraint.links
        )
    return ConstraintRow(name, "roll", (constraint.link, constraint.on))


def constraints_text(rows: Sequence[ConstraintRow]) -> list[str]:
    """Return a line per constraint."""
    if not rows:
        return []
    lines = [f"  {row.name} ({row.kind}) between {', '.join(row.between)}" for row in rows]
    return ["constraints", *lines, ""]


def _shape(closed: bool, points: int) -> str:
    if closed:
        return "band"
    return "rod" if points == 2 else "open band"


MIMIC_HEAD = ("joint", "leader", "ratio", "offset [rad or m]")


def mimic_rows(m: Model) -> list[Row]:
    """Return a row per mimic joint with its leader, which is not a mimic joint itself."""
    return [
        (
            cut(m.jnt_names[j]),
            cut(m.jnt_names[m.jnt_mimic[j]]),
            f"{m.jnt_mimic_ratio[j]:.5g}",
            f"{m.jnt_mimic_offset[j]:.5g}",
        )
        for j in np.flatnonzero(m.jnt_mimic >= 0)
    ]


LENGTH_HEAD = ("name", "kind", "length [m]", "through body", "at [m]")


def length_rows(m: Model) -> list[Row]:
    """Return a row per point; the first row of a rod or band has its name, kind and length."""
    rows: list[Row] = []
    for k, name in enumerate(m.length_names):
        number = int(m.length_pointnum[k])
        kind = _shape(bool(m.length_closed[k]), number)
        whole: Row = (cut(name), kind, f"{m.length_total[k]:.5g}")
        for point in _share(m.length_pointadr[k], number):
            at = (str(m.point_bodyid[point]), numbers(m.point_pos[point]))
            rows.append((*whole, *at))
            whole = ("", "", "")
    return rows


GEAR_HEAD = ("name", "sum is", "of joint", "coordinate", "times")


def gear_rows(m: Model) -> list[Row]:
    """Return a row per term; the first row of a gear has its name and sum."""
    rows: list[Row] = []
    for k, name in enumerate(m.gear_names):
        whole: Row = (cut(name), f"{m.gear_offset[k]:.5g}")
        for term in _share(m.gear_termadr[k], m.gear_termnum[k]):
            joint = cut(m.jnt_names[m.term_jntid[term]])
            rows.append((*whole, joint, str(m.term_coord[term]), f"{m.term_factor[term]:.5g}"))
            whole = ("", "")
    return rows


ROLL_HEAD = ("name", "kind", "body", "radius [m]", "centre [m]", "axis", "on body", "at [m]",
             "normal")  # fmt: skip


def roll_rows(m: Model) -> list[Row]:
    """Return a row per rolling sphere or disk."""
    rows: list[Row] = []
    for k, name in enumerate(m.roll_names):
        is_disk = bool(m.roll_axis[k].any())
        rolling, plane = m.roll_bodyid[k]
        rows.append(
            (
                cut(name),
                "disk" if is_disk else "sphere",
                str(rolling),
                f"{m.roll_radius[k]:.5g}",
                numbers(m.roll_centre[k]),
                direction(m.roll_axis[k]) if is_disk else "",
                str(plane),
                numbers(m.roll_point[k]),
                direction(m.roll_normal[k]),
            )
        )
    return rows


def _share(first: int, number: int) -> Iterable[int]:
    return range(int(first), int(first) + int(number))
