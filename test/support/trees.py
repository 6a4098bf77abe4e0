"""Generated robots: auto_tree(number of bodies, branching, skew, joint types, seed)."""

import math
from unittest import mock

import numpy as np
from scipy.spatial.transform import Rotation

import rbdyn_ros as rb
from rbdyn_ros.description import check
from rbdyn_ros.description.types import (
    JOINT_TYPES,
    Description,
    Inertial,
    Joint,
    Limit,
    Link,
    Pose,
)
from rbdyn_ros.model.compile import URDF_TYPES
from rbdyn_ros.model.joints import JointType

HINGES = ("revolute",)
SIMPLE = ("revolute", "prismatic")
#: "ball" is a joint type of the engine that no URDF can name: see build
ALL = ("revolute", "prismatic", "ball", "planar", "floating")


def build(description, floating_base=False, **options):
    """rb.build, which here also knows the joint type `ball`."""
    with (
        mock.patch.dict(URDF_TYPES, ball=JointType.BALL),
        mock.patch.object(check, "JOINT_TYPES", (*JOINT_TYPES, "ball")),
    ):
        return rb.build(description, floating_base, **options)


def auto_tree(
    nb, branching=1.0, skew=1.0, kinds=SIMPLE, seed=0, massless=(), damping=0.0, shuffle=True
):
    """Return a Description with nb moving links, named link1 .. link<nb>.

    Args:
        nb: number of moving links.
        branching: children per link: 1 is a chain, 2 a binary tree (Featherstone's autoTree).
        skew: largest angle between a joint frame and its parent link's [rad].
        kinds: joint types, dealt out at random (in turn with shuffle=False).
        seed: of all random numbers.
        massless: numbers of links without inertia.
        damping: largest viscous damping.
    """
    rng = np.random.default_rng([seed, nb])
    links = [Link("base", random_inertial(rng))]
    joints = []
    for i in range(1, nb + 1):
        parent = max(0, math.floor((i - 2 + math.ceil(branching)) / branching))
        kind = kinds[rng.integers(len(kinds))] if shuffle else kinds[(i - 1) % len(kinds)]
        links.append(Link(f"link{i}", None if i in massless else random_inertial(rng)))
        joints.append(
            Joint(
                f"joint{i}",
                kind,
                links[parent].name,
                f"link{i}",
                Pose(tuple(rng.uniform(-0.5, 0.5, 3)), random_quat(rng, skew)),
                unit(rng.normal(size=3)),
                Limit() if kind in ("revolute", "prismatic") else None,
                damping=rng.uniform(0.0, damping),
            )
        )
    return Description(f"tree-{nb}-{branching:g}-{skew:g}-{seed}", tuple(links), tuple(joints))


def random_inertial(rng):
    """A box of random size, mass, position and orientation."""
    mass = rng.uniform(0.5, 2.0)
    x2, y2, z2 = rng.uniform(0.1, 0.5, 3) ** 2
    R = Rotation.random(random_state=rng).as_matrix()
    I = mass / 12.0 * R @ np.diag([y2 + z2, z2 + x2, x2 + y2]) @ R.T
    moments = (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])
    return Inertial(mass, Pose(tuple(rng.uniform(-0.2, 0.2, 3)), random_quat(rng, 3.0)), moments)


def random_quat(rng, largest):
    turn = Rotation.from_rotvec(rng.uniform(0.0, largest) * np.array(unit(rng.normal(size=3))))
    return wxyz(turn)


def wxyz(rotation):
    x, y, z, w = rotation.as_quat()
    return (float(w), float(x), float(y), float(z))


def rotation(quat):
    w, x, y, z = quat
    return Rotation.from_quat([x, y, z, w])


def unit(vector):
    return tuple((np.asarray(vector) / np.linalg.norm(vector)).tolist())


def to_urdf(description):
    """Return the URDF text of a Description, every number with all its digits."""
    text = [f'<robot name="{description.name}">']
    text += [f'<link name="{x.name}">{_inertial(x.inertial)}</link>' for x in description.links]
    for joint in description.joints:
        limit = '<limit lower="-9" upper="9" effort="1" velocity="1"/>'
        text.append(
            f'<joint name="{joint.name}" type="{joint.type}">{_origin(joint.origin)}'
            f'<parent link="{joint.parent}"/><child link="{joint.child}"/>'
            f'<axis xyz="{_numbers(joint.axis)}"/>'
            f'<dynamics damping="{joint.damping!r}" friction="{joint.friction!r}"/>{limit}</joint>'
        )
    return "\n".join([*text, "</robot>"])


def _inertial(inertial):
    if inertial is None:
        return ""
    names = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    moments = " ".join(f'{n}="{float(v)!r}"' for n, v in zip(names, inertial.inertia, strict=True))
    return (
        f'<inertial><mass value="{inertial.mass!r}"/>{_origin(inertial.origin)}'
        f"<inertia {moments}/></inertial>"
    )


def _origin(pose):
    rpy = rotation(pose.quat).as_euler("xyz")  # URDF's roll, pitch, yaw about fixed axes
    return f'<origin xyz="{_numbers(pose.pos)}" rpy="{_numbers(rpy)}"/>'


def _numbers(values):
    return " ".join(repr(float(value)) for value in values)
