# SPDX-License-Identifier: Apache-2.0
"""Services of simulation_interfaces and rbdyn_interfaces act on a real simulator."""

import numpy as np
import pytest

pytest.importorskip("simulation_interfaces")
pytest.importorskip("rbdyn_interfaces.srv")

from rclpy.action import ActionClient
from simulation_interfaces.action import SimulateSteps
from simulation_interfaces.srv import (
    GetEntityState,
    GetSimulationState,
    SetSimulationState,
    StepSimulation,
)

import rbdyn_ros as rb
from rbdyn_interfaces.srv import GetDynamics, Reset, SetJointState

ARM = "config/robots/seven_dof_arm.urdf"
STOPPED, PLAYING, PAUSED, QUITTING = range(4)


@pytest.fixture
def ask(simulate, peer):
    simulator = simulate(ARM)

    def call(kind, service, **fields):
        return peer.call(kind, f"/simulator/{service}", kind.Request(**fields))

    call.simulator = simulator
    return call


def set_state(ask, wanted):
    request = SetSimulationState.Request()
    request.state.state = wanted
    result = ask(SetSimulationState, "set_simulation_state", state=request.state).result
    assert (result.result, result.error_message) == (1, "")


def state(ask):
    return ask(GetSimulationState, "get_simulation_state").state.state


def now(ask):
    stamp = ask(GetEntityState, "get_entity_state", entity="seven_dof_arm").state.header.stamp
    return stamp.sec * 10**9 + stamp.nanosec


def test_services_pause_stop_step_and_end_the_simulation(ask, peer):
    assert state(ask) == PLAYING
    set_state(ask, PAUSED)
    assert state(ask) == PAUSED
    set_state(ask, STOPPED)
    assert state(ask) == STOPPED
    start = now(ask)
    assert ask(StepSimulation, "step_simulation", steps=250).result.result == 1
    assert now(ask) - start == 250_000_000
    assert state(ask) == PAUSED
    client = ActionClient(peer.node, SimulateSteps, "/simulator/simulate_steps")
    peer.until(client.server_is_ready)
    told = []
    sent = client.send_goal_async(
        SimulateSteps.Goal(steps=20), feedback_callback=lambda m: told.append(m.feedback)
    )
    peer.until(sent.done)
    done = sent.result().get_result_async()
    peer.until(done.done)
    assert done.result().result.result.result == 1
    assert now(ask) - start == 270_000_000
    set_state(ask, QUITTING)
    assert ask.simulator.process.wait(20.0) == 0


def test_the_first_step_of_a_paused_start_is_made(simulate, peer):
    """The service is available before the loop runs."""
    simulate(ARM, "--ros-args", "-p", "start_paused:=true", wait=False)
    client = peer.node.create_client(StepSimulation, "/simulator/step_simulation")
    assert client.wait_for_service(600.0)
    first = peer.call(StepSimulation, "/simulator/step_simulation",
                      StepSimulation.Request(steps=3), again=10.0)  # fmt: skip
    assert (first.result.result, first.result.error_message) == (1, "")


def test_a_paused_start_counts_as_stopped(simulate, peer):
    simulate(ARM, "--ros-args", "-p", "start_paused:=true")
    kind = GetSimulationState
    answer = peer.call(kind, "/simulator/get_simulation_state", kind.Request())
    assert answer.state.state == STOPPED


def test_get_dynamics_accepts_joint_names_and_resets_return_the_same_hash(ask):
    m = rb.load_urdf(ARM)
    d = rb.make_data(m)
    names = [name for name, n in zip(m.jnt_names, m.jnt_dofnum, strict=True) if n][::-1]
    k = [m.jnt_dofadr[m.jnt_names.index(name)] for name in names]
    d.qpos[k] = np.linspace(0.1, 0.7, len(names))
    set_state(ask, PAUSED)
    placed = ask(SetJointState, "set_joint_state", name=names, position=d.qpos[k].tolist())
    assert (placed.success, placed.message) == (True, "")
    answer = ask(
        GetDynamics, "get_dynamics", name=names, use_current_state=True, gravity_effort=True
    )
    assert (answer.success, answer.message) == (True, "")
    assert np.allclose(answer.gravity_effort, rb.gravity_term(m, d)[k], rtol=0, atol=1e-9)
    assert answer.model_sha256 == m.sha256()
    hashes = [ask(Reset, "reset_with", time=True, state=True).state_hash for _ in range(2)]
    assert hashes[0] == hashes[1]
