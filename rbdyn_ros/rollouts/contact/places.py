# SPDX-License-Identifier: Apache-2.0
"""The contact points at the start of a step in lanes: positions, velocities, law constants."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from rbdyn_ros.engine.contact.law.contact_constants import prepare
from rbdyn_ros.engine.contact.points.contact_list import near
from rbdyn_ros.engine.contact.points.start import velocity_of
from rbdyn_ros.engine.contact.solve.arcs import follow_arcs
from rbdyn_ros.model.declared.contact_arrays import (
    MASS_BY_H,
    MU,
    NORMAL,
    PENALTY,
    PUSH,
    SIZE,
    SLOPE,
)
from rbdyn_ros.model.declared.data_fields import DATA_FIELDS
from rbdyn_ros.model.model import Model
from rbdyn_ros.rollouts.contact.capsules import Place, join_ends
from rbdyn_ros.rollouts.contact.factor import path_of
from rbdyn_ros.rollouts.contact.points import Pair, frame_of
from rbdyn_ros.rollouts.contact.shelf import cross, largest, where
from rbdyn_ros.specialization.symbolic import Objects
from rbdyn_ros.specialization.trace import Tracing
from rbdyn_ros.specialization.uncompiled import uncompiled

_OF_CONTACT = [field for field in DATA_FIELDS if field.dims[:1] == ("ncontact",)]


def place_on_plane(m: Model, d: Any, pair: Pair, memory: Objects) -> Place:
    """Return the contact of a corner with a plane, with the remembered friction along its axes.

    The memory is the normal force, friction, and for capsules the torque against spin.
    """
    g, o = pair.geom, pair.obstacle
    axes, radius = frame_of(m, o), float(m.geom_radius[g])
    centre = in_world(m, d, g, m.vert_pos[m.geom_vertadr[g] + pair.corner])
    dist = axes[2] @ (centre - m.geom_pos[o].astype(object)) - radius
    arm = centre - axes[2] * radius - d.subtree_com[m.body_rootid[m.geom_bodyid[g]]]
    return {"axes": axes, "dist": dist, "arm": arm, "pressed": memory[0], "memory": memory[1:]}


def start_points(
    m: Model, tracing: Tracing, d: Any, pairs: Sequence[Pair], places: Sequence[Place]
) -> Place:
    """Return a step's inputs that depend on the contact points, along the axes of their surfaces.

    Rows of "J" and "u" are in the order of newton.rows_of. "engine" is 1 if the engine must do the
    step.
    """
    J: list[Objects] = []
    u: list[Any] = []
    engine: Any = 0.0
    for pair, place in zip(pairs, places, strict=True):
        place.update(_constants(m, tracing, d, pair, place))
        place["listed"] = _listed(tracing, place)
    both = zip(pairs, places, strict=True)
    for (g, _), group in groupby(both, key=lambda each: (each[0].geom, each[0].obstacle)):
        (pair, *_), ends = zip(*group, strict=True)
        friction, lever, body = ends[0], np.full(3, 0.0, object), int(m.geom_bodyid[g])
        if len(ends) > 1:
            friction, lever, left = join_ends(ends, d.cvel[body, :3], tracing.m.opt.timestep)
            engine = largest(left, engine)
        J += _friction_rows(m, d, pair, friction, lever)
        J += [end["axes"][2] @ _moves(m, d, pair, end) for end in ends]
        u += [*_sliding(m, tracing, d, pair, friction, lever), *(end["leaving"] for end in ends)]
    return {"J": np.array(J, object), "u": np.array(u, object), "engine": engine}


def _one_contact(m: Model, tracing: Tracing, d: Any, pair: Pair, place: Place) -> Any:
    """Return a Data with one contact."""
    one = copy.copy(d)
    for field in _OF_CONTACT:
        shape = (1, *np.shape(getattr(d, field.name))[1:])
        setattr(one, field.name, np.full(shape, 0.0 if field.kind == "float" else 0, object))
    one.ncon, one.nmutual = 1, int(m.geom_bodyid[pair.obstacle] > 0)
    one.body_heaviest = tracing.m.body_subtreemass  # both bodies of an own pair belong to one tree
    one.contact_geom[0] = pair.obstacle, pair.geom
    one.contact_body[0] = m.geom_bodyid[[pair.obstacle, pair.geom]]
    one.contact_normal[0], one.contact_dist[0] = place["axes"][2], place["dist"]
    one.contact_arm1[0] = one.contact_arm2[0] = place["arm"]
    return one


def _constants(m: Model, tracing: Tracing, d: Any, pair: Pair, place: Place) -> Place:
    def run() -> Place:
        one = _one_contact(m, tracing, d, pair, place)
        v, normal = uncompiled(velocity_of)(tracing.m, one, 0), place["axes"][2]
        leaving = normal @ np.array(v, object)
        uncompiled(prepare)(tracing.m, one, 0, leaving, True)
        along = np.array([*(np.array(v, object) - normal * leaving), leaving], object)
        return {"v": along, "spring": one.contact_spring[0], "grip": one.contact_grip[0]}

    v, spring, grip = tracing.trace(run).values()
    return {
        "start": v, "leaving": v[NORMAL], "push": spring[PUSH], "slope": spring[SLOPE],
        "mass_by_h": spring[MASS_BY_H], "penalty": grip[PENALTY], "mu": grip[MU],
        "size": grip[SIZE],
    }  # fmt: skip


def _listed(tracing: Tracing, place: Place) -> Any:
    """Return 1 if a contact is listed; its gap decides unless the compiled loop has decided."""
    way, dist = tracing.m.opt.timestep * place["leaving"], place["dist"]
    rests = where(largest(dist, abs(way)) < uncompiled(near)(tracing.m), 1.0, 0.0)
    closes = where(dist < 0.0, 1.0, where(dist + way < 0.0, 1.0, rests))
    known = place.get("listed")
    return closes if known is None else where(known < 0.0, closes, known)


def _moves(m: Model, d: Any, pair: Pair, place: Place) -> Objects:
    """Return the velocity of a contact point for unit velocity of each dof, (3, nv).

    The velocity is relative to the other geometry.
    """
    found = np.full((3, m.nv), 0.0, object)
    first, second = (path_of(m, int(m.geom_bodyid[g])) for g in (pair.obstacle, pair.geom))
    # skip a dof that moves both bodies: it causes no relative velocity
    for k in sorted({*first} ^ {*second}):
        moves = d.cdof[k, 3:] + cross(d.cdof[k, :3], place["arm"])
        found[:, k] = moves if k in second else -moves
    return found


def _friction_rows(m: Model, d: Any, pair: Pair, place: Place, lever: Objects) -> list[Objects]:
    """Return the rows of J for friction that acts at `lever`."""
    axes, body = place["axes"], int(m.geom_bodyid[pair.geom])
    rows = [*(axes[:2] @ _moves(m, d, pair, place)), np.full(m.nv, 0.0, object)]
    for k in path_of(m, body) if pair.parts > 2 else ():
        spin = axes[2] @ d.cdof[k, :3]
        for row, part in zip(rows, axes @ lever, strict=True):
            row[k] = row[k] + part * spin
    return rows[: pair.parts]


def _sliding(
    m: Model, tracing: Tracing, d: Any, pair: Pair, place: Place, lever: Objects
) -> Objects:
    """Return the velocity against which friction acts in the step, along the axes of friction."""
    body = int(m.geom_bodyid[pair.geom])

    def run() -> Place:
        one = _one_contact(m, tracing, d, pair, place)
        one.contact_lever[0], one.contact_vel[0] = lever, place["start"]
        one.contact_vel[0, :3] += lever * (place["axes"][2] @ d.cvel[body, :3])
        uncompiled(follow_arcs)(tracing.m, one)
        return {"velocity": one.contact_vel[0, :3]}

    found: Objects = place["axes"][: pair.parts] @ tracing.trace(run)["velocity"]
    return found


def in_world(m: Model, d: Any, g: int, corner: Any) -> Objects:
    """Return the position of a corner of a geometry in the world."""
    i = m.geom_bodyid[g]
    local = m.geom_pos[g] + m.geom_mat[g].reshape(3, 3) @ corner
    found: Objects = d.xpos[i] + d.xmat[i].reshape(3, 3) @ local.astype(object)
    return found
