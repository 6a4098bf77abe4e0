# SPDX-License-Identifier: Apache-2.0
"""A live view acts on the simulation as a person uses its page in a real browser."""

import itertools
import threading
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from loop_stand_in import ViewedLoop
from plain_client import PlainClient
from web_page import open_page, press, require_browser, slider, unfold, wait_until

from rbdyn_ros.runtime.types import Command
from rbdyn_ros.share import bundled_robot
from rbdyn_ros.view.live.process import start_view

pytest.importorskip("viser", reason="viser is not installed")

from rbdyn_ros.view.live.clock import FASTER, SLOWER
from rbdyn_ros.view.live.panel import Live
from rbdyn_ros.view.web.server import address_of, open_server

SHOULDER, TORQUES = "shoulder_yaw", "Torques (expert)"
#: Settings of a page with few pixels, which take less time to draw without a GPU.
SMALL = {"size": {"width": 640, "height": 480}, "scale": 0.25}
LARGER = {"size": {"width": 900, "height": 600}, "scale": 0.25}  # the mouse can hit a link


# a view in this process, with known clients


@pytest.fixture
def near(request):
    """Yield a loop with an arm, its view in this process and the server; `param` sets the loop."""
    with ViewedLoop(bundled_robot("seven_dof_arm"), **getattr(request, "param", {})) as loop:
        server = open_server(0)
        live = Live(server, [loop.cast], loop)
        thread = threading.Thread(target=live.run)
        thread.start()
        yield loop, live, server
        live.close()
        thread.join()
        server.stop()


def test_a_view_polls_rarely_without_a_client(near):
    loop, _, server = near
    looks = []
    wait_until(lambda: len(looks) > 40 or looks.append(loop.looks), "41 samples")
    assert looks[-1] - looks[0] < 8  # with a client the view polls thirty times a second
    with PlainClient(server):
        wait_until(lambda: loop.looks > looks[-1] + 30, "many requests of the view")


def test_a_page_shows_robots_of_several_worlds_side_by_side():
    """The robots are farther apart than their reach, and the first robot stays in its place."""

    class Two:
        def __init__(self, loops):
            self._loops = loops

        def instants(self, energy=False):
            return [one.instants(energy)[0] for one in self._loops]

        def __getattr__(self, name):
            return getattr(self._loops[0], name)

    path = bundled_robot("seven_dof_arm")
    left, right = ViewedLoop(path), ViewedLoop(path)  # neither loop runs
    casts = [replace(left.cast, name="left"), replace(right.cast, name="right")]
    server = open_server(0)
    try:
        live = Live(server, casts, Two([left, right]))
        live.poll()
        first, second = (robot.show for robot in live.robots)
        assert first.nodes.origin.tolist() == [0.0, 0.0, 0.0]
        x, y, z = second.nodes.origin
        assert (x, z) == (0.0, 0.0)
        reach = first.scene.radius + second.scene.radius
        assert reach <= y < reach + first.scene.size
        apart = second.pose("upper_arm")[0] - first.pose("upper_arm")[0]
        assert apart == pytest.approx([0.0, y, 0.0])
        assert second.nodes._top.position[1] == y
        assert second.nodes.centre - first.nodes.centre == pytest.approx([0.0, y, 0.0])
        middle = np.array(server.initial_camera.look_at)
        assert middle[1] == pytest.approx(0.5 * y, abs=0.5 * first.scene.size)
    finally:
        server.stop()


def seen_at(page, server, point):
    """Return the position (x, y) [pixels] on the page of a point in the world."""
    camera = next(iter(server.get_clients().values())).camera
    forward = np.array(camera.look_at) - camera.position
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, camera.up_direction)
    right /= np.linalg.norm(right)
    away = np.asarray(point) - camera.position
    box = page.locator("canvas").first.bounding_box()
    scale = 0.5 * box["height"] / np.tan(0.5 * camera.fov) / (away @ forward)
    x, y = away @ right * scale, away @ np.cross(right, forward) * scale
    return box["x"] + 0.5 * box["width"] + x, box["y"] + 0.5 * box["height"] - y


def test_a_drag_of_the_mouse_pulls_a_link(browser, near):
    """The grasped point is pulled to the cursor until the button is released."""
    loop, live, server = near
    loop.loop.time.pause(True)
    with open_page(browser, address_of(server), server, **LARGER) as page:
        robot, link = live.robots[0], "forearm"
        camera = next(iter(server.get_clients().values())).camera
        stood, looked = np.array(camera.position), np.array(camera.look_at)
        # each attempt waits longer [s], because a page can be slow
        waits = (min(0.5 * 2**k, 16.0) for k in itertools.count())

        def grab():
            """Try to pull the middle of the link up; return whether a pull has begun."""
            body = loop.m.body_names.index(link)
            position, R = robot.show.pose(link)
            middle = position + R @ loop.m.body_ipos[body]
            page.mouse.move(*seen_at(page, server, middle))
            page.mouse.down()
            page.mouse.move(*seen_at(page, server, middle + np.array([0.0, 0.0, 0.3])), steps=5)
            for _ in range(round(next(waits) / 0.05)):
                if loop.all_of("pull"):
                    return True
                page.wait_for_timeout(50)
            page.mouse.up()  # the drag has turned the camera instead of the link
            camera.position = stood
            camera.look_at = looked
            return False

        wait_until(grab, "the link to be pulled", page, 400.0)
        taken, point, _, duration = loop.all_of("pull")[0]
        position, R = robot.show.pose(taken)  # the mouse may have hit another link in front
        grip = position + R @ point
        away = lambda: np.linalg.norm(np.array(loop.all_of("pull")[-1][2]) - grip)  # noqa: E731
        wait_until(lambda: away() > 0.05, "the goal to follow the cursor", page)
        assert 0.1 < duration < 1.0
        loop.loop.time.pause(False)
        count = len(loop.all_of("pull"))
        wait_until(lambda: len(loop.all_of("pull")) > count + 10, "renewals", page)
        wait_until(lambda: np.any(loop.state.xfrc), "the pull to act", page)
        wait_until(lambda: robot.hand._label.text.endswith(" N"), "the force in newtons", page)
        page.mouse.up()
        wait_until(lambda: not loop.all_of("pull")[-1][2], "the order that ends the pull", page)
        wait_until(lambda: not loop.loop.orders.wrenches(), "the pull to end", page)


def node_of(loop, live, link):
    """Return the name of the scene's node for a visual of a link."""
    parts = live.robots[0].show.nodes._parts["visuals"]
    return next(node.name for part, node in parts if loop.m.body_names[part.body] == link)


@pytest.fixture
def told(monkeypatch):
    """Return a list that gets the messages about drags to browsers."""
    words = []
    monkeypatch.setattr("rbdyn_ros.view.live.hand.tell", lambda *given: words.append(given[2]))
    return words


@pytest.mark.parametrize("loses", [PlainClient.vanish, lambda _: None])
def test_a_pull_ends_when_its_browser_closes_or_loses_the_network(near, loses):
    """The view ends the pull itself, because the browser sends no end of the drag."""
    loop, live, server = near
    with PlainClient(server) as hand:
        position, _ = live.robots[0].show.pose("hand")
        hand.drag_node(node_of(loop, live, "hand"), "start", position, position + 0.1)
        wait_until(lambda: loop.all_of("pull"), "the pull")
        wait_until(lambda: np.any(loop.state.xfrc), "the pull to act")
        loses(hand)
    wait_until(lambda: not loop.all_of("pull")[-1][2], "the order that ends the pull")
    wait_until(lambda: not loop.loop.orders.wrenches(), "the pull to end")


STANDING = [
    ({"start_paused": True}, "paused"),
    ({"time_mode": "lockstep", "lockstep_timeout": 0.0, "locked": True}, "lock-step"),
]


@pytest.mark.parametrize(("near", "word"), STANDING, indirect=["near"])
@pytest.mark.parametrize("let_go", [True, False])
def test_a_drag_in_paused_time_acts_if_it_lasts_until_time_goes_on(near, told, word, let_go):
    loop, live, server = near
    position, _ = live.robots[0].show.pose("hand")
    node = node_of(loop, live, "hand")

    def tick():
        before = loop.state.tick
        if word == "paused":
            loop.loop.time.step(1)
        else:
            zeros = Command.of_efforts(np.arange(loop.m.nv), np.zeros(loop.m.nv))
            loop.loop.orders.command(zeros, tick=before)
        wait_until(lambda: loop.state.tick > before, "a tick")

    with PlainClient(server) as hand:
        hand.drag_node(node, "start", position, position + 0.1)
        wait_until(lambda: told, "a message why nothing moves")
        (sentence,) = told
        assert word in sentence
        assert not np.any(loop.state.qvel)
        if let_go:
            hand.drag_node(node, "end", position, position)
            wait_until(lambda: not loop.all_of("pull")[-1][2], "the order that ends the pull")
        for _ in range(3):
            tick()
        assert np.any(loop.state.xfrc) != let_go


def test_a_drag_of_the_base_has_no_effect(near, told):
    """In a browser this drag turns the camera; here a program sends it as a drag of a link."""
    loop, live, server = near
    position, _ = live.robots[0].show.pose("hand")
    with PlainClient(server) as hand:
        hand.drag_node(node_of(loop, live, "world"), "start", position, position + 0.1)
        hand.drag_node(node_of(loop, live, "hand"), "start", position, position + 0.1)
        wait_until(lambda: loop.all_of("pull"), "the pull")
        assert {pull[0] for pull in loop.all_of("pull")} == {"hand"}
        assert told == []


def test_only_one_browser_can_drag_at_a_time(near, told):
    loop, live, server = near
    node = node_of(loop, live, "hand")
    position, _ = live.robots[0].show.pose("hand")
    with PlainClient(server) as first, PlainClient(server) as second:
        first.drag_node(node, "start", position, position + 0.1)
        wait_until(lambda: loop.all_of("pull"), "the pull")
        second.drag_node(node, "start", position, position - 0.5)
        second.drag_node(node, "end", position, position - 0.5)
        wait_until(lambda: told, "the refusal")
        assert told == ["another browser is dragging; wait until it lets go"]
        assert loop.all_of("pull")[-1][2] == tuple(position + 0.1)
        first.drag_node(node, "end", position, position)
        wait_until(lambda: not loop.all_of("pull")[-1][2], "the order that ends the pull")
        second.drag_node(node, "start", position, position + 0.2)
        wait_until(lambda: loop.all_of("pull")[-1][2], "a pull of the second browser")


@pytest.mark.nightly
def test_keys_move_the_camera_pause_time_and_follow_a_robot(browser, near):
    loop, live, server = near
    with open_page(browser, address_of(server), server, **SMALL) as page:
        camera = next(iter(server.get_clients().values())).camera

        def is_in_front():
            page.keyboard.press("1")  # a page that is not ready yet does not receive it
            page.wait_for_timeout(1000)
            x, y, _ = camera.position - camera.look_at
            return abs(y) < 1e-3 * x

        wait_until(is_in_front, "the view from the front", page)
        page.keyboard.press(" ")
        wait_until(lambda: loop.loop.time.paused, "time to pause", page)
        page.keyboard.press("f")
        wait_until(lambda: live.keys.follow.value, "the camera to follow", page)
        before = np.array(camera.look_at)
        live.keys.put(live.robots[0].show.nodes.centre + np.array([0.5, 0.0, 0.0]))
        wait_until(
            lambda: np.linalg.norm(camera.look_at - before) > 0.4, "the camera to follow", page
        )
        page.keyboard.press("h")
        page.get_by_text("Keys and mouse").wait_for()
        page.get_by_text("right arrow").wait_for()
        page.keyboard.press("h")
        page.get_by_text("Keys and mouse").wait_for(state="detached")
        page.keyboard.press("h")
        press(page, "Guide to this page")
        page.get_by_role("heading", name="Show a robot from Python", exact=True).wait_for()


@pytest.mark.nightly
@pytest.mark.parametrize("phone", [False, True])
def test_a_narrow_page_starts_with_closed_panels_and_the_colours_of_the_system(
    browser, near, phone
):
    """A phone's page has a width of 980 pixels until the browser has read the page's head."""
    _, live, server = near
    size = {"width": 390, "height": 700}
    like = {"color_scheme": "dark", "is_mobile": phone}
    with open_page(browser, address_of(server), server, size, 0.25, **like) as page:
        button = page.get_by_text("Pause", exact=True).first
        closed = lambda: button.count() and not button.is_visible()  # noqa: E731
        wait_until(closed, "a closed panel", page)
        scheme = "document.documentElement.dataset.mantineColorScheme"
        wait_until(lambda: page.evaluate(scheme) == "dark", "a dark page", page)
        page.emulate_media(color_scheme="light")
        wait_until(lambda: page.evaluate(scheme) == "light", "a light page", page)
        camera = next(iter(server.get_clients().values())).camera
        away = lambda: np.linalg.norm(camera.position - camera.look_at)  # noqa: E731
        start = live._server.initial_camera
        usual = np.linalg.norm(np.asarray(start.position) - start.look_at)
        wait_until(
            lambda: away() == pytest.approx(usual * 700 / 390, rel=0.05),
            "the distance of the camera",
            page,
        )


class LateFirst:
    """An executor that starts every other job late, as on a busy machine."""

    def __init__(self):
        self.waits = itertools.cycle((0.3, 0.0))

    def submit(self, job, *given):
        late = threading.Timer(next(self.waits), job, given)
        late.start()
        return SimpleNamespace(add_done_callback=lambda _: None)


def test_a_release_is_not_overtaken_by_an_earlier_setting_of_a_slider(near, monkeypatch):
    loop, live, server = near
    monkeypatch.setattr(server.gui, "_thread_executor", LateFirst())
    joints = live.robots[0].joints
    with PlainClient(server) as tab:
        tab.set_value(joints._torques[SHOULDER], 1.0)
        tab.set_value(joints._release_button, True)
        wait_until(lambda: loop.all_of("release"), "the release")
        start = loop.state.time
        wait_until(lambda: loop.state.time > start + 0.6, "late jobs to be done")
        assert not joints.held
        assert loop.state.effort[0] == 0.0


def test_closing_a_page_ends_the_efforts_that_it_commands(near):
    loop, live, server = near
    with PlainClient(server) as tab:
        tab.set_value(live.robots[0].joints._torques[SHOULDER], 1.0)
        wait_until(lambda: loop.state.effort[0] > 0.0, "the effort")
        assert not loop.all_of("release")
    wait_until(lambda: loop.all_of("release"), "the release")
    wait_until(lambda: loop.state.effort[0] == 0.0, "the effort to fade")


# a view in another process, as in normal use


@pytest.fixture(scope="module")
def shown():
    """Yield a loop with an arm in this process, and its view in another process."""
    require_browser()
    said = []
    with ViewedLoop(bundled_robot("seven_dof_arm")) as loop:
        view = start_view([loop.cast], loop, port=0, say=lambda *words: said.append(words))
        assert view.wait(60.0), said
        yield loop, view
        view.close()


@pytest.fixture(scope="module")
def only_page(browser, shown):
    _, view = shown
    with open_page(browser, view.address, **SMALL) as page:
        page.get_by_text(" s | ").or_(page.get_by_text("running")).first.wait_for()
        unfold(page, TORQUES, "Push")
        yield page


@pytest.fixture
def page(only_page, shown):
    """Yield the only page of the view; the arm is at its start and has no orders."""
    loop, _ = shown
    loop.loop.plant.reset()
    loop.loop.time.pause(False)
    loop.loop.time.set_real_time_factor(1.0)
    loop.orders.clear()
    yield only_page
    assert not only_page.complaints


def fill(page, label, number):
    box = page.get_by_label(label, exact=True)
    box.fill(str(number))
    box.press("Enter")


def test_buttons_pause_and_resume_time(shown, page):
    loop, _ = shown
    press(page, "Pause")
    wait_until(lambda: loop.loop.time.paused, "time to pause", page)
    page.get_by_text("paused |").wait_for()
    page.get_by_role("button", name="Resume", exact=True).wait_for()
    before = loop.loop.time.tick
    fill(page, "Ticks", 250)
    press(page, "Step")
    wait_until(lambda: loop.loop.time.tick == before + 250, "250 ticks", page)
    press(page, "Resume")
    wait_until(lambda: loop.loop.time.tick > before + 260, "time to resume", page)
    page.get_by_role("button", name="Pause", exact=True).wait_for()
    press(page, "Step")  # a step is refused while time runs
    page.get_by_text("the simulation runs; pause it first").wait_for()
    press(page, "Reset")
    wait_until(lambda: loop.all_of("reset"), "the reset", page)


def test_buttons_set_the_speed_and_the_page_shows_the_wanted_speed(shown, page):
    loop, _ = shown
    press(page, SLOWER)
    wait_until(lambda: loop.all_of("set_speed") == [(0.5,)], "the speed", page)
    assert loop.loop.time.real_time_factor == 0.5
    press(page, "Pause")
    loop.loop.time.set_real_time_factor(0.37)  # another program sets a speed that no button offers
    page.get_by_text("0.37 x wanted").wait_for()
    press(page, FASTER)
    wait_until(lambda: loop.all_of("set_speed") == [(0.5,), (0.5,)], "the speed", page)
    unfold(page, "History")
    page.get_by_text("speed 0.5").wait_for()
    loop.loop.time.set_real_time_factor(1.0)
    press(page, "Resume")
    wait_until(lambda: not loop.loop.time.paused, "time to resume", page)


def test_a_slider_drives_its_joint_until_the_button_release_is_pressed(shown, page):
    loop, _ = shown
    thumb = slider(page, f"{SHOULDER} [N m]")
    thumb.focus()
    for _ in range(3):
        thumb.press("ArrowRight")
    limit = loop.m.jnt_effort[loop.m.jnt_names.index(SHOULDER)]
    wanted = ({SHOULDER: pytest.approx(0.03 * limit)}, {})
    wait_until(lambda: wanted in loop.all_of("drive"), "the effort", page)
    wait_until(
        lambda: loop.state.effort[0] == pytest.approx(0.03 * limit), "the effort to act", page
    )
    count = len(loop.all_of("drive"))
    wait_until(lambda: len(loop.all_of("drive")) > count + 20, "repetitions", page)
    press(page, "Release")
    wait_until(lambda: loop.all_of("release"), "the release", page)
    wait_until(lambda: loop.state.effort[0] == 0.0, "the effort to fade", page)
    wait_until(lambda: thumb.get_attribute("aria-valuenow") == "0", "the slider at 0", page)
    count = len(loop.all_of("drive"))
    instants = loop.looks
    wait_until(lambda: loop.looks > instants + 10, "more requests of the view", page)
    assert len(loop.all_of("drive")) == count


def test_a_slider_moves_a_joint_and_the_other_joints_hold_their_positions(shown, page):
    loop, _ = shown
    # other tests may have moved the joint to its limit, where a key press has no effect
    loop.loop.time.pause(True)
    loop.loop.plant.reset()
    thumb = slider(page, f"{SHOULDER} [rad]")
    follows = lambda: abs(float(thumb.get_attribute("aria-valuenow"))) < 0.01  # noqa: E731
    wait_until(follows, "the slider at the start", page)
    thumb.focus()
    for _ in range(3):
        thumb.press("ArrowRight")
    wait_until(lambda: loop.all_of("drive"), "the command", page)
    wait_until(lambda: loop.all_of("drive")[-1][1][SHOULDER] > 0.015, "the goal", page)
    loop.loop.time.pause(False)
    moved = lambda: loop.state.qpos[0] - loop.all_of("drive")[-1][1][SHOULDER]  # noqa: E731
    wait_until(lambda: abs(moved()) < 1e-3, "the joint to reach the goal", page)
    goals = loop.all_of("drive")[-1][1]
    assert set(goals) == set(loop.m.jnt_names)
    press(page, "Release")
    wait_until(lambda: loop.all_of("release"), "the release", page)


def test_the_button_push_pushes_the_chosen_link(shown, page):
    loop, _ = shown
    fill(page, "Seconds", 0.5)
    weight = 9.81 * loop.m.body_mass.sum()
    press(page, "Push")
    wait_until(lambda: loop.all_of("push"), "the push", page)
    assert loop.all_of("push") == [
        (loop.m.body_names[-1], (pytest.approx(0.5 * weight, rel=0.01), 0.0, 0.0), 0.5)
    ]
    page.get_by_label("Link", exact=True).click()
    page.get_by_role("option", name=loop.m.body_names[2], exact=True).click()
    press(page, "Push")
    wait_until(lambda: len(loop.all_of("push")) > 1, "the second push", page)
    assert loop.all_of("push")[1][0] == loop.m.body_names[2]


@pytest.mark.nightly
def test_every_browser_of_a_view_shows_the_charts(browser, shown, page):
    loop, view = shown
    assert loop.energies == 0
    page.get_by_text("Charts", exact=True).click()
    page.get_by_label("Show charts", exact=True).check()
    with open_page(browser, view.address, **SMALL) as other:
        for each in (page, other):
            wait_until(
                lambda each=each: each.locator(".uplot canvas").count() == 5, "charts", each
            )
    wait_until(lambda: loop.energies > 10, "requests for energies", page)
    page.get_by_label("Show charts", exact=True).uncheck()
    wait_until(lambda: page.locator(".uplot canvas").count() == 0, "the charts to disappear", page)
    count = loop.energies + 1  # one more request may still arrive
    looks = loop.looks
    wait_until(lambda: loop.looks > looks + 10, "more requests of the view", page)
    assert loop.energies <= count
