# SPDX-License-Identifier: Apache-2.0
"""The settings of <compiler> and <option>, and the orientations and angles that they decide."""

import math
import posixpath
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np

from rbdyn_ros.description.mjcf_files.document import Item, MjcfDocument
from rbdyn_ros.description.parts.poses import Pose, Quat, Vec3, quat_mul, turn_of_z
from rbdyn_ros.description.reading.guard import Element
from rbdyn_ros.errors import listing

ORIENTATIONS = ("quat", "axisangle", "euler", "xyaxes", "zaxis")
_UNTURNED: Quat = (1.0, 0.0, 0.0, 0.0)
_FLUID = ("density", "viscosity", "wind")


@dataclass(frozen=True, slots=True)
class CompilerSettings:
    """The settings of the compiler of MuJoCo that change a robot.

    Attributes:
        radians: whether angles are in radians instead of degrees.
        eulerseq: axes of Euler angles; axes in small letters rotate with the body.
        autolimits: whether a range limits a joint without `limited`.
        inertiafromgeom: whether geoms give the inertia of a body: false, true or auto.
        groups: first and last group of the geoms that give inertia.
        balance: whether impossible principal moments become their mean.
        mass, moment: lower bounds of the mass and the moments of moving bodies.
        total: mass to which all bodies are scaled; 0 or less: they are not scaled.
        meshdir: folder of meshes; empty: the folder of the file.
        strippath: whether mesh files are found by their names alone, without folders.
        exact: whether a mesh without `inertia` has its exact inertia.
        fitaabb: whether shapes fit the bounding box of a mesh, which is not read.
    """

    radians: bool = False
    eulerseq: str = "xyz"
    autolimits: bool = True
    inertiafromgeom: str = "auto"
    groups: tuple[float, float] = (0.0, 5.0)
    balance: bool = False
    mass: float = 0.0
    moment: float = 0.0
    total: float = -1.0
    meshdir: str = ""
    strippath: bool = False
    exact: bool = False
    fitaabb: bool = False

    def file_of(self, name: str) -> str:
        """Return the path of a mesh or a height field from the folder of the model."""
        return posixpath.join(self.meshdir, PurePosixPath(name).name if self.strippath else name)

    def angle(self, value: float) -> float:
        """Return an angle of the file in radians."""
        return value if self.radians else math.radians(value)

    def pose(self, item: Item) -> Pose:
        """Return position and orientation of an element."""
        return Pose(item.vector("pos"), self.orientation(item))

    def orientation(self, item: Item) -> Quat:
        """Return the orientation of an element as a unit quaternion."""
        present = [name for name in ORIENTATIONS if item.given(name)]
        own = [name for name in present if name in item.element.attrib]
        if len(own) > 1:
            message = f"it has the orientations {' and '.join(own)}; give one"
            item.error("duplicate-orientation", message, found=" ".join(own))
        name = (own or present or ["quat"])[0]
        count = {"quat": 4, "axisangle": 4, "euler": 3, "xyaxes": 6, "zaxis": 3}[name]
        numbers = item.numbers(name, count)
        if not numbers:
            return _UNTURNED
        try:
            return self._turned(name, numbers)
        except ZeroDivisionError:
            item.error("zero-vector", f"{name} has no direction", found=item.text(name))
            return _UNTURNED

    def _turned(self, name: str, numbers: list[float]) -> Quat:
        if name == "quat":
            w, x, y, z = unit(numbers)
            return (w, x, y, z)
        if name == "axisangle":
            return about(numbers[:3], self.angle(numbers[3]))
        if name == "zaxis":
            return turn_of_z(unit(numbers))
        if name == "xyaxes":
            return _of_axes(numbers[:3], numbers[3:])
        turned = _UNTURNED
        for letter, value in zip(self.eulerseq, numbers, strict=True):
            axis = [float(letter.lower() == name) for name in "xyz"]
            turn = about(axis, self.angle(value))
            turned = quat_mul(turned, turn) if letter.islower() else quat_mul(turn, turned)
        return turned


def read_settings(document: MjcfDocument) -> CompilerSettings:
    """Return the settings of all <compiler> of a document; the last value of a setting counts."""
    item = _merged(document, "compiler")
    if item.choice("coordinate", ("local", "global"), "local") == "global":
        message = "coordinate is 'global', which MuJoCo no longer supports; only 'local' is read"
        item.error("bad-value", message, found="global", allowed="local")
    if item.flag("alignfree", False):
        message = "alignfree moves the frames of free bodies, which is not read"
        item.repair("not-supported", message, "the frames stay", found="true", allowed="false")
    sequence = item.text("eulerseq", "xyz")
    if len(sequence) != 3 or not set(sequence.lower()) <= set("xyz"):
        item.error("bad-value", f"eulerseq is '{sequence[:20]}'; allowed are three axes, as xyz")
        sequence = "xyz"
    groups = item.numbers("inertiagrouprange", 2) or [0.0, 5.0]
    folder = item.text("meshdir", item.text("assetdir"))
    return CompilerSettings(
        radians=item.choice("angle", ("degree", "radian"), "degree") == "radian",
        eulerseq=sequence,
        autolimits=item.flag("autolimits", True),
        inertiafromgeom=item.choice("inertiafromgeom", ("false", "true", "auto"), "auto"),
        groups=(groups[0], groups[1]),
        balance=item.flag("balanceinertia", False),
        mass=item.number("boundmass"),
        moment=item.number("boundinertia"),
        total=item.number("settotalmass", -1.0),
        meshdir=folder,
        strippath=item.flag("strippath", False),
        exact=item.flag("exactmeshinertia", False),
        fitaabb=item.flag("fitaabb", False),
    )


def read_options(document: MjcfDocument) -> Vec3 | None:
    """Return the gravity, or None if it is not given; name the options that are not used."""
    item, flags = _merged(document, "option"), document.root.findall("option/flag")
    is_off = any(flag.get("gravity") == "disable" for flag in flags)
    numbers = item.numbers("gravity", 3)
    gravity = (numbers[0], numbers[1], numbers[2]) if numbers else None
    for name in _FLUID:
        if any(item.numbers(name, 1, 3)):
            item.warn("not-used", f"its {name} is not used: there is no fluid here")
    others = [name for name in item.element.attrib if name not in ("gravity", *_FLUID)]
    others += [name for flag in flags for name in flag.attrib if name != "gravity"]
    if others:
        names = listing(dict.fromkeys(others))
        message = (
            f"{names} of <option> is not used: steps and solvers are parameters of the simulation"
        )
        item.warn("not-used", message, "note")
    document.skip("option", "flag")
    return (0.0, 0.0, 0.0) if is_off else gravity


def _merged(document: MjcfDocument, tag: str) -> Item:
    """Return all sections of a tag as one; later sections override earlier sections."""
    none = Element(tag, {})
    none.line = document.root.line
    *before, last = document.root.findall(tag) or [none]
    assert isinstance(last, Element)
    for element in reversed(before):
        document.pass_over(element)
        for name, value in element.attrib.items():
            last.attrib.setdefault(name, value)
    return document.item(last, tag)


def unit(vector: list[float]) -> list[float]:
    """Return a vector divided by its length; raise ZeroDivisionError if its length is 0."""
    length = math.hypot(*vector)
    return [x / length for x in vector]


def about(axis: list[float], angle: float) -> Quat:
    """Return the quaternion of a rotation about an axis by an angle [rad]."""
    x, y, z = unit(axis)
    s = math.sin(angle / 2)
    return (math.cos(angle / 2), x * s, y * s, z * s)


def _of_axes(first: list[float], second: list[float]) -> Quat:
    """Return the orientation of a frame from its x axis and a direction near its y axis."""
    x = unit(first)
    along = sum(a * b for a, b in zip(x, second, strict=True))
    y = unit([b - along * a for a, b in zip(x, second, strict=True)])
    return of_matrix(np.array([x, y, np.cross(x, y)]).T)


def of_matrix(R: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Quat:
    """Return the quaternion of a rotation matrix (Shepperd, 1978)."""
    xx, yy, zz = R.diagonal().tolist()
    four = [1 + xx + yy + zz, 1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz]
    k = four.index(max(four))
    a, b, c = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    d, e, f = R[0, 1] + R[1, 0], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1]
    rows = [
        (four[0], a, b, c),
        (a, four[1], d, e),
        (b, d, four[2], f),
        (c, e, f, four[3]),
    ]
    w, x, y, z = unit([float(n) for n in rows[k]])
    return (w, x, y, z)


def middle(ends: list[float]) -> tuple[Vec3, Quat, float]:
    """Return centre, orientation and length of the line between two points, six numbers."""
    first, second = np.array(ends[:3]), np.array(ends[3:])
    x, y, z = ((first + second) / 2).tolist()
    across = (first - second).tolist()
    return (x, y, z), turn_of_z(unit(across)), math.hypot(*across)
