# SPDX-License-Identifier: Apache-2.0
"""Lights of SDF and MJCF files are read with their poses, colours and ranges."""

import math

import numpy as np
import pytest

import rbdyn_ros as rb
from rbdyn_ros.description.appearance.shapes import read_appearance
from rbdyn_ros.description.parts.lights import MOST_LIGHTS
from rbdyn_ros.errors import DescriptionError
from rbdyn_ros.view.render.lamps import _row
from rbdyn_ros.view.scene.lamps import lamps_of

TURNED = "1 2 3 0 0 1.5707963267948966"


def world(body):
    return f"<sdf version='1.11'><world name='w'>{body}</world></sdf>"


def light(kind, more="", pose="0 0 5 0 0 0", name="a"):
    return f"<light name='{name}' type='{kind}'><pose>{pose}</pose>{more}</light>"


def model(inside, pose=TURNED, more=""):
    return f"<model name='m'><pose>{pose}</pose>{more}<link name='l'>{inside}</link></model>"


def lights(text):
    return read_appearance(text).lights


def test_a_light_of_a_world_has_the_values_of_the_file():
    more = (
        "<diffuse>0.5 0.25 1 1</diffuse><intensity>2</intensity><cast_shadows>1</cast_shadows>"
        "<direction>0 3 -4</direction><attenuation><range>7</range><constant>0.5</constant>"
        "<linear>0.25</linear><quadratic>0.125</quadratic></attenuation>"
        "<spot><inner_angle>0.4</inner_angle><outer_angle>1.0</outer_angle></spot>"
    )
    (one,) = lights(world(light("spot", more)))
    assert (one.kind, one.link, one.pos, one.shadows) == ("spot", "world", (0.0, 0.0, 5.0), True)
    assert one.direction == pytest.approx((0.0, 0.6, -0.8))
    assert one.color == (1.0, 0.5, 2.0)
    assert one.angles == (0.2, 0.5)
    assert one.range == 7.0
    assert one.brightness(2.0) == 1.0 / (0.5 + 0.5 + 0.5)


@pytest.mark.parametrize("static", ["", "<static>true</static>"])
def test_a_light_moves_with_its_link_and_stays_if_the_link_is_static(static):
    """A static link does not move, and its light stays; other lights move with their links."""
    shining = light("spot", "<direction>1 0 0</direction>", "1 0 0 0 0 0")
    (one,) = lights(world(model(shining, more=static)))
    if static:
        assert one.link == "world"
        assert one.pos == pytest.approx((1.0, 3.0, 3.0))
        assert one.direction == pytest.approx((0.0, 1.0, 0.0))
    else:
        assert (one.link, one.pos) == ("m", (1.0, 0.0, 0.0))
        assert one.direction == pytest.approx((1.0, 0.0, 0.0))


def test_a_pose_of_a_light_is_relative_to_a_frame():
    frame = f"<frame name='f'><pose>{TURNED}</pose></frame>"
    shining = light("point").replace("<pose>0 0 5", "<pose relative_to='f'>1 0 5")
    (one,) = lights(world(frame + shining))
    assert one.pos == pytest.approx((1.0, 3.0, 8.0))


def test_lights_that_are_off_unknown_or_beyond_the_limit_are_left_out():
    assert lights(world(light("point", "<light_on>false</light_on>"))) == ()
    found = read_appearance(world(light("laser")))
    assert found.lights == ()
    assert [finding.code for finding in found.findings] == ["light"]
    many = "".join(light("point", name=f"l{k}") for k in range(MOST_LIGHTS + 2))
    found = read_appearance(world(many))
    assert len(found.lights) == MOST_LIGHTS
    assert [finding.code for finding in found.findings] == ["many-lights"]


def test_invalid_values_of_a_light_cause_warnings():
    broken = "<diffuse>red green blue</diffuse><attenuation><range>far</range></attenuation>"
    found = read_appearance(world(light("point", broken)))
    assert {finding.severity for finding in found.findings} == {"warning"}
    assert len(found.lights) == 1
    assert all("its default counts" in finding.message for finding in found.findings)
    assert not any("geometry" in finding.message for finding in found.findings)
    negative = "<diffuse>-1 1e9 nan 1</diffuse><attenuation><constant>-3</constant></attenuation>"
    (one,) = lights(world(light("point", negative)))
    assert all(0.0 <= part <= 100.0 for part in one.color)
    assert 0.0 <= one.brightness(1.0) <= 1.0


@pytest.mark.parametrize(
    "more",
    ["<attenuation><quadratic>1e308</quadratic><constant>0</constant></attenuation>",
     "<intensity>inf</intensity><diffuse>0 1 1 1</diffuse>", "<intensity>-inf</intensity>",
     "<attenuation><range>-1</range><linear>0</linear></attenuation>",
     "<attenuation><range>inf</range></attenuation>", "<direction>0 0 0</direction>",
     "<spot><outer_angle>1</outer_angle><inner_angle>-4</inner_angle></spot>",
     "<spot><outer_angle>-9</outer_angle><inner_angle>99</inner_angle></spot>"],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["point", "spot", "directional"])
def test_extreme_numbers_make_a_light_that_can_be_drawn(more, kind, tmp_path):
    path = tmp_path / "w.sdf"
    path.write_text(world(light(kind, more) + model("")))
    (one,) = read_appearance(path).lights
    (lamp,) = lamps_of(rb.load(path), [one])
    assert np.isfinite([*one.color, *one.direction, *lamp.decay]).all()
    assert one.range > 0.0
    assert 0.0 <= one.angles[0] <= one.angles[1]
    inner, outer = _row(lamp, np.eye(4))[-2:]
    assert inner > outer  # these are cosines, so the inner angle is smaller


def test_a_light_that_is_too_far_away_is_left_out():
    found = read_appearance(world(light("point", pose="1e9 0 0 0 0 0")))
    assert (found.lights, [finding.code for finding in found.findings]) == ((), ["far-light"])


def test_a_light_has_the_defaults_of_sdformat():
    (one,) = lights(world("<light name='a'/>"))
    assert (one.kind, one.range, one.attenuation, one.shadows) == (
        "point",
        10.0,
        (1.0, 1.0, 0.0),
        False,
    )
    (sun,) = lights(world(light("directional")))
    assert (sun.range, sun.attenuation) == (math.inf, (1.0, 0.0, 0.0))


@pytest.mark.parametrize("pose", ["", "<pose>0 0 7 0 0 0</pose>"])
def test_a_world_includes_the_light_of_a_file(pose, tmp_path):
    """If the include has a pose, it replaces the pose of the light."""
    (tmp_path / "sun").mkdir()
    (tmp_path / "sun/model.sdf").write_text(f"<sdf version='1.6'>{light('directional')}</sdf>")
    included = f"<include><uri>model://sun</uri>{pose}</include>"
    path = tmp_path / "w.sdf"
    path.write_text(world(included + model("")))
    (one,) = read_appearance(path, package_dirs=[tmp_path]).lights
    assert (one.kind, one.link, one.pos) == ("directional", "world", (0, 0, 7 if pose else 5))
    findings = rb.load(path, package_dirs=[tmp_path]).findings
    assert [f.message for f in findings if "light" in f.message or "include" in f.message] == []
    path.write_text(f"<sdf version='1.6'><model name='m'>{included}</model></sdf>")
    with pytest.raises(DescriptionError, match="lights of a world, are included"):
        rb.load(path, package_dirs=[tmp_path])


def test_a_world_with_lights_gets_no_note_about_them(tmp_path):
    path = tmp_path / "w.sdf"
    path.write_text(world(light("point", "<specular>1 1 1 1</specular>") + model(light("spot"))))
    assert [f.message for f in rb.load(path).findings if "light" in f.message] == []


MJCF = """<mujoco><default><light diffuse="0.5 0.5 0.5" castshadow="false"/></default><worldbody>
  <light pos="0 0 3" dir="0 0 -2" directional="true"/>
  <light active="false"/>
  <body name="b" pos="0 0 9"><freejoint/><geom size="0.1"/>
    <frame pos="0 0 1" euler="0 0 90">
      <light pos="1 0 0" dir="1 0 0" cutoff="30" attenuation="1 0 0.5" castshadow="true"/>
    </frame></body></worldbody></mujoco>"""


def test_the_lights_of_an_mjcf_are_read():
    sun, lamp = lights(MJCF)
    assert (sun.kind, sun.link, sun.color, sun.shadows) == (
        "directional",
        "world",
        (0.5,) * 3,
        False,
    )
    assert sun.direction == (0.0, 0.0, -1.0)
    assert (lamp.kind, lamp.link, lamp.shadows) == ("spot", "b", True)
    assert lamp.pos == pytest.approx((0.0, 1.0, 1.0))
    assert lamp.direction == pytest.approx((0.0, 1.0, 0.0))
    assert lamp.angles[1] == pytest.approx(math.radians(30.0))
    assert lamp.brightness(2.0) == 1.0 / 3.0
    assert rb.load_urdf(MJCF).findings == ()


def test_a_scene_has_the_lights_of_its_robots(tmp_path):
    (tmp_path / "lamp.xml").write_text(MJCF)
    path = tmp_path / "scene.yaml"
    path.write_text("rbdyn_scene: 1\nrobots:\n  left: {file: lamp.xml}\n")
    found = read_appearance(path).lights
    assert [one.link for one in found] == ["left/world", "left/b"]


def test_a_light_of_an_mjcf_ends_at_its_range_and_warns_of_unused_values():
    text = (
        "<mujoco><worldbody><light range='4' mode='targetbody' target='b' intensity='3'/>"
        "<light range='-4'/><light range='4' directional='true'/></worldbody></mujoco>"
    )
    found = read_appearance(text)
    assert [one.range for one in found.lights] == [4.0, 1e-3, math.inf]
    owner = "light of the world:"
    assert [finding.message for finding in found.findings] == [
        f"{owner} the mode 'targetbody' is not used: the light is fixed",
        f"{owner} intensity, target: not used",
    ]


def test_a_scene_names_lights_beyond_the_limit_and_draws_lights_of_links(tmp_path):
    """An object loses the light of its world element, which does not count towards the limit."""
    (tmp_path / "lamp.xml").write_text(MJCF)
    names = range(MOST_LIGHTS + 1)
    objects = "".join(f"  o{k}: {{file: lamp.xml, xyz: [{k}, 0, 5]}}\n" for k in names)
    path = tmp_path / "scene.yaml"
    path.write_text(f"rbdyn_scene: 1\nobjects:\n{objects}")
    found = read_appearance(path)
    assert [one.link for one in found.lights] == [f"o{k}" for k in range(MOST_LIGHTS)]
    assert "many-lights" in [finding.code for finding in found.findings]
