# SPDX-License-Identifier: Apache-2.0
"""The service's terms of the equation of motion agree with Pinocchio's on real arms."""

import math

import numpy as np
import pytest

pytest.importorskip("pinocchio", reason="pin is not installed")
import pinocchio as pin
from support import robots, states
from support.refusals import refused
from support.smooth import smoothly

import rbdyn_ros as rb
from rbdyn_ros.actuators import ActuatorSpec
from rbdyn_ros.ros.common.queries.dynamics_query import Dynamics, Query, Snapshot, warm

ARMS = {"ur5_robot.urdf": "tool0", "panda.urdf": "panda_hand"}
#: Tolerance, relative to the largest entry.
TOLERANCE = 1e-11

pytestmark = robots.needs_robots
each_arm = pytest.mark.parametrize("file", ARMS)


class Case:
    """An arm in a state, a query about another state, and Pinocchio's model of the arm."""

    def __init__(self, file):
        path = robots.find(file)
        self.m = robots.load(path)
        self.m = self.m.replaced(dof_armature=0.0 * self.m.dof_armature)
        self.model = pin.buildModelFromUrdf(str(path))
        self.data = self.model.createData()
        d = rb.make_data(self.m)
        states.randomise(self.m, d, 4)
        self.now = Snapshot(self.m, d.qpos.copy(), d.qvel.copy(), 0.0, np.zeros((self.m.nbody, 6)))
        # the query names all joints but the first, in reverse order
        names = [name for name, n in zip(self.m.jnt_names, self.m.jnt_dofnum, strict=True) if n]
        self.names = names[:0:-1]
        rng = np.random.default_rng(7)
        count = len(self.names)
        self.position, self.velocity = rng.uniform(-1, 1, (2, count))
        self.acceleration, self.effort = rng.uniform(-3, 3, (2, count))
        self.theirs = [self.model.joints[self.model.getJointId(n)].idx_v for n in self.names]
        self.q, self.v = np.zeros(self.model.nq), np.zeros(self.model.nv)
        for j, name in enumerate(names):
            k = self.model.joints[self.model.getJointId(name)].idx_v
            self.q[k], self.v[k] = self.now.qpos[j], self.now.qvel[j]
        self.q[self.theirs], self.v[self.theirs] = self.position, self.velocity

    def ask(self, **fields):
        query = Query(self.names, self.position, self.velocity, **fields)
        answer = Dynamics().answer(self.now, query)
        assert list(answer.name) == self.names
        return answer

    def wide(self, values):
        """Return a vector in Pinocchio's order: values of the named joints, otherwise zeros."""
        whole = np.zeros(self.model.nv)
        whole[self.theirs] = values
        return whole


def close(ours, theirs):
    assert ours.shape == theirs.shape
    assert np.abs(ours - theirs).max() <= TOLERANCE * max(1.0, np.abs(theirs).max())


@each_arm
def test_the_terms_agree_with_pinocchio(file):
    case = Case(file)
    model, data, q, v, k = case.model, case.data, case.q, case.v, case.theirs
    answer = case.ask(
        mass_matrix=True, coriolis_matrix=True, gravity_effort=True, bias_effort=True, energy=True
    )
    M = pin.crba(model, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    close(answer.mass_matrix, M[np.ix_(k, k)])
    close(answer.coriolis_matrix, pin.computeCoriolisMatrix(model, data, q, v)[np.ix_(k, k)])
    gravity = pin.computeGeneralizedGravity(model, data, q)[k]
    close(answer.gravity_effort, gravity)
    bias = pin.nonLinearEffects(model, data, q, v)[k]
    close(answer.bias_effort, bias - gravity)
    assert np.abs(bias - gravity).max() > 0.01
    close(case.ask(bias_effort=True, include_gravity=True).bias_effort, bias)
    assert answer.kinetic_energy == pytest.approx(pin.computeKineticEnergy(model, data, q, v))
    assert answer.potential_energy == pytest.approx(pin.computePotentialEnergy(model, data, q))
    assert (
        answer.inverse_dynamics.size == answer.forward_dynamics.size == answer.jacobian.size == 0
    )


@each_arm
def test_inverse_and_forward_dynamics_agree_with_pinocchio(file):
    case = Case(file)
    model, data, q, v, k = case.model, case.data, case.q, case.v, case.theirs
    answer = case.ask(
        inverse_dynamics=True,
        forward_dynamics=True,
        acceleration=case.acceleration,
        effort=case.effort,
        include_gravity=True,
    )
    close(answer.inverse_dynamics, pin.rnea(model, data, q, v, case.wide(case.acceleration))[k])
    close(answer.forward_dynamics, pin.aba(model, data, q, v, case.wide(case.effort))[k])
    model.gravity.linear = np.zeros(3)
    answer = case.ask(inverse_dynamics=True, acceleration=case.acceleration)
    close(answer.inverse_dynamics, pin.rnea(model, data, q, v, case.wide(case.acceleration))[k])


@each_arm
@pytest.mark.parametrize("reference", ["world", "local", "local_world_aligned", ""])
def test_the_jacobian_agrees_with_pinocchio(file, reference):
    case = Case(file)
    frame = case.model.getFrameId(ARMS[file])
    where = getattr(pin, (reference or "local_world_aligned").upper())
    J = pin.computeFrameJacobian(case.model, case.data, case.q, frame, where)[:, case.theirs]
    answer = case.ask(jacobian_frame=ARMS[file], jacobian_reference=reference)
    close(answer.jacobian, np.vstack([J[3:], J[:3]]))


@each_arm
def test_inverse_dynamics_of_a_query_can_include_external_wrenches(file):
    case = Case(file)
    model, data, q, v, k = case.model, case.data, case.q, case.v, case.theirs
    # this link's centre of mass is away from its frame
    body = 3
    case.now.xfrc[body] = (3.0, -5.0, 7.0, 0.5, 1.5, -0.7)
    # the same wrench on Pinocchio's joint, about the joint's origin and in its axes
    joint = model.getJointId(case.m.jnt_names[list(case.m.jnt_bodyid).index(body)])
    pin.forwardKinematics(model, data, q)
    wrench = pin.Force(case.now.xfrc[body, :3], case.now.xfrc[body, 3:])
    d = rb.make_data(case.m)
    for name, value in zip(model.names[1:], q, strict=True):
        d.qpos[case.m.jnt_names.index(name)] = value
    rb.kinematics(case.m, d)
    at_mass = pin.SE3(np.eye(3), d.xipos[body])
    forces = pin.StdVec_Force()
    forces.extend([pin.Force.Zero()] * model.njoints)
    forces[joint] = data.oMi[joint].actInv(at_mass.act(wrench))
    answer = case.ask(
        inverse_dynamics=True,
        forward_dynamics=True,
        effort=case.effort,
        include_gravity=True,
        include_external_wrenches=True,
    )
    close(answer.inverse_dynamics, pin.rnea(model, data, q, v, 0 * v, forces)[k])
    close(answer.forward_dynamics, pin.aba(model, data, q, v, case.wide(case.effort), forces)[k])
    free = case.ask(inverse_dynamics=True, include_gravity=True)
    assert np.abs(free.inverse_dynamics - answer.inverse_dynamics).max() > 0.01


def test_inverse_dynamics_of_a_query_can_include_passive_forces():
    case = Case("panda.urdf")
    m = case.m
    fields = {"inverse_dynamics": True, "include_gravity": True}
    difference = (
        case.ask(**fields, include_passive=True).inverse_dynamics
        - case.ask(**fields).inverse_dynamics
    )
    smoothly(m).opt.integrator = "euler"  # queries compute with this law of friction
    d = rb.make_data(m)
    d.qpos, d.qvel = case.now.qpos, case.now.qvel
    where = [m.jnt_names.index(name) for name in case.names]
    d.qpos[m.jnt_qposadr[where]], d.qvel[m.jnt_dofadr[where]] = case.position, case.velocity
    states.at_present(m, d)
    assert np.abs(difference).max() > 1e-3
    close(difference, -d.qfrc_passive[m.jnt_dofadr[where]])


def test_efforts_of_a_query_act_directly_on_the_joints():
    """Actuators would delay efforts or limit them, so a query bypasses the actuators."""
    plain = rb.load_urdf("config/robots/seven_dof_arm.urdf")
    number = plain.jnt_names.index("elbow_pitch")
    drive = {"gear": 50.0, "armature": 1e-5, "torque_speed": ((0.0, 0.02),)}
    for given in ({"delay": 0.003}, {"gear": 50.0, "stiffness": 1e3}, drive):
        m = rb.with_actuators(plain, [ActuatorSpec("elbow_pitch", **given)])
        now = Snapshot(m, np.full(7, 0.3), np.full(7, 0.2), 0.0, np.zeros((m.nbody, 6)))
        effort = np.eye(7)[number] * 3.0
        asked = {"use_current_state": True, "include_gravity": True}
        answer = Dynamics().answer(
            now,
            Query(
                effort=effort, forward_dynamics=True, mass_matrix=True, bias_effort=True, **asked
            ),
        )
        close(answer.mass_matrix @ answer.forward_dynamics + answer.bias_effort, effort)
        back = Query(acceleration=answer.forward_dynamics, inverse_dynamics=True, **asked)
        close(Dynamics().answer(now, back).inverse_dynamics, effort)


def test_a_query_can_use_the_current_state_of_all_joints():
    case = Case("ur5_robot.urdf")
    answer = Dynamics().answer(case.now, Query(use_current_state=True, gravity_effort=True))
    d = rb.make_data(case.m)
    d.qpos = case.now.qpos
    assert list(answer.name) == [n for n in case.m.jnt_names if n in case.model.names]
    assert np.array_equal(answer.gravity_effort, rb.gravity_term(case.m, d))


def test_a_query_uses_the_current_model_and_leaves_the_snapshot_unchanged():
    case = Case("ur5_robot.urdf")
    dynamics, m = Dynamics(), case.m
    before = case.now.qpos.copy(), case.now.qvel.copy()
    warm(m)
    query = Query(use_current_state=True, gravity_effort=True, inverse_dynamics=True)
    first = dynamics.answer(case.now, query)
    assert tuple(m.opt.gravity) == (0.0, 0.0, -9.81)
    assert m.opt.passive
    assert all(map(np.array_equal, (case.now.qpos, case.now.qvel), before))
    assert np.array_equal(dynamics.answer(case.now, query).gravity_effort, first.gravity_effort)
    half = m.replaced()
    half.opt.gravity = (0.0, 0.0, -4.905)
    now = Snapshot(half, case.now.qpos, case.now.qvel, 0.0, case.now.xfrc)
    close(dynamics.answer(now, query).gravity_effort, 0.5 * first.gravity_effort)


PAN, LIFT = "shoulder_pan_joint", "shoulder_lift_joint"
REFUSED = [
    ({"name": ["sholder_pan_joint"]}, "joint 'sholder_pan_joint'"),
    ({"name": [PAN, LIFT, PAN]}, f"joint '{PAN}'"),
    ({"name": [PAN, LIFT], "velocity": [0.0, math.nan]}, "velocity"),
    ({"name": [PAN, LIFT], "effort": [1.0]}, "effort"),
    ({"name": [PAN], "position": [1.0], "use_current_state": True}, "position"),
    ({"jacobian_frame": "tool1"}, "jacobian_frame"),
    ({"jacobian_frame": "tool0", "jacobian_reference": "wolrd"}, "jacobian_reference"),
    ({"name": [PAN], "velocity": [1e200], "bias_effort": True}, ""),  # overflows
]


@pytest.mark.parametrize(("fields", "element"), REFUSED)
def test_queries_with_invalid_fields_are_refused(fields, element):
    with refused(rb.RbdynError, "dynamics-query", element):
        Dynamics().answer(Case("ur5_robot.urdf").now, Query(**fields))


FOLLOWING = """<robot name="two"><link name="base"/>
  <joint name="root" type="floating"><parent link="base"/><child link="a"/></joint>
  <link name="a"><inertial><mass value="1"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <joint name="left" type="continuous"><parent link="a"/><child link="b"/></joint>
  <link name="b"><inertial><mass value="1"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <joint name="right" type="continuous"><parent link="a"/><child link="c"/>
    <mimic joint="left"/></joint>
  <link name="c"><inertial><mass value="1"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
</robot>"""


def test_queries_refuse_joints_that_do_not_have_exactly_one_own_dof():
    m = rb.load_urdf(FOLLOWING)
    d = rb.make_data(m)
    now = Snapshot(m, d.qpos, d.qvel, 0.0, np.zeros((m.nbody, 6)))

    def ask(*names):
        return Dynamics().answer(now, Query(name=names, mass_matrix=True))

    for name in ("right", "root"):
        with refused(rb.RbdynError, "dynamics-query", f"joint '{name}'"):
            ask(name)
    assert ask("left").mass_matrix == pytest.approx(2.0)
    assert ask().name == ("left",)


def test_the_energy_of_each_query_includes_springs():
    """Potential energy of 2 kg on a spring of 50 N/m at 0.3 m: 2 9.81 0.3 + 50 0.3^2 / 2."""
    builder = rb.SystemBuilder("bounce")
    builder.body("weight", rb.shapes.box((0.1, 0.1, 0.1), mass=2.0))
    builder.joint("slide", "prismatic", "base", "weight", axis=(0, 0, 1), stiffness=50.0)
    m = rb.build(builder.description())
    now = Snapshot(m, np.array([0.3]), np.zeros(1), 0.0, np.zeros((m.nbody, 6)))
    dynamics = Dynamics()
    query = Query(use_current_state=True, energy=True, inverse_dynamics=True)
    found = [dynamics.answer(now, query).potential_energy for _ in range(2)]
    assert found == pytest.approx([8.136, 8.136], rel=1e-12)
