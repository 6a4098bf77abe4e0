# SPDX-License-Identifier: Apache-2.0
"""Resources of requests, without a node: paths, URIs and texts from outside."""

from pathlib import Path

import pytest
from support.refusals import worded

pytest.importorskip("rclpy", reason="rclpy is not installed")

from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.ros.simulator.services.results import ResultError
from rbdyn_ros.ros.simulator.services.spawnables import MISSING_ASSETS, entity_of, has_actuators
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
def test_a_name_that_the_system_refuses_is_no_file(name):
    path = f"/tmp/{name}"
    refused(NOT_FOUND, "there is no file", lambda: read_world(f"{path}.yaml", "", None))
    refused(NOT_FOUND, "there is no folder or file", lambda: list(worlds_at(path, None)))
    refused(MISSING_ASSETS, "there is no file", lambda: spawned(f"{path}.urdf"))


def test_a_start_whose_name_the_system_refuses_is_no_world_of_a_folder(tmp_path):
    (tmp_path / "arm.yaml").write_text("rbdyn_scene: 1\nrobot: arm.urdf\n")
    assert list(worlds_at(str(tmp_path), Path("/tmp/" + "a" * 300))) == []


@pytest.mark.parametrize(
    ("query", "acts"),
    [("", True), ("?actuators=1", True), ("?actuators=0", False), ("?actuators=0.0", False),
     ("?actuators=-0", False), ("?actuators=%30", False), ("?actuators=1.0", True)],
)  # fmt: skip
def test_actuators_are_compared_as_a_number(query, acts):
    uri = f"config/robots/pendulum.urdf{query}"
    assert spawned(uri).name == "x"
    assert has_actuators(uri) == acts


@pytest.mark.parametrize("uri", ["http://x/w", "ftp://x/w", "FILES:///w"])
def test_other_schemes_are_refused(uri):
    refused(NOT_FOUND, "has the scheme", lambda: read_world(f"{uri}.yaml", "", None))
    refused(MISSING_ASSETS, "has the scheme", lambda: spawned(f"{uri}.urdf"))


@pytest.mark.parametrize(
    "uri", ["/a/b c.yaml", "file:///a/b%20c.yaml", "file://localhost/a/b%20c.yaml"]
)
def test_a_file_is_named_by_a_path_or_a_uri(uri):
    assert path_of(uri) == Path("/a/b c.yaml")


def test_a_path_may_have_a_colon():
    assert path_of("a:b/c.yaml") == Path("a:b/c.yaml")
    assert path_of("file://local/c.yaml") == Path("local/c.yaml")


def test_a_folder_with_too_many_files_is_refused_as_a_whole(tmp_path):
    for k in range(MOST_FILES):
        (tmp_path / f"{k}.txt").touch()
    assert list(worlds_at(str(tmp_path), None)) == []
    (tmp_path / "z.yaml").write_text("rbdyn_scene: 1\n")
    refused(
        OPERATION_FAILED, "name a smaller folder", lambda: list(worlds_at(str(tmp_path), None))
    )
    (tmp_path / "0.txt").unlink()
    assert [world.name for world in worlds_at(str(tmp_path), None)] == ["z"]
