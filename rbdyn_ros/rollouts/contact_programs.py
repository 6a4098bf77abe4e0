# SPDX-License-Identifier: Apache-2.0
"""The operations of a step with contact, W robots side by side.

start    state and forces -> M, J, the constants of contacts and stops, a linearisation
below    the triangles of height fields below spheres (contact/fields.py)
touch    with height fields, the constants of the contacts
factor   M with the slopes of stops -> L^T D L, G = J M^-1 J^T, velocities without contact
solve    velocities and forces of the contacts (contact/newton.py)
check    accelerations, and their errors (contact/check.py)
finish   the next state, and the memory of friction
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from rbdyn_ros.engine.collision.kinds import CYLINDER
from rbdyn_ros.engine.contact.points.contact_list import near
from rbdyn_ros.engine.contact.points.start import start_contacts
from rbdyn_ros.engine.contact.solve.arcs import follow_arcs
from rbdyn_ros.engine.step.integrate import integrate_pos
from rbdyn_ros.engine.step.passive import passive
from rbdyn_ros.engine.tree.aba import applied_bias
from rbdyn_ros.engine.tree.crb import crb
from rbdyn_ros.engine.tree.kinematics import com_pos, com_vel, poses
from rbdyn_ros.engine.tree.rne import bias_force
from rbdyn_ros.model.declared.contact_arrays import MASS_BY_H, MU, NORMAL, PENALTY, PUSH, SLOPE
from rbdyn_ros.model.declared.data_fields import DATA_FIELDS
from rbdyn_ros.model.declared.options import IMPLICIT_DAMPING
from rbdyn_ros.model.model import Model
from rbdyn_ros.rollouts.contact.check import check
from rbdyn_ros.rollouts.contact.factor import accelerations, factor, path_of
from rbdyn_ros.rollouts.contact.fields import (
    ON_FIELD,
    balls,
    ground_below,
    place_on_field,
    remembered_on_field,
)
from rbdyn_ros.rollouts.contact.newton import first_forces, solve
from rbdyn_ros.rollouts.contact.points import Pair, Touching, covered, frame_of
from rbdyn_ros.rollouts.contact.shelf import Shelf, cross, largest, where
from rbdyn_ros.rollouts.contact.stops import Stops
from rbdyn_ros.rollouts.law import APPLIED, RolloutLaw
from rbdyn_ros.specialization.functions import FORCES, STATE
from rbdyn_ros.specialization.programs.program import Program, program
from rbdyn_ros.specialization.symbolic import Objects
from rbdyn_ros.specialization.trace import Tracing
from rbdyn_ros.specialization.uncompiled import uncompiled

#: Memory of friction of a contact with a plane: normal force, and friction along two axes.
REMEMBERED = 3

#: Fields of Data by body from which contacts with height fields follow.
OF_BODIES = ("xpos", "xmat", "cvel", "cacc_bias", "subtree_com")

_OF_CONTACT = [field for field in DATA_FIELDS if field.dims[:1] == ("ncontact",)]


def contact_programs(
    m: Model,
    own: Mapping[str, Collection[int]],
    law: RolloutLaw | None,
    given: Collection[str],
    places: Touching,
) -> tuple[dict[str, Program], list[int]]:
    """Return the programs by name, see the head of this file, and the dofs with stops.

    Args:
        m: the Model.
        own: indices in flat arrays at which robots differ, by field of the Model, or "gravity".
        law: the law that computes the forces of every step; None: no law.
        given: the forces in FORCES that are inputs; other forces are zero, or those of the law.
        places: pairs of geometries by which the robot can touch the world.

    Raises:
        ModelError: the Model cannot be traced.
    """
    tracing = Tracing(m, tuple(own.items()), contact=True)
    shelf, stops = Shelf(), Stops(m, tracing)
    found = {"start": _start(m, tracing, shelf, stops, law, given, places)}
    if places.fields:
        found["below"] = shelf.program(lambda graph: ground_below(m, shelf, graph, places.fields))
        found["touch"] = _touch_fields(m, tuple(own.items()), shelf, places)
    found["factor"] = shelf.program(lambda graph: factor(m, shelf, stops, graph))
    found["solve"] = shelf.program(lambda graph: solve(shelf, graph))
    found["check"] = shelf.program(lambda graph: _check(m, shelf, stops, graph, places))
    found["finish"] = shelf.program(lambda graph: _finish(m, tracing, shelf, stops, graph, places))
    return found, stops.dofs


def _start(
    m: Model, tracing: Tracing, shelf: Shelf, stops: Stops, law: RolloutLaw | None,
    given: Collection[str], places: Touching,
) -> Program:  # fmt: skip
    graph = tracing.graph
    d = _at_start(tracing, law, given)
    M, tau = _mass_matrix(m, tracing, d), _forces(m, tracing, d)
    shelf.put("M", M)
    shelf.put("tau", tau)
    shelf.put("cdof", d.cdof)
    if places.fields:
        state = {name: getattr(d, name) for name in OF_BODIES}
        state["balls"] = balls(m, d, places.fields)
    else:
        state = _touch(m, tracing, shelf, d, places)
    number = memory_of(places)
    rest = shelf.inputs(graph, "grip", number + len(stops.dofs))[number:]
    outputs = shelf.written(state | stops.start(d, shelf, list(rest)))
    if law is not None:
        outputs[APPLIED] = np.array(d.qfrc_applied, object)
    return program(graph, outputs)


def memory_of(places: Touching) -> int:
    """Return the length of the friction memory of all contact points."""
    return REMEMBERED * len(places.planes) + ON_FIELD * len(places.fields)


def _touch_fields(m: Model, own: Any, shelf: Shelf, places: Touching) -> Program:
    """Return the program of the contacts if they need the results of the loop below spheres."""
    tracing = Tracing(m, own, contact=True)
    d = tracing.data(OF_BODIES)
    d.cdof = shelf.get(tracing.graph, "cdof")
    return program(tracing.graph, shelf.written(_touch(m, tracing, shelf, d, places)))


def _touch(m: Model, tracing: Tracing, shelf: Shelf, d: Any, places: Touching) -> dict[str, Any]:
    """Store the constants of the contacts; return the initial state of the solution."""
    number = len(places.planes)
    memory = shelf.inputs(tracing.graph, "grip", memory_of(places))
    of_planes = memory[: REMEMBERED * number].reshape(-1, REMEMBERED)
    points = [_on_plane(m, d, *each) for each in zip(places.planes, of_planes, strict=True)]
    points += place_on_field(shelf, tracing.graph, memory[REMEMBERED * number :])
    pairs = zip(places.points, points, strict=True)
    columns = [_point(m, tracing, d, pair, point) for pair, point in pairs]
    for name in columns[0]:
        shelf.put(name, np.array([each[name] for each in columns], object))
    shelf.put("axes", np.array([point["axes"] for point in points], object))
    arms = np.array([_arm(m, d, g) for g in range(m.ngeommoving)], object)
    shelf.put("arms", arms)
    shelf.put("guarded", _guarded(m, d, places, arms))
    return first_forces(tracing.graph, columns)


def _at_start(tracing: Tracing, law: RolloutLaw | None, given: Collection[str]) -> Any:
    """Return a Data at the start of a step."""
    made: list[Any] = []

    def run() -> dict[str, Any]:
        d = tracing.data({*STATE, "time", *(name for name in FORCES if name in given)})
        if law is not None:
            d.qfrc_applied[:] = law.forces(tracing.graph)
        for stage in (poses, com_pos, com_vel, passive, bias_force, crb):
            uncompiled(stage)(tracing.m, d)
        made.append(d)
        return {"M": d.M}

    tracing.trace(run)
    return made[-1]


def _mass_matrix(m: Model, tracing: Tracing, d: Any) -> Objects:
    """Return the entries of M, with the damping of a step that is implicit."""
    M: Objects = d.M.copy()
    if m.opt.integrator_id == IMPLICIT_DAMPING:
        for k in range(m.nv):
            M[m.M_rowadr[k] + m.M_rownnz[k] - 1] += tracing.m.opt.timestep * d.dof_viscosity[k]
    return M


def _forces(m: Model, tracing: Tracing, d: Any) -> Objects:
    """Return the forces on the dofs without contact and stops, including bias forces."""
    loads = [np.zeros(6, object)]
    loads += [
        np.array(uncompiled(applied_bias)(tracing.m, d, i, 0.0), object) for i in range(1, m.nbody)
    ]
    for i in range(m.nbody - 1, 0, -1):
        if m.body_parentid[i] > 0:
            loads[m.body_parentid[i]] = loads[m.body_parentid[i]] + loads[i]
    bias = [d.cdof[k] @ loads[m.dof_bodyid[k]] for k in range(m.nv)]
    found: Objects = d.qfrc_applied + d.qfrc_passive - np.array(bias, object)
    return found


def _on_plane(m: Model, d: Any, pair: Pair, memory: Objects) -> dict[str, Any]:
    """Return where a sphere touches a plane, and the remembered friction along its axes."""
    g, o = pair.geom, pair.obstacle
    axes, radius = frame_of(m, o), float(m.geom_radius[g])
    centre = _in_world(m, d, g, m.vert_pos[m.geom_vertadr[g]])
    dist = axes[2] @ (centre - m.geom_pos[o].astype(object)) - radius
    arm = centre - axes[2] * radius - d.subtree_com[m.body_rootid[m.geom_bodyid[g]]]
    return {"axes": axes, "dist": dist, "arm": arm, "pressed": memory[0], "memory": memory[1:]}


def _point(
    m: Model, tracing: Tracing, d: Any, pair: Pair, place: dict[str, Any]
) -> dict[str, Any]:
    """Return the inputs of a step from a contact point, along the axes of its surface."""
    h, body = tracing.m.opt.timestep, int(m.geom_bodyid[pair.geom])
    axes, dist, arm = place["axes"], place["dist"], place["arm"]

    def run() -> dict[str, Any]:
        one = copy.copy(d)
        for field in _OF_CONTACT:
            shape = (1, *np.shape(getattr(d, field.name))[1:])
            setattr(one, field.name, np.full(shape, 0.0 if field.kind == "float" else 0, object))
        one.ncon = 1
        one.contact_geom[0], one.contact_body[0] = (pair.obstacle, pair.geom), (0, body)
        one.contact_normal[0], one.contact_dist[0], one.contact_arm2[0] = axes[2], dist, arm
        one.contact_pressed[0] = place["pressed"]
        uncompiled(start_contacts)(tracing.m, one)
        uncompiled(follow_arcs)(tracing.m, one)
        return {
            "velocity": one.contact_vel[0],
            "spring": one.contact_spring[0],
            "grip": one.contact_grip[0],
        }

    found = tracing.trace(run)
    velocity, spring, grip = found["velocity"], found["spring"], found["grip"]
    leaving = velocity[NORMAL]
    u = np.array([axes[0] @ velocity[:3], axes[1] @ velocity[:3], leaving], object)
    J = np.full((3, m.nv), 0.0, object)
    for k in path_of(m, body):
        J[:, k] = axes @ (d.cdof[k, 3:] + cross(d.cdof[k, :3], arm))
    way, small = h * leaving, near_of(tracing)
    rests = where(largest(dist, abs(way)) < small, 1.0, 0.0)
    closes = where(dist < 0.0, 1.0, where(dist + way < 0.0, 1.0, rests))
    return {
        "J": J, "u": u, "dist": dist, "listed": _listed(place, closes),
        "push": spring[PUSH], "slope": spring[SLOPE], "mass_by_h": spring[MASS_BY_H],
        "penalty": grip[PENALTY], "mu": grip[MU], "pressed": place["pressed"],
        "memory": place["memory"],
    }  # fmt: skip


def _listed(place: dict[str, Any], closes: Any) -> Any:
    """Return 1 if a contact is listed, by the result of the loop or by its gap."""
    known = place.get("listed")
    return closes if known is None else where(known < 0.0, closes, known)


def near_of(tracing: Tracing) -> Any:
    """Return the largest gap that counts as closed."""
    return uncompiled(near)(tracing.m)


def _in_world(m: Model, d: Any, g: int, corner: Any) -> Objects:
    """Return the position of a corner of a geometry in the world."""
    i = m.geom_bodyid[g]
    local = m.geom_pos[g] + m.geom_mat[g].reshape(3, 3) @ corner
    found: Objects = d.xpos[i] + d.xmat[i].reshape(3, 3) @ local.astype(object)
    return found


def _arm(m: Model, d: Any, g: int) -> Objects:
    """Return the vector from a tree's com to the centre of one of its geometries."""
    tree = m.body_rootid[m.geom_bodyid[g]]
    found: Objects = _in_world(m, d, g, np.zeros(3)) - d.subtree_com[tree]
    return found


def _guarded(m: Model, d: Any, places: Touching, arms: Objects) -> Objects:
    """Return the inputs of the check from the guarded geometries, see contact/check.py."""
    rows = []
    for pair in places.guarded:
        g, body, axes = pair.geom, int(m.geom_bodyid[pair.geom]), frame_of(m, pair.obstacle)
        centre = _in_world(m, d, g, np.zeros(3))
        R = d.xmat[body].reshape(3, 3) @ m.geom_mat[g].reshape(3, 3).astype(object)
        up = axes[2] @ R
        low = axes[2] @ (centre - m.geom_pos[pair.obstacle].astype(object)) - _deep(m, g, up)
        w = d.cvel[body, :3]
        rows.append([low, *(d.cvel[body, 3:] + cross(w, arms[g])), *w])
    return np.array(rows, object)


def _deep(m: Model, g: int, up: Objects) -> Any:
    """Return an upper bound of how far a geometry extends below its centre.

    `up` is the normal of the plane in the axes of the geometry.
    """
    if m.geom_type[g] == CYLINDER:
        radius, half = m.geom_size[g, 0], m.geom_size[g, 1]
        return abs(up[2]) * float(half) + np.sqrt(up[0] * up[0] + up[1] * up[1]) * float(radius)
    deep: Any = sum(abs(up[k]) * float(m.geom_half[g, k]) for k in range(3))
    centres, radii = covered(m, g)
    if not len(radii):
        return deep
    below = largest(
        *(float(r) - up @ c.astype(object) for c, r in zip(centres, radii, strict=True))
    )
    return where(below < deep, below, deep)


def _check(m: Model, shelf: Shelf, stops: Stops, graph: Any, places: Touching) -> dict[str, Any]:
    qacc = accelerations(m, shelf, graph)
    return shelf.written(check(m, shelf, stops, graph, places, np.array(qacc, object)))


def _finish(
    m: Model, tracing: Tracing, shelf: Shelf, stops: Stops, graph: Any, places: Touching
) -> dict[str, Any]:
    h, qacc = m.opt.timestep, shelf.state(graph, "qacc")
    qpos = shelf.inputs(graph, "qpos", m.nq)
    qvel = shelf.inputs(graph, "qvel", m.nv) + h * qacc
    f, pressed, number = shelf.state(graph, "f").reshape(-1, 3), list[Any](), len(places.planes)
    for force in f[:number]:
        presses = force[2] > 0.0
        pressed += [where(presses, force[n], 0.0) for n in (2, 0, 1)]
    if places.fields:
        pressed += remembered_on_field(shelf, graph, f[number:], shelf.get(graph, "axes")[number:])
    qvel, kept = stops.end(shelf, graph, qvel)
    uncompiled(integrate_pos)(tracing.m, qpos, qvel, h)
    time, bad = shelf.inputs(graph, "time", 1), shelf.inputs(graph, "nbad", 1)
    return {
        "qpos": qpos, "qvel": qvel, "time": time + h, "grip": np.array([*pressed, *kept, 0.0]),
        "nbad": bad + shelf.state(graph, "bad"),
    }  # fmt: skip
