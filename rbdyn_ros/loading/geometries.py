# SPDX-License-Identifier: Apache-2.0
"""Complete the geometries of a Model: the effective mass of each, and findings."""

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.dynamics.entry import public
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.engine.tree.kinematics import com_pos, com_vel, kinematics
from rbdyn_ros.errors import Finding, counted, listing
from rbdyn_ros.loading.mobility import LOCKED, mobility
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.geometry.geom_pairs import MOST_PAIRED
from rbdyn_ros.model.model import Model

#: Largest number of dofs for effective masses; with more dofs, or without M, body masses are used.
MOST_DOFS = 1000

#: Largest ratio of the masses of two moving bodies that touch.
MOST_UNEQUAL = 1e4

_kinematics = public(kinematics)
_com_pos = public(com_pos)
_com_vel = public(com_vel)


def with_masses(m: Model) -> Model:
    """Return the Model with geom_mass0: the effective mass at the corners of a geometry, at qpos0.

    With the Jacobian J of a corner, J M_c^-1 J^T is its mobility [1/kg]. The mass is 1 over the
    mean mobility of all corners of a geometry in three perpendicular directions. A geometry that
    cannot move at qpos0 has the mass of its body; so do all geometries of a Model that is too
    large. The mass of a body alone is smaller than with attached bodies, so its contacts become
    softer, not unstable.
    """
    if m.ncontact == 0:
        return m
    masses = _own_masses(m)
    if 0 < m.nv <= MOST_DOFS and m.nM > 0:
        free, held = (_corner_mobility(m, inverse) for inverse in mobility(m))
        moves = held > LOCKED * free
        masses = np.where(moves, 1.0 / np.where(moves, held, 1.0), masses)
    return m.replaced(geom_mass0=np.append(masses, np.zeros(m.ngeom - m.ngeommoving)))


def _own_masses(m: Model) -> Array:
    """Return the mass of each moving geometry's body, or of the subtree of a massless body."""
    mass = np.where(m.body_mass > 0.0, m.body_mass, m.body_subtreemass)
    masses: Array = mass[m.geom_bodyid[: m.ngeommoving]]
    return masses


def _corner_mobility(m: Model, inverse: Array) -> Array:
    """Return the mean mobility of the corners of each moving geometry.

    `inverse` is M^-1 or M_c^-1.
    """
    d = make_data(m)
    _kinematics(m, d)
    _com_pos(m, d)
    moving, number = m.ngeommoving, m.geom_vertnum[: m.ngeommoving]
    touching, which = np.unique(m.geom_bodyid[:moving], return_inverse=True)
    S = _jacobians(m, d, touching)
    L = (S.reshape(-1, m.nv) @ inverse).reshape(S.shape) @ S.transpose(0, 2, 1)
    geometry = np.repeat(np.arange(moving), number)
    body = m.geom_bodyid[geometry]
    in_body = _turned(m.geom_mat[geometry], m.vert_pos[: len(geometry)]) + m.geom_pos[geometry]
    at = _turned(d.xmat[body], in_body) + d.xpos[body]
    corners = _traces(L[which[geometry]], at - d.subtree_com[m.body_rootid[body]]) / 3.0
    mean: Array = np.bincount(geometry, corners, moving) / number
    return mean


def _turned(mats: Array, vectors: Array) -> Array:
    """Return vectors (n, 3) rotated by matrices (n, 9)."""
    turned: Array = np.einsum("nij,nj->ni", mats.reshape(-1, 3, 3), vectors)
    return turned


def _jacobians(m: Model, d: Data, bodies: NDArray[np.int64]) -> Array:
    """Return S (n, 6, nv) with cvel = S qvel, for some bodies.

    A column is the velocity for unit velocity of one dof and its mimic joints.
    """
    S = np.zeros((len(bodies), 6, m.nv))
    _com_vel(m, d)
    driven = d.cvel[bodies]  # velocity due to prescribed motions
    for k in range(m.nv):
        d.qvel[:] = 0.0
        d.qvel[k] = 1.0
        _com_vel(m, d)
        S[:, :, k] = d.cvel[bodies] - driven
    return S


def _traces(L: Array, r: Array) -> Array:
    """Return trace(A L A^T) with A = [-r x, 1], which maps a velocity to the point r.

    Args:
        L: (n, 6, 6), in terms of [angular; linear].
        r: (n, 3).
    """
    turn, mixed, shift = L[:, :3, :3], L[:, :3, 3:], L[:, 3:, 3:]
    # tr(rx W rx^T) = r^2 tr W - r^T W r;  tr(rx C) = r . (C_yz - C_zy, C_zx - C_xz, C_xy - C_yx)
    axial = np.stack(
        [mixed[:, 1, 2] - mixed[:, 2, 1],
         mixed[:, 2, 0] - mixed[:, 0, 2],
         mixed[:, 0, 1] - mixed[:, 1, 0]], axis=1)  # fmt: skip
    square = np.einsum("ni,ni->n", r, r) * np.trace(turn, axis1=1, axis2=2)
    square -= np.einsum("ni,nij,nj->n", r, turn, r)
    traces: Array = square - 2.0 * np.einsum("ni,ni->n", r, axial)
    traces += np.trace(shift, axis1=1, axis2=2)
    return traces


def geometry_findings(m: Model, description: Description) -> list[Finding]:
    """Return findings about the geometries of a Model compiled from a description."""
    total = len(description.geometries)
    if total == 0 and not description.obstacles:
        return []
    if total == 0:
        text = "there are obstacles, but no link has a geometry, so there is no contact"
        return [Finding("no-geometries", text, "warning")]
    if not description.obstacles and m.npush == 0:
        text = (
            f"{_count(total)}, but no obstacle: the simulation has no contact until you add "
            "a floor; distances and collisions are computed"
        )
        return [Finding("no-obstacles", text, "note")]
    if m.ngeommoving == 0:
        text = f"{_count(total)}, all on links that are fixed to the world: there is no contact"
        return [Finding("no-geometries", text, "warning")]
    text = f"{_count(m.ngeommoving)} can touch {len(description.obstacles)} obstacles"
    if len(description.obstacles) == 1:
        text = f"{_count(m.ngeommoving)} can touch the obstacle '{description.obstacles[0].name}'"
    pushing = int(np.count_nonzero(m.push_geom[:, 1] < m.ngeomlink))
    if pushing > 0:
        text += f"; {counted(pushing, 'pair')} of geometries can push each other"
    if pushing == 0 and m.ngeommoving < total:
        text += f"; {total - m.ngeommoving} on links that are fixed to the world are left out"
    note = Finding("geometries", text, "note")
    return [note, *_too_many(m), *_without_extent(m), *_unequal_masses(m)]


def _too_many(m: Model) -> list[Finding]:
    """Return a warning if there are too many geometries to list their pairs."""
    if m.ngeom <= MOST_PAIRED:
        return []
    text = (
        f"{m.ngeom} geometries: pairs are listed for at most {MOST_PAIRED}, so bodies do not "
        "push each other; they touch obstacles only, cylinders and meshes with their corners"
    )
    return [Finding("too-many-geometries", text, "warning")]


def _without_extent(m: Model) -> list[Finding]:
    """Return a warning about geometries that are points."""
    names = [m.geom_names[g] for g in np.flatnonzero(m.geom_rbound[: m.ngeommoving] == 0.0)]
    if not names:
        return []
    text = f"geometries of size 0: {listing(names)}; a point has no torsional or rolling friction"
    return [Finding("no-extent", text, "warning")]


def _unequal_masses(m: Model) -> list[Finding]:
    """Return a warning about the two touching bodies with the largest ratio of masses."""
    pairs = m.push_geom[(m.push_geom < m.ngeommoving).all(axis=1)]
    mass = m.body_subtreemass[m.body_rootid[m.geom_bodyid[pairs]]]
    light, heavy = mass.min(axis=1, initial=np.inf), mass.max(axis=1, initial=0.0)
    if not (heavy > MOST_UNEQUAL * light).any():
        return []
    worst = int(np.argmax(heavy / light))
    first, second = (m.geom_names[g] for g in pairs[worst][np.argsort(mass[worst])])
    text = (
        f"'{second}' moves {heavy[worst]:.4g} kg and '{first}' {light[worst]:.4g} kg: contact "
        f"forces of two bodies are exact for ratios of masses up to {MOST_UNEQUAL:g}"
    )
    return [Finding("unequal-masses", text, "warning")]


def _count(number: int) -> str:
    return counted(number, "geometry", "geometries")
