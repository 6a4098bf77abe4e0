"""The Model: every array that does not change while simulating, declared once and read-only."""

from __future__ import annotations

import copy
import functools
import hashlib
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.errors import Finding, ModelError, did_you_mean
from rbdyn_ros.model.callbacks import MAX_PARAMETERS, registered_joint, registered_motion
from rbdyn_ros.model.data import DATA_FIELDS
from rbdyn_ros.model.fields import Field
from rbdyn_ros.model.graph import Graph
from rbdyn_ros.model.joints import JOINT_KINDS, JointKind, JointType, user_kind
from rbdyn_ros.model.options import Options

SIZES = {
    "nq": "length of qpos",
    "nv": "degrees of freedom, length of qvel",
    "nbody": "bodies, the world (body 0) included",
    "njnt": "joints; joint i-1 carries body i",
    "nframe": "named frames: every link of the description",
    "nM": "entries of the lower triangle of the joint-space inertia matrix; 0 if it is too large",
    "ndrive": "coordinates of joints that are driven over time",
    "nqall": "nq and ndrive together",
    "nvall": "nv and ndrive together",
    "nlimit": "limited coordinates of joints that have several",
    "nstiff": "joints with a spring",
    "nypr": "yaw-pitch-roll joints",
    "nuser": "user-defined joints",
    "nloop": "joints that close loops",
    "nspring": "spring-dampers between points",
    "nknot": "knots of the trajectories of driven joints",
}

MODEL_FIELDS = (
    # bodies; the frame of a body is that of its joint, on its side
    Field("body_parentid", ("nbody",), "parent body; of the world 0", "int"),
    Field("body_rootid", ("nbody",), "child of the world this body descends from", "int"),
    Field("body_haschild", ("nbody",), "1 if a joint hangs on the body", "int"),
    Field("body_lastchild", ("nbody",), "1 if no body with a higher number has its parent", "int"),
    Field("body_dofadr", ("nbody",), "first dof of the body's joint, -1 if it has none", "int"),
    Field("body_dofnum", ("nbody",), "number of dofs of the body's joint", "int"),
    Field("body_lastdof", ("nbody",), "last dof that moves the body, -1 if none", "int"),
    Field("body_pos", ("nbody", 3), "joint frame on the parent's side, in the parent: X_T [m]"),
    Field("body_quat", ("nbody", 4), "its orientation in the parent, wxyz"),
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
    Field("jnt_reversed", ("njnt",), "1 if the body it carries is its predecessor", "int"),
    Field("jnt_common", ("njnt",), "1 if forward and of a type up to PLANAR", "int"),
    Field("jnt_qposadr", ("njnt",), "first entry in qpos_all; below nq it is one of qpos", "int"),
    Field("jnt_dofadr", ("njnt",), "first entry in qvel_all; below nv it is one of qvel", "int"),
    Field("jnt_dofnum", ("njnt",), "degrees of freedom, or coordinates that are driven", "int"),
    Field("jnt_bodyid", ("njnt",), "the body it carries", "int"),
    Field("jnt_userid", ("njnt",), "row in user_joint, -1 if not user-defined", "int"),
    Field("jnt_axis", ("njnt", 3), "unit axis in the joint frame; a planar joint's normal"),
    Field(
        "jnt_param",
        ("njnt", MAX_PARAMETERS),
        "pitch [m/rad], radius [m], or of a user-defined joint",
    ),
    Field("jnt_limited", ("njnt",), "1 where jnt_range holds", "int"),
    Field("jnt_range", ("njnt", 2), "lower and upper position, infinite if none [rad or m]"),
    Field("jnt_effort", ("njnt",), "largest effort [N m or N], infinity if none"),
    Field("jnt_velocity", ("njnt",), "largest speed [rad/s or m/s], infinity if none"),
    Field("jnt_solref", ("njnt", 2), "limit spring: time constant [s], damping ratio"),
    Field("jnt_stiffness", ("njnt",), "of the spring in the joint [N m/rad or N/m]"),
    Field("jnt_rotbase", ("njnt", 27), "P, Q, W of R(q) = P + cos(q) Q + sin(q) W, see jcalc.py"),
    Field("jnt_basis", ("njnt", 9), "unit x, y, z of the joint in its frame, row by row"),
    # degrees of freedom
    Field("dof_bodyid", ("nv",), "the body it moves", "int"),
    Field("dof_jntid", ("nv",), "the joint it belongs to", "int"),
    Field("dof_parentid", ("nv",), "previous dof on the way to the root, -1 if none", "int"),
    Field("dof_newframe", ("nvall",), "1 where cdof_dot takes the velocity reached so far", "int"),
    Field("dof_armature", ("nv",), "rotor inertia seen at the joint [kg m^2 or kg]"),
    Field("dof_damping", ("nv",), "viscous damping [N m s/rad or N s/m]"),
    Field("dof_frictionloss", ("nv",), "dry friction [N m or N]"),
    Field(
        "dof_inertia0",
        ("nv",),
        "articulated-body inertia seen by the dof at qpos0 (elsewhere if 0)",
    ),
    Field("qpos0", ("nq",), "positions after reset_data"),
    Field("qpos_spring", ("nq",), "where the springs in the joints are at rest"),
    # limits of coordinates of joints that have several
    Field("limit_dofid", ("nlimit",), "the dof that is limited", "int"),
    Field("limit_range", ("nlimit", 2), "lower and upper position [rad or m]"),
    # sparse lower triangle of M
    Field("M_rownnz", ("nv",), "entries in a row: the dof and those above it", "int"),
    Field("M_rowadr", ("nv",), "first entry of a row", "int"),
    Field("M_colind", ("nM",), "column of an entry, ascending; the diagonal is last", "int"),
    # frames
    Field("frame_bodyid", ("nframe",), "the body the frame is fixed to", "int"),
    Field("frame_pos", ("nframe", 3), "origin in the body [m]"),
    Field("frame_quat", ("nframe", 4), "orientation in the body, wxyz"),
    # joints that close loops, from predecessor to successor
    Field("loop_type", ("nloop",), "a JointType", "int"),
    Field("loop_bodyid", ("nloop", 2), "predecessor and successor body", "int"),
    Field("loop_pos", ("nloop", 2, 3), "joint frame in each: X_P, X_S [m]"),
    Field("loop_quat", ("nloop", 2, 4), "its orientation in each, wxyz"),
    Field("loop_axis", ("nloop", 3), "as jnt_axis"),
    Field("loop_basis", ("nloop", 9), "as jnt_basis"),
    Field("loop_param", ("nloop", MAX_PARAMETERS), "as jnt_param"),
    # spring-dampers between two points
    Field("spring_bodyid", ("nspring", 2), "the bodies it connects", "int"),
    Field("spring_pos", ("nspring", 2, 3), "its ends, each in its body [m]"),
    Field("spring_stiffness", ("nspring",), "[N/m]"),
    Field("spring_damping", ("nspring",), "[N s/m]"),
    Field("spring_length", ("nspring",), "at rest [m]"),
    # motion of driven joints, by coordinate: polynomials of degree 5 between knots
    Field("drive_knotadr", ("ndrive",), "first knot", "int"),
    Field("drive_knotnum", ("ndrive",), "number of knots, 0 if a function drives it", "int"),
    Field("drive_period", ("ndrive",), "after which the motion repeats, 0 if it does not [s]"),
    Field("knot_time", ("nknot",), "where a polynomial begins [s]"),
    Field("knot_coef", ("nknot", 6), "its coefficients in powers of the time since then"),
)

#: Where the functions of the user are; never stored, looked up by name (see NAMES).
CALLBACK_FIELDS = (
    Field("jnt_jcalc", ("njnt",), "address of a user-defined joint's jcalc, or 0", "int"),
    Field("jnt_motion", ("njnt",), "address of the function that drives the joint, or 0", "int"),
)

NAMES = {
    "body_names": "of the bodies",
    "jnt_names": "of the joints",
    "frame_names": "of the frames: the links of the description",
    "loop_names": "of the joints that close loops",
    "spring_names": "of the spring-dampers",
    "jnt_usertype": "by joint, the name of a user-defined type, or empty",
    "loop_usertype": "the same for joints that close loops",
    "jnt_motion_name": "by joint, the name of the function that drives it, or empty",
}

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
    "jnt_stiffness",
    "jnt_velocity",
    "limit_range",
    "qpos0",
    "qpos_spring",
    "spring_damping",
    "spring_length",
    "spring_stiffness",
)

#: Where infinity means that there is no limit.
UNLIMITED = ("jnt_range", "limit_range", "jnt_effort", "jnt_velocity")

#: Of REPLACEABLE what cannot be less than zero.
NOT_NEGATIVE = (
    "dof_armature",
    "dof_damping",
    "dof_frictionloss",
    "dof_inertia0",
    "jnt_effort",
    "jnt_stiffness",
    "jnt_velocity",
    "spring_damping",
    "spring_length",
    "spring_stiffness",
)

#: largest number of entries for which Data holds the joint-space inertia matrix
MAX_M_ENTRIES = 2_000_000


class Model:
    """A checked robot: sizes, names and read-only arrays (see MODEL_FIELDS).

    Attributes:
        name: of the robot.
        body_names, jnt_names, frame_names: in the order of the arrays; all are in NAMES.
        opt: options that may be changed at any time, see Options.
        table: sizes, then addresses of arrays, then offsets into a Data; read by the kernels.
    """

    def __init__(
        self,
        name: str,
        arrays: Mapping[str, NDArray[Any]],
        names: Mapping[str, Sequence[str]],
        opt: Options | None = None,
        findings: Sequence[Finding] = (),
        functions: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        """Make a Model; `functions` are the CALLBACK_FIELDS of one whose copy this is."""
        keep = self.__dict__
        keep.update(name=name, findings=tuple(findings), opt=opt or Options())
        keep.update({kind: tuple(names[kind]) for kind in NAMES})
        sizes = _sizes(arrays)
        keep.update(sizes)
        for field in MODEL_FIELDS:
            keep[field.name] = _stored(field, arrays[field.name], field.shape(sizes))
        keep.update(functions or self._look_up())
        self._lay_out(sizes)

    def _look_up(self) -> dict[str, NDArray[Any]]:
        """Find the functions of the user; raises ModelError if there are none that fit."""
        lists = (self.jnt_usertype, registered_joint), (self.jnt_motion_name, registered_motion)
        found = {}
        for field, (names, registered) in zip(CALLBACK_FIELDS, lists, strict=True):
            addresses = np.zeros(self.njnt, np.int64)
            for j, name in enumerate(names):
                if name:
                    addresses[j] = registered(name, int(self.jnt_dofnum[j])).address
            found[field.name] = _stored(field, addresses, (self.njnt,))
        return found

    def _lay_out(self, sizes: Mapping[str, int]) -> None:
        """Write the table the kernels read; Data fields start at multiples of four slots."""
        offsets: dict[str, int] = {}
        end = 0
        for field in DATA_FIELDS:
            offsets[field.name] = offsets[field.inside] if field.inside else end
            slots = int(np.prod(field.shape(sizes), dtype=np.int64))
            end = max(end, offsets[field.name] + (slots + 3) // 4 * 4)
        arrays = [getattr(self, field.name) for field in MODEL_FIELDS + CALLBACK_FIELDS]
        addresses = [array.ctypes.data for array in arrays]
        table = [*sizes.values(), *addresses, *self.opt.addresses, *offsets.values()]
        keep = self.__dict__
        keep["table"] = np.array(table, np.int64)
        keep["address"] = keep["table"].ctypes.data
        keep["data_slots"] = end
        keep["data_offsets"] = offsets

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

    def loop_id(self, name: str) -> int:
        """Return the number of a joint that closes a loop; raises ModelError."""
        return _position(name, self.loop_names, "loop joint")

    def jnt_kind(self, j: int) -> JointKind:
        """Return the row of the joint library that joint j has."""
        kind = JointType(self.jnt_type[j])
        return user_kind(int(self.jnt_dofnum[j])) if kind == JointType.USER else JOINT_KINDS[kind]

    @property
    def names(self) -> dict[str, tuple[str, ...]]:
        """Everything listed in NAMES."""
        return {kind: getattr(self, kind) for kind in NAMES}

    @functools.cached_property
    def graph(self) -> Graph:
        """The connectivity graph of bodies and joints, regularly numbered."""
        parents, bodies = self.body_parentid[1:], np.arange(1, self.nbody)
        turned = self.jnt_reversed == 1
        p = np.concatenate([np.where(turned, bodies, parents), self.loop_bodyid[:, 0]])
        s = np.concatenate([np.where(turned, parents, bodies), self.loop_bodyid[:, 1]])
        return Graph(p.tolist(), s.tolist(), self.nbody - 1)

    def replaced(self, findings: Sequence[Finding] | None = None, **arrays: Any) -> Model:
        """Return a Model with some arrays (or its findings) replaced, the options its own.

        Only what nothing else was computed from can be replaced, see REPLACEABLE; for the rest
        build a Model from a changed Description. Functions of the user stay the same, whatever
        is registered under their names by now.

        Raises:
            ModelError: for another field, another shape, or numbers that mean nothing there.
        """
        given = {
            name: _demand_alike(name, getattr(self, name, None), arrays[name]) for name in arrays
        }
        self._demand_free(
            "jnt_limited", given, (self.jnt_dofnum == 1) | (self.jnt_type == JointType.BALL)
        )
        self._demand_free("jnt_stiffness", given, self.jnt_dofnum > 0)
        new = {field.name: getattr(self, field.name) for field in MODEL_FIELDS} | given
        if arrays:
            _demand_ascending("jnt_range", new["jnt_range"][new["jnt_limited"] == 1])
            _demand_ascending("limit_range", new["limit_range"])
        kept = self.findings if findings is None else findings
        functions = {field.name: getattr(self, field.name) for field in CALLBACK_FIELDS}
        return Model(self.name, new, self.names, copy.copy(self.opt), kept, functions)

    def _demand_free(
        self, name: str, arrays: Mapping[str, NDArray[Any]], possible: NDArray[np.bool_]
    ) -> None:
        """Raise ModelError if a joint gets a limit or a spring that cannot have one."""
        if name not in arrays:
            return
        free = possible & (self.jnt_dofadr < self.nv)
        for j in np.flatnonzero((arrays[name] != 0) & ~free):
            text = f"Model.{name}: joint '{self.jnt_names[j]}' can have none, its entry must be 0"
            raise ModelError(Finding("model-array", text, "error", name))

    def __copy__(self) -> Model:
        return self.replaced()

    def __deepcopy__(self, memo: object) -> Model:
        return self.replaced()

    def __delattr__(self, name: str) -> None:
        self.__setattr__(name, None)

    def __reduce__(self) -> tuple[Any, ...]:
        arrays = {field.name: getattr(self, field.name) for field in MODEL_FIELDS}
        return type(self), (self.name, arrays, self.names, self.opt, self.findings)

    def __repr__(self) -> str:
        return f"<Model '{self.name}': {self.nbody - 1} bodies, nq={self.nq}, nv={self.nv}>"

    def sha256(self) -> str:
        """Hash of everything that determines the motion: names and arrays, not the options."""
        digest = hashlib.sha256("\0".join(itertools.chain(*self.names.values())).encode())
        for field in MODEL_FIELDS:
            digest.update(getattr(self, field.name).tobytes())
        return digest.hexdigest()


def _sizes(arrays: Mapping[str, NDArray[Any]]) -> dict[str, int]:
    nq, nv = len(arrays["qpos0"]), len(arrays["dof_bodyid"])
    ndrive = len(arrays["drive_period"])
    sizes = {
        "nq": nq,
        "nv": nv,
        "nbody": len(arrays["body_parentid"]),
        "njnt": len(arrays["jnt_type"]),
        "nframe": len(arrays["frame_bodyid"]),
        "nM": len(arrays["M_colind"]),
        "ndrive": ndrive,
        "nqall": nq + ndrive,
        "nvall": nv + ndrive,
        "nlimit": len(arrays["limit_dofid"]),
        "nstiff": int(np.count_nonzero(arrays["jnt_stiffness"])),
        "nypr": int(np.sum(np.asarray(arrays["jnt_type"]) == JointType.YPR)),
        "nuser": int(np.sum(np.asarray(arrays["jnt_userid"]) >= 0)),
        "nloop": len(arrays["loop_type"]),
        "nspring": len(arrays["spring_bodyid"]),
        "nknot": len(arrays["knot_time"]),
    }
    assert list(sizes) == list(SIZES)
    return sizes


def _stored(field: Field, value: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return a read-only copy in C order: kernels read it as flat memory."""
    dtype = np.int64 if field.kind == "int" else np.float64
    array = np.array(value, dtype, order="C").reshape(shape)
    array.flags.writeable = False
    return array


def _demand_alike(name: str, old: Any, new: Any) -> NDArray[Any]:
    """Return what replaces an array; raises ModelError if it cannot."""
    array = _numbers(new)
    if name not in REPLACEABLE:
        hint = did_you_mean(name, REPLACEABLE)
        text = f"Model.{name} cannot be replaced{hint}; allowed are {', '.join(REPLACEABLE)}"
    elif array is None or np.isnan(array).any():
        text = f"Model.{name} takes numbers; NaN is refused, and infinity where it means nothing"
    elif array.shape != old.shape:
        text = f"Model.{name} has shape {old.shape}; an array of {array.shape} was given"
    elif name not in UNLIMITED and not np.isfinite(array).all():
        text = f"Model.{name} takes numbers; NaN is refused, and infinity where it means nothing"
    elif name in NOT_NEGATIVE and (array < 0.0).any():
        text = f"Model.{name} holds {array.min():.6g}; allowed are numbers that are not negative"
    elif name == "jnt_limited" and not np.isin(array, (0, 1)).all():
        text = f"Model.{name} holds {array.tolist()}; allowed are 0 and 1"
    else:
        return array
    raise ModelError(Finding("model-array", text, "error", name))


def _numbers(values: Any) -> NDArray[Any] | None:
    """Return an array of real numbers, or None if the values are none (a ragged list, texts)."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        return None
    return array if array.dtype.kind in "biuf" else None


def _demand_ascending(name: str, ranges: NDArray[np.float64]) -> None:
    for lower, upper in ranges.tolist():
        if lower > upper:
            text = f"Model.{name} has the lower limit {lower:.6g} above the upper one {upper:.6g}"
            raise ModelError(Finding("model-array", text, "error", name))


def _position(name: str, names: tuple[str, ...], kind: str) -> int:
    if name in names:
        return names.index(name)
    hint = did_you_mean(name, names) if isinstance(name, str) else "; a name is a text"
    text = f"there is no {kind} {name!r}{hint}"
    raise ModelError(Finding(f"unknown-{kind}", text, "error", str(name), None, str(name)))
