# SPDX-License-Identifier: Apache-2.0
"""Resets keep payload and gravity as documented, and equal states have equal hashes."""

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("simulation_interfaces.srv", reason="simulation_interfaces is not built")
pytest.importorskip("rbdyn_interfaces.srv", reason="rbdyn_interfaces is not built")

from geometry_msgs.msg import Inertia, Vector3
from simulation_interfaces.srv import ResetSimulation, SetSimulationState
from std_srvs.srv import Trigger

from rbdyn_interfaces.srv import GetDynamics, Reset, SetGravity, SetPayload

ARM = "config/robots/seven_dof_arm.urdf"
TIME, STATE, ROBOT, DEFAULT, ALL, STOPPED = 1, 2, 4, 0, 255, 0


@pytest.fixture
def ask(simulate, peer):
    simulate(ARM, "--ros-args", "-p", "start_paused:=true")

    def call(kind, service, **fields):
        return peer.call(kind, f"/simulator/{service}", kind.Request(**fields))

    return call


def state_hash(ask):
    return ask(Trigger, "state_hash").message


def gravity_effort(ask):
    return list(ask(GetDynamics, "get_dynamics", gravity_effort=True).gravity_effort)


def load(ask):
    body = Inertia(m=1.5)
    assert ask(SetPayload, "set_payload", link="hand", inertia=body).success
    assert ask(SetGravity, "set_gravity", gravity=Vector3(x=1.0, z=-3.7)).success


def scope(number):
    return lambda ask: ask(ResetSimulation, "reset_simulation", scope=number).result.result == 1


def stop(ask):
    assert ask(Trigger, "step").success  # leave the state STOPPED first
    request = SetSimulationState.Request()
    request.state.state = STOPPED
    kind, service = SetSimulationState, "set_simulation_state"
    return ask(kind, service, state=request.state).result.result == 1


def reset_with(**fields):
    return lambda ask: ask(Reset, "reset_with", **fields).success


#: Kinds of resets: function, whether payload and gravity stay, whether the start is restored.
RESETS = {
    "~/reset": (lambda ask: ask(Trigger, "reset").success, True, False),
    "state": (scope(STATE), True, False),
    "robot": (scope(ROBOT), False, False),
    "time and state": (scope(TIME | STATE), True, False),
    "default": (scope(DEFAULT), False, True),
    "all": (scope(ALL), False, True),
    "reset_with, time and state": (reset_with(time=True, state=True), True, False),
    "reset_with, robot": (reset_with(robot=True), False, True),
    "reset_with, everything": (reset_with(time=True, state=True, robot=True), False, True),
    "stopped": (stop, False, True),
}


def test_resets_keep_payload_and_gravity_as_documented(ask):
    fresh, own_effort = state_hash(ask), gravity_effort(ask)
    load(ask)
    loaded = gravity_effort(ask)
    assert loaded != own_effort
    assert state_hash(ask) != fresh  # although tick and positions are the same
    for name, (act, stays, is_fresh) in RESETS.items():
        load(ask)
        assert act(ask), name
        assert gravity_effort(ask) == (loaded if stays else own_effort), name
        assert (state_hash(ask) == fresh) == is_fresh, name


def test_the_state_hash_does_not_depend_on_the_order_of_earlier_payloads(ask):
    fresh, found = state_hash(ask), set()
    bodies = {"hand": Inertia(m=0.5), "forearm": Inertia(m=0.25, com=Vector3(z=0.1))}
    for links in (("hand", "forearm"), ("forearm", "hand")):
        for link in links:
            assert ask(SetPayload, "set_payload", link=link, inertia=bodies[link]).success
        found.add(state_hash(ask))
        for link in links:
            assert ask(SetPayload, "set_payload", link=link, inertia=Inertia()).success
        assert state_hash(ask) == fresh
    assert len(found) == 1
    assert fresh not in found
