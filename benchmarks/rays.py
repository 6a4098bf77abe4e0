# SPDX-License-Identifier: Apache-2.0
"""Time lidar rays on a Talos: on its geometries, against MuJoCo in turns, and on its meshes.

MuJoCo gets our geometries (contact.py) and casts on one core. Our rays are cast on one core, and
on all cores of this process.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np

import rbdyn_ros as rb
from benchmarks.contact import TALOS, talos
from benchmarks.robots import path_of
from rbdyn_ros.arrays import Array
from rbdyn_ros.measuring.turns import Job, in_turns, median_ratio

ROWS, COLUMNS = 64, 1024
RAYS = ROWS * COLUMNS
ABOVE = np.array([0.6, 0.3, 1.4])
HEIGHT = 1.1  # height of the base [m]


def main() -> None:
    print("| what the rays meet | million rays/s | peer | ratio |\n|---|---|---|---|")
    for line in _lines():
        print(line, flush=True)


def _lines() -> Iterator[str]:
    m, theirs = talos()
    d, other = rb.make_data(m), mujoco.MjData(theirs)
    d.qpos[2] = other.qpos[2] = HEIGHT
    mujoco.mj_forward(theirs, other)
    cores = os.sched_getaffinity(0)
    triangles = rb.visual_shapes(m, path_of(TALOS))
    os.sched_setaffinity(0, {min(cores)})
    ours, peer = in_turns((_ours(m, d, None), _theirs(theirs, other)), seconds=0.2)
    ratio = median_ratio(peer, ours)
    yield f"| {m.ngeom} geometries | {_rate(ours)} | {_rate(peer)} | {ratio:.2f} |"
    (ours,) = in_turns((_ours(m, d, triangles),), seconds=0.2)
    number = len(triangles.triangle)
    yield f"| {number} triangles of visual meshes | {_rate(ours)} | | |"
    os.sched_setaffinity(0, cores)
    every, ours = in_turns((_ours(m, d, None), _ours(m, d, triangles)), seconds=0.2)
    yield f"| geometries, {len(cores)} cores | {_rate(every)} | | |"
    yield f"| visual meshes, {len(cores)} cores | {_rate(ours)} | | |"


def _sweep() -> Array:
    """Return the directions of a lidar's rays (RAYS, 3): a full turn, 45 degrees up and down."""
    up, turn = np.meshgrid(
        np.linspace(-0.25 * np.pi, 0.25 * np.pi, ROWS),
        np.linspace(-np.pi, np.pi, COLUMNS, endpoint=False),
        indexing="ij",
    )
    level = np.cos(up)
    rows = np.stack([level * np.cos(turn), level * np.sin(turn), np.sin(up)], axis=-1)
    return np.ascontiguousarray(rows.reshape(RAYS, 3))


def _ours(m: rb.Model, d: rb.Data, shapes: rb.RayShapes | None) -> Job:
    directions = _sweep()

    def run(count: int) -> None:
        for _ in range(count):
            rb.cast_rays(m, d, ABOVE, directions, shapes=shapes)

    return run


def _theirs(model: Any, data: Any) -> Job:
    directions, geoms, distances = _sweep().ravel(), np.zeros(RAYS, np.int32), np.zeros(RAYS)
    normals = np.zeros(3 * RAYS)

    def run(count: int) -> None:
        for _ in range(count):
            mujoco.mj_multiRay(
                model, data, ABOVE, directions, None, 1, -1, geoms, distances, normals, RAYS, 1e10
            )

    return run


def _rate(times: list[float]) -> str:
    return f"{RAYS / statistics.median(times):.2f}"
