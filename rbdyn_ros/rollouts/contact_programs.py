# SPDX-License-Identifier: Apache-2.0
"""The programs of a step with contact, for W robots side by side.

start    state and forces -> M, J, the constants of contacts and stops, a linearisation
below    the triangles of height fields below spheres (contact/fields.py)
touch    with height fields or own pairs, the constants of the contacts
factor   M with the slopes of stops -> L^T D L, G = J M^-1 J^T, velocities without contact
solve    velocities and forces of the contacts (contact/newton.py)
check    accelerations, and their errors (contact/check.py)
finish   the next state, and the memory of friction
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from rbdyn_ros.engine.collision.kinds import CYLINDER
from rbdyn_ros.engine.step.integrate import integrate_pos
from rbdyn_ros.engine.step.passive import passive
from rbdyn_ros.engine.tree.aba import applied_bias
from rbdyn_ros.engine.tree.crb import crb
from rbdyn_ros.engine.tree.kinematics import com_pos, com_vel, poses
from rbdyn_ros.engine.tree.rne import bias_force
from rbdyn_ros.model.declared.options import IMPLICIT_DAMPING
from rbdyn_ros.model.model import Model
from rbdyn_ros.rollouts.contact.check import check
from rbdyn_ros.rollouts.contact.factor import accelerations, factor
from rbdyn_ros.rollouts.contact.fields import (
    balls,
    ground_below,
    place_on_field,
    remembered_on_field,
)
from rbdyn_ros.rollouts.contact.newton import LAW, first_forces, forces_of, solve
from rbdyn_ros.rollouts.contact.pairs import (
    geometries,
    near_pairs,
    place_pairs,
    reach,
    remembered_of_pairs,
)
from rbdyn_ros.rollouts.contact.places import in_world, place_on_plane, start_points
from rbdyn_ros.rollouts.contact.points import BY_KEY, Touching, covered, frame_of
from rbdyn_ros.rollouts.contact.shelf import Shelf, cross, largest, where
from rbdyn_ros.rollouts.contact.stops import Stops
from rbdyn_ros.rollouts.law import APPLIED, RolloutLaw
from rbdyn_ros.specialization.functions import FORCES, STATE
from rbdyn_ros.specialization.programs.program import Program, program
from rbdyn_ros.specialization.symbolic import Objects
from rbdyn_ros.specialization.trace import Tracing
from rbdyn_ros.specialization.uncompiled import uncompiled

#: Fields of Data, with a row for each body, that contacts with height fields need.
OF_BODIES = ("xpos", "xmat", "cvel", "cacc_bias", "subtree_com")


def contact_programs(
    m: Model,
    own: Mapping[str, Collection[int]],
    law: RolloutLaw | None,
    given: Collection[str],
    places: Touching,
) -> tuple[dict[str, Program], list[int]]:
    """Return the programs by name, see the top of this file, and the dofs with stops.

    Args:
        m: the Model.
        own: the flat indices at which robots differ, for each field of the Model, or "gravity".
        law: the law that computes the forces of every step; None: no law.
        given: the forces in FORCES that are inputs; other forces are zero, or the forces of the
            law.
        places: the contact pairs of the robot.

    Raises:
        ModelError: the Model cannot be traced.
    """
    tracing = Tracing(m, tuple(own.items()), contact=True)
    shelf, stops = Shelf(), Stops(m, tracing)
    found = {"start": _start(m, tracing, shelf, stops, law, given, places)}
    if places.fields:
        found["below"] = shelf.program(lambda graph: ground_below(m, shelf, graph, places.fields))
    if places.loops:
        found["touch"] = _touch_listed(m, tuple(own.items()), shelf, places)
    found["factor"] = shelf.program(lambda graph: factor(m, shelf, stops, graph))
    found["solve"] = shelf.program(lambda graph: solve(shelf, graph, places.points))
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
    if places.loops:
        state = {name: getattr(d, name) for name in OF_BODIES}
        state["balls"] = balls(m, d, places.fields)
        state |= {"near": _near(m, graph, d)} if places.own else {}
    else:
        state = _touch(m, tracing, shelf, d, places)
    number = memory_of(places)
    rest = shelf.inputs(graph, "grip", number + len(stops.dofs))[number:]
    outputs = shelf.written(state | stops.start(d, shelf, list(rest)))
    if law is not None:
        outputs[APPLIED] = np.array(d.qfrc_applied, object)
    return program(graph, outputs)


def _near(m: Model, graph: Any, d: Any) -> list[Any]:
    """Return a list of one number: 1 if own pairs may touch, else 0."""
    arms = {g: _arm(m, d, g) for g in geometries(m)}
    centres = {g: in_world(m, d, g, np.zeros(3)) for g in arms}
    reaches = {g: reach(m, g, d.cvel, arm) for g, arm in arms.items()}
    return near_pairs(m, graph, centres, reaches)


def memory_of(places: Touching) -> int:
    """Return the length of the friction memory of all contact points."""
    return of_planes(places) + BY_KEY * (len(places.pairs) + len(places.fields))


def of_planes(places: Touching) -> int:
    """Return the length of the friction memory of the contact points on planes.

    It holds the normal forces and the components of friction; the component against spin is a
    torque.
    """
    return sum(pair.parts + 1 for pair in places.planes)


def _touch_listed(m: Model, own: Any, shelf: Shelf, places: Touching) -> Program:
    """Return the program of the contacts that loops have listed."""
    tracing = Tracing(m, own, contact=True)
    d = tracing.data(OF_BODIES)
    d.cdof = shelf.get(tracing.graph, "cdof")
    return program(tracing.graph, shelf.written(_touch(m, tracing, shelf, d, places)))


def _touch(m: Model, tracing: Tracing, shelf: Shelf, d: Any, places: Touching) -> dict[str, Any]:
    """Store the constants of the contacts; return the initial state of the solution."""
    number = of_planes(places)
    memory = shelf.inputs(tracing.graph, "grip", memory_of(places))
    points, at = [], 0
    for pair in places.planes:
        points.append(place_on_plane(m, d, pair, memory[at : at + pair.parts + 1]))
        at += pair.parts + 1
    of_fields = number + BY_KEY * len(places.pairs)
    points += place_pairs(m, shelf, tracing.graph, d, places.pairs, memory[number:of_fields])
    points += place_on_field(shelf, tracing.graph, memory[of_fields:])
    started = start_points(m, tracing, d, places.points, points)
    for name in (*LAW, "dist", "size"):
        shelf.put(name, np.array([each[name] for each in points], object))
    shelf.put("memory", np.concatenate([each["memory"] for each in points]))
    shelf.put("pressed", [each["pressed"] for each in points])
    shelf.put("J", started["J"])
    shelf.put("u", started["u"])
    shelf.put("axes", np.array([point["axes"] for point in points], object))
    arms = np.array([_arm(m, d, g) for g in range(m.ngeommoving)], object)
    shelf.put("arms", arms)
    shelf.put("guarded", _guarded(m, d, places, arms))
    state = first_forces(tracing.graph, places.points, points, started["u"])
    return {**state, "engine": [started["engine"]]}


def _at_start(tracing: Tracing, law: RolloutLaw | None, given: Collection[str]) -> Any:
    """Return a symbolic Data at the start of a step."""
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
    """Return the entries of M plus the damping that is implicit in the step."""
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


def _arm(m: Model, d: Any, g: int) -> Objects:
    """Return the vector from a tree's com to the centre of one of its geometries."""
    tree = m.body_rootid[m.geom_bodyid[g]]
    found: Objects = in_world(m, d, g, np.zeros(3)) - d.subtree_com[tree]
    return found


def _guarded(m: Model, d: Any, places: Touching, arms: Objects) -> Objects:
    """Return the guarded geometries' inputs for the check, see contact/check.py."""
    rows = []
    for pair in places.guarded:
        g, body, axes = pair.geom, int(m.geom_bodyid[pair.geom]), frame_of(m, pair.obstacle)
        centre = in_world(m, d, g, np.zeros(3))
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
    qacc = accelerations(m, shelf, graph, places.points)
    return shelf.written(check(m, shelf, stops, graph, places, np.array(qacc, object)))


def _finish(
    m: Model, tracing: Tracing, shelf: Shelf, stops: Stops, graph: Any, places: Touching
) -> dict[str, Any]:
    h, qacc = m.opt.timestep, shelf.state(graph, "qacc")
    qpos = shelf.inputs(graph, "qpos", m.nq)
    qvel = shelf.inputs(graph, "qvel", m.nv) + h * qacc
    pressed = _remembered(m, shelf, graph, places)
    qvel, kept = stops.end(shelf, graph, qvel)
    uncompiled(integrate_pos)(tracing.m, qpos, qvel, h)
    time, bad = shelf.inputs(graph, "time", 1), shelf.inputs(graph, "nbad", 1)
    return {
        "qpos": qpos, "qvel": qvel, "time": time + h, "grip": np.array([*pressed, *kept, 0.0]),
        "nbad": bad + shelf.state(graph, "bad"),
    }  # fmt: skip


def _remembered(m: Model, shelf: Shelf, graph: Any, places: Touching) -> list[Any]:
    """Return the memory of friction of all contact points, see memory_of."""
    sizes, forces = shelf.get(graph, "size"), forces_of(places.points, shelf.state(graph, "f"))
    pressed, first = list[Any](), len(places.planes)
    last = first + len(places.pairs)
    for (*friction, force), size in zip(forces[:first], sizes, strict=False):
        torques = [each * size for each in friction[2:]]
        pressed += [where(force > 0.0, x, 0.0) for x in (force, *friction[:2], *torques)]
    pressed += remembered_of_pairs(m, shelf, graph, places.pairs, forces[first:last])
    if places.fields:
        rest: Objects = np.array(forces[last:], object)
        pressed += remembered_on_field(shelf, graph, rest, shelf.get(graph, "axes")[last:])
    return pressed
