# SPDX-License-Identifier: Apache-2.0
"""Load or build a robot in Pinocchio, and translate its joint coordinates into ours.

Pinocchio's quaternions are xyzw. The velocities of free and planar joints are in body axes, with
the translation first. A continuous joint has the positions (cos, sin), and a planar joint has
(x, y, cos, sin). Pinocchio has no reversed joints. Here a reversed rotation gets the opposite
axis, rotations in a row get the opposite order, and a pose is inverted.

With v_pin = B v_ours: tau_ours = B^T tau_pin, M_ours = B^T M_pin B and
a_pin = B a_ours + Bdot v_ours.
"""

import numpy as np
import pytest

from rbdyn_ros.model.declared.joints import JointType
from support.states import joint_slices
from support.trees import rotation

pin = pytest.importorskip("pinocchio", reason="pin is not installed")

#: Joint types of joint_types.JOINT_SPECS that Pinocchio has, as one joint or as a chain.
KNOWN = (
    "revolute",
    "prismatic",
    "helical",
    "cylindrical",
    "universal",
    "spherical_ypr",
    "spherical",
    "planar",
    "planar_fp",
    "planar_fs",
    "floating",
    "sixdof_fp",
    "sixdof_fs",
)


def load(path, floating_base=False):
    """Return Pinocchio's model of a URDF; by default mimic joints become ordinary joints."""
    if floating_base:
        return pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    return pin.buildModelFromUrdf(str(path))


def from_description(description, floating_base=False):
    """Return Pinocchio's model of a tree whose joints have KNOWN types and either direction."""
    model = pin.Model()
    children = {joint.child for joint in description.joints}
    root = description.base or next(x.name for x in description.links if x.name not in children)
    carrier = 0
    if floating_base:
        carrier = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root_joint")
    # the joint that carries each link, and the link's pose in the joint, by name
    places = {root: (carrier, pin.SE3.Identity())}
    _add_subtree(model, description.joints, root, places)
    for link in description.links:
        carrier, place = places[link.name]
        model.addBodyFrame(link.name, carrier, place, 0)
        if link.inertial is not None:
            model.appendBodyToJoint(carrier, _inertia(link.inertial), place)
    return model


def _add_subtree(model, joints, link, places):
    """Add a link's subtree depth first, because Pinocchio needs subtrees as ranges of joints."""
    for joint in joints:
        if link in (joint.parent, joint.child):
            far = joint.child if link == joint.parent else joint.parent
            if far not in places:
                _add_joint(model, joint, is_reversed=link == joint.child, places=places)
                _add_subtree(model, joints, far, places)


def _add_joint(model, joint, is_reversed, places):
    ends = [(joint.parent, joint.origin), (joint.child, joint.child_origin)]
    (near, near_pose), (far, far_pose) = reversed(ends) if is_reversed else ends
    carrier, place = places[near]
    axes = _axes_of_plane(joint)
    placement = place * _se3(near_pose) * axes
    number = model.addJoint(carrier, _joint_model(joint, is_reversed), placement, joint.name)
    places[far] = (number, axes.inverse() * _se3(far_pose).inverse())


def _joint_model(joint, is_reversed):
    hinge, slide = pin.JointModelRevoluteUnaligned, pin.JointModelPrismaticUnaligned
    axis = (-1.0 if is_reversed else 1.0) * np.array(joint.axis)
    if joint.type == "revolute":
        return hinge(axis)
    if joint.type == "prismatic":
        return slide(axis)
    if joint.type == "helical":
        return pin.JointModelHelicalUnaligned(axis, joint.parameters["pitch"])
    if joint.type == "cylindrical":
        return _in_a_row(hinge(axis), slide(axis))
    if joint.type == "universal":
        axis2 = np.array(joint.axis2)
        return pin.JointModelUniversal(*((-axis2, axis) if is_reversed else (axis, axis2)))
    if joint.type == "spherical_ypr":
        x, y, z = np.eye(3)
        turned_round = _in_a_row(hinge(-x), hinge(-y), hinge(-z))
        return turned_round if is_reversed else pin.JointModelSphericalZYX()
    if joint.type == "spherical":
        return pin.JointModelSpherical()
    if joint.type.startswith("planar"):
        return pin.JointModelPlanar()
    assert joint.type in ("floating", "sixdof_fp", "sixdof_fs")
    return pin.JointModelFreeFlyer()


def _in_a_row(*joints):
    composite = pin.JointModelComposite(len(joints))
    for joint in joints:
        composite.addJoint(joint)
    return composite


def _axes_of_plane(joint):
    """Return the pose in the joint's frame of the x-y plane in which Pinocchio's joint moves."""
    if not joint.type.startswith("planar"):
        return pin.SE3.Identity()
    z = np.array(joint.axis)
    if joint.axis2 is None:  # the shortest turn of z onto the axis gives x and y
        R = rotation(np.array([1.0 + z[2], -z[1], z[0], 0.0])).as_matrix()
    else:
        R = np.column_stack([joint.axis2, np.cross(z, joint.axis2), z])
    return pin.SE3(R, np.zeros(3))


def _se3(pose):
    return pin.SE3(rotation(pose.quat).as_matrix(), np.array(pose.pos))


def _inertia(inertial):
    xx, yy, zz, xy, xz, yz = inertial.inertia
    R = rotation(inertial.origin.quat).as_matrix()
    I = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    return pin.Inertia(inertial.mass, np.array(inertial.origin.pos), I)


class Twin:
    """Pinocchio's model and our Model in the same state.

    Args:
        m, d: our Model and Data at some qpos and qvel.
        model: Pinocchio's model.
    """

    def __init__(self, m, d, model):
        self.model, self.data = model, model.createData()
        self.q, self.B = pin.neutral(model), np.zeros((model.nv, m.nv))
        self.drift = np.zeros(model.nv)
        for j, name in enumerate(m.jnt_names):
            theirs = model.joints[model.getJointId(name)]
            q, v = joint_slices(m, j)
            rows = slice(theirs.idx_v, theirs.idx_v + theirs.nv)
            position, self.B[rows, v], self.drift[rows] = _translated(
                JointType(m.jnt_type[j]), m.jnt_reversed[j], d.qpos[q], d.qvel[v], theirs.nq
            )
            self.q[theirs.idx_q : theirs.idx_q + theirs.nq] = position
        self.v = self.B @ d.qvel

    def mass_matrix(self):
        M = pin.crba(self.model, self.data, self.q)
        M = np.triu(M) + np.triu(M, 1).T  # Pinocchio fills only the upper triangle
        return self.B.T @ M @ self.B

    def rnea(self, qacc):
        a = self.B @ qacc + self.drift
        return self.B.T @ pin.rnea(self.model, self.data, self.q, self.v, a)

    def nle(self):
        """Return the bias force (nv,): Coriolis, centrifugal and gravity forces."""
        theirs = pin.nonLinearEffects(self.model, self.data, self.q, self.v)
        M = pin.crba(self.model, self.data, self.q)
        M = np.triu(M) + np.triu(M, 1).T
        return self.B.T @ (theirs + M @ self.drift)

    def aba(self, qfrc):
        tau = np.linalg.solve(self.B.T, qfrc)
        a = pin.aba(self.model, self.data, self.q, self.v, tau)
        return np.linalg.solve(self.B, a - self.drift)

    def frame_poses(self):
        """Return the position and rotation of the frame of every link, by name."""
        pin.framesForwardKinematics(self.model, self.data, self.q)
        return {
            frame.name: (self.data.oMf[k].translation, self.data.oMf[k].rotation)
            for k, frame in enumerate(self.model.frames)
            if frame.type == pin.FrameType.BODY
        }


def _translated(kind, is_reversed, q, v, nq):
    """Return the positions of a joint in Pinocchio, the joint's block of B, and Bdot v."""
    n = len(v)
    if kind in (JointType.UNIVERSAL, JointType.YPR):
        order = slice(None, None, -1 if is_reversed else 1)
        return q[order], np.eye(n)[order], np.zeros(n)
    if kind == JointType.HINGE and nq == 2:
        return np.array([np.cos(q[0]), np.sin(q[0])]), np.eye(n), np.zeros(n)
    if n < 3:
        assert len(q) == nq, f"no translation for joint type {kind} with {nq} positions"
        return q, np.eye(n), np.zeros(n)
    R, p, twist, drift = _body_motion(kind, q, v)
    if is_reversed:
        R, p, twist, drift = _inverse(R, p, twist, drift)
    x, y, z, w = _quaternion(R)
    if kind == JointType.BALL:
        return np.array([x, y, z, w]), twist[3:], drift[3:]
    if n == 6:
        return np.array([*p, x, y, z, w]), twist, drift
    plane = [0, 1, 5]
    return np.array([p[0], p[1], R[0, 0], R[1, 0]]), twist[plane], drift[plane]


def _body_motion(kind, q, v):
    """Return the pose (R, p) of F_s in F_p, the velocity by dof, and the acceleration at qacc = 0.

    Velocities are [linear; angular] in F_s axes, as in Pinocchio; planar joints move in x-y.
    """
    n = len(v)
    p, twist, w = np.zeros(3), np.zeros((6, n)), np.zeros(3)
    if kind == JointType.BALL:
        R, twist[3:] = rotation(q).as_matrix(), np.eye(3)
    elif kind == JointType.FREE:
        p, R, w = q[:3], rotation(q[3:]).as_matrix(), v[3:]
        twist[:3, :3], twist[3:, 3:] = R.T, np.eye(3)
    elif kind in (JointType.SIXDOF_FP, JointType.SIXDOF_FS):
        R = rotation(q[:4]).as_matrix()
        p = q[4:] if kind == JointType.SIXDOF_FP else R @ q[4:]
        twist[:3, 3:], twist[3:, :3] = np.eye(3), np.eye(3)
    elif kind == JointType.PLANAR:
        R, p, w = _turn(q[2]), np.array([q[0], q[1], 0.0]), np.array([0.0, 0.0, v[2]])
        twist[:3, :2], twist[5, 2] = R.T[:, :2], 1.0
    else:
        assert kind in (JointType.PLANAR_FP, JointType.PLANAR_FS)
        R, p = _turn(q[0]), np.array([q[1], q[2], 0.0])
        p = p if kind == JointType.PLANAR_FP else R @ p
        twist[5, 0], twist[0, 1], twist[1, 2] = 1.0, 1.0, 1.0
    # velocities along fixed axes of F_p rotate backwards in F_s: dR^T/dt = -[w x] R^T
    drift = np.concatenate([-np.cross(w, twist[:3] @ v), np.zeros(3)])
    return R, p, twist, drift


def _inverse(R, p, twist, drift):
    """Return the pose and motion of F_p in F_s, from the pose and motion of F_s in F_p."""
    to_p = pin.SE3(R, p).toActionMatrix()
    return R.T, -R.T @ p, -to_p @ twist, -to_p @ drift


def _turn(angle):
    return rotation((np.cos(0.5 * angle), 0.0, 0.0, np.sin(0.5 * angle))).as_matrix()


def _quaternion(R):
    return pin.Quaternion(R).coeffs()
