# SPDX-License-Identifier: Apache-2.0
"""Sample the joint space of a robot: how often each pair of its links overlaps."""

import numpy as np

from rbdyn_ros.arrays import Bools, Ints
from rbdyn_ros.checks.numbers import count
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.dynamics.collisions import TOUCHING, NearPairs, check_pairs, find_near
from rbdyn_ros.dynamics.configuration import is_unlimited, random_qpos
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.loading.link_pairs import joined_links, separate_pairs, with_pairs
from rbdyn_ros.loading.overlaps import between
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model
from rbdyn_ros.report.self_collision import CollisionSamples, LinkPair

SAMPLES, MOST_SAMPLES = 10_000, 1_000_000

#: Share of samples with overlap above which a pair always overlaps, as in MoveIt.
ALWAYS = 0.95


def sample_collisions(
    m: Model, description: Description, samples: int = SAMPLES, seed: int = 0
) -> CollisionSamples:
    """Count how often the links of a robot overlap in random poses within the joint limits.

    All pairs of links that no joint connects are tested, also pairs that the simulation leaves
    out. The poses come from `random_qpos`, which leaves closed loops open. Obstacles, and pairs
    that an SRDF or a Contact excludes, are not tested.

    Args:
        m: the Model, loaded with contact.
        description: the description from which the Model was built.
        samples: number of poses, 1 to MOST_SAMPLES.
        seed: seed of the random poses; equal seeds give equal results.

    Raises:
        ModelError: the Model has no geometries, or too many geometries.
        ParameterError: samples or seed is not a whole number in its range.
    """
    check_pairs(m, "sample_collisions")
    samples = count("samples", samples, 1, MOST_SAMPLES)
    rng = np.random.default_rng(count("seed", seed, 0, 2**63 - 1))
    joined = joined_links(m, description)
    every = with_pairs(m, separate_pairs(m, joined))
    d, memory = make_data(every), NearPairs(every)
    pairs = _link_pairs(m, every.distance_geom)
    numbers = {pair: n for n, pair in enumerate(sorted(set(pairs)))}
    which = np.array([numbers[pair] for pair in pairs], np.int64)
    start = _touching(every, d, memory, which, len(numbers))
    hits = np.zeros(len(numbers), np.int64)
    for _ in range(samples):
        d.qpos[:] = random_qpos(every, rng)
        hits += _touching(every, d, memory, which, len(numbers))
    share = {pair: float(hits[n]) / samples for pair, n in numbers.items()}
    default = {pair: share[pair] for pair, n in numbers.items() if start[n]}
    others = {pair: part for pair, part in share.items() if pair not in default}
    apart = [pair for pair, part in others.items() if part == 0.0]
    far = {pair for pair in apart if _is_far(m, pair)}
    simulated = set(_link_pairs(m, m.distance_geom[m.distance_geom[:, 1] < m.ngeomlink]))
    return CollisionSamples(
        samples,
        seed,
        _adjacent(m, joined),
        default,
        {pair: part for pair, part in others.items() if part > ALWAYS},
        tuple(pair for pair in apart if pair not in far),
        {pair: part for pair, part in others.items() if 0.0 < part <= ALWAYS},
        tuple(pair for pair in share if pair not in simulated),
        tuple(sorted(far)),
    )


def _touching(m: Model, d: Data, memory: NearPairs, which: Ints, number: int) -> Bools:
    """Return whether each link pair overlaps at d.qpos; `which`: link pair by geometry pair."""
    skipped = np.zeros(m.ndistance, np.int64)
    found = memory.found[: find_near(m, d, -TOUCHING, skipped, memory)]
    touching = np.zeros(number, bool)
    touching[which[found]] = True
    return touching


def _is_far(m: Model, pair: LinkPair) -> bool:
    """Return whether a joint between two links is unlimited: samples hardly cover its range."""
    one, other = (int(m.frame_bodyid[m.frame_id(link)]) for link in pair)
    return any(is_unlimited(m, joint) for joint in between(m, one, other))


def _link_pairs(m: Model, pairs: Ints) -> list[LinkPair]:
    """Return the links of pairs of geometries (n, 2)."""
    names = m.frame_names
    return [_ordered(names[g], names[h]) for g, h in m.geom_frameid[pairs].tolist()]


def _adjacent(m: Model, joined: Bools) -> tuple[LinkPair, ...]:
    """Return the pairs of links that a joint connects, without excluded pairs."""
    excluded = {tuple(pair) for pair in m.exclude_geom.tolist()}
    link, every = m.geom_frameid.tolist(), range(m.ngeomlink)
    found = [
        (g, h)
        for g in every
        for h in range(g + 1, m.ngeomlink)
        if joined[link[g], link[h]] and (g, h) not in excluded
    ]
    return tuple(sorted(set(_link_pairs(m, np.array(found, np.int64).reshape(-1, 2)))))


def _ordered(first: str, second: str) -> LinkPair:
    return (first, second) if first <= second else (second, first)
