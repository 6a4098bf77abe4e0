"""Control of real arms: control laws and a safety gate.

    from rbdyn_ros import control

    arm = control.Arm(rb.load_urdf("arm.urdf"))
    law = control.GravityCompensation(arm, damping_rate=2.0)
    effort = law(qpos, qvel, target)

It does not depend on ROS; the node is in rbdyn_ros/ros/arm/node.py.
"""

from rbdyn_ros.control.arm import Arm as Arm
from rbdyn_ros.control.arm import mounted_gravity as mounted_gravity
from rbdyn_ros.control.cartesian import CartesianImpedance as CartesianImpedance
from rbdyn_ros.control.cartesian_motion import CartesianLimits as CartesianLimits
from rbdyn_ros.control.cartesian_path import cartesian_path as cartesian_path
from rbdyn_ros.control.faults import Fault as Fault
from rbdyn_ros.control.friction import Friction as Friction
from rbdyn_ros.control.gate import GateSettings as GateSettings
from rbdyn_ros.control.gate import SafetyGate as SafetyGate
from rbdyn_ros.control.laws import ComputedTorque as ComputedTorque
from rbdyn_ros.control.laws import GravityCompensation as GravityCompensation
from rbdyn_ros.control.laws import JointImpedance as JointImpedance
from rbdyn_ros.control.laws import PDGravity as PDGravity
from rbdyn_ros.control.limits import Limits as Limits
from rbdyn_ros.control.measured import Measured as Measured
from rbdyn_ros.control.paths import Path as Path
from rbdyn_ros.control.planning import quintic as quintic
from rbdyn_ros.control.planning import time_optimal as time_optimal
from rbdyn_ros.control.target import Target as Target
