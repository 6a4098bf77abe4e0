# SPDX-License-Identifier: Apache-2.0
"""`<collision>` elements become geometries if contact is wanted, and bad elements are refused."""

import math

import numpy as np
import pytest
from support import robots
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description import robot_files
from rbdyn_ros.description.parts.geometries import (
    FLOOR,
    Box,
    Capsule,
    Contact,
    Cylinder,
    Geometry,
    Obstacle,
    Plane,
    Sphere,
    Surface,
)
from rbdyn_ros.description.parts.poses import Pose, pose
from rbdyn_ros.errors import DescriptionError, ParameterError
from rbdyn_ros.share import bundled_robot

MASS = (
    '<inertial><mass value="2"/>'
    '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>'
)


def robot(*collisions):
    """Return a URDF with collisions of link 'a', the child of 'root', on lines 2, 3, ..."""
    lines = "\n".join(collisions)
    return (
        '<robot name="r" version="1.1"><link name="root"/>'
        f'<link name="a">{MASS}\n{lines}\n</link>\n'
        '<joint name="j" type="continuous"><parent link="root"/><child link="a"/></joint></robot>'
    )


def shape(text, more=""):
    return f"<collision{more}><geometry>{text}</geometry></collision>"


def test_shapes_names_and_origins_are_read():
    read = robot_files.read(
        robot(
            shape('<box size="1 2 3"/>'),
            '<collision name="tip"><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><geometry>'
            '<sphere radius="0.5"/></geometry></collision>',
            shape('<cylinder radius="0.1" length="2"/>'),
            shape('<capsule radius="0.1" length="2"/>', ' name="tip"'),
            shape('<sphere radius="1"/>', ' name="a_1"'),
        ),
        contact=True,
    )
    assert read.geometries == (
        Geometry("a", "a", Box((1.0, 2.0, 3.0)), line=2),
        Geometry("tip", "a", Sphere(0.5), pose((1, 2, 3), (0.1, 0.2, 0.3)), line=3),
        Geometry("a_1", "a", Cylinder(0.1, 2.0), line=4),
        Geometry("tip_1", "a", Capsule(0.1, 2.0), line=5),
        Geometry("a_1_1", "a", Sphere(1.0), line=6),
    )
    assert read.obstacles == (FLOOR,)
    assert read.findings == ()


def test_collisions_are_ignored_without_contact():
    broken = robot("<collision><geometry><mesh filename='/etc/passwd' scale='nan'/></geometry>"
                   "</collision>")  # fmt: skip
    assert robot_files.read(broken) == robot_files.read(robot())
    assert robot_files.read(broken).geometries == robot_files.read(broken).obstacles == ()


def test_a_link_without_collisions_has_no_geometries_and_no_findings():
    read = robot_files.read(robot(), contact=True)
    assert read.geometries == ()
    assert read.findings == ()


BOX, BALL = '<box size="1 1 1"/>', '<sphere radius="1"/>'
KNOWN = "'box', 'sphere', 'cylinder', 'capsule', 'mesh'"


@pytest.mark.parametrize(
    ("collision", "refusal"),
    [
        (shape('<box size="1 1"/>'), ("bad-number", "link 'a'")),
        (shape('<box size="1 nan 1"/>'), ("not-finite", "link 'a'")),
        (shape("<box/>"), ("missing-attribute", "link 'a'")),
        (shape('<sphere radius="1,5"/>'),
         ("bad-number", "link 'a'")),
        (shape('<cylinder radius="1"/>'), ("missing-attribute", "link 'a'")),
        (shape('<capsule length="1"/>'), ("missing-attribute", "link 'a'")),
        (shape("<mesh/>"), ("missing-attribute", "link 'a'")),
        (shape('<mesh filename=" "/>'), ("missing-attribute", "link 'a'")),
        (shape('<mesh filename="a.stl" scale="1 0 1"/>'),
         ("zero-scale", "link 'a'")),
        (shape('<bux size="1 1 1"/>'),
         ("unknown-shape", "link 'a'")),
        (shape("<heightmap/>"),
         ("unknown-shape", "link 'a'")),
        (shape(""),
         ("missing-element", "link 'a'")),
        ("<collision/>", ("missing-element", "link 'a'")),
        (shape(BOX + BALL),
         ("duplicate-element", "link 'a'")),
        (f"<collision><geometry>{BOX}</geometry><geometry/></collision>",
         ("duplicate-element", "link 'a'")),
        (f'<collision><origin xyz="1"/><geometry>{BOX}</geometry></collision>',
         ("bad-number", "link 'a'")),
    ],
)  # fmt: skip
def test_bad_collisions_are_refused(collision, refusal):
    with refused(DescriptionError, *refusal, line=2):
        robot_files.read(robot(collision), contact=True)


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ('<box size="1 -1 1"/>', ("non-positive-size", "geometry 'a'")),
        ('<sphere radius="0"/>', ("non-positive-radius", "geometry 'a'")),
        ('<cylinder radius="1" length="-2"/>', ("non-positive-length", "geometry 'a'")),
        ('<capsule radius="1" length="1e6"/>', ("out-of-range", "geometry 'a'")),
    ],
)
def test_bad_sizes_are_refused(text, refusal):
    with refused(DescriptionError, *refusal, line=2):
        robot_files.read(robot(shape(text)), contact=True)


def test_all_errors_are_reported_in_the_order_of_the_text():
    text = robot(shape('<box size="1"/>'), shape(BOX), shape('<sphere radius="-1"/>'))
    codes = ["bad-number", "non-positive-radius"]
    with refused(DescriptionError, codes, "link 'a'", line=2) as caught:
        robot_files.read(text, contact=True)
    second = caught.value.findings[1]
    assert (second.element, second.line) == ("geometry 'a_1'", 4)


def test_an_unknown_shape_can_be_left_out():
    read = robot_files.read(robot(shape("<cone/>"), shape(BOX)), contact=True, strict=False)
    assert [geometry.name for geometry in read.geometries] == ["a"]
    (finding,) = read.findings
    assert (finding.severity, finding.line) == ("warning", 2)
    assert (finding.code, finding.element, finding.found) == ("unknown-shape", "link 'a'", "cone")


def test_a_broken_link_is_not_reported_again_for_its_collisions():
    text = robot(shape(BOX)).replace('<mass value="2"/>', "")
    with refused(DescriptionError, "missing-element", "link 'a'", line=1):
        robot_files.read(text, contact=True)


def test_entities_and_deeply_nested_elements_in_collisions_are_refused():
    with refused(DescriptionError, "doctype"):
        robot_files.read('<!DOCTYPE r [<!ENTITY x "y">]>' + robot(shape(BOX)), contact=True)
    deep = "<x>" * 100 + "</x>" * 100
    with refused(DescriptionError, "too-deep"):
        robot_files.read(robot(shape(deep)), contact=True)


def test_a_contact_sets_obstacles_and_surfaces():
    contact = Contact(
        obstacles=(Obstacle("hill", Sphere(1.0), friction=0.5),),
        surface=Surface(friction=0.4),
        surfaces={"tip": Surface(friction=0.3)},
    )
    text = robot(shape(BOX), shape(BALL, ' name="tip"'))
    read = robot_files.read(text, contact=contact)
    assert read.obstacles == contact.obstacles
    assert [geometry.surface.friction for geometry in read.geometries] == [0.4, 0.3]
    with refused(DescriptionError, "unknown-geometry", "contact", found="tap"):
        robot_files.read(text, contact=Contact(surfaces={"tap": Surface()}))


# geometries through load_urdf, load and build


@pytest.mark.parametrize("load", [rb.load_urdf, rb.load])
def test_geometries_are_read_only_with_the_argument_contact(load, tmp_path):
    path = tmp_path / "r.urdf"
    path.write_text(robot(shape(BOX), shape(BALL)))
    assert load(path).ngeom == 0
    m = load(path, contact=True)
    assert (m.ngeom, m.nobstacle, m.geom_names) == (3, 1, ("a", "a_1", "floor"))
    assert [f.severity for f in m.findings if f.code == "geometries"] == ["note"]
    with refused(ParameterError, "bad-contact"):
        load(path, contact="on")


def test_a_saved_model_refuses_contact_and_floating_base(tmp_path):
    m = rb.load_urdf(robot(shape(BOX)), contact=True)
    rb.save(m, tmp_path / "m.npz")
    assert rb.load(tmp_path / "m.npz").ngeom == 2
    for name in ("contact", "floating_base"):
        with refused(ParameterError, f"bad-{name}", name):
            rb.load(tmp_path / "m.npz", **{name: True})


def test_load_adds_a_floating_base():
    path = bundled_robot("seven_dof_arm")
    m = rb.load(path, floating_base="sixdof_fp")
    assert m.sha256() == rb.load_urdf(path, floating_base="sixdof_fp").sha256()
    assert (m.nq, m.nv) == (14, 13)


def test_a_robot_without_collisions_gets_a_warning():
    (finding,) = rb.load_urdf(robot(), contact=True).findings
    assert (finding.severity, finding.code) == ("warning", "no-geometries")


# methods of the builder


def builder():
    return (
        rb.SystemBuilder("cart", base="ground")
        .body("box", rb.shapes.box((1, 1, 1), mass=2.0))
        .joint("j", "floating", "ground", "box")
        .geometry("hull", "box", Box((1, 1, 1)), origin=rb.pose((0, 0, 1)), surface=Surface(0.2))
        .floor(-0.5, friction=0.3)
        .obstacle("ball", Sphere(0.2), origin=rb.pose((1, 0, 0)))
    )


def test_the_builder_adds_geometries_and_obstacles():
    built = builder().description()
    assert built.geometries == (
        Geometry("hull", "box", Box((1, 1, 1)), Pose((0.0, 0.0, 1.0)), Surface(0.2)),
    )
    assert built.obstacles == (
        Obstacle("floor", Plane(), Pose((0.0, 0.0, -0.5)), 0.3),
        Obstacle("ball", Sphere(0.2), Pose((1.0, 0.0, 0.0)), math.inf),
    )
    m = rb.build(builder())
    assert (m.ngeom, m.nobstacle) == (3, 2)


@pytest.mark.parametrize(
    ("call", "refusal"),
    [
        (
            lambda b: b.geometry("", "box", Sphere(1.0)),
            ("bad-argument", ""),
        ),
        (
            lambda b: b.geometry("g", "box", Plane()),
            ("bad-argument", ""),
        ),
        (
            lambda b: b.geometry("g", "box", Sphere(1.0), surface=0.5),
            ("bad-argument", ""),
        ),
        (lambda b: b.floor("low"), ("bad-argument", "")),
        (
            lambda b: b.floor(friction=math.nan),
            ("bad-argument", ""),
        ),
        (
            lambda b: b.obstacle("o", "can"),
            ("bad-argument", ""),
        ),
        (
            lambda b: b.obstacle("o", Plane(), origin=(0, 0, 1)),
            ("bad-argument", ""),
        ),
    ],
)
def test_wrong_arguments_of_the_builder_are_refused(call, refusal):
    with refused(ParameterError, *refusal):
        call(builder())


# the floating base


@pytest.mark.parametrize("kind", ["sixdof_fp", "sixdof_fs", "floating"])
def test_a_floating_base_may_have_another_type(kind):
    text = robot().replace('<link name="root"/>', f'<link name="root">{MASS}</link>')
    m = rb.load_urdf(text, floating_base=kind)
    assert m.jnt_names == ("root_joint", "j")
    assert m.jnt_type[0] == {"sixdof_fp": 12, "sixdof_fs": 13, "floating": 0}[kind]
    assert not m.jnt_actuated[0]
    if kind == "floating":
        assert m.sha256() == rb.load_urdf(text, floating_base=True).sha256()
    assert rb.mass_matrix(m, rb.make_data(m)).shape == (7, 7)


@pytest.mark.parametrize(
    ("value", "hint"),
    [("sixdof", " (did you mean 'sixdof_fs'?)"), ("revolute", ""), (5, ""), (None, "")],
)
def test_unknown_floating_bases_are_refused(value, hint):
    with refused(ParameterError, "bad-argument", found=repr(value)) as caught:
        rb.load_urdf(robot(), floating_base=value)
    assert hint in str(caught.value)


# real robots


@robots.needs_robots
@pytest.mark.parametrize(
    ("paths", "number"),
    [(robots.FAMILIES, 591), pytest.param(robots.LOADABLE, 1606, marks=pytest.mark.nightly)],
    ids=["families", "all"],
)
def test_every_real_robot_is_read_with_all_its_meshes(paths, number):
    """No mesh in these files is missing or broken."""
    read = 0
    for path in paths:
        description = robot_files.read(path, strict=False, contact=True)
        lost = [f for f in description.findings if f.message.endswith("is left out")]
        assert lost == [], path.name
        read += len(description.geometries)
        if path.name == "talos_reduced.urdf":
            assert len(description.geometries) == 52
    assert read == number


@robots.needs_robots
@pytest.mark.parametrize("name", ["talos_reduced.urdf", "ur5_robot.urdf", "go2.urdf"])
def test_real_robots_become_models(name):
    m = rb.load_urdf(robots.find(name), floating_base="sixdof_fp", strict=False, contact=True)
    assert m.ngeom > 0
    assert (m.geom_mass0[: m.ngeommoving] > 0.0).all()
    assert not m.geom_mass0[m.ngeommoving :].any()
    # geom_mass0 is the effective mass at a corner of a geometry
    assert m.geom_mass0.max() < 2.0 * m.body_subtreemass[1]
    assert np.isfinite(m.vert_pos).all()
