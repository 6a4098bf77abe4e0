# SPDX-License-Identifier: Apache-2.0
"""Publish the objects and obstacles of a scene as MoveIt's planning scene.

All messages are differences. `move_group` subscribes without history, so for some seconds after a
new subscriber appears, every message has the whole scene. An object that the robot holds is
attached to the robot, so that MoveIt moves both.

Poses are in frames of the robot, because MoveIt reads no transforms for a scene. If the SRDF fixes
the robot, the planning frame is the root link. A held object has its pose in the frame of the link
that holds it, so that the motion of the arm does not change it.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from rclpy.node import Node

from rbdyn_ros.description.build.renaming import root_of
from rbdyn_ros.description.parts.poses import IN_PLACE, Pose, compose, inverse
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.description.scenes.entities import Weld, entity_of
from rbdyn_ros.engine.contact.points.contact_list import bodies_of_pair
from rbdyn_ros.model.declared.contact_arrays import FEATURES
from rbdyn_ros.model.model import Model
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.ros.common.graph.qos import reliable
from rbdyn_ros.ros.common.parsing import convert
from rbdyn_ros.ros.simulator.topics.collision_shapes import fill_shapes, pose_message
from rbdyn_ros.ros.simulator.topics.ticker import Ticker
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.runtime.state import LoopState

TOPIC = "planning_scene"
#: Rate of the differences [Hz]; after a new subscriber appears, the interval of whole scenes, and
#: the time for which they are sent [s].
RATE, AGAIN, LONG = 10.0, 1.0, 5.0
#: Smaller changes of a pose are not published [m, and components of a quaternion].
STILL = 1e-5


@dataclass(frozen=True, slots=True)
class SceneContent:
    """The parts of a scene besides the robot.

    Attributes:
        m: the Model.
        description: description from which the Model was made, without attachments.
        welds: welds of attached links.
        places: returns the poses of links at a position (nq,) and a time [s].
    """

    m: Model
    description: Description
    welds: tuple[Weld, ...]
    places: Callable[[Any, float], Any]


def open_planning_scene(
    node: Node, loop: Loop, content: SceneContent, values: SimpleNamespace
) -> "PlanningSceneTopic | None":
    """Return the topic; None: it is switched off, or moveit_msgs is not installed (a warning)."""
    if not values.publish_planning_scene:
        return None
    try:
        return PlanningSceneTopic(node, loop, content, values.world_frame or "world")
    except ImportError:
        return None


class PlanningSceneTopic:
    """Publishes planning_scene, in the thread that publishes states.

    Args:
        node: node that publishes.
        loop: loop of the robot.
        content: content of the scene.
        world_frame: frame of the poses, unless the robot is fixed to the world.

    Attributes:
        period: period of publishing [ticks].

    Raises:
        ImportError: moveit_msgs is not installed.
    """

    def __init__(self, node: Node, loop: Loop, content: SceneContent, world_frame: str) -> None:
        self._msgs = importlib.import_module("moveit_msgs.msg")
        self._shapes = importlib.import_module("shape_msgs.msg")
        self._world_frame = world_frame
        self._publisher = node.create_publisher(self._msgs.PlanningScene, TOPIC, reliable(10))
        self.period = max(1, round(NANOSECONDS / (RATE * loop.period_ns)))
        self._ticker = Ticker(self.period)
        self._subscribers, self._whole = 0, 0
        self._each = max(1, round(AGAIN * RATE))
        self._shown: dict[str, Pose] = {}
        self._attached: dict[str, str] = {}
        self.prepare(content)()

    def prepare(self, content: SceneContent) -> Callable[[], None]:
        """Prepare for another scene; return the function that switches to it."""
        description = content.description
        solid = {geom.link for geom in description.geometries}
        objects = set(description.objects)
        links = [x for x in content.m.frame_names if x in solid and entity_of(x, objects)]
        root = fixed_root(content)
        whole = {name: self._object(name, description) for name in links}
        fixed = {one.name: self._object(one.name, description) for one in description.obstacles}

        def commit() -> None:
            self._content, self._links, self._objects = content, links, whole | fixed
            self._fixed = {one.name: one.origin for one in description.obstacles}
            self._root, self._frame = root, root or self._world_frame
            self._whole = round(LONG * RATE)

        return commit

    def _object(self, name: str, description: Description) -> Any:
        """Return the CollisionObject of an object or obstacle, with its shapes."""
        message = self._msgs.CollisionObject(id=name)
        message.operation = self._msgs.CollisionObject.ADD
        for one in description.obstacles:
            if one.name == name:
                fill_shapes(message, self._shapes, one.shape, IN_PLACE)
        for geom in description.geometries:
            if geom.link == name:
                fill_shapes(message, self._shapes, geom.shape, geom.origin)
        return message

    def publish(self, stamp_ns: int, state: LoopState) -> None:
        """Publish the changes of the scene if they are due and a node subscribes."""
        if not self._ticker.due(state):
            return
        count = self._publisher.get_subscription_count()
        if count > self._subscribers:
            self._whole = round(LONG * RATE)
        self._subscribers = count
        if count == 0 or not np.isfinite(state.qpos).all():
            return
        whole = self._whole > 0 and self._whole % self._each == 0
        self._whole = max(0, self._whole - 1)
        message = self._difference(stamp_ns, state, whole)
        if message is not None:
            self._publisher.publish(message)

    def _difference(self, stamp_ns: int, state: LoopState, whole: bool) -> Any:
        """Return the change since the last message, or None; `whole`: return the whole scene."""
        places = self._content.places(state.qpos, state.time)
        poses, held = self._poses(places), held_objects(self._content, state, self._links)
        attached = [
            self._attach(name, link, places, stamp_ns)
            for name, link in held.items()
            if whole or self._attached.get(name) != link
        ]
        attached += [
            self._removal(name, attached=True) for name in self._attached.keys() - held.keys()
        ]
        # leave out held objects: they are published again when the hand opens
        shown = {
            name: self._shown[name] for name in self._shown.keys() & poses.keys() - held.keys()
        }
        objects = []
        for name, pose in poses.items():
            known = shown.get(name)
            if name not in held and (whole or known is None or _moved(known, pose)):
                add = whole or known is None
                objects.append(self._placed(name, self._frame, pose, stamp_ns, add))
                shown[name] = pose
        gone = (self._shown.keys() | self._attached.keys()) - poses.keys()
        # remove all objects that are gone, including those that were held
        objects += [self._removal(name) for name in gone]
        self._shown, self._attached = shown, held
        if not objects and not attached:
            return None
        message = self._msgs.PlanningScene(is_diff=True)
        message.robot_state.is_diff = True
        message.world.collision_objects = objects
        message.robot_state.attached_collision_objects = attached
        return message

    def _poses(self, places: Any) -> dict[str, Pose]:
        """Return the poses of all objects and obstacles in the frame of the scene, by name."""
        back = inverse(places.of(self._root)) if self._root else IN_PLACE
        poses = self._fixed | {name: places.of(name) for name in self._links}
        return {name: compose(back, pose) for name, pose in poses.items()}

    def _placed(self, name: str, frame: str, pose: Pose, stamp_ns: int, whole: bool) -> Any:
        """Return an object at a pose: with its shapes if `whole`, else only its motion."""
        message = self._objects[name]
        if not whole:
            message = self._msgs.CollisionObject(id=name)
            message.operation = self._msgs.CollisionObject.MOVE
        message.header.frame_id = frame
        message.header.stamp = convert.time_message(stamp_ns)
        message.pose = pose_message(pose)
        return message

    def _attach(self, name: str, link: str, places: Any, stamp_ns: int) -> Any:
        pose = compose(inverse(places.of(link)), places.of(name))
        message = self._msgs.AttachedCollisionObject(link_name=link)
        message.object = self._placed(name, link, pose, stamp_ns, whole=True)
        message.touch_links = hand_links(self._content.m, link)
        return message

    def _removal(self, name: str, attached: bool = False) -> Any:
        message = self._msgs.CollisionObject(id=name)
        message.operation = self._msgs.CollisionObject.REMOVE
        return self._msgs.AttachedCollisionObject(object=message) if attached else message


def fixed_root(content: SceneContent) -> str:
    """Return the root link if the robot is fixed and its URDF has this link; else ''."""
    m, description = content.m, content.description
    root = (*description.robots, root_of(description))[0]
    return root if "/" not in root and m.frame_bodyid[m.frame_id(root)] == 0 else ""


def held_objects(content: SceneContent, state: LoopState, links: list[str]) -> dict[str, str]:
    """Return for each held object the link that holds it.

    An object is held if it is welded to a link of the robot. It is also held if two or more bodies
    of the robot touch it, and nothing else does; the nearest common ancestor of these bodies then
    holds it.

    Args:
        content: content of the scene.
        state: state of the robot.
        links: links of the objects.
    """
    m = content.m
    of_objects = {int(m.frame_bodyid[m.frame_id(name)]): name for name in links}
    found = _welded(content.welds, links)
    touching: dict[str, set[int]] = {}
    for key in state.stick[:, 0].tolist():
        bodies = bodies_of_pair(m, int(key) // FEATURES)
        for body, other in (bodies, bodies[::-1]):
            if body in of_objects:
                touching.setdefault(of_objects[body], set()).add(int(other))
    for name, others in touching.items():
        if name not in found and len(others) > 1 and not others & {0, -1, *of_objects}:
            found[name] = m.body_names[_branch(m, others)]
    return {name: link for name, link in found.items() if m.frame_bodyid[m.frame_id(link)] > 0}


def _welded(welds: tuple[Weld, ...], links: list[str]) -> dict[str, str]:
    """Return the links of robots to which objects are welded, by the name of the object."""
    pairs = [(weld.link, weld.to) for weld in welds]
    pairs += [(to, link) for link, to in pairs]
    return {one: other for one, other in pairs if one in links and other not in links}


def _branch(m: Model, bodies: set[int]) -> int:
    """Return the nearest common ancestor of bodies; a body counts as its own ancestor."""
    chains = [_chain(m, body) for body in bodies]
    common = set.intersection(*map(set, chains))
    return max(common, key=chains[0].index)


def _chain(m: Model, body: int) -> list[int]:
    """Return the bodies from the world to a body."""
    chain = [body]
    while chain[-1] > 0:
        chain.append(int(m.body_parentid[chain[-1]]))
    return chain[::-1]


def hand_links(m: Model, link: str) -> list[str]:
    """Return the links of a link's body and of all that it carries; they may touch the object."""
    root = int(m.frame_bodyid[m.frame_id(link)])
    carried = {body for body in range(m.nbody) if root in _chain(m, body)}
    return [
        name
        for name, body in zip(m.frame_names, m.frame_bodyid.tolist(), strict=True)
        if body in carried
    ]


def _moved(before: Pose, pose: Pose) -> bool:
    row = np.subtract((*before.pos, *before.quat), (*pose.pos, *pose.quat))
    return bool(np.abs(row).max() > STILL)
