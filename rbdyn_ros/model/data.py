# SPDX-License-Identifier: Apache-2.0
"""The Data: all quantities that change in a simulation, in one row of numbers."""

from __future__ import annotations

import ctypes
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.errors import Finding, ModelError, did_you_mean
from rbdyn_ros.model.declared.callbacks import stage_address
from rbdyn_ros.model.declared.data_fields import DATA_FIELDS
from rbdyn_ros.model.declared.fields import Field
from rbdyn_ros.model.declared.model_fields import DATA_STAGES, DRIVE_STAGES
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.named_parts import NamedPart
from rbdyn_ros.other_names import foreign, install_hints, our_words

#: Positions, relative to a Data's row, of the addresses that kernels read: of the stages
#: DATA_STAGES, and of the Model's table. The owner of the row may use the slot between them.
STAGES_AT, TABLE_AT = -2 - len(DATA_STAGES), -1
HEAD_SLOTS = 8  # the space before the row is one cache line
STEP = list(DATA_STAGES).index("step_stage")


class Data:
    """State and results of one robot (see DATA_FIELDS); made by make_data.

    Every array is a view into one row of numbers, `buffer`. An assignment to a field writes into
    the array and never rebinds it. Copy a Data by d.copy(), because the row does not contain the
    addresses of its stages.

    Args:
        model: the Model of the robot.
    """

    # these numbers are read through properties, which are made below
    time: float
    efc_rank: int
    ncon: int
    nmutual: int
    ndropped: int
    nstick: int
    nstopped: int
    solved: int
    damped: int
    nunsolved: int
    solver_niter: int
    nlocked: int
    nbad: int
    nsingular: int
    nfast: int
    nlost: int
    inertia_stage: int
    accelerate_stage: int
    report_stage: int
    lock_stage: int
    step_stage: int

    def __init__(self, model: Model) -> None:
        keep = self.__dict__
        keep["model"] = model
        raw: Any = np.zeros(model.data_slots + 2 * HEAD_SLOTS)
        start = HEAD_SLOTS + -raw.ctypes.data % 64 // 8  # the row begins on a cache line
        memory = memoryview(raw)
        # `stages` cannot be made writeable, because its memory is read-only
        stages = memory[start + STAGES_AT :][: len(DATA_STAGES)].toreadonly()
        keep["stages"] = np.frombuffer(stages, np.int64)
        keep["buffer"] = np.frombuffer(memory[start : start + model.data_slots])
        keep["address"] = keep["buffer"].ctypes.data
        self.take_table(model.address)
        self._write_head(STAGES_AT, *model.data_stages)
        keep["model_address"] = model.address
        keep.update(_views(model, self.buffer))
        keep["loops"] = _Part(model.loops, self.loop_data) if model.loops else None
        keep["shapes"] = {}  # shapes of the arrays that toolbox functions return
        self.qpos[:] = model.qpos0

    def __index__(self) -> int:
        return int(self.address)

    def _write_head(self, place: int, *addresses: int) -> None:
        """Write addresses to the slots before the row, from `place` on."""
        content = np.array(addresses, np.int64).tobytes()
        ctypes.memmove(self.address + 8 * place, content, len(content))

    def reset(self, qpos: NDArray[np.float64] | None = None) -> None:
        """Restore the initial state, or another state at rest; specialised timesteps are kept.

        Args:
            qpos: (nq,) positions; None: qpos0.
        """
        self.buffer[:] = 0.0
        self.qpos[:] = self.model.qpos0 if qpos is None else qpos
        self.drop_drive_modes()

    def body(self, body: str | int) -> NamedPart:
        """Return a body, with its rows of xpos, xmat, ... as attributes, see NamedPart."""
        i = self.model.body_id(body)
        return NamedPart("Data", self, "body", i, self.model.body_names[i])

    def joint(self, joint: str | int) -> NamedPart:
        """Return a joint, with its entries of qpos, qvel, qfrc_applied, ... as attributes."""
        j = self.model.jnt_id(joint)
        return NamedPart("Data", self, "joint", j, self.model.jnt_names[j])

    def take_drive_modes(self) -> None:
        """Make the kernels use drive_mode, which makes this Data a little slower.

        Raises:
            ModelError: the mass matrix, which drive modes need, is too large for the Model.
        """
        if self.model.nM == 0 < self.model.nv:
            text = "drive modes need the mass matrix, which is too large for this Model"
            raise ModelError(Finding("no-mass-matrix", text, "error", "drive_mode"))
        needed = (*DRIVE_STAGES, *self.model.lock_stages)
        stages = list(DATA_STAGES)[:STEP]
        self._write_head(
            STAGES_AT, *(stage_address(name) if name in needed else 0 for name in stages)
        )

    def drop_drive_modes(self) -> None:
        """Make the kernels ignore drive_mode, as in a new Data."""
        self._write_head(STAGES_AT, *self.model.data_stages[:STEP])

    def take_table(self, address: int) -> None:
        """Make the kernels use the Model's table at an address."""
        self._write_head(TABLE_AT, address)

    def take_step_code(self, address: int) -> None:
        """Make compiled loops step this Data with the code at an address; 0: with the engine."""
        self._write_head(STAGES_AT + STEP, address)

    def copy(self) -> Data:
        """Return an independent Data with the same content."""
        twin = Data(self.model)
        twin.buffer = self.buffer
        twin._write_head(STAGES_AT, *self.stages)
        return twin

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Data:
        # a copy shares the Model, unless the same deepcopy also copies the Model
        model = memo.get(id(self.model), self.model)
        return self.copy() if model is self.model else restored(model, self.buffer)

    if TYPE_CHECKING:  # these arrays of DATA_FIELDS are for type checkers

        def __getattr__(self, name: str) -> Any: ...

    def __setattr__(self, name: str, value: Any) -> None:
        target = self.__dict__.get(name, self.__dict__.get(f"_{name}"))
        if not isinstance(target, np.ndarray) or name.startswith("_"):
            hint = our_words("Data", name)
            hint = hint or did_you_mean(name, [field.name for field in DATA_FIELDS])
            raise AttributeError(f"Data has no field '{name}'{hint}")
        try:
            new = np.asarray(value if value is not None else "nothing", target.dtype)
        except (TypeError, ValueError, OverflowError):
            text = f"Data.{name} holds numbers, got {value!r}"
            raise ModelError(Finding("data-value", text, "error", name)) from None
        if new.shape not in (target.shape, ()):
            text = f"Data.{name} has shape {target.shape}, got an array of shape {new.shape}"
            raise ModelError(Finding("data-shape", text, "error", name))
        target[...] = new

    def __delattr__(self, name: str) -> None:
        text = f"Data.{name} cannot be deleted: kernels write into its memory"
        raise ModelError(Finding("data-delete", text, "error", name))

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__()} - foreign("Data"))

    def __repr__(self) -> str:
        return f"<Data of '{self.model.name}' at time {self.time:g} s>"

    def _repr_html_(self) -> str:
        """Return a picture and a table of coordinates for a notebook."""
        # imported here, because `view` is a higher layer
        return str(import_module("rbdyn_ros.view.notebook").html_of_data(self))


class _Part:
    """The fields of the loop joints' Data, which is part of another Data."""

    def __init__(self, model: Model, buffer: NDArray[np.float64]) -> None:
        vars(self).update(_views(model, buffer))


def _views(model: Model, buffer: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
    """Return every field as a view into the buffer; names of single numbers begin with "_"."""
    row = buffer.view(model.data_row).reshape(())
    return {name: row[name] for name in model.data_row.names}


def restored(model: Model, buffer: NDArray[np.float64]) -> Data:
    """Return a Data with the content of another Data's buffer.

    Raises:
        ModelError: the buffer is not from a Data of this Model.
    """
    data = Data(model)
    if np.shape(buffer) != data.buffer.shape:
        text = f"a Data of '{model.name}' needs {model.data_slots} numbers, got "
        text += f"an array of shape {np.shape(buffer)}"
        raise ModelError(Finding("data-shape", text, "error", "buffer"))
    data.buffer = buffer
    if data.drive_mode.any():
        data.take_drive_modes()
    return data


def _number(field: Field) -> property:
    # __getattr__ is not used, because it would slow every attribute access
    name = f"_{field.name}"
    return property(lambda d: d.__dict__[name].item(), doc=field.doc)


def _stage(k: int, doc: str) -> property:
    return property(lambda d: d.__dict__["stages"].item(k), doc=doc)


for _field in DATA_FIELDS:
    if not _field.dims:
        setattr(Data, _field.name, _number(_field))
for _k, (_name, _doc) in enumerate(DATA_STAGES.items()):
    setattr(Data, _name, _stage(_k, f"Address of an optional stage, or 0: {_doc}."))
install_hints(Data, "Data")
