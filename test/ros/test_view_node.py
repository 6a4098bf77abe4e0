"""The simulator's view in a real browser: what is pressed there is seen on topics and services."""

import importlib.util
import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
sys.path.insert(0, str(Path(__file__).parents[1] / "view"))

from sensor_msgs.msg import JointState
from test_view_link import children, gone
from visualization_msgs.msg import MarkerArray
from web_page import open_browser, open_page, press, require_browser, wait_until

needs_viser = pytest.mark.skipif(
    importlib.util.find_spec("viser") is None, reason="viser is not installed"
)
VIEW = ("-p", "view:=true", "-p", "view_port:=0")
SIZE = {"width": 560, "height": 360}
SERVES = "view: http://"


def address_in(simulator):
    """Return where the view serves, once the node has said it."""
    simulator.wait_for(SERVES)
    line = next(line for line in simulator.text().splitlines() if SERVES in line)
    return line.split("view: ")[1].strip()


@pytest.fixture
def page():
    """Open the view of a simulator: page(simulator); a browser of its own."""
    require_browser()
    with open_browser() as browser:
        pages = []

        def show(simulator):
            manager = open_page(browser, address_in(simulator), size=SIZE)
            pages.append(manager)
            return manager.__enter__()

        yield show
        for manager in pages:
            manager.__exit__(None, None, None)


def fill(page, label, number):
    box = page.get_by_label(label, exact=True)
    box.fill(str(number))
    box.press("Enter")


def tick_of(state):
    return state.header.stamp.sec * 1000 + round(state.header.stamp.nanosec * 1e-6)


def test_what_is_pressed_is_done(simulate, peer, page, two_joints):
    simulator = simulate(two_joints, "--ros-args", *VIEW)
    states = peer.hear(JointState, "joint_states", 100)
    start = states[0].position[0]
    shown = page(simulator)

    def seen(condition, what):
        """Wait for what the node publishes, while the browser lives on."""

        def look():
            peer.spin(0.05)
            return condition()

        return wait_until(look, what, shown)

    press(shown, "Pause")
    seen(lambda: len(states) > 2 and states[-1] == states[-2], "the heartbeat of a pause")
    before = tick_of(states[-1])
    fill(shown, "Ticks", 37)
    press(shown, "Step")
    seen(lambda: tick_of(states[-1]) == before + 37, "37 ticks")
    press(shown, "Resume")
    seen(lambda: tick_of(states[-1]) > before + 40, "time to go on")
    # speed is a parameter of the node, as everybody sees it
    shown.get_by_label("Speed", exact=True).click()
    shown.get_by_role("option", name="0.5 x", exact=True).click()
    seen(lambda: speed_of(peer) == 0.5, "the speed")
    # the first slider is that of the first joint, which lifts
    thumb = shown.locator('[role="slider"]').first
    thumb.focus()
    for _ in range(4):
        thumb.press("ArrowRight")
    lift = states[-1].name.index("lift")
    seen(lambda: states[-1].effort[lift] > 0.0, "the effort")
    press(shown, "Release")
    seen(lambda: states[-1].effort[lift] == 0.0, "the release")
    press(shown, "Reset")
    seen(lambda: abs(states[-1].position[lift] - start) < 0.05, "the start position")
    arrows = peer.collect(MarkerArray, "simulator/wrench_markers")
    fill(shown, "Seconds", 2.0)
    shown.get_by_label("Link", exact=True).click()
    shown.get_by_role("option", name="car", exact=True).click()
    press(shown, "Push")
    seen(lambda: arrows, "the arrow of the push")
    marker = arrows[0].markers[0]
    tail, head = (np.array([point.x, point.y, point.z]) for point in marker.points)
    assert marker.header.frame_id == "car"
    assert tail == pytest.approx((0.0, 0.0, 0.0))
    assert (head - tail)[0] == pytest.approx(np.linalg.norm(head - tail))  # x, as in the panel
    seen(lambda: states[-1].velocity[lift] > 0.5, "the push to move the car")
    assert not shown.complaints
    simulator.end_well()


def speed_of(peer):
    from rcl_interfaces.srv import GetParameters

    request = GetParameters.Request(names=["real_time_factor"])
    return peer.call(GetParameters, "simulator/get_parameters", request).values[0].double_value


@needs_viser
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_view_outlives_its_node(simulate, two_joints, number):
    simulator = simulate(two_joints, "--ros-args", *VIEW, "-p", "time_mode:=fast")
    address_in(simulator)
    pids = children(simulator.process.pid)
    views = [pid for pid in pids if b"rbdyn_ros.view.live.panel" in command_of(pid)]
    assert len(views) == 1
    assert os.sched_getscheduler(views[0]) == os.SCHED_OTHER
    assert os.getpriority(os.PRIO_PROCESS, views[0]) >= 10
    if number == signal.SIGKILL:
        simulator.kill()
    else:
        simulator.end_well(number)
        assert simulator.text().count("view") == 1  # its address, and nothing of its end
    wait_until(lambda: all(gone(pid) for pid in pids), "the end of all it has started")


def command_of(pid):
    return Path(f"/proc/{pid}/cmdline").read_bytes()


@needs_viser
def test_a_view_that_cannot_be_is_no_reason_not_to_simulate(simulate, peer, two_joints):
    given = "-p", "view:=true", "-p", "view_address:=203.0.113.7"
    simulator = simulate(two_joints, "--ros-args", *given)
    simulator.wait_for("there is no view: the view cannot listen at 203.0.113.7")
    assert (
        "the view listens at 203.0.113.7: whoever reaches it moves the robot" in simulator.text()
    )
    states = peer.hear(JointState, "joint_states", 100)
    peer.until(lambda: len(states) > 10)
    simulator.end_well()


@needs_viser
def test_lockstep_has_no_sliders_and_says_why(simulate, page, two_joints):
    simulator = simulate(two_joints, "--ros-args", *VIEW, "-p", "time_mode:=lockstep")
    shown = page(simulator)
    shown.get_by_text("in lock-step every effort is for one tick").wait_for()
    assert not shown.get_by_role("button", name="Release", exact=True).count()
    assert not shown.get_by_label("Speed", exact=True).count()
    simulator.end_well()


@needs_viser
def test_several_robots_are_in_one_view(simulate, page, two_joints):
    simulator = simulate(
        two_joints, "--ros-args", *VIEW, "-p", "robots:=[left, right]", "-p", "start_paused:=true"
    )
    shown = page(simulator)
    shown.get_by_text("left", exact=True).first.wait_for()
    shown.get_by_label("Robot", exact=True).click()
    shown.get_by_role("option", name="right", exact=True).click()
    shown.get_by_text("right", exact=True).first.wait_for()
    press(shown, "Resume")
    shown.get_by_role("button", name="Pause", exact=True).wait_for()
    simulator.end_well()
