# SPDX-License-Identifier: Apache-2.0
"""Buttons and sliders of the simulator's view in a real browser act on the simulation."""

import contextlib
import importlib.util
import os
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import rbdyn_ros as rb
from rbdyn_ros.description import robot_files
from rbdyn_ros.ros.common.parsing.commands import command_parser
from rbdyn_ros.ros.simulator.services.view import ViewedSimulation
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.runtime.settings import FLOATS, LoopSettings
from rbdyn_ros.runtime.types import Command, TrajectoryOrder
from rbdyn_ros.share import bundled_robot
from rbdyn_ros.view.live.clock import FASTER, SLOWER

pytest.importorskip("rclpy", reason="rclpy is not installed")
sys.path.insert(0, str(Path(__file__).parents[2] / "view"))

from sensor_msgs.msg import JointState
from test_view_link import children, gone
from visualization_msgs.msg import MarkerArray
from web_page import open_browser, open_page, press, require_browser, slider, unfold, wait_until

needs_viser = pytest.mark.skipif(
    importlib.util.find_spec("viser") is None, reason="viser is not installed"
)
TORQUES = "Torques (expert)"
VIEW = ("-p", "view:=true", "-p", "view_port:=0", "-p", "start:=falling")
#: A small picture, which is fast without a GPU: these tests do not check pictures.
SMALL = {"size": {"width": 640, "height": 480}, "scale": 0.25}
SERVES = "view: http://"


def address_in(simulator):
    """Return the address of the view, once the node has logged it."""
    simulator.wait_for(SERVES)
    line = next(line for line in simulator.text().splitlines() if SERVES in line)
    return line.split("view: ")[1].strip()


@pytest.fixture(scope="module")
def browser():
    require_browser()
    with open_browser() as browser:
        yield browser


@pytest.fixture
def page(browser):
    """Yield page(simulator), which opens the view of a simulator."""
    with contextlib.ExitStack() as pages:
        yield lambda node: pages.enter_context(open_page(browser, address_in(node), **SMALL))


def fill(page, label, number):
    box = page.get_by_label(label, exact=True)
    box.fill(str(number))
    box.press("Enter")


def tick_of(state):
    return state.header.stamp.sec * 1000 + round(state.header.stamp.nanosec * 1e-6)


def test_buttons_of_the_view_change_the_simulation(simulate, peer, page, two_joints):
    simulator = simulate(two_joints, "--ros-args", *VIEW)
    states = peer.hear(JointState, "joint_states", 100)
    start = states[0].position[0]
    shown = page(simulator)

    def seen(condition, what):
        """Wait for condition() while the browser and the subscriptions run."""

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
    # the buttons change the parameter real_time_factor
    press(shown, SLOWER)
    seen(lambda: speed_of(peer) == 0.5, "the speed")
    assert peer.set_parameters({"real_time_factor": 0.75}) == [""]
    press(shown, FASTER)
    seen(lambda: speed_of(peer) == 1.0, "the speed after 0.75")
    unfold(shown, TORQUES)
    thumb = slider(shown, "lift [N")
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
    unfold(shown, "Push")
    fill(shown, "Seconds", 2.0)
    shown.get_by_label("Link", exact=True).click()
    shown.get_by_role("option", name="car", exact=True).click()
    press(shown, "Push")
    seen(lambda: arrows, "the arrow of the push")
    marker = arrows[0].markers[0]
    tail, head = (np.array([point.x, point.y, point.z]) for point in marker.points)
    assert marker.header.frame_id == "car"
    assert tail == pytest.approx((0.0, 0.0, 0.0))
    assert (head - tail)[0] == pytest.approx(np.linalg.norm(head - tail))  # along x, as chosen
    seen(lambda: states[-1].velocity[lift] > 0.5, "the push to move the car")
    assert not shown.complaints
    simulator.end_well()


@pytest.mark.nightly  # test_live_panel.py tests the panel
def test_a_held_robot_falls_when_it_is_released_and_a_reset_holds_it_again(simulate, peer, page):
    arm = bundled_robot("seven_dof_arm")
    simulator = simulate(arm, "--ros-args", *VIEW, "-p", "start:=held")
    states = peer.hear(JointState, "joint_states", 100)
    shown = page(simulator)
    note = shown.get_by_text("held against gravity; Release lets it fall")

    def seen(condition, what):
        wait_until(lambda: peer.spin(0.05) or condition(), what, shown)

    note.wait_for()
    assert "held against gravity, until the first command" in simulator.text()
    seen(lambda: len(states) > 200, "states")
    assert not np.any(states[-1].position)
    press(shown, "Release")
    seen(lambda: np.abs(states[-1].position).max() > 0.5, "the fall")
    note.wait_for(state="hidden")
    press(shown, "Reset")
    note.wait_for()
    seen(lambda: not np.any(states[-1].position), "the start")
    simulator.end_well()


@pytest.mark.parametrize("words", [(), ("-p", "start:=held")])
def test_a_robot_in_a_parameter_file_is_held_only_with_the_parameter_start(
    simulate, peer, tmp_path, words
):
    file = tmp_path / "hidden.yaml"
    file.write_text("/**: {ros__parameters: {view: false}}")
    given = ("-p", "view:=true", "-p", "start:=shown", "--params-file", file, *words)
    simulator = simulate(bundled_robot("seven_dof_arm"), "--ros-args", *given)
    states = peer.hear(JointState, "joint_states", 100)
    peer.until(lambda: len(states) > 100)
    assert ("held against gravity" in simulator.text()) == bool(words)
    assert SERVES not in simulator.text()
    simulator.end_well()


def speed_of(peer):
    from rcl_interfaces.srv import GetParameters

    request = GetParameters.Request(names=["real_time_factor"])
    return peer.call(GetParameters, "simulator/get_parameters", request).values[0].double_value


@needs_viser
@pytest.mark.parametrize(
    ("number", "mode"),
    [(signal.SIGINT, "fast"), (signal.SIGTERM, "realtime"), (signal.SIGKILL, "realtime")],
)
def test_the_view_ends_with_its_node(simulate, two_joints, number, mode):
    simulator = simulate(two_joints, "--ros-args", *VIEW, "-p", f"time_mode:={mode}")
    address_in(simulator)
    pids = children(simulator.process.pid)
    (view,) = views_of(simulator)
    assert os.sched_getscheduler(view) == os.SCHED_OTHER
    assert os.getpriority(os.PRIO_PROCESS, view) >= 10
    if number == signal.SIGKILL:
        simulator.kill()
    else:
        simulator.end_well(number)
        assert (
            simulator.text().count("view") == 1
        )  # the log has the address, and no message about an end of the view
    wait_until(lambda: all(gone(pid) for pid in pids), "the end of all it has started")


def views_of(simulator):
    """Return the process ids of a node's views."""
    pids = children(simulator.process.pid)
    return [pid for pid in pids if b"rbdyn_ros.view.live.panel" in command_of(pid)]


def command_of(pid):
    return Path(f"/proc/{pid}/cmdline").read_bytes()


@needs_viser
def test_the_node_simulates_without_a_view(simulate, peer, two_joints):
    given = "-p", "view:=true", "-p", "view_address:=203.0.113.7"
    simulator = simulate(two_joints, "--ros-args", *given)
    simulator.wait_for("the view could not start: the view cannot listen on 203.0.113.7")
    assert "the view listens on 203.0.113.7: anyone who reaches it" in simulator.text()
    states = peer.hear(JointState, "joint_states", 100)
    peer.until(lambda: len(states) > 10)
    simulator.end_well()


@needs_viser
def test_the_end_of_the_view_is_logged_and_the_node_continues(simulate, peer, two_joints):
    simulator = simulate(two_joints, "--ros-args", *VIEW)
    address_in(simulator)
    (view,) = views_of(simulator)
    os.kill(view, signal.SIGKILL)
    simulator.wait_for("the view has ended (Killed)")
    states = peer.hear(JointState, "joint_states", 100)
    peer.until(lambda: len(states) > 10)
    simulator.end_well()


@needs_viser
def test_missing_meshes_cause_one_warning(simulate, peer, two_joints):
    shape = '<visual><geometry><mesh filename="package://nowhere/{}.dae"/></geometry></visual>'
    text = two_joints.read_text().replace(
        '<link name="tool"/>', f'<link name="tool">{"".join(map(shape.format, "abc"))}</link>'
    )
    two_joints.write_text(text)
    simulator = simulate(two_joints, "--ros-args", *VIEW)
    simulator.wait_for("appearance of 'two':")
    states = peer.hear(JointState, "joint_states", 100)
    peer.until(lambda: len(states) > 10)
    assert simulator.text().count("appearance of") == 1
    assert simulator.text().count("package://nowhere/a.dae") == 1
    address_in(simulator)  # the node still works
    simulator.end_well()


TYPES = """
import numpy as np
import rbdyn_ros as rb

@rb.register_joint("lifting_cam", parameters=("lift",))
def lifting_cam(q, qd, p, E, r, S, S_dot):
    E[0, 0], E[0, 1] = np.cos(q[0]), np.sin(q[0])
    E[1, 0], E[1, 1] = -np.sin(q[0]), np.cos(q[0])
    r[2] = p[0] * (1.0 - np.cos(q[0]))
    S[2, 0], S[5, 0] = 1.0, p[0] * np.sin(q[0])
    S_dot[5, 0] = p[0] * np.cos(q[0]) * qd[0]
"""
CAM = """
rbdyn_mechanism: 1
base: world
links:
  arm: {box: {size: [0.4, 0.05, 0.05], mass: 2.0}}
joints:
  turn: {type: lifting_cam, parent: world, child: arm, lift: 0.1}
"""


@pytest.mark.nightly
def test_the_view_shows_joint_types_of_the_user(simulate, peer, page, tmp_path):
    types, cam = tmp_path / "types_of_mine.py", tmp_path / "cam.yaml"
    types.write_text(TYPES)
    cam.write_text(CAM)
    simulator = simulate(cam, "--import", types, "--ros-args", *VIEW)
    states = peer.hear(JointState, "joint_states", 100)
    shown = page(simulator)
    shown.get_by_text("1 body, 1 dof").wait_for()
    unfold(shown, TORQUES)
    thumb = shown.locator('[role="slider"]').last  # the slider for the torque of the only joint
    thumb.focus()
    thumb.press("ArrowRight")

    def turns():
        peer.spin(0.05)
        return states[-1].effort[0] > 0.0 and states[-1].velocity[0] > 0.0

    wait_until(turns, "the cam to turn", shown)
    simulator.end_well()


@pytest.mark.nightly
@needs_viser
def test_the_view_refuses_efforts_in_lockstep(simulate, page, two_joints):
    simulator = simulate(two_joints, "--ros-args", *VIEW, "-p", "time_mode:=lockstep")
    shown = page(simulator)
    shown.get_by_text("in lock-step every command is for one tick").wait_for()
    assert not shown.get_by_role("button", name="Release", exact=True).count()
    assert not shown.get_by_role("button", name=FASTER, exact=True).count()
    simulator.end_well()


@pytest.mark.nightly
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


@needs_viser
def test_the_view_shows_objects_that_are_spawned_and_deleted(simulate, peer, page):
    srv = pytest.importorskip("simulation_interfaces.srv", reason="not built")
    scene = "config/scenes/gripper.yaml"
    simulator = simulate("--scene", scene, "--ros-args", *VIEW, "-p", "on_timeout:=hold")
    shown = page(simulator)
    shown.get_by_text("5 bodies", exact=False).wait_for()
    unfold(shown, "Push")
    links = shown.get_by_label("Link", exact=True)
    request = srv.SpawnEntity.Request(name="crate")
    resource = getattr(request, "entity_resource", request)
    resource.uri = "primitive:box?size=0.1,0.1,0.1&mass=0.2"
    at = request.initial_pose.pose.position
    at.x, at.z = 1.0, 0.05
    answer = peer.call(srv.SpawnEntity, "/simulator/spawn_entity", request)
    assert answer.result.result == answer.result.RESULT_OK, answer.result.error_message
    shown.get_by_text("6 bodies", exact=False).wait_for()

    # the object can be pushed
    links.click()
    shown.get_by_role("option", name="crate", exact=True).click()
    fill(shown, "Seconds", 0.3)
    press(shown, "Push")

    def x():
        request = srv.GetEntityState.Request(entity="crate")
        answer = peer.call(srv.GetEntityState, "/simulator/get_entity_state", request)
        return answer.state.pose.position.x

    wait_until(lambda: x() > 1.01, "the crate to move", shown)
    request = srv.DeleteEntity.Request(entity="crate")
    answer = peer.call(srv.DeleteEntity, "/simulator/delete_entity", request)
    assert answer.result.result == answer.result.RESULT_OK, answer.result.error_message
    shown.get_by_text("5 bodies", exact=False).wait_for()
    wait_until(lambda: links.input_value() != "crate", "another link", shown)
    assert not shown.complaints
    assert "view" not in simulator.text().split(SERVES)[1]  # the view has logged no warning
    simulator.end_well()


class DrivenRobot:
    """A stand-in for a robot whose joints a view commands."""

    def __init__(self, **settings):
        path = bundled_robot("seven_dof_arm")
        m = rb.load_urdf(path)
        self.commands = command_parser(m, robot_files.read(path), "keep")
        self.values = SimpleNamespace(time_mode="realtime", command_timeout=100.0)
        self.loop = Loop(m, LoopSettings(realtime="off", command_timeout=100.0, **settings))


def viewed(robot):
    simulated = ViewedSimulation(None, [robot])
    simulated.begin(SimpleNamespace(robots=[robot]))
    return simulated


def test_the_first_release_of_the_view_returns_a_robot_to_its_hold():
    """The first release ends the commands of the sliders; the second one lets the robot fall."""
    robot = DrivenRobot(held=np.full(7, FLOATS))
    simulated, loop = viewed(robot), robot.loop
    goals = dict.fromkeys(robot.commands.joints.names, 0.4)
    loop.start()
    try:
        assert simulated.drive(0, {}, goals) == ""
        wait_until(lambda: np.allclose(loop.readout.latest().qpos, 0.4, atol=1e-3), "the pose")
        assert not loop.holding
        assert simulated.drive(0, {}, goals) == ""
        assert simulated.release(0) == ""
        assert loop.holding
        tick = loop.readout.latest().tick
        wait_until(lambda: loop.readout.latest().tick > tick + 300, "time to fall")
        np.testing.assert_allclose(loop.readout.latest().qpos, 0.4, atol=2e-3)
        assert simulated.release(0) == ""
        wait_until(lambda: np.abs(loop.readout.latest().qpos - 0.4).max() > 0.3, "the fall")
        assert not loop.holding
        # a released robot falls again after the sliders' commands end
        assert simulated.drive(0, {}, goals) == ""
        assert simulated.release(0) == ""
        wait_until(lambda: not loop.readout.latest().effort.any(), "no effort")
    finally:
        loop.stop()


@pytest.mark.parametrize("was_held", [True, False])
def test_a_release_in_the_view_does_not_end_commands_from_topics(was_held):
    """One joint has a command from a topic, one a trajectory, one commands of topic and view."""
    robot = DrivenRobot(**({"held": np.full(7, FLOATS)} if was_held else {"on_timeout": "hold"}))
    simulated, loop = viewed(robot), robot.loop
    names = robot.commands.joints.names
    mine, topic, path, both = (robot.commands.dofs[names[j]] for j in (0, 2, 4, 6))

    def effort(k, value):
        one, zero = np.array([k]), np.zeros(1)
        loop.orders.command(Command(one, zero.astype(int), zero, zero, zero + value, zero, zero))

    loop.start()
    try:
        assert simulated.drive(0, {names[0]: 1.5, names[4]: 2.0, names[6]: 0.1}, {}) == ""
        effort(topic, -0.3)
        effort(both, 0.2)
        there = np.zeros((2, 1))
        way = TrajectoryOrder(np.array([path]), np.array([0.0, 1e3]), there, there, there, 1)
        loop.orders.track(way)
        wait_until(lambda: loop.readout.latest().effort[mine] == 1.5, "the effort")
        assert simulated.release(0) == ""
        wait_until(lambda: loop.readout.latest().effort[mine] != 1.5, "the release")
        state = loop.readout.latest()
        assert (state.effort[topic], state.effort[both], state.tracking) == (-0.3, 0.2, True)
        assert state.stale == 4
        if was_held:
            assert loop.holding
            assert simulated.release(0) == ""  # this also ends the hold of other joints
            assert not loop.holding
            state = loop.readout.latest()
            assert (state.effort[topic], state.effort[both], state.tracking) == (-0.3, 0.2, True)
    finally:
        loop.stop()


def test_the_view_shows_the_start_before_the_simulation_runs():
    robot = DrivenRobot()
    start = np.full(7, 0.2)
    robot.m, robot.world = robot.loop.m, SimpleNamespace(start=start)
    robot.held, robot.sensors = SimpleNamespace(text="held against gravity"), None
    simulated = ViewedSimulation(None, [robot])
    (instant,) = simulated.instants()
    np.testing.assert_array_equal(instant.qpos, start)
    assert (instant.tick, instant.held, simulated.sights(0), simulated.recast(0)) == (
        *(-1, True),
        *([], None),
    )
    for refusal in (
        simulated.pause(True),
        simulated.step(1),
        simulated.reset(),
        simulated.drive(0, {}, {"shoulder_pitch": 0.1}),
        simulated.push(0, "hand", (0, 0, 0), (1, 0, 0), (0, 0, 0), 1.0),
        simulated.pull(0, "hand", (0, 0, 0), (1, 0, 0), 1.0),
        simulated.release(0),
    ):
        assert "has not started yet" in refusal


def test_on_timeout_takes_effect_at_once_after_a_release_in_the_view():
    """Without a release, gravity compensation would take over only after 100 s."""
    robot = DrivenRobot(on_timeout="gravity")
    simulated = viewed(robot)
    loop, name = robot.loop, "shoulder_pitch"
    k = robot.commands.dofs[name]
    loop.start()
    try:
        loop.plant.set_state(np.full(7, 0.5), np.zeros(7), np.ones(7, bool), np.ones(7, bool))
        assert simulated.drive(0, {name: 1.5}, {}) == ""
        wait_until(lambda: loop.readout.latest().effort[k] == 1.5, "the effort")
        assert simulated.release(0) == ""
        wait_until(lambda: loop.readout.latest().effort[k] not in (1.5, 0.0), "what holds it")
        assert loop.readout.latest().stale == 7
        assert simulated.drive(0, {name: 2.5}, {}) == ""  # a new command takes effect again
        wait_until(lambda: loop.readout.latest().effort[k] == 2.5, "the effort")
    finally:
        loop.stop()
