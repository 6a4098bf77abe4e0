# SPDX-License-Identifier: Apache-2.0
"""Generate the parameter files config/*.yaml and the parameter tables of the reference."""

from __future__ import annotations

import json
import textwrap
from itertools import groupby
from pathlib import Path

from docs_words import escaped

from rbdyn_ros.ros.arm import parameters as arm
from rbdyn_ros.ros.common.settings.parameters import Parameter
from rbdyn_ros.ros.policy import parameters as policy
from rbdyn_ros.ros.simulator import parameters as simulator

Rows = tuple[Parameter, ...]

ROOT = Path(__file__).resolve().parent.parent
BEGIN = "<!-- parameters: written by tools/docs.py -->"
END = "<!-- end of parameters -->"
HEAD = {
    "simulator": """\
# All parameters of the simulator with their defaults; written by tools/docs.py:
#   rbdyn sim robot.urdf --ros-args --params-file simulator.yaml
# The initial position of a joint is also a parameter: initial_positions: {elbow: 0.5}
# (mimic joints have no such parameter; a mechanism with loops is assembled near these positions).
""",
    "arm_controller": """\
# All parameters of the arm controller with their defaults; written by tools/docs.py:
#   ros2 run rbdyn_ros arm_controller --ros-args --params-file arm_controller.yaml
# How to use them: docs/guides/real_arm.md
""",
    "policy_node": """\
# All parameters of the node of learned policies with their defaults; written by tools/docs.py:
#   ros2 run rbdyn_ros policy_node --ros-args --params-file policy_node.yaml
# How to use them: docs/guides/policies.md
""",
}
TABLES = {
    "simulator": simulator.PARAMETERS,
    "arm_controller": arm.PARAMETERS,
    "policy_node": policy.PARAMETERS,
}


def parameter_files() -> dict[Path, str]:
    """Return the text of every file with generated parameters."""
    files = {ROOT / f"config/{node}.yaml": yaml_text(node) for node in TABLES}
    for node, rows in TABLES.items():
        page = ROOT / f"docs/reference/{node}.md"
        before, rest = page.read_text(encoding="utf-8").split(f"{BEGIN}\n")
        after = rest.split(END)[1]
        files[page] = f"{before}{BEGIN}\n{markdown(rows)}\n{END}{after}"
    return files


def yaml_text(node: str) -> str:
    """Return the parameters of a node as a YAML file with comments."""
    lines = ["/**:", "  ros__parameters:"]
    for role, rows in groupby(TABLES[node], lambda row: row.role):
        lines += ["", f"    # --- {role} ---"]
        table = ""
        for row in rows:
            inner, _, name = row.name.rpartition(".")
            if inner != table:
                lines += [f"    {inner}:"] if inner else []
                table = inner
            indent = "      " if inner else "    "
            plain = row.type in ("bool", "string[]") or (row.type == "string" and not row.choices)
            live = "; can be changed while the node runs" if row.live else ""
            comment = f"{row.description}{'' if plain else f'; {row.allowed}'}{live}"
            lines += textwrap.wrap(
                comment,
                92,
                initial_indent=f"{indent}# ",
                subsequent_indent=f"{indent}# ",
                break_on_hyphens=False,
                break_long_words=False,
            )
            lines.append(f"{indent}{name}: {_value(row)}")
    return HEAD[node] + "\n".join(lines) + "\n"


def markdown(rows: Rows) -> str:
    """Return the rows as one table per role."""
    parts = []
    for role, chosen in groupby(rows, lambda row: row.role):
        lines = [
            f"**{role.capitalize()}**",
            "",
            "| parameter | type | default | allowed | meaning |",
            "|---|---|---|---|---|",
        ]
        for row in chosen:
            unit = f" [{row.unit}]" if row.unit else ""
            mark = " \\*" if row.live else ""
            cells = (
                f"`{row.name}`{mark}",
                row.type,
                f"`{_value(row)}`",
                escaped(row.allowed + unit),
                escaped(row.doc),
            )
            lines.append(f"| {' | '.join(cells)} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _value(row: Parameter) -> str:
    """Return the default of a parameter as YAML."""
    default = list(row.default) if isinstance(row.default, tuple) else row.default
    return json.dumps(default)
