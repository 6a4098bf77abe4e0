# SPDX-License-Identifier: Apache-2.0
"""The mass and the size that determine the constants of a contact.

The mass is geom_mass0, but at least a tenth of the tree's mass, because a robot can rest on one
light finger. Trees connected by loop joints, such as welds, all have the mass of the heaviest of
them. Of two moving bodies the lighter body counts. A body whose motion is prescribed counts as the
world. A light body can carry a heavy one: where bodies touch each other, directly or through
others, the mass is at least a tenth of the mass of the heaviest tree among them. This also holds
for their contacts with the world.

With the size as lever arm, torsional and rolling friction are as stiff as sliding friction. The
size is geom_rbound of the smaller geometry, but a robot can turn on a small foot. So mass size^2
is at least I / 10, where I is the moment of inertia of the tree about the contact. With a smaller
size the robot would swing about its foot at the frequency sqrt(D / (h I)).
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import dot3, load3, sub3
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.joints.motion import DRIVEN

#: The mass of a contact is at least this part of the mass of its tree, or of the heaviest of the
#: trees that touch each other; mass size^2 is at least this part of the moment of inertia.
SHARE = 0.1

#: Mobility [1/kg] of two bodies whose motion is prescribed.
LEAST_MOBILITY = 1e-300


@inline
def masses_of(m, d, c):
    """Return three masses [kg]: of the contact, of its impact, and of the heaviest tree.

    The first sets stiffness and the slope of friction, the second is the effective mass of an
    impact.
    """
    body1, body2 = d.contact_body[c]
    root = m.body_rootid[body2]
    tree = d.body_heaviest[root] if d.nmutual > 0 else _mass_of_tree(m, d, root)
    if body1 == 0 or _is_prescribed(m, body1):
        mass = _own_mass(m, d, c, 1)
        return max(mass, SHARE * tree), mass, tree
    other = _own_mass(m, d, c, 0)
    if _is_prescribed(m, body2):
        return max(other, SHARE * tree), other, tree
    mass = _own_mass(m, d, c, 1)
    return max(min(mass, other), SHARE * tree), mass * other / (mass + other), tree


@inline
def mass_of_step(m, d, c):
    """Return the mass of an impact, which bounds the stiffness of a spring in a step.

    It is geom_mass0 alone; for two moving bodies it is 1 over the sum of their mobilities.
    """
    return 1.0 / max(mobility(m, d, c, 0) + mobility(m, d, c, 1), LEAST_MOBILITY)


@inline
def mobility(m, d, c, side):
    """Return 1 over the mass that geometry `side` moves; 0 if its body's motion is prescribed."""
    if _is_prescribed(m, d.contact_body[c, side]):
        return 0.0
    mass = m.geom_mass0[d.contact_geom[c, side]]
    return 1.0 / (mass if mass > 0.0 else _own_mass(m, d, c, side))


@inline
def _is_prescribed(m, i):
    """Return whether the motion of a body is prescribed.

    The body then acts as infinitely heavy.
    """
    if m.body_lastdof[i] >= 0:
        return False
    while i > 0:
        if m.jnt_class[i - 1] != DRIVEN:
            return False
        i = m.body_parentid[i]
    return True


@inline
def _own_mass(m, d, c, side):
    """Return the mass that geometry `side` of a contact moves, at least SHARE of its tree's."""
    tree = _mass_of_tree(m, d, m.body_rootid[d.contact_body[c, side]])
    return max(m.geom_mass0[d.contact_geom[c, side]], SHARE * tree)


@inline
def _mass_of_tree(m, d, root):
    return d.body_joinedmass[root] if m.nloop > 0 else m.body_subtreemass[root]


@kernel
def join_trees(m, d):
    """Write body_joinedmass, the largest mass of connected trees; only loop joints need it."""
    for i in range(1, m.nbody):
        d.body_joinedmass[i] = m.body_subtreemass[i]
    changed = True
    while changed:
        changed = False
        for k in range(m.nloop):
            body1, body2 = m.loop_bodyid[k]
            if body1 > 0 and body2 > 0 and _raise_to_heavier(m, d.body_joinedmass, body1, body2):
                changed = True


@inline
def _raise_to_heavier(m, mass, body1, body2):
    """Set the masses of the trees of two bodies to the larger of the two.

    Return whether a mass changed.
    """
    root1, root2 = m.body_rootid[body1], m.body_rootid[body2]
    if mass[root1] == mass[root2]:
        return False
    mass[root1] = mass[root2] = max(mass[root1], mass[root2])
    return True


@kernel
def turning_size(m, d, c, mass, size):
    """Return the size of a contact with torsional or rolling friction, at least `size` [m]."""
    inertia = _moment_of_tree(m, d, c, 1)
    if d.contact_body[c, 0] > 0:
        inertia = min(inertia, _moment_of_tree(m, d, c, 0))
    return max(size, np.sqrt(SHARE * inertia / mass))


@kernel
def _moment_of_tree(m, d, c, side):
    """Return the largest moment of inertia of a tree about any axis through a contact's point."""
    root, x, sum_of = m.body_rootid[d.contact_body[c, side]], load3(d.contact_pos, c), 0.0
    for i in range(root, m.nbody):
        if m.body_rootid[i] == root:
            r, (xx, yy, zz) = sub3(load3(d.xipos, i), x), load3(m.body_inertia, i)
            sum_of += m.body_mass[i] * dot3(r, r) + 0.5 * (xx + yy + zz)
    return sum_of


@kernel
def find_heaviest(m, d):
    """Write body_heaviest at the roots of the trees that touch something."""
    for c in range(d.ncon):
        for side in range(2):
            root = m.body_rootid[d.contact_body[c, side]]
            d.body_heaviest[root] = _mass_of_tree(m, d, root)
    while _spread(m, d, 0, 1) and _spread(m, d, d.ncon - 1, -1):
        pass


@inline
def _spread(m, d, first, step):
    """Raise the lighter tree's mass to the other's for each contact, once through the list.

    Return whether a mass changed. `step` is the direction through the list, 1 or -1: chains of
    bodies are mostly listed from one end to the other.
    """
    changed = False
    for n in range(d.ncon):
        body1, body2 = d.contact_body[first + step * n]
        if body1 > 0 and _raise_to_heavier(m, d.body_heaviest, body1, body2):
            changed = True
    return changed
