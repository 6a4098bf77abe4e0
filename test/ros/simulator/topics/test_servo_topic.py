# SPDX-License-Identifier: Apache-2.0
"""Twists move a simulated tool in a real loop, which the test steps tick by tick."""

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from geometry_msgs.msg import TwistStamped
from support.refusals import refused
from support.robots import find

import rbdyn_ros as rb
from rbdyn_ros.errors import ModelError, ParameterError
from rbdyn_ros.ros.common.reports.answer import MessageLog
from rbdyn_ros.ros.common.tool.servoing import PARAMETERS
from rbdyn_ros.ros.simulator.topics.servoing import ServoTopic, servo_of, servo_period
from rbdyn_ros.runtime.loop import Loop, warm
from rbdyn_ros.runtime.settings import LoopSettings
from rbdyn_ros.runtime.types import GRIP, VELOCITY, Command

TICK = 1_000_000  # [ns]
SPEED = 0.1  # speed of the tool [m/s]
FREE = {
    "servo.lower_singularity_threshold": 1e3,
    "servo.hard_stop_singularity_threshold": 1e4,
}
START = (0.3, -0.6, 0.4, -1.7, 0.5, 1.4, 0.2, 0.01)  # [rad]; fingers [m]


def values_of(**given):
    default = {row.name: row.default for row in PARAMETERS}
    other = {"time_mode": "realtime", "frame_prefix": "left/", "world_frame": "map"}
    return SimpleNamespace(**default | other | {"servo.frame": "panda_link8"} | given)


class Taken(MessageLog):
    """A stand-in for the node's topics, which stores the callback for twists for the test."""

    def subscribe(self, node, kind, topic, take, depth=10, **more):
        if kind is TwistStamped:
            self.take = take
        super().subscribe(node, kind, topic, take, depth, **more)


class Held:
    """A Panda that holds its pose in a loop, and the servo of its tool."""

    def __init__(self, node, **given):
        self.m = m = rb.load_urdf(find("panda.urdf"))
        warm(m)
        settings = LoopSettings(
            command_timeout=0.1,
            realtime="off",
            time_mode="fast",
            start_paused=True,
            on_timeout="hold",
        )
        self.loop = Loop(m, settings, np.array(START))
        self.sent = []
        command = self.loop.orders.command

        def noted(order, tick=None, **more):
            mark = command(order, **more)
            if mark is not None:
                self.sent.append((order, tick))
            return mark

        self.loop.orders.command = noted
        values = values_of(**given)
        self.servo = servo_of(m, m.jnt_names, values)
        self.topic = ServoTopic(node, self.loop, self.servo, values)
        self.log = Taken(print)
        self.topic.subscribe(self.log)
        self.take = self.log.take
        self.said = []
        self.topic._status._publisher = SimpleNamespace(publish=lambda x: self.said.append(x.data))
        self.d = rb.make_data(m)
        self.loop.start()
        self.state = self.run(1)[-1]

    def twist(self, *linear, frame="left/panda_link0"):
        message = TwistStamped()
        message.header.frame_id = frame
        v = message.twist.linear
        v.x, v.y, v.z = linear
        self.take(message)

    def run(self, ticks):
        """Make ticks, publish their states, and return the states."""
        states = []
        for _ in range(ticks):
            self.loop.time.step(1)
            while (state := self.loop.readout.next_state(0.0)) is not None:
                states.append(state)
                self.topic.publish(state.tick * TICK, state)
        return states

    def stream(self, ticks, *linear, **more):
        """Make ticks and send a twist [m/s] every 20 ticks; return the states."""
        states = []
        for _ in range(ticks // 20):
            self.twist(*linear, **more)
            states += self.run(20)
        return states

    def poses(self, states):
        found = []
        for state in states:
            self.d.qpos[:] = state.qpos
            found.append(rb.frame_pose(self.m, self.d, "panda_link8"))
        return np.array([p for p, _ in found]), [R for _, R in found]


@pytest.fixture
def held(peer):
    case = Held(peer.node, **FREE)
    yield case
    case.loop.stop()


def test_the_tool_moves_along_a_line_then_brakes_and_holds_its_pose(held):
    assert not held.sent
    (place,), (turn,) = held.poses([held.state])
    along = np.array([-0.6, 0.48, 0.64])
    states = held.stream(1000, *(SPEED * along))
    states += held.run(600)
    places, turns = held.poses(states)
    ways = places - place
    # the velocity servos lag by 10 ms, which bends both ends of the line
    assert np.abs(ways - np.outer(ways @ along, along)).max() < 1e-3
    assert max(np.abs(R - turn).max() for R in turns) < 3e-3
    speed = np.linalg.norm(np.diff(places, axis=0), axis=1) * 1e3
    assert speed[400:900] == pytest.approx(SPEED, rel=0.01)
    assert speed[-200:].max() < 1e-4
    assert np.linalg.norm(places[-1] - places[-300]) < 1e-5
    assert held.said == ["moving", "holding"]
    commands = [command for command, _ in held.sent]
    assert all((command.mode == VELOCITY).all() for command in commands[:-1])
    assert (commands[-1].mode == GRIP).all()
    fingers = [abs(state.qpos[-1] - START[-1]) for state in states]
    assert max(fingers) < 1e-6
    count = len(held.sent)
    later = held.run(500)
    assert len(held.sent) == count
    assert np.linalg.norm(held.poses(later[-1:])[0][0] - places[-1]) < 1e-6


def test_twists_are_followed_in_steps_of_a_hundredth_of_a_second(held):
    held.stream(200, 0.1, 0.0, 0.0)
    assert len(held.sent) == 20
    assert servo_period(values_of(time_mode="lockstep"), TICK) == 1


def test_a_twist_times_out_by_the_time_of_the_loop(held):
    held.twist(0.0, 0.0, 0.1)
    held.run(100)
    rates = [np.abs(command.velocity).max() for command, _ in held.sent]
    assert rates[-1] == max(rates)
    held.run(20)  # now the twist is 120 ms old, in simulated time
    last = held.sent[-1][0]
    braked = np.abs(held.sent[-2][0].velocity).max()
    assert np.abs(last.velocity).max() < braked < rates[-1] or (last.mode == GRIP).all()


def test_the_age_of_a_twist_counts_from_the_newest_state_even_if_the_topic_skipped_it(held):
    held.run(10)
    for _ in range(200):
        held.loop.time.step(1)
        held.loop.readout.next_state(1.0)
    held.loop.readout.stream.note()
    message = TwistStamped()
    message.header.frame_id = "left/panda_link0"
    message.header.stamp.nanosec = 11 * TICK
    with refused(rb.RbdynError, "late"):
        held.take(message)
    message.header.stamp.nanosec = 211 * TICK
    held.take(message)
    assert held.topic._given.stamp_ns == 211 * TICK


@pytest.mark.parametrize("time", [True, False])
def test_a_reset_of_the_loop_drops_the_twist(held, time):
    """The first state after a reset of time may arrive before or after forget() is called."""
    held.stream(100, 0.0, 0.0, 0.1)
    assert held.topic._moving
    held.loop.plant.reset(time, True)
    if not time:
        held.topic.forget()
    count = len(held.sent)
    held.run(50)
    assert len(held.sent) == count
    assert held.said[-1] == "holding"
    held.topic.forget()
    held.run(1)
    held.stream(40, 0.0, 0.0, 0.1)
    assert held.said[-1] == "moving"


class Interrupted:
    """A loop that runs act() in another thread whenever `period_ns` is read."""

    def __init__(self, loop, act):
        self._loop, self._act = loop, act

    def __getattr__(self, name):
        if name == "period_ns":
            with ThreadPoolExecutor(1) as pool:
                pool.submit(self._act).result()
        return getattr(self._loop, name)


def test_a_reset_by_another_thread_while_a_state_is_published_drops_the_twist(held):
    held.stream(100, 0.0, 0.0, 0.1)
    held.topic._loop = Interrupted(held.loop, held.topic.forget)
    held.twist(0.0, 0.0, 0.1)
    held.run(11)
    held.topic._loop = held.loop
    held.run(1)
    assert held.said[-1] == "holding"
    held.stream(40, 0.0, 0.0, 0.1)
    assert held.said[-1] == "moving"


def test_joints_without_measured_values_keep_their_velocities(held):
    """The servo integrates the commanded velocities while measurements are lost."""
    held.stream(100, 0.0, 0.0, 0.1)
    state = held.run(1)[-1]
    place, v = held.topic._place.copy(), held.topic._velocity.copy()
    assert np.abs(v).max() > 0.05
    lost = made(state, measured_tick=-1, measured_position=np.full(held.m.nv, np.nan))
    period = 1e-3 * (lost.tick - held.topic._last[1])
    held.topic.publish(lost.tick * TICK, lost)
    np.testing.assert_allclose(held.topic._place, place + period * v, rtol=0.0, atol=1e-15)
    assert np.abs(held.sent[-1][0].velocity).max() > 0.05
    assert held.said[-1] == "moving"


def test_positions_that_are_not_finite_stop_the_tool(held):
    held.stream(100, 0.0, 0.0, 0.1)
    fast = np.abs(held.sent[-1][0].velocity).max()
    state = held.run(1)[-1]
    position = state.measured_position.copy()
    position[2] = np.nan
    for k in range(1, 4):
        lost = made(state, tick=state.tick + 10 * k, measured_position=position)
        held.topic.publish(lost.tick * TICK, lost)
    assert held.said[-1] == "halted: the measured positions are not finite"
    last = held.sent[-1][0]
    assert np.isfinite(last.velocity).all()
    assert np.abs(last.velocity).max() < fast


def test_a_motion_does_not_start_without_a_current_position(held):
    held.stream(60, 0.0, 0.0, 0.1)
    state = held.run(600)[-1]
    count = len(held.sent)
    held.twist(0.0, 0.0, 0.1)
    lost = made(state, measured_position=np.full(held.m.nv, np.nan))
    held.topic.publish(lost.tick * TICK, lost)
    assert held.said[-1].startswith("halted")
    lost = made(state, tick=state.tick + 20, measured_tick=-1)
    held.topic.publish(lost.tick * TICK, lost)
    assert len(held.sent) == count


def made(state, **more):
    """Return a copy of a state 10 ticks later, with other values `more`."""
    names = ("epoch", "paused", "qpos", "measured_tick", "measured_position", "measured_velocity")
    same = {name: getattr(state, name) for name in names}
    return SimpleNamespace(**same | {"tick": state.tick + 10} | more)


def test_a_twist_sent_during_a_pause_does_not_move_the_arm_later(held):
    held.twist(0.0, 0.0, 0.1)  # time is paused
    state = held.state
    later = made(state, paused=False)
    held.topic.publish(later.tick * TICK, later)
    assert not held.sent
    held.topic.publish(state.tick * TICK + 20 * TICK, made(state, tick=state.tick + 20))
    assert not held.sent


def test_another_command_replaces_the_motion_and_the_braking_of_the_servo(held):
    """The other command is a grip, which comes while the servo brakes after the last twist."""
    held.stream(200, 0.0, 0.0, 0.1)
    held.run(110)  # the twist is too old, so the servo brakes
    q, none = held.topic._place, np.zeros(7)
    goal = q + 0.1
    dofs = held.servo.dofs
    grip = Command(dofs, np.full(7, GRIP), goal, none + 0.5, none + 80.0, none, none)
    held.loop.orders.command(grip)
    held.run(600)
    assert held.sent[-1][0] is grip
    assert held.said[-1] == "holding"
    held.stream(60, 0.0, 0.0, 0.1)  # a new twist replaces the grip
    assert (held.sent[-1][0].mode == VELOCITY).all()


def test_the_servo_starts_with_the_velocity_of_a_moving_arm(held):
    none, rate = np.zeros(7), np.zeros(7)
    rate[0] = 0.5
    dofs = held.servo.dofs
    drive = Command(dofs, np.full(7, VELOCITY), none, rate, none, none, none)
    held.loop.orders.command(drive)
    held.run(59)
    held.twist(0.0, 0.0, 0.01)
    held.run(11)
    first = next(order for order, _ in held.sent if order is not drive)
    assert 0.3 < first.velocity[0] < 0.5


@pytest.mark.parametrize("frame", ["world", "map", "left/panda_link0", ""])
def test_a_twist_may_use_every_name_of_the_world_frame(held, frame):
    held.stream(100, 0.0, 0.0, 0.1, frame=frame)
    assert held.said[-1] == "moving"


def test_the_tool_follows_a_marker_while_it_is_dragged(peer):
    """The test acts as RViz does: it requests markers, sends feedback and reads updates."""
    messages = pytest.importorskip("visualization_msgs.msg")
    from visualization_msgs.srv import GetInteractiveMarkers

    held = Held(peer.node, **FREE, **{"servo.marker": True})
    updates = peer.collect(messages.InteractiveMarkerUpdate, "peer/tool_marker/update", 100)
    ask = GetInteractiveMarkers.Request()
    held.run(20)
    (marker,) = peer.call(
        GetInteractiveMarkers, "peer/tool_marker/get_interactive_markers", ask
    ).markers
    assert (marker.name, marker.header.frame_id) == ("tool", "map")
    modes = sorted(control.interaction_mode for control in marker.controls)
    move, turn = messages.InteractiveMarkerControl.MOVE_AXIS, modes[-1]
    assert modes == [move] * 3 + [messages.InteractiveMarkerControl.ROTATE_AXIS] * 3
    assert turn == messages.InteractiveMarkerControl.ROTATE_AXIS
    (place,), (R,) = held.poses([held.state])
    p = marker.pose.position
    assert [p.x, p.y, p.z] == pytest.approx(place.tolist(), abs=1e-6)

    feedback = peer.publisher(messages.InteractiveMarkerFeedback, "peer/tool_marker/feedback")

    def drag(dx, dz, event="POSE_UPDATE", frame="map", client="rviz"):
        message = messages.InteractiveMarkerFeedback(marker_name="tool", pose=marker.pose)
        message.client_id = client
        message.header.frame_id = frame
        message.event_type = getattr(message, event)
        at = message.pose.position
        at.x, at.y, at.z = (place + np.array([dx, 0.0, dz])).tolist()
        feedback.publish(message)
        peer.spin(0.02)

    def moved():
        (now,), (turned,) = held.poses(held.run(20)[-1:])
        return now - place, turned

    for frame, dx in (("tool", 0.05), ("map", np.nan)):
        before = held.log.rejected
        again = lambda frame=frame, dx=dx: drag(dx, 0.0, frame=frame)  # noqa: E731
        peer.repeat(again, lambda before=before: held.log.rejected > before)
        assert np.abs(moved()[0]).max() < 1e-6
    for _ in range(100):
        drag(-0.05, 0.04)
        way, turned = moved()
    assert way == pytest.approx([-0.05, 0.0, 0.04], abs=2e-3)
    assert np.abs(turned - R).max() < 5e-3
    assert any(one.type == one.KEEP_ALIVE for one in updates)
    before = held.log.accepted
    again = lambda: (drag(-0.05, 0.04), drag(0.3, 0.0, "MOUSE_UP", client="another"))  # noqa: E731
    peer.repeat(again, lambda: held.log.accepted > before + 3)
    assert held.topic._marker._goal is not None
    peer.repeat(lambda: drag(0.3, 0.0, "MOUSE_UP"), lambda: held.topic._marker._goal is None)
    held.run(10)
    assert not held.topic._given.twist.any()  # on release the motion stops at once
    again = lambda: drag(-0.05, 0.0)  # noqa: E731
    peer.repeat(again, lambda: held.topic._marker._goal is not None)
    held.topic.forget()
    held.run(10)
    assert held.topic._marker._goal is None
    assert held.topic._given is None
    way, _ = moved()
    held.run(300)
    rest, _ = moved()
    assert np.abs(rest - way).max() < 2e-3
    held.loop.stop()


def test_tools_that_do_not_exist_or_do_not_move_are_refused(peer):
    m = rb.load_urdf(find("panda.urdf"))
    assert servo_of(m, m.jnt_names, values_of(**{"servo.frame": ""})) is None
    with pytest.raises(ModelError, match="panda_link88"):
        servo_of(m, m.jnt_names, values_of(**{"servo.frame": "panda_link88"}))
    with pytest.raises(ParameterError, match="no joint"):
        servo_of(m, m.jnt_names, values_of(**{"servo.frame": "panda_link0"}))
    for frame in ("panda_link8", ""):
        wrong = {"servo.lower_singularity_threshold": 40.0, "servo.frame": frame}
        with pytest.raises(ParameterError, match="hard_stop_singularity_threshold"):
            servo_of(m, m.jnt_names, values_of(**wrong))
    with pytest.raises(ParameterError, match=r"servo\.marker needs servo\.frame"):
        servo_of(m, m.jnt_names, values_of(**{"servo.frame": "", "servo.marker": True}))
