# SPDX-License-Identifier: Apache-2.0
"""Read the vendors' elements of a robot: <ros2_control>, <transmission> and <gazebo>.

The functions below read the elements with a meaning here. A note names each kind of all other
elements and attributes once, with its reason in words.WHY: elements that are not read, and
elements that a function puts back because the simulator lacks their feature.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from rbdyn_ros.checks.audit import Audit, Lenient, Subject, plain, robot_element
from rbdyn_ros.description.checks.geometries import audit_surface
from rbdyn_ros.description.checks.joints import audit_joint, audit_joint_numbers
from rbdyn_ros.description.checks.mimics import audit_mimic_limits, audit_mimics
from rbdyn_ros.description.parts.geometries import Exclusion, Geometry, Surface
from rbdyn_ros.description.parts.joint_types import JOINT_SPECS
from rbdyn_ros.description.parts.types import Description, Joint, Mimic
from rbdyn_ros.description.reading.guard import Element
from rbdyn_ros.description.urdf_files.joint_limits import narrowed
from rbdyn_ros.description.urdf_files.schema import VENDORS
from rbdyn_ros.description.xml_files.sdf_elements import SdfElement, SdfFile
from rbdyn_ros.description.xml_files.sdf_sensors import SensorEntries
from rbdyn_ros.description.xml_files.sdf_surfaces import bounded
from rbdyn_ros.description.xml_files.sdf_words import count_unused
from rbdyn_ros.description.xml_files.unused import Unused
from rbdyn_ros.errors import counted, listing, quote

_NEWEST = (1, 12)
#: Largest number of pairs of links that <selfCollide> excludes from contact.
_MOST_PAIRS = 100_000
#: Interfaces of ros2_control for sensors that the simulator has.
_IMU = frozenset(("orientation", "angular_velocity", "linear_acceleration"))
_WRENCH = frozenset(("force", "torque"))
#: Interfaces of ros2_control's sensors of a link, by type of a sensors file.
_OF_LINK = {
    "imu": _IMU,
    "pose": frozenset(("position", "orientation")),
    "magnetometer": frozenset(("magnetic_field",)),
}
_REDUCTIONS = ("mechanicalReduction", "mechanical_reduction")
_DRAKE_ROTOR, _DRAKE_RATIO = "drake:rotor_inertia", "drake:gear_ratio"
#: A rule returns the joint changed by a text, or the reason why the joint is not changed, or None
#: if WHY has the reason.
_Rule = Callable[[Joint, str], Joint | str | None]


def take_vendors(robot: Element, source: str, audit: Audit) -> "VendorParts":
    """Remove the elements of vendors from a tree, and return them."""
    root = Element("robot", {})
    root.line = robot.line
    for part in [part for part in robot if part.tag in VENDORS]:
        robot.remove(part)
        root.append(part)
        for old in part.iterfind("*[@value]") if part.tag == "gazebo" else ():
            old.text = old.attrib.pop("value")  # old files of Gazebo have <mu1 value="9"/>
    return VendorParts(SdfFile(Path(source), Lenient(audit), root, _NEWEST))


class VendorParts:
    """The extensions of vendors to a robot."""

    def __init__(self, file: SdfFile) -> None:
        self._file = file
        self._joints: dict[str, Joint] = {}
        self._surfaces: dict[str, Surface] = {}
        self._apart: dict[str, int] = {}
        self._driven: set[str] = set()
        self._collides = True

    def applied(self, robot: Description, found: Unused) -> Description:
        """Return a robot with its starts, limits, springs, rotors and sensors.

        Args:
            robot: not checked yet.
            found: receives the kinds of unread elements and attributes.
        """
        first = {joint.name: joint for joint in robot.joints}
        self._joints, self._name = {**first}, robot.name
        self._links = {link.name for link in robot.links}
        self._entries = SensorEntries((*self._links, *self._joints))
        for tag, read in zip(
            VENDORS, (self._control, self._transmission, self._gazebo), strict=True
        ):
            for part in self._file.top.children(tag):
                part.attribute("name")
                read(part)
        self._note_changes(first)
        if self._driven and any(joint.closes_loop for joint in robot.joints):
            for name, joint in self._joints.items():
                driven = name in self._driven or joint.type == "fixed"
                self._joints[name] = joint if driven else replace(joint, actuated=False)
        count_unused(self._file.root, self._file.used, (), found)
        joints = [
            self._joints[joint.name] if first[joint.name] is joint else joint
            for joint in robot.joints
        ]
        return replace(
            robot,
            links=(*robot.links, *self._entries.links),
            joints=(*joints, *self._entries.joints),
            sensors=tuple(self._entries.sensors),
            self_collision=self._collides,
        )

    def touched(self, robot: Description) -> Description:
        """Return a robot that has geometries, with the friction and excluded pairs of <gazebo>."""
        links = dict.fromkeys(geometry.link for geometry in robot.geometries)
        if links and self._apart.keys() >= links.keys():
            robot = replace(robot, self_collision=False)
            self._apart = {}
        elif len(links) * len(self._apart) > _MOST_PAIRS:
            text = f"<gazebo> excludes more than {_MOST_PAIRS} pairs of its links; here they touch"
            self._file.audit.add("warning", "not-used", f"robot {quote(robot.name)}", None, text)
            self._apart = {}
        pairs = [
            Exclusion(one, other, self._apart.get(one) or self._apart[other], links=True)
            for one, other in combinations(links, 2)
            if one in self._apart or other in self._apart
        ]
        usual = Surface()
        dressed = [x for x in links if self._surfaces.get(x, usual) != usual]
        self._note("<gazebo> sets the surface", "link", dressed)
        return replace(
            robot,
            geometries=tuple(self._dressed(geometry) for geometry in robot.geometries),
            exclusions=(*robot.exclusions, *pairs),
        )

    def _note_changes(self, first: Mapping[str, Joint]) -> None:
        """Add a note for each kind of change of the joints since `first`."""
        for text, fields in _CHANGES.items():
            changed = [
                name
                for name, joint in self._joints.items()
                if joint.type != "fixed"
                and any(getattr(joint, x) != getattr(first[name], x) for x in fields)
            ]
            self._note(text, "joint", changed)

    def _note(self, what: str, kind: str, names: Sequence[str]) -> None:
        """Add one note about a change `what` of several links or joints."""
        if names:
            text = f"{what} of {counted(len(names), kind)}: {listing(names)}"
            self._file.audit.add("note", "vendor-value", robot_element(self._name), None, text)

    def _dressed(self, geometry: Geometry) -> Geometry:
        surface = self._surfaces.get(geometry.link)
        return geometry if surface is None else replace(geometry, surface=surface)

    def _control(self, part: SdfElement) -> None:
        part.attribute("type")
        for joint in part.children("joint"):
            self._controlled(joint, joint.name)
        for child in list(part.children("sensor")):
            self._control_sensor(child)
        for child in part.children("transmission"):
            child.attribute("name")
            self._transmission(child)

    def _controlled(self, joint: SdfElement, name: str) -> None:
        own = {param.name: param for param in joint.children("param")}
        known = ("mimic", *(key for key, _ in _MIMIC)) if "mimic" in own else ()
        _put_back(param for key, param in own.items() if key not in known)
        if "mimic" in own:
            numbers = [_number(own[key].text) if key in own else usual for key, usual in _MIMIC]
            self._change(own["mimic"], name, lambda j, leader: self._follow(j, leader, *numbers))
        ranged = _enabled(joint)
        for interface in joint.children("command_interface", "state_interface"):
            if interface.tag == "command_interface":
                self._driven.add(name)
            params = list(interface.children("param"))
            ends = [abs(_number(param.text)) for param in params if param.name in _ENDS]
            for param in params:
                rule = _RULES.get(f"{interface.tag} {interface.name} {param.name}", _unread)
                if interface.tag == "command_interface" and interface.name in _FIELDS:
                    counts = param.name in _ENDS and ranged and _enabled(interface)
                    rule = _ranged(interface.name, ends) if counts else _unread
                self._change(param, name, rule)

    def _follow(
        self, joint: Joint, leader: str, ratio: float, offset: float
    ) -> Joint | str | None:
        wanted = Mimic(leader, ratio, offset)
        if joint.mimic is not None:
            return joint if joint.mimic == wanted else None
        if leader not in self._joints:
            return (
                f"the robot has no joint of this name{self._file.audit.hint(leader, self._joints)}"
            )
        if not (math.isfinite(ratio) and math.isfinite(offset)):
            return "its multiplier or its offset is not a finite number"
        return replace(joint, mimic=wanted)

    def _control_sensor(self, part: SdfElement) -> None:
        words = {state.name.split(".")[0] for state in part.children("state_interface")}
        params = {param.name: param.text for param in part.children("param")}
        link = params.get("frame_id", "")
        above = [joint.name for joint in self._joints.values() if joint.child == link]
        kind = next((kind for kind, known in _OF_LINK.items() if words and words <= known), "")
        if link not in self._links and words and (kind or words <= _WRENCH):
            text = f"its frame_id is {quote(link)}, which is not a link; it is left out"
            part.note("not-used", text, "warning", found=link)
        elif link in self._links and kind:
            self._entries.add(part.name, kind, link, {}, part.line)
        elif above and words and words <= _WRENCH:
            self._entries.across(part.name, above[0], link, {}, part.line)
        else:
            part.put_back()

    def _transmission(self, part: SdfElement) -> None:
        """Note the driven joints; read a reduction, which acts only with a rotor's inertia."""
        part.word("type"), part.word("plugin")
        joints, actuators = list(part.children("joint")), list(part.children("actuator"))
        self._driven.update(joint.name for joint in joints)
        for end in (*joints, *actuators):
            end.attribute("name"), end.attribute("role")
            list(end.children("hardwareInterface"))
            for tag in _REDUCTIONS:
                _put_back(x for x in end.children(tag) if _number(x.text) != 1.0)
            _put_back(x for x in end.children("offset") if _number(x.text) != 0.0)
        if len(joints) > 1:
            text = f"it connects {len(joints)} joints, which move independently here"
            part.note("not-used", text, "warning", found="<transmission>")
        rotor, ratio = (
            next((x for actuator in actuators for x in actuator.children(tag)), None)
            for tag in (_DRAKE_ROTOR, _DRAKE_RATIO)
        )
        if rotor is not None and len(joints) == 1:
            turns = 1.0 if ratio is None else _number(ratio.attribute("value", "1"))
            inertia = _number(rotor.attribute("value")) * turns * turns
            self._change(
                rotor,
                joints[0].name,
                lambda j, _: _with_rotor(j, inertia),
                rotor.attribute("value"),
            )

    def _gazebo(self, part: SdfElement) -> None:
        name = part.attribute("reference")
        if not name:
            self._collides &= part.flag("self_collide", default=True)
            return
        if name in self._links:
            self._of_link(replace(part, owner=f"link {quote(name)}"), name)
        if name in self._joints:
            self._of_joint(replace(part, owner=f"joint {quote(name)}"), name)
        if name not in self._links and name not in self._joints:
            hint = part.audit.hint(name, (*self._links, *self._joints))
            text = f"<gazebo> names {quote(name)}, which is neither a link nor a joint{hint}"
            part.note("not-used", text, "warning", found=name)

    def _of_link(self, part: SdfElement, name: str) -> None:
        self._entries.of_link(part, name, alone=name not in self._joints)
        if not part.flag("selfCollide", default=True):
            self._apart[name] = part.line
        self._touch(part, name)
        if part.flag("turnGravityOff"):
            text = "it has no gravity; gravity acts on all links alike here"
            part.note("not-used", text, "warning", found="turnGravityOff")

    def _of_joint(self, part: SdfElement, name: str) -> None:
        joint = self._joints[name]
        self._entries.of_joint(
            part, name, joint.child, joint.parent, alone=name not in self._links
        )
        for tag in ("springStiffness", "springReference"):
            for word in part.children(tag):
                self._change(word, name, _RULES[tag])

    def _touch(self, part: SdfElement, link: str) -> None:
        """Read the friction of a link."""
        given = [*part.children("mu", "mu1")]
        usual = Surface().friction
        mu = given[0].number(default=usual) if given else usual
        _put_back(x for x in part.children("mu2") if _number(x.text) != mu)
        if given:
            surface = Surface(friction=bounded(mu, part))
            found = Audit()
            audit_surface(surface, Subject(found, f"link {quote(link)}", part.line))
            for finding in found.findings:
                part.note("not-used", plain(finding), "warning", found=finding.found)
            if not found.findings:
                self._surfaces[link] = surface

    def _change(self, part: SdfElement, name: str, rule: _Rule, given: str | None = None) -> None:
        """Apply a rule to a joint with the given text, by default the text of the element.

        If the rule cannot be applied, warn with the reason or count the element as not read.
        """
        text = part.text if given is None else given
        if (joint := self._joints.get(name)) is None:
            hint = part.audit.hint(name, self._joints)
            result: Joint | str | None = f"the robot has no joint of this name{hint}"
        else:
            result = rule(joint, text)
        if isinstance(result, Joint) and result is not joint:
            result = self._why_not(result) or result
        if isinstance(result, Joint):
            self._joints[name] = result
        elif result is None:
            part.put_back()
        else:
            what = part.name or part.tag
            message = f"the {what} {quote(text)} is not used: {result}"
            owner = f"joint {quote(name)}"
            part.audit.add("warning", "not-used", owner, part.line, message, found=text[:60])

    def _why_not(self, changed: Joint) -> str:
        chain = {changed.name: changed}
        joint: Joint | None = changed
        while joint is not None and joint.mimic is not None:
            joint = self._joints.get(joint.mimic.joint)
            if joint is None or joint.name in chain:
                break
            chain[joint.name] = joint
        found = Audit(strict=self._file.audit.strict)
        if audit_joint_numbers(changed, JOINT_SPECS, found):
            audit_joint(changed, False, found)
            joints = audit_mimics(list(chain.values()), JOINT_SPECS, found)
            audit_mimic_limits(joints, found)
        return plain(found.errors[0]) if found.errors else ""


def _enabled(part: SdfElement) -> bool:
    """Return whether the ranges of a joint or an interface of ros2_control limit commands."""
    limits = part.element.find("limits")
    return limits is None or limits.get("enable", "true").strip().lower() != "false"


def _put_back(parts: Iterator[SdfElement]) -> None:
    """Count elements as not read, because the simulator lacks their features."""
    for part in parts:
        part.put_back()


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _unread(joint: Joint, text: str) -> Joint | None:
    """Return the unchanged joint if the number is 0, such as a start velocity of 0; else None."""
    return joint if _number(text) == 0.0 else None


def _started(joint: Joint, text: str) -> Joint | str:
    value, limit = _number(text), joint.limit
    spec = JOINT_SPECS.get(joint.type)
    if not math.isfinite(value):
        return "it is not a finite number"
    if value == 0.0:
        return joint
    if spec is None or len(spec.coordinates) != 1 or joint.mimic is not None:
        return f"a {'mimic' if joint.mimic else joint.type} joint has no start of its own"
    if limit is not None and not limit.lower <= value <= limit.upper:
        return f"it is outside the limits {limit.lower:g} to {limit.upper:g}"
    return replace(joint, start=(value,))


def _ranged(field: str, ends: Sequence[float]) -> _Rule:
    """Return the rule that narrows the limit `field` to the larger end of a range of commands."""

    def rule(joint: Joint, text: str) -> Joint | str:
        del text
        if any(map(math.isnan, ends)):
            return "an end of its range is not a number"
        if joint.limit is None or not max(ends) > 0.0:
            return "its joint has no such limit" if joint.limit is None else "it is not above 0"
        return narrowed(joint, {field: max(ends)})

    return rule


def _with_rotor(joint: Joint, inertia: float) -> Joint | str:
    sound = inertia >= 0.0 and math.isfinite(inertia)
    return replace(joint, armature=inertia) if sound else "it is not an inertia"


def _within(joint: Joint, text: str) -> Joint | None:
    """Return the unchanged joint if a bound of commands is outside its limits; else None."""
    value, limit = _number(text), joint.limit
    inside = limit is None or limit.lower < value < limit.upper
    return None if inside or math.isnan(value) else joint


def _sprung(joint: Joint, text: str) -> Joint | str:
    value = _number(text)
    sound = math.isfinite(value) and value >= 0.0
    return replace(joint, stiffness=value) if sound else "it is not a stiffness"


def _rested(joint: Joint, text: str) -> Joint | str:
    value = _number(text)
    return replace(joint, rest=(value,)) if math.isfinite(value) else "it is not a position"


#: Text of the note on joints whose fields are changed.
_CHANGES = {
    "<command_interface> narrows the limits": ("limit",),
    "<ros2_control> sets the leader": ("mimic",),
    "<transmission> sets the armature": ("armature",),
    "<gazebo> sets the spring": ("stiffness", "rest"),
}
_ENDS, _FIELDS = ("min", "max"), ("velocity", "effort")
_MIMIC = (("multiplier", 1.0), ("offset", 0.0))
#: Elements that change a joint.
_RULES: dict[str, _Rule] = {
    "state_interface position initial_value": _started,
    "command_interface position min": _within,
    "command_interface position max": _within,
    "springStiffness": _sprung,
    "springReference": _rested,
}
