"""The heaviest of the trees that touch each other, directly or through others.

A light body may carry a heavy one, so its contacts with the world have to be made for it, too.
"""

from __future__ import annotations

from rbdyn_ros.engine.jit import inline, kernel


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
