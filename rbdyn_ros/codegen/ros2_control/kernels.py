# SPDX-License-Identifier: Apache-2.0
"""The kernels of arm_controller that the generated controller calls, as C++."""

from __future__ import annotations

from rbdyn_ros.codegen.kernels.functions import Translation
from rbdyn_ros.codegen.kernels.texts import DATA, MODEL, Signature
from rbdyn_ros.control.base import friction, state_kernels
from rbdyn_ros.control.motion import tracking
from rbdyn_ros.control.states import clock, gate_kernels
from rbdyn_ros.dynamics import laws

#: Kernels of the engine that the template dynamics.hpp has: they call the generated dynamics.
GIVEN = {
    "gravity_term": ((MODEL, DATA, "Vector"), {2}),
    "inverse": ((MODEL, DATA), set()),
    "differentiate_pos": ((MODEL, "Vector", "float", "Vector", "Vector"), {1}),
}
KERNELS = (
    *(laws.damped_gravity, laws.pd_gravity, laws.computed_torque, laws.joint_impedance),
    *(friction.write_effort, state_kernels.inspect, clock.judge, gate_kernels.release),
    *(tracking.straying, tracking.stopping_time),
)


def translated() -> Translation:
    """Return the translation of the kernels."""
    given = {
        name: Signature(name, kinds, written=frozenset(written))
        for name, (kinds, written) in GIVEN.items()
    }
    return Translation(KERNELS, given)
