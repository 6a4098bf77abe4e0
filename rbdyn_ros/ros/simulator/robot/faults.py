# SPDX-License-Identifier: Apache-2.0
"""Convert the parameters `faults.`, by joint, to the Faults of the loop, by dof."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rbdyn_ros.arrays import Bools
from rbdyn_ros.errors import Finding, ParameterError, counted, did_you_mean, quote
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.common.parsing.single_joints import SingleJoints
from rbdyn_ros.ros.simulator.parameters import FAULTS
from rbdyn_ros.runtime.types import PER_DOF, Faults

_SCALARS = (
    *("command_delay", "command_jitter", "command_drop"),
    *("state_delay", "state_jitter", "state_drop"),
)


def make_faults(m: Model, values: Mapping[str, Any]) -> Faults:
    """Return the faults that the parameters `faults.` describe.

    Args:
        m: the robot.
        values: all parameters; each value is within its own range.

    Raises:
        ParameterError: a list has the wrong length, or a joint is unknown.
    """
    joints, findings = SingleJoints.commanded(m), []
    arrays: dict[str, Any] = {}
    for name in PER_DOF:
        given = values[FAULTS + name]
        n = len(joints.names)
        if len(given) not in (1, n):
            text = (
                f"parameter '{FAULTS}{name}' has {counted(len(given), 'number')}; allowed is one "
                "for all "
                f"joints, or {n} for {', '.join(joints.names)}."
            )
            findings.append(_finding(name, text))
            continue
        array = np.zeros(m.nv)
        if len(given) == 1:
            array[SingleJoints.free(m).dofadr] = given[0]
        else:
            array[joints.dofadr] = given
        arrays[name] = array
    stuck = _stuck(m, values[f"{FAULTS}stuck_joints"], findings)
    if findings:
        raise ParameterError(findings)
    scalars = {name: values[FAULTS + name] for name in _SCALARS}
    return Faults(**scalars, link_loss=values[f"{FAULTS}link_loss"], stuck=stuck, **arrays)


def fitted(m: Model, values: Mapping[str, Any], faults: Faults) -> dict[str, Any]:
    """Return new values for parameters `faults.` whose old values do not fit the changed joints.

    Args:
        m: the robot after joints were added or removed.
        values: all parameters, as they were before.
        faults: the present faults of the joints of m.
    """
    joints, free = SingleJoints.commanded(m), SingleJoints.free(m)
    right: dict[str, Any] = {
        name: getattr(faults, name)[joints.dofadr].tolist() or [0.0]
        for name in PER_DOF
        if len(values[FAULTS + name]) > 1
    }
    stuck = values[f"{FAULTS}stuck_joints"]
    right["stuck_joints"] = [name for name in stuck if name in free.names]
    return {FAULTS + name: new for name, new in right.items() if new != [*values[FAULTS + name]]}


def faults_of_new(m: Model, values: Mapping[str, Any]) -> Faults:
    """Return the faults of joints that are added to the robot later.

    A parameter with one number for all joints also applies to them. A list with a number for each
    joint does not.

    Args:
        m: the robot with the new joints.
        values: all parameters, which fitted the robot without the new joints.
    """
    joints = SingleJoints.free(m)
    arrays: dict[str, Any] = {name: np.zeros(m.nv) for name in PER_DOF}
    for name, array in arrays.items():
        if len(values[FAULTS + name]) == 1:
            array[joints.dofadr] = values[FAULTS + name][0]
    stuck = np.zeros(m.nv, np.bool_)
    stuck[joints.dofadr] = np.isin(joints.names, values[f"{FAULTS}stuck_joints"])
    return replace(Faults.none(m.nv), **arrays, stuck=stuck)


def _stuck(m: Model, names: Sequence[str], findings: list[Finding]) -> Bools:
    free = SingleJoints.free(m)
    dofs = dict(zip(free.names, free.dofadr.tolist(), strict=True))
    stuck = np.zeros(m.nv, np.bool_)
    for name in names:
        if name in dofs:
            stuck[dofs[name]] = True
            continue
        hint = did_you_mean(name, dofs)
        text = (
            f"parameter '{FAULTS}stuck_joints' names {quote(name)}{hint}, which cannot be stuck; "
            f"allowed are {', '.join(dofs)}."
        )
        findings.append(_finding("stuck_joints", text))
    return stuck


def _finding(name: str, text: str) -> Finding:
    return Finding("fault", text, "error", f"{FAULTS}{name}")
