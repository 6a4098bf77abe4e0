# SPDX-License-Identifier: Apache-2.0
"""Write tables that a generated controller shares with arm_controller: faults, limits, robot."""

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.codegen.kernels.texts import is_constant
from rbdyn_ros.control.arm.settings import ControlSettings
from rbdyn_ros.control.base import faults, friction, limits
from rbdyn_ros.control.base.faults import FAULTS, KIND_CODES, REMEDIES
from rbdyn_ros.control.base.limits import Limits
from rbdyn_ros.control.states import gate, loop_state
from rbdyn_ros.dynamics.configuration import position_ranges
from rbdyn_ros.model.declared.joints import JointType
from rbdyn_ros.model.model import Model

#: Modules of arm_controller whose constants the hand-written code uses.
MODULES = (faults, limits, gate, loop_state)
#: Settings whose defaults the C++ uses, by the namespace of their constants.
DEFAULTS: dict[str, tuple[type[Any], tuple[str, ...]]] = {
    "gate": (gate.GateSettings, ("state_timeout", "effort_rate", "blend_time")),
    "settings": (
        ControlSettings,
        (
            *("blind_time", "target_timeout", "gravity_damping", "stiffness", "damping"),
            *("tracking_tolerance", "start_tolerance", "start_up_tolerance"),
        ),
    ),
}


#: For each fault code, the text that shows the fault's numbers.
NUMBERS = dict.fromkeys(
    ("age", "target", "latency", "clock"), "{value} s, allowed are {bound} s"
) | {
    "finite": "a state is refused",
    "frozen": "joint '{joint}' is at {value} with velocity {bound}",
}
OTHER_NUMBERS = "joint '{joint}': {value}, allowed is {bound}"


def defaults() -> dict[str, float]:
    """Return the default of every setting in DEFAULTS."""
    found: dict[str, float] = {}
    for kind, names in DEFAULTS.values():
        given = {field.name: field.default for field in dataclasses.fields(kind)}
        found |= {name: float(given[name]) for name in names}  # type: ignore[arg-type]
    return found


@cache
def first_values() -> dict[str, str]:
    """Return C++ initial values of fields of records, from the robot and the default settings."""
    usual = {name: number(value) for name, value in defaults().items()}
    return usual | {
        "dofs": "PLACE",
        "controlled": "IS_CONTROLLED",
        "slides": "SLIDES",
        "all_dofs": "ALL_DOFS",
        "limits": "Rows(LOWER, UPPER, VELOCITY, EFFORT, POWER, GAIN)",
        "bounds": "Table<3, DOFS>(BOUNDS_LOWER, BOUNDS_UPPER, BOUNDS_VELOCITY)",
        "viscous": "VISCOUS",
        "coulomb": "COULOMB",
        "dry": "COULOMB",
        "stribeck_velocity": f"every({number(friction.STRIBECK_VELOCITY)})",
        "smoothing": f"every({number(friction.SMOOTHING)})",
        "floating": f"Dofs{{}}, every({usual['gravity_damping']})",
        "acceleration": number(limits.ACCELERATION),
        "latency": number(limits.LATENCY),
        "tolerance": usual["start_up_tolerance"],
        "velocity_scale": "1.0",
        "period": "0.001",
        "since_start": "INFINITE",
        "measures": "1",
        "includes_gravity": "1",
        "tests": "1",
    }


def constants(modules: Mapping[str, ModuleType]) -> str:
    """Return the constants as namespaces of C++.

    Args:
        modules: modules of translated kernels, by their namespaces.
    """
    every = {module.__name__.rpartition(".")[2]: module for module in MODULES} | dict(modules)
    rows: dict[str, dict[str, float]] = {
        space: {name: value for name, value in vars(module).items() if is_constant(name, value)}
        for space, module in every.items()
    }
    given = defaults()
    for space, (_, names) in DEFAULTS.items():
        rows.setdefault(space, {}).update({name.upper(): given[name] for name in names})
    return "\n\n".join("\n".join(_namespace(space, row)) for space, row in rows.items() if row)


def _namespace(space: str, row: dict[str, float]) -> Iterator[str]:
    yield f"namespace {space}"
    yield "{"
    for name, value in row.items():
        if isinstance(value, int):
            yield f"constexpr Index {name} = {value};"
        else:
            yield f"constexpr double {name} = {number(value)};"
    yield f"}}  // namespace {space}"


def fault_names() -> str:
    """Return the codes of faults as names of an enumeration."""
    return ", ".join(_codes())


def fault_kinds() -> str:
    """Return the fault of each kind that kernels distinguish, for kinds from 1 on."""
    return ", ".join(f"Fault::{code}" for code in KIND_CODES[1:])


def fault_rows() -> str:
    """Return the rows of the table of faults, with texts for valid and for invalid states."""
    rows = [f"  {{{_words(code, 'brake')},\n   {_words(code, 'blind')}}}" for code in _codes()]
    return ",\n".join(["  {}", *rows])


def _words(code: str, reaction: str) -> str:
    """Return the code, numbers, cause (for a reaction) and remedy of a fault as C++ strings."""
    kinds = [kind for kind in FAULTS if kind.code == code]
    kind = next((kind for kind in kinds if kind.reaction == reaction), kinds[0])
    found, cause = NUMBERS.get(code, OTHER_NUMBERS), kind.cause.replace("`", "")
    return f"{{{', '.join(map(text, (code, found, cause, REMEDIES[code])))}}}"


def texts(rows: Mapping[int, str]) -> str:
    """Return sentences as rows of a C++ table, for the numbers from 0 on."""
    return ",\n".join(f"  {text(rows.get(k, ''))}" for k in range(1 + max(rows)))


def _codes() -> list[str]:
    return list(dict.fromkeys(kind.code for kind in FAULTS))


def robot(m: Model, given: Limits) -> dict[str, str]:
    """Return the numbers of a robot for the template robot.hpp."""
    free = ~np.isin(np.arange(m.nv), given.dofs)  # mask of the dofs that are not controlled
    lower, upper = position_ranges(m, m.dof_jntid).T
    rows: dict[str, Iterable[float]] = {
        "Joints LOWER": given.lower,
        "Joints UPPER": given.upper,
        "Joints VELOCITY": given.velocity,
        "Joints EFFORT": given.effort,
        "Joints POWER": given.power,
        "Joints GAIN": given.gain,
        "Dofs BOUNDS_LOWER": np.where(free, lower, -np.inf),
        "Dofs BOUNDS_UPPER": np.where(free, upper, np.inf),
        "Dofs BOUNDS_VELOCITY": np.where(free, m.jnt_velocity[m.dof_jntid], np.inf),
        "Dofs VISCOUS": m.dof_damping,
        "Dofs COULOMB": m.dof_frictionloss,
    }
    places: dict[str, Iterable[int]] = {
        "CONTROLLED> PLACE": given.dofs,
        "CONTROLLED> SLIDES": m.jnt_type[m.dof_jntid[given.dofs]] == JointType.SLIDE,
        "DOFS> IS_CONTROLLED": ~free,
        "DOFS> ALL_DOFS": range(m.nv),
    }
    lines = [
        f"constexpr std::array<Index, {name}{{{', '.join(str(int(x)) for x in values)}}};"
        for name, values in places.items()
    ]
    lines += [f"constexpr {name}{{{numbers(values)}}};" for name, values in rows.items()]
    return {
        "dofs": str(m.nv),
        "controlled": str(len(given.dofs)),
        "joint_names": ", ".join(text(m.jnt_names[j]) for j in m.dof_jntid),
        "robot_rows": "\n".join(lines),
    }


def numbers(values: Iterable[float] | Array) -> str:
    """Return numbers as text for the braces of a C++ array."""
    return ", ".join(number(float(x)) for x in values)


def number(value: float) -> str:
    """Return a number as a C++ literal with all of its digits."""
    if math.isinf(value):
        return "-INFINITE" if value < 0.0 else "INFINITE"
    return repr(float(value))


def text(value: str) -> str:
    """Return a text as a C++ string literal, with escaped special characters."""
    safe = (
        chr(c)
        if (c < 128 and chr(c).isalnum()) or chr(c) in " _-+*/.,:;()<>='`{}"
        else f"\\{c:03o}"
        for c in value.encode()
    )
    return f'"{"".join(safe)}"'
