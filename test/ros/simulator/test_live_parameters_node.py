# SPDX-License-Identifier: Apache-2.0
"""Valid changes of parameters act at run time, and invalid changes are refused."""

import time
from array import array

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from rcl_interfaces.srv import GetParameters, SetParametersAtomically
from rclpy.parameter import Parameter, parameter_value_to_python
from sensor_msgs.msg import JointState
from support.refusals import worded

from rbdyn_ros.ros.simulator.parameters import PARAMETERS


def values(peer, *names):
    request = GetParameters.Request(names=list(names))
    found = peer.call(GetParameters, "simulator/get_parameters", request).values
    plain = (parameter_value_to_python(value) for value in found)
    return [list(value) if isinstance(value, array) else value for value in plain]


#: For each parameter: a value that is refused, and a part of the reason.
REFUSED = {
    "real_time_factor": ("fast", "'fast'"),
    "faults.command_delay": (-1.0, "-1.0"),
    "faults.command_drop": (1.5, "1.5"),
    "faults.state_delay": (9.0, "9000 ticks"),
    "faults.link_loss": (1, "true or false"),
    "faults.encoder_bias": ([0.1, 0.2, 0.3], "3 numbers"),
    "faults.encoder_noise": ([-0.1], "-0.1"),
    "faults.velocity_noise": ([float("nan")], "nan"),
    "faults.stuck_joints": (["lifd"], "'lifd' (did you mean 'lift'?)"),
}


def test_refused_changes_of_parameters_have_no_effect(simulate, peer, two_joints):
    simulator = simulate(two_joints, "--ros-args", "-p", "gravity:=[0.0, 0.0, 0.0]")
    facts = {p.name: p.default for p in PARAMETERS if not p.live}
    facts = {name: [""] if default == () else default for name, default in facts.items()}
    facts |= {"model_sha256": "x", "effort_command_joints": ["x"], "initial_positions.lift": 1.0}
    before = values(peer, *facts)
    for name, why in zip(facts, peer.set_parameters(facts), strict=True):
        assert "read-only" in why, f"{name}: {why}"
    assert values(peer, *facts) == before

    before = values(peer, *REFUSED)
    changes = {name: value for name, (value, _) in REFUSED.items()}
    for name, why in zip(changes, peer.set_parameters(changes), strict=True):
        assert name in why
        assert REFUSED[name][1] in why
        worded("set_parameters", why)
    assert values(peer, *REFUSED) == before

    # one bad change in an atomic request refuses the good changes, too
    good = {"faults.encoder_bias": [0.25], "real_time_factor": 0.5, "faults.link_loss": True}
    request = SetParametersAtomically.Request()
    for name, value in {**good, "faults.state_drop": 2.0}.items():
        request.parameters.append(Parameter(name, value=value).to_parameter_msg())
    before = values(peer, *good)
    atomically = "simulator/set_parameters_atomically"
    result = peer.call(SetParametersAtomically, atomically, request).result
    assert not result.successful
    assert "'faults.state_drop'" in result.reason
    worded("set_parameters_atomically", result.reason)
    assert values(peer, *good) == before
    states = peer.collect(JointState, "joint_states")
    peer.until(lambda: len(states) > 20)  # link_loss was not applied
    assert states[-1].position[0] == 1.25  # encoder_bias was not applied either
    request.parameters.pop()
    assert peer.call(SetParametersAtomically, atomically, request).result.successful
    assert values(peer, *good) == [[0.25], 0.5, True]
    simulator.end_well()


def test_simulated_time_follows_the_real_time_factor(simulate, peer, two_joints):
    messages = pytest.importorskip("rbdyn_interfaces.msg", reason="rbdyn_interfaces is not built")
    simulator = simulate(two_joints, "--ros-args", "-p", "stats_rate:=5.0")
    stats = peer.collect(messages.Statistics, "simulator/stats")
    began = time.monotonic()
    assert peer.set_parameters({"real_time_factor": 0.2}) == [""]
    before = len(stats) + 1  # the next report may still cover a time with the old factor
    peer.until(lambda: len(stats) > before + 5)
    # a busy machine slows the loop down, but time never passes faster than the factor says
    simulated = (stats[-1].ticks - stats[before].ticks) * 1e-3
    assert 0.0 < simulated < 0.25 * (time.monotonic() - began)
    assert peer.set_parameters({"real_time_factor": 2.0}) == [""]
    peer.until(lambda: stats[-1].real_time_factor > 0.3)
    assert values(peer, "real_time_factor") == [2.0]
    simulator.end_well()
