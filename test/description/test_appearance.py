# SPDX-License-Identifier: Apache-2.0
"""`<visual>` and `<collision>` give shapes, colours and meshes; broken elements give warnings."""

from xml.etree import ElementTree as ET

import numpy as np
import pytest
from support import robots
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description.appearance import findings as looks_warnings
from rbdyn_ros.description.appearance import shapes
from rbdyn_ros.description.appearance.shapes import (
    Appearance,
    LinkShape,
    MeshFile,
    Placeholder,
    read_appearance,
)
from rbdyn_ros.description.parts.geometries import Box, Capsule, Cylinder, Points, Sphere
from rbdyn_ros.description.parts.poses import pose
from rbdyn_ros.errors import DescriptionError, ParameterError

BOX = '<box size="1 2 3"/>'


def visual(shape=BOX, more="", kind="visual"):
    return f"<{kind}>{more}<geometry>{shape}</geometry></{kind}>"


def robot(*parts, materials=""):
    """Return a URDF in which the parts of link 'a' are on lines 2, 3, ..."""
    head = f'<robot name="r" version="1.1">{materials}<link name="a">'
    return "\n".join([head, *parts, "</link></robot>"])


def mesh(name, scale="1 1 1"):
    return f'<mesh filename="{name}" scale="{scale}"/>'


@pytest.fixture
def folder(tmp_path):
    """Make a ROS package `pack` with meshes/m.stl and a folder urdf/; return urdf/."""
    (tmp_path / "pack/urdf").mkdir(parents=True)
    (tmp_path / "pack/meshes").mkdir()
    (tmp_path / "pack/package.xml").write_text("<package><name>pack</name></package>")
    (tmp_path / "pack/meshes/m.stl").write_bytes(b"nobody reads this")
    return tmp_path / "pack/urdf"


# existing elements


def test_shapes_and_origins_of_visuals_and_collisions_are_read():
    origin = '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>'
    read = read_appearance(
        robot(
            visual(),
            visual('<sphere radius="0.5"/>', origin),
            visual('<cylinder radius="0.1" length="2"/>', kind="collision"),
            visual('<capsule radius="0.1" length="2"/>', origin, kind="collision"),
        )
    )
    turned = pose((1, 2, 3), (0.1, 0.2, 0.3))
    assert read == Appearance(
        visuals=(LinkShape("a", Box((1.0, 2.0, 3.0))), LinkShape("a", Sphere(0.5), turned)),
        collisions=(LinkShape("a", Cylinder(0.1, 2.0)), LinkShape("a", Capsule(0.1, 2.0), turned)),
    )


def test_a_robot_without_visuals_has_no_appearance():
    assert read_appearance('<robot name="r"><link name="a"/></robot>') == Appearance()
    assert read_appearance("<robot/>") == Appearance()


# colours

RED, BLUE = (1.0, 0.0, 0.0, 1.0), (0.0, 0.0, 1.0, 0.5)
NAMED = '<material name="red"><color rgba="1 0 0 1"/></material>'


def colors(*materials, named=NAMED):
    read = read_appearance(robot(*(visual(more=text) for text in materials), materials=named))
    assert len(read.visuals) == len(materials)
    return [look.color for look in read.visuals], read.findings


@pytest.mark.parametrize(
    ("material", "color"),
    [
        ("", None),
        ('<material name="red"/>', RED),
        ('<material name=" red "/>', RED),
        ('<material name="unknown"/>', None),
        ("<material/>", None),
        ('<material name=""><color rgba="0 0 1 .5"/></material>', BLUE),
        ('<material><color rgba="0 0 1 0.5"/></material>', BLUE),
        ('<material name="blue"><color rgba="0 0 1 0.5"/></material>', BLUE),
        # of two materials with one name the first is used, as in urdfdom
        ('<material name="red"><color rgba="0 0 1 0.5"/></material>', RED),
        ('<material name="x"><texture filename="/etc/passwd"/></material>', None),
        ('<material name="x"><texture filename="a.png"/><color rgba="1 0 0 1"/></material>', RED),
        ('<material><color rgba="255 -1 0 7"/></material>', RED),
    ],
)
def test_a_material_has_its_color(material, color):
    found, findings = colors(material)
    assert found == [color]
    codes = ["mesh-format"] if "passwd" in material else ["mesh-outside"] * ("a.png" in material)
    assert [finding.code for finding in findings] == codes


def test_a_visual_can_name_the_material_of_another_visual():
    defined = '<material name="blue"><color rgba="0 0 1 0.5"/></material>'
    assert colors('<material name="blue"/>', defined) == ([BLUE, BLUE], ())


@pytest.mark.parametrize("rgba", ["1 0 0", "1 0 0 1 1", "", "1 0 0 nan", "1 0 0 1e999", "a b c d"])
def test_an_invalid_color_gets_a_warning(rgba):
    read, (finding,) = colors(f'<material><color rgba="{rgba}"/></material>')
    assert read == [None]
    assert (finding.severity, finding.line) == ("warning", 2)
    assert (finding.code, finding.element, finding.found) == ("bad-color", "link 'a'", rgba)


def test_collisions_have_no_colors():
    text = robot(visual(more='<material name="red"/>', kind="collision"), materials=NAMED)
    assert read_appearance(text).collisions == (LinkShape("a", Box((1.0, 2.0, 3.0))),)


# broken elements


@pytest.mark.parametrize("kind", ["visual", "collision"])
@pytest.mark.parametrize(
    ("broken", "code"),
    [
        (visual('<box size="1 nan 1"/>'), "not-finite"),
        (visual('<box size="1e300 1 1"/>'), "out-of-range"),
        (visual('<box size="1 -1 1"/>'), "non-positive-size"),
        (visual('<sphere radius="0"/>'), "non-positive-radius"),
        (visual("<capsule radius='1'/>"), "missing-attribute"),
        (visual("<mesh/>"), "missing-attribute"),
        (visual(mesh("m.stl", "0 1 1")), "zero-scale"),
        (visual(mesh("m.stl", "inf 1 1")), "not-finite"),
        (visual("<bux/>"), "unknown-shape"),
        ("<visual/>", "missing-element"),
        (visual(BOX + BOX), "duplicate-element"),
        (visual(more='<origin xyz="nan 0 0"/>'), "not-finite"),
        (visual(more='<origin xyz="0 0 1e6"/>'), "out-of-range"),
    ],
)
def test_a_broken_element_is_left_out_with_a_warning(broken, code, kind):
    broken = broken.replace("visual", kind)
    read = read_appearance(robot(visual(kind=kind), broken, visual(kind=kind)))
    kept = read.visuals if kind == "visual" else read.collisions
    assert kept == (LinkShape("a", Box((1.0, 2.0, 3.0))),) * 2
    (finding,) = read.findings
    assert (finding.severity, finding.line) == ("warning", 3)
    assert (finding.code, finding.element) == (code, "link 'a'")


def test_the_numbers_of_shapes_and_findings_are_limited(monkeypatch):
    monkeypatch.setattr(shapes, "MOST_SHAPES", 5)
    monkeypatch.setattr(looks_warnings, "MOST_FINDINGS", 3)
    read = read_appearance(robot(*["<visual/>"] * 4, *[visual()] * 4))
    assert len(read.visuals) == 1
    assert len(read.findings) == 4
    assert read.findings[-1].code == "more-warnings"
    read = read_appearance(robot(*[visual()] * 6))
    assert [(finding.code, finding.line) for finding in read.findings] == [("many-looks", 7)]
    assert len(read.visuals) == 5


def test_a_huge_number_of_broken_elements_is_reported():
    read = read_appearance(robot("<visual/>" * 400_000))
    assert read.visuals == ()
    assert len(read.findings) == looks_warnings.MOST_FINDINGS + 1


def test_documents_that_are_not_robot_files_are_refused(tmp_path):
    for text in (
        "<robot",
        "<sdf version='1.2'/>",
        b"\xff<robot/>",
        '<!DOCTYPE r [<!ENTITY x "y">]><robot/>',
    ):
        with pytest.raises(DescriptionError):
            read_appearance(text)
    with refused(DescriptionError, "no-such-file"):
        read_appearance(tmp_path / "none.urdf")
    with refused(ParameterError, "not-a-source"):
        read_appearance(7)


# meshes


def test_visual_meshes_are_found_like_collision_meshes(folder):
    text = robot(
        visual(mesh("package://pack/meshes/m.stl")),
        visual(mesh("../meshes/m.stl", "-1 0.001 2"), kind="collision"),
        visual(mesh(f"file://{folder.parent}/meshes/m.stl")),
    )
    path = folder / "r.urdf"
    path.write_text(text)
    found = folder.parent / "meshes/m.stl"
    expected = Appearance(
        visuals=(LinkShape("a", MeshFile(found)),) * 2,
        collisions=(LinkShape("a", MeshFile(found, (-1.0, 0.001, 2.0))),),
    )
    assert read_appearance(path) == read_appearance(str(path)) == expected
    assert (
        read_appearance(text, folder=folder)
        == read_appearance(text.encode(), folder=folder)
        == expected
    )
    only_text = read_appearance(text, package_dirs=[folder.parent])
    assert [type(look.shape) for look in only_text.visuals] == [MeshFile, Placeholder]


def test_missing_meshes_have_placeholders_and_one_warning(folder):
    names = ["none.stl", "package://other/m.stl", "none.stl", "m.ply", "http://host/m.stl"]
    text = robot(
        *(visual(mesh(name)) for name in names), visual(mesh("none.stl"), kind="collision")
    )
    read = read_appearance(text, folder=folder)
    assert [look.shape for look in read.visuals] == [Placeholder(name) for name in names]
    assert [look.shape for look in read.collisions] == [Placeholder("none.stl")]
    (finding,) = read.findings
    assert (finding.severity, finding.code, finding.line) == ("warning", "missing-meshes", 2)
    assert "4 meshes" in finding.message
    assert "'none.stl', 'package://other/m.stl', 'm.ply', ... (4 in all)" in finding.message


def test_a_missing_mesh_is_reported(folder):
    (finding,) = read_appearance(robot(visual(mesh("package://p/m.stl"))), folder=folder).findings
    assert (finding.severity, finding.code) == ("warning", "missing-meshes")
    assert "'package://p/m.stl'" in finding.message


@pytest.mark.parametrize(
    "name",
    [
        "../../../../../etc/passwd", "../../../secret.stl", "file:///etc/passwd.stl",
        "package://../secret.stl", "package://pack/../../secret.stl", "%00.stl",
        "file:///%00.stl", "http://host/m.stl", "x" * 5000 + ".stl", "~/m.stl", "{0}.stl", " .stl",
    ],
)  # fmt: skip
def test_meshes_outside_the_folder_become_placeholders(folder, name):
    (folder.parent.parent / "secret.stl").write_bytes(b"")
    read = read_appearance(robot(visual(mesh(name))), folder=folder)
    assert read.visuals == (LinkShape("a", Placeholder(name[:200])),)
    assert len(read.findings) == 1


# other files


def test_the_appearance_of_xacro_files_mechanisms_and_saved_models_is_read(folder):
    pytest.importorskip("xacro")
    xacro = robot(
        visual("<box size='${0.5 * 2} 2 3'/>"), visual(mesh("../meshes/m.stl"), kind="collision")
    ).replace("<robot", '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"')
    (folder / "r.xacro").write_text(xacro)
    read = read_appearance(folder / "r.xacro")
    file = LinkShape("a", MeshFile(folder.parent / "meshes/m.stl"))
    assert read == Appearance((LinkShape("a", Box((1.0, 2.0, 3.0))),), (file,))
    (folder / "m.yaml").write_text(
        "rbdyn_mechanism: 1\nrobot: r.xacro\ngeometries:\n"
        "  toe: {link: a, sphere: {radius: 0.02}, xyz: [1, 0, 0]}\n"
        "  bad: {link: a, sphere: {radius: -1}}\n"
        "  body: {link: a, points: [[0, 0, 0], [1, 0, 0]]}\n"
        "  lost: {link: a, mesh: {file: none.stl}}\n"
    )
    mechanism = read_appearance(folder / "m.yaml")
    assert mechanism.visuals == read.visuals
    assert mechanism.collisions == (
        file,
        LinkShape("a", Sphere(0.02), pose((1, 0, 0))),
        LinkShape("a", Points(((0.0, 0.0, 0.0), (1.0, 0.0, 0.0)))),
    )
    assert [finding.line for finding in mechanism.findings] == [5, 7]
    (folder / "kept.npz").write_bytes(b"")
    assert read_appearance(folder / "kept.npz") == Appearance()


def test_the_links_are_frames_of_the_model():
    path = robots.find("go2.urdf")
    m = rb.load_urdf(path, strict=False)
    read = read_appearance(path)
    assert {look.link for look in read.visuals + read.collisions} <= set(m.frame_names)


# real robots


@robots.needs_robots
def test_every_visual_and_collision_of_the_real_robots_is_read():
    """Only 20 meshes, of one robot and in a format of OGRE, cannot be read."""
    lost = {}
    for path in robots.FILES:
        read, root = read_appearance(path), ET.parse(path).getroot()
        for kind, found in (("visual", read.visuals), ("collision", read.collisions)):
            links = [link.get("name") for link in root.iter("link") for _ in link.iter(kind)]
            assert [look.link for look in found] == links, path.name
        missing = sum(isinstance(look.shape, Placeholder) for look in read.visuals)
        if missing or read.findings:
            lost[path.name] = (missing, len(read.findings))
    assert lost == {"romeo_laas_small.urdf": (20, 1)}


@robots.needs_robots
@pytest.mark.parametrize(
    "name", ["ur5_robot.urdf", "panda.urdf", "talos_reduced.urdf", "kinova.urdf"]
)
def test_pinocchio_reads_the_same_visuals(name):
    """Count, poses and colours agree with Pinocchio, whose urdfdom reads single precision."""
    pin = pytest.importorskip("pinocchio")
    path = robots.find(name)
    read, model = read_appearance(path), pin.buildModelFromUrdf(str(path))
    packages = [str(robots.FOLDER.parent.parent)]
    colored = 0
    for kind, found in ((pin.VISUAL, read.visuals), (pin.COLLISION, read.collisions)):
        objects = pin.buildGeomFromUrdf(
            model, str(path), kind, package_dirs=packages
        ).geometryObjects
        assert len(objects) == len(found) > 5
        waiting = {look.link: [x for x in found if x.link == look.link] for look in found}
        for shown in objects:
            frame = model.frames[shown.parentFrame]
            look = waiting[frame.name].pop(0)
            placed = frame.placement.inverse() * shown.placement
            w, *xyz = look.origin.quat
            rotation = pin.Quaternion(np.array([*xyz, w])).matrix()
            assert np.allclose(placed.translation, look.origin.pos, atol=1e-12)
            assert np.allclose(placed.rotation, rotation, atol=1e-12)
            if look.color is not None:
                colored += 1
                assert np.allclose(shown.meshColor, look.color, atol=1e-6)
    assert colored == {"talos_reduced.urdf": 51, "kinova.urdf": 11}.get(name, 0)
