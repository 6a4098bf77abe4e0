# SPDX-License-Identifier: Apache-2.0
"""The command `rbdyn schema`: print the JSON schema of a kind of YAML file, for editors."""

import argparse
import json
from typing import TYPE_CHECKING

from rbdyn_ros.commands.line.common import DONE
from rbdyn_ros.commands.line.parser import Commands

if TYPE_CHECKING:
    from rbdyn_ros.description.yaml_files.dialect import Dialect

KINDS = ("actuators", "mechanism", "policy", "scene", "sensors", "trial")
EPILOG = """\
Examples:
  rbdyn schema scene > scene.schema.json

An editor with the YAML language server completes keys and marks errors in a file that begins with
# yaml-language-server: $schema=scene.schema.json

Exit status: 0."""


def add_schema(commands: Commands) -> None:
    command = commands.add_parser(
        "schema", help="print the JSON schema of a kind of YAML file, for editors", epilog=EPILOG
    )
    command.add_argument("kind", choices=KINDS, help=f"one of {', '.join(KINDS)}")
    command.set_defaults(run=_schema)


def _schema(options: argparse.Namespace) -> int:
    print(json.dumps(dialects()[options.kind].schema(), indent=1))
    return DONE


def dialects() -> "dict[str, Dialect]":
    """Return the dialects of all kinds of YAML files, by the name of the kind."""
    from rbdyn_ros.actuators import keys as actuators
    from rbdyn_ros.description.mechanism_files import mechanism
    from rbdyn_ros.description.scene_files import keys as scene
    from rbdyn_ros.policies import keys as policy
    from rbdyn_ros.sensors import keys as sensors
    from rbdyn_ros.trials.files import keys as trial

    tables = (policy.DIALECT, scene.DIALECT, sensors.DIALECT, trial.DIALECT)
    kinds = (actuators.DIALECT, mechanism.dialect(), *tables)
    return dict(zip(KINDS, kinds, strict=True))
