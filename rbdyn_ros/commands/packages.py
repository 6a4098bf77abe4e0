# SPDX-License-Identifier: Apache-2.0
"""`rbdyn codegen --ros2-control` and `--fmi`: write a whole package or FMU for one robot."""

import argparse

from rbdyn_ros.commands.line.common import DONE, REFUSED, USAGE, mounted_robot, refusing, standing
from rbdyn_ros.errors import Finding, ModelError, ParameterError, quote
from rbdyn_ros.loading.output import output_path

#: Options of codegen that have no effect on an FMU, with their defaults.
NOT_FMU: dict[str, object] = {
    "functions": None,
    "frame": [],
    "float": False,
    "gravity_input": False,
    "external_forces": False,
}
#: Options of codegen that cannot be combined with --ros2-control, with their defaults.
NOT_PACKAGE: dict[str, object] = {
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
    with refusing("codegen", USAGE):
        _check_options(options, NOT_PACKAGE, "cannot be combined with --ros2-control")
        name = package_name(folder)
        check_empty(folder)
        given = None if options.prefix is None else check_prefix(options.prefix)
        standing(options)
    with refusing("codegen", REFUSED):
        m, _ = mounted_robot(options)
        code = dynamics(m, given or prefix_of(m.name), tuple(options.mounting or ()))
        texts = ControlPackage(name, code).files()
    with refusing("codegen", USAGE):
        write_tree(folder, texts)
    print(f"wrote the package {name}: {len(texts)} files in {folder}")
    return DONE


def write_robot_fmu(options: argparse.Namespace) -> int:
    """Write the FMU to the file `options.output`; return the exit status."""
    from rbdyn_ros.codegen.fmu.package import write_fmu
    from rbdyn_ros.codegen.functions import Wanted, c_functions
    from rbdyn_ros.codegen.names import check_prefix, prefix_of
    from rbdyn_ros.codegen.project import CProject
    from rbdyn_ros.specialization.languages.c_language import DOUBLE

    with refusing("codegen", USAGE):
        _check_options(
            options, NOT_FMU, "has no effect with --fmi, which always uses the function step"
        )
        path = output_path(options.output, "an FMU", (".fmu",))
        given = None if options.prefix is None else check_prefix(options.prefix)
        standing(options)
    with refusing("codegen", REFUSED, wrong=USAGE):
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
    lack = "no C compiler, or no place for a library of this machine in FMI 2.0"
    library = "" if built else f"; there is {lack}, so it has sources only"
    print(f"wrote {path}: FMI {options.fmi}, {m.nv} torques in, {m.nq + m.nv} states out{library}")
    return DONE


def _check_options(options: argparse.Namespace, unused: dict[str, object], reason: str) -> None:
    """Raise ParameterError with this reason if an option of `unused` does not have its default."""
    for name, default in unused.items():
        if getattr(options, name) != default:
            raise ParameterError(Finding("useless-option", f"--{name.replace('_', '-')} {reason}"))
