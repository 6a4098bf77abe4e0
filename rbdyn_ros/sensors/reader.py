"""Read the sensors of a robot from a YAML file.

    rbdyn_sensors: 1                # version of this format
    sensors:
      imu:                          # its name, also of its topics
        type: imu
        link: tool_flange
        rate: 200                   # [Hz]; default: every tick
        orientation: true           # default
        noise:
          angular_velocity: {stddev: 0.002, bias: [0.001, 0, 0], bias_walk: 1e-5}
          linear_acceleration: {stddev: 0.02, resolution: 0.005}
          orientation: {stddev: 0.001}
      wrist:
        type: force_torque
        joint: flange               # fixed or moving
        frame: tool_flange          # default: the child link of the joint
        measured: child_to_parent   # default; or parent_to_child
        pushes: child               # default; or parent; at fixed joints only
        noise: {force: {stddev: 0.1}, torque: {stddev: [0.01, 0.01, 0.005]}}
      foot:
        type: contact
        link: left_foot
        threshold: 5.0              # [N], default 1
        noise: {force: {stddev: 0.5}}

Lidars, range sensors and cameras: see ray_reader.py.

Units are SI. Noise has `stddev`, `bias`, `bias_walk` and `resolution`, each a number or a list of
three, one per axis; orientation has no `resolution`. specs.py describes all keys.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.files import read_bytes
from rbdyn_ros.description.mechanism_files.forms import Form
from rbdyn_ros.description.mechanism_files.yaml_text import Items, Node, YamlTable, parse
from rbdyn_ros.description.types import Description, Joint
from rbdyn_ros.description.urdf_files.guard import refuse
from rbdyn_ros.errors import quote
from rbdyn_ros.model.model import Model
from rbdyn_ros.sensors.camera_specs import ColorSpec, DepthSpec
from rbdyn_ros.sensors.ray_reader import RayForm
from rbdyn_ros.sensors.ray_specs import LidarSpec, RangeSpec
from rbdyn_ros.sensors.specs import (
    MEASURED,
    SIDES,
    ContactSpec,
    ForceTorqueSpec,
    ImuSpec,
    NoiseSpec,
    Spec,
    Vec3,
)

VERSION = "rbdyn_sensors"

COMMON = ("type", "rate", "noise")
NOISE = ("stddev", "bias", "bias_walk", "resolution")
MAX_RATE = 1e6  # [Hz]

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*_?")
_NAME_ALLOWED = (
    "letters, digits and single underscores, starting with a letter, as in names of topics"
)


def read_sensors(
    path: str | Path, m: Model, description: Description, *, period_ns: int | None = None
) -> tuple[Spec, ...]:
    """Read a sensors file.

    Args:
        path: of the file.
        m: the robot.
        description: of the robot.
        period_ns: duration of a tick of the loop [ns], which limits the rates of lidars and range
            sensors; None: it does not.

    Returns:
        The sensors, in the order of the file.

    Raises:
        DescriptionError: with all errors of the document, each with its line.
    """
    data = read_bytes(Path(path), "a .yaml file", "the path of a sensors file")
    folder = Path(path).parent
    return read_sensors_text(
        data, m, description, source=str(path), folder=folder, period_ns=period_ns
    )


def read_sensors_text(
    text: str | bytes,
    m: Model,
    description: Description,
    *,
    source: str = "<text>",
    folder: Path = Path(),
    period_ns: int | None = None,
) -> tuple[Spec, ...]:
    """Read sensors from text; arguments, result and errors as for read_sensors.

    Args:
        text: the document.
        m: the robot.
        description: of the robot.
        source: name of the document, for messages.
        folder: that the names of other files are relative to.
        period_ns: as for read_sensors.
    """
    audit = Audit()
    top = parse(text, source, audit, "a sensors file")
    version = top.nodes.get(VERSION)
    if getattr(version, "text", None) != "1":
        line = top.line if version is None else top.lines[VERSION]
        message = f"this is not a sensors file: it does not have '{VERSION}: 1' at the top"
        refuse("not-a-sensors-file", message, source, line, allowed=f"{VERSION}: 1")
    form = Form(audit)
    reader = _Reader(form, m, description, RayForm(form, folder, period_ns))
    specs = reader.sensors(top)
    audit.raise_errors(source)
    return specs


class _Reader:
    def __init__(self, form: Form, m: Model, description: Description, rays: RayForm) -> None:
        self.form, self.m, self.rays = form, m, rays
        self.joints = {joint.name: joint for joint in description.joints}
        self.kinds: dict[str, Callable[[str, YamlTable], Spec | None]] = {
            "imu": self.imu,
            "force_torque": self.force_torque,
            "contact": self.contact,
            "lidar": self.lidar,
            "range": self.range,
            "depth": self.depth,
            "color": self.color,
        }

    def sensors(self, top: YamlTable) -> tuple[Spec, ...]:
        """Return the sensors without errors."""
        self.form.table(top, "sensors file", "", (VERSION, "sensors"), ("sensors",))
        table = top.nodes.get("sensors")
        if table is None:
            return ()
        if not isinstance(table, YamlTable):
            self.form.wrong(table, "section 'sensors'", "", "a table of sensors by name")
            return ()
        found = [self.sensor(name, table) for name in table.nodes]
        return tuple(spec for spec in found if spec is not None)

    def sensor(self, name: str, table: YamlTable) -> Spec | None:
        """Return the sensor of a table."""
        owner, node = f"sensor {quote(name)}", table.nodes[name]
        if not _NAME.fullmatch(name):
            message = f"its name is not allowed; allowed are {_NAME_ALLOWED}"
            self.error("bad-name", owner, table.lines[name], message, name, _NAME_ALLOWED)
        if not isinstance(node, YamlTable):
            self.form.wrong(node, "sensor", owner, "a table of keys")
            return None
        kind = self.choice(node, "type", owner, self.kinds, None)
        return None if kind is None else self.kinds[kind](name, node)

    def imu(self, name: str, table: YamlTable) -> ImuSpec | None:
        """Return an IMU."""
        owner = f"sensor {quote(name)}"
        self.form.table(table, "imu", owner, (*COMMON, "link", "orientation"), ("link",))
        quantities = ("angular_velocity", "linear_acceleration", "orientation")
        noise, rate = self.noise(table, owner, quantities), self.rate(table, owner)
        orientation = True
        if "orientation" in table.nodes:
            orientation = self.form.flag(table.nodes["orientation"], "orientation", owner) is True
        link = self.link(table, owner)
        return None if link is None else ImuSpec(name, link, rate, orientation, noise)

    def force_torque(self, name: str, table: YamlTable) -> ForceTorqueSpec | None:
        """Return a force/torque sensor."""
        owner = f"sensor {quote(name)}"
        keys = (*COMMON, "joint", "frame", "measured", "pushes")
        self.form.table(table, "force_torque sensor", owner, keys, ("joint",))
        noise = self.noise(table, owner, ("force", "torque"))
        rate = self.rate(table, owner)
        measured = self.choice(table, "measured", owner, MEASURED, MEASURED[0])
        pushes = self.choice(table, "pushes", owner, SIDES, SIDES[0])
        joint = self.joint(table, owner)
        if joint is None:
            return None
        if "pushes" in table.nodes and joint.type != "fixed":
            line = table.lines["pushes"]
            message = (
                f"'pushes' is for fixed joints; joint {quote(joint.name)} is {joint.type}, so the "
                "side of an external force is known"
            )
            self.error("pushes-at-moving-joint", owner, line, message, joint.type, "fixed")
        frame = self.frame(table, joint, owner)
        if frame is None or measured is None or pushes is None:
            return None
        return ForceTorqueSpec(name, joint.name, frame, measured, pushes, rate, noise)

    def contact(self, name: str, table: YamlTable) -> ContactSpec | None:
        """Return a contact sensor."""
        owner = f"sensor {quote(name)}"
        keys = (*COMMON, "link", "threshold")
        self.form.table(table, "contact sensor", owner, keys, ("link",))
        noise = self.noise(table, owner, ("force", "torque"))
        rate, threshold = self.rate(table, owner), 1.0
        if "threshold" in table.nodes:
            node = table.nodes["threshold"]
            threshold = self.at_least_zero(node, "threshold", owner) or 0.0
        link = self.link(table, owner)
        if link is None:
            return None
        if self.m.frame_bodyid[self.m.frame_id(link)] == 0:
            message = f"link {quote(link)} is fixed to the world; only moving links have contacts"
            self.error("fixed-link", owner, table.lines["link"], message, link, "a moving link")
        return ContactSpec(name, link, threshold, rate, noise)

    def lidar(self, name: str, table: YamlTable) -> LidarSpec | None:
        """Return a lidar."""
        owner = f"sensor {quote(name)}"
        return self.rays.lidar(table, owner, self.links(name, table, owner))

    def range(self, name: str, table: YamlTable) -> RangeSpec | None:
        """Return a range sensor."""
        owner = f"sensor {quote(name)}"
        return self.rays.range(table, owner, self.links(name, table, owner))

    def depth(self, name: str, table: YamlTable) -> DepthSpec | None:
        """Return a depth camera."""
        owner = f"sensor {quote(name)}"
        return self.rays.depth(table, owner, self.links(name, table, owner))

    def color(self, name: str, table: YamlTable) -> ColorSpec | None:
        """Return a colour camera."""
        owner = f"sensor {quote(name)}"
        return self.rays.color(table, owner, self.links(name, table, owner))

    def links(self, name: str, table: YamlTable, owner: str) -> dict[str, Any]:
        """Return the name and the links of a sensor with rays; None where there is an error."""
        values: dict[str, Any] = {"name": name}
        if "link" in table.nodes:
            values["link"] = self.link(table, owner)
        if "exclude" in table.nodes:
            read, node = self.known_link, table.nodes["exclude"]
            values["exclude"] = self.form.items(node, "exclude", "link", owner, read)
        return values

    def known_link(self, node: Node, what: str, owner: str) -> str | None:
        """Return the name of a link of the robot."""
        name = self.form.name(node, what, owner)
        return name if name is None else self.known(name, self.m.frame_names, "link", owner, node)

    def link(self, table: YamlTable, owner: str, key: str = "link") -> str | None:
        """Return the name of a link of the robot."""
        return self.known_link(table.nodes[key], key, owner) if key in table.nodes else None

    def joint(self, table: YamlTable, owner: str) -> Joint | None:
        """Return a joint of the robot, fixed or moving."""
        if "joint" not in table.nodes:
            return None
        node = table.nodes["joint"]
        name = self.form.name(node, "joint", owner)
        if name is None or self.known(name, self.joints, "joint", owner, node) is None:
            return None
        return self.joints[name]

    def frame(self, table: YamlTable, joint: Joint, owner: str) -> str | None:
        """Return the frame of the wrench: a link rigidly connected to an end of the joint."""
        if "frame" not in table.nodes:
            return joint.child
        name = self.link(table, owner, "frame")
        if name is None:
            return None
        body = self.m.frame_bodyid
        ends = [body[self.m.frame_id(end)] for end in (joint.parent, joint.child)]
        if body[self.m.frame_id(name)] not in ends:
            message = (
                f"the frame {quote(name)} moves relative to joint {quote(joint.name)}; "
                "allowed are links that are rigidly connected to an end of the joint"
            )
            self.error("moving-frame", owner, table.lines["frame"], message, name, joint.child)
        return name

    def known(
        self, name: str, names: Collection[str], what: str, owner: str, node: Node
    ) -> str | None:
        """Return a name of a part of the robot."""
        if name in names:
            return name
        hint = self.form.audit.hint(name, names)
        message = f"the robot has no {what} {quote(name)}{hint}"
        self.error(f"unknown-{what}", owner, node.line, message, name, "")
        return None

    def choice(
        self, table: YamlTable, key: str, owner: str, allowed: Collection[str], default: str | None
    ) -> str | None:
        """Return one of the allowed words, or the default for a missing key."""
        if key not in table.nodes and default is not None:
            return default
        words = ", ".join(allowed)
        if key not in table.nodes:
            message = f"it has no key {quote(key)}; allowed is one of {words}"
            self.error("missing-key", owner, table.line, message, "", words)
            return None
        word = self.form.name(table.nodes[key], key, owner)
        if word is None or word in allowed:
            return word
        hint = self.form.audit.hint(word, allowed)
        message = f"the {key} is {quote(word)}{hint}; allowed is one of {words}"
        self.error("bad-value", owner, table.nodes[key].line, message, word, words)
        return None

    def rate(self, table: YamlTable, owner: str) -> float | None:
        """Return a rate [Hz]; None: every tick."""
        if "rate" not in table.nodes:
            return None
        value = self.form.number(table.nodes["rate"], "rate", owner)
        if value is not None and not 0.0 < value <= MAX_RATE:
            allowed = f"above 0, at most {MAX_RATE:.0f} Hz"
            self.form.wrong(table.nodes["rate"], "rate", owner, allowed)
        return value

    def at_least_zero(self, node: Node, what: str, owner: str) -> float | None:
        """Return a number, 0 or more."""
        value = self.form.number(node, what, owner)
        if value is not None and value < 0.0:
            self.form.wrong(node, what, owner, "0 or more")
        return value

    def noise(
        self, table: YamlTable, owner: str, quantities: Collection[str]
    ) -> dict[str, NoiseSpec]:
        """Return the noise of each quantity."""
        if "noise" not in table.nodes:
            return {}
        noise = self.form.table(table.nodes["noise"], "noise", owner, quantities)
        return {} if noise is None else {q: self.one_noise(noise, q, owner) for q in noise.nodes}

    def one_noise(self, noise: YamlTable, quantity: str, owner: str) -> NoiseSpec:
        """Return the noise of one quantity."""
        allowed = [key for key in NOISE if key != "resolution" or quantity != "orientation"]
        what = f"noise of {quantity}"
        table = self.form.table(noise.nodes[quantity], what, owner, allowed)
        values: dict[str, Vec3] = {}
        for key, node in (table.nodes if table is not None else {}).items():
            vector = self.three(node, f"{key} of {quantity}", owner, negative=key == "bias")
            if vector is not None:
                values[key] = vector
        return NoiseSpec(**values)

    def three(self, node: Node, what: str, owner: str, negative: bool) -> Vec3 | None:
        """Return three numbers, given as a list or as one number for all axes."""
        if isinstance(node, Items):
            vector = self.form.vector(node, what, owner)
        else:
            value = self.form.number(node, what, owner)
            vector = None if value is None else (value, value, value)
        if vector is not None and min(vector) < 0.0 and not negative:
            self.form.wrong(node, what, owner, "0 or more")
        return vector

    def error(
        self, code: str, owner: str, line: int, message: str, found: str, allowed: str
    ) -> None:
        self.form.audit.error(code, owner, line, message, found=found, allowed=allowed)
