# SPDX-License-Identifier: Apache-2.0
"""Translate the kernels of arm_controller that the generated controller calls to C++."""

from collections.abc import Mapping

from rbdyn_ros.codegen.kernels.functions import Translation
from rbdyn_ros.codegen.kernels.texts import DATA, MODEL, Signature
from rbdyn_ros.codegen.ros2_control import arm_kernels
from rbdyn_ros.codegen.ros2_control.tables import first_values
from rbdyn_ros.engine.compiler.views import ViewType
from rbdyn_ros.model.declared.fields import Field

#: Kernels of the engine for which the template dynamics.hpp calls the generated dynamics instead.
GIVEN = {
    "gravity_term": ((MODEL, DATA, "Vector"), {2}),
    "coriolis_term": ((MODEL, DATA, "Vector"), {2}),
    "inverse": ((MODEL, DATA), set()),
    "forward_dynamics": ((MODEL, DATA), set()),
    "mass_matrix": ((MODEL, DATA, "Matrix"), {2}),
    "reflected_inertia": ((MODEL, DATA, "Vector"), {2}),
    "differentiate_pos": ((MODEL, "Vector", "float", "Vector", "Vector"), {1}),
}
#: The C++ names of the dims of records.
DIMS = {"nv": "DOFS", "n": "CONTROLLED"}
KERNELS = (
    *(arm_kernels.tighten, arm_kernels.compensate),
    *(arm_kernels.start, arm_kernels.set_mode, arm_kernels.update, arm_kernels.hold_here),
)


def translated() -> Translation:
    """Return the translation of the kernels."""
    given = {
        name: Signature(name, kinds, written=frozenset(written))
        for name, (kinds, written) in GIVEN.items()
    }
    return Translation(KERNELS, given)


def structs(records: Mapping[str, ViewType]) -> str:
    """Return records as C++ structs."""
    found = []
    for name, kind in records.items():
        rows = (_row(field) for _, field in kind.fields.values())
        found.append("\n".join([f"struct {name}", "{", *rows, "};"]))
    return "\n\n".join(found)


def _row(field: Field) -> str:
    number = "Index" if field.kind == "int" else "double"
    size = ", ".join(DIMS.get(str(dim), str(dim)) for dim in field.dims)
    kind = (number, f"std::array<{number}, {size}>", f"Table<{size}>")[len(field.dims)]
    first = first_values().get(field.name, "")
    return f"  {kind} {field.name}{{{first}}};  // {field.doc}".removesuffix("  // ")
