# SPDX-License-Identifier: Apache-2.0
"""Texts and orders of a live view without a browser, with a replacement for viser's panel."""

import contextlib
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import rbdyn_ros as rb
from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.share import bundled_robot
from rbdyn_ros.view.live.clock import FASTER, SLOWER, Clock, next_speed, state_line
from rbdyn_ros.view.live.forces import Pushes
from rbdyn_ros.view.live.hand import Hand, _strength
from rbdyn_ros.view.live.history import OrderHistory
from rbdyn_ros.view.live.joints import AMPLE, JointSliders, effort_range
from rbdyn_ros.view.live.keys import Keys
from rbdyn_ros.view.live.link import Cast


@pytest.fixture(scope="module")
def m():
    return rb.load_urdf(bundled_robot("seven_dof_arm"))


@pytest.fixture
def cast(m):
    return Cast("", None, joints=m.jnt_names, timestep=0.002)


def run(coroutine):
    """Run the coroutine that a callback has returned, as viser does; ignore None."""
    if coroutine is not None:
        with contextlib.suppress(StopIteration):
            coroutine.send(None)


class Part:
    """An element of a panel or of a scene, with its properties and callbacks."""

    def __init__(self, **props):
        self.calls = []
        vars(self).update({"client": None, "visible": True, **props})

    def on_update(self, call):
        self.calls.append(call)

    on_click = on_trigger = on_update

    def act(self, client="somebody", **changes):
        vars(self).update(changes)
        for call in self.calls:
            run(call(SimpleNamespace(client=client, client_id=1, target=self, **changes)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class Server:
    """A replacement for viser's server, which stores elements by label and messages to clients."""

    def __init__(self):
        self.parts, self.told, self.watched = {}, [], True
        self.gui = self.scene = self

    atomic = staticmethod(contextlib.nullcontext)

    def get_clients(self):
        told = SimpleNamespace(add_notification=lambda _, why, **__: self.told.append(why))
        return {1: told} if self.watched else {}

    def __getattr__(self, name):
        assert name.startswith("add_")

        def add(label, *values, initial_value=None, **props):
            value = initial_value if initial_value is not None else (*values, None)[0]
            self.parts[label] = Part(**{"label": label, "value": value, **props})
            return self.parts[label]

        return add


def test_the_state_is_shown_as_text(m):
    still = replace(Instant.still(m, m.qpos0), time=1.5)
    assert state_line([still]) == "running | 1.500 s"
    assert state_line([replace(still, factor=0.98765)]) == "running | 1.500 s | 0.988 x real time"
    paused = replace(still, paused=True)
    assert state_line([paused, paused]) == "paused | 1.500 s"
    assert state_line([paused, still]) == "running | 1.500 s"
    assert state_line([replace(still, tick=-1, paused=True)]) == "not started yet | 1.500 s"
    assert state_line([replace(still, factor=1.0, wanted=0.97)]).endswith("1 x real time")
    slower = replace(still, factor=0.7, wanted=2.0)
    assert state_line([slower]).endswith("0.7 x real time | 2 x wanted")
    assert state_line([replace(slower, factor=np.nan)]).endswith("1.500 s | 2 x wanted")
    bad = replace(still, fault="the state of joint 'x' diverged")
    assert state_line([still, bad]) == "fault: the state of joint 'x' diverged | 1.500 s"


def test_the_buttons_of_speed_start_from_the_current_speed(m):
    server, asked = Server(), []
    simulated = SimpleNamespace(set_speed=lambda speed: asked.append(speed) or answer, reset=None)
    clock = Clock(server, simulated, 0.7, {})
    row, answer = server.parts["Time"], ""
    still = replace(Instant.still(m, m.qpos0), wanted=0.7)
    row.act(value=SLOWER)
    row.act(value=SLOWER)  # the simulation has not yet reported the lower speed
    assert asked == [0.5, 0.2]
    clock.put([replace(still, wanted=0.35)])  # another client sets the speed
    row.act(value=FASTER)
    assert asked[2:] == [0.5]
    answer = "too fast"
    row.act(client=server.get_clients()[1], value=FASTER)
    assert (server.told, clock.speed) == (["too fast"], 0.5)
    clock.put([replace(still, wanted=np.nan)])
    assert clock.speed == 0.5
    assert [next_speed(end, more) for end, more in ((9.0, True), (0.05, False))] == [9.0, 0.05]
    other = Server()
    clock = Clock(other, simulated, 1.0, {"set_speed": "there is no speed"})
    clock.put([replace(still, wanted=2.0)])
    assert clock.speed == 2.0
    assert FASTER not in str(other.parts["Time"].value)


def test_resume_never_pauses_and_pause_never_resumes(m):
    """The state may have changed since the page drew the label of the button."""
    server, asked = Server(), []
    simulated = SimpleNamespace(pause=lambda paused: asked.append(paused) or "")
    clock, row = Clock(server, simulated, 1.0, {}), server.parts["Time"]
    still = Instant.still(m, m.qpos0)
    for paused in (False, True):
        clock.put([replace(still, paused=paused)])
        row.act(value="Resume")
        row.act(value="Pause")
        clock.pause(None)  # the key pauses or resumes time
    assert asked == [False, True, True, False, True, False]


def test_a_robot_outside_the_picture_is_reported_or_followed():
    server, seen = Server(), np.array([2.0, 0.0, 0.5])

    class Camera(SimpleNamespace):
        """A camera like viser's camera: a new position moves the target by the same distance."""

        def __setattr__(self, name, value):
            if name == "position":
                self.look_at = self.look_at + value - self.position
            super().__setattr__(name, np.array(value))

    start = np.array([3.0, 0.0, 0.5])
    server.initial_camera = SimpleNamespace(position=start, look_at=np.zeros(3))
    camera = Camera(look_at=np.zeros(3))
    vars(camera)["position"] = start
    server.get_clients = lambda: {1: SimpleNamespace(camera=camera)}
    keys = Keys(server, {})
    (lost,) = (part for label, part in server.parts.items() if "left the picture" in label)
    for centre, is_lost in ((np.zeros(3), False), (seen, False), (-100.0 * seen, True)):
        keys.put(centre)
        assert lost.visible == is_lost
        assert not camera.look_at.any()
    keys.follow.value = True
    keys.put(-100.0 * seen)
    assert not lost.visible
    assert camera.look_at == pytest.approx(-100.0 * seen)
    assert camera.position == pytest.approx(start - 100.0 * seen)
    keys.put(-101.0 * seen)  # the target has moved with the robot
    assert camera.look_at == pytest.approx(-101.0 * seen)


def test_the_key_of_the_help_and_escape_hide_the_help():
    server, open_sheets = Server(), []

    class Sheet(Part):
        def close(self):
            open_sheets.remove(self)

    def modal(_):
        open_sheets.append(Sheet())
        return open_sheets[-1]

    Keys(server, {})
    gui = SimpleNamespace(add_modal=modal, add_html=server.add_html, add_button=server.add_button)
    browsers = [SimpleNamespace(client_id=number, gui=gui) for number in (1, 2)]
    show, hide = server.parts["Show or hide this help"], server.parts["Hide this help"]
    hide.act(client=browsers[0])
    for close in (show, hide):
        show.act(client=browsers[0])
        show.act(client=browsers[1])
        other = open_sheets[1]
        close.act(client=browsers[0])
        assert open_sheets == [other]
        hide.act(client=browsers[1])
        assert not open_sheets


def test_a_force_is_shown_with_three_digits(m):
    still, body = Instant.still(m, m.qpos0), m.body_names.index("hand")
    for force, text in ((3e-12, "0 N"), (12.345, "12.3 N")):
        xfrc = np.zeros((m.nbody, 6))
        xfrc[body, 1] = force
        assert _strength(replace(still, xfrc=xfrc), body, turns=False) == text


def test_the_history_lists_commands_and_their_refusals(m):
    refusals = {"step": "time runs"}
    taken = []

    class Takes:
        def __getattr__(self, name):
            return lambda *given: taken.append((name, given)) or refusals.get(name, "")

        def instants(self, _):
            return [replace(Instant.still(m, m.qpos0), time=1.5)]

    history, server = OrderHistory(Takes(), ["left"]), Server()
    history.add_to(server)
    history.instants()
    assert history.step(3) == "time runs"
    history.pause(True)
    for goal in (0.1, 0.2, 0.2, 0.3):  # a person moves a slider
        history.drive(0, {}, {"elbow": goal, "wrist": 0.0})
    history.drive(0, {"wrist": 2.0}, {"elbow": 0.3})
    history.release(0)
    for x in (0.0, 0.25, 0.5):
        history.pull(0, "hand", (0, 0, 0), (x, 0, 1), 0.1)
    history.pull(0, "hand", (0, 0, 0), (), 0.1)
    history.push(0, "hand", (0, 0, 0), (0, 0, 20), (0, 0, 0), 0.5)
    assert history.lines == [
        "1.50 s  pause",
        "1.50 s  left: elbow to 0.1, wrist to 0",
        "1.50 s  left: elbow to 0.3",
        "1.50 s  left: wrist by 2 N m or N",
        "1.50 s  left: release",
        "1.50 s  left: pull hand to (0.5, 0, 1) m",
        "1.50 s  left: push hand by (0, 0, 20) N for 0.5 s",
    ]
    assert [name for name, _ in taken].count("drive") == 5
    history.put()
    assert "left: release<br>" in server.parts[""].content


def test_the_range_of_an_effort_slider_is_the_limit_or_enough_for_the_load(m):
    free = m.replaced(jnt_effort=np.where(np.arange(m.njnt) == 2, 33.0, np.inf))
    assert effort_range(free, m.jnt_names[2]) == 33.0
    for name in (m.jnt_names[0], m.jnt_names[-1]):
        body = m.jnt_bodyid[m.jnt_names.index(name)]
        load = AMPLE * 9.81 * 0.5 * m.body_subtreemass[body]
        assert load <= effort_range(free, name) <= 2.0 * load
    weightless = effort_range(free.replaced(jnt_effort=np.zeros(m.njnt)), m.jnt_names[0])
    assert np.isfinite(weightless)
    assert weightless > 0.0


def test_torques_of_sliders_are_repeated_until_the_simulation_refuses(m, cast):
    server, driven, released = Server(), [], []
    answers = ["", "", "no such effort"]

    def drive(*commands):
        driven.append(commands)
        return answers.pop(0)

    joints = JointSliders(server, m, cast, drive, lambda: released.append(1) or "")
    joints.hold()
    assert not joints.held
    assert not driven
    server.parts["wrist_roll [N m]"].act(value=1.5)
    assert joints.held
    joints.hold()
    server.parts["elbow_pitch [N m]"].act(value=-2.0)
    joints.hold()
    assert driven == [({"wrist_roll": 1.5}, {}), ({"wrist_roll": 1.5, "elbow_pitch": -2.0}, {})]
    joints.hold()  # the simulation refuses the command
    assert server.told == ["no such effort"]
    assert not joints.held
    assert released == [1]
    assert {server.parts[f"{name} [N m]"].value for name in m.jnt_names} == {0.0}
    # viser also reports settings that our code makes
    server.parts["wrist_roll [N m]"].act(client=None, value=0.0)
    assert not joints.held


def test_position_sliders_follow_the_robot_until_one_slider_is_moved(m, cast, monkeypatch):
    clock = SimpleNamespace(now=10.0)
    monkeypatch.setattr(
        "rbdyn_ros.view.live.joints.time", SimpleNamespace(monotonic=lambda: clock.now)
    )
    server, driven = Server(), []
    joints = JointSliders(server, m, cast, lambda *one: driven.append(one) or "", lambda: "")
    sliders = {name: server.parts[f"{name} [rad]"] for name in m.jnt_names}
    still = Instant.still(m, m.qpos0)

    def put(qpos):
        clock.now += 1.0
        joints.put(replace(still, qpos=qpos))

    put(m.qpos0 + 0.3)
    assert [slider.value for slider in sliders.values()] == pytest.approx(m.qpos0 + 0.3)
    assert not joints.held
    sliders["elbow_pitch"].act(value=-0.5)
    put(m.qpos0)
    assert sliders["elbow_pitch"].value == -0.5
    goals = dict.fromkeys(m.jnt_names, pytest.approx(0.3)) | {"elbow_pitch": -0.5}
    joints.hold()
    assert driven == [({}, goals)]
    server.parts["wrist_roll [N m]"].act(value=2.0)  # a torque replaces the position of its joint
    joints.hold()
    assert driven[1][0] == {"wrist_roll": 2.0}
    assert set(driven[1][1]) == set(m.jnt_names) - {"wrist_roll"}
    server.parts["Release"].act()
    put(m.qpos0 + 0.1)
    assert sliders["elbow_pitch"].value == pytest.approx(0.1)
    put(m.qpos0 + 0.123456)
    assert sliders["wrist_roll"].value == 0.123  # the text box has no room for more digits


def test_a_release_ends_earlier_settings_of_sliders(m, cast):
    """A setting just before the release is never sent. The simulation may refuse the release."""
    server, driven, released, answers = Server(), [], [], ["", "it has ended"]
    joints = JointSliders(
        server, m, cast, lambda *one: driven.append(one) or "",
        lambda: released.append(1) or answers.pop(0),
    )  # fmt: skip
    server.parts["wrist_roll [N m]"].act(value=1.5)
    server.parts["Release"].act()
    assert server.parts["wrist_roll [N m]"].value == 0.0
    assert joints.held
    joints.hold()
    assert (driven, released, joints.held) == ([], [1], False)
    server.parts["Release"].act()
    server.parts["wrist_roll [N m]"].act(value=0.5)  # a command after the release stays in force
    joints.hold()
    assert server.told == ["it has ended"]
    joints.hold()
    assert (driven, released) == ([({"wrist_roll": 0.5}, {})], [1, 1])


def test_a_reset_first_ends_the_commands_of_sliders():
    order = []
    simulated = SimpleNamespace(reset=lambda: order.append("reset") or "")
    clock = Clock(Server(), simulated, 1.0, {})
    clock.before_reset = lambda: order.append("let go")
    clock.reset(None)
    assert order == ["let go", "reset"]


def test_joints_whose_commands_are_always_refused_have_no_sliders(m, cast):
    server = Server()
    JointSliders(server, m, replace(cast, refusals={"drive": "<lock & step>"}), None, None)
    assert any("&lt;lock &amp; step&gt;" in label for label in server.parts)
    assert not set(m.jnt_names) & set(server.parts)


def test_the_default_force_of_a_push_follows_from_the_mass_of_the_robot_or_object():
    cube = rb.Object("cube", rb.Box((0.05, 0.05, 0.05)), mass=0.1)
    m = rb.scene(bundled_robot("seven_dof_arm"), objects=[cube])
    server, pushed = Server(), []
    pushes = Pushes(server, m, lambda *push: pushed.append(push) or "")
    force, link = server.parts["Force x, y, z [N]"], server.parts["Link"]
    link.act(value="hand")
    assert force.value[0] == pytest.approx(0.5 * 9.81 * (m.body_mass.sum() - 0.1), rel=0.05)
    link.act(value="cube")
    assert force.value == (2.0, 0.0, 0.0)  # twice the object's weight exceeds friction
    force.value = (1.0, 2.0, 3.0)  # the user enters a force
    link.act(value="hand")
    pushes.choose("cube")
    assert force.value == (1.0, 2.0, 3.0)
    server.parts["Push"].act()
    assert pushed == [("cube", (0.0, 0.0, 0.0), (1.0, 2.0, 3.0), (0.0, 0.0, 0.0), 0.1)]


#: Position of a robot's world on the page [m].
ORIGIN = np.array([0.0, 7.0, 0.0])


class Shown:
    """A replacement for a Show, which shows a robot at its start."""

    def __init__(self, m):
        self.m, self._d = m, rb.make_data(m)
        self.scene = SimpleNamespace(size=1.0)
        self.nodes = SimpleNamespace(origin=ORIGIN)

    def pose(self, name):
        position, R = rb.frame_pose(self.m, self._d, name)
        return position + ORIGIN, R.copy()


@pytest.fixture
def hand(m):
    server, pulled, answers = Server(), [], []

    def pull(*order):
        pulled.append(order)
        return answers.pop() if answers else ""

    made, pace = Hand(server, pull, lambda: pace.value, 0.002, "/h"), SimpleNamespace(value=1.0)
    made.take(Shown(m))
    made.put(Instant.still(m, m.qpos0))
    return made, server, pulled, pace, answers


def event(phase, start, end, client=1, modifier=None):
    camera = SimpleNamespace(position=start + np.array([3.0, 0.0, 0.0]))
    seen = SimpleNamespace(camera=camera, add_notification=None)
    return SimpleNamespace(
        phase=phase, client_id=client, client=seen, modifier=modifier, start_position=start,
        end_position=end,
    )  # fmt: skip


def test_a_pull_is_renewed_until_the_button_is_released(m, hand):
    made, _, pulled, pace, _ = hand
    position, R = made._show.pose("hand")
    at = position + R @ np.array([0.01, 0.02, 0.03])
    assert not made.held
    run(made.dragged("hand", event("start", at, at)))
    made.hold()
    pace.value = 4.0
    run(made.dragged("hand", event("update", at, at + 0.1)))
    made.hold()
    (link, point, goal, first), (_, _, moved, second) = pulled
    assert link == "hand"
    assert point == pytest.approx([0.01, 0.02, 0.03])
    assert goal == pytest.approx(at - ORIGIN)
    assert moved == pytest.approx(at - ORIGIN + 0.1)
    assert second == pytest.approx(4.0 * first)  # [s of simulated time]
    run(made.dragged("hand", event("end", at, at)))
    assert made.held  # the simulation must still be told that the pull has ended
    made.hold()
    assert pulled[2] == ("hand", point, (), 0.004)
    assert not made.held


def test_a_drag_with_shift_turns_the_link_with_the_cursor(m, hand):
    """The camera looks along -x, so a drag to the right, along y, turns the link about z."""
    made, _, pulled, _, _ = hand
    position, R = made._show.pose("hand")
    run(made.dragged("hand", event("start", position, position, modifier="shift")))
    run(made.dragged("hand", event("update", position, position + np.array([0.0, 0.1, 0.0]))))
    made.hold()
    turn = np.reshape(pulled[0][2], (3, 3)) @ R.T
    c, s = np.cos(0.5), np.sin(0.5)
    assert turn == pytest.approx(np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]))


def test_a_pull_ends_when_its_browser_leaves_or_the_simulation_refuses(m, hand):
    made, server, pulled, _, answers = hand
    position, _ = made._show.pose("hand")
    run(made.dragged("hand", event("start", position, position)))
    made.hold()
    server.watched = False
    made.hold()
    assert pulled[-1][2] == ()
    assert not made.held
    server.watched = True
    answers.append("the link is fixed")
    run(made.dragged("hand", event("start", position, position)))
    made.hold()
    assert server.told == ["the link is fixed"]
    assert not made.held


def test_a_pull_ends_when_its_link_is_deleted(m, hand):
    made, server, *_ = hand
    position, _ = made._show.pose("hand")
    run(made.dragged("hand", event("start", position, position)))
    made.move()  # the scene still has the link
    assert made.held
    made._show.m = SimpleNamespace(body_names=("world", "cube"))
    made.move()
    assert not made.held
    assert server.told == ["'hand' is gone, so the pull ends"]


def test_one_message_explains_why_a_drag_moves_nothing(m, hand, monkeypatch):
    made, server, *_ = hand
    position, _ = made._show.pose("hand")
    for paused, cause in ((True, "paused"), (False, "waiting for commands in lock-step")):
        server.told.clear()
        made.put(replace(Instant.still(m, m.qpos0), paused=paused))
        run(made.dragged("hand", event("start", position, position)))
        made.hold()
        made._grip.since -= 2.0
        made.hold()
        made.hold()
        assert server.told == [f"time is {cause}; the pull acts when it goes on"]
        made.let_go()


def test_a_drag_ignores_positions_that_are_not_numbers(m, hand):
    made, *_ = hand
    nowhere = np.array([np.nan, 0.0, 0.0])
    run(made.dragged("hand", event("start", nowhere, nowhere)))
    assert not made.held
    position, _ = made._show.pose("hand")
    run(made.dragged("hand", event("start", position, position)))
    run(made.dragged("hand", event("update", position, nowhere)))
    assert made._grip.goal == pytest.approx(position - ORIGIN)


@pytest.mark.parametrize(
    ("idle", "released", "after"),
    [
        ("", "<i>Release</i> lets it fall", "it falls; <i>Reset</i> holds it again"),
        ("it <brakes>", "after <i>Release</i> it &lt;brakes&gt;", "it &lt;brakes&gt;"),
    ],
)
def test_the_text_says_how_a_robot_is_held(m, cast, idle, released, after):
    server = Server()
    torques = JointSliders(server, m, replace(cast, start="held <so>", idle=idle), None, None)
    (held,) = (
        part for label, part in server.parts.items() if f"held &lt;so&gt;; {released}" in label
    )
    (rest,) = (
        part for label, part in server.parts.items() if f"without commands {after}" in label
    )
    assert not held.visible
    torques.put(replace(Instant.still(m, m.qpos0), held=True))
    assert (held.visible, rest.visible) == (True, False)
    torques.put(Instant.still(m, m.qpos0))
    assert (held.visible, rest.visible) == (False, True)


def test_the_text_of_a_falling_robot_does_not_mention_a_hold(m, cast):
    server = Server()
    JointSliders(server, m, cast, None, None).put(Instant.still(m, m.qpos0))
    assert not any(part.visible for label, part in server.parts.items() if "holds it" in label)
