# SPDX-License-Identifier: Apache-2.0
"""Pairs of links that an arm must keep apart, although the simulation ignores their contacts."""

import numpy as np

from rbdyn_ros.arrays import Bools
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.dynamics.collisions import NearPairs, check_pairs, find_near
from rbdyn_ros.dynamics.configuration import random_qpos
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.loading.link_pairs import joined_links, separate_pairs, with_pairs
from rbdyn_ros.loading.overlaps import overlaps_in
from rbdyn_ros.model.model import Model

#: Random poses: a pair that is nearer than the margin in more than half of them is left out.
POSES = 200


def with_guarded_pairs(
    m: Model, description: Description, margin: float
) -> tuple[Model, list[str]]:
    """Return the Model with all pairs of links that no joint of the description connects.

    Fixed links can make such a pair adjacent in the tree, so the Model lacks it. A pair is left
    out if it is nearer than the margin at qpos0, in a state of the SRDF, or in more than half of
    some random poses: its shapes are then too coarse.

    Args:
        m: the arm with its geometries.
        description: description of the arm.
        margin: see SelfCollision [m].

    Returns:
        The Model, for SelfCollision, and the pairs that are left out.

    Raises:
        ModelError: the Model has no geometries, or too many.
    """
    check_pairs(m, "SelfCollision")
    pairs = separate_pairs(m, joined_links(m, description))
    known = set(map(tuple, m.distance_geom.tolist()))
    body = m.geom_bodyid[pairs]
    new = [
        pair
        for pair, (body1, body2) in zip(map(tuple, pairs.tolist()), body.tolist(), strict=True)
        if pair not in known and body1 != body2
    ]
    if not new:
        return m, []
    more = with_pairs(m, np.array(new, np.int64))
    near = _near(more, description, margin)
    kept = more.distance_geom[~near]
    dropped = more.distance_geom[near].tolist()
    names = [f"{m.geom_names[g]} and {m.geom_names[h]}" for g, h in dropped]
    return with_pairs(m, np.concatenate([m.distance_geom, kept])), names


def _near(m: Model, description: Description, margin: float) -> Bools:
    """Return which pairs are nearer than the margin in poses that must be allowed."""
    d, memory, skipped = make_data(m), NearPairs(m), np.zeros(m.ndistance, np.int64)
    near = np.zeros(m.ndistance, bool)
    near[memory.found[: find_near(m, d, margin, skipped, memory)]] = True
    numbers = {tuple(pair): n for n, pair in enumerate(m.distance_geom.tolist())}
    for state in description.states:
        for one in overlaps_in(m, state, margin):
            near[numbers[m.geom_numbers[one.geom1], m.geom_numbers[one.geom2]]] = True
    rng, hits = np.random.default_rng(0), np.zeros(m.ndistance, np.int64)
    for _ in range(POSES):
        d.qpos[:] = random_qpos(m, rng)
        hits[memory.found[: find_near(m, d, margin, skipped, memory)]] += 1
    return near | (hits > POSES // 2)
