"""The mass and the size that a contact is made for.

The mass is geom_mass0, but at least a tenth of the tree's mass, as a robot may rest on one light
finger. Of two moving bodies the lighter one counts. As a light body may carry a heavy one, that
tenth is one of the heaviest of all trees that touch each other, directly or through others, for
their contacts with the world, too.

The size is the one at which torsional and rolling friction are as stiff as friction is. It is
geom_rbound of the smaller geometry, but a robot may turn on a small foot: with I the moment of
inertia of its tree about the contact, mass size^2 is at least I / 10. A smaller one would let it
swing about its foot, at the frequency sqrt(D / (h I)).
"""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.jit import inline, kernel
from rbdyn_ros.engine.spatial import dot3, load3, sub3

#: Part of the mass of the tree, or of the heaviest of those that touch each other, that a contact
#: is made for at least, and part of its moment of inertia.
SHARE = 0.1


@inline
def masses_of(m, d, c):
    """Return the masses that a contact is made for, of an impact, and of the heaviest tree."""
    root, mass = m.body_rootid[d.contact_body[c, 1]], _own_mass(m, d, c, 1)
    tree = d.body_heaviest[root] if d.nmutual > 0 else m.body_subtreemass[root]
    if d.contact_body[c, 0] == 0:
        return max(mass, SHARE * tree), mass, tree
    other = _own_mass(m, d, c, 0)
    return max(min(mass, other), SHARE * tree), mass * other / (mass + other), tree


@inline
def _own_mass(m, d, c, side):
    """Return the mass that a geometry moves."""
    tree = m.body_subtreemass[m.body_rootid[d.contact_body[c, side]]]
    return max(m.geom_mass0[d.contact_geom[c, side]], SHARE * tree)


@kernel
def turning_size(m, d, c, mass, size):
    """Return the size of a contact with torsional or rolling friction, at least `size` [m]."""
    inertia = _moment_of_tree(m, d, c, 1)
    if d.contact_body[c, 0] > 0:
        inertia = min(inertia, _moment_of_tree(m, d, c, 0))
    return max(size, np.sqrt(SHARE * inertia / mass))


@kernel
def _moment_of_tree(m, d, c, side):
    """Return the polar moment of inertia of a tree about a contact: the largest about any axis."""
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
            d.body_heaviest[root] = m.body_subtreemass[root]
    while _spread(m, d, 0, 1) and _spread(m, d, d.ncon - 1, -1):
        pass


@inline
def _spread(m, d, first, step):
    """Pass the larger mass on between all pairs once, in one direction of the list.

    Returns whether one changed: chains are sorted along or against the list, mostly.
    """
    changed = False
    for n in range(d.ncon):
        one, two = d.contact_body[first + step * n]
        if one > 0:
            one, two = m.body_rootid[one], m.body_rootid[two]
            if d.body_heaviest[one] != d.body_heaviest[two]:
                most = max(d.body_heaviest[one], d.body_heaviest[two])
                d.body_heaviest[one] = d.body_heaviest[two] = most
                changed = True
    return changed
