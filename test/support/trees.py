# SPDX-License-Identifier: Apache-2.0
"""Generate robots by auto_tree(number of bodies, branching, skew, joint types, seed)."""

import math

import numpy as np
from scipy.spatial.transform import Rotation

import rbdyn_ros as rb
from rbdyn_ros.description.parts.joint_types import JOINT_SPECS, URDF_TYPES
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.parts.types import Description, Inertial, Joint, Limit, Link

HINGES = ("revolute",)
SIMPLE = ("revolute", "prismatic")
#: Joint types that MuJoCo has as well.
ALL = ("revolute", "prismatic", "spherical", "planar", "floating")
#: Every joint type except fixed.
LIBRARY = (
    *ALL,
    "helical",
    "cylindrical",
    "universal",
    "spherical_ypr",
    "rack_pinion",
    "planar_fp",
    "planar_fs",
    "sixdof_fp",
    "sixdof_fs",
)

build = rb.build


def auto_tree(
    nb,
    branching=1.0,
    skew=1.0,
    kinds=SIMPLE,
    seed=0,
    massless=(),
    damping=0.0,
    shuffle=True,
    reversals=0.0,
    offsets=0.0,
):
    """Return a Description with nb moving links, named link1 .. link<nb>.

    Args:
        nb: number of moving links.
        branching: children per link: 1 gives a chain, 2 a binary tree (Featherstone's autoTree).
        skew: largest angle [rad] between a joint frame and the frame of the parent link.
        kinds: joint types, used in random order, or in turn with shuffle=False.
        seed: seed of all random numbers.
        massless: numbers of links without inertia.
        damping: largest viscous damping.
        reversals: share of the joints whose predecessor is the link farther from the base.
        offsets: share of the joints whose frame differs from the frame of the farther link.
    """
    rng = np.random.default_rng([seed, nb])
    # a separate generator keeps the trees without these arguments unchanged
    extra = np.random.default_rng([seed, nb, 1])
    links = [Link("base", random_inertial(rng))]
    joints = []
    for i in range(1, nb + 1):
        parent = max(0, math.floor((i - 2 + math.ceil(branching)) / branching))
        kind = kinds[rng.integers(len(kinds))] if shuffle else kinds[(i - 1) % len(kinds)]
        links.append(Link(f"link{i}", None if i in massless else random_inertial(rng)))
        near = (links[parent].name, random_pose(rng, skew))
        axis = unit(rng.normal(size=3))
        loss = rng.uniform(0.0, damping)
        far = (f"link{i}", random_pose(extra, skew) if extra.random() < offsets else Pose())
        turned_round = extra.random() < reversals
        ends = (far, near) if turned_round else (near, far)
        joints.append(library_joint(f"joint{i}", kind, *ends, axis, extra, damping=loss))
    return Description(
        f"tree-{nb}-{branching:g}-{skew:g}-{seed}",
        tuple(links),
        tuple(joints),
        base="base" if reversals > 0.0 else "",
    )


def library_joint(name, kind, predecessor, successor, axis, rng, **more):
    """Return a Joint with all properties of its type.

    Args:
        name, kind: name and type of the joint.
        predecessor, successor: (name of the link, pose of the joint's frame in the link).
        axis: axis of the joint.
        rng: generator of the second axis and the parameters.
        more: further fields of the Joint.
    """
    spec = JOINT_SPECS[kind]
    if spec.axes == 2 and kind not in URDF_TYPES:
        more["axis2"] = unit(np.cross(axis, rng.normal(size=3)))
    if kind in ("revolute", "prismatic"):
        more.setdefault("limit", Limit())
    parameters = {key: rng.choice((-1, 1)) * rng.uniform(0.05, 0.3) for key in spec.parameters}
    return Joint(
        name,
        kind,
        predecessor[0],
        successor[0],
        predecessor[1],
        axis,
        child_origin=successor[1],
        parameters=parameters,
        **more,
    )


def random_pose(rng, skew):
    return Pose(tuple(rng.uniform(-0.5, 0.5, 3)), random_quat(rng, skew))


def random_inertial(rng):
    """Return the Inertial of a box of random size, mass, position and orientation."""
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
    """Return the URDF text of a Description, with all digits of all numbers."""
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
