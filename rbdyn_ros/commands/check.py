# SPDX-License-Identifier: Apache-2.0
"""The command `rbdyn check`: print the contents of a robot file and its errors."""

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rbdyn_ros.commands.checking.collisions import (
    add_collisions,
    check_file,
    check_options,
    is_sampling,
    sampled,
    wanted_contact,
)
from rbdyn_ros.commands.checking.fixing import fix, with_appearance, with_hidden
from rbdyn_ros.commands.line import common
from rbdyn_ros.commands.line.parser import Commands
from rbdyn_ros.errors import DescriptionError, Finding, RbdynError

if TYPE_CHECKING:
    from rbdyn_ros.model.model import Model

EPILOG = """\
Examples:
  rbdyn check robot.urdf
  rbdyn check ur.urdf.xacro name:=ur ur_type:=ur5e --json
  rbdyn check mechanism.yaml --graph graph.svg
  rbdyn check robot.urdf --fix             write repairs into the file, and list them
  rbdyn check urdf/*.urdf --format sarif   for code hosts
  rbdyn check model.npz                    a Model saved by rb.save
  rbdyn check robot.urdf --collisions      which links overlap in random poses
  rbdyn check robot.urdf --write-srdf robot.srdf
  rbdyn check ~/descriptions --package-dir ~/ws/src   every robot file below a folder

For a folder, each file gets a line: it loads, loads after repairs, or is refused and why.
Exit status: 0 if all robots are sound, 1 if one has an error (even only in its appearance), 2 if
--graph cannot be drawn or there is no robot file."""


def add_check(commands: Commands) -> None:
    command = commands.add_parser(
        "check", help="check a robot file and list its contents", epilog=EPILOG
    )
    repairs = common.add_robot(command, "files", "+", ", a saved Model (.npz), or a folder")
    command.add_argument(
        "--format",
        choices=("text", "json", "sarif"),
        default="text",
        help="output: a report, JSON, or SARIF 2.1.0 for code hosts (default: text)",
    )
    command.add_argument(
        "--json", action="store_const", const="json", dest="format", help="same as --format json"
    )
    text = "draw bodies and joints to a .svg, .png or .pdf file"
    common.add_options(command, ("--graph", common.PICTURE_FILE, "PICTURE", text))
    common.flag(
        repairs, "--fix", "write repairs into the .urdf file; what cannot be repaired is reported"
    )
    text = "with --fix: make revolute joints with the limits 0 and 0 continuous, as for wheels"
    common.flag(command, "--continuous", text)
    add_collisions(command)
    command.set_defaults(run=_check)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The outcome of `rbdyn check` for one file.

    Attributes:
        model: the Model; None: the file is refused.
        text: the report, or the errors of a refused file.
        data: the report as JSON.
        fixed: repairs by --fix, each as a line; None: --fix is not given.
    """

    file: Path
    model: "Model | None"
    findings: Sequence[Finding]
    text: str
    data: str
    fixed: Sequence[str] | None = None


def _check(options: argparse.Namespace) -> int:
    common.run_imports(options.imports)
    with common.refusing("check", common.USAGE):
        check_options(options)
    if options.continuous and not options.fix:
        return common.report_error("check", "--continuous needs --fix", common.USAGE)
    if options.graph is not None and len(options.files) > 1:
        return common.report_error("check", "--graph draws one robot; give one file", common.USAGE)
    if any(file.is_dir() for file in options.files):
        return _check_folders(options)
    outcomes = [_outcome(file, options) for file in options.files]
    _print(outcomes, options.format)
    models = [outcome.model for outcome in outcomes]
    if options.graph is not None and models[0] is not None:
        return _draw(models[0], options.graph)
    return common.REFUSED if None in models else common.DONE


def _check_folders(options: argparse.Namespace) -> int:
    """Print the verdict of each robot file below the folders; return the exit status."""
    from rbdyn_ros.commands.checking.folders import as_json, check_folder, status, summary

    if options.fix or options.graph is not None or is_sampling(options):
        text = "--fix, --graph, --collisions and --write-srdf need a file; this is a folder"
        return common.report_error("check", text, common.USAGE)
    if wrong := [file for file in options.files if not file.is_dir()]:
        text = f"'{wrong[0]}' is not a folder; give files or folders, not both"
        return common.report_error("check", text, common.USAGE)
    start = time.perf_counter()
    found = [one for folder in options.files for one in check_folder(folder, options)]
    if not found:
        text = f"there is no robot file in {' or '.join(repr(str(f)) for f in options.files)}"
        return common.report_error("check", text, common.USAGE)
    if options.format == "json":
        print(as_json(found))
    elif options.format == "sarif":
        _print_sarif({one.file: one.findings for one in found})
    else:
        print(summary(found, time.perf_counter() - start))
    return status(found, options)


def _print_sarif(found: Mapping[Path, Sequence[Finding]]) -> None:
    from rbdyn_ros import __version__
    from rbdyn_ros.report.sarif import sarif

    print(sarif(found, "rbdyn check", __version__))


def _outcome(file: Path, options: argparse.Namespace) -> _Outcome:
    from rbdyn_ros.report import refusal_json

    fixed: Sequence[str] | None = None
    try:
        fixed = fix(file, options) if options.fix else None
        return replace(_checked(file, options), fixed=fixed)
    except RbdynError as error:
        if isinstance(error, DescriptionError) and file.suffix.lower() == ".urdf":
            error = DescriptionError(with_hidden(error, file, options), error.source)
        return _Outcome(file, None, error.findings, str(error), refusal_json(error), fixed)


def _checked(file: Path, options: argparse.Namespace) -> _Outcome:
    from rbdyn_ros.loading.load import complete, is_saved
    from rbdyn_ros.report import report

    if is_sampling(options):
        check_file(file)
    if is_saved(file):
        return _saved(file, options)
    strict, contact = not options.repair, wanted_contact(options)
    description = with_appearance(
        lambda: (
            common.opened_robot(
                options, file, contact, srdf=options.write_srdf is None
            ).description
        ),
        file,
        options,
        strict=strict,
        collisions=not contact,
    )
    m = complete(description, options.floating_base, strict)
    found = replace(report(description, m), self_collision=sampled(m, description, options))
    return _Outcome(file, m, m.findings, str(found), found.to_json())


def _saved(file: Path, options: argparse.Namespace) -> _Outcome:
    """Return the outcome for a saved Model, which has no description to check."""
    from rbdyn_ros.report import findings_text
    from rbdyn_ros.report.describe import describe

    m, _ = common.loaded_robot(options, file)
    digest = m.sha256()
    facts = {"ok": True, "name": m.name, "source": str(file), "nq": m.nq, "nv": m.nv}
    findings = [asdict(finding) for finding in m.findings]
    data = json.dumps({**facts, "sha256": digest, "findings": findings}, indent=2)
    head = f"saved Model of robot '{m.name}' ({file})\n  nq {m.nq}, nv {m.nv}"
    text = "\n".join([head, f"  sha256 {digest}", "", describe(m), "", *findings_text(m.findings)])
    return _Outcome(file, m, m.findings, text, data)


def _print(outcomes: Sequence[_Outcome], form: str) -> None:
    if form == "sarif":
        _print_sarif({outcome.file: outcome.findings for outcome in outcomes})
    elif form == "json":
        many = ",\n".join(outcome.data for outcome in outcomes)
        print(f"[{many}]" if len(outcomes) > 1 else many)
    else:
        for outcome in outcomes:
            _print_text(outcome)


def _print_text(outcome: _Outcome) -> None:
    if outcome.fixed:
        print("\n  ".join([f"'{outcome.file}' was repaired:", *outcome.fixed]))
    elif outcome.fixed is not None:
        wheel = any(
            each.code == "locked-joint" and each.found == "0 to 0" for each in outcome.findings
        )
        more = (
            "; --fix --continuous makes joints with the limits 0 and 0 continuous" if wheel else ""
        )
        print(f"'{outcome.file}' was not changed: there is nothing that --fix can repair{more}")
    if outcome.model is None:
        common.report_error("check", outcome.text, common.REFUSED)
    else:
        print(outcome.text)


def _draw(model: "Model", path: Path) -> int:
    from rbdyn_ros.view.pictures.connectivity import draw_connectivity

    with common.refusing("check --graph", common.USAGE):
        draw_connectivity(model, path)
    return common.DONE
