# SPDX-License-Identifier: Apache-2.0
"""The payload estimate runs in its own thread; these tests pass states to it."""

import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("diagnostic_msgs.msg", reason="diagnostic_msgs is not installed")

import rclpy
from rclpy.node import Node

import rbdyn_ros as rb
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.errors import RbdynError
from rbdyn_ros.identification.equations.online import OnlinePayload
from rbdyn_ros.ros.arm.estimate import ArmEstimate
from rbdyn_ros.ros.common.reports.status import Level

URDF, LINK, PERIOD = "config/robots/seven_dof_arm.urdf", "tool_flange", 4_000_000
PLACE = np.array([0.0, 0.6, 0.0, -1.0, 0.0, 0.6, 0.0])


class Running:
    """The payload estimate of a node, and states of a resting arm that carries 1 kg."""

    def __init__(self, node):
        m = rb.load_urdf(URDF)
        loaded = rb.with_payload(m, LINK, 1.0, (0.0, 0.0, 0.05))
        d = rb.make_data(loaded)
        d.qpos[:] = PLACE
        rb.inverse(loaded, d)
        self.held, self.rng, self.now = d.qfrc_inverse.copy(), np.random.default_rng(0), 0
        seen = SimpleNamespace(time=0, state=np.zeros((3, m.nv)))
        gate = SimpleNamespace(limits=SimpleNamespace(dofs=np.arange(m.nv)), measured=seen)
        settings = SimpleNamespace(dry_run=False)
        self.arm = SimpleNamespace(arm=Arm(m), gate=gate, settings=settings, armed=True)
        parameters = declared()
        self.estimate = ArmEstimate(node, self.arm, parameters)

    def ask(self, begin):
        return self.estimate._answer(SimpleNamespace(data=begin), None)

    def feed(self, seconds=2.5):
        """Pass the states of some seconds to the estimate, as the control thread does."""
        for _ in range(round(seconds * 1e9 / PERIOD)):
            self.now += PERIOD
            state = np.stack([PLACE, 0.0 * PLACE, self.held])
            state += self.rng.normal(size=state.shape) * np.array([[1e-5], [1e-3], [0.05]])
            self.arm.gate.measured = SimpleNamespace(time=self.now, state=state)
            self.estimate.take()

    def until(self, done):
        end = time.monotonic() + 60.0
        while not done(self.estimate.status()):
            assert time.monotonic() < end, self.estimate.status()
            time.sleep(0.01)
        return self.estimate.status()


def declared():
    """Return the default parameters, with the friction of the robot's file."""
    words = {"estimate.link": LINK, "robot_compensates_gravity": False}
    words |= {"effort_includes_gravity": True, "robot_compensates_friction": False}
    words |= {"friction.from_robot": True}
    words |= {"friction.viscous": [0.0], "friction.coulomb": [0.0], "friction.stribeck": [0.0]}
    words |= {"friction.stribeck_velocity": [0.05], "friction.smoothing": [0.01]}
    return SimpleNamespace(**words)


@pytest.fixture
def running(domain):
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=domain)
    node = Node("estimates", context=context)
    found = Running(node)
    yield found
    found.estimate.close()
    node.destroy_node()
    rclpy.shutdown(context=context)


def seconds_of(status):
    return float(status.values.get("seconds", 0.0))


def has_one(status):
    return "mass" in status.values


def test_an_estimate_continues_after_a_reset_of_simulated_time(running):
    running.ask(True)
    running.feed()
    running.until(has_one)
    running.now = 0
    running.feed(0.1)
    time.sleep(0.3)  # the thread looks for new states every 0.1 s
    running.feed()
    running.until(lambda status: seconds_of(status) > 3.0)
    assert float(running.estimate.status().values["mass"]) == pytest.approx(1.0, abs=0.5)


def test_states_of_an_arm_that_is_not_armed_are_not_used(running):
    running.ask(True)
    running.feed()
    running.until(has_one)
    running.arm.armed = False
    running.feed()
    status = running.until(lambda status: status.level is Level.WARN)
    assert "the arm is not armed" in status.message
    assert seconds_of(status) < 3.0
    running.ask(False)
    status = running.estimate.status()
    assert (status.message, status.level) == ("ended", Level.OK)


def test_an_estimate_is_not_published_while_brakes_hold_the_arm(running):
    running.held[:] = 0.0
    published = []
    running.estimate._publish = lambda *found: published.append(found)
    running.ask(True)
    running.feed()
    assert "not published" in running.until(lambda status: status.level is Level.WARN).message
    assert not published


def test_ending_a_run_does_not_wait_for_a_slow_update(running, monkeypatch):
    """The control thread ends runs, so it must not wait. A new run may begin at once."""
    computes, go_on, update = threading.Event(), threading.Event(), OnlinePayload.update

    def slow(*args):
        computes.set()
        assert go_on.wait(60.0)
        return update(*args)

    monkeypatch.setattr(OnlinePayload, "update", slow)
    running.ask(True)
    running.feed()
    assert computes.wait(60.0)
    ended = threading.Thread(target=running.ask, args=(False,), daemon=True)
    ended.start()
    ended.join(20.0)
    assert not ended.is_alive()
    assert running.estimate.status().message == "ended"
    running.ask(True)
    assert not has_one(running.estimate.status())
    go_on.set()
    running.feed()
    running.until(has_one)


def test_a_run_cannot_begin_while_the_node_ends(running):
    running.ask(True)
    threads = [threading.Thread(target=running.estimate.close) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    with pytest.raises(RbdynError, match="the node ends"):
        running.ask(True)


def test_status_reads_the_estimate_once_while_a_run_begins(running):
    """A second read could find the new run, which has no estimate yet."""
    running.ask(True)
    running.feed()
    running.until(has_one)
    run = running.estimate._run

    class Vanishing:
        def __get__(self, *_):
            said, run.said = run.said, type(run.said)()
            return said

    shown = type("Run", (), {"said": Vanishing(), "stop": run.stop, "failed": False})()
    running.estimate._run = shown
    try:
        assert has_one(running.estimate.status())
    finally:
        running.estimate._run = run


def test_the_status_shows_an_unexpected_error_of_an_estimate(running, monkeypatch):
    monkeypatch.setattr(OnlinePayload, "update", lambda *_: 1 / 0)
    running.ask(True)
    running.feed()
    status = running.until(lambda status: status.level is Level.WARN)
    assert "ZeroDivisionError" in status.message
    assert status.values["running"] in ("False", "false")
    monkeypatch.undo()
    running.ask(True)
    running.feed()
    assert running.until(has_one).level is Level.OK


def test_another_payload_restarts_the_estimate(running):
    running.ask(True)
    running.feed()
    running.until(has_one)
    running.feed(0.5)
    running.arm.arm = running.arm.arm.with_payload("forearm", 0.5, (0.0, 0.0, 0.0))
    status = running.until(lambda status: not has_one(status))
    assert "begins anew" in status.message
    running.feed(2.2)  # with the states from before the change this would fill a block
    time.sleep(0.3)
    assert not has_one(running.estimate.status())
    running.feed()
    running.until(has_one)
