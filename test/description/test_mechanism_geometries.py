"""Geometries, obstacles and the floor of mechanism files."""

import math

import numpy as np
import pytest

import rbdyn_ros as rb
from rbdyn_ros.description.geometries import (
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
from rbdyn_ros.description.mechanism_files import mechanism
from rbdyn_ros.description.poses import pose
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


def test_what_a_file_says():
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


def refusal(text):
    with pytest.raises(DescriptionError) as caught:
        mechanism.read_text(START + text)
    return str(caught.value)


SHAPES = "box, sphere, cylinder, capsule, points, mesh"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{sphere: {radius: 1}}", "the geometry has no key 'link'"),
        ("{link: b, sphere: {radius: 1}}", "the link 'b' does not exist"),
        ("{link: a}", f"has none of the shapes {SHAPES}; it must have one"),
        ("{link: a, box: {size: [1, 1, 1]}, sphere: {radius: 1}}",
         f"has box and sphere of the shapes {SHAPES}; it must have one"),
        ("{link: a, sphere: {}}", "the sphere has no key 'radius'"),
        ("{link: a, sphere: {radius: -1}}", "the radius is -1; it must be above 0"),
        ("{link: a, sphere: {radius: big}}",
         ("the radius of the sphere is 'big', not a finite number; write decimals such as -0.5")),
        ("{link: a, spere: {radius: 1}}",
         "the key 'spere' of the geometry is unknown (did you mean 'sphere'?)"),
        ("{link: a, sphere: {radius: 1}, friction: -1}",
         "the friction is -1; it must not be negative"),
        ("{link: a, mesh: {file: a.stl}}",
         ("the mesh 'a.stl' is a path, and a robot given as text names files of packages only")),
        ("{link: a, mesh: {file: a.stl, scale: [1, 0, 1]}}",
         "the scale of the mesh is 1 0 1; none of its numbers may be 0"),
        ("{link: a, points: [[0, 0]]}", "the point 1 has 2 numbers, not 3"),
        ("{link: a, points: []}", "has 0 points; allowed are 1 to 10000"),
    ],
)  # fmt: skip
def test_mistakes_in_geometries(text, sentence):
    assert refusal(f"geometries:\n  g: {text}\n") == f"<text>: line 6: geometry 'g': {sentence}"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("obstacles: {o: {}}",
         "obstacle 'o': has none of the shapes plane, sphere, box; it must have one"),
        ("obstacles: {o: {sphere: {radius: 0}}}",
         "obstacle 'o': the radius is 0; it must be above 0"),
        ("obstacles: {floor: {plane: {}}}\nfloor: {}",
         ("obstacle 'floor': the name is given to more than one obstacle, on lines 6 and 5; names "
          "must be unique")),
        ("floor: 5", "the floor: the floor is '5', not a table of keys"),
        ("floor: {hight: 1}",
         "the floor: the key 'hight' of the floor is unknown (did you mean 'height'?)"),
        ("contact: 1", "the contact is '1', not true or false"),
    ],
)  # fmt: skip
def test_mistakes_beside_them(text, sentence):
    assert refusal(text + "\n").endswith(f": {sentence}")


@pytest.mark.parametrize("argument", [False, True])
@pytest.mark.parametrize("said", ["", "contact: false\n", "contact: true\n"])
def test_collisions_of_the_robot(tmp_path, said, argument):
    (tmp_path / "r.urdf").write_text(ROBOT)
    path = tmp_path / "m.yaml"
    own = "geometries: {knee: {link: a, sphere: {radius: 0.1}}}\n"
    path.write_text(f"rbdyn_mechanism: 1\nrobot: r.urdf\n{said}{own}")
    m = rb.load(path, contact=argument)
    on = argument or "true" in said
    assert m.geom_names == (("a", "knee") if on else ())
    assert m.obstacle_names == (("floor",) if on else ())


def test_obstacles_of_the_file_and_of_a_contact(tmp_path):
    path = tmp_path / "m.yaml"
    path.write_text(START + "contact: true\nfloor: {height: -1}\n")
    assert rb.load(path).obstacle_pos.tolist() == [[0.0, 0.0, -1.0]]
    more = Contact(obstacles=(Obstacle("ball", Sphere(1.0)), FLOOR))
    m = rb.load(path, contact=more)
    assert m.obstacle_names == ("floor", "ball")
    assert m.obstacle_pos[0].tolist() == [0.0, 0.0, 0.0]


def test_a_mesh_beside_the_file(tmp_path):
    pytest.importorskip("trimesh")
    (tmp_path / "t.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\n")
    path = tmp_path / "m.yaml"
    text = START + "geometries: {g: {link: a, mesh: {file: %s, scale: [2, 1, 1]}}}\nfloor: {}\n"
    path.write_text(text % "t.obj")
    m = rb.load(path)
    assert np.array_equal(np.sort(m.vert_pos.sum(axis=1)), [0.0, 1.0, 1.0, 2.0])
    path.write_text(text % "none.obj")
    with pytest.raises(DescriptionError) as caught:
        rb.load(path)
    assert str(caught.value) == (
        f"{path}: line 5: geometry 'g': the mesh 'none.obj' does not exist; looked for "
        f"'{tmp_path}/none.obj'"
    )
