# SPDX-License-Identifier: Apache-2.0
"""The actuators of an MJCF as servos, and their effects on joints."""

import math
from dataclasses import replace

from rbdyn_ros.checks.names import free_name
from rbdyn_ros.description.mjcf_files.bodies import BodyTree
from rbdyn_ros.description.mjcf_files.constraints import Couplings, starts
from rbdyn_ros.description.mjcf_files.defaults import Classes
from rbdyn_ros.description.mjcf_files.document import Item, MjcfDocument
from rbdyn_ros.description.mjcf_files.drives import ELSEWHERE, Drives
from rbdyn_ros.description.mjcf_files.joints import limiting_range
from rbdyn_ros.description.mjcf_files.settings import CompilerSettings
from rbdyn_ros.description.parts.servos import UNLIMITED, Servo, ServoTerm
from rbdyn_ros.description.parts.types import Joint, Limit
from rbdyn_ros.description.reading.guard import Element
from rbdyn_ros.errors import quote

_LEFT_OUT = "it is left out"


def read_servos(
    document: MjcfDocument,
    classes: Classes,
    settings: CompilerSettings,
    tree: BodyTree,
    couplings: Couplings,
) -> tuple[list[Servo], list[Joint]]:
    """Return the servos of a model, and its joints with inertia, damping and limits of servos."""
    reader = _ServoReader(document, settings, tree, couplings)
    for element in document.sections("actuator"):
        reader.read(element, classes)
    return reader.servos, [reader.changed(joint) for joint in tree.joints]


class _ServoReader:
    def __init__(
        self,
        document: MjcfDocument,
        settings: CompilerSettings,
        tree: BodyTree,
        couplings: Couplings,
    ) -> None:
        self._document, self._settings = document, settings
        self._tendons = couplings.tendons
        self._zero = starts(tree)
        self._joints = {joint.name: joint for joint in tree.joints}
        self._names = set[str]()
        self._added: dict[str, tuple[float, float]] = {}
        self._forces: dict[str, float] = {}
        self._is_any = False
        self.servos = list[Servo]()

    def read(self, element: Element, classes: Classes) -> None:
        """Read an actuator; add its servo, or a finding if it is not supported."""
        name = element.get("name") or free_name(f"{element.tag}{len(self._names)}", self._names)
        owner = f"actuator {quote(name)}"
        first = self._document.item(element, owner)
        drives = classes.drives(element, owner).changed(first)
        item = self._document.item(element, owner, drives.shared)
        self._is_any = True
        if name in self._names:
            message = "another actuator has this name; names must be unique"
            item.error("duplicate-name", message, found=name)
        self._names.add(name)
        reason = drives.reason() or self._elsewhere(item)
        if reason:
            item.repair("not-supported", reason, _LEFT_OUT)
            self._document.pass_over(element)
            return
        terms = self._terms(item)
        if terms:
            self._add(Servo(name, terms, drives.gain, line=item.line), drives, item)
        else:
            self._document.pass_over(element)

    def _elsewhere(self, item: Item) -> str:
        """Return the reason why an actuator is not read: its target or its delay; or ""."""
        for name in ELSEWHERE:
            if item.element.get(name):
                return f"it acts on a {name}; only actuators of joints and fixed tendons are read"
        delay = item.number("delay")
        item.text("nsample"), item.text("interp")
        return f"its delay of {delay:g} s is not read" if delay > 0.0 else ""

    def _terms(self, item: Item) -> tuple[ServoTerm, ...]:
        """Return the joints that an actuator moves, or an empty tuple after an error."""
        gear = (*item.numbers("gear", 1, 6), 1.0)[0]
        joint = item.text("joint") or item.text("jointinparent")
        tendon = item.text("tendon")
        if tendon:
            if tendon not in self._tendons:
                if not self._document.audit.partial:
                    message = f"no fixed tendon named {quote(tendon)} was read"
                    item.repair("unknown-tendon", message, _LEFT_OUT, found=tendon)
                return ()
            found = self._tendons[tendon]
            return tuple(ServoTerm(one.joint, gear * one.factor) for one in found)
        if joint in self._zero:
            return (ServoTerm(joint, gear),)
        if joint in self._joints:
            message = f"joint {quote(joint)} has not exactly one coordinate"
            item.repair("unfit-joint", message, _LEFT_OUT, found=joint)
        elif not self._document.audit.partial:
            hint = self._document.audit.hint(joint, self._joints)
            item.error("unknown-joint", f"there is no joint {quote(joint)}{hint}", found=joint)
        return ()

    def _add(self, servo: Servo, drives: Drives, item: Item) -> None:
        """Add a servo with its ranges, and its armature and damping to its joints."""
        control, force = self._range(item, "ctrl"), self._range(item, "force")
        if drives.inherit > 0.0 and control == UNLIMITED:
            control = self._inherited(servo, drives.inherit)
        bias = drives.bias if drives.affine else (0.0, 0.0, 0.0)
        ratio = drives.ratio if drives.affine else 0.0
        servo = replace(servo, bias=bias, damping_ratio=ratio, control=control, force=force)
        self.servos.append(servo)
        inertia, damping = item.number("armature"), item.number("damping")
        if (inertia or damping) and len(servo.terms) > 1:
            message = "the armature and damping of an actuator of several joints are not read"
            item.repair("not-supported", message, "it has none")
            inertia = damping = 0.0
        largest = _largest(servo)
        for term in servo.terms:
            if not term.factor:
                continue
            before = self._added.get(term.joint, (0.0, 0.0))
            square = term.factor**2
            added = (before[0] + square * inertia, before[1] + square * damping)
            self._added[term.joint] = added
            force_before = self._forces.get(term.joint, 0.0)
            self._forces[term.joint] = force_before + abs(term.factor) * largest

    def _range(self, item: Item, what: str) -> tuple[float, float]:
        found = limiting_range(item, f"{what}limited", f"{what}range", self._settings)
        return found or UNLIMITED

    def _inherited(self, servo: Servo, part: float) -> tuple[float, float]:
        """Return the range of a servo's only joint, scaled by `part` about its middle.

        Return UNLIMITED if the servo has several joints, or its joint has no limits.
        """
        limit = self._joints[servo.terms[0].joint].limit
        if limit is None or len(servo.terms) > 1 or math.isinf(limit.upper - limit.lower):
            return UNLIMITED
        middle, half = (limit.upper + limit.lower) / 2, (limit.upper - limit.lower) / 2
        return middle - part * half, middle + part * half

    def changed(self, joint: Joint) -> Joint:
        """Return a joint with the properties of its actuators.

        A joint without actuators becomes passive, unless the file has no actuators.
        """
        if joint.type in ("fixed", "floating") or not self._is_any:
            return joint
        if joint.name not in self._forces:
            return replace(joint, actuated=False)
        inertia, damping = self._added[joint.name]
        limit, effort = joint.limit, self._forces[joint.name]
        if effort < (limit or Limit()).effort:
            limit = replace(limit or Limit(), effort=effort)
        armature, viscous = joint.armature + inertia, joint.damping + damping
        return replace(joint, limit=limit, armature=armature, damping=viscous)


def _largest(servo: Servo) -> float:
    force = max(map(abs, servo.force))
    if servo.bias == (0.0, 0.0, 0.0) and servo.damping_ratio == 0.0:
        force = min(force, abs(servo.gain) * max(map(abs, servo.control)) if servo.gain else 0.0)
    return force
