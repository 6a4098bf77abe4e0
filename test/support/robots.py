# SPDX-License-Identifier: Apache-2.0
"""Find and load the 69 URDFs of the installed package example-robot-data."""

import functools
import sys
from pathlib import Path

import pytest

import rbdyn_ros as rb


def _folder():
    for entry in sys.path:
        folder = Path(entry) / "cmeel.prefix/share/example-robot-data/robots"
        if folder.is_dir():
            return folder
    return None


FOLDER = _folder()
FILES = sorted(FOLDER.glob("**/*.urdf")) if FOLDER else []
NO_NAME = "ur3.urdf"  # a file without robot name and links

#: Robots with a singular M, because their last joints carry links without inertia. iCub is tested:
#: M of iCub is only badly conditioned, up to 1e9, and the tolerance grows with cond(M).
SINGULAR = ("romeo.urdf", "romeo_laas_small.urdf")

needs_robots = pytest.mark.skipif(not FILES, reason="example-robot-data is not installed")


def robot_id(path):
    return (
        path.stem
        if sum(p.stem == path.stem for p in FILES) == 1
        else (f"{path.relative_to(FOLDER).parts[0]}-{path.stem}")
    )


LOADABLE = [path for path in FILES if path.name != NO_NAME]
each_robot = pytest.mark.parametrize("path", LOADABLE, ids=robot_id)

#: One robot of each family: other robots of a family have nearly the same trees.
_FAMILIES = (
    *("a1", "allegro_left_hand", "anymal-kinova", "baxter", "bolt", "borinot_flying_arm_2"),
    *("centauro", "double_pendulum_continuous", "hextilt_flying_arm_5", "human", "hyq_no_sensors"),
    *("icub_reduced", "iris", "kinova", "panda", "pr2", "quadrotor_base", "romeo", "solo12"),
    *("talos_reduced", "tiago_dual", "tiago_no_hand", "ur5_joint_limited_robot", "ur5_robot"),
    "xarm7",
)
FAMILIES = [path for path in LOADABLE if robot_id(path) in _FAMILIES]
#: All robots; only one robot of each family runs in `make test`.
each_family = pytest.mark.parametrize(
    "path",
    [pytest.param(p, marks=[pytest.mark.nightly] * (p not in FAMILIES)) for p in LOADABLE],
    ids=list(map(robot_id, LOADABLE)),
)


@functools.lru_cache(maxsize=8)
def _load(source, floating_base):
    return rb.load_urdf(source, floating_base=floating_base, strict=False, mimic=False)


def load(source, floating_base=False):
    """Return the Model of a robot with its own options; the tests share the Model's arrays."""
    return _load(source, floating_base).replaced()


def find(name):
    """Return the path of a robot by its file name or the last parts of its path."""
    if not FILES:
        pytest.skip("example-robot-data is not installed")
    return next(path for path in FILES if path.as_posix().endswith(f"/{name}"))


#: A cart on rails in a room; the wall ahead is 5 m away from the cart's origin at x = 0.
ROOM = """<robot name="cart">
  <link name="room">
    <collision><origin xyz="5.05 0 0"/><geometry><box size="0.1 8 9"/></geometry></collision>
    <visual><origin xyz="4.05 0 0"/><geometry><box size="0.1 8 9"/></geometry></visual>
  </link>
  <joint name="rails" type="prismatic"><parent link="room"/><child link="cart"/>
    <axis xyz="1 0 0"/><limit lower="-9" upper="9" effort="100" velocity="9"/></joint>
  <link name="cart"><inertial><mass value="2"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <joint name="mount" type="fixed"><parent link="cart"/><child link="laser"/>
    <origin xyz="0.5 0 1.2"/></joint>
  <link name="laser"/>
</robot>"""
