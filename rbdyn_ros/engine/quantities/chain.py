"""The joints between the root and one frame, without changing other fields of a Data."""

from __future__ import annotations

from rbdyn_ros.engine.follow import expand
from rbdyn_ros.engine.jit import kernel
from rbdyn_ros.engine.joints.jcalc import common_motion
from rbdyn_ros.engine.kinematics import axes_before, place_body, poses
from rbdyn_ros.engine.spatial import IDENTITY, ZERO3, load3, load6, load9, store3, store6, store9


@kernel
def follow_chain(m, d, body):
    """Write chain, chain_xpos, chain_xmat, chain_cdof up to a body; return the origin of the last.

    Returns:
        The number of bodies, and the reference point of chain_cdof.
    """
    number = 0
    while body > 0:
        d.chain[number] = body
        number += 1
        body = m.body_parentid[body]
    store3(d.chain_xpos, 0, ZERO3)
    store9(d.chain_xmat, 0, IDENTITY)
    if number == 0:
        return number, ZERO3
    if m.pose_stage != 0:
        return number, _from_all(m, d, number)
    if m.nvall > m.nv:
        expand(m, d)
    root = d.chain[number - 1]
    for n in range(number - 1, -1, -1):
        i = d.chain[n]
        place_body(m, d, i, d.chain_xpos, d.chain_xmat)
        origin = load3(d.chain_xpos, root)
        common_motion(m, i - 1, i, origin, False, d.chain_xpos, d.chain_xmat, d.chain_cdof)
    return number, load3(d.chain_xpos, root)


@kernel
def _from_all(m, d, number):
    """Do the same from the poses of all bodies, which uncommon joints need."""
    poses(m, d)
    axes_before(m, d, d.chain[0])
    for n in range(number):
        i = d.chain[n]
        store3(d.chain_xpos, i, load3(d.xpos, i))
        store9(d.chain_xmat, i, load9(d.xmat, i))
        first = m.jnt_dofadr_all[i - 1]
        for c in range(first, first + m.jnt_dofnum[i - 1]):
            store6(d.chain_cdof, c, load6(d.cdof_all, c))
    return load3(d.subtree_com, m.body_rootid[d.chain[0]])
