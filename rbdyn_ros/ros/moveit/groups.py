# SPDX-License-Identifier: Apache-2.0
"""The planning groups of a robot: its arm, a chain of joints, and its gripper."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from rbdyn_ros.control.base.limits import Limits
from rbdyn_ros.description.parts.spanning import span
from rbdyn_ros.description.parts.types import Description, Joint
from rbdyn_ros.dynamics.commanded import commanded_joints
from rbdyn_ros.errors import Finding, ParameterError, did_you_mean, listing, quote
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.common.gripper.grippers import Gripper, gripper_of, presets_of

#: Name of the tool frame in ROS-Industrial; in a robot it may have a prefix.
TOOL = "tool0"

#: For each link: the joint that carries it, and the link at the other end of this joint.
Rises = Mapping[str, tuple[Joint, str]]


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups that MoveIt plans for.

    Attributes:
        root: root link of the robot, fixed to the world.
        base, tip: links at the ends of the arm.
        joints: joints of the arm, from the base to the tip.
        limits: limits of these joints.
        gripper: gripper at the tip, or None.
        gripper_name: the gripper as the parameter `grippers` of both nodes names it; empty: there
            is no gripper.
        gripper_links: links that the gripper consists of.
        mount: link of the arm that carries the gripper; empty: there is no gripper.
    """

    root: str
    base: str
    tip: str
    joints: tuple[str, ...]
    limits: Limits
    gripper: Gripper | None = None
    gripper_name: str = ""
    gripper_links: tuple[str, ...] = ()
    mount: str = ""


def groups_of(m: Model, description: Description, tip: str = "", gripper: str = "") -> Groups:
    """Return the groups of a robot.

    Args:
        m: the Model.
        description: description of the robot.
        tip: link at the end of the arm; empty: the end of the only chain of joints.
        gripper: preset or joint, as in the parameter `grippers`; empty: the only preset whose
            joint the robot has, if there is such a preset.

    Raises:
        ParameterError: there is no such link or gripper, no joint or more than one chain is left
            for the arm, a joint cannot be controlled, the gripper is not at the tip, or it has
            several joints that can be commanded.
    """
    presets = presets_of(m)
    name = gripper or (presets[0] if len(presets) == 1 else "")
    hand = gripper_of(m, name) if name else None
    tree = span(description)
    root, rises = tree.base, tree.rises()
    moving = {m.jnt_names[j] for j in commanded_joints(m)} - {hand.joint if hand else ""}
    if tip and tip not in m.frame_names:
        raise _error("tip", f"there is no link {quote(tip)}{did_you_mean(tip, m.frame_names)}")
    last = _last(tip, rises, moving) if tip else _end_of_chain(m, rises, moving)
    links, mount = _hand(hand, rises) if hand else ((), "")
    own = [rises[link][0].name for link in links if rises[link][0].name in moving]
    if own:
        text = f"the gripper {quote(name)} carries further joints that can be commanded, "
        text += f"{listing(own)}; MoveIt moves one joint of a gripper, which others <mimic>"
        raise _error("gripper", text)
    if tip in links:
        text = f"the tip {quote(tip)} is a link of the gripper {quote(name)}, which link "
        raise _error("tip", f"{text}{quote(mount)} carries")
    tip = tip or mount or _tool(last, rises)
    path = _path(tip, rises)
    carried = [(link, joint.name) for link, joint in reversed(path) if joint.name in moving]
    base = rises[carried[0][0]][1]
    if hand and mount not in (link for link, _ in path):
        text = f"the gripper {quote(hand.joint)} is on link {quote(mount)}, which is not a link "
        text += f"of the arm from {quote(base)} to {quote(tip)}"
        raise _error("gripper", text)
    joints = tuple(joint for _, joint in carried)
    return Groups(root, base, tip, joints, Limits.of(m, joints), hand, name, links, mount)


def _path(link: str, rises: Rises) -> list[tuple[str, Joint]]:
    """Return the links from a link towards the root, without the root; each with its joint."""
    path = []
    while link in rises:
        joint, above = rises[link]
        path.append((link, joint))
        link = above
    return path


def _last(tip: str, rises: Rises, moving: Collection[str]) -> str:
    """Return the link nearest to the tip whose own joint is in `moving`.

    Raises:
        ParameterError: there is no such joint between the base and the tip.
    """
    for link, joint in _path(tip, rises):
        if joint.name in moving:
            return link
    text = f"no joint that can be controlled lies between the base and the link {quote(tip)}"
    raise _error("tip", text)


def _end_of_chain(m: Model, rises: Rises, moving: Collection[str]) -> str:
    """Return the link at the end of the only chain of `moving` joints.

    Raises:
        ParameterError: there is no such joint, or there are several chains.
    """
    carried = [link for link, (joint, _) in rises.items() if joint.name in moving]
    inner = {above for link in carried for above, _ in _path(link, rises)[1:]}
    ends = [link for link in carried if link not in inner]
    if len(ends) == 1:
        return ends[0]
    if not ends:
        text = f"{quote(m.name)} has no arm: no joint is left that can be controlled"
        raise _error("no-arm", text)
    text = f"{quote(m.name)} has {len(ends)} chains of joints, which end in the links "
    text += f"{listing(ends)}; name the link at the end of the arm with --tip"
    raise _error("several-arms", text)


def _hand(hand: Gripper, rises: Rises) -> tuple[tuple[str, ...], str]:
    """Return the links of a gripper, and the link of the arm that carries the gripper.

    The palm, which carries the fingers, belongs to the gripper if a fixed joint connects it to the
    arm.
    """
    palm = next(above for joint, above in rises.values() if joint.name == hand.joint)
    joint, above = rises.get(palm, (None, palm))
    own = joint is not None and joint.type == "fixed"
    links = [link for link in rises if palm in (at for at, _ in _path(link, rises))]
    return tuple(link for link in links if own or link != palm), above if own else palm


def _tool(last: str, rises: Rises) -> str:
    """Return the tool frame on link `last`: tool0, the end of a fixed chain, or `last` itself."""
    fixed = [last]
    for link in fixed:
        joints = rises.items()
        fixed += [at for at, (joint, on) in joints if on == link and joint.type == "fixed"]
    tools = [link for link in fixed if link.endswith(TOOL)]
    if tools:
        return tools[0]
    carrying = [rises[link][1] for link in fixed[1:]]
    return fixed[-1] if len(set(carrying)) == len(carrying) else last


def _error(code: str, text: str) -> ParameterError:
    return ParameterError(Finding(code, text, "error", "moveit"))
