# SPDX-License-Identifier: Apache-2.0
"""The node survives hostile requests and diverged robots, and can end at any time."""

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import SetParameters
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger
from support.refusals import worded


def test_hostile_requests_do_not_end_the_node(simulate, peer):
    srv = pytest.importorskip("simulation_interfaces.srv", reason="it is not installed")
    simulator = simulate()
    absurd = Parameter(name="real_time_factor", value=ParameterValue(type=99))
    client = peer.client(SetParameters, "simulator/set_parameters")
    ask = lambda: client.call_async(SetParameters.Request(parameters=[absurd]))  # noqa: E731
    peer.repeat(ask, lambda: "a callback failed" in simulator.text())
    for pattern in ("(" * 256, "a" + "*" * 255, "a" + "?" * 255):
        request = srv.GetEntities.Request()
        request.filters.filter = pattern
        answer = peer.call(srv.GetEntities, "simulator/get_entities", request)
        assert answer.result.result == answer.result.RESULT_OPERATION_FAILED
    assert len(peer.trigger("simulator/state_hash")) == 64
    assert simulator.end() == 0


def test_a_diverged_robot_does_not_stop_the_others(simulate, peer, two_joints):
    simulator = simulate(two_joints, "--ros-args", "-p", "robots:=[a, b]")
    publisher = peer.publisher(JointState, "a/joint_commands")
    states = peer.collect(JointState, "a/joint_states")
    peer.until(lambda: states)
    diverged = lambda: "diverged; the simulation is frozen" in simulator.text()  # noqa: E731
    huge = JointState(name=["turn"], effort=[1e300])
    peer.repeat(lambda: publisher.publish(huge), diverged)
    simulator.wait_for("Call /simulator/reset")
    seen = len(states)
    peer.until(lambda: len(states) > seen + 1)  # the frozen robot still repeats its state
    answer = peer.call(SetBool, "simulator/pause", SetBool.Request(data=True))
    assert (answer.success, answer.message) == (True, "paused")
    assert peer.call(Trigger, "simulator/reset", Trigger.Request()).success
    peer.until(lambda: states[-1].position[0] == 1.25 and states[-1].velocity[1] == 0.0)
    assert simulator.end() == 0


def test_the_node_can_end_during_a_service_call(simulate, peer):
    srv = pytest.importorskip("simulation_interfaces.srv", reason="it is not installed")
    simulator = simulate("--ros-args", "-p", "start_paused:=true")
    states = peer.collect(JointState, "joint_states")
    client = peer.client(srv.StepSimulation, "simulator/step_simulation")
    ask = lambda: client.call_async(srv.StepSimulation.Request(steps=10**6))  # noqa: E731
    peer.repeat(ask, lambda: len(states) > 20)
    assert simulator.end() == 0
    assert "Traceback" not in simulator.text()


def test_services_of_an_inactive_node_answer_and_refuse_motion(simulate, peer):
    lifecycle = pytest.importorskip("lifecycle_msgs.srv", reason="it is not installed")
    simulator = simulate("--ros-args", "-p", "autostart:=false", wait=False)
    simulator.wait_for("waiting for the lifecycle transition configure")
    request = lifecycle.ChangeState.Request()
    request.transition.id = 1  # configure
    assert peer.call(lifecycle.ChangeState, "simulator/change_state", request).success
    assert len(peer.trigger("simulator/state_hash")) == 64
    answers = [
        *(peer.call(SetBool, "simulator/pause", SetBool.Request(data=on)) for on in (False, True)),
        peer.call(Trigger, "simulator/step", Trigger.Request()),
    ]
    for answer, service in zip(answers, ("~/pause", "~/pause", "~/step"), strict=True):
        assert not answer.success
        assert "the node is not active" in answer.message
        worded(service, answer.message)
    assert not peer.call(Trigger, "simulator/reset", Trigger.Request()).success
    assert simulator.end() == 0


def test_standard_services_of_an_inactive_node_answer(simulate, peer):
    srv = pytest.importorskip("simulation_interfaces.srv", reason="it is not installed")
    lifecycle = pytest.importorskip("lifecycle_msgs.srv", reason="it is not installed")
    simulator = simulate("--ros-args", "-p", "autostart:=false", wait=False)
    simulator.wait_for("waiting for the lifecycle transition configure")
    request = lifecycle.ChangeState.Request()
    request.transition.id = 1  # configure
    assert peer.call(lifecycle.ChangeState, "simulator/change_state", request).success
    kind = srv.GetSimulationState
    state = peer.call(kind, "simulator/get_simulation_state", kind.Request()).state.state
    assert state == 0  # STOPPED
    play = srv.SetSimulationState.Request()
    play.state.state = 1
    result = peer.call(srv.SetSimulationState, "simulator/set_simulation_state", play).result
    assert (result.result, "the node is not active" in result.error_message) == (102, True)
    kind = srv.StepSimulation
    result = peer.call(kind, "simulator/step_simulation", kind.Request(steps=2)).result
    assert "the node is not active" in result.error_message
    assert simulator.end() == 0
