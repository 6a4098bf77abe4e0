# SPDX-License-Identifier: Apache-2.0
"""Read the sensors of a robot from a YAML file, whose keys are in keys.py."""

import json
import re
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.checks.names import free_name
from rbdyn_ros.description.parts.sensors import SensorEntry
from rbdyn_ros.description.parts.types import Description, Joint
from rbdyn_ros.description.reading.files import read_bytes
from rbdyn_ros.description.yaml_files.tables import Given
from rbdyn_ros.description.yaml_files.text import Items
from rbdyn_ros.errors import DescriptionError, Finding, ParameterError, apart, quote
from rbdyn_ros.model.model import Model
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.sensors.camera_specs import ColorSpec, DepthSpec
from rbdyn_ros.sensors.keys import DIALECT
from rbdyn_ros.sensors.ray_angles import read_angles
from rbdyn_ros.sensors.ray_specs import LidarSpec, RangeSpec
from rbdyn_ros.sensors.specs import (
    ContactSpec,
    ForceTorqueSpec,
    GpsSpec,
    ImuSpec,
    JointTorqueSpec,
    MagnetometerSpec,
    PoseSpec,
    Spec,
)

#: The types whose link is an optical frame.
CAMERAS = ("depth", "color")
#: The sensors that cast rays or draw pictures.
RAYS = (LidarSpec, RangeSpec, DepthSpec, ColorSpec)
#: The types of joints that move about or along one axis.
SINGLE = ("revolute", "continuous", "prismatic")
SPECS: dict[str, Any] = {
    "imu": ImuSpec,
    "force_torque": ForceTorqueSpec,
    "contact": ContactSpec,
    "magnetometer": MagnetometerSpec,
    "gps": GpsSpec,
    "pose": PoseSpec,
    "joint_torque": JointTorqueSpec,
    "lidar": LidarSpec,
    "range": RangeSpec,
    "depth": DepthSpec,
    "color": ColorSpec,
}

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*_?")
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9]+")
_NAME_ALLOWED = (
    "letters, digits and single underscores, starting with a letter, as in names of topics"
)


def read_sensors(
    path: str | Path, m: Model, description: Description, *, period_ns: int | None = None
) -> tuple[Spec, ...]:
    """Read a sensors file.

    Args:
        path: path of the file.
        m: the robot.
        description: description of the robot.
        period_ns: duration of a tick of the loop [ns], which limits the rates of lidars and range
            sensors; None: no limit.

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
    """Read sensors from the text of a file; returns and raises the same as read_sensors.

    Args:
        text: the document.
        m: the robot.
        description: description of the robot.
        source: name of the document, for messages.
        folder: folder to which the names of other files are relative.
        period_ns: see read_sensors.
    """
    audit = Audit()
    table = DIALECT.read(DIALECT.parse(text, source, audit), audit).get("sensors")
    reader = _Sensors(m, description, folder, period_ns)
    specs = () if table is None else tuple(reader.sensor(name, table) for name in table.lines)
    audit.raise_errors(source)
    return tuple(spec for spec in specs if spec is not None)


def sensors_of(
    m: Model, description: Description, *, period_ns: int | None = None
) -> tuple[tuple[Spec, ...], tuple[Finding, ...]]:
    """Return the sensors that a robot file describes, and a warning for each omitted sensor.

    Args:
        m: the robot.
        description: description of the robot.
        period_ns: see read_sensors.
    """
    specs, findings = list[Spec](), list[Finding]()
    for entry in description.sensors:
        name = _plain(entry, {spec.name for spec in specs})
        try:
            specs += read_sensors_text(
                _as_yaml(name, entry, description),
                m,
                description,
                source=description.source,
                period_ns=period_ns,
            )
        except DescriptionError as error:
            findings += [
                replace(each, severity="warning", line=entry.line) for each in error.findings
            ]
    return tuple(specs), tuple(findings)


def _as_yaml(name: str, entry: SensorEntry, description: Description) -> str:
    """Return a sensor of a robot file as the text of a sensors file."""
    ends = {end: own for end in ("link", "joint", "frame") if (own := getattr(entry, end))}
    table = {"type": entry.type, **ends, **entry.values}
    if SPECS[entry.type] in RAYS:
        table.setdefault("exclude", _holders(entry.link, description))
    return json.dumps({"rbdyn_sensors": 1, "sensors": {name: table}})


def _holders(link: str, description: Description) -> list[str]:
    """Return a link and the links to which it is fixed, up to a link with a shape.

    If no such link has a shape, return only the link itself.

    Robot files put sensors into frames without shapes, inside the shape of the link that carries
    them.
    """
    shapes = {each.link for each in description.geometries}
    above = {each.child: each.parent for each in description.joints if each.type == "fixed"}
    found = [link]
    while found[-1] not in shapes and found[-1] in above:
        found.append(above[found[-1]])
    return found if found[-1] in shapes else [link]


def _plain(entry: SensorEntry, taken: Collection[str]) -> str:
    """Return a valid name for a sensor that is not in `taken`."""
    plain = _NOT_PLAIN.sub("_", entry.name).strip("_")
    return free_name(plain if plain[:1].isalpha() else f"{entry.type}_{plain}".strip("_"), taken)


class _Sensors:
    """Makes the sensors of one robot from the values of a file."""

    def __init__(
        self, m: Model, description: Description, folder: Path, period_ns: int | None
    ) -> None:
        self._m, self._folder, self._period_ns = m, folder, period_ns
        self._joints = {joint.name: joint for joint in description.joints}

    def sensor(self, name: str, table: Given) -> Spec | None:
        """Return the sensor of a table; add an error and return None if it is invalid."""
        if not _NAME.fullmatch(name):
            message = f"its name is not allowed; allowed are {_NAME_ALLOWED}"
            owner, line = f"sensor {quote(name)}", table.lines[name]
            table.audit.error("bad-name", owner, line, message, found=name, allowed=_NAME_ALLOWED)
        given = table.get(name)
        if given is None:
            return None
        kind = given.pop("type")
        links = self._links(given)
        if kind == "force_torque":
            self._across_joint(given)
        elif kind == "joint_torque":
            self._about_axis(given)
        elif links and kind == "contact":
            self._check_moving(given)
        elif links and kind in CAMERAS:
            self._check_parent(given)
        if kind == "lidar":
            self._angles(given)
        return self._made(SPECS[kind], name, given) if given.sound else None

    def _made(self, kind: Any, name: str, given: Given) -> Spec | None:
        """Return the sensor made of valid values.

        If the values do not fit together, add an error and return None.
        """
        try:
            spec: Spec = kind(name, **given)
        except ParameterError as error:
            for each in error.findings:
                given.error(
                    "bad-value", each.element, each.message, found=each.found, allowed=each.allowed
                )
            return None
        if isinstance(spec, LidarSpec | RangeSpec | DepthSpec | ColorSpec):
            self._check_rate(spec.rate, given)
        return spec

    def _check_rate(self, rate: float, given: Given) -> None:
        if self._period_ns is None or rate * self._period_ns <= NANOSECONDS * (1.0 + 1e-9):
            return
        found, most = apart(rate, NANOSECONDS / self._period_ns)
        text = f"the rate is {found} Hz; allowed is at most the rate of the loop, {most} Hz"
        given.error("bad-value", "rate", text, found=found, allowed=f"at most {most}")

    def _known(
        self, name: str, names: Collection[str], what: str, given: Given, line: int
    ) -> bool:
        """Return whether the robot has a link or joint of this name; add an error if not."""
        if name in names:
            return True
        given.sound = False
        message = f"the robot has no {what} {quote(name)}{given.audit.hint(name, names)}"
        given.audit.error(f"unknown-{what}", given.owner, line, message, found=name)
        return False

    def _links(self, given: Given) -> bool:
        frames, lines = self._m.frame_names, given.lines
        known = [
            self._known(given[key], frames, "link", given, lines[key])
            for key in ("link", "frame", "reference")
            if key in given
        ]
        if "exclude" in given:
            items = given.node.nodes["exclude"]
            assert isinstance(items, Items)
            for link, node in zip(given["exclude"], items.nodes, strict=True):
                self._known(link, frames, "link", given, node.line)
        return bool(known) and all(known)

    def _joint(self, given: Given) -> Joint | None:
        name = given.get("joint")
        if name is None or not self._known(
            name, self._joints, "joint", given, given.lines["joint"]
        ):
            return None
        return self._joints[name]

    def _across_joint(self, given: Given) -> None:
        """Check the joint of a force/torque sensor, and add its frame."""
        joint = self._joint(given)
        if joint is None:
            return
        if "pushes" in given.lines and joint.type != "fixed":
            message = (
                f"'pushes' is allowed for a fixed joint only; joint {quote(joint.name)} is "
                f"{joint.type}, so the side on which an external force acts is known"
            )
            code = "pushes-at-moving-joint"
            given.error(code, "pushes", message, found=joint.type, allowed="fixed")
        if given.setdefault("frame", joint.child) in self._m.frame_names:
            self._check_frame(joint, given)

    def _about_axis(self, given: Given) -> None:
        """Refuse a joint that has no single axis."""
        joint = self._joint(given)
        if joint is not None and joint.type not in SINGLE:
            allowed = ", ".join(SINGLE)
            message = f"joint {quote(joint.name)} is {joint.type}; allowed are {allowed}"
            given.error("no-axis", "joint", message, found=joint.type, allowed=allowed)

    def _check_frame(self, joint: Joint, given: Given) -> None:
        """Refuse a frame that is not rigidly connected to an end of the joint."""
        body, frame = self._body, given["frame"]
        if body(frame) not in (body(joint.parent), body(joint.child)):
            message = (
                f"the frame {quote(frame)} moves relative to joint {quote(joint.name)}; "
                "allowed are links that are rigidly connected to an end of the joint"
            )
            given.error("moving-frame", "frame", message, found=frame, allowed=joint.child)

    def _check_moving(self, given: Given) -> None:
        link = given["link"]
        if self._body(link) == 0:
            message = f"link {quote(link)} is fixed to the world; only moving links have contacts"
            given.error("fixed-link", "link", message, found=link, allowed="a moving link")

    def _check_parent(self, given: Given) -> None:
        """Add an error if the link of a camera has no parent link."""
        link, held = given["link"], {joint.child for joint in self._joints.values()}
        if self._body(link) == 0 and link not in held:
            message = (
                f"link {quote(link)} has no parent; the link of a camera is an optical frame (z "
                "forward, x right, y down), which a joint fixes to another link"
            )
            allowed = "a link that is the child of a joint"
            given.error("no-parent", "link", message, found=link, allowed=allowed)

    def _body(self, link: str) -> int:
        return int(self._m.frame_bodyid[self._m.frame_id(link)])

    def _angles(self, given: Given) -> None:
        """Read the angles of the rays of a lidar from its CSV file."""
        if "angles" not in given or not given.sound:
            return
        if "vertical" in given:
            text = (
                "'vertical' cannot be combined with 'angles', which has the elevation of each ray"
            )
            given.error("unknown-key", "vertical", text, found="vertical")
            return
        path = self._folder / given["angles"]
        try:
            data = read_bytes(path, "a .csv file", "the path of a CSV file")
            given["angles"] = read_angles(data, str(path))
        except DescriptionError as error:
            for each in error.findings:
                given.error(
                    each.code, "angles", each.message, found=each.found, allowed=each.allowed
                )
