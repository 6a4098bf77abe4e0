# SPDX-License-Identifier: Apache-2.0
"""Pictures and the page show the lights of a file."""

import math

import numpy as np
import pytest
from support.drawing import needs_renderer

import rbdyn_ros as rb
from rbdyn_ros.description.appearance.shapes import read_appearance
from rbdyn_ros.description.parts.lights import LinkLight
from rbdyn_ros.sensors import ColorSpec
from rbdyn_ros.view.render.lamps import WHITE, lighting
from rbdyn_ros.view.scene.lamps import Lamp, lamps_of
from rbdyn_ros.view.scene.scene import LIGHTS, Scene

FLOOR = (
    "<model name='floor'><static>true</static><link name='l'><collision name='c'><geometry>"
    "<plane/></geometry></collision></link></model>"
)
BALL = (
    "<model name='ball'><pose>9 0 0.5 0 0 0</pose><link name='l'><visual name='v'><geometry>"
    "<sphere><radius>0.1</radius></sphere></geometry></visual></link></model>"
)
HEIGHT = 2.0
LAMP = (
    "<light name='lamp' type='{}'><pose>0 0 2 0 0 0</pose><diffuse>0.4 0.4 0.4 1</diffuse>"
    "<attenuation><range>50</range><constant>1</constant><linear>0.5</linear>"
    "<quadratic>0.25</quadratic></attenuation>"
    "<spot><inner_angle>0.8</inner_angle><outer_angle>1.0</outer_angle></spot></light>"
)
SUN = "<light name='sun' type='directional'><direction>{}</direction></light>"


@pytest.fixture
def drawn(tmp_path):
    def draw(lights):
        """Return the brightness (height, width) of a picture of the floor from 4 m above."""
        path = tmp_path / "world.sdf"
        path.write_text(f"<sdf version='1.11'><world name='w'>{lights}{FLOOR}{BALL}</world></sdf>")
        m = rb.load(path)
        camera = ColorSpec(
            "eye", "world", rate=1.0, near=0.1, far=50.0, width=201, height=201,
            intrinsics=(50.0, 50.0, 100.0, 100.0),
        )  # fmt: skip
        place = {"eye": (0.0, 0.0, 4.0), "target": (0.0, 0.0, 0.0)}
        picture = rb.render(m, rb.make_data(m), camera, path, **place)
        return (picture[:, :, 0] / 255.0) ** 2.2

    return draw


def at(light, x, y):
    """Return the brightest pixel near a point of the floor, because lines of a grid are dark."""
    row, column = round(100 - 50 * y / 4), round(100 + 50 * x / 4)
    return float(light[row - 3 : row + 4, column - 3 : column + 4].max())


@needs_renderer
def test_a_point_light_fades_with_distance_and_angle(drawn):
    """At a distance r the floor gets the cosine of the angle divided by a + b r + c r^2."""
    dark = drawn(LAMP.format("point").replace("0.4 0.4 0.4", "0 0 0"))
    light = drawn(LAMP.format("point"))
    added = {r: at(light, r, 0.0) - at(dark, r, 0.0) for r in (0.0, 2.0, 4.0)}

    def expected(r):
        far = math.hypot(r, HEIGHT)
        return HEIGHT / far / (1.0 + 0.5 * far + 0.25 * far**2)

    for r in (2.0, 4.0):
        # pixels have steps of 1/255, and the brightest of 7 x 7 pixels is up to 0.24 m nearer
        assert added[r] / added[0.0] == pytest.approx(expected(r) / expected(0.0), rel=0.2)
    assert at(light, -2.0, 0.0) == pytest.approx(at(light, 2.0, 0.0), rel=0.03)


@needs_renderer
def test_a_spot_light_brightens_only_a_circle_of_its_angle(drawn):
    dark = drawn(LAMP.format("spot").replace("0.4 0.4 0.4", "0 0 0"))
    light = drawn(LAMP.format("spot"))
    radius = HEIGHT * math.tan(0.5)
    for turn in np.arange(0.0, 2 * math.pi, 0.7):
        x, y = math.cos(turn), math.sin(turn)
        assert at(light, 0.6 * radius * x, 0.6 * radius * y) > 1.1 * at(dark, 0.0, 0.0)
        outside = at(light, 1.5 * radius * x, 1.5 * radius * y)
        assert outside == pytest.approx(at(dark, 0.0, 0.0), rel=0.03)


@needs_renderer
def test_parallel_light_brightens_a_floor_by_the_cosine_of_its_angle(drawn):
    """The angle is between the light and the floor's normal; light from below has no effect."""
    dark, light, slanted = (
        drawn(SUN.format(direction)) for direction in ("0 0 1", "0 0 -1", "0 -0.6 -0.8")
    )
    added = at(light, 0.0, 0.0) - at(dark, 0.0, 0.0)
    assert added > 0.2
    assert at(slanted, 0.0, 0.0) - at(dark, 0.0, 0.0) == pytest.approx(0.8 * added, rel=0.05)


def test_the_sun_of_the_renderer_shines_only_without_lights_in_the_file(tmp_path):
    m = rb.load("seven_dof_arm")
    bodies = [np.eye(4)] * m.nbody
    assert (lighting([], bodies).sun == WHITE).all()
    assert lighting([], bodies).gloss == 1.0
    path = tmp_path / "w.sdf"
    path.write_text(
        f"<sdf version='1.11'><world name='w'>{LAMP.format('point')}{BALL}</world></sdf>"
    )
    m = rb.load(path)
    lamps = lamps_of(m, read_appearance(path).lights)
    lit = lighting(lamps, bodies)
    assert (lit.count, lit.sun.tolist(), lit.gloss) == (1, [0.0, 0.0, 0.0], 0.0)
    assert lit.at[0].tolist() == [0.0, 0.0, 2.0]


@pytest.mark.parametrize("kind", ["point", "spot", "directional"])
def test_the_lights_of_the_file_replace_the_lights_of_the_page(tmp_path, kind):
    pytest.importorskip("viser")
    from rbdyn_ros.view.web.show import Show, open_server

    path = tmp_path / "w.sdf"
    path.write_text(f"<sdf version='1.11'><world name='w'>{LAMP.format(kind)}{BALL}</world></sdf>")
    shadows = "<cast_shadows>1</cast_shadows></light>" if kind == "directional" else "</light>"
    path.write_text(path.read_text().replace("</light>", shadows))
    m = rb.load(path)
    server = open_server(0)
    try:
        show = Show(server, m, read_appearance(path))
        (node,) = show.nodes._layers[LIGHTS]
        assert node.visible
        assert node.cast_shadow == (kind == "directional")
        assert max(node.color) == 255
        if kind == "directional":
            assert node.decay == 0.0
            assert node.direction == (0.0, 0.0, -1.0)
            assert node.position[2] > 20.0
        else:
            assert tuple(node.position) == (0.0, 0.0, 2.0)
            assert node.distance == 50.0
            # with this attenuation 1 / 1.75 of the intensity arrives at 1 m, and 1 / 31 at 10 m
            assert node.decay == pytest.approx(math.log10(31.0 / 1.75))
            assert node.intensity == pytest.approx(3.0 * 0.4 / 1.75)
        if kind == "spot":
            assert (node.angle, node.penumbra) == pytest.approx((0.5, 0.2))
        show.display.set(LIGHTS, False)
        assert not node.visible
    finally:
        server.stop()


def test_the_page_has_no_own_light_while_a_robot_shows_lamps(tmp_path, monkeypatch):
    pytest.importorskip("viser")
    from rbdyn_ros.view.web.show import Show, open_server

    path, plain = tmp_path / "w.sdf", tmp_path / "plain.sdf"
    for place, lamp in ((path, LAMP.format("point")), (plain, "")):
        place.write_text(f"<sdf version='1.11'><world name='w'>{lamp}{BALL}</world></sdf>")
    m = rb.load(path)
    server, own = open_server(0), []
    monkeypatch.setattr(
        server.scene, "configure_default_lights", lambda enabled: own.extend([enabled])
    )
    try:
        first, second = (Show(server, m, read_appearance(path), name) for name in "ab")
        assert own[-1] is False
        first.display.set(LIGHTS, False)
        assert own[-1] is False  # the other lamp is still on
        first.display.set(LIGHTS, True)
        second.nodes.remove()
        assert own[-1] is False
        first.nodes.move(Scene(m, read_appearance(plain)))
        assert own[-1] is True
        first.nodes.move(Scene(m, read_appearance(path)))
        assert own[-1] is False
        first.nodes.remove()
        assert own[-1] is True
    finally:
        server.stop()


def test_parallel_light_of_a_body_is_placed_in_its_frame():
    """The node of the light has this direction in its parent, the frame of the body."""
    pytest.importorskip("viser")
    from rbdyn_ros.view.web.lamps import add_lamp
    from rbdyn_ros.view.web.show import open_server

    light = LinkLight("directional", "l", (0.0, 0.0, 0.0), (0.0, 0.0, -1.0), (1.0, 1.0, 1.0))
    pos, direction, middle = np.array([1.0, 2, 3]), np.array([0.0, 0, -1]), np.array([50.0, 0, 0])
    server = open_server(0)
    try:
        for body, centre in ((0, middle), (1, pos)):
            lamp = Lamp(body, pos, direction, light)
            node = add_lamp(server.scene, f"/lamp{body}", lamp, middle, 1.0)
            away = np.array(node.position) - centre
            assert away[:2] == pytest.approx([0.0, 0.0])
            assert away[2] > 20.0
    finally:
        server.stop()
