"""What a live view says and lets act, without a browser: a panel of stand-ins."""

import contextlib
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import rbdyn_ros as rb
from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.loading.assets import bundled_robot
from rbdyn_ros.view.live.clock import Clock, state_line
from rbdyn_ros.view.live.forces import AMPLE, Pushes, Torques, effort_range
from rbdyn_ros.view.live.link import Cast


@pytest.fixture(scope="module")
def m():
    return rb.load_urdf(bundled_robot("seven_dof_arm"))


@pytest.fixture
def cast(m):
    return Cast("", None, joints=m.jnt_names, timestep=0.002)


class Part:
    """An element of a panel or of a scene."""

    def __init__(self, **props):
        self.calls = []
        vars(self).update({"client": None, "visible": True, **props})

    def on_update(self, call):
        self.calls.append(call)

    on_click = on_update

    def act(self, client="somebody", **changes):
        vars(self).update(changes)
        for call in self.calls:
            call(SimpleNamespace(client=client, client_id=1, target=self, **changes))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class Server:
    """Stands for viser's: keeps what is added by its label, and what clients are told."""

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


def test_the_state_as_text(m):
    still = replace(Instant.still(m, m.qpos0), time=1.5)
    assert state_line([still]) == "running | 1.500 s"
    assert state_line([replace(still, factor=0.98765)]) == "running | 1.500 s | 0.988 x real time"
    paused = replace(still, paused=True)
    assert state_line([paused, paused]) == "paused | 1.500 s"
    assert state_line([paused, still]) == "running | 1.500 s"
    bad = replace(still, fault="the state of joint 'x' diverged")
    assert state_line([still, bad]) == "fault: the state of joint 'x' diverged | 1.500 s"


def test_the_box_shows_the_current_speed(m):
    server, answers = Server(), ["", "too fast"]
    simulated = SimpleNamespace(set_speed=lambda _: answers.pop(0), reset=None)
    clock = Clock(server, simulated, 0.7, {})
    box = server.parts["Speed"]
    assert box.value == "0.7 x"
    still = replace(Instant.still(m, m.qpos0), wanted=0.7)
    box.act(value="0.2 x")
    clock.put([still])  # which is from before the order
    assert box.value == "0.2 x"
    clock.put([replace(still, wanted=0.2)])
    assert (clock.speed, box.value) == (0.2, "0.2 x")
    clock.put([replace(still, wanted=0.35)])  # set elsewhere
    assert (clock.speed, box.value) == (0.35, "0.35 x")
    assert "0.35 x" in box.options
    box.act(client=None, value="0.35 x")  # as viser says what we set
    assert len(answers) == 1
    box.act(client=server.get_clients()[1], value="5 x")  # which is refused
    assert server.told == ["too fast"]
    assert box.value == "0.35 x"
    clock.put([replace(still, wanted=np.nan)])
    assert clock.speed == 0.35
    other = Server()
    clock = Clock(other, simulated, 1.0, {"set_speed": "there is no speed"})
    clock.put([replace(still, wanted=2.0)])
    assert clock.speed == 2.0
    assert "Speed" not in other.parts


def test_a_slider_reaches_to_the_limit_or_lifts_the_load(m):
    free = m.replaced(jnt_effort=np.where(np.arange(m.njnt) == 2, 33.0, np.inf))
    assert effort_range(free, m.jnt_names[2]) == 33.0
    for name in (m.jnt_names[0], m.jnt_names[-1]):
        body = m.jnt_bodyid[m.jnt_names.index(name)]
        load = AMPLE * 9.81 * 0.5 * m.body_subtreemass[body]
        assert load <= effort_range(free, name) <= 2.0 * load
    weightless = effort_range(free.replaced(jnt_effort=np.zeros(m.njnt)), m.jnt_names[0])
    assert np.isfinite(weightless)
    assert weightless > 0.0


def test_sliders_hold_moved_joints_until_a_refusal(m, cast):
    server, driven, released = Server(), [], []
    answers = ["", "", "no such effort"]

    def drive(efforts):
        driven.append(efforts)
        return answers.pop(0)

    torques = Torques(server, m, cast, drive, lambda: released.append(1) or "")
    torques.hold()
    assert not torques.held
    assert not driven
    server.parts["wrist_roll"].act(value=1.5)
    assert torques.held
    torques.hold()
    server.parts["elbow_pitch"].act(value=-2.0)
    torques.hold()
    assert driven == [{"wrist_roll": 1.5}, {"wrist_roll": 1.5, "elbow_pitch": -2.0}]
    torques.hold()  # which is refused
    assert server.told == ["no such effort"]
    assert not torques.held
    assert released == [1]
    assert {server.parts[name].value for name in m.jnt_names} == {0.0}
    server.parts["wrist_roll"].act(client=None, value=0.0)  # as viser says what we set
    assert not torques.held


def test_joints_never_accepted_have_no_sliders(m, cast):
    server = Server()
    Torques(server, m, replace(cast, refusals={"drive": "<lock & step>"}), None, None)
    assert any("&lt;lock &amp; step&gt;" in label for label in server.parts)
    assert not set(m.jnt_names) & set(server.parts)


@pytest.fixture
def pushes(m, cast):
    server, pushed = Server(), []
    speed = SimpleNamespace(value=1.0)
    made = Pushes(
        server, m, cast, lambda *push: pushed.append(push) or "", lambda: speed.value, "/v"
    )
    return made, server, pushed, speed


def test_a_pull_is_renewed_and_ends_with_the_hand(m, pushes):
    made, server, pushed, speed = pushes
    still = Instant.still(m, m.qpos0)
    made.put(still)
    assert not made.held
    made.choose("")
    made.choose("no body")
    made.choose(m.body_names[3])
    handle = server.parts["/v/handle"]
    server.parts["Drag"].act(value=True)
    assert handle.visible
    place = handle.position
    assert np.linalg.norm(place) > 0.0
    run(made._dragged(event(handle, "start", place + np.array([0.0, 0.0, 0.2]))))
    made.hold()
    speed.value = 4.0
    made.hold()
    (link, point, force, torque, first), second = pushed[0], pushed[1][4]
    assert (link, point, torque) == (m.body_names[3], (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    assert force[2] > 0.0
    assert second == pytest.approx(4.0 * first)  # in simulated time
    run(made._dragged(event(handle, "end", place)))
    assert made.held  # the last pull is to be ended
    made.hold()
    assert pushed[2] == (link, point, point, torque, 0.004)
    assert not made.held


def test_a_pull_ends_when_its_browser_leaves(m, pushes):
    made, server, pushed, _ = pushes
    made.put(Instant.still(m, m.qpos0))
    handle = server.parts["/v/handle"]
    server.parts["Drag"].act(value=True)
    run(made._dragged(event(handle, "start", handle.position + 1.0)))
    made.hold()
    server.watched = False
    made.hold()
    assert pushed[1][2] == (0.0, 0.0, 0.0)
    assert not made.held


def event(handle, phase, position):
    return SimpleNamespace(
        phase=phase, client_id=1, target=SimpleNamespace(position=np.array(position))
    )


def run(coroutine):
    with contextlib.suppress(StopIteration):
        coroutine.send(None)
