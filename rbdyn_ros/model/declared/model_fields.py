# SPDX-License-Identifier: Apache-2.0
"""Every size, array and name of a Model, declared once."""

from __future__ import annotations

from rbdyn_ros.model.declared.actuators import CURVE_POINTS
from rbdyn_ros.model.declared.callbacks import MAX_PARAMETERS
from rbdyn_ros.model.declared.fields import Field

SIZES = {
    "nq": "length of qpos",
    "nv": "degrees of freedom, length of qvel",
    "nbody": "bodies, including the world (body 0)",
    "njnt": "joints; joint i-1 carries body i",
    "nframe": "named frames: every link of the description",
    "nM": "entries of the lower triangle of the joint-space inertia matrix; 0 if it is too large",
    "ndrive": "coordinates of joints driven over time",
    "nmimic": "mimic joints",
    "nqall": "nq + ndrive + nmimic",
    "nvall": "nv + ndrive + nmimic",
    "nkey": "keyframes: named states",
    "nlimit": "limited coordinates of joints with several coordinates",
    "nstiff": "joints with a spring",
    "nstop": "limits of joints and coordinates, and dofs with dry friction",
    "ncone": "limited ball joints",
    "nflight": "bodies in flight: single bodies on free joints, see engine/tree/flight.py",
    "nflying": "nbody if there are bodies in flight, else 0",
    "nflighttree": "trees in flight: trees on free joints, see engine/step/momentum.py",
    "nypr": "yaw-pitch-roll joints",
    "nuser": "user-defined joints",
    "nloop": "joints that close loops",
    "nspring": "spring-dampers between points",
    "nknot": "knots of the trajectories of driven joints",
    "npair": "pairs of coordinates that meet in M; 0 without mimic joints",
    "nlength": "lines of constant length",
    "npoint": "corners of the lines of constant length",
    "ngear": "gears: linear equations between positions",
    "nterm": "terms of the equations of gears",
    "nroll": "bodies that roll on a plane",
    "nefc": "constraint equations: loop joints, lengths, gears and rolling, in this order",
    "nwrench": "pairs of a constraint equation and a body it acts on",
    "nshare": "nv if there are constraint equations, else 0",
    "nlocking": "njnt if there are constraint equations, else 0",
    "nclosing": "nq if there are constraint equations, else 0",
    "nloopdata": "numbers that a Data keeps for its loop joints",
    "ngeom": "geometries of links and of the world; 0 for a URDF loaded without contact",
    "ngeommoving": "geometries of moving bodies: the first ones",
    "ngeomlink": "geometries of links: the first ones",
    "nobstacle": "geometries of the world that no link carries: the last ones",
    "nvert": "corners of the geometries",
    "nedge": "ends of the edges of large meshes",
    "nfield": "height fields among the obstacles",
    "nheight": "heights of the height fields",
    "ntrimesh": "triangle meshes among the obstacles",
    "ntrivert": "corners of the triangle meshes",
    "ntriangle": "triangles of the triangle meshes",
    "ntribox": "boxes around triangles of the triangle meshes, as trees",
    "ntristar": "ends of the edges of the triangle meshes",
    "nexclude": "pairs of geometries that the user excludes from contact",
    "ndistance": "pairs of geometries that may touch, whose distances are computed",
    "nface": "faces of the hulls of meshes; 0 unless bodies push each other or touch terrain",
    "nfacevert": "corners of the faces of the hulls",
    "npush": "pairs of geometries whose edges and faces push each other",
    "nplace": "geometries of pairs that push each other: none, ngeomlink or ngeom",
    "naxis": "pairs that keep a separating direction from step to step",
    "nfound": "largest number of pairs that are listed as near",
    "ntouch": "nbody if something can touch, else 0",
    "nlagged": "lagged forces that Newton's method moves together; 0 if nothing can touch",
    "niterate": "nv if something can touch, else 0",
    "ncontact": "largest number of contacts that a Data lists; 0 if nothing can touch",
    "nskyline": "entries of a lower triangle of nv rows if moving bodies can touch, else 0",
    "npath": "nvall if moving bodies can touch, else 0",
    "ngrow": "ncontact if moving bodies can touch, else 0",
    "nisland": "nbody if moving bodies can touch, else 0",
    "nfree": "nflight if moving bodies can touch and no body has another joint, else 0",
    "nblock": "pairs of the nfree free bodies",
    "nnear": "words with one bit for each pair of bodies if moving bodies can touch, else 0",
    "nu": "actuators",
    "na": "states of the actuators: the length of act",
}

#: Optional stages of a Model. They are compiled when its first Data needs them, and called by
#: address (engine/compiler/optional.py). A stage that the Model does not need has the address 0.
STAGES = {
    "pose_stage": "pose of a joint that is not common",
    "motion_stage": "motion axes of a joint that is not common",
    "velocity_stage": "velocity across a joint that is not common",
    "constraint_stage": "equations of motion constraints",
    "hold_stage": "constraint forces and drive forces",
    "correct_stage": "the displacement back onto the constraints",
    "correct_velocity_stage": "the change of velocity onto the constraints",
    "share_stage": "inverse dynamics of closed loops",
    "contact_stage": "contacts",
    "pair_stage": "contacts between moving bodies",
    "terrain_stage": "contacts with height fields",
    "solve_step_stage": "contact forces of a step",
    "forces_of_motion_stage": "contact forces of a step with given accelerations",
    "sum_forces_stage": "sums of the contact forces of a step",
    "remember_stage": "memory of the contact forces of a step",
    "coupled_bodies_stage": "accelerations of a step in which moving bodies touch",
    "newton_stage": "contact forces of a step by Newton's method",
    "actuator_stage": "forces of actuators",
    "act_stage": "states of actuators after a step",
}

#: Optional stages of a Data: a drive mode needs some of them, and specialised code provides the
#: last stage.
DATA_STAGES = {
    "inertia_stage": "M with mimic joints, constraints or drive modes",
    "accelerate_stage": "accelerations with mimic joints, constraints or drive modes",
    "report_stage": "forces of constraints and drives",
    "lock_stage": "the stop of drives that closed loops cannot follow",
    "step_stage": "a whole timestep, by code specialised for the Model (specialization/)",
}

#: The stages of joints that are not common.
JOINT_STAGES = ("pose_stage", "motion_stage", "velocity_stage")

#: The stages of constraints.
CONSTRAINT_STAGES = (
    "constraint_stage",
    "hold_stage",
    "correct_stage",
    "correct_velocity_stage",
    "share_stage",
)

#: The stages of geometries.
CONTACT_STAGES = (
    "contact_stage",
    "solve_step_stage",
    "forces_of_motion_stage",
    "sum_forces_stage",
    "remember_stage",
)

#: The stages of mimic joints.
COUPLING_STAGES = ("inertia_stage", "accelerate_stage")

#: The stages of actuators.
ACTUATOR_STAGES = ("actuator_stage", "act_stage")

#: The stages of drive modes, and of constraints.
DRIVE_STAGES = ("inertia_stage", "accelerate_stage", "report_stage")

MODEL_FIELDS = (
    # bodies; the frame of a body is its joint's frame on the body's side
    Field("body_parentid", ("nbody",), "parent body; 0 for the world", "int"),
    Field("body_rootid", ("nbody",), "first body of its tree", "int", derived=True),
    Field("body_haschild", ("nbody",), "1 if the body has a child", "int", derived=True),
    Field("body_lastchild", ("nbody",), "1 for the last child of its parent", "int", derived=True),
    Field("body_dofadr", ("nbody",), "first dof of its joint, -1 if none", "int", derived=True),
    Field("body_dofnum", ("nbody",), "number of dofs of the body's joint", "int", derived=True),
    Field(
        "body_lastdof",
        ("nbody",),
        "last dof on the way from the root to the body, -1 if none",
        "int",
        derived=True,
    ),
    Field("flight_bodyid", ("nflight",), "the bodies in flight", "int", derived=True),
    Field("flight_rootid", ("nflighttree",), "the roots of trees in flight", "int", derived=True),
    Field("body_pos", ("nbody", 3), "joint frame on the parent's side, in the parent: X_T [m]"),
    Field("body_quat", ("nbody", 4), "orientation of the frame at body_pos in the parent, wxyz"),
    Field("body_mat", ("nbody", 9), "body_quat as a rotation matrix, row by row"),
    Field("body_ipos", ("nbody", 3), "centre of mass in the body [m]"),
    Field("body_iquat", ("nbody", 4), "principal inertial axes in the body, wxyz"),
    Field("body_imat", ("nbody", 9), "body_iquat as a rotation matrix, row by row"),
    Field("body_mass", ("nbody",), "mass; 0 for the world [kg]"),
    Field("body_inertia", ("nbody", 3), "principal moments about the centre of mass [kg m^2]"),
    Field(
        "body_fullinertia",
        ("nbody", 6),
        "inertia about the centre of mass in body axes: xx yy zz xy xz yz [kg m^2]",
    ),
    Field(
        "body_subtreemass",
        ("nbody",),
        "mass of the body and all its descendants, without links fixed to the world [kg]",
    ),
    # joints
    Field("jnt_type", ("njnt",), "a JointType", "int"),
    Field("jnt_class", ("njnt",), "a JointClass: what moves the joint", "int"),
    Field("jnt_reversed", ("njnt",), "1 if the joint moves its predecessor", "int"),
    Field("jnt_common", ("njnt",), "1 if forward and of a type up to PLANAR", "int", derived=True),
    # a joint's own coordinates, and the coordinates that move it: for a mimic joint, its leader's
    Field("jnt_qposadr", ("njnt",), "its own or leader's entry in qpos_all", "int", derived=True),
    Field("jnt_dofadr", ("njnt",), "its own or leader's entry in qvel_all", "int", derived=True),
    Field("jnt_qposadr_all", ("njnt",), "its own first entry in qpos_all", "int", derived=True),
    Field("jnt_dofadr_all", ("njnt",), "its own first entry in qvel_all", "int", derived=True),
    Field("jnt_dofnum", ("njnt",), "number of velocity coordinates", "int", derived=True),
    Field("jnt_mimic", ("njnt",), "the leader of a mimic joint, else -1", "int"),
    Field("jnt_mimic_ratio", ("njnt",), "q = ratio q_leader + offset; 1 without a leader"),
    Field("jnt_mimic_offset", ("njnt",), "offset in q = ratio q_leader + offset [rad or m]"),
    Field("mimic_jntid", ("nmimic",), "the joints of class MIMIC", "int", derived=True),
    Field("jnt_bodyid", ("njnt",), "the body that the joint carries", "int", derived=True),
    Field("jnt_userid", ("njnt",), "row in user_joint, -1 if library type", "int", derived=True),
    Field("jnt_axis", ("njnt", 3), "unit axis in the joint frame; a planar joint's normal"),
    Field(
        "jnt_param",
        ("njnt", MAX_PARAMETERS),
        "pitch [m/rad], radius [m], or parameters of a user-defined joint",
    ),
    Field("jnt_limited", ("njnt",), "1 if jnt_range limits the joint", "int"),
    Field("jnt_range", ("njnt", 2), "lower and upper position, infinite if none [rad or m]"),
    Field("jnt_effort", ("njnt",), "largest effort, infinity if none [N m or N]"),
    Field("jnt_velocity", ("njnt",), "largest speed, infinity if none [rad/s or m/s]"),
    Field(
        "jnt_acceleration",
        ("njnt",),
        "largest acceleration of planned motions, infinity if none [rad/s^2 or m/s^2]",
    ),
    Field(
        "jnt_deceleration",
        ("njnt",),
        "largest deceleration of planned motions, infinity if none [rad/s^2 or m/s^2]",
    ),
    Field(
        "jnt_jerk",
        ("njnt",),
        "largest jerk of planned motions, infinity if none [rad/s^3 or m/s^3]",
    ),
    Field("jnt_solref", ("njnt", 2), "limit spring: time constant [s], damping ratio"),
    Field("jnt_stiffness", ("njnt",), "stiffness of the joint's spring [N m/rad or N/m]"),
    Field("jnt_rotbase", ("njnt", 27), "P, Q, W of R(q) = P + cos(q) Q + sin(q) W, see jcalc.py"),
    Field("jnt_basis", ("njnt", 9), "unit x, y, z of the joint in its frame, row by row"),
    Field("jnt_actuated", ("njnt",), "1 if an actuator acts along the joint's coordinates", "int"),
    # degrees of freedom
    Field("dof_bodyid", ("nv",), "the body that the dof moves", "int", derived=True),
    Field("dof_jntid", ("nv",), "the joint of the dof", "int", derived=True),
    Field(
        "dof_parentid", ("nv",), "previous dof towards the root, -1 if none", "int", derived=True
    ),
    Field(
        "dof_newframe",
        ("nvall",),
        "1: cdof_dot uses the velocity by all dofs before; 0: the same velocity as the dof before",
        "int",
        derived=True,
    ),
    Field(
        "dof_transmission",
        ("nvall", 6),
        "line of the actuator's force [moment; force] in F_s; zero: along the axes",
    ),
    # armature, damping and friction of a leader include its mimic joints, reflected to the leader
    Field("dof_armature", ("nv",), "rotor inertia at the joint [kg m^2 or kg]"),
    Field("dof_damping", ("nv",), "viscous damping [N m s/rad or N s/m]"),
    Field("dof_frictionloss", ("nv",), "dry friction [N m or N]"),
    Field(
        "dof_inertia0",
        ("nv",),
        "articulated-body inertia at the dof in qpos0, or in another pose if it is 0 there",
    ),
    Field("qpos0", ("nq",), "positions after reset_data"),
    Field("qpos_spring", ("nq",), "rest positions of the joint springs"),
    Field("key_qpos", ("nkey", "nq"), "positions of the keyframe"),
    # limits of single coordinates of joints with several coordinates
    Field("limit_dofid", ("nlimit",), "the limited dof", "int"),
    Field("limit_range", ("nlimit", 2), "lower and upper position [rad or m]"),
    # sparse lower triangle of M
    Field("M_rownnz", ("nv",), "entries in a row: the dof and its ancestors", "int", derived=True),
    Field("M_rowadr", ("nv",), "first entry of a row", "int", derived=True),
    Field(
        "M_colind", ("nM",), "column of an entry, ascending to the diagonal", "int", derived=True
    ),
    # with mimic joints M is a sum over pairs of coordinates on one path to the root
    Field(
        "pair_coord",
        ("npair", 2),
        "the lower coordinate and one above it, in qvel_all",
        "int",
        derived=True,
    ),
    Field("pair_entry", ("npair",), "entry of M to which the pair adds", "int", derived=True),
    Field(
        "pair_weight",
        ("npair",),
        "product of the two ratios, doubled if both coordinates belong to one dof",
        derived=True,
    ),
    # frames
    Field("frame_bodyid", ("nframe",), "the body the frame is fixed to", "int"),
    Field("frame_pos", ("nframe", 3), "origin in the body [m]"),
    Field("frame_quat", ("nframe", 4), "orientation in the body, wxyz"),
    # joints that close loops, from predecessor to successor
    Field("loop_type", ("nloop",), "a JointType", "int"),
    Field("loop_bodyid", ("nloop", 2), "predecessor and successor body", "int"),
    Field("loop_pos", ("nloop", 2, 3), "joint frame in each body: X_P, X_S [m]"),
    Field("loop_quat", ("nloop", 2, 4), "orientation of the joint frame in each body, wxyz"),
    Field("loop_axis", ("nloop", 3), "as jnt_axis"),
    Field("loop_basis", ("nloop", 9), "as jnt_basis"),
    Field("loop_param", ("nloop", MAX_PARAMETERS), "as jnt_param"),
    Field("loop_ball", ("nloop",), "1 for a spherical joint", "int", derived=True),
    Field("loop_efcadr", ("nloop",), "first constraint equation", "int", derived=True),
    Field("loop_efcnum", ("nloop",), "number of equations: 6 - nv", "int", derived=True),
    # lines of constant length through points of bodies; a rod has two points
    Field("length_pointadr", ("nlength",), "first corner", "int", derived=True),
    Field("length_pointnum", ("nlength",), "number of corners", "int"),
    Field("length_closed", ("nlength",), "1 if the line returns to its first corner", "int"),
    Field("length_total", ("nlength",), "length of the line [m]"),
    Field("point_bodyid", ("npoint",), "the body of a corner", "int"),
    Field("point_pos", ("npoint", 3), "the corner in its body [m]"),
    # gears: the sum of factor times position equals the offset
    Field("gear_termadr", ("ngear",), "first term", "int", derived=True),
    Field("gear_termnum", ("ngear",), "number of terms", "int"),
    Field("gear_offset", ("ngear",), "offset [rad or m, times a factor]"),
    Field("term_jntid", ("nterm",), "joint of the term", "int"),
    Field("term_coord", ("nterm",), "which of the joint's coordinates, from 0", "int"),
    Field("term_factor", ("nterm",), "factor of the coordinate"),
    # spheres and thin disks that roll on a plane
    Field("roll_bodyid", ("nroll", 2), "the rolling body and the body of the plane", "int"),
    Field("roll_centre", ("nroll", 3), "centre in the rolling body [m]"),
    Field("roll_axis", ("nroll", 3), "axis of a disk in the rolling body; zero for a sphere"),
    Field("roll_radius", ("nroll",), "radius [m]"),
    Field("roll_point", ("nroll", 3), "a point of the plane in its body [m]"),
    Field("roll_normal", ("nroll", 3), "unit normal of the plane in its body"),
    # the bodies that constraint equations act on; gears act on joints only
    Field("efc_wrenchadr", ("nefc",), "first wrench of an equation", "int", derived=True),
    Field("efc_wrenchnum", ("nefc",), "number of wrenches of an equation", "int", derived=True),
    Field("wrench_bodyid", ("nwrench",), "the body of a wrench", "int", derived=True),
    # geometries: of moving bodies, then of links fixed to the world, then obstacles (on no link)
    Field("geom_bodyid", ("ngeom",), "the body of the geometry, 0 for the world", "int"),
    Field("geom_frameid", ("ngeom",), "frame of the geometry's link; -1 for an obstacle", "int"),
    Field("geom_robotid", ("ngeom",), "robot of the geometry in a scene, -1 if none", "int"),
    Field("geom_type", ("ngeom",), "a GeomType, MuJoCo's numbers", "int"),
    Field("geom_contype", ("ngeom",), "bits of the groups to which the geometry belongs", "int"),
    Field("geom_conaffinity", ("ngeom",), "bits of the groups that the geometry touches", "int"),
    Field("geom_pos", ("ngeom", 3), "centre in the body; a point of a plane [m]"),
    Field("geom_mat", ("ngeom", 9), "orientation in the body, row by row; z is a plane's normal"),
    Field("geom_size", ("ngeom", 3), "radius, half length; half edges of a box or a field [m]"),
    Field("geom_rbound", ("ngeom",), "radius of the bounding sphere; 0 for a plane [m]"),
    Field(
        "geom_half",
        ("ngeom", 3),
        "half edges of the bounding box about the geometry's centre [m]",
        derived=True,
    ),
    Field("geom_radius", ("ngeom",), "radius of the spheres around the corners [m]", derived=True),
    Field("geom_vertadr", ("ngeom",), "first corner", "int", derived=True),
    Field("geom_vertnum", ("ngeom",), "number of corners; 0 for planes and height fields", "int"),
    Field(
        "geom_vertfar",
        ("ngeom", 8),
        "corner of a mesh farthest along (-+1, -+1, -+1), where searches start",
        "int",
        derived=True,
    ),
    Field("vert_pos", ("nvert", 3), "corner of a geometry, in its frame [m]"),
    Field("vert_edgeadr", ("nvert",), "first neighbour, in edge_vert", "int", derived=True),
    Field(
        "vert_edgenum",
        ("nvert",),
        "number of neighbours of the corner along edges; 0 except in large meshes",
        "int",
    ),
    Field("edge_vert", ("nedge",), "a neighbour, counted from the geometry's first corner", "int"),
    # surfaces of geometries; a contact has the smaller friction, the softer spring, and the larger
    # of all other values of its two surfaces
    Field("geom_friction", ("ngeom",), "Coulomb coefficient; infinity: the other geometry's"),
    Field("geom_viscosity", ("ngeom",), "viscous instead of Coulomb friction if >= 0 [N s/m]"),
    Field("geom_solref", ("ngeom", 2), "time constant [s], damping ratio; (1e-6, 1): near-rigid"),
    Field("geom_stiffness", ("ngeom",), "contact stiffness; 0: from geom_solref [N/m]"),
    Field("geom_damping", ("ngeom",), "contact damping; negative: from geom_solref [N s/m]"),
    Field("geom_restitution", ("ngeom",), "part of the closing speed after an impact, 0 to 1"),
    Field("geom_torsional", ("ngeom",), "largest torque about the normal per normal force [m]"),
    Field(
        "geom_limitsurface",
        ("ngeom",),
        "1: an ellipsoid limits a point's friction and torsional friction together",
        "int",
    ),
    Field("geom_rolling", ("ngeom",), "largest torque across the normal per normal force [m]"),
    Field("geom_velocity", ("ngeom", 3), "velocity of a belt, in the axes of the body [m/s]"),
    Field("geom_mass0", ("ngeom",), "mean effective mass at the corners in qpos0 [kg]"),
    # the height fields among the geometries
    Field("geom_fieldid", ("ngeom",), "height field of the geom or -1", "int", derived=True),
    Field("field_nrow", ("nfield",), "rows of heights, along y", "int"),
    Field("field_ncol", ("nfield",), "columns of heights, along x", "int"),
    Field("field_adr", ("nfield",), "first height", "int", derived=True),
    Field("field_height", ("nheight",), "z in the frame of the geometry, row by row [m]"),
    Field(
        "field_ridge",
        ("nheight",),
        "convex edges, 1: to the next column, 2: row, 4: both; 8: end of a convex edge",
        "int",
        derived=True,
    ),
    # the triangle meshes among the geometries, see model/geometry/triangle_meshes.py
    Field("geom_trimeshid", ("ngeom",), "triangle mesh of the geom or -1", "int", derived=True),
    Field("trimesh_vertnum", ("ntrimesh",), "number of corners", "int"),
    Field("trimesh_facenum", ("ntrimesh",), "number of triangles", "int"),
    Field("trimesh_vertadr", ("ntrimesh",), "first corner", "int", derived=True),
    Field("trimesh_faceadr", ("ntrimesh",), "first triangle", "int", derived=True),
    Field("trimesh_closed", ("ntrimesh",), "1: the mesh has no border", "int", derived=True),
    Field("trimesh_nodeadr", ("ntrimesh",), "first box of the tree of boxes", "int", derived=True),
    Field("trimesh_vert", ("ntrivert", 3), "corner, in the frame of the geometry [m]"),
    Field("trimesh_face", ("ntriangle", 3), "corners in the mesh, anticlockwise", "int"),
    Field("trimesh_normal", ("ntriangle", 3), "unit normal of the front side", derived=True),
    Field(
        "trimesh_wing",
        ("ntriangle", 3),
        "third corner of the triangle beyond the edge from corner 0, 1, 2; -1: none",
        "int",
        derived=True,
    ),
    Field(
        "trimesh_flag",
        ("ntriangle",),
        "flags: convex edges and corners of the triangle, corners at the border, concave edges",
        "int",
        derived=True,
    ),
    Field("trimesh_staradr", ("ntrivert",), "first neighbour of the corner", "int", derived=True),
    Field("trimesh_starnum", ("ntrivert",), "neighbours of the corner", "int", derived=True),
    Field("trimesh_star", ("ntristar",), "a neighbour, as in trimesh_face", "int", derived=True),
    Field("trimesh_box", ("ntribox", 6), "lowest and highest corner of a box [m]", derived=True),
    # the geometries that touch: obstacles, and pairs for distances
    Field(
        "geom_touches",
        ("ngeommoving", "nobstacle"),
        "1: the geometry touches the obstacle, 2: the obstacle is terrain, 0: excluded",
        "int",
        derived=True,
    ),
    Field("exclude_geom", ("nexclude", 2), "a pair that the user excludes, ascending", "int"),
    Field(
        "distance_geom", ("ndistance", 2), "a pair that may touch, ascending", "int", derived=True
    ),
    Field("distance_adr", ("ngeom",), "first pair with a later geometry", "int", derived=True),
    Field("distance_num", ("ngeom",), "count of pairs with later geometries", "int", derived=True),
    # the pairs of geometries that push each other, and the faces of their meshes
    Field("push_geom", ("npush", 2), "a pair that pushes, ascending", "int"),
    Field("push_adr", ("ngeom",), "as distance_adr", "int", derived=True),
    Field("push_num", ("ngeom",), "as distance_num", "int", derived=True),
    Field("geom_faceadr", ("ngeom",), "first face of a mesh", "int", derived=True),
    Field("geom_facenum", ("ngeom",), "number of faces of a mesh", "int"),
    Field("face_normal", ("nface", 3), "outward unit normal in the frame of the geometry"),
    Field("face_vertadr", ("nface",), "first corner of the face", "int", derived=True),
    Field("face_vertnum", ("nface",), "number of corners of the face", "int"),
    Field(
        "face_vert",
        ("nfacevert",),
        "a corner, anticlockwise seen from outside, counted as in edge_vert",
        "int",
    ),
    # spring-dampers between two points
    Field("spring_bodyid", ("nspring", 2), "the two bodies that the spring connects", "int"),
    Field("spring_pos", ("nspring", 2, 3), "both ends, each in the axes of its body [m]"),
    Field("spring_stiffness", ("nspring",), "stiffness [N/m]"),
    Field("spring_damping", ("nspring",), "damping [N s/m]"),
    Field("spring_length", ("nspring",), "length at rest [m]"),
    # actuators; speeds, torques and friction are the motor's, before the gear
    Field("actuator_dofid", ("nu",), "the dof that the actuator moves", "int"),
    Field("actuator_gear", ("nu",), "motor revolutions per joint revolution [1 or rad/m]"),
    Field("actuator_armature", ("nu",), "inertia of the rotor [kg m^2]"),
    Field(
        "actuator_motorconst", ("nu", 2), "torque constant [N m/A], back-EMF constant [V s/rad]"
    ),
    Field(
        "actuator_error", ("nu",), "relative error of the torque constant that the drive assumes"
    ),
    Field("actuator_resistance", ("nu",), "winding resistance at the reference temperature [Ohm]"),
    Field("actuator_inductance", ("nu",), "inductance of the winding [H]"),
    Field("actuator_voltage", ("nu",), "largest voltage; infinity: no limit [V]"),
    Field("actuator_current", ("nu",), "largest current; infinity: no limit [A]"),
    Field("actuator_curve", ("nu", CURVE_POINTS, 2), "speed [rad/s], largest torque [N m]"),
    Field(
        "actuator_thermal",
        ("nu", 5),
        "thermal resistance [K/W], capacity [J/K], tempcoef [1/K], reference, ambient [C]",
    ),
    Field("actuator_derating", ("nu", 2), "temperatures where current starts to fall, is 0 [C]"),
    Field("actuator_cogging", ("nu", 3), "amplitude [N m], poles, phase [rad]"),
    Field(
        "actuator_lugre",
        ("nu", 5),
        "bristles [N m/rad, N m s/rad]; Coulomb, static friction [N m]; Stribeck speed [rad/s]",
    ),
    Field("actuator_damping", ("nu",), "viscous friction [N m s/rad]"),
    Field("actuator_spring", ("nu", 2), "stiffness, damping of the gear at the joint; 0: rigid"),
    Field("actuator_backlash", ("nu",), "free play of the gear at the joint [rad or m]"),
    Field("actuator_resolution", ("nu",), "steps of the commanded effort; 0: none [N m or N]"),
    Field("actuator_delay", ("nu",), "timesteps from a command to its effect", "int"),
    Field("actuator_actadr", ("nu",), "first entry of the actuator in act", "int", derived=True),
    # motion of driven joints, by coordinate: polynomials of degree 5 between knots
    Field("drive_knotadr", ("ndrive",), "first knot", "int", derived=True),
    Field("drive_knotnum", ("ndrive",), "number of knots, 0 if a function drives", "int"),
    Field("drive_period", ("ndrive",), "period of the motion, 0 if it does not repeat [s]"),
    Field("knot_time", ("nknot",), "time at which a polynomial starts [s]"),
    Field("knot_coef", ("nknot", 6), "coefficients in powers of the time since knot_time"),
)

#: Names of the fields that are stored; all other fields follow from them.
PRIMARY = tuple(field.name for field in MODEL_FIELDS if not field.derived)

#: Names of the fields that model/derive.py computes.
DERIVED = tuple(field.name for field in MODEL_FIELDS if field.derived)

#: Addresses of user functions. They are not stored, because they are found by name (see NAMES).
CALLBACK_FIELDS = (
    Field("jnt_jcalc", ("njnt",), "address of a user-defined joint's jcalc, or 0", "int"),
    Field("jnt_motion", ("njnt",), "address of the function that drives the joint, or 0", "int"),
)

#: The lists of names: the size that gives the length of each, and its meaning.
_NAMES = (
    ("body_names", "nbody", "of the bodies"),
    ("jnt_names", "njnt", "of the joints"),
    ("frame_names", "nframe", "of the frames: the links of the description"),
    ("loop_names", "nloop", "of the joints that close loops"),
    ("spring_names", "nspring", "of the spring-dampers"),
    ("jnt_usertype", "njnt", "of the user-defined type, by joint, or empty"),
    ("loop_usertype", "nloop", "of the user-defined type, by loop joint, or empty"),
    ("jnt_motion_name", "njnt", "of the function that drives the joint, by joint, or empty"),
    ("length_names", "nlength", "of the lines of constant length"),
    ("gear_names", "ngear", "of the gears"),
    ("roll_names", "nroll", "of the rolling constraints"),
    ("geom_names", "ngeom", "of the geometries"),
    ("key_names", "nkey", "of the keyframes"),
)

#: The meaning of each list.
NAMES = {name: meaning for name, _, meaning in _NAMES}

#: The size that gives the length of each list.
NAME_DIMS = {name: dim for name, dim, _ in _NAMES}

#: Arrays of rigid bodies, which determine each other (model/audits/replacing.py).
INERTIAS = ("body_mass", "body_ipos", "body_iquat", "body_inertia", "body_fullinertia")

#: Arrays from which no other array of a Model is computed.
REPLACEABLE = (
    "dof_armature",
    "dof_damping",
    "dof_frictionloss",
    "dof_inertia0",
    "gear_offset",
    "geom_damping",
    "geom_friction",
    "geom_mass0",
    "geom_restitution",
    "geom_rolling",
    "geom_solref",
    "geom_stiffness",
    "geom_torsional",
    "geom_velocity",
    "geom_viscosity",
    "jnt_acceleration",
    "jnt_actuated",
    "jnt_deceleration",
    "jnt_effort",
    "jnt_jerk",
    "jnt_limited",
    "jnt_range",
    "jnt_solref",
    "jnt_stiffness",
    "jnt_velocity",
    "key_qpos",
    "length_total",
    "limit_range",
    "qpos0",
    "qpos_spring",
    "spring_damping",
    "spring_length",
    "spring_stiffness",
)

#: Fields in which infinity means no limit.
UNLIMITED = (
    "jnt_range",
    "limit_range",
    "jnt_effort",
    "jnt_velocity",
    "jnt_acceleration",
    "jnt_deceleration",
    "jnt_jerk",
    "geom_friction",
    "actuator_voltage",
    "actuator_current",
)

#: Fields whose numbers are zero or more.
NOT_NEGATIVE = (
    "actuator_armature",
    "actuator_backlash",
    "actuator_current",
    "actuator_curve",
    "actuator_damping",
    "actuator_inductance",
    "actuator_lugre",
    "actuator_motorconst",
    "actuator_resistance",
    "actuator_resolution",
    "actuator_spring",
    "actuator_voltage",
    "body_mass",
    "dof_armature",
    "dof_damping",
    "dof_frictionloss",
    "dof_inertia0",
    "geom_friction",
    "geom_mass0",
    "geom_restitution",
    "geom_rolling",
    "geom_stiffness",
    "geom_torsional",
    "jnt_acceleration",
    "jnt_deceleration",
    "jnt_effort",
    "jnt_jerk",
    "jnt_stiffness",
    "jnt_velocity",
    "length_total",
    "spring_damping",
    "spring_length",
    "spring_stiffness",
)

#: Fields whose numbers are one or less.
AT_MOST_ONE = ("geom_restitution",)

#: Fields whose numbers are above zero.
POSITIVE = ("geom_solref",)
