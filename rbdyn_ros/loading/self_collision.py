"""Sample the joint space of a robot: how often each pair of its links overlaps."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rbdyn_ros.arrays import Bools, Ints
from rbdyn_ros.checks.numbers import count
from rbdyn_ros.dynamics.collisions import TOUCHING, Memory, check_pairs, find_near
from rbdyn_ros.dynamics.configuration import random_qpos
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model
from rbdyn_ros.report.self_collision import CollisionSamples, LinkPair

SAMPLES, MOST_SAMPLES = 10_000, 1_000_000

#: A pair that overlaps in a larger part of the samples overlaps always: as in MoveIt's assistant.
ALWAYS = 0.95


def sample_collisions(
    m: Model, links: Mapping[str, str], samples: int = SAMPLES, seed: int = 0
) -> CollisionSamples:
    """Return how often the links of a robot overlap in random poses within the joint limits.

    The poses are those of `random_qpos`: closed loops are open in them. Obstacles, and pairs that
    an SRDF or a Contact excludes, do not count.

    Args:
        m: the Model, loaded with contact.
        links: the link of each geometry, by their names.
        samples: number of poses, 1 to MOST_SAMPLES.
        seed: of the random poses; equal seeds give equal results.

    Raises:
        ModelError: the Model has no geometries, or too many.
        ParameterError: samples or seed is not a whole number in its range.
    """
    check_pairs(m, "sample_collisions")
    samples = count("samples", samples, 1, MOST_SAMPLES)
    rng = np.random.default_rng(count("seed", seed, 0, 2**63 - 1))
    d, memory = make_data(m), Memory(m)
    pairs = _link_pairs(m, links)
    numbers = {pair: n for n, pair in enumerate(sorted({pair for pair in pairs if pair}))}
    which = np.array([numbers.get(pair, -1) if pair else -1 for pair in pairs], np.int64)
    start = _touching(m, d, memory, which, len(numbers))
    hits = np.zeros(len(numbers), np.int64)
    for _ in range(samples):
        d.qpos[:] = random_qpos(m, rng)
        hits += _touching(m, d, memory, which, len(numbers))
    share = {pair: float(hits[n]) / samples for pair, n in numbers.items()}
    default = {pair: share[pair] for pair, n in numbers.items() if start[n]}
    others = {pair: part for pair, part in share.items() if pair not in default}
    return CollisionSamples(
        samples,
        seed,
        _adjacent(m, links),
        default,
        {pair: part for pair, part in others.items() if part > ALWAYS},
        tuple(pair for pair, part in others.items() if part == 0.0),
        {pair: part for pair, part in others.items() if 0.0 < part <= ALWAYS},
    )


def _touching(m: Model, d: Data, memory: Memory, which: Ints, number: int) -> Bools:
    """Return whether each pair of links overlaps at d.qpos."""
    skipped = (which < 0).astype(np.int64)
    found = memory.found[: find_near(m, d, -TOUCHING, skipped, memory)]
    touching = np.zeros(number, bool)
    touching[which[found]] = True
    return touching


def _link_pairs(m: Model, links: Mapping[str, str]) -> list[LinkPair | None]:
    """Return the links of each pair of distance_geom; None if one is an obstacle."""
    names, first_obstacle = m.geom_names, m.ngeomlink
    return [
        None if h >= first_obstacle else _ordered(links[names[g]], links[names[h]])
        for g, h in m.distance_geom.tolist()
    ]


def _adjacent(m: Model, links: Mapping[str, str]) -> tuple[LinkPair, ...]:
    """Return the pairs of different links with geometries that never count, as neighbours."""
    names, first_obstacle = m.geom_names, m.ngeomlink
    listed = {tuple(pair) for pair in (*m.distance_geom.tolist(), *m.exclude_geom.tolist())}
    found = {
        _ordered(links[names[g]], links[names[h]])
        for g in range(first_obstacle)
        for h in range(g + 1, first_obstacle)
        if (g, h) not in listed
    }
    sampled = {pair for pair in _link_pairs(m, links) if pair}
    return tuple(sorted(pair for pair in found - sampled if pair[0] != pair[1]))


def _ordered(first: str, second: str) -> LinkPair:
    return (first, second) if first <= second else (second, first)
