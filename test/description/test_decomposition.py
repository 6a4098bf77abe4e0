# SPDX-License-Identifier: Apache-2.0
"""coacd divides collision meshes into convex parts; some meshes cannot be divided."""

import sys

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description.meshes import decomposition
from rbdyn_ros.description.robot_files import read

FORK = [(0, 0), (3, 0), (3, 3), (2, 3), (2, 1), (1, 1), (1, 3), (0, 3)]
QUADS = [(0, 1, 4, 5), (1, 2, 3, 4), (0, 5, 6, 7)]


def fork(open_at=0):
    """Return the OBJ of a fork with volume 7, without the last `open_at` triangles."""
    corners = [(*x, z) for z in (0, 1) for x in FORK]
    quads = [q[::-1] for q in QUADS] + [tuple(c + 8 for c in q) for q in QUADS]
    quads += [(k, (k + 1) % 8, (k + 1) % 8 + 8, k + 8) for k in range(8)]
    triangles = [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]
    return obj(corners, triangles[: len(triangles) - open_at])


def obj(corners, triangles):
    lines = [f"v {x} {y} {z}" for x, y, z in corners]
    return "\n".join(lines + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in triangles]) + "\n"


@pytest.fixture
def robot(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def write(mesh, scale="1 1 1"):
        (tmp_path / "m.obj").write_text(mesh)
        path = tmp_path / "r.urdf"
        path.write_text(
            '<robot name="r"><link name="tool"><inertial><mass value="1"/><inertia ixx="1" '
            'ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial><collision><geometry>'
            f'<mesh filename="m.obj" scale="{scale}"/></geometry></collision></link></robot>'
        )
        return path

    return write


def parts(path, **arguments):
    found = read(path, contact=rb.Contact(decompose=True), **arguments)
    return found, [np.array(one.shape.points) for one in found.geometries]


def holds(hull, point):
    return (hull.equations @ [*point, 1.0] <= 1e-9).all()


@pytest.mark.parametrize(
    ("scale", "size"), [("1 1 1", (1, 1, 1)), ("-0.1 0.2 0.1", (-0.1, 0.2, 0.1))]
)
def test_a_fork_keeps_the_room_between_its_prongs(robot, scale, size):
    pytest.importorskip("coacd")
    described, corners = parts(robot(fork(), scale))
    hulls = [ConvexHull(points) for points in corners]
    assert len(hulls) >= 3
    assert [one.link for one in described.geometries] == len(hulls) * ["tool"]
    assert [one.name for one in described.geometries[:3]] == ["tool", "tool_1", "tool_2"]
    between, prong = np.multiply((1.5, 2.0, 0.5), size), np.multiply((0.5, 2.0, 0.5), size)
    assert not any(holds(hull, between) for hull in hulls)
    assert any(holds(hull, prong) for hull in hulls)
    assert sum(hull.volume for hull in hulls) == pytest.approx(7.0 * abs(np.prod(size)), rel=0.05)


def test_a_mesh_that_is_not_decomposed_is_one_hull(robot):
    (one,) = read(robot(fork()), contact=True).geometries
    assert ConvexHull(np.array(one.shape.points)).volume == pytest.approx(9.0)


def test_a_model_has_all_parts_on_one_body(robot):
    pytest.importorskip("coacd")
    m = rb.load_urdf(robot(fork()), floating_base=True, contact=rb.Contact(decompose=True))
    assert m.ngeommoving >= 3
    assert set(m.geom_bodyid[: m.ngeommoving].tolist()) == {1}
    assert m.npush == 0


def test_the_parts_are_kept_on_disk(robot, tmp_path, monkeypatch):
    coacd = pytest.importorskip("coacd")
    path = robot(fork())
    _, first = parts(path)
    (file,) = (tmp_path / "cache" / "rbdyn_ros" / "convex_parts").iterdir()
    run, calls = coacd.run_coacd, []
    monkeypatch.setattr(coacd, "run_coacd", lambda *a, **k: calls.append(1) or run(*a, **k))
    _, again = parts(path)
    assert not calls
    # a damaged file is replaced by a new result, which has the same bits
    file.write_bytes(file.read_bytes()[:-100])
    _, anew = parts(path)
    assert calls == [1]
    for one, two, three in zip(first, again, anew, strict=True):
        np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(one, three)


def test_meshes_are_decomposed_without_a_writable_cache(robot, tmp_path):
    pytest.importorskip("coacd")
    (tmp_path / "cache").write_text("")
    assert len(parts(robot(fork()))[1]) >= 3


FLAT = obj([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)], [(0, 1, 2), (0, 2, 3)])
BAD = {"flat-mesh": FLAT, "open-mesh": fork(open_at=1)}


@pytest.mark.parametrize("code", BAD)
def test_a_flat_or_open_mesh_is_refused_or_replaced_by_its_hull(robot, code):
    path = robot(BAD[code])
    with refused(rb.DescriptionError, code, "link 'tool'", line=1, found="m.obj"):
        parts(path)
    described, corners = parts(path, strict=False)
    assert len(corners) == 1
    assert [one.code for one in described.findings] == [code]


def test_too_many_triangles_are_refused(robot, monkeypatch):
    monkeypatch.setattr(decomposition, "MOST_TRIANGLES", 20)
    with refused(rb.DescriptionError, "mesh-too-large", "link 'tool'"):
        parts(robot(fork()))


def test_a_mesh_with_a_coordinate_nan_is_refused(robot):
    with refused(rb.DescriptionError, "bad-mesh", "link 'tool'"):
        parts(robot(fork().replace("v 0 0 0", "v nan 0 0", 1)))


def test_a_failure_of_coacd_is_an_error_if_strict_and_a_finding_otherwise(robot, monkeypatch):
    coacd = pytest.importorskip("coacd")

    def fail(*_, **__):
        raise RuntimeError("out of luck")

    monkeypatch.setattr(coacd, "run_coacd", fail)
    path = robot(fork())
    with refused(rb.DescriptionError, "bad-mesh", "link 'tool'", found="m.obj"):
        parts(path)
    described, corners = parts(path, strict=False)
    assert len(corners) == 1
    assert "out of luck" in described.findings[0].message


@pytest.mark.parametrize("scale", ["0 1 1", "1e-9 1e-9 1e-9"])
def test_a_bad_scale_is_reported_once(robot, scale):
    with pytest.raises(rb.DescriptionError) as caught:
        parts(robot(fork(), scale))
    assert len(caught.value.findings) == 1


def test_the_error_without_coacd_names_the_package(robot, monkeypatch):
    monkeypatch.setitem(sys.modules, "coacd", None)
    for strict in (True, False):
        with refused(rb.DescriptionError, "coacd-missing", "link 'tool'", found="m.obj"):
            parts(robot(fork()), strict=strict)


def test_a_string_in_place_of_decompose_is_refused(robot):
    with refused(rb.ParameterError, "wrong-kind"):
        read(robot(fork()), contact=rb.Contact(decompose="yes"))


@pytest.fixture
def scene(robot, tmp_path):
    def write(**lines):
        robot(fork())
        (tmp_path / "flat.obj").write_text(obj([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)]))
        path = tmp_path / "scene.yaml"
        table = "".join(f"\n  {name}: {{{line}}}" for name, line in lines.items())
        path.write_text(f"rbdyn_scene: 1\nobjects:{table}\n")
        return path

    return write


def test_objects_of_a_scene_are_decomposed(scene, tmp_path):
    pytest.importorskip("coacd")
    at = "xyz: [{}, 0, 5], decompose: true"
    mesh = "mesh: {file: m.obj, scale: [0.1, 0.1, 0.1]}"
    path = scene(
        fork=f"{mesh}, mass: 2, {at.format(0)}",
        file=f"file: r.urdf, {at.format(5)}",
        hull=f"{mesh}, mass: 2, xyz: [9, 0, 5]",
    )
    m = rb.load(path)
    count = [sum(name.split("_")[0].startswith(owner) for name in m.geom_names)
             for owner in ("fork", "file", "hull")]  # fmt: skip
    assert count == [3, 3, 1]
    # the volume of the fork is 7 * 0.1^3 m^3, and the volume of its hull 9 * 0.1^3 m^3
    fork_body, hull_body = (m.frame_bodyid[m.frame_id(name)] for name in ("fork", "hull"))
    assert m.body_mass[fork_body] == pytest.approx(2.0)
    heights = m.body_ipos[[fork_body, hull_body], 1]
    assert heights == pytest.approx([0.1 * (3 * 0.5 + 4 * 2) / 7, 0.15], abs=2e-3)

    given = rb.Object("fork", tmp_path / "m.obj", mass=2.0, scale=(0.1, 0.1, 0.1), decompose=True)
    alone = rb.scene(objects=[given])
    assert alone.body_ipos[1] == pytest.approx(m.body_ipos[fork_body])


def test_the_error_about_a_mesh_that_cannot_be_decomposed_names_its_line(scene):
    pytest.importorskip("coacd")
    path = scene(
        box="box: {size: [1, 1, 1]}, mass: 1, decompose: true",
        mesh="mesh: {file: m.obj}, mass: 1, decompose: yes",
        flat="mesh: {file: flat.obj}, mass: 1, decompose: true",
        shapes="parts: [{mesh: {file: m.obj}}], mass: 1, decompose: true",
    )
    codes = ["bad-value", "bad-value", "flat-mesh", "bad-value"]
    with refused(rb.DescriptionError, codes, "object 'box'") as refusal:
        rb.load(path)
    assert [finding.line for finding in refusal.value.findings] == [3, 4, 5, 6]


def test_a_robot_of_a_scene_is_decomposed(robot, tmp_path):
    pytest.importorskip("coacd")
    robot(fork())
    path = tmp_path / "scene.yaml"
    path.write_text("rbdyn_scene: 1\nrobot: {file: r.urdf, xyz: [0, 0, 1], decompose: true}\n")
    assert rb.load(path).ngeomlink == 3
    path.write_text("rbdyn_scene: 1\nrobot:\n  file: r.urdf\n  decompose: 1\n")
    with refused(rb.DescriptionError, "bad-value", "the robot", line=4):
        rb.load(path)


def test_decomposing_a_box_is_refused():
    given = rb.Object("box", rb.Box((1.0, 1.0, 1.0)), mass=1.0, decompose=True)
    with refused(rb.DescriptionError, "bad-argument", "object 'box'"):
        rb.scene(objects=[given])
