# SPDX-License-Identifier: Apache-2.0
"""The sampled numbers of runs; the row of a run depends only on its seed."""

from collections.abc import Mapping, Sequence

import numpy as np

from rbdyn_ros.actuators import with_actuators
from rbdyn_ros.actuators.document import Place
from rbdyn_ros.arrays import Array
from rbdyn_ros.model.declared.model_fields import MODEL_FIELDS
from rbdyn_ros.model.model import Model, with_arrays
from rbdyn_ros.model.tree.bodies import subtree_masses
from rbdyn_ros.rollouts.params import columns
from rbdyn_ros.rollouts.payloads import payload_params
from rbdyn_ros.trials.trial import Trial, whole_steps

#: The faults in the order of their columns, each with the value that means no fault.
FAULTS = {
    "command_delay": 0.0,  # [s]
    "command_drop": 0.0,  # probability
    "state_delay": 0.0,  # [s]
    "position_noise": 0.0,  # standard deviation [rad or m]
    "velocity_noise": 0.0,  # standard deviation [rad/s or m/s]
    "effort_scale": 1.0,
}

AXES = ("x", "y", "z")


def sample(trial: Trial, seeds: Sequence[int]) -> Array:
    """Return the sampled numbers, (len(seeds), len(trial.varied))."""
    count = len(trial.varied)
    u = np.array([np.random.default_rng(seed).random(count) for seed in seeds])
    u = u.reshape(len(seeds), count)
    columns = [x.distribution.quantile(u[:, k]) for k, x in enumerate(trial.varied)]
    return np.stack(columns, axis=1) if columns else u


def starts(trial: Trial, rows: Array) -> tuple[Array, Array]:
    """Return the positions (n, nq) and velocities (n, nv) at the start of runs."""
    m, joints = trial.m, trial.joints
    qpos, qvel = np.tile(m.qpos0, (len(rows), 1)), np.zeros((len(rows), m.nv))
    for k, varied in enumerate(trial.varied):
        if varied.section == "start":
            joint = joints.names.index(varied.part)
            if varied.key == "position":
                qpos[:, joints.qposadr[joint]] = rows[:, k]
            else:
                qvel[:, joints.dofadr[joint]] = rows[:, k]
    return qpos, qvel


def faults(trial: Trial, rows: Array) -> dict[str, Array]:
    """Return the values (n,) of each fault in some runs, by name."""
    found = {name: np.full(len(rows), usual) for name, usual in FAULTS.items()}
    for k, varied in enumerate(trial.varied):
        if varied.section == "faults":
            found[varied.key] = rows[:, k].copy()
    return found


def params(trial: Trial, row: Array) -> dict[str, Mapping[str, Array]]:
    """Return the parameters of one run's robot, as `rb.rollout` takes them.

    They are computed for one run at a time, because sums over many runs would have different last
    bits.

    Raises:
        ParameterError: the numbers of the payload are physically impossible.
    """
    found: dict[str, dict[str, Array]] = {}
    load = {"mass": 0.0, **dict.fromkeys(AXES, 0.0)}
    for varied, value in zip(trial.varied, row, strict=True):
        if varied.section == "vary":
            found.setdefault(varied.key, {})[varied.part] = np.array(value)
        elif varied.section == "payload":
            load[varied.part or varied.key] = float(value)
    if trial.payload_link:
        com = np.array([load[axis] for axis in AXES])
        loaded = payload_params(trial.m, trial.payload_link, load["mass"], com)
        for name, parts in loaded.items():
            entries = {body: values[0] for body, values in parts.items()}
            found[name] = {**found.get(name, {}), **entries}
    return {name: dict(parts) for name, parts in found.items()}


def actuator_numbers(trial: Trial, row: Array) -> dict[Place, float]:
    """Return the numbers of the actuators of one run; delays are whole timesteps."""
    found = {
        (varied.part, varied.key): float(value)
        for varied, value in zip(trial.varied, row, strict=True)
        if varied.section == "actuators"
    }
    delays = {place: x for place, x in found.items() if place[1] == "delay"}
    return found | {place: whole_steps(x, trial.m) for place, x in delays.items()}


def run_model(trial: Trial, seed: int, m: Model) -> Model:
    """Return the robot of one run, with its payload, parameters and actuators.

    Args:
        trial: the trial of the run.
        seed: seed of the run.
        m: the trial's robot, without actuators.

    Raises:
        ParameterError: a robot cannot have these numbers.
        DescriptionError: an actuator cannot have these numbers.
    """
    row = sample(trial, [seed])[0]
    arrays = {field.name: getattr(m, field.name) for field in MODEL_FIELDS}
    for given in columns(m, params(trial, row)):
        arrays[given.array] = arrays[given.array].copy()
        arrays[given.array].reshape(-1)[given.places] = given.values[0]
    # sum as a Batch does, so that a recorded run can be repeated bit for bit from its file
    arrays["body_subtreemass"] = subtree_masses(arrays["body_mass"], m.body_parentid)
    own = with_arrays(m, arrays, weighs=())  # do not compute dof_inertia0 again, as in a Batch
    if trial.actuators is None:
        return own
    return with_actuators(own, trial.actuators.specs(own, actuator_numbers(trial, row)))
