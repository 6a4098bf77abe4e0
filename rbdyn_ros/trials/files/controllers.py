# SPDX-License-Identifier: Apache-2.0
"""Read the controller of a trial: a law with gains, or the user's function or program."""

from pathlib import Path
from typing import Any

import numpy as np

from rbdyn_ros.control_box.boxes import BoxName
from rbdyn_ros.control_box.sockets import check_address
from rbdyn_ros.description.yaml_files.tables import Given
from rbdyn_ros.errors import RbdynError
from rbdyn_ros.model.model import Model
from rbdyn_ros.rollouts.policies import Policy
from rbdyn_ros.trials.files.keys import LAWS, MAX_STEPS
from rbdyn_ros.trials.files.values import is_known, line_of, read_code
from rbdyn_ros.trials.trial import (
    Joints,
    TrialController,
    UserProgram,
    hash_of_files,
    with_address,
)

OF_LAW = ("stiffness", "damping", "limit")


def read_controller(given: Given | None, m: Model, folder: Path) -> TrialController | None:
    """Return the controller, or None after an error.

    Args:
        given: the section `controller`; None: the section is missing or has errors.
        m: the robot, with the timestep of the trial.
        folder: the folder of the document.
    """
    if given is None:
        return None
    every = _every(given, m)
    if "box" in given.lines and "command" not in given.lines:
        given.error(
            "unknown-key", "box", "box needs the key 'command', which starts the client of the box"
        )
    if "law" in given:
        policy = _policy(given, m)
        return None if policy is None else TrialController(policy, every=every)
    for key in OF_LAW:
        if key in given.lines and "law" not in given.lines:
            message = f"{key} is for the key 'law'; leave out {key} for your own controller"
            given.error("unknown-key", key, message)
    if given.keys() & {"node", "command"}:
        program = _node(given["node"], m, folder) if "node" in given else _client(given, folder)
        return None if program is None else TrialController(every=every, program=program)
    traced = "traced" in given
    code = read_code(given, "traced" if traced else "python", folder)
    return None if code is None else TrialController(None, code, traced, every)


def _every(given: Given, m: Model) -> int:
    """Return the number of timesteps from one command to the next; 1 without a rate."""
    if "rate" not in given:
        return 1
    step = float(m.opt.timestep)
    every: float = 1.0 / max(given["rate"] * step, 1.0 / MAX_STEPS)
    if every < 0.999 or abs(every - round(every)) > 1e-6 * every:
        allowed = f"{1.0 / step:g} Hz, the rate of the timesteps, divided by 1, 2, 3, ..."
        given.wrong("rate", allowed)
        return 1
    return round(every)


def _policy(given: Given, m: Model) -> Policy | None:
    gains = []
    for key in ("stiffness", "damping"):
        if key not in given.lines:
            given.error("missing-key", "", f"it has no key '{key}'")
        elif key in given:
            gains.append(_gain(given, key, m))
    if len(gains) < 2 or not given.sound:
        return None
    return LAWS[given["law"]](gains[0], gains[1], given.get("limit", False))


def _gain(given: Given, key: str, m: Model) -> Any:
    """Return a gain: one number for all joints, or (nv,) with 0 for joints that it omits."""
    value = given[key]
    if not isinstance(value, Given):
        return value
    joints, gains = Joints.of(m), np.zeros(m.nv)
    for joint, line in value.lines.items():
        if not is_known(joint, joints.names, "joint", value, line, key):
            given.sound = False
        elif joint in value:
            gains[joints.dofadr[joints.names.index(joint)]] = value[joint]
    return gains


def _node(given: Given, m: Model, folder_: Path) -> UserProgram | None:
    """Return the ROS node, or None after an error."""
    of_package = [key for key in ("package", "executable", "arguments") if key in given.lines]
    if ("command" in given.lines) == bool(of_package) or of_package == ["arguments"]:
        given.error("bad-node", "", "it needs either a command, or a package with an executable")
    elif of_package:
        for key in ("package", "executable"):
            if key not in given.lines:
                given.error("missing-key", "", f"it has no key '{key}'")
    names, line = Joints.of(m).names, line_of(given, "joints") if "joints" in given.lines else 0
    for name in given.get("joints", ()):
        given.sound &= is_known(name, names, "joint", given, line)
    if not given.sound:
        return None
    words, folder = given.get("command"), str(folder_.resolve())
    if words is None:
        words = (given["executable"], *given["arguments"])
    return UserProgram(
        words, given.get("package", ""), folder, given["joints"], hash_of_files(folder, words)
    )


def _client(given: Given, folder_: Path) -> UserProgram | None:
    """Return the client of a control box, or None after an error."""
    if "box" not in given:
        if "box" not in given.lines:
            given.error("missing-key", "", "it has no key 'box'; allowed values are franka and ur")
        return None
    words, box, folder = given["command"], given["box"], str(folder_.resolve())
    try:
        name = BoxName.parsed(box)
        check_address(name.address, anywhere=False)
    except RbdynError as error:
        given.error("bad-box", "box", str(error))
        return None
    if with_address(words, name.address, "") == words:
        text = (
            f"no word of the command contains {name.address}; every run replaces this address by "
            "another"
        )
        given.error("bad-command", "command", text)
        return None
    return UserProgram(words, "", folder, (), hash_of_files(folder, words), name.at(name.address))
