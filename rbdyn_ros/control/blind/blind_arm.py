# SPDX-License-Identifier: Apache-2.0
"""The door to control/blind: it takes states and returns efforts, faults and phases.

The kernels beside this file do the work: they also run in generated controllers of ros2_control.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.arm.settings import ControlSettings
from rbdyn_ros.control.base.faults import Fault
from rbdyn_ros.control.base.limits import Limits
from rbdyn_ros.control.blind import coasting, endings, velocity_vote, witness
from rbdyn_ros.control.blind.state import BlindState
from rbdyn_ros.control.laws.joint_laws import checked_gains
from rbdyn_ros.dynamics.entry import Entry, check_mass_matrix, handles
from rbdyn_ros.dynamics.stages import make_data

#: After these faults no state is believed again, unless it jumped and was dropped: then the next
#: ones must be near where a braked arm is.
LIES = ("clock", "position", "velocity", "acceleration", "power", "frozen")

_begin, _pause, _look = map(Entry, (witness.begin, witness.pause, witness.look))
_forget, _remember = Entry(velocity_vote.forget), Entry(velocity_vote.remember)
_coast = Entry(coasting.coast)
_end, _see, _since = map(Entry, (endings.begin, endings.see, endings.since))
_stop, _doubt, _disbelieves = map(
    Entry, (endings.stop_blindly, endings.doubt, endings.disbelieves)
)


class BlindArm:
    """Notices states that cannot be believed, and stops an arm after a fault.

    Vectors are arrays that the caller made itself.

    Args:
        arm: the robot.
        settings: gains of holding, and blind_time.
        limits: limits of the controlled joints.

    Attributes:
        s: the memory.
        effort: (nv,) the commands computed last.
        lie: the first fault of a state whose numbers lie, or None.

    Raises:
        ParameterError: gains are negative or their number is wrong.
    """

    def __init__(self, arm: Arm, settings: ControlSettings, limits: Limits) -> None:
        n, nv = len(limits.names), arm.m.nv
        s = self.s = BlindState(n=n, nv=nv)
        s.dofs, s.blind_time = limits.dofs, settings.blind_time
        s.controlled[limits.dofs] = 1
        s.gains[0] = checked_gains("stiffness", settings.stiffness, nv)
        s.gains[1] = checked_gains("damping", settings.damping, nv)
        self.effort: Array = np.zeros(nv)
        self.lie: Fault | None = None
        self.tighten(limits)
        self.use(arm)
        self.begin()

    def use(self, arm: Arm) -> None:
        """Continue with another arm of the same joints."""
        d, own = make_data(arm.m), make_data(arm.bare)
        check_mass_matrix(arm.m, d, "witness")
        self._kept, s, friction = (arm, d, own), self.s, arm.friction
        at = *handles(arm.m, d), *handles(arm.bare, own)
        self._at = *at, arm.actuation.handle, s.handle
        s.dry = np.maximum(friction.coulomb + friction.stribeck, arm.m.dof_frictionloss)
        s.weighed = 0

    def tighten(self, limits: Limits) -> None:
        """Continue with tighter limits of the same joints."""
        self.s.limits, self.s.velocity_scale = limits.rows, limits.velocity_scale
        self.s.weighed = 0

    # an armed arm

    def begin(self) -> None:
        """Start with the next state: nothing is unexplained yet, and there is no fault."""
        _begin.call(self.s.handle)
        self.forget()
        self.trip()
        self.end_coasting()

    def forget(self) -> None:
        """Continue with the next state, which is no evidence about the efforts sent before it."""
        self.pause()
        _forget.call(self.s.handle)

    def pause(self) -> None:
        """Take the next state as no evidence about the efforts before it; keep older states."""
        _pause.call(self.s.handle)

    def look(
        self,
        time: int,
        qpos: Array,
        qvel: Array,
        command: Array,
        measured: Array,
        dt: float,
        contact: float,
        blocked: float,
    ) -> int:
        """Compare a state with the efforts sent; return the joint that has frozen, or -1.

        Args:
            time: of the newest state [ns].
            qpos: (nv,) its position.
            qvel: (nv,) its velocity.
            command: (nv,) commands that acted since the state before [N m or N].
            measured: (nv,) measured efforts, NaN where there are none [N m or N].
            dt: time since then [s].
            contact: effort that a contact may withstand, as a share of the effort limits.
            blocked: the same where the numbers of a joint do not repeat to the last bit.
        """
        given = qpos, qvel, command, measured, dt, contact, blocked
        frozen: int = _look.call(*self._at, *given)
        if frozen < 0:
            _remember.call(self.s.handle, time, qpos, qvel)
        return frozen

    def coast(
        self, now: int, late: float, dt: float, qpos: Array, qvel: Array, command: Array
    ) -> float:
        """Write the efforts of an arm whose newest state is late, as coasting.coast."""
        found: float = _coast.call(*self._at, now, late, dt, qpos, qvel, command, self.effort)
        return found

    def end_coasting(self) -> None:
        """Stop coasting: a state came in time."""
        self.s.coasts = 0

    # an arm with a fault

    def trip(self) -> None:
        """Start to brake the arm after a fault."""
        _end.call(self.s.handle)
        self.lie = None

    @property
    def phase(self) -> str:
        """braking, holding, blind or silent."""
        return endings.PHASES[self.s.phase]

    @property
    def reason(self) -> str:
        """Why braking was given up, or an empty string."""
        return endings.REASONS[self.s.reason]

    def doubt(self, fault: Fault, dropped: bool) -> None:
        """Take notice of a fault that the newest state shows; `dropped`: it jumped there."""
        if fault.blind and fault.code in LIES:
            self.lie = self.lie or fault
            _doubt.call(self.s.handle, dropped)

    def disbelieves(self, now: int, qpos: Array, qvel: Array) -> bool:
        """Whether a state that follows a lie is not believed, see endings.disbelieves."""
        found: bool = _disbelieves.call(self.s.handle, now, qpos, qvel)
        return found

    def see(self, time: int, qpos: Array, qvel: Array, dt: float) -> Array | None:
        """Return the efforts (nv,) for a valid state; None: stay silent.

        Args:
            time: of the state [ns].
            qpos: (nv,) its position.
            qvel: (nv,) its velocity.
            dt: time since the last state [s].
        """
        sends = _see.call(*self._at, time, qpos, qvel, dt, self.effort)
        return self.effort if sends else None

    def since(self, now: int) -> float:
        """Return the time since the last effort without states [s], or 1 ms before the first."""
        found: float = _since.call(self.s.handle, now)
        return found

    def stop(
        self, now: int, time: int, qpos: Array, qvel: Array, overdue: float = 0.0
    ) -> Array | None:
        """Return the efforts (nv,) of an arm without states to believe; None: stay silent.

        Args:
            now: steady clock [ns].
            time: of the last state [ns]; it and the next two count when the arm becomes blind.
            qpos: (nv,) its position.
            qvel: (nv,) its velocity.
            overdue: time for which the last state has been too old [s].
        """
        sends = _stop.call(*self._at, now, overdue, time, qpos, qvel, self.effort)
        return self.effort if sends else None
