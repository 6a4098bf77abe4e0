# SPDX-License-Identifier: Apache-2.0
"""Shapes become triangles with the right sizes, sides and colours; bad mesh files are refused."""

import builtins
import math
import os

import numpy as np
import pytest
from support import robots

from rbdyn_ros.description.appearance.shapes import MeshFile, Placeholder, read_appearance
from rbdyn_ros.description.meshes.files import UnusableMeshError
from rbdyn_ros.description.parts.geometries import Box, Capsule, Cylinder, Points, Sphere
from rbdyn_ros.view.scene import surfaces
from rbdyn_ros.view.scene.creases import creased
from rbdyn_ros.view.scene.surfaces import MARKER_COLOR, surfaces_of, surfaces_or_marker

trimesh = pytest.importorskip("trimesh")


def single(shape):
    (surface,) = surfaces_of(shape)
    return surface


def volume(found):
    """Return the volume of a surface, which is negative if the triangles face inward."""
    a, b, c = (found.vertices[found.faces[:, k]].astype(float) for k in range(3))
    return np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0


def size(found):
    return np.ptp(np.concatenate([surface.vertices for surface in found]), axis=0)


def each_place_once(found):
    return len(np.unique(found.vertices.round(6), axis=0))


# shapes

SHAPES = {
    # extents, volume, and smallest share of the volume inside flat triangles
    Box((1.0, 2.0, 3.0)): ((1, 2, 3), 6.0, 1.0),
    Sphere(2.0): ((4, 4, 4), 4 / 3 * math.pi * 8, 0.98),
    Cylinder(0.5, 3.0): ((1, 1, 3), math.pi * 0.75, 0.99),
    Capsule(0.5, 3.0): ((1, 1, 4), math.pi * (0.75 + 1 / 6), 0.98),
    Points(((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0.1, 0.1, 0.1))): ((1, 1, 1), 1 / 6, 1.0),
}


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)
def test_surfaces_of_shapes_have_the_right_size_and_face_outward(shape):
    extents, expected, part = SHAPES[shape]
    found = single(shape)
    assert found.vertices.dtype == np.float32
    assert found.faces.dtype == np.int32
    assert found.vertices.flags.c_contiguous
    assert found.faces.flags.c_contiguous
    assert np.allclose(size([found]), extents, rtol=2e-3)
    assert part * expected * (1 - 1e-6) <= volume(found) <= expected * (1 + 1e-6)
    assert len(found.faces) < 3000
    assert found.color is None
    if not isinstance(shape, Points):
        assert np.allclose(found.vertices.min(axis=0), -found.vertices.max(axis=0), atol=1e-6)


def test_triangles_share_vertices_on_round_sides_but_not_at_sharp_edges():
    assert len(single(Box((1, 1, 1))).vertices) == 24
    assert len(single(Sphere(1.0)).vertices) == 642  # 10 * 4^3 + 2
    assert len(single(Capsule(1.0, 1.0)).vertices) == each_place_once(single(Capsule(1.0, 1.0)))
    can = single(Cylinder(1.0, 1.0))
    # each corner of the two rims is in two vertices, and each lid has a centre
    assert len(can.vertices) == 4 * surfaces.ROUND + 2
    assert each_place_once(can) == 2 * surfaces.ROUND + 2


@pytest.mark.parametrize(
    "points",
    [
        [(0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)],
        [(0, 0, 0), (1, 1, 1)],
        [(0, 0, 0), (1, 0, 0), (3, 0, 0)],
        [(1, 2, 3)],
        [(1, 2, 3)] * 5,
    ],
)
def test_points_without_volume_become_a_thin_surface(points):
    found = single(Points(tuple(points)))
    assert volume(found) > 0.0
    assert np.allclose(size([found]), np.ptp(points, axis=0) + surfaces.THIN, atol=1e-6)


def test_a_placeholder_is_a_small_magenta_octahedron():
    found = single(Placeholder("none.stl"))
    assert found.color == MARKER_COLOR == (1.0, 0.0, 1.0, 1.0)
    assert len(found.faces) == 8
    assert np.allclose(size([found]), 0.04)
    assert volume(found) == pytest.approx(0.04**3 / 6, rel=1e-5)


# creases


def bent(angle):
    """Return vertices and faces of two triangles at an angle [rad]; both list the common edge."""
    up = [math.cos(angle), 0.0, math.sin(angle)]
    corners = [[0, 0, 0], [0, 1, 0], [-1, 0, 0], [0, 0, 0], up, [0, 1, 0]]
    return np.array(corners, float), np.array([[0, 1, 2], [3, 4, 5]])


@pytest.mark.parametrize(("angle", "corners"), [(0.0, 4), (29.0, 4), (31.0, 6), (179.0, 6)])
@pytest.mark.parametrize("length", [1e-50, 1.0, 1e50])
def test_triangles_share_the_corners_of_an_edge_up_to_an_angle(angle, corners, length):
    vertices, faces = bent(math.radians(angle))
    found, triangles, _ = creased(length * vertices, faces)
    assert len(found) == corners
    assert np.array_equal(found[triangles], length * vertices[faces])


def test_two_surfaces_back_to_back_are_both_smooth():
    ball = trimesh.creation.icosphere(3)
    both = np.stack([ball.faces, ball.faces[:, ::-1]], axis=1).reshape(-1, 3)
    found, triangles, _ = creased(np.asarray(ball.vertices), both)
    assert len(found) == 2 * len(ball.vertices)
    assert len(triangles) == 2 * len(ball.faces)


def test_triangles_without_area_are_removed():
    vertices, faces = bent(0.0)
    faces = np.concatenate([faces, [[0, 0, 1], [0, 3, 1]]])
    assert len(creased(vertices, faces)[1]) == 2
    assert len(creased(0.0 * vertices, faces)[1]) == 0


# mesh files

SCENE = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="u" meter="{unit}"/><up_axis>Y_UP</up_axis></asset>
<library_images><image id="i"><init_from>{picture}</init_from></image></library_images>
<library_effects><effect id="red-e"><profile_COMMON><technique sid="common"><phong><diffuse>
<color>1 0 0 1</color></diffuse>{alpha}</phong></technique></profile_COMMON></effect>
<effect id="pic-e"><profile_COMMON>
<newparam sid="s"><surface type="2D"><init_from>i</init_from></surface></newparam>
<newparam sid="t"><sampler2D><source>{sampled}</source></sampler2D></newparam>
<technique sid="common"><phong><diffuse><texture texture="t" texcoord="U"/></diffuse></phong>
</technique></profile_COMMON></effect></library_effects>
<library_materials><material id="red"><instance_effect url="#red-e"/></material>
<material id="pic"><instance_effect url="#pic-e"/></material></library_materials>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="pa" count="12">0 0 0 1 0 0 0 1 0 0 0 {z}</float_array>
<technique_common><accessor source="#pa" count="4" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="4" material="m"><input semantic="VERTEX" source="#v" offset="0"/>
<p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles></mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node id="n"><scale>{scale}</scale>
<instance_geometry url="#g"><bind_material><technique_common>{bind}</technique_common>
</bind_material></instance_geometry></node>
<node id="n2"><translate>5 0 0</translate><instance_geometry url="#g"><bind_material>
<technique_common>{bind2}</technique_common></bind_material></instance_geometry></node>
</visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>"""

RED, PICTURE = (f'<instance_material symbol="m" target="#{name}"/>' for name in ("red", "pic"))


def dae(**parts):
    """Return a COLLADA file of two tetrahedra with legs of 1, by default red; one is at x = 5."""
    default = {
        "unit": "1", "picture": "none.png", "alpha": "", "sampled": "s", "z": "1",
        "scale": "1 1 1", "bind": RED, "bind2": RED,
    }  # fmt: skip
    return SCENE.format(**{**default, **parts}).encode()


def stl(vertices):
    """Return the text of an STL file; every three vertices are a triangle."""
    lines = [f"vertex {x} {y} {z}\n" for x, y, z in vertices]
    return ("solid s\n" + "".join(lines) + "endsolid s\n").encode()


TETRAHEDRON = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], float)
TURNED = [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]


@pytest.fixture
def keep(tmp_path):
    def write(name, data, scale=(1.0, 1.0, 1.0)):
        path = tmp_path / name
        path.write_bytes(data)
        return MeshFile(path, scale)

    return write


def needs_collada():
    pytest.importorskip("collada")


@pytest.mark.parametrize("scale", [(1, 1, 1), (-1, 1, 1), (1, -2, 3), (-1, -1, -1), (-1, -1, 2)])
def test_a_mesh_with_a_mirroring_scale_faces_outward(keep, scale):
    found = single(keep("m.stl", stl(TETRAHEDRON[TURNED]), scale))
    assert volume(found) == pytest.approx(abs(math.prod(scale)) / 6)
    low, high = found.vertices.min(axis=0), found.vertices.max(axis=0)
    assert np.allclose(low, np.minimum(scale, 0.0))
    assert np.allclose(high, np.maximum(scale, 0.0))
    assert len(found.vertices) == 12  # the edges are sharp
    assert found.color is None


@pytest.mark.parametrize("scale", ["1 1 1", "1 1 -1", "-2 1 1"])
def test_a_collada_mesh_has_the_unit_and_the_scales_of_its_file(keep, scale):
    """A node that mirrors its mesh does not turn the triangles inward."""
    needs_collada()
    found = single(keep("m.dae", dae(unit="0.01", scale=scale)))
    x, y, z = map(float, scale.split())
    assert volume(found) == pytest.approx((abs(x * y * z) + 1) / 6e6, rel=1e-4)
    assert np.allclose(found.vertices.max(axis=0), (0.06, 0.01, 0.01), atol=1e-7)
    assert np.allclose(found.vertices.min(axis=0), (0.01 * min(x, 0), 0, 0.01 * min(z, 0)))
    assert found.color == (1.0, 0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("alpha", "opacity"),
    [
        ("", 1.0),
        ("<transparent><color>0 0 0 0.5</color></transparent>", 0.5),
        ("<transparent><color>0 0 0 0</color></transparent>", 1.0),
    ],
)
def test_a_surface_has_the_opacity_of_its_collada_material(keep, alpha, opacity):
    needs_collada()
    *rgb, a = single(keep("m.dae", dae(alpha=alpha))).color
    assert rgb == [1.0, 0.0, 0.0]
    assert a == pytest.approx(opacity, abs=1 / 255)


def test_a_collada_mesh_has_a_surface_for_each_colour_and_opens_no_picture(
    keep, tmp_path, monkeypatch
):
    needs_collada()
    (tmp_path / "secret.png").write_bytes(b"no picture")
    shape = keep("m.dae", dae(bind2=PICTURE, picture=str(tmp_path / "secret.png")))
    opened, original = [], builtins.open
    monkeypatch.setattr(
        builtins, "open", lambda path, *a, **k: opened.append(str(path)) or original(path, *a, **k)
    )
    red, other = surfaces_of(shape)
    assert red.color == (1.0, 0.0, 0.0, 1.0)
    assert other.color == (1.0, 1.0, 1.0, 1.0)
    assert not [path for path in opened if "secret" in path]


@pytest.mark.parametrize("bind", [RED, '<instance_material symbol="m" target="#none"/>'])
@pytest.mark.parametrize("end", [False, True])
def test_a_mesh_with_a_broken_material_has_all_its_triangles(keep, bind, end):
    """pycollada itself would drop a node whose material has a broken picture."""
    needs_collada()
    broken = PICTURE.replace("/>", "></instance_material>") if end else PICTURE
    found = surfaces_of(keep("m.dae", dae(sampled="none", bind=bind, bind2=broken)))
    assert sum(len(surface.faces) for surface in found) == 8
    colors = [surface.color for surface in found]
    assert colors == ([(1.0, 0.0, 0.0, 1.0), None] if bind == RED else [None])


def test_a_surface_has_the_mean_colour_of_its_corners(keep):
    text = "v 0 0 0 1 0 0\nv 1 0 0 1 0 0\nv 0 1 0 0 0 1\nf 1 2 3\n"
    color = single(keep("m.obj", text.encode())).color
    assert np.allclose(color, (2 / 3, 0.0, 1 / 3, 1.0), atol=1 / 255)


def test_a_mesh_file_is_read_once_until_it_changes(keep, monkeypatch):
    read, original = [], surfaces.read_parts
    monkeypatch.setattr(
        surfaces, "read_parts", lambda path, *a, **k: read.append(path) or original(path, *a, **k)
    )
    shape = keep("m.stl", stl(TETRAHEDRON[TURNED]))
    for scale in ((1, 1, 1), (2, 1, 1), (1, 1, -1)):
        surfaces_of(MeshFile(shape.path, scale))
    assert len(read) == 1
    keep("m.stl", stl(2 * TETRAHEDRON[TURNED]))
    os.utime(shape.path, ns=(1, 1))
    assert volume(single(shape)) == pytest.approx(8 / 6)
    assert len(read) == 2


def test_a_refused_mesh_file_is_read_once(keep, monkeypatch):
    read, original = [], surfaces.read_parts
    monkeypatch.setattr(
        surfaces, "read_parts", lambda path, *a, **k: read.append(path) or original(path, *a, **k)
    )
    shape = keep("m.stl", b"")
    messages = {surfaces_or_marker(shape)[1].message for _ in range(3)}
    assert len(messages) == len(read) == 1


# refusals

NO_TRIANGLES = b"v 0 0 0\nv 1 0 0\nv 0 1 0\n"


@pytest.mark.parametrize(
    ("name", "data", "scale"),
    [
        ("m.stl", b"", (1, 1, 1)),
        ("m.stl", stl(TETRAHEDRON[TURNED] * math.nan), (1, 1, 1)),
        ("m.stl", stl([(0, 0, 0), (1, 1, 1), (2, 2, 2)]), (1, 1, 1)),
        ("m.stl", stl(np.ones((3, 3))), (1, 1, 1)),
        ("m.obj", NO_TRIANGLES, (1, 1, 1)),
        ("m.obj", NO_TRIANGLES + b"f 1 2 9\n", (1, 1, 1)),
        ("m.obj", NO_TRIANGLES + b"f 1 2 -9\n", (1, 1, 1)),
        ("m.obj", NO_TRIANGLES + b"l 1 2\n", (1, 1, 1)),
        ("m.stl", stl(TETRAHEDRON[TURNED]), (1e-9, 1e-9, 1e-9)),
        ("m.stl", stl(TETRAHEDRON[TURNED]), (1e300, 1, 1)),
        ("m.stl", stl(1e90 * TETRAHEDRON[TURNED]), (1e300, 1, 1)),
        ("m.dae", b"<COLLADA/>", (1, 1, 1)),
        ("m.dae", dae(z="1e30"), (1, 1, 1)),
        ("m.dae", dae(z="1e30", unit="1e200"), (1, 1, 1)),
        ("m.dae", dae(scale="nan 1 1"), (1, 1, 1)),
    ],
)  # fmt: skip
def test_an_unusable_mesh_file_gives_a_marker_and_a_warning(keep, name, data, scale):
    shape = keep(name, data, scale)
    with pytest.raises(UnusableMeshError) as caught:
        surfaces_of(shape)
    (marker,), finding = surfaces_or_marker(shape)
    assert marker.color == MARKER_COLOR
    assert finding.severity == "warning"
    assert f"the mesh '{shape.path}' {caught.value}" in finding.message


@pytest.mark.parametrize("z", ["nan", "inf", "-1e999"])
def test_surfaces_of_a_collada_file_have_only_finite_vertices(keep, z):
    """pycollada reads NaN as 0, and trimesh drops infinite vertices."""
    needs_collada()
    for found in surfaces_of(keep("m.dae", dae(z=z))):
        assert np.isfinite(found.vertices).all()
        assert np.allclose(found.vertices.max(axis=0)[:2], (6, 1))


def test_a_usable_mesh_file_has_no_finding(keep):
    found, finding = surfaces_or_marker(keep("m.stl", stl(TETRAHEDRON[TURNED])))
    assert finding is None
    assert len(found) == 1


def test_a_mesh_file_with_too_many_triangles_is_refused(keep, monkeypatch):
    shape = keep("m.stl", stl(TETRAHEDRON[TURNED]))
    monkeypatch.setattr(surfaces, "MOST_TRIANGLES", 3)
    with pytest.raises(UnusableMeshError, match="4 triangles"):
        surfaces_of(shape)


def test_a_missing_mesh_file_causes_a_warning(tmp_path):
    _, finding = surfaces_or_marker(MeshFile(tmp_path / "m.stl"))
    assert f"'{tmp_path / 'm.stl'}'" in finding.message


# real robots


@robots.needs_robots
@pytest.mark.parametrize(
    "name", ["ur5_robot.urdf", "panda.urdf", "talos_reduced.urdf", "go2.urdf"]
)
def test_bounding_boxes_of_meshes_equal_boxes_of_pinocchio(name):
    """Pinocchio reads meshes by assimp, which applies units and up axes of COLLADA files."""
    pin = pytest.importorskip("pinocchio")
    path = robots.find(name)
    read, model = read_appearance(path), pin.buildModelFromUrdf(str(path))
    packages = [str(robots.FOLDER.parent.parent)]
    checked = 0
    for kind, found in ((pin.VISUAL, read.visuals), (pin.COLLISION, read.collisions)):
        objects = pin.buildGeomFromUrdf(model, str(path), kind, package_dirs=packages)
        waiting = {look.link: [x for x in found if x.link == look.link] for look in found}
        for shown in objects.geometryObjects:
            look = waiting[model.frames[shown.parentFrame].name].pop(0)
            if isinstance(look.shape, MeshFile):
                checked += 1
                expected = np.asarray(shown.geometry.vertices())
                parts = surfaces_of(look.shape)
                vertices = np.concatenate([part.vertices for part in parts])
                for end in (np.min, np.max):
                    assert np.allclose(end(vertices, axis=0), end(expected, axis=0), atol=2e-6)
    assert checked > 10


@robots.needs_robots
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ur5_robot.urdf", [(64, 89, 104), (36, 36, 36)]),
        ("panda.urdf", [(255, 255, 255), (64, 64, 64), (230, 235, 237)]),
        ("go2.urdf", [(230, 242, 242), (171, 177, 197), (0, 0, 0)]),
        ("anymal.urdf", [(26, 26, 26)]),  # this is the colour of the feet, whose picture is broken
    ],
)
def test_meshes_of_real_robots_have_their_colours(name, expected):
    shown = [
        part
        for look in read_appearance(robots.find(name)).visuals
        for part in surfaces_of(look.shape)
    ]
    colors = {tuple(round(255 * x) for x in part.color[:3]) for part in shown if part.color}
    assert colors >= set(expected)
