# SPDX-License-Identifier: Apache-2.0
"""Capsules on planes in lanes, and the friction that the two ends of a capsule share.

If one end touches, friction acts there. If both ends press, friction acts as on a patch
(engine/contact/law/patches.py): it acts at the centre of pressure and resists spin. In both cases
friction has three rows, so two contacts of a capsule need no more friction rows than one. A
contact that moves from one end to the other keeps its memory (engine/contact/points/memory.py).

The engine does the step of a lane in which the second end touches down, because each end then has
separate friction. After a hard landing the engine also does the following steps until the capsule
lies flat.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rbdyn_ros.engine.contact.law.patches import ALMOST_ALL, IMPACT
from rbdyn_ros.rollouts.contact.newton import first_lagged
from rbdyn_ros.rollouts.contact.shelf import cross, length, where
from rbdyn_ros.specialization.symbolic import Objects

Place = dict[str, Any]

#: A capsule counts as lying flat if the heights of its ends differ by at most this [m]. Both ends
#: then slide at the same velocity, apart from the change of the angular velocity in the step.
LEVEL = 3e-7


def join_ends(ends: Sequence[Place], w: Objects, h: float) -> tuple[Place, Objects, Any]:
    """Return the place at which friction acts, its lever, and 1 if the engine must do the step.

    Args:
        ends: both ends; their memory is replaced.
        w: the angular velocity of the body.
        h: the timestep.
    """
    _recall_other_end(ends)
    first, second = ends
    a, b = (first_lagged(end, [end["leaving"]]) for end in ends)
    normal, apart = first["axes"][2], second["arm"] - first["arm"]
    both, rises = first["listed"] * second["listed"], normal @ apart
    even = where(abs(rises) < LEVEL, 1.0, 0.0)
    for end in ends:
        even = where(end["leaving"] < -IMPACT * h, 0.0, where(end["pressed"] > 0.0, even, 0.0))
    even = where(a * a + b * b < ALMOST_ALL * (a + b) * (a + b), even, 0.0)
    patch = both * even > 0.0
    lever = [where(patch, x, 0.0) for x in _lever(ends, where(patch, a, 1.0), b)]
    alone = where(first["listed"] > 0.0, 1.0, 0.0) > 0.0
    place = {
        name: np.array(
            [where(alone, x, y) for x, y in zip(first[name], second[name], strict=True)]
        )
        for name in ("arm", "start")
    }
    for end in ends:
        *friction, torque = end["memory"]
        spin = where(patch, torque / end["size"], 0.0)
        end["memory"] = np.array([*friction, spin], object)
    slower = second["penalty"] * rises * (first["axes"][:2] @ cross(w, normal))
    held = zip(second["memory"], [*slower, 0.0], strict=True)
    second["memory"] = np.array([where(patch, x - y, x) for x, y in held], object)
    return {**first, **place}, np.array(lever, object), both * (1.0 - even)


def _lever(ends: Sequence[Place], a: Any, b: Any) -> Objects:
    """Return the lever of friction at the first end, for normal forces a and b of a patch.

    The lever leads to the centre of pressure. Its component along the normal is the mean distance
    of the pressure from this centre: a quarter of the distance of the ends if the forces are
    equal.
    """
    first, second = ends
    normal, apart, total = first["axes"][2], second["arm"] - first["arm"], a + b
    radius = length(apart) * a * b / (total * np.sqrt(2.0 * (a * a + b * b)))
    found: Objects = normal * radius + cross(normal, apart * (b / total))
    return found


def _recall_other_end(ends: Sequence[Place]) -> None:
    """Give an end that touches down the friction memory of the other end if that end lifts off."""
    new = []
    for end, other in (ends, ends[::-1]):
        fresh = where(end["pressed"] > 0.0, 0.0, end["listed"])
        moves = where(other["listed"] > 0.0, 0.0, fresh) > 0.0
        old, lost = ([each["pressed"], *each["memory"]] for each in (end, other))
        new.append([where(moves, y, x) for x, y in zip(old, lost, strict=True)])
    for end, (pressed, *memory) in zip(ends, new, strict=True):
        end["pressed"], end["memory"] = pressed, np.array(memory, object)
