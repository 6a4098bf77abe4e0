# SPDX-License-Identifier: Apache-2.0
"""Terms of the equation of motion by joint name, for the services of both nodes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rbdyn_ros.actuators.attach import without_actuators
from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.checks.names import MOST_LISTED, chosen, name_faults, one_of
from rbdyn_ros.dynamics.stages import forward_dynamics, inverse, kinematics, make_data
from rbdyn_ros.dynamics.toolbox.filling import REFERENCES
from rbdyn_ros.dynamics.toolbox.frames import frame_jacobian, frame_pose
from rbdyn_ros.dynamics.toolbox.inertia import mass_matrix
from rbdyn_ros.dynamics.toolbox.terms import (
    bias_term,
    coriolis_matrix,
    gravity_term,
    kinetic_energy,
    potential_energy,
)
from rbdyn_ros.errors import RbdynError, counted, quote, refusal
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.declared.joints import JointClass
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.common.parsing.single_joints import SingleJoints

#: Matrices of robots with more degrees of freedom are too large for a message.
MOST_DOFS = 1000
DEFAULT_REFERENCE = "local_world_aligned"
#: Code of the refusals.
CODE = "dynamics-query"
NO_NUMBERS: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """A query; its fields are the fields of rbdyn_interfaces/GetDynamics.

    Attributes:
        name: joints with one coordinate of their own, in the order of the answer; empty: all.
        position, velocity: a number for each joint [rad or m, rad/s or m/s]; empty: zeros.
        acceleration, effort: a number for each joint, for inverse and for forward dynamics
            [rad/s^2 or m/s^2, N m or N]; empty: zeros.
        use_current_state: whether the named joints have their present positions and velocities.
        jacobian_frame: link of the Jacobian; empty: no Jacobian.
        jacobian_reference: as for rb.frame_jacobian; empty: "local_world_aligned".
        include_gravity: whether gravity is in the bias and in inverse and forward dynamics.
        include_passive: whether damping, friction, springs and stops of joints are in inverse and
            forward dynamics.
        include_external_wrenches: whether wrenches that act on links are in inverse and forward
            dynamics.
    """

    name: Sequence[str] = ()
    position: Sequence[float] = NO_NUMBERS
    velocity: Sequence[float] = NO_NUMBERS
    acceleration: Sequence[float] = NO_NUMBERS
    effort: Sequence[float] = NO_NUMBERS
    use_current_state: bool = False
    mass_matrix: bool = False
    coriolis_matrix: bool = False
    gravity_effort: bool = False
    bias_effort: bool = False
    inverse_dynamics: bool = False
    forward_dynamics: bool = False
    energy: bool = False
    jacobian_frame: str = ""
    jacobian_reference: str = ""
    include_gravity: bool = False
    include_passive: bool = False
    include_external_wrenches: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """The requested terms, for the joints `name` in this order; all other terms are empty.

    Attributes:
        mass_matrix, coriolis_matrix: matrices M and C (n, n).
        jacobian: Jacobian of the frame (6, n), [angular; linear].
        gravity_effort, bias_effort, inverse_dynamics: efforts (n,) [N m or N].
        forward_dynamics: accelerations (n,) [rad/s^2 or m/s^2].
        potential_energy, kinetic_energy: energies of the robot [J].
    """

    name: tuple[str, ...]
    mass_matrix: Array = field(default_factory=lambda: np.empty((0, 0)))
    coriolis_matrix: Array = field(default_factory=lambda: np.empty((0, 0)))
    gravity_effort: Array = field(default_factory=lambda: np.empty(0))
    bias_effort: Array = field(default_factory=lambda: np.empty(0))
    jacobian: Array = field(default_factory=lambda: np.empty((6, 0)))
    inverse_dynamics: Array = field(default_factory=lambda: np.empty(0))
    forward_dynamics: Array = field(default_factory=lambda: np.empty(0))
    potential_energy: float = 0.0
    kinetic_energy: float = 0.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The present state of a robot.

    Attributes:
        plant: the Model, with the present payloads and gravity.
        qpos, qvel: positions (nq,) and velocities (nv,).
        time: simulated time [s].
        xfrc: (nbody, 6) force [N] and torque [N m] on each body at its centre of mass, world axes.
    """

    plant: Model
    qpos: Array
    qvel: Array
    time: float
    xfrc: Array


class Dynamics:
    """Answers queries with its own copies of the Model and the Data; for one thread."""

    def __init__(self) -> None:
        self._plant: Model | None = None
        self._m: Model
        self._d: Data

    def answer(self, now: Snapshot, query: Query) -> Answer:
        """Return the terms of a query.

        Raises:
            RbdynError: the query is refused, or a term is not finite.
        """
        joints = named_joints(now.plant, query.name)
        _check_numbers(query, joints)
        _check_request(now.plant, query)
        self._use(now.plant)
        found = self._computed(now, query, joints)
        for quantity, value in found.items():
            if not np.isfinite(value).all():
                raise refusal(
                    f"{quantity} is not finite in this state: M is singular, or a number is too "
                    "large",
                    CODE,
                )
        return Answer(joints.names, **found)

    def _use(self, plant: Model) -> None:
        """Copy the Model if it is new, without actuators, and set the options of queries.

        So the efforts of a query act on the joints, without delays or limits of actuators.
        """
        if plant is not self._plant:
            self._plant = plant
            self._m = without_actuators(plant).replaced()
            self._d = make_data(self._m)
        self._m.opt.gravity = plant.opt.gravity
        # energies include springs; inverse and forward dynamics set this option again
        self._m.opt.passive = True
        self._m.opt.exact_stops = False  # exact stops depend on the friction of the last step
        self._m.opt.integrator = "euler"  # Euler gives the qacc of continuous time

    def _computed(self, now: Snapshot, query: Query, joints: SingleJoints) -> dict[str, Any]:
        m, d = self._m, self._d
        d.qpos, d.qvel, d.qacc, d.time = now.qpos, now.qvel, 0.0, now.time
        d.qfrc_applied, d.xfrc_applied = 0.0, 0.0
        if not query.use_current_state:
            d.qpos[joints.qposadr] = query.position if len(query.position) else 0.0
            d.qvel[joints.dofadr] = query.velocity if len(query.velocity) else 0.0
        k = joints.dofadr
        found: dict[str, Any] = {}
        if query.mass_matrix:
            found["mass_matrix"] = mass_matrix(m, d)[np.ix_(k, k)]
        if query.coriolis_matrix:
            found["coriolis_matrix"] = coriolis_matrix(m, d)[np.ix_(k, k)]
        if query.jacobian_frame:
            reference = query.jacobian_reference or DEFAULT_REFERENCE
            found["jacobian"] = frame_jacobian(m, d, query.jacobian_frame, reference)[:, k]
        if query.gravity_effort:
            found["gravity_effort"] = gravity_term(m, d)[k]
        if query.energy:
            found["potential_energy"] = potential_energy(m, d)
            found["kinetic_energy"] = kinetic_energy(m, d)
        if not query.include_gravity:
            m.opt.gravity = (0.0, 0.0, 0.0)
        if query.bias_effort:
            found["bias_effort"] = bias_term(m, d)[k]
        m.opt.passive = query.include_passive
        if query.inverse_dynamics:
            found["inverse_dynamics"] = self._inverse(now, query, k)
        if query.forward_dynamics:
            found["forward_dynamics"] = self._forward(now, query, k)
        return found

    def _inverse(self, now: Snapshot, query: Query, k: Ints) -> Array:
        m, d = self._m, self._d
        if len(query.acceleration):
            d.qacc[k] = query.acceleration
        inverse(m, d)
        efforts: Array = d.qfrc_inverse.copy()
        if query.include_external_wrenches:
            # qfrc_inverse = tau + sum J^T f, where the joints provide tau
            efforts -= _joint_forces_of(m, d, now.xfrc)
        return efforts[k]

    def _forward(self, now: Snapshot, query: Query, k: Ints) -> Array:
        m, d = self._m, self._d
        if len(query.effort):
            d.qfrc_applied[k] = query.effort
        if query.include_external_wrenches:
            d.xfrc_applied = now.xfrc
        forward_dynamics(m, d)
        accelerations: Array = d.qacc[k]
        return accelerations


def named_joints(m: Model, names: Sequence[str]) -> SingleJoints:
    """Return the named joints; without names: all joints with one coordinate of their own.

    Raises:
        RbdynError: a joint is unknown, has no such coordinate or is named twice.
    """
    own = SingleJoints.free(m)
    numbers = {name: k for k, name in enumerate(own.names)}
    for name, reason in name_faults(names, m.jnt_names, "joint", lambda name: _why_not(m, name)):
        listed = list(numbers)[:MOST_LISTED]
        more = ", ..." if len(numbers) > len(listed) else ""
        hint = "" if name in m.jnt_names else f"; the joints are {', '.join(listed)}{more}"
        raise refusal(reason + hint, CODE, f"joint {quote(name)}")
    if not len(names):
        return own
    picked = np.array([numbers[name] for name in names], np.int64)
    return SingleJoints(tuple(names), own.qposadr[picked], own.dofadr[picked])


def _why_not(m: Model, name: str) -> str:
    """Return a reason why a joint does not have exactly one coordinate of its own, or ""."""
    j = m.jnt_names.index(name)
    if m.jnt_dofnum[j] != 1:
        return f"has {m.jnt_dofnum[j]} coordinates; joints need exactly one here"
    if m.jnt_class[j] == JointClass.FREE:
        return ""
    leader = int(m.jnt_mimic[j])
    if leader >= 0:
        return f"mimics '{m.jnt_names[leader]}'; name its leader"
    return "has a prescribed motion and no coordinate of its own"


def joint_numbers(joints: SingleJoints, kind: str, values: Sequence[float]) -> Array | None:
    """Return the values of a field (n,), one per joint, or None if the field is empty.

    Raises:
        RbdynError: the number of values is wrong, or a value is not finite.
    """
    if not len(values):
        return None
    numbers = np.asarray(values, np.float64)
    n = len(joints.names)
    if len(numbers) != n:
        text = (
            f"{kind} has length {len(numbers)} for {counted(n, 'joint')}; it needs length {n} or 0"
        )
        raise refusal(text, CODE, kind)
    for k in np.flatnonzero(~np.isfinite(numbers))[:1]:
        raise refusal(
            f"the {kind} of joint '{joints.names[k]}' is {numbers[k]}; allowed is a finite number",
            CODE,
            kind,
        )
    return numbers


def check_state(use_current_state: bool, **fields: Sequence[float]) -> None:
    """Raise RbdynError if use_current_state is set and a field of the state is not empty."""
    for kind, values in fields.items():
        if use_current_state and len(values):
            text = f"the query has {kind} values and use_current_state; leave out one of them"
            raise refusal(text, CODE, kind)


def _check_numbers(query: Query, joints: SingleJoints) -> None:
    check_state(query.use_current_state, position=query.position, velocity=query.velocity)
    for kind in ("position", "velocity", "acceleration", "effort"):
        joint_numbers(joints, kind, getattr(query, kind))


def _check_request(m: Model, query: Query) -> None:
    """Raise RbdynError if a term cannot be computed for this robot."""
    if (query.mass_matrix or query.coriolis_matrix) and m.nv > MOST_DOFS:
        raise refusal(f"the robot has {m.nv} dofs; matrices are limited to {MOST_DOFS} dofs", CODE)
    frame, reference = query.jacobian_frame, query.jacobian_reference
    if frame:
        field = "jacobian_frame"
        chosen([frame], m.frame_names, "link", error=RbdynError, code=CODE, element=field)
    if reference:
        one_of("jacobian_reference", reference, REFERENCES, RbdynError, CODE)


def _joint_forces_of(m: Model, d: Data, xfrc: Array) -> Array:
    """Return sum J^T f (nv,) of the wrenches xfrc (nbody, 6) of a Snapshot."""
    kinematics(m, d)
    total = np.zeros(m.nv)
    for body in np.flatnonzero(np.any(xfrc != 0.0, axis=1)).tolist():
        if body == 0:
            continue
        frame = int(np.flatnonzero(m.frame_bodyid == body)[0])
        J = frame_jacobian(m, d, frame, DEFAULT_REFERENCE)
        place, _ = frame_pose(m, d, frame)
        force, torque = xfrc[body, :3], xfrc[body, 3:]
        moment = torque + np.cross(d.xipos[body] - place, force)
        total += J.T @ np.concatenate([moment, force])
    return total


def warm(m: Model) -> None:
    """Compile all terms, so that no query waits for the compiler."""
    everything = Query(
        mass_matrix=True,
        coriolis_matrix=True,
        gravity_effort=True,
        bias_effort=True,
        inverse_dynamics=True,
        forward_dynamics=True,
        energy=True,
        jacobian_frame=m.frame_names[0],
    )
    d = make_data(m)
    Dynamics().answer(Snapshot(m, d.qpos, d.qvel, 0.0, np.zeros((m.nbody, 6))), everything)
