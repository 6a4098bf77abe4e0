# SPDX-License-Identifier: Apache-2.0
"""The dynamics of an arm as its box computes them: the arm alone, with the bodies it carries."""

import re

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.control_box.links import NO_LOAD, Load, check_chain
from rbdyn_ros.description.parts.types import Joint
from rbdyn_ros.dynamics.payload import with_payload
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.dynamics.toolbox.frames import frame_jacobian, frame_pose
from rbdyn_ros.dynamics.toolbox.inertia import mass_matrix
from rbdyn_ros.dynamics.toolbox.terms import coriolis_term, gravity_term
from rbdyn_ros.errors import quote, refusal
from rbdyn_ros.loading.load import load_urdf
from rbdyn_ros.model.declared.joints import JointType
from rbdyn_ros.model.declared.model_fields import PRIMARY
from rbdyn_ros.model.model import Model, with_arrays
from rbdyn_ros.model.tree.rotation import cross_matrix

#: Rotor inertia of a torque-controlled joint if the robot file has no rotor inertia [kg m^2].
#: Source: MuJoCo Menagerie, franka_emika_panda and universal_robots_ur5e; the bare rotors of an
#: FR3 have 0.2 to 0.6.
ROTOR = 0.1


class BoxedJoints:
    """The joints of an arm in a simulated robot, and the dynamics of the arm alone.

    Args:
        m: the robot or scene.
        joints: joints of the arm, in one chain.
        called: name of such an arm in messages, for example `an arm of Franka`.

    Attributes:
        m: the arm alone with its load, made by `build`; O is its world frame.
        dofs, qposadr: (n,) indices of the joints in the simulated Model.
        lower, upper, effort: (n,) limits of the robot file.
        armature, damping, friction: (n,) armature, damping and friction of the simulated joints.
        fingers, fingers_at: indices of the fingers of a hand that the box drives, in qvel and
            qpos.
        urdf: the arm alone as the text of a URDF.
        hand: load behind the flange that a client cannot change.
        load: the load that a client has set.
        gravity: (3,) in O [m/s^2].

    Raises:
        RbdynError: the robot has no such arm, or the base of the arm moves.
    """

    hand: Load = NO_LOAD

    def __init__(self, m: Model, joints: list[Joint], called: str) -> None:
        check_chain(joints, called)
        numbers = [m.jnt_names.index(joint.name) for joint in joints]
        self.n = len(joints)
        self.dofs: Ints = m.jnt_dofadr[numbers].astype(np.int64)
        self.qposadr: Ints = m.jnt_qposadr[numbers].astype(np.int64)
        self.fingers: Ints = np.zeros(0, np.int64)
        self.fingers_at: Ints = np.zeros(0, np.int64)
        self.lower, self.upper = m.jnt_range[numbers].T.copy()
        self.effort = m.jnt_effort[numbers].copy()
        self.armature, self.damping = m.dof_armature[self.dofs], m.dof_damping[self.dofs]
        self.friction = m.dof_frictionloss[self.dofs]
        base = m.frame_id(joints[0].parent)
        if m.frame_bodyid[base] != 0:
            raise refusal(
                f"link {quote(joints[0].parent)} moves; a control box needs an arm whose base is "
                "fixed to the world"
            )

    @property
    def driven(self) -> Ints:
        """All degrees of freedom that the box drives."""
        return np.concatenate([self.dofs, self.fingers])

    def build(self, urdf: str, gravity: Array, load: Load = NO_LOAD) -> None:
        """Compile the arm without the rest of the robot.

        Args:
            urdf: text made by `urdf_alone`.
            gravity: (3,) in O [m/s^2].
            load: the load that the arm carries at the start.
        """
        self.urdf = urdf
        self._flange = f"link{self.n + 1}"
        self._alone = load_urdf(urdf)
        self._alone.opt.gravity = tuple(gravity)
        self.gravity = np.array(self._alone.opt.gravity)
        self.carry(load)

    def carry(self, load: Load) -> None:
        """Use a load at the flange from now on.

        Raises:
            ParameterError: the load is not a rigid body.
        """
        m = self._alone
        for part in (self.hand, load):
            m = with_payload(m, self._flange, part.mass, part.com, part.six)
        self.m, self.d, self.load = m, make_data(m), load

    def at(self, q: Array, dq: Array) -> None:
        """Set the state for the methods below."""
        self.d.qpos[:], self.d.qvel[:] = q, dq

    def gravity_torque(self) -> Array:
        """Return the torques that hold the arm against gravity (n,)."""
        return gravity_term(self.m, self.d)

    def coriolis(self) -> Array:
        """Return the Coriolis and centrifugal torques (n,)."""
        return coriolis_term(self.m, self.d)

    def inertia(self) -> Array:
        """Return the mass matrix of the links and rotors (n, n)."""
        return mass_matrix(self.m, self.d) + np.diag(self.armature)

    def flange(self) -> Array:
        """Return the pose of the flange in O (4, 4)."""
        T = np.eye(4)
        T[:3, 3], T[:3, :3] = frame_pose(self.m, self.d, self._flange)
        return T

    def jacobian(self, T: Array, F_T: Array) -> Array:
        """Return J (6, n): linear, then angular velocity of a frame at the flange, in axes of O.

        Args:
            T: pose of the flange (4, 4).
            F_T: pose of the frame in the flange (4, 4).
        """
        J = frame_jacobian(self.m, self.d, self._flange)
        lever = cross_matrix(T[:3, :3] @ F_T[:3, 3])
        return np.concatenate([J[3:] - lever @ J[:3], J[:3]])


def with_rotors(m: Model, prefix: str, joints: re.Pattern[str]) -> Model:
    """Return the simulated Model with ROTOR at the arm's joints that have no rotor inertia.

    Args:
        m: the simulated robot.
        prefix: prefix of the names of the arm's joints.
        joints: endings of the names of these joints.
    """
    armature = m.dof_armature.copy()
    for j, name in enumerate(m.jnt_names):
        turns = m.jnt_type[j] == JointType.HINGE
        if turns and name.startswith(prefix) and joints.search(name):
            k = m.jnt_dofadr[j]
            armature[k] = armature[k] or ROTOR
    kept = {name: getattr(m, name) for name in PRIMARY}
    return with_arrays(m, kept | {"dof_armature": armature})
