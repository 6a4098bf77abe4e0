# SPDX-License-Identifier: Apache-2.0
"""The spanning tree and loops in the report of `rbdyn check`."""

from collections.abc import Sequence
from dataclasses import dataclass

from rbdyn_ros.model.model import Model
from rbdyn_ros.report.describe import joint_type, loop_type

DEEPEST = 40  # deeper bodies are not indented further


@dataclass(frozen=True, slots=True)
class BodyRow:
    """One body of the spanning tree and its joint.

    Attributes:
        number: number of the body and of its joint.
        parent: number of the parent body; 0 is the world.
        joint, type: name and type of the joint.
        reversed: whether the joint's predecessor is the body instead of the parent.
    """

    number: int
    body: str
    parent: int
    joint: str
    type: str
    reversed: bool


@dataclass(frozen=True, slots=True)
class LoopRow:
    """One joint that closes a loop.

    Attributes:
        number: number of the joint, counted after the tree joints.
        joint, type: name and type.
        predecessor, successor: names of the bodies it connects.
        cycle: names of the joints around the loop, beginning with this joint.
    """

    number: int
    joint: str
    type: str
    predecessor: str
    successor: str
    cycle: tuple[str, ...]


def base_link(m: Model) -> str:
    """Return the root link of a fixed base, or "" for a floating base."""
    return m.frame_names[0] if m.frame_bodyid[0] == 0 else ""


def body_rows(m: Model) -> tuple[BodyRow, ...]:
    """Return all bodies but the world, parents first."""
    return tuple(
        BodyRow(
            number=i,
            body=m.body_names[i],
            parent=int(m.body_parentid[i]),
            joint=m.jnt_names[i - 1],
            type=joint_type(m, i - 1),
            reversed=bool(m.jnt_reversed[i - 1]),
        )
        for i in range(1, m.nbody)
    )


def loop_rows(m: Model) -> tuple[LoopRow, ...]:
    """Return all joints that close loops, in the order of the description."""
    joints = (*m.jnt_names, *m.loop_names)
    return tuple(
        LoopRow(
            number=m.graph.N_B + k + 1,
            joint=m.loop_names[k],
            type=loop_type(m, k),
            predecessor=m.body_names[m.loop_bodyid[k, 0]],
            successor=m.body_names[m.loop_bodyid[k, 1]],
            cycle=tuple(joints[joint - 1] for joint in m.graph.cycle(k + 1)),
        )
        for k in range(m.nloop)
    )


def tree_text(base: str, rows: Sequence[BodyRow]) -> list[str]:
    """Return a line per body, indented by its depth in the tree."""
    depth = [0]
    lines = [f"  0 world ({base})" if base else "  0 world"]
    for row in rows:
        depth.append(depth[row.parent] + 1)
        deep = f", on body {row.parent}" if depth[-1] > DEEPEST else ""
        way = f"{row.type}, reversed" if row.reversed else row.type
        indent = "  " * (1 + min(depth[-1], DEEPEST))
        lines.append(f"{indent}{row.number} {row.body} <- {row.joint} ({way}){deep}")
    return lines


def loops_text(rows: Sequence[LoopRow]) -> list[str]:
    """Return a line per loop: its joint, the connected bodies and the joints around it."""
    if not rows:
        return []
    lines = [
        f"  {row.number} {row.joint} ({row.type}) from {row.predecessor} to {row.successor}; "
        f"around it: {', '.join(row.cycle)}"
        for row in rows
    ]
    return ["loop joints", *lines, ""]
