# SPDX-License-Identifier: Apache-2.0
"""The sources of the message packages are complete, and a change builds them again."""

import importlib.util
import re
import sys
import xml.etree.ElementTree as ET
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from rbdyn_ros.ros.common.queries.dynamics_query import Answer, Query

ROOT = Path(__file__).parents[3]
OWN = ROOT / "rbdyn_interfaces"
#: Primitive types of rosidl, which belong to no package.
PLAIN = r"(bool|string|u?int(8|16|32|64)|float(32|64))"


def parts(path):
    """Return the fields of each part of an interface file, e.g. request and response, as pairs
    (type, name).
    """
    text = re.sub(r"#.*", "", path.read_text())
    lines = [[line.split() for line in part.splitlines()] for part in text.split("---")]
    return [[tuple(w) for w in part if len(w) == 2] for part in lines]


def interfaces():
    return sorted(path.relative_to(OWN).as_posix() for path in OWN.glob("*/*.*"))


def tool(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_cmakelists_names_every_interface_file():
    named = re.findall(r'^  "(.*)"$', (OWN / "CMakeLists.txt").read_text(), re.MULTILINE)
    assert named == interfaces()
    assert len(named) == 17


def test_the_packages_of_all_field_types_are_declared_as_dependencies():
    pairs = [pair for name in interfaces() for part in parts(OWN / name) for pair in part]
    plain = re.compile(PLAIN + r"(\[\])?")
    used = {kind.split("/")[0] for kind, _ in pairs if not plain.fullmatch(kind)}
    declared = {node.text for node in ET.parse(OWN / "package.xml").findall("depend")}
    cmake = (OWN / "CMakeLists.txt").read_text()
    depends = set(re.search(r"DEPENDENCIES (.*)", cmake).group(1).split())
    assert used == declared == depends


def test_get_dynamics_has_the_same_fields_as_the_query_of_the_library():
    request, response = parts(OWN / "srv" / "GetDynamics.srv")
    assert [name for _, name in request] == [field.name for field in fields(Query)]
    answered = {name for _, name in response}
    assert answered - {field.name for field in fields(Answer)} == {
        "success",
        "message",
        "model_sha256",
        "stamp",
    }


def test_the_first_fields_of_arm_answers_give_success_model_and_stamp():
    for name in ("GetGravityEffort", "GetInverseDynamics", "GetComputedTorque"):
        _, response = parts(OWN / "srv" / f"{name}.srv")
        assert [name for _, name in response][:6] == [
            "success",
            "message",
            "model_sha256",
            "stamp",
            "name",
            "effort",
        ]


def test_colcon_in_the_repository_finds_both_packages():
    defaults = yaml.safe_load((ROOT / "colcon_defaults.yaml").read_text())
    assert set(defaults) == {"list", "graph", "build", "test"}
    for options in defaults.values():
        assert options == {"base-paths": [".", "rbdyn_interfaces"]}
    assert all((ROOT / path / "package.xml").is_file() for path in (".", "rbdyn_interfaces"))


@pytest.mark.parametrize(
    "changed",
    ["rbdyn_interfaces/msg/A.msg", "rbdyn_ros/ros/messages/a.ini", "rbdyn_ros/ros/messages/b.py"],
)
def test_a_changed_interface_is_built_again(monkeypatch, tmp_path, changed):
    setup = tool("setup_env")
    (tmp_path / "rbdyn_ros" / "ros" / "messages").mkdir(parents=True)
    (tmp_path / "rbdyn_interfaces" / "msg").mkdir(parents=True)
    message = tmp_path / changed
    (tmp_path / "setup.py").write_text("")
    monkeypatch.setattr(setup, "ROOT", tmp_path)
    info = {"version": list(sys.version_info[:2]), "base": sys.base_prefix}
    message.write_text("bool a\n")
    before = setup.wanted_stamps(info)
    message.write_text("bool b\n")
    after = setup.wanted_stamps(info)
    assert before["packages"] == after["packages"]
    assert before["interfaces"] != after["interfaces"]


def test_installed_interfaces_have_the_fields_of_the_repository():
    srv = pytest.importorskip("rbdyn_interfaces.srv")
    if not hasattr(srv, "GetDynamics"):
        pytest.skip("rbdyn_interfaces is not built")
    for path in sorted((OWN / "srv").glob("*.srv")):
        kind = getattr(srv, path.stem)
        for side, part in zip((kind.Request, kind.Response), parts(path), strict=True):
            assert list(side.get_fields_and_field_types()) == [name for _, name in part]
