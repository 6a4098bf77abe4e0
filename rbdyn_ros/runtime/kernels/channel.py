# SPDX-License-Identifier: Apache-2.0
"""The channel between controller and robot with its faults (delay, jitter, loss); encoders.

Delays are in ticks and random numbers come from noise.py, so equal seeds and commands give equal
faults. Messages never overtake each other.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.model.declared.actuators import CURRENT
from rbdyn_ros.model.model import Model
from rbdyn_ros.runtime.compiled import kernel
from rbdyn_ros.runtime.kernels import noise
from rbdyn_ros.runtime.kernels.noise import normal, uniform
from rbdyn_ros.runtime.shared import Shared
from rbdyn_ros.runtime.types import GRIP


@kernel
def pass_commands(s: Shared) -> None:
    """Put the commands that arrive in this tick in force: write their values, arrival and mode.

    The loop calls this once in each tick, so commands under way wait while time is paused.
    """
    _drop_other_ticks(s)
    if _is_faultless(s, s.command_delay, s.command_jitter, s.command_drop):
        _flush_line(s)
        for k in range(len(s.arrival)):
            if s.inbox_new[k] == 1 and s.due[k] <= s.tick:
                s.inbox_new[k] = 0
                _put_in_force(s, k, s.inbox_arrival[k], s.inbox_mode[k], s.inbox)
                s.since[k] = s.inbox_since[k]
        s.line_start = s.tick + 1
        s.line_last = s.tick
        return
    _enter_line(s)
    leaving = s.tick - _delay(s, s.command_delay, s.command_jitter, noise.COMMAND_JITTER)
    if leaving < s.line_start or leaving <= s.line_last:
        return
    s.line_last = leaving
    slot = leaving % len(s.line_words)
    words, floats = s.line_words[slot], s.line_floats[slot]
    _take_out(s, words, floats)


@kernel
def _is_faultless(s, delay, jitter, drop):
    """Return whether a direction with this delay, jitter and loss probability has no fault."""
    return delay + jitter + s.link_loss == 0 and drop == 0.0


@kernel
def _drop_other_ticks(s):
    """Drop new commands stamped with an earlier tick; such commands can arrive in lock-step."""
    for k in range(len(s.due)):
        if s.inbox_new[k] == 1 and 0 <= s.due[k] < s.tick:
            s.inbox_new[k] = 0


@kernel
def _flush_line(s):
    """Deliver the commands that are still under way when the fault of the channel ends."""
    slot = (s.tick - 1) % len(s.line_words)
    if s.line_start < s.tick and s.line_last < s.tick - 1:
        _take_out(s, s.line_words[slot], s.line_floats[slot])


@kernel
def _take_out(s, words, floats):
    for k in range(len(s.arrival)):
        if words[0, k] != s.arrival[k]:
            _put_in_force(s, k, words[0, k], words[1, k], floats)
            s.since[k] = s.watch


@kernel
def _put_in_force(s, k, arrival, mode, values):
    s.arrival[k] = arrival
    s.mode[k] = mode
    for n in range(5):
        s.order[n, k] = values[n, k]
    s.held[k] = mode == GRIP
    s.commanded[k] = 1
    s.traj_column[k] = -1
    s.begun = 1


@kernel
def _enter_line(s):
    """Put new commands on their way through the channel, unless the channel loses them."""
    slot = s.tick % len(s.line_words)
    words, floats = s.line_words[slot], s.line_floats[slot]
    if s.tick > s.line_start:
        before = (s.tick - 1) % len(s.line_words)
        _copy_record(s.line_words[before], s.line_floats[before], words, floats)
    else:
        for k in range(len(s.arrival)):
            words[0, k] = s.arrival[k]
            words[1, k] = s.mode[k]
            for n in range(5):
                floats[n, k] = s.order[n, k]
    lost = s.link_loss == 1 or _is_lost(s, s.command_drop, noise.COMMAND_DROP)
    for k in range(len(s.arrival)):
        if s.inbox_new[k] == 0 or s.due[k] > s.tick:
            continue
        s.inbox_new[k] = 0
        if not lost:
            words[0, k] = s.inbox_arrival[k]
            words[1, k] = s.inbox_mode[k]
            for n in range(5):
                floats[n, k] = s.inbox[n, k]


@kernel
def drop_commands(s: Shared, k: int) -> None:
    """Drop the commands under way to dof k; its command in force stays."""
    s.inbox_new[k] = 0
    for slot in range(len(s.line_words)):
        s.line_words[slot, 0, k] = s.arrival[k]


@kernel
def _copy_record(words, floats, to_words, to_floats):
    for k in range(words.shape[1]):
        to_words[0, k] = words[0, k]
        to_words[1, k] = words[1, k]
        for n in range(5):
            to_floats[n, k] = floats[n, k]


@kernel
def _is_lost(s, probability, purpose):
    drawn = uniform(s.seed, s.tick - s.seeded_tick, purpose, 0)
    return probability > 0.0 and drawn < probability


@kernel
def _delay(s, delay, jitter, purpose):
    """Return the random delay of the message that arrives in this tick [ticks].

    delay, jitter: the least delay, and the greatest addition to it [ticks]; purpose: stream of
    random numbers, see noise.py.
    """
    drawn = uniform(s.seed, s.tick - s.seeded_tick, purpose, 0)
    # records older than nring - 2 ticks are overwritten
    return min(delay + int(drawn * (jitter + 1)), len(s.line_words) - 2)


@kernel
def measure(m: Model, s: Shared) -> None:
    """Measure the state in s.row with the encoders, and send the measurement to the controller."""
    tick = s.tick - s.seeded_tick
    for j in range(m.njnt):
        if m.jnt_dofnum[j] != 1:
            continue
        k = m.jnt_dofadr_all[j]
        q = s.row_qpos[m.jnt_qposadr_all[j]]
        v = s.row_qvel[k]
        if k < m.nv:
            stream = s.noise_stream[k]
            q += s.encoder_bias[k]
            if s.encoder_noise[k] > 0.0:
                q += s.encoder_noise[k] * normal(s.seed, tick, noise.ENCODER, stream)
            if s.encoder_resolution[k] > 0.0:
                q = np.rint(q / s.encoder_resolution[k]) * s.encoder_resolution[k]
            if s.velocity_noise[k] > 0.0:
                v += s.velocity_noise[k] * normal(s.seed, tick, noise.SPEED, stream)
        s.measured[0, k] = q
        s.measured[1, k] = v
        s.measured[2, k] = s.row_effort[k]
    for a in range(m.nu):
        s.measured[2, m.actuator_dofid[a]] = _effort_of(m, s, a)
    if not _is_faultless(s, s.state_delay, s.state_jitter, s.state_drop):
        slot = s.back[s.tick % len(s.back)]
        for n in range(3):
            for k in range(len(s.row_effort)):
                slot[n, k] = s.measured[n, k]
    else:
        s.back_start = s.tick + 1
        s.back_last = s.tick


@kernel
def _effort_of(m, s, a):
    """Return the effort that the drive of actuator a reports: current [A] or torque [N m]."""
    current = s.row_act[m.actuator_actadr[a] + CURRENT]
    if s.report_current == 1:
        return current
    return m.actuator_gear[a] * m.actuator_motorconst[a, 0] * current


@kernel
def deliver(s: Shared) -> None:
    """Write the measurement that arrives at the controller in this tick, and its tick."""
    if _is_faultless(s, s.state_delay, s.state_jitter, s.state_drop):
        s.measured_tick = s.tick
        for n in range(3):
            for k in range(len(s.row_effort)):
                s.row_measured[n, k] = s.measured[n, k]
        return
    arriving = s.tick - _delay(s, s.state_delay, s.state_jitter, noise.STATE_JITTER)
    lost = s.link_loss == 1 or _is_lost(s, s.state_drop, noise.STATE_DROP)
    if lost or arriving < s.back_start or arriving <= s.back_last:
        s.measured_tick = -1
        return
    s.measured_tick = s.back_last = arriving
    slot = s.back[arriving % len(s.back)]
    for n in range(3):
        for k in range(len(s.row_effort)):
            s.row_measured[n, k] = slot[n, k]


@kernel
def wait_a_tick(s: Shared) -> None:
    """Delay all messages under way by a tick in which the robot makes no step."""
    n = len(s.line_words)
    for tick in range(s.tick - 1, max(s.line_start, s.tick - n + 1) - 1, -1):
        old, new = tick % n, (tick + 1) % n
        _copy_record(s.line_words[old], s.line_floats[old], s.line_words[new], s.line_floats[new])
    s.line_start += 1
    s.line_last += 1


@kernel
def clear_channel(s: Shared) -> None:
    """Drop all messages under way; records of the channel begin at this tick."""
    s.line_start = s.tick
    s.line_last = s.tick - 1
    s.back_start = s.tick
    s.back_last = s.tick - 1
