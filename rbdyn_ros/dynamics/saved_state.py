# SPDX-License-Identifier: Apache-2.0
"""Save and load the state of a Data; a simulation then continues bit for bit as before."""

import hashlib
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.dynamics.entry import check_pair, kind_of
from rbdyn_ros.errors import Finding, ModelError, ParameterError, quote, shown
from rbdyn_ros.model.data import STEP, Data
from rbdyn_ros.model.model import Model


@dataclass(frozen=True, slots=True, eq=False)
class SavedState:
    """A state of one robot, from `save_state`.

    Attributes:
        robot: name of the robot.
        layout: hash of the names of the robot's parts and of the sizes of its arrays.
        row: all numbers of the Data, read-only: positions, velocities, time, external forces,
            drive targets, memory of friction, and everything computed from them.
        driven: whether a joint of the Data has a drive mode, see `set_drive`.
    """

    robot: str
    layout: str
    row: Array
    driven: bool


def save_state(m: Model, d: Data) -> SavedState:
    """Return a copy of the whole state of d.

    Raises:
        ModelError: d was not made for m.
    """
    check_pair(m, d, "save_state")
    row = d.buffer.copy()
    row.flags.writeable = False
    driven = bool((d.stages[:STEP] != m.data_stages[:STEP]).any())
    return SavedState(m.name, _layout(m), row, driven)


def load_state(m: Model, d: Data, saved: SavedState) -> None:
    """Put d into a saved state; d then moves as the saved Data, bit for bit.

    m must be a Model of the same robot; its masses, gravity and options may differ. The state can
    come from another Data or, by pickle, from another process.

    Raises:
        ModelError: d was not made for m, or the state is of another robot.
        ParameterError: `saved` is not a result of save_state.
    """
    check_pair(m, d, "load_state")
    _check_state(saved)
    if saved.layout != _layout(m) or np.shape(saved.row) != d.buffer.shape:
        text = (
            f"load_state: the state is of {quote(saved.robot)}, which has other joints, bodies or "
            f"geometries than {quote(m.name)}; allowed is a state of the same robot"
        )
        raise ModelError(Finding("other-robot", text, "error", "saved", None, saved.robot))
    d.buffer[:] = saved.row
    if saved.driven:
        d.take_drive_modes()
    else:
        d.drop_drive_modes()


def _check_state(saved: object) -> None:
    """Raise ParameterError unless `saved` is a SavedState with fields of the right types.

    A state that was read from a file may have fields of any type.
    """
    if not isinstance(saved, SavedState):
        text = f"load_state: expected a result of save_state, got {shown(saved)}"
        raise ParameterError(Finding("not-a-state", text, "error", "saved"))
    row: object = saved.row
    plain = type(row) is np.ndarray and row.dtype == np.float64 and row.ndim == 1
    for name, fits, allowed in (
        ("robot", type(saved.robot) is str, "a string"),
        ("layout", type(saved.layout) is str, "a string"),
        ("row", plain, "an array of floats with one axis"),
        ("driven", type(saved.driven) is bool, "True or False"),
    ):
        if not fits:
            found = kind_of(getattr(saved, name))
            text = f"load_state: {name} of the state is {found}; expected {allowed}"
            raise ParameterError(Finding("not-a-state", text, "error", name, None, found, allowed))


def _layout(m: Model) -> str:
    """Return a hash of the names and sizes that determine the layout of a Data."""
    if "state_layout" not in m.kept:
        meaning = repr((m.names, m.data_offsets, m.data_slots, m.jnt_type.tolist()))
        m.kept["state_layout"] = hashlib.sha256(meaning.encode()).hexdigest()
    layout: str = m.kept["state_layout"]
    return layout
