"""Mesh files: where they are looked for, what is read of them, and what is refused."""

import io
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from support import robots
from support.refusals import refused

from rbdyn_ros.description.meshes import hulls, meshes
from rbdyn_ros.description.meshes.files import MeshFiles, UnusableMeshError
from rbdyn_ros.description.meshes.hulls import hull_corners, reduced
from rbdyn_ros.description.meshes.meshes import Meshes
from rbdyn_ros.description.urdf_files import urdf
from rbdyn_ros.errors import DescriptionError

trimesh = pytest.importorskip("trimesh")

ONE = (1.0, 1.0, 1.0)
CUBE = np.array([(x, y, z) for x in (0.0, 1.0) for y in (0.0, 2.0) for z in (0.0, 3.0)])


def stl(corners=CUBE):
    """A binary STL with a triangle at each corner: what is inside its hull does not matter."""
    triangles = [np.array([c, corners[0], corners[-1]]) for c in corners]
    body = b"".join(struct.pack("<12fH", 0, 0, 0, *triangle.ravel(), 0) for triangle in triangles)
    return b" " * 80 + struct.pack("<I", len(triangles)) + body


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
    """A ROS package `pack` with urdf/ and meshes/; beside it a file that is none of its."""
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
    with pytest.raises(UnusableMeshError) as caught:
        points(folder, name, scale, **options)
    return str(caught.value)


def not_found(package):
    return (
        f"is in the package '{package}', which is not found; pass the folder that holds it in "
        "package_dirs, or source the ROS workspace that has it"
    )


def same(found, expected, atol=1e-12):
    found, expected = (rows[np.lexsort(rows.round(5).T)] for rows in (found, np.asarray(expected)))
    assert np.allclose(found, expected, atol=atol)


# formats


def test_stl_and_obj(package):
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
def test_titles_and_comments_of_any_encoding(package, title):
    """The word `solid` may begin a binary file too."""
    corners = "".join(f"vertex {x} {y} {z}\n" for x, y, z in [*CUBE, CUBE[0]])
    text = b"\r\nsolid " + title + b"\n" + corners.encode() + b"endsolid " + title + b"\n"
    (package / "text.stl").write_bytes(text)
    (package / "binary.stl").write_bytes((b"solid " + title).ljust(80) + stl()[80:])
    (package / "comment.obj").write_bytes(b"# " + title + b"\ng " + title + b"\n" + obj())
    for name in ("text.stl", "binary.stl", "comment.obj"):
        same(points(package, name), CUBE)


@pytest.mark.parametrize("up", ["Z_UP", "Y_UP"])
@pytest.mark.parametrize("unit", ["1", "0.001"])
def test_dae_with_its_unit_and_its_scene(package, unit, up):
    """The node turns x to y and y to -x and moves; as in RViz the up axis says nothing."""
    pytest.importorskip("collada")
    (package / "urdf/m.dae").write_bytes(dae(unit, up))
    placed = np.array([(10, 0, 0), (10, 1, 0), (8, 0, 0), (10, 0, 3)])
    # pycollada computes in single precision
    same(points(package / "urdf", "m.dae"), float(unit) * placed, atol=float(unit) * 1e-6)


def test_scale_may_mirror(package):
    same(points(package, "meshes/cube.stl", (-1.0, 0.001, 2.0)), CUBE * (-1.0, 0.001, 2.0))


def test_a_flat_mesh_has_corners_and_a_point_is_no_body(package):
    square = np.array([(0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1), (0.5, 0.5, 1)], float)
    (package / "flat.obj").write_bytes(obj(square))
    (package / "line.obj").write_bytes(obj(np.outer([0.0, 1.0, 2.0], ONE)))
    (package / "dot.obj").write_bytes(obj(np.ones((3, 3))))
    same(points(package, "flat.obj"), square[:4])
    same(points(package, "line.obj"), [(0, 0, 0), (2, 2, 2)])
    assert trouble(package, "dot.obj") == "is only 0 m long; its scale may be wrong"


def test_a_file_is_read_once(package, monkeypatch):
    read = []
    original = meshes._read
    monkeypatch.setattr(meshes, "_read", lambda path: read.append(path) or original(path))
    all_of_one = Meshes(MeshFiles(package))
    for scale in (ONE, ONE, (2.0, 1.0, 1.0)):
        all_of_one.points("meshes/cube.stl", scale)
    all_of_one.points("package://pack/meshes/cube.stl", ONE)
    assert read == [package / "meshes/cube.stl"]


# hulls


def ball(n, seed=0):
    x = np.random.default_rng(seed).normal(size=(n, 3))
    return x / np.linalg.norm(x, axis=1)[:, None]


def test_inner_points_are_no_corners():
    same(hull_corners(np.concatenate([0.3 * ball(200) + (0.5, 1, 1.5), CUBE, CUBE])), CUBE)


def test_a_reduced_ball_is_still_a_ball():
    """No better than 100 corners can be spread over it: 2 % of the radius, and some."""
    every = ball(3000)
    few = reduced(hull_corners(every))
    assert len(few) == hulls.MOST_CORNERS
    assert {tuple(x) for x in few} <= {tuple(x) for x in every}
    assert np.array_equal(np.ptp(few, axis=0), np.ptp(every, axis=0))  # its bounding box
    directions = ball(500, seed=1)
    lost = (every @ directions.T).max(axis=0) - (few @ directions.T).max(axis=0)
    assert lost.min() >= 0.0
    assert lost.max() < 0.05


def test_a_reduced_polygon_is_still_flat():
    angle = np.linspace(0, 2 * np.pi, 500, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(500)])
    few = reduced(hull_corners(circle))
    assert 26 < len(few) <= 100
    # between neighbours that are 2 pi / 50 apart a chord is 0.2 % below the circle
    turns = np.sort(np.arctan2(few[:, 1], few[:, 0]))
    assert np.diff(turns).max() < 2 * np.pi / 50


@robots.needs_robots
def test_hulls_of_real_robots_are_close(monkeypatch):
    """What hulls.reduced promises, for a humanoid, two arms and a quadruped."""
    spatial = pytest.importorskip("scipy.spatial")
    worst = []

    def spy(corners):
        few = reduced(corners)
        planes = spatial.ConvexHull(few).equations
        worst.append(np.max(corners @ planes[:, :3].T + planes[:, 3]))
        return few

    monkeypatch.setattr(meshes, "reduced", spy)
    for name in ("talos_reduced.urdf", "ur5_robot.urdf", "panda.urdf", "go2.urdf"):
        urdf.read(robots.find(name), strict=False, contact=True)
    assert len(worst) > 50
    assert max(worst) < 5.2e-3
    assert np.mean(worst) < 1e-3


# where files are found


def test_packages_are_found_by_folder_by_ros_and_above_the_robot(package, monkeypatch, tmp_path):
    name = "package://pack/meshes/cube.stl"
    for folder in (package.parent, package):
        same(points(None, name, package_dirs=[folder]), CUBE)
    same(points(package / "urdf", name), CUBE)
    same(points(package / "urdf", "package:///pack/meshes/cube.stl"), CUBE)
    assert trouble(None, name) == not_found("pack")
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"/nowhere:{tmp_path}")
    same(points(None, name), CUBE)


def test_a_package_above_needs_no_manifest_if_it_has_the_name(package):
    (package / "package.xml").unlink()
    same(points(package / "urdf", "package://pack/meshes/cube.stl"), CUBE)


def test_a_package_beside_the_robot_needs_a_manifest_with_its_name(package):
    other = package.parent / "robot/urdf"
    other.mkdir(parents=True)
    name = "package://pack/meshes/cube.stl"
    same(points(other, name), CUBE)
    (package / "package.xml").write_text("<package><name>puck</name></package>")
    assert trouble(other, name) == not_found("pack")
    (package / "package.xml").unlink()
    assert trouble(other, name) == not_found("pack")
    same(points(other, name, package_dirs=[package]), CUBE)


def test_a_package_above_may_be_in_a_folder_of_another_name(package):
    clone = package.rename(package.parent / "clone")
    same(points(clone / "urdf", "package://pack/meshes/cube.stl"), CUBE)
    assert trouble(clone / "urdf", "package://pack/../secret.stl") == "leads out of its package"


def test_a_folder_of_all_is_no_package_because_a_file_is_there(tmp_path, monkeypatch):
    """A robot in /tmp/x names a file in another folder of /tmp, or in /var."""
    (tmp_path / "home/secret").mkdir(parents=True)
    (tmp_path / "home/secret/x.stl").write_bytes(stl())
    robot = tmp_path / "home/robot"
    robot.mkdir()
    below_root = (tmp_path / "home/secret/x.stl").relative_to(tmp_path.anchor)
    top = below_root.parts[0]
    assert trouble(robot, f"package://{below_root.as_posix()}") == not_found(top)
    assert trouble(robot, "package://secret/x.stl") == not_found("secret")
    same(points(robot, "package://home/secret/x.stl"), CUBE)  # a folder with a robot in it
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert trouble(robot, "package://home/secret/x.stl") == not_found("home")


def test_a_folder_at_the_top_that_a_robot_is_not_in(tmp_path):
    """What is below / and beside the way to the robot, such as /var for one in /tmp."""
    (tmp_path / "x.stl").write_bytes(stl())
    below_root = (tmp_path / "x.stl").relative_to(tmp_path.anchor)
    robot = Path(tmp_path.anchor, "no_such_folder/of_a_robot")
    name = f"package://{below_root.as_posix()}"
    assert trouble(robot, name) == not_found(below_root.parts[0])


def test_what_is_missing_is_told_with_the_places(package):
    assert trouble(package / "urdf", "package://pack/meshes/cub.stl") == (
        f"does not exist; looked for '{package}/meshes/cub.stl'"
    )
    assert trouble(package, "cub.stl") == f"does not exist; looked for '{package}/cub.stl'"


def test_addresses_of_files(package):
    same(points(package, f"file://{package}/meshes/cube.stl"), CUBE)
    same(points(package / "urdf", f"{package}/meshes/cube.stl"), CUBE)


OUTSIDE = "leads out of the folder of the robot's file and out of its package"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("../../secret.stl", OUTSIDE),
        ("file:///etc/passwd.stl", OUTSIDE),
        ("/etc/passwd.stl", OUTSIDE),
        ("link.stl", OUTSIDE),
        ("file://host/cube.stl",
         ("is an address of the kind 'file'; allowed are package://name/path, file:///path or a "
          "path")),
        ("http://host/cube.stl",
         ("is an address of the kind 'http'; allowed are package://name/path, file:///path or a "
          "path")),
        ("package://pack/../secret.stl", "leads out of its package"),
        ("package://pack//etc/passwd.stl", "leads out of its package"),
        ("package://pack/urdf/link.stl", "leads out of the package 'pack' by a link"),
        ("package://../secret.stl",
         not_found("..")),
        ("package://pack", "has no suffix; meshes are read from .stl, .dae, .obj"),
        ("/etc/passwd", "has no suffix; meshes are read from .stl, .dae, .obj"),
        ("cube.zae", "is of the kind '.zae'; meshes are read from .stl, .dae, .obj"),
        ("cube.3mf", "is of the kind '.3mf'; meshes are read from .stl, .dae, .obj"),
        ("cube.stl.gz", "is of the kind '.gz'; meshes are read from .stl, .dae, .obj"),
    ],
)  # fmt: skip
def test_names_that_lead_elsewhere(package, name, sentence):
    (package / "urdf/link.stl").symlink_to(package.parent / "secret.stl")
    assert trouble(package / "urdf", name) == sentence


@pytest.mark.parametrize("name", ["x\0.stl", "a" * 5000 + ".stl", "file:///%00.stl"])
def test_names_that_no_file_has(package, name):
    assert trouble(package, name).startswith("cannot be looked for: ")


def test_a_robot_given_as_text_names_packages_only(package):
    assert trouble(None, f"{package}/meshes/cube.stl") == (
        "is a path, and a robot given as text names files of packages only"
    )


def test_links_of_an_install_space_lead_to_the_source(package, tmp_path):
    """colcon build --symlink-install makes a link of every file."""
    share = tmp_path / "install/share/pack"
    (share / "meshes").mkdir(parents=True)
    (share / "package.xml").symlink_to(package / "package.xml")
    (share / "meshes/cube.stl").symlink_to(package / "meshes/cube.stl")
    same(points(None, "package://pack/meshes/cube.stl", package_dirs=[share]), CUBE)
    (share / "meshes/secret.stl").symlink_to(package.parent / "secret.stl")
    assert "by a link" in trouble(None, "package://pack/meshes/secret.stl", package_dirs=[share])


# hostile files

NO_STL = "is no STL: it has not the length that its head says, nor is it text"
NO_SCENE = "has no scene, which says what is placed where"


def bomb():
    """An archive that pycollada would unpack."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("m.dae", b" " * 10_000_000)
    return packed.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "begins"),
    [
        ("m.stl", b"", NO_STL),
        ("m.stl", bytes(range(256)) * 10, NO_STL),
        ("m.stl", b" " * 80 + struct.pack("<I", 2**32 - 1) + b"\0" * 50, NO_STL),
        ("m.stl", stl()[:-1], NO_STL),
        ("m.stl", stl() + b"\n", NO_STL),
        ("m.stl", b"solid" + stl()[5:-7], "holds no corners"),
        ("m.stl", b"solid \xe9\xff\nfacet\nvertex 1 2\nendsolid", "holds no corners"),
        ("m.stl", stl(CUBE * np.nan), "has corners that are not finite numbers"),
        ("m.stl", stl(CUBE * 1e30), "has corners more than 100000 m away; its scale may be wrong"),
        ("m.obj", b"\xff\xfe\x00garbage", "holds no corners"),
        ("m.obj", obj(CUBE * np.nan), "has corners that are not finite numbers"),
        ("m.obj", obj(CUBE + np.inf), "has corners that are not finite numbers"),
        ("m.obj", b"v 0 0 0\nv 1 0 0\nf 1 2 999999999\n", "cannot be read: "),
        ("m.dae", b"<COLLADA/>", NO_SCENE),
        ("m.dae", dae().replace(b"<scene>", b"<extra>").replace(b"</scene>", b"</extra>"),
         NO_SCENE),
        ("m.dae", bomb(), "is no COLLADA document: "),
        ("m.dae", dae(unit="0"), "has a unit of 0 m, which is no length"),
        ("m.dae", dae(unit="x"), "is no COLLADA document: could not convert string to float: 'x'"),
        ("m.dae", dae(doctype='<!DOCTYPE x [<!ENTITY a "b">]>'),
         "has a DOCTYPE, which can define entities and is refused; delete it"),
    ],
)  # fmt: skip
def test_content(package, name, content, begins):
    (package / name).write_bytes(content)
    assert trouble(package, name).startswith(begins)


def scene(*nodes):
    """A document with these nodes in its library, the first of them in its scene."""
    library = "".join(
        f'<node id="{name}">' + "".join(f'<instance_node url="#{x}"/>' for x in below) + "</node>"
        for name, below in nodes
    )
    text = dae().decode()
    text = text.replace("<library_visual", f"<library_nodes>{library}</library_nodes><library_vis"
                        "ual", 1)  # fmt: skip
    return text.replace("<instance_geometry", '<instance_node url="#n0"/><instance_geometry', 1)


def test_nodes_in_nodes_do_not_explode(package):
    """Ten levels of ten instances each are ten thousand million; a circle never ends."""
    doubled = [(f"n{k}", [f"n{k + 1}"] * 10) for k in range(10)]
    for nodes in ([*doubled, ("n10", [])], [("n0", ["n1"]), ("n1", ["n0"])]):
        (package / "m.dae").write_text(scene(*nodes))
        assert trouble(package, "m.dae") == MANY_NODES
    (package / "m.dae").write_text(scene(("n0", ["n1", "n1"]), ("n1", [])))
    assert len(points(package, "m.dae")) == 4


INSTANCE = b'<instance_geometry url="#g"/>'
MANY_NODES = "has a scene of more than 10000 nodes, or one that contains itself"


def test_geometries_shown_again_and_again_do_not_explode(package):
    """A short document would be gigabytes of triangles, or days of small ones."""
    data = dae()
    (package / "m.dae").write_bytes(data.replace(INSTANCE, INSTANCE * 10_001))
    assert trouble(package, "m.dae") == MANY_NODES
    sets = data[data.index(b"<triangles") : data.index(b"</mesh>")]
    for count, instances in ((50, 20), (101, 100)):
        text = data.replace(sets, sets * count).replace(INSTANCE, INSTANCE * instances)
        (package / "m.dae").write_bytes(text)
        if count == 50:
            assert len(points(package, "m.dae")) == 4
    assert trouble(package, "m.dae") == MANY_NODES
    long = data.replace(b"<p>", b"<p>" + b"0 1 2 " * 20_000)
    (package / "m.dae").write_bytes(long.replace(INSTANCE, INSTANCE * 600))
    assert trouble(package, "m.dae") == (
        "has a scene that shows its geometries again and again, written out more than 64 MiB"
    )


def test_a_wide_circle_of_nodes_is_no_work(package):
    (package / "m.dae").write_text(scene(("n0", ["n0"] * 200_000)))
    assert trouble(package, "m.dae") == MANY_NODES


def test_a_huge_file_is_not_read(package):
    with (package / "huge.stl").open("wb") as file:
        file.truncate(meshes.MAX_BYTES + 10)
    assert trouble(package, "huge.stl") == "is larger than 64 MiB; simplify it"


def test_materials_and_pictures_are_not_opened(package):
    """A material library that could not be read without an error."""
    (package / "a.mtl").mkdir()
    (package / "m.obj").write_bytes(obj(top="mtllib a.mtl\nmtllib /etc/passwd\nusemtl x"))
    same(points(package, "m.obj"), CUBE)


def test_a_missing_library_says_what_to_install(package, monkeypatch):
    def nothing(name):
        raise ImportError(name)

    monkeypatch.setattr(meshes.importlib, "import_module", nothing)
    assert trouble(package, "meshes/cube.stl") == (
        "needs the package trimesh to be read: pip install trimesh"
    )


@pytest.mark.parametrize(
    ("error", "package_of_it"),
    [
        (ModuleNotFoundError("No module named 'lxml.etree'", name="lxml.etree"), "lxml"),
        (ImportError("cannot import"), "trimesh"),
    ],
)
def test_a_library_that_a_reader_lacks_is_no_fault_of_the_mesh(
    package, monkeypatch, error, package_of_it
):
    def load(*_args, **_options):
        raise error

    monkeypatch.setattr(trimesh, "load", load)
    assert trouble(package, "meshes/cube.stl") == (
        f"needs the package {package_of_it} to be read: pip install {package_of_it}"
    )


# as a robot names them


def test_strict_and_not(package):
    text = (
        '<robot name="r"><link name="a"><collision><geometry>\n<mesh filename="none.stl"/>'
        '</geometry></collision><collision><geometry><mesh filename="../meshes/cube.stl" '
        'scale="0.1 0.1 -0.1"/></geometry></collision></link></robot>'
    )
    path = package / "urdf/r.urdf"
    path.write_text(text)
    with refused(DescriptionError, "mesh-missing", "link 'a'", line=2, found="none.stl"):
        urdf.read(path, contact=True)
    read = urdf.read(path, contact=True, strict=False)
    same(np.array(read.geometries[0].shape.points), CUBE * (0.1, 0.1, -0.1))
    (finding,) = read.findings
    assert (finding.severity, finding.code, finding.line) == ("warning", "mesh-missing", 2)
    assert finding.element == "link 'a'"
    assert urdf.read(path).findings == ()
