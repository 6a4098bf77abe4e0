"""The command `rbdyn check`: the contents of a robot file and its errors."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rbdyn_ros.commands.common import (
    DONE,
    MODEL_FILE,
    PICTURE_FILE,
    REFUSED,
    USAGE,
    add_contact,
    add_floating_base,
    add_import,
    add_package_dirs,
    report_error,
    run_imports,
)

if TYPE_CHECKING:
    from rbdyn_ros.commands.parser import Commands
    from rbdyn_ros.model.model import Model

EPILOG = """\
Examples:
  rbdyn check robot.urdf
  rbdyn check robot.urdf.xacro --package-dir ~/ws/src --json
  rbdyn check mechanism.yaml --graph graph.svg
  rbdyn check model.npz                    a Model saved by rb.save

Exit status: 0 if the robot loads, 1 if it is refused, 2 if --graph cannot be drawn."""


def add_check(commands: Commands) -> None:
    """Add `check` to the subcommands of `rbdyn`."""
    command = commands.add_parser(
        "check",
        help="check a robot file and list its contents",
        epilog=EPILOG,
    )
    command.add_argument(
        "file",
        type=MODEL_FILE,
        help="a .urdf, .xacro or mechanism .yaml file, or a saved Model (.npz)",
    )
    add_import(command)
    command.add_argument("--json", action="store_true", help="print JSON")
    command.add_argument(
        "--graph",
        type=PICTURE_FILE,
        metavar="PICTURE",
        help="draw bodies and joints to a .svg, .png or .pdf file",
    )
    command.add_argument(
        "--repair",
        action="store_true",
        help="repair errors where possible; each repair is a warning",
    )
    add_floating_base(command)
    add_contact(command)
    add_package_dirs(command)
    command.set_defaults(run=_check)


def _check(options: argparse.Namespace) -> int:
    from rbdyn_ros.errors import RbdynError
    from rbdyn_ros.report import refusal_json

    run_imports(options.imports)
    try:
        model, text = _checked(options)
    except RbdynError as error:
        if options.json:
            print(refusal_json(error))
            return REFUSED
        return report_error("check", error, REFUSED)
    print(text)
    return DONE if options.graph is None else _draw(model, options.graph)


def _checked(options: argparse.Namespace) -> tuple[Model, str]:
    """Return the robot and the report on it."""
    from rbdyn_ros.description.source import read
    from rbdyn_ros.loading.load import complete
    from rbdyn_ros.loading.storage import SUFFIX
    from rbdyn_ros.report import report

    if options.file.suffix == SUFFIX:
        return _saved(options)
    strict = not options.repair
    description = read(
        options.file, strict=strict, package_dirs=options.package_dir, contact=options.contact
    )
    model = complete(description, options.floating_base, strict)
    found = report(description, model)
    return model, found.to_json() if options.json else str(found)


def _saved(options: argparse.Namespace) -> tuple[Model, str]:
    """Return a saved Model, which has no description any more, and the report on it."""
    from rbdyn_ros.loading.load import load
    from rbdyn_ros.report import findings_text
    from rbdyn_ros.report.describe import describe

    m = load(options.file, floating_base=options.floating_base, contact=options.contact)
    if options.json:
        told = {"ok": True, "name": m.name, "source": str(options.file), "nq": m.nq, "nv": m.nv}
        findings = [asdict(finding) for finding in m.findings]
        return m, json.dumps({**told, "sha256": m.sha256(), "findings": findings}, indent=2)
    head = f"saved Model of robot '{m.name}' ({options.file})\n  nq {m.nq}, nv {m.nv}"
    return m, "\n".join(
        [head, f"  sha256 {m.sha256()}", "", describe(m), "", *findings_text(m.findings)]
    )


def _draw(model: Model, path: Path) -> int:
    from rbdyn_ros.errors import ParameterError
    from rbdyn_ros.view.pictures.connectivity import draw_connectivity

    try:
        draw_connectivity(model, path)
    except ParameterError as error:
        return report_error("check --graph", error, USAGE)
    return DONE
