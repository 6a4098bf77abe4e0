# SPDX-License-Identifier: Apache-2.0
"""Motion and inverse dynamics of a humanoid by spatial velocities about the world's origin.

Source: Introduction to Humanoid Robotics, chapter 6, figures 6.16, 6.18 and 6.29. The trunk is
link 1 if a free joint carries it; otherwise it is the base, link 0. All vectors are in world
coordinates. A link has the angular velocity w, and vo is the velocity of the link's point at the
world's origin: RBDA's v in base coordinates is [w; vo]. Vectors of six numbers are [linear;
angular], the order of that book.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.model.declared.joints import JointType
from rbdyn_ros.textbook.kinematics import kinematics
from rbdyn_ros.textbook.spatial import cross, frame, inverse_transform, mass_properties
from rbdyn_ros.textbook.system import System

#: Joints with one axis that is fixed in the link: the book's revolute joint and two other types.
ONE_AXIS = (JointType.HINGE, JointType.SLIDE, JointType.HELICAL)


@dataclass(frozen=True)
class Link:
    """A link; attributes are named as in the book's uLINK.

    Attributes:
        p, R: (3,), (3, 3), position and orientation of the link's frame.
        vo, w: linear and angular velocity.
        dvo, dw: derivatives of vo and w, the spatial acceleration.
        sv, sw: linear and angular part of the axis of the link's joint.
    """

    p: Array
    R: Array
    vo: Array
    w: Array
    dvo: Array
    dw: Array
    sv: Array
    sw: Array


def trunk_number(s: System) -> int:
    """Return the link number of the trunk: 1 if it floats, 0 if it is fixed to the ground."""
    return 1 if s.jtype[1].kind == JointType.FREE else 0


def forward_all_kinematics(
    s: System, q: Array, qd: Array, qdd: Array, acceleration: Array
) -> dict[int, Link]:
    """Return the position, velocity and acceleration of all links by number (figure 6.16).

    Args:
        s: the system model.
        q: positions.
        qd: velocities.
        qdd: accelerations; entries of a free joint under the trunk are ignored.
        acceleration: (6,), [dvo; dw] of the trunk; gravity counts as an acceleration -g.

    Raises:
        NotImplementedError: a joint after the trunk is not one of ONE_AXIS.
    """
    first = trunk_number(s)
    links = {first: _trunk(s, q, qd, acceleration)}
    for i in s.bodies[first:]:
        if s.jtype[i].kind not in ONE_AXIS:
            raise NotImplementedError(f"link {i}: its joint must have one axis, fixed in the link")
        mom = links[s.parent[i]]
        X, S, _, _ = s.joint(i, q, qd)
        E, b = frame(X)
        p, R = mom.R @ b + mom.p, mom.R @ E.T
        sw = R @ S[:3, 0]
        sv = np.cross(p, sw) + R @ S[3:, 0]  # the second term is for prismatic joints
        dsv = np.cross(mom.w, sv) + np.cross(mom.vo, sw)
        dsw = np.cross(mom.w, sw)
        dq, ddq = qd[s.vs[i]], qdd[s.vs[i]]
        links[i] = Link(
            p,
            R,
            vo=mom.vo + sv * dq,
            w=mom.w + sw * dq,
            dvo=mom.dvo + dsv * dq + sv * ddq,
            dw=mom.dw + dsw * dq + sw * ddq,
            sv=sv,
            sw=sw,
        )
    return links


def inverse_dynamics(
    s: System, links: Mapping[int, Link], f_ext: Sequence[Array] | None = None
) -> tuple[Array, Array]:
    """Return u, (nv,), and the wrench on the trunk, (6,) [force; moment about the world's origin].

    Source: figure 6.18; here a branch may end at any link. The book mentions f_ext in the
    text, but not in the listing. The u of a free joint under the trunk is zero.

    Args:
        s: the system model.
        links: from forward_all_kinematics.
        f_ext: external force on each body [moment; force], base coordinates; entry 0 unused; None:
            no force.
    """
    u, first = np.zeros(s.nv), trunk_number(s)
    f, t = {i: np.zeros(3) for i in links}, {i: np.zeros(3) for i in links}
    for j in sorted(links, reverse=True):
        f0, t0 = _force(s.I[j], links[j])
        f[j] += f0
        t[j] += t0
        if f_ext is not None and j > 0:
            f[j] -= f_ext[j][3:]
            t[j] -= f_ext[j][:3]
        if j > first:
            u[s.vs[j]] = links[j].sv @ f[j] + links[j].sw @ t[j]
            f[s.parent[j]] += f[j]
            t[s.parent[j]] += t[j]
    return u, np.concatenate([f[first], t[first]])


def inv_dyn(
    s: System, q: Array, qd: Array, x: Array, f_ext: Sequence[Array] | None = None
) -> Array:
    """Return the forces (nv,) for accelerations x, for use with unit_vectors (figure 6.29).

    If the trunk floats, the first six entries of x are [dvo; dw], and the first six forces are
    [force; moment] about the world's origin. The other entries belong to the joints.
    """
    floats = trunk_number(s) == 1
    acceleration = x[:6] if floats else np.zeros(6)
    g = np.concatenate([s.a_g[3:], np.zeros(3)])
    u, trunk = inverse_dynamics(s, forward_all_kinematics(s, q, qd, x, acceleration - g), f_ext)
    return np.concatenate([trunk, u[6:]]) if floats else u


def _trunk(s: System, q: Array, qd: Array, acceleration: Array) -> Link:
    """Return the trunk. In the book its state is given; here it follows from q and qd."""
    first, none = trunk_number(s), np.zeros(3)
    iX_0, v = kinematics(s, q, qd)
    E, p = frame(iX_0[first])
    w, vo = np.split(inverse_transform(iX_0[first]) @ v[first], 2)
    dvo, dw = np.split(acceleration, 2)
    return Link(p, E.T, vo, w, dvo, dw, none, none)


def _force(I: Array, link: Link) -> tuple[Array, Array]:
    """Return the force and the moment about the world's origin that cause a link's motion."""
    m, com, I_com = mass_properties(I)
    c = link.R @ com + link.p
    C = cross(c)
    I_o = link.R @ I_com @ link.R.T + m * C @ C.T
    P = m * (link.vo + np.cross(link.w, c))
    L = m * np.cross(c, link.vo) + I_o @ link.w
    f = m * (link.dvo + np.cross(link.dw, c)) + np.cross(link.w, P)
    t = m * np.cross(c, link.dvo) + I_o @ link.dw + np.cross(link.vo, P) + np.cross(link.w, L)
    return f, t
