# SPDX-License-Identifier: Apache-2.0
"""The contacts of a Data by name: points, normals, forces."""

from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.dynamics.entry import check_pair
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model


@dataclass(frozen=True, slots=True, eq=False)
class ContactPoint:
    """A point where two geometries touch, or would touch before the end of the step.

    Attributes:
        geom1, geom2: names of the geometries; geom1 belongs to the world, or has the lower number.
        point: (3,) contact point in the world [m]: on geom2 if geom1 is an obstacle, half way
            between the surfaces of two links.
        normal: (3,) unit vector from geom1 to geom2, in world axes; the contact pushes geom2 along
            it.
        distance: signed distance [m]: negative depth, or the gap before an impact.
        force: (3,) force on geom2 including friction, in world axes [N]; geom1 receives the
            opposite force.
        torque: (3,) friction torque on geom2 about the point, in world axes [N m]: torsional and
            rolling friction, and the torque against spin of a line or a face.
    """

    geom1: str
    geom2: str
    point: Array
    normal: Array
    distance: float
    force: Array
    torque: Array


def contacts(m: Model, d: Data) -> list[ContactPoint]:
    """Return the contacts of the last `step` or `forward`, in the order of contact_key.

    The numbers are copies, which do not change with d. A Model without contact gives an
    empty list.

    Raises:
        ModelError: d was not made for m.
    """
    check_pair(m, d, "contacts")
    if m.ncontact == 0:
        return []
    n = min(d.ncon, m.ncontact)
    geoms = d.contact_geom[:n].tolist()
    rows = [
        array[:n].copy()
        for array in (d.contact_pos, d.contact_normal, d.contact_force, d.contact_torque)
    ]
    found = []
    for k, distance in enumerate(d.contact_dist[:n].tolist()):
        point, normal, force, torque = (row[k] for row in rows)
        name1, name2 = (m.geom_names[g] for g in geoms[k])
        found.append(ContactPoint(name1, name2, point, normal, distance, force, torque))
    return found


def contact_forces(m: Model, d: Data) -> dict[tuple[str, str], Array]:
    """Return the sum of the contact forces of each pair, as {(geom1, geom2): force on geom2 [N]}.

    Raises:
        ModelError: d was not made for m.
    """
    sums: dict[tuple[str, str], Array] = {}
    for one in contacts(m, d):
        pair = one.geom1, one.geom2
        sums[pair] = sums.get(pair, np.zeros(3)) + one.force
    return sums
