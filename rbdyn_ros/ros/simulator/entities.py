"""Objects that come and go while a robot is simulated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Protocol

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.build.entities import floating_scene, with_entity, without_entity
from rbdyn_ros.description.geometries import Box, Capsule, Cylinder, Obstacle, Points, Sphere
from rbdyn_ros.description.objects import Object
from rbdyn_ros.description.poses import IN_PLACE, Pose
from rbdyn_ros.description.types import Description
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.engine.kinematics import poses
from rbdyn_ros.errors import refusal
from rbdyn_ros.loading.free_objects import placed_entity
from rbdyn_ros.loading.load import rearranged
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.matching import Match
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.rotation import quat_to_mat
from rbdyn_ros.ros.common.source import Source
from rbdyn_ros.runtime.loop import Loop

#: Most spawned objects and obstacles of a simulation.
MOST_SPAWNED = 100


#: A shape, its origin and its axes.
Part = tuple[object, Array, Array]


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """What a robot is simulated with.

    Attributes:
        description: of the robot and its objects.
        floating: whether the Model adds a floating joint at the root of the description.
        m: its Model, without payloads.
        start: (nq,) position after a reset.
        spawned: the objects and obstacles that were not there at the start, by name.
    """

    description: Description
    floating: bool
    m: Model
    start: Array
    spawned: Mapping[str, Object | Obstacle]


class Owner(Protocol):
    """The robot whose objects come and go, see Robot."""

    given: Source
    m: Model
    values: SimpleNamespace
    loop: Loop

    @property
    def recorded(self) -> bool: ...

    def move(self, world: World) -> None: ...


class Entities:
    """Adds and removes objects of a robot's world, between two ticks; for one thread.

    Args:
        robot: whose loop and topics go on with the other objects.
        floating: as in World.
        start: (nq,) position of the robot after a reset.

    Attributes:
        world: the present one.
    """

    def __init__(self, robot: Owner, floating: bool, start: Array) -> None:
        self._robot = robot
        self.world = World(robot.given.description, floating, robot.m, start, {})
        self._first = self.world

    @property
    def taken(self) -> set[str]:
        """The names that a new object cannot have."""
        m = self.world.m
        obstacles = {one.name for one in self.world.description.obstacles}
        geometries = {one.name for one in self.world.description.geometries}
        return {*m.frame_names, *m.jnt_names, *m.loop_names, *obstacles, *geometries}

    def spawn(self, entity: Object | Obstacle) -> None:
        """Add an object or an obstacle; raise it if it would be inside an obstacle.

        Raises:
            RbdynError: there are too many, it is refused, or the loop does not answer.
        """
        world = self.world
        self._check(len(world.spawned))
        described, floating = world.description, world.floating
        if floating:  # objects need a world beside the moving root
            described, floating = floating_scene(described), False
        strict = self._robot.values.strict
        described = with_entity(described, entity, strict)
        m = rearranged(described, world.m, floating, strict)
        match = Match(world.m, m)
        now = match.coordinates(self._robot.loop.readout.latest().qpos, m.qpos0)
        height = placed_entity(m, described, entity.name, now)
        if height > 0.0:
            qpos0 = np.array(m.qpos0)
            qpos0[m.jnt_qposadr[m.jnt_id(entity.name)] + 2] += height
            m = m.replaced(qpos0=qpos0)
        start = match.coordinates(world.start, m.qpos0)
        self.enter(World(described, floating, m, start, {**world.spawned, entity.name: entity}))

    def _check(self, count: int) -> None:
        robot = self._robot
        if count >= MOST_SPAWNED:
            raise refusal(
                f"{count} objects are spawned already, the most there can be; delete one first",
                "too-many-objects",
            )
        if not (robot.given.is_scene or self.world.description.obstacles):
            raise refusal(
                "the robot was loaded without contact, so nothing holds an object; start the "
                "simulator with contact:=true, or with a scene",
                "no-contact",
            )

    def delete(self, name: str) -> None:
        """Remove an object or an obstacle; what lies on it falls.

        Raises:
            RbdynError: the loop does not answer.
        """
        world = self.world
        described = without_entity(world.description, name)
        m = rearranged(described, world.m, world.floating, self._robot.values.strict)
        start = Match(world.m, m).coordinates(world.start, m.qpos0)
        spawned = {key: one for key, one in world.spawned.items() if key != name}
        self.enter(World(described, world.floating, m, start, spawned))

    def restore(self) -> None:
        """Return to the objects of the start: those that were deleted are at their start."""
        self.enter(self._first)

    def enter(self, world: World) -> None:
        """Go on in a world: what it has in common with the present one keeps its state.

        Raises:
            RbdynError: a recording is under way, or the loop does not answer.
        """
        if world is self.world:
            return
        if self._robot.recorded:
            raise refusal(
                "the simulation is recorded, and the objects of a recording stay the same; "
                "record a scene that has all objects from the start",
                "recorded",
            )
        self._robot.move(world)
        self.world = world

    def fixed(self, name: str) -> Obstacle | None:
        """Return a spawned obstacle; None if the name is not one."""
        found = self.world.spawned.get(name)
        return found if isinstance(found, Obstacle) else None

    def bounds(self, name: str) -> tuple[Array, Array]:
        """Return the corners of the box around an object, or around the robot (name empty).

        The box is in the axes of its root link, around its geometries in their present pose.

        Raises:
            RbdynError: it has no geometries.
        """
        if fixed := self.fixed(name):
            parts: list[Part] = [(fixed.shape, np.zeros(3), np.eye(3))]
        else:
            parts = self._parts(name)
        if not parts:
            raise refusal("it has no collision geometries, so it has no bounds")
        boxes = [_box(*part) for part in parts]
        return np.min([low for low, _ in boxes], axis=0), np.max([h for _, h in boxes], axis=0)

    def _parts(self, name: str) -> list[Part]:
        """Return the shapes of an entity, and their places in the frame of its root."""
        m, description = self.world.m, self.world.description
        d = make_data(m)
        state = self._robot.loop.readout.latest()
        d.qpos, d.time = state.qpos, state.time
        poses(m, d)
        roots = {m.frame_bodyid[m.frame_id(other)]: other for other in description.objects}
        first = [link for link in m.frame_names if m.frame_bodyid[m.frame_id(link)] > 0]
        origin, axes = _place(m, d, name or (first or m.frame_names)[0], IN_PLACE)
        parts: list[Part] = []
        for geom in description.geometries:
            body = int(m.frame_bodyid[m.frame_id(geom.link)])
            if roots.get(m.body_rootid[body], "") == name:
                pos, mat = _place(m, d, geom.link, geom.origin)
                parts.append((geom.shape, axes.T @ (pos - origin), axes.T @ mat))
        return parts


def _place(m: Model, d: Data, link: str, pose: Pose) -> tuple[Array, Array]:
    """Return origin and axes of a pose in a link, in the world."""
    k = m.frame_id(link)
    body = int(m.frame_bodyid[k])
    pos, mat = d.xpos[body], d.xmat[body].reshape(3, 3)
    pos, mat = pos + mat @ m.frame_pos[k], mat @ quat_to_mat(m.frame_quat[k])
    return pos + mat @ np.asarray(pose.pos), mat @ quat_to_mat(pose.quat)


def _box(shape: object, pos: Array, mat: Array) -> tuple[Array, Array]:
    """Return the lowest and the highest corner of a shape."""
    if isinstance(shape, Points):
        points = pos + np.asarray(shape.points) @ mat.T
        return points.min(axis=0), points.max(axis=0)
    half = np.zeros(3)
    if isinstance(shape, Box):
        half = np.abs(mat) @ (0.5 * np.asarray(shape.size))
    elif isinstance(shape, Sphere):
        half = np.full(3, shape.radius)
    elif isinstance(shape, Capsule):
        half = np.abs(mat[:, 2]) * 0.5 * shape.length + shape.radius
    elif isinstance(shape, Cylinder):
        rim = np.sqrt(np.maximum(1.0 - mat[:, 2] ** 2, 0.0))
        half = np.abs(mat[:, 2]) * 0.5 * shape.length + rim * shape.radius
    return pos - half, pos + half
