# SPDX-License-Identifier: Apache-2.0
"""Changes of a world: each function makes the next World from a World, without simulating.

All functions raise RbdynError to refuse a change.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rbdyn_ros.actuators import with_actuators_of
from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.names import free_name
from rbdyn_ros.description.parts.geometries import FLOOR, Obstacle
from rbdyn_ros.description.parts.objects import Object
from rbdyn_ros.description.parts.poses import Pose, Vec3
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.description.scenes import entities
from rbdyn_ros.description.scenes.scene import SceneParts
from rbdyn_ros.description.source import Source
from rbdyn_ros.errors import DescriptionError, Finding, did_you_mean, listing, quote, refusal
from rbdyn_ros.loading.free_objects import placed_entity, placed_objects
from rbdyn_ros.loading.load import complete
from rbdyn_ros.loading.standing import out_of_obstacles
from rbdyn_ros.model.matching import Match
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.common.parsing.single_joints import SingleJoints
from rbdyn_ros.ros.simulator.world.places import Places
from rbdyn_ros.ros.simulator.world.world import (
    FLOOR_ONLY,
    NOTHING,
    TEXT,
    WORLD,
    EntityInfo,
    SpawnedRobot,
    World,
    WorldFile,
    world_file,
)

#: Largest number of spawned objects and obstacles of a simulation.
MOST_SPAWNED = 100


def begun(
    given: Source,
    floating: bool,
    m: Model,
    start: Array,
    strict: bool,
    package_dirs: Sequence[str | Path] = (),
) -> World:
    """Return the initial world of a robot.

    Args:
        given: source of the robot.
        floating: as in World.
        m: Model of the robot.
        start: (nq,) position after a reset.
        strict: as in World.
        package_dirs: as in World.
    """
    scene, parts = given.description, given.parts
    file = FLOOR_ONLY if scene.obstacles else NOTHING
    robots = {"": _name(scene)}
    if parts is not None:
        file = world_file(parts, str(Path(given.path or "").absolute()))
        robots = {name: name for name in parts.robots if name} or robots
    how, contact = (strict, package_dirs), file is not NOTHING
    return World(scene, floating, m, start, *how, robots, contact, file=file)


def _name(scene: Description) -> str:
    """Return a name for the robot that differs from all objects, obstacles and later floors."""
    others = {FLOOR.name, *scene.objects, *(obstacle.name for obstacle in scene.obstacles)}
    return free_name(f"{scene.name}_robot" if scene.name in others else scene.name, others)


def spawned(
    world: World, entity: Object | Obstacle, robot: SpawnedRobot | None, qpos: Array
) -> World:
    """Return a world with one more entity; an object that overlaps obstacles is raised.

    Args:
        world: the present world.
        entity: the object or obstacle.
        robot: topics and URDF of the robot if the entity is an object with actuated joints, or
            None.
        qpos: (nq,) present position.
    """
    if len(world.spawned) >= MOST_SPAWNED:
        raise refusal(
            f"{len(world.spawned)} objects are spawned already, the most there can be; delete one "
            "first",
            "too-many-objects",
        )
    _check_contact(world)
    name, base = entity.name, _with_fixed_base(world)
    how = world.strict, world.package_dirs
    loose = entities.with_entity(base.loose, entity, *how, acts=robot is not None)
    new = _changed(base, loose=loose, spawned={**world.spawned, name: entity})
    if robot is not None and SingleJoints.commanded(new.m).below(f"{name}/").names:
        if isinstance(entity, Object) and name not in loose.objects:
            robot = replace(robot, pose=entity.pose)
        new = replace(new, robots={**world.robots, name: robot})
    height = placed_entity(new.m, loose, name, _in(new, world, qpos))
    if height > 0.0:
        at = new.m.jnt_qposadr[new.m.jnt_id(name)] + 2
        qpos0, start = np.array(new.m.qpos0), new.start.copy()
        qpos0[at] += height
        start[at] += height
        new = replace(new, m=new.m.replaced(qpos0=qpos0), start=start)
    return new


def _check_contact(world: World) -> None:
    if not world.contact:
        raise refusal(
            "the robot was loaded without contact, so nothing holds an object; start the "
            "simulator with contact:=true, or with a scene",
            "no-contact",
        )


def without(world: World, *names: str) -> World:
    """Return a world without the named entities, and without the attachments to them."""
    loose = world.loose
    for name in names:
        loose = entities.without_entity(loose, name)
    rest: dict[str, Any] = {
        field: {name: value for name, value in getattr(world, field).items() if name not in names}
        for field in ("spawned", "infos", "robots")
    }
    return _changed(world, loose=loose, attached=entities.welds_in(loose, world.attached), **rest)


def with_obstacle_moved(world: World, name: str, origin: Pose, qpos: Array) -> World:
    """Return a world with an obstacle at another pose; refuse overlap with bodies at `qpos`."""
    new = _changed(world, loose=entities.with_obstacle(world.loose, name, origin=origin))
    placed_entity(new.m, new.loose, name, _in(new, world, qpos))
    return new


def with_belt(world: World, name: str, velocity: Vec3) -> World:
    """Return a world in which an obstacle's surface moves at a velocity in its own axes [m/s]."""
    if world.obstacle(name) is None:
        known = [one.name for one in world.loose.obstacles]
        raise refusal(
            f"there is no obstacle {quote(name)}{did_you_mean(name, known)}; the obstacles "
            f"are {listing(known) if known else 'none'}"
        )
    return _changed(world, loose=entities.with_obstacle(world.loose, name, velocity=velocity))


def attached(world: World, link: str, to: str, places: Places) -> World:
    """Return a world in which a link is attached, at its present pose, to a link or the world."""
    base = _with_fixed_base(world) if to == WORLD else world
    return _changed(base, attached=(*base.attached, base.weld(link, to, places)))


def detached(world: World, link: str, to: str) -> World:
    """Return a world in which two links are detached."""
    return _changed(world, attached=world.others(link, to))


def released(world: World) -> World:
    """Return a world in which no links are attached."""
    return _changed(world, attached=()) if world.attached else world


def with_info(world: World, name: str, info: EntityInfo) -> World:
    """Return a world with a client's info about an entity; name empty: about the robot."""
    return replace(world, infos={**world.infos, name: info}, first=world.as_loaded)


def robots_alone(begin: World, now: World) -> World:
    """Return the initial robots without objects and obstacles, as if no world were loaded.

    Args:
        begin: the initial world.
        now: the present world; its infos about these robots are kept.
    """
    base, kept = _with_fixed_base(begin), {"", *begin.first_robots}
    infos = {name: info for name, info in now.infos.items() if name in kept}
    return _made(base, loose=entities.robots_of(base.loose), file=None, first=None, infos=infos)


def loaded(
    begin: World, now: World, file: WorldFile, parts: SceneParts
) -> tuple[World, list[Finding]]:
    """Return the initial robots with the objects and obstacles of a file, and the warnings.

    Args:
        begin: as for robots_alone.
        now: as for robots_alone.
        file: the file of the world.
        parts: the objects and obstacles of this file.
    """
    if parts.objects or parts.obstacles or parts.floor:
        _check_contact(begin)
    robots, taken = robots_alone(begin, now), set(begin.first_robots.values())
    source = file.uri or str(TEXT)
    how = begin.strict, begin.package_dirs
    loose = entities.with_world(robots.loose, parts, source, *how, taken=taken)
    world = _made(robots, loose=loose, file=file)
    m, findings = placed_objects(world.m.replaced(qpos0=world.start), loose)
    if m.njnt > 0 and m.body_names[1] not in loose.objects:
        m, more = out_of_obstacles(m)
        findings += more
    raised = m.qpos0 - world.start  # is 0 except at the heights of raised bodies
    moved = world.m.replaced(qpos0=world.m.qpos0 + raised)
    warnings = [finding for finding in findings if finding.severity == "warning"]
    return replace(world, m=moved, start=np.array(m.qpos0)), warnings


def without_namesakes(world: World, qpos: Array) -> World:
    """Return a world without spawned objects that have the name of a deleted initial object.

    A reset needs these names, because deleted initial objects return. Raises RbdynError if an
    entity that returns would overlap another body.

    Args:
        world: the present world.
        qpos: (nq,) present position.
    """
    first = world.as_loaded
    new = world
    if namesakes := [name for name in world.spawned if name in first.loose.objects]:
        new = without(world, *namesakes)
    solid = {(one.name, one.shape, one.origin) for one in new.loose.obstacles}
    back = [name for name in first.loose.objects if name not in new.loose.objects]
    back += [x.name for x in first.loose.obstacles if (x.name, x.shape, x.origin) not in solid]
    then = _in(first, new, _in(new, world, qpos))
    for name in back:
        _check_return(first, name, then)
    return new


def _check_return(first: World, name: str, qpos: Array) -> None:
    """Raise RbdynError if an initial entity would overlap a body at the position qpos (nq,)."""
    try:
        placed_entity(first.m, first.loose, name, qpos)
    except DescriptionError as error:
        reason = error.findings[0].message.partition(";")[0]
        text = f"{quote(name)} cannot return to its start: {reason}; reset the state, too"
        raise refusal(text, "no-room") from error


def _with_fixed_base(world: World) -> World:
    """Return the world with a fixed root above the robot, so that objects can be added to it."""
    if not world.floating:
        return world
    loose, first = entities.floating_scene(world.loose), world.as_loaded
    return replace(world, loose=loose, floating=False, first=first)


def _changed(world: World, **changes: Any) -> World:
    """Return a world with changed attributes; a reset of the world undoes these changes."""
    return _made(world, first=world.as_loaded, **changes)


def _made(world: World, **changes: Any) -> World:
    """Return a changed world with a new Model; old joints keep their start positions."""
    new = replace(world, **changes)
    m = complete(new.description, new.floating, new.strict, before=world.m)
    m = with_actuators_of(m, world.m)
    start = Match(world.m, m).coordinates(world.start, m.qpos0)
    return replace(new, m=m, start=start)


def _in(new: World, old: World, qpos: Array) -> Array:
    """Convert a position (nq,) of the old world to the new; new joints are at their qpos0."""
    return Match(old.m, new.m).coordinates(qpos, new.m.qpos0)
