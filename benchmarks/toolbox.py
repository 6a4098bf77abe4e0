# SPDX-License-Identifier: Apache-2.0
"""The dynamics toolbox against Pinocchio: one call from Python each, five runs in turns.

A ratio is the median of the runs; the last row has the smallest ratio of each robot. Both
libraries get the same moving state, and the frame with the most joints between it and the base.
Where Pinocchio needs more than one call, all the calls that a user has to write are timed. Panda's
second finger is a mimic joint: our Model has one dof less, in Pinocchio the finger is free.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin

import rbdyn_ros as rb
from benchmarks.robots import ROBOTS, path_of
from rbdyn_ros.measuring.turns import in_turns, median_ratio, repeated

Call = Callable[[], object]

RUNS = 5


def main() -> None:
    found = {robot: _measured(robot) for robot in ROBOTS}
    print("| ours, us; pin, us; ratio |" + "|".join(f" {robot} " for robot in ROBOTS) + "|")
    print("|---|" + "---|" * len(ROBOTS))
    for label in next(iter(found.values())):
        cells = [found[robot][label] for robot in ROBOTS]
        print(f"| {label} |" + "|".join(f" {a:.2f}; {b:.2f}; {r:.2f} " for a, b, r in cells) + "|")
    least = [min(ratio for *_, ratio in rows.values()) for rows in found.values()]
    print("| smallest ratio |" + "|".join(f" {ratio:.2f} " for ratio in least) + "|")


def _measured(robot: str) -> dict[str, tuple[float, float, float]]:
    """Return our time, Pinocchio's [us], and the ratio of each row: medians of the runs."""
    pairs = _pairs(robot)
    runs = [{label: _run(*calls) for label, calls in pairs.items()} for _ in range(RUNS)]
    return {
        label: tuple(statistics.median(run[label][k] for run in runs) for k in range(3))
        for label in pairs
    }


def _run(ours: Call, theirs: Call) -> tuple[float, float, float]:
    a, b = in_turns((repeated(ours), repeated(theirs)), seconds=0.01)
    return statistics.median(a), statistics.median(b), median_ratio(b, a)


def _pairs(robot: str) -> dict[str, tuple[Call, Call]]:
    """Return, for each label of a row, our call and Pinocchio's call."""
    path = path_of(robot)
    m = rb.load_urdf(path)
    d = rb.make_data(m)
    d.qvel = d.qacc = 1.0
    model = pin.buildModelFromUrdf(str(path))
    data = model.createData()
    q, v = pin.neutral(model), np.ones(model.nv)
    return {
        **_terms(m, d, model, data, q, v),
        **_frames(m, d, model, data, q, v),
        **_momentum(m, d, model, data, q, v),
        **_derivatives(m, d, model, data, q, v),
    }


def _terms(m: Any, d: Any, model: Any, data: Any, q: Any, v: Any) -> dict[str, tuple[Call, Call]]:
    return {
        "gravity_term / computeGeneralizedGravity": (
            lambda: rb.gravity_term(m, d),
            lambda: pin.computeGeneralizedGravity(model, data, q),
        ),
        "bias_term / nonLinearEffects": (
            lambda: rb.bias_term(m, d),
            lambda: pin.nonLinearEffects(model, data, q, v),
        ),
        "coriolis_matrix / computeCoriolisMatrix": (
            lambda: rb.coriolis_matrix(m, d),
            lambda: pin.computeCoriolisMatrix(model, data, q, v),
        ),
        "inverse_mass_matrix / computeMinverse": (
            lambda: rb.inverse_mass_matrix(m, d),
            lambda: pin.computeMinverse(model, data, q),
        ),
        "kinetic_energy / computeKineticEnergy": (
            lambda: rb.kinetic_energy(m, d),
            lambda: pin.computeKineticEnergy(model, data, q, v),
        ),
        "potential_energy / computePotentialEnergy": (
            lambda: rb.potential_energy(m, d),
            lambda: pin.computePotentialEnergy(model, data, q),
        ),
    }


def _frames(m: Any, d: Any, model: Any, data: Any, q: Any, v: Any) -> dict[str, tuple[Call, Call]]:
    name = _farthest(m)  # we name the frame, as users do
    number, where = model.getFrameId(name), pin.LOCAL_WORLD_ALIGNED

    def velocity() -> None:
        pin.forwardKinematics(model, data, q, v)
        pin.getFrameVelocity(model, data, number, where)

    def acceleration() -> None:
        pin.forwardKinematics(model, data, q, v, v)
        pin.getFrameClassicalAcceleration(model, data, number, where)

    def mobility() -> None:
        J = pin.computeFrameJacobian(model, data, q, number, where)
        M = pin.crba(model, data, q)
        J @ np.linalg.solve(M, J.T)

    return {
        "frame_jacobian / computeFrameJacobian": (
            lambda: rb.frame_jacobian(m, d, name),
            lambda: pin.computeFrameJacobian(model, data, q, number, where),
        ),
        "frame_jacobian_dot / frameJacobianTimeVariation": (
            lambda: rb.frame_jacobian_dot(m, d, name),
            lambda: pin.frameJacobianTimeVariation(model, data, q, v, number, where),
        ),
        "frame_velocity / forwardKinematics, getFrameVelocity": (
            lambda: rb.frame_velocity(m, d, name),
            velocity,
        ),
        "frame_acceleration / forwardKinematics, getFrameClassicalAcceleration": (
            lambda: rb.frame_acceleration(m, d, name),
            acceleration,
        ),
        "frame_mobility / computeFrameJacobian, crba, numpy": (
            lambda: rb.frame_mobility(m, d, name),
            mobility,
        ),
    }


def _farthest(m: Any) -> str:
    """Return the frame with the most joints between it and the base."""
    depth = [0] * m.nbody
    for i in range(1, m.nbody):
        depth[i] = depth[m.body_parentid[i]] + 1
    return max(m.frame_names, key=lambda name: depth[m.frame_bodyid[m.frame_id(name)]])


def _momentum(
    m: Any, d: Any, model: Any, data: Any, q: Any, v: Any
) -> dict[str, tuple[Call, Call]]:
    zero = np.zeros(model.nv)
    return {
        "com / centerOfMass": (
            lambda: rb.com(m, d),
            lambda: pin.centerOfMass(model, data, q),
        ),
        "com_jacobian / jacobianCenterOfMass": (
            lambda: rb.com_jacobian(m, d),
            lambda: pin.jacobianCenterOfMass(model, data, q),
        ),
        "centroidal_momentum / computeCentroidalMomentum": (
            lambda: rb.centroidal_momentum(m, d),
            lambda: pin.computeCentroidalMomentum(model, data, q, v),
        ),
        "centroidal_momentum_matrix / ccrba": (
            lambda: rb.centroidal_momentum_matrix(m, d),
            lambda: pin.ccrba(model, data, q, v),
        ),
        "centroidal_momentum_bias / computeCentroidalMomentumTimeVariation": (
            lambda: rb.centroidal_momentum_bias(m, d),
            lambda: pin.computeCentroidalMomentumTimeVariation(model, data, q, v, zero),
        ),
        "centroidal_momentum_bias / dccrba": (
            lambda: rb.centroidal_momentum_bias(m, d),
            lambda: pin.dccrba(model, data, q, v),
        ),
    }


def _derivatives(
    m: Any, d: Any, model: Any, data: Any, q: Any, v: Any
) -> dict[str, tuple[Call, Call]]:
    return {
        "joint_torque_regressor / computeJointTorqueRegressor": (
            lambda: rb.joint_torque_regressor(m, d),
            lambda: pin.computeJointTorqueRegressor(model, data, q, v, v),
        ),
        "kinetic_energy_regressor / computeKineticEnergyRegressor": (
            lambda: rb.kinetic_energy_regressor(m, d),
            lambda: pin.computeKineticEnergyRegressor(model, data, q, v),
        ),
        "potential_energy_regressor / computePotentialEnergyRegressor": (
            lambda: rb.potential_energy_regressor(m, d),
            lambda: pin.computePotentialEnergyRegressor(model, data, q),
        ),
        "inverse_derivatives / computeRNEADerivatives": (
            lambda: rb.inverse_derivatives(m, d),
            lambda: pin.computeRNEADerivatives(model, data, q, v, v),
        ),
        "forward_derivatives / computeABADerivatives": (
            lambda: rb.forward_derivatives(m, d),
            lambda: pin.computeABADerivatives(model, data, q, v, v),
        ),
    }
