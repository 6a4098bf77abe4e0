# SPDX-License-Identifier: Apache-2.0
"""The keys of a robot file in all YAML files."""

from pathlib import Path

from rbdyn_ros.checks.names import kind_of
from rbdyn_ros.description.reading.robot_file import RobotFile
from rbdyn_ros.description.yaml_files.kinds import Either, Kind, List, Name
from rbdyn_ros.description.yaml_files.tables import ByName, Given, Key, Table

ROBOT_KEYS = (
    Key("file", Name("a file"), "a robot's file, or its name, such as panda", needed=True),
    Key("xacro_args", ByName(Name("a value"), "value", empty=True), "arguments of a .xacro file"),
    Key("package_dirs", List(Name("a folder"), "folder"), "folders with ROS packages"),
)
#: A robot file: its name, or a table.
ROBOT_FILE: Kind = Either(scalar=Name("a file"), table=Table("robot", ROBOT_KEYS))


def robot_file_of(given: Given | str, folder: Path) -> RobotFile:
    """Return a robot file of the keys ROBOT_KEYS; paths are found from a folder."""
    if isinstance(given, str):
        return RobotFile(_located(given, folder))
    dirs = [folder / Path(name).expanduser() for name in given.get("package_dirs", ())]
    return RobotFile(_located(given["file"], folder), given.get("xacro_args", {}), dirs)


def _located(name: str, folder: Path) -> Path:
    """Return the path of a robot; a bare word is a name, unless the folder has such a file."""
    path = folder / name
    return path if Path(name).suffix or "/" in name or kind_of(path) else Path(name)
