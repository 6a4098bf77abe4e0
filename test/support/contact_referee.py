"""The contact forces of a step by another way: projected Gauss-Seidel on forces.

The equations are those of docs/guides/contact.md. Of the engine only the contact points, the
dynamics without contact and the constants of the law are used.
"""

from dataclasses import dataclass

import numba
import numpy as np
import pytest

import rbdyn_ros as rb
from rbdyn_ros.engine.contact.law import DEEPEST, EMERGE, SHARE, STICK
from rbdyn_ros.engine.contact.touch import FEATURES


@dataclass
class Problem:
    """One step: velocities u = free + G f of n contacts, normal first, and their laws.

    Attributes:
        free: velocities without contact forces (n, 3).
        G: (3 n, 3 n), velocity by force, of a whole step.
        push, slope: f_n = max(0, push - slope u_n).
        memory: friction that is remembered (n, 2).
        grip: D of f_t = the part of (memory - D u_t) within the disc.
        mu: friction coefficients.
        frames: (n, 3, 3), rows: normal and two tangents.
    """

    free: np.ndarray
    G: np.ndarray
    push: np.ndarray
    slope: np.ndarray
    memory: np.ndarray
    grip: np.ndarray
    mu: np.ndarray
    frames: np.ndarray


def problem(m, start, end):
    """Return the problem of the step from a state, for the integrators without Coriolis terms.

    Its contact points are those of the step that has led to `end`.
    """
    d, h = start.copy(), m.opt.timestep
    A = rb.mass_matrix(m, d)
    rb.forward(m, d)
    assert set(d.contact_key[: d.ncon]) <= set(end.contact_key[: end.ncon])
    n = end.ncon
    for field in ("key", "geom", "pos", "normal", "dist"):
        getattr(d, f"contact_{field}")[:n] = getattr(end, f"contact_{field}")[:n]
    if m.opt.integrator == "implicit_damping":
        A += h * np.diag(d.dof_viscosity)
    frames = np.array([_frame(normal) for normal in d.contact_normal[:n]])
    J = np.concatenate([frames[c] @ _point_jacobian(m, d, c) for c in range(n)])
    tau = d.qfrc_applied + d.qfrc_passive - d.qfrc_bias
    free = J @ (d.qvel + h * np.linalg.solve(A, tau))
    k, b, grip, mu = np.array(_surfaces(m, d.contact_geom[:n])).T
    memory = [
        frames[c, 1:] @ _turned(m, d, c, force)
        for c, force in enumerate(_remembered(start, d.contact_key[:n]))
    ]
    slope, rigid = b + h * k, m.geom_stiffness[d.contact_geom[:n, 1]] == 0.0
    push = np.where(
        rigid, np.minimum(-k * d.contact_dist[:n], slope * EMERGE), -k * d.contact_dist[:n]
    )
    return Problem(
        free.reshape(n, 3), h * J @ np.linalg.solve(A, J.T), push, slope,
        np.array(memory), grip, mu, frames,
    )  # fmt: skip


def _frame(normal):
    aside = np.cross(normal, np.eye(3)[np.argmin(abs(normal))])
    aside /= np.linalg.norm(aside)
    return np.array([normal, aside, np.cross(normal, aside)])


def _remembered(start, keys):
    """Return the forces that contacts remember; new ones of a pair share those of lost ones."""
    before = dict(zip(start.stick_key[: start.nstick], start.stick_force, strict=False))
    keys = keys.tolist()
    forces = []
    for key in keys:
        if key in before:
            forces.append(before[key])
            continue
        pair = key // FEATURES
        lost = [f for old, f in before.items() if old // FEATURES == pair and old not in keys]
        fresh = sum(one // FEATURES == pair and one not in before for one in keys)
        forces.append(np.sum([np.zeros(3), *lost], axis=0) / fresh)
    return forces


def _turned(m, d, c, force):
    """Return a force in the axes of geom1's body in world axes."""
    body = m.geom_bodyid[d.contact_geom[c, 0]]
    return d.xmat[body].reshape(3, 3) @ force


def _point_jacobian(m, d, c):
    """Return the velocity of geom2 relative to geom1 at the contact, by qvel."""
    one, two = m.geom_bodyid[d.contact_geom[c]]
    J = rb.frame_jacobian(m, d, m.body_names[two], "world")
    if one > 0:
        J = J - rb.frame_jacobian(m, d, m.body_names[one], "world")
    return J[3:] + np.cross(J[:3], d.contact_pos[c], axis=0)


def _surfaces(m, pairs):
    """Return k, b, D and mu of all pairs."""
    roots = [tuple(m.body_rootid[m.geom_bodyid[g]] for g in pair) for pair in pairs]
    groups = {root: {root} for pair in roots for root in pair if root > 0}
    for one, two in roots:
        if one > 0:
            joined = groups[one] | groups[two]
            groups |= dict.fromkeys(joined, joined)
    heaviest = [max(m.body_subtreemass[list(groups[two])]) for _, two in roots]
    return [_surface(m, *pair, most) for pair, most in zip(pairs, heaviest, strict=True)]


def _surface(m, geom1, geom2, heaviest):
    """Return k, b, D and mu of a pair, near-rigid or with a time constant."""
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
    t, ratio = max(m.geom_solref[g, 0], shortest), m.geom_solref[g, 1]
    strength = np.linalg.norm(m.opt.gravity)
    k = max(mass / (t * ratio) ** 2, heaviest * strength / max(DEEPEST, 2 * strength * h**2))
    return k, 2.0 * ratio * np.sqrt(k * mass), STICK * mass / h, min(mus)


def law(p, u, radius=None):
    """Return the forces (n, 3) of velocities; the discs of their own normal forces by default."""
    normal = np.maximum(0.0, p.push - p.slope * u[:, 0])
    wanted = p.memory - p.grip[:, None] * u[:, 1:]
    most = p.mu * (normal if radius is None else radius)
    return np.column_stack([normal, _within(wanted, most)])


def _within(wanted, most):
    length = np.linalg.norm(wanted, axis=1)
    return wanted * np.where(length > most, most / np.maximum(length, 1e-300), 1.0)[:, None]


def check_law(m, start, d, amplified=4.0):
    """Check the forces that a step has written; return the largest normal force.

    They satisfy Signorini's condition and the cone, and the velocities that follow from them give
    the same forces. Where a contact slips so fast that what it remembers no longer counts,
    friction is opposite to the slip: maximum dissipation. `solve` finds the same forces, up to
    what the step misses of the law, 5e-7, times `amplified`: where feet jam, friction moves the
    normal forces, and a residual grows in the forces.
    """
    p = problem(m, start, d)
    f = written(p, d)
    u = velocities(p, f)
    largest = f[:, 0].max()
    most = 1e-6 * largest + 1e-9  # u carries the rounding of G f, times a slope of 1e5
    assert f[:, 0].min() >= -1e-15 * largest
    assert (np.linalg.norm(f[:, 1:], axis=1) - p.mu * f[:, 0]).max() < most
    assert abs(law(p, u) - f).max() < most
    slips = slipping(p, f)
    direction = u[slips, 1:] / np.linalg.norm(u[slips, 1:], axis=1)[:, None]
    opposite = -(p.mu * f[:, 0])[slips, None] * direction
    assert f[slips, 1:] == pytest.approx(opposite, abs=1e-3 * largest)
    assert abs(f - solve(p)).max() < 5e-7 * amplified * largest + 1e-9
    return largest


def written(p, d):
    """Return the forces that a step has written, in the frames of the contacts."""
    return np.einsum("cij,cj->ci", p.frames, d.contact_force[: d.ncon])


def velocities(p, f):
    """Return the velocities of the contacts after the step."""
    return p.free + (p.G @ f.ravel()).reshape(-1, 3)


def slipping(p, f):
    """Return which contacts slip so fast that what they remember no longer counts."""
    changed, limit = p.grip * np.linalg.norm(velocities(p, f)[:, 1:], axis=1), p.mu * f[:, 0]
    return (limit > 0.0) & (changed > 1e3 * np.linalg.norm(p.memory, axis=1) + 2.0 * limit)


def solve(p, sweeps=400000, tolerance=1e-11):
    """Return the forces (n, 3) of the step, by projected Gauss-Seidel from zero.

    A force is the law's at the velocity of its contact, and the velocities of a step are unique,
    since M is definite. So each force is unique for what the contacts remember, also where more
    contacts hold a body than it needs. Of rigid contacts only the sum over a body would be.

    Friction above 1 may push so much on the normal force that sweeps go back and forth; then each
    moves by a part of its way only.
    """
    n = len(p.push)
    own = p.G.reshape(n, 3, n, 3)[np.arange(n), :, np.arange(n)]
    weight = p.grip * np.linalg.norm(own[:, 1:, 1:], 2, axis=(1, 2))
    laws = np.column_stack([p.push, p.slope, p.memory, p.grip, p.mu, weight])
    for part in (1.0, 0.3):
        f = np.zeros(3 * n)
        missed = _sweep(f, p.free.ravel(), p.G, laws, part, sweeps, tolerance)
        if missed <= tolerance:
            return f.reshape(n, 3)
    raise AssertionError(f"the referee has not converged: {missed}")


@numba.njit(cache=True)
def _sweep(f, free, G, laws, part, sweeps, tolerance):
    """Sweep over the forces f (3 n) until none changes; return what the last sweep missed."""
    missed = 0.0
    for _ in range(sweeps):
        change = largest = 0.0
        for c in range(len(laws)):
            push, slope, x, y, grip, mu, weight = laws[c]
            k = 3 * c
            u, v, w = free[k], free[k + 1], free[k + 2]
            for j in range(len(f)):
                u, v, w = u + G[k, j] * f[j], v + G[k + 1, j] * f[j], w + G[k + 2, j] * f[j]
            rest = u - G[k, k] * f[k]
            normal = max(0.0, (push - slope * rest) / (1.0 + slope * G[k, k]))
            v += G[k + 1, k] * (normal - f[k])
            w += G[k + 2, k] * (normal - f[k])
            x = (x - grip * v + weight * f[k + 1]) / (1.0 + weight)
            y = (y - grip * w + weight * f[k + 2]) / (1.0 + weight)
            share = min(1.0, mu * normal / max(np.hypot(x, y), 1e-300))
            for j, there in ((k, normal), (k + 1, share * x), (k + 2, share * y)):
                change = max(change, abs(there - f[j]))
                f[j] += part * (there - f[j])
            largest = max(largest, f[k])
        missed = change / max(largest, 1e-300)
        if missed <= tolerance:
            break
    return missed
