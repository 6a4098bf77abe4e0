# SPDX-License-Identifier: Apache-2.0
"""The system model as text: RBDA table 4.3."""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.parts.joint_types import JOINT_SPECS, JointSpec
from rbdyn_ros.model.declared.joints import TYPE_OF_NAME, JointClass, JointType
from rbdyn_ros.model.model import Model, check_model
from rbdyn_ros.model.tree.rotation import quat_to_mat
from rbdyn_ros.report import constraints
from rbdyn_ros.report.geometries import GEOM_HEAD, OBSTACLE_HEAD, geom_rows, obstacle_rows
from rbdyn_ros.report.words import Row, aligned, cut, direction, numbers

WIDTH = 140

# the first name of each type counts: revolute, not continuous
_NAME_OF_TYPE = {kind: name for name, kind in reversed(TYPE_OF_NAME.items())}


def describe(m: Model, most: int = 40) -> str:
    """Return the system model as text: RBDA table 4.3, springs, drives and geometries.

    Args:
        m: the Model.
        most: longest table [lines]; longer tables are cut in the middle.

    Returns:
        The text; n_c is the number of constraint equations, of a loop joint or in total.

    Raises:
        ModelError: m is not a Model.
    """
    check_model(m, "describe")
    parts = [
        [_title(m)],
        _table("tree joints", _JOINT_HEAD, [_joint_row(m, i) for i in range(1, m.nbody)], most),
        _table("bodies", _BODY_HEAD, [_body_row(m, i) for i in range(1, m.nbody)], most),
        _table("loop joints", _LOOP_HEAD, [_loop_row(m, k) for k in range(m.nloop)], most),
        _table("mimic joints", constraints.MIMIC_HEAD, constraints.mimic_rows(m), most),
        _table("rods and bands", constraints.LENGTH_HEAD, constraints.length_rows(m), most),
        _table("gears", constraints.GEAR_HEAD, constraints.gear_rows(m), most),
        _table("rolling without slipping", constraints.ROLL_HEAD, constraints.roll_rows(m), most),
        _table("springs", _SPRING_HEAD, [_spring_row(m, k) for k in range(m.nspring)], most),
        _table("springs in joints", _REST_HEAD, _rest_rows(m), most),
        _table("driven joints", _DRIVE_HEAD, _drive_rows(m), most),
        _table("collision geometries", GEOM_HEAD, geom_rows(m), most),
        _table("obstacles", OBSTACLE_HEAD, obstacle_rows(m), most),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def _title(m: Model) -> str:
    n_c = f", n_c = {m.nefc}" if m.nefc > 0 else ""
    return f"system model '{m.name}': N_B = {m.graph.N_B}, N_L = {m.graph.N_L}{n_c}"


def joint_type(m: Model, j: int) -> str:
    """Return the name that robot files use for the type of joint j."""
    return m.jnt_usertype[j] or _NAME_OF_TYPE[JointType(m.jnt_type[j])]


def loop_type(m: Model, k: int) -> str:
    """Return the name that robot files use for the type of loop joint k."""
    return m.loop_usertype[k] or _NAME_OF_TYPE[JointType(m.loop_type[k])]


def parameters(kind: str, values: Iterable[float]) -> dict[str, float]:
    """Return the values of the parameters of a joint type by name."""
    names = JOINT_SPECS.get(kind, JointSpec()).parameters
    return dict(zip(names, map(float, values), strict=False))


_JOINT_HEAD = ("i", "body", "lambda", "joint", "jtype", "X_T: xyz [m]", "rpy [rad]")


def _joint_row(m: Model, i: int) -> Row:
    jtype = _jtype(joint_type(m, i - 1), m.jnt_basis[i - 1], m.jnt_axis[i - 1], m.jnt_param[i - 1])
    if m.jnt_reversed[i - 1]:
        jtype += ", reversed"
    if not m.jnt_actuated[i - 1]:
        jtype += ", not actuated"
    pose = _pose(m.body_pos[i], m.body_quat[i])
    body, joint = cut(m.body_names[i]), cut(m.jnt_names[i - 1])
    return (str(i), body, str(m.body_parentid[i]), joint, jtype, *pose)


_BODY_HEAD = ("i", "body", "mass [kg]", "centre of mass [m]", "I: xx yy zz xy xz yz [kg m^2]")


def _body_row(m: Model, i: int) -> Row:
    inertia = " ".join(f"{x:.4g}" for x in m.body_fullinertia[i])
    name = cut(m.body_names[i])
    return (str(i), name, f"{m.body_mass[i]:.5g}", numbers(m.body_ipos[i]), inertia)


_LOOP_HEAD = ("joint", "name", "p", "s", "jtype", "n_c", "X_P: xyz [m]", "rpy [rad]",
              "X_S: xyz [m]", "rpy [rad]")  # fmt: skip


def _loop_row(m: Model, k: int) -> Row:
    p, s = m.loop_bodyid[k]
    poses = [_pose(m.loop_pos[k, side], m.loop_quat[k, side]) for side in (0, 1)]
    jtype = _jtype(loop_type(m, k), m.loop_basis[k], m.loop_axis[k], m.loop_param[k])
    number, n_c = str(m.graph.N_B + k + 1), str(m.loop_efcnum[k])
    name = cut(m.loop_names[k])
    return (number, name, str(p), str(s), jtype, n_c, *poses[0], *poses[1])


_SPRING_HEAD = ("name", "from body", "at [m]", "to body", "at [m]", "stiffness [N/m]",
                "damping [N s/m]", "length [m]")  # fmt: skip


def _spring_row(m: Model, k: int) -> Row:
    ends = [
        text
        for side in (0, 1)
        for text in (str(m.spring_bodyid[k, side]), numbers(m.spring_pos[k, side]))
    ]
    values = (m.spring_stiffness[k], m.spring_damping[k], m.spring_length[k])
    return (cut(m.spring_names[k]), *ends, *(f"{value:.5g}" for value in values))


_REST_HEAD = ("joint", "stiffness [N m/rad or N/m]", "at rest at")


def _rest_rows(m: Model) -> list[Row]:
    ends = [*m.jnt_qposadr[m.jnt_qposadr < m.nq].tolist(), m.nq]
    rows: list[Row] = []
    for j in np.flatnonzero(m.jnt_stiffness):
        begin = int(m.jnt_qposadr[j])
        end = min(place for place in ends if place > begin)
        rest = numbers(m.qpos_spring[begin:end])
        rows.append((cut(m.jnt_names[j]), f"{m.jnt_stiffness[j]:.5g}", rest))
    return rows


_DRIVE_HEAD = ("joint", "motion")


def _drive_rows(m: Model) -> list[Row]:
    rows: list[Row] = []
    for j in np.flatnonzero((m.jnt_class == JointClass.DRIVEN) & (m.jnt_mimic < 0)):
        motion = f"function {m.jnt_motion_name[j]}"
        if not m.jnt_motion_name[j]:
            c = int(m.jnt_dofadr[j]) - m.nv
            first, number = int(m.drive_knotadr[c]), int(m.drive_knotnum[c])
            begin, end = m.knot_time[first], m.knot_time[first + number - 1]
            again = ", periodic" if m.drive_period[c] > 0.0 else ""
            motion = f"{number} knots from {begin:g} to {end:g} s{again}"
        rows.append((cut(m.jnt_names[j]), motion))
    return rows


def _jtype(kind: str, basis: Array, axis: Array, values: Array) -> str:
    """Return the type of a joint as text, with its axes and the values of its parameters."""
    axes, text = JOINT_SPECS.get(kind, JointSpec()).axes, kind
    if axes > 0:
        text += f" {'along' if kind == 'prismatic' else 'about'} {direction(axis)}"
    if kind == "universal":
        text += f" and {direction(basis[3:6])}"
    elif axes > 1:
        text += f", x {direction(basis[0:3])}"
    named = parameters(kind, values).items()
    return ", ".join([text, *(f"{name} {value:.5g}" for name, value in named)])


def _pose(pos: Array, quat: Array) -> tuple[str, str]:
    return numbers(pos), numbers(_rpy(quat_to_mat(quat)))


def _rpy(R: Array) -> tuple[float, float, float]:
    """Return URDF's roll, pitch and yaw of R = Rz(yaw) Ry(pitch) Rx(roll)."""
    level = math.hypot(R[0, 0], R[1, 0])
    pitch = math.atan2(-R[2, 0], level)
    if level < 1e-9:  # gimbal lock: only the sum or difference of roll and yaw is determined
        return math.atan2(-R[1, 2], R[1, 1]), pitch, 0.0
    return math.atan2(R[2, 1], R[2, 2]), pitch, math.atan2(R[1, 0], R[0, 0])


def _table(title: str, head: Row, rows: Sequence[Row], most: int) -> list[str]:
    """Return a title, a head and aligned rows, at most `most`; no lines for an empty table.

    Columns that do not fit continue below, with the first column repeated.
    """
    if not rows:
        return []
    hidden = max(0, len(rows) - max(most, 2))
    kept = len(rows) - hidden
    shown = [head, *rows[: (kept + 1) // 2], *rows[len(rows) - kept // 2 :]]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = [title]
    for block in _blocks(widths):
        part = aligned([[row[k] for k in block] for row in shown])
        if hidden:
            part.insert(1 + (kept + 1) // 2, f"  ... {hidden} more ...")
        lines += part
    return lines


def _blocks(widths: Sequence[int]) -> list[list[int]]:
    """Return the columns of each block, so that blocks fit into WIDTH."""
    blocks, end = [[0]], 2 + widths[0]
    for k, width in enumerate(widths[1:], start=1):
        if end + 2 + width > WIDTH and len(blocks[-1]) > 1:
            blocks.append([0])
            end = 2 + widths[0]
        blocks[-1].append(k)
        end += 2 + width
    return blocks
