# SPDX-License-Identifier: Apache-2.0
"""Write actuators as an actuators file, which reader.py reads."""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence

from rbdyn_ros.actuators.keys import ACTUATOR, DIALECT
from rbdyn_ros.actuators.specs import BEND, COGGING, LUGRE, THERMAL, ActuatorSpec
from rbdyn_ros.checks.names import strings
from rbdyn_ros.description.yaml_files.kinds import Number

#: Pattern of joint names that need no quotes in YAML.
PLAIN = re.compile(r"(?!(?i:y|n|yes|no|on|off|true|false|null)$)[A-Za-z_][A-Za-z0-9_/-]*")

#: Keys with a single number, which are also attributes of ActuatorSpec.
NUMBERS = tuple(key.name for key in ACTUATOR.keys if isinstance(key.kind, Number))


def actuators_text(
    specs: Iterable[ActuatorSpec],
    comments: Mapping[str, Mapping[str, str]] | None = None,
    head: Sequence[str] = (),
) -> str:
    """Return the text of an actuators file; keys with their default are left out.

    Args:
        specs: the actuators.
        comments: comment for each (joint, key); None: no comments.
        head: comment lines at the beginning.
    """
    lines = [*(f"# {line}" for line in strings("head", head)), f"{DIALECT.key}: 1", "actuators:"]
    specs = list(specs)
    for spec in specs:
        keys, said = _keys(spec), (comments or {}).get(spec.joint, {})
        lines.append(f"  {_name(spec.joint)}:" + ("" if keys else " {}"))
        for key, value in keys.items():
            line = f"    {key}: {value}"
            lines.append(f"{line:<40}  # {said[key]}" if key in said else line)
    if not specs:
        lines[-1] += " {}"
    return "\n".join(lines) + "\n"


def _keys(spec: ActuatorSpec) -> dict[str, str]:
    """Return the keys whose values differ from the defaults, with their values."""
    plain = ActuatorSpec(spec.joint)
    keys = {
        key: _number(getattr(spec, key))
        for key in NUMBERS
        if getattr(spec, key) != getattr(plain, key)
    }
    # motorconst_error is relative to motorconst, so the file has both
    if spec.motorconst != plain.motorconst or spec.motorconst_error or spec.resistance:
        both = spec.motorconst
        keys["motorconst"] = _number(both[0]) if both[0] == both[1] else _row(both)
    if spec.current < math.inf:
        # without motorconst the file has a largest torque, which equals the largest current
        of = "current" if "motorconst" in keys else "torque"
        keys["saturation"] = _table({of: spec.current})
    if spec.torque_speed:
        keys["torque_speed"] = "[" + ", ".join(map(_row, spec.torque_speed)) + "]"
    if spec.thermal[0]:
        keys["thermal"] = _table(dict(zip(THERMAL, spec.thermal, strict=True)))
    if any(spec.derating):
        keys["derating"] = _row(spec.derating)
    if spec.cogging[0]:
        keys["cogging"] = _table(dict(zip(COGGING, spec.cogging, strict=True)))
    if spec.lugre[0]:
        keys["lugre"] = _lugre(dict(zip(LUGRE, spec.lugre, strict=True)))
    if spec.stiffness:
        more = {"damping": spec.gear_damping, "backlash": spec.backlash}
        given = {key: value for key, value in more.items() if value}
        keys["elastic"] = _table({"stiffness": spec.stiffness} | given)
    return {key: keys[key] for key in ACTUATOR.rows if key in keys}


def _lugre(values: dict[str, float]) -> str:
    """Return the keys of `lugre` that differ from the defaults."""
    if values["static"] == values["coulomb"] and values["stribeck"] == 1.0:
        del values["stribeck"]
    if values["stiffness"] == values["static"] / BEND:
        del values["stiffness"]
    if values["static"] == values["coulomb"]:
        del values["static"]
    return _table({key: value for key, value in values.items() if key != "damping" or value})


def _name(joint: str) -> str:
    return joint if PLAIN.fullmatch(joint) else json.dumps(joint)


def _number(value: float) -> str:
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


def _row(values: Iterable[float]) -> str:
    return "[" + ", ".join(map(_number, values)) + "]"


def _table(values: Mapping[str, float]) -> str:
    return "{" + ", ".join(f"{key}: {_number(value)}" for key, value in values.items()) + "}"
