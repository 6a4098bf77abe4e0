"""What effort each joint gets in a tick: by its command, by a servo, or by the policy on timeout.

A command is an effort; a position or a velocity, which a servo approaches; or a spring and damper
(impedance). The servo is inverse dynamics (RBDA chapter 5): it asks for the acceleration that
brings the error down like a critically damped oscillator,
  q'' = (aim - q) / T^2 + 2 (speed - q') / T,  or  q'' = (speed - q') / T
and applies the effort that takes. Every effort is clamped to the joint's limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbdyn_ros.engine.kinematics import com_pos, com_vel, poses
from rbdyn_ros.engine.optional import call_stage
from rbdyn_ros.engine.passive import springs
from rbdyn_ros.engine.rne import bias_force, rne_acc
from rbdyn_ros.runtime import noise
from rbdyn_ros.runtime.compiled import NANOSECONDS, kernel
from rbdyn_ros.runtime.follow import follow_trajectory
from rbdyn_ros.runtime.noise import normal
from rbdyn_ros.runtime.orders import IMPEDANCE, POSITION, VELOCITY
from rbdyn_ros.runtime.settings import HOLD, ZERO

if TYPE_CHECKING:
    from rbdyn_ros.model.data import Data
    from rbdyn_ros.model.model import Model
    from rbdyn_ros.runtime.shared import Shared

#: Time constant [s] in which `hold` brakes a joint.
HOLD_TIME = 0.1

#: A servo is no faster than so many ticks, or sampling would make it ring.
TICKS_OF_SERVO = 5.0

#: Below this speed friction is viscous [rad/s or m/s], as in engine/passive.py.
SLIDING = 1e-3

#: The least part of what servos ask for that efforts at their limits leave them.
LEAST = 1e-3

#: In the place of a mode: the command is too old.
_STALE = -1
#: What a servo leads.
_OF_POSITION, _OF_SPEED = 1, 2


@kernel
def choose_efforts(m: Model, d: Data, nominal: Model, still: Data, s: Shared) -> None:
    """Write qfrc_applied.

    `still` is a Data of the Model `nominal` to compute in; what that says of actuators decides
    who shares the efforts where loops are closed.
    """
    follow_trajectory(s)
    serving = _decide(m, d, still, s)
    _find_efforts(m, d, nominal, still, s, serving)
    clamped = serving and _too_much(s)
    if clamped:
        _slow_servos(nominal, still, s)
    for k in range(m.nv):
        effort = s.effort[k]
        if s.effort_noise[k] > 0.0:
            tick = s.tick - s.seeded_tick
            effort += s.effort_noise[k] * normal(s.seed, tick, noise.EFFORT, k)
        limited = min(max(effort, -s.dof_effort[k]), s.dof_effort[k])
        if limited != effort and s.dof_acts[k] != 0.0:
            s.saturated = k
            clamped = True
        d.qfrc_applied[k] = s.dof_acts[k] * limited
    s.clamped += clamped


@kernel
def _decide(m, d, still, s):
    """Say what drives each dof, and write the acceleration still.qacc of those that have one.

    Return whether there is a servo.
    """
    s.stale = 0
    s.age = 0
    serving = False
    for k in range(m.nv):
        mode = _mode_now(s, k)
        serves = mode == POSITION or mode == VELOCITY
        if s.servo[k] == 0 or (mode == POSITION and s.servo[k] == _OF_SPEED):
            s.aim[k] = s.measured[0, k]  # it takes over where the joint is, as fast as it is
            s.speed[k] = s.measured[1, k]
        s.servo[k] = (_OF_SPEED if mode == VELOCITY else _OF_POSITION) if serves else 0
        s.carried[k] = serves or (mode == _STALE and s.policy != ZERO)
        still.qacc[k] = 0.0
        if serves:
            still.qacc[k] = _wanted(s, k, mode)
            serving = True
        elif s.policy == HOLD and (mode == _STALE or m.nefc > 0):
            # slow enough for the tick: a joint must not be thrown back by one brake;
            # joints that close loops cannot brake one without the other
            still.qacc[k] = -d.qvel[k] / max(HOLD_TIME, 10.0 * s.period / NANOSECONDS)
    return serving


@kernel
def _mode_now(s, k):
    """Return the mode of a dof, _STALE if its command is too old; count that."""
    if s.traj_column[k] >= 0:
        return POSITION
    age = s.watch - s.since[k]
    if s.dof_acts[k] != 0.0 and s.kept[k] == 0:
        if s.arrival[k] != 0:
            s.age = max(s.age, age)
        if age > s.timeout:
            s.stale += 1
            return _STALE
    return s.mode[k]


@kernel
def _wanted(s, k, mode):
    """Return the acceleration a servo asks for; write where and how fast it leads the dof."""
    rate = 1.0 / max(s.servo_time, TICKS_OF_SERVO * s.period / NANOSECONDS)
    q, v, top = s.measured[0, k], s.measured[1, k], s.dof_speed[k]
    if s.traj_column[k] >= 0:
        s.aim[k] = s.traj_now[0, k]
        error = s.aim[k] - q
        s.speed[k] = s.traj_now[1, k] + 0.5 * rate * error
        return s.traj_now[2, k] + rate * (2.0 * (s.traj_now[1, k] - v) + rate * error)
    speed = min(max(s.order[1, k], -top), top)
    if mode == VELOCITY:
        s.aim[k] = q
        outward = (speed > 0.0 and q >= s.dof_high[k]) or (speed < 0.0 and q <= s.dof_low[k])
        s.speed[k] = 0.0 if outward else speed
        return rate * (s.speed[k] - v)
    goal = min(max(s.order[0, k], s.dof_low[k]), s.dof_high[k])
    reach = top * s.period / NANOSECONDS
    s.aim[k] += min(max(goal - s.aim[k], -reach), reach)
    # never so far ahead that the servo would head there faster than the joint may move
    reach = 2.0 / rate
    s.aim[k] = min(max(s.aim[k], q - reach * (top + speed)), q + reach * (top - speed))
    error = s.aim[k] - q
    s.speed[k] = speed + 0.5 * rate * error
    return rate * (2.0 * (speed - v) + rate * error)


@kernel
def _find_efforts(m, d, nominal, still, s, serving):
    """Write the effort of each dof before it is clamped."""
    demanding = False
    for k in range(m.nv):
        demanding |= s.carried[k] == 1
    if demanding:
        # gravity alone is what carries a robot that stands; one that servos move, all that acts
        _copy_state(m, d, still, s, serving or s.policy == HOLD)
        _carry(nominal, still)
    for k in range(m.nv):
        s.effort[k] = _effort(nominal, still, s, k)


@kernel
def _too_much(s):
    for k in range(len(s.effort)):
        if s.servo[k] > 0 and s.dof_acts[k] != 0.0 and abs(s.effort[k]) > s.dof_effort[k]:
            return True
    return False


@kernel
def _slow_servos(m, still, s):
    """Let all servos ask for the same part of their accelerations, so that the efforts suffice.

    If each effort were clamped by itself, what couples the joints would throw them about.
    """
    for k in range(m.nv):
        s.full[k] = still.qfrc_inverse[k]
        if s.servo[k] > 0:
            still.qacc[k] = 0.0
    _invert(m, still)
    part = 1.0
    for k in range(m.nv):
        limit = s.dof_effort[k]
        moving = s.full[k] - still.qfrc_inverse[k]
        if s.servo[k] > 0 and abs(s.effort[k]) > limit and moving != 0.0:
            resting = s.effort[k] - moving
            room = (limit if s.effort[k] > 0.0 else -limit) - resting
            if room / moving < part:
                part = max(room / moving, LEAST)
                s.saturated = k
    for k in range(m.nv):
        if s.carried[k] == 1:
            s.effort[k] -= (1.0 - part) * (s.full[k] - still.qfrc_inverse[k])


@kernel
def _copy_state(m, d, still, s, moving):
    """Set the Data for efforts to what the encoders see; multi-axis joints have none."""
    for n in range(m.nq):
        still.qpos[n] = d.qpos[n]
    for k in range(m.nv):
        still.qvel[k] = d.qvel[k] if moving else 0.0
        if s.dof_qposadr[k] >= 0:
            still.qpos[s.dof_qposadr[k]] = s.measured[0, k]
            still.qvel[k] = s.measured[1, k] if moving else 0.0
    still.time = d.time


@kernel
def _carry(m, still):
    """Write still.qfrc_inverse: what carries the robot at still.qvel and causes still.qacc.

    Springs carry their part. Of what else is passive nothing is counted: damping and friction may
    help to brake. Where loops are closed the joints that take efforts share what is left for all
    by least squares, and qacc need not agree with the loops: what happens is the motion nearest
    to it (Gauss's principle of least constraint).
    """
    poses(m, still)
    com_pos(m, still)
    com_vel(m, still)
    for k in range(m.nv):
        still.qfrc_passive[k] = 0.0
    if m.nstiff + m.nspring > 0 and m.opt.passive:
        springs(m, still)
    bias_force(m, still)
    _invert(m, still)


@kernel
def _invert(m, still):
    rne_acc(m, still)
    if m.nefc > 0:
        call_stage(m.constraint_stage, m, still)
        call_stage(m.share_stage, m, still)


@kernel
def _effort(m, still, s, k):
    """Return the effort of a dof before it is clamped."""
    if s.servo[k] > 0:
        # friction is fed forward at the speed of the servo: it cannot push on what stands
        passive = m.dof_damping[k] * s.speed[k]
        passive += m.dof_frictionloss[k] * min(max(s.speed[k] / SLIDING, -1.0), 1.0)
        added = 0.0 if s.traj_column[k] >= 0 else s.order[2, k]
        return still.qfrc_inverse[k] + added + (passive if m.opt.passive else 0.0)
    if s.carried[k] == 1:
        return still.qfrc_inverse[k]
    if s.kept[k] == 0 and s.watch - s.since[k] > s.timeout:
        return 0.0
    effort = s.order[2, k]
    if s.mode[k] == IMPEDANCE:
        goal = min(max(s.order[0, k], s.dof_low[k]), s.dof_high[k])
        effort += s.order[3, k] * (goal - s.measured[0, k])
        effort += s.order[4, k] * (s.order[1, k] - s.measured[1, k])
    return effort


@kernel
def forget_commands(s: Shared) -> None:
    """Make every command too old, and let joints stay where they are."""
    for k in range(len(s.arrival)):
        s.since[k] = s.watch - s.timeout - 1
        s.mode[k] = 0
        s.kept[k] = 0
        s.traj_column[k] = -1
        s.inbox_new[k] = 0
        s.due[k] = -1
        s.servo[k] = 0
        for n in range(5):
            s.order[n, k] = 0.0
    s.following = 0
    s.traj_points = 0
