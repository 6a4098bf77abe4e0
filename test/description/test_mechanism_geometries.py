# SPDX-License-Identifier: Apache-2.0
"""Geometries, obstacles and the floor are read from mechanism files."""

import math

import numpy as np
import pytest
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description.mechanism_files import mechanism
from rbdyn_ros.description.parts.geometries import (
    FLOOR,
    Box,
    Capsule,
    Contact,
    Cylinder,
    Geometry,
    Obstacle,
    Plane,
    Points,
    Sphere,
    Surface,
)
from rbdyn_ros.description.parts.poses import pose
from rbdyn_ros.errors import DescriptionError

START = """\
rbdyn_mechanism: 1
base: ground
links: {a: {sphere: {radius: 1, mass: 1}}}
joints: {j: {type: floating, parent: ground, child: a}}
"""
ROBOT = """<robot name="r"><link name="root"/><link name="a"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><box size="1 1 1"/></geometry></collision></link>
<joint name="j" type="continuous"><parent link="root"/><child link="a"/></joint></robot>"""


def test_geometries_and_obstacles_are_read():
    read = mechanism.read_text(
        START
        + """
geometries:
  toe: {link: a, sphere: {radius: 0.02}, xyz: [1, 0, 0], friction: 0.6, viscosity: 2}
  sole: {link: a, box: {size: [1, 2, 3]}, rpy: [0, 0, 0.5], stiffness: 1e4, damping: 10}
  rim: {link: a, cylinder: {radius: 1, length: 2}, time_constant: 0.01, damping_ratio: 2}
  leg: {link: a, capsule: {radius: 1, length: 2}}
  tip: {link: a, points: [[0, 0, 0], [1, 0, 0]]}
floor: {height: -1, friction: 0.7}
obstacles:
  step: {box: {size: [1, 1, 0.1]}, xyz: [1, 0, 0.05], friction: 0.5}
  ramp: {plane: {}, rpy: [0.1, 0, 0], friction: .inf}
  pole: {sphere: {radius: 1}}
"""
    )
    assert read.geometries == (
        Geometry("toe", "a", Sphere(0.02), pose((1, 0, 0)), Surface(0.6, viscosity=2.0), 7),
        Geometry("sole", "a", Box((1.0, 2.0, 3.0)), pose(rpy=(0, 0, 0.5)),
                 Surface(stiffness=1e4, damping=10.0), 8),
        Geometry("rim", "a", Cylinder(1.0, 2.0), line=9,
                 surface=Surface(time_constant=0.01, damping_ratio=2.0)),
        Geometry("leg", "a", Capsule(1.0, 2.0), line=10),
        Geometry("tip", "a", Points(((0.0, 0.0, 0.0), (1.0, 0.0, 0.0))), line=11),
    )  # fmt: skip
    assert read.obstacles == (
        Obstacle("floor", Plane(), pose((0, 0, -1)), 0.7, 12),
        Obstacle("step", Box((1.0, 1.0, 0.1)), pose((1, 0, 0.05)), 0.5, 14),
        Obstacle("ramp", Plane(), pose(rpy=(0.1, 0, 0)), math.inf, 15),
        Obstacle("pole", Sphere(1.0), line=16),
    )
    assert read.findings == ()


SHAPES = "box, sphere, cylinder, capsule, points, mesh"


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("{sphere: {radius: 1}}", ("missing-key", "geometry 'g'")),
        ("{link: b, sphere: {radius: 1}}", ("unknown-link", "geometry 'g'")),
        ("{link: a}", ("bad-shape", "geometry 'g'")),
        ("{link: a, box: {size: [1, 1, 1]}, sphere: {radius: 1}}",
         ("bad-shape", "geometry 'g'")),
        ("{link: a, sphere: {}}", ("missing-key", "geometry 'g'")),
        ("{link: a, sphere: {radius: -1}}", ("non-positive-radius", "geometry 'g'")),
        ("{link: a, sphere: {radius: big}}",
         ("bad-value", "geometry 'g'")),
        ("{link: a, spere: {radius: 1}}",
         ("unknown-key", "geometry 'g'")),
        ("{link: a, sphere: {radius: 1}, friction: -1}",
         ("negative-friction", "geometry 'g'")),
        ("{link: a, mesh: {file: a.stl}}",
         ("mesh-outside", "geometry 'g'")),
        ("{link: a, mesh: {file: a.stl, scale: [1, 0, 1]}}",
         ("zero-scale", "geometry 'g'")),
        ("{link: a, points: [[0, 0]]}", ("bad-value", "geometry 'g'")),
        ("{link: a, points: []}", ("bad-points", "geometry 'g'")),
    ],
)  # fmt: skip
def test_mistakes_in_geometries_are_refused(text, refusal):
    with refused(DescriptionError, *refusal, line=6):
        mechanism.read_text(f"{START}geometries:\n  g: {text}\n")


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("obstacles: {o: {}}",
         ("bad-shape", "obstacle 'o'")),
        ("obstacles: {o: {sphere: {radius: 0}}}",
         ("non-positive-radius", "obstacle 'o'")),
        ("obstacles: {floor: {plane: {}}}\nfloor: {}",
         ("duplicate-name", "obstacle 'floor'")),
        ("floor: 5", ("bad-value", "the floor")),
        ("floor: {hight: 1}",
         ("unknown-key", "the floor")),
        ("contact: 1", ("bad-value", "")),
    ],
)  # fmt: skip
def test_mistakes_in_floor_and_obstacles_are_refused(text, refusal):
    with refused(DescriptionError, *refusal):
        mechanism.read_text(f"{START}{text}\n")


@pytest.mark.parametrize("argument", [False, True])
@pytest.mark.parametrize("said", ["", "contact: false\n", "contact: true\n"])
def test_collisions_of_the_robot_are_read(tmp_path, said, argument):
    (tmp_path / "r.urdf").write_text(ROBOT)
    path = tmp_path / "m.yaml"
    own = "geometries: {knee: {link: a, sphere: {radius: 0.1}}}\n"
    path.write_text(f"rbdyn_mechanism: 1\nrobot: r.urdf\n{said}{own}")
    m = rb.load(path, contact=argument)
    on = argument or "true" in said
    assert m.geom_names == (("a", "knee", "floor") if on else ("knee",))
    assert (m.ncontact > 0) == on


def test_an_obstacle_of_a_contact_replaces_a_namesake_in_the_file(tmp_path):
    path = tmp_path / "m.yaml"
    path.write_text(START + "contact: true\nfloor: {height: -1}\n")
    assert rb.load(path).geom_pos[-1:].tolist() == [[0.0, 0.0, -1.0]]
    more = Contact(obstacles=(Obstacle("ball", Sphere(1.0)), FLOOR))
    m = rb.load(path, contact=more)
    assert m.geom_names[m.ngeomlink :] == ("floor", "ball")
    assert m.geom_pos[m.ngeomlink :][0].tolist() == [0.0, 0.0, 0.0]


def test_a_mesh_beside_the_file_is_found(tmp_path):
    pytest.importorskip("trimesh")
    (tmp_path / "t.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\n")
    path = tmp_path / "m.yaml"
    text = START + "geometries: {g: {link: a, mesh: {file: %s, scale: [2, 1, 1]}}}\nfloor: {}\n"
    path.write_text(text % "t.obj")
    m = rb.load(path)
    corners = m.geom_pos[0] + m.vert_pos
    assert np.array_equal(np.sort(corners.sum(axis=1)), [0.0, 1.0, 1.0, 2.0])
    path.write_text(text % "none.obj")
    with refused(DescriptionError, "mesh-missing", "geometry 'g'", line=5, found="none.obj"):
        rb.load(path)
