"""The world of a robot while it is simulated: its objects, attachments and belts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np

from rbdyn_ros.actuators import with_actuators_of
from rbdyn_ros.arrays import Array
from rbdyn_ros.description.parts.geometries import FLOOR, Obstacle, Plane
from rbdyn_ros.description.parts.objects import Object
from rbdyn_ros.description.parts.poses import Pose, Vec3
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.description.scenes.entities import (
    floating_scene,
    robots_of,
    welds_in,
    with_entity,
    with_obstacle_at,
    with_surface_velocity,
    with_world,
    without_entity,
)
from rbdyn_ros.description.scenes.joining import free_name
from rbdyn_ros.description.scenes.scene import SceneParts
from rbdyn_ros.errors import (
    DescriptionError,
    Finding,
    did_you_mean,
    listing,
    quote,
    refusal,
)
from rbdyn_ros.loading.free_objects import placed_entity, placed_objects
from rbdyn_ros.loading.load import complete
from rbdyn_ros.loading.standing import out_of_obstacles
from rbdyn_ros.model.matching import Match
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.common.single_joints import SingleJoints
from rbdyn_ros.ros.common.source import Source
from rbdyn_ros.ros.simulator.world.places import Part, Places
from rbdyn_ros.ros.simulator.world.world import WORLD, EntityInfo, SpawnedRobot, World
from rbdyn_ros.ros.simulator.world.world_files import (
    FLOOR_ONLY,
    NOTHING,
    TEXT,
    WorldFile,
    world_file,
)
from rbdyn_ros.runtime.loop import Loop

#: Returns the world of a new weld, in the pose of the tick of the exchange.
Settle = Callable[[Places], World]

#: Most spawned objects and obstacles of a simulation.
MOST_SPAWNED = 100


class Owner(Protocol):
    """The robot whose objects come and go, see Robot."""

    given: Source
    m: Model
    values: SimpleNamespace
    loop: Loop

    @property
    def recorded(self) -> bool: ...

    def move(self, world: World, settle: Settle | None = None, resets: bool = False) -> World: ...


class Entities:
    """Adds and removes objects of a robot's world, between two ticks; for one thread.

    Args:
        robot: whose loop and topics go on with the other objects.
        floating: as in World.
        start: (nq,) position of the robot after a reset.

    Attributes:
        world: the present one.
        robot_name: of the only robot of the start as an entity; empty if its robots have names.
    """

    def __init__(self, robot: Owner, floating: bool, start: Array) -> None:
        self._robot = robot
        file = _file_of(robot.given)
        self.world = World(robot.given.description, floating, robot.m, start, {}, file=file)
        self._begin = self.world
        self.robot_name = "" if self._first_robots else _robot_name(robot.given.description)

    @property
    def as_loaded(self) -> bool:
        """Whether all objects and attachments are those of the world as it was loaded."""
        return self.world.first is None or self.world.first.m is self.world.m

    def spawn(self, entity: Object | Obstacle, robot: SpawnedRobot | None = None) -> None:
        """Add an object, an obstacle or a robot; raise it if it would be inside an obstacle.

        Args:
            entity: the object or obstacle.
            robot: that the object is, if its joints turn out to have actuators.

        Raises:
            RbdynError: there are too many, it is refused, or the loop does not answer.
        """
        world = _with_fixed_base(self.world)
        self._check(len(world.spawned))
        spawned = {**world.spawned, entity.name: entity}
        acts, name = robot is not None, entity.name
        loose = with_entity(world.loose, entity, self._robot.values.strict, acts=acts)
        new = self._changed(world, loose=loose, spawned=spawned)
        if robot is not None and SingleJoints.commanded(new.m).below(f"{name}/").names:
            if isinstance(entity, Object) and name not in loose.objects:
                robot = replace(robot, pose=entity.pose)
            new = replace(new, robots={**world.robots, name: robot})
        height = placed_entity(new.m, new.loose, entity.name, self._now_in(new))
        if height > 0.0:
            at = new.m.jnt_qposadr[new.m.jnt_id(entity.name)] + 2
            qpos0, start = np.array(new.m.qpos0), new.start.copy()
            qpos0[at] += height
            start[at] += height
            new = replace(new, m=new.m.replaced(qpos0=qpos0), start=start)
        self.enter(new)

    def _check(self, count: int) -> None:
        if count >= MOST_SPAWNED:
            raise refusal(
                f"{count} objects are spawned already, the most there can be; delete one first",
                "too-many-objects",
            )
        self._check_contact()

    def _check_contact(self) -> None:
        if self._begin.file is NOTHING:
            raise refusal(
                "the robot was loaded without contact, so nothing holds an object; start the "
                "simulator with contact:=true, or with a scene",
                "no-contact",
            )

    def loaded(self, file: WorldFile, parts: SceneParts) -> tuple[World, list[Finding]]:
        """Return another world, to enter: the robots of the start, its objects and obstacles.

        Args:
            file: the world.
            parts: its parts.

        Returns:
            the world, and warnings.

        Raises:
            RbdynError: it is refused.
        """
        if parts.objects or parts.obstacles or parts.floor:
            self._check_contact()
        robots, strict = self.robots_alone(), self._robot.values.strict
        taken = self._first_robots or {self.robot_name}
        loose = with_world(robots.loose, parts, file.uri or str(TEXT), strict, taken=taken)
        return _started(self._made(robots, robots, loose=loose, file=file))

    def robots_alone(self) -> World:
        """Return a world of the robots of the start alone, to enter: no world is loaded."""
        begin = self._begin
        world = _with_fixed_base(begin)
        named = {"", *self._first_robots}
        infos = {key: info for key, info in self.world.infos.items() if key in named}
        loose = robots_of(world.loose)
        return self._made(
            world, begin, loose=loose, spawned={}, attached=(), file=None, first=None, infos=infos
        )

    def delete(self, name: str) -> None:
        """Remove an object or an obstacle; objects that lie on it or are attached to it fall.

        Raises:
            RbdynError: the loop does not answer.
        """
        self.enter(self._without(self.world, name))

    def _without(self, world: World, name: str) -> World:
        """Return a world without an entity."""
        spawned = {key: one for key, one in world.spawned.items() if key != name}
        loose = without_entity(world.loose, name)
        attached = welds_in(loose, world.attached)
        infos = {key: info for key, info in world.infos.items() if key != name}
        robots = {key: robot for key, robot in world.robots.items() if key != name}
        changes = {"spawned": spawned, "attached": attached, "infos": infos, "robots": robots}
        return self._made(world, world, first=world.first or world, loose=loose, **changes)

    def set_info(self, name: str, info: EntityInfo) -> None:
        """Keep a client's info of an entity, or of the robot (name empty), until a reset."""
        world = self.world
        infos = {**world.infos, name: info}
        self.world = replace(world, infos=infos, first=world.first or world)

    def place_obstacle(self, name: str, origin: Pose) -> None:
        """Move an obstacle to another place, at once.

        Raises:
            RbdynError: it would be inside a robot or an object, or the loop does not answer.
        """
        new = self._changed(self.world, loose=with_obstacle_at(self.world.loose, name, origin))
        placed_entity(new.m, new.loose, name, self._now_in(new))
        self.enter(new)

    def attach(self, link: str, to: str) -> str:
        """Let a link keep the pose that it has in another one, or in the world, now.

        Returns:
            All that is attached, as a text.

        Raises:
            RbdynError: a link is unknown, both are parts of one body or attached already, the
                integrator does not take loops, or the loop does not answer.
        """
        world = _with_fixed_base(self.world) if to == WORLD else self.world
        weld = world.weld(link, to, self._places())
        new, before = self._changed(world, attached=(*world.attached, weld)), self.world
        # its Model takes a while to make, in which time goes on
        self.enter(new, lambda places: new.settled(before, places))
        return self.world.listed

    def detach(self, link: str, to: str) -> str:
        """Detach two links; return the links that are still attached.

        Raises:
            RbdynError: they are not attached, or the loop does not answer.
        """
        kept = self.world.without(link, to)
        self.enter(self._changed(self.world, attached=kept))
        return self.world.listed

    def release(self) -> None:
        """End all that `attach` did; the caller resets the state."""
        if self.world.attached:
            self.enter(self._changed(self.world, attached=()), resets=True)

    def set_surface_velocity(self, name: str, velocity: Vec3) -> None:
        """Let the surface of an obstacle move like a conveyor belt.

        Args:
            name: of the obstacle.
            velocity: in the axes of its shape [m/s].

        Raises:
            RbdynError: there is no such obstacle, the velocity is refused, or the loop does not
                answer.
        """
        world = self.world
        known = [one.name for one in world.loose.obstacles]
        if name not in known:
            raise refusal(
                f"there is no obstacle {quote(name)}{did_you_mean(name, known)}; the obstacles "
                f"are {listing(known) if known else 'none'}"
            )
        loose = with_surface_velocity(world.loose, name, velocity)
        self.enter(self._changed(world, loose=loose))

    def restore(self, resets: bool) -> None:
        """Return to the world as it was loaded: entities that were deleted are at their start.

        Args:
            resets: as for `enter`.

        Raises:
            RbdynError: without a reset of the state, something is at the start of an entity that
                would return. If the loop does not answer, spawned objects may be gone that had
                the names of deleted ones.
        """
        world = self.world
        first = world.first or world
        if not resets:
            for name in world.spawned:
                if name in first.loose.objects:  # another object has the name of a deleted one
                    world = self._without(world, name)
            self._check_room(world, first)
            if world is not self.world:
                self.enter(world)
        self.enter(first, resets=resets)

    def _check_room(self, world: World, first: World) -> None:
        """Raise RbdynError if an entity that a world lacks would return into something."""
        solid = {(one.name, one.shape, one.origin) for one in world.loose.obstacles}
        back = [name for name in first.loose.objects if name not in world.loose.objects]
        back += [x.name for x in first.loose.obstacles if (x.name, x.shape, x.origin) not in solid]
        qpos = Match(world.m, first.m).coordinates(self._now_in(world), first.m.qpos0)
        for name in back:
            _check_return(first, name, qpos)

    def enter(self, world: World, settle: Settle | None = None, resets: bool = False) -> None:
        """Go on in another world; parts that both worlds have keep their state.

        Args:
            world: the world.
            settle: returns the world in its place, of the same layout, between the two ticks.
            resets: whether the caller resets or loads the state next: it may have diverged.

        Raises:
            RbdynError: a recording is under way, the state diverged, or the loop does not answer.
        """
        if world.m is self.world.m:
            self.world = world
            return
        if self._robot.recorded:
            raise refusal(
                "the simulation is recorded, and the objects of a recording stay the same; "
                "record a scene that has all objects from the start",
                "recorded",
            )
        self.world = self._robot.move(world, settle, resets)

    def _changed(self, world: World, **changes: Any) -> World:
        """Return a world with other parts; its Model begins as the present one does."""
        first = self.world.first or self.world
        return self._made(world, self.world, first=first, **changes)

    def _made(self, world: World, before: World, **changes: Any) -> World:
        """Return a world with other parts; parts that `before` has, too, begin as there."""
        world = replace(world, **changes)
        m = complete(world.description, world.floating, self._robot.values.strict, before=before.m)
        m = with_actuators_of(m, before.m)
        start = Match(before.m, m).coordinates(before.start, m.qpos0)
        return replace(world, m=m, start=start)

    def _now_in(self, world: World) -> Array:
        """Return the present position (nq,) in another world; new parts are at their qpos0."""
        latest = self._robot.loop.readout.latest()
        return Match(self.world.m, world.m).coordinates(latest.qpos, world.m.qpos0)

    def _places(self) -> Places:
        state = self._robot.loop.readout.latest()
        return Places(self.world.m, state.qpos, state.time)

    def fixed(self, name: str) -> Obstacle | None:
        """Return an obstacle; None if the name is not one."""
        return next((one for one in self.world.loose.obstacles if one.name == name), None)

    def placed(self, name: str) -> list[Part]:
        """Return the shapes of an object, or of the robot (name empty), in the world."""
        if fixed := self.fixed(name):
            return [Part(fixed.shape, fixed.origin)]
        return self._places().placed(self.world.loose, name, self._owners)

    @property
    def _owners(self) -> set[str]:
        """The names of the objects, of the robots of a scene, and of the spawned robots."""
        return {*self.world.loose.objects, *self._first_robots, *self.world.robots}

    @property
    def _first_robots(self) -> set[str]:
        """The names of the robots of the scene of the start; none: it has one without a name."""
        parts = self._robot.given.parts
        return set() if parts is None else {name for name in parts.robots if name}

    def bounds(self, name: str) -> tuple[Array, Array]:
        """Return the corners of the box around an object, or around the robot (name empty).

        The box is in the axes of its root link, around its geometries in their present pose.

        Raises:
            RbdynError: it has no geometries.
        """
        fixed = self.fixed(name)
        if fixed and isinstance(fixed.shape, Plane):
            raise refusal("it is an infinite plane, so it has no bounds")
        places, loose = self._places(), self.world.loose
        parts = [Part(fixed.shape)] if fixed else places.parts(loose, name, self._owners)
        if not parts:
            raise refusal("it has no collision geometries, so it has no bounds")
        lowest, highest = zip(*(part.corners for part in parts), strict=True)
        return np.min(lowest, axis=0), np.max(highest, axis=0)


def _check_return(world: World, name: str, qpos: Array) -> None:
    """Raise RbdynError if an entity would be inside something at a position (nq,) of a world."""
    try:
        placed_entity(world.m, world.loose, name, qpos)
    except DescriptionError as error:
        why = error.findings[0].message.partition(";")[0]
        text = f"{quote(name)} cannot return to its start: {why}; reset the state, too"
        raise refusal(text, "no-room") from error


def _robot_name(scene: Description) -> str:
    """Return a robot's name that no object or obstacle has; a world may have a floor."""
    others = {FLOOR.name, *scene.objects, *(obstacle.name for obstacle in scene.obstacles)}
    return free_name(f"{scene.name}_robot" if scene.name in others else scene.name, others)


def _file_of(given: Source) -> WorldFile:
    """Return the world of the start."""
    if given.parts is not None:
        return world_file(given.parts, str(Path(given.path or "").absolute()))
    return FLOOR_ONLY if given.description.obstacles else NOTHING


def _with_fixed_base(world: World) -> World:
    """Return the world beside whose parts there is a link that does not move."""
    if not world.floating:
        return world
    return replace(world, loose=floating_scene(world.loose), floating=False)


def _started(world: World) -> tuple[World, list[Finding]]:
    """Return a world that starts outside its obstacles, and warnings."""
    m, findings = placed_objects(world.m.replaced(qpos0=world.start), world.loose)
    if m.njnt > 0 and m.body_names[1] not in world.loose.objects:
        m, more = out_of_obstacles(m)
        findings += more
    raised = m.qpos0 - world.start  # heights only
    moved = world.m.replaced(qpos0=world.m.qpos0 + raised)
    warnings = [finding for finding in findings if finding.severity == "warning"]
    return replace(world, m=moved, start=np.array(m.qpos0)), warnings
