# SPDX-License-Identifier: Apache-2.0
"""Find the robots of a process, and the objects and obstacles of their scenes, by name."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.parts.geometries import Obstacle
from rbdyn_ros.description.parts.objects import Object
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.parts.types import ROOT_JOINT
from rbdyn_ros.errors import refusal
from rbdyn_ros.model.declared.joints import JointType
from rbdyn_ros.model.tree.rotation import quat_to_mat
from rbdyn_ros.ros.common.parsing.convert import xyzw
from rbdyn_ros.ros.simulator.robot.robot import Robot
from rbdyn_ros.ros.simulator.world import changes
from rbdyn_ros.ros.simulator.world.places import PlacedShape
from rbdyn_ros.ros.simulator.world.world import EntityInfo, SpawnedRobot, WorldFile
from rbdyn_ros.runtime.state import LoopState

Vector = Sequence[float]
#: A pose: position (3,) and quaternion xyzw (4,); or a twist: linear and angular velocity (3,).
Pair = tuple[Vector, Vector]
#: Position (3,), quaternion xyzw (4,), linear velocity (3,), angular velocity (3,), acceleration
#: [linear; angular] (6,) of the origin of an entity's root link; all in world axes.
Motion = tuple[Vector, Vector, Vector, Vector, Vector]


class Entities:
    """Finds entities by name, spawns and deletes them, and moves their root links.

    Any thread may use it. An unknown name raises KeyError, so check it against `names` first.

    Args:
        robots: the robots, at least one.
    """

    def __init__(self, robots: Sequence[Robot]) -> None:
        self._robots = robots

    @property
    def _found(self) -> "dict[str, _Entity]":
        return _entities(self._robots)

    @property
    def has_world(self) -> bool:
        """Return whether a world is loaded; without a world, time stands still."""
        return all(robot.world.file is not None for robot in self._robots)

    def check_world(self) -> None:
        """Raise RbdynError if no world is loaded."""
        if not self.has_world:
            raise refusal("no world is loaded; load one by load_world first", "no-world")

    @property
    def world_file(self) -> WorldFile | None:
        """The file of the loaded world, or None if no world is loaded."""
        return self._robots[0].world.file

    @property
    def first_scene(self) -> Path | None:
        """The path of the scene that the simulator was started with, or None without a scene."""
        given = self._robots[0].given
        return given.path if given.is_scene else None

    @property
    def started(self) -> bool:
        """Return whether the loops of all robots run."""
        return all(robot.loop.running for robot in self._robots)

    def only_robot(self) -> Robot:
        """Return the only robot; raise RbdynError for several robots, or before the start."""
        if len(self._robots) > 1:
            raise refusal(
                "the robots of this process do not share a world; objects can be spawned and "
                "deleted, and worlds loaded, with one robot, or with several robots in one scene"
            )
        if not self.started:
            raise refusal("the simulation has not started: activate the node first")
        return self._robots[0]

    def names(self) -> list[str]:
        """Return the names of the robots, and of the objects and obstacles of their scenes."""
        return list(self._found)

    def kind(self, name: str) -> str:
        """Return the kind of an entity: robot, object (free) or obstacle (fixed)."""
        return self._found[name].kind

    def info(self, name: str) -> EntityInfo | None:
        """Return the info that a client has set for an entity, or None."""
        entity = self._found[name]
        return entity.robot.world.infos.get(entity.own)

    def set_info(self, name: str, info: EntityInfo) -> None:
        """Store a client's info for an entity, until it is deleted or the world is reset."""
        entity = self._found[name]
        entity.robot.enter(changes.with_info(entity.robot.world, entity.own, info))

    def namespaces(self) -> list[str]:
        """Return the namespaces of all robots."""
        robot = self._robots[0]
        spawned = robot.world.robots.values()
        return [robot.node.get_namespace(), *(one.namespace for one in spawned)]

    def spawn(self, entity: Object | Obstacle, robot: SpawnedRobot | None = None) -> bool:
        """Add an entity to the world, see changes.spawned; return whether it is a robot.

        Raises:
            RbdynError: the entity is refused, several robots run, or the loop does not answer.
        """
        self.check_world()
        one = self.only_robot()
        one.enter(changes.spawned(one.world, entity, robot, one.qpos))
        return entity.name in one.world.robots

    def delete(self, name: str) -> None:
        """Remove an object, an obstacle or a spawned robot.

        Raises:
            RbdynError: the entity is an initial robot, several robots run, or the loop does not
                answer.
        """
        entity = self._found[name]
        if entity.is_first:
            raise refusal(
                f"'{name}' is a robot that the simulator was started with; only objects, "
                "obstacles and spawned robots can be deleted"
            )
        one = self.only_robot()
        one.enter(changes.without(one.world, entity.own))

    def taken(self) -> set[str]:
        """Return the names that a new entity cannot have.

        The names of a spawned robot's joints begin with its name and a slash, so a robot cannot be
        called shelf if there is a shelf/drawer.
        """
        names = [*self._found, *self.only_robot().world.taken]
        return {*names, *(name.partition("/")[0] for name in self._found)}

    def bounds(self, name: str) -> tuple[Vector, Vector]:
        """Return lower and upper corner of an entity's bounding box, in its root link's frame."""
        entity = self._found[name]
        low, high = entity.robot.world.bounds(entity.own, entity.robot.places)
        return low.tolist(), high.tolist()

    def shapes(self, name: str) -> list[PlacedShape]:
        """Return the shapes of an entity at their present poses in the world."""
        entity = self._found[name]
        return entity.robot.world.shapes(entity.own, entity.robot.places)

    def state(self, name: str) -> Motion:
        """Return pose and motion of the root link of a robot or an object."""
        return self.states([name])[0][1]

    def states(self, names: Sequence[str]) -> list[tuple[int, Motion]]:
        """Return stamp [ns] and motion of each entity; entities of a loop have the same state."""
        found, latest = self._found, dict[Robot, LoopState]()
        for robot in {found[name].robot for name in names}:
            latest[robot] = robot.loop.readout.latest()
        return [
            (entity.robot.stamp_ns(state.tick), self._motion(entity, state))
            for entity in map(found.__getitem__, names)
            for state in (latest[entity.robot],)
        ]

    def _motion(self, entity: "_Entity", state: LoopState) -> Motion:
        if (at := entity.at) is not None:
            return at.pos, xyzw(at.quat).tolist(), (0.0,) * 3, (0.0,) * 3, (0.0,) * 6
        if entity.joint < 0:
            return (0.0,) * 3, (0.0, 0.0, 0.0, 1.0), (0.0,) * 3, (0.0,) * 3, (0.0,) * 6
        q, k = entity.addresses
        qpos, qvel, qacc = state.qpos[q:], state.qvel[k:], state.qacc[k:]
        R = quat_to_mat(qpos[3:7])
        # qvel of a free joint is linear in world axes, angular in body axes; the derivative of
        # R w is R w', since w x w = 0
        acceleration = np.concatenate([qacc[:3], R @ qacc[3:6]])
        pose = qpos[:3].tolist(), xyzw(qpos[3:7]).tolist()
        return *pose, qvel[:3].tolist(), (R @ qvel[3:6]).tolist(), acceleration.tolist()

    def set_state(self, name: str, pose: Pair | None, twist: Pair | None) -> None:
        """Set pose or twist of the root link, or both, in world axes.

        Args:
            name: name of the entity.
            pose: position, and quaternion of length near 1; the caller has checked both. None: the
                pose does not change.
            twist: linear and angular velocity. None: the twist stays as in the newest state.

        Raises:
            RbdynError: the entity is attached or is a robot fixed to the world; an obstacle would
                get a twist or overlap another shape; or the loop does not answer.
        """
        entity = self._found[name]
        if entity.kind == "obstacle":
            _place_obstacle(entity, pose, twist)
            return
        if entity.joint < 0:
            raise refusal(f"'{name}' is fixed to the world; only a floating base can be moved")
        entity.robot.world.check_loose(entity.joint)
        m = entity.robot.m
        qpos, qvel = np.zeros(m.nq), np.zeros(m.nv)
        given_qpos, given_qvel = np.zeros(m.nq, np.bool_), np.zeros(m.nv, np.bool_)
        q, k = entity.addresses
        _, turn, _, angular, _ = self.state(name)
        if pose is not None:
            position, turn = pose
            qpos[q : q + 7] = np.concatenate([position, _wxyz(turn)])
            given_qpos[q : q + 7] = True
        if twist is not None:
            qvel[k : k + 3], angular = twist
            given_qvel[k : k + 3] = True
        # the angular part of qvel is in body axes, so a new pose changes its numbers
        qvel[k + 3 : k + 6] = quat_to_mat(_wxyz(turn)).T @ angular
        given_qvel[k + 3 : k + 6] = True
        entity.robot.loop.plant.set_state(qpos, qvel, given_qpos, given_qvel)


def _wxyz(quaternion: Vector) -> Array:
    """Return a unit quaternion wxyz from a quaternion xyzw of length near 1."""
    return np.roll(quaternion, 1) / float(np.linalg.norm(quaternion))


def _place_obstacle(entity: "_Entity", pose: Pair | None, twist: Pair | None) -> None:
    if twist is not None and any((*twist[0], *twist[1])):
        raise refusal(f"'{entity.own}' is an obstacle, so its twist must be zero")
    if pose is not None:
        x, y, z = map(float, pose[0])
        robot, at = entity.robot, Pose((x, y, z), tuple(_wxyz(pose[1]).tolist()))
        robot.enter(changes.with_obstacle_moved(robot.world, entity.own, at, robot.qpos))


@dataclass(frozen=True, slots=True)
class _Entity:
    """A robot or an object.

    Attributes:
        robot: the robot itself, or the robot to whose scene the entity belongs.
        joint: number of its floating joint; -1: it is fixed to the world.
        own: name of the entity in this scene; empty: it is the only initial robot.
        kind: robot, object or obstacle.
        at: pose in the world if the entity is fixed to the world; None: the origin.
        is_first: whether it is an initial robot.
    """

    robot: Robot
    joint: int
    own: str = ""
    kind: str = "robot"
    at: Pose | None = None
    is_first: bool = False

    @property
    def addresses(self) -> tuple[int, int]:
        """Addresses of its floating joint in qpos and in qvel."""
        m = self.robot.m
        return int(m.jnt_qposadr[self.joint]), int(m.jnt_dofadr[self.joint])


def _entities(robots: Sequence[Robot]) -> dict[str, _Entity]:
    """Return the robots, and the objects and obstacles of their scenes, by name."""
    found: dict[str, _Entity] = {}
    for robot in robots:
        found |= _first_robots(robot)
    for robot in robots:
        prefix = f"{robot.name}/" if robot.name else ""
        world = robot.world
        for name in world.loose.objects:
            kind = "robot" if name in world.robots else "object"
            found[prefix + name] = _Entity(robot, robot.m.jnt_id(name), name, kind)
        for name, one in world.robots.items():
            if one.pose is not None:
                found[prefix + name] = _Entity(robot, -1, name, "robot", one.pose)
        for name, thing in world.spawned.items():
            is_there = prefix + name in found or world.obstacle(name) is not None
            if isinstance(thing, Object) and not is_there:  # the robot is fixed and has no joints
                found[prefix + name] = _Entity(robot, -1, name, "robot", thing.pose)
        for item in world.loose.obstacles:
            entity = _Entity(robot, -1, item.name, "obstacle", item.origin)
            found.setdefault(prefix + item.name, entity)
    return found


def _first_robots(robot: Robot) -> dict[str, _Entity]:
    """Return the initial robots by name."""
    placed = {} if robot.given.parts is None else robot.given.parts.robots
    found: dict[str, _Entity] = {}
    for own, name in robot.world.first_robots.items():
        at, joint = None, -1
        if own not in placed:
            floats = robot.values.floating_base and robot.m.jnt_type[0] == JointType.FREE
            joint = 0 if floats else -1
        elif placed[own].floating_base:
            joint = _root_joint(robot, own)
        else:
            at = placed[own].pose
        full = robot.name
        if own or not full:
            full = f"{full}/{name}" if full else name
        found[full] = _Entity(robot, joint, own, at=at, is_first=True)
    return found


def _root_joint(robot: Robot, own: str) -> int:
    """Return the number of the floating joint of a robot in a scene; it must have one."""
    scene, wanted = robot.world.loose, f"{own}/{ROOT_JOINT}" if own else ROOT_JOINT
    roots = (joint.name for joint in scene.joints if joint.parent == scene.base)
    return robot.m.jnt_id(next(name for name in roots if name.rstrip("_") == wanted))
