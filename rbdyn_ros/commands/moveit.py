# SPDX-License-Identifier: Apache-2.0
"""The command `rbdyn moveit`: write a configuration package of MoveIt 2 for a robot."""

import argparse
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.commands.line import common
from rbdyn_ros.commands.line.parser import Commands
from rbdyn_ros.errors import Finding, ParameterError, RbdynError, counted, listing

if TYPE_CHECKING:
    from rbdyn_ros.description.parts.geometries import Contact
    from rbdyn_ros.report.self_collision import CollisionSamples, LinkPair
    from rbdyn_ros.ros.moveit.package import MoveItPackage

#: Codes of errors about groups that options choose; the exit status is as for a wrong argument.
OPTIONS = ("tip", "gripper", "grippers")
EPILOG = """\
The package has the groups arm and gripper, pairs of links that need no check, limits, the
controllers of rbdyn_ros, and a launch file that starts a simulator, arm_controller, move_group and
RViz. An SRDF beside the robot gives named states, and pairs of links that may overlap.

Examples:
  rbdyn moveit panda.urdf panda_moveit_config
  rbdyn moveit ur.urdf.xacro ur5e_moveit_config --tip tool0 name:=ur ur_type:=ur5e
  rbdyn moveit arm.urdf arm_moveit_config --gripper robotiq_2f_85

Exit status: 0 if the package was written, 1 if the robot is refused, 2 if an argument or the
folder is."""


def add_moveit(commands: Commands) -> None:
    command = commands.add_parser(
        "moveit", help="write a configuration package of MoveIt 2", epilog=EPILOG
    )
    common.add_robot(command, more="")
    common.add_options(
        command,
        ("output", common.folder_path, "PACKAGE", "new folder, named as the package"),
        ("--tip", str, "LINK", "link at the end of the arm (default: the last)", {"default": ""}),
        ("--gripper", str, "NAME",
            "joint or preset of the gripper (default: the preset whose joint the robot has)",
            {"default": ""}),
        ("--samples", int, "N",
            "number of random poses for pairs of links that never overlap (default: 10000)"),
        ("--seed", int, "N", "seed of the random poses (default: 0)", {"default": 0}),
    )  # fmt: skip
    command.set_defaults(run=_moveit)


def _moveit(options: argparse.Namespace) -> int:
    from rbdyn_ros.codegen.ros2_control.folder import check_empty, write_tree
    from rbdyn_ros.codegen.ros2_control.package import package_name

    common.run_imports(options.imports)
    with common.refusing("moveit", common.USAGE):
        _check_options(options)
        name = package_name(options.output)
        check_empty(options.output)
    try:
        package = _package(options, name)
        texts = package.files()
    except RbdynError as error:
        given = options.tip or options.gripper
        chosen = given and error.findings and error.findings[0].code in OPTIONS
        return common.report_error("moveit", error, common.USAGE if chosen else common.REFUSED)
    if missing := package.missing():
        print(f"rbdyn moveit: {_missing_text(missing)}", file=sys.stderr)
    with common.refusing("moveit", common.USAGE):
        write_tree(options.output, texts)
    print(f"wrote the package {name}: {len(texts)} files in {options.output}")
    print("\n".join(_summary(package)))
    return common.DONE


def _check_options(options: argparse.Namespace) -> None:
    """Raise ParameterError if a number is out of range or an option has no effect."""
    from rbdyn_ros.checks.numbers import count
    from rbdyn_ros.loading.self_collision import MOST_SAMPLES

    if options.samples is not None:
        count("--samples", options.samples, 1, MOST_SAMPLES)
    count("--seed", options.seed, 0, 2**63 - 1)
    for name in ("floating_base", "contact"):
        if getattr(options, name):
            option = f"--{name.replace('_', '-')}"
            text = f"{option} has no effect: MoveIt plans for an arm fixed in the world"
            raise ParameterError(Finding("useless-option", f"{text}; leave out {option}"))
    if options.repair:
        text = "--repair has no effect: MoveIt reads the file itself; rbdyn check --fix repairs it"
        raise ParameterError(Finding("useless-option", text))


def _package(options: argparse.Namespace, name: str) -> "MoveItPackage":
    """Return the package with this name for the robot of the options.

    Raises:
        RbdynError: the robot is refused, or an option does not fit the robot.
    """
    from rbdyn_ros.control.arm.arm import check_arm
    from rbdyn_ros.description.meshes.files import MeshFiles
    from rbdyn_ros.description.urdf_files.srdf import SrdfSource
    from rbdyn_ros.loading.load import complete
    from rbdyn_ros.ros.moveit.groups import groups_of
    from rbdyn_ros.ros.moveit.package import MoveItPackage
    from rbdyn_ros.ros.moveit.semantics import RobotSemantics

    found = common.opened_robot(options, options.robot, _geometries())
    if found.is_scene or not found.text:
        text = "MoveIt reads a URDF; write one with rbdyn convert, and give that file"
        raise ParameterError(Finding("no-urdf", text, "error", "robot", None, str(options.robot)))
    m = complete(found.description)
    check_arm(m)
    groups = groups_of(m, found.description, options.tip, options.gripper)
    path = found.path
    assert path is not None
    links = [link.name for link in found.description.links]
    srdf = SrdfSource(given=True, robot=path).read(found.description.name, links, Audit())
    allowed = _pairs([(one.first, one.second) for one in srdf.exclusions])
    enabled, collisions = _pairs(srdf.enabled), _collisions(options)
    semantics = RobotSemantics(m, groups, collisions, allowed, enabled, srdf.states)
    meshes = MeshFiles(path.parent, options.package_dir)
    return MoveItPackage(name, found.text, meshes, semantics)


def _pairs(found: Iterable[Iterable[str]]) -> "tuple[LinkPair, ...]":
    """Return pairs of links; in each pair the names are sorted."""
    return tuple((first, second) for first, second in map(sorted, found))


def _missing_text(meshes: Sequence[str]) -> str:
    text = f"these meshes are not copied, and MoveIt may not find them: {listing(meshes)}"
    return f"{text}; only .stl, .dae and .obj files are copied"


def _geometries() -> "Contact":
    """Return the Contact for sampling: the geometries of links, without a floor."""
    from rbdyn_ros.description.parts.geometries import Contact

    return Contact(obstacles=(), self_collision=False)


def _collisions(options: argparse.Namespace) -> "CollisionSamples | None":
    """Return how often links overlap, without regard to an SRDF; None: there are no geometries."""
    from rbdyn_ros.loading.load import complete
    from rbdyn_ros.loading.self_collision import SAMPLES, sample_collisions

    found = common.opened_robot(options, options.robot, _geometries(), srdf=False)
    m = complete(found.description)
    if not m.ngeomlink:
        return None
    samples = SAMPLES if options.samples is None else options.samples
    return sample_collisions(m, found.description, samples, options.seed)


def _summary(package: "MoveItPackage") -> list[str]:
    semantics = package.semantics
    groups, hand = semantics.groups, semantics.groups.gripper
    pairs = semantics.collisions
    lines = [
        f"  arm      {groups.base} to {groups.tip}, {counted(len(groups.joints), 'joint')}",
        f"  gripper  {hand.joint if hand else 'none'}",
        f"  states   {', '.join([*semantics.states(), *semantics.gripper_states()])}",
    ]
    if pairs is None:
        return [*lines, "  no link has a collision geometry, so MoveIt checks no collisions"]
    return [*lines, f"  {counted(len(semantics.checked()), 'pair')} of links may collide"]
