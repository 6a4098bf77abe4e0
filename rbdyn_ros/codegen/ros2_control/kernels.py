# SPDX-License-Identifier: Apache-2.0
"""The kernels of arm_controller that the generated controller calls, as C++."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbdyn_ros.codegen.kernels.functions import Translation
from rbdyn_ros.codegen.kernels.texts import DATA, MODEL, Signature
from rbdyn_ros.control.arm import actuation
from rbdyn_ros.control.arming import start_up_kernels
from rbdyn_ros.control.base import state_kernels
from rbdyn_ros.control.blind import coasting, endings, velocity_vote, witness
from rbdyn_ros.control.motion import tracking
from rbdyn_ros.control.states import clock, gate_kernels
from rbdyn_ros.dynamics import laws

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rbdyn_ros.engine.compiler.views import ViewType
    from rbdyn_ros.model.declared.fields import Field

#: Kernels of the engine that the template dynamics.hpp has: they call the generated dynamics.
GIVEN = {
    "gravity_term": ((MODEL, DATA, "Vector"), {2}),
    "coriolis_term": ((MODEL, DATA, "Vector"), {2}),
    "inverse": ((MODEL, DATA), set()),
    "forward_dynamics": ((MODEL, DATA), set()),
    "mass_matrix": ((MODEL, DATA, "Matrix"), {2}),
    "differentiate_pos": ((MODEL, "Vector", "float", "Vector", "Vector"), {1}),
}
#: Names of dims of records in C++.
DIMS = {"nv": "DOFS", "n": "CONTROLLED"}
KERNELS = (
    *(laws.damped_gravity, laws.pd_gravity, laws.computed_torque, laws.joint_impedance),
    *(actuation.hold, state_kernels.inspect, clock.judge, gate_kernels.release),
    *(witness.begin, witness.pause, witness.look, velocity_vote.forget, velocity_vote.remember),
    *(coasting.coast, endings.begin, endings.see, endings.since, endings.stop_blindly),
    *(endings.doubt, endings.disbelieves),
    *(tracking.straying, tracking.stopping_time),
    *(start_up_kernels.choose_ways, start_up_kernels.begin, start_up_kernels.advance),
)


def translated() -> Translation:
    """Return the translation of the kernels."""
    given = {
        name: Signature(name, kinds, written=frozenset(written))
        for name, (kinds, written) in GIVEN.items()
    }
    return Translation(KERNELS, given)


def structs(records: Mapping[str, ViewType]) -> str:
    """Return records as structs, with the dims of the robot."""
    found = []
    for name, kind in records.items():
        rows = (_row(field) for _, field in kind.fields.values())
        found.append("\n".join([f"struct {name}", "{", *rows, "};"]))
    return "\n\n".join(found)


def _row(field: Field) -> str:
    """Return a member of a struct."""
    number = "Index" if field.kind == "int" else "double"
    size = ", ".join(DIMS.get(str(dim), str(dim)) for dim in field.dims)
    kind = (number, f"std::array<{number}, {size}>", f"Table<{size}>")[len(field.dims)]
    return f"  {kind} {field.name}{{}};  // {field.doc}".removesuffix("  // ")
