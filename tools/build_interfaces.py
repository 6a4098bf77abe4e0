"""Build our own message package and those that PyPI lacks into this virtual environment.

``rbdyn_interfaces`` is built as it stands. Each ``tools/interfaces/<package>.ini`` lists the
fields of one other package, and a ROS package is written from it. The real rosidl generators do
the rest, with colcon, into the prefix of the environment.
"""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np

INTERFACES = Path(__file__).resolve().parent / "interfaces"
OWN = Path(__file__).resolve().parent.parent / "rbdyn_interfaces"
PREFIX = Path(sys.prefix)
BUILD = PREFIX / "interfaces-build"

# The include folders of the machine the wheels were built on, as their CMake exports name them.
PYTHON_INCLUDE = re.compile(r'[^;"]*/include/python3\.\d+(?=[;"])')
NUMPY_INCLUDE = re.compile(r'[^;"]*/numpy/(?:_core|core)/include(?=[;"])')

PACKAGE_XML = """\
<?xml version="1.0"?>
<package format="3">
  <name>{name}</name>
  <version>0.1.0</version>
  <description>Generated from tools/interfaces/{name}.ini of rbdyn_ros.</description>
  <maintainer email="maintainers@rbdyn-ros.dev">rbdyn_ros maintainers</maintainer>
  <license>Apache-2.0</license>
  <buildtool_depend>ament_cmake</buildtool_depend>
  <buildtool_depend>rosidl_default_generators</buildtool_depend>
{depends}  <exec_depend>rosidl_default_runtime</exec_depend>
  <member_of_group>rosidl_interface_packages</member_of_group>
  <export>
    <build_type>ament_cmake</build_type>
  </export>
</package>
"""

CMAKE_LISTS = """\
cmake_minimum_required(VERSION 3.16)
project({name})
find_package(ament_cmake REQUIRED)
find_package(rosidl_default_generators REQUIRED)
{finds}rosidl_generate_interfaces(${{PROJECT_NAME}}
  {files}
  DEPENDENCIES {depends})
ament_package()
"""


def write_package(source: Path, folder: Path) -> str:
    """Write the ROS package that ``source`` describes into ``folder``; return its name."""
    reader = configparser.ConfigParser(delimiters=("=",), comment_prefixes=(";",), strict=True)
    reader.read_string(source.read_text(encoding="ascii"), source=str(source))
    name = source.stem
    depends = reader.get("package", "depends", fallback="").split()
    files = []
    for section in reader.sections():
        if section == "package":
            continue
        kind, _, title = section.partition("/")
        if kind not in ("msg", "srv", "action") or not title.isidentifier():
            sys.exit(f"{source}: [{section}] must be [msg/Name], [srv/Name] or [action/Name].")
        path = folder / name / kind / f"{title}.{kind}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(reader.get(section, "fields").strip() + "\n", encoding="ascii")
        files.append(f'"{kind}/{path.name}"')
    if not files:
        sys.exit(f"{source}: it has no [msg/Name], [srv/Name] or [action/Name] section.")
    xml = "".join(f"  <depend>{depend}</depend>\n" for depend in depends)
    finds = "".join(f"find_package({depend} REQUIRED)\n" for depend in depends)
    (folder / name / "package.xml").write_text(PACKAGE_XML.format(name=name, depends=xml))
    (folder / name / "CMakeLists.txt").write_text(
        CMAKE_LISTS.format(
            name=name, finds=finds, files="\n  ".join(files), depends=" ".join(depends)
        )
    )
    return name


def use_local_includes() -> None:
    """Point the wheels' exported targets at this machine's Python and NumPy headers."""
    for path in PREFIX.glob("share/*/cmake/*_pyExport.cmake"):
        old = path.read_text(encoding="utf-8")
        new = PYTHON_INCLUDE.sub(lambda _: sysconfig.get_paths()["include"], old)
        new = NUMPY_INCLUDE.sub(lambda _: np.get_include(), new)
        if new != old:
            path.write_text(new, encoding="utf-8")


def build(names: list[str]) -> None:
    """Build the packages of these names into the environment's prefix."""
    env = dict(os.environ)
    env["AMENT_PREFIX_PATH"] = env["CMAKE_PREFIX_PATH"] = str(PREFIX)
    env["PATH"] = f"{PREFIX / 'bin'}{os.pathsep}{env.get('PATH', os.defpath)}"
    env["COLCON_HOME"] = str(BUILD)  # the user's own colcon defaults do not apply
    command = [sys.executable, "-m", "colcon", "--log-base", str(BUILD / "log"), "build"]
    command += ["--base-paths", str(BUILD / "src"), str(OWN), "--build-base", str(BUILD / "build")]
    command += ["--merge-install", "--install-base", str(PREFIX), "--packages-select", *names]
    command += ["--event-handlers", "console_direct+", "--cmake-args", "-G", "Ninja"]
    command += ["-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF"]
    command += [f"-DPython3_EXECUTABLE={sys.executable}"]
    command += [f"-DCMAKE_PROJECT_INCLUDE={INTERFACES / 'python_only.cmake'}"]
    subprocess.run(command, env=env, check=True)
    imports = "; ".join(f"import {name}" for name in names)
    subprocess.run([sys.executable, "-c", imports], check=True)


def main() -> int:
    """Write the packages of ``tools/interfaces``, then build them and our own."""
    shutil.rmtree(BUILD, ignore_errors=True)
    names = [write_package(path, BUILD / "src") for path in sorted(INTERFACES.glob("*.ini"))]
    use_local_includes()
    try:
        build([OWN.name, *names])
    except subprocess.CalledProcessError as error:
        return error.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
