"""A live view in a real browser: buttons are pressed, and the simulation does what they say."""

import itertools
import threading

import numpy as np
import pytest
from loop_stand_in import Loop
from web_page import open_browser, open_page, press, require_browser, wait_until

from rbdyn_ros.assets import bundled_robot
from rbdyn_ros.view.live.process import start_view

pytest.importorskip("viser", reason="viser is not installed")

from rbdyn_ros.view.live.panel import Live
from rbdyn_ros.view.web.server import address_of, open_server

SHOULDER = "shoulder_yaw"
LARGER = {"width": 900, "height": 600}  # to hit a handle
SIZE = {"width": 560, "height": 360}  # few pixels to draw without a GPU


@pytest.fixture(scope="module")
def browser():
    with open_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def shown():
    """An arm in a loop of this process, and its view in another."""
    require_browser()
    said = []
    with Loop(bundled_robot("seven_dof_arm")) as loop:
        view = start_view([loop.cast], loop, port=0, say=lambda *words: said.append(words))
        assert view.wait(60.0), said
        yield loop, view
        view.close()


@pytest.fixture
def page(browser, shown):
    loop, view = shown
    with open_page(browser, view.address, size=SIZE) as page:
        page.get_by_text(" s | ").or_(page.get_by_text("running")).first.wait_for()
        yield page
        assert not page.complaints
    loop.runtime.pause(False)
    loop.orders.clear()


def fill(page, label, number):
    box = page.get_by_label(label, exact=True)
    box.fill(str(number))
    box.press("Enter")


def test_time_is_ordered_about(shown, page):
    loop, _ = shown
    press(page, "Pause")
    wait_until(lambda: loop.runtime.paused, "time to stand", page)
    page.get_by_text("paused |").wait_for()
    page.get_by_role("button", name="Resume", exact=True).wait_for()
    before = loop.runtime.tick
    fill(page, "Ticks", 250)
    press(page, "Step")
    wait_until(lambda: loop.runtime.tick == before + 250, "250 ticks", page)
    press(page, "Resume")
    wait_until(lambda: loop.runtime.tick > before + 260, "time to go on", page)
    page.get_by_role("button", name="Pause", exact=True).wait_for()
    press(page, "Step")  # which is refused while time runs
    page.get_by_text("the simulation runs; pause it first").wait_for()
    page.get_by_label("Speed", exact=True).click()
    page.get_by_role("option", name="0.2 x", exact=True).click()
    wait_until(lambda: loop.all_of("set_speed") == [(0.2,)], "the speed", page)
    assert loop.runtime.real_time_factor == 0.2
    loop.runtime.set_real_time_factor(1.0)
    press(page, "Reset")
    wait_until(lambda: loop.all_of("reset"), "the reset", page)


def test_a_slider_drives_its_joint_until_it_is_released(shown, page):
    loop, _ = shown
    thumb = page.locator('[role="slider"]').first  # that of the first joint
    thumb.focus()
    for _ in range(3):
        thumb.press("ArrowRight")
    limit = loop.m.jnt_effort[loop.m.jnt_names.index(SHOULDER)]
    wanted = ({SHOULDER: pytest.approx(0.03 * limit)},)
    wait_until(lambda: wanted in loop.all_of("drive"), "the effort", page)
    wait_until(lambda: loop.state.effort[0] == pytest.approx(0.03 * limit), "it to act", page)
    count = len(loop.all_of("drive"))
    wait_until(lambda: len(loop.all_of("drive")) > count + 20, "repetitions", page)
    press(page, "Release")
    wait_until(lambda: loop.all_of("release"), "the release", page)
    wait_until(lambda: loop.state.effort[0] == 0.0, "the effort to fade", page)
    assert thumb.get_attribute("aria-valuenow") == "0"
    count = len(loop.all_of("drive"))
    instants = loop.looks
    wait_until(lambda: loop.looks > instants + 10, "more looks", page)
    assert len(loop.all_of("drive")) == count


def test_a_tab_that_is_closed_lets_go(browser, shown):
    loop, view = shown
    with open_page(browser, view.address, size=SIZE) as page:
        thumb = page.locator('[role="slider"]').first  # that of the first joint
        thumb.focus()
        thumb.press("ArrowRight")
        wait_until(lambda: loop.state.effort[0] > 0.0, "the effort", page)
        assert not loop.all_of("release")
    wait_until(lambda: loop.all_of("release"), "the release")
    wait_until(lambda: loop.state.effort[0] == 0.0, "the effort to fade")


def test_a_link_is_pushed(shown, page):
    loop, _ = shown
    fill(page, "Seconds", 0.5)
    weight = 9.81 * loop.m.body_mass.sum()
    page.get_by_role("button", name="Push", exact=True).click()
    wait_until(lambda: loop.all_of("push"), "the push", page)
    assert loop.all_of("push") == [
        (loop.m.body_names[-1], (pytest.approx(0.5 * weight, abs=0.06), 0.0, 0.0), 0.5)
    ]
    page.get_by_label("Link", exact=True).click()
    page.get_by_role("option", name=loop.m.body_names[2], exact=True).click()
    press(page, "Push")
    wait_until(lambda: len(loop.all_of("push")) > 1, "another push", page)
    assert loop.all_of("push")[1][0] == loop.m.body_names[2]


def test_charts_are_drawn_in_every_browser(browser, shown, page):
    loop, view = shown
    assert loop.energies == 0
    page.get_by_text("Charts", exact=True).click()
    page.get_by_label("Show charts", exact=True).check()
    with open_page(browser, view.address, size=SIZE) as other:
        other.get_by_text("Charts", exact=True).click()
        for each in (page, other):
            wait_until(
                lambda each=each: each.locator(".uplot canvas").count() == 5, "charts", each
            )
    wait_until(lambda: loop.energies > 10, "energies to be asked for", page)
    page.get_by_label("Show charts", exact=True).uncheck()
    wait_until(lambda: page.locator(".uplot canvas").count() == 0, "no charts", page)
    count = loop.energies + 1  # one may be under way
    looks = loop.looks
    wait_until(lambda: loop.looks > looks + 10, "more looks", page)
    assert loop.energies <= count


def test_without_a_browser_it_hardly_looks(shown):
    loop, _ = shown
    looks = []
    wait_until(lambda: len(looks) > 40 or looks.append(loop.looks), "almost a second")
    assert looks[-1] - looks[0] < 8  # at thirty a second it would be more by far


@pytest.fixture
def near():
    """An arm and its view, both in this process."""
    require_browser()
    with Loop(bundled_robot("seven_dof_arm")) as loop:
        server = open_server(0)
        live = Live(server, [loop.cast], loop)
        thread = threading.Thread(target=live.run)
        thread.start()
        yield loop, live, server
        live.close()
        thread.join()
        server.stop()


def seen_at(page, server, point):
    """Return where on the page a point of the world is seen (x, y)."""
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


def test_a_link_follows_the_handle_that_is_dragged(browser, near):
    loop, live, server = near
    loop.runtime.pause(True)
    with open_page(browser, address_of(server), server, LARGER) as page:
        page.get_by_label("Drag", exact=True).check()
        pushes = live.robots[0].pushes
        handle = pushes._handle
        wait_until(lambda: handle.visible and np.any(handle.position), "the handle", page)
        up, heights = np.array([0.0, 0.0, 1.0]), itertools.cycle((0.15, 0.1, 0.2, 0.25))

        camera = next(iter(server.get_clients().values())).camera
        stood, looked = np.array(camera.position), np.array(camera.look_at)

        def grab():
            """Take the arrow that points up, which may not be drawn yet, and pull it up."""
            foot = np.array(handle.position)
            page.mouse.move(*seen_at(page, server, foot + next(heights) * up))
            page.wait_for_timeout(100)  # until what is under the mouse is known, mostly
            page.mouse.down()
            page.mouse.move(*seen_at(page, server, foot + 0.5 * up), steps=8)
            page.wait_for_timeout(100)
            if pushes._target is None:  # it was the camera that was turned
                page.mouse.up()
                camera.position, camera.look_at = stood, looked
                page.wait_for_timeout(100)
            return pushes._target is not None

        wait_until(grab, "the handle to be grabbed", page, 180.0)
        wait_until(lambda: loop.all_of("push"), "a pull", page)
        link, force, duration = loop.all_of("push")[-1]
        assert link == loop.m.body_names[-1]
        assert force[2] > 0.0
        assert 0.1 < duration < 1.0
        loop.runtime.pause(False)
        count = len(loop.all_of("push"))
        wait_until(lambda: len(loop.all_of("push")) > count + 10, "renewals", page)
        page.mouse.up()
        wait_until(lambda: loop.all_of("push")[-1][1] == (0.0, 0.0, 0.0), "the end", page)
        wait_until(lambda: not loop.runtime.wrenches(), "the wrench to end", page)
