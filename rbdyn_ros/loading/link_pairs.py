# SPDX-License-Identifier: Apache-2.0
"""Pairs of geometries of separate links: more pairs than the simulation tests for contact.

The simulation counts links that fixed joints connect as one body, and leaves out the pairs of two
bodies that a joint connects. MoveIt leaves out only the pairs of two links that a joint connects.
"""

import numpy as np

from rbdyn_ros.arrays import Bools, Ints
from rbdyn_ros.description.parts.spanning import span
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.model.declared.model_fields import MODEL_FIELDS
from rbdyn_ros.model.geometry.geom_pairs import FREE_DOFS, listed, masks_match
from rbdyn_ros.model.model import Model, with_arrays


def joined_links(m: Model, description: Description) -> Bools:
    """Return a matrix (nframe, nframe): whether one joint connects two links with geometries.

    Links without geometries may lie between the two, if only one joint moves.
    """
    number = {name: n for n, name in enumerate(m.frame_names)}
    solid = {m.frame_names[n] for n in m.geom_frameid[: m.ngeomlink].tolist()}
    parents = span(description).parents()
    joined = np.zeros((m.nframe, m.nframe), bool)
    for link in solid:
        above = parents.get(link)
        while above is not None and above not in solid:
            above = parents.get(above)
        if above is not None:
            low, high = number[above], number[link]
            joined[low, high] = joined[high, low] = _are_neighbours(
                m, *m.frame_bodyid[[low, high]]
            )
    for joint in (one for one in description.joints if one.closes_loop):
        low, high = number[joint.parent], number[joint.child]
        joined[low, high] = joined[high, low] = True
    return joined


def _are_neighbours(m: Model, parent: int, body: int) -> bool:
    """Return whether two bodies are one body, or connected by a joint with fewer than 6 dofs."""
    if parent == body:
        return True
    return bool(m.body_parentid[body] == parent and m.jnt_dofnum[body - 1] < FREE_DOFS)


def separate_pairs(m: Model, joined: Bools) -> Ints:
    """Return the pairs of geometries of links that no joint connects, (n, 2), ascending.

    Left out are pairs that an SRDF or a Contact excludes, and pairs whose filters do not match.
    """
    link, every = m.geom_frameid[: m.ngeomlink], np.arange(m.ngeomlink)
    apart = (link[:, None] != link[None, :]) & ~joined[link[:, None], link[None, :]]
    apart &= masks_match(vars(m), every, every)
    first, second = m.exclude_geom[(m.exclude_geom < m.ngeomlink).all(axis=1)].T
    apart[first, second] = False
    return np.argwhere(np.triu(apart))


def with_pairs(m: Model, pairs: Ints) -> Model:
    """Return the Model with these pairs of geometries as distance_geom, (n, 2), in any order."""
    arrays = {field.name: getattr(m, field.name) for field in MODEL_FIELDS}
    ordered = np.unique(pairs.reshape(-1, 2), axis=0)
    return with_arrays(m, arrays | listed(ordered, m.ngeom))
