# SPDX-License-Identifier: Apache-2.0
"""Write ROS packages from the lists of fields in this folder."""

import configparser
import hashlib
from pathlib import Path

from rbdyn_ros.share import share_dir

LISTS = Path(__file__).resolve().parent
OWN = "rbdyn_interfaces"

PACKAGE_XML = """\
<?xml version="1.0"?>
<package format="3">
  <name>{name}</name>
  <version>1.0.0</version>
  <description>Generated from {name}.ini of rbdyn_ros.</description>
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


def package_names() -> list[str]:
    """Return the names of all packages, the project's own package first."""
    return [OWN, *sorted(path.stem for path in LISTS.glob("*.ini"))]


def own_folder() -> Path:
    """Return the folder of the project's own package.

    Raises:
        ParameterError: this package was installed without its data files.
    """
    return share_dir() / OWN


def fields_hash() -> str:
    """Return a hash of the fields of all packages.

    Raises:
        ParameterError: this package was installed without its data files.
    """
    own = own_folder()
    files = [*LISTS.glob("*.ini"), *own.glob("*/*.msg"), *own.glob("*/*.srv")]
    digest = hashlib.sha256()
    for path in sorted(files, key=lambda path: path.name):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def package_folders(folder: Path) -> list[Path]:
    """Return the folders of all packages; write the packages of the `.ini` files into `folder`.

    Raises:
        ParameterError: this package was installed without its data files.
    """
    written = [write_package(path, folder) for path in sorted(LISTS.glob("*.ini"))]
    return [own_folder(), *written]


def write_package(source: Path, folder: Path) -> Path:
    """Write the ROS package of the `.ini` file `source` into `folder`; return its subfolder."""
    reader = configparser.ConfigParser(delimiters=("=",), comment_prefixes=(";",), strict=True)
    reader.read_string(source.read_text(encoding="ascii"), source=str(source))
    name = source.stem
    depends = reader.get("package", "depends").split()
    files = []
    for section in reader.sections():
        if section == "package":
            continue
        kind, _, title = section.partition("/")
        assert kind in ("msg", "srv", "action"), f"{source}: [{section}]"
        path = folder / name / kind / f"{title}.{kind}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(reader.get(section, "fields").strip() + "\n", encoding="ascii")
        files.append(f'"{kind}/{path.name}"')
    xml = "".join(f"  <depend>{depend}</depend>\n" for depend in depends)
    finds = "".join(f"find_package({depend} REQUIRED)\n" for depend in depends)
    (folder / name / "package.xml").write_text(PACKAGE_XML.format(name=name, depends=xml))
    (folder / name / "CMakeLists.txt").write_text(
        CMAKE_LISTS.format(
            name=name, finds=finds, files="\n  ".join(files), depends=" ".join(depends)
        )
    )
    return folder / name
