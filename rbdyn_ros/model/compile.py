# SPDX-License-Identifier: Apache-2.0
"""Build a Model from a Description: all primary arrays and names, from the lumped tree."""

from __future__ import annotations

import numpy as np

from rbdyn_ros.checks.names import free_name
from rbdyn_ros.description.parts.types import WORLD, Description, Joint
from rbdyn_ros.errors import DescriptionError, Finding, ModelError, counted
from rbdyn_ros.model.capabilities import too_large_matrix
from rbdyn_ros.model.declared.actuators import no_actuators
from rbdyn_ros.model.declared.callbacks import registered_motion
from rbdyn_ros.model.declared.joints import JointType
from rbdyn_ros.model.declared.model_fields import MODEL_FIELDS
from rbdyn_ros.model.geometry.geoms import geom_names, geoms
from rbdyn_ros.model.geometry.height_fields import height_fields
from rbdyn_ros.model.geometry.pushing import no_pairs, pushing, pushing_pairs
from rbdyn_ros.model.geometry.triangle_meshes import triangle_meshes
from rbdyn_ros.model.model import Model, unchecked_model
from rbdyn_ros.model.tree.bodies import body_arrays, frame_arrays, spring_arrays
from rbdyn_ros.model.tree.constraints import constraint_names, constraints
from rbdyn_ros.model.tree.joint_arrays import joint_arrays, kind_of, loop_arrays, type_of
from rbdyn_ros.model.tree.lumping import Tree, lump


def compile_model(description: Description, floating_base: str = "") -> Model:
    """Build a Model from a checked description.

    dof_inertia0 and geom_mass0 stay 0 until they are computed with engine/quantities/constants.py.
    Keyframes are added at the end of loading by with_keys.

    Args:
        description: a description that has passed description/checks.
        floating_base: type of a joint `root_joint` between the world and the base link; empty:
            the base link is fixed to the world.

    Raises:
        ModelError: a user-defined joint type or motion in the description is not registered.
        DescriptionError: the robot needs a mass matrix that is too large.
    """
    tree = lump(description, floating_base)
    numbers = {joint.name: j for j, joint in enumerate(tree.joints)}
    arrays = {
        **body_arrays(tree),
        **joint_arrays(tree),
        **frame_arrays(tree),
        **loop_arrays(tree),
        **spring_arrays(description.springs, tree),
        **constraints(description.constraints, tree.frames, numbers),
        **geoms(description, tree.frames),
        **height_fields(description.obstacles),
        **triangle_meshes(description.obstacles),
    }
    arrays |= no_pairs(len(arrays["geom_bodyid"])) | no_actuators(MODEL_FIELDS)
    arrays["key_qpos"] = np.zeros((0, len(arrays["qpos0"])))
    names = _names(description, tree)
    m = unchecked_model(description.name, arrays, names, findings=description.findings)
    pairs = pushing_pairs(vars(m), description.self_collision)
    if len(pairs) > 0 or m.nfield + m.ntrimesh > 0:
        arrays |= pushing(vars(m), pairs)
        m = unchecked_model(description.name, arrays, names, findings=description.findings)
    finding = too_large_matrix(m)
    if finding:
        raise DescriptionError([finding], description.source)
    return m


def _names(description: Description, tree: Tree) -> dict[str, list[str]]:
    """Return the lists of names in NAMES."""
    return {
        **constraint_names(description.constraints),
        "key_names": [],
        "geom_names": geom_names(description, tree.frames),
        "body_names": _body_names(tree),
        "jnt_names": [joint.name for joint in tree.joints],
        "frame_names": list(tree.frames),
        "loop_names": [loop.joint.name for loop in tree.loops],
        "spring_names": [spring.name for spring in description.springs],
        "jnt_usertype": [_user_type(joint) for joint in tree.joints],
        "loop_usertype": [_user_type(loop.joint) for loop in tree.loops],
        "jnt_motion_name": [_motion_name(joint) for joint in tree.joints],
    }


def _body_names(tree: Tree) -> list[str]:
    names = [body.name for body in tree.bodies]
    if WORLD in names[1:]:  # a floating base link may have the name of the world
        i = names.index(WORLD, 1)
        names[i] = free_name(f"{WORLD}_link", names)
    return names


def _user_type(joint: Joint) -> str:
    return joint.type if type_of(joint) == JointType.USER else ""


def _motion_name(joint: Joint) -> str:
    """Return the name of a joint's motion function, or "" if no function moves the joint.

    Raise ModelError if the function and the joint have different numbers of coordinates.
    """
    if not isinstance(joint.motion, str):
        return ""
    given, needed = registered_motion(joint.motion).nv, kind_of(joint).nv
    if given != needed:
        text = (
            f"joint '{joint.name}': the motion '{joint.motion}' has "
            f"{counted(given, 'coordinate')}, but the joint needs {needed}"
        )
        raise ModelError(Finding("motion-size", text, "error", f"joint '{joint.name}'"))
    return joint.motion
