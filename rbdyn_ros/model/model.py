# SPDX-License-Identifier: Apache-2.0
"""The Model: all quantities that are constant in a simulation; it is read-only."""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.errors import Finding, ModelError, did_you_mean, shown
from rbdyn_ros.model.audits.audit_arrays import checked
from rbdyn_ros.model.audits.replacing import CONSTANTS, check_replacements, followed, stale
from rbdyn_ros.model.capabilities import (
    check_mass_matrix_fits,
    needed_stages,
    without_derivatives,
    without_implicit_step,
)
from rbdyn_ros.model.declared.callbacks import (
    MODEL_CHECKS,
    registered_joint,
    registered_motion,
    stage_address,
    weighed,
)
from rbdyn_ros.model.declared.data_fields import DATA_FIELDS
from rbdyn_ros.model.declared.fields import frozen, immutable
from rbdyn_ros.model.declared.joints import JOINT_KINDS, JointKind, JointType, user_kind
from rbdyn_ros.model.declared.model_fields import (
    CALLBACK_FIELDS,
    COUPLING_STAGES,
    DATA_STAGES,
    DERIVED,
    INERTIAS,
    MODEL_FIELDS,
    NAMES,
    PRIMARY,
    REPLACEABLE,
    SIZES,
    STAGES,
)
from rbdyn_ros.model.declared.options import Options
from rbdyn_ros.model.derive import derive
from rbdyn_ros.model.fingerprint import fingerprint
from rbdyn_ros.model.named_parts import NamedPart
from rbdyn_ros.model.part_numbers import PartNumbers, number_of, part_numbers
from rbdyn_ros.model.sizes import sizes_of
from rbdyn_ros.model.tree.graph import Graph
from rbdyn_ros.model.tree.loops import loop_joints_alone
from rbdyn_ros.other_names import foreign, install_hints, our_words

#: One call may take at least this number of timesteps; in a large Model they need about 0.1 s.
FEW_STEPS = 8

#: Largest work of one call, in bodies times timesteps; a body takes about 0.3 us per timestep.
WORK_AT_ONCE = 5000

#: The attributes that map parts to their numbers, and the lists of the parts' names.
_NUMBERED = {
    "body_numbers": "body_names",
    "jnt_numbers": "jnt_names",
    "frame_numbers": "frame_names",
    "loop_numbers": "loop_names",
    "geom_numbers": "geom_names",
    "key_numbers": "key_names",
}


class Model:
    """A checked robot: sizes, names and read-only arrays (see MODEL_FIELDS).

    Attributes:
        name: name of the robot.
        body_names, jnt_names, frame_names: names in the order of the arrays; all are in NAMES.
        opt: options, which are copied; None: the default options.
        loops: a Model of the joints that close loops, see model/tree/loops.py; None without loops.
        data_offsets: first slot of each field in a Data's row.
        data_slots: length of that row.
        data_row: the same layout as a dtype; the names of single numbers begin with "_".
        kept: results that functions of the Model compute once and reuse, by name.
    """

    def __init__(
        self,
        name: str,
        arrays: Mapping[str, NDArray[Any]],
        names: Mapping[str, Sequence[str]],
        opt: Options | None = None,
        findings: Sequence[Finding] = (),
    ) -> None:
        """Make a Model from arrays, checked like the arrays of a saved file.

        Args:
            name: name of the robot.
            arrays: the fields PRIMARY; fields DERIVED are ignored and computed again.
            names: the lists NAMES.
            opt: options, which are copied; None: the default options.
            findings: warnings and notes of the checks.

        Raises:
            ModelError: an argument is not allowed (the message lists all errors of the arrays), or
                a user function is not registered or has a wrong number of coordinates.
            ParameterError: the integrator in opt does not support this robot.
        """
        if vars(self):
            raise _read_only("__init__")
        _check_arguments(name, opt, findings)
        fields, lists = checked(arrays, names)
        _fill(self, name, fields, lists, copy.copy(opt), findings)
        check_mass_matrix_fits(self)
        for check in MODEL_CHECKS:
            check(self)

    @functools.cached_property
    def needed_stages(self) -> frozenset[str]:
        """The names of the optional stages that the Model and a new Data need."""
        return needed_stages(self)

    @property
    def lock_stages(self) -> tuple[str, ...]:
        """The stage that checks drives, if constraints can lock them; otherwise empty."""
        return ("lock_stage",) if self.nefc > 0 else ()

    @functools.cached_property
    def stages(self) -> dict[str, int]:
        """The addresses of the stages STAGES, or 0 for a stage that the Model does not need.

        The stages are in the engine, so they are looked up when the first Data is made.
        """
        return {name: self._stage_address(name) for name in STAGES}

    @property
    def data_stages(self) -> tuple[int, ...]:
        """The addresses of the stages DATA_STAGES that a new Data begins with."""
        stages = self._data_stages
        # exact limits of ball joints need M, which these stages write
        if self.ncone > 0 and self.opt.exact_stops:
            more = {name: stage_address(name) for name in COUPLING_STAGES}
            pairs = zip(DATA_STAGES, stages, strict=True)
            stages = tuple(more.get(name, address) for name, address in pairs)
        return stages

    @functools.cached_property
    def _data_stages(self) -> tuple[int, ...]:
        return tuple(self._stage_address(name) for name in DATA_STAGES)

    def _stage_address(self, name: str) -> int:
        return stage_address(name) if name in self.needed_stages else 0

    @functools.cached_property
    def table(self) -> NDArray[np.int64]:
        """Sizes, addresses of stages and of arrays, then offsets into a Data, for the kernels."""
        self.opt.find_stages(self.nstop > 0, self.nflighttree > 0)
        sizes = [getattr(self, name) for name in SIZES]
        loops = self.loops.address if self.loops else 0
        fields = (*MODEL_FIELDS, *CALLBACK_FIELDS)
        arrays = [getattr(self, field.name).ctypes.data for field in fields]
        offsets = [*self.opt.addresses, *self.data_offsets.values()]
        table = np.array([*sizes, *self.stages.values(), loops, *arrays, *offsets], np.int64)
        table = immutable(table)
        # with setdefault, two threads that call this at once return the same array
        kept: NDArray[np.int64] = self.__dict__.setdefault("table", table)
        return kept

    @functools.cached_property
    def address(self) -> int:
        """The address of `table`."""
        return int(self.table.ctypes.data)

    @functools.cached_property
    def work(self) -> int:
        """Estimated work of a timestep: a body of a plain tree counts 1, a multiplication 0.01."""
        factorisation = int((self.M_rownnz**2).sum()) // 100 if self.nM else 0
        constraints = self.nefc * (self.nv + self.nefc)
        contacts = self.nobstacle * (self.ngeommoving + self.nvert // 16) + 4 * self.nplace
        contacts += 30 * (self.nfield + self.ntrimesh) * self.ngeommoving
        mutual = self.nskyline * self.nv // 300
        return int(self.nbody + factorisation + constraints + contacts + mutual)

    @functools.cached_property
    def steps_at_once(self) -> int:
        """Number of timesteps that take less than 0.1 s, usually a few milliseconds."""
        return max(FEW_STEPS, WORK_AT_ONCE // self.work)

    def __index__(self) -> int:
        return int(self.address)

    # for type checkers only, because at run time a __getattr__ would slow every access
    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __setattr__(self, name: str, value: object) -> None:
        raise _read_only(name)

    kept: dict[str, Any]
    body_numbers: PartNumbers
    jnt_numbers: PartNumbers
    frame_numbers: PartNumbers
    loop_numbers: PartNumbers
    geom_numbers: PartNumbers
    key_numbers: PartNumbers

    def body_id(self, body: str | int) -> int:
        """Return the number of a body; raise ModelError, with the nearest name, if unknown."""
        if isinstance(body, str) and body in self.frame_numbers.keys() - self.body_numbers.keys():
            raise self._no_body(self.frame_id(body))
        return number_of("body", self.body_numbers, self.body_names, body)

    def jnt_id(self, joint: str | int) -> int:
        """Return the number of a joint; raise ModelError, with the nearest name, if unknown."""
        return number_of("joint", self.jnt_numbers, self.jnt_names, joint)

    def frame_id(self, frame: str | int) -> int:
        """Return the number of a frame; raise ModelError, with the nearest name, if unknown."""
        return number_of("frame", self.frame_numbers, self.frame_names, frame)

    def loop_id(self, joint: str | int) -> int:
        """Return the number of a joint that closes a loop; raise ModelError if it is unknown."""
        return number_of("loop joint", self.loop_numbers, self.loop_names, joint)

    def geom_id(self, geom: str | int) -> int:
        """Return the number of a geometry; raise ModelError, with the nearest name, if unknown."""
        return number_of("geometry", self.geom_numbers, self.geom_names, geom)

    def key_id(self, key: str | int) -> int:
        """Return the number of a keyframe; raise ModelError, with the nearest name, if unknown."""
        return number_of("keyframe", self.key_numbers, self.key_names, key)

    def _no_body(self, frame: int) -> ModelError:
        name, body = self.frame_names[frame], self.body_names[self.frame_bodyid[frame]]
        text = (
            f"link '{name}' is not a body of its own: it is fixed to body '{body}'. "
            f"rb.frame_pose(m, d, '{name}') returns its pose"
        )
        return ModelError(Finding("unknown-body", text, "error", name, None, name))

    def body(self, body: str | int) -> NamedPart:
        """Return a body, with its rows of body_mass, ... as attributes; see NamedPart."""
        i = self.body_id(body)
        return NamedPart("Model", self, "body", i, self.body_names[i])

    def joint(self, joint: str | int) -> NamedPart:
        """Return a joint, with its entries of jnt_range, dof_damping, qpos0, ..."""
        j = self.jnt_id(joint)
        return NamedPart("Model", self, "joint", j, self.jnt_names[j])

    def geom(self, geom: str | int) -> NamedPart:
        """Return a geometry, with its rows of geom_friction, ... as attributes."""
        g = self.geom_id(geom)
        return NamedPart("Model", self, "geom", g, self.geom_names[g])

    def key(self, key: str | int) -> NamedPart:
        """Return a keyframe, a named state; its attribute is qpos, (nq,)."""
        k = self.key_id(key)
        return NamedPart("Model", self, "key", k, self.key_names[k])

    def jnt_kind(self, j: int) -> JointKind:
        """Return the row of the joint library for joint j."""
        kind = JointType(self.jnt_type[j])
        return user_kind(int(self.jnt_dofnum[j])) if kind == JointType.USER else JOINT_KINDS[kind]

    @property
    def names(self) -> dict[str, tuple[str, ...]]:
        """The lists of names in NAMES."""
        return {kind: getattr(self, kind) for kind in NAMES}

    @property
    def functions(self) -> dict[str, NDArray[np.int64]]:
        """Addresses of user functions: the fields CALLBACK_FIELDS."""
        return {field.name: getattr(self, field.name) for field in CALLBACK_FIELDS}

    @functools.cached_property
    def graph(self) -> Graph:
        """The connectivity graph of bodies and joints, with a regular numbering."""
        parents, bodies = self.body_parentid[1:], np.arange(1, self.nbody)
        turned = self.jnt_reversed == 1
        p = np.concatenate([np.where(turned, bodies, parents), self.loop_bodyid[:, 0]])
        s = np.concatenate([np.where(turned, parents, bodies), self.loop_bodyid[:, 1]])
        return Graph(p.tolist(), s.tolist(), self.nbody - 1)

    @functools.cached_property
    def not_differentiable(self) -> tuple[str, str]:
        """The first part without derivatives, in the motion and in the passive forces, or ''."""
        return without_derivatives(self)

    @functools.cached_property
    def not_implicit(self) -> str:
        """The first part that implicit integrators do not support, or ''."""
        return without_implicit_step(self)

    def replaced(self, findings: Sequence[Finding] | None = None, **arrays: Any) -> Model:
        """Return a Model with some arrays (or its findings) replaced, and a copy of the options.

        Only the fields INERTIAS and REPLACEABLE can be replaced; to change other fields, build a
        Model from a changed Description. body_fullinertia follows from body_inertia with
        body_iquat, or the reverse, and body_subtreemass follows from the masses. A new mass alone
        does not change the inertias. dof_inertia0 and geom_mass0 are computed again unless they
        are given. The Model keeps its user functions, even if their names were registered again.

        Raises:
            ModelError: a field cannot be replaced, or an array has a wrong shape or wrong numbers.
        """
        new = {field.name: getattr(self, field.name) for field in MODEL_FIELDS}
        changed = check_replacements(vars(self), arrays)
        new = followed(new | changed, changed)
        return with_arrays(self, new, findings, [x for x in CONSTANTS if x not in arrays])

    def __copy__(self) -> Model:
        return self.replaced()

    def __deepcopy__(self, memo: object) -> Model:
        return self.replaced()

    def __delattr__(self, name: str) -> None:
        self.__setattr__(name, None)

    def __reduce__(self) -> tuple[Any, ...]:
        arrays = {name: getattr(self, name) for name in PRIMARY}
        return type(self), (self.name, arrays, self.names, self.opt, self.findings)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__()} - foreign("Model"))

    def __repr__(self) -> str:
        return f"<Model '{self.name}': {self.nbody - 1} bodies, nq={self.nq}, nv={self.nv}>"

    def _repr_html_(self) -> str:
        """Return a picture and a table of joints for a notebook."""
        # it is imported here, because view is a higher layer
        return str(import_module("rbdyn_ros.view.notebook").html_of_model(self))

    def sha256(self) -> str:
        """Hash of everything that determines the motion: names and arrays, not the options."""
        return fingerprint(self)


def _check_arguments(name: object, opt: object, findings: object) -> None:
    """Raise ModelError if an argument of a Model has a wrong type."""
    if type(name) is not str:
        raise ModelError(Finding("bad-names", f"name is {shown(name)}, not a string"))
    if not isinstance(opt, Options | None):
        text = f"opt is {shown(opt)}, not Options"
        raise ModelError(Finding("bad-options", text, "error", "opt"))
    if not isinstance(findings, Sequence) or not all(isinstance(x, Finding) for x in findings):
        text = f"findings is {shown(findings)}; allowed are Findings"
        raise ModelError(Finding("bad-findings", text, "error", "findings"))


def unchecked_model(
    name: str,
    arrays: Mapping[str, NDArray[Any]],
    names: Mapping[str, Sequence[str]],
    opt: Options | None = None,
    findings: Sequence[Finding] = (),
    copied: Model | None = None,
) -> Model:
    """Return a Model from arrays that are known to be valid: compiled, checked or copied.

    Args:
        name: name of the robot.
        arrays: the fields PRIMARY; missing DERIVED fields are computed.
        names: the lists NAMES.
        opt: options; None: the default options.
        findings: warnings and notes of the checks.
        copied: a Model with the same joints, whose user functions and Model of the loop joints are
            used; None: registered functions and a new Model of the loop joints are used.

    Raises:
        ModelError: a user function is not registered, or has a wrong number of coordinates.
    """
    m = Model.__new__(Model)
    _fill(m, name, arrays, names, opt, findings, copied)
    return m


def with_arrays(
    m: Model,
    arrays: Mapping[str, NDArray[Any]],
    findings: Sequence[Finding] | None = None,
    weighs: Sequence[str] = CONSTANTS,
) -> Model:
    """Return a Model with other arrays, which are known to be valid, and a copy of the options.

    Args:
        m: the Model.
        arrays: the fields PRIMARY; missing DERIVED fields are computed.
        findings: warnings and notes; None: the findings of m.
        weighs: the names of the CONSTANTS that are computed again from the inertias.
    """
    kept = m.findings if findings is None else findings
    new = unchecked_model(m.name, arrays, m.names, copy.copy(m.opt), kept, m)
    old = [name for name in stale(vars(m), arrays) if name in weighs]
    if not old:
        return new
    found = weighed(new)
    arrays = {**arrays, **{name: found[name] for name in old}}
    return unchecked_model(m.name, arrays, m.names, copy.copy(m.opt), kept, m)


def _fill(
    m: Model,
    name: str,
    arrays: Mapping[str, NDArray[Any]],
    names: Mapping[str, Sequence[str]],
    opt: Options | None,
    findings: Sequence[Finding],
    copied: Model | None = None,
) -> None:
    """Write all attributes of a Model; the arguments are those of unchecked_model."""
    keep = vars(m)
    loops = copied.loops if copied else _loops_model(arrays, names)
    if not arrays.keys() >= set(DERIVED):
        arrays = {**arrays, **derive(arrays, names)}
    sizes = sizes_of(arrays, loops.data_slots if loops else 0)
    keep.update(name=name, findings=tuple(findings), opt=opt or Options(), loops=loops, kept={})
    keep.update({kind: tuple(names[kind]) for kind in NAMES})
    # plain attributes: Python finds them faster than properties
    keep.update({kind: part_numbers(keep[of]) for kind, of in _NUMBERED.items()})
    keep.update(sizes)
    shapes, offsets, keep["data_row"] = _layout(tuple(sizes.items()))
    for field, shape in zip(MODEL_FIELDS, shapes, strict=True):
        keep[field.name] = frozen(field, arrays[field.name], shape)
    keep.update(copied.functions if copied else _registered_functions(m))
    keep.update(data_offsets=dict(offsets), data_slots=m.data_row.itemsize // 8)
    is_delayed = bool(m.actuator_delay.any())
    m.opt.belong_to(m.not_implicit, "actuators" if m.nu > 0 else "", is_delayed)


def _registered_functions(m: Model) -> dict[str, NDArray[Any]]:
    """Return the user functions; raise ModelError if a function is missing or does not fit."""
    lists = (m.jnt_usertype, registered_joint), (m.jnt_motion_name, registered_motion)
    found = {}
    for field, (names, registered) in zip(CALLBACK_FIELDS, lists, strict=True):
        addresses = np.zeros(m.njnt, np.int64)
        for j, name in enumerate(names):
            if name:
                addresses[j] = registered(name, int(m.jnt_dofnum[j])).address
        found[field.name] = frozen(field, addresses, (m.njnt,))
    return found


def check_model(m: object, function: str) -> None:
    """Raise ModelError if m is not a Model; the message names the function that needs it."""
    if not isinstance(m, Model):
        raise ModelError(Finding("not-a-model", f"{function} needs a Model, got {shown(m)}"))


def _read_only(name: str) -> ModelError:
    text = f"Model.{name} cannot be set: a Model is read-only, only m.opt may change"
    if name in (*INERTIAS, *REPLACEABLE):
        text += f"; m.replaced({name}=...) returns a changed Model"
    elif name.startswith("actuator_"):
        text += "; rb.with_actuators returns a Model with other actuators"
    else:
        allowed = (*INERTIAS, *REPLACEABLE)
        text += our_words("Model", name) or did_you_mean(name, allowed)
    return ModelError(Finding("model-read-only", text, element=name))


@functools.lru_cache(maxsize=100)  # identification makes many Models with the same sizes
def _layout(
    sizes: tuple[tuple[str, int], ...],
) -> tuple[list[tuple[int, ...]], dict[str, int], np.dtype[Any]]:
    """Return the shapes of MODEL_FIELDS, and a Model's data_offsets and data_row for some sizes.

    Each field of a Data begins at a multiple of four slots.
    """
    known, offsets, end = dict(sizes), dict[str, int](), 0
    names, formats = [], []
    for field in DATA_FIELDS:
        shape, begin = field.shape(known), offsets[field.inside] if field.inside else end
        offsets[field.name] = begin
        end = max(end, begin + (math.prod(shape) + 3) // 4 * 4)
        names.append(field.name if shape else f"_{field.name}")
        formats.append((f"{field.kind}64", shape))
    at = [8 * begin for begin in offsets.values()]
    row: Any = {"names": names, "formats": formats, "offsets": at, "itemsize": 8 * end}
    return [field.shape(known) for field in MODEL_FIELDS], offsets, np.dtype(row)


def _loops_model(
    arrays: Mapping[str, NDArray[Any]], names: Mapping[str, Sequence[str]]
) -> Model | None:
    if len(arrays["loop_type"]) == 0:
        return None
    return unchecked_model("loops", *loop_joints_alone(arrays, names))


def _stage(name: str, doc: str) -> property:
    return property(lambda m: m.stages[name], doc=f"Address of an optional stage, or 0: {doc}.")


for _name, _doc in STAGES.items():
    setattr(Model, _name, _stage(_name, _doc))
install_hints(Model, "Model")
