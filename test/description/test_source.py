# SPDX-License-Identifier: Apache-2.0
"""One reader reads all kinds of robot files and names."""

from pathlib import Path

import pytest
from support.refusals import refused

from rbdyn_ros.description import robot_files, source
from rbdyn_ros.description.mechanism_files import mechanism
from rbdyn_ros.errors import DescriptionError, ParameterError

URDF = '<robot name="r"><link name="a"/></robot>'
YAML = "rbdyn_mechanism: 1\nbase: a\nlinks: {a: }\n"


@pytest.mark.parametrize("name", ["r.urdf", "r.URDF", "r.xml", "r"])
def test_a_urdf_is_read_whatever_the_suffix_of_its_file(tmp_path, name):
    path = tmp_path / name
    path.write_text(URDF)
    assert source.read(path) == robot_files.read(path)
    assert source.read(str(path)) == robot_files.read(path)


@pytest.mark.parametrize("name", ["m.yaml", "m.yml", "M.YAML"])
def test_a_mechanism_file_is_recognised(tmp_path, name):
    path = tmp_path / name
    path.write_text(YAML)
    assert source.read(path) == mechanism.read(path)
    assert source.read(str(path)) == mechanism.read(path)


def test_the_text_and_the_bytes_of_a_urdf_are_read():
    assert source.read(URDF) == robot_files.read(URDF)
    assert source.read(URDF.encode()) == robot_files.read(URDF)


@pytest.mark.parametrize(
    ("given", "error", "refusal"),
    [
        (
            "robot.usd",
            DescriptionError,
            ("unknown-format", ""),
        ),
        (
            Path("mesh.stl"),
            DescriptionError,
            ("unknown-format", ""),
        ),
        (
            None,
            ParameterError,
            ("not-a-source", ""),
        ),
        (
            "package://x/r.urdf",
            DescriptionError,
            ("not-a-path", ""),
        ),
        (
            "no/such.yaml",
            DescriptionError,
            ("no-such-file", ""),
        ),
    ],
)
def test_bad_sources_are_refused(given, error, refusal):
    with refused(error, *refusal):
        source.read(given)
