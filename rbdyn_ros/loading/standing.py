"""Where a robot starts: above what it touches, not in it."""

from __future__ import annotations

import numpy as np

from rbdyn_ros.dynamics.entry import stage
from rbdyn_ros.engine.constants import touching
from rbdyn_ros.errors import Finding
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.joints import JointType
from rbdyn_ros.model.model import Model

#: Entry of the height in the position of a root joint that floats.
HEIGHT = {JointType.FREE: 2, JointType.SIXDOF_FP: 6, JointType.SIXDOF_FS: 6}

ROUNDS = 100  # of raising it; a list of contacts may leave out the deepest
CLEAR = 1e-9  # [m]
DEEP = 1e-6  # [m] of which a robot may be in an obstacle without a word

_touching = stage(touching)


def out_of_obstacles(m: Model) -> tuple[Model, list[Finding]]:
    """Return the Model with a qpos0 in which nothing is in an obstacle, or a warning.

    If the first joint floats it is raised until the robot touches what it stands on.
    """
    if m.ngeom == 0:
        return m, []
    if JointType(m.jnt_type[0]) not in HEIGHT or m.jnt_reversed[0]:
        return m, _warned(m)
    d, at = Data(m), int(m.jnt_qposadr[0]) + HEIGHT[JointType(m.jnt_type[0])]
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
    """Return a warning if the robot is in an obstacle at qpos0: it would be thrown out of it."""
    d = Data(m)
    depth = _depth(m, d)
    if depth <= DEEP:
        return []
    geom, obstacle = d.contact_geom[np.argmin(d.contact_dist[: min(d.ncon, m.ncontact)])]
    text = (
        f"qpos0 puts the geometry '{m.geom_names[geom]}' {depth:.3g} m into the obstacle "
        f"'{m.obstacle_names[obstacle]}', which will throw it out; start elsewhere"
    )
    return [Finding("in-obstacle", text, "warning")]


def _depth(m: Model, d: Data) -> float:
    """Return how deep a geometry is in an obstacle at qpos, of those listed; 0 if none is."""
    _touching(m, d)
    listed = min(d.ncon, m.ncontact)
    return float(-d.contact_dist[:listed].min()) if listed else 0.0
