# SPDX-License-Identifier: Apache-2.0
"""rb.Recorder: record a simulation in Python."""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from rbdyn_ros.dynamics.entry import check_pair
from rbdyn_ros.dynamics.instant import contact_on_bodies, friction_memory
from rbdyn_ros.dynamics.stages import kinematics, make_data
from rbdyn_ros.errors import Finding, ModelError, ParameterError
from rbdyn_ros.loading.output import Output
from rbdyn_ros.loading.storage import save
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.declared.actuators import CURRENT
from rbdyn_ros.model.model import Model, check_model
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.recording import topics
from rbdyn_ros.recording.claim import OCCUPIED
from rbdyn_ros.recording.qos import offered
from rbdyn_ros.recording.schemas import STATE, Schemas
from rbdyn_ros.recording.writer import RunFile

STATE_TOPIC = "/simulator/state"


class Recorder(Output):
    """Writes a simulation to an .mcap file that ROS 2 tools can read; ROS is not needed.

    with rb.Recorder(m, "run.mcap", urdf=text) as recorder:
        for _ in range(1000):
            rb.step(m, d)
            recorder.write(d)

    The file has the Model, every state to the last bit on /simulator/state, /joint_states, /tf
    with all frames in the world, and the URDF on /robot_description. The stamps are d.time.

    Args:
        m: the Model.
        path: path of the file.
        urdf: text of the URDF, for tools that show its meshes; empty: there is no URDF.
        rate: largest rate of /joint_states and /tf [Hz]; all states are recorded.
        overwrite: whether to replace an existing file; False: an existing file is refused.

    Raises:
        ModelError: m is not a Model.
        ParameterError: the file cannot be written, exists already, or is used by another process;
            rate is not positive; or mcap or rosbags is not installed.
    """

    def __init__(
        self,
        m: Model,
        path: str | Path,
        urdf: str = "",
        *,
        rate: float = 100.0,
        overwrite: bool = False,
    ) -> None:
        _check_arguments(m, urdf, rate)
        schemas = Schemas()
        self._m, self._scratch, self._messages = m, make_data(m), topics.Messages(schemas)
        self._file = _file(path, schemas, overwrite)
        self._closed = False
        latched = offered(1, latched=True)
        self._state = self._file.channel(STATE_TOPIC, STATE)
        self._joints = self._file.channel("/joint_states", topics.JOINT_STATE)
        self._tf = self._file.channel("/tf", topics.TRANSFORMS)
        self._file.attach(topics.MODEL_NAME, topics.MODEL_TYPE, model_bytes(m))
        if urdf:
            description = self._file.channel("/robot_description", topics.STRING, latched)
            self._file.put(description, 0, self._messages.text(urdf))
        self._frames, self._single = topics.Frames(m), topics.single_joints(m)
        self._every, self._due = 1.0 / rate, -np.inf
        self._tick, self._epoch, self._last = 0, 0, -np.inf

    @property
    def path(self) -> Path:
        """Path of the recorded file."""
        return self._file.path

    @property
    def dropped(self) -> int:
        """Number of messages that were dropped because the disk was too slow."""
        return self._file.dropped

    def write(self, d: Data) -> None:
        """Record the present state of a Data, which is not changed.

        Raises:
            ModelError: d was not made for the Model, its numbers are not finite, or the recorder
                is closed.
            ParameterError: writing the file has failed.
        """
        check_pair(self._m, d)
        if self._closed:
            text = f"the recorder is closed, and {self.path} is complete; make another recorder"
            raise ModelError(Finding("closed-recorder", text, "error", self._m.name))
        if self._file.failure:
            raise ParameterError(Finding("unwritable-file", self._file.failure))
        time = float(d.time)
        if not (np.isfinite(d.qpos).all() and np.isfinite(d.qvel).all() and 0 <= time < 2**31):
            text = f"the state at time {time:g} s cannot be recorded: it is not finite"
            raise ModelError(Finding("not-finite", text, "error", self._m.name))
        if time < self._last:
            self._epoch, self._due = self._epoch + 1, -np.inf
        stamp, self._last = round(time * NANOSECONDS), time
        self._file.put(self._state, stamp, self._packed(stamp, d))
        self._tick += 1
        if time >= self._due - 1e-9:
            self._due = time + self._every
            self._show(stamp, d)

    def _packed(self, stamp: int, d: Data) -> bytes:
        contact = contact_on_bodies(self._m, d)
        none = np.empty(0)
        lists = (
            d.qpos,
            d.qvel,
            d.qacc,
            d.qfrc_applied,
            d.xfrc_applied.reshape(-1) if d.xfrc_applied.any() else none,
            contact.reshape(-1) if contact is not None else none,
            friction_memory(d).reshape(-1),
            d.stick_qfrc if self._m.nstop else none,
            d.act,
        )
        return self._messages.state(stamp, self._tick, float(d.time), self._epoch, lists)

    def _show(self, stamp: int, d: Data) -> None:
        """Record /joint_states and /tf, which other tools read; stamp [ns]."""
        m, scratch = self._m, self._scratch
        scratch.qpos, scratch.qvel, scratch.time = d.qpos, d.qvel, d.time
        kinematics(m, scratch)
        names, qposadr, dofadr = self._single
        effort = np.zeros(m.nvall)
        effort[: m.nv] = d.qfrc_applied
        # as effort of a drive, record the torque that the drive assumes, as joint_states do
        current = d.act[m.actuator_actadr + CURRENT]
        effort[m.actuator_dofid] = m.actuator_gear * m.actuator_motorconst[:, 0] * current
        position, velocity = scratch.qpos_all[qposadr], scratch.qvel_all[dofadr]
        message = self._messages.joint_state(stamp, names, position, velocity, effort[dofadr])
        self._file.put(self._joints, stamp, message)
        rows = self._frames.rows(scratch.xpos, scratch.xmat)
        message = self._messages.transforms(stamp, self._frames.names, rows)
        self._file.put(self._tf, stamp, message)

    def close(self) -> None:
        """Complete and close the file; it may be closed already.

        Raises:
            ParameterError: the file is not complete, for example because the disk is full.
        """
        if self._closed:
            return
        self._closed = True
        self._file.close()
        if not self._file.complete:
            raise ParameterError(Finding("incomplete-recording", self._file.summary))


def _file(path: str | Path, schemas: Schemas, overwrite: bool) -> RunFile:
    try:
        return RunFile(path, schemas, overwrite=overwrite)
    except ParameterError as error:
        if error.code != OCCUPIED:
            raise
        finding = error.findings[0]
        text = f"{finding.message}, or pass overwrite=True"
        raise ParameterError(replace(finding, message=text)) from error


def _check_arguments(m: object, urdf: object, rate: object) -> None:
    check_model(m, "Recorder")
    if not isinstance(urdf, str):
        text = f"urdf is the text of a URDF, not {type(urdf).__name__}"
        raise ParameterError(Finding("bad-urdf", text, "error", "urdf"))
    if not (isinstance(rate, int | float) and 0.0 < rate < np.inf):
        text = f"rate is {rate!r}; allowed is a finite number greater than 0"
        raise ParameterError(Finding("bad-rate", text, "error", "rate", None, repr(rate)))


def model_bytes(m: Model) -> bytes:
    """Return the bytes of the file that `save` writes for a Model."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / topics.MODEL_NAME
        save(m, path)
        return path.read_bytes()
