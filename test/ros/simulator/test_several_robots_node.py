# SPDX-License-Identifier: Apache-2.0
"""Several robots in one process have their own topics, commands and faults, but one time."""

import threading
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from rcl_interfaces.srv import GetParameters
from rclpy.qos import DurabilityPolicy, QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

import rbdyn_ros as rb
from rbdyn_ros.nanoseconds import nanoseconds
from rbdyn_ros.ros.simulator.robot.simulation import Simulation
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.runtime.settings import LoopSettings
from rbdyn_ros.share import bundled_robot

# tf2 uses this QoS; the depth suffices for several publishers
ALL_LATCHED = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)

PARAMETERS = """
/**:
  ros__parameters:
    urdf: "{urdf}"
    start_paused: true
    gravity: [0.0, 0.0, 0.0]
    command_timeout: 100.0
/a/simulator:
  ros__parameters:
    initial_positions: {{lift: 1.0}}
    seed: 4
/b/simulator:
  ros__parameters:
    initial_positions: {{lift: 1.5}}
    frame_prefix: "second_"
"""


def last(states):
    return nanoseconds(states[-1].header.stamp)


@pytest.fixture
def two(simulate, peer, two_joints, tmp_path):
    """Yield the joint_states of two paused robots in one process, by their names a and b."""
    file = tmp_path / "parameters.yaml"
    file.write_text(PARAMETERS.format(urdf=two_joints))
    simulator = simulate(
        *("--ros-args", "-p", "robots:=[a, b]", "--params-file", file), clock=True, wait=False
    )
    simulator.wait_for("a: simulating 'two'")
    simulator.wait_for("b: simulating 'two'")
    states = {name: peer.collect(JointState, f"{name}/joint_states", 100) for name in "ab"}
    peer.until(lambda: all(states.values()))
    yield states
    simulator.end_well()


def test_several_robots_have_their_own_topics_and_one_time(two, peer):
    a, b = two.values()
    assert (list(a[-1].position), list(b[-1].position)) == ([1.0, 0.0], [1.5, 0.0])
    moving = peer.collect(TFMessage, "/tf", 100)
    fixed = peer.collect(TFMessage, "/tf_static", ALL_LATCHED)
    clocks = peer.collect(Clock, "/clock", 100)

    def frames(messages):
        return {t.child_frame_id for message in messages for t in message.transforms}

    names = {f"{prefix}{link}" for prefix in ("a/", "second_") for link in ("base", "tool")}
    peer.until(lambda: frames(fixed) == names)
    assert peer.node.count_publishers("/clock") == 1
    for name, seed in (("a", 4), ("b", 0)):
        request = GetParameters.Request(names=["seed", "initial_positions.lift", "frame_prefix"])
        found = peer.call(GetParameters, f"{name}/simulator/get_parameters", request).values
        assert found[0].integer_value == seed
        assert found[1].double_value == {"a": 1.0, "b": 1.5}[name]
        assert found[2].string_value == {"a": "a/", "b": "second_"}[name]

    # a pause stops both robots at the same tick
    stood = 0
    for _ in range(20):
        peer.pause(False)
        peer.until(lambda: last(a) > stood + 10_000_000)  # noqa: B023
        peer.pause(True)
        peer.until(lambda: last(a) == last(b) > stood)  # noqa: B023
        stood = last(a)
    # once a state is repeated, no earlier message is left
    peer.until(lambda: a[-1] == a[-2] and b[-1] == b[-2])
    stood = last(a)
    assert last(b) == stood
    peer.until_tf(lambda: frames(moving) >= {"a/car", "a/arm", "second_car", "second_arm"})
    assert peer.trigger("simulator/step") == "one tick"
    peer.until(lambda: last(a) == last(b) == stood + 1_000_000)
    peer.until(lambda: nanoseconds(clocks[-1].clock) == stood + 1_000_000)

    # a command or a fault affects only its robot
    publisher = peer.publisher(JointState, "a/joint_commands")

    def moves():
        publisher.publish(JointState(name=["lift"], effort=[1.0]))
        peer.trigger("simulator/step")
        return a[-1].position[0] > 1.0

    peer.until(moves)
    assert peer.set_parameters({"faults.encoder_bias": [0.25]}, "b/simulator") == [""]
    peer.until(lambda: moves() and b[-1].position[0] == 1.75)
    assert a[-1].position[0] < 1.1

    # a reset affects both robots
    peer.until(lambda: a[-1] == a[-2])  # repeated while paused
    stood = last(a)
    peer.trigger("simulator/reset")
    peer.until(lambda: last(a) == last(b) == stood + 1_000_000)
    assert (list(a[-1].position), list(b[-1].position)) == ([1.0, 0.0], [1.75, 0.25])
    assert not any(a[-1].velocity)


def test_a_robot_that_pauses_early_is_stepped_to_the_tick_of_the_others(peer):
    m = rb.load_urdf(bundled_robot("pendulum"))
    loops = [Loop(m, LoopSettings(realtime="off")) for _ in range(3)]
    simulation = Simulation([SimpleNamespace(loop=loop) for loop in loops], threading.Event())
    try:
        for loop in loops:
            loop.start()
        for early in loops[:2]:
            behind = early.time.tick
            early.time.pause(True)
            peer.until(lambda: loops[2].time.tick > behind + 100)  # noqa: B023
        simulation.pause(True)
        assert len({loop.time.tick for loop in loops}) == 1
        assert loops[0].time.tick > 100
    finally:
        for loop in loops:
            loop.stop()


ROBOTS = "parameter 'robots' has 'b/c'"
LOCKSTEP = "time_mode is 'lockstep' with 2 robots"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["robots:=[a, b]", "-p", "time_mode:=lockstep"], LOCKSTEP),
        (["robots:=[a, 'b/c', '2d', a]"], ROBOTS),
    ],
)
def test_a_simulator_refuses_invalid_parameters_of_several_robots(simulate, arguments, words):
    simulator = simulate("--ros-args", "-p", *arguments, wait=False)
    assert simulator.process.wait(60.0) == 2
    assert words in simulator.text()
    assert "Traceback" not in simulator.text()
