# SPDX-License-Identifier: Apache-2.0
"""The mechanisms of the tables, built from the same bodies, joints and loops in both engines."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

import rbdyn_ros as rb
from rbdyn_ros.description.parts.poses import compose, inverse
from rbdyn_ros.description.parts.types import Joint, Link

#: The stiffest constraints that MuJoCo allows at a timestep of 1 ms: solref at its lower bound,
#: which is two timesteps, and solimp at its upper bound.
STIFF = {"solref": (0.002, 1.0), "solimp": (0.9999, 0.9999, 0.001, 0.5, 2.0)}

HINGE = {"axis": (0.0, -1.0, 0.0)}  # rotates x upwards


def four_bar(closing: str) -> rb.Description:
    """Return a four-bar with bars of 0.1, 0.25 and 0.2 m on a ground of 0.3 m."""
    ends = {"X_P": rb.pose((0.25, 0, 0)), "X_S": rb.pose((0.2, 0, 0))}
    s = rb.SystemBuilder("four_bar", base="ground")
    for name, length in (("crank", 0.1), ("coupler", 0.25), ("rocker", 0.2)):
        s.body(name, _bar(length))
    s.joint("A", "revolute", "ground", "crank", **HINGE)
    s.joint("B", "revolute", "crank", "coupler", xyz=(0.1, 0, 0), **HINGE)
    s.joint("D", "revolute", "ground", "rocker", xyz=(0.3, 0, 0), **HINGE)
    if closing == "hinge":
        s.loop("C", "revolute", "coupler", "rocker", **ends, **HINGE)
    else:
        s.point("C", "coupler", "rocker", **ends)
    return s.description()


def delta() -> rb.Description:
    """Return a delta robot: three arms on springs, each with two parallel rods to the platform."""
    s = rb.SystemBuilder("delta", base="ceiling")
    s.body("platform", rb.shapes.cylinder(0.06, 0.02, mass=0.3))
    for i in range(3):
        angle = 2.0 * np.pi / 3.0 * i
        out = np.array([np.cos(angle), np.sin(angle), 0.0])
        side = np.array([-np.sin(angle), np.cos(angle), 0.0])
        motor = rb.pose(tuple(0.2 * out), (0, 0, angle))
        s.body(f"arm_{i}", _bar(0.25))
        s.joint(f"motor_{i}", "revolute", "ceiling", f"arm_{i}", origin=motor, stiffness=20.0,
                **HINGE)  # fmt: skip
        for n, shift in enumerate((-0.04, 0.04)):
            rod, wrist = f"rod_{i}{n}", f"wrist_{i}{n}"
            elbow = rb.pose((0.25, shift, 0), (0, np.pi / 2, 0))  # at zero the rod hangs down
            corner = rb.pose(tuple(0.06 * out + shift * side))
            s.body(rod, _bar(0.5))
            s.joint(f"elbow_{i}{n}", "universal", f"arm_{i}", rod, origin=elbow, axis=(0, 1, 0),
                    axis2=(0, 0, 1))  # fmt: skip
            if i == n == 0:
                level = rb.pose((0.5, 0, 0), (0, -np.pi / 2, 0))
                s.joint(wrist, "spherical", rod, "platform", origin=level, child_origin=corner)
            else:
                s.point(wrist, rod, "platform", rb.pose((0.5, 0, 0)), corner)
    return s.description()


def mujoco_model(system: rb.Description, **equality: tuple[float, ...]) -> mujoco.MjModel:
    """Build a system in MuJoCo; a hinge that closes a loop becomes two of MuJoCo's connects.

    Args:
        system: revolute, universal and spherical joints, parents before children.
        **equality: solref and solimp of the closing constraints; MuJoCo's defaults if left out.
    """
    spec = mujoco.MjSpec()
    links = {link.name: link for link in system.links}
    bodies = {system.base: spec.worldbody}
    for joint in system.joints:
        if joint.closes_loop:
            _close(spec, bodies, joint, equality)
        else:
            bodies[joint.child] = _add_body(bodies[joint.parent], links[joint.child], joint)
    model = spec.compile()
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    model.opt.timestep = 0.001
    return model


def _add_body(parent: Any, link: Link, joint: Joint) -> Any:
    own = joint.child_origin
    place = compose(joint.origin, inverse(own))
    assert link.inertial is not None
    xx, yy, zz, xy, xz, yz = link.inertial.inertia
    body = parent.add_body(
        name=link.name, pos=place.pos, quat=place.quat, explicitinertial=True,
        mass=link.inertial.mass, ipos=link.inertial.origin.pos,
        fullinertia=[xx, yy, zz, xy, xz, yz],
    )  # fmt: skip
    kind = mujoco.mjtJoint.mjJNT_BALL if joint.type == "spherical" else mujoco.mjtJoint.mjJNT_HINGE
    for axis in (joint.axis, joint.axis2):
        if axis is not None:
            stiffness = [joint.stiffness, 0, 0]
            body.add_joint(type=kind, pos=own.pos, axis=axis, stiffness=stiffness)
    return body


def _close(
    spec: Any, bodies: dict[str, Any], joint: Joint, equality: dict[str, tuple[float, ...]]
) -> None:
    """Connect one point of two bodies, and a second point on the axis of a hinge."""
    axis = np.array(joint.axis)
    for n in range(2 if joint.type == "revolute" else 1):
        sites = f"{joint.name}{n}-from", f"{joint.name}{n}-to"
        bodies[joint.parent].add_site(name=sites[0], pos=joint.origin.pos + 0.1 * n * axis)
        bodies[joint.child].add_site(name=sites[1], pos=joint.child_origin.pos + 0.1 * n * axis)
        spec.add_equality(
            type=mujoco.mjtEq.mjEQ_CONNECT, objtype=mujoco.mjtObj.mjOBJ_SITE,
            name1=sites[0], name2=sites[1], **equality,
        )  # fmt: skip


def _bar(length: float) -> rb.Inertial:
    """Return a bar of 1 kg/m along x, starting at the origin."""
    return rb.shapes.box((length, 0.02, 0.02), mass=length, at=rb.pose((length / 2, 0, 0)))
