"""The contact forces of a step by another way: projected Gauss-Seidel on forces, in NumPy."""

from dataclasses import dataclass

import numpy as np

import rbdyn_ros as rb
from rbdyn_ros.engine.contact.law import DEEPEST, EMERGE, LIGHT, SHARE, STICK
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


def problem(m, start):
    """Return the problem of the step from a state, for the integrators without Coriolis terms."""
    d, h = start.copy(), m.opt.timestep
    rb.forward(m, d)
    n = d.ncon
    A = rb.mass_matrix(m, d.copy())
    if m.opt.integrator == "implicit_damping":
        A += h * np.diag(d.dof_viscosity)
    frames = np.array([_frame(normal) for normal in d.contact_normal[:n]])
    J = np.concatenate([frames[c] @ _point_jacobian(m, d, c) for c in range(n)])
    tau = d.qfrc_applied + d.qfrc_passive - d.qfrc_bias
    free = J @ (d.qvel + h * np.linalg.solve(A, tau))
    k, b, grip, mu = np.array([_surface(m, *pair) for pair in d.contact_geom[:n]]).T
    memory = [
        frames[c, 1:] @ _turned(m, d, c, force) for c, force in enumerate(_remembered(start, d))
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


def _remembered(start, d):
    """Return the forces that contacts remember; new ones of a pair share those of lost ones."""
    before = dict(zip(start.stick_key[: start.nstick], start.stick_force, strict=False))
    keys = d.contact_key[: d.ncon]
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


def _surface(m, geom1, geom2):
    """Return k, b, D and mu of a pair, near-rigid or with a time constant."""
    h, moving = m.opt.timestep, [geom2, geom1] if m.geom_bodyid[geom1] > 0 else [geom2]
    trees = [m.body_subtreemass[m.body_rootid[m.geom_bodyid[g]]] for g in moving]
    masses = [max(m.geom_mass0[g], SHARE * tree) for g, tree in zip(moving, trees, strict=True)]
    mass, mus, shortest = masses[0], [m.geom_friction[g] for g in moving], h / np.pi
    if len(moving) > 1:
        mass, shortest = max(min(masses), LIGHT * max(trees)), h / (2.0 * np.pi)
    else:
        mus.append(m.geom_friction[geom1])
    g = max(moving, key=lambda g: m.geom_solref[g, 0])
    t, ratio = max(m.geom_solref[g, 0], shortest), m.geom_solref[g, 1]
    strength = np.linalg.norm(m.opt.gravity)
    k = max(mass / (t * ratio) ** 2, max(trees) * strength / max(DEEPEST, 2 * strength * h**2))
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


def check_law(m, start, d):
    """Check Signorini, cone and maximum dissipation of the forces that a step has written.

    Returns the largest normal force.
    """
    p = problem(m, start)
    f = np.einsum("cij,cj->ci", p.frames, d.contact_force[: d.ncon])
    u = p.free + (p.G @ f.ravel()).reshape(-1, 3)
    most = 1e-6 * f[:, 0].max() + 1e-9
    assert f[:, 0].min() >= -1e-15 * f[:, 0].max()
    assert (np.linalg.norm(f[:, 1:], axis=1) - p.mu * f[:, 0]).max() < most
    assert abs(law(p, u) - f).max() < most
    return f[:, 0].max()


def solve(p, sweeps=20000, tolerance=1e-11):
    """Return the forces (n, 3) of the step.

    Friction above 1 may push so much on the normal force that sweeps go back and forth; then each
    moves by a part of its way only.
    """
    for part in (1.0, 0.3):
        f, missed = _swept(p, sweeps, tolerance, part)
        if missed <= tolerance:
            return f
    raise AssertionError(f"the referee has not converged: {missed}")


def _swept(p, sweeps, tolerance, part):
    """Return the forces after the sweeps, and how much the last one has changed them."""
    n = len(p.push)
    blocks = p.G.reshape(n, 3, 3 * n)
    f = np.zeros((n, 3))
    for _ in range(sweeps):
        change = 0.0
        for c in range(n):
            own = blocks[c][:, 3 * c : 3 * c + 3]
            u = p.free[c] + blocks[c] @ f.ravel()
            old = f[c].copy()
            rest = u[0] - own[0, 0] * old[0]
            f[c, 0] = max(0.0, (p.push[c] - p.slope[c] * rest) / (1.0 + p.slope[c] * own[0, 0]))
            u = u + own[:, 0] * (f[c, 0] - old[0])
            weight = p.grip[c] * np.linalg.norm(own[1:, 1:], 2)
            wanted = (p.memory[c] - p.grip[c] * u[1:] + weight * old[1:]) / (1.0 + weight)
            f[c, 1:] = _within(wanted[None], np.array([p.mu[c] * f[c, 0]]))[0]
            f[c] = old + part * (f[c] - old)
            change = max(change, abs(f[c] - old).max())
        if change <= part * tolerance * f[:, 0].max():
            return f, 0.0
    return f, change / f[:, 0].max()
