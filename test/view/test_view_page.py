# SPDX-License-Identifier: Apache-2.0
"""The page of `rbdyn view` in a real browser has working pictures and controls."""

import contextlib
import re
from functools import partial

import numpy as np
import pytest
from view_arm import ARM
from web_page import (
    SCENE,
    colours_of,
    control,
    open_page,
    press,
    slider,
    wait_for_picture,
    wait_until,
)

import rbdyn_ros as rb
from rbdyn_ros.description.appearance.shapes import Appearance
from rbdyn_ros.view.scene.coordinates import qpos_text
from rbdyn_ros.view.scene.scene import ELLIPSOIDS

#: Size of the page; the processor draws the pictures, so small pictures take less time.
SMALL = {"width": 760, "height": 420}


@contextlib.contextmanager
def opened(browser, m, scale=0.25):
    """Yield a small page that shows a robot, the robot's Show, and the sliders."""
    from rbdyn_ros.view.web.show import Show, address_of, open_server
    from rbdyn_ros.view.web.sliders import Sliders

    server = open_server(0, label="test")
    try:
        show = Show(server, m, Appearance())
        sliders = Sliders(show)
        with open_page(browser, address_of(server), server, SMALL, scale) as page:
            yield page, show, sliders
            assert page.complaints == []
    finally:
        server.stop()


@pytest.fixture(scope="module")
def arm(browser):
    with opened(browser, rb.load_urdf(ARM, floating_base=True), scale=0.5) as all_of_it:
        yield all_of_it


@pytest.fixture(scope="module")
def delta(browser):
    with opened(browser, rb.load("examples/delta_robot.yaml")) as all_of_it:
        yield all_of_it


def test_a_slider_moved_in_the_browser_moves_the_joint_in_the_program(arm):
    page, _, sliders = arm
    thumb = slider(page, "turn")
    assert float(thumb.get_attribute("aria-valuemin")) == -0.5
    assert float(thumb.get_attribute("aria-valuemax")) == 1.2
    thumb.press("End")
    wait_until(lambda: sliders.qpos[7] == pytest.approx(1.2), "the joint to turn", page)
    page.get_by_text("turn [rad], 69\N{DEGREE SIGN}").wait_for()
    slider(page, "slide").press("Home")
    wait_until(lambda: sliders.qpos[8] == pytest.approx(-0.1), "the joint to slide", page)
    assert sliders.qpos[7] == pytest.approx(1.2)


def test_sliders_turn_and_move_a_floating_base(arm):
    page, _, sliders = arm
    slider(page, "root_joint yaw").press("End")
    # after half a turn about z the quaternion has z = 1 or -1
    wait_until(lambda: abs(sliders.qpos[6]) > 0.99, "half a turn about z", page)
    slider(page, "root_joint x").press("End")
    wait_until(lambda: sliders.qpos[0] >= 1.0, "the base to move", page)


def test_buttons_and_the_text_of_qpos_set_all_joints(arm):
    page, _, sliders = arm
    thumb = slider(page, "turn")

    def thumb_at(number):
        shown = float(thumb.get_attribute("aria-valuenow"))
        return abs(shown - number) < 0.01

    before = sliders.qpos
    press(page, "Random")
    wait_until(lambda: not np.isin(sliders.qpos[7:], before).any(), "a random configuration", page)
    turned = sliders.qpos[7]
    wait_until(partial(thumb_at, turned), "the slider to follow", page)
    text = page.locator("label", has_text=re.compile("^qpos$")).locator(
        "xpath=following::input[1]"
    )
    wait_until(lambda: text.input_value() == qpos_text(sliders.qpos), "the text to follow", page)
    text.fill("[0, 0, 0, 2, ")
    text.fill("[0, 0, 0, 2, 0, 0, 0, 0.25, 0.125]")
    wanted = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.25, 0.125]
    wait_until(lambda: sliders.qpos.tolist() == wanted, "the text to be read", page)
    wait_until(partial(thumb_at, 0.25), "the slider to follow the text", page)
    press(page, "Zero")
    wait_until(lambda: not sliders.qpos[7:].any(), "all joints at zero", page)


def test_the_page_shows_a_robot_and_a_chosen_layer(arm):
    page, show, _ = arm
    assert colours_of(page) > 300  # shades of boxes and of the shadow, not a blank page
    page.get_by_text("Display", exact=True).click()
    assert ELLIPSOIDS not in show.nodes._layers
    box = control(page, "Inertia ellipsoids")
    box.dispatch_event("click")  # without a mouse, as the folder may still open
    wait_until(lambda: ELLIPSOIDS in show.nodes._layers, "the ellipsoids", page)
    box.dispatch_event("click")
    (node, *_) = show.nodes._layers[ELLIPSOIDS]
    wait_until(lambda: not node.visible, "the ellipsoids to disappear", page)


def test_the_page_undoes_an_impossible_position_and_says_why(delta):
    page, _, sliders = delta
    before = sliders.qpos
    slider(page, "motor_1").press("ArrowRight")
    wait_until(lambda: sliders.qpos[0] > before[0], "the motor to turn", page)
    moved = sliders.qpos
    slider(page, "free z").press("End")
    page.get_by_text("cannot be closed").first.wait_for()
    assert np.array_equal(sliders.qpos, moved)


def test_the_connectivity_graph_opens_and_closes(delta):
    pytest.importorskip("matplotlib")
    page, _, _ = delta
    page.get_by_text("Display", exact=True).click()
    press(page, "Connectivity graph")
    picture = page.get_by_alt_text("connectivity graph")
    picture.wait_for()
    page.wait_for_function("document.querySelector('img[alt]').naturalWidth > 100")
    press(page, "Close")
    picture.wait_for(state="detached")


def test_a_click_on_a_body_shows_its_name_as_plain_text(browser):
    name = "&lt;img src=x onerror=document.title='hacked'&gt;{document.title='hacked'}"
    text = (
        f'<robot name="{name}"><link name="{name}"><inertial><mass value="2"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>'
    )
    with opened(browser, rb.load_urdf(text, floating_base=True)) as (page, show, _):
        scene = page.locator(SCENE)
        wait_for_picture(page)
        box = scene.bounding_box()
        middle = {"x": box["width"] / 2, "y": box["height"] / 2}
        waits = (0.5 * 2**k for k in range(9))  # [s], as a second click would end the selection

        def picked():
            scene.click(position=middle)  # where the only body is
            for _ in range(round(next(waits) / 0.05)):
                if show.picked:
                    break
                page.wait_for_timeout(50)
            return show.picked

        assert "onerror" in wait_until(picked, "the body to be picked", page, 180.0)
        page.get_by_text("root_joint (floating)").wait_for()
        assert page.title() != "hacked"
