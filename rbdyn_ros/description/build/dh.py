# SPDX-License-Identifier: Apache-2.0
"""Chains from Denavit-Hartenberg tables.

A row of four numbers places one joint and its link. In both conventions `theta` is an angle about
the joint axis and `d` a distance along it; the number for the coordinate of the joint is its
offset, the value at q = 0.

* `proximal` (modified; Khalil, Craig, Springer Handbook; RBDA 4.3): the frame of link i is on the
  axis of joint i, and a_i, alpha_i are along x_(i-1): Rx(alpha_i) Tx(a_i) Rz(theta_i) Tz(d_i).
* `distal` (classic; Denavit and Hartenberg, Paul): the frame of link i is on the axis of joint
  i+1, and a_i, alpha_i are along x_i: Rz(theta_i) Tz(d_i) Tx(a_i) Rx(alpha_i).
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from rbdyn_ros.checks.audit import Audit, Subject
from rbdyn_ros.description.build.arguments import frame
from rbdyn_ros.description.checks.check import audit_description
from rbdyn_ros.description.checks.values import audit_finite
from rbdyn_ros.description.parts.poses import IN_PLACE, Pose, compose, inverse, pose
from rbdyn_ros.description.parts.types import Description, Inertial, Joint, Limit, Link
from rbdyn_ros.errors import quote

TYPES = ("revolute", "continuous", "prismatic")
Z_AXIS = (0.0, 0.0, 1.0)
#: The numbers of a row, and their quantities.
_ENTRIES = {"a": "position", "alpha": "angle", "d": "position", "theta": "angle"}


@dataclass(frozen=True, slots=True)
class DHRow:
    """One row of a Denavit-Hartenberg table.

    Attributes:
        a: distance between neighbouring joint axes along their common normal [m].
        alpha: angle between the joint axes [rad].
        d: distance between neighbouring common normals along the joint axis [m].
        theta: angle between these normals [rad].
        type: `revolute`, `continuous` or `prismatic`.
        inertial: inertial of the link, in its frame; None: no inertia.
        limit: limit of the joint; None: unlimited.
        name: name of the joint; None: joint<i>. Its link is called link<i>.
    """

    a: float
    alpha: float
    d: float
    theta: float
    type: str = "revolute"
    inertial: Inertial | None = None
    limit: Limit | None = None
    name: str | None = None


def proximal(
    rows: Iterable[DHRow], *, name: str = "dh", base: Pose = IN_PLACE, tool: Pose | None = None
) -> Description:
    """Make a chain from a table in the modified convention.

    Args:
        rows: from base to tip.
        name: name of the robot.
        base: frame 0 of the table in the link `base`, the base of the robot.
        tool: frame of an extra link `tool` in the last link, connected by the fixed joint
            `tool_joint`; None: no such link.

    Returns:
        The checked Description. Its links are `base`, `link1` ... and `tool` if given; the frame
        of link<i> is frame i of the table.

    Raises:
        DescriptionError: with all errors of the rows.
    """
    return _chain(rows, name, base, tool, lambda row: compose(_along_x(row), _along_z(row)))


def distal(
    rows: Iterable[DHRow], *, name: str = "dh", base: Pose = IN_PLACE, tool: Pose | None = None
) -> Description:
    """Make a chain from a table in the classic convention; arguments and result as for `proximal`.

    The axis of joint i is z_(i-1), so the joint frame is not the link frame: `child_origin` is
    its pose in frame i.
    """
    return _chain(rows, name, base, tool, _along_z, lambda row: inverse(_along_x(row)))


def _along_x(row: DHRow) -> Pose:
    """Return Rx(alpha) Tx(a) = Tx(a) Rx(alpha)."""
    return pose((row.a, 0.0, 0.0), (row.alpha, 0.0, 0.0))


def _along_z(row: DHRow) -> Pose:
    """Return Rz(theta) Tz(d) = Tz(d) Rz(theta)."""
    return pose((0.0, 0.0, row.d), (0.0, 0.0, row.theta))


def _checked(rows: Iterable[DHRow], name: str) -> list[DHRow]:
    table, audit = list(rows), Audit()
    if not table:
        audit.error("no-rows", "", None, "the table has no rows; a chain has at least one joint")
    for i, row in enumerate(table, start=1):
        _audit_row(row, Subject(audit, f"row {i}"))
    audit.raise_errors(name)
    return table


def _audit_row(row: object, at: Subject) -> None:
    if not isinstance(row, DHRow):
        at.error("not-a-row", f"it is {row!r}, not a DHRow", allowed="a DHRow")
        return
    for what, quantity in _ENTRIES.items():
        value = getattr(row, what)
        number = math.nan if isinstance(value, bool) else value
        audit_finite(f"parameter {what}", (number,), 1, quantity, at)
    if row.type not in TYPES:
        allowed = ", ".join(TYPES)
        message = (
            f"the type {quote(str(row.type))} is not allowed in a table; allowed are {allowed}"
        )
        at.error("dh-type", message, found=str(row.type), allowed=allowed)


def _joint(i: int, row: DHRow, origin: Pose, child_origin: Pose) -> Joint:
    return Joint(
        name=row.name if row.name is not None else f"joint{i}",
        type=row.type,
        parent=f"link{i - 1}" if i > 1 else "base",
        child=f"link{i}",
        origin=origin,
        axis=Z_AXIS,
        limit=row.limit,
        child_origin=child_origin,
    )


def _chain(
    rows: Iterable[DHRow],
    name: str,
    base: Pose,
    tool: Pose | None,
    before: Callable[[DHRow], Pose],
    behind: Callable[[DHRow], Pose] = lambda _: Pose(),
) -> Description:
    """Return the kinematic chain of a DH table.

    `before` returns the pose of a row's joint frame in the parent link, and `behind` the pose in
    the child link.
    """
    table, base = _checked(rows, name), frame("base", base)
    links, joints = [Link("base")], list[Joint]()
    for i, row in enumerate(table, start=1):
        origin = before(row)
        joints.append(_joint(i, row, compose(base, origin) if i == 1 else origin, behind(row)))
        links.append(Link(f"link{i}", row.inertial))
    if tool is not None:
        joints.append(Joint("tool_joint", "fixed", links[-1].name, "tool", frame("tool", tool)))
        links.append(Link("tool"))
    description = Description(name, tuple(links), tuple(joints), source=name, base="base")
    audit = Audit()
    checked = audit_description(description, audit)
    audit.raise_errors(name)
    return replace(checked, findings=audit.sorted())
