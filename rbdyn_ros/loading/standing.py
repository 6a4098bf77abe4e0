"""Start a robot above its obstacles, not inside them; say where it starts outside limits."""

from __future__ import annotations

import numpy as np

from rbdyn_ros.arrays import Ints
from rbdyn_ros.dynamics.configuration import moves_to_limits
from rbdyn_ros.dynamics.entry import public
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.engine.quantities.constants import touching as _kernel
from rbdyn_ros.errors import Finding, listing
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.joints import JointType
from rbdyn_ros.model.model import Model

#: Index of the height in the position of a floating root joint.
HEIGHT = {JointType.FREE: 2, JointType.SIXDOF_FP: 6, JointType.SIXDOF_FS: 6}

ROUNDS = 100  # the contact list may lack the deepest contact
CLEAR = 1e-9  # [m]
DEEP = 1e-6  # [m] penetration without a warning
MOST_JOINTS = 8  # named in a note

touching = public(_kernel)


def out_of_obstacles(m: Model) -> tuple[Model, list[Finding]]:
    """Return the Model with a qpos0 outside all obstacles, or a warning.

    A floating robot is raised until it just touches.
    """
    if m.ncontact == 0:
        return m, []
    if JointType(m.jnt_type[0]) not in HEIGHT or m.jnt_reversed[0]:
        return m, _warned(m)
    d, at = make_data(m), int(m.jnt_qposadr[0]) + HEIGHT[JointType(m.jnt_type[0])]
    for _ in range(ROUNDS):
        depth = _depth(m, d)
        if depth == 0.0:
            break
        d.qpos[at] += depth + CLEAR
    height = float(d.qpos[at] - m.qpos0[at])
    if _depth(m, d) > 0.0:
        return m, _warned(m)
    if height == 0.0:
        return m, []
    text = f"the zero position puts the robot in an obstacle; qpos0 is {height:.6g} m higher"
    return m.replaced(qpos0=np.array(d.qpos)), [Finding("raised", text, "note")]


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
    """Return a warning by name of the bodies that overlap each other at qpos0."""
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
    """Return the largest penetration of the world at qpos; 0 without contact."""
    touching(m, d)
    return -min(float(d.contact_dist[_with_world(d)].min(initial=0.0)), 0.0)


def _with_world(d: Data) -> Ints:
    """Return the numbers of the contacts with the world."""
    return np.flatnonzero(d.contact_body[: d.ncon, 0] == 0)
