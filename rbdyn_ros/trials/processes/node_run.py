# SPDX-License-Identifier: Apache-2.0
"""Simulate a run with a ROS node: the simulator is in this process, and the node in another.

The simulator waits in lock-step for the node's answer to every state, so a run does not depend on
the load of the machine.
"""

import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rbdyn_ros.errors import listing, refusal
from rbdyn_ros.loading.load import load
from rbdyn_ros.ros.common.graph.domains import own_domain
from rbdyn_ros.trials.processes.user_process import UserProcess, check_program
from rbdyn_ros.trials.processes.watched_run import RunEndedError, WatchedRun, checked, warm_score
from rbdyn_ros.trials.simulation.runs import CRASHED, TIMEOUT, Run, failed
from rbdyn_ros.trials.simulation.sampling import faults, run_model, sample
from rbdyn_ros.trials.trial import Trial

#: Period at which a run checks its node [s].
POLL = 0.02


def prepare_nodes(trial: Trial) -> None:
    """Import and load the code that every run needs, so that runs start in a prepared process.

    Raises:
        ParameterError: the program does not exist.
        RbdynError: the program's files have changed since the trial was read, all ROS domains are
            in use, or this Python has no ROS 2.
    """
    node = trial.controller.program
    assert node is not None
    check_program(node)
    file = trial.robot_file
    checked(trial, load(file.path, floating_base=file.floating_base, contact=file.contact))
    try:
        from rbdyn_ros.ros.common.queries import dynamics_query, ik_query
        from rbdyn_ros.ros.simulator import embedded
        from rbdyn_ros.runtime.loop import warm
    except ImportError as error:
        from rbdyn_ros.ros import why_no_ros

        raise refusal(why_no_ros(error), "no-ros") from error
    own_domain()
    warm(trial.plant)
    dynamics_query.warm(trial.m)
    ik_query.warm(trial.m)
    warm_score(trial)
    assert embedded


def run_node(trial: Trial, seed: int, quiet: bool = True, recorded: Path | None = None) -> Run:
    """Simulate a run; whatever the node does, a Run is returned.

    Args:
        trial: a trial with a node.
        seed: seed of the run.
        quiet: whether to discard the output of the node.
        recorded: path of a new .mcap file that records all topics, or None.
    """
    from rbdyn_ros.ros.simulator.embedded import embedded, wait_for_commander
    from rbdyn_ros.ros.simulator.setup import Setup

    assert trial.controller.program is not None
    deadline = time.monotonic() + trial.allowance.time
    watched = WatchedRun(trial, seed)
    qpos, qvel = watched.start
    os.environ.update(own_domain().environment)
    with tempfile.TemporaryDirectory(prefix="rbdyn_trial_") as folder:
        os.environ["ROS_LOG_DIR"] = folder
        with UserProcess(trial.controller.program, Path(folder), trial.allowance.memory) as user:

            def check(unanswered: Sequence[str] = ()) -> None:
                user.trim()
                if reason := user.ended():
                    raise RunEndedError(CRASHED, reason)
                if time.monotonic() > deadline:
                    raise RunEndedError(TIMEOUT, _waits(trial, watched.time, unanswered))

            setup = Setup(
                _parameters(trial, seed, recorded),
                lambda m: run_model(trial, seed, checked(trial, m)),
                qpos,
                qvel,
                lambda node: wait_for_commander(node, check),
                watched.take,
            )
            try:
                with embedded(setup) as node:
                    while not watched.done.wait(POLL):
                        check(node.unanswered)
                        node.poll()
                return watched.run()
            except RunEndedError as ended:
                return failed(trial, seed, ended.status, str(ended))
            finally:
                user.end(quiet)


def _waits(trial: Trial, time: float, unanswered: Sequence[str]) -> str:
    """Return a sentence about the missing topics or commands, for a run whose time is over."""
    after = f"after {trial.allowance.time:g} s the node has not"
    if time < 0.0:
        return (
            f"{after} subscribed to joint_states and published joint_commands or "
            "joint_commands_by_mode"
        )
    return f"{after} answered the state of {time:g} s for {listing(unanswered)}"


def _parameters(trial: Trial, seed: int, recorded: Path | None) -> dict[str, Any]:
    """Return the parameters of the simulator node for a run."""
    file, node = trial.robot_file, trial.controller.program
    assert node is not None
    at = {name: float(x[0]) for name, x in faults(trial, sample(trial, [seed])).items()}
    found: dict[str, Any] = {
        "scene" if file.is_scene else "urdf": file.path,
        "floating_base": file.floating_base and not file.is_scene,
        "contact": file.contact and not file.is_scene,
        "strict": file.strict,
        "xacro_args": [f"{name}:={value}" for name, value in file.file.xacro_args.items()],
        "package_dirs": [str(folder) for folder in file.file.package_dirs],
        "timestep": float(trial.m.opt.timestep),
        "exact_stops": trial.m.opt.exact_stops,
        "control_decimation": trial.controller.every,
        "time_mode": "lockstep",
        "lockstep_timeout": 0.0,
        "realtime": "off",
        "seed": seed,
        "faults.command_delay": at["command_delay"],
        "faults.command_drop": at["command_drop"],
        "faults.state_delay": at["state_delay"],
        "faults.encoder_noise": [at["position_noise"]],
        "faults.velocity_noise": [at["velocity_noise"]],
    }
    if node.joints:
        found["lockstep_joints"] = list(node.joints)
    if recorded is not None:
        found["record"] = str(recorded)
    return found
