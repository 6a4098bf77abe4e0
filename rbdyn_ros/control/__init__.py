# SPDX-License-Identifier: Apache-2.0
"""Control of real arms: control laws and a safety gate.

    from rbdyn_ros import control

    arm = control.Arm(rb.load_urdf("arm.urdf"))
    law = control.GravityCompensation(arm, damping_rate=2.0)
    effort = law(qpos, qvel, target)

It does not depend on ROS; the node is in rbdyn_ros/ros/arm/node.py.
"""

from rbdyn_ros.control.arm.arm import Arm as Arm
from rbdyn_ros.control.arm.arm import mounted_gravity as mounted_gravity
from rbdyn_ros.control.base.faults import Fault as Fault
from rbdyn_ros.control.base.friction import Friction as Friction
from rbdyn_ros.control.base.limits import Limits as Limits
from rbdyn_ros.control.base.target import Target as Target
from rbdyn_ros.control.laws.cartesian import CartesianImpedance as CartesianImpedance
from rbdyn_ros.control.laws.joint_laws import ComputedTorque as ComputedTorque
from rbdyn_ros.control.laws.joint_laws import GravityCompensation as GravityCompensation
from rbdyn_ros.control.laws.joint_laws import JointImpedance as JointImpedance
from rbdyn_ros.control.laws.joint_laws import PDGravity as PDGravity
from rbdyn_ros.control.motion.cartesian_motion import CartesianLimits as CartesianLimits
from rbdyn_ros.control.motion.cartesian_path import cartesian_path as cartesian_path
from rbdyn_ros.control.motion.paths import Path as Path
from rbdyn_ros.control.motion.planning import quintic as quintic
from rbdyn_ros.control.motion.planning import time_optimal as time_optimal
from rbdyn_ros.control.states.gate import GateSettings as GateSettings
from rbdyn_ros.control.states.gate import SafetyGate as SafetyGate
from rbdyn_ros.control.states.measured import Measured as Measured
