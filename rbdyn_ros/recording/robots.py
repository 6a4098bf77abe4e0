# SPDX-License-Identifier: Apache-2.0
"""Find the robot of a recording, in the recording itself or in a given file."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from rbdyn_ros.errors import DescriptionError, Finding, ParameterError, RbdynError
from rbdyn_ros.loading.load import load, load_urdf
from rbdyn_ros.loading.storage import load_model
from rbdyn_ros.model.declared.joints import JointType
from rbdyn_ros.model.model import Model
from rbdyn_ros.recording import topics
from rbdyn_ros.recording.bags import recording_error
from rbdyn_ros.recording.mcap_file import Attached

#: Numbers of positions and velocities of a floating base.
_FREE = 7, 6


def robot_of(
    source: Path,
    attached: Sequence[Attached],
    space: str,
    urdf: str,
    robot: str | Path | Model | None,
    widths: tuple[int, int] | None,
    floating: bool,
) -> tuple[Model, list[str]]:
    """Return the robot of a recording, and notes for the user about where the robot was found.

    Args:
        source: path of the recording.
        attached: attachments of the robot.
        space: namespace of the robot.
        urdf: text of robot_description; "": the recording has none.
        robot: robot given by the user, or None.
        widths: nq and nv of its states; None: unknown.
        floating: whether the recording shows a moving base.

    Raises:
        ParameterError: no robot was found, or the robot does not fit the states.
        RbdynError: the robot's file is refused.
    """
    notes: list[str] = []
    m = _given(robot, widths, floating)
    if m is None:
        m = _attached(attached, space, urdf, notes)
    if m is None and urdf:
        m = _described(source, urdf, widths, floating)
    if m is None:
        text = (
            "the recording has neither a Model nor a robot_description; give the file of the "
            "robot with --robot or the argument `robot`"
        )
        raise recording_error("no-description", text, str(source))
    if widths is not None and widths != (m.nq, m.nv):
        text = (
            f"the recorded states have {widths[0]} positions and {widths[1]} velocities, but the "
            f"robot '{m.name}' has {m.nq} and {m.nv}; give the robot of the recording"
        )
        raise recording_error("other-robot", text, str(source))
    return m, notes


def is_floating(m: Model) -> bool:
    """Return whether the root link has a joint of type floating."""
    return m.njnt > 0 and int(m.jnt_type[0]) == JointType.FREE


def _needs_base(m: Model, widths: tuple[int, int] | None, floating: bool) -> bool:
    if widths is None:
        return floating and not is_floating(m)
    return widths == (m.nq + _FREE[0], m.nv + _FREE[1])


def _given(robot: object, widths: tuple[int, int] | None, floating: bool) -> Model | None:
    if robot is None or isinstance(robot, Model):
        return robot
    if not isinstance(robot, str | Path):
        text = f"the robot is a path or a Model, not {robot!r}"
        raise ParameterError(Finding("not-a-path", text, "error", "robot"))
    m = load(robot)
    return load(robot, floating_base=True) if _needs_base(m, widths, floating) else m


def _attached(
    attached: Sequence[Attached], space: str, urdf: str, notes: list[str]
) -> Model | None:
    wanted = f"{space}/{topics.MODEL_NAME}".lstrip("/")
    found = [one.data for one in attached if one.name == wanted]
    if not found:
        return None
    if len(found) > 1:
        text = "payloads, gravity or stuck joints changed in it; the robot has the last of these"
        notes.append(text)
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / topics.MODEL_NAME
            path.write_bytes(found[-1])
            return load_model(path)
    except RbdynError as error:
        if not urdf:
            raise
        notes.append(f"its Model cannot be used ({error}); its robot_description is used instead")
        return None


def _described(source: Path, urdf: str, widths: tuple[int, int] | None, floating: bool) -> Model:
    try:
        m = load_urdf(urdf.encode(), strict=False)
        if _needs_base(m, widths, floating):
            m = load_urdf(urdf.encode(), strict=False, floating_base=True)
    except DescriptionError as error:
        raise DescriptionError(error.findings, f"robot_description in {source}") from error
    return m
