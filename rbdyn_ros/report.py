"""What is worth knowing about a robot before simulating it: `rbdyn check`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from rbdyn_ros.description.types import Description, Joint, Limit
from rbdyn_ros.errors import Finding, RbdynError
from rbdyn_ros.model.model import Model


@dataclass(frozen=True, slots=True)
class JointRow:
    """One line of the joint table; infinite limits are None."""

    name: str
    type: str
    parent: str
    child: str
    lower: float | None
    upper: float | None
    effort: float | None
    velocity: float | None
    damping: float
    friction: float
    mimic: str


@dataclass(frozen=True, slots=True)
class Report:
    """The audit of one robot.

    Attributes:
        mass: of all links [kg].
        world_mass: the part of it that is fixed to the world [kg].
        massless: links without mass; legal as long as every joint moves some inertia.
        non_physical: links whose inertia no rigid body can have.
        joints: in the order of the text.
        findings: warnings and notes.
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
    findings: tuple[Finding, ...]
    sha256: str

    def to_json(self) -> str:
        """Return the audit as a JSON object with `ok` true."""
        return json.dumps({"ok": True, **asdict(self)}, indent=2, allow_nan=False)

    def __str__(self) -> str:
        lines = [
            f"robot '{self.name}' ({self.source})",
            f"  {self.links} links, {len(self.joints)} joints, nq {self.nq}, nv {self.nv}",
            f"  mass {self.mass:.6g} kg, of which {self.world_mass:.6g} kg fixed to the world",
            f"  massless links: {_listed(self.massless)}",
            f"  non-physical inertias: {_listed(self.non_physical)}",
            f"  sha256 {self.sha256}",
            "",
            *_table(self.joints),
            "",
            *findings_text(self.findings),
        ]
        return "\n".join(lines)


def report(description: Description, m: Model) -> Report:
    """Look a robot over; `m` was built from `description`."""
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
        joints=tuple(_row(joint) for joint in description.joints),
        findings=m.findings,
        sha256=m.sha256(),
    )


def refusal_json(error: RbdynError) -> str:
    """Return an error as a JSON object with `ok` false."""
    findings = [asdict(finding) for finding in error.findings]
    return json.dumps({"ok": False, "source": error.source, "findings": findings}, indent=2)


def findings_text(findings: Iterable[Finding]) -> list[str]:
    """Return a line a finding, the worst first."""
    order = ("error", "warning", "note")
    ranked = sorted(findings, key=lambda f: (order.index(f.severity), f.line or 0))
    return [f"{finding.severity}: {finding}" for finding in ranked] or ["nothing to warn about"]


def _row(joint: Joint) -> JointRow:
    limit = joint.limit or Limit()
    bounds = (limit.lower, limit.upper, limit.effort, limit.velocity)
    lower, upper, effort, velocity = (x if math.isfinite(x) else None for x in bounds)
    mimic = joint.mimic
    return JointRow(
        name=joint.name,
        type=joint.type,
        parent=joint.parent,
        child=joint.child,
        lower=lower,
        upper=upper,
        effort=effort,
        velocity=velocity,
        damping=joint.damping,
        friction=joint.friction,
        mimic=f"{mimic.ratio:g} {mimic.joint} + {mimic.offset:g}" if mimic else "",
    )


def _listed(names: tuple[str, ...], most: int = 6) -> str:
    if not names:
        return "none"
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{len(names)}: {', '.join(names[:most])}{more}"


_COLUMNS = ("name", "type", "parent", "child", "lower", "upper", "effort", "velocity", "damping",
            "friction", "mimic")  # fmt: skip


def _table(joints: tuple[JointRow, ...]) -> list[str]:
    rows = [_COLUMNS, *(tuple(_cell(getattr(row, c)) for c in _COLUMNS) for row in joints)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  " + "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.5g}" if isinstance(value, float) else str(value)
