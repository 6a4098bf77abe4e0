# SPDX-License-Identifier: Apache-2.0
"""`rbdyn codegen --fmi`: a robot as an FMU, for co-simulation in other tools."""

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
from rbdyn_ros.errors import Finding, ModelError, ParameterError, RbdynError, quote

if TYPE_CHECKING:
    import argparse

#: Options of the other code that say nothing about an FMU, and their values if not given.
OTHERS: dict[str, object] = {
    "functions": None,
    "frame": [],
    "float": False,
    "gravity_input": False,
    "external_forces": False,
}


def write_robot_fmu(options: argparse.Namespace) -> int:
    """Write the FMU to the file `options.output`; return the exit status."""
    from rbdyn_ros.codegen.fmu.package import write_fmu
    from rbdyn_ros.codegen.functions import Wanted, c_functions
    from rbdyn_ros.codegen.names import check_prefix, prefix_of
    from rbdyn_ros.codegen.project import CProject
    from rbdyn_ros.loading.output import output_path
    from rbdyn_ros.specialization.c_language import DOUBLE

    try:
        _check_options(options)
        path = output_path(options.output, "an FMU", (".fmu",))
        given = None if options.prefix is None else check_prefix(options.prefix)
        standing(options)
    except ParameterError as error:
        return report_error("codegen", error, USAGE)
    try:
        m, _ = mounted_robot(options, mimic=not options.no_mimic)
        m.opt.passive = not options.no_passive
        if options.timestep is not None:
            m.opt.timestep = options.timestep
        if m.nu > 0:
            text = f"no FMU can be generated for {quote(m.name)}: it has actuators"
            raise ModelError(Finding("no-code", text))
        functions = c_functions(m, Wanted(("step",)))
        mounting = tuple(options.mounting or ())
        project = CProject(m, given or prefix_of(m.name), DOUBLE, functions, mounting)
        built = write_fmu(project, options.fmi, path)
    except ParameterError as error:
        return report_error("codegen", error, USAGE)
    except RbdynError as error:
        return report_error("codegen", error, REFUSED)
    lack = "no C compiler, or no place for a library of this machine in FMI 2.0"
    library = "" if built else f"; there is {lack}, so it has sources only"
    print(f"wrote {path}: FMI {options.fmi}, {m.nv} torques in, {m.nq + m.nv} states out{library}")
    return DONE


def _check_options(options: argparse.Namespace) -> None:
    """Raise ParameterError if an option is given that an FMU does not use."""
    for name, default in OTHERS.items():
        if getattr(options, name) != default:
            option = name.replace("_", "-")
            text = f"--{option} has no effect with --fmi, which simulates the robot by step"
            raise ParameterError(Finding("useless-option", text))
