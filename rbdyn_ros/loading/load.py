# SPDX-License-Identifier: Apache-2.0
"""From a file to a Model: read, compile, complete."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.build.contacts import check_contact, with_contact
from rbdyn_ros.description.checks.check import check
from rbdyn_ros.description.parts.geometries import Contact
from rbdyn_ros.description.parts.joint_types import check_floating_base
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.description.reading.robot_file import RobotFile
from rbdyn_ros.dynamics.assembly import assemble, is_closed
from rbdyn_ros.errors import Finding, ModelError, ParameterError
from rbdyn_ros.loading.free_objects import placed_objects
from rbdyn_ros.loading.geometries import geometry_findings, with_masses
from rbdyn_ros.loading.inertias import with_inertias
from rbdyn_ros.loading.keyframes import with_keys
from rbdyn_ros.loading.overlaps import without_overlaps
from rbdyn_ros.loading.standing import bodies_overlap, out_of_obstacles, outside_of_limits
from rbdyn_ros.loading.storage import SUFFIX as MODEL_SUFFIX
from rbdyn_ros.loading.storage import load_model
from rbdyn_ros.loading.user_joints import check_user_functions
from rbdyn_ros.model.compile import compile_model
from rbdyn_ros.model.matching import Match
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.tree.inertia_pattern import MAX_M_ENTRIES

if TYPE_CHECKING:
    from rbdyn_ros.description.build.builder import SystemBuilder

#: Options that are kept when objects are added or removed.
OPTIONS = ("timestep", "gravity", "integrator", "passive", "exact_stops")


def load_urdf(
    source: str | bytes | Path | RobotFile,
    floating_base: bool | str = False,
    package_dirs: Sequence[str | Path] = (),
    strict: bool = True,
    mimic: bool = True,
    xacro_args: Mapping[str, object] | None = None,
    contact: bool | Contact = False,
    srdf: str | bytes | Path | bool = True,
) -> Model:
    """Load a robot from a file, or from URDF text.

    Args:
        source: path of a `.urdf`, `.xacro`, `.sdf`, MJCF `.xml`, mechanism or scene `.yaml`
            file; the name of a robot that is installed, such as panda; a RobotFile; or the text
            of a URDF, MJCF or SDF.
        floating_base: whether a free joint `root_joint` connects the root link to the world: True
            for the type `floating`, or a type with six degrees of freedom: `floating`, `sixdof_fp`
            or `sixdof_fs`. The latter two have velocities in the axes of the link and are
            integrated by the exponential of SE(3).
        package_dirs: a folder, or a list of folders, to search for the packages that `$(find ...)`
            in xacro files and `package://` in mesh names refer to. Packages above the file, next
            to it, in its workspace or in a sourced workspace are found without it.
        strict: whether to refuse errors that can be repaired; otherwise they are repaired, each
            with a warning.
        mimic: whether mimic joints follow their leader, without a degree of freedom; if False
            they are ordinary joints.
        xacro_args: values for the arguments of a xacro file; True and False become "true" and
            "false", and numbers become text.
        contact: whether the `<collision>` elements of links, or the geoms of an MJCF, are used for
            contact. True: they touch each other, and a floor at z = 0 unless an MJCF has its own.
            A Contact sets obstacles, surfaces and self-collision. With True or a Contact, a robot
            with a floating base starts above the obstacles (qpos0). False: ignore them and open no
            mesh, except the meshes of an MJCF that give a body its inertia.
        srdf: path or text of an SRDF. Its `<group_state>` are the keyframes of the Model:
            `m.key(name)`. For contact, the pairs of links that it disables do not push each other,
            and `collisions` leaves them out; pairs that overlap in one of its states do not push
            each other, either. True: `<name>.srdf` next to the file, in `srdf/` or in `../srdf/`,
            with the name of the file or of the robot, if this file exists. False: no SRDF.

    Returns:
        The Model; its `findings` are the warnings and notes.

    Raises:
        DescriptionError: with all errors of the document, each with its line.
        ParameterError: an argument has a value that is not allowed.
    """
    # the readers of scenes and mechanisms are imported only where they are needed
    from rbdyn_ros.description.source import opened

    base_joint = check_floating_base(floating_base)
    found = opened(
        source,
        strict=strict,
        package_dirs=package_dirs,
        xacro_args=xacro_args,
        contact=contact,
        srdf=srdf,
    )
    if base_joint and found.is_scene:
        from rbdyn_ros.description.scene_files.scene import no_floating_scene

        raise no_floating_scene()
    return complete(found.description, floating_base, strict, mimic)


def load(
    path: str | Path | RobotFile,
    *,
    floating_base: bool | str = False,
    package_dirs: Sequence[str | Path] = (),
    strict: bool = True,
    mimic: bool = True,
    xacro_args: Mapping[str, object] | None = None,
    contact: bool | Contact = False,
    srdf: str | bytes | Path | bool = True,
) -> Model:
    """Return the Model of a robot file, as load_urdf does, or a saved Model; text is refused.

    The arguments are those of load_urdf; `path` may also be a file written by `save`, which allows
    no other argument.

    Raises:
        DescriptionError: with all errors of the document, each with its line.
        ModelError: a user-defined joint type or motion is not registered.
        ParameterError: path is not a path, there is no robot of this name, or an argument has a
            value that is not allowed.
    """
    given: dict[str, Any] = {
        "floating_base": floating_base,
        "package_dirs": package_dirs,
        "strict": strict,
        "mimic": mimic,
        "xacro_args": xacro_args,
        "contact": contact,
        "srdf": srdf,
    }
    if not isinstance(path, str | Path | RobotFile):
        raise ParameterError(
            Finding("not-a-source", f"expected the path of a robot, got {path!r}")
        )
    file = Path(path) if isinstance(path, str) else path
    at = file.path if isinstance(file, RobotFile) else file
    if is_saved(Path(at)):
        _check_unchanged(given)
        return load_model(at)
    return load_urdf(file, **given)


def is_saved(path: Path) -> bool:
    """Return whether a path names a saved Model."""
    return path.suffix == MODEL_SUFFIX


def _check_unchanged(given: Mapping[str, Any]) -> None:
    """Raise ParameterError if an argument would change a saved Model."""
    check_contact(given["contact"])
    check_floating_base(given["floating_base"])
    usual = {"strict": True, "mimic": True, "srdf": True}
    for name, value in given.items():
        if name != "package_dirs" and (value or False) != usual.get(name, False):
            allowed = str(usual.get(name, False) if name != "xacro_args" else None)
            text = f"{name} must be {allowed} for a saved Model, which is loaded as it is"
            raise ParameterError(Finding(f"bad-{name}", text, "error", name, allowed=allowed))


def build(
    system: "Description | SystemBuilder",
    floating_base: bool | str = False,
    strict: bool = True,
    mimic: bool = True,
    contact: bool | Contact = False,
) -> Model:
    """Make a Model from a robot built in Python; the arguments are those of load_urdf.

    Geometries and obstacles of the system do not need `contact`. The surfaces of a Contact apply
    to the geometries that it names and to geometries without a surface. Its obstacles are added
    and replace obstacles of the same name; the default floor is left out if there are other
    obstacles.

    Raises:
        DescriptionError: with all errors of the description.
        ModelError: a user-defined function is not registered, or its derivatives are wrong.
        ParameterError: an argument has a value that is not allowed.
    """
    return complete(described(system, strict, contact), floating_base, strict, mimic)


def described(
    system: "SystemBuilder | Description", strict: bool = True, contact: bool | Contact = False
) -> Description:
    """Return the checked Description of a robot built in Python.

    The arguments are those of build.
    """
    wanted = check_contact(contact)
    from rbdyn_ros.description.build.builder import SystemBuilder

    if isinstance(system, SystemBuilder):
        checked = system.description()
    else:
        _check_description(system)
        checked = check(system, strict=strict)
    audit = Audit()
    found = with_contact(checked, wanted, audit)
    audit.raise_errors(checked.source)
    return found


def complete(
    description: Description,
    floating_base: bool | str = False,
    strict: bool = True,
    mimic: bool = True,
    before: Model | None = None,
) -> Model:
    """Make a Model from a checked Description.

    Args:
        description: checked.
        floating_base: as for load_urdf.
        strict: as for load_urdf.
        mimic: as for load_urdf.
        before: the Model of this scene with other objects. Common parts start where they did, even
            if they overlap, and the options stay. None: there is no such Model.

    Raises:
        DescriptionError: a joint moves no inertia, or no spline interpolates a trajectory.
        ModelError: a user-defined function is not registered, or its derivatives are wrong.
        ParameterError: the type of the floating base is not allowed.
    """
    base_joint = check_floating_base(floating_base)
    if not mimic:
        joints = tuple(replace(joint, mimic=None) for joint in description.joints)
        description = replace(description, joints=joints)
    model = compile_model(description, base_joint)
    check_user_functions(model)
    findings = [*description.findings]
    if model.nv > 0 and model.nM == 0:
        findings.append(_too_large(model))
    if before is None:
        model, note = _assembled(model)
        findings += note
        model, note = placed_objects(model, description)
        findings += note
    else:
        qpos0 = Match(before, model).coordinates(before.qpos0, model.qpos0)
        model = model.replaced(qpos0=qpos0)
    model, note = without_overlaps(model, description.states)
    findings += [*geometry_findings(model, description), *note]
    if before is None:
        if model.njnt == 0 or model.body_names[1] not in description.objects:
            model, note = out_of_obstacles(model)
            findings += note
        findings += [*bodies_overlap(model), *outside_of_limits(model)]
    made = with_masses(with_inertias(model, description, findings, strict))
    made = with_keys(made, description.states)
    if description.gravity is not None:
        made.opt.gravity = description.gravity
    if before is not None:
        for name in OPTIONS:
            setattr(made.opt, name, getattr(before.opt, name))
    return made


def _assembled(model: Model) -> tuple[Model, list[Finding]]:
    """Return the Model, with loops closed at qpos0 if possible, and a finding if any was open."""
    if is_closed(model, model.qpos0):
        return model, []
    try:
        qpos0 = assemble(model)
    except ModelError as error:
        text = f"the loops are not closed at the zero position: {error}"
        return model, [Finding("not-assembled", text, "warning")]
    text = "the loops are not closed at the zero position; they are closed at qpos0"
    return model.replaced(qpos0=qpos0), [Finding("assembled", text, "note")]


def _check_description(description: object) -> None:
    if not isinstance(description, Description):
        text = (
            f"build needs a Description or a SystemBuilder, got {description!r}; load_urdf reads "
            "files and URDF text"
        )
        raise ParameterError(Finding("not-a-description", text))


def _too_large(model: Model) -> Finding:
    return Finding(
        "no-mass-matrix",
        f"the mass matrix of '{model.name}' would have more than {MAX_M_ENTRIES} entries; forward "
        "and step leave it out, and crb, factor_m, solve_m and mass_matrix are refused",
        "warning",
    )
