"""One reader for whatever names a robot."""

from pathlib import Path

import pytest

from rbdyn_ros.description import source
from rbdyn_ros.description.mechanism_files import mechanism
from rbdyn_ros.description.urdf_files import urdf
from rbdyn_ros.errors import DescriptionError, ParameterError

URDF = '<robot name="r"><link name="a"/></robot>'
YAML = "rbdyn_mechanism: 1\nbase: a\nlinks: {a: }\n"


@pytest.mark.parametrize("name", ["r.urdf", "r.URDF", "r.xml", "r"])
def test_urdf(tmp_path, name):
    path = tmp_path / name
    path.write_text(URDF)
    assert source.read(path) == urdf.read(path)
    assert source.read(str(path)) == urdf.read(path)


@pytest.mark.parametrize("name", ["m.yaml", "m.yml", "M.YAML"])
def test_mechanism(tmp_path, name):
    path = tmp_path / name
    path.write_text(YAML)
    assert source.read(path) == mechanism.read(path)
    assert source.read(str(path)) == mechanism.read(path)


def test_text():
    assert source.read(URDF) == urdf.read(URDF)
    assert source.read(URDF.encode()) == urdf.read(URDF)


@pytest.mark.parametrize(
    ("given", "error", "sentence"),
    [
        (
            "robot.sdf",
            DescriptionError,
            (
                "'robot.sdf' is neither URDF nor a mechanism file by its name; "
                "known are .urdf, .xacro, .yaml and .yml"
            ),
        ),
        (
            Path("mesh.stl"),
            DescriptionError,
            (
                "'mesh.stl' is neither URDF nor a mechanism file by its name; "
                "known are .urdf, .xacro, .yaml and .yml"
            ),
        ),
        (
            None,
            ParameterError,
            "a robot comes from a path or from URDF text, not from None",
        ),
        (
            "package://x/r.urdf",
            DescriptionError,
            "'package://x/r.urdf' is an address, not a path; give the path of the file",
        ),
        (
            "no/such.yaml",
            DescriptionError,
            "there is no file 'no/such.yaml'; give the path of a mechanism file",
        ),
    ],
)
def test_refused(given, error, sentence):
    with pytest.raises(error) as caught:
        source.read(given)
    assert str(caught.value) == sentence
