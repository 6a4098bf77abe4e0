# SPDX-License-Identifier: Apache-2.0
"""The Model of a robot with actuators."""

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rbdyn_ros.actuators.reader import read_actuators
from rbdyn_ros.actuators.specs import ActuatorSpec, delay_steps, quantity_of
from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.description.parts.bounds import BOUNDS, within
from rbdyn_ros.errors import Finding, ModelError, ParameterError, exactly, shown
from rbdyn_ros.model.audits.number_rules import wrong_numbers
from rbdyn_ros.model.declared.actuators import (
    CURVE_POINTS,
    MAX_DELAY,
    state_lengths,
    wrong_actuators,
)
from rbdyn_ros.model.declared.joints import JointClass
from rbdyn_ros.model.declared.model_fields import MODEL_FIELDS, PRIMARY
from rbdyn_ros.model.model import Model, check_model, with_arrays

#: The Model array in which each attribute of an ActuatorSpec is stored.
_ARRAYS = {
    "gear": "actuator_gear",
    "armature": "actuator_armature",
    "motorconst": "actuator_motorconst",
    "motorconst_error": "actuator_error",
    "resistance": "actuator_resistance",
    "inductance": "actuator_inductance",
    "voltage": "actuator_voltage",
    "current": "actuator_current",
    "thermal": "actuator_thermal",
    "derating": "actuator_derating",
    "cogging": "actuator_cogging",
    "lugre": "actuator_lugre",
    "damping": "actuator_damping",
    "backlash": "actuator_backlash",
    "resolution": "actuator_resolution",
}


def with_actuators(m: Model, actuators: str | Path | Iterable[ActuatorSpec]) -> Model:
    """Return the Model of the robot with actuators at some of its joints.

    qfrc_applied of such a joint is the effort that its drive is commanded. dof_armature of a joint
    with a rigid gear includes the rotor. Everything else is as in m.

    Args:
        m: the Model without actuators, which does not change.
        actuators: path of an actuators file, or the actuators that read_actuators returns.

    Raises:
        DescriptionError: with all errors of the file, each with its line.
        ModelError: m is not a Model, has actuators already, or lacks a joint of an actuator.
        ParameterError: the integrator of m has no implicit damping, or a number of an actuator is
            not allowed.
    """
    check_model(m, "with_actuators")
    if m.nu > 0:
        text = f"'{m.name}' has actuators already; call with_actuators on the Model without them"
        raise ModelError(Finding("has-actuators", text, "error", m.name))
    if isinstance(actuators, str | Path):
        actuators = read_actuators(actuators, m)
    specs = _in_order(m, actuators)
    _check_sizes(specs)
    arrays: dict[str, Any] = {name: getattr(m, name) for name in PRIMARY}
    arrays |= _arrays(m, specs)
    arrays |= _with_rotors(m, specs)
    _check_numbers(arrays)
    return with_arrays(m, arrays, weighs=())


def with_actuators_of(m: Model, other: Model) -> Model:
    """Return a Model with the actuators of another Model, matched by joint names.

    Args:
        m: the Model, without actuators.
        other: the Model with actuators; actuators of joints that m lacks are left out.
    """
    if other.nu == 0:
        return m
    joints = [other.jnt_names[j] for j in other.dof_jntid[other.actuator_dofid]]
    kept = [a for a, name in enumerate(joints) if name in m.jnt_names]
    dofs = np.array([m.jnt_dofadr[m.jnt_id(joints[a])] for a in kept], np.int64)
    arrays: dict[str, Any] = {name: getattr(m, name) for name in PRIMARY}
    for field in MODEL_FIELDS:
        if field.dims[0] == "nu" and not field.derived:
            arrays[field.name] = getattr(other, field.name)[kept]
    arrays["actuator_dofid"] = dofs
    rigid = arrays["actuator_spring"][:, 0] == 0.0
    rotors = arrays["actuator_gear"] ** 2 * arrays["actuator_armature"] * rigid
    for name in ("dof_armature", "dof_inertia0"):
        arrays[name] = arrays[name].copy()
        arrays[name][dofs] += rotors
    return with_arrays(m, arrays, weighs=())


def without_actuators(m: Model) -> Model:
    """Return the Model without its actuators, in which qfrc_applied acts on the joints directly.

    Rotors stay in dof_armature if their gears are rigid.
    """
    if m.nu == 0:
        return m
    arrays: dict[str, Any] = {name: getattr(m, name) for name in PRIMARY}
    for field in MODEL_FIELDS:
        if field.dims[0] == "nu" and not field.derived:
            arrays[field.name] = arrays[field.name][:0]
    return with_arrays(m, arrays, weighs=())


def act_places(m: Model, other: Model) -> Ints:
    """Return the indices in m's `act` of the entries that another Model's `act` has too.

    Args:
        m: the Model.
        other: the Model with the same actuators but shorter delays; its order is used.
    """
    lengths = state_lengths(other.actuator_delay)
    places = [
        np.arange(first, first + length)
        for first, length in zip(m.actuator_actadr.tolist(), lengths, strict=True)
    ]
    return np.concatenate([np.zeros(0, np.int64), *places])


def _in_order(m: Model, actuators: object) -> list[ActuatorSpec]:
    """Return the actuators in the order of their dofs; raise an error for an unsuitable joint."""
    if not isinstance(actuators, Iterable):
        raise _refused("actuators", f"expected a file or actuators, got {shown(actuators)}")
    specs = list(actuators)
    for spec in specs:
        if not isinstance(spec, ActuatorSpec):
            raise _refused("actuators", f"expected ActuatorSpec, got {shown(spec)}")
        j = m.jnt_id(spec.joint)
        if m.jnt_class[j] != JointClass.FREE or m.jnt_dofnum[j] != 1:
            text = f"joint '{spec.joint}' cannot have an actuator; allowed are joints with one "
            text += "degree of freedom, no leader and no prescribed motion"
            raise _refused(spec.joint, text)
    return sorted(specs, key=lambda spec: int(m.jnt_dofadr[m.jnt_id(spec.joint)]))


def _check_sizes(specs: Sequence[ActuatorSpec]) -> None:
    """Raise ParameterError for the first number beyond its bounds: products could overflow."""
    for spec, name in itertools.product(specs, (*_ARRAYS, "torque_speed", "stiffness", "delay")):
        numbers = np.ravel(getattr(spec, name))
        bound = BOUNDS[quantity_of(name)]
        if not within(quantity_of(name), numbers[np.isfinite(numbers)].tolist()):
            text = f"{name} of joint '{spec.joint}' is {shown(getattr(spec, name))}; allowed are"
            raise _refused(spec.joint, f"{text} {bound.allowed}")


def _arrays(m: Model, specs: Sequence[ActuatorSpec]) -> dict[str, Any]:
    shapes = {field.name: field.dims[1:] for field in MODEL_FIELDS if field.dims[0] == "nu"}
    arrays = {
        array: np.array([getattr(spec, name) for spec in specs], float).reshape(-1, *shapes[array])
        for name, array in _ARRAYS.items()
    }
    delays = [delay_steps(spec.delay, m.opt.timestep) for spec in specs]
    for spec, steps in zip(specs, delays, strict=True):
        if steps is None or not 0 <= steps <= MAX_DELAY:
            text = f"the delay of joint '{spec.joint}' is {exactly(spec.delay)} s; allowed is a "
            text += f"multiple of the timestep {exactly(m.opt.timestep)} s, at most {MAX_DELAY} "
            text += "timesteps"
            raise _refused(spec.joint, text)
    return {
        **arrays,
        "actuator_dofid": [m.jnt_dofadr[m.jnt_id(spec.joint)] for spec in specs],
        "actuator_curve": np.array([_curve(spec) for spec in specs]).reshape(-1, CURVE_POINTS, 2),
        "actuator_spring": np.array([(s.stiffness, s.gear_damping) for s in specs]).reshape(-1, 2),
        "actuator_delay": np.array(delays, np.int64),
    }


def _curve(spec: ActuatorSpec) -> Array:
    """Return the torque-speed curve as an array, zeros if there is no curve.

    Raise ParameterError for a wrong number of points.
    """
    points = np.zeros((CURVE_POINTS, 2))
    given = np.array(spec.torque_speed).reshape(-1, 2)
    if len(given) > CURVE_POINTS:
        text = f"torque_speed of joint '{spec.joint}' has {len(given)} points; allowed are"
        raise _refused(spec.joint, f"{text} {CURVE_POINTS}")
    points[: len(given)] = given
    if len(given):
        points[len(given) :] = given[-1]
    return points


def _with_rotors(m: Model, specs: Sequence[ActuatorSpec]) -> dict[str, Array]:
    """Return dof_armature with the inertia of the rotors that have a rigid gear.

    A rotor adds inertia only at its own joint, so payloads may be added before or after actuators.
    """
    found = {name: getattr(m, name).copy() for name in ("dof_armature", "dof_inertia0")}
    for spec in specs:
        if spec.stiffness == 0.0:
            for array in found.values():
                array[m.jnt_dofadr[m.jnt_id(spec.joint)]] += spec.gear**2 * spec.armature
    return found


def _check_numbers(arrays: dict[str, Any]) -> None:
    """Raise ParameterError for the first number that is not allowed in a Model."""
    wrong = [
        (field.name, reason)
        for field in MODEL_FIELDS
        if field.dims[0] == "nu"
        and field.kind == "float"
        and (reason := wrong_numbers(field.name, arrays[field.name]))
    ]
    for name, reason in [*wrong, *wrong_actuators(arrays)]:
        raise _refused(name, f"{name} {reason}")


def _refused(element: str, text: str) -> ParameterError:
    return ParameterError(Finding("actuator", f"with_actuators: {text}", "error", element))
