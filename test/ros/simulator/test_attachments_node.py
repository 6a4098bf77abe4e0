# SPDX-License-Identifier: Apache-2.0
"""Services attach links to each other and start belts in a running simulator."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("simulation_interfaces.srv", reason="simulation_interfaces is not built")
pytest.importorskip("rbdyn_interfaces.srv", reason="rbdyn_interfaces is not built")
pytest.importorskip("tf2_msgs.msg", reason="tf2_msgs is not built")

from geometry_msgs.msg import Vector3
from sensor_msgs.msg import JointState
from simulation_interfaces import srv
from support.refusals import worded
from tf2_msgs.msg import TFMessage

from rbdyn_interfaces import srv as own

SCENE = "config/scenes/gripper.yaml"
HOLD = ("--ros-args", "-p", "on_timeout:=hold")


@pytest.fixture
def ask(peer):
    def call(name, link, to):
        return peer.call(own.Attach, f"/simulator/{name}", own.Attach.Request(link=link, to=to))

    return call


@pytest.fixture
def state(peer):
    def call(name):
        request = srv.GetEntityState.Request(entity=name)
        answer = peer.call(srv.GetEntityState, "/simulator/get_entity_state", request)
        assert answer.result.result == answer.result.RESULT_OK, answer.result.error_message
        return answer.state

    return call


def place(message):
    return np.array([getattr(message.pose.position, axis) for axis in "xyz"])


def done(answer, words):
    assert (answer.success, answer.message) == (True, words)


def refused(answer, words):
    assert not answer.success
    assert words in answer.message
    worded("request", answer.message)


def lift_to(peer, height):
    """Command the gripper to a position of its joint `lift` [m], and wait until it is there."""
    states = peer.hear(JointState, "joint_states")
    publisher = peer.publisher(JointState, "joint_commands")
    command = JointState(name=["lift"], position=[height])
    peer.insist(publisher, command, lambda: abs(states[-1].position[0] - height) < 1e-3)


def put(peer, name, state):
    """Ask to set the state of an entity; return the response."""
    request = srv.SetEntityState.Request(entity=name, state=state)
    if hasattr(request, "set_pose"):
        request.set_pose = True
    return peer.call(srv.SetEntityState, "/simulator/set_entity_state", request)


def steps(peer, number):
    request = srv.StepSimulation.Request(steps=number)
    answer = peer.call(srv.StepSimulation, "/simulator/step_simulation", request)
    assert answer.result.result == answer.result.RESULT_OK, answer.result.error_message


def test_a_cube_moves_with_the_hand_and_falls_when_released(simulate, peer, ask, state):
    simulate("--scene", SCENE, *HOLD)
    done(ask("attach", "cube", "hand"), "the attached pairs are 'cube' to 'hand'")
    lift = peer.hear(JointState, "joint_states")[-1].position[0]
    before = place(state("cube"))
    lift_to(peer, lift + 0.04)
    assert place(state("cube")) == pytest.approx(before + np.array([0.0, 0.0, 0.04]), abs=2e-3)
    refused(ask("attach", "cube", "hand"), "are attached already")
    refused(ask("attach", "hand", "cube"), "are attached already")
    done(ask("detach", "hand", "cube"), "nothing is attached")
    peer.until(lambda: place(state("cube"))[2] < before[2] + 1e-3)


def test_a_body_attached_to_the_world_stays_until_a_reset(simulate, peer, ask, state):
    simulate("--scene", SCENE, "--paused", *HOLD)
    start = peer.trigger("simulator/state_hash")
    done(ask("attach", "ball", "world"), "the attached pairs are 'ball' to 'world'")
    said = "the attached pairs are 'ball' to 'world', 'cube' to 'ball'"
    done(ask("attach", "cube", "ball"), said)
    assert peer.trigger("simulator/state_hash") == start
    before = place(state("cube")), place(state("ball"))
    steps(peer, 200)
    assert place(state("ball")) == pytest.approx(before[1], abs=1e-9)
    assert place(state("cube")) == pytest.approx(before[0], abs=1e-9)
    saved = peer.call(own.SaveState, "/simulator/save_state", own.SaveState.Request(name="held"))
    steps(peer, 100)
    expected = peer.trigger("simulator/state_hash")

    # in the start state nothing is attached
    reset = own.Reset.Request(time=True, state=True)
    assert peer.call(own.Reset, "/simulator/reset_with", reset).success
    assert peer.trigger("simulator/state_hash") == start
    refused(ask("detach", "ball", "world"), "nothing is attached")

    # the saved state includes the attachments
    loaded = peer.call(own.LoadState, "/simulator/load_state", own.LoadState.Request(name="held"))
    assert (loaded.success, loaded.state_hash) == (True, saved.state_hash), loaded.message
    steps(peer, 100)
    assert peer.trigger("simulator/state_hash") == expected

    answer = put(peer, "cube", state("cube"))
    assert "'cube' is attached to 'ball'; detach it first" in answer.result.error_message
    deleted = srv.DeleteEntity.Request(entity="ball")
    answer = peer.call(srv.DeleteEntity, "/simulator/delete_entity", deleted)
    assert answer.result.result == answer.result.RESULT_OK
    refused(ask("detach", "cube", "ball"), "nothing is attached")


def test_a_falling_body_is_attached_where_it_is_at_that_moment(simulate, peer, ask, state):
    """The body falls by some centimetres while the new Model is prepared."""
    simulate("--scene", SCENE, *HOLD, "-p", "real_time_factor:=0.2")
    high = state("cube")
    high.pose.position.x, high.pose.position.z = 1.0, 60.0
    answer = put(peer, "cube", high)
    assert answer.result.result == answer.result.RESULT_OK, answer.result.error_message
    heights = []
    poses = peer.collect(TFMessage, "object_poses")

    def fallen():
        heights[:] = [t.transform.translation.z for message in poses for t in message.transforms
                      if t.child_frame_id == "cube"]  # fmt: skip
        return bool(heights) and 20.0 < heights[-1] < 58.0

    peer.until(fallen)
    done(ask("attach", "cube", "world"), "the attached pairs are 'cube' to 'world'")
    count = len(poses)
    peer.until(lambda: len(poses) > count + 5)
    fallen()
    assert np.diff(heights).max() < 1e-9  # the cube never moves up
    assert place(state("cube"))[2] == pytest.approx(heights[-1], abs=1e-9)


def test_a_floating_base_is_attached_to_the_world(simulate, peer, ask, state):
    """Before the attachment the Model has no link that is fixed to the world."""
    simulate("config/scenes/gripper.urdf", "--floating-base", "--paused", *HOLD,
             "-p", "contact:=true")  # fmt: skip
    high = state("gripper")
    high.pose.position.z = 2.0
    answer = put(peer, "gripper", high)
    assert answer.result.result == answer.result.RESULT_OK, answer.result.error_message
    done(ask("attach", "mount", "world"), "the attached pairs are 'mount' to 'world'")
    steps(peer, 200)
    assert place(state("gripper"))[2] == pytest.approx(2.0, abs=1e-9)
    done(ask("detach", "mount", "world"), "nothing is attached")
    steps(peer, 200)
    assert place(state("gripper"))[2] < 1.9


def test_an_obstacle_can_be_deleted_while_objects_are_attached(simulate, peer, ask):
    simulate("--scene", SCENE, "--paused", *HOLD)
    spawned = srv.SpawnEntity.Request(name="shelf")
    resource = getattr(spawned, "entity_resource", spawned)
    resource.uri = "primitive:box?size=0.1,0.1,0.1"
    spawned.initial_pose.pose.position.x = 1.0
    answer = peer.call(srv.SpawnEntity, "/simulator/spawn_entity", spawned)
    assert answer.result.result == answer.result.RESULT_OK, answer.result.error_message
    done(ask("attach", "ball", "world"), "the attached pairs are 'ball' to 'world'")
    deleted = srv.DeleteEntity.Request(entity="shelf")
    answer = peer.call(srv.DeleteEntity, "/simulator/delete_entity", deleted)
    assert answer.result.result == answer.result.RESULT_OK, answer.result.error_message
    done(ask("detach", "ball", "world"), "nothing is attached")


def test_invalid_attachments_are_refused_and_change_nothing(simulate, peer, ask):
    simulate("--scene", SCENE, "--paused", *HOLD)
    before = peer.trigger("simulator/state_hash")
    refused(ask("attach", "cub", "hand"), "no link 'cub' (did you mean 'cube'?)")
    refused(ask("attach", "cube", ""), "no link ''")
    refused(ask("attach", "cube", "table"), "no link 'table'")
    refused(ask("attach", "cube", "cube"), "'cube' and 'cube' are parts of one rigid body")
    refused(ask("detach", "cube", "hand"), "are not attached; nothing is attached")
    steps(peer, 1)
    assert peer.trigger("simulator/state_hash") != before


def test_a_belt_can_be_started_and_stopped(simulate, peer, state):
    simulate("--scene", SCENE, *HOLD)

    def run(name, *velocity):
        kind = own.SetSurfaceVelocity
        velocity = Vector3(**dict(zip("xyz", map(float, velocity), strict=True)))
        request = kind.Request(obstacle=name, velocity=velocity)
        return peer.call(kind, "/simulator/set_surface_velocity", request)

    peer.until(lambda: abs(place(state("cube"))[2] - 0.32) < 1e-4)
    done(run("table", 0.0, 0.1, 0.0), "")
    peer.until(lambda: abs(state("cube").twist.linear.y - 0.1) < 1e-6)
    done(run("table", 0.0, 0.0, 0.0), "")
    peer.until(lambda: abs(state("cube").twist.linear.y) < 1e-9)
    assert place(state("cube"))[1] > 1e-3
    refused(run("tabel", 0.0, 0.1, 0.0), "no obstacle 'tabel' (did you mean 'table'?)")
    refused(run("table", 0.0, float("nan"), 0.0), "nan")
    refused(run("table", 1e9, 0.0, 0.0), "1e+09")
