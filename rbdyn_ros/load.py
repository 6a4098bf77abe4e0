"""From a file to a Model: read, compile, complete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.description import urdf
from rbdyn_ros.description.check import check
from rbdyn_ros.description.types import Description
from rbdyn_ros.engine.constants import dof_inertia
from rbdyn_ros.errors import DescriptionError, Finding
from rbdyn_ros.model.compile import compile_model
from rbdyn_ros.model.model import MAX_M_ENTRIES, Model

#: What strict=False gives a joint that moves no inertia [kg m^2 or kg].
REPAIR_ARMATURE = 1e-6

#: Part of the heaviest joint's inertia below which a joint's own is worth a warning.
TINY_INERTIA = 1e-11


def load_urdf(
    source: str | bytes | Path,
    floating_base: bool = False,
    package_dirs: Sequence[str | Path] = (),
    strict: bool = True,
    mimic: bool = True,
    xacro_args: Mapping[str, str] | None = None,
) -> Model:
    """Load a robot from a URDF or xacro file, or from URDF text.

    Args:
        source: path of a `.urdf` or `.xacro` file, or the text itself.
        floating_base: let the root link move freely, by a joint `root_joint`.
        package_dirs: folders where xacro's `$(find package)` is looked for.
        strict: refuse what could be repaired; otherwise repair it, each time with a warning.
        mimic: True: mimic joints are coupled. Their coupling is not there yet: they are
            ordinary joints and a warning says so. False: ordinary joints are what is wanted.
        xacro_args: values for the arguments of a xacro file.

    Returns:
        The Model; what the reader noticed is in its `findings`.

    Raises:
        DescriptionError: with every error of the document, each with its line.
    """
    description = urdf.read(
        source, strict=strict, package_dirs=package_dirs, xacro_args=xacro_args
    )
    return _complete(description, floating_base, strict, mimic)


def load(path: str | Path) -> Model:
    """Load a robot from a `.urdf` or `.xacro` file with a fixed base.

    Raises:
        DescriptionError: with every error of the document, each with its line.
    """
    return load_urdf(Path(path))


def build(
    description: Description,
    floating_base: bool = False,
    strict: bool = True,
    mimic: bool = True,
) -> Model:
    """Make a Model from a Description built in Python; arguments as for load_urdf.

    Raises:
        DescriptionError: with everything that is wrong with the description.
    """
    return _complete(check(description, strict=strict), floating_base, strict, mimic)


def _complete(description: Description, floating_base: bool, strict: bool, mimic: bool) -> Model:
    """Compile, then fill in what only the engine can tell."""
    model = compile_model(description, floating_base)
    inertia, absent = dof_inertia(model)
    findings = [*model.findings, *(_mimic_warnings(description) if mimic else [])]
    if model.nv > 0 and model.nM == 0:
        findings.append(_too_large(model))
    armature = np.where(absent, REPAIR_ARMATURE, 0.0)
    if absent.any():
        missing = _missing_inertia(model, absent, description, strict)
        if strict:
            raise DescriptionError(missing, description.source)
        findings += missing
        inertia, _ = dof_inertia(model.replaced(dof_armature=armature))
    findings += _tiny_inertia(model, inertia, description)
    return model.replaced(findings=findings, dof_inertia0=inertia, dof_armature=armature)


def _tiny_inertia(
    model: Model, inertia: NDArray[np.float64], description: Description
) -> list[Finding]:
    """Warn of joints so light beside the heaviest that rounding errors decide how they move."""
    lines = {joint.name: joint.line for joint in description.joints}
    largest = inertia.max(initial=0.0)
    return [
        Finding(
            "tiny-inertia",
            f"joint '{(name := model.jnt_names[model.dof_jntid[k]])}': moves an inertia of only "
            f"{inertia[k]:.2g}, the heaviest joint moves {largest:.2g}; accelerations of it and "
            "of the joints beside it are lost in rounding; give the links below it an inertia",
            "warning",
            f"joint '{name}'",
            lines.get(name),
        )
        for k in np.flatnonzero(inertia < TINY_INERTIA * largest)
    ]


def _mimic_warnings(description: Description) -> list[Finding]:
    return [
        Finding(
            "mimic-not-coupled",
            f"joint '{joint.name}': follows '{joint.mimic.joint}' in the URDF, but the coupling "
            "is not simulated yet; it moves as an ordinary joint of its own",
            "warning",
            f"joint '{joint.name}'",
            joint.line,
        )
        for joint in description.joints
        if joint.mimic is not None and joint.type != "fixed"
    ]


def _missing_inertia(
    model: Model, absent: NDArray[np.bool_], description: Description, strict: bool
) -> list[Finding]:
    lines = {joint.name: joint.line for joint in description.joints}
    findings = []
    for j in dict.fromkeys(model.dof_jntid[absent].tolist()):
        name = model.jnt_names[j]
        outcome = (
            f"give a link below it mass and inertia, or load with strict=False to add an "
            f"armature of {REPAIR_ARMATURE:g}"
            if strict
            else f"repaired with an armature of {REPAIR_ARMATURE:g} kg m^2"
        )
        findings.append(
            Finding(
                "no-inertia",
                f"joint '{name}': moves no inertia, its acceleration would be infinite; {outcome}",
                "error" if strict else "warning",
                f"joint '{name}'",
                lines.get(name),
                allowed="a positive inertia below every moving joint",
            )
        )
    return findings


def _too_large(model: Model) -> Finding:
    return Finding(
        "no-mass-matrix",
        f"the mass matrix of '{model.name}' would have more than {MAX_M_ENTRIES} entries; forward "
        "and step leave it out, and crb, factor_m, solve_m and mass_matrix are refused",
        "warning",
    )
