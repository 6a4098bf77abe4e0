# SPDX-License-Identifier: Apache-2.0
"""Warn of elements that rbdyn_ros reads but urdfdom, the parser of most ROS programs, refuses.

urdfdom 6.0 splits vectors only at blanks and accepts no white space after a number. After an error
in a joint it refuses the robot; after an error in a link it drops the rest of the link, in the
order inertial, visuals, collisions.
"""

from collections import Counter
from xml.etree import ElementTree as ET

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.errors import quote

URDFDOM = "urdfdom 6.0 (robot_state_publisher, MoveIt, Pinocchio)"
REFUSES = f"{URDFDOM} refuses the robot"
#: Types of joints whose `<axis>` urdfdom does not read.
AXIS_FREE = ("fixed", "floating")
#: Parts that urdfdom drops after an error in a link, by the invalid element.
_DROPPED = {
    "collision": "this and all further collisions of the link",
    "visual": "this and all further visuals of the link, and all its collisions",
}
_INERTIAL = "the inertial, the visuals and the collisions of the link"
#: Children that rbdyn_ros does not use, with their required numbers and their other numbers.
_UNUSED = {
    "safety_controller": (("k_velocity",), ("soft_lower_limit", "soft_upper_limit", "k_position")),
    "calibration": ((), ("rising", "falling")),
}


def drops(broken: str) -> str:
    """Return a sentence with the parts that urdfdom drops for an invalid child of a link."""
    return f"{URDFDOM} drops {_DROPPED.get(broken, _INERTIAL)}"


def is_refused(text: str, count: int) -> bool:
    """Return whether urdfdom refuses the white space in a text of `count` numbers."""
    pieces = text.split(" ") if count > 1 else [text]
    return any(len(piece.split()) != 1 or piece[-1].isspace() for piece in pieces if piece)


def audit_joint(joint: ET.Element, owner: str, audit: Audit) -> None:
    """Warn of a `<dynamics>`, `<safety_controller>` or `<calibration>` that urdfdom refuses."""
    for part in joint:
        line = getattr(part, "line", None)
        missing: list[str] = []
        if part.tag == "dynamics" and not {"damping", "friction"} & set(part.attrib):
            missing = ["damping or friction"]
        needed, others = _UNUSED.get(part.tag, ((), ()))
        missing += [name for name in needed if name not in part.attrib]
        if missing:
            message = f"its <{part.tag}> has no {missing[0]}: {REFUSES}"
            audit.add("warning", "unportable", owner, line, message, allowed=missing[0])
        for name in (*needed, *others):
            text = part.get(name)
            if text is not None and not _is_number(text):
                message = f"<{part.tag} {name}> is {quote(text)}, not a number: {REFUSES}"
                audit.add("warning", "unportable", owner, line, message, found=text)


def audit_materials(robot: ET.Element, owner: str, audit: Audit) -> None:
    """Warn of materials of a robot with the same name, which urdfdom refuses."""
    counts: Counter[str] = Counter()
    for material in robot.iterfind("material"):
        name = material.get("name", "")
        counts[name] += 1
        if counts[name] == 2:
            message = f"it has a second <material> {quote(name)}: {REFUSES}"
            line = getattr(material, "line", None)
            audit.add("warning", "unportable", owner, line, message, found=name)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and "_" not in text and not text[-1].isspace()
