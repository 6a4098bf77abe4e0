# SPDX-License-Identifier: Apache-2.0
"""The command `rbdyn codegen`: write a robot's dynamics as C for controllers and firmware."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rbdyn_ros.commands.line.common import (
    DONE,
    REFUSED,
    REPEATED,
    USAGE,
    add_mounting,
    add_options,
    add_robot,
    flag,
    folder_path,
    mounted_robot,
    refusing,
    run_imports,
    standing,
)
from rbdyn_ros.commands.line.parser import Commands
from rbdyn_ros.commands.packages import write_control_package, write_robot_fmu
from rbdyn_ros.errors import Finding, ParameterError, not_allowed, quote

if TYPE_CHECKING:
    from rbdyn_ros.codegen.functions import Wanted
    from rbdyn_ros.codegen.project import CProject
    from rbdyn_ros.model.model import Model
    from rbdyn_ros.specialization.languages.c_language import Real

#: Functions that are written by default.
FUNCTIONS = "gravity,inverse,forward"

EPILOG = """\
Functions:
  gravity      g(q)                                 mass_matrix  M(q)
  bias         C(q, v) v + g(q)                     jacobian     of each --frame
  inverse      forces from q, v, a                  kinematics   poses of all bodies
  forward      accelerations from q, v, forces      step         q and v after a timestep

Poses, Jacobians, forces on bodies and gravity are in the axes of the base link, which --mounting
rotates in the world. With --floating-base they are in the axes of the world.

Examples:
  rbdyn codegen arm.urdf -o arm_c
  rbdyn codegen arm.urdf --functions gravity,jacobian --frame tool0 --float -o firmware
  rbdyn codegen dog.urdf --floating-base --functions forward,step --timestep 0.002 -o dog_c
  rbdyn codegen arm.urdf --ros2-control my_arm_control
  rbdyn codegen arm.urdf --fmi 3.0 -o arm.fmu

Exit status: 0 if the files were written, 1 if the robot is refused, 2 if an argument or
the folder is."""


def add_codegen(commands: Commands) -> None:
    command = commands.add_parser(
        "codegen", help="write a robot's dynamics as C for controllers and firmware", epilog=EPILOG
    )
    add_robot(command)
    add_mounting(command)
    target = command.add_mutually_exclusive_group(required=True)
    add_options(
        target,
        ("-o --output", folder_path, "DIR", "folder, or FMU, to write to"),
        ("--ros2-control", folder_path, "DIR",
            "write a package with a controller for ros2_control to this new folder"),
    )  # fmt: skip
    add_options(
        command,
        ("--fmi", None, None,
            "write an FMU of this version for co-simulation; -o names the .fmu file",
            {"choices": ("2.0", "3.0")}),
        ("--functions", None, "NAMES", f"functions, separated by commas ({FUNCTIONS})"),
        # the choices are only for completion in a shell; the type refuses other words
        ("--lang", _language, None, "language of the code: c (C99)",
            {"choices": ("c",), "default": "c"}),
    )  # fmt: skip
    flag(command, "--float", "single instead of double precision")
    add_options(
        command,
        ("--prefix", None, "NAME", "prefix of all names in the code (the robot's name)"),
        ("--frame", None, "LINK", "link for the Jacobian; can be repeated", REPEATED),
    )
    flag(command, "--no-mimic", "let mimic joints move freely")
    add_options(command, ("--timestep", float, "S", "timestep of step [s] (0.001)"))
    flag(command, "--gravity-input", "make gravity an argument of the functions")
    flag(command, "--external-forces", "add forces on bodies to the arguments of forward and step")
    flag(command, "--no-passive", "leave out damping, friction, springs and limits of joints")
    command.set_defaults(run=_codegen)


def _language(text: str) -> str:
    """Return the language that an argument names; raise ArgumentTypeError unless it is C."""
    if text != "c":
        raise argparse.ArgumentTypeError(f"it is {quote(text)}; allowed is c (C99)")
    return text


def _codegen(options: argparse.Namespace) -> int:
    run_imports(options.imports)
    if options.ros2_control is not None:
        return write_control_package(options)
    if options.fmi is not None:
        return write_robot_fmu(options)
    from rbdyn_ros.codegen.folder import check_folder, write
    from rbdyn_ros.codegen.names import check_prefix, prefix_of

    with refusing("codegen", USAGE):
        wanted = _wanted(options)
        given = None if options.prefix is None else check_prefix(options.prefix)
    with refusing("codegen", REFUSED):
        m = _robot(options)
    prefix = given or prefix_of(m.name)
    with refusing("codegen", REFUSED, wrong=USAGE):
        if options.timestep is not None:
            m.opt.timestep = options.timestep
        check_folder(options.output, prefix)
        project = _project(m, prefix, wanted, options)
        paths = write(project, options.output)
    print(_summary(project, [str(path) for path in paths]))
    return DONE


def _wanted(options: argparse.Namespace) -> Wanted:
    """Return the requested functions and their arguments.

    Raises:
        ParameterError: a function is unknown, an option has no effect on the functions or excludes
            another option, or a value is not allowed.
    """
    from rbdyn_ros.codegen.functions import Wanted, check_functions

    given = FUNCTIONS if options.functions is None else options.functions
    functions = check_functions(given.split(","))
    _check_use(options, functions)
    _check_gravity(options)
    _check_timestep(options)
    standing(options)
    frames = tuple(dict.fromkeys(options.frame))
    return Wanted(functions, frames, options.gravity_input, options.external_forces)


def _check_use(options: argparse.Namespace, functions: Sequence[str]) -> None:
    """Raise ParameterError if no function uses a given option, or jacobian lacks a --frame."""
    from rbdyn_ros.codegen.table import SPECS

    heavy = [name for name, spec in SPECS.items() if spec.heavy]
    pushed = [name for name, spec in SPECS.items() if spec.pushed]
    passive = [name for name, spec in SPECS.items() if spec.passive]
    if "jacobian" in functions and not options.frame:
        raise ParameterError(Finding("useless-option", "jacobian needs a --frame"))
    for option, is_given, users in (
        ("frame", options.frame, ["jacobian"]),
        ("timestep", options.timestep is not None, ["step"]),
        ("gravity", options.gravity is not None, heavy),
        ("mounting", options.mounting is not None, heavy),
        ("gravity-input", options.gravity_input, heavy),
        ("external-forces", options.external_forces, pushed),
        ("no-passive", options.no_passive, passive),
    ):
        if is_given and set(users).isdisjoint(functions):
            words = f"{'function' if len(users) == 1 else 'functions'} {_and(users)}"
            text = f"--{option} has an effect on the {words} only; add "
            text += f"{'it' if len(users) == 1 else 'one of them'} to --functions"
            raise ParameterError(Finding("useless-option", text))


def _check_gravity(options: argparse.Namespace) -> None:
    """Raise ParameterError if gravity is given twice, or rotated although the base floats."""
    for option in ("gravity", "mounting"):
        if options.gravity_input and getattr(options, option) is not None:
            text = f"--{option} sets a constant gravity; --gravity-input makes it an argument"
            raise ParameterError(Finding("useless-option", text))
    if options.mounting is not None and options.floating_base:
        text = "--mounting is for a fixed base; with --floating-base q has the pose of the base"
        raise ParameterError(Finding("useless-option", text))


def _check_timestep(options: argparse.Namespace) -> None:
    """Raise ParameterError if the timestep is too small or too large for the requested type."""
    real = _real(options)
    least, largest = real.info.smallest_normal, real.info.max
    timestep = options.timestep
    if timestep is not None and not float(least) <= timestep <= float(largest):
        allowed = f"a normal number of the type {real.name}, {least!s} to {largest!s} seconds"
        raise not_allowed("--timestep", timestep, allowed)


def _real(options: argparse.Namespace) -> Real:
    from rbdyn_ros.specialization.languages.c_language import DOUBLE, FLOAT

    return FLOAT if options.float else DOUBLE


def _and(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _robot(options: argparse.Namespace) -> Model:
    m, _ = mounted_robot(options, mimic=not options.no_mimic)
    m.opt.passive = not options.no_passive
    return m


def _project(m: Model, prefix: str, wanted: Wanted, options: argparse.Namespace) -> CProject:
    from rbdyn_ros.codegen.functions import c_functions
    from rbdyn_ros.codegen.project import CProject

    mounting = tuple(options.mounting or ())
    return CProject(m, prefix, _real(options), c_functions(m, wanted), mounting)


def _summary(project: CProject, paths: Sequence[str]) -> str:
    rows = [
        f"  {function.name:<24}{len(function.program.operations):>7} operations"
        for function in project.functions
    ]
    return "\n".join([*(f"wrote {path}" for path in paths), *rows])
