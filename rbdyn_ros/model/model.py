"""The Model: every array that does not change while simulating, declared once and read-only."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.errors import Finding, ModelError, did_you_mean
from rbdyn_ros.model.data import DATA_FIELDS
from rbdyn_ros.model.fields import Field
from rbdyn_ros.model.options import Options

SIZES = {
    "nq": "length of qpos",
    "nv": "degrees of freedom, length of qvel",
    "nbody": "bodies, the world (body 0) included",
    "njnt": "joints; joint i-1 carries body i",
    "nframe": "named frames: every link of the description",
    "nM": "entries of the lower triangle of the joint-space inertia matrix; 0 if it is too large",
}

MODEL_FIELDS = (
    # bodies; fields in the frame of the parent body unless said otherwise
    Field("body_parentid", ("nbody",), "parent body; of the world 0", "int"),
    Field("body_rootid", ("nbody",), "child of the world this body descends from", "int"),
    Field("body_haschild", ("nbody",), "1 if a joint hangs on the body", "int"),
    Field("body_lastchild", ("nbody",), "1 if no body with a higher number has its parent", "int"),
    Field("body_dofadr", ("nbody",), "first dof of the body's joint, -1 if it has none", "int"),
    Field("body_dofnum", ("nbody",), "number of dofs of the body's joint", "int"),
    Field("body_pos", ("nbody", 3), "origin in the parent at zero joint position [m]"),
    Field("body_quat", ("nbody", 4), "orientation in the parent at zero joint position, wxyz"),
    Field("body_mat", ("nbody", 9), "the same as rotation matrix, row by row"),
    Field("body_ipos", ("nbody", 3), "centre of mass in the body [m]"),
    Field("body_iquat", ("nbody", 4), "principal inertial axes in the body, wxyz"),
    Field("body_imat", ("nbody", 9), "the same as rotation matrix, row by row"),
    Field("body_mass", ("nbody",), "[kg]; of the world 0"),
    Field("body_inertia", ("nbody", 3), "principal moments about the centre of mass [kg m^2]"),
    Field("body_fullinertia", ("nbody", 6), "the same in body axes: xx yy zz xy xz yz [kg m^2]"),
    Field("body_subtreemass", ("nbody",), "mass of the body and all its descendants [kg]"),
    # joints
    Field("jnt_type", ("njnt",), "a JointType", "int"),
    Field("jnt_qposadr", ("njnt",), "first entry in qpos", "int"),
    Field("jnt_dofadr", ("njnt",), "first entry in qvel", "int"),
    Field("jnt_bodyid", ("njnt",), "the body it carries", "int"),
    Field("jnt_axis", ("njnt", 3), "unit axis in the body; a planar joint's normal"),
    Field("jnt_limited", ("njnt",), "1 where jnt_range holds", "int"),
    Field("jnt_range", ("njnt", 2), "lower and upper position, infinite if none [rad or m]"),
    Field("jnt_effort", ("njnt",), "largest effort [N m or N], infinity if none"),
    Field("jnt_velocity", ("njnt",), "largest speed [rad/s or m/s], infinity if none"),
    Field("jnt_solref", ("njnt", 2), "limit spring: time constant [s], damping ratio"),
    Field("jnt_rotbase", ("njnt", 27), "P, Q, W of R(q) = P + cos(q) Q + sin(q) W, see jcalc.py"),
    Field("jnt_basis", ("njnt", 9), "unit x, y, z of a planar joint in the body, row by row"),
    # degrees of freedom
    Field("dof_bodyid", ("nv",), "the body it moves", "int"),
    Field("dof_jntid", ("nv",), "the joint it belongs to", "int"),
    Field("dof_parentid", ("nv",), "previous dof on the way to the root, -1 if none", "int"),
    Field("dof_newframe", ("nv",), "1 where cdof_dot takes the velocity reached so far", "int"),
    Field("dof_armature", ("nv",), "rotor inertia seen at the joint [kg m^2 or kg]"),
    Field("dof_damping", ("nv",), "viscous damping [N m s/rad or N s/m]"),
    Field("dof_frictionloss", ("nv",), "dry friction [N m or N]"),
    Field(
        "dof_inertia0",
        ("nv",),
        "articulated-body inertia seen by the dof at qpos0 (elsewhere if 0)",
    ),
    Field("qpos0", ("nq",), "positions after reset_data"),
    # sparse lower triangle of M
    Field("M_rownnz", ("nv",), "entries in a row: the dof and those above it", "int"),
    Field("M_rowadr", ("nv",), "first entry of a row", "int"),
    Field("M_colind", ("nM",), "column of an entry, ascending; the diagonal is last", "int"),
    # frames
    Field("frame_bodyid", ("nframe",), "the body the frame is fixed to", "int"),
    Field("frame_pos", ("nframe", 3), "origin in the body [m]"),
    Field("frame_quat", ("nframe", 4), "orientation in the body, wxyz"),
)

#: Arrays that nothing else in a Model was computed from.
REPLACEABLE = (
    "dof_armature",
    "dof_damping",
    "dof_frictionloss",
    "dof_inertia0",
    "jnt_effort",
    "jnt_limited",
    "jnt_range",
    "jnt_solref",
    "jnt_velocity",
    "qpos0",
)

#: largest number of entries for which Data holds the joint-space inertia matrix
MAX_M_ENTRIES = 2_000_000


class Model:
    """A checked robot: sizes, names and read-only arrays (see MODEL_FIELDS).

    Attributes:
        name: of the robot.
        body_names, jnt_names, frame_names: in the order of the arrays.
        opt: options that may be changed at any time, see Options.
        table: sizes, then addresses of arrays, then offsets into a Data; read by the kernels.
    """

    def __init__(
        self,
        name: str,
        arrays: Mapping[str, NDArray[Any]],
        body_names: Sequence[str],
        jnt_names: Sequence[str],
        frame_names: Sequence[str],
        opt: Options | None = None,
        findings: Sequence[Finding] = (),
    ) -> None:
        keep = self.__dict__
        keep.update(name=name, findings=tuple(findings), opt=opt or Options())
        keep["body_names"] = tuple(body_names)
        keep["jnt_names"] = tuple(jnt_names)
        keep["frame_names"] = tuple(frame_names)
        sizes = {
            "nq": len(arrays["qpos0"]),
            "nv": len(arrays["dof_bodyid"]),
            "nbody": len(body_names),
            "njnt": len(jnt_names),
            "nframe": len(frame_names),
            "nM": len(arrays["M_colind"]),
        }
        keep.update(sizes)
        for field in MODEL_FIELDS:
            keep[field.name] = _stored(field, arrays[field.name], field.shape(sizes))
        self._lay_out(sizes)

    def _lay_out(self, sizes: Mapping[str, int]) -> None:
        """Write the table the kernels read; Data fields start at multiples of four slots."""
        offsets, end = [], 0
        for field in DATA_FIELDS:
            offsets.append(end)
            slots = int(np.prod(field.shape(sizes), dtype=np.int64))
            end += (slots + 3) // 4 * 4
        addresses = [getattr(self, field.name).ctypes.data for field in MODEL_FIELDS]
        table = [*sizes.values(), *addresses, *self.opt.addresses, *offsets]
        keep = self.__dict__
        keep["table"] = np.array(table, np.int64)
        keep["address"] = keep["table"].ctypes.data
        keep["data_slots"] = end
        keep["data_offsets"] = dict(zip((f.name for f in DATA_FIELDS), offsets, strict=True))

    def __index__(self) -> int:
        return int(self.address)

    def __getattr__(self, name: str) -> Any:  # only called for what is not there
        raise AttributeError(f"Model has no field '{name}'{did_you_mean(name, self.__dict__)}")

    def __setattr__(self, name: str, value: object) -> None:
        raise ModelError(
            Finding(
                "model-read-only",
                f"Model.{name} cannot be set: a Model is read-only, only m.opt may change.",
                element=name,
            )
        )

    def body_id(self, name: str) -> int:
        """Return the number of a body; raises ModelError with the nearest name."""
        return _position(name, self.body_names, "body")

    def jnt_id(self, name: str) -> int:
        """Return the number of a joint; raises ModelError with the nearest name."""
        return _position(name, self.jnt_names, "joint")

    def frame_id(self, name: str) -> int:
        """Return the number of a frame; raises ModelError with the nearest name."""
        return _position(name, self.frame_names, "frame")

    def replaced(self, findings: Sequence[Finding] | None = None, **arrays: Any) -> Model:
        """Return a Model with some arrays (or its findings) replaced, the options its own.

        Only what nothing else was computed from can be replaced, see REPLACEABLE; for the rest
        build a Model from a changed Description.

        Raises:
            ModelError: for another field, another shape, or a NaN.
        """
        for name, new in arrays.items():
            _demand_alike(name, getattr(self, name, None), new)
        old = {field.name: getattr(self, field.name) for field in MODEL_FIELDS}
        names = (self.body_names, self.jnt_names, self.frame_names)
        kept = self.findings if findings is None else findings
        return Model(self.name, {**old, **arrays}, *names, copy.copy(self.opt), kept)

    def __copy__(self) -> Model:
        return self.replaced()

    def __delattr__(self, name: str) -> None:
        self.__setattr__(name, None)

    def __reduce__(self) -> tuple[Any, ...]:
        arrays = {field.name: getattr(self, field.name) for field in MODEL_FIELDS}
        names = (self.body_names, self.jnt_names, self.frame_names)
        return type(self), (self.name, arrays, *names, self.opt, self.findings)

    def __repr__(self) -> str:
        return f"<Model '{self.name}': {self.nbody - 1} bodies, nq={self.nq}, nv={self.nv}>"

    def sha256(self) -> str:
        """Hash of everything that determines the motion: names and arrays, not the options."""
        digest = hashlib.sha256("\0".join(self.jnt_names + self.frame_names).encode())
        for field in MODEL_FIELDS:
            digest.update(getattr(self, field.name).tobytes())
        return digest.hexdigest()


def _stored(field: Field, value: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return a read-only copy in C order: kernels read it as flat memory."""
    dtype = np.int64 if field.kind == "int" else np.float64
    array = np.array(value, dtype, order="C").reshape(shape)
    array.flags.writeable = False
    return array


def _demand_alike(name: str, old: Any, new: Any) -> None:
    if name not in REPLACEABLE:
        hint = did_you_mean(name, REPLACEABLE)
        text = f"Model.{name} cannot be replaced{hint}; allowed are {', '.join(REPLACEABLE)}"
    elif np.shape(new) != old.shape:
        text = f"Model.{name} has shape {old.shape}; an array of {np.shape(new)} was given"
    elif not _are_numbers(new, finite=name.startswith(("dof_", "qpos"))):
        text = f"Model.{name} takes numbers; NaN is refused, and infinity where it means nothing"
    else:
        return
    raise ModelError(Finding("model-array", text, "error", name))


def _are_numbers(values: Any, finite: bool) -> bool:
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        return False
    return bool(np.isfinite(array).all() if finite else not np.isnan(array).any())


def _position(name: str, names: tuple[str, ...], kind: str) -> int:
    if name in names:
        return names.index(name)
    hint = did_you_mean(name, names) if isinstance(name, str) else "; a name is a text"
    text = f"there is no {kind} {name!r}{hint}"
    raise ModelError(Finding(f"unknown-{kind}", text, "error", str(name), None, str(name)))
