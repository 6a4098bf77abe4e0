# SPDX-License-Identifier: Apache-2.0
"""A generated package builds with ros2_control, and its controller runs.

To run these tests, source an installation with controller_interface and
generate_parameter_library.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support.control_package import package_of, write

import rbdyn_ros as rb
from rbdyn_ros.share import bundled_robot

NEEDED = ("ament_cmake", "controller_interface", "generate_parameter_library", "pluginlib")
PREFIXES = [Path(path) for path in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)]
MISSING = [
    name
    for name in NEEDED
    if not any((prefix / "share" / name / "package.xml").is_file() for prefix in PREFIXES)
]
TOOLS = [name for name in ("cmake", "g++") if shutil.which(name) is None]
ALONE = Path(__file__).parents[1] / "support" / "controller_alone.cpp"
#: Builds the program that runs the controller. ROS libraries from PyPI have undefined symbols of
#: Python, which the program does not need.
CMAKE = """
cmake_minimum_required(VERSION 3.16)
project(alone C CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(controller_interface REQUIRED)
find_package(pluginlib REQUIRED)
add_executable(alone {alone} {source}/arm_dynamics.c)
target_compile_definitions(alone PRIVATE ARM_NAMESPACE=rbdyn_my_arm)
target_include_directories(alone PRIVATE {source})
target_link_libraries(alone controller_interface::controller_interface pluginlib::pluginlib m)
target_link_options(alone PRIVATE -Wl,--unresolved-symbols=ignore-in-shared-libs)
"""

pytestmark = [
    pytest.mark.skipif(bool(MISSING), reason=f"AMENT_PREFIX_PATH has no {', '.join(MISSING)}"),
    pytest.mark.skipif(bool(TOOLS), reason=f"there is no {', '.join(TOOLS)}"),
]


def run(*words, **more):
    """Run a program and return its output; fail and show the output if its status is not 0."""
    done = subprocess.run(
        list(map(str, words)), capture_output=True, text=True, timeout=1200, check=False, **more
    )
    assert done.returncode == 0, f"{words}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def build(source, folder, *more):
    run("cmake", "-S", source, "-B", folder, "-DCMAKE_POLICY_VERSION_MINIMUM=3.5", *more)
    run("cmake", "--build", folder, "-j2")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """Return a folder in which the package `my_arm` and the program `alone` are built."""
    folder = tmp_path_factory.mktemp("workspace")
    write(package_of(rb.load_urdf(bundled_robot("seven_dof_arm"))), folder / "my_arm")
    tested = shutil.which("gtest-config") or any(
        (prefix / "share/ament_cmake_gtest").is_dir() for prefix in PREFIXES
    )
    options = f"-DCMAKE_INSTALL_PREFIX={folder / 'install'}", f"-DBUILD_TESTING={bool(tested)}"
    build(folder / "my_arm", folder / "build", *options)
    run("cmake", "--install", folder / "build")
    (folder / "alone").mkdir()
    text = CMAKE.format(alone=ALONE, source=folder / "my_arm/src")
    (folder / "alone/CMakeLists.txt").write_text(text)
    build(folder / "alone", folder / "alone/build")
    return folder


def test_the_package_passes_its_own_tests(workspace):
    if not (workspace / "build/CTestTestfile.cmake").is_file():
        pytest.skip("there is no ament_cmake_gtest")
    run("ctest", "--test-dir", workspace / "build", "--output-on-failure")


def alone(workspace, *words):
    """Run the program `alone` with arguments; return what it reports about the controller."""
    there = {
        name: os.pathsep.join([str(workspace / "install" / tail), os.environ.get(name, "")])
        for name, tail in (("AMENT_PREFIX_PATH", ""), ("LD_LIBRARY_PATH", "lib"))
    }
    printed = run(workspace / "alone/build/alone", "my_arm", *words, env={**os.environ, **there})
    return json.loads(printed.splitlines()[-1])


def test_an_arm_floats_and_comes_to_rest(workspace):
    found = alone(workspace, "gravity")
    assert (found["active"], found["errors"]) == (1, 0)
    assert found["fastest"] > 0.3
    assert found["speed"] < 1e-6
    assert found["moved"] > 0.05


@pytest.mark.parametrize("mode", ["computed_torque", "impedance"])
def test_following_references_allocates_no_memory(mode, workspace):
    found = alone(workspace, mode, "chained")
    assert (found["active"], found["errors"], found["allocations"]) == (1, 0, 0)
    assert found["worst"] < 1e-3


def test_a_jump_of_an_encoder_ends_in_errors_of_the_controller(workspace):
    """For 0.2 s the arm brakes without states.

    Then each update returns an error, upon which a controller manager would deactivate the
    controller.
    """
    found = alone(workspace, "computed_torque", "chained", "jump")
    assert (found["active"], found["allocations"]) == (1, 0)
    assert 2700 < found["errors"] < 2900
