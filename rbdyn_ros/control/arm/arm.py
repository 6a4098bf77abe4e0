# SPDX-License-Identifier: Apache-2.0
"""An arm to be controlled: mounting, payloads, friction and the robot's own compensation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.control.arm import actuation
from rbdyn_ros.control.arm.actuation import Actuation
from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.control.base.kernels import entry
from rbdyn_ros.dynamics.entry import Entry, handles, is_vector, kind_of, public
from rbdyn_ros.dynamics.payload import with_payload
from rbdyn_ros.dynamics.stages import inverse, make_data
from rbdyn_ros.engine.compiler.jit import Vector
from rbdyn_ros.engine.quantities import terms
from rbdyn_ros.errors import Finding, ModelError, bad_argument
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model, check_model

if TYPE_CHECKING:
    from rbdyn_ros.control.arm.law_code import LawCode

#: Mass [kg], centre of mass (3,) [m], inertia (6,) [kg m^2], see Arm.with_payload.
Payload = tuple[float, tuple[float, ...], tuple[float, ...]]

_gravity_term = public(terms.gravity_term)


def mounted_gravity(mounting: ArrayLike, gravity: ArrayLike = (0.0, 0.0, -9.81)) -> Array:
    """Return gravity in the axes of the base link (3,) [m/s^2].

    Args:
        mounting: roll, pitch, yaw of the base link in the world, as in URDF [rad].
        gravity: (3,) in the world [m/s^2].

    Raises:
        ParameterError: the mounting or the gravity is not three finite numbers.
    """
    angles = finite("the mounting", mounting, (3,), element="")
    world = finite("gravity", gravity, (3,), element="")
    base: Array = world.copy()
    if not angles.any():
        return base
    from scipy.spatial.transform import Rotation  # this import is slow

    base = Rotation.from_euler("xyz", angles).inv().apply(base)
    return base


class Arm:
    """An immutable robot with joints that are driven by torques (forces).

    Poses are relative to the base link. The mounting rotates only gravity.

    Args:
        m: Model of the robot; it is not changed.
        gravity: (3,) in the world [m/s^2].
        mounting: roll, pitch, yaw of the base link in the world [rad].
        friction: friction of the joints; None: no friction.
        robot_compensates_gravity: whether the robot itself adds g(qpos), without payloads, to
            every command.
        robot_compensates_coriolis: whether the robot itself adds C qvel, without payloads, at the
            measured velocity to every command.
        payloads: payloads by the name of their link.
        code: specialised code of the laws, see `specialized`; None: the engine computes them.

    Attributes:
        m: Model with payloads, gravity in the axes of the base link, and without passive forces;
            friction is separate.
        bare: the same Model without payloads.
        d: Data for computations; it belongs to the calling thread.
        names: names of the joints with a dof, in the order of the dofs (nv).
        sha256: hash of the Model as loaded.
        actuation: friction and the robot's own compensation, for kernels.
        is_plain: whether a command is the effort of the rigid body dynamics: there is no friction,
            and the robot compensates neither gravity nor Coriolis forces.

    Raises:
        ModelError: a joint has several coordinates, the robot has loops, or the code was compiled
            for another robot.
        ParameterError: for the reasons of mounted_gravity; or friction has another number of
            joints.
    """

    def __init__(
        self,
        m: Model,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        mounting: ArrayLike = (0.0, 0.0, 0.0),
        friction: Friction | None = None,
        robot_compensates_gravity: bool = False,
        robot_compensates_coriolis: bool = False,
        payloads: Mapping[str, Payload] = MappingProxyType({}),
        code: LawCode | None = None,
    ) -> None:
        check_arm(m)
        own = robot_compensates_gravity, robot_compensates_coriolis
        self._given = m, gravity, mounting, friction, *own
        self.code = code
        self.friction = Friction.of(m.nv) if friction is None else friction.check_dofs(m.nv)
        self.robot_compensates_gravity, self.robot_compensates_coriolis = own
        self.names: tuple[str, ...] = tuple(m.jnt_names[j] for j in m.dof_jntid)
        self.sha256: str = m.sha256()
        if code is not None and code.sha256 != self.sha256:
            text = f"the code of the control laws was made for another robot than '{m.name}'"
            raise ModelError(Finding("other-model", text))
        self.bare = m.replaced()
        self.bare.opt.gravity = tuple(mounted_gravity(mounting, gravity).tolist())
        self.bare.opt.passive = False
        self.m = self.bare
        for link, payload in payloads.items():
            self.m = with_payload(self.m, link, *payload)
        self.payloads: Mapping[str, Payload] = MappingProxyType(dict(payloads))
        self.d, self._bare_d = make_data(self.m), make_data(self.bare)
        self._m_at, self._d_at = handles(self.m, self.d)
        a, f = Actuation(nv=m.nv), self.friction
        a.rubs = bool((f.viscous + f.coulomb + f.stribeck).any())
        a.own_gravity, a.own_coriolis = own
        for field in fields(f):
            setattr(a, field.name, getattr(f, field.name))
        self.actuation = a
        self._own_at = *handles(self.bare, self._bare_d), a.handle
        self.is_plain = not (a.rubs or any(own))

    def twin(self) -> Arm:
        """Return the same arm with its own Data, for use in another thread."""
        return Arm(*self._given, self.payloads, self.code)

    def specialized(self) -> Arm:
        """Return the arm with the joint laws compiled for it; efforts agree up to rounding.

        Twins and arms with other payloads share the code. The engine still computes everything
        else: CartesianImpedance, the arming check and the robot's own gravity compensation.

        Raises:
            ModelError: the arm cannot be specialised, or compilation is switched off.
        """
        from rbdyn_ros.control.arm.law_code import LawCode  # this import loads the compiler

        return Arm(*self._given, self.payloads, LawCode(self.bare))

    def with_payload(
        self, link: str, mass: float, com: Sequence[float], inertia: Sequence[float] = (0.0,) * 6
    ) -> Arm:
        """Return the arm with a rigid body fixed to a link, which replaces the link's payload.

        Args:
            link: name of a link that moves.
            mass: [kg]; 0 removes the payload.
            com: (3,) centre of mass in the frame of the link [m].
            inertia: (6,) Ixx Iyy Izz Ixy Ixz Iyz about its centre of mass [kg m^2].

        Raises:
            ModelError, ParameterError: for the reasons of rb.with_payload.
        """
        payload = mass, tuple(com), tuple(inertia)
        with_payload(self.bare, link, *payload)  # checks the arguments, also for mass 0
        others = {name: kept for name, kept in self.payloads.items() if name != link}
        loaded = {**others, link: payload} if mass > 0.0 else others
        return Arm(*self._given, loaded, self.code)

    def place(self, qpos: Array, qvel: Array) -> None:
        """Copy a position and a velocity (nv,) into d. The arrays are not checked."""
        _place.call(self._m_at, self._d_at, qpos, qvel)

    def gravity_effort(self, qpos: Array, out: Array) -> Array:
        """Write g(qpos) (nv,), the efforts that hold arm and payloads, and return `out`."""
        self.d.qpos[:] = qpos
        _gravity_term(self.m, self.d, out)
        return out

    def hold(self, qpos: Array, out: Array) -> Array:
        """Write the commands that hold the arm at qpos, and return `out`.

        The arrays (nv,) are not checked.
        """
        _hold.call(self._m_at, self._d_at, *self._own_at, qpos, out)
        return out

    def inverse_dynamics(self, qpos: Array, qvel: Array, qacc: Array, out: Array) -> Array:
        """Write M qacc + C qvel + g (nv,), without friction, and return `out`."""
        d = self.d
        d.qpos[:], d.qvel[:], d.qacc[:] = qpos, qvel, qacc
        inverse(self.m, d)
        out[:] = d.qfrc_inverse
        return out

    def command(
        self, effort: Array, qpos: Array, qvel: Array, rubbing: Array | None = None
    ) -> Array:
        """Convert efforts of the rigid body dynamics (nv,) to commands, in place.

        It adds friction and subtracts the robot's own compensation.

        Args:
            effort: (nv,), contiguous [N m or N].
            qpos: (nv,) measured positions [rad or m].
            qvel: (nv,) measured velocities [rad/s or m/s].
            rubbing: (nv,) velocities for which friction is computed [rad/s or m/s]; None: qvel.

        Raises:
            ParameterError: an argument is not an array (nv,).
        """
        given = (qpos, qvel, qvel if rubbing is None else rubbing)
        _to_command.call(*self._own_at, *map(self._vector, given), self._vector(effort, True))
        return effort

    def without_own(self, effort: Array, qpos: Array, qvel: Array | None = None) -> Array:
        """Subtract the robot's own compensation from efforts (nv,), in place.

        Args:
            effort: (nv,), contiguous [N m or N].
            qpos: (nv,) measured positions [rad or m].
            qvel: (nv,) measured velocities [rad/s or m/s]; None: the arm is at rest.

        Raises:
            ParameterError: an argument is not an array (nv,).
        """
        place, out = self._vector(qpos), self._vector(effort, True)
        if qvel is None:
            _add_own_gravity.call(*self._own_at, place, -1.0, out)
        else:
            _add_own.call(*self._own_at, place, self._vector(qvel), -1.0, out)
        return effort

    def _vector(self, given: Array, written: bool = False) -> Array:
        """Return the given array (nv,) for kernels, converted to float64 unless it is `written`.

        Raise ParameterError if kernels cannot use it.
        """
        n = self.m.nv
        own = given if written else np.ascontiguousarray(given, np.float64)
        if not is_vector(own, n, written):
            text = f"expected a contiguous float64 array of {n} entries, got {kind_of(given)}"
            raise bad_argument("vector", text)
        return own


@entry
def _place(m: Model, d: Data, qpos: Vector, qvel: Vector) -> None:
    for k in range(m.nv):
        d.qpos[k], d.qvel[k] = qpos[k], qvel[k]


_hold, _to_command = Entry(actuation.hold), Entry(actuation.to_command)
_add_own, _add_own_gravity = Entry(actuation.add_own), Entry(actuation.add_own_gravity)


def check_arm(m: Model) -> None:
    """Raise ModelError unless every moving joint has one coordinate and there are no loops."""
    check_model(m, "an arm")
    several = [name for name, n in zip(m.jnt_names, m.jnt_dofnum, strict=True) if n > 1]
    reason = ""
    if several:
        reason = f"joint '{several[0]}' has several coordinates; allowed are joints with one"
    elif m.nefc > 0 or m.nvall > m.nv + m.nmimic:
        reason = "it has loops, constraints or prescribed motions; allowed are trees of joints"
    elif m.nv == 0:
        reason = "it has no joint that moves"
    if reason:
        raise ModelError(Finding("not-an-arm", f"'{m.name}' is not an arm: {reason}"))
