# SPDX-License-Identifier: Apache-2.0
"""Stop an armed arm after a fault: brake and hold it, or brake it blindly and then stay silent.

With valid states the arm is braked until it rests, and then held. Without, nobody knows why: the
states may be wrong, or a joint is really blocked. So the reaction depends on no later state: for
blind_time in total, the efforts take the momentum from the arm that it had when it became blind.
Then, or if braking does not work, nothing is published any more, so that the arm's own watchdog
takes over; the last efforts carry the arm.
"""

from __future__ import annotations

import math

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.arm.settings import ControlSettings
from rbdyn_ros.control.base.faults import Fault
from rbdyn_ros.control.base.limits import Limits
from rbdyn_ros.control.base.target import Target
from rbdyn_ros.control.laws.joint_laws import ComputedTorque
from rbdyn_ros.nanoseconds import NANOSECONDS

#: Rate at which motion decays while the arm is braked [1/s].
BRAKING = 10.0
#: The arm rests if it stays below this speed [rad/s or m/s] for this time [s].
REST, RESTING = 0.01, 0.1
#: After this time of braking the arm must rest [s]: noisy velocities are averaged over CALM [s].
LONGEST_BRAKING, CALM = 1.0, 0.2
#: Largest mean speed of an arm that rests [rad/s or m/s].
CALM_SPEED = 0.05
#: After this time of braking no joint may exceed the robot's velocity limit any more [s]; before,
#: none may exceed this multiple of it, or of its speed at the onset if that was higher.
GRACE, EXCEEDED = 0.2, 1.2
#: A push that begins with the fault accelerates a braked arm until the brake has learnt it [s].
LEARNING = 0.1
#: After that, braking must not increase the kinetic energy by this factor while a joint is faster
#: than this share of the robot's limit, or than this speed if that is less [rad/s or m/s].
GROWTH, FAST_SHARE, FAST = 1.5, 0.5, 1.5
#: Farthest that a held joint may be moved away [rad or m].
HELD = 0.3
#: After these faults no state is believed again, unless it jumped and was dropped: then the next
#: ones must be near where a braked arm is, by these differences [rad or m], [rad/s or m/s].
LIES = ("clock", "position", "velocity", "acceleration", "power", "frozen")
NEAR, ALIKE = 0.03, 0.3
#: Largest unexplained effort that a brake replaces, as a share of the effort limits.
CARRIED = 0.25


class Ending:
    """Computes the efforts after a fault.

    Args:
        arm: the robot.
        settings: gains of holding, and blind_time.
        limits: limits of the controlled joints.

    Attributes:
        state: braking, holding, blind or silent.
        lie: the first fault of a state whose numbers lie, or None.
        why: why braking was given up, or empty.
    """

    def __init__(self, arm: Arm, settings: ControlSettings, limits: Limits) -> None:
        n = arm.m.nv
        self._arm, self._blind_time = arm, settings.blind_time
        self._hold = ComputedTorque(arm, settings.stiffness, settings.damping)
        self._target = Target(n)
        self._qacc, self._effort, self._gravity, self._carried, self._mark = np.zeros((5, n))
        self._rest = np.zeros(n)
        self._place, self._speed = np.zeros((2, n))  # where an arm was when it became blind
        self._others = np.setdiff1d(np.arange(n), limits.dofs)
        self._limits = limits
        self.begin()

    def use(self, arm: Arm) -> None:
        """Continue with another arm of the same joints."""
        self._arm = arm
        self._hold.use(arm)

    def tighten(self, limits: Limits) -> None:
        """Continue with tighter limits of the same joints."""
        self._limits = limits

    def begin(self) -> None:
        """Start after a fault."""
        self._blind, self._since, self._lost, self.why = 0.0, 0, 0, ""
        self.lie: Fault | None = None
        self._lasts = False
        self._start_braking()

    def _start_braking(self) -> None:
        self.state = "braking"
        self._braking = self._resting = 0.0
        self._energy = self._most = 0.0

    def seeing(
        self, qpos: Array, qvel: Array, voted: Array, push: Array, dt: float
    ) -> Array | None:
        """Return the efforts (nv,) for a valid state; None: stay silent.

        When braking does not work, efforts that only hold the arm are the last.

        Args:
            qpos: (nv,) position.
            qvel: (nv,) velocity.
            voted: (nv,) velocity by which an arm is braked, see VelocityVote.
            push: (nv,) acceleration that the model does not explain, see Witness.
            dt: time since the last state [s].
        """
        if self.state == "silent":
            return None
        if self.state == "blind":
            self._start_braking()
        if self.state == "braking":
            wanted = self._brake(qpos, voted, push)
            self._judge_braking(qpos, qvel, dt)
        else:
            self._target.let_go(self._others, qpos, qvel)
            wanted = self._hold(qpos, qvel, self._target)
            wanted += self._carried
            self._judge_holding(qpos, qvel)
        return self._last(qpos, wanted) if self.state == "silent" else wanted

    def _last(self, qpos: Array, effort: Array) -> Array:
        """Write and return the last efforts before silence (nv,): they hold the arm.

        The driver may apply them until its timeout, so nothing in them depends on velocities.
        """
        self._arm.gravity_effort(qpos, effort)
        effort += self._carried
        return self._arm.without_own(effort, qpos)

    def since(self, now: int) -> float:
        """Return the time since the last effort without states [s], or 1 ms before the first."""
        return (now - self._since) / NANOSECONDS if self.state == "blind" else 1e-3

    def blind(self, now: int, qpos: Array, qvel: Array) -> Array | None:
        """Return the efforts (nv,) for an arm without states to believe; None: stay silent.

        Args:
            now: steady clock [ns].
            qpos: (nv,) last position; it and the next one count when the arm becomes blind.
            qvel: (nv,) velocity there.
        """
        if self.state == "silent":
            return None
        if self.state == "blind":
            self._blind += max(now - self._since, 0) / NANOSECONDS
        else:
            self.state, self._lost = "blind", now
            self._place[:], self._speed[:] = qpos, qvel
        self._since = now
        place, speed = self._foreseen(now)
        if self._blind > self._blind_time:
            self._carried[:] = 0.0
            self._silence("")
            return self._last(place, self._effort)
        np.multiply(speed, -BRAKING, out=self._qacc)
        self._arm.inverse_dynamics(place, speed, self._qacc, self._effort)
        return self._arm.command(self._effort, place, self._rest)

    def _foreseen(self, now: int) -> tuple[Array, Array]:
        """Return where a blind arm should be by now, and its velocity, (nv,) each."""
        left = math.exp(-BRAKING * max(now - self._lost, 0) / NANOSECONDS)
        return self._place + (1.0 - left) / BRAKING * self._speed, left * self._speed

    def doubt(self, fault: Fault, dropped: bool) -> None:
        """Take notice of a fault that the newest state shows; `dropped`: it jumped there."""
        if fault.blind and fault.code in LIES:
            self.lie = self.lie or fault
            self._lasts = self._lasts or not dropped

    def disbelieves(self, now: int, qpos: Array, qvel: Array) -> bool:
        """Whether a state that follows a lie is not believed.

        The gate alone would believe exchanged joints again, as soon as enough time has passed for
        the joints to have moved there.
        """
        if self.state != "blind" or self.lie is None:
            return False
        (place, speed), k = self._foreseen(now), self._limits.dofs
        near = np.abs(qpos - place)[k].max() < NEAR and np.abs(qvel - speed)[k].max() < ALIKE
        return self._lasts or not near

    def _brake(self, qpos: Array, qvel: Array, push: Array) -> Array:
        """Return efforts (nv,) with which motion decays: M (-rate qvel - push) + g.

        Without the push, an arm whose payload is unknown would fall. It is only replaced up to a
        share of the effort limits: an arm that is stuck is not pulled free.
        """
        arm, rest, effort = self._arm, self._rest, self._effort
        g = arm.gravity_effort(qpos, self._gravity)
        np.multiply(qvel, -BRAKING, out=self._qacc)
        arm.inverse_dynamics(qpos, rest, self._qacc, effort)
        effort -= g
        self._motion = -0.5 / BRAKING * float(effort @ qvel)  # kinetic energy [J]
        np.negative(push, out=self._qacc)
        arm.inverse_dynamics(qpos, rest, self._qacc, self._carried)
        self._carried -= g
        most, k = CARRIED * self._limits.effort, self._limits.dofs
        self._carried[k] = np.clip(self._carried[k], -most, most)
        self._carried[self._others] = 0.0
        effort += g
        effort += self._carried
        return arm.command(effort, qpos, qvel)

    def _judge_braking(self, qpos: Array, qvel: Array, dt: float) -> None:
        """Change to holding once the arm rests, or to silence if braking does not work."""
        k = self._limits.dofs
        speed = np.abs(qvel[k])
        fastest = float(speed.max())
        before, self._braking = self._braking, self._braking + dt
        self._judge_speed(speed, before)
        if before < LONGEST_BRAKING - CALM <= self._braking:
            self._mark[:] = qpos
        self._resting = self._resting + dt if fastest < REST else 0.0
        late = self._braking > LONGEST_BRAKING
        calm = np.abs(qpos - self._mark)[k].max() < CALM * CALM_SPEED
        if late and not calm:
            self._silence(f"after {LONGEST_BRAKING:g} s of braking the arm still moves")
        if self.state == "braking" and (self._resting > RESTING or late):
            self.state = "holding"
            self._target.rest_at(qpos)

    def _judge_speed(self, speed: Array, since: float) -> None:
        """Give up braking that accelerates the arm.

        Args:
            speed: (n,) of the controlled joints.
            since: time of braking before this state [s].
        """
        robots = self._limits.velocity / self._limits.velocity_scale  # never tightened
        share = float((speed / robots).max())
        if since == 0.0:
            self._most = EXCEEDED * max(share, 1.0)
        if since < LEARNING:
            self._energy = max(self._energy, self._motion)
        if share > (self._most if since < GRACE else 1.0):
            self._diverge("a braked joint is too fast")
        fast = (speed > np.minimum(FAST_SHARE * robots, FAST)).any()
        if fast and self._motion > GROWTH * self._energy:
            self._diverge("the kinetic energy grows while the arm is braked")

    def _judge_holding(self, qpos: Array, qvel: Array) -> None:
        """Give up holding an arm that moves away."""
        k = self._limits.dofs
        if (np.abs(qvel[k]) > self._limits.velocity).any():
            self._diverge("the held arm is too fast")
        if np.abs(qpos - self._target.qpos)[k].max() > HELD:
            self._silence(f"the held arm was moved by more than {HELD:g}")

    def _diverge(self, why: str) -> None:
        """Give up; what the feedback carried may be an effect of wrong states."""
        self._carried[:] = 0.0
        self._silence(why)

    def _silence(self, why: str) -> None:
        self.state, self.why = "silent", self.why or why
