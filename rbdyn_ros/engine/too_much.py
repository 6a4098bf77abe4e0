"""What a timestep cannot carry: a spring that is too stiff, a body that is pressed into another.

`step` looks for springs in joints at the start, and for contacts after its last timestep.
"""

from __future__ import annotations

from rbdyn_ros.engine.contact.contact_constants import bounces
from rbdyn_ros.engine.contact.law import IS_SPRING, MASS_BY_H, NORMAL, PUSH, K
from rbdyn_ros.engine.jit import inline, kernel
from rbdyn_ros.engine.spatial import dot3, load3

#: What is found: a sum of these.
STIFF_CONTACT, CRUSHED_CONTACT, STIFF_JOINT, STIFF_LIMIT = 256, 512, 1024, 2048

#: Rigid contacts are reported that are pressed deeper than this [m].
DEEP = 1e-3

#: Time constants [s] up to this are not given by a user.
NO_TIME = 1e-5


@kernel
def overloaded_contacts(m, d):
    """Return STIFF_CONTACT and CRUSHED_CONTACT if the last timestep had one."""
    stiff = crushed = 0
    for c in range(d.ncon):
        normal = load3(d.contact_normal, c)
        force = dot3(normal, load3(d.contact_force, c))
        if d.contact_spring[c, IS_SPRING] > 0.0:
            if force > 0.0 and _is_too_stiff(m, d, c):
                stiff = STIFF_CONTACT
        elif _goes_deeper(m, d, c, force):
            crushed = CRUSHED_CONTACT
    return stiff + crushed


@inline
def _goes_deeper(m, d, c, force):
    """Return whether a rigid contact is deep and its force cannot push it out."""
    if d.contact_dist[c] >= -DEEP or force <= d.contact_spring[c, PUSH]:
        return False
    return not bounces(m, d, c, d.contact_vel[c, NORMAL])


@inline
def _is_too_stiff(m, d, c):
    """Return whether the spring of a contact exceeds m / h^2, and a user gave it."""
    if m.opt.timestep * d.contact_spring[c, K] <= d.contact_spring[c, MASS_BY_H]:
        return False
    geom1, geom2 = d.contact_geom[c, 0], d.contact_geom[c, 1]
    given = m.geom_stiffness[geom1] > 0.0 or m.geom_stiffness[geom2] > 0.0
    return given or max(m.geom_solref[geom1, 0], m.geom_solref[geom2, 0]) > NO_TIME


@kernel
def overloaded_joints(m):
    """Return STIFF_JOINT and STIFF_LIMIT if a spring in a joint exceeds inertia / h^2."""
    h2, spring, limit = m.opt.timestep * m.opt.timestep, 0, 0
    for k in range(m.nv):
        if h2 * m.jnt_stiffness[m.dof_jntid[k]] > m.dof_inertia0[k]:
            spring = STIFF_JOINT
    for j in range(m.njnt):
        t, ratio = m.jnt_solref[j, 0], m.jnt_solref[j, 1]
        if m.jnt_limited[j] and t > NO_TIME and h2 > t * t * ratio * ratio:
            limit = STIFF_LIMIT
    return spring + limit if m.opt.passive else 0
