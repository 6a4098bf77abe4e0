# SPDX-License-Identifier: Apache-2.0
"""IMU and force/torque sensors at all fixed and moving joints agree with MuJoCo.

MuJoCo does not fuse links at fixed joints here, so it computes the force across every joint.
"""

import numpy as np
import pytest
from snapshot import snapshot
from support.mujoco_twin import _add_body, _add_joints, _smooth, mujoco
from support.states import randomise
from support.trees import auto_tree

import rbdyn_ros as rb
from rbdyn_ros.description.checks.check import check
from rbdyn_ros.sensors import ForceTorqueSpec, ImuSpec, Suite

KINDS = ("revolute", "fixed", "prismatic", "fixed", "continuous", "fixed", "revolute", "fixed")


def twin(description, floating_base):
    """Return the MjModel of the description with four sensors in the frame of every link."""
    spec = mujoco.MjSpec()
    spec.compiler.fusestatic = False
    links = {link.name: link for link in description.links}
    children = {joint.child for joint in description.joints}
    root = next(name for name in links if name not in children)
    bodies = {root: _add_body(spec.worldbody, links[root], (0, 0, 0), (1, 0, 0, 0))}
    if floating_base:
        bodies[root].add_freejoint(name="root_joint")
    for joint in description.joints:
        body = _add_body(
            bodies[joint.parent], links[joint.child], joint.origin.pos, joint.origin.quat
        )
        _add_joints(body, joint)
        bodies[joint.child] = body
    kinds = mujoco.mjtSensor
    for name, body in bodies.items():
        body.add_site(name=name)
        for kind in ("ACCELEROMETER", "GYRO", "FORCE", "TORQUE"):
            spec.add_sensor(
                name=f"{kind}-{name}",
                type=getattr(kinds, f"mjSENS_{kind}"),
                objtype=mujoco.mjtObj.mjOBJ_SITE,
                objname=name,
            )
    model = _smooth(spec.compile())
    model.opt.gravity[:] = (0.3, -0.2, -9.7)
    return model


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_sensors_of_random_trees_agree_with_mujoco(seed, floating):
    description = check(auto_tree(12, branching=1.6, kinds=KINDS, seed=seed))
    m = rb.build(description, floating_base=floating)
    m.opt.gravity = (0.3, -0.2, -9.7)
    theirs = twin(description, floating)
    data = mujoco.MjData(theirs)
    d = rb.make_data(m)
    randomise(m, d, seed)
    d.xfrc_applied[:] = 0.0
    rb.forward(m, d)
    for name in ("qpos", "qvel", "qfrc_applied"):
        getattr(data, name)[:] = getattr(d, name)
    mujoco.mj_forward(theirs, data)
    np.testing.assert_allclose(d.qacc, data.qacc, rtol=1e-7, atol=1e-7)

    specs = [ImuSpec(f"imu{k}", link.name) for k, link in enumerate(description.links)]
    specs += [ForceTorqueSpec(f"ft{k}", j.name, j.child) for k, j in enumerate(description.joints)]
    suite = Suite(m, description, specs, 1_000_000)
    for k, reading in suite.read(snapshot(m, d)):
        spec = specs[k]
        if isinstance(spec, ImuSpec):
            pairs = [
                (reading.angular_velocity, "GYRO"),
                (reading.linear_acceleration, "ACCELEROMETER"),
            ]
            link, sign = spec.link, 1.0
            quat = np.empty(4)
            body = theirs.body(link).id
            mujoco.mju_mat2Quat(quat, data.xmat[body])
            assert abs(quat @ reading.orientation) == pytest.approx(1.0, abs=1e-12)
        else:
            pairs = [(reading.force, "FORCE"), (reading.torque, "TORQUE")]
            # MuJoCo reports the wrench of the parent on the child
            link, sign = spec.frame, -1.0
        for ours, kind in pairs:
            their = sign * data.sensor(f"{kind}-{link}").data
            np.testing.assert_allclose(ours, their, rtol=1e-7, atol=1e-7, err_msg=spec.name)
