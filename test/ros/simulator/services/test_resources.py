# SPDX-License-Identifier: Apache-2.0
"""A request can give a file by path or URI, or a text; the tests need no node."""

from pathlib import Path

import pytest
from support.refusals import worded

pytest.importorskip("rclpy", reason="rclpy is not installed")

import rbdyn_ros as rb
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.ros.simulator.services.results import ResultError
from rbdyn_ros.ros.simulator.services.spawnables import (
    MISSING_ASSETS,
    PARSE_ERROR,
    chosen_name,
    entity_of,
    has_actuators,
)
from rbdyn_ros.ros.simulator.services.uris import path_of
from rbdyn_ros.ros.simulator.services.world_files import (
    MOST_FILES,
    NOT_FOUND,
    OPERATION_FAILED,
    read_world,
    worlds_at,
)

HERE = Pose((0.0, 0.0, 0.0))


def refused(code, words, call):
    with pytest.raises(ResultError) as caught:
        call()
    assert caught.value.result == code, caught.value
    assert words in str(caught.value)
    worded("request", caught.value)


def spawned(uri):
    return entity_of("x", uri, "", HERE)


@pytest.mark.parametrize("name", ["a" * 300, "a\0b"], ids=["long", "null"])
def test_a_file_name_that_the_system_cannot_open_is_reported_as_missing(name):
    path = f"/tmp/{name}"
    refused(NOT_FOUND, "there is no file", lambda: read_world(f"{path}.yaml", "", None))
    refused(NOT_FOUND, "there is no folder or file", lambda: list(worlds_at(path, None)))
    refused(MISSING_ASSETS, "there is no file", lambda: spawned(f"{path}.urdf"))


def test_worlds_are_listed_even_if_the_loaded_file_has_an_impossible_name(tmp_path):
    (tmp_path / "arm.yaml").write_text("rbdyn_scene: 1\nrobot: arm.urdf\n")
    assert list(worlds_at(str(tmp_path), Path("/tmp/" + "a" * 300))) == []


@pytest.mark.parametrize(
    ("query", "acts"),
    [("", True), ("?actuators=1", True), ("?actuators=0", False), ("?actuators=0.0", False),
     ("?actuators=-0", False), ("?actuators=%30", False), ("?actuators=1.0", True)],
)  # fmt: skip
def test_the_query_actuators_of_a_uri_is_read_as_a_number(query, acts):
    uri = f"config/robots/pendulum.urdf{query}"
    assert spawned(uri).name == "x"
    assert has_actuators(uri) == acts


@pytest.mark.parametrize("uri", ["http://x/w", "ftp://x/w", "FILES:///w"])
def test_uris_with_other_schemes_are_refused(uri):
    refused(NOT_FOUND, "has the scheme", lambda: read_world(f"{uri}.yaml", "", None))
    refused(MISSING_ASSETS, "has the scheme", lambda: spawned(f"{uri}.urdf"))


@pytest.mark.parametrize(
    "uri", ["/a/b c.yaml", "file:///a/b%20c.yaml", "file://localhost/a/b%20c.yaml"]
)
def test_a_file_is_named_by_a_path_or_a_uri(uri):
    assert path_of(uri) == Path("/a/b c.yaml")


def test_a_path_may_contain_a_colon():
    assert path_of("a:b/c.yaml") == Path("a:b/c.yaml")
    assert path_of("file://local/c.yaml") == Path("local/c.yaml")


def test_a_folder_with_too_many_files_is_refused(tmp_path):
    for k in range(MOST_FILES):
        (tmp_path / f"{k}.txt").touch()
    assert list(worlds_at(str(tmp_path), None)) == []
    (tmp_path / "z.yaml").write_text("rbdyn_scene: 1\n")
    refused(
        OPERATION_FAILED, "name a smaller folder", lambda: list(worlds_at(str(tmp_path), None))
    )
    (tmp_path / "0.txt").unlink()
    assert [world.name for world in worlds_at(str(tmp_path), None)] == ["z"]


#: A channel of 1 m length: two walls on a floor.
CHANNEL = """v 0 0 0\nv 3 0 0\nv 3 0 2\nv 2 0 2\nv 2 0 1\nv 1 0 1\nv 1 0 2\nv 0 0 2
v 0 1 0\nv 3 1 0\nv 3 1 2\nv 2 1 2\nv 2 1 1\nv 1 1 1\nv 1 1 2\nv 0 1 2
f 1 2 5 6\nf 2 3 4 5\nf 1 6 7 8\nf 14 13 10 9\nf 13 12 11 10\nf 16 15 14 9
f 9 10 2 1\nf 10 11 3 2\nf 11 12 4 3\nf 12 13 5 4\nf 13 14 6 5\nf 14 15 7 6
f 15 16 8 7\nf 16 9 1 8
"""


def test_a_spawned_mesh_without_mass_is_a_fixed_triangle_mesh(tmp_path):
    path = tmp_path / "channel.obj"
    path.write_text(CHANNEL)
    fixed = spawned(f"{path}?friction=0.3")
    assert isinstance(fixed, rb.Obstacle)
    assert isinstance(fixed.shape, rb.TriangleMesh)
    assert len(fixed.shape.faces) == 28
    assert fixed.friction == 0.3
    m = rb.scene(objects=[rb.Object("ball", rb.Sphere(0.3), mass=1.0)], obstacles=[fixed])
    d = rb.make_data(m)
    d.qpos[:3] = 1.5, 0.5, 1.5
    rb.step(m, d, 1500)
    assert d.qpos[2] == pytest.approx(1.3, abs=1e-6)  # between the walls
    assert isinstance(spawned(f"{path}?mass=1"), rb.Object)
    refused(PARSE_ERROR, "no restitution", lambda: spawned(f"{path}?restitution=0.5"))


def test_a_mesh_without_triangles_is_refused(tmp_path):
    path = tmp_path / "points.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\n")
    refused(PARSE_ERROR, "the mesh 'points.obj'", lambda: spawned(str(path)))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("<mujoco model='legs'><default><robot name='no'/></default></mujoco>", "legs"),
        ("<!-- <robot name='no'/> --><robot name='my arm'><link name='l'/></robot>", "my_arm"),
        ("<sdf><!-- <model name='no'/> -- --><model name='yes'/><model name='no'/></sdf>", "yes"),
        ("<sdf><frame><model name='no'/></frame></sdf>", "object"),
        ("<robot name='broken'", "object"),
        ("<model name='no'/>", "object"),
    ],
)
def test_an_entity_gets_the_name_in_the_root_element_of_its_text(text, name):
    assert chosen_name("", True, text, ()) == name


def test_searching_the_name_in_a_hostile_text_takes_linear_time():
    """A quadratic search in a text of 2 MB would take minutes."""
    for text in ("<model " * 300_000, "<sdf>" + "<!--" * 500_000, "<!---->" * 300_000):
        assert chosen_name("", True, text, ()) == "object"
