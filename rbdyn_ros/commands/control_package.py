# SPDX-License-Identifier: Apache-2.0
"""`rbdyn codegen --ros2-control`: a package with a controller of ros2_control for one robot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbdyn_ros.commands.line.common import (
    DONE,
    REFUSED,
    USAGE,
    mounted_robot,
    report_error,
    standing,
)
from rbdyn_ros.errors import Finding, ParameterError, RbdynError

if TYPE_CHECKING:
    import argparse

#: Options of the other code that say nothing about a package, and their values if not given.
OTHERS: dict[str, object] = {
    "fmi": None,
    "functions": None,
    "frame": [],
    "timestep": None,
    "float": False,
    "floating_base": False,
    "no_mimic": False,
    "gravity_input": False,
    "external_forces": False,
    "no_passive": False,
}


def write_control_package(options: argparse.Namespace) -> int:
    """Write the package to the folder `options.ros2_control`; return the exit status."""
    from rbdyn_ros.codegen.names import check_prefix, prefix_of
    from rbdyn_ros.codegen.ros2_control.folder import check_empty, write_tree
    from rbdyn_ros.codegen.ros2_control.package import ControlPackage, dynamics, package_name

    folder = options.ros2_control
    try:
        _check_options(options)
        name = package_name(folder)
        check_empty(folder)
        given = None if options.prefix is None else check_prefix(options.prefix)
        standing(options)
    except ParameterError as error:
        return report_error("codegen", error, USAGE)
    try:
        m, _ = mounted_robot(options)
        code = dynamics(m, given or prefix_of(m.name), tuple(options.mounting or ()))
        texts = ControlPackage(name, code).files()
    except RbdynError as error:
        return report_error("codegen", error, REFUSED)
    try:
        write_tree(folder, texts)
    except ParameterError as error:
        return report_error("codegen", error, USAGE)
    print(f"wrote the package {name}: {len(texts)} files in {folder}")
    return DONE


def _check_options(options: argparse.Namespace) -> None:
    """Raise ParameterError if an option is given that a package does not use."""
    for name, default in OTHERS.items():
        if getattr(options, name) != default:
            option = name.replace("_", "-")
            text = f"--{option} cannot be combined with --ros2-control"
            raise ParameterError(Finding("useless-option", text))
