"""Every array of Data, declared once."""

from __future__ import annotations

from rbdyn_ros.model.callbacks import ROW
from rbdyn_ros.model.fields import Field

# Spatial 6-vectors are [angular; linear] in world axes about subtree_com[body_rootid].
DATA_FIELDS = (
    # state and input
    Field("time", (), "simulated time [s]", stage="integrate"),
    # joints that are driven over time or follow another have no freedom of their own: their motion
    # stands behind that of the others, first of what is driven, then of what follows
    Field("qpos_all", ("nqall",), "qpos, then what is driven, then what follows", stage="expand"),
    Field("qpos", ("nq",), "joint positions", stage="input, integrate", inside="qpos_all"),
    Field("qvel_all", ("nvall",), "qvel, then the same", stage="expand"),
    Field("qvel", ("nv",), "joint velocities", stage="input, integrate", inside="qvel_all"),
    Field("qacc_all", ("nvall",), "qacc, then the same", stage="expand, fwd_acceleration"),
    Field(
        "qacc",
        ("nv",),
        "joint accelerations",
        stage="fwd_acceleration; input of inverse",
        inside="qacc_all",
    ),
    Field("qfrc_applied", ("nv",), "joint forces from outside [N m or N]", stage="input"),
    Field("xfrc_applied", ("nbody", 6), "force, torque at xipos, world axes", stage="input"),
    Field("drive_mode", ("nv",), "a Drive: what moves the dof", "int", "set_drive"),
    Field("drive_target", ("nv",), "acceleration, velocity or position to reach", stage="input"),
    # position
    Field("xpos", ("nbody", 3), "origin of the body in the world [m]", stage="kinematics"),
    Field("xmat", ("nbody", 9), "axes of the body in the world, row by row", stage="kinematics"),
    Field("xipos", ("nbody", 3), "centre of mass in the world [m]", stage="kinematics"),
    Field("ximat", ("nbody", 9), "principal axes in the world", stage="kinematics"),
    Field("subtree_com", ("nbody", 3), "centre of mass of the subtree [m]", stage="com_pos"),
    Field("cinert", ("nbody", 10), "inertia: Ixx Iyy Izz Ixy Ixz Iyz mx my mz m", stage="com_pos"),
    Field("cdof_all", ("nvall", 6), "cdof, then those of the others", stage="com_pos"),
    Field("cdof", ("nv", 6), "motion axis of the dof", stage="com_pos", inside="cdof_all"),
    Field("crb", ("nbody", 10), "composite inertia of the subtree, as cinert", stage="crb"),
    Field("M", ("nM",), "joint-space inertia, lower triangle by rows", stage="crb"),
    Field("qLD", ("nM",), "L^T D L of M; unit diagonal of L holds D", stage="factor_m"),
    Field("qLDiagInv", ("nv",), "1 / D", stage="factor_m"),
    # velocity
    Field("cvel", ("nbody", 6), "velocity of the body", stage="com_vel"),
    Field("cdof_dot_all", ("nvall", 6), "cdof_dot, then those of the others", stage="com_vel"),
    Field(
        "cdof_dot",
        ("nv", 6),
        "time derivative of cdof",
        stage="com_vel",
        inside="cdof_dot_all",
    ),
    Field("qfrc_passive", ("nv",), "damping, friction, limits, springs", stage="passive"),
    Field("dof_viscosity", ("nv",), "-d(qfrc_passive) / d(qvel), diagonal", stage="passive"),
    Field(
        "cacc_bias", ("nbody", 6), "acceleration at qacc = 0, gravity as -g", stage="bias_force"
    ),
    Field("cfrc_bias", ("nbody", 6), "force for cacc_bias, this body alone", stage="bias_force"),
    Field("qfrc_bias", ("nv",), "Coriolis, centrifugal and gravity force", stage="rne"),
    # acceleration
    Field("cacc", ("nbody", 6), "acceleration of the body, gravity as -g", stage="inverse"),
    Field(
        "cfrc_sum",
        ("nbody", 6),
        "its force summed over the subtree, xfrc left out",
        stage="inverse, rne",
    ),
    Field("qfrc_inverse", ("nv",), "force that causes qacc, xfrc part included", stage="inverse"),
    Field("qfrc_driven", ("ndrive",), "force that drives a joint, xfrc included", stage="inverse"),
    Field("energy", (2,), "potential, kinetic [J]", stage="energy"),
    # constraints K qacc = k (RBDA eq 3.17); row by row as SIZES["nefc"] says
    Field("efc_J", ("nefc", "nv"), "K: how qvel violates the constraint", stage="constraint"),
    Field(
        "efc_pos",
        ("nefc",),
        "how far the constraint is violated; 0 if it is one of velocities",
        stage="constraint",
    ),
    Field("efc_vel", ("nefc",), "rate of that: efc_J qvel and what is driven", stage="constraint"),
    Field(
        "efc_aref",
        ("nefc",),
        "k: what K qacc has to be",
        stage="constraint",
    ),
    Field("efc_force", ("nefc",), "lambda, of minimum norm", stage="aba"),
    Field("qfrc_constraint", ("nv",), "K^T lambda", stage="aba"),
    Field("qfrc_drive", ("nv",), "force of what moves a dof by drive_mode", stage="aba"),
    # what touches the surroundings; a list of the first ncontact points
    Field("contact_geom", ("ncontact", 2), "geometry and obstacle", "int", "contact"),
    Field("contact_pos", ("ncontact", 3), "point of the geometry [m]", stage="contact"),
    Field("contact_normal", ("ncontact", 3), "of the obstacle, outward", stage="contact"),
    Field("contact_dist", ("ncontact",), "distance, less than 0 [m]", stage="contact"),
    Field("contact_force", ("ncontact", 3), "on the robot, world axes [N]", stage="contact"),
    Field("cfrc_contact", ("ntouch", 6), "sum of those on a body", stage="contact"),
    Field("qfrc_contact", ("nv",), "the same as joint forces", stage="contact"),
    # forces across joints, [moment; force]
    Field("cfrc_int", ("nbody", 6), "from the parent on the body", stage="joint_forces"),
    Field("jnt_force", ("njnt", 6), "from predecessor on successor, in F_s", stage="joint_forces"),
    Field(
        "jnt_bearing",
        ("njnt", 6),
        "the part T lambda of it: what bearings carry",
        stage="joint_forces",
    ),
    Field(
        "loop_force", ("nloop", 6), "from predecessor on successor, in F_s", stage="joint_forces"
    ),
    # scratch, by Featherstone's names
    Field("IA", ("nbody", 21), "articulated-body inertia, upper triangle by rows", stage="aba"),
    Field("pA", ("nbody", 6), "articulated bias force", stage="aba"),
    Field("D", ("nv",), "S^T U with U = IA S: inertia seen by the dof", stage="aba"),
    Field("U_Dinv", ("nv", 6), "U D^-1", stage="aba"),
    Field("Dinv_u", ("nv",), "D^-1 u with u the force left for the dof", stage="aba"),
    Field("a", ("nbody", 6), "acceleration caused by qacc alone", stage="aba"),
    Field("qacc_step", ("nv",), "acceleration the integrator used", stage="integrate"),
    Field("rk_time", (1,), "Runge-Kutta: time at the start", stage="integrate"),
    Field("rk_qpos", ("nq",), "Runge-Kutta: position at the start", stage="integrate"),
    Field("rk_qvel", ("nv",), "Runge-Kutta: velocity at the start", stage="integrate"),
    Field("rk_rate", ("nv",), "Runge-Kutta: rate of the displacement", stage="integrate"),
    Field("rk_sum", (2, "nv"), "Runge-Kutta: weighted velocity, acceleration", stage="integrate"),
    Field("stretch", ("nv",), "of the springs in the joints [rad or m]", stage="passive"),
    # what stages called by address are told
    Field("implicit_step", (1,), "timestep for which damping is implicit", stage="aba"),
    Field("efc_share", (1,), "of k that K qacc has to be", stage="aba"),
    Field("efc_rate", (1,), "share of efc_vel that is taken away per second", stage="aba"),
    Field("drive_held", (1,), "1 while a Runge-Kutta step keeps drive_qacc", stage="integrate"),
    # scratch of frames: bodies from the one of a frame up to the root, their poses, their axes
    Field("chain", ("nbody",), "the bodies, that of the frame first", "int", "chain"),
    Field("chain_xpos", ("nbody", 3), "as xpos", stage="chain"),
    Field("chain_xmat", ("nbody", 9), "as xmat", stage="chain"),
    Field("chain_cdof", ("nvall", 6), "as cdof, but about the origin of the root", stage="chain"),
    # scratch of derivatives
    Field("cdof_rate", ("nvall", 6), "derivative of the dof's axis by itself", stage="axis_rates"),
    Field("cdof_ddot", ("nvall", 6), "derivative of cdof_dot likewise", stage="derivatives"),
    Field("crb_rate", ("nbody", 12), "B of the subtree: N by rows, p", stage="composite_rates"),
    Field("xfrc_sum", ("nbody", 6), "xfrc_applied of the subtree", stage="derivatives"),
    Field("xfrc_turn", ("nbody", 9), "how its moment turns, by rows", stage="derivatives"),
    # scratch of contacts
    Field("contact_rate", ("ntouch", 6), "change of cfrc_contact per second", stage="contact"),
    Field("clip", (2, 12, 3), "corners of a face that is cut along another", stage="contact"),
    Field("contact_slope", ("ntouch", 21), "-d(cfrc_contact) / d(cvel)", stage="contact"),
    # scratch of constraints
    Field("efc_wrench", ("nwrench", 6), "what an equation exerts on a body", stage="constraint"),
    Field("row_terms", ("nefc",), "largest term of a row of K", stage="constraint"),
    Field("row_scale", ("nv",), "D^-1/2", stage="aba"),
    Field("row_geometry", ("nefc", "nv"), "K, its columns of one size", stage="aba"),
    Field("row_response", ("nefc", "nv"), "Y = K L^-1 D^-1/2, decomposed", stage="aba"),
    Field("row_rest", ("nefc",), "k - K qacc without constraint forces", stage="aba"),
    Field("row_size", ("nefc",), "square of the length that such a row has", stage="aba"),
    Field("row_left", ("nefc",), "the same of what is left of it", stage="aba"),
    Field("row_beta", ("nefc",), "of Householder's reflections", stage="aba"),
    Field("row_diag", ("nefc",), "diagonal of R", stage="aba"),
    Field("row_rank", (1,), "rows of R", "int", "aba"),
    Field("row_order", ("nefc",), "rows in the order of their elimination", "int", "aba"),
    Field("row_step", ("nefc",), "t with R^T t = row_rest", stage="aba"),
    Field("row_shift", ("nv",), "Q t", stage="aba"),
    Field("row_gram", ("nefc", "nefc"), "R R^T, where rows depend on each other", stage="aba"),
    Field("share_rows", ("nshare", "nefc"), "Q of joints without actuator", stage="inverse"),
    Field("share_rest", ("nshare",), "what is left to do for them", stage="inverse"),
    Field("share_order", ("nshare",), "as row_order", "int", "inverse"),
    Field("share_work", (6, "nshare"), "scratch of their decomposition", stage="inverse"),
    Field("drive_number", (1,), "driven dofs", "int", "aba"),
    Field("drive_qacc", ("nv",), "accelerations of driven dofs", stage="aba"),
    Field("drive_load", ("nv",), "M times them", stage="aba"),
    Field("efc_shift", ("nv",), "displacement that takes efc_pos away", stage="integrate"),
    Field("efc_push", ("nv",), "change of velocity that takes efc_vel away", stage="integrate"),
    Field("loop_data", ("nloopdata",), "Data of the Model of the loop joints", stage="constraint"),
    Field("loop_S", ("nloop", 6, 6), "rows: orthonormal motion axes in F_s", stage="constraint"),
    Field("loop_R", ("nloop", 6, 6), "with loop_S the motion axes", stage="constraint"),
    Field("loop_T", ("nloop", 6, 6), "rows: orthonormal constraint forces", stage="constraint"),
    Field("joint_work", (3, 6, 6), "S, T, S^T T of a joint", stage="joint_forces"),
    Field("joint_tau", (6,), "force along its axes", stage="joint_forces"),
    # what the stages of joints that are not common are told, and what they answer
    Field("joint_now", (2,), "the joint and its body", "int"),
    Field("joint_pos", (1, 3), "position of the body in its parent; or an origin"),
    Field("joint_mat", (1, 9), "rotation of the body in its parent"),
    Field("joint_twist", (1, 6), "velocity of the parent; then of the body"),
    Field("user_joint", ("nuser", ROW), "E r S S_dot of a user-defined joint", stage="kinematics"),
    Field("drive_time", (1,), "the time, for functions that drive joints", stage="drive"),
    # health
    Field("efc_rank", (), "independent constraint equations", "int", "aba"),
    Field("ncon", (), "points that touch, listed or not", "int", "contact"),
    Field("nnear", (), "points that touch now or before the step ends", "int", "contact"),
    Field("nbad", (), "dofs whose inertia was not positive, since reset", "int", "aba"),
    Field(
        "nsingular",
        (),
        "times a yaw-pitch-roll joint was within 0.01 of its singularity, since reset",
        "int",
        "com_pos",
    ),
)
