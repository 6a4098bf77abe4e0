# SPDX-License-Identifier: Apache-2.0
"""Build systems of bodies and joints in Python, one call per part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.build.arguments import frame, name, number, vector
from rbdyn_ros.description.build.constraints import ConstraintBuilder
from rbdyn_ros.description.build.fields import FIELDS
from rbdyn_ros.description.build.geometries import GeometryBuilder
from rbdyn_ros.description.checks.check import audit_built
from rbdyn_ros.description.parts.poses import IN_PLACE, ZERO, Pose, Vec3, pose
from rbdyn_ros.description.parts.types import (
    Description,
    Inertial,
    Joint,
    Link,
    Mimic,
    Spring,
    Trajectory,
)
from rbdyn_ros.errors import listing, not_allowed, quote


class SystemBuilder(ConstraintBuilder, GeometryBuilder):
    """A system of bodies and joints, built part by part; the methods that add parts return it.

        swing = (
            SystemBuilder("swing", base="ground")
            .body("arm", shapes.box((1.0, 0.1, 0.1), mass=2.0, at=pose((0.5, 0.0, 0.0))))
            .joint("pivot", "revolute", "ground", "arm", axis=(0.0, 1.0, 0.0), damping=0.1)
            .description()
        )

    Parts may come in any order and may name parts that come later; `description` reports all
    errors at once. Joints may point in either direction: the parent of a joint may be the body
    farther from the base.
    """

    def __init__(self, system: str, base: str = "base") -> None:
        """Begin a system.

        Args:
            system: name of the system.
            base: the body that is fixed to the world (or floats); it needs no call of `body`.

        Raises:
            ParameterError: a name is empty.
        """
        super().__init__()
        self._name = name("the name of the system", system)
        self._base = Link(name("the name of the base", base))
        self._links: list[Link] = []
        self._joints: list[Joint] = []
        self._springs: list[Spring] = []
        self._couplings: list[tuple[str, Mimic]] = []
        self._drives: list[tuple[str, Trajectory | str]] = []

    def body(self, body: str, inertial: Inertial | None = None) -> SystemBuilder:
        """Add a body, or set the inertial of the base.

        Args:
            body: name of the body.
            inertial: mass distribution of the body, for example from rb.shapes; None: massless.

        Raises:
            ParameterError: the name is empty, or the inertial is neither an Inertial nor None.
        """
        if inertial is not None and not isinstance(inertial, Inertial):
            raise not_allowed(f"the inertial of {body!r}", inertial, "an Inertial or None")
        link = Link(name("the name of a body", body), inertial)
        if body == self._base.name and self._base.inertial is None:
            self._base = link
        else:
            self._links.append(link)
        return self

    def joint(
        self,
        joint: str,
        joint_type: str,
        parent: str,
        child: str,
        *,
        xyz: Vec3 | None = None,
        rpy: Vec3 | None = None,
        origin: Pose | None = None,
        child_origin: Pose = IN_PLACE,
        **properties: Any,
    ) -> SystemBuilder:
        """Add a joint from a parent (predecessor) to a child (successor).

        Args:
            joint: name of the joint.
            joint_type: a name in joint_types.JOINT_SPECS.
            parent: the predecessor body.
            child: the successor body.
            xyz: origin of the joint frame in the parent frame [m]; None: zeros.
            rpy: roll, pitch and yaw of the joint frame in the parent frame [rad]; None: zeros.
            origin: pose X_P of the joint frame, instead of xyz and rpy; None: these are used.
            child_origin: pose X_S of the joint frame in the child frame.
            **properties: further fields of types.Joint: `axis`, `axis2`, `limit` (a Limit or a
                pair (lower, upper)), `limits` (one per coordinate), `damping`, `friction`,
                `armature`, `stiffness`, `rest` (a number, or one per coordinate), `motion`,
                `actuated`, `transmission` (a spatial force per degree of freedom); and the
                parameters of the type, such as `pitch` and `radius`.

        Raises:
            ParameterError: an argument has the wrong type or a value that is not allowed.
        """
        if origin is None:
            origin = pose(ZERO if xyz is None else xyz, ZERO if rpy is None else rpy)
        elif xyz is not None or rpy is not None:
            raise not_allowed("origin", origin, "None where xyz or rpy is given")
        return self._add(joint, joint_type, parent, child, origin, child_origin, properties)

    def loop(
        self,
        joint: str,
        joint_type: str,
        predecessor: str,
        successor: str,
        *,
        X_P: Pose = IN_PLACE,
        X_S: Pose = IN_PLACE,
        **properties: Any,
    ) -> SystemBuilder:
        """Add a joint that closes a loop; it is never part of the spanning tree.

        Args:
            joint: name of the joint.
            joint_type: a name in joint_types.JOINT_SPECS; `fixed` welds.
            predecessor: the predecessor body.
            successor: the successor body.
            X_P: joint frame in the frame of the predecessor.
            X_S: joint frame in the frame of the successor.
            **properties: as for `joint`.

        Raises:
            ParameterError: an argument has the wrong type or a value that is not allowed.
        """
        properties["closes_loop"] = True
        return self._add(joint, joint_type, predecessor, successor, X_P, X_S, properties)

    def point(
        self,
        joint: str,
        predecessor: str,
        successor: str,
        X_P: Pose = IN_PLACE,
        X_S: Pose = IN_PLACE,
    ) -> SystemBuilder:
        """Pin a point of a body to a point of another: a spherical loop joint.

        Takes the arguments of `loop`; the orientation of the frames has no effect.

        Raises:
            ParameterError: an argument has the wrong type or a value that is not allowed.
        """
        return self.loop(joint, "spherical", predecessor, successor, X_P=X_P, X_S=X_S)

    def weld(
        self,
        joint: str,
        predecessor: str,
        successor: str,
        X_P: Pose = IN_PLACE,
        X_S: Pose = IN_PLACE,
    ) -> SystemBuilder:
        """Weld a frame of a body to a frame of another: a fixed loop joint.

        Unlike a fixed joint of the tree, a weld is held by a constraint force. Takes the arguments
        of `loop`.

        Raises:
            ParameterError: an argument has the wrong type or a value that is not allowed.
        """
        return self.loop(joint, "fixed", predecessor, successor, X_P=X_P, X_S=X_S)

    def couple(
        self, joint: str, follows: str, ratio: float = 1.0, offset: float = 0.0
    ) -> SystemBuilder:
        """Make a joint mimic another, its leader: q = ratio * q_follows + offset.

        The mimic joint loses its degree of freedom. A `gear` keeps all degrees of freedom.

        Raises:
            ParameterError: an argument has the wrong type or a value that is not allowed.
        """
        mimic = Mimic(
            name("the name of the leader", follows),
            number("the ratio", ratio),
            number("the offset", offset),
        )
        self._couplings.append((name("the name of the mimic joint", joint), mimic))
        return self

    def spring(
        self,
        spring: str,
        link1: str,
        link2: str,
        *,
        point1: Vec3 = ZERO,
        point2: Vec3 = ZERO,
        stiffness: float = 0.0,
        damping: float = 0.0,
        length: float = 0.0,
    ) -> SystemBuilder:
        """Add a spring and damper between two points.

        The arguments are the fields of types.Spring.

        Raises:
            ParameterError: an argument has the wrong type or a value that is not allowed.
        """
        self._springs.append(
            Spring(
                name("the name of a spring", spring),
                name("the body of a spring", link1),
                name("the body of a spring", link2),
                vector("point1", point1),
                vector("point2", point2),
                number("the stiffness", stiffness),
                number("the damping", damping),
                number("the length", length),
            )
        )
        return self

    def drive(self, joint: str, motion: Trajectory | str) -> SystemBuilder:
        """Prescribe the motion of a joint: a Trajectory, or the name of a registered function.

        Raises:
            ParameterError: an argument has the wrong type or a value that is not allowed.
        """
        if not isinstance(motion, Trajectory | str):
            raise not_allowed("the motion", motion, "a Trajectory or the name of a function")
        self._drives.append((name("the name of a joint to drive", joint), motion))
        return self

    def description(self, *, strict: bool = True) -> Description:
        """Return the checked Description; the builder remains usable.

        Args:
            strict: whether to refuse errors that can be repaired; otherwise they are repaired,
                each with a warning.

        Raises:
            DescriptionError: with all errors.
        """
        audit = Audit(strict=strict)
        # the first of duplicate joints is used
        joints = {joint.name: joint for joint in reversed(self._joints)}
        changes: dict[str, dict[str, Any]] = {}
        for joint, mimic in self._couplings:
            _change("coupling", joint, "mimic", mimic, joints, changes, audit)
        for joint, motion in self._drives:
            _change("drive", joint, "motion", motion, joints, changes, audit)
        built = Description(
            name=self._name,
            links=(self._base, *self._links),
            joints=tuple(replace(joint, **changes.get(joint.name, {})) for joint in self._joints),
            source=self._name,
            base=self._base.name,
            springs=tuple(self._springs),
            constraints=tuple(self._constraints),
            geometries=tuple(self._geometries),
            obstacles=tuple(self._obstacles),
        )
        checked = audit_built(built, audit)
        audit.raise_errors(self._name)
        return replace(checked, findings=audit.sorted())

    def _add(
        self,
        joint: str,
        joint_type: str,
        parent: str,
        child: str,
        origin: Pose,
        child_origin: Pose,
        properties: dict[str, Any],
    ) -> SystemBuilder:
        owner = f"joint {name('the name of a joint', joint)!r}"
        fields = {
            key: read(f"the {key} of {owner}", properties.pop(key))
            for key, read in FIELDS.items()
            if key in properties
        }
        self._joints.append(
            Joint(
                joint,
                name(f"the type of {owner}", joint_type),
                name(f"the parent of {owner}", parent),
                name(f"the child of {owner}", child),
                frame(f"the origin of {owner}", origin),
                child_origin=frame(f"the child origin of {owner}", child_origin),
                parameters=properties,
                **fields,
            )
        )
        return self


def _change(
    kind: str,
    joint: str,
    field: str,
    value: object,
    joints: Mapping[str, Joint],
    changes: dict[str, dict[str, Any]],
    audit: Audit,
) -> None:
    """Record in `changes` that a coupling or a drive sets a field of a joint to a value.

    Add an error for an unknown joint.
    """
    owner = f"{kind} of {quote(joint)}"
    if joint not in joints:
        hint = audit.hint(joint, joints)
        message = f"there is no such joint{hint}"
        audit.error("unknown-joint", owner, None, message, found=joint, allowed=listing(joints))
    elif field in changes.setdefault(joint, {}) or getattr(joints[joint], field) is not None:
        audit.error("duplicate", owner, None, "it is defined more than once", found=joint)
    else:
        changes[joint][field] = value
