# SPDX-License-Identifier: Apache-2.0
"""Only one simulator publishes the states of a robot, and only one publishes the time."""

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

GIVES_WAY = "another simulator, node /simulator, publishes /joint_states already"
STAYS = "node /simulator, started to publish /joint_states; that simulator will exit"
FRAMES = "publishes transforms of the same frames"


def test_one_of_two_simulators_that_start_together_ends(simulate, peer, two_joints):
    started = [simulate(two_joints, wait=False, clock=True) for _ in range(2)]

    def ended():
        return [each for each in started if each.process.poll() is not None]

    peer.until(ended, 300.0)
    (first,) = (each for each in started if each not in ended())
    for each in ended():
        assert each.process.returncode == 2
        assert GIVES_WAY in each.text()
        assert "Traceback" not in each.text()
    first.wait_for("simulating '")
    peer.until(lambda: peer.node.count_publishers("/clock") == 1)

    # one more simulator in the same namespace, and one with the same frames in another namespace
    elsewhere = simulate(two_joints, "--ros-args", "-r", "__ns:=/left", wait=False)
    later = simulate(two_joints, wait=False)
    assert later.process.wait(300.0) == 2
    assert GIVES_WAY in later.text()
    for each in (first, elsewhere):
        each.wait_for(FRAMES)
    assert GIVES_WAY not in elsewhere.text() + first.text()
    assert STAYS in first.text()
    assert peer.node.count_publishers("/joint_states") == 1
    for each in (first, elsewhere):
        each.end_well()
