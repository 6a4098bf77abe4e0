# SPDX-License-Identifier: Apache-2.0
"""Mesh files are found and become hulls; broken files are refused."""

import io
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from support import robots
from support.refusals import refused

from rbdyn_ros.description import robot_files
from rbdyn_ros.description.meshes import files, hulls, meshes
from rbdyn_ros.description.meshes.files import MeshFiles, UnusableMeshError
from rbdyn_ros.description.meshes.hulls import hull_corners, reduced
from rbdyn_ros.description.meshes.meshes import Meshes
from rbdyn_ros.description.parts.geometries import Contact
from rbdyn_ros.errors import DescriptionError

trimesh = pytest.importorskip("trimesh")

ONE = (1.0, 1.0, 1.0)
CUBE = np.array([(x, y, z) for x in (0.0, 1.0) for y in (0.0, 2.0) for z in (0.0, 3.0)])


def stl(corners=CUBE):
    """Return a binary STL with one triangle for each corner."""
    triangles = [np.array([c, corners[0], corners[-1]]) for c in corners]
    body = b"".join(struct.pack("<12fH", 0, 0, 0, *triangle.ravel(), 0) for triangle in triangles)
    return b" " * 80 + struct.pack("<I", len(triangles)) + body


def solid_stl():
    """Return a binary STL of the cube with all its faces."""
    return trimesh.Trimesh(CUBE, trimesh.convex.convex_hull(CUBE).faces).export(file_type="stl")


def obj(corners=CUBE, top=""):
    lines = [f"v {x} {y} {z}" for x, y, z in corners]
    faces = [f"f 1 {k} {k + 1}" for k in range(2, len(corners))]
    return "\n".join([top, *lines, *faces]).encode()


DAE = """<?xml version="1.0"?>{doctype}
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="u" meter="{unit}"/><up_axis>{up}</up_axis></asset>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="pa" count="12">0 0 0 1 0 0 0 2 0 0 0 3</float_array>
<technique_common><accessor source="#pa" count="4" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/>
<p>0 1 2 0 1 3 0 2 3 1 2 3</p></triangles></mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node id="n"><translate>10 0 0</translate>
<rotate>0 0 1 90</rotate><instance_geometry url="#g"/></node></visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


def dae(unit="1", up="Z_UP", doctype=""):
    return DAE.format(unit=unit, up=up, doctype=doctype).encode()


@pytest.fixture
def package(tmp_path):
    """Make a ROS package `pack` with urdf/ and meshes/, and a file outside; return `pack`."""
    folder = tmp_path / "pack"
    (folder / "urdf").mkdir(parents=True)
    (folder / "meshes").mkdir()
    (folder / "package.xml").write_text("<package><name>pack</name></package>")
    (folder / "meshes/cube.stl").write_bytes(stl())
    (tmp_path / "secret.stl").write_bytes(stl())
    return folder


def points(folder, name, scale=ONE, **options):
    return np.array(Meshes(MeshFiles(folder, **options)).points(name, scale).points)


def trouble(folder, name, scale=ONE, **options):
    """Return the code of the error that reading a mesh raises."""
    with pytest.raises(UnusableMeshError) as caught:
        points(folder, name, scale, **options)
    return caught.value.code


def same(found, expected, atol=1e-12):
    found, expected = (rows[np.lexsort(rows.round(5).T)] for rows in (found, np.asarray(expected)))
    assert np.allclose(found, expected, atol=atol)


# formats


def test_cubes_in_stl_and_obj_are_equal(package):
    (package / "urdf/cube.OBJ").write_bytes(obj())
    text = "solid x\n" + "".join(
        f"facet normal 0 0 0\nouter loop\nvertex {a}\nvertex {b}\nvertex {c}\nendloop\nendfacet\n"
        for a, b, c in [("0 0 0", "1 0 0", "0 1 0"), ("0 0 0", "0 0 1", "1 0 0")]
    )
    (package / "urdf/text.stl").write_text(text + "endsolid x\n")
    same(points(package / "urdf", "cube.OBJ"), CUBE)
    same(points(package / "urdf", "../meshes/cube.stl"), CUBE)
    same(points(package / "urdf", "text.stl"), [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)])


@pytest.mark.parametrize("title", [b"Stra\xdfe", b"\xff\xfe", "\u8f6e".encode()])
def test_titles_and_comments_can_have_any_encoding(package, title):
    """A binary file can also begin with the word `solid`."""
    corners = "".join(f"vertex {x} {y} {z}\n" for x, y, z in [*CUBE, CUBE[0]])
    text = b"\r\nsolid " + title + b"\n" + corners.encode() + b"endsolid " + title + b"\n"
    (package / "text.stl").write_bytes(text)
    (package / "binary.stl").write_bytes((b"solid " + title).ljust(80) + stl()[80:])
    (package / "comment.obj").write_bytes(b"# " + title + b"\ng " + title + b"\n" + obj())
    for name in ("text.stl", "binary.stl", "comment.obj"):
        same(points(package, name), CUBE)


@pytest.mark.parametrize("up", ["Z_UP", "Y_UP"])
@pytest.mark.parametrize("unit", ["1", "0.001"])
def test_unit_and_scene_of_a_dae_are_applied(package, unit, up):
    """The node rotates x to y and y to -x, and translates. As in RViz, the up axis is ignored."""
    pytest.importorskip("collada")
    (package / "urdf/m.dae").write_bytes(dae(unit, up))
    placed = np.array([(10, 0, 0), (10, 1, 0), (8, 0, 0), (10, 0, 3)])
    # pycollada has single precision
    same(points(package / "urdf", "m.dae"), float(unit) * placed, atol=float(unit) * 1e-6)


def test_a_negative_scale_mirrors_a_mesh(package):
    same(points(package, "meshes/cube.stl", (-1.0, 0.001, 2.0)), CUBE * (-1.0, 0.001, 2.0))


def test_a_flat_mesh_and_a_line_have_corners_and_a_point_is_refused(package):
    square = np.array([(0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1), (0.5, 0.5, 1)], float)
    (package / "flat.obj").write_bytes(obj(square))
    (package / "line.obj").write_bytes(obj(np.outer([0.0, 1.0, 2.0], ONE)))
    (package / "dot.obj").write_bytes(obj(np.ones((3, 3))))
    same(points(package, "flat.obj"), square[:4])
    same(points(package, "line.obj"), [(0, 0, 0), (2, 2, 2)])
    assert trouble(package, "dot.obj") == "bad-mesh"


def test_a_file_is_read_once(package, monkeypatch):
    read = []
    original = meshes.read_bytes
    monkeypatch.setattr(meshes, "read_bytes", lambda *a: read.append(a[0]) or original(*a))
    all_of_one = Meshes(MeshFiles(package))
    for scale in (ONE, ONE, (2.0, 1.0, 1.0)):
        all_of_one.points("meshes/cube.stl", scale)
    all_of_one.points("package://pack/meshes/cube.stl", ONE)
    assert read == [package / "meshes/cube.stl"]


# hulls


def ball(n, seed=0):
    x = np.random.default_rng(seed).normal(size=(n, 3))
    return x / np.linalg.norm(x, axis=1)[:, None]


def test_inner_points_are_left_out():
    same(hull_corners(np.concatenate([0.3 * ball(200) + (0.5, 1, 1.5), CUBE, CUBE])), CUBE)


def test_a_reduced_ball_is_still_a_ball():
    """Even 100 perfectly spread corners have an error of 2 % of the radius."""
    every = ball(3000)
    few = reduced(hull_corners(every))
    assert len(few) == hulls.MOST_CORNERS
    assert {tuple(x) for x in few} <= {tuple(x) for x in every}
    assert np.array_equal(np.ptp(few, axis=0), np.ptp(every, axis=0))  # the bounding box is kept
    directions = ball(500, seed=1)
    lost = (every @ directions.T).max(axis=0) - (few @ directions.T).max(axis=0)
    assert lost.min() >= 0.0
    assert lost.max() < 0.05


def test_a_reduced_polygon_is_still_flat():
    angle = np.linspace(0, 2 * np.pi, 500, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(500)])
    few = reduced(hull_corners(circle))
    assert 26 < len(few) <= 100
    # a chord of 2 pi / 50 is at most 0.2 % inside the circle
    turns = np.sort(np.arctan2(few[:, 1], few[:, 0]))
    assert np.diff(turns).max() < 2 * np.pi / 50


@robots.needs_robots
def test_hulls_of_real_robots_are_close(monkeypatch):
    """For four robots, all corners that hulls.reduced drops are within 5.2 mm of the new hull."""
    spatial = pytest.importorskip("scipy.spatial")
    worst = []

    def spy(corners):
        few = reduced(corners)
        planes = spatial.ConvexHull(few).equations
        worst.append(np.max(corners @ planes[:, :3].T + planes[:, 3]))
        return few

    monkeypatch.setattr(hulls, "reduced", spy)
    for name in ("talos_reduced.urdf", "ur5_robot.urdf", "panda.urdf", "go2.urdf"):
        robot_files.read(robots.find(name), strict=False, contact=True)
    assert len(worst) > 50
    assert max(worst) < 5.2e-3
    assert np.mean(worst) < 1e-3


# places of files


def test_packages_are_found_by_folder_by_ros_and_above_the_robot(package, monkeypatch, tmp_path):
    name = "package://pack/meshes/cube.stl"
    for folder in (package.parent, package):
        same(points(None, name, package_dirs=[folder]), CUBE)
    same(points(package / "urdf", name), CUBE)
    same(points(package / "urdf", "package:///pack/meshes/cube.stl"), CUBE)
    assert trouble(None, name) == "package-not-found"
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"/nowhere:{tmp_path}")
    same(points(None, name), CUBE)


def test_a_folder_above_the_robot_with_the_name_of_the_package_needs_no_manifest(package):
    (package / "package.xml").unlink()
    same(points(package / "urdf", "package://pack/meshes/cube.stl"), CUBE)


def test_a_package_beside_the_robot_needs_a_manifest_with_its_name(package):
    other = package.parent / "robot/urdf"
    other.mkdir(parents=True)
    name = "package://pack/meshes/cube.stl"
    same(points(other, name), CUBE)
    (package / "package.xml").write_text("<package><name>puck</name></package>")
    assert trouble(other, name) == "package-not-found"
    (package / "package.xml").unlink()
    assert trouble(other, name) == "package-not-found"
    same(points(other, name, package_dirs=[package]), CUBE)


def test_a_package_above_may_be_in_a_folder_of_another_name(package):
    clone = package.rename(package.parent / "clone")
    same(points(clone / "urdf", "package://pack/meshes/cube.stl"), CUBE)
    assert trouble(clone / "urdf", "package://pack/../secret.stl") == "mesh-outside"


def test_the_home_folder_and_the_root_folder_are_not_packages(tmp_path, monkeypatch):
    """A robot must not name files in all of the home folder or the file system as a package."""
    (tmp_path / "home/secret").mkdir(parents=True)
    (tmp_path / "home/secret/x.stl").write_bytes(stl())
    robot = tmp_path / "home/robot"
    robot.mkdir()
    below_root = (tmp_path / "home/secret/x.stl").relative_to(tmp_path.anchor)
    assert trouble(robot, f"package://{below_root.as_posix()}") == "package-not-found"
    assert trouble(robot, "package://secret/x.stl") == "package-not-found"
    same(points(robot, "package://home/secret/x.stl"), CUBE)  # the robot is inside `home`
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert trouble(robot, "package://home/secret/x.stl") == "package-not-found"


def test_a_top_level_folder_that_is_not_above_the_robot_is_not_a_package(tmp_path):
    """For a robot in /tmp, for example, the folder /var is not a package."""
    (tmp_path / "x.stl").write_bytes(stl())
    below_root = (tmp_path / "x.stl").relative_to(tmp_path.anchor)
    robot = Path(tmp_path.anchor, "no_such_folder/of_a_robot")
    name = f"package://{below_root.as_posix()}"
    assert trouble(robot, name) == "package-not-found"


def test_a_missing_file_is_reported(package):
    assert trouble(package / "urdf", "package://pack/meshes/cub.stl") == "mesh-missing"
    assert trouble(package, "cub.stl") == "mesh-missing"


def test_file_uris_and_absolute_paths_are_resolved(package):
    same(points(package, f"file://{package}/meshes/cube.stl"), CUBE)
    same(points(package / "urdf", f"{package}/meshes/cube.stl"), CUBE)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("../../secret.stl", "mesh-outside"),
        ("file:///etc/passwd.stl", "mesh-outside"),
        ("/etc/passwd.stl", "mesh-outside"),
        ("link.stl", "mesh-outside"),
        ("file://host/cube.stl", "mesh-address"),
        ("http://host/cube.stl", "mesh-address"),
        ("package://pack/../secret.stl", "mesh-outside"),
        ("package://pack//etc/passwd.stl", "mesh-missing"),
        ("package://pack//../secret.stl", "mesh-outside"),
        ("package://pack//", "mesh-format"),
        ("package://pack/urdf/link.stl", "mesh-outside"),
        ("package://../secret.stl", "package-not-found"),
        ("package://pack", "mesh-format"),
        ("/etc/passwd", "mesh-format"),
        ("cube.zae", "mesh-format"),
        ("cube.3mf", "mesh-format"),
        ("cube.stl.gz", "mesh-format"),
    ],
)
def test_paths_out_of_the_allowed_folders_are_refused(package, name, code):
    (package / "urdf/link.stl").symlink_to(package.parent / "secret.stl")
    assert trouble(package / "urdf", name) == code


@pytest.mark.parametrize("name", ["x\0.stl", "a" * 5000 + ".stl", "file:///%00.stl"])
def test_impossible_file_names_are_refused(package, name):
    assert trouble(package, name) == "mesh-missing"


def test_a_robot_given_as_text_names_packages_only(package):
    assert trouble(None, f"{package}/meshes/cube.stl") == "mesh-outside"


def test_symbolic_links_of_an_install_space_are_followed_to_the_source(package, tmp_path):
    """`colcon build --symlink-install` installs every file as a symbolic link."""
    share = tmp_path / "install/share/pack"
    (share / "meshes").mkdir(parents=True)
    (share / "package.xml").symlink_to(package / "package.xml")
    (share / "meshes/cube.stl").symlink_to(package / "meshes/cube.stl")
    same(points(None, "package://pack/meshes/cube.stl", package_dirs=[share]), CUBE)
    (share / "meshes/secret.stl").symlink_to(package.parent / "secret.stl")
    outside = "package://pack/meshes/secret.stl"
    assert trouble(None, outside, package_dirs=[share]) == "mesh-outside"


# hostile files


def bomb():
    """Return a zip archive, which pycollada would unpack, with a huge file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        # its date is constant, so the archive always has the same bytes
        entry = zipfile.ZipInfo("m.dae")
        archive.writestr(entry, b" " * 10_000_000, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("m.stl", b"", "bad-mesh"),
        ("m.stl", bytes(range(256)) * 10, "bad-mesh"),
        ("m.stl", b" " * 80 + struct.pack("<I", 2**32 - 1) + b"\0" * 50, "bad-mesh"),
        ("m.stl", stl()[:-1], "bad-mesh"),
        ("m.stl", stl([])[:84] + b"\n", "bad-mesh"),
        ("m.stl", b"solid" + stl()[5:-7], "bad-mesh"),
        ("m.stl", b"solid \xe9\xff\nfacet\nvertex 1 2\nendsolid", "bad-mesh"),
        ("m.stl", stl(CUBE * np.nan), "bad-mesh"),
        ("m.stl", stl(CUBE * 1e30), "bad-mesh"),
        ("m.obj", b"\xff\xfe\x00garbage", "bad-mesh"),
        ("m.obj", obj(CUBE * np.nan), "bad-mesh"),
        ("m.obj", obj(CUBE + np.inf), "bad-mesh"),
        ("m.obj", b"v 0 0 0\nv 1 0 0\nf 1 2 999999999\n", "bad-mesh"),
        ("m.dae", b"<COLLADA/>", "bad-mesh"),
        (
            "m.dae",
            dae().replace(b"<scene>", b"<extra>").replace(b"</scene>", b"</extra>"),
            "bad-mesh",
        ),
        pytest.param("m.dae", bomb(), "bad-mesh", id="bomb"),
        ("m.dae", dae(unit="0"), "bad-mesh"),
        ("m.dae", dae(unit="x"), "bad-mesh"),
        ("m.dae", dae(doctype='<!DOCTYPE x [<!ENTITY a "b">]>'), "doctype"),
    ],
)
def test_a_mesh_file_with_bad_content_is_refused(package, name, content, code):
    (package / name).write_bytes(content)
    assert trouble(package, name) == code


def scene(*nodes):
    """Return a DAE whose library has nodes (name, children), and whose scene has node n0."""
    library = "".join(
        f'<node id="{name}">' + "".join(f'<instance_node url="#{x}"/>' for x in below) + "</node>"
        for name, below in nodes
    )
    text = dae().decode()
    text = text.replace("<library_visual", f"<library_nodes>{library}</library_nodes><library_vis"
                        "ual", 1)  # fmt: skip
    return text.replace("<instance_geometry", '<instance_node url="#n0"/><instance_geometry', 1)


def test_a_dae_with_too_many_nested_nodes_is_refused(package):
    """Ten levels of ten instances are 10^10 nodes; a cycle would never end."""
    doubled = [(f"n{k}", [f"n{k + 1}"] * 10) for k in range(10)]
    for nodes in ([*doubled, ("n10", [])], [("n0", ["n1"]), ("n1", ["n0"])]):
        (package / "m.dae").write_text(scene(*nodes))
        assert trouble(package, "m.dae") == "mesh-too-large"
    (package / "m.dae").write_text(scene(("n0", ["n1", "n1"]), ("n1", [])))
    assert len(points(package, "m.dae")) == 4


INSTANCE = b'<instance_geometry url="#g"/>'


def test_a_dae_with_too_many_instances_of_a_geometry_is_refused(package):
    """Such a short document would expand to gigabytes of triangles, or be read for days."""
    data = dae()
    (package / "m.dae").write_bytes(data.replace(INSTANCE, INSTANCE * 10_001))
    assert trouble(package, "m.dae") == "mesh-too-large"
    sets = data[data.index(b"<triangles") : data.index(b"</mesh>")]
    for count, instances in ((50, 20), (101, 100)):
        text = data.replace(sets, sets * count).replace(INSTANCE, INSTANCE * instances)
        (package / "m.dae").write_bytes(text)
        if count == 50:
            assert len(points(package, "m.dae")) == 4
    assert trouble(package, "m.dae") == "mesh-too-large"
    long = data.replace(b"<p>", b"<p>" + b"0 1 2 " * 20_000)
    (package / "m.dae").write_bytes(long.replace(INSTANCE, INSTANCE * 600))
    assert trouble(package, "m.dae") == "mesh-too-large"


def test_a_wide_cycle_of_nodes_is_refused(package):
    (package / "m.dae").write_text(scene(("n0", ["n0"] * 200_000)))
    assert trouble(package, "m.dae") == "mesh-too-large"


def test_a_huge_file_is_not_read(package):
    with (package / "huge.stl").open("wb") as file:
        file.truncate(meshes.MAX_BYTES + 10)
    assert trouble(package, "huge.stl") == "mesh-too-large"


def test_material_libraries_are_not_opened(package):
    """Opening the material library, a folder here, would raise an error."""
    (package / "a.mtl").mkdir()
    (package / "m.obj").write_bytes(obj(top="mtllib a.mtl\nmtllib /etc/passwd\nusemtl x"))
    same(points(package, "m.obj"), CUBE)


def test_a_missing_trimesh_is_reported(package, monkeypatch):
    def nothing(name):
        raise ImportError(name)

    monkeypatch.setattr(files.importlib, "import_module", nothing)
    assert trouble(package, "meshes/cube.stl") == "trimesh-missing"


@pytest.mark.parametrize(
    ("error", "package_of_it"),
    [
        (ModuleNotFoundError("No module named 'lxml.etree'", name="lxml.etree"), "lxml"),
        (ImportError("cannot import"), "trimesh"),
    ],
)
def test_the_error_names_a_missing_mesh_library(package, monkeypatch, error, package_of_it):
    def load(*_args, **_options):
        raise error

    monkeypatch.setattr(trimesh, "load", load)
    assert trouble(package, "meshes/cube.stl") == f"{package_of_it}-missing"


def test_repeated_slashes_in_a_package_uri_count_as_one(package):
    same(points(package / "urdf", "package://pack//meshes/cube.stl"), CUBE)
    same(points(package / "urdf", "package:///pack///meshes//cube.stl"), CUBE)


# meshes named as in robot files


@pytest.mark.parametrize("decompose", [False, True])
@pytest.mark.parametrize("title", [b" ", b"solid of an exporter "])
@pytest.mark.parametrize("rest", [1, 700])
def test_bytes_after_the_last_triangle_are_ignored_with_a_warning(package, rest, title, decompose):
    pytest.importorskip("coacd") if decompose else None
    content = title + solid_stl()[len(title) :] + b"\n" * rest
    (package / "meshes/more.stl").write_bytes(content)
    shape = '<collision><geometry>\n<mesh filename="../meshes/more.stl"/></geometry></collision>'
    path = package / "urdf/r.urdf"
    path.write_text(f'<robot name="r"><link name="a">{shape * 2}</link></robot>')
    read = robot_files.read(path, contact=Contact(decompose=decompose))
    precision = 1e-6 if decompose else 1e-12  # coacd has single precision
    same(np.array(read.geometries[0].shape.points), CUBE, precision)
    (finding,) = read.findings
    assert (finding.severity, finding.code, finding.line) == ("warning", "odd-mesh", 2)
    assert str(rest) in finding.message


def test_a_missing_mesh_is_an_error_or_without_strict_a_warning(package):
    text = (
        '<robot name="r"><link name="a"><collision><geometry>\n<mesh filename="none.stl"/>'
        '</geometry></collision><collision><geometry><mesh filename="../meshes/cube.stl" '
        'scale="0.1 0.1 -0.1"/></geometry></collision></link></robot>'
    )
    path = package / "urdf/r.urdf"
    path.write_text(text)
    with refused(DescriptionError, "mesh-missing", "link 'a'", line=2, found="none.stl"):
        robot_files.read(path, contact=True)
    read = robot_files.read(path, contact=True, strict=False)
    same(np.array(read.geometries[0].shape.points), CUBE * (0.1, 0.1, -0.1))
    (finding,) = read.findings
    assert (finding.severity, finding.code, finding.line) == ("warning", "mesh-missing", 2)
    assert finding.element == "link 'a'"
    assert robot_files.read(path).findings == ()
