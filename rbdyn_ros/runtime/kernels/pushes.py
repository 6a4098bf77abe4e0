"""External wrenches on bodies, each for a number of ticks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbdyn_ros.engine.algebra.spatial import cross3, load3, load9, mat_vec, sub3
from rbdyn_ros.engine.tree.kinematics import poses
from rbdyn_ros.runtime.compiled import kernel
from rbdyn_ros.runtime.mailbox import fetch
from rbdyn_ros.runtime.shared import NPUSH

if TYPE_CHECKING:
    from rbdyn_ros.model.data import Data
    from rbdyn_ros.model.model import Model
    from rbdyn_ros.runtime.shared import Shared

#: Words of a push: its number (0: none), body, whether in the axes of the body, duration [ns].
NUMBER, BODY, IN_BODY, DURATION = range(4)
#: Offsets of point, force and torque in its floats.
POINT, FORCE, TORQUE = 0, 3, 6


@kernel
def take_pushes(s: Shared) -> None:
    """Read the list of pushes; new ones begin at this tick."""
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
    """Write xfrc_applied: the wrenches of this tick about the centres of mass."""
    if s.push_newest == 0:
        return
    for i in range(m.nbody):
        for n in range(6):
            d.xfrc_applied[i, n] = 0.0
    posed = False
    for n in range(NPUSH):
        if s.push_number[n] == 0 or s.tick >= s.push_until[n]:
            continue
        if not posed:
            poses(m, d)
            posed = True
        i = s.push_inbox_words[4 * n + BODY]
        R = load9(d.xmat, i)
        point = _floats3(s, n, POINT)
        arm = mat_vec(R, sub3(point, load3(m.body_ipos, i)))
        force, torque = _floats3(s, n, FORCE), _floats3(s, n, TORQUE)
        if s.push_inbox_words[4 * n + IN_BODY] == 1:
            force, torque = mat_vec(R, force), mat_vec(R, torque)
        moment = cross3(arm, force)
        for k in range(3):
            d.xfrc_applied[i, k] += force[k]
            d.xfrc_applied[i, 3 + k] += torque[k] + moment[k]


@kernel
def _floats3(s, n, at):
    first = 9 * n + at
    floats = s.push_inbox_floats
    return floats[first], floats[first + 1], floats[first + 2]


@kernel
def forget_pushes(d: Data, s: Shared) -> None:
    """End every push."""
    for n in range(NPUSH):
        s.push_until[n] = s.tick
    for i in range(len(d.xfrc_applied)):
        for n in range(6):
            d.xfrc_applied[i, n] = 0.0
