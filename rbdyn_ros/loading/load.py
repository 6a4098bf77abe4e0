"""From a file to a Model: read, compile, complete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.build.builder import SystemBuilder
from rbdyn_ros.description.build.contacts import check_contact, with_contact
from rbdyn_ros.description.checks.check import check
from rbdyn_ros.description.checks.constraints import audit_beside_loops
from rbdyn_ros.description.checks.mimics import audit_mimics
from rbdyn_ros.description.checks.passive import audit_loop_joint
from rbdyn_ros.description.geometries import Contact
from rbdyn_ros.description.joint_types import JOINT_SPECS, check_floating_base
from rbdyn_ros.description.source import check_source, read
from rbdyn_ros.description.types import Description
from rbdyn_ros.description.urdf_files import urdf
from rbdyn_ros.dynamics.assembly import assemble, position_errors
from rbdyn_ros.errors import Finding, ModelError, ParameterError
from rbdyn_ros.loading.geometries import geometry_findings, with_masses
from rbdyn_ros.loading.inertias import with_inertias
from rbdyn_ros.loading.standing import out_of_obstacles
from rbdyn_ros.loading.storage import SUFFIX as MODEL_SUFFIX
from rbdyn_ros.loading.storage import load_model
from rbdyn_ros.loading.user_joints import check_user_functions
from rbdyn_ros.model.compile import compile_model
from rbdyn_ros.model.inertia_pattern import MAX_M_ENTRIES
from rbdyn_ros.model.model import Model

#: Constraints that are violated by less than this at zero position [m or rad] are taken to hold:
#: authors round.
CLOSED = 1e-6


def load_urdf(
    source: str | bytes | Path,
    floating_base: bool | str = False,
    package_dirs: Sequence[str | Path] = (),
    strict: bool = True,
    mimic: bool = True,
    xacro_args: Mapping[str, str] | None = None,
    contact: bool | Contact = False,
) -> Model:
    """Load a robot from a URDF or xacro file, or from URDF text.

    Args:
        source: path of a `.urdf` or `.xacro` file, or the text itself.
        floating_base: let the root link move freely, by a joint `root_joint`: True is a joint of
            the type `floating`; or the name of a type of six degrees of freedom: `floating`,
            `sixdof_fp` or `sixdof_fs`, of which the latter two have velocities in the axes of
            the link and are integrated by the exponential of SE(3).
        package_dirs: folders where packages are looked for, by xacro's `$(find package)` and by
            `package://` in the names of meshes; each may hold the package or be the package.
        strict: refuse what could be repaired; otherwise repair it, each time with a warning.
        mimic: mimic joints follow the joint they name and have no freedom of their own; if
            False they are ordinary joints.
        xacro_args: values for the arguments of a xacro file.
        contact: let the `<collision>` elements of links touch: True, and a floor at z = 0, or a
            Contact, which says what they touch and how. A robot with a floating base then
            starts above it (qpos0). With False nothing of them is read and no mesh is opened.

    Returns:
        The Model; what the reader noticed is in its `findings`.

    Raises:
        DescriptionError: with every error of the document, each with its line.
        ParameterError: an argument has a value that is not allowed.
    """
    check_source(source)
    description = urdf.read(
        source,
        strict=strict,
        package_dirs=package_dirs,
        xacro_args=xacro_args,
        contact=contact,
    )
    return complete(description, floating_base, strict, mimic)


def load(
    path: str | Path,
    *,
    floating_base: bool | str = False,
    package_dirs: Sequence[str | Path] = (),
    contact: bool | Contact = False,
) -> Model:
    """Load a robot from a file.

    Args:
        path: of a `.urdf` or `.xacro` file, a mechanism `.yaml` file, or a Model kept by `save`,
            which takes none of the other arguments.
        floating_base: as for load_urdf.
        package_dirs: as for load_urdf.
        contact: as for load_urdf.

    Raises:
        DescriptionError: with every error of the document, each with its line.
        ModelError: if a function of the user that it names is not registered.
        ParameterError: the path is none, or an argument has a value that is not allowed.
    """
    wanted, base_joint = check_contact(contact), check_floating_base(floating_base)
    if isinstance(path, str | Path) and Path(path).suffix == MODEL_SUFFIX:
        for name, given in (("contact", wanted is not None), ("floating_base", base_joint)):
            if given:
                text = (
                    f"{name} is for robots that are built; a kept Model is loaded as it was saved"
                )
                raise ParameterError(Finding(f"bad-{name}", text, "error", name, allowed="False"))
        return load_model(path)
    source = Path(path) if isinstance(path, str) else path
    described = read(source, package_dirs=package_dirs, contact=contact)
    return complete(described, floating_base)


def _kept(name: str) -> ParameterError:
    text = f"{name} is for robots that are built; a kept Model is loaded as it was saved"
    return ParameterError(Finding(f"bad-{name}", text, "error", name, allowed="False"))


def build(
    system: Description | SystemBuilder,
    floating_base: bool | str = False,
    strict: bool = True,
    mimic: bool = True,
    contact: bool | Contact = False,
) -> Model:
    """Make a Model from what was built in Python; arguments as for load_urdf.

    Geometries and obstacles of the system itself need no `contact`. With one its surfaces hold
    for the geometries that it names and for those without a surface of their own, and its
    obstacles are added: one takes the place of the system's own of its name, and the default
    floor gives way to any other.

    Raises:
        DescriptionError: with everything that is wrong with the description.
        ModelError: if a function of the user that it names is not registered, or is wrong.
        ParameterError: an argument has a value that is not allowed.
    """
    wanted = check_contact(contact)
    if isinstance(system, SystemBuilder):
        checked = system.description()
    else:
        _check_description(system)
        checked = check(system, strict=strict)
    audit = Audit()
    described = with_contact(checked, wanted, audit)
    audit.raise_errors(checked.source)
    return complete(described, floating_base, strict, mimic)


def complete(
    description: Description,
    floating_base: bool | str = False,
    strict: bool = True,
    mimic: bool = True,
) -> Model:
    """Make a Model from a Description that a reader has checked; arguments as for load_urdf.

    Raises:
        DescriptionError: if a joint moves no inertia that would let it be simulated, no spline
            runs through a trajectory, or a joint that closes a loop is driven or coupled.
        ModelError: if a function of the user that it names is not registered, or is wrong.
        ParameterError: the floating base is of no type that a base can have.
    """
    base_joint = check_floating_base(floating_base)
    if not mimic:
        joints = tuple(replace(joint, mimic=None) for joint in description.joints)
        description = replace(description, joints=joints)
    model = compile_model(description, base_joint)
    check_user_functions(model)
    findings = [*description.findings, *_audit_loops(model, description)]
    findings += geometry_findings(model, description)
    if model.nv > 0 and model.nM == 0:
        findings.append(_too_large(model))
    model, note = _assembled(model)
    findings += note
    model, note = out_of_obstacles(model)
    findings += note
    return with_masses(with_inertias(model, description, findings, strict))


def _assembled(model: Model) -> tuple[Model, list[Finding]]:
    """Return the Model with a qpos0 in which its loops are closed, if they are not at zero."""
    if model.nefc == 0 or np.abs(position_errors(model, model.qpos0)).max() <= CLOSED:
        return model, []
    try:
        qpos0 = assemble(model)
    except ModelError as error:
        text = f"at zero position the mechanism is not assembled: {error}"
        return model, [Finding("not-assembled", text, "warning")]
    text = "the mechanism is not assembled at zero position; qpos0 is one in which it is"
    return model.replaced(qpos0=qpos0), [Finding("assembled", text, "note")]


def _check_description(description: object) -> None:
    if not isinstance(description, Description):
        text = (
            f"build needs a Description or a SystemBuilder, got {description!r}; load_urdf reads "
            "files and text"
        )
        raise ParameterError(Finding("not-a-description", text))


def _audit_loops(model: Model, description: Description) -> list[Finding]:
    """Return what means nothing for the joints that close loops.

    check.py knows only those that their author calls so; the spanning tree leaves out others too,
    and what they have is judged here.

    Raises:
        DescriptionError: one of them is driven, or coupled with another joint.
    """
    if not model.loop_names:
        return []
    loops = set(model.loop_names)
    marked = [replace(joint, closes_loop=joint.name in loops) for joint in description.joints]
    audit = Audit()
    for joint in marked:
        if joint.closes_loop:
            audit_loop_joint(joint, audit)
    audit_mimics(marked, JOINT_SPECS, audit)
    audit_beside_loops(description.constraints, marked, audit)
    audit.raise_errors(description.source)
    return list(audit.findings)


def _too_large(model: Model) -> Finding:
    return Finding(
        "no-mass-matrix",
        f"the mass matrix of '{model.name}' would have more than {MAX_M_ENTRIES} entries; forward "
        "and step leave it out, and crb, factor_m, solve_m and mass_matrix are refused",
        "warning",
    )
