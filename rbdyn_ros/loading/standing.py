# SPDX-License-Identifier: Apache-2.0
"""Start a robot on its floor and outside obstacles, and report joints outside their limits."""

import numpy as np

from rbdyn_ros.arrays import Array, Bools, Ints
from rbdyn_ros.dynamics.configuration import moves_to_limits
from rbdyn_ros.dynamics.entry import public
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.engine.quantities.constants import touching as _kernel
from rbdyn_ros.errors import Finding, listing
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.declared.joints import JointType
from rbdyn_ros.model.model import Model

#: Index of the height in the position of a floating root joint.
HEIGHT = {JointType.FREE: 2, JointType.SIXDOF_FP: 6, JointType.SIXDOF_FS: 6}

ROUNDS = 100  # most rounds: the contact list may lack the deepest contact
CLEAR = 1e-9  # distance of a raised robot from the obstacle below it [m]
DEEP = 1e-6  # largest penetration without a warning [m]
MOST_JOINTS = 8  # most joints named in a note
HIGHEST = 10.0  # height above a floor up to which a robot is lowered [m]
SOLE = 1e-3  # up to this height, parts of a foot carry weight [m]

touching = public(_kernel)


def out_of_obstacles(m: Model) -> tuple[Model, list[Finding]]:
    """Return the Model with a qpos0 outside all obstacles, or a warning.

    A floating robot is raised until it just touches.
    """
    if m.ncontact == 0:
        return m, []
    if not _has_height(m, 0):
        return m, _warned(m)
    d, at = make_data(m), _height_entry(m, 0)
    _raise(m, d, at)
    height = float(d.qpos[at] - m.qpos0[at])
    if _depth(m, d) > 0.0:
        return m, _warned(m)
    if height == 0.0:
        return m, []
    text = f"the zero position puts the robot in an obstacle; qpos0 raises it by {height:.6g} m"
    return m.replaced(qpos0=np.array(d.qpos)), [Finding("raised", text, "note")]


def on_floor(m: Model, qpos: Array) -> Array:
    """Return qpos (nq,) with the floating robot raised or lowered until it touches its floor.

    Without a floor within HIGHEST below it, qpos is returned.
    """
    if not _has_height(m, 0):
        return qpos
    d, at, step = make_data(m), _height_entry(m, 0), SOLE
    d.qpos = qpos
    while _depth(m, d) == 0.0:
        if step > HIGHEST:
            return qpos
        d.qpos[at] -= step
        step *= 2.0
    _raise(m, d, at)
    touching_floor: Array = d.qpos.copy()
    return touching_floor


def may_stand(m: Model, qpos: Array, root: int) -> bool:
    """Return whether the centre of mass of a floating robot is above its feet.

    Args:
        m: the robot, perhaps with other robots.
        qpos: (nq,) its position.
        root: number of its floating joint.
    """
    if m.ncontact == 0 or not _has_height(m, root):
        return False
    d = make_data(m)
    d.qpos = qpos
    d.qpos[_height_entry(m, root)] -= SOLE
    touching(m, d)
    body = int(m.jnt_bodyid[root])
    own = m.body_rootid[d.contact_body[: d.ncon]] == body
    feet = d.contact_pos[: d.ncon][_on_world(d) & own[:, 1], :2] - d.subtree_com[body, :2]
    if len(feet) == 0:
        return False
    directions = np.sort(np.arctan2(feet[:, 1], feet[:, 0]))
    gaps = np.diff(directions, append=directions[0] + 2.0 * np.pi)
    return bool(gaps.max() < np.pi)


def _has_height(m: Model, j: int) -> bool:
    """Return whether a joint is a floating joint that has the height as a coordinate."""
    return JointType(m.jnt_type[j]) in HEIGHT and not m.jnt_reversed[j]


def _height_entry(m: Model, j: int) -> int:
    """Return the entry of qpos with the height of a floating joint."""
    return int(m.jnt_qposadr[j]) + HEIGHT[JointType(m.jnt_type[j])]


def _raise(m: Model, d: Data, at: int) -> None:
    """Raise a floating robot out of the world; entry `at` of qpos is its height."""
    for _ in range(ROUNDS):
        depth = _depth(m, d)
        if depth == 0.0:
            break
        d.qpos[at] += depth + CLEAR


def _warned(m: Model) -> list[Finding]:
    """Return a warning if the robot is inside an obstacle at qpos0."""
    d = make_data(m)
    depth = _depth(m, d)
    if depth <= DEEP:
        return []
    fixed = _with_world(d)
    obstacle, geom = d.contact_geom[fixed[np.argmin(d.contact_dist[fixed])]]
    other = m.geom_names[obstacle]
    text = (
        f"qpos0 puts the geometry '{m.geom_names[geom]}' {depth:.3g} m into the obstacle "
        f"'{other}', which will push it out violently; choose another start"
    )
    return [Finding("in-obstacle", text, "warning")]


def outside_of_limits(m: Model) -> list[Finding]:
    """Return a note about joints whose limits exclude qpos0, the start of a Data."""
    moves = moves_to_limits(m)
    if not moves:
        return []
    more = f", ... ({len(moves)} in all)" if len(moves) > MOST_JOINTS else ""
    text = (
        "qpos0, the start of make_data, is outside the limits of some joints; rbdyn sim starts "
        f"{', '.join(moves[:MOST_JOINTS])}{more}"
    )
    if m.nefc > 0:
        text += ", then closes the loops"
    return [Finding("outside-limits", text, "note")]


def bodies_overlap(m: Model) -> list[Finding]:
    """Return a warning that names the bodies that overlap each other at qpos0."""
    if m.npush == 0:
        return []
    d = make_data(m)
    touching(m, d)
    geoms, dist = d.contact_geom[: d.ncon], d.contact_dist[: d.ncon]
    deepest: dict[tuple[int, int], float] = {}
    for pair, depth in zip(map(tuple, geoms.tolist()), (-dist).tolist(), strict=True):
        if pair[0] < m.ngeomlink and depth > max(DEEP, deepest.get(pair, 0.0)):
            deepest[pair] = depth
    if not deepest:
        return []
    names = m.geom_names
    pairs = [f"{names[g]} and {names[h]} ({1e3 * by:.3g} mm)" for (g, h), by in deepest.items()]
    text = (
        f"qpos0 puts bodies into each other, which will push them apart: {listing(pairs)}; choose "
        "another start"
    )
    return [Finding("bodies-overlap", text, "warning")]


def _depth(m: Model, d: Data) -> float:
    """Return the largest penetration into the world at qpos, or 0 without contact."""
    touching(m, d)
    return -min(float(d.contact_dist[_with_world(d)].min(initial=0.0)), 0.0)


def _with_world(d: Data) -> Ints:
    """Return the indices of the contacts with the world."""
    return np.flatnonzero(_on_world(d))


def _on_world(d: Data) -> Bools:
    """Return a mask (ncon,) of the contacts with the world."""
    with_world: Bools = d.contact_body[: d.ncon, 0] == 0
    return with_world
