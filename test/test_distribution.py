# SPDX-License-Identifier: Apache-2.0
"""An installation and a release of the package are complete, with consistent versions."""

import ast
import re
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import rbdyn_ros as rb

ROOT = Path(__file__).parents[1]
#: Folder of the data files, relative to the prefix of an installation.
SHARE = "share/rbdyn_ros"


def tracked(*folders):
    """Return the files of these folders in git; skip the test without a repository."""
    if not (ROOT / ".git").exists():
        pytest.skip("the tests are not in a git repository")
    command = ["git", "ls-files", "--", *folders]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in done.stdout.splitlines() if (ROOT / name).is_file()]


def setup(folder, *arguments):
    command = [sys.executable, "setup.py", "--quiet", *arguments]
    subprocess.run(command, cwd=folder, capture_output=True, check=True)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Return the modules and data files of an installation of the source distribution.

    setuptools makes the distribution from the files of the Dockerfile, because pip would ask a
    package index.
    """
    folder = tmp_path_factory.mktemp("distribution")
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    for name in tracked(*(line[1:] for line in lines if line.startswith("!"))):
        path = folder / "source" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((ROOT / name).read_bytes())
    setup(folder / "source", "sdist", "--formats=tar", "--dist-dir", str(folder))
    (archive,) = folder.glob("*.tar")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    target = str(folder / "installed")
    modules, data = ["build_py", "--build-lib", target], ["install_data", "--install-dir", target]
    setup(folder / archive.stem, *modules, *data)
    files = (path for path in Path(target).rglob("*") if path.is_file())
    return {path.relative_to(target).as_posix() for path in files}


@pytest.mark.parametrize(
    "name",
    [
        "config/robots/seven_dof_arm.urdf",
        "config/hil.yaml",
        "config/scenes/gripper.urdf",
        "config/scenes/gripper.yaml",
        "config/worlds/tables.yaml",
        "config/sim.rviz",
        "config/sros2/policy.xml",
        "config/ros2_control/controllers.yaml",
        "launch/sim.launch.py",
        "rbdyn_interfaces/CMakeLists.txt",
        "rbdyn_interfaces/package.xml",
        "rbdyn_interfaces/msg/State.msg",
        "rbdyn_interfaces/srv/Reset.srv",
        "docs/index.md",
        "docs/reference/api.md",
        "docs/pictures/view/robots.png",
        "examples/push_joint.py",
        "package.xml",
    ],
)
def test_the_package_contains_its_data_files(installed, name):
    assert f"{SHARE}/{name}" in installed


def test_the_package_contains_all_its_modules(installed):
    """The package also contains type hints, field lists and a CMake file."""
    found = {name for name in installed if name.startswith("rbdyn_ros/")}
    assert found == set(tracked("rbdyn_ros"))
    assert {"rbdyn_ros/py.typed", "rbdyn_ros/__init__.pyi"} <= found
    assert "rbdyn_ros/ros/messages/python_only.cmake" in found


#: Program that uses the library after removing the system calls that only Linux has.
ELSEWHERE = """
import ctypes, os, sys
for name in [name for name in dir(os) if name.startswith(("sched_", "memfd_", "eventfd"))]:
    delattr(os, name)
class Library(ctypes.CDLL):
    def __getattr__(self, name):
        if name in ("prctl", "mlockall", "clock_nanosleep"):
            raise AttributeError(name)
        return super().__getattr__(name)
ctypes.CDLL = Library
import rbdyn_ros as rb
from rbdyn_ros.cli import main
from rbdyn_ros.share import bundled_robot
m = rb.load_urdf(bundled_robot("pendulum"))
d = rb.make_data(m)
rb.step(m, d, 10)
rb.specialize(m).step(d, 10)
rb.rollout(m, [d.qpos, d.qpos], d.qvel, nstep=10)
for arguments in (["info"], ["check", "pendulum"]):
    try:
        main(arguments)
    except SystemExit as done:
        assert done.code == 0, arguments
"""


def test_the_library_works_without_the_system_calls_of_linux():
    """The tests run on Linux, so a program removes these calls."""
    subprocess.run([sys.executable, "-c", ELSEWHERE], capture_output=True, check=True)


def test_version_numbers_in_all_files_are_equal():
    packages = {
        ET.parse(ROOT / folder / "package.xml").findtext("version")
        for folder in (".", "rbdyn_interfaces", "rbdyn_hardware")
    }
    logs = {
        re.search(r"^(\d+\.\d+\.\d+) \(\d{4}-\d\d-\d\d\)$", path.read_text(), re.MULTILINE)[1]
        for path in (ROOT / "CHANGELOG.rst", *ROOT.glob("rbdyn_*/CHANGELOG.rst"))
    }
    cited = {re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[1]}
    assert packages == logs == cited == {arguments()["version"]} == {rb.__version__}


def test_every_source_file_names_its_license():
    sources = tracked("*.py", "*.pyi", "*.c", "*.cpp", "*.h", "*.hpp")
    ours = [name for name in sources if "/templates/" not in name]
    lacking = [
        name
        for name in ours
        if (text := (ROOT / name).read_text()).strip()
        and "SPDX-License-Identifier: Apache-2.0" not in text[:200]
    ]
    assert not lacking, "these files do not begin with # SPDX-License-Identifier: Apache-2.0"


def test_pip_and_make_setup_accept_the_same_versions_of_python():
    text = (ROOT / "tools" / "setup_env.py").read_text()
    oldest, newest = re.search(r"OLDEST, NEWEST = \(3, (\d+)\), \(3, (\d+)\)", text).groups()
    assert arguments()["python_requires"] == f">=3.{oldest},<3.{int(newest) + 1}"


def arguments():
    """Return the constant arguments of setup() in setup.py, by name."""
    tree = ast.parse((ROOT / "setup.py").read_text())
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    call = next(call for call in calls if getattr(call.func, "id", "") == "setup")
    values = {word.arg: word.value for word in call.keywords}
    return {name: value.value for name, value in values.items() if isinstance(value, ast.Constant)}


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """Return the path of the folder that `make release` writes for the newest commit."""
    tracked()
    folder = tmp_path_factory.mktemp("release") / "ros"
    command = ["make", "release", f"RELEASE={folder}"]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    return folder


def test_catkin_finds_all_packages_of_a_release(release):
    found = pytest.importorskip("catkin_pkg.packages").find_packages(str(release))
    assert {(path, package.name) for path, package in found.items()} == {
        ("rbdyn_ros", "rbdyn_ros"),
        ("rbdyn_interfaces", "rbdyn_interfaces"),
        ("rbdyn_hardware", "rbdyn_hardware"),
    }
    needed = {depend.name for depend in found["rbdyn_ros"].exec_depends}
    assert "rbdyn_interfaces" in needed


def test_colcon_finds_all_packages_of_a_release(release):
    pytest.importorskip("colcon_ros")
    command = [sys.executable, "-m", "colcon", "--log-base", str(release.parent), "list", "-n"]
    done = subprocess.run(command, cwd=release, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["rbdyn_hardware", "rbdyn_interfaces", "rbdyn_ros"]


def test_the_install_guide_lists_every_extra():
    tree = ast.parse((ROOT / "setup.py").read_text())
    (extras,) = (
        [key.value for key in node.value.keys]
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword) and node.arg == "extras_require"
    )
    rows = (ROOT / "docs/guides/install.md").read_text().split("| extra | installs |")[1]
    listed = [row.split("|")[1] for row in rows.split("\n\n")[0].splitlines() if "`" in row]
    assert {name for cell in listed for name in re.findall("`(.*?)`", cell)} == {*extras} - {
        "docs",
        "test",
        "test-nodes",
    }
