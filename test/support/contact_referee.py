# SPDX-License-Identifier: Apache-2.0
"""Compute the contact forces of a step independently, by the solution of a convex problem.

The equations are those of docs/explanation/contact_forces.md. From the engine
come only the contact points, the dynamics without contact, and the constants of the contact law.
"""

from dataclasses import dataclass

import numpy as np
import pytest

import rbdyn_ros as rb
from rbdyn_ros.engine.contact.law.contact_constants import DEEPEST, OUT, STICK, STIFF
from rbdyn_ros.engine.contact.law.masses import SHARE
from rbdyn_ros.engine.contact.law.surfaces import DEFAULT_SOLREF
from rbdyn_ros.engine.contact.solve.rolling import LIES
from rbdyn_ros.engine.contact.solve.solve_step import STUBBORN
from rbdyn_ros.engine.stops.stop_law import EMERGE
from rbdyn_ros.engine.tree.flight import HELD, PLAIN
from rbdyn_ros.model.declared.contact_arrays import FEATURES, SIZE
from rbdyn_ros.model.geometry.geoms import GeomType


@dataclass
class Problem:
    """The problem of one step: velocities u = free + G f (4 n) of n contacts, and force laws.

    A contact has a normal component and three components of friction: two forces at the centre of
    the contact's patch, and the torque over the radius of the patch. The velocity of the third
    component of friction is the radius times the spin.

    Attributes:
        free: (n, 4) velocities in the middle of the step without contact forces.
        G: (4 n, 4 n) change of the velocities in a step per force.
        push, slope: (n,) constants of the law f_n = max(0, push - slope u_n).
        memory: (n, 3) remembered friction.
        grip: (n,) constant D of the law f_t = memory - D u_t, where |f_t| is at most mu f_n.
        mu: (n,) friction coefficients.
        frames: (n, 3, 3) axes of the contacts as rows: the normal and two tangents.
        levers: (n, 3) contact_lever in these axes [m].
    """

    free: np.ndarray
    G: np.ndarray
    push: np.ndarray
    slope: np.ndarray
    memory: np.ndarray
    grip: np.ndarray
    mu: np.ndarray
    frames: np.ndarray
    levers: np.ndarray


def problem(m, start, end):
    """Return the Problem of a step, for integrators without derivatives of Coriolis forces.

    The step leads from the Data `start` to the Data `end`, which has the contact points.
    """
    d, h = start.copy(), m.opt.timestep
    A = rb.mass_matrix(m, d)
    rb.fwd_position(m, d)
    rb.fwd_velocity(m, d)
    assert set(d.contact_key[: d.ncon]) <= set(end.contact_key[: end.ncon])
    n = end.ncon
    for field in ("key", "geom", "pos", "normal", "arm1", "arm2", "dist", "lever", "time"):
        getattr(d, f"contact_{field}")[:n] = getattr(end, f"contact_{field}")[:n]
    if m.opt.integrator == "implicit_damping":
        A += h * np.diag(d.dof_viscosity)
    frames = np.array([_frame(normal) for normal in d.contact_normal[:n]])
    J = np.concatenate([_rows(m, d, c, frames[c]) for c in range(n)])
    d.flight_mode = end.flight_mode
    tau = d.qfrc_applied + d.qfrc_passive - _bias_in_kick(m, d)
    free = J @ (d.qvel + h * np.linalg.solve(A, tau))
    free = free.reshape(n, 4)
    for c in range(n):
        free[c, 1:] += 0.5 * h * _bent(m, d, c, frames[c])
    k, b, grip, mu = np.array(_surfaces(m, d.contact_geom[:n])).T
    memory = [
        [*frames[c, 1:] @ _turned(m, d, c, force), frames[c, 0] @ _turned(m, d, c, torque)]
        for c, (force, torque) in enumerate(_remembered(start, d.contact_key[:n]))
    ]
    levers = np.einsum("cij,cj->ci", frames, d.contact_lever[:n])
    sizes = end.contact_grip[:n, SIZE]
    memory = np.array(memory) / np.column_stack([np.ones((n, 2)), sizes])
    memory[levers[:, 0] == 0.0, 2] = 0.0
    slope, rigid = b + h * k, m.geom_stiffness[d.contact_geom[:n, 1]] == 0.0
    push = np.where(
        rigid, np.minimum(-k * d.contact_dist[:n], slope * EMERGE), -k * d.contact_dist[:n]
    )
    return Problem(
        free, h * J @ np.linalg.solve(A, J.T), push, slope,
        memory, grip, mu, frames, levers,
    )  # fmt: skip


def _bias_in_kick(m, d):
    """Return the bias force (nv,) of a step, without gyroscopic torque for some flying bodies."""
    bias = d.qfrc_bias.copy()
    for i in m.flight_bodyid[d.flight_mode[m.flight_bodyid] != PLAIN]:
        k, world = m.body_dofadr[i], m.body_mat[i].reshape(3, 3)
        xx, yy, zz, xy, xz, yz = m.body_fullinertia[i]
        momentum = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ d.qvel[k + 3 : k + 6]
        weight = -m.body_mass[i] * m.opt.gravity
        bias[k : k + 3] = world.T @ weight
        bias[k + 3 : k + 6] = np.cross(m.body_ipos[i], d.xmat[i].reshape(3, 3).T @ weight)
        if d.flight_mode[i] == HELD:
            bias[k + 3 : k + 6] += np.cross(d.qvel[k + 3 : k + 6], momentum)
    return bias


def _frame(normal):
    aside = np.cross(normal, np.eye(3)[np.argmin(abs(normal))])
    aside /= np.linalg.norm(aside)
    return np.array([normal, aside, np.cross(normal, aside)])


def _remembered(start, keys):
    """Return the remembered force and torque (2, 3) of each contact.

    New contacts of a pair share the forces of its lost contacts.
    """
    both = np.stack([start.stick_force, start.stick_torque], axis=1)
    before = dict(zip(start.stick_key[: start.nstick], both, strict=False))
    keys = keys.tolist()
    forces = []
    for key in keys:
        if key in before:
            forces.append(before[key])
            continue
        pair = key // FEATURES
        lost = [f for old, f in before.items() if old // FEATURES == pair and old not in keys]
        fresh = sum(one // FEATURES == pair and one not in before for one in keys)
        forces.append(np.sum([np.zeros((2, 3)), *lost], axis=0) / fresh)
    return forces


def _turned(m, d, c, force):
    """Return a force (3,) in world axes, given in the axes of the body of the contact's geom1."""
    body = m.geom_bodyid[d.contact_geom[c, 0]]
    return d.xmat[body].reshape(3, 3) @ force


def _rows(m, d, c, frame):
    """Return the Jacobian (4, nv) of a contact's normal velocity and velocities of friction."""
    rows, radius = np.zeros((4, m.nv)), frame[0] @ d.contact_lever[c]
    for sign, body in _sides(m, d, c):
        J = rb.frame_jacobian(m, d, m.body_names[body], "world")
        at_point, at_centre = (J[3:] + np.cross(J[:3], x, axis=0) for x in _points(m, d, c, body))
        spin = radius * frame[0] @ J[:3]
        rows += sign * np.vstack([frame[0] @ at_point, frame[1:] @ at_centre, spin])
    return rows


def _sides(m, d, c):
    """Return the sign and the number of each moving body of a contact."""
    one, two = m.geom_bodyid[d.contact_geom[c]]
    return ((1.0, two), (-1.0, one)) if one > 0 else ((1.0, two),)


def _points(m, d, c, body):
    """Return a body's contact point and point of friction (3,) at the start of the step."""
    x = d.contact_pos[c]
    if d.contact_time[c] != 0.0:  # the contact begins in this step: use the arms at its time
        arm = d.contact_arm1 if body == m.geom_bodyid[d.contact_geom[c, 0]] else d.contact_arm2
        x = d.subtree_com[m.body_rootid[body]] + arm[c]
    return x, x + np.cross(d.contact_lever[c], d.contact_normal[c])


def _bent(m, d, c, frame):
    """Return the time derivative (3,) of the velocities of friction at constant qvel."""
    (one, two), normal = d.contact_geom[c], d.contact_normal[c]
    a = w = turning = np.zeros(3)
    for sign, body in _sides(m, d, c):
        arc = _arc(m, d, body, _points(m, d, c, body)[1])
        a, w, turning = a + sign * arc[0], w + sign * arc[1], turning + sign * arc[2]
    a = a + np.cross(w, _compliance(m, d, one, two, normal) @ np.cross(w, normal))
    return np.array([*frame[1:] @ a, normal @ d.contact_lever[c] * (normal @ turning)])


def _arc(m, d, body, x):
    """Return a point's acceleration, and the body's spin and angular acceleration, at qacc = 0."""
    name = m.body_names[body]
    w, v = np.split(rb.frame_jacobian(m, d, name, "world") @ d.qvel, 2)
    turning, a = np.split(rb.frame_jacobian_dot(m, d, name, "world") @ d.qvel, 2)
    if body in m.flight_bodyid and d.flight_mode[body] != PLAIN:
        # the centre of mass moves on a straight line
        straight = np.cross(turning, x - d.xipos[body])
        return straight + np.cross(w, np.cross(w, x - d.xipos[body])), w, turning
    return a + np.cross(turning, x) + np.cross(w, v + np.cross(w, x)), w, turning


def _compliance(m, d, one, two, normal):
    """Return the matrix (3, 3) of a contact's shift [m] per rad of rotation of the surfaces."""
    radii = m.geom_radius[[one, two]]
    if radii.any():
        return np.eye(3) / np.sum(1.0 / radii[radii > 0.0])
    if m.geom_type[two] != GeomType.CYLINDER:
        return np.zeros((3, 3))
    assert m.geom_type[one] == GeomType.PLANE
    axis = d.xmat[m.geom_bodyid[two]].reshape(3, 3) @ m.geom_mat[two].reshape(3, 3)[:, 2]
    along = np.cross(axis, normal)
    sine = np.linalg.norm(along)
    if sine < LIES:
        return np.zeros((3, 3))
    return m.geom_size[two, 0] / sine * np.outer(along, along) / sine**2


def _surfaces(m, pairs):
    """Return stiffness k, damping b, friction constant D and coefficient mu of all pairs."""
    roots = [tuple(m.body_rootid[m.geom_bodyid[g]] for g in pair) for pair in pairs]
    groups = {root: {root} for pair in roots for root in pair if root > 0}
    for one, two in roots:
        if one > 0:
            joined = groups[one] | groups[two]
            groups |= dict.fromkeys(joined, joined)
    heaviest = [max(m.body_subtreemass[list(groups[two])]) for _, two in roots]
    return [_surface(m, *pair, most) for pair, most in zip(pairs, heaviest, strict=True)]


def _surface(m, geom1, geom2, heaviest):
    """Return k, b, D and mu of a pair, whose contact is near-rigid or has a time constant."""
    h, moving = m.opt.timestep, [geom2, geom1] if m.geom_bodyid[geom1] > 0 else [geom2]
    trees = [m.body_subtreemass[m.body_rootid[m.geom_bodyid[g]]] for g in moving]
    masses = [max(m.geom_mass0[g], SHARE * tree) for g, tree in zip(moving, trees, strict=True)]
    mass, mus, shortest = masses[0], [m.geom_friction[g] for g in moving], h / np.pi
    if len(moving) > 1:
        mass, shortest = min(masses), h / (2.0 * np.pi)
    else:
        mus.append(m.geom_friction[geom1])
    mass = max(mass, SHARE * heaviest)
    g = max(moving, key=lambda g: m.geom_solref[g, 0])
    if tuple(m.geom_solref[g]) == DEFAULT_SOLREF:
        slope = STIFF * mass / h
        return OUT * slope / h, (1.0 - OUT) * slope, STICK * mass / h, min(mus)
    t, ratio = max(m.geom_solref[g, 0], shortest), m.geom_solref[g, 1]
    strength = np.linalg.norm(m.opt.gravity)
    k = max(mass / (t * ratio) ** 2, heaviest * strength / max(DEEPEST, 2 * strength * h**2))
    return k, 2.0 * ratio * np.sqrt(k * mass), STICK * mass / h, min(mus)


def check_law(m, start, d, rarely=None):
    """Check the contact forces of a step; return the largest normal force [N].

    The forces satisfy Signorini's condition and the friction cone. If a contact slips so fast that
    its memory no longer counts, friction is opposite to the slip. `solve` limits friction by mu
    times the normal forces of the step, and finds the same forces up to the step's error of 5e-7,
    unless the solver softened contacts after many iterations. If `rarely` is a list, a larger
    error is no failure: the list gets the error as a share of the largest force.
    """
    p = problem(m, start, d)
    f = written(p, d)
    u = velocities(p, f)
    largest = f[:, 0].max()
    most = 1e-6 * largest + 1e-9
    assert f[:, 0].min() > -most
    assert (np.linalg.norm(f[:, 1:], axis=1) - p.mu * f[:, 0]).max() < most
    slips = slipping(p, f)
    direction = u[slips, 1:] / np.linalg.norm(u[slips, 1:], axis=1)[:, None]
    opposite = -(p.mu * f[:, 0])[slips, None] * direction
    assert f[slips, 1:] == pytest.approx(opposite, abs=1e-3 * largest)
    if d.solver_niter <= STUBBORN:
        error = abs(f - solve(p, p.mu * f[:, 0])).max()
        if rarely is not None and error >= most:
            rarely.append(error / largest)
        else:
            assert error < most
    return largest


def written(p, d):
    """Return the forces (n, 4) of a step, in the axes of the contacts."""
    f = np.einsum("cij,cj->ci", p.frames, d.contact_force[: d.ncon])
    moment = np.einsum("ci,ci->c", p.frames[:, 0], d.contact_torque[: d.ncon])
    radius = p.levers[:, 0]
    spun = moment - (p.levers[:, 1:] * f[:, 1:]).sum(axis=1)
    assert abs(spun[radius == 0.0]).max(initial=0.0) < 1e-12
    return np.column_stack([f, spun / np.where(radius > 0.0, radius, 1.0)])


def velocities(p, f):
    """Return the velocities (n, 4) of the contacts that forces f (n, 4) cause."""
    return p.free + (p.G @ f.ravel()).reshape(-1, 4)


def slipping(p, f):
    """Return for each contact whether it slips too fast for its memory to count."""
    changed, limit = p.grip * np.linalg.norm(velocities(p, f)[:, 1:], axis=1), p.mu * f[:, 0]
    return (limit > 0.0) & (changed > 1e3 * np.linalg.norm(p.memory, axis=1) + 2.0 * limit)


def solve(p, radius):
    """Return the forces (n, 4) of the step, with friction of at most `radius` (n,).

    A is G plus the compliances 1 / slope and 1 / D on its diagonal, and b is the free velocities
    less push / slope and memory / D. The forces minimise f A f / 2 + b f with f_n >= 0 and |f_t|
    up to the radius. This problem is convex, and A is positive definite, so the forces are unique,
    even if more contacts hold a body than necessary. The alternating direction method of
    multipliers comes near the minimum. Newton's method then solves f = P(f - (A f + b)), where P
    projects to allowed forces.

    Source: Boyd et al., Distributed optimization and statistical learning via the alternating
    direction method of multipliers, 2011.
    """
    n = len(p.push)
    soft = np.column_stack([1.0 / p.slope, *3 * [1.0 / p.grip]])
    b = p.free - soft * np.column_stack([p.push, p.memory])
    A = p.G + np.diag(soft.ravel())
    scale = 1.0 / np.sqrt(np.diag(A).reshape(n, 4))
    scale[:, 1:] = scale[:, 1:].min(axis=1, keepdims=True)
    A, b = scale.ravel()[:, None] * A * scale.ravel(), (scale * b).ravel()
    radius = radius / scale[:, 1]
    values, vectors = np.linalg.eigh(A)
    weight = np.sqrt(max(values[0], 1e-12 * values[-1]) * values[-1])
    inverse = (vectors / (values + weight)) @ vectors.T
    z = w = np.zeros(4 * n)
    for _ in range(1000):
        for _ in range(100):
            x = inverse @ (weight * (z - w) - b)
            z = _nearest(x + w, radius)[0]
            w = w + x - z
        f, found = _newton(A, b, radius, z)
        if found:
            return scale * f.reshape(n, 4)
    raise AssertionError("the reference solution has not converged")


def _newton(A, b, radius, f, most=20):
    """Return the forces that Newton's method finds from f, and whether the method converged."""
    eye = np.eye(len(f))
    for _ in range(most):
        there, slope = _nearest(f - (A @ f + b), radius)
        if abs(there - f).max() <= 1e-13 * max(abs(b).max(), abs(f).max()):
            return f, True
        f = f - np.linalg.solve(eye - slope @ (eye - A), f - there)
    return f, False


def _nearest(x, radius):
    """Return x projected to f_n >= 0 and |f_t| <= radius, and the projection's derivative."""
    x = x.reshape(-1, 4)
    slope = np.zeros((x.size, x.size))
    length = np.maximum(np.linalg.norm(x[:, 1:], axis=1), 1e-300)
    share = np.minimum(1.0, radius / length)
    for c, t in enumerate(x[:, 1:] / length[:, None]):
        k = 4 * c
        slope[k, k] = x[c, 0] > 0.0
        along = np.outer(t, t) if share[c] < 1.0 else 0.0
        slope[k + 1 : k + 4, k + 1 : k + 4] = share[c] * (np.eye(3) - along)
    return np.column_stack([np.maximum(x[:, 0], 0.0), share[:, None] * x[:, 1:]]).ravel(), slope
