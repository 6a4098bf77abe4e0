# SPDX-License-Identifier: Apache-2.0
"""After each fault an armed arm comes to rest as documented, in the simulator."""

import re

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("diagnostic_msgs.msg", reason="diagnostic_msgs is not installed")

from arm_pair import ALL, SENDERS_KNOWN, UR5_START, Relay, start_pair
from rclpy.time import Time
from sensor_msgs.msg import JointState
from support.robots import find

from rbdyn_ros.nanoseconds import NANOSECONDS, nanoseconds

ERROR = 2
#: A machine that delays states by 0.1 s makes braking fail with these texts; then we try again.
DIVERGED = (
    "a braked joint is too fast", "the held arm is too fast", "while the arm is braked",
    "the arm still moves",
)  # fmt: skip
TRIES = 10
NAN = float("nan")
ROWS = ("name", "position", "velocity", "effort")


@pytest.fixture
def relayed(simulate, control, peer):
    """Yield a UR5 and its controller, and a relay that changes the states between both."""
    relay = Relay(peer)
    relay.change = turned_round
    remap = {"joint_states": "relayed_states"}
    robot = find("ur5_robot.urdf")
    pair = start_pair(simulate, control, peer, robot, UR5_START, 200, remap=remap)
    yield pair, relay
    pair.end_well()
    relay.close()


def test_invalid_states_end_in_a_fault(relayed):
    pair, relay = relayed
    for fault in (single_nan, lasting_nan, stamps_that_jump, garbage, gone):
        for _ in range(TRIES):
            if ended_as_documented(fault, pair, relay):
                break
        else:
            raise AssertionError(pair.said[-5:])


def ended_as_documented(fault, pair, relay):
    """Provoke a fault of a moving arm; return False if late states made braking fail."""
    pair.arm_it()  # the states list the joints in reverse order, which is allowed
    pair.push("tool0", 0.0, 40.0, 10.0)
    try:
        fault(pair, relay)
    except AssertionError:
        if not pair.said[-1].endswith(DIVERGED):
            raise
        return False
    finally:
        relay.change = turned_round
        pair.do("disarm", "clear_fault")
        pair.peer.trigger("simulator/clear_wrenches")  # else two pushes add up
    return True


def turned_round(state, **others):
    """Return a state with its joints in reverse order; `others` replace fields of the state."""
    fields = {name: list(getattr(state, name)) for name in ("name", "position", "velocity")}
    fields = fields | {"effort": list(state.effort)} | others
    return JointState(header=state.header, **{k: v[::-1] for k, v in fields.items()})


def ends(pair, fault, ending):
    """Assert that the arm rests, its status has this fault and `ending`, and arming is refused."""
    pair.until(lambda: ending in pair.said[-1] or pair.said[-1].endswith(DIVERGED))
    said = pair.said[-5:]
    assert f"fault {fault}" in said[-1], said
    assert ending in said[-1], said
    place = pair.arm.rest()
    if ending == "silent":
        assert pair.commands_in(0.3) == 0
    else:
        pair.until_commanded(*DIVERGED)
    assert np.abs(pair.arm.position - place).max() < 1e-3
    level, message, values = pair.report()
    assert (level, values["fault"], values["armed"]) == (ERROR, fault, "True")
    assert ending in message
    assert ", then clear_fault" in pair.ask("arm")
    assert ", then clear_fault" in pair.ask("hold")


def spoil(pair, relay, count, spoilt):
    """Change `count` states a second by spoilt() until a fault; a slow controller skips some."""

    def begin():
        left = [count]

        def change(state):
            left[0] -= 1
            return spoilt(state) if left[0] >= 0 else turned_round(state)

        relay.change = change

    begin()
    pair.until(lambda: "fault" in pair.said[-1], begin, 1.0)


def single_nan(pair, relay):
    spoil(pair, relay, 1, lambda s: turned_round(s, velocity=[NAN, *s.velocity[1:]]))
    ends(pair, "finite", "holding")


def lasting_nan(pair, relay):
    relay.change = lambda state: turned_round(state, position=[NAN] * len(state.name))
    ends(pair, "finite", "silent")
    relay.change = turned_round
    pair.arm.wait(0.3)
    assert pair.said[-1].endswith("silent")  # true states do not end a silent fault


def stamps_that_jump(pair, relay):
    for seconds in (5.0, -5.0, -2e9):  # the last jump makes the stamps negative
        relay.change = lambda state: later(turned_round(state), seconds)  # noqa: B023
        ends(pair, "clock", "holding")
        pair.do("disarm", "clear_fault")
        pair.arm_it()
    relay.change = turned_round  # the way back is a jump too
    ends(pair, "clock", "holding")


def later(state, seconds):
    stamp = state.header.stamp
    stamp.sec, stamp.nanosec = divmod(nanoseconds(stamp) + int(seconds * 1e9), NANOSECONDS)
    return state


def garbage(pair, relay):
    """States of another device are ignored; a few states without some joints are a fault."""
    if SENDERS_KNOWN:  # otherwise this publisher is a rival, see test_claim_node.py
        publisher = pair.peer.publisher(JointState, "relayed_states")
        for _ in range(5):
            publisher.publish(JointState(name=["nobody"], position=[NAN]))
        pair.arm.wait(0.1)
        assert pair.said[-1] == "gravity; armed"
        pair.peer.node.destroy_publisher(publisher)

    def cut(state):
        return turned_round(state, **{name: list(getattr(state, name))[:3] for name in ROWS})

    spoil(pair, relay, 3, cut)
    pair.until_said("fault names", "'wrist_1_joint'")
    ends(pair, "names", "holding")


def gone(pair, relay):
    """The link breaks in both directions: the controller sends nothing, and the arm brakes."""
    pair.peer.trigger("simulator/clear_wrenches")  # a push would move the held arm
    before, speed = pair.arm.position, pair.arm.speed
    assert pair.peer.set_parameters({"faults.link_loss": True}) == [""]
    pair.until_said("fault age", "silent")
    assert pair.peer.set_parameters({"faults.link_loss": False}) == [""]
    ends(pair, "age", "silent")
    # a coasting arm moves on by speed / 5, and the watchdog brakes at least as fast
    assert np.abs(pair.arm.position - before).max() < 0.3 * speed + 0.05


def test_efforts_sent_without_valid_states_have_the_stamp_of_a_state(relayed):
    """A driver that refuses old stamps then accepts either all answers to a state or none."""
    pair, relay = relayed
    stamps, answers, spoilt = set(), [], []

    def noted(state):
        stamps.add(Time.from_msg(state.header.stamp).nanoseconds)
        return turned_round(state, **({"position": [NAN] * len(state.name)} if spoilt else {}))

    def answered(message):
        answers.append(Time.from_msg(message.header.stamp).nanoseconds)

    relay.change = noted
    pair.arm.wait(0.1)
    pair.peer.node.create_subscription(JointState, "joint_commands", answered, ALL)
    pair.arm_it()
    pair.push("tool0", 0.0, 40.0, 10.0)
    spoilt.append(True)
    pair.until_said("fault finite", "silent")
    assert len(answers) > 5  # without valid states the controller answers until blind_time ends
    assert [stamp for stamp in answers if stamp not in stamps] == []


def test_joint_names_that_change_their_order_silence_the_controller(relayed):
    """Wrong names make the joints seem to jump, so the controller stops sending efforts."""
    pair, relay = relayed
    pair.arm_it()
    pair.push("tool0", 0.0, 40.0, 10.0)
    first = len(pair.arm.rows)
    relay.change = lambda state: turned_round(state, name=state.name[::-1])
    pair.arm.wait(1.0)
    # no joint was faster than 0.5 rad/s before, so a held joint stays below its limit
    assert max(np.abs(row[2]).max() for row in pair.arm.rows[first:]) < 3.15
    ends(pair, "velocity", "silent")


def test_an_arm_beyond_a_limit_stops_and_an_arm_with_a_wrong_model_is_not_armed(
    simulate, control, peer, tmp_path
):
    robot = find("ur5_robot.urdf")
    given = {"lockstep": True, "tracking_tolerance": 0.03}
    pair = start_pair(simulate, control, peer, robot, UR5_START, 500, **given)
    for fault in (far_from_its_target, limit_at_speed, too_fast):
        pair.arm_it()
        fault(pair)
        pair.do("disarm", "clear_fault")
        peer.trigger("simulator/reset")  # the controller does not arm an arm beyond its limits
    it_dies(pair)

    # the next controller has a model with twice the masses
    heavy = tmp_path / "heavy.urdf"
    masses = r'(<mass value=")([^"]*)'
    twice = re.sub(masses, lambda m: f"{m[1]}{2.0 * float(m[2])}", robot.read_text())
    heavy.write_text(twice)
    seen = len(pair.said)
    pair.controller = control(heavy, mode="hold")
    pair.until(lambda: len(pair.said) > seen)
    why = "no state"
    while "no state" in why:
        why = pair.ask("arm", again=5.0)  # the request may go to the killed controller
    assert "'shoulder_lift_joint'" in why
    assert pair.commands_in(0.3) == 0
    assert pair.said[-1] == "hold; disarmed"
    pair.end_well()


def far_from_its_target(pair):
    pair.do("hold")
    pair.push("tool0", 0.0, 150.0, 0.0)
    ends(pair, "tracking", "holding")


def too_fast(pair):
    """Tighten the speed limit to 0.1 of 3.15 rad/s, and push the arm beyond the new limit."""
    assert tighten(pair, velocity_scale=0.1, effort_scale=0.9) == ["", ""]
    relaxed, higher = tighten(pair, velocity_scale=0.5, effort_scale=1.0)
    assert "0.1" in relaxed
    assert "0.9" in higher
    pair.push("tool0", 0.0, 60.0, 0.0)
    ends(pair, "velocity", "holding")
    values = pair.reports[-1][2]
    assert (values["velocity_scale"], values["effort_scale"]) == ("0.1", "0.9")


def limit_at_speed(pair):
    """Tighten the elbow's limit from 3.14 to 1.42 rad, and push the elbow from 1.4 rad past it."""
    assert tighten(pair, position_inset=1.72) == [""]
    assert "1.72" in tighten(pair, position_inset=0.0)[0]
    pair.push("forearm_link", 0.0, 0.0, -60.0)
    ends(pair, "position", "holding")


def tighten(pair, **values):
    return pair.peer.set_parameters(values, node=pair.node)


def it_dies(pair):
    """Kill the controller while the arm moves: the arm's watchdog then holds the arm."""
    pair.arm_it()
    pair.push("tool0", 0.0, 10.0, 0.0)
    pair.controller.kill()
    pair.arm.wait(0.15)  # command_timeout is 0.1 s
    place = pair.arm.rest()
    pair.arm.wait(0.5)
    assert np.abs(pair.arm.position - place).max() < 1e-3
