"""Read the IMUs, force/torque and contact sensors of a sensor file."""

from __future__ import annotations

from rbdyn_ros.description.mechanism_files.yaml_text import Node, YamlTable
from rbdyn_ros.description.parts.types import Joint
from rbdyn_ros.errors import quote
from rbdyn_ros.sensors.noise_form import NoiseForm
from rbdyn_ros.sensors.part_form import PartForm
from rbdyn_ros.sensors.specs import MEASURED, SIDES, ContactSpec, ForceTorqueSpec, ImuSpec

COMMON = ("type", "rate", "noise")


class BodyForm:
    """Reads the sensors that measure motions and forces; `parts` reads their links and joints."""

    def __init__(self, parts: PartForm) -> None:
        self._parts, self._form, self._noise = parts, parts.form, NoiseForm(parts.form).noise

    def imu(self, name: str, table: YamlTable) -> ImuSpec | None:
        """Return an IMU."""
        owner = f"sensor {quote(name)}"
        self._form.table(table, "imu", owner, (*COMMON, "link", "orientation"), ("link",))
        quantities = ("angular_velocity", "linear_acceleration", "orientation")
        noise, rate = self._noise(table, owner, quantities), self._parts.rate(table, owner)
        orientation = True
        if "orientation" in table.nodes:
            orientation = self._form.flag(table.nodes["orientation"], "orientation", owner) is True
        link = self._parts.link(table, owner)
        return None if link is None else ImuSpec(name, link, rate, orientation, noise)

    def force_torque(self, name: str, table: YamlTable) -> ForceTorqueSpec | None:
        """Return a force/torque sensor."""
        owner = f"sensor {quote(name)}"
        keys = (*COMMON, "joint", "frame", "measured", "pushes")
        self._form.table(table, "force_torque sensor", owner, keys, ("joint",))
        noise = self._noise(table, owner, ("force", "torque"))
        rate = self._parts.rate(table, owner)
        measured = self._parts.choice(table, "measured", owner, MEASURED, MEASURED[0])
        pushes = self._parts.choice(table, "pushes", owner, SIDES, SIDES[0])
        joint = self._parts.joint(table, owner)
        if joint is None:
            return None
        if "pushes" in table.nodes and joint.type != "fixed":
            line = table.lines["pushes"]
            message = (
                f"'pushes' is for fixed joints; joint {quote(joint.name)} is {joint.type}, so the "
                "side of an external force is known"
            )
            self._parts.error("pushes-at-moving-joint", owner, line, message, joint.type, "fixed")
        frame = self._frame(table, joint, owner)
        if frame is None or measured is None or pushes is None:
            return None
        return ForceTorqueSpec(name, joint.name, frame, measured, pushes, rate, noise)

    def contact(self, name: str, table: YamlTable) -> ContactSpec | None:
        """Return a contact sensor."""
        owner = f"sensor {quote(name)}"
        keys = (*COMMON, "link", "threshold")
        self._form.table(table, "contact sensor", owner, keys, ("link",))
        noise = self._noise(table, owner, ("force", "torque"))
        rate, threshold = self._parts.rate(table, owner), 1.0
        if "threshold" in table.nodes:
            node = table.nodes["threshold"]
            threshold = self._at_least_zero(node, "threshold", owner) or 0.0
        link = self._parts.link(table, owner)
        if link is None:
            return None
        if self._parts.m.frame_bodyid[self._parts.m.frame_id(link)] == 0:
            message = f"link {quote(link)} is fixed to the world; only moving links have contacts"
            self._parts.error(
                "fixed-link", owner, table.lines["link"], message, link, "a moving link"
            )
        return ContactSpec(name, link, threshold, rate, noise)

    def _frame(self, table: YamlTable, joint: Joint, owner: str) -> str | None:
        """Return the frame of the wrench: a link rigidly connected to an end of the joint."""
        if "frame" not in table.nodes:
            return joint.child
        name = self._parts.link(table, owner, "frame")
        if name is None:
            return None
        body = self._parts.m.frame_bodyid
        ends = [body[self._parts.m.frame_id(end)] for end in (joint.parent, joint.child)]
        if body[self._parts.m.frame_id(name)] not in ends:
            message = (
                f"the frame {quote(name)} moves relative to joint {quote(joint.name)}; "
                "allowed are links that are rigidly connected to an end of the joint"
            )
            self._parts.error(
                "moving-frame", owner, table.lines["frame"], message, name, joint.child
            )
        return name

    def _at_least_zero(self, node: Node, what: str, owner: str) -> float | None:
        """Return a number, 0 or more."""
        value = self._form.number(node, what, owner)
        if value is not None and value < 0.0:
            self._form.wrong(node, what, owner, "0 or more")
        return value
