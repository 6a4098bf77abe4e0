# SPDX-License-Identifier: Apache-2.0
"""The command `rbdyn convert`: write a robot file in another format."""

import argparse
import sys
from collections.abc import Sequence

from rbdyn_ros.commands.line import common
from rbdyn_ros.commands.line.parser import Commands
from rbdyn_ros.errors import Finding

SUFFIXES = (".urdf", ".sdf", ".xml", ".yaml")

EPILOG = """\
The suffix of OUTPUT chooses the format: .urdf, .sdf, .xml (MJCF of MuJoCo) or .yaml (a mechanism
file). Meshes go to a folder beside it. Parts that the format cannot express are listed on stderr.

Examples:
  rbdyn convert robot.urdf robot.xml
  rbdyn convert ur.urdf.xacro ur5e.sdf name:=ur ur_type:=ur5e
  rbdyn convert dog.urdf dog.xml --floating-base --contact

Exit status: 0 if the file was written, 1 if the robot is refused or the format has no such joint,
2 if an argument or the output is refused."""


def add_convert(commands: Commands) -> None:
    command = commands.add_parser(
        "convert", help="write a robot as URDF, SDF, MJCF or mechanism file", epilog=EPILOG
    )
    common.add_robot(command, more="")
    command.add_argument(
        "output", type=common.FileOf(SUFFIXES), metavar="OUTPUT", help="file to write"
    )
    command.set_defaults(run=_convert)


def _convert(options: argparse.Namespace) -> int:
    from rbdyn_ros.writing.convert import convert

    common.run_imports(options.imports)
    with common.refusing("convert", common.REFUSED, wrong=common.USAGE):
        findings = convert(
            common.robot_of(options, options.robot),
            options.output,
            floating_base=options.floating_base,
            strict=not options.repair,
            contact=options.contact,
        )
    for line in _lines(findings):
        print(line, file=sys.stderr)
    print(f"wrote {options.output}")
    return common.DONE


def _lines(findings: Sequence[Finding]) -> list[str]:
    """Return a line for each different message of findings, with the elements that it concerns."""
    elements: dict[str, list[str]] = {}
    for finding in findings:
        text = str(finding).removeprefix(f"{finding.element}: ")
        elements.setdefault(f"{finding.severity}: {text}", []).append(finding.element)
    return [f"{text} ({_few(names)})" for text, names in elements.items()]


def _few(names: Sequence[str], most: int = 3) -> str:
    shown = "; ".join(names[:most])
    return shown if len(names) <= most else f"{shown}; and {len(names) - most} more"
