"""A trajectory in progress: polynomials between its points, and where it leaves the joints."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    """Evaluate between the points i and i + 1, at the part x of the time h between them.

    Hermite's polynomials: they take the values, and with order 3 the first, with order 5 the
    first and second derivatives, of both points.
    """
    at = i * s.traj_dofs + s.traj_column[k]
    after = at + s.traj_dofs
    p0, p1 = number_at(s.traj_pos, at), number_at(s.traj_pos, after)
    d = p1 - p0
    if s.traj_order == 1:
        c1, c2, c3, c4, c5 = d, 0.0, 0.0, 0.0, 0.0
    else:
        v0, v1 = h * number_at(s.traj_vel, at), h * number_at(s.traj_vel, after)
        if s.traj_order == 3:
            c1, c2, c3, c4, c5 = v0, 3.0 * d - 2.0 * v0 - v1, v0 + v1 - 2.0 * d, 0.0, 0.0
        else:
            a0 = h * h * number_at(s.traj_acc, at)
            a1 = h * h * number_at(s.traj_acc, after)
            c1, c2 = v0, 0.5 * a0
            c3 = 10.0 * d - 6.0 * v0 - 4.0 * v1 - 1.5 * a0 + 0.5 * a1
            c4 = -15.0 * d + 8.0 * v0 + 7.0 * v1 + 1.5 * a0 - a1
            c5 = 6.0 * d - 3.0 * (v0 + v1) + 0.5 * (a1 - a0)
    s.traj_now[0, k] = p0 + x * (c1 + x * (c2 + x * (c3 + x * (c4 + x * c5))))
    rate = c1 + x * (2.0 * c2 + x * (3.0 * c3 + x * (4.0 * c4 + x * 5.0 * c5)))
    s.traj_now[1, k] = rate / h
    bend = 2.0 * c2 + x * (6.0 * c3 + x * (12.0 * c4 + x * 20.0 * c5))
    s.traj_now[2, k] = bend / (h * h)
