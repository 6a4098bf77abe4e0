# SPDX-License-Identifier: Apache-2.0
# All public names of rbdyn_ros, and the modules that define them.

from rbdyn_ros.actuators.attach import with_actuators as with_actuators
from rbdyn_ros.actuators.servos import Servos as Servos
from rbdyn_ros.actuators.servos import servos as servos
from rbdyn_ros.actuators.specs import ActuatorSpec as ActuatorSpec
from rbdyn_ros.control_box.boxes import BoxedArm as BoxedArm
from rbdyn_ros.description.build import dh as dh
from rbdyn_ros.description.build import shapes as shapes
from rbdyn_ros.description.build.builder import SystemBuilder as SystemBuilder
from rbdyn_ros.description.parts.geometries import Box as Box
from rbdyn_ros.description.parts.geometries import Capsule as Capsule
from rbdyn_ros.description.parts.geometries import Contact as Contact
from rbdyn_ros.description.parts.geometries import Cylinder as Cylinder
from rbdyn_ros.description.parts.geometries import Filter as Filter
from rbdyn_ros.description.parts.geometries import Geometry as Geometry
from rbdyn_ros.description.parts.geometries import HeightField as HeightField
from rbdyn_ros.description.parts.geometries import Obstacle as Obstacle
from rbdyn_ros.description.parts.geometries import Plane as Plane
from rbdyn_ros.description.parts.geometries import Points as Points
from rbdyn_ros.description.parts.geometries import Sphere as Sphere
from rbdyn_ros.description.parts.geometries import Surface as Surface
from rbdyn_ros.description.parts.geometries import TriangleMesh as TriangleMesh
from rbdyn_ros.description.parts.objects import Object as Object
from rbdyn_ros.description.parts.objects import Placed as Placed
from rbdyn_ros.description.parts.poses import Pose as Pose
from rbdyn_ros.description.parts.poses import pose as pose
from rbdyn_ros.description.parts.types import Description as Description
from rbdyn_ros.description.parts.types import Inertial as Inertial
from rbdyn_ros.description.parts.types import Limit as Limit
from rbdyn_ros.description.parts.types import Trajectory as Trajectory
from rbdyn_ros.description.reading.robot_file import RobotFile as RobotFile
from rbdyn_ros.dynamics.assembly import assemble as assemble
from rbdyn_ros.dynamics.attaching import attach as attach
from rbdyn_ros.dynamics.attaching import carry as carry
from rbdyn_ros.dynamics.collisions import Distance as Distance
from rbdyn_ros.dynamics.collisions import collisions as collisions
from rbdyn_ros.dynamics.collisions import distance as distance
from rbdyn_ros.dynamics.collisions import start_overlaps as start_overlaps
from rbdyn_ros.dynamics.configuration import differentiate_pos as differentiate_pos
from rbdyn_ros.dynamics.configuration import integrate_pos as integrate_pos
from rbdyn_ros.dynamics.configuration import qpos_dot as qpos_dot
from rbdyn_ros.dynamics.configuration import random_qpos as random_qpos
from rbdyn_ros.dynamics.contacts import ContactPoint as ContactPoint
from rbdyn_ros.dynamics.contacts import contact_forces as contact_forces
from rbdyn_ros.dynamics.contacts import contacts as contacts
from rbdyn_ros.dynamics.drives import set_drive as set_drive
from rbdyn_ros.dynamics.explicit import ExplicitConstraint as ExplicitConstraint
from rbdyn_ros.dynamics.joint_model import JointModel as JointModel
from rbdyn_ros.dynamics.joint_model import jcalc as jcalc
from rbdyn_ros.dynamics.payload import with_payload as with_payload
from rbdyn_ros.dynamics.ray_shapes import RayShapes as RayShapes
from rbdyn_ros.dynamics.rays import RayHits as RayHits
from rbdyn_ros.dynamics.rays import cast_rays as cast_rays
from rbdyn_ros.dynamics.saved_state import SavedState as SavedState
from rbdyn_ros.dynamics.saved_state import load_state as load_state
from rbdyn_ros.dynamics.saved_state import save_state as save_state
from rbdyn_ros.dynamics.stages import aba as aba
from rbdyn_ros.dynamics.stages import bias_force as bias_force
from rbdyn_ros.dynamics.stages import com_pos as com_pos
from rbdyn_ros.dynamics.stages import com_vel as com_vel
from rbdyn_ros.dynamics.stages import crb as crb
from rbdyn_ros.dynamics.stages import energy as energy
from rbdyn_ros.dynamics.stages import factor_m as factor_m
from rbdyn_ros.dynamics.stages import forward as forward
from rbdyn_ros.dynamics.stages import forward_dynamics as forward_dynamics
from rbdyn_ros.dynamics.stages import fwd_acceleration as fwd_acceleration
from rbdyn_ros.dynamics.stages import fwd_position as fwd_position
from rbdyn_ros.dynamics.stages import fwd_velocity as fwd_velocity
from rbdyn_ros.dynamics.stages import inverse as inverse
from rbdyn_ros.dynamics.stages import inverse_with_xfrc as inverse_with_xfrc
from rbdyn_ros.dynamics.stages import joint_forces as joint_forces
from rbdyn_ros.dynamics.stages import kinematics as kinematics
from rbdyn_ros.dynamics.stages import make_constraint as make_constraint
from rbdyn_ros.dynamics.stages import make_data as make_data
from rbdyn_ros.dynamics.stages import mul_m as mul_m
from rbdyn_ros.dynamics.stages import passive as passive
from rbdyn_ros.dynamics.stages import reset_data as reset_data
from rbdyn_ros.dynamics.stages import reset_data_keyframe as reset_data_keyframe
from rbdyn_ros.dynamics.stages import rne as rne
from rbdyn_ros.dynamics.stages import solve_m as solve_m
from rbdyn_ros.dynamics.stages import step as step
from rbdyn_ros.dynamics.toolbox.derivatives import forward_derivatives as forward_derivatives
from rbdyn_ros.dynamics.toolbox.derivatives import inverse_derivatives as inverse_derivatives
from rbdyn_ros.dynamics.toolbox.derivatives import linearise as linearise
from rbdyn_ros.dynamics.toolbox.differential_ik import FrameTask as FrameTask
from rbdyn_ros.dynamics.toolbox.differential_ik import PostureTask as PostureTask
from rbdyn_ros.dynamics.toolbox.differential_ik import differential_ik as differential_ik
from rbdyn_ros.dynamics.toolbox.frames import frame_acceleration as frame_acceleration
from rbdyn_ros.dynamics.toolbox.frames import frame_jacobian as frame_jacobian
from rbdyn_ros.dynamics.toolbox.frames import frame_jacobian_dot as frame_jacobian_dot
from rbdyn_ros.dynamics.toolbox.frames import frame_pose as frame_pose
from rbdyn_ros.dynamics.toolbox.frames import frame_velocity as frame_velocity
from rbdyn_ros.dynamics.toolbox.ik import IkResult as IkResult
from rbdyn_ros.dynamics.toolbox.ik import ik as ik
from rbdyn_ros.dynamics.toolbox.inertia import frame_mobility as frame_mobility
from rbdyn_ros.dynamics.toolbox.inertia import inverse_mass_matrix as inverse_mass_matrix
from rbdyn_ros.dynamics.toolbox.inertia import mass_matrix as mass_matrix
from rbdyn_ros.dynamics.toolbox.inertia import operational_inertia as operational_inertia
from rbdyn_ros.dynamics.toolbox.inertia import reflected_inertia as reflected_inertia
from rbdyn_ros.dynamics.toolbox.inertia import reflected_mass as reflected_mass
from rbdyn_ros.dynamics.toolbox.momentum import centroidal_momentum as centroidal_momentum
from rbdyn_ros.dynamics.toolbox.momentum import (
    centroidal_momentum_bias as centroidal_momentum_bias,
)
from rbdyn_ros.dynamics.toolbox.momentum import (
    centroidal_momentum_matrix as centroidal_momentum_matrix,
)
from rbdyn_ros.dynamics.toolbox.momentum import com as com
from rbdyn_ros.dynamics.toolbox.momentum import com_jacobian as com_jacobian
from rbdyn_ros.dynamics.toolbox.momentum import com_velocity as com_velocity
from rbdyn_ros.dynamics.toolbox.momentum_observer import MomentumObserver as MomentumObserver
from rbdyn_ros.dynamics.toolbox.regressors import inertial_parameters as inertial_parameters
from rbdyn_ros.dynamics.toolbox.regressors import joint_torque_regressor as joint_torque_regressor
from rbdyn_ros.dynamics.toolbox.regressors import (
    kinetic_energy_regressor as kinetic_energy_regressor,
)
from rbdyn_ros.dynamics.toolbox.regressors import (
    potential_energy_regressor as potential_energy_regressor,
)
from rbdyn_ros.dynamics.toolbox.terms import bias_term as bias_term
from rbdyn_ros.dynamics.toolbox.terms import coriolis_matrix as coriolis_matrix
from rbdyn_ros.dynamics.toolbox.terms import coriolis_term as coriolis_term
from rbdyn_ros.dynamics.toolbox.terms import gravity_term as gravity_term
from rbdyn_ros.dynamics.toolbox.terms import kinetic_energy as kinetic_energy
from rbdyn_ros.dynamics.toolbox.terms import potential_energy as potential_energy
from rbdyn_ros.engine.joints.user import register_joint as register_joint
from rbdyn_ros.engine.joints.user import register_motion as register_motion
from rbdyn_ros.errors import DescriptionError as DescriptionError
from rbdyn_ros.errors import Finding as Finding
from rbdyn_ros.errors import ModelError as ModelError
from rbdyn_ros.errors import ParameterError as ParameterError
from rbdyn_ros.errors import RbdynError as RbdynError
from rbdyn_ros.loading.load import build as build
from rbdyn_ros.loading.load import load as load
from rbdyn_ros.loading.load import load_urdf as load_urdf
from rbdyn_ros.loading.scene import scene as scene
from rbdyn_ros.loading.storage import save as save
from rbdyn_ros.model.data import Data as Data
from rbdyn_ros.model.declared.joints import JointType as JointType
from rbdyn_ros.model.model import Model as Model
from rbdyn_ros.policies.policy import BaseState as BaseState
from rbdyn_ros.policies.policy import LearnedPolicy as LearnedPolicy
from rbdyn_ros.policies.policy import PolicyJoints as PolicyJoints
from rbdyn_ros.policies.policy import load_policy as load_policy
from rbdyn_ros.policies.spec import ObservationTerm as ObservationTerm
from rbdyn_ros.policies.spec import PolicySpec as PolicySpec
from rbdyn_ros.recording.reader import read_run as read_run
from rbdyn_ros.recording.recorder import Recorder as Recorder
from rbdyn_ros.report.describe import describe as describe
from rbdyn_ros.rollouts.batch import Batch as Batch
from rbdyn_ros.rollouts.payloads import payload_params as payload_params
from rbdyn_ros.rollouts.policies import ComputedTorquePolicy as ComputedTorquePolicy
from rbdyn_ros.rollouts.policies import PDGravityPolicy as PDGravityPolicy
from rbdyn_ros.rollouts.policies import PDPolicy as PDPolicy
from rbdyn_ros.rollouts.rollout import Rollout as Rollout
from rbdyn_ros.rollouts.rollout import rollout as rollout
from rbdyn_ros.sensors.scanning import Scan as Scan
from rbdyn_ros.sensors.scanning import scan as scan
from rbdyn_ros.specialization.specialized import Specialized as Specialized
from rbdyn_ros.specialization.specialized import specialize as specialize
from rbdyn_ros.view.pictures.animation import animate as animate
from rbdyn_ros.view.pictures.connectivity import draw_connectivity as draw_connectivity
from rbdyn_ros.view.render.depth import DepthRenderer as DepthRenderer
from rbdyn_ros.view.render.render import render as render
from rbdyn_ros.view.render.renderer import Renderer as Renderer
from rbdyn_ros.view.scene.visual_shapes import visual_shapes as visual_shapes
from rbdyn_ros.view.web.opened import view as view
from rbdyn_ros.writing.convert import convert as convert

__version__: str
