"""A live view in a real browser: buttons are pressed, and the simulation does what they say."""

import itertools
import threading

import numpy as np
import pytest
from loop_stand_in import ViewedLoop
from plain_client import PlainClient
from web_page import open_page, press, require_browser, wait_until

from rbdyn_ros.loading.assets import bundled_robot
from rbdyn_ros.view.live.process import start_view

pytest.importorskip("viser", reason="viser is not installed")

from rbdyn_ros.view.live.panel import Live
from rbdyn_ros.view.web.server import address_of, open_server

SHOULDER = "shoulder_yaw"
#: Few pixels to draw without a GPU: what is drawn is not looked at here.
SMALL = {"size": {"width": 560, "height": 360}, "scale": 0.25}
LARGER = {"size": {"width": 900, "height": 600}, "scale": 0.25}  # to hit a handle
HANDLE = "/view0/handle"
STILL = (0.0, 0.0, 0.0)


# a view in this process, whose clients are known


@pytest.fixture
def near():
    """An arm and its view, both in this process."""
    with ViewedLoop(bundled_robot("seven_dof_arm")) as loop:
        server = open_server(0)
        live = Live(server, [loop.cast], loop)
        thread = threading.Thread(target=live.run)
        thread.start()
        yield loop, live, server
        live.close()
        thread.join()
        server.stop()


def test_without_a_client_it_polls_rarely(near):
    loop, _, server = near
    looks = []
    wait_until(lambda: len(looks) > 40 or looks.append(loop.looks), "almost a second")
    assert looks[-1] - looks[0] < 8  # at thirty a second it would be more by far
    with PlainClient(server):
        wait_until(lambda: loop.looks > looks[-1] + 30, "many looks")


def test_a_link_follows_the_dragged_handle(near):
    loop, live, server = near
    loop.loop.time.pause(True)
    pushes = live.robots[0].pushes
    pushes._set_dragging(True)
    wait_until(lambda: np.any(pushes._handle.position), "the handle at the link")
    with PlainClient(server) as hand:
        hand.say("TransformControlsDragStartMessage", name=HANDLE)
        hand.drag(HANDLE, pushes._handle.position + np.array([0.0, 0.0, 0.2]))
        wait_until(lambda: any(push[1][2] > 0.0 for push in loop.all_of("push")), "a pull up")
        link, _, duration = loop.all_of("push")[-1]
        assert link == loop.m.body_names[-1]
        assert 0.1 < duration < 1.0
        loop.loop.time.pause(False)
        count = len(loop.all_of("push"))
        wait_until(lambda: len(loop.all_of("push")) > count + 10, "renewals")
        wait_until(lambda: np.any(loop.state.xfrc), "the wrench to act")
        hand.say("TransformControlsDragEndMessage", name=HANDLE)
        wait_until(lambda: loop.all_of("push")[-1][1] == STILL, "the end")
        wait_until(lambda: not loop.loop.orders.wrenches(), "the wrench to end")
        hand.say("TransformControlsDragStartMessage", name=HANDLE)
        hand.drag(HANDLE, pushes._handle.position + np.array([0.0, 0.2, 0.0]))
        wait_until(lambda: loop.all_of("push")[-1][1] != STILL, "another pull")
    wait_until(lambda: loop.all_of("push")[-1][1] == STILL, "the end, since the hand is gone")
    wait_until(lambda: not loop.loop.orders.wrenches(), "the wrench to end")


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


def wait_for_frames(page, count=2):
    """Wait until the page has drawn so often, and so has done what came before."""
    page.evaluate(
        "n => new Promise(done => { const next = () => n-- > 0"
        " ? requestAnimationFrame(next) : done(); next(); })",
        count,
    )


def test_the_handle_can_be_grabbed(browser, near):
    loop, live, server = near
    loop.loop.time.pause(True)
    with open_page(browser, address_of(server), server, **LARGER) as page:
        page.get_by_label("Drag", exact=True).check()
        pushes = live.robots[0].pushes
        handle = pushes._handle
        wait_until(lambda: handle.visible and np.any(handle.position), "the handle", page)
        camera = next(iter(server.get_clients().values())).camera
        stood, looked = np.array(camera.position), np.array(camera.look_at)
        up, heights = np.array([0.0, 0.0, 1.0]), itertools.cycle((0.15, 0.1, 0.2, 0.25))
        # a slow page is given ever more time, and many tries [s]
        waits = (min(0.5 * 2**k, 16.0) for k in itertools.count())

        def grab():
            """Take the arrow that points up, which may not be drawn yet, and pull it up."""
            foot = np.array(handle.position)
            wait_for_frames(page)
            page.mouse.move(*seen_at(page, server, foot + next(heights) * up))
            page.mouse.down()
            page.mouse.move(*seen_at(page, server, foot + 0.5 * up), steps=4)
            wait_for_frames(page)
            for _ in range(round(next(waits) / 0.05)):
                if pushes._target is not None:
                    return True
                page.wait_for_timeout(50)
            page.mouse.up()  # it was the camera that was turned
            camera.position, camera.look_at = stood, looked
            return False

        wait_until(grab, "the handle to be grabbed", page, 400.0)
        wait_until(lambda: any(push[1][2] > 0.0 for push in loop.all_of("push")), "a pull", page)
        page.mouse.up()
        wait_until(lambda: loop.all_of("push")[-1][1] == STILL, "the end", page)


def test_closing_a_tab_releases_its_forces(browser, near):
    loop, _, server = near
    with open_page(browser, address_of(server), server, **SMALL) as page:
        thumb = page.locator('[role="slider"]').first  # that of the first joint
        thumb.focus()
        thumb.press("ArrowRight")
        wait_until(lambda: loop.state.effort[0] > 0.0, "the effort", page)
        assert not loop.all_of("release")
    wait_until(lambda: loop.all_of("release"), "the release")
    wait_until(lambda: loop.state.effort[0] == 0.0, "the effort to fade")


# a view in another process, as it is used


@pytest.fixture(scope="module")
def shown():
    """An arm in a loop of this process, and its view in another."""
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
        yield page


@pytest.fixture
def page(only_page, shown):
    """The one page of the view; time goes on and nothing has been ordered yet."""
    loop, _ = shown
    loop.loop.time.pause(False)
    loop.loop.time.set_real_time_factor(1.0)
    loop.orders.clear()
    yield only_page
    assert not only_page.complaints


def fill(page, label, number):
    box = page.get_by_label(label, exact=True)
    box.fill(str(number))
    box.press("Enter")


def test_time_is_ordered_about(shown, page):
    loop, _ = shown
    press(page, "Pause")
    wait_until(lambda: loop.loop.time.paused, "time to stand", page)
    page.get_by_text("paused |").wait_for()
    page.get_by_role("button", name="Resume", exact=True).wait_for()
    before = loop.loop.time.tick
    fill(page, "Ticks", 250)
    press(page, "Step")
    wait_until(lambda: loop.loop.time.tick == before + 250, "250 ticks", page)
    press(page, "Resume")
    wait_until(lambda: loop.loop.time.tick > before + 260, "time to go on", page)
    page.get_by_role("button", name="Pause", exact=True).wait_for()
    press(page, "Step")  # which is refused while time runs
    page.get_by_text("the simulation runs; pause it first").wait_for()
    press(page, "Reset")
    wait_until(lambda: loop.all_of("reset"), "the reset", page)


def test_the_box_sets_the_speed_and_follows_it(shown, page):
    loop, _ = shown
    box = page.get_by_label("Speed", exact=True)
    box.click()
    page.get_by_role("option", name="0.2 x", exact=True).click()
    wait_until(lambda: loop.all_of("set_speed") == [(0.2,)], "the speed", page)
    assert loop.loop.time.real_time_factor == 0.2
    for speed in (0.37, 1.0):  # set elsewhere; the first is not among those offered
        loop.loop.time.set_real_time_factor(speed)
        wait_until(lambda text=f"{speed:g} x": box.input_value() == text, "the box", page)
    assert loop.all_of("set_speed") == [(0.2,)]  # what follows orders nothing


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
    wait_until(lambda: thumb.get_attribute("aria-valuenow") == "0", "the slider at 0", page)
    count = len(loop.all_of("drive"))
    instants = loop.looks
    wait_until(lambda: loop.looks > instants + 10, "more looks", page)
    assert len(loop.all_of("drive")) == count


def test_a_link_is_pushed(shown, page):
    loop, _ = shown
    fill(page, "Seconds", 0.5)
    weight = 9.81 * loop.m.body_mass.sum()
    press(page, "Push")
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
    with open_page(browser, view.address, **SMALL) as other:
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
