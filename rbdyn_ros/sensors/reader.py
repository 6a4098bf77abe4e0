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
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.mechanism_files.forms import Form
from rbdyn_ros.description.mechanism_files.yaml_text import YamlTable, check_version, parse
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.description.reading.files import read_bytes
from rbdyn_ros.errors import quote
from rbdyn_ros.model.model import Model
from rbdyn_ros.sensors.body_reader import BodyForm
from rbdyn_ros.sensors.part_form import PartForm
from rbdyn_ros.sensors.ray_reader import RayForm
from rbdyn_ros.sensors.specs import Spec

VERSION = "rbdyn_sensors"

#: The types whose link is an optical frame.
CAMERAS = ("depth", "color")

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
    check_version(top, VERSION, source, "a sensors file", "not-a-sensors-file")
    form = Form(audit)
    reader = _Reader(PartForm(form, m, description), RayForm(form, folder, period_ns))
    specs = reader.sensors(top)
    audit.raise_errors(source)
    return specs


class _Reader:
    def __init__(self, parts: PartForm, rays: RayForm) -> None:
        self.form, self.parts = parts.form, parts
        bodies = BodyForm(parts)
        self.kinds: dict[str, Callable[[str, YamlTable], Spec | None]] = {
            "imu": bodies.imu,
            "force_torque": bodies.force_torque,
            "contact": bodies.contact,
        }
        self.rays: dict[str, Callable[[YamlTable, str, dict[str, Any]], Spec | None]] = {
            "lidar": rays.lidar,
            "range": rays.range,
            "depth": rays.depth,
            "color": rays.color,
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
            self.parts.error("bad-name", owner, table.lines[name], message, name, _NAME_ALLOWED)
        if not isinstance(node, YamlTable):
            self.form.wrong(node, "sensor", owner, "a table of keys")
            return None
        kind = self.parts.choice(node, "type", owner, (*self.kinds, *self.rays), None)
        if kind is None:
            return None
        if kind in self.rays:
            return self.with_rays(kind, name, node)
        return self.kinds[kind](name, node)

    def with_rays(self, kind: str, name: str, table: YamlTable) -> Spec | None:
        """Return a lidar, a range sensor or a camera."""
        owner = f"sensor {quote(name)}"
        given = self.links(name, table, owner)
        if kind in CAMERAS and given.get("link") is not None:
            self.check_parent(given["link"], table, owner)
        return self.rays[kind](table, owner, given)

    def check_parent(self, link: str, table: YamlTable, owner: str) -> None:
        """Refuse the root of a robot that is fixed to the world as the frame of a camera."""
        m, held = self.parts.m, {joint.child for joint in self.parts.joints.values()}
        if m.frame_bodyid[m.frame_id(link)] == 0 and link not in held:
            message = (
                f"link {quote(link)} has no parent; the link of a camera is an optical frame (z "
                "forward, x right, y down), which a joint fixes to another link"
            )
            line, allowed = table.lines["link"], "a link that is the child of a joint"
            self.parts.error("no-parent", owner, line, message, link, allowed)

    def links(self, name: str, table: YamlTable, owner: str) -> dict[str, Any]:
        """Return the name and the links of a sensor with rays; None where there is an error."""
        values: dict[str, Any] = {"name": name}
        if "link" in table.nodes:
            values["link"] = self.parts.link(table, owner)
        if "exclude" in table.nodes:
            read, node = self.parts.known_link, table.nodes["exclude"]
            values["exclude"] = self.form.items(node, "exclude", "link", owner, read)
        return values
