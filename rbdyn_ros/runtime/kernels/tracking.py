# SPDX-License-Identifier: Apache-2.0
"""Track a trajectory of polynomials between points; at its end the joints hold the last point."""

from __future__ import annotations

from rbdyn_ros.engine.algebra.hermite import hermite
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.runtime.compiled import kernel, number_at, set_number_at, word_at
from rbdyn_ros.runtime.kernels.channel import drop_commands
from rbdyn_ros.runtime.shared import Shared
from rbdyn_ros.runtime.types import POSITION


@kernel
def begin_trajectory(s: Shared) -> None:
    """Track edit_trajectory from this tick on; if it has no points, end the present trajectory.

    The joints of the present trajectory then hold their references. Commands that were sent before
    the new trajectory do not end it.
    """
    track_trajectory(s)  # the new trajectory starts with the motion of the present trajectory
    for k in range(len(s.traj_column)):
        if s.traj_column[k] >= 0:
            s.aim[k] = s.traj_now[0, k]
            s.speed[k] = s.traj_now[1, k]
            _hold(s, k)
        else:
            s.traj_now[2, k] = 0.0
    for n in range(len(s.trajectory)):
        s.trajectory[n] = s.edit_trajectory[n]
    s.traj_start = s.tick
    s.tracking = s.traj_points > 0
    for column in range(s.traj_dofs if s.tracking else 0):
        k = word_at(s.traj_dof, column)
        drop_commands(s, k)
        s.traj_column[k] = column
        s.commanded[k] = 1
        s.begun = 1
        if s.traj_from_here == 1:
            _fill_first_point(s, k, column)


@kernel
def _fill_first_point(s, k, column):
    """Fill in the first point of dof k: the servo's reference, or else the measured state."""
    serves = s.servo[k] > 0
    set_number_at(s.traj_pos, column, s.aim[k] if serves else s.measured[0, k])
    set_number_at(s.traj_vel, column, s.speed[k] if serves else s.measured[1, k])
    set_number_at(s.traj_acc, column, s.traj_now[2, k])


@kernel
def _hold(s, k):
    """Let dof k hold its last reference of the trajectory until its next command."""
    s.traj_column[k] = -1
    s.mode[k] = POSITION
    s.held[k] = 1
    s.order[0, k] = s.aim[k]
    for n in range(1, 5):
        s.order[n, k] = 0.0


@kernel
def track_trajectory(s: Shared) -> None:
    """Write the present position, velocity and acceleration of the references to traj_now."""
    if s.tracking == 0:
        return
    t = float((s.tick - s.traj_start) * s.period) / NANOSECONDS
    last = s.traj_points - 1
    i = _segment(s, t, last)
    begin = number_at(s.traj_time, i)
    h = number_at(s.traj_time, min(i + 1, last)) - begin
    ended = t >= number_at(s.traj_time, last)
    count = 0
    for k in range(len(s.traj_column)):
        if s.traj_column[k] < 0:
            continue
        if ended or h <= 0.0:
            s.aim[k] = number_at(s.traj_pos, last * s.traj_dofs + s.traj_column[k])
            _hold(s, k)
        else:
            count += 1
            _sample(s, k, i, (t - begin) / h, h)
    s.tracking = count > 0


@kernel
def _segment(s, t, last):
    """Return the index of the last point before `last` that is not after time t, by bisection."""
    low, high = 0, last
    while high - low > 1:
        middle = (low + high) // 2
        if number_at(s.traj_time, middle) <= t:
            low = middle
        else:
            high = middle
    return low


@kernel
def _sample(s, k, i, x, h):
    """Write dof k of traj_now: the polynomial from point i to i + 1 (duration h), at time x h."""
    at = i * s.traj_dofs + s.traj_column[k]
    first, last = _point(s, at), _point(s, at + s.traj_dofs)
    position, velocity, acceleration = hermite(s.traj_order, x, h, first, last)
    s.traj_now[0, k] = position
    s.traj_now[1, k] = velocity
    s.traj_now[2, k] = acceleration


@kernel
def _point(s, at):
    """Return position, velocity and acceleration at the index `at` of the trajectory's arrays."""
    return number_at(s.traj_pos, at), number_at(s.traj_vel, at), number_at(s.traj_acc, at)
