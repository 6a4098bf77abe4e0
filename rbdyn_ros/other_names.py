# SPDX-License-Identifier: Apache-2.0
"""Names of MuJoCo and Pinocchio with our names, for hints and for a page of the documentation.

Each table maps a name of another library to what replaces it here: names of `rb`, of a Model `m`,
or of a Data `d`.
"""

from typing import Literal

Owner = Literal["rb", "Model", "Data"]

MUJOCO: dict[Owner, dict[str, str]] = {
    "rb": {
        "MjModel": "rb.load(path)",
        "MjData": "rb.make_data(m)",
        "MjSpec": "rb.SystemBuilder",
        "mj_applyFT": "d.xfrc_applied",
        "mj_collision": "rb.collisions(m, d)",
        "mj_comPos": "rb.com_pos(m, d)",
        "mj_comVel": "rb.com_vel(m, d)",
        "mj_contactForce": "rb.contact_forces(m, d)",
        "mj_copyData": "d.copy()",
        "mj_crb": "rb.crb(m, d)",
        "mj_differentiatePos": "rb.differentiate_pos",
        "mj_energyPos": "rb.energy(m, d)",
        "mj_energyVel": "rb.energy(m, d)",
        "mj_factorM": "rb.factor_m(m, d)",
        "mj_forward": "rb.forward(m, d)",
        "mj_fullM": "rb.mass_matrix(m, d)",
        "mj_fwdAcceleration": "rb.fwd_acceleration(m, d)",
        "mj_fwdPosition": "rb.fwd_position(m, d)",
        "mj_fwdVelocity": "rb.fwd_velocity(m, d)",
        "mj_geomDistance": "rb.distance",
        "mj_getState": "rb.save_state(m, d)",
        "mj_id2name": "m.body_names, m.jnt_names, ...",
        "mj_integratePos": "rb.integrate_pos",
        "mj_inverse": "rb.inverse(m, d)",
        "mj_jac": "rb.frame_jacobian",
        "mj_jacBody": "rb.frame_jacobian",
        "mj_jacDot": "rb.frame_jacobian_dot",
        "mj_jacSite": "rb.frame_jacobian",
        "mj_jacSubtreeCom": "rb.com_jacobian",
        "mj_kinematics": "rb.kinematics(m, d)",
        "mj_makeConstraint": "rb.make_constraint(m, d)",
        "mj_mulM": "rb.mul_m",
        "mj_multiRay": "rb.cast_rays",
        "mj_name2id": "m.body_id(name), m.jnt_id(name), ...",
        "mj_objectAcceleration": "rb.frame_acceleration",
        "mj_objectVelocity": "rb.frame_velocity",
        "mj_passive": "rb.passive(m, d)",
        "mj_printModel": "rb.describe(m)",
        "mj_ray": "rb.cast_rays",
        "mj_resetData": "rb.reset_data(m, d)",
        "mj_resetDataKeyframe": "rb.reset_data_keyframe(m, d, key)",
        "mj_rne": "rb.rne(m, d)",
        "mj_saveModel": "rb.save(m, path)",
        "mj_setState": "rb.load_state",
        "mj_solveM": "rb.solve_m",
        "mj_step": "rb.step(m, d)",
        "mj_step1": "rb.forward(m, d), then rb.step(m, d)",
        "mj_step2": "rb.step(m, d)",
        "mj_subtreeVel": "rb.com_velocity",
        "mjd_inverseFD": "rb.inverse_derivatives(m, d), which are analytic",
        "mjd_transitionFD": "rb.linearise(m, d, timestep=m.opt.timestep)",
        "viewer": "rb.view",
    },
    "Model": {
        "actuator": "rb.with_actuators",
        "actuator_ctrlrange": "m.jnt_effort",
        "actuator_forcerange": "m.jnt_effort",
        "actuator_gainprm": "rb.with_actuators",
        "dof_M0": "m.dof_inertia0",
        "geom_margin": "m.geom_solref",
        "jnt_actfrcrange": "m.jnt_effort",
        "jnt_margin": "m.jnt_solref",
        "jnt_pos": "m.body_pos",
        "geom_quat": "m.geom_mat",
        "geom_rgba": "rb.visual_shapes",
        "nsensor": "rb.scan, or sensors.yaml",
        "nsite": "m.nframe",
        "site": "m.frame_names, rb.frame_pose(m, d, name)",
        "site_pos": "m.frame_pos",
        "site_quat": "m.frame_quat",
    },
    "Data": {
        "ctrl": "d.qfrc_applied, or rb.set_drive for a position or velocity",
        "contact": "rb.contacts(m, d)",
        "geom_xmat": "rb.frame_pose(m, d, link)",
        "geom_xpos": "rb.frame_pose(m, d, link)",
        "qM": "d.M, or rb.mass_matrix(m, d)",
        "qacc_smooth": "d.qacc",
        "qfrc_actuator": "d.qfrc_applied, d.actuator_force",
        "sensordata": "rb.scan, or sensors.yaml",
        "site_xmat": "rb.frame_pose(m, d, frame)",
        "site_xpos": "rb.frame_pose(m, d, frame)",
        "subtree_linvel": "rb.com_velocity(m, d, body)",
        "warning": "d.nbad, d.nlost, d.nunsolved, d.ndropped",
        "xanchor": "d.xpos of the body that the joint carries",
        "xaxis": "rb.frame_jacobian",
        "xquat": "d.xmat",
    },
}

PINOCCHIO: dict[Owner, dict[str, str]] = {
    "rb": {
        "buildModelFromUrdf": "rb.load_urdf(path)",
        "centerOfMass": "rb.com(m, d)",
        "computeABADerivatives": "rb.forward_derivatives(m, d)",
        "computeAllTerms": "rb.forward(m, d)",
        "computeCentroidalMap": "rb.centroidal_momentum_matrix(m, d)",
        "computeCentroidalMomentum": "rb.centroidal_momentum(m, d)",
        "computeCollisions": "rb.collisions(m, d)",
        "computeCoriolisMatrix": "rb.coriolis_matrix(m, d)",
        "computeDistances": "rb.distance",
        "computeFrameJacobian": "rb.frame_jacobian",
        "computeGeneralizedGravity": "rb.gravity_term(m, d)",
        "computeJointJacobians": "rb.frame_jacobian",
        "computeJointTorqueRegressor": "rb.joint_torque_regressor(m, d)",
        "computeKineticEnergy": "rb.kinetic_energy(m, d)",
        "computeKineticEnergyRegressor": "rb.kinetic_energy_regressor(m, d)",
        "computeMinverse": "rb.inverse_mass_matrix(m, d)",
        "computePotentialEnergy": "rb.potential_energy(m, d)",
        "computePotentialEnergyRegressor": "rb.potential_energy_regressor(m, d)",
        "computeRNEADerivatives": "rb.inverse_derivatives(m, d)",
        "ccrba": "rb.centroidal_momentum_matrix(m, d)",
        "crba": "rb.mass_matrix(m, d)",
        "difference": "rb.differentiate_pos",
        "forwardDynamics": "rb.forward_dynamics(m, d)",
        "forwardKinematics": "rb.kinematics(m, d)",
        "framesForwardKinematics": "rb.frame_pose(m, d, frame)",
        "getFrameAcceleration": "rb.frame_acceleration",
        "getFrameJacobian": "rb.frame_jacobian",
        "getFrameJacobianTimeVariation": "rb.frame_jacobian_dot",
        "getFrameVelocity": "rb.frame_velocity",
        "integrate": "rb.integrate_pos",
        "jacobianCenterOfMass": "rb.com_jacobian(m, d)",
        "neutral": "m.qpos0",
        "nonLinearEffects": "rb.bias_term(m, d)",
        "randomConfiguration": "rb.random_qpos(m)",
        "rnea": "rb.inverse(m, d)",
        "updateFramePlacements": "rb.frame_pose(m, d, frame)",
    },
    "Model": {
        "armature": "m.dof_armature",
        "createData": "rb.make_data(m)",
        "damping": "m.dof_damping",
        "effortLimit": "m.jnt_effort",
        "existFrame": "name in m.frame_names",
        "frames": "m.frame_names",
        "friction": "m.dof_frictionloss",
        "getBodyId": "m.body_id(name)",
        "getFrameId": "m.frame_id(name)",
        "getJointId": "m.jnt_id(name)",
        "gravity": "m.opt.gravity",
        "idx_qs": "m.jnt_qposadr",
        "idx_vs": "m.jnt_dofadr",
        "inertias": "m.body_mass, m.body_ipos, m.body_fullinertia",
        "jointPlacements": "m.body_pos, m.body_quat",
        "joints": "m.jnt_names",
        "lowerPositionLimit": "m.jnt_range[:, 0]",
        "nframes": "m.nframe",
        "njoints": "m.njnt, which does not count the world",
        "nvs": "m.jnt_dofnum",
        "parents": "m.body_parentid",
        "referenceConfigurations": "m.key(name).qpos",
        "rotorInertia": "m.dof_armature",
        "upperPositionLimit": "m.jnt_range[:, 1]",
        "velocityLimit": "m.jnt_velocity",
    },
    "Data": {
        "Ag": "rb.centroidal_momentum_matrix(m, d)",
        "C": "rb.coriolis_matrix(m, d)",
        "J": "rb.frame_jacobian",
        "Jcom": "rb.com_jacobian(m, d)",
        "Minv": "rb.inverse_mass_matrix(m, d)",
        "Ycrb": "d.crb",
        "com": "d.subtree_com",
        "ddq": "d.qacc",
        "ddq_dq": "rb.forward_derivatives(m, d)",
        "ddq_dv": "rb.forward_derivatives(m, d)",
        "dtau_dq": "rb.inverse_derivatives(m, d)",
        "dtau_dv": "rb.inverse_derivatives(m, d)",
        "f": "d.jnt_force",
        "g": "rb.gravity_term(m, d)",
        "hg": "rb.centroidal_momentum(m, d)",
        "kinetic_energy": "rb.kinetic_energy(m, d)",
        "mass": "m.body_subtreemass",
        "nle": "d.qfrc_bias",
        "oMf": "rb.frame_pose(m, d, frame)",
        "oMi": "d.xpos, d.xmat",
        "potential_energy": "rb.potential_energy(m, d)",
        "tau": "d.qfrc_inverse",
        "v": "d.cvel",
        "vcom": "rb.com_velocity(m, d)",
    },
}

LIBRARIES = {"MuJoCo": MUJOCO, "Pinocchio": PINOCCHIO}


def our_words(owner: Owner, name: str) -> str:
    """Return a hint ``; for MuJoCo's ctrl use d.qfrc_applied``; "": the tables lack the name."""
    for library, tables in LIBRARIES.items():
        if name in tables[owner]:
            return f"; for {library}'s {name} use {tables[owner][name]}"
    return ""


def foreign(owner: Owner) -> set[str]:
    """Return the names that the tables have for an owner: rb, a Model or a Data."""
    return {name for tables in LIBRARIES.values() for name in tables[owner]}


def install_hints(kind: type, owner: Owner) -> None:
    """Let a class raise an AttributeError with a hint for each name in the tables.

    This adds properties, because a __getattr__ would slow down every access to an attribute.
    """
    for name in foreign(owner):

        def refuse(_: object, name: str = name) -> object:
            raise AttributeError(f"{owner} has no attribute '{name}'{our_words(owner, name)}")

        setattr(kind, name, property(refuse))
