# SPDX-License-Identifier: Apache-2.0
"""External wrenches and pulls on bodies; each acts for a number of ticks.

A pull is a spring and a damper from a point of a body to a goal in the world. The loop computes it
in each tick, so it can be stiff even if its goal is rarely updated.
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import (
    ZERO3,
    add3,
    add_scaled3,
    cross3,
    dot3,
    load3,
    load9,
    mat_mul,
    mat_vec,
    scaled3,
    sub3,
    transposed,
)
from rbdyn_ros.engine.tree.kinematics import com_pos, com_vel, poses
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model
from rbdyn_ros.runtime.compiled import kernel
from rbdyn_ros.runtime.mailbox import fetch
from rbdyn_ros.runtime.shared import NPUSH, NPUSH_FLOATS, Shared

#: Indices of the words of a push: its number (0: no push), body, kind, duration [ns].
NUMBER, BODY, KIND, DURATION = range(4)
#: Kinds of a push: a wrench in world or body axes, a pull to a position or to an orientation.
WORLD_AXES, BODY_AXES, PULL, TURN = range(4)
#: Offsets in the floats of a push: point, force and torque of a wrench; point, goal, stiffness,
#: lag and largest force of a pull.
POINT, FORCE, TORQUE = 0, 3, 6
GOAL, STIFFNESS, LAG, MOST = 3, 12, 21, 22

#: A rotation of this angle has no axis [rad].
TINY = 1e-12


@kernel
def take_pushes(s: Shared) -> None:
    """Read the list of pushes; pushes that are new begin at this tick."""
    found = fetch(
        s.push_version, s.push_words, s.push_floats, 0, s.push_inbox_words, s.push_inbox_floats
    )
    if found <= 0:
        return
    newest = s.push_newest
    for n in range(NPUSH):
        number = s.push_inbox_words[4 * n + NUMBER]
        s.push_number[n] = number
        if number > s.push_newest:
            ticks = -(-s.push_inbox_words[4 * n + DURATION] // s.period)
            s.push_until[n] = s.tick + max(ticks, 1)
            newest = max(newest, number)
    s.push_newest = newest


@kernel
def apply_pushes(m: Model, d: Data, s: Shared) -> None:
    """Write the wrenches of this tick, about the bodies' centres of mass, to xfrc_applied."""
    if s.push_newest == 0:
        return
    for i in range(m.nbody):
        for n in range(6):
            d.xfrc_applied[i, n] = 0.0
    posed = False
    moving = False
    for n in range(NPUSH):
        if s.push_number[n] == 0 or s.tick >= s.push_until[n]:
            continue
        if not posed:
            poses(m, d)
            posed = True
        i = s.push_inbox_words[4 * n + BODY]
        kind = s.push_inbox_words[4 * n + KIND]
        if kind >= PULL and not moving:
            com_pos(m, d)
            com_vel(m, d)
            moving = True
        R = load9(d.xmat, i)
        point = _floats3(s, n, POINT)
        arm = mat_vec(R, sub3(point, load3(m.body_ipos, i)))
        if kind == PULL:
            force, torque = _pull(m, d, s, n, i, arm), ZERO3
        elif kind == TURN:
            force, torque = ZERO3, _turn(d, s, n, i)
        else:
            force, torque = _floats3(s, n, FORCE), _floats3(s, n, TORQUE)
            if kind == BODY_AXES:
                force, torque = mat_vec(R, force), mat_vec(R, torque)
        moment = cross3(arm, force)
        for k in range(3):
            s.push_now[n, k] = force[k]
            s.push_now[n, 3 + k] = torque[k]
            d.xfrc_applied[i, k] += force[k]
            d.xfrc_applied[i, 3 + k] += torque[k] + moment[k]


@kernel
def _pull(m, d, s, n, i, arm):
    """Return the force of pull n on body i, at the point `arm` from its centre of mass.

    Call `com_vel` first.
    """
    at = add3(load3(d.xipos, i), arm)
    turn = (d.cvel[i, 0], d.cvel[i, 1], d.cvel[i, 2])
    about = load3(d.subtree_com, m.body_rootid[i])
    speed = add3((d.cvel[i, 3], d.cvel[i, 4], d.cvel[i, 5]), cross3(turn, sub3(at, about)))
    return _spring(s, n, sub3(_floats3(s, n, GOAL), at), speed)


@kernel
def _turn(d, s, n, i):
    """Return the torque of pull n that rotates body i to its goal. Call `com_vel` first."""
    E = mat_mul(_floats9(s, n, GOAL), transposed(load9(d.xmat, i)))
    twice = (E[7] - E[5], E[2] - E[6], E[3] - E[1])  # axis times 2 sin(angle)
    size = np.sqrt(dot3(twice, twice))
    angle = np.arctan2(size, E[0] + E[4] + E[8] - 1.0)
    away = scaled3(twice, angle / max(size, TINY))
    return _spring(s, n, away, (d.cvel[i, 0], d.cvel[i, 1], d.cvel[i, 2]))


@kernel
def _spring(s, n, away, speed):
    """Return the force or torque of a pull's spring and damper; only the spring has a limit.

    away, speed: displacement from the goal, and velocity, in world axes.
    """
    first = NPUSH_FLOATS * n
    floats = s.push_inbox_floats
    x = mat_vec(_floats9(s, n, STIFFNESS), away)
    size, most = np.sqrt(dot3(x, x)), floats[first + MOST]
    if size > most:
        x = scaled3(x, most / size)
    return add_scaled3(x, mat_vec(_floats9(s, n, STIFFNESS), speed), -floats[first + LAG])


@kernel
def _floats3(s, n, at):
    first = NPUSH_FLOATS * n + at
    floats = s.push_inbox_floats
    return floats[first], floats[first + 1], floats[first + 2]


@kernel
def _floats9(s, n, at):
    f, k = s.push_inbox_floats, NPUSH_FLOATS * n + at
    return f[k], f[k + 1], f[k + 2], f[k + 3], f[k + 4], f[k + 5], f[k + 6], f[k + 7], f[k + 8]


@kernel
def forget_pushes(d: Data, s: Shared) -> None:
    """End all pushes."""
    for n in range(NPUSH):
        s.push_until[n] = s.tick
    for i in range(len(d.xfrc_applied)):
        for n in range(6):
            d.xfrc_applied[i, n] = 0.0
