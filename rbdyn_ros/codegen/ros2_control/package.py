# SPDX-License-Identifier: Apache-2.0
"""A ros2_control package for one robot: its name, the texts of its files, and writing it."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from xml.sax.saxutils import escape

from rbdyn_ros.codegen.functions import Wanted, c_functions
from rbdyn_ros.codegen.header import header
from rbdyn_ros.codegen.project import CProject
from rbdyn_ros.codegen.ros2_control import tables
from rbdyn_ros.codegen.ros2_control.arm_kernels import REFUSALS
from rbdyn_ros.codegen.ros2_control.expected import expected
from rbdyn_ros.codegen.ros2_control.folder import write_tree
from rbdyn_ros.codegen.ros2_control.kernels import structs, translated
from rbdyn_ros.codegen.self_test import self_test
from rbdyn_ros.codegen.source import source
from rbdyn_ros.control.arm.arm import check_arm
from rbdyn_ros.control.arming import start_up
from rbdyn_ros.control.base.limits import ACCELERATION, LATENCY, Limits
from rbdyn_ros.errors import Finding, ParameterError, quote
from rbdyn_ros.model.model import Model
from rbdyn_ros.specialization.languages.c_language import DOUBLE

#: Functions of the generated dynamics that the controller and the solver call.
FUNCTIONS = ("gravity", "bias", "inverse", "forward", "mass_matrix")
#: Allowed package names (REP 144), which suit colcon and CMake, and their largest length.
PACKAGE = re.compile(r"[a-z](_?[a-z0-9]+)+")
LONGEST_PACKAGE = 64
#: A placeholder in a template, such as @{package}. C++, CMake and YAML do not contain this form.
PLACE = re.compile(r"@\{([a-z_]+)\}")
TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class ControlPackage:
    """A ros2_control package for one robot.

    Args:
        name: name of the package.
        code: the generated dynamics, with the functions FUNCTIONS.

    Raises:
        ModelError: the robot is not an arm, see check_arm.
        ParameterError: no joint of the robot can be controlled.
    """

    name: str
    code: CProject

    def __post_init__(self) -> None:
        check_arm(self.code.m)
        _ = self.limits

    @cached_property
    def limits(self) -> Limits:
        """The limits of the controlled joints."""
        return Limits.of(self.code.m)

    def files(self) -> dict[str, str]:
        """Return the text of every file by its path in the package.

        Raises:
            ModelError: a constant of the dynamics is not finite.
        """
        values = self._values()
        code = self.code
        return {
            **{name: filled(text, values) for name, text in _templates()},
            f"src/{code.files.header}": header(code),
            f"src/{code.files.source}": source(code),
            f"test/{code.files.test}": self_test(code),
        }

    def _values(self) -> dict[str, str]:
        m, names, kernels = self.code.m, self.limits.names, translated()
        return {
            "package": self.name,
            "namespace": f"rbdyn_{self.name}",
            "prefix": self.code.prefix,
            "macro": self.code.macro,
            "robot_xml": escape(m.name),
            "joints_yaml": json.dumps(list(names)),
            "references_yaml": json.dumps([f"{self.name}/{name}" for name in names]),
            "constants": tables.constants(kernels.modules),
            "kernels": kernels.text(),
            "structs": structs(kernels.records),
            "fault_names": tables.fault_names(),
            "fault_rows": tables.fault_rows(),
            "fault_kinds": tables.fault_kinds(),
            "refusals": tables.texts(REFUSALS),
            "start_up_texts": tables.texts(start_up.TEXTS),
            "expected": expected(m),
            "acceleration_limit": repr(ACCELERATION),
            "latency_limit": repr(LATENCY),
            **{name: repr(value) for name, value in tables.defaults().items()},
            **tables.robot(m, self.limits),
        }


def filled(text: str, values: Mapping[str, str]) -> str:
    """Return a template with its placeholders replaced by texts."""
    return PLACE.sub(lambda place: values[place[1]], text)


def _templates() -> Iterator[tuple[str, str]]:
    """Yield the path of every template in the package, and its text."""
    for path in sorted(TEMPLATES.rglob("*.*")):
        yield path.relative_to(TEMPLATES).as_posix(), path.read_text(encoding="utf-8")


def package_name(folder: Path) -> str:
    """Return the name of the package in a folder, which is the name of the folder.

    Raises:
        ParameterError: the folder's name is not allowed as a package name.
    """
    name = folder.resolve().name
    if PACKAGE.fullmatch(name) and len(name) <= LONGEST_PACKAGE:
        return name
    allowed = (
        f"2 to {LONGEST_PACKAGE} lower-case letters, digits and single underscores, "
        "beginning with a letter"
    )
    message = (
        f"the folder {quote(str(folder), 200)} names the package {quote(name)}, which colcon "
        f"refuses; allowed are {allowed}"
    )
    raise ParameterError(
        Finding("bad-package-name", message, "error", "ros2-control", None, name, allowed)
    )


def dynamics(m: Model, prefix: str, mounting: tuple[float, ...] = ()) -> CProject:
    """Return the dynamics that a package contains.

    Args:
        m: the robot.
        prefix: prefix of names in C.
        mounting: see CProject.

    Raises:
        ModelError: as for c_functions.
    """
    plain = m.replaced()
    plain.opt.passive = False  # without passive forces, because the hardware itself has friction
    return CProject(plain, prefix, DOUBLE, c_functions(plain, Wanted(FUNCTIONS)), mounting)


def write(package: ControlPackage, folder: Path) -> list[Path]:
    """Write a package to a new or empty folder, all files or none; return their paths.

    Raises:
        ModelError: a constant of the dynamics is not finite.
        ParameterError: the folder is not empty, or a file cannot be written.
    """
    return write_tree(folder, package.files())
