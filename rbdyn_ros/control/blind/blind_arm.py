# SPDX-License-Identifier: Apache-2.0
"""The interface of control/blind: the memory of the kernels in this folder.

They also run in generated controllers of ros2_control.
"""

import numpy as np

from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.arm.settings import ControlSettings
from rbdyn_ros.control.base.limits import Limits
from rbdyn_ros.control.blind import endings, velocity_vote, witness
from rbdyn_ros.control.blind.state import BlindState
from rbdyn_ros.control.laws.joint_laws import checked_gains
from rbdyn_ros.dynamics.entry import Entry, check_mass_matrix, handles
from rbdyn_ros.dynamics.stages import make_data

_begin, _pause = Entry(witness.begin), Entry(witness.pause)
_forget, _end = Entry(velocity_vote.forget), Entry(endings.begin)


class BlindArm:
    """The memory of the kernels that detect wrong states and stop an arm.

    Args:
        arm: the robot.
        settings: gains of holding, and blind_time.
        limits: limits of the controlled joints.

    Attributes:
        s: the state of the kernels.
        at: the first arguments of the kernels: m, d, bare, own, a for the arm, and s.

    Raises:
        ParameterError: a gain is negative, or the number of gains is wrong.
    """

    def __init__(self, arm: Arm, settings: ControlSettings, limits: Limits) -> None:
        n, nv = len(limits.names), arm.m.nv
        s = self.s = BlindState(n=n, nv=nv)
        s.dofs, s.blind_time = limits.dofs, settings.blind_time
        s.controlled[limits.dofs] = 1
        s.gains[0] = checked_gains("stiffness", settings.stiffness, nv)
        s.gains[1] = checked_gains("damping", settings.damping, nv)
        self.tighten(limits)
        self.use(arm)
        self.begin()

    def use(self, arm: Arm) -> None:
        """Continue with another arm with the same joints."""
        d, own = make_data(arm.m), make_data(arm.bare)
        check_mass_matrix(arm.m, d, "witness")
        self._kept, s, friction = (arm, d, own), self.s, arm.friction
        at = *handles(arm.m, d), *handles(arm.bare, own)
        self.at = *at, arm.actuation.handle, s.handle
        s.dry = np.maximum(friction.coulomb + friction.stribeck, arm.m.dof_frictionloss)
        s.weighed = 0

    def tighten(self, limits: Limits) -> None:
        """Continue with tighter limits for the same joints."""
        self.s.limits, self.s.velocity_scale = limits.rows, limits.velocity_scale
        self.s.weighed = 0

    # an armed arm

    def begin(self) -> None:
        """Start with the next state, without unexplained motion and without a fault."""
        _begin.call(self.s.handle)
        self.forget()
        self.trip()
        self.end_coasting()

    def forget(self) -> None:
        """Restart with the next state, which does not count as evidence about earlier efforts."""
        self.pause()
        _forget.call(self.s.handle)

    def pause(self) -> None:
        """Do not count the next state as evidence about earlier efforts; keep older states."""
        _pause.call(self.s.handle)

    def end_coasting(self) -> None:
        """Stop coasting: a state came in time."""
        self.s.coasts = 0

    # an arm with a fault

    def trip(self) -> None:
        """Start to brake the arm after a fault."""
        _end.call(self.s.handle)

    @property
    def phase(self) -> str:
        """Phase of the arm: braking, holding, blind or silent."""
        return endings.PHASES[self.s.phase]

    @property
    def reason(self) -> str:
        """Reason why braking was given up, or an empty string."""
        return endings.REASONS[self.s.reason]
