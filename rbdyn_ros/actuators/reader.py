# SPDX-License-Identifier: Apache-2.0
"""Read the actuators of a robot from a YAML file, whose keys are in keys.py."""

import math
from pathlib import Path
from typing import Any

from rbdyn_ros.actuators.keys import DIALECT
from rbdyn_ros.actuators.specs import BEND, COGGING, ROOM, ActuatorSpec, delay_steps
from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.reading.files import read_bytes
from rbdyn_ros.description.yaml_files.tables import Given
from rbdyn_ros.description.yaml_files.text import Items, YamlTable
from rbdyn_ros.errors import apart, exactly, quote
from rbdyn_ros.model.declared.actuators import MAX_DELAY
from rbdyn_ros.model.declared.joints import JointClass
from rbdyn_ros.model.model import Model

#: The key that each of these keys needs, and the reason.
_NEEDED = {
    "resistance": ("motorconst", "to compute a current"),
    "motorconst_error": ("motorconst", "to differ from"),
    "inductance": ("resistance", "for its time constant"),
    "voltage": ("resistance", "to limit a current"),
    "thermal": ("resistance", "that heats the winding"),
    "derating": ("thermal", "for a temperature"),
    "elastic": ("armature", "for a rotor of its own"),
}


def read_actuators(path: str | Path, m: Model) -> tuple[ActuatorSpec, ...]:
    """Read an actuators file.

    Args:
        path: path of the file.
        m: the robot, with the timestep of its simulation.

    Returns:
        The actuators, in the order of the file.

    Raises:
        DescriptionError: with all errors of the document, each with its line.
    """
    return read_actuators_text(read_file(path), m, source=str(path))


def read_file(path: str | Path) -> bytes:
    """Return the content of an actuators file.

    Raises:
        DescriptionError: the file cannot be read.
    """
    return read_bytes(Path(path), "a .yaml file", "the path of an actuators file")


def read_actuators_text(
    text: str | bytes, m: Model, *, source: str = "<text>"
) -> tuple[ActuatorSpec, ...]:
    """Read actuators from the text of a file; returns and raises the same as read_actuators."""
    audit = Audit()
    specs = read_table(DIALECT.parse(text, source, audit), m, audit)
    audit.raise_errors(source)
    return specs


def read_table(top: YamlTable, m: Model, audit: Audit) -> tuple[ActuatorSpec, ...]:
    """Read actuators from the nodes of a document; add errors to `audit`."""
    table = DIALECT.read(top, audit).get("actuators")
    if table is None:
        return ()
    found = []
    for joint in table.lines:
        _check_joint(joint, table, m)
        given = table.get(joint)
        if given is None:
            continue
        values = _values(given)
        _check_together(given, m)
        if given.sound:
            found.append(ActuatorSpec(joint, **values))
    return tuple(found)


def _check_joint(name: str, table: Given, m: Model) -> None:
    """Add an error unless a joint can have an actuator."""
    owner, audit = f"actuator {quote(name)}", table.audit
    if name in m.loop_names:
        message = (
            f"the joint {quote(name)} closes a loop and has no coordinate; give the joint an "
            "effort limit, and the loop is cut at another joint"
        )
        audit.error("loop-joint", owner, table.lines[name], message, found=name)
        return
    if name not in m.jnt_names:
        message = f"the robot has no moving joint {quote(name)}{audit.hint(name, m.jnt_names)}"
        audit.error("unknown-joint", owner, table.lines[name], message, found=name)
        return
    j = m.jnt_id(name)
    reason = ""
    if m.jnt_mimic[j] >= 0:
        leader = quote(m.jnt_names[m.jnt_mimic[j]])
        reason = f"the joint is a mimic joint; allowed is its leader {leader}"
    elif m.jnt_class[j] != JointClass.FREE:
        reason = "the joint has a prescribed motion; allowed are joints without one"
    elif m.jnt_dofnum[j] != 1:
        number = m.jnt_dofnum[j]
        reason = f"the joint has {number} degrees of freedom; allowed are joints with one"
    if reason:
        audit.error("unfit-joint", owner, table.lines[name], reason, found=name)


def _values(given: Given) -> dict[str, Any]:
    tables = ("saturation", "thermal", "cogging", "lugre", "elastic")
    values = {key: value for key, value in given.items() if key not in tables}
    if isinstance(given.get("motorconst"), float):
        values["motorconst"] = (given["motorconst"],) * 2
    if (saturation := given.get("saturation")) is not None:
        constant = values.get("motorconst", (1.0,))[0]
        torque, current = (saturation.get(key, math.inf) for key in ("torque", "current"))
        values["current"] = min(torque / constant, current)
    if (thermal := given.get("thermal")) is not None and thermal.sound:
        capacity = thermal.get("capacitance")
        if capacity is None:
            capacity = thermal["timeconst"] / thermal["resistance"]
        at = (thermal.get(key, ROOM) for key in ("reftemp", "ambient"))
        values["thermal"] = (thermal["resistance"], capacity, thermal.get("tempcoef", 0.0), *at)
    if (cogging := given.get("cogging")) is not None and cogging.sound:
        values["cogging"] = tuple(cogging[key] for key in COGGING)
    if (lugre := given.get("lugre")) is not None:
        values["lugre"] = _friction(lugre)
    if (elastic := given.get("elastic")) is not None and elastic.sound:
        values["stiffness"], values["backlash"] = elastic["stiffness"], elastic["backlash"]
        values["gear_damping"] = elastic["damping"]
    return values


def _friction(lugre: Given) -> tuple[float, ...]:
    """Return the LuGre friction of the motor, or () after an error."""
    if "static" in lugre.lines and "stribeck" not in lugre.lines:
        message = "lugre has 'static' but no 'stribeck', the speed of the transition"
        lugre.error("bad-value", "", message, found="lugre")
    if "coulomb" not in lugre:
        return ()
    coulomb = lugre["coulomb"]
    static = lugre.get("static", coulomb)
    if static < coulomb:
        allowed = f"a number of at least the coulomb friction {exactly(coulomb)}"
        lugre.wrong("static", allowed, "static of lugre")
    if not lugre.sound:
        return ()
    stiffness = lugre.get("stiffness", static / BEND)
    return (stiffness, lugre["damping"], coulomb, static, lugre["stribeck"])


def _check_together(given: Given, m: Model) -> None:
    """Add an error for each value that does not fit the timestep or another value."""
    for key, (other, reason) in _NEEDED.items():
        if key in given.lines and (other not in given.lines or given.get(other) == 0.0):
            _refuse(given, key, f"{quote(key)} needs {quote(other)} {reason}")
    saturation = given.get("saturation", {})
    if "current" in saturation and "motorconst" not in given.lines:
        _refuse(saturation, "current", "a largest current needs 'motorconst'")
    if "derating" in given:
        if given["derating"][0] >= given["derating"][1]:
            _refuse(given, "derating", "derating must have two rising temperatures")
        if not saturation:
            reason = "a largest current that can fall"
            _refuse(given, "derating", f"'derating' needs 'saturation', {reason}")
    if "torque_speed" in given:
        _check_curve(given)
    steps = delay_steps(given.get("delay", 0.0), m.opt.timestep)
    if steps is None or steps > MAX_DELAY:
        step = exactly(m.opt.timestep)
        given.wrong("delay", f"a multiple of the timestep {step} s, at most {MAX_DELAY} timesteps")
    tables = ("saturation", "lugre")
    given.sound = given.sound and all(given[key].sound for key in tables if key in given)


def _refuse(given: Given, key: str, message: str) -> None:
    given.error("bad-value", key, message, found=key)


def _check_curve(given: Given) -> None:
    """Add an error for the first point that is not allowed in a torque-speed curve."""
    points, node = given["torque_speed"], given.node.nodes["torque_speed"]
    assert isinstance(node, Items)
    reason, line = "", node.nodes[0].line
    if points[0][0] != 0.0 or points[0][1] <= 0.0:
        first = f"speed {points[0][0]:g} and torque {points[0][1]:g}"
        reason = f"begins with {first}; it must begin at speed 0, with a torque above 0"
    for number in range(1, len(points)):
        (speed, torque), (next_speed, next_torque) = points[number - 1], points[number]
        if reason:
            break
        line = node.nodes[number].line
        if next_speed <= speed:
            later, former = apart(next_speed, speed)
            reason = f"has the speed {later} after {former}; speeds must rise"
        elif next_torque > torque or next_torque < 0.0:
            later, former = apart(next_torque, torque)
            reason = f"has the torque {later} after {former}; torques may fall, down to 0"
    if reason:
        given.sound = False
        given.audit.error("bad-curve", given.owner, line, f"torque_speed {reason}")
