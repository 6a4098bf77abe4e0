# SPDX-License-Identifier: Apache-2.0
"""The quantities that sensors measure: motion of links, wrenches across joints and at contacts."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.dynamics import stages as api
from rbdyn_ros.dynamics.payload import with_payload
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.tree.rotation import quat_to_mat
from rbdyn_ros.sensors.division import check_masses, copy_options, divide
from rbdyn_ros.sensors.evaluation import Evaluation, StateLike
from rbdyn_ros.sensors.specs import (
    MEASURED,
    ContactSpec,
    ForceTorqueSpec,
    ImuSpec,
    JointTorqueSpec,
    Spec,
)

#: The sensors that need accelerations and forces; others need only positions and velocities.
FORCE_KINDS = (ImuSpec, ForceTorqueSpec, JointTorqueSpec, ContactSpec)

#: A payload: link, mass [kg], centre of mass (3,) [m], inertia (6,) [kg m^2]; as in with_payload.
Payload = tuple[str, float, ArrayLike, ArrayLike]


class SensorScene:
    """Computes the measured quantities of a robot from its states, in a separate Data.

    Args:
        m: the robot as it was loaded.
        description: the description from which the robot was loaded.
        specs: sensors of the robot.
        plant: the simulated Model, which has the same layout; None: m.
        payloads: payloads of the robot's links that the description does not contain.
    """

    def __init__(
        self,
        m: Model,
        description: Description,
        specs: Sequence[Spec],
        plant: Model | None = None,
        payloads: Sequence[Payload] = (),
    ) -> None:
        fixed = {joint.name for joint in description.joints if joint.type == "fixed"}
        measured = [spec for spec in specs if isinstance(spec, ForceTorqueSpec)]
        cuts = {spec.joint: spec.pushes for spec in measured if spec.joint in fixed}
        divided = divide(m, description, cuts)
        parts = divided.m
        for link, mass, com, inertia in payloads:
            if parts.frame_bodyid[parts.frame_id(link)] > 0:
                parts = with_payload(parts, link, mass, com, inertia)
        self._plant = plant or m
        if any(isinstance(spec, FORCE_KINDS) for spec in specs):
            check_masses(parts, divided.body, self._plant)
        self._options = repr(self._plant.opt)
        copy_options(parts, self._plant)
        self._m, self._d, self._divided = parts, api.make_data(parts), divided
        self._nq, self._nv = m.nq, m.nv
        self._evaluation = Evaluation(self._plant)
        self._has_forces = any(isinstance(spec, FORCE_KINDS) for spec in specs)
        api.kinematics(parts, self._d)
        self._solve()  # compile the kernels before the simulation starts
        across = [spec for spec in specs if isinstance(spec, ForceTorqueSpec | JointTorqueSpec)]
        self._of_joint = {spec.joint: _place(parts, spec.joint) for spec in across}
        self._types = {joint.name: joint.type for joint in description.joints}
        self._body_of = dict(zip(m.frame_names, m.frame_bodyid.tolist(), strict=True))
        rotations = map(quat_to_mat, parts.frame_quat)
        places = zip(parts.frame_bodyid.tolist(), parts.frame_pos, rotations, strict=True)
        self._links = dict(zip(parts.frame_names, places, strict=True))
        self._axes = self._d.xmat.reshape(-1, 3, 3)
        # for each geometry that is fixed to the world, the part of its link; 0 for other
        # geometries
        fixed = (m.geom_bodyid == 0) & (m.geom_frameid >= 0)
        self._fixed_part = np.where(fixed, parts.frame_bodyid[m.geom_frameid], 0)

    def enter(self, state: StateLike) -> None:
        """Compute the measured quantities of a state, with the present options of the plant."""
        options = repr(self._plant.opt)
        if options != self._options:
            copy_options(self._m, self._plant)
            self._options = options
        d = self._d
        d.time = state.time
        d.qpos[:], d.qvel[:] = state.qpos[: self._nq], state.qvel[: self._nv]
        api.kinematics(self._m, d)
        if self._has_forces:
            self._evaluation.enter(state)
            self._apply(state.xfrc)
            self._solve()

    def _solve(self) -> None:
        """Compute velocities, accelerations and joint forces.

        Kinematics and xfrc_applied must be set.
        """
        m, d, whole = self._m, self._d, self._evaluation.d
        api.com_pos(m, d)
        api.com_vel(m, d)
        api.bias_force(m, d)
        api.make_constraint(m, d)
        d.qacc[:], d.efc_force[:] = whole.qacc, whole.efc_force
        api.joint_forces(m, d)

    def _apply(self, xfrc: Array) -> None:
        """Write xfrc_applied of each part, from external and contact wrenches."""
        d, divided, whole = self._d, self._divided, self._evaluation
        d.xfrc_applied[:] = 0.0
        for forces, parts in ((xfrc, divided.outside), (whole.contact, divided.touching)):
            for body in np.flatnonzero(forces.any(axis=1)).tolist():
                if body > 0:
                    force, torque = forces[body, :3], forces[body, 3:]
                    self._push(parts[body], force, torque, whole.d.xipos[body])
        if self._fixed_part.any():
            self._press_fixed_parts()

    def _press_fixed_parts(self) -> None:
        """Add the contact wrenches on links that are fixed to the world."""
        d = self._evaluation.d
        parts = self._fixed_part[d.contact_geom[: d.ncon, 0]]  # only geom1 can be fixed
        for c in np.flatnonzero(parts).tolist():
            self._push(parts[c], -d.contact_force[c], -d.contact_torque[c], d.contact_pos[c])

    def _push(self, part: int, force: Array, torque: Array, point: Array) -> None:
        """Add a torque, and a force at a point, to xfrc_applied of a part."""
        xfrc = self._d.xfrc_applied[part]
        xfrc[:3] += force
        xfrc[3:] += torque + _cross(point - self._d.xipos[part], force)

    def _frame(self, link: str) -> tuple[int, Array, Array]:
        """Return the part to which a link belongs, and the link's origin and axes in the world."""
        part, pos, turn = self._links[link]
        R = self._axes[part]
        return part, self._d.xpos[part] + R @ pos, R @ turn

    def pose(self, link: str) -> tuple[Array, Array]:
        """Return the origin (3,) and rotation matrix (3, 3) of a link in the world."""
        _, x, R = self._frame(link)
        return x, R

    def motion(self, link: str) -> tuple[Array, Array, Array]:
        """Return the angular velocity, specific force and rotation matrix of a link.

        Both vectors are in the axes of the link; the specific force is at its origin.
        """
        d = self._d
        part, x, R = self._frame(link)
        r = x - d.subtree_com[self._m.body_rootid[part]]
        omega, v = d.cvel[part, :3], d.cvel[part, 3:]
        # cacc contains -gravity; a point of the body also has a centripetal acceleration
        a = d.cacc[part, 3:] + _cross(d.cacc[part, :3], r)
        a = a + _cross(omega, v + _cross(omega, r))
        return R.T @ omega, R.T @ a, R

    def joint_wrench(self, spec: ForceTorqueSpec) -> Array:
        """Return the force and torque (6,) across a joint, in and about its sensor's frame."""
        d = self._d
        part, number, is_loop, pos, mat = self._of_joint[spec.joint]
        R = self._axes[part]
        R_s, origin = R @ mat, d.xpos[part] + R @ pos
        wrench = (d.loop_force if is_loop else d.jnt_force)[number]
        # below is the wrench that the parent applies to the child
        sign = -1.0 if spec.measured == MEASURED[0] else 1.0
        force, moment = sign * (R_s @ wrench[3:]), sign * (R_s @ wrench[:3])
        return self._seen_from(spec.frame, force, moment, origin)

    def joint_effort(self, name: str) -> float:
        """Return the effort of the parent on the child of a joint, about or along its axis."""
        d, m = self._d, self._m
        _, number, is_loop, _, _ = self._of_joint[name]
        # use the joint's frame: the child's origin and axes may differ from it
        wrench = (d.loop_force if is_loop else d.jnt_force)[number]
        axis = (m.loop_axis if is_loop else m.jnt_axis)[number]
        part = wrench[3:] if self._types[name] == "prismatic" else wrench[:3]
        return float(axis @ part)

    def contact_wrench(self, spec: ContactSpec) -> Array:
        """Return the contact force and torque (6,) on the body of a link, in the link's frame."""
        body, whole = self._body_of[spec.link], self._evaluation
        force, moment = whole.contact[body, :3], whole.contact[body, 3:]
        return self._seen_from(spec.link, force, moment, whole.d.xipos[body])

    def _seen_from(self, link: str, force: Array, moment: Array, point: Array) -> Array:
        """Return the force and torque (6,) about the origin of a link, in its axes."""
        _, x, R = self._frame(link)
        torque = moment + _cross(point - x, force)
        return np.concatenate([R.T @ force, R.T @ torque])


def _cross(a: Array, b: Array) -> Array:
    """Return a x b in a tenth of the time of np.cross."""
    a0, a1, a2 = a.tolist()
    b0, b1, b2 = b.tolist()
    return np.array((a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0))


def _place(m: Model, joint: str) -> tuple[int, int, bool, Array, Array]:
    """Return the pose of the successor frame F_s of a joint in a body.

    Returns the body to which F_s is fixed, the number of the joint, whether the joint closes a
    loop, and the origin and axes of F_s in the body's frame.
    """
    if joint in m.loop_names:
        i = m.loop_id(joint)
        return (
            int(m.loop_bodyid[i, 1]), i, True, m.loop_pos[i, 1], quat_to_mat(m.loop_quat[i, 1])
        )  # fmt: skip
    j = m.jnt_id(joint)
    body = j + 1
    if m.jnt_reversed[j]:
        mat = m.body_mat[body].reshape(3, 3)
        return int(m.body_parentid[body]), j, False, m.body_pos[body], mat
    return body, j, False, np.zeros(3), np.eye(3)
