# SPDX-License-Identifier: Apache-2.0
"""A robot as a user names it: its file or name, and the settings of the reader of the file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rbdyn_ros.checks.names import kind_of
from rbdyn_ros.description.reading.packages import folders
from rbdyn_ros.description.reading.requests import is_for_others
from rbdyn_ros.description.reading.robot_names import robot_by_name
from rbdyn_ros.description.reading.xacro_files import texts_of
from rbdyn_ros.errors import ParameterError

#: Longest name of a robot; a longer text is a path, which the reader refuses.
LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class RobotFile:
    """The file of a robot with the settings of its reader, where a path is not enough.

        rb.scene(rb.RobotFile("ur.urdf.xacro", {"name": "ur", "ur_type": "ur5e"}))

    Attributes:
        path: path of a `.urdf`, `.xacro`, `.sdf`, MJCF `.xml`, mechanism or scene `.yaml` file; or
            the name of a robot, such as panda.
        xacro_args: values for the arguments of a xacro file, as for load_urdf.
        package_dirs: folders to search for packages, as for load_urdf.

    Raises:
        ParameterError: the arguments or folders have another type.
    """

    path: str | Path
    xacro_args: Mapping[str, object] = field(default_factory=dict)
    package_dirs: Sequence[str | Path] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "xacro_args", texts_of(self.xacro_args))
        object.__setattr__(self, "package_dirs", folders(self.package_dirs))

    def located(self) -> Path:
        """Return the path of the file; raise ParameterError if no robot has the name."""
        return path_of(self.path)

    def with_more(
        self,
        package_dirs: Sequence[str | Path] = (),
        xacro_args: Mapping[str, object] | None = None,
    ) -> "RobotFile":
        """Return the file with more folders and xacro arguments, which replace old arguments."""
        dirs = (*self.package_dirs, *folders(package_dirs))
        return RobotFile(self.path, {**self.xacro_args, **texts_of(xacro_args)}, dirs)


def path_of(name: str | Path) -> Path:
    """Return the path of a robot: the path itself, or the file of a robot that is installed.

    Raises:
        ParameterError: it is no path of a file, and no robot has this name.
    """
    path = Path(name)
    is_word = not path.suffix and len(path.parts) == 1 and len(path.name) <= LONGEST_NAME
    if not is_word or kind_of(path) == "file" or is_for_others():
        return path
    try:
        return robot_by_name(path.name)
    except ParameterError:
        if kind_of(path):
            return path
        raise
