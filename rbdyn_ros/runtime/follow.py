"""A trajectory in progress: polynomials between its points, and where it leaves the joints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbdyn_ros.engine.hermite import hermite
from rbdyn_ros.runtime.compiled import (
    NANOSECONDS,
    kernel,
    number_at,
    set_number_at,
    word_at,
)
from rbdyn_ros.runtime.orders import POSITION

if TYPE_CHECKING:
    from rbdyn_ros.runtime.shared import Shared


@kernel
def begin_trajectory(s: Shared) -> None:
    """Follow what edit_trajectory says from this tick on; one without points ends the present one.

    What a dof followed until now it keeps.
    """
    follow_trajectory(s)  # by what they have followed until now the new one begins in motion
    for k in range(len(s.traj_column)):
        if s.traj_column[k] >= 0:
            s.aim[k] = s.traj_now[0, k]
            s.speed[k] = s.traj_now[1, k]
            _keep(s, k)
        else:
            s.traj_now[2, k] = 0.0
    for n in range(len(s.trajectory)):
        s.trajectory[n] = s.edit_trajectory[n]
    s.traj_start = s.tick
    s.following = s.traj_points > 0
    for column in range(s.traj_dofs if s.following else 0):
        k = word_at(s.traj_dof, column)
        s.traj_column[k] = column
        s.begun = 1
        if s.traj_from_here == 1:
            _begin_here(s, k, column)


@kernel
def _begin_here(s, k, column):
    """Fill in the first point: where the dof is led now, or where it is if nothing leads it."""
    led = s.servo[k] > 0
    set_number_at(s.traj_pos, column, s.aim[k] if led else s.measured[0, k])
    set_number_at(s.traj_vel, column, s.speed[k] if led else s.measured[1, k])
    set_number_at(s.traj_acc, column, s.traj_now[2, k])


@kernel
def _keep(s, k):
    """Stay where the trajectory has led, until there is another command."""
    s.traj_column[k] = -1
    s.mode[k] = POSITION
    s.kept[k] = 1
    s.order[0, k] = s.aim[k]
    for n in range(1, 5):
        s.order[n, k] = 0.0


@kernel
def follow_trajectory(s: Shared) -> None:
    """Write traj_now: position, velocity and acceleration where the dofs should be now."""
    if s.following == 0:
        return
    t = float((s.tick - s.traj_start) * s.period) / NANOSECONDS
    last = s.traj_points - 1
    i = _segment(s, t, last)
    begin = number_at(s.traj_time, i)
    h = number_at(s.traj_time, min(i + 1, last)) - begin
    ended = t >= number_at(s.traj_time, last)
    followers = 0
    for k in range(len(s.traj_column)):
        if s.traj_column[k] < 0:
            continue
        if ended or h <= 0.0:
            s.aim[k] = number_at(s.traj_pos, last * s.traj_dofs + s.traj_column[k])
            _keep(s, k)
        else:
            followers += 1
            _sample(s, k, i, (t - begin) / h, h)
    s.following = followers > 0


@kernel
def _segment(s, t, last):
    """Return the point before the time t, by bisection."""
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
    """Evaluate between the points i and i + 1, at the part x of the time h between them."""
    at = i * s.traj_dofs + s.traj_column[k]
    first, last = _point(s, at), _point(s, at + s.traj_dofs)
    place, rate, bend = hermite(s.traj_order, x, h, first, last)
    s.traj_now[0, k] = place
    s.traj_now[1, k] = rate
    s.traj_now[2, k] = bend


@kernel
def _point(s, at):
    """Return position, velocity and acceleration of a dof in a point."""
    return number_at(s.traj_pos, at), number_at(s.traj_vel, at), number_at(s.traj_acc, at)
