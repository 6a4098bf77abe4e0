"""Read the actuators of a robot from a YAML file.

    rbdyn_actuators: 1              # version of this format
    actuators:
      shoulder:                     # a joint with one degree of freedom
        gear: 100                   # default 1; negative: it turns the other way
        armature: 2.5e-5            # inertia of the rotor [kg m^2]
        motorconst: [0.07, 0.07]    # Kt [N m/A], Ke [V s/rad], or one number for both
        motorconst_error: 0.05      # the motor gives 5 % more torque than the drive assumes
        resistance: 0.4             # [Ohm]
        inductance: 2e-4            # [H]
        voltage: 48                 # largest voltage of the drive [V]
        saturation: {torque: 2.0}   # or {current: 30}: of the drive [N m, A]
        torque_speed: [[0, 2.0], [300, 2.0], [450, 0]]      # [rad/s, N m]
        thermal: {resistance: 2.5, capacitance: 60, tempcoef: 0.0039, reftemp: 25, ambient: 25}
        derating: [100, 130]        # the largest current falls from the first to the second [C]
        cogging: {amplitude: 0.01, poles: 14, phase: 0}
        lugre: {coulomb: 0.02, static: 0.03, stribeck: 2.0, stiffness: 30, damping: 0}
        damping: 1e-5               # viscous friction [N m s/rad]
        elastic: {stiffness: 2e4, damping: 10, backlash: 0.001}       # of the gear, at the joint
        delay: 0.003                # [s]
        resolution: 0.05            # steps of the commanded effort of the joint [N m]

Units are SI, temperatures in C. All keys may be left out. specs.py describes them.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from pathlib import Path
from typing import Any

from rbdyn_ros.actuators.specs import BEND, COGGING, LUGRE, ROOM, ActuatorSpec, delay_steps
from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.files import read_bytes
from rbdyn_ros.description.mechanism_files.forms import Form
from rbdyn_ros.description.mechanism_files.yaml_text import (
    Items,
    Node,
    YamlTable,
    check_version,
    parse,
)
from rbdyn_ros.errors import quote
from rbdyn_ros.model.actuators import CURVE_POINTS, MAX_DELAY
from rbdyn_ros.model.joints import JointClass
from rbdyn_ros.model.model import Model

VERSION = "rbdyn_actuators"

#: Keys with one number of 0 or more.
_NUMBERS = ("armature", "resistance", "inductance", "damping", "resolution", "delay")
#: The other keys.
_OTHERS = (
    *("gear", "motorconst", "motorconst_error", "voltage", "saturation", "torque_speed"),
    *("thermal", "derating", "cogging", "lugre", "elastic"),
)
_THERMAL = ("resistance", "capacitance", "timeconst", "tempcoef", "reftemp", "ambient")
_ELASTIC = ("stiffness", "damping", "backlash")
_SATURATION = ("torque", "current")
#: Keys of `thermal` and `cogging` that may be negative.
_SIGNED = ("reftemp", "ambient", "phase")

#: All keys of an actuator that hold one number, or may.
PARAMETERS = (
    *_NUMBERS,
    *("gear", "motorconst", "motorconst_error", "voltage"),
    *(f"saturation.{key}" for key in _SATURATION),
    *(f"thermal.{key}" for key in _THERMAL),
    *(f"cogging.{key}" for key in COGGING),
    *(f"lugre.{key}" for key in LUGRE),
    *(f"elastic.{key}" for key in _ELASTIC),
)


def read_actuators(path: str | Path, m: Model) -> tuple[ActuatorSpec, ...]:
    """Read an actuators file.

    Args:
        path: of the file.
        m: the robot, with the timestep that it will be simulated with.

    Returns:
        The actuators, in the order of the file.

    Raises:
        DescriptionError: with all errors of the document, each with its line.
    """
    return read_actuators_text(read_file(path), m, source=str(path))


def read_file(path: str | Path) -> bytes:
    """Return the content of an actuators file.

    Raises:
        DescriptionError: it cannot be read.
    """
    return read_bytes(Path(path), "a .yaml file", "the path of an actuators file")


def parse_actuators(text: str | bytes, source: str, audit: Audit) -> YamlTable:
    """Return the nodes of an actuators file, whose version is right."""
    top = parse(text, source, audit, "an actuators file")
    check_version(top, VERSION, source, "an actuators file", "not-an-actuators-file")
    return top


def read_actuators_text(
    text: str | bytes, m: Model, *, source: str = "<text>"
) -> tuple[ActuatorSpec, ...]:
    """Read actuators from text; result and errors as for read_actuators.

    Args:
        text: the document.
        m: the robot.
        source: name of the document, for messages.
    """
    audit = Audit()
    specs = read_table(parse_actuators(text, source, audit), m, audit)
    audit.raise_errors(source)
    return specs


def read_table(top: YamlTable, m: Model, audit: Audit) -> tuple[ActuatorSpec, ...]:
    """Read actuators from the nodes of a document; audit receives the errors."""
    return _Reader(Form(audit), m).actuators(top)


class _Reader:
    def __init__(self, form: Form, m: Model) -> None:
        self.form, self.m = form, m

    def actuators(self, top: YamlTable) -> tuple[ActuatorSpec, ...]:
        """Return the actuators of a document."""
        whole = self.form.table(top, "actuators file", "", (VERSION, "actuators"), ("actuators",))
        if whole is None:
            return ()
        table = whole.nodes["actuators"]
        if not isinstance(table, YamlTable):
            self.form.wrong(table, "list of actuators", "", "a table of joints")
            return ()
        found = [self.actuator(name, table) for name in table.nodes]
        return tuple(spec for spec in found if spec is not None)

    def actuator(self, name: str, all_joints: YamlTable) -> ActuatorSpec | None:
        """Return the actuator of a joint; None if there is an error."""
        owner, before = f"actuator {quote(name)}", len(self.form.audit.findings)
        self.check_joint(name, owner, all_joints.lines[name])
        node = all_joints.nodes[name]
        table = self.form.table(node, "actuator", owner, (*_NUMBERS, *_OTHERS))
        if table is None:
            return None
        part = _Part(self.form, owner, table)
        values: dict[str, Any] = {key: part.number(key) for key in _NUMBERS if key in table.nodes}
        values |= _motor(part)
        values |= _drive(part, values) | _heat(part) | _gear(part) | _friction(part)
        _check_together(part, values)
        self.check_delay(part)
        if len(self.form.audit.findings) > before:
            return None
        return ActuatorSpec(name, **values)

    def check_joint(self, name: str, owner: str, line: int) -> None:
        """Add an error unless a joint can have an actuator."""
        m, audit = self.m, self.form.audit
        if name not in m.jnt_names:
            hint = audit.hint(name, m.jnt_names)
            message = f"the robot has no moving joint {quote(name)}{hint}"
            audit.error("unknown-joint", owner, line, message, found=name)
            return
        j = m.jnt_id(name)
        why = ""
        if m.jnt_mimic[j] >= 0:
            leader = quote(m.jnt_names[m.jnt_mimic[j]])
            why = f"the joint is a mimic joint; allowed is its leader {leader}"
        elif m.jnt_class[j] != JointClass.FREE:
            why = "the joint has a prescribed motion; allowed are joints that forces move"
        elif m.jnt_dofnum[j] != 1:
            number = m.jnt_dofnum[j]
            why = f"the joint has {number} degrees of freedom; allowed are joints with one"
        if why:
            audit.error("unfit-joint", owner, line, why, found=name)

    def check_delay(self, part: _Part) -> None:
        """Add an error unless the delay is a number of timesteps."""
        delay, h = part.number("delay") if "delay" in part else 0.0, self.m.opt.timestep
        steps = delay_steps(delay, h)
        if steps is None or steps > MAX_DELAY:
            allowed = f"a multiple of the timestep {h:g} s, at most {MAX_DELAY} of them"
            part.wrong("delay", allowed)


class _Part:
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
        return value

    def numbers(self, key: str, count: int) -> tuple[float, ...] | None:
        """Return a list of numbers."""
        return self.form.numbers(self.table.nodes[key], self.called(key), self.owner, count)

    def inner(
        self, key: str, allowed: Collection[str], needed: Collection[str] = ()
    ) -> _Part | None:
        """Return the table of a key; None if it is missing or wrong."""
        if key not in self:
            return None
        table = self.form.table(self.table.nodes[key], key, self.owner, allowed, needed)
        return None if table is None else _Part(self.form, self.owner, table, key)

    def error(self, key: str, message: str) -> None:
        """Add an error at the line of a key."""
        self.form.audit.error("bad-value", self.owner, self.table.lines[key], message, found=key)


def _motor(part: _Part) -> dict[str, Any]:
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


def _drive(part: _Part, motor: dict[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if "voltage" in part:
        values["voltage"] = part.number("voltage", positive=True)
    if (saturation := part.inner("saturation", _SATURATION)) is not None:
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


def _curve(part: _Part) -> tuple[tuple[float, float], ...]:
    """Return the points of a torque-speed curve."""

    def point(node: Node, what: str, owner: str) -> tuple[float, float] | None:
        both = part.form.numbers(node, what, owner, 2)
        return None if both is None else (both[0], both[1])

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


def _check_curve(part: _Part, node: Items, points: tuple[tuple[float, float], ...]) -> None:
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
            why = f"has the speed {next_speed:g} after {speed:g}; speeds must rise"
        elif next_torque > torque or next_torque < 0.0:
            why = f"has the torque {next_torque:g} after {torque:g}; torques may fall, down to 0"
    if why:
        part.form.audit.error("bad-curve", part.owner, line, f"torque_speed {why}")


def _heat(part: _Part) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if (thermal := part.inner("thermal", _THERMAL, ("resistance",))) is not None:
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


def _gear(part: _Part) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if "gear" in part:
        values["gear"] = part.number("gear", signed=True)
        if values["gear"] == 0.0:
            part.wrong("gear", "a number other than 0")
    if (elastic := part.inner("elastic", _ELASTIC, _ELASTIC[:1])) is not None:
        values["stiffness"] = elastic.number("stiffness", positive=True)
        values["gear_damping"] = elastic.number("damping") if "damping" in elastic else 0.0
        values["backlash"] = elastic.number("backlash") if "backlash" in elastic else 0.0
    return values


def _friction(part: _Part) -> dict[str, Any]:
    lugre = part.inner("lugre", LUGRE, ("coulomb",))
    if lugre is None:
        return {}
    coulomb = lugre.number("coulomb", positive=True)
    static = lugre.number("static") if "static" in lugre else coulomb
    if static < coulomb:
        lugre.wrong("static", f"a number of at least the coulomb friction {coulomb:g}")
    if "static" in lugre and "stribeck" not in lugre:
        part.error("lugre", "lugre has 'static' but no 'stribeck', the speed of the transition")
    positive = {"stiffness": static / BEND, "stribeck": 1.0}
    for key in positive:
        if key in lugre:
            positive[key] = lugre.number(key, positive=True)
    damping = lugre.number("damping") if "damping" in lugre else 0.0
    return {"lugre": (positive["stiffness"], damping, coulomb, static, positive["stribeck"])}


def _row(part: _Part, keys: Collection[str], rest: tuple[float, ...]) -> tuple[float, ...]:
    """Return the numbers of a table in the order of its keys."""
    return tuple(
        part.number(key, signed=key in _SIGNED) if key in part else default
        for key, default in zip(keys, rest, strict=True)
    )


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


def _check_together(part: _Part, values: dict[str, Any]) -> None:
    """Add an error for each key that lacks another one."""
    for key, (other, why) in _NEEDED.items():
        if key in part and not (other in part and values.get(other) != 0.0):
            part.error(key, f"{quote(key)} needs {quote(other)} {why}")
    if "derating" in part and not math.isfinite(values.get("current", math.inf)):
        part.error("derating", "'derating' needs 'saturation', a largest current that can fall")
