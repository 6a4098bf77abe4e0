# SPDX-License-Identifier: Apache-2.0
"""Triangle meshes of SDF, MJCF, scene and mechanism files are read, and rb.convert writes them."""

import mujoco
import numpy as np
import pytest
import trimesh
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description.parts.triangles import MOST_TRIANGLES
from rbdyn_ros.description.sdf_files.collisions import SolidReader
from rbdyn_ros.model.geometry.geoms import GeomType
from rbdyn_ros.model.geometry.triangle_meshes import triangles_of

RING = trimesh.creation.annulus(r_min=0.3, r_max=0.5, height=0.2)
HULL, TRIANGLES = int(GeomType.MESH), int(GeomType.TRIMESH)


@pytest.fixture
def folder(tmp_path):
    RING.export(tmp_path / "ring.stl")
    trimesh.creation.box((1.0, 1.0, 1.0)).export(tmp_path / "box.stl")
    inwards = RING.copy()
    inwards.invert()
    inwards.export(tmp_path / "inwards.stl")
    plate = trimesh.Trimesh([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)])
    plate.export(tmp_path / "plate.stl")
    return tmp_path


def world(folder, mesh, static="true", optimization=""):
    """Return the Model of an SDF world with a mesh."""
    chosen = f' optimization="{optimization}"' if optimization else ""
    (folder / "world.sdf").write_text(
        f"""<sdf version="1.9"><world name="w"><model name="post"><static>{static}</static>
        <link name="l"><collision name="c"><geometry><mesh{chosen}>{mesh}</mesh></geometry>
        </collision></link></model></world></sdf>"""
    )
    return rb.load(folder / "world.sdf")


def volume(m, name):
    """Return the volume that the triangles of an obstacle enclose."""
    vertices, faces = triangles_of(m, m.geom_id(name))
    return np.linalg.det(vertices[faces]).sum() / 6.0


@pytest.mark.parametrize(
    ("mesh", "kind"), [("ring", TRIANGLES), ("plate", TRIANGLES), ("box", HULL)]
)
def test_a_static_mesh_in_an_sdf_keeps_its_triangles_unless_it_is_convex(folder, mesh, kind):
    m = world(folder, f"<uri>{mesh}.stl</uri>")
    assert m.geom_type.tolist() == [kind]


@pytest.mark.parametrize("second", [(0.5, 1.0, 0.1), (0.5, 0.5, 0.1)])
def test_parts_that_overlap_are_convex_only_if_their_hull_has_all_triangles(folder, second):
    """The summed volume of parts that overlap can equal or exceed the volume of their hull."""
    boxes = [trimesh.creation.box(size) for size in ((1.0, 0.5, 0.1), second)]
    both = trimesh.util.concatenate(boxes)
    assert both.volume >= both.convex_hull.volume
    both.export(folder / "cross.obj")
    assert world(folder, "<uri>cross.obj</uri>").geom_type.tolist() == [TRIANGLES]


@pytest.mark.parametrize("how", [{"static": "false"}, {"optimization": "convex_hull"}])
def test_a_mesh_that_moves_or_asks_for_its_hull_becomes_its_hull(folder, how):
    assert world(folder, "<uri>ring.stl</uri>", **how).geom_type.tolist() == [HULL]


def test_the_error_about_a_moving_triangle_mesh_names_the_collision(folder, monkeypatch):
    """The reader would make a hull of a moving mesh; this test makes it keep the triangles."""
    read = SolidReader._of_mesh
    monkeypatch.setattr(SolidReader, "_of_mesh", lambda self, *args: read(self, *args[:2], True))
    with refused(rb.DescriptionError, "moving-plane", "collision 'post/l'") as caught:
        world(folder, "<uri>ring.stl</uri>", static="false")
    assert "its triangle mesh would move" in str(caught.value)


@pytest.mark.parametrize("mesh", ["ring", "inwards"])
@pytest.mark.parametrize("scale", ["1 1 2", "1 -1 2"])
def test_a_closed_mesh_faces_outwards_also_if_it_was_given_inside_out(folder, mesh, scale):
    m = world(folder, f"<uri>{mesh}.stl</uri><scale>{scale}</scale>")
    assert volume(m, 0) == pytest.approx(2.0 * RING.volume, rel=1e-5)
    assert m.trimesh_closed.tolist() == [1]


def test_scene_and_mechanism_files_can_have_triangle_meshes(folder):
    ring = "triangle_mesh: {file: ring.stl, scale: [1, 1, 2]}"
    mechanism = "rbdyn_mechanism: 1\nbase: b\nlinks: {b: {mass: 1}}"
    for name, head in (("s.yaml", "rbdyn_scene: 1\nfloor: false"), ("m.yaml", mechanism)):
        (folder / name).write_text(f"{head}\nobstacles:\n  ring: {{{ring}}}\n")
        m = rb.load(folder / name, contact=name == "m.yaml")
        assert m.geom_type.tolist() == [TRIANGLES]
        assert volume(m, 0) == pytest.approx(2.0 * RING.volume, rel=1e-5)


def test_an_sdf_geom_of_an_mjcf_becomes_a_hull_if_it_moves(folder):
    path = folder / "w.xml"
    path.write_text(
        """<mujoco><asset><mesh name="ring" file="ring.stl"/></asset><worldbody>
        <geom name="post" type="sdf" mesh="ring" pos="0 0 0.1"/>
        <body name="b"><freejoint/><geom name="own" type="sdf" mesh="ring"/></body>
        </worldbody></mujoco>"""
    )
    m = rb.load(path, contact=True)
    kinds = dict(zip(m.geom_names, m.geom_type.tolist(), strict=True))
    assert kinds == {"own": HULL, "post": TRIANGLES}
    assert "an sdf on a body that moves" in str([x.message for x in m.findings])
    of_mujoco = mujoco.MjModel.from_xml_path(str(path))
    assert m.body_mass[1] == pytest.approx(of_mujoco.body_mass[1], rel=1e-9)


@pytest.mark.parametrize("scale", ["1 1 2", "1 1 -2"])
@pytest.mark.parametrize("turned", [1, -1])
def test_the_front_of_a_mesh_with_vertices_in_the_mjcf_is_its_outside(folder, scale, turned):
    vertex, face = (
        " ".join(map(str, table.ravel())) for table in (RING.vertices, RING.faces[:, ::turned])
    )
    (folder / "w.xml").write_text(
        f"""<mujoco><asset><mesh name="ring" vertex="{vertex}" face="{face}" scale="{scale}"/>
        </asset><worldbody><geom type="sdf" mesh="ring"/></worldbody></mujoco>"""
    )
    m = rb.load(folder / "w.xml", contact=True)
    assert m.geom_type.tolist() == [TRIANGLES]
    assert volume(m, 0) == pytest.approx(2.0 * RING.volume, rel=1e-9)


@pytest.mark.parametrize("suffix", [".sdf", ".xml"])
def test_a_triangle_mesh_is_written_and_read(folder, suffix):
    m = world(folder, "<uri>ring.stl</uri>")
    rb.convert(folder / "world.sdf", folder / f"copy{suffix}")
    again = rb.load(folder / f"copy{suffix}", contact=suffix == ".xml")
    assert again.geom_type.tolist() == [TRIANGLES]
    np.testing.assert_array_equal(
        *(np.sort(x.trimesh_vert[x.trimesh_face].reshape(-1, 9), axis=0) for x in (m, again))
    )
    if suffix == ".xml":
        assert mujoco.MjModel.from_xml_path(str(folder / "copy.xml")).ngeom == 1


def test_too_many_triangles_are_refused(folder, monkeypatch):
    monkeypatch.setattr("rbdyn_ros.description.meshes.meshes.MOST_TRIANGLES", 10)
    assert MOST_TRIANGLES == 1_000_000
    with refused(rb.DescriptionError, "mesh-too-large"):
        world(folder, "<uri>ring.stl</uri>")


def test_the_last_corner_of_a_large_mesh_is_found():
    """The mesh has 135,000 triangles; all its inner edges and its bounding box are right."""
    n = 260  # more corners than 16 bits count
    y, x = np.divmod(np.arange((n + 1) ** 2), n + 1)
    k = (np.arange(n)[:, None] * (n + 1) + np.arange(n)).ravel()
    faces = np.concatenate(
        [np.column_stack([k, k + 1, k + n + 2]), np.column_stack([k, k + n + 2, k + n + 1])]
    )
    vertices = np.column_stack([x, y, np.sin(0.1 * x)]) * 0.1
    m = rb.build(
        rb.SystemBuilder("w", base="world").obstacle("g", rb.TriangleMesh(vertices, faces))
    )
    assert (m.ntriangle, m.ntrivert) == (2 * n * n, (n + 1) ** 2)
    assert ((m.trimesh_wing < 0).sum(), m.trimesh_closed[0]) == (4 * n, 0)
    np.testing.assert_allclose(m.trimesh_box[0], [*vertices.min(axis=0), *vertices.max(axis=0)])


def box(extents, centre):
    made = trimesh.creation.box(extents)
    made.apply_translation(centre)
    return made


SLAB = box((2.0, 2.0, 0.2), (0.0, 0.0, -0.1))
#: Parts of a mesh, the x and y of a ball, and the height of the surface where the ball rests.
PARTS = {
    "a wall in a slab": ([SLAB, box((0.2, 2.0, 1.0), (0.5, 0.0, 0.4))], (0.25, 0.0), 0.0),
    "on a step in a slab": ([SLAB, box((1.0, 2.0, 0.1), (0.5, 0.0, 0.045))], (0.5, 0.0), 0.095),
    "beside that step": ([SLAB, box((1.0, 2.0, 0.1), (0.5, 0.0, 0.045))], (-0.3, 0.0), 0.0),
    "a cross": ([box((2.0, 0.2, 0.2), (0, 0, -0.1)), box((0.2, 2.0, 0.2), (0, 0, -0.1))],
                (0.0, 0.0), 0.0),
    "a seam": ([box((1.0, 2.0, 0.2), (x, 0.0, -0.1)) for x in (-0.5, 0.5)], (0.0, 0.0), 0.0),
}  # fmt: skip


@pytest.mark.parametrize("name", PARTS)
def test_parts_that_overlap_carry_a_ball_as_one_solid(name):
    parts, (x, y), height = PARTS[name]
    whole = trimesh.util.concatenate(parts)
    m = falling(whole.vertices, whole.faces, x, y)
    d = rb.make_data(m)
    rb.step(m, d, 1000)
    # at rest the ball penetrates by less than 1e-9 m
    assert d.qpos[:3] == pytest.approx((x, y, height + 0.1), abs=1e-6)


def test_a_ball_rests_on_a_sheet_whose_triangles_face_both_ways():
    corners = np.array([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)], float)
    front = np.array([(0, 1, 2), (0, 2, 3)])
    m = falling(corners, np.vstack([front, front[:, ::-1]]), 0.2, 0.1)
    d = rb.make_data(m)
    rb.step(m, d, 1000)
    assert d.qpos[:3] == pytest.approx((0.2, 0.1, 0.1), abs=1e-6)


def falling(vertices, faces, x, y):
    """Return the Model of a mesh, and of a ball of radius 0.1 m that starts 0.2 m above z = 0."""
    ball = rb.Object("ball", rb.Sphere(0.1), mass=1.0, pose=rb.Pose((x, y, 0.3)))
    mesh = rb.Obstacle("mesh", rb.TriangleMesh(vertices, faces))
    return rb.scene(objects=[ball], obstacles=[mesh], floor=False)
