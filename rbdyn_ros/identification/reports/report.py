# SPDX-License-Identifier: Apache-2.0
"""Reports of an identification as text and as JSON."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.identification.data.motion import dof_names
from rbdyn_ros.identification.equations.payload import PayloadEstimate
from rbdyn_ros.identification.equations.residuals import Residuals
from rbdyn_ros.identification.equations.result import Identification
from rbdyn_ros.identification.equations.warnings import NOT_HELD
from rbdyn_ros.report.words import Row, aligned, cut, finite_or_none, numbers

#: Longest name of a base parameter; in a long arm it can combine hundreds of parameters.
LONGEST = 200
TERM_NAMES = {
    "armature": "rotor inertia",
    "stribeck": "Stribeck friction",
    "load": "friction by load",
    "tilt": "tilt of the base",
    "offset": "offset, or friction that depends on the direction",
}


def report_text(found: Identification, checked: Sequence[Residuals] | None = None) -> str:
    """Return tables of residuals, friction and bodies.

    Args:
        found: result of identify.
        checked: residuals of another motion by the prior, by the identified Model, and optionally
            by found.black_box; None: there is no other motion.
    """
    parts = [_residual_table("efforts of the motion", found.before, found.after)]
    if checked is not None:
        parts.append(_validation_table(*checked))
    if found.held is not None:
        title = f"efforts of the motion {NOT_HELD}"
        parts.append(_residual_table(title, found.before, found.held))
    parts += [*_term_table(found), _friction_table(found), *_rotor_table(found)]
    parts += [*_tilt_line(found), _body_table(found)]
    parts += [_base_lines(found), *_warnings(found.warnings)]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def report_dict(
    found: Identification, checked: Sequence[Residuals] | None = None
) -> dict[str, Any]:
    """Return the report as numbers for JSON, with None for unknown numbers; see report_text."""
    m, report = found.m, {"robot": found.m.name, "condition": finite_or_none(found.condition)}
    report["residuals"] = _residuals(found.before, found.after)
    if checked is not None:
        report["validation"] = _residuals(*checked[:2])
        for i, row in enumerate(report["validation"]):
            row["explained"] = finite_or_none(checked[1].explained[i])
            if len(checked) > 2:
                row["black_box"] = finite_or_none(checked[2].rms[i])
    if found.held is not None:
        report["residuals_of_urdf"] = _residuals(found.before, found.held)
    report["terms"] = [
        {"kind": t.kind, "without": t.without, "with": t.error, "kept": t.kept}
        for t in found.terms
    ]
    report["joints"] = [
        {
            "name": name,
            "viscous": float(found.friction.viscous[k]),
            "viscous_std": finite_or_none(found.friction_std[0, k]),
            "coulomb": float(found.friction.coulomb[k]),
            "coulomb_std": finite_or_none(found.friction_std[1, k]),
            "stribeck": float(found.friction.stribeck[k]),
            "offset": float(found.offset[k]),
            "by_load": float(found.by_load[k]),
            "armature": float(m.dof_armature[k]),
        }
        for k, name in enumerate(dof_names(m))
    ]
    report["tilt"] = found.tilt.tolist()
    report["bodies"] = [
        {
            "name": name,
            "prior": _body(found.prior, i),
            "identified": _body(m, i),
            "mass_std": float(found.mass_std[i - 1]),
            "prior_share": float(found.prior_share[i - 1]),
        }
        for i, name in enumerate(m.body_names[1:], start=1)
    ]
    report["base_parameters"] = [
        {"name": _shortened(name), "value": float(value), "std": finite_or_none(std)}
        for name, value, std in zip(
            found.base.names, found.base_values, found.base_std, strict=True
        )
    ]
    report["warnings"] = list(found.warnings)
    report["no_patch"] = list(found.grave)
    return report


def payload_text(found: PayloadEstimate, by_joint: Array | None = None) -> str:
    """Return a payload, the residuals without and with the payload, and the warnings.

    Args:
        found: the payload.
        by_joint: (n,) masses by joint, as in LoadedArm; None: not identified.
    """
    lines = [
        f"payload at link '{found.link}'",
        f"  mass            {found.mass:.4g} kg, standard deviation {found.std[0]:.2g}",
        f"  centre of mass  {numbers(found.com)} m, deviations up to {numbers(found.com_std)}",
        f"  inertia         {numbers(found.inertia)} kg m^2 (xx yy zz xy xz yz, about it)",
        f"  condition number of the motion {found.condition:.3g}",
    ]
    if by_joint is not None:
        rows = zip(found.after.names, by_joint, strict=True)
        seen = [f"{cut(name)} {mass:.4g}" for name, mass in rows if not math.isnan(mass)]
        lines.append(f"  mass by the efforts of each joint alone [kg]: {', '.join(seen)}")
        lines.append(
            "  if one mass differs, the drive gain of its joint is wrong;\n"
            "  if all masses are wrong by the same factor, all drive gains are wrong"
        )
    table = _residual_table("efforts without and with payload", found.before, found.after)
    parts = [lines, table, *_warnings(found.warnings)]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def payload_dict(found: PayloadEstimate, by_joint: Array | None = None) -> dict[str, Any]:
    """Return the report of a payload as numbers for JSON.

    The arguments are as for payload_text.
    """
    names = found.after.names
    masses = [] if by_joint is None else map(finite_or_none, by_joint)
    return {
        "link": found.link,
        "mass": found.mass,
        "com": found.com.tolist(),
        "inertia": found.inertia.tolist(),
        "std": [finite_or_none(value) for value in found.std],
        "com_std": [finite_or_none(value) for value in found.com_std],
        "condition": finite_or_none(found.condition),
        "rms_before": dict(zip(names, map(finite_or_none, found.before.rms), strict=True)),
        "rms_after": dict(zip(names, map(finite_or_none, found.after.rms), strict=True)),
        "mass_by_joint": dict(zip(names, masses, strict=False)),
        "warnings": list(found.warnings),
    }


def _warnings(messages: tuple[str, ...]) -> list[list[str]]:
    return [["warnings", *(f"  {text}" for text in messages)]] if messages else []


_RESIDUAL_HEAD = ("joint", "RMS before", "RMS after", "of full scale", "of the largest")


def _residual_table(title: str, before: Residuals, after: Residuals) -> list[str]:
    rows: list[Row] = [_RESIDUAL_HEAD]
    for i, name in enumerate(after.names):
        shares = (
            f"{before.share[i]:.2%} -> {after.share[i]:.2%}",
            f"{after.share_of_peak[i]:.2%}",
        )
        texts = (f"{before.rms[i]:.4g}", f"{after.rms[i]:.4g}", *shares)
        known = (text.replace("nan%", "-").replace("nan", "-") for text in texts)
        rows.append((cut(name), *known))
    return [f"{title} [N m or N]", *aligned(rows)]


def _validation_table(*checked: Residuals) -> list[str]:
    """Return the table of RMS errors on another motion."""
    kinds = ("as described", "identified", "black box")[: len(checked)]
    rows: list[Row] = [("joint", *kinds, "variance explained")]
    for i, name in enumerate(checked[1].names):
        texts = [f"{one.rms[i]:.4g}" for one in checked] + [f"{checked[1].explained[i]:.2%}"]
        known = (text.replace("nan%", "-").replace("nan", "-") for text in texts)
        rows.append((cut(name), *known))
    return ["efforts of the validation motion, RMS error [N m or N]", *aligned(rows)]


_TERM_HEAD = ("term", "error without", "with", "")


def _term_table(found: Identification) -> list[list[str]]:
    """Return the table of the terms that were tried, or an empty table."""
    if not found.terms:
        return []
    rows: list[Row] = [_TERM_HEAD]
    for term in found.terms:
        kept = "kept" if term.kept else "left out"
        rows.append((TERM_NAMES[term.kind], f"{term.without:.2%}", f"{term.error:.2%}", kept))
    title = "terms tried on held-out parts of the motion (RMS error / largest effort)"
    return [[title, *aligned(rows)]]


_FRICTION_HEAD = ("joint", "viscous before", "after", "Coulomb before", "after")


def _friction_table(found: Identification) -> list[str]:
    old, friction = found.prior, found.friction
    stribeck = friction.stribeck.any()
    rows: list[Row] = [(*_FRICTION_HEAD, *(["Stribeck"] if stribeck else []))]
    for k, name in enumerate(dof_names(found.m)):
        viscous = _with_std(friction.viscous[k], found.friction_std[0, k])
        coulomb = _with_std(friction.coulomb[k], found.friction_std[1, k])
        before = f"{old.dof_damping[k]:.4g}", f"{old.dof_frictionloss[k]:.4g}"
        more = [_with_std(friction.stribeck[k], found.friction_std[2, k])] if stribeck else []
        rows.append((cut(name), before[0], viscous, before[1], coulomb, *more))
    return ["friction [N m s/rad or N s/m; N m or N]", *aligned(rows)]


_ROTOR_HEAD = ("joint", "armature before", "after [kg m^2 or kg]", "offset [N m or N]")


def _rotor_table(found: Identification) -> list[list[str]]:
    """Return the table of rotors and offsets, or an empty table."""
    old, new = found.prior.dof_armature, found.m.dof_armature
    if not (new.any() or found.offset.any() or found.by_load.any()):
        return []
    loads = found.by_load.any()
    rows: list[Row] = [(*_ROTOR_HEAD, *(["friction by load"] if loads else []))]
    for k, name in enumerate(dof_names(found.m)):
        more = [f"{found.by_load[k]:.1%}"] if loads else []
        texts = f"{old[k]:.4g}", f"{new[k]:.4g}", f"{found.offset[k]:.4g}"
        rows.append((cut(name), *texts, *more))
    return [["rotors and offsets, which a URDF cannot hold", *aligned(rows)]]


def _tilt_line(found: Identification) -> list[list[str]]:
    if not found.tilt.any():
        return []
    x, y = np.degrees(found.tilt)
    return [[f"gravity is turned by {x:.3g} and {y:.3g} degrees about x and y of the base link"]]


_BODY_HEAD = ("body", "mass before", "after [kg]", "of the prior", "centre of mass moved by [m]")


def _body_table(found: Identification) -> list[str]:
    old, m = found.prior, found.m
    rows: list[Row] = [_BODY_HEAD]
    for i, name in enumerate(m.body_names[1:], start=1):
        shift = np.asarray(m.body_ipos[i] - old.body_ipos[i])
        after = _with_std(m.body_mass[i], found.mass_std[i - 1])
        masses = f"{old.body_mass[i]:.4g}", after, f"{found.prior_share[i - 1]:.0%}"
        rows.append((cut(name), *masses, " ".join(f"{value:+.4f}" for value in shift)))
    total = f"{old.body_mass.sum():.4g}", f"{m.body_mass.sum():.4g}", ""
    return [
        "bodies (links that are fixed to each other are one body)",
        *aligned([*rows, ("total", *total, "")]),
        "  of the prior: variance that the motion leaves; at 100% the mass is as described",
    ]


def _base_lines(found: Identification) -> list[str]:
    text = (
        f"{found.base.rank} base inertial parameters, condition number of the motion "
        f"{found.condition:.3g}"
    )
    return [text, "  efforts determine only such combinations, not the masses of single bodies"]


def _with_std(value: float, std: float) -> str:
    return f"{value:.4g}" if math.isnan(std) else f"{value:.4g} +- {std:.1g}"


def _residuals(before: Residuals, after: Residuals) -> list[dict[str, Any]]:
    return [
        {
            "joint": name,
            "full_scale": finite_or_none(after.full_scale[i]),
            "rms_before": finite_or_none(before.rms[i]),
            "rms_after": finite_or_none(after.rms[i]),
            "share_before": finite_or_none(before.share[i]),
            "share_after": finite_or_none(after.share[i]),
            "share_of_peak_after": finite_or_none(after.share_of_peak[i]),
        }
        for i, name in enumerate(after.names)
    ]


def _body(m: Any, i: int) -> dict[str, Any]:
    return {
        "mass": float(m.body_mass[i]),
        "com": m.body_ipos[i].tolist(),
        "inertia": m.body_fullinertia[i].tolist(),
    }


def _shortened(name: str) -> str:
    return name if len(name) <= LONGEST else name[:LONGEST] + "..."
