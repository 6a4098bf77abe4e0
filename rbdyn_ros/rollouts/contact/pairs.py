# SPDX-License-Identifier: Apache-2.0
"""Contacts between a robot's own spheres and capsules, in lanes.

While the bounding spheres of all pairs are farther apart than they can move in a step, no contact
is searched. Otherwise a compiled function (contact_pairs.py) lists the contacts of the lane with
the engine's own kernel. A pair has one contact point; the engine does the step of a lane in which
a pair has more points, for example two capsules side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from rbdyn_ros.engine.contact.points.contact_list import reach_of
from rbdyn_ros.model.declared.contact_arrays import AT_END, AT_START
from rbdyn_ros.model.model import Model
from rbdyn_ros.rollouts.contact.capsules import Place
from rbdyn_ros.rollouts.contact.points import BY_KEY, Pair
from rbdyn_ros.rollouts.contact.shelf import Shelf, length, where
from rbdyn_ros.specialization.programs.symbols import SymbolGraph
from rbdyn_ros.specialization.symbolic import Objects
from rbdyn_ros.specialization.uncompiled import uncompiled

#: Columns of "pairs", which the compiled function writes: axes of the contact, the normal last;
#: the vector from the com of the tree of both bodies to the contact; the gap; 1 if the contact is
#: listed; the key of the contact. PAIR is the number of columns.
AXES, ARM, DIST, LISTED, KEY, PAIR = 0, 9, 12, 13, 14, 15


def reach(m: Model, g: int, speeds: Objects, arm: Objects, change: Objects | None = None) -> Any:
    """Return the largest gap that a geometry can close in the step, as contact_list.reach_of does.

    Args:
        m: the Model.
        g: the geometry.
        speeds: velocities of all bodies, (nbody, 6).
        arm: vector from the com of the tree to the centre of the geometry.
        change: accelerations of the step, (nbody, 6); None if they are not known yet.
    """
    nowhere = np.zeros((m.nbody, 3), object)
    motion = SimpleNamespace(
        contact_phase=(AT_START if change is None else AT_END,), cvel=speeds, iterate_a=change,
        subtree_com=nowhere, body_shift=nowhere, body_hit=np.zeros(m.nbody),
    )  # fmt: skip
    return uncompiled(reach_of)(m, motion, int(m.geom_bodyid[g]), arm, float(m.geom_rbound[g]))


def near_pairs(m: Model, graph: SymbolGraph, centres: Any, reaches: dict[int, Any]) -> list[Any]:
    """Return a list of one number: 1 if the bounding spheres of a pair can meet in the step.

    Args:
        m: the Model.
        graph: the graph of the program.
        centres: positions of the centres of the geometries in the world.
        reaches: the results of `reach` for the geometries.
    """
    near = graph.constant(0.0)
    for g, h in m.push_geom:
        most = reaches[g] + reaches[h] + float(m.geom_rbound[g] + m.geom_rbound[h])
        near = where(length(centres[h] - centres[g]) > most, near, 1.0)
    return [near]


def geometries(m: Model) -> list[int]:
    """Return the sorted numbers of the geometries in all pushing pairs."""
    return sorted({int(g) for g in m.push_geom.reshape(-1)})


def place_pairs(
    m: Model, shelf: Shelf, graph: SymbolGraph, d: Any, pairs: Sequence[Pair], memory: Objects
) -> list[Place]:
    """Return the contacts of pairs, with the remembered friction along their axes."""
    found = []
    rows = shelf.inputs(graph, "pairs", PAIR * len(pairs)).reshape(-1, PAIR)
    for pair, row, old in zip(pairs, rows, memory.reshape(-1, BY_KEY), strict=True):
        axes = row[AXES : AXES + 9].reshape(3, 3)
        R = d.xmat[m.geom_bodyid[pair.obstacle]].reshape(3, 3)
        found.append({
            "axes": axes, "dist": row[DIST], "arm": row[ARM : ARM + 3], "listed": row[LISTED],
            "pressed": old[0], "memory": axes[:2] @ (R @ old[1:4]),
        })  # fmt: skip
    return found


def remembered_of_pairs(
    m: Model, shelf: Shelf, graph: SymbolGraph, pairs: Sequence[Pair], forces: Sequence[Any]
) -> list[Any]:
    """Return the remembered friction of the contacts of pairs."""
    found: list[Any] = []
    rows = shelf.inputs(graph, "pairs", PAIR * len(pairs)).reshape(-1, PAIR)
    turns = shelf.inputs(graph, "xmat", 9 * m.nbody).reshape(-1, 3, 3)
    for pair, row, force in zip(pairs, rows, forces, strict=True):
        friction = row[AXES : AXES + 3] * force[0] + row[AXES + 3 : AXES + 6] * force[1]
        friction = turns[m.geom_bodyid[pair.obstacle]].T @ friction
        found += [where(force[2] > 0.0, x, 0.0) for x in (force[2], *friction)]
        found.append(row[KEY])
    return found
