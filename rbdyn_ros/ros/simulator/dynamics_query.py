"""Terms of the equation of motion by joint name: what a controller asks of a simulated robot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.dynamics.stages import forward_dynamics, inverse, kinematics, make_data, mass_matrix
from rbdyn_ros.dynamics.toolbox.filling import REFERENCES
from rbdyn_ros.dynamics.toolbox.frames import frame_jacobian, frame_pose
from rbdyn_ros.dynamics.toolbox.terms import (
    bias_term,
    coriolis_matrix,
    gravity_term,
    kinetic_energy,
    potential_energy,
)
from rbdyn_ros.errors import RbdynError, did_you_mean, quote
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Matrices of a robot with more degrees of freedom are refused: they would be too large to send.
MOST_DOFS = 1000
DEFAULT_REFERENCE = "local_world_aligned"
NO_NUMBERS: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked; the fields are those of rbdyn_interfaces/GetDynamics.

    Attributes:
        name: joints with a coordinate of their own, in the order of the answer; none: all.
        position, velocity: one a name [rad or m, rad/s or m/s]; empty: zeros.
        acceleration, effort: one a name, for inverse and forward dynamics; empty: zeros.
        use_current_state: the named joints stand and move as in the simulation.
        jacobian_frame: link whose Jacobian is wanted; empty: none.
        jacobian_reference: see toolbox/frames.py; empty: "local_world_aligned".
        include_gravity: in the bias and in inverse and forward dynamics.
        include_passive: damping, friction, springs and stops of joints, in the latter two.
        include_external_wrenches: those that act on links, in the latter two.
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
    """Rows and columns are those of `name`; what was not asked for is empty.

    Attributes:
        mass_matrix, coriolis_matrix: (n, n).
        jacobian: (6, n), [angular; linear].
        gravity_effort, bias_effort, inverse_dynamics, forward_dynamics: (n,).
        potential_energy, kinetic_energy: [J].
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
    """The robot as it is simulated now.

    Attributes:
        plant: its Model, payloads and gravity included.
        qpos, qvel: (nq,), (nv,).
        time: [s].
        xfrc: (nbody, 6) force and torque on each body at its centre of mass, world axes.
    """

    plant: Model
    qpos: Array
    qvel: Array
    time: float
    xfrc: Array


class Dynamics:
    """Answers queries with a Model and a Data of its own; the simulation is not disturbed."""

    def __init__(self) -> None:
        self._plant: Model | None = None
        self._m: Model
        self._d: Data

    def answer(self, now: Snapshot, query: Query) -> Answer | str:
        """Return what is asked for, or a sentence why it is refused."""
        joints = _chosen(now.plant, query.name)
        if isinstance(joints, str):
            return joints
        why = _judge_numbers(query, joints) or _judge_request(now.plant, query)
        if why:
            return why
        self._use(now.plant)
        try:
            found = self._computed(now, query, joints)
        except RbdynError as error:
            return str(error)
        for quantity, value in found.items():
            if not np.isfinite(value).all():
                return f"{quantity} is not finite there: M is singular, or a number is too large"
        return Answer(joints.names, **found)

    def _use(self, plant: Model) -> None:
        """Take a Model with options of its own, and a Data for it."""
        if plant is not self._plant:
            self._plant = plant
            self._m = plant.replaced()
            self._d = make_data(self._m)
        self._m.opt.gravity = plant.opt.gravity
        # springs store energy always; what asks to be without them comes later
        self._m.opt.passive = True

    def _computed(self, now: Snapshot, query: Query, joints: _Joints) -> dict[str, Any]:
        m, d = self._m, self._d
        d.qpos, d.qvel, d.qacc, d.time = now.qpos, now.qvel, 0.0, now.time
        d.qfrc_applied, d.xfrc_applied = 0.0, 0.0
        if not query.use_current_state:
            d.qpos[joints.qposadr] = query.position if len(query.position) else 0.0
            d.qvel[joints.dofadr] = query.velocity if len(query.velocity) else 0.0
        k = joints.dofadr
        found: dict[str, Any] = {}
        if query.mass_matrix:
            found["mass_matrix"] = mass_matrix(m, d)[np.ix_(k, k)].copy()
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

    def _inverse(self, now: Snapshot, query: Query, k: Integers) -> Array:
        m, d = self._m, self._d
        if len(query.acceleration):
            d.qacc[k] = query.acceleration
        inverse(m, d)
        efforts: Array = d.qfrc_inverse.copy()
        if query.include_external_wrenches:
            # tau = qfrc_inverse - sum J^T f: what wrenches do, the joints need not
            efforts -= _joint_forces_of(m, d, now.xfrc)
        return efforts[k]

    def _forward(self, now: Snapshot, query: Query, k: Integers) -> Array:
        m, d = self._m, self._d
        if len(query.effort):
            d.qfrc_applied[k] = query.effort
        if query.include_external_wrenches:
            d.xfrc_applied = now.xfrc
        forward_dynamics(m, d)
        accelerations: Array = d.qacc[k]
        return accelerations


@dataclass(frozen=True, slots=True)
class _Joints:
    names: tuple[str, ...]
    qposadr: Integers
    dofadr: Integers


def _chosen(m: Model, names: Sequence[str]) -> _Joints | str:
    """Return the named joints, or all with a coordinate of their own, or why these are none."""
    own = np.flatnonzero((m.jnt_dofnum == 1) & m.jnt_moved)
    numbers = {m.jnt_names[j]: int(j) for j in own}
    seen: set[str] = set()
    for name in names:
        if name not in numbers:
            return _why_not(m, name, numbers)
        if name in seen:
            return f"joint '{name}' is named twice; each joint may be named once"
        seen.add(name)
    chosen = np.array([numbers[name] for name in names] if len(names) else own, np.int64)
    wanted = tuple(m.jnt_names[j] for j in chosen)
    return _Joints(wanted, m.jnt_qposadr_all[chosen], m.jnt_dofadr_all[chosen])


def _why_not(m: Model, name: str, numbers: dict[str, int]) -> str:
    if name not in m.jnt_names:
        known = ", ".join(numbers) if len(numbers) <= 20 else f"{len(numbers)} joints"
        return f"there is no joint {quote(name)}{did_you_mean(name, numbers)}; there are {known}"
    j = m.jnt_names.index(name)
    if m.jnt_dofnum[j] != 1:
        return f"joint '{name}' has not one coordinate but {m.jnt_dofnum[j]}"
    mimic = int(m.jnt_mimic[j])
    if mimic >= 0:
        return f"joint '{name}' follows '{m.jnt_names[mimic]}'; name that one"
    return f"joint '{name}' is driven over time and has no coordinate of its own"


def _judge_numbers(query: Query, joints: _Joints) -> str:
    """Return why the numbers are refused, or an empty string."""
    for kind in ("position", "velocity", "acceleration", "effort"):
        numbers = np.asarray(getattr(query, kind), np.float64)
        if len(numbers) == 0:
            continue
        bad = np.flatnonzero(~np.isfinite(numbers))
        if len(bad):
            i = int(bad[0])
            of = f" of joint '{joints.names[i]}'" if i < len(joints.names) else ""
            return f"the {kind}{of} is {numbers[i]}; a finite number is needed"
        if query.use_current_state and kind in ("position", "velocity"):
            return f"there are {kind} values though use_current_state is true; leave one out"
        if len(numbers) != len(joints.names):
            return (
                f"there are {len(numbers)} {kind} values for {len(joints.names)} joints; one each "
                f"is needed, or none: {', '.join(joints.names[:20])}"
            )
    return ""


def _judge_request(m: Model, query: Query) -> str:
    """Return why what is asked for is refused, or an empty string."""
    if (query.mass_matrix or query.coriolis_matrix) and m.nv > MOST_DOFS:
        return f"the robot has {m.nv} degrees of freedom; up to {MOST_DOFS} a matrix is answered"
    frame, reference = query.jacobian_frame, query.jacobian_reference
    if frame and frame not in m.frame_numbers:
        return f"there is no link {quote(frame)}{did_you_mean(frame, m.frame_names)}"
    if reference and reference not in REFERENCES:
        allowed = ", ".join(f"'{name}'" for name in REFERENCES)
        return (
            f"jacobian_reference is {quote(reference)}{did_you_mean(reference, REFERENCES)}; "
            f"allowed are {allowed}"
        )
    return ""


def _joint_forces_of(m: Model, d: Data, xfrc: Array) -> Array:
    """Return sum J^T f, (nv,), of wrenches at the centres of mass, force before torque."""
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
    """Compile all that a query may need, so that none has to wait for it."""
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
