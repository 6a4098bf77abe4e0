"""The parts of an actuator in a file: motor, drive, winding, gear and friction."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

from rbdyn_ros.actuators.specs import BEND, COGGING, LUGRE, ROOM, quantity_of
from rbdyn_ros.description.mechanism_files.forms import Form
from rbdyn_ros.description.mechanism_files.yaml_text import Items, Node, YamlTable
from rbdyn_ros.description.parts.bounds import audit_range
from rbdyn_ros.errors import apart, exactly, quote
from rbdyn_ros.model.actuators import CURVE_POINTS

THERMAL = ("resistance", "capacitance", "timeconst", "tempcoef", "reftemp", "ambient")
ELASTIC = ("stiffness", "damping", "backlash")
SATURATION = ("torque", "current")
#: Keys of `thermal` and `cogging` that may be negative.
_SIGNED = ("reftemp", "ambient", "phase")

#: Keys that need another one, and why.
_NEEDED = {
    "resistance": ("motorconst", "to compute a current"),
    "motorconst_error": ("motorconst", "to differ from"),
    "inductance": ("resistance", "for its time constant"),
    "voltage": ("resistance", "to limit a current"),
    "thermal": ("resistance", "that heats the winding"),
    "derating": ("thermal", "for a temperature"),
    "elastic": ("armature", "for a rotor of its own"),
}


class Part:
    """The table of an actuator, or a table in it.

    Args:
        form: reads nodes and keeps errors.
        owner: the actuator, for messages.
        table: the table.
        name: of the table in messages; empty: the actuator itself.
    """

    def __init__(self, form: Form, owner: str, table: YamlTable, name: str = "") -> None:
        self.form, self.owner, self.table, self._name = form, owner, table, name

    def __contains__(self, key: str) -> bool:
        return key in self.table.nodes

    def called(self, key: str) -> str:
        """Return the name of a key in messages."""
        return f"{key} of {self._name}" if self._name else key

    def wrong(self, key: str, allowed: str) -> None:
        """Add the error that the value of a key is not allowed."""
        self.form.wrong(self.table.nodes[key], self.called(key), self.owner, allowed)

    def number(self, key: str, *, signed: bool = False, positive: bool = False) -> float:
        """Return a number, 0 or more unless `signed`; 0 after an error."""
        value = self.form.number(self.table.nodes[key], self.called(key), self.owner)
        if value is None:
            return 0.0
        if positive and value <= 0.0:
            self.wrong(key, "a number above 0")
        elif value < 0.0 and not signed:
            self.wrong(key, "a number of 0 or more")
        self._check_sizes(key, (value,))
        return value

    def numbers(self, key: str, count: int) -> tuple[float, ...] | None:
        """Return a list of numbers."""
        found = self.form.numbers(self.table.nodes[key], self.called(key), self.owner, count)
        self._check_sizes(key, found or ())
        return found

    def _check_sizes(self, key: str, values: Sequence[float]) -> None:
        line, audit = self.table.lines[key], self.form.audit
        audit_range(self.called(key), values, quantity_of(key), self.owner, line, audit)

    def inner(
        self, key: str, allowed: Collection[str], needed: Collection[str] = ()
    ) -> Part | None:
        """Return the table of a key; None if it is missing or wrong."""
        if key not in self:
            return None
        table = self.form.table(self.table.nodes[key], key, self.owner, allowed, needed)
        return None if table is None else Part(self.form, self.owner, table, key)

    def error(self, key: str, message: str) -> None:
        """Add an error at the line of a key."""
        self.form.audit.error("bad-value", self.owner, self.table.lines[key], message, found=key)


def read_parts(part: Part, numbers: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an ActuatorSpec.

    Args:
        part: the table of the actuator.
        numbers: the fields that are one number of 0 or more.
    """
    values = numbers | _motor(part)
    values |= _drive(part, values) | _heat(part) | _gear(part) | _friction(part)
    _check_together(part, values)
    return values


def _motor(part: Part) -> dict[str, Any]:
    """Return the fields of the motor: constants and cogging."""
    values: dict[str, Any] = {}
    if "motorconst" in part:
        if isinstance(part.table.nodes["motorconst"], Items):
            both = part.numbers("motorconst", 2) or (1.0, 1.0)
        else:
            both = (part.number("motorconst"),) * 2
        if both[0] <= 0.0 or both[1] < 0.0:
            part.wrong("motorconst", "Kt above 0 and Ke of 0 or more")
        values["motorconst"] = both
    if "motorconst_error" in part:
        values["motorconst_error"] = part.number("motorconst_error", signed=True)
        if values["motorconst_error"] <= -1.0:
            part.wrong("motorconst_error", "a number above -1")
    if (cogging := part.inner("cogging", COGGING, COGGING[:2])) is not None:
        values["cogging"] = _row(cogging, COGGING, (0.0, 0.0, 0.0))
    return values


def _drive(part: Part, motor: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of the drive: its limits of voltage, current and torque."""
    values: dict[str, Any] = {}
    if "voltage" in part:
        values["voltage"] = part.number("voltage", positive=True)
    if (saturation := part.inner("saturation", SATURATION)) is not None:
        limits = [math.inf]
        if "torque" in saturation:
            constant = motor.get("motorconst", (1.0, 1.0))[0]
            limits.append(saturation.number("torque", positive=True) / (constant or 1.0))
        if "current" in saturation:
            limits.append(saturation.number("current", positive=True))
            if "motorconst" not in part:
                saturation.error("current", "a largest current needs 'motorconst'")
        values["current"] = min(limits)
    if "torque_speed" in part:
        values["torque_speed"] = _curve(part)
    return values


def _curve(part: Part) -> tuple[tuple[float, float], ...]:
    """Return the points of a torque-speed curve."""

    def point(node: Node, what: str, owner: str) -> tuple[float, float] | None:
        both = part.form.numbers(node, what, owner, 2)
        if both is None or not audit_range(
            what, both, "actuator", owner, node.line, part.form.audit
        ):
            return None
        return both[0], both[1]

    node = part.table.nodes["torque_speed"]
    points = part.form.items(node, "torque_speed", "point", part.owner, point)
    if points is None or not isinstance(node, Items):
        return ()
    if not 2 <= len(points) <= CURVE_POINTS:
        message = f"torque_speed has {len(points)} points; allowed are 2 to {CURVE_POINTS}"
        part.error("torque_speed", message)
        return ()
    _check_curve(part, node, points)
    return points


def _check_curve(part: Part, node: Items, points: tuple[tuple[float, float], ...]) -> None:
    """Add an error for the first point that a curve cannot have."""
    why = ""
    if points[0][0] != 0.0 or points[0][1] <= 0.0:
        first = f"speed {points[0][0]:g} and torque {points[0][1]:g}"
        why = f"begins with {first}; it must begin at speed 0, with a torque above 0"
    line = node.nodes[0].line
    for number in range(1, len(points)):
        (speed, torque), (next_speed, next_torque) = points[number - 1], points[number]
        if why:
            break
        line = node.nodes[number].line
        if next_speed <= speed:
            later, former = apart(next_speed, speed)
            why = f"has the speed {later} after {former}; speeds must rise"
        elif next_torque > torque or next_torque < 0.0:
            later, former = apart(next_torque, torque)
            why = f"has the torque {later} after {former}; torques may fall, down to 0"
    if why:
        part.form.audit.error("bad-curve", part.owner, line, f"torque_speed {why}")


def _heat(part: Part) -> dict[str, Any]:
    """Return the fields of the winding's temperature."""
    values: dict[str, Any] = {}
    if (thermal := part.inner("thermal", THERMAL, ("resistance",))) is not None:
        given = {key: thermal.number(key, signed=key in _SIGNED) for key in thermal.table.nodes}
        for key in ("resistance", "capacitance", "timeconst"):
            if key in given and given[key] <= 0.0:
                thermal.wrong(key, "a number above 0")
        if ("capacitance" in given) == ("timeconst" in given):
            part.error("thermal", "thermal needs either 'capacitance' or 'timeconst'")
        if given.get("resistance", 0.0) > 0.0 and "timeconst" in given:
            given["capacitance"] = given["timeconst"] / given["resistance"]
        rest = {"tempcoef": 0.0, "reftemp": ROOM, "ambient": ROOM, "capacitance": 1.0}
        given = {**rest, **given}
        keys = ("resistance", "capacitance", "tempcoef", "reftemp", "ambient")
        values["thermal"] = tuple(given[key] for key in keys)
    if "derating" in part:
        both = part.numbers("derating", 2)
        if both is not None and both[0] >= both[1]:
            part.error("derating", "derating must have two rising temperatures")
        values["derating"] = both
    return values


def _gear(part: Part) -> dict[str, Any]:
    """Return the fields of the gear."""
    values: dict[str, Any] = {}
    if "gear" in part:
        values["gear"] = part.number("gear", signed=True)
        if values["gear"] == 0.0:
            part.wrong("gear", "a number other than 0")
    if (elastic := part.inner("elastic", ELASTIC, ELASTIC[:1])) is not None:
        values["stiffness"] = elastic.number("stiffness", positive=True)
        values["gear_damping"] = elastic.number("damping") if "damping" in elastic else 0.0
        values["backlash"] = elastic.number("backlash") if "backlash" in elastic else 0.0
    return values


def _friction(part: Part) -> dict[str, Any]:
    """Return the LuGre friction of the motor."""
    lugre = part.inner("lugre", LUGRE, ("coulomb",))
    if lugre is None:
        return {}
    coulomb = lugre.number("coulomb", positive=True)
    static = lugre.number("static") if "static" in lugre else coulomb
    if static < coulomb:
        lugre.wrong("static", f"a number of at least the coulomb friction {exactly(coulomb)}")
    if "static" in lugre and "stribeck" not in lugre:
        part.error("lugre", "lugre has 'static' but no 'stribeck', the speed of the transition")
    positive = {"stiffness": static / BEND, "stribeck": 1.0}
    for key in positive:
        if key in lugre:
            positive[key] = lugre.number(key, positive=True)
    damping = lugre.number("damping") if "damping" in lugre else 0.0
    return {"lugre": (positive["stiffness"], damping, coulomb, static, positive["stribeck"])}


def _row(part: Part, keys: Collection[str], rest: tuple[float, ...]) -> tuple[float, ...]:
    """Return the numbers of a table in the order of its keys."""
    return tuple(
        part.number(key, signed=key in _SIGNED) if key in part else default
        for key, default in zip(keys, rest, strict=True)
    )


def _check_together(part: Part, values: dict[str, Any]) -> None:
    """Add an error for each key that lacks another one."""
    for key, (other, why) in _NEEDED.items():
        if key in part and not (other in part and values.get(other) != 0.0):
            part.error(key, f"{quote(key)} needs {quote(other)} {why}")
    if "derating" in part and not math.isfinite(values.get("current", math.inf)):
        part.error("derating", "'derating' needs 'saturation', a largest current that can fall")
