# SPDX-License-Identifier: Apache-2.0
"""The spring with which a hand pulls or rotates a link; its stiffness suits the inertia."""

import threading

import numpy as np

from rbdyn_ros.arrays import Array, Bools
from rbdyn_ros.dynamics.stages import forward, make_data
from rbdyn_ros.dynamics.toolbox.frames import frame_jacobian, frame_pose
from rbdyn_ros.dynamics.toolbox.inertia import mass_matrix
from rbdyn_ros.errors import refusal
from rbdyn_ros.model.connected import connected_mass
from rbdyn_ros.model.tree.rotation import quat_to_mat
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.runtime.types import Pull
from rbdyn_ros.view.scene.wrench_lines import USUAL_GRAVITY

#: Natural frequency of the spring [rad/s], and its largest ratio to the frequency of ticks.
RATE, MOST_RATE = 22.0, 0.2
#: Damping relative to critical damping; above 1, because a hanging load swings and then seems
#: heavier than a load that lies.
DAMPING = 1.4
#: The spring overcomes dry friction, or carries the weight of a standing robot, at this distance
#: from the goal [m], [rad]. For this it becomes up to MOST_STIFFER times as stiff.
SAG, SAG_ANGLE, MOST_STIFFER = 0.03, 0.1, 10.0
#: Rate at which the hand takes over the weight that stretches the spring [1/s], and the most
#: weight that it takes, relative to the weight of the bodies joined to the link.
LEARNING, MOST_LOAD = 6.0, 1.5
#: Largest force of the spring, relative to the weight of the bodies joined to the link.
MOST_WEIGHTS = 5.0
#: Largest torque of the spring [N m]; in practice the limited angle to the goal limits it more.
MOST_TORQUE = 1e6
#: A point counts as immovable in a direction if its mobility there is below this share of its
#: mobility in the easiest direction.
LEAST_EASE = 1e-3


class CarriedWeight:
    """The weight at the dragged point, which the hand takes over from the spring.

    It is the sum over time of the upward force of spring and damper. For a free body that moves
    from rest to rest this sum is zero, so a goal that jumps adds no load. Horizontal forces are
    left out, because they would make a hanging load swing more.
    """

    def __init__(self) -> None:
        self._drag: tuple[object, ...] = ()
        self._time, self._until, self._force = 0.0, 0.0, 0.0

    def take(
        self, drag: tuple[object, ...], time: float, duration: float, force: float, most: float
    ) -> float:
        """Return the load [N]; a new drag begins without a load.

        Args:
            drag: key of the drag.
            time: present time [s].
            duration: time after which a drag that is not renewed has ended [s].
            force: upward force of spring and damper now, computed without the load [N].
            most: largest load, upwards or downwards [N].
        """
        if drag != self._drag or not self._time <= time <= self._until:
            self._force = 0.0
        else:
            load = self._force + LEARNING * (time - self._time) * force
            self._force = min(max(load, -most), most)
        self._drag, self._time, self._until = drag, time, time + duration
        return self._force


class HandSpring:
    """Makes the pulls of a hand on the robots and objects of a loop; thread-safe.

    The damping suits the inertia at the dragged point. For this inertia, joints with a servo or a
    brake and closed loops count as rigid, and contact is left out. The goal is ahead of the cursor
    by the length that the load at the point stretches the spring.

    Args:
        loop: loop with the Model and its present state.
    """

    def __init__(self, loop: Loop) -> None:
        self._loop, self._lock = loop, threading.Lock()
        self._carried = CarriedWeight()
        self._m, self._d = loop.plant.m, make_data(loop.plant.m)

    def pull(self, link: str, point: Array, goal: Array, duration: float) -> Pull:
        """Return the pull from a point of a link to a goal.

        Args:
            link: name of the link.
            point: (3,) point of the link, in the frame of the link [m].
            goal: (3,) goal of the point in the world [m]; or (9,) goal of the link's orientation,
                row by row.
            duration: duration of the pull [s].

        Raises:
            RbdynError: the link is fixed to the world, or there is no link of this name.
        """
        with self._lock:
            m = self._loop.plant.m
            if m is not self._m:
                self._m, self._d = m, make_data(m)
            if link not in m.frame_names:
                raise refusal(f"there is no link '{link}'")
            frame = m.frame_id(link)
            body = int(m.frame_bodyid[frame])
            if body == 0:
                raise refusal(f"link '{link}' is fixed to the world, so it cannot be pulled")
            R = quat_to_mat(m.frame_quat[frame])
            rate = min(RATE, MOST_RATE / (self._loop.period_ns * 1e-9))
            lag = 2.0 * DAMPING / rate
            J, at = self._jacobian(link, point)
            if len(goal) == 9:
                stiffness = rate**2 * self._felt_inertia(J[:3], 0.0, 0.0, SAG_ANGLE * rate**2)
                goal, most = goal.reshape(3, 3) @ R.T, MOST_TORQUE
            else:
                weight = USUAL_GRAVITY * connected_mass(m, body)
                stiffness = self._stiffness(J[3:], body, weight, rate)
                up = stiffness[2] @ (goal - at - lag * (J[3:] @ self._d.qvel))
                drag = (link, *point.tolist())
                load = self._carried.take(drag, self._d.time, duration, up, MOST_LOAD * weight)
                goal, most = goal + load * np.linalg.pinv(stiffness)[2], MOST_WEIGHTS * weight
            at_link = m.frame_pos[frame] + R @ point
            return Pull(body, at_link, goal, stiffness, lag, most, duration)

    def _stiffness(self, J: Array, body: int, weight: float, rate: float) -> Array:
        """Return the stiffness (3, 3) at a point with the linear Jacobian J (3, nv) [N/m].

        Args:
            J: the Jacobian.
            body: body with the point.
            weight: weight of the bodies joined to this body [N].
            rate: natural frequency of the spring [rad/s].
        """
        m = self._m
        own = m.body_rootid[m.dof_bodyid] == m.body_rootid[body]
        floats = int(m.jnt_dofnum[m.body_rootid[body] - 1]) == 6
        # a floating robot stands if servos or brakes hold some of its joints
        stands = floats and bool((own & self._loop.kept_dofs).any())
        load, sag = weight if stands else 0.0, SAG * rate**2
        return rate**2 * self._felt_inertia(J, weight / USUAL_GRAVITY, load, sag)

    def _jacobian(self, link: str, point: Array) -> tuple[Array, Array]:
        """Return the Jacobian (6, nv) [angular; linear] at a point of a link, and its position."""
        state, d = self._loop.readout.latest(), self._d
        d.qpos, d.qvel, d.time = state.qpos, state.qvel, state.time
        if self._m.nefc:
            forward(self._m, d)  # writes efc_J
        J = frame_jacobian(self._m, d, link)
        position, R = frame_pose(self._m, d, link)
        arm = R @ point
        return np.concatenate([J[:3], J[3:] + np.cross(J[:3].T, arm).T]), position + arm

    def _felt_inertia(self, J: Array, mass: float, load: float, sag: float) -> Array:
        """Return the apparent inertia (3, 3) at a point with the Jacobian J (3, nv).

        Args:
            J: linear or angular part of a Jacobian.
            mass: largest inertia in any direction; 0: unlimited.
            load: force or torque that the spring must overcome in every direction [N], [N m].
            sag: acceleration [m/s^2], [rad/s^2] at which the spring overcomes load and friction.
        """
        m, free = self._m, _free_dofs(self._loop)
        if m.nM == 0:  # the Model is too large for a mass matrix
            return np.eye(3) * mass
        J = J[:, free]
        M = mass_matrix(m, self._d)[np.ix_(free, free)]
        yields = np.linalg.lstsq(M, J.T, rcond=None)[0]
        if m.nefc:
            K = self._d.efc_J[:, free]
            back = np.linalg.lstsq(M, K.T, rcond=None)[0]
            yields -= back @ np.linalg.pinv(K @ back) @ (K @ yields)
        mobility = J @ yields
        ease, axes = np.linalg.eigh(0.5 * (mobility + mobility.T))
        least = 1.0 / mass if mass > 0.0 else LEAST_EASE * float(ease.max())
        ease = np.maximum(ease, least or np.inf)
        friction = m.dof_frictionloss[free] @ np.abs(yields @ axes) / ease
        inertia = np.maximum(1.0 / ease, np.minimum((friction + load) / sag, MOST_STIFFER / ease))
        apparent: Array = axes @ np.diag(inertia) @ axes.T
        return apparent


def _free_dofs(loop: Loop) -> Bools:
    """Return a mask (nv,) of the dofs that no servo, brake or fault holds; all if all are held."""
    free: Bools = ~loop.kept_dofs
    return free if free.any() else np.ones_like(free)
