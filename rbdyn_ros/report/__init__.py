# SPDX-License-Identifier: Apache-2.0
"""The report on a robot that `rbdyn check` prints."""

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.errors import Finding, RbdynError, counted
from rbdyn_ros.model.model import Model
from rbdyn_ros.report.constraints import ConstraintRow, constraint_row, constraints_text
from rbdyn_ros.report.geometries import (
    GeometryRow,
    ObstacleRow,
    geometries_text,
    geometry_row,
    obstacle_row,
)
from rbdyn_ros.report.joints import JointRow, joint_row, joint_table
from rbdyn_ros.report.self_collision import (
    CollisionSamples,
    self_collision_data,
    self_collision_text,
)
from rbdyn_ros.report.tree import (
    BodyRow,
    LoopRow,
    base_link,
    body_rows,
    loop_rows,
    loops_text,
    tree_text,
)


@dataclass(frozen=True, slots=True)
class Report:
    """The report on one robot.

    Attributes:
        mass: mass of all links [kg].
        world_mass: mass of the links fixed to the world [kg].
        massless: links without mass; allowed as long as every joint moves some inertia.
        non_physical: links whose inertia no rigid body can have.
        joints: in the order of the file.
        N_B, N_J, N_L: numbers of moving bodies, joints and independent loops (RBDA eq 4.1).
        base: the link fixed to the world (body 0); empty for a floating base.
        tree: the spanning tree; bodies are numbered from 1, parents first.
        loops: the loop joints, which are not in the tree.
        constraints: constraints between bodies besides joints.
        geometries: collision geometries of the links; geometries of fixed links make no contact.
        obstacles: collision geometries of the world.
        findings: warnings and notes.
        self_collision: frequency of overlaps of links in random poses; None if not requested.
    """

    name: str
    source: str
    nq: int
    nv: int
    links: int
    mass: float
    world_mass: float
    massless: tuple[str, ...]
    non_physical: tuple[str, ...]
    joints: tuple[JointRow, ...]
    N_B: int
    N_J: int
    N_L: int
    base: str
    tree: tuple[BodyRow, ...]
    loops: tuple[LoopRow, ...]
    constraints: tuple[ConstraintRow, ...]
    geometries: tuple[GeometryRow, ...]
    obstacles: tuple[ObstacleRow, ...]
    findings: tuple[Finding, ...]
    sha256: str
    self_collision: CollisionSamples | None = None

    def to_json(self) -> str:
        """Return the report as a JSON object with `ok` true."""
        content = asdict(replace(self, self_collision=None))
        if self.self_collision is not None:
            content["self_collision"] = self_collision_data(self.self_collision)
        return json.dumps({"ok": True, **content}, indent=2, allow_nan=False)

    def __str__(self) -> str:
        sizes = f"{counted(self.links, 'link')}, {counted(len(self.joints), 'joint')}"
        lines = [
            f"robot '{self.name}' ({self.source})",
            f"  {sizes}, nq {self.nq}, nv {self.nv}",
            f"  mass {self.mass:.6g} kg, of which {self.world_mass:.6g} kg fixed to the world",
            f"  massless links: {_listed(self.massless)}",
            f"  non-physical inertias: {_listed(self.non_physical)}",
            f"  sha256 {self.sha256}",
            "",
            *joint_table(self.joints),
            "",
            f"spanning tree: N_B {self.N_B}, N_J {self.N_J}, N_L {self.N_L}",
            *tree_text(self.base, self.tree),
            "",
            *loops_text(self.loops),
            *constraints_text(self.constraints),
            *geometries_text(self.geometries, self.obstacles),
            *(self_collision_text(self.self_collision) if self.self_collision else []),
            *findings_text(self.findings),
        ]
        return "\n".join(lines)


def report(description: Description, m: Model) -> Report:
    """Return the report on a robot; `m` was compiled from `description`."""
    masses = {
        link.name: link.inertial.mass if link.inertial else 0.0 for link in description.links
    }
    total = math.fsum(masses.values())
    elements = [f.element for f in m.findings if f.code == "non-physical-inertia"]
    non_physical = [name.removeprefix("link '").removesuffix("'") for name in elements]
    return Report(
        name=description.name,
        source=description.source,
        nq=m.nq,
        nv=m.nv,
        links=len(description.links),
        mass=total,
        world_mass=math.fsum(
            masses[name]
            for name, body in zip(m.frame_names, m.frame_bodyid, strict=True)
            if body == 0
        ),
        massless=tuple(name for name, mass in masses.items() if mass == 0.0),
        non_physical=tuple(non_physical),
        joints=tuple(joint_row(joint) for joint in description.joints),
        N_B=m.graph.N_B,
        N_J=m.graph.N_J,
        N_L=m.graph.N_L,
        base=base_link(m),
        tree=body_rows(m),
        loops=loop_rows(m),
        constraints=tuple(map(constraint_row, description.constraints)),
        geometries=tuple(map(geometry_row, description.geometries)),
        obstacles=tuple(map(obstacle_row, description.obstacles)),
        findings=m.findings,
        sha256=m.sha256(),
    )


def refusal_json(error: RbdynError) -> str:
    """Return an error as a JSON object with `ok` false."""
    findings = [asdict(finding) for finding in error.findings]
    return json.dumps({"ok": False, "source": error.source, "findings": findings}, indent=2)


def findings_text(findings: Iterable[Finding]) -> list[str]:
    """Return a line per finding, errors first."""
    order = ("error", "warning", "note")
    ranked = sorted(findings, key=lambda f: (order.index(f.severity), f.line or 0))
    return [f"{finding.severity}: {finding}" for finding in ranked] or ["no warnings"]


def _listed(names: tuple[str, ...], most: int = 6) -> str:
    if not names:
        return "none"
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{len(names)}: {', '.join(names[:most])}{more}"
