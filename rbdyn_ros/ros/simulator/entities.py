"""The world of a robot while it is simulated: its objects, attachments and belts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.build.entities import (
    floating_scene,
    with_entity,
    with_surface_velocity,
    without_entity,
)
from rbdyn_ros.description.geometries import Obstacle
from rbdyn_ros.description.objects import Object
from rbdyn_ros.description.poses import Vec3
from rbdyn_ros.errors import did_you_mean, listing, quote, refusal
from rbdyn_ros.loading.free_objects import placed_entity
from rbdyn_ros.loading.load import rearranged
from rbdyn_ros.model.matching import Match
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.common.source import Source
from rbdyn_ros.ros.simulator.places import Part, Places
from rbdyn_ros.ros.simulator.world import WORLD, World
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

    def move(self, world: World, settle: Settle | None = None) -> World: ...


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
        latest = self._robot.loop.readout.latest()
        now = Match(self.world.m, new.m).coordinates(latest.qpos, new.m.qpos0)
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
        world = self._with_fixed_base() if to == WORLD else self.world
        weld = world.weld(link, to, self._places())
        new, before = self._changed(world, attached=(*world.attached, weld)), self.world
        # its Model takes a while to make, in which time goes on
        self.enter(new, lambda places: new.settled(before, places))
        return self.world.listed

    def detach(self, link: str, to: str) -> str:
        """End what `attach` did for two links; return what is still attached.

        Raises:
            RbdynError: they are not attached, or the loop does not answer.
        """
        kept = self.world.without(link, to)
        self.enter(self._changed(self.world, attached=kept))
        return self.world.listed

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

    def enter(self, world: World, settle: Settle | None = None) -> None:
        """Go on in a world: what it has in common with the present one keeps its state.

        Args:
            world: the world.
            settle: returns the world in its place, of the same layout, between the two ticks.

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
        self.world = self._robot.move(world, settle)

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

    def placed(self, name: str) -> list[Part]:
        """Return the shapes of an object, or of the robot (name empty), in the world."""
        if fixed := self.fixed(name):
            return [Part(fixed.shape, fixed.origin)]
        return self._places().placed(self.world.loose, name)

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
