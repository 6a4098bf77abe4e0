"""Every size, array and name of a Model, declared once."""

from __future__ import annotations

from rbdyn_ros.model.callbacks import MAX_PARAMETERS
from rbdyn_ros.model.fields import Field

SIZES = {
    "nq": "length of qpos",
    "nv": "degrees of freedom, length of qvel",
    "nbody": "bodies, the world (body 0) included",
    "njnt": "joints; joint i-1 carries body i",
    "nframe": "named frames: every link of the description",
    "nM": "entries of the lower triangle of the joint-space inertia matrix; 0 if it is too large",
    "ndrive": "coordinates of joints that are driven over time",
    "nmimic": "joints that follow another one",
    "nqall": "nq, ndrive and nmimic together",
    "nvall": "nv, ndrive and nmimic together",
    "nlimit": "limited coordinates of joints that have several",
    "nstiff": "joints with a spring",
    "nypr": "yaw-pitch-roll joints",
    "nuser": "user-defined joints",
    "nloop": "joints that close loops",
    "nspring": "spring-dampers between points",
    "nknot": "knots of the trajectories of driven joints",
    "npair": "pairs of coordinates that meet in M; 0 where no joint follows another",
    "nlength": "lines of constant length",
    "npoint": "corners of those lines",
    "ngear": "gears: linear equations between positions",
    "nterm": "terms of those equations",
    "nroll": "bodies that roll on a plane",
    "nefc": "constraint equations: of loop joints, lengths, gears and rolling, in this order",
    "nwrench": "places where a constraint equation acts on a body",
    "nshare": "nv if there are constraint equations, else 0",
    "nloopdata": "what a Data keeps of its loop joints",
    "ngeom": "geometries of moving bodies; 0 if there is no obstacle",
    "nvert": "corners of those geometries",
    "nobstacle": "geometries fixed in the world",
    "ntouch": "nbody if there are geometries, else 0",
    "ncontact": "contacts that a Data lists",
}

#: Stages that are compiled only when a Model needs them, called by address (engine/optional.py).
STAGES = {
    "pose_stage": "pose of a joint that is not common",
    "motion_stage": "its motion axes",
    "velocity_stage": "the velocity across it",
    "inertia_stage": "M where joints follow others",
    "constraint_stage": "equations of motion constraints",
    "accelerate_stage": "accelerations of what is more than a plain tree",
    "hold_stage": "what constraints ask of them",
    "correct_stage": "the way back to where the constraints hold",
    "push_stage": "the velocity that they allow",
    "report_stage": "forces of constraints and drives",
    "share_stage": "inverse dynamics of closed loops",
    "contact_stage": "forces of what touches the surroundings",
    "step_stage": "a whole timestep, by code made for this Model alone (specialize/)",
}

#: Those of them that joints need which are not common.
JOINT_STAGES = ("pose_stage", "motion_stage", "velocity_stage")

#: Those that all constraints need.
CONSTRAINT_STAGES = (
    "inertia_stage",
    "constraint_stage",
    "accelerate_stage",
    "hold_stage",
    "correct_stage",
    "push_stage",
    "report_stage",
    "share_stage",
)

#: That which geometries need.
CONTACT_STAGES = ("contact_stage",)

#: Those of couplings alone.
COUPLING_STAGES = ("inertia_stage", "accelerate_stage")

#: Those of them that dofs need which are moved otherwise than by forces.
DRIVE_STAGES = ("inertia_stage", "accelerate_stage", "report_stage")

MODEL_FIELDS = (
    # bodies; the frame of a body is that of its joint, on its side
    Field("body_parentid", ("nbody",), "parent body; of the world 0", "int"),
    Field("body_rootid", ("nbody",), "child of the world this body descends from", "int"),
    Field("body_haschild", ("nbody",), "1 if a joint hangs on the body", "int"),
    Field("body_lastchild", ("nbody",), "1 if no body with a higher number has its parent", "int"),
    Field("body_dofadr", ("nbody",), "first dof of the body's joint, -1 if it has none", "int"),
    Field("body_dofnum", ("nbody",), "number of dofs of the body's joint", "int"),
    Field("body_lastdof", ("nbody",), "last dof of a joint on its way to the root, or -1", "int"),
    Field("body_pos", ("nbody", 3), "joint frame on the parent's side, in the parent: X_T [m]"),
    Field("body_quat", ("nbody", 4), "its orientation in the parent, wxyz"),
    Field("body_mat", ("nbody", 9), "the same as rotation matrix, row by row"),
    Field("body_ipos", ("nbody", 3), "centre of mass in the body [m]"),
    Field("body_iquat", ("nbody", 4), "principal inertial axes in the body, wxyz"),
    Field("body_imat", ("nbody", 9), "the same as rotation matrix, row by row"),
    Field("body_mass", ("nbody",), "[kg]; of the world 0"),
    Field("body_inertia", ("nbody", 3), "principal moments about the centre of mass [kg m^2]"),
    Field("body_fullinertia", ("nbody", 6), "the same in body axes: xx yy zz xy xz yz [kg m^2]"),
    Field("body_subtreemass", ("nbody",), "mass of the body and all its descendants [kg]"),
    # joints
    Field("jnt_type", ("njnt",), "a JointType", "int"),
    Field("jnt_reversed", ("njnt",), "1 if the body it carries is its predecessor", "int"),
    Field("jnt_common", ("njnt",), "1 if forward and of a type up to PLANAR", "int"),
    # what is below nq or nv is an entry of qpos or qvel
    Field(
        "jnt_qposadr", ("njnt",), "first entry in qpos_all, that of the joint it follows", "int"
    ),
    Field("jnt_dofadr", ("njnt",), "first entry in qvel_all, that of the joint it follows", "int"),
    Field("jnt_qposadr_all", ("njnt",), "first entry in qpos_all of its own position", "int"),
    Field("jnt_dofadr_all", ("njnt",), "first entry in qvel_all of its own velocity", "int"),
    Field("jnt_dofnum", ("njnt",), "number of its coordinates", "int"),
    Field("jnt_mimic", ("njnt",), "the joint it follows, -1 if none", "int"),
    Field("jnt_mimic_ratio", ("njnt",), "q = ratio q_followed + offset; 1 if it follows none"),
    Field("jnt_mimic_offset", ("njnt",), "[rad or m]"),
    Field("mimic_jntid", ("nmimic",), "the joints that follow another, in their order", "int"),
    Field("jnt_bodyid", ("njnt",), "the body it carries", "int"),
    Field("jnt_userid", ("njnt",), "row in user_joint, -1 if not user-defined", "int"),
    Field("jnt_axis", ("njnt", 3), "unit axis in the joint frame; a planar joint's normal"),
    Field(
        "jnt_param",
        ("njnt", MAX_PARAMETERS),
        "pitch [m/rad], radius [m], or of a user-defined joint",
    ),
    Field("jnt_limited", ("njnt",), "1 where jnt_range holds", "int"),
    Field("jnt_range", ("njnt", 2), "lower and upper position, infinite if none [rad or m]"),
    Field("jnt_effort", ("njnt",), "largest effort [N m or N], infinity if none"),
    Field("jnt_velocity", ("njnt",), "largest speed [rad/s or m/s], infinity if none"),
    Field("jnt_solref", ("njnt", 2), "limit spring: time constant [s], damping ratio"),
    Field("jnt_stiffness", ("njnt",), "of the spring in the joint [N m/rad or N/m]"),
    Field("jnt_rotbase", ("njnt", 27), "P, Q, W of R(q) = P + cos(q) Q + sin(q) W, see jcalc.py"),
    Field("jnt_basis", ("njnt", 9), "unit x, y, z of the joint in its frame, row by row"),
    Field("jnt_actuated", ("njnt",), "1 if an actuator acts along its coordinates", "int"),
    # degrees of freedom
    Field("dof_bodyid", ("nv",), "the body it moves", "int"),
    Field("dof_jntid", ("nv",), "the joint it belongs to", "int"),
    Field("dof_parentid", ("nv",), "previous dof on the way to the root, -1 if none", "int"),
    Field("dof_newframe", ("nvall",), "1 where cdof_dot takes the velocity reached so far", "int"),
    Field(
        "dof_transmission",
        ("nvall", 6),
        "line of the actuator's force [moment; force] in F_s; zero: along the axes",
    ),
    # armature, damping and friction: with those of joints that follow, as seen at this one
    Field("dof_armature", ("nv",), "rotor inertia seen at the joint [kg m^2 or kg]"),
    Field("dof_damping", ("nv",), "viscous damping [N m s/rad or N s/m]"),
    Field("dof_frictionloss", ("nv",), "dry friction [N m or N]"),
    Field(
        "dof_inertia0",
        ("nv",),
        "articulated-body inertia seen by the dof at qpos0 (elsewhere if 0)",
    ),
    Field("qpos0", ("nq",), "positions after reset_data"),
    Field("qpos_spring", ("nq",), "where the springs in the joints are at rest"),
    # limits of coordinates of joints that have several
    Field("limit_dofid", ("nlimit",), "the dof that is limited", "int"),
    Field("limit_range", ("nlimit", 2), "lower and upper position [rad or m]"),
    # sparse lower triangle of M
    Field("M_rownnz", ("nv",), "entries in a row: the dof and those before it", "int"),
    Field("M_rowadr", ("nv",), "first entry of a row", "int"),
    Field("M_colind", ("nM",), "column of an entry, ascending; the diagonal is last", "int"),
    # where joints follow others: M is the sum over pairs of coordinates on one way to the root
    Field("pair_coord", ("npair", 2), "the lower coordinate and one above it, in qvel_all", "int"),
    Field("pair_entry", ("npair",), "entry of M it adds to", "int"),
    Field("pair_weight", ("npair",), "product of the ratios, twice for what meets itself"),
    # frames
    Field("frame_bodyid", ("nframe",), "the body the frame is fixed to", "int"),
    Field("frame_pos", ("nframe", 3), "origin in the body [m]"),
    Field("frame_quat", ("nframe", 4), "orientation in the body, wxyz"),
    # joints that close loops, from predecessor to successor
    Field("loop_type", ("nloop",), "a JointType", "int"),
    Field("loop_bodyid", ("nloop", 2), "predecessor and successor body", "int"),
    Field("loop_pos", ("nloop", 2, 3), "joint frame in each: X_P, X_S [m]"),
    Field("loop_quat", ("nloop", 2, 4), "its orientation in each, wxyz"),
    Field("loop_axis", ("nloop", 3), "as jnt_axis"),
    Field("loop_basis", ("nloop", 9), "as jnt_basis"),
    Field("loop_param", ("nloop", MAX_PARAMETERS), "as jnt_param"),
    Field("loop_ball", ("nloop",), "1 if it allows every turn and no shift", "int"),
    Field("loop_efcadr", ("nloop",), "its first constraint equation", "int"),
    Field("loop_efcnum", ("nloop",), "number of its equations: 6 less its freedoms", "int"),
    # lines of constant length through points of bodies: a rod has two
    Field("length_pointadr", ("nlength",), "first corner", "int"),
    Field("length_pointnum", ("nlength",), "number of corners", "int"),
    Field("length_closed", ("nlength",), "1 if it goes back to its first corner", "int"),
    Field("length_total", ("nlength",), "[m]"),
    Field("point_bodyid", ("npoint",), "the body of a corner", "int"),
    Field("point_pos", ("npoint", 3), "the corner in its body [m]"),
    # gears: the sum of factor times position is the offset
    Field("gear_termadr", ("ngear",), "first term", "int"),
    Field("gear_termnum", ("ngear",), "number of terms", "int"),
    Field("gear_offset", ("ngear",), "[rad or m, times a factor]"),
    Field("term_jntid", ("nterm",), "a joint", "int"),
    Field("term_coord", ("nterm",), "which of its coordinates, from 0", "int"),
    Field("term_factor", ("nterm",), "what it is multiplied by"),
    # spheres and thin disks that roll on a plane
    Field("roll_bodyid", ("nroll", 2), "the body that rolls and that of the plane", "int"),
    Field("roll_centre", ("nroll", 3), "centre in the rolling body [m]"),
    Field("roll_axis", ("nroll", 3), "axis of a disk in the rolling body, zero: a sphere"),
    Field("roll_radius", ("nroll",), "[m]"),
    Field("roll_point", ("nroll", 3), "a point of the plane in its body [m]"),
    Field("roll_normal", ("nroll", 3), "unit normal of the plane in its body"),
    # where constraint equations act: all but those of gears act on bodies
    Field("efc_wrenchadr", ("nefc",), "first wrench of an equation", "int"),
    Field("efc_wrenchnum", ("nefc",), "number of its wrenches", "int"),
    Field("wrench_bodyid", ("nwrench",), "the body of a wrench", "int"),
    # geometries of moving bodies, given by their corners and what is round them
    Field("geom_bodyid", ("ngeom",), "the body it is fixed to", "int"),
    Field("geom_type", ("ngeom",), "a GeomType, MuJoCo's numbers", "int"),
    Field("geom_pos", ("ngeom", 3), "centre in the body [m]"),
    Field("geom_mat", ("ngeom", 9), "orientation in the body, row by row"),
    Field("geom_size", ("ngeom", 3), "radius, half length; of a box half edges [m]"),
    Field("geom_rbound", ("ngeom",), "radius of a sphere round it, about geom_pos [m]"),
    Field("geom_radius", ("ngeom",), "of the spheres round its corners [m]"),
    Field("geom_vertadr", ("ngeom",), "first corner", "int"),
    Field("geom_vertnum", ("ngeom",), "number of corners", "int"),
    Field("vert_pos", ("nvert", 3), "corner of a geometry, in its body [m]"),
    Field("geom_friction", ("ngeom",), "of Coulomb"),
    Field("geom_viscosity", ("ngeom",), "of viscous friction instead; negative: Coulomb [N s/m]"),
    Field("geom_solref", ("ngeom", 2), "contact spring: time constant [s], damping ratio"),
    Field("geom_stiffness", ("ngeom",), "instead of what geom_solref gives; 0: that [N/m]"),
    Field("geom_damping", ("ngeom",), "likewise; negative: that [N s/m]"),
    Field("geom_mass0", ("ngeom",), "mass that its corners move at qpos0, on average [kg]"),
    # geometries fixed in the world
    Field("obstacle_type", ("nobstacle",), "a GeomType", "int"),
    Field("obstacle_pos", ("nobstacle", 3), "centre; of a plane a point of it [m]"),
    Field("obstacle_mat", ("nobstacle", 9), "orientation; a plane's normal is its z axis"),
    Field("obstacle_size", ("nobstacle", 3), "as geom_size"),
    Field("obstacle_friction", ("nobstacle",), "the smaller of two holds; infinity: the other's"),
    # spring-dampers between two points
    Field("spring_bodyid", ("nspring", 2), "the bodies it connects", "int"),
    Field("spring_pos", ("nspring", 2, 3), "its ends, each in its body [m]"),
    Field("spring_stiffness", ("nspring",), "[N/m]"),
    Field("spring_damping", ("nspring",), "[N s/m]"),
    Field("spring_length", ("nspring",), "at rest [m]"),
    # motion of driven joints, by coordinate: polynomials of degree 5 between knots
    Field("drive_knotadr", ("ndrive",), "first knot", "int"),
    Field("drive_knotnum", ("ndrive",), "number of knots, 0 if a function drives it", "int"),
    Field("drive_period", ("ndrive",), "after which the motion repeats, 0 if it does not [s]"),
    Field("knot_time", ("nknot",), "where a polynomial begins [s]"),
    Field("knot_coef", ("nknot", 6), "its coefficients in powers of the time since then"),
)

#: Where the functions of the user are; never stored, looked up by name (see NAMES).
CALLBACK_FIELDS = (
    Field("jnt_jcalc", ("njnt",), "address of a user-defined joint's jcalc, or 0", "int"),
    Field("jnt_motion", ("njnt",), "address of the function that drives the joint, or 0", "int"),
)

#: The lists of names: each with what it is as long as, and what it names.
_NAMES = (
    ("body_names", "nbody", "of the bodies"),
    ("jnt_names", "njnt", "of the joints"),
    ("frame_names", "nframe", "of the frames: the links of the description"),
    ("loop_names", "nloop", "of the joints that close loops"),
    ("spring_names", "nspring", "of the spring-dampers"),
    ("jnt_usertype", "njnt", "by joint, the name of a user-defined type, or empty"),
    ("loop_usertype", "nloop", "the same for joints that close loops"),
    ("jnt_motion_name", "njnt", "by joint, the name of the function that drives it, or empty"),
    ("length_names", "nlength", "of the lines of constant length"),
    ("gear_names", "ngear", "of the gears"),
    ("roll_names", "nroll", "of the rolling constraints"),
    ("geom_names", "ngeom", "of the geometries of moving bodies"),
    ("obstacle_names", "nobstacle", "of those fixed in the world"),
)

#: What each list names.
NAMES = {name: meaning for name, _, meaning in _NAMES}

#: What each list is as long as.
NAME_DIMS = {name: dim for name, dim, _ in _NAMES}

#: Arrays that nothing else in a Model was computed from.
REPLACEABLE = (
    "dof_armature",
    "dof_damping",
    "dof_frictionloss",
    "dof_inertia0",
    "gear_offset",
    "geom_damping",
    "geom_friction",
    "geom_mass0",
    "geom_solref",
    "geom_stiffness",
    "geom_viscosity",
    "jnt_actuated",
    "jnt_effort",
    "jnt_limited",
    "jnt_range",
    "jnt_solref",
    "jnt_stiffness",
    "jnt_velocity",
    "length_total",
    "limit_range",
    "obstacle_friction",
    "qpos0",
    "qpos_spring",
    "spring_damping",
    "spring_length",
    "spring_stiffness",
)

#: Where infinity means that there is no limit.
UNLIMITED = ("jnt_range", "limit_range", "jnt_effort", "jnt_velocity", "obstacle_friction")

#: Of REPLACEABLE what cannot be less than zero.
NOT_NEGATIVE = (
    "dof_armature",
    "dof_damping",
    "dof_frictionloss",
    "dof_inertia0",
    "geom_friction",
    "geom_stiffness",
    "jnt_effort",
    "jnt_stiffness",
    "jnt_velocity",
    "length_total",
    "obstacle_friction",
    "spring_damping",
    "spring_length",
    "spring_stiffness",
)

#: Of REPLACEABLE what has to be above zero.
POSITIVE = ("geom_mass0", "geom_solref")
