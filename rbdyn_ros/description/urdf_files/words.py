# SPDX-License-Identifier: Apache-2.0
"""Reasons why words of a URDF are not used, and replacements. A <gazebo> has the words of SDF."""

from rbdyn_ros.description.xml_files import sdf_words
from rbdyn_ros.description.xml_files.unused import Unused

_RANGE = "the <limit> of the joint counts"
_MIMIC = "the <mimic> of the joint counts"
_REDUCTION = (
    "commands and efforts refer to the joint; the inertia of a rotor is in an actuators file"
)
_JOINTS_OF_GAZEBO = "limits of joints are rigid stops"
WHY = {
    **sdf_words.WHY,
    "gpio": "the simulator has no digital inputs and outputs",
    "hardware": "it is for the hardware of a real robot",
    "min": _RANGE,
    "max": _RANGE,
    "limits": _RANGE,
    **dict.fromkeys(("mimic", "multiplier"), _MIMIC),
    "initial_value": "only positions of state interfaces have a start",
    **dict.fromkeys(("mechanicalReduction", "mechanical_reduction", "offset"), _REDUCTION),
    **dict.fromkeys(
        (
            *("leftActuator", "rightActuator", "flexJoint", "rollJoint", "gap_joint"),
            *("passive_joint", "use_simulated_gripper_joint", "simulated_actuated_joint"),
        ),
        "each joint moves by itself",
    ),
    "safety_controller": "soft limits belong to a controller; the arm controller has parameters "
    "for them",
    "calibration": "positions of the simulator need no reference",
    "position_based_velocity_limits": "velocity limits do not depend on the position; "
    "<limit velocity> counts",
    "verbose": "it is for logs of other programs",
    "coupling": "couplings are in a mechanism file",
    "type": "it has no meaning for dynamics",
    **dict.fromkeys(("D", "K", "mu_coulomb", "mu_viscous"), "damping and friction count"),
    **dict.fromkeys(("kp", "kd"), sdf_words.WHY["kp"]),
    "mu2": "friction is the same in all directions; only <mu1> counts",
    "material": "the <material> of a <visual> counts",
    "static": "the option --floating-base says whether the base moves",
    "pose": "a scene file says where a robot stands",
    "dampingFactor": sdf_words.WHY["velocity_decay"],
    **dict.fromkeys(("stopCfm", "stopErp", "stopKp", "stopKd"), _JOINTS_OF_GAZEBO),
    **dict.fromkeys(("fudgeFactor", "cfmDamping", "implicitSpringDamper"), sdf_words.ENGINE),
    **dict.fromkeys(("minDepth", "maxVel", "maxContacts"), sdf_words.ENGINE),
    "laserRetro": sdf_words.WHY["laser_retro"],
    "provideFeedback": sdf_words.WHY["provide_feedback"],
    **dict.fromkeys(
        ("preserveFixedJoint", "disableFixedJointLumping"), "links stay links at fixed joints"
    ),
}
_OTHER = "it is not part of URDF"
_WARNED = (*sdf_words.WARNED, "dampingFactor")


def counter() -> Unused:
    """Return a counter of the unread words of a URDF."""
    return Unused(WHY, _OTHER, _WARNED)
