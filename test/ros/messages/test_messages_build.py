# SPDX-License-Identifier: Apache-2.0
"""Message packages that ROS 2 from PyPI lacks are built from their sources, once."""

import re
import sys
import threading

import pytest
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.ros.messages import build, sources
from rbdyn_ros.ros.messages.sources import LISTS, package_folders, package_names, write_package
from rbdyn_ros.share import share_dir

#: Time limit in case a build hangs [s].
PATIENCE = 60.0


@pytest.fixture
def environment(monkeypatch, tmp_path):
    """Fake an environment with wheels of ROS 2 and all build tools; return its prefix."""
    prefix = tmp_path / "prefix"
    (prefix / "share" / "rosidl_default_generators").mkdir(parents=True)
    (prefix / "share" / "rbdyn_interfaces").mkdir()
    monkeypatch.setattr(build, "PREFIX", prefix)
    monkeypatch.setattr(build, "BUILD", prefix / "rbdyn_messages")
    monkeypatch.setattr(build, "STAMP", prefix / "share" / "rbdyn_interfaces" / "built_for")
    monkeypatch.setattr(build, "rclpy_is_a_wheel", lambda: True)
    monkeypatch.setattr(build, "_versions", lambda: "versions of today\n")
    monkeypatch.setattr(build, "_finds", bool)
    return prefix


@pytest.mark.parametrize("name", ["control_msgs", "simulation_interfaces", "tf2_msgs"])
def test_packages_are_written_from_field_lists(name, tmp_path):
    source = LISTS / f"{name}.ini"
    assert write_package(source, tmp_path) == tmp_path / name
    written = {path.relative_to(tmp_path / name).as_posix() for path in tmp_path.rglob("*.*")}
    sections = re.findall(r"^\[(msg|srv|action)/(\w+)\]$", source.read_text(), re.MULTILINE)
    expected = {f"{kind}/{title}.{kind}" for kind, title in sections}
    assert written == expected | {"package.xml", "CMakeLists.txt"}
    for kind, title in sections:
        text = (tmp_path / name / kind / f"{title}.{kind}").read_text()
        assert text.count("---") == {"msg": 0, "srv": 1, "action": 2}[kind]


def test_package_folders_writes_the_sources_of_all_packages(tmp_path):
    folders = package_folders(tmp_path)
    assert [folder.name for folder in folders] == package_names()
    assert folders[0] == share_dir() / "rbdyn_interfaces"
    assert all((folder / "CMakeLists.txt").is_file() for folder in folders)


def test_nothing_is_built_if_ros_is_installed(environment, monkeypatch):
    monkeypatch.setattr(build, "rclpy_is_a_wheel", lambda: False)
    monkeypatch.setattr(build, "build", lambda _: pytest.fail("a package is built"))
    build.provide()


@pytest.mark.parametrize(("stamp", "count"), [("versions of today\n", 0), ("others\n", 1)])
def test_messages_are_built_again_only_for_other_versions(environment, monkeypatch, stamp, count):
    built = []
    build.STAMP.write_text(stamp)
    monkeypatch.setattr(build, "build", built.append)
    build.provide()
    assert len(built) == count


def test_changed_fields_of_messages_change_the_versions(monkeypatch, tmp_path):
    before = build._versions()
    assert before == build._versions()
    for path in LISTS.glob("*.ini"):
        (tmp_path / path.name).write_text(path.read_text() + "    uint8 new\n")
    monkeypatch.setattr(sources, "LISTS", tmp_path)
    assert build._versions() != before


def test_files_of_an_older_build_are_deleted_instead_of_overwritten(environment, monkeypatch):
    """A running node may have opened the older libraries."""
    packages = environment / "packages"
    monkeypatch.setattr(build.sysconfig, "get_path", lambda _: str(packages))
    old = [
        environment / "lib" / "liba_msgs__typesupport.so",
        *(folder / "a_msgs" / "old" for folder in (environment / "share", packages)),
    ]
    other = environment / "lib" / "libb_msgs__typesupport.so"
    for path in (*old, other):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("old")
    with old[0].open() as used:
        build._remove("a_msgs")
        assert used.read() == "old"
    assert [path.exists() for path in (*old, other)] == [False, False, False, True]


def test_two_processes_that_start_at_once_build_once(environment, monkeypatch):
    """Two threads stand for the processes: each opens the lock file itself."""
    waits, built = threading.Event(), []

    def compile_until_the_other_waits(lock):
        built.append(lock)
        assert waits.wait(PATIENCE)
        build.STAMP.write_text("versions of today\n")

    monkeypatch.setattr(build, "_say", lambda _: waits.set())
    monkeypatch.setattr(build, "build", compile_until_the_other_waits)
    starts = [threading.Thread(target=build.provide) for _ in range(2)]
    for start in starts:
        start.start()
    for start in starts:
        start.join(PATIENCE)
    assert len(built) == 1
    assert build.is_built()


def test_a_missing_compiler_is_reported(environment, monkeypatch, capsys):
    for variable in ("CC", "CXX"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(build, "_finds", lambda name: name in {"cmake", "ninja"})
    with refused(rb.RbdynError, "messages-not-built"):
        build.build(0)
    build.provide()
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "sudo apt install g++" in said
    assert "rbdyn_interfaces" in said


def test_the_report_of_missing_build_tools_names_the_extra(environment):
    (environment / "share" / "rosidl_default_generators").rmdir()
    with refused(rb.RbdynError, "messages-not-built") as refusal:
        build.build(0)
    assert 'pip install "rbdyn_ros[sim]"' in str(refusal.value)


def test_missing_headers_of_python_are_reported(environment, monkeypatch, tmp_path):
    monkeypatch.setattr(build.sysconfig, "get_paths", lambda: {"include": str(tmp_path)})
    with refused(rb.RbdynError, "messages-not-built") as refusal:
        build.build(0)
    assert f"sudo apt install python3.{sys.version_info[1]}-dev" in str(refusal.value)


def test_a_copy_without_message_sources_keeps_the_built_packages(
    environment, monkeypatch, tmp_path
):
    """A copy of the Python package without sources may use the environment of a checkout."""
    build.STAMP.write_text("versions of the checkout\n")
    monkeypatch.setattr(sources, "share_dir", lambda: tmp_path)
    with refused(rb.RbdynError, "messages-not-built") as refusal:
        build.build(0)
    assert f"'{tmp_path / 'rbdyn_interfaces'}' is missing" in str(refusal.value)
    assert build.STAMP.is_file()


def test_the_error_of_a_failed_build_names_the_log_file(environment):
    build.BUILD.mkdir()
    log = build.BUILD / "tf2_msgs.log"
    with (
        build.no_other_build() as lock,
        refused(rb.RbdynError, "messages-build") as refusal,
    ):
        build._run([sys.executable, "-c", "raise SystemExit('no headers')"], log, lock)
    assert str(log) in str(refusal.value)
    assert log.read_text() == "no headers\n"


def test_generators_share_parsed_files(tmp_path):
    parser = pytest.importorskip("rosidl_parser.parser", reason="rosidl_parser is not installed")
    from rosidl_parser.definition import IdlLocator

    from rbdyn_ros.ros.messages.parse_once import parse_once

    (tmp_path / "Level.idl").write_text("module a { module msg { struct Level { long x; }; }; };")
    locator, parsed = IdlLocator(tmp_path, "Level.idl"), []

    def parse(locator):
        parsed.append(parser.parse_idl_file(locator))
        return parsed[-1]

    files = [parse_once(parse)(locator) for _ in range(2)]
    assert len(parsed) == 1
    for file in files:
        assert file.locator is locator
        (found,), (expected,) = file.content.elements, parsed[0].content.elements
        assert found.structure.namespaced_type == expected.structure.namespaced_type
        assert [m.name for m in found.structure.members] == ["x"]
