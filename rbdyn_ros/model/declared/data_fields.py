# SPDX-License-Identifier: Apache-2.0
"""Every array of Data, declared once."""

from __future__ import annotations

from rbdyn_ros.model.declared.actuators import ACTUATOR_WORK
from rbdyn_ros.model.declared.callbacks import ROW
from rbdyn_ros.model.declared.fields import Field

#: Number of columns of geom_place.
PLACE = 21

#: Number of columns of push_axis: a direction that separated two hulls (3), and the farthest
#: corner of each hull along it.
AXIS = 5

#: Number of past moves of the lagged forces that a step stores.
LAGGED_MOVES = 5

#: Number of bits of a word of tree_near.
WORD_BITS = 62

#: Number of values (the stick_ fields) that a state and a recording store for a contact.
STICK_NUMBERS = 8

# Spatial 6-vectors are [angular; linear] in world axes about subtree_com[body_rootid].
DATA_FIELDS = (
    # state and input
    Field("time", (), "simulated time [s]", stage="integrate"),
    # driven joints and mimic joints have no free coordinates: the coordinates of driven joints,
    # then of mimic joints, come after those of the free joints
    Field("qpos_all", ("nqall",), "qpos, then driven, then mimic coordinates", stage="expand"),
    Field("qpos", ("nq",), "joint positions", stage="input, integrate", inside="qpos_all"),
    Field("qvel_all", ("nvall",), "qvel, then driven, then mimic coordinates", stage="expand"),
    Field("qvel", ("nv",), "joint velocities", stage="input, integrate", inside="qvel_all"),
    Field(
        "qacc_all",
        ("nvall",),
        "qacc, then driven, then mimic coordinates",
        stage="expand, fwd_acceleration",
    ),
    Field(
        "qacc",
        ("nv",),
        "joint accelerations",
        stage="fwd_acceleration; input of inverse",
        inside="qacc_all",
    ),
    Field("qfrc_applied", ("nv",), "applied joint forces [N m or N]", stage="input"),
    Field("xfrc_applied", ("nbody", 6), "force, torque at xipos, world axes", stage="input"),
    Field("act", ("na",), "states of actuators, see engine/actuators", stage="input, integrate"),
    Field("drive_mode", ("nv",), "a Drive: the drive mode of the dof", "int", "set_drive"),
    Field("drive_target", ("nv",), "acceleration, velocity or position to reach", stage="input"),
    # position
    Field("xpos", ("nbody", 3), "origin of the body in the world [m]", stage="kinematics"),
    Field("xmat", ("nbody", 9), "axes of the body in the world, row by row", stage="kinematics"),
    Field("xipos", ("nbody", 3), "centre of mass in the world [m]", stage="kinematics"),
    Field("ximat", ("nbody", 9), "principal axes in the world", stage="kinematics"),
    Field(
        "subtree_com",
        ("nbody", 3),
        "centre of mass of the subtree, without links fixed to the world [m]",
        stage="com_pos",
    ),
    Field("cinert", ("nbody", 10), "inertia: Ixx Iyy Izz Ixy Ixz Iyz mx my mz m", stage="com_pos"),
    Field("cdof_all", ("nvall", 6), "cdof, then driven, mimic", stage="com_pos"),
    Field("cdof", ("nv", 6), "motion axis of the dof", stage="com_pos", inside="cdof_all"),
    Field("crb", ("nbody", 10), "composite inertia of the subtree, as cinert", stage="crb"),
    Field("M", ("nM",), "joint-space inertia, lower triangle by rows", stage="crb"),
    Field("qLD", ("nM",), "factors L^T D L of M; D is on the diagonal of L", stage="factor_m"),
    Field("qLDiagInv", ("nv",), "1 / D", stage="factor_m"),
    # velocity
    Field("cvel", ("nbody", 6), "velocity of the body", stage="com_vel"),
    Field("cdof_dot_all", ("nvall", 6), "cdof_dot, then driven, mimic", stage="com_vel"),
    Field(
        "cdof_dot",
        ("nv", 6),
        "time derivative of cdof",
        stage="com_vel",
        inside="cdof_dot_all",
    ),
    Field(
        "qfrc_passive",
        ("nv",),
        "forces of damping, friction, limits, springs; actuator forces minus qfrc_applied",
        stage="passive",
    ),
    Field("dof_viscosity", ("nv",), "-d(qfrc_passive) / d(qvel), diagonal", stage="passive"),
    Field(
        "cacc_bias", ("nbody", 6), "acceleration at qacc = 0, gravity as -g", stage="bias_force"
    ),
    Field("cfrc_bias", ("nbody", 6), "force on this body alone for cacc_bias", stage="bias_force"),
    Field("qfrc_bias", ("nv",), "Coriolis, centrifugal and gravity force", stage="rne"),
    # acceleration
    Field("cacc", ("nbody", 6), "acceleration of the body, gravity as -g", stage="inverse"),
    Field(
        "cfrc_sum",
        ("nbody", 6),
        "force of the subtree for cacc, without xfrc_applied",
        stage="inverse, rne",
    ),
    Field("qfrc_inverse", ("nv",), "force that causes qacc, with xfrc_applied", stage="inverse"),
    Field(
        "qfrc_driven",
        ("ndrive",),
        "force of a driven joint and its mimic joints; after inverse with xfrc_applied",
        stage="aba, inverse",
    ),
    Field("energy", (2,), "potential, kinetic [J]", stage="energy"),
    # constraints K qacc = k (RBDA eq 3.17); rows in the order of SIZES["nefc"]
    Field("efc_J", ("nefc", "nv"), "K: how qvel violates the constraint", stage="constraint"),
    Field(
        "efc_pos",
        ("nefc",),
        "position error of the constraint; 0 for a velocity constraint",
        stage="constraint",
    ),
    Field(
        "efc_vel", ("nefc",), "rate of efc_pos: efc_J qvel and driven motion", stage="constraint"
    ),
    Field(
        "efc_aref",
        ("nefc",),
        "k in K qacc = k",
        stage="constraint",
    ),
    Field("efc_force", ("nefc",), "constraint forces lambda, of minimum norm", stage="aba"),
    Field("qfrc_constraint", ("nv",), "K^T lambda, as joint forces", stage="aba"),
    Field("qfrc_drive", ("nv",), "force of the drive mode", stage="aba"),
    # contacts, in the order of contact_key, with the forces of the last step or forward
    Field(
        "contact_geom",
        ("ncontact", 2),
        "geom1, geom2: indices of geom_names; geom1 is of the world or has the lower index",
        "int",
        "contact",
    ),
    Field(
        "contact_pos",
        ("ncontact", 3),
        "contact point: on geom2 if geom1 is an obstacle, else half way between the links [m]",
        stage="contact",
    ),
    Field("contact_normal", ("ncontact", 3), "outward normal of geom1", stage="contact"),
    Field(
        "contact_dist", ("ncontact",), "distance; negative if they overlap [m]", stage="contact"
    ),
    Field("contact_force", ("ncontact", 3), "force on geom2, world axes [N]", stage="contact"),
    Field(
        "contact_torque",
        ("ncontact", 3),
        "torque of friction on geom2 at the contact point, world axes [N m]",
        stage="contact",
    ),
    Field("contact_key", ("ncontact",), "pair and feature, the same each step", "int", "contact"),
    Field("cfrc_contact", ("ntouch", 6), "sum of the contact forces on a body", stage="contact"),
    Field("qfrc_contact", ("nv",), "contact forces as joint forces", stage="contact"),
    # memory of contacts, part of the state: the first nstick contacts of the last step
    Field("stick_key", ("ncontact",), "contact_key of the contact", "int", "integrate"),
    Field("stick_normal", ("ncontact",), "normal force [N]", stage="integrate"),
    Field("stick_force", ("ncontact", 3), "friction, axes of geom1's body [N]", stage="integrate"),
    Field(
        "stick_torque",
        ("ncontact", 3),
        "torque of friction, axes of geom1's body [N m]",
        stage="integrate",
    ),
    Field(
        "stick_qfrc", ("nv",), "dry friction and limits of the dof [N m or N]", stage="integrate"
    ),
    # forces across joints, [moment; force]
    Field("cfrc_int", ("nbody", 6), "force of the parent on the body", stage="joint_forces"),
    Field(
        "jnt_force",
        ("njnt", 6),
        "force of the predecessor on the successor, in F_s",
        stage="joint_forces",
    ),
    Field(
        "jnt_bearing",
        ("njnt", 6),
        "part T lambda of jnt_force: the load of the bearings",
        stage="joint_forces",
    ),
    Field(
        "loop_force",
        ("nloop", 6),
        "force of the predecessor on the successor, in F_s",
        stage="joint_forces",
    ),
    # scratch, with Featherstone's names
    Field("IA", ("nbody", 21), "articulated-body inertia, upper triangle by rows", stage="aba"),
    Field("pA", ("nbody", 6), "articulated bias force", stage="aba"),
    Field("D", ("nv",), "S^T U with U = IA S: inertia seen by the dof", stage="aba"),
    Field("U_Dinv", ("nv", 6), "U D^-1, but not of a floating base", stage="aba"),
    Field(
        "Dinv_u",
        ("nv",),
        "D^-1 u, u being the remaining force on the dof; not of a floating base",
        stage="aba",
    ),
    Field("a", ("nbody", 6), "acceleration caused by qacc alone", stage="aba"),
    Field("qacc_step", ("nv",), "acceleration the integrator used", stage="integrate"),
    Field("rk_time", (1,), "Runge-Kutta: time at the start", stage="integrate"),
    Field("rk_qpos", ("nq",), "Runge-Kutta: position at the start", stage="integrate"),
    Field("rk_qvel", ("nv",), "Runge-Kutta: velocity at the start", stage="integrate"),
    Field("rk_rate", ("nv",), "Runge-Kutta: rate of the displacement", stage="integrate"),
    Field("rk_sum", (2, "nv"), "Runge-Kutta: weighted velocity, acceleration", stage="integrate"),
    Field("flight_mode", ("nbody",), "mode of a root, see flight.py", "int", "integrate"),
    Field(
        "flight_work",
        ("nflying", 6),
        "bias force of a body in flight, then its motion in the step [m/s, rad/s]",
        stage="integrate",
    ),
    Field("stretch", ("nv",), "extension of the joint springs [rad or m]", stage="passive"),
    # actuators
    Field(
        "actuator_force", ("nu",), "mean force on the joint in the last step", stage="integrate"
    ),
    Field("actuator_work", ("nu", ACTUATOR_WORK), "coefficients of the step", stage="passive"),
    # inputs of stages that are called by address
    Field("implicit_step", (1,), "timestep for which damping is implicit", stage="aba"),
    Field("factored", (1,), "0: qLD holds the factors, 1: skyline", "int", "factor_m"),
    Field("efc_share", (1,), "share of k in K qacc", stage="aba"),
    Field("efc_rate", (1,), "share of efc_vel that is removed per second", stage="aba"),
    Field("drive_held", (1,), "1 while a Runge-Kutta step keeps drive_qacc", stage="integrate"),
    Field("qLU", ("nM",), "implicit integrators: the upper triangle, factored", stage="integrate"),
    # scratch for frames: the bodies from a frame to the root, with their poses and axes
    Field("chain", ("nbody",), "the frame's body first, then to the root", "int", "chain"),
    Field("chain_xpos", ("nbody", 3), "as xpos", stage="chain"),
    Field("chain_xmat", ("nbody", 9), "as xmat", stage="chain"),
    Field("chain_cdof", ("nvall", 6), "as cdof, but about another point", stage="chain"),
    # scratch of derivatives
    Field("cdof_rate", ("nvall", 6), "derivative of the axis by its dof", stage="axis_rates"),
    Field("cdof_ddot", ("nvall", 6), "Psi_ddot of the dof", stage="derivatives"),
    Field("crb_rate", ("nbody", 12), "B of the subtree: N by rows, p", stage="composite_rates"),
    Field("xfrc_sum", ("nbody", 6), "xfrc_applied of the subtree", stage="derivatives"),
    Field("xfrc_turn", ("nbody", 9), "derivative of the moment in xfrc_sum", stage="derivatives"),
    # scratch of contacts
    Field(
        "body_touches",
        ("ntouch",),
        "1 if the body touches the world, plus 2 if it touches a moving body",
        "int",
        "contact",
    ),
    Field(
        "body_joinedmass",
        ("ntouch",),
        "for a root: mass of the heaviest tree among those that loop joints connect [kg]",
        stage="contact",
    ),
    Field(
        "body_heaviest",
        ("ntouch",),
        "for a root: mass of the heaviest tree among those that touch each other [kg]",
        stage="contact",
    ),
    Field(
        "contact_old",
        ("ncontact",),
        "index in stick_key, or -1; while late contacts are listed: keys of the previous list",
        "int",
        "contact",
    ),
    Field(
        "contact_before",
        ("ncontact", 16),
        "pos, normal, arm1, arm2, dist, time and geom of the list before late contacts",
        stage="integrate",
    ),
    Field(
        "contact_phase", (1,), "what to do with the list, see contact_arrays.py", "int", "contact"
    ),
    Field(
        "contact_time",
        ("ncontact",),
        "time of an impact in the step; negative if it does not delay the new velocity; or 0 [s]",
        stage="contact",
    ),
    Field("hits", (1,), "1 if body_hit or body_shift has entries", "int", "integrate"),
    Field(
        "body_hit",
        ("ntouch",),
        "time in the step at which the body is hit [s]; 0: not hit",
        stage="integrate",
    ),
    Field("body_shift", ("ntouch", 3), "mean minus new velocity, if hit [m/s]", stage="integrate"),
    Field("contact_body", ("ncontact", 2), "the bodies of geom1 and geom2", "int", "contact"),
    Field(
        "contact_arm1", ("ncontact", 3), "contact point from com of body 1's tree", stage="contact"
    ),
    Field("contact_arm2", ("ncontact", 3), "as contact_arm1, but of body 2", stage="contact"),
    Field(
        "contact_spring",
        ("ncontact", 10),
        "push, slope; k, b; mass / h; most push or 0; 1: a spring; edge and width of its end; "
        "1: restitution acts",
        stage="contact",
    ),
    Field(
        "contact_grip",
        ("ncontact", 6),
        "D, or the viscosity; mu, or infinity if viscous; D of torques, 0 without; torsional and "
        "rolling friction and the size, in m",
        stage="contact",
    ),
    Field("contact_memory", ("ncontact", 3), "remembered friction [N]", stage="contact"),
    Field("contact_pressed", ("ncontact",), "remembered normal force [N]", stage="contact"),
    Field("contact_memory_torque", ("ncontact", 3), "remembered torque [N m]", stage="contact"),
    Field(
        "contact_lever",
        ("ncontact", 3),
        "velocity of friction by the spin about the normal, see patches.py [m]",
        stage="contact",
    ),
    Field(
        "contact_vel",
        ("ncontact", 4),
        "relative velocity of friction, and along the normal; a step adds arcs",
        stage="contact",
    ),
    Field("contact_spin", ("ncontact", 3), "relative angular velocity", stage="contact"),
    Field("contact_change", ("ncontact", 4), "change of contact_vel", stage="integrate"),
    Field("contact_spin_change", ("ncontact", 3), "change of contact_spin", stage="integrate"),
    Field("contact_step", ("ncontact", 4), "change of contact_vel in a pass", stage="integrate"),
    Field("contact_spin_step", ("ncontact", 3), "as contact_step, for spin", stage="integrate"),
    Field("contact_lagged", ("ncontact", 2), "lagged normal force: now, last", stage="integrate"),
    Field(
        "contact_gap",
        ("ncontact", 2),
        "normal force minus lagged force; the same before the last move",
        stage="integrate",
    ),
    Field("lagged_count", (1,), "moves of the lagged forces in the step", "int", "integrate"),
    Field("lagged_pairs", (1,), "columns of lagged_move in use", "int", "integrate"),
    Field("lagged_move", ("ncontact", LAGGED_MOVES), "moves of contact_lagged", stage="integrate"),
    Field(
        "lagged_effect",
        ("ncontact", LAGGED_MOVES),
        "orthonormalised changes of contact_gap by lagged_move",
        stage="integrate",
    ),
    Field("lagged_slipping", ("nlagged",), "contacts that slip", "int", "integrate"),
    Field("lagged_matrix", ("nlagged", "nlagged"), "matrix 1 + s - dn / dN", stage="integrate"),
    Field("lagged_step", ("nlagged",), "change of their lagged forces", stage="integrate"),
    Field("lagged_missed", (1,), "error of friction before the last move", stage="integrate"),
    Field(
        "contact_load",
        ("ncontact", 4),
        "friction and normal force at the iterate",
        stage="contact",
    ),
    Field("contact_end", ("ncontact", 4), "as contact_load, but after a pass", stage="integrate"),
    Field(
        "contact_next",
        ("ngrow", 4),
        "friction and normal force by the linearised law",
        stage="integrate",
    ),
    Field(
        "contact_grows",
        ("ngrow", 6),
        "change of the friction wrench per closing speed of the bodies",
        stage="integrate",
    ),
    Field("contact_closes", ("ngrow", 6), "wrench of a unit normal force", stage="integrate"),
    Field(
        "contact_steep",
        ("ngrow", 3),
        "factors r of augmented.py for normal force and friction; d(friction) / d(normal force)",
        stage="integrate",
    ),
    Field("contact_end_torque", ("ncontact", 3), "friction torque of a pass", stage="integrate"),
    Field("contact_load_torque", ("ncontact", 3), "torque at the iterate", stage="contact"),
    Field(
        "contact_force_slope",
        ("ncontact", 5),
        "slopes of contact_load along and across the normal; slip",
        stage="contact",
    ),
    Field("contact_torque_slope", ("ncontact", 5), "slopes of the torque; slip", stage="contact"),
    Field("iterate_a", ("ntouch", 6), "field a at the iterate", stage="integrate"),
    Field("iterate_qacc", ("niterate",), "qacc_step at the iterate", stage="integrate"),
    # scratch of contacts between moving bodies
    Field(
        "skyline",
        ("nskyline",),
        "H of the step, lower triangle by rows or blocks",
        stage="integrate",
    ),
    Field("skyline_upper", ("nskyline",), "upper triangle of H by columns", stage="integrate"),
    Field("skyline_first", ("npath",), "first column of a row of H", "int", "integrate"),
    Field("skyline_next", ("npath",), "parent of a dof in elimination", "int", "integrate"),
    Field("skyline_depth", ("npath",), "number of ancestors in elimination", "int", "integrate"),
    Field("skyline_now", ("npath",), "entries of a row that are not zero", "int", "integrate"),
    Field("skyline_row", ("npath",), "row of a dof", "int", "integrate"),
    Field("ordered", (1,), "1: rows differ from dofs, see tree_order.py", "int", "integrate"),
    Field("skyline_x", ("npath",), "right side and solution, by rows", stage="integrate"),
    Field("tree_near", ("nnear",), "bits of the trees that a tree touches", "int", "integrate"),
    Field("tree_degree", ("nisland",), "number of touched trees; -1: ordered", "int", "integrate"),
    Field("tree_row", ("nisland",), "first row of a tree by root", "int", "integrate"),
    Field("block_near", ("nblock",), "bodies near a body, see block_lu.py", "int", "integrate"),
    Field("block_number", ("nfree",), "number of bodies near a body", "int", "integrate"),
    Field("block_filled", ("nblock",), "1 if a block has numbers", "int", "integrate"),
    Field("block_live", ("nfree",), "number of near bodies with a block", "int", "integrate"),
    Field("block_diagonal", ("nfree", 36), "the blocks on the diagonal", stage="integrate"),
    Field("row_works", ("npath",), "1 if the row's island is not solved", "int", "integrate"),
    Field("body_island", ("nisland",), "island of a body", "int", "integrate"),
    Field("island_works", ("nisland",), "state of an island, see islands.py", "int", "integrate"),
    Field("island_search", ("nisland", 13), "line search, see islands.py", stage="integrate"),
    Field("newton_passes", (1,), "passes of newton.py in the step", "int", "integrate"),
    Field("newton_solved", (1,), "1: Newton's passes solved the step", "int", "integrate"),
    Field("path_row", ("npath",), "rows of dofs that move two bodies apart", "int", "integrate"),
    Field("path_axis", ("npath", 6), "relative velocity per dof of path_row", stage="integrate"),
    Field(
        "geom_room",
        ("ngeommoving", 2),
        "gap to obstacles beyond its reach; squared distance from the com of the tree",
        stage="contact",
    ),
    Field("geom_place", ("nplace", PLACE), "poses and bounds, see sweep.py", stage="contact"),
    Field("sweep_order", ("nplace",), "geometries in the order of x", "int", "contact"),
    Field("push_found", ("nfound",), "pairs of push_geom that are near", "int", "contact"),
    Field(
        "push_axis",
        ("naxis", AXIS),
        "directions that separated hulls, and corners along them",
        stage="contact",
    ),
    Field(
        "contact_slope",
        ("ntouch", 21),
        "-d(cfrc_contact) / d(cvel), of contacts with the world",
        stage="contact",
    ),
    # scratch of dry friction and limits of joints
    Field("passive_rest", ("nv",), "qfrc_passive without friction and limits", stage="passive"),
    Field(
        "stop_spring",
        ("nv", 5),
        "pushes of the lower and upper limit, their slopes; friction remembered",
        stage="passive",
    ),
    Field("stop_place", ("nv",), "1: at a limit, 2: beyond", "int", "passive"),
    Field("stop_load", ("nv",), "linearised force at qvel of the start", stage="integrate"),
    Field("stop_slope", ("nv",), "-d(stop_load) / d(qvel)", stage="integrate"),
    Field("stop_piece", ("nv",), "piece of the law for the dof", "int", "integrate"),
    Field("stop_wrong", ("nv",), "1 if the dof has left stop_piece", "int", "integrate"),
    Field("stop_change", ("nv",), "change of qvel at the iterate", stage="integrate"),
    Field("stop_qfrc", ("nv",), "force at the iterate; in the end the solution", stage="aba"),
    Field("stop_still", ("nv",), "1 if forward's solution holds the dof", "int", "aba"),
    Field("cone_dof", ("ncone",), "first dof of the ball joint", "int", "passive"),
    Field("cone_beyond", ("ncone",), "angle beyond the limit [rad]", stage="passive"),
    Field("cone_axis", ("ncone", 3), "axis of the rotation", stage="passive"),
    Field("cone_spring", ("ncone", 2), "push and slope of the limit", stage="passive"),
    Field("cone_load", ("ncone",), "as stop_load", stage="integrate"),
    Field("cone_slope", ("ncone",), "as stop_slope", stage="integrate"),
    Field("cone_qfrc", ("ncone",), "as stop_qfrc", stage="integrate"),
    Field("cone_wrong", ("ncone",), "as stop_wrong", "int", "integrate"),
    # scratch of constraints
    Field("efc_wrench", ("nwrench", 6), "wrench of an equation on a body", stage="constraint"),
    Field("row_terms", ("nefc",), "largest term of a row of K", stage="constraint"),
    Field("row_scale", ("nv",), "D^-1/2", stage="aba"),
    Field("row_geometry", ("nefc", "nv"), "K with scaled columns", stage="aba"),
    Field("row_response", ("nefc", "nv"), "Y = K L^-1 D^-1/2, decomposed", stage="aba"),
    Field("row_rest", ("nefc",), "k - K qacc without constraint forces", stage="aba"),
    Field("row_size", ("nefc",), "squared length of a row", stage="aba"),
    Field("row_left", ("nefc",), "squared length of a row's remainder", stage="aba"),
    Field("row_beta", ("nefc",), "factors of the Householder reflections", stage="aba"),
    Field("row_diag", ("nefc",), "diagonal of R", stage="aba"),
    Field("row_rank", (1,), "rows of R", "int", "aba"),
    Field("row_order", ("nefc",), "rows in elimination order", "int", "aba"),
    Field("row_step", ("nefc",), "t with R^T t = row_rest", stage="aba"),
    Field("row_shift", ("nv",), "Q t", stage="aba"),
    Field("row_gram", ("nefc", "nefc"), "R R^T, if rows depend on each other", stage="aba"),
    Field("share_rows", ("nshare", "nefc"), "Q of joints without actuator", stage="inverse"),
    Field("share_rest", ("nshare",), "force on joints without actuator", stage="inverse"),
    Field("share_order", ("nshare",), "as row_order", "int", "inverse"),
    Field("share_work", (6, "nshare"), "scratch of the decomposition", stage="inverse"),
    Field("drive_number", (1,), "driven dofs", "int", "aba"),
    Field("drive_qacc", ("nv",), "accelerations of driven dofs", stage="aba"),
    Field("drive_load", ("nv",), "M times drive_qacc", stage="aba"),
    Field("drive_locked", ("nlocking",), "1: the drive of the joint stopped", "int", "integrate"),
    Field("drive_stop", ("nlocking",), "time at which the drive stopped [s]", stage="integrate"),
    Field("closed_known", (1,), "1: closed_qpos holds a position", "int", "integrate"),
    Field("closed_time", (1,), "newest time with closed loops [s]", stage="integrate"),
    Field("closed_qpos", ("nclosing",), "position at closed_time", stage="integrate"),
    Field("efc_shift", ("nv",), "displacement that removes efc_pos", stage="integrate"),
    Field("efc_push", ("nv",), "change of velocity that removes efc_vel", stage="integrate"),
    Field("loop_data", ("nloopdata",), "Data of the Model of the loop joints", stage="constraint"),
    Field("loop_S", ("nloop", 6, 6), "rows: orthonormal motion axes in F_s", stage="constraint"),
    Field("loop_R", ("nloop", 6, 6), "with loop_S the motion axes", stage="constraint"),
    Field("loop_T", ("nloop", 6, 6), "rows: orthonormal constraint forces", stage="constraint"),
    Field("joint_work", (3, 6, 6), "S, T, S^T T of a joint", stage="joint_forces"),
    Field("joint_tau", (6,), "force along the axes of the joint", stage="joint_forces"),
    # inputs and outputs of the stages of uncommon joints
    Field("joint_now", (2,), "the joint and its body", "int"),
    Field("joint_pos", (1, 3), "position of the body in its parent, or an origin"),
    Field("joint_mat", (1, 9), "rotation of the body in its parent"),
    Field("joint_twist", (1, 6), "velocity of the parent, then of the body"),
    Field("user_joint", ("nuser", ROW), "E r S S_dot of a user-defined joint", stage="kinematics"),
    Field("drive_time", (1,), "time, for motions given by functions", stage="drive"),
    # counters, and indicators of numerical problems
    Field("efc_rank", (), "independent constraint equations", "int", "aba"),
    Field("ncon", (), "contacts now or before the end of the step", "int", "contact"),
    Field("nmutual", (), "contacts between two moving bodies", "int", "contact"),
    Field("ndropped", (), "contacts left out because the list is full", "int", "contact"),
    Field("nstick", (), "contacts whose friction is remembered", "int", "integrate"),
    Field(
        "solved", (), "1: the contacts are those of forward at rk_qpos, rk_qvel", "int", "forward"
    ),
    Field("damped", (), "1: qfrc_passive has the damping at the end of a step", "int", "passive"),
    Field("nstopped", (), "joints that stand still or reach a limit", "int", "passive"),
    Field("nunsolved", (), "steps with inexact contact forces, since reset", "int", "integrate"),
    Field("solver_niter", (), "passes of the last step with contact", "int", "integrate"),
    Field("nlocked", (), "drives stopped by a locked loop, since reset", "int", "integrate"),
    Field("nbad", (), "dofs whose inertia was not positive, since reset", "int", "aba"),
    Field(
        "nsingular",
        (),
        "times a yaw-pitch-roll joint was within 0.01 of its singularity, since reset",
        "int",
        "com_pos",
    ),
    Field("nfast", (), "calls of step that left a body rotating too fast", "int", "step"),
    Field("nlost", (), "calls of step after which qvel was not finite", "int", "step"),
)
