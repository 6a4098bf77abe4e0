# SPDX-License-Identifier: Apache-2.0
"""A Model and a Data of symbols and Python numbers, for tracing kernels."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.errors import did_you_mean
from rbdyn_ros.model.declared.data_fields import DATA_FIELDS
from rbdyn_ros.model.declared.joints import JointClass
from rbdyn_ros.model.declared.model_fields import (
    CALLBACK_FIELDS,
    COUPLING_STAGES,
    DATA_STAGES,
    MODEL_FIELDS,
    SIZES,
    STAGES,
)
from rbdyn_ros.model.declared.options import IMPLICIT, INTEGRATORS
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.tree.bodies import subtree_masses
from rbdyn_ros.specialization.programs.limbs import uneven
from rbdyn_ros.specialization.programs.symbols import SymbolGraph, not_traceable

Objects = NDArray[Any]  # symbols and Python numbers

#: Options that may be symbols. The other options determine which operations are executed.
SYMBOLIC_OPTIONS = ("timestep", "gravity")

#: Arrays of a Model that may be symbols. Of the derived arrays only body_subtreemass depends on
#: them; it is computed from the symbols.
SYMBOLIC_FIELDS = (
    "body_mass", "body_ipos", "body_fullinertia", "body_pos", "dof_armature", "dof_damping",
    "dof_frictionloss", "dof_inertia0", "jnt_mimic_offset", "jnt_range", "jnt_solref",
    "jnt_stiffness", "limit_range", "qpos_spring", "spring_damping", "spring_length",
    "spring_stiffness",
)  # fmt: skip


class SymbolicOptions:
    """Options whose numbers may be symbols.

    Args:
        m: the Model.
        graph: the graph of the symbols.
        symbolic: names of the options that are symbols.
    """

    def __init__(self, m: Model, graph: SymbolGraph, symbolic: Collection[str]) -> None:
        self.integrator_id = m.opt.integrator_id
        self.passive = int(m.opt.passive)
        self.exact_stops = 0  # a solver iterates, so it cannot become straight-line code
        self.timestep: Any = m.opt.timestep
        self.gravity = m.opt.gravity.astype(object)
        self._robot = m.name
        if "timestep" in symbolic:
            self.timestep = graph.enter(("input", "timestep", 0))
        if "gravity" in symbolic:
            self.gravity[:] = [graph.enter(("input", "gravity", k)) for k in range(3)]

    @property
    def implicit_stage(self) -> int:
        """Raise ModelError: only a step with an implicit integrator needs the stage."""
        self.check_integrator()
        return 0

    def check_integrator(self) -> None:
        """Raise ModelError if a step needs an implicit integrator."""
        if self.integrator_id < IMPLICIT:
            return
        name, others = INTEGRATORS[self.integrator_id], ", ".join(INTEGRATORS[:IMPLICIT])
        text = f"a step with the integrator '{name}' runs only in the engine; allowed are {others}"
        raise not_traceable(text, f"'{self._robot}'")


class SymbolicModel:
    """A Model for tracing, of Python numbers and symbols; names replace addresses of stages.

    Args:
        m: the Model.
        graph: the graph of the symbols.
        symbolic: for each option or array, the entries that are symbols; None: all entries.
    """

    def __init__(
        self, m: Model, graph: SymbolGraph, symbolic: Mapping[str, Collection[int] | None]
    ) -> None:
        keep = self.__dict__
        keep.update({size: getattr(m, size) for size in SIZES})
        for field in (*MODEL_FIELDS, *CALLBACK_FIELDS):
            keep[field.name] = getattr(m, field.name).astype(object)
        keep["not_differentiable"] = m.not_differentiable
        keep.update({stage: stage if stage in m.needed_stages else 0 for stage in STAGES})
        for name, places in uneven(m).items():
            flat = keep[name].reshape(-1)
            for k in places:
                flat[k] = graph.constant(flat[k])
        keep["opt"] = SymbolicOptions(m, graph, symbolic)
        for name, entries in symbolic.items():
            if name not in SYMBOLIC_OPTIONS:
                flat = keep[name].reshape(-1)
                for k in _all_entries(m, name) if entries is None else entries:
                    flat[k] = graph.enter(("input", name, int(k)))
        if "jnt_stiffness" in symbolic:
            # any joint may have a spring, because stiffness may be a symbol
            keep["nstiff"] = m.njnt
        if "body_mass" in symbolic:
            keep["body_subtreemass"] = subtree_masses(keep["body_mass"], m.body_parentid)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"a Model has no {name}")


class SymbolicData:
    """A Data in the state after make_data, except that its inputs are symbols."""

    def __init__(self, m: Model, graph: SymbolGraph, inputs: Collection[str]) -> None:
        sizes = {size: getattr(m, size) for size in SIZES}
        keep = self.__dict__
        # report_stage computes forces that no specialised function returns
        needed = m.needed_stages & set(COUPLING_STAGES)
        keep.update({stage: stage if stage in needed else 0 for stage in DATA_STAGES})
        for field in DATA_FIELDS:
            shape = field.shape(sizes)
            if field.inside:
                keep[field.name] = keep[field.inside][: shape[0]]
            elif field.dims:
                keep[field.name] = np.full(shape, 0.0 if field.kind == "float" else 0, object)
            else:
                keep[field.name] = 0.0 if field.kind == "float" else 0
            if field.name in inputs:
                if field.dims:
                    flat = keep[field.name].reshape(-1)
                    flat[:] = [graph.enter(("input", field.name, k)) for k in range(len(flat))]
                else:
                    keep[field.name] = graph.enter(("input", field.name, 0))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"a Data has no {name}")


def symbolic_entries(m: Model, symbolic: Collection[Any]) -> dict[str, Collection[int] | None]:
    """Return the symbolic entries of each name, given names or pairs of a name and entries.

    Raises:
        ModelError: an array or option cannot be symbolic.
    """
    found: dict[str, Collection[int] | None] = {}
    for item in symbolic:
        name, entries = (item, None) if isinstance(item, str) else item
        if name not in SYMBOLIC_OPTIONS + SYMBOLIC_FIELDS:
            allowed = (*SYMBOLIC_OPTIONS, *SYMBOLIC_FIELDS)
            hint = did_you_mean(name, allowed)
            reason = f"'{name}' cannot be an input{hint}; allowed are {', '.join(allowed)}"
            raise not_traceable(reason, f"'{m.name}'")
        found[name] = entries
    return found


def _all_entries(m: Model, name: str) -> Collection[int]:
    """Return the indices of an array that can be symbols; springs of some joints cannot."""
    if name == "jnt_stiffness":
        return [int(j) for j in np.flatnonzero(m.jnt_class == JointClass.FREE)]
    return range(getattr(m, name).size)
