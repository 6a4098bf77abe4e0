# SPDX-License-Identifier: Apache-2.0
"""Ray casting: the first hit of each ray, for range sensors and cameras."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.dynamics.entry import Entry, check_pair, handles
from rbdyn_ros.dynamics.ray_shapes import RayShapes, geometry_shapes, tree_of
from rbdyn_ros.engine.rays.casting import PLACED, cast, place_shapes
from rbdyn_ros.errors import Finding, ModelError, ParameterError
from rbdyn_ros.machine import cores
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model

_place, _cast = Entry(place_shapes), Entry(cast)

#: Number of rays in one piece of a thread's work; another thread for fewer rays saves no time.
PIECE = 4096


class RayHits(NamedTuple):
    """The first hit of each ray.

    Attributes:
        distance: (n,) distance from the origin of each ray [m]; infinity without a hit.
        geom: (n,) number of the hit shape, an index of m.geom_names or of `shapes`.names; -1
            without a hit.
        normal: (n, 3) outward unit normal of the surface, in the world; 0 without a hit.
    """

    distance: Array
    geom: Ints
    normal: Array


def cast_rays(
    m: Model,
    d: Data,
    origins: ArrayLike,
    directions: ArrayLike,
    *,
    frame: str | int | None = None,
    cutoff: float = np.inf,
    exclude: Sequence[str | int] = (),
    shapes: RayShapes | None = None,
) -> RayHits:
    """Return the first hits of rays at qpos.

    A ray hits a surface from outside and from inside. Hits on solids are exact up to rounding.
    Meshes count as their convex hulls, and height fields as the solid below their triangles.

    Args:
        m: the Model, loaded with `contact` unless `shapes` are given.
        d: its Data.
        origins: start points of the rays, (3,) for all or (n, 3) [m].
        directions: (3,) or (n, 3), of any length except 0.
        frame: name or number of the frame in which origins and directions are given; None: the
            world.
        cutoff: largest distance of a hit [m]; infinite: any distance.
        exclude: names or numbers of bodies that rays pass through, such as the body of the sensor.
        shapes: shapes that rays hit instead of the geometries, see rb.visual_shapes.

    Raises:
        ModelError: d was not made for m, the Model has no geometries, or the frame or a body is
            unknown.
        ParameterError: an argument has the wrong shape or is not finite, a direction is 0, or the
            cutoff is not positive.

    Source: MuJoCo mj_ray, whose distances are in lengths of the direction instead.
    """
    check_pair(m, d, "cast_rays")
    starts, along = _rays(origins, directions)
    unlimited = isinstance(cutoff, float) and cutoff == np.inf
    reach = cutoff if unlimited else finite("cutoff", cutoff, above=0.0)
    number = None if frame is None else m.frame_id(frame)
    excluded = [m.body_id(body) for body in _names(exclude)]
    met = geometry_shapes(m) if shapes is None else shapes
    if shapes is None and not met.names:
        raise _nothing(m)
    if number is not None:
        starts, along = _from_frame(m, d, number, starts, along)
    return meet(m, d, met, starts, along, reach, ~np.isin(met.body, excluded), cores())


def meet(
    m: Model,
    d: Data,
    met: RayShapes,
    starts: Array,
    along: Array,
    reach: float,
    shown: NDArray[np.bool_],
    threads: int,
) -> RayHits:
    """Return the first hits of rays in the world, as cast_rays does, but without checks.

    Args:
        m: the Model.
        d: its Data.
        met: shapes that rays can hit.
        starts: start points of the rays, (n, 3) contiguous.
        along: unit vectors, (n, 3) contiguous.
        reach: largest distance [m].
        shown: (shapes), 1 for each shape that rays can hit; rays pass through the other shapes.
        threads: largest number of threads.
    """
    n = len(met.names)
    placed, boxes = np.zeros((n, PLACED)), np.zeros((n, 6))
    _place.call(*handles(m, d), met.body, met.kind, met.shape, placed, boxes)
    node, order = tree_of(boxes, met.bounded[shown[met.bounded]])
    planes = met.planes[shown[met.planes]]
    hit, found = np.zeros(len(starts), np.int64), np.zeros((len(starts), 4))

    def work(part: slice) -> None:
        _cast.call(
            met.kind, met.root, met.shape, placed, order, node, planes, met.mesh_node,
            met.triangle, starts[part], along[part], reach, hit[part], found[part],
        )  # fmt: skip

    _share(work, len(starts), threads)
    return RayHits(found[:, 0].copy(), hit, found[:, 1:].copy())


def _rays(origins: ArrayLike, directions: ArrayLike) -> tuple[Array, Array]:
    """Return origins and unit vectors, each (n, 3), or raise ParameterError."""
    starts, along = (
        _points(name, given) for name, given in (("origins", origins), ("directions", directions))
    )
    if len(starts) != len(along) and 1 not in (len(starts), len(along)):
        text = f"there are {len(starts)} origins and {len(along)} directions"
        text += "; allowed is the same number, or one origin or one direction for all"
        raise ParameterError(Finding("bad-argument", text, "error", "directions"))
    n = max(len(starts), len(along)) if len(starts) and len(along) else 0
    largest = np.abs(along).max(axis=1, initial=0.0)
    if not largest.all():
        text = f"directions[{int(np.argmin(largest))}] has length 0; allowed is any other length"
        raise ParameterError(Finding("bad-argument", text, "error", "directions"))
    unit = along / largest[:, None]  # no square overflows
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    return (
        np.ascontiguousarray(np.broadcast_to(starts, (n, 3))),
        np.ascontiguousarray(np.broadcast_to(unit, (n, 3))),
    )


def _points(name: str, given: ArrayLike) -> Array:
    values = finite(name, given, None)
    if values.ndim in (1, 2) and values.shape[-1] == 3:
        return values.reshape(-1, 3)
    text = f"{name} has the shape {values.shape}; allowed are (3,) and (n, 3)"
    raise ParameterError(Finding("bad-argument", text, "error", name))


def _names(exclude: object) -> Sequence[str | int]:
    if isinstance(exclude, Sequence) and not isinstance(exclude, str | bytes):
        return exclude
    text = f"exclude is {exclude!r}; allowed is a list of names or numbers of bodies"
    raise ParameterError(Finding("bad-argument", text, "error", "exclude"))


def _from_frame(m: Model, d: Data, frame: int, starts: Array, along: Array) -> tuple[Array, Array]:
    """Return the world origins and directions of rays that are given in a frame."""
    from rbdyn_ros.dynamics.toolbox.frames import frame_pose

    p, R = frame_pose(m, d, frame)
    return np.ascontiguousarray(starts @ R.T + p), np.ascontiguousarray(along @ R.T)


def _share(work: Callable[[slice], None], rays: int, threads: int) -> None:
    """Cast all rays with at most `threads` threads, and at most one thread per piece of work."""
    pieces = [slice(first, min(first + PIECE, rays)) for first in range(0, rays, PIECE)]
    threads = min(threads, len(pieces))
    if threads < 2:
        for piece in pieces:
            work(piece)
        return
    with ThreadPoolExecutor(threads, "rays") as pool:
        list(pool.map(work, pieces))


def _nothing(m: Model) -> ModelError:
    text = (
        f"cast_rays: '{m.name}' has no geometries; give its file <collision> elements and load it "
        "with contact=True, or pass shapes=rb.visual_shapes(m, ...)"
    )
    return ModelError(Finding("no-geometries", text, "error", "cast_rays"))
