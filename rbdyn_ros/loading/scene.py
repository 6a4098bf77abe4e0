# SPDX-License-Identifier: Apache-2.0
"""Make the Model of a scene: robots, free objects and obstacles in one world."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.checks.numbers import flag
from rbdyn_ros.description.build.arguments import name as checked_name
from rbdyn_ros.description.build.builder import SystemBuilder
from rbdyn_ros.description.checks.kinds import audit_exclude, audit_scene_kinds
from rbdyn_ros.description.parts.geometries import Exclusion, Obstacle
from rbdyn_ros.description.parts.objects import Object, Placed
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.description.scenes.scene import SceneParts, scene_description
from rbdyn_ros.errors import ParameterError, not_allowed
from rbdyn_ros.loading.load import complete
from rbdyn_ros.model.model import Model

#: Types of a robot of a scene.
RobotSource = str | Path | bytes | SystemBuilder | Description | Placed


def scene(
    robot: RobotSource | Mapping[str, RobotSource] | None = None,
    objects: Sequence[Object] = (),
    obstacles: Sequence[Obstacle] = (),
    *,
    floor: bool = True,
    exclude: Sequence[tuple[str, str]] = (),
    name: str = "scene",
    package_dirs: Sequence[str | Path] = (),
    strict: bool = True,
) -> Model:
    """Return one Model of robots, free objects and obstacles.

        m = rb.scene(
            "panda.urdf",
            objects=[rb.Object("cube", rb.Box((0.05, 0.05, 0.05)), mass=0.1,
                               pose=rb.pose((0.5, 0.0, 0.43)))],
            obstacles=[rb.Obstacle("table", rb.Box((0.8, 1.2, 0.4)), rb.pose((0.6, 0.0, 0.2)))],
        )

    Every object has a floating joint of its name, whose position is its pose in the world. Its
    start pose is in qpos0; an object that starts inside an obstacle is raised out of it.

    Args:
        robot: a file, a URDF text, a SystemBuilder, a Description, or one of these with its pose,
            as Placed. A mapping of names to these gives several robots; the names of their parts
            then begin with the name of their robot and a slash. The `<collision>` elements of
            robots are used for contact.
        objects: free objects.
        obstacles: shapes fixed in the world.
        floor: whether there is a floor at height 0, unless an obstacle is called floor.
        exclude: pairs of names of links, objects, geometries or obstacles that do not push each
            other, and that `collisions` leaves out.
        name: name of the Model.
        package_dirs: as for load_urdf.
        strict: as for load_urdf.

    Raises:
        DescriptionError: with all errors of the robots and objects; or an object starts inside
            another object or inside a robot.
        ParameterError: an argument has the wrong type.
    """
    parts = SceneParts(
        checked_name("the name of the scene", name),
        _robots(robot),
        _all("objects", objects, Object),
        _all("obstacles", obstacles, Obstacle),
        flag("floor", floor),
        _excluded(exclude),
    )
    _check_kinds(parts)
    audit = Audit(strict=strict)
    described = scene_description(parts, audit, name, package_dirs)
    audit.raise_errors(name)
    return complete(described, strict=strict)


def _robots(robot: object) -> dict[str, Placed]:
    if robot is None:
        return {}
    if isinstance(robot, Mapping):
        return {checked_name("the name of a robot", key): _placed(x) for key, x in robot.items()}
    return {"": _placed(robot)}


def _placed(robot: Any) -> Placed:
    return robot if isinstance(robot, Placed) else Placed(robot)


def _check_kinds(parts: SceneParts) -> None:
    audit = Audit()
    if not audit_scene_kinds(parts.robots, parts.objects, parts.obstacles, audit):
        raise ParameterError(audit.errors)


def _excluded(exclude: object) -> list[Exclusion]:
    audit = Audit()
    audit_exclude(exclude, audit, "scene")
    if audit.errors:
        raise ParameterError(audit.errors)
    pairs: Any = exclude
    return [Exclusion(first, second) for first, second in pairs]


def _all(what: str, parts: object, kind: type) -> tuple[Any, ...]:
    called = f"a list of {kind.__name__}s"
    if not isinstance(parts, list | tuple):
        raise not_allowed(what, parts, called)
    for part in parts:
        if not isinstance(part, kind):
            raise not_allowed(f"one of {what}", part, called)
    return tuple(parts)
