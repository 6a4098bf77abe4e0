# SPDX-License-Identifier: Apache-2.0
"""By default links of a robot have contact, but a robot at rest does not push itself."""

import numpy as np
import pytest
from support import robots

import rbdyn_ros as rb
from rbdyn_ros.description import robot_files

pytestmark = robots.needs_robots

#: Robots of which many links overlap or touch at the start, or whose SRDFs have poses.
NAMES = (
    "icub.urdf", "kinova.urdf", "baxter.urdf", "talos_full_v2.urdf", "tiago_dual.urdf",
    "panda_collision.urdf", "hyq_no_sensors.urdf", "z1.urdf", "xarm7.urdf", "bolt.urdf",
)  # fmt: skip


def starts(m, path):
    """Yield qpos0 and the qpos of each pose in the SRDF."""
    yield "qpos0", m.qpos0
    for state in robot_files.read(path, strict=False, contact=True).states:
        qpos = m.qpos0.copy()
        for name, position in state.positions.items():
            if name in m.jnt_numbers:
                qpos[m.jnt_qposadr[m.jnt_id(name)]] = position
        yield state.name, qpos


@pytest.mark.parametrize("name", NAMES)
def test_a_robot_at_rest_does_not_push_itself(name):
    """Without gravity and joint forces, touching links move only by rounding errors.

    A link of 1 kg that is 1e-13 m deep in another link gets a force of 1e-3 N.
    """
    path = robots.find(name)
    m = rb.load_urdf(path, True, strict=False, contact=rb.Contact(obstacles=()))
    assert m.npush > 0
    m.opt.gravity, m.opt.passive = (0.0, 0.0, 0.0), False
    for start, qpos in starts(m, path):
        d = rb.make_data(m)
        d.qpos[:] = qpos
        for _ in range(50):
            rb.step(m, d)
            assert np.abs(d.contact_force[: d.ncon]).max(initial=0.0) < 1e-2, start
        assert np.abs(d.qvel).max() < 1e-9, start
