"""The world of a robot while it is simulated: its objects, attachments and belts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.build.entities import (
    Weld,
    floating_scene,
    with_entity,
    with_surface_velocity,
    with_welds,
    without_entity,
)
from rbdyn_ros.description.build.renaming import root_of
from rbdyn_ros.description.geometries import Obstacle
from rbdyn_ros.description.objects import Object
from rbdyn_ros.description.poses import IN_PLACE, Vec3, compose, inverse
from rbdyn_ros.description.types import Description
from rbdyn_ros.errors import did_you_mean, listing, quote, refusal
from rbdyn_ros.loading.free_objects import placed_entity
from rbdyn_ros.loading.load import rearranged
from rbdyn_ros.model.matching import Match
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.common.source import Source
from rbdyn_ros.ros.simulator.places import Part, Places
from rbdyn_ros.runtime.loop import Loop

#: Most spawned objects and obstacles of a simulation.
MOST_SPAWNED = 100
#: The name of what does not move, for what is attached to it.
WORLD = "world"


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """What a robot is simulated with.

    Attributes:
        loose: the robot and its objects, nothing attached.
        floating: whether the Model adds a floating joint at the root of the description.
        m: its Model, without payloads.
        start: (nq,) position after a reset.
        spawned: the objects and obstacles that were not there at the start, by name.
        attached: what is attached.
    """

    loose: Description
    floating: bool
    m: Model
    start: Array
    spawned: Mapping[str, Object | Obstacle]
    attached: tuple[Weld, ...] = ()

    @property
    def description(self) -> Description:
        """The robot and its objects, with what is attached."""
        return with_welds(self.loose, self.attached)


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
        obstacles = {one.name for one in self.world.loose.obstacles}
        geometries = {one.name for one in self.world.loose.geometries}
        return {*m.frame_names, *m.jnt_names, *m.loop_names, *obstacles, *geometries}

    def spawn(self, entity: Object | Obstacle) -> None:
        """Add an object or an obstacle; raise it if it would be inside an obstacle.

        Raises:
            RbdynError: there are too many, it is refused, or the loop does not answer.
        """
        world = self._with_fixed_base()
        self._check(len(world.spawned))
        spawned = {**world.spawned, entity.name: entity}
        loose = with_entity(world.loose, entity, self._robot.values.strict)
        new = self._changed(world, loose=loose, spawned=spawned)
        now = Match(self.world.m, new.m).coordinates(
            self._robot.loop.readout.latest().qpos, new.m.qpos0
        )
        height = placed_entity(new.m, new.loose, entity.name, now)
        if height > 0.0:
            at = new.m.jnt_qposadr[new.m.jnt_id(entity.name)] + 2
            qpos0, start = np.array(new.m.qpos0), new.start.copy()
            qpos0[at] += height
            start[at] += height
            new = replace(new, m=new.m.replaced(qpos0=qpos0), start=start)
        self.enter(new)

    def _check(self, count: int) -> None:
        robot = self._robot
        if count >= MOST_SPAWNED:
            raise refusal(
                f"{count} objects are spawned already, the most there can be; delete one first",
                "too-many-objects",
            )
        if not (robot.given.is_scene or self.world.loose.obstacles):
            raise refusal(
                "the robot was loaded without contact, so nothing holds an object; start the "
                "simulator with contact:=true, or with a scene",
                "no-contact",
            )

    def delete(self, name: str) -> None:
        """Remove an object or an obstacle; what lies on it or is attached to it falls.

        Raises:
            RbdynError: the loop does not answer.
        """
        world = self.world
        spawned = {key: one for key, one in world.spawned.items() if key != name}
        loose = without_entity(world.loose, name)
        links = {link.name for link in loose.links}
        attached = tuple(one for one in world.attached if {one.link, one.to} <= links)
        self.enter(self._changed(world, loose=loose, spawned=spawned, attached=attached))

    def attach(self, link: str, to: str) -> str:
        """Let a link keep the pose that it has in another one, or in the world, now.

        Returns:
            All that is attached, as a text.

        Raises:
            RbdynError: a link is unknown, both are parts of one body or attached already, the
                integrator does not take loops, or the loop does not answer.
        """
        world = self.world
        if to == WORLD and world.floating:
            world = self._with_fixed_base()
        base = self._link(world, to)
        if self._welds(link, base):
            raise refusal(f"{quote(link)} and {quote(to)} are attached already")
        weld = self._weld(world, link, base)
        self.enter(self._changed(world, attached=(*world.attached, weld)))
        return self.listed()

    def _weld(self, world: World, link: str, to: str) -> Weld:
        """Return the weld of two links in their present pose."""
        m = self.world.m
        # a robot with a floating base has no link for the world yet
        fixed = to == root_of(world.loose) and to not in m.frame_names
        of, on = self._body(link), 0 if fixed else self._body(to)
        if of == on:
            raise refusal(f"{quote(link)} and {quote(to)} are parts of one rigid body")
        places = self._places()
        pose = compose(inverse(IN_PLACE if fixed else places.of(to)), places.of(link))
        solid = list(dict.fromkeys(geom.link for geom in world.loose.geometries))
        links, others = ([x for x in solid if self._body(x) == body] for body in (of, on))
        if on == 0:
            others += [obstacle.name for obstacle in world.loose.obstacles]
        return Weld(link, to, pose, (tuple(links), tuple(others)))

    def _body(self, link: str) -> int:
        m = self.world.m
        if link not in m.frame_names:
            raise refusal(
                f"there is no link {quote(link)}{did_you_mean(link, m.frame_names)}; the links "
                f"are {listing(m.frame_names)}"
            )
        return int(m.frame_bodyid[m.frame_id(link)])

    def _link(self, world: World, name: str) -> str:
        """Return the link that a name stands for: `world` is what does not move."""
        known = name in self.world.m.frame_names
        return root_of(world.loose) if name == WORLD and not known else name

    def _welds(self, link: str, to: str) -> list[Weld]:
        return [weld for weld in self.world.attached if {weld.link, weld.to} == {link, to}]

    def detach(self, link: str, to: str) -> str:
        """End what `attach` did for two links; return what is still attached.

        Raises:
            RbdynError: they are not attached, or the loop does not answer.
        """
        world = self.world
        ended = self._welds(link, self._link(world, to))
        if not ended:
            raise refusal(f"{quote(link)} and {quote(to)} are not attached; {self.listed()}")
        kept = tuple(weld for weld in world.attached if weld not in ended)
        self.enter(self._changed(world, attached=kept))
        return self.listed()

    def listed(self) -> str:
        """Return what is attached, as a text."""
        pairs = [f"{quote(weld.link)} to {quote(weld.to)}" for weld in self.world.attached]
        return f"attached are {', '.join(pairs)}" if pairs else "nothing is attached"

    def check_loose(self, joint: int) -> None:
        """Raise RbdynError if a link beyond a floating joint is attached: it cannot be placed."""
        root = self.world.m.body_rootid[joint + 1]
        for weld in self.world.attached:
            if root in (self.world.m.body_rootid[self._body(x)] for x in (weld.link, weld.to)):
                text = f"{quote(weld.link)} is attached to {quote(weld.to)}; detach it first"
                raise refusal(text)

    def release(self) -> None:
        """End all that `attach` did."""
        if self.world.attached:
            self.enter(self._changed(self.world, attached=()))

    def set_surface_velocity(self, name: str, velocity: Vec3) -> None:
        """Let the surface of an obstacle move, as that of a conveyor belt does.

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

    def _changed(self, world: World, **changes: Any) -> World:
        """Return a world with other parts; its Model begins as the present one does."""
        world, before = replace(world, **changes), self.world.m
        m = rearranged(world.description, before, world.floating, self._robot.values.strict)
        start = Match(before, m).coordinates(self.world.start, m.qpos0)
        return replace(world, m=m, start=start)

    def _with_fixed_base(self) -> World:
        """Return the world beside whose parts there is a link that does not move."""
        world = self.world
        if not world.floating:
            return world
        return replace(world, loose=floating_scene(world.loose), floating=False)

    def _places(self) -> Places:
        state = self._robot.loop.readout.latest()
        return Places(self.world.m, state.qpos, state.time)

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
        fixed = self.fixed(name)
        parts = [Part(fixed.shape)] if fixed else self._places().parts(self.world.loose, name)
        if not parts:
            raise refusal("it has no collision geometries, so it has no bounds")
        lowest, highest = zip(*(part.corners for part in parts), strict=True)
        return np.min(lowest, axis=0), np.max(highest, axis=0)
