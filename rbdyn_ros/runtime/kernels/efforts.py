# SPDX-License-Identifier: Apache-2.0
"""The effort of each joint in a tick: from its command, a servo, or the timeout policy.

A command is an effort, a position or velocity for a servo, or a spring and damper (impedance).
The servo uses inverse dynamics (RBDA chapter 5): it computes the effort for the acceleration that
reduces the error as a critically damped oscillator does,
  q'' = (aim - q) / T^2 + 2 (speed - q') / T,  or  q'' = (speed - q') / T
and subtracts the load of the joint, which loads.py estimates. Policy `hold` is also a servo: its
reference brakes to rest and stays there. Every effort is clamped to the joint's limit.

Before its first command a dof may float: inverse dynamics carry its weight and slow it down. Or a
dof may stand: a brake holds it and, after the brakes are released, a servo.
"""

from __future__ import annotations

from rbdyn_ros.engine.step.passive import STICTION_SPEED, springs
from rbdyn_ros.engine.tree.kinematics import com_pos, com_vel, poses
from rbdyn_ros.engine.tree.rne import bias_force
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.runtime.compiled import kernel
from rbdyn_ros.runtime.kernels import noise
from rbdyn_ros.runtime.kernels.channel import drop_commands
from rbdyn_ros.runtime.kernels.loads import effort_limit, forget_load, invert
from rbdyn_ros.runtime.kernels.noise import normal
from rbdyn_ros.runtime.kernels.tracking import track_trajectory
from rbdyn_ros.runtime.settings import HOLD, STANDS, ZERO
from rbdyn_ros.runtime.shared import Shared
from rbdyn_ros.runtime.types import GRIP, IMPEDANCE, POSITION, VELOCITY

#: Time constant of the brake of policy `hold` [s].
HOLD_TIME = 0.1

#: Time constant with which a floating dof comes to rest [s].
FLOAT_TIME = 0.3

#: If the load needs more than this share of the effort limit, a slower motion would not reduce the
#: effort enough.
LARGE_LOAD = 0.9

#: Relative loss of speed at the effort limit. So wheels on one floor share the load and do not
#: work against each other.
DROOP = 5e-3

#: Servo accelerations are never scaled below this factor to satisfy effort limits.
LEAST = 1e-3

#: Mode of a dof whose command has expired, and two modes of a dof before its first command.
_STALE, _FLOATS, _STANDS = -1, -2, -3
#: Kinds of servos.
_OF_POSITION, _OF_SPEED, _OF_HOLD = 1, 2, 3


@kernel
def choose_efforts(m: Model, d: Data, nominal: Model, still: Data, s: Shared) -> None:
    """Write the efforts of this tick to qfrc_applied.

    `still` is a work Data of the Model `nominal`, whose actuated joints share the efforts in
    closed loops.
    """
    track_trajectory(s)
    serving = _choose_modes(m, d, still, s)
    _compute_efforts(m, d, nominal, still, s, serving)
    clamped = serving and _exceeds_a_limit(s)
    if clamped:
        _slow_servos(nominal, still, s)
    for k in range(m.nv):
        effort = s.effort[k] - s.load[k]
        if s.effort_noise[k] > 0.0:
            tick = s.tick - s.seeded_tick
            effort += s.effort_noise[k] * normal(s.seed, tick, noise.EFFORT, s.noise_stream[k])
        most = effort_limit(s, k)
        limited = min(max(effort, -most), most)
        # only a floating root is without an actuator and driven by inverse dynamics
        acts = 1.0 if s.by_dynamics[k] == 1 else s.dof_acts[k]
        if limited != effort and acts != 0.0 and most == s.dof_effort[k]:
            s.saturated = k
            clamped = True
        d.qfrc_applied[k] = acts * limited
    s.clamped += clamped


@kernel
def _choose_modes(m, d, still, s):
    """Choose the mode of each dof, and write the accelerations of servos and brakes to still.qacc.

    Return whether any dof has a servo.
    """
    s.stale = 0
    s.age = 0
    serving = False
    if s.nheld > 0:
        _end_holding(m, s)
    for k in range(m.nv):
        mode = _current_mode(s, k)
        servo = _servo_of(s, mode)
        if servo == 0 or s.servo[k] == 0:
            forget_load(s, k)
        if _starts_anew(s.servo[k], servo):
            s.aim[k] = s.measured[0, k]
            s.speed[k] = s.measured[1, k]
        s.servo[k] = servo
        floats = mode == _FLOATS
        s.by_dynamics[k] = servo > 0 or floats or (mode == _STALE and s.policy != ZERO)
        still.qacc[k] = 0.0
        if servo > 0:
            still.qacc[k] = _servo_acceleration(s, k, servo)
            serving = True
        elif floats:
            still.qacc[k] = -d.qvel[k] / max(FLOAT_TIME, 10.0 * s.period / NANOSECONDS)
            serving = True
        elif s.policy == HOLD and m.nefc > 0:
            still.qacc[k] = -d.qvel[k] / _hold_time(s)  # joints of closed loops brake together
    return serving


@kernel
def _end_holding(m, s):
    """Release a floating root at the first command to its tree, and all brakes at any command."""
    s.braked = 1
    for k in range(m.nv):
        if s.commanded[k] == 0 or s.dof_held[k] == 0 or s.dof_acts[k] == 0.0:
            continue
        s.braked = 0
        group = s.body_group[m.dof_bodyid[k]]
        for i in range(m.nv):
            if s.dof_acts[i] == 0.0 and s.body_group[m.dof_bodyid[i]] == group:
                s.commanded[i] = 1


@kernel
def _servo_of(s, mode):
    """Return the kind of servo of a mode; 0: the mode has no servo."""
    if mode in (POSITION, GRIP):
        return _OF_POSITION
    if mode == VELOCITY:
        return _OF_SPEED
    if mode == _STANDS and s.braked == 0:
        return _OF_HOLD
    return _OF_HOLD if mode == _STALE and s.policy == HOLD else 0


@kernel
def _starts_anew(before, servo):
    """Return whether a servo starts from the measured motion; before: the dof's last servo."""
    return before == 0 or (servo != before and servo != _OF_SPEED)


@kernel
def _hold_time(s):
    """Return the time constant of the brake [s]: HOLD_TIME, or ten ticks if they are longer.

    A faster brake would reverse a joint in a tick.
    """
    return max(HOLD_TIME, 10.0 * s.period / NANOSECONDS)


@kernel
def _current_mode(s, k):
    """Return the mode of dof k; count an expired command, and return _held_mode instead."""
    if s.traj_column[k] >= 0:
        return POSITION
    age = s.watch - s.since[k]
    if s.dof_acts[k] != 0.0 and s.held[k] == 0:
        if s.arrival[k] != 0:
            s.age = max(s.age, age)
        if age > s.timeout:
            s.stale += 1
            return _held_mode(s, k)
    if s.dof_acts[k] == 0.0 and s.dof_held[k] != 0 and s.commanded[k] == 0:
        return _FLOATS
    return s.mode[k]


@kernel
def _held_mode(s, k):
    """Return the mode of an actuated dof without a command in force."""
    if s.dof_held[k] == 0 or s.commanded[k] == 1:
        return _STALE
    return _STANDS if s.dof_held[k] == STANDS else _FLOATS


@kernel
def _servo_acceleration(s, k, servo):
    """Return the acceleration that a servo asks for; update its reference position and speed."""
    rate = 1.0 / s.dof_time[k]
    q, v, top = s.measured[0, k], s.measured[1, k], s.dof_speed[k]
    if servo == _OF_HOLD:
        return _brake(s, k, rate)
    if s.traj_column[k] >= 0:
        s.aim[k] = s.traj_now[0, k]
        error = s.aim[k] - q
        s.speed[k] = s.traj_now[1, k] + 0.5 * rate * error
        return s.traj_now[2, k] + rate * (2.0 * (s.traj_now[1, k] - v) + rate * error)
    grips = s.mode[k] == GRIP
    if grips:
        top = min(top, s.order[1, k])
    speed = 0.0 if grips else min(max(s.order[1, k], -top), top)
    if servo == _OF_SPEED:
        s.aim[k] = q
        outward = (speed > 0.0 and q >= s.dof_high[k]) or (speed < 0.0 and q <= s.dof_low[k])
        s.speed[k] = 0.0 if outward else speed + _droop(s, k, speed)
        return rate * (s.speed[k] - v)
    goal = min(max(s.order[0, k], s.dof_low[k]), s.dof_high[k])
    reach = top * s.period / NANOSECONDS
    s.aim[k] += min(max(goal - s.aim[k], -reach), reach)
    # limit the error, so that the servo never exceeds the top speed of the joint
    reach = 2.0 / rate
    s.aim[k] = min(max(s.aim[k], q - reach * (top + speed)), q + reach * (top - speed))
    error = s.aim[k] - q
    s.speed[k] = speed + 0.5 * rate * error
    return rate * (2.0 * (speed - v) + rate * error)


@kernel
def _droop(s, k, speed):
    """Return by how much the present load lowers a reference speed; see DROOP."""
    if s.load[k] == 0.0 or s.dof_effort[k] == 0.0:
        return 0.0
    return DROOP * abs(speed) * min(max(s.load[k] / s.dof_effort[k], -1.0), 1.0)


@kernel
def _brake(s, k, rate):
    """Return the acceleration of policy `hold`: its reference slows down, then stays at rest.

    The reference is never faster than the joint, which may be blocked. If more than the effort
    limit pushes the joint away, the reference follows, so that the joint does not come back faster
    than its top speed.
    """
    q, v = s.measured[0, k], s.measured[1, k]
    reach = 2.0 / rate * s.dof_speed[k]
    s.aim[k] = min(max(s.aim[k], q - reach), q + reach)
    if s.speed[k] * (s.speed[k] - v) > 0.0:
        s.aim[k] = q
        s.speed[k] = v if v * s.speed[k] > 0.0 else 0.0
    slowing = -s.speed[k] / _hold_time(s)
    acceleration = slowing + rate * (2.0 * (s.speed[k] - v) + rate * (s.aim[k] - q))
    s.speed[k] += slowing * s.period / NANOSECONDS
    s.aim[k] += s.speed[k] * s.period / NANOSECONDS
    return acceleration


@kernel
def _compute_efforts(m, d, nominal, still, s, serving):
    """Write each dof's unclamped effort without load; serving: whether any dof has a servo."""
    needed = False
    for k in range(m.nv):
        needed |= s.by_dynamics[k] == 1
    if needed:
        # a resting robot needs only gravity compensation; a moving robot also needs velocity terms
        _copy_state(m, d, still, s, serving)
        _inverse_dynamics(nominal, still)
    for k in range(m.nv):
        s.effort[k] = _effort(nominal, still, s, k)


@kernel
def _exceeds_a_limit(s):
    exceeds = False
    for k in range(len(s.effort)):
        exceeds |= _is_too_fast(s, k)
    return exceeds


@kernel
def _is_too_fast(s, k):
    """Return whether a servo needs more effort than the limit, and not because of its load."""
    limit = effort_limit(s, k)
    serves = s.servo[k] > 0 and s.dof_acts[k] != 0.0
    return serves and abs(s.effort[k]) > limit and abs(s.load[k]) < LARGE_LOAD * limit


@kernel
def _slow_servos(m, still, s):
    """Scale down the accelerations of servos until the efforts are within their limits.

    All servos of connected trees have one factor, because clamping each effort by itself would
    disturb coupled joints. The servos of other trees keep their accelerations. Some joints slow no
    other joint; only their own effort is clamped: joints that press against an obstacle or cannot
    even carry their load, and weak grips.
    """
    for k in range(m.nv):
        s.full[k] = still.qfrc_inverse[k]
        if s.servo[k] > 0:
            still.qacc[k] = 0.0
    invert(m, still)
    for i in range(m.nbody):
        s.part[i] = 1.0
    for k in range(m.nv):
        limit = effort_limit(s, k)
        moving = s.full[k] - still.qfrc_inverse[k]
        if moving != 0.0 and s.mode[k] != GRIP and _is_too_fast(s, k):
            resting = s.effort[k] - moving
            room = (limit if s.effort[k] > 0.0 else -limit) - resting
            if room * moving <= 0.0:
                continue
            group = s.body_group[m.dof_bodyid[k]]
            if room / moving < s.part[group]:
                s.part[group] = max(room / moving, LEAST)
                s.saturated = k
    for k in range(m.nv):
        if s.by_dynamics[k] == 1:
            part = s.part[s.body_group[m.dof_bodyid[k]]]
            s.effort[k] -= (1.0 - part) * (s.full[k] - still.qfrc_inverse[k])


@kernel
def _copy_state(m, d, still, s, moving):
    """Copy the measured (without encoder: true) state to still; velocities: 0 unless `moving`."""
    for n in range(m.nq):
        still.qpos[n] = d.qpos[n]
    for k in range(m.nv):
        still.qvel[k] = d.qvel[k] if moving else 0.0
        if s.dof_qposadr[k] >= 0:
            still.qpos[s.dof_qposadr[k]] = s.measured[0, k]
            still.qvel[k] = s.measured[1, k] if moving else 0.0
    still.time = d.time


@kernel
def _inverse_dynamics(m, still):
    """Write still.qfrc_inverse: the efforts that cause still.qacc at still.qvel.

    Springs carry their part. Damping and friction are left out, because they may help to brake. In
    closed loops the actuated joints share the efforts by least squares, and qacc need not satisfy
    the loops: the result is the nearest possible motion (Gauss's principle of least constraint).
    """
    poses(m, still)
    com_pos(m, still)
    com_vel(m, still)
    for k in range(m.nv):
        still.qfrc_passive[k] = 0.0
    if m.nstiff + m.nspring > 0 and m.opt.passive:
        springs(m, still)
    bias_force(m, still)
    invert(m, still)


@kernel
def _effort(m, still, s, k):
    """Return the effort of dof k before clamping."""
    if s.servo[k] > 0:
        # feed forward the friction at the reference speed, which is zero at rest
        speed = s.speed[k]
        if s.servo[k] == _OF_HOLD:
            speed += 0.5 / s.dof_time[k] * (s.aim[k] - s.measured[0, k])
        passive = m.dof_damping[k] * speed
        passive += m.dof_frictionloss[k] * min(max(speed / STICTION_SPEED, -1.0), 1.0)
        ordered = s.traj_column[k] < 0 and s.servo[k] != _OF_HOLD and s.mode[k] != GRIP
        added = s.order[2, k] if ordered else 0.0
        return still.qfrc_inverse[k] + added + (passive if m.opt.passive else 0.0)
    if s.by_dynamics[k] == 1:
        return still.qfrc_inverse[k]
    if s.held[k] == 0 and s.watch - s.since[k] > s.timeout:
        return 0.0
    effort = s.order[2, k]
    if s.mode[k] == IMPEDANCE:
        goal = min(max(s.order[0, k], s.dof_low[k]), s.dof_high[k])
        effort += s.order[3, k] * (goal - s.measured[0, k])
        effort += s.order[4, k] * (s.order[1, k] - s.measured[1, k])
    return effort


@kernel
def release(s: Shared, held: bool) -> None:
    """End the commands of edit_arrival that no other command or trajectory has replaced.

    `held`: whether to hold their dofs until a first command again. A root is then held again too,
    unless other dofs of its tree have commands.
    """
    for k in range(len(s.arrival)):
        if held and s.dof_acts[k] == 0.0:
            s.commanded[k] = 0
        if s.edit_arrival[k] == 0 or s.edit_arrival[k] != s.inbox_arrival[k]:
            continue
        drop_commands(s, k)
        if s.traj_column[k] < 0 and s.held[k] == 0:
            s.since[k] = s.watch - s.timeout - 1
            s.commanded[k] = 0 if held else 1


@kernel
def let_go(s: Shared) -> None:
    """Stop holding dofs until their first command; the timeout policy takes over."""
    for k in range(len(s.commanded)):
        s.commanded[k] = 1


@kernel
def is_blocked(s: Shared, k: int) -> bool:
    """Return whether dof k is kept at rest; see LoopState.blocked."""
    if s.stuck[k] != 0.0 or (s.braked == 1 and s.dof_held[k] == STANDS):
        return True
    waits = s.commanded[k] == 0 and s.by_dynamics[k] == 0
    return waits and (s.dof_held[k] != 0 or (s.dof_acts[k] != 0.0 and s.policy != ZERO))


@kernel
def forget_commands(s: Shared) -> None:
    """End all commands and trajectories, and hold dofs until their first command again."""
    s.braked = s.nheld > 0
    for k in range(len(s.arrival)):
        s.since[k] = s.watch - s.timeout - 1
        s.held[k] = 0
        s.commanded[k] = 0
        s.inbox_new[k] = 0
        s.due[k] = -1
        s.mode[k] = 0
        s.traj_column[k] = -1
        s.servo[k] = 0
        for n in range(5):
            s.order[n, k] = 0.0
    s.tracking = 0
    s.traj_points = 0
