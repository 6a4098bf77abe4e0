# SPDX-License-Identifier: Apache-2.0
"""Read the <sensor> elements of an SDF, or of the <gazebo> of a URDF, as entries of sensors files.

An element of a type missing in the simulator stays unread, so that a note names it.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rbdyn_ros.checks.audit import Audit, Subject, plain
from rbdyn_ros.description.checks.values import audit_pose
from rbdyn_ros.description.parts.poses import IN_PLACE, Pose, compose
from rbdyn_ros.description.parts.sensors import OPTICAL, SensorEntry
from rbdyn_ros.description.parts.types import Joint, Link
from rbdyn_ros.description.xml_files.sdf_elements import SdfElement
from rbdyn_ros.errors import quote

#: Readings per second of a sensor of rays without <update_rate>; gz-sim reads as fast as it can.
USUAL_RATE = 30.0
#: The largest range of a sensor of rays [m].
FARTHEST = 1e9
_AXES = ("x", "y", "z")
#: Elements that only programs around the simulator use.
_SILENT = ("always_on", "visualize")
#: Directions of a force/torque sensor; the first is usual.
_MEASURED = ("child_to_parent", "parent_to_child")


@dataclass(frozen=True, slots=True)
class _Kind:
    """Reads sensors of one type of SDF.

    Attributes:
        type: type in a sensors file.
        values: returns the values of its keys.
        is_optical: whether its frame is a camera frame.
    """

    type: str
    values: Callable[[SdfElement], dict[str, Any]]
    is_optical: bool = False


class SensorEntries:
    """The sensors of a robot, and the links that are their frames.

    Args:
        names: names of the links and joints of the robot.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = {*names}
        self._taken: set[str] = set()
        self.sensors: list[SensorEntry] = []
        self.links: list[Link] = []
        self.joints: list[Joint] = []

    def of_link(
        self,
        owner: SdfElement,
        link: str,
        pose: Callable[[SdfElement], Pose] = SdfElement.pose,
        *,
        alone: bool = True,
    ) -> None:
        """Read the sensors in an element that belongs to a link.

        Args:
            owner: the element.
            link: the name of the link.
            pose: returns the pose of a sensor in the link.
            alone: whether the element belongs to the link alone, not also to a joint.
        """
        for part, kind in _known(owner):
            if kind.type == "force_torque":
                if alone:
                    text = "a force/torque sensor belongs in a joint; it is left out"
                    part.note("not-used", text, "warning")
                continue
            at = pose(part)
            if kind.is_optical:
                camera = part.child("camera")
                inside = IN_PLACE if camera is None else camera.pose()
                at = compose(at, compose(inside, Pose(quat=OPTICAL)))
            if _is_near(part, at):
                self.add(part.name, kind.type, link, kind.values(part), part.line, at)

    def of_joint(
        self,
        owner: SdfElement,
        joint: str,
        child: str,
        parent: str,
        pose: Callable[[SdfElement], Pose] = SdfElement.pose,
        *,
        alone: bool = True,
    ) -> None:
        """Read the force/torque sensors in an element that belongs to a joint.

        Args:
            owner: the element.
            joint: the name of the joint.
            child: the link that it moves.
            parent: the link that carries it.
            pose: returns the pose of a sensor in the child link.
            alone: whether the element belongs to the joint alone, not also to a link.
        """
        for part, kind in _known(owner):
            if kind.type != "force_torque":
                if alone:
                    text = f"a sensor of type {quote(part.attribute('type'))} belongs in a link"
                    part.note("not-used", f"{text}; it is left out", "warning")
                continue
            frame = _choice(part, "frame", ("child", "parent", "sensor"))
            at = pose(part) if frame == "sensor" else IN_PLACE
            if _is_near(part, at):
                link = parent if frame == "parent" else child
                self.across(part.name, joint, link, kind.values(part), part.line, at)

    def add(
        self,
        name: str,
        kind: str,
        link: str,
        values: dict[str, Any],
        line: int | None,
        at: Pose = IN_PLACE,
    ) -> None:
        """Add a sensor in a frame of a link.

        Args:
            name: name of the sensor in the file.
            kind: type of the sensor in a sensors file.
            link: name of the link.
            values: values of the other keys.
            line: line of the sensor's element; None: no line.
            at: pose of its frame in the link; unless both frames are equal, it becomes a link of
                its own.
        """
        own = self._free(name or kind)
        frame = self._frame(own, link, at, line) if at != IN_PLACE else link
        self.sensors.append(SensorEntry(own, kind, frame, values=values, line=line))

    def across(
        self,
        name: str,
        joint: str,
        link: str,
        values: dict[str, Any],
        line: int | None,
        at: Pose = IN_PLACE,
    ) -> None:
        """Add a force/torque sensor at a joint, with a frame in a link at one of its ends.

        The arguments are those of `add`.
        """
        own = self._free(name or "force_torque")
        frame = self._frame(own, link, at, line) if at != IN_PLACE else link
        entry = SensorEntry(own, "force_torque", joint=joint, frame=frame, line=line)
        self.sensors.append(replace(entry, values=values))

    def _frame(self, name: str, link: str, at: Pose, line: int | None) -> str:
        frame = next(x for x in _numbered(f"{name}_frame") if x not in self._names)
        self._names.add(frame)
        self.links.append(Link(frame, line=line))
        self.joints.append(Joint(frame, "fixed", link, frame, origin=at, line=line))
        return frame

    def _free(self, name: str) -> str:
        found = next(x for x in _numbered(name) if x not in self._taken)
        self._taken.add(found)
        return found


def _numbered(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name}_{number}"
        number += 1


def _known(owner: SdfElement) -> Iterator[tuple[SdfElement, _Kind]]:
    """Yield each sensor of a type that exists here, with each kind of sensor that it becomes."""
    for child in owner.element:
        for kind in _KINDS.get(child.get("type", ""), ()) if child.tag == "sensor" else ():
            part = owner.part(child)  # type: ignore[arg-type]
            part.attribute("type")
            for tag in _SILENT:
                part.child(tag)
            yield part, kind


def _is_near(part: SdfElement, at: Pose) -> bool:
    """Return whether a robot can have a frame at a pose; warn if not."""
    found = Audit()
    if audit_pose("pose", at, Subject(found, part.owner, part.line)):
        return True
    part.note("not-used", f"it is left out: {plain(found.errors[0])}", "warning")
    return False


def _choice(part: SdfElement, tag: str, allowed: Sequence[str]) -> str:
    """Return the word in the child `tag`, or the first allowed word if it is unknown."""
    given = part.word("force_torque", tag) or allowed[0]
    if given in allowed:
        return given
    text = f"its <{tag}> is {quote(given)}; allowed are {', '.join(allowed)}; {allowed[0]} is used"
    part.note("bad-value", text, "warning", found=given, allowed=", ".join(allowed))
    return allowed[0]


def _rate(part: SdfElement) -> dict[str, Any]:
    rate = part.number("update_rate")
    return {"rate": rate} if rate > 0.0 else {}


def _vector_noise(part: SdfElement, *path: str) -> dict[str, Any]:
    """Return the noise of a vector that gives it by axis."""
    rows = [_noise(part.child(*path, axis)) for axis in _AXES]
    keys = ("stddev", "bias")
    found = {key: [row.get(key, 0.0) for row in rows] for key in keys}
    return {key: numbers for key, numbers in found.items() if any(numbers)}


def _noise(owner: SdfElement | None) -> dict[str, float]:
    """Return the noise of a number; the bias is the sum of both means in SDF."""
    noise = None if owner is None else owner.child("noise")
    if noise is None or (noise.attribute("type") or noise.word("type")) == "none":
        return {}
    bias = noise.number("mean") + noise.number("bias_mean")
    values = {"stddev": noise.number("stddev"), "bias": bias}
    return {key: value for key, value in values.items() if value}


def _with_noise(values: dict[str, Any], **noises: dict[str, Any]) -> dict[str, Any]:
    given = {name: noise for name, noise in noises.items() if noise}
    return values | ({"noise": given} if given else {})


def _imu(part: SdfElement) -> dict[str, Any]:
    orientation = part.flag("imu", "enable_orientation", default=True)
    values = _rate(part) | ({} if orientation else {"orientation": False})
    return _with_noise(
        values,
        angular_velocity=_vector_noise(part, "imu", "angular_velocity"),
        linear_acceleration=_vector_noise(part, "imu", "linear_acceleration"),
    )


def _force_torque(part: SdfElement) -> dict[str, Any]:
    measured = _choice(part, "measure_direction", _MEASURED)
    return _with_noise(
        _rate(part) | {"measured": measured},
        force=_vector_noise(part, "force_torque", "force"),
        torque=_vector_noise(part, "force_torque", "torque"),
    )


def _contact(part: SdfElement) -> dict[str, Any]:
    part.child("contact", "collision")  # one reading here covers all shapes of a body
    return _rate(part)


def _magnetometer(part: SdfElement) -> dict[str, Any]:
    noise = _vector_noise(part, "magnetometer")
    return _with_noise(_rate(part), magnetic_field=noise)


def _gps(part: SdfElement) -> dict[str, Any]:
    """Return the values of a GPS whose origin is at latitude 0 and longitude 0; add a warning."""
    tag = "navsat" if part.child("navsat") is not None else "gps"
    place = part.child(tag, "position_sensing")
    level, up = (
        {} if place is None else _noise(place.child(end)) for end in ("horizontal", "vertical")
    )
    found = {key: [level.get(key, 0.0)] * 2 + [up.get(key, 0.0)] for key in ("stddev", "bias")}
    text = "it measures from latitude 0, longitude 0; a sensors file can name another origin"
    part.note("gps-origin", text, "warning")
    noise = {key: numbers for key, numbers in found.items() if any(numbers)}
    return _with_noise(_rate(part) | {"latitude": 0.0, "longitude": 0.0}, position=noise)


def _distances(part: SdfElement, near: float, far: float) -> dict[str, Any]:
    rate = _rate(part) or {"rate": USUAL_RATE}
    return {**rate, "near": near, "far": far}


def _lidar(part: SdfElement) -> dict[str, Any]:
    tag = "ray" if part.child("ray") is not None else "lidar"
    near, far = part.number(tag, "range", "min"), part.number(tag, "range", "max", default=10.0)
    far = min(far, FARTHEST)
    noise = _noise(part.child(tag))
    resolution = part.number(tag, "range", "resolution")
    noise |= {"resolution": resolution} if resolution > 0.0 else {}
    values = _distances(part, near, far) | {"horizontal": _fan(part, tag, "horizontal", 640)}
    if part.child(tag, "scan", "vertical") is not None:
        values["vertical"] = _fan(part, tag, "vertical", 1)
    return _with_noise(values, range=noise)


def _fan(part: SdfElement, tag: str, name: str, usual: int) -> dict[str, Any]:
    place = tag, "scan", name
    first, last = (part.number(*place, end) for end in ("min_angle", "max_angle"))
    samples = part.number(*place, "samples", default=usual)
    if samples < 0.0:
        text = f"its <samples> is {samples:g}; allowed is a number from 1 on; 1 is used"
        part.note("bad-value", text, "warning", found=f"{samples:g}")
    count = _whole(samples * part.number(*place, "resolution", default=1.0))
    return {"from": first, "to": last, "rays": max(count if first != last else 1, 1)}


def _whole(number: float) -> float:
    """Return the nearest whole number.

    Infinity is returned unchanged; the tables of a sensors file refuse it later.
    """
    return round(number) if math.isfinite(number) else number


def _sonar(part: SdfElement) -> dict[str, Any]:
    near, far = part.number("sonar", "min"), part.number("sonar", "max", default=1.0)
    angle = 2.0 * math.atan2(part.number("sonar", "radius", default=0.5), far)
    return _distances(part, near, far) | {"field_of_view": angle, "radiation": "ultrasound"}


def _color(part: SdfElement) -> dict[str, Any]:
    near, far = (
        part.number("camera", "clip", tag, default=usual)
        for tag, usual in (("near", 0.1), ("far", 100.0))
    )
    values = _distances(part, near, far)
    for tag, usual in (("width", 320), ("height", 240)):
        values[tag] = _whole(part.number("camera", "image", tag, default=usual))
    part.word("camera", "image", "format")
    values["field_of_view"] = part.number("camera", "horizontal_fov", default=math.pi / 3)
    bends = [part.number("camera", "distortion", k) for k in ("k1", "k2", "p1", "p2", "k3")]
    return values | ({"distortion": bends} if any(bends) else {})


def _depth(part: SdfElement) -> dict[str, Any]:
    """Return the values of a depth camera, with points as in gz-sim."""
    values = _color(part) | {"points": True}
    return _with_noise(values, range=_noise(part.child("camera")))


_CAMERA = _Kind("color", _color, is_optical=True)
_DEPTH = _Kind("depth", _depth, is_optical=True)
_LIDAR = (_Kind("lidar", _lidar),)
#: The types of sensors in SDF that this library has.
_KINDS: dict[str, tuple[_Kind, ...]] = {
    "imu": (_Kind("imu", _imu),),
    "force_torque": (_Kind("force_torque", _force_torque),),
    "contact": (_Kind("contact", _contact),),
    "magnetometer": (_Kind("magnetometer", _magnetometer),),
    **dict.fromkeys(("gps", "navsat"), (_Kind("gps", _gps),)),
    **dict.fromkeys(("ray", "gpu_ray", "lidar", "gpu_lidar"), _LIDAR),
    "sonar": (_Kind("range", _sonar),),
    **dict.fromkeys(("camera", "wideanglecamera", "wide_angle_camera"), (_CAMERA,)),
    **dict.fromkeys(("depth", "depth_camera"), (_DEPTH,)),
    **dict.fromkeys(("rgbd", "rgbd_camera"), (_CAMERA, _DEPTH)),
}
