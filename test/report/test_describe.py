# SPDX-License-Identifier: Apache-2.0
"""`rb.describe` prints the system model as in RBDA table 4.3."""

import numpy as np
import pytest
from support import robots, trees
from support.refusals import refused
from support.systems import everything, register

import rbdyn_ros as rb
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.parts.types import (
    Description,
    Gear,
    GearTerm,
    Inertial,
    Joint,
    Length,
    Link,
    Mimic,
    Roll,
    Spring,
)
from rbdyn_ros.report.describe import WIDTH, describe

ROD = Inertial(2.0, Pose((0.5, 0.0, 0.0)), (0.01, 0.2, 0.2, 0.0, 0.0, 0.0))
QUARTER = (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))

CRANK_SLIDER = Description(
    "crank_slider",
    (Link("ground"), Link("crank", ROD), Link("rod", ROD), Link("slider", ROD)),
    (
        Joint("J1", "revolute", "ground", "crank", axis=(0.0, 0.0, 1.0), stiffness=3.0,
              rest=(0.5,)),
        Joint("J2", "revolute", "rod", "crank", axis=(0.0, 0.0, 1.0),
              child_origin=Pose((1.0, 0.0, 0.0), QUARTER)),
        Joint("J3", "helical", "rod", "slider", axis=(0.0, 0.6, 0.8), parameters={"pitch": 0.01}),
        Joint("J4", "prismatic", "slider", "ground", Pose((0.1, 0.2, 0.3)), (-1.0, 0.0, 0.0),
              child_origin=Pose((0.0, 0.0, 0.0), QUARTER), closes_loop=True),
    ),
    base="ground",
    springs=(Spring("coil", "ground", "rod", (1.0, 0.0, 0.0), (0.0, 0.5, 0.0), 10.0, 0.5, 0.3),),
)  # fmt: skip

EXPECTED = """\
system model 'crank_slider': N_B = 3, N_L = 1, n_c = 5

tree joints
  i  body    lambda  joint  jtype                                X_T: xyz [m]  rpy [rad]
  1  crank   0       J1     revolute about z                     0 0 0         0 0 0
  2  rod     1       J2     revolute about z, reversed           1 0 0         0 0 1.571
  3  slider  2       J3     helical about 0 0.6 0.8, pitch 0.01  0 0 0         0 0 0

bodies
  i  body    mass [kg]  centre of mass [m]  I: xx yy zz xy xz yz [kg m^2]
  1  crank   2          0.5 0 0             0.01 0.2 0.2 0 0 0
  2  rod     2          0.5 0 0             0.01 0.2 0.2 0 0 0
  3  slider  2          0.5 0 0             0.01 0.2 0.2 0 0 0

loop joints
  joint  name  p  s  jtype               n_c  X_P: xyz [m]  rpy [rad]  X_S: xyz [m]  rpy [rad]
  4      J4    3  0  prismatic along -x  5    0.1 0.2 0.3   0 0 0      0 0 0         0 0 1.571

springs
  name  from body  at [m]  to body  at [m]   stiffness [N/m]  damping [N s/m]  length [m]
  coil  0          1 0 0   2        0 0.5 0  10               0.5              0.3

springs in joints
  joint  stiffness [N m/rad or N/m]  at rest at
  J1     3                           0.5"""


def test_describe_prints_a_loop_a_reversed_joint_and_springs():
    assert describe(rb.build(CRANK_SLIDER)) == EXPECTED


HELD = Description(
    "held",
    (Link("ground"), *(Link(name, ROD) for name in "abcd")),
    (
        Joint("ja", "revolute", "ground", "a", actuated=False),
        Joint("jb", "cylindrical", "a", "b"),
        Joint("jc", "revolute", "ground", "c", mimic=Mimic("ja", -2.0, 0.5)),
        Joint("jd", "floating", "ground", "d"),
    ),
    base="ground",
    constraints=(
        Roll("disk", "d", "a", 0.2, axis=(0.0, 1.0, 0.0), point=(0.0, 0.0, 1.0)),
        Length("strut", ("ground", "b"), ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0)), 1.5),
        Gear("pair", (GearTerm("ja", 2.0), GearTerm("jb", -1.0, 1)), 0.25),
        Length("belt", ("a", "b", "d"), ((0.0, 0.0, 0.0),) * 3, 4.0, closed=True),
        Length("rope", ("a", "b", "a"), ((0.0, 0.0, 0.0),) * 3, 3.0),
        Roll("ball", "b", "ground", 0.1, (0.0, 0.0, 0.5), normal=(0.0, 0.6, 0.8)),
    ),
)

EXPECTED_CONSTRAINTS = """\
mimic joints
  joint  leader  ratio  offset [rad or m]
  jc     ja      -2     0.5

rods and bands
  name   kind       length [m]  through body  at [m]
  strut  rod        1.5         0             0 0 0
                                2             1 0 0
  belt   band       4           1             0 0 0
                                2             0 0 0
                                4             0 0 0
  rope   open band  3           1             0 0 0
                                2             0 0 0
                                1             0 0 0

gears
  name  sum is  of joint  coordinate  times
  pair  0.25    ja        0           2
                jb        1           -1

rolling without slipping
  name  kind    body  radius [m]  centre [m]  axis  on body  at [m]  normal
  disk  disk    4     0.2         0 0 0       y     1        0 0 1   z
  ball  sphere  2     0.1         0 0 0.5           0        0 0 0   0 0.6 0.8"""


def test_describe_prints_constraints_and_joints_without_actuators():
    printed = describe(rb.build(HELD))
    assert printed.startswith("system model 'held': N_B = 4, N_L = 0, n_c = 10\n")
    assert printed.endswith(f"\n\n{EXPECTED_CONSTRAINTS}")
    joints = printed.splitlines()[3:8]
    assert ["not actuated" in line for line in joints] == [False, True, False, False, False]
    assert "revolute about x, not actuated" in joints[1]


def test_every_joint_type_is_described_by_its_name():
    register()
    printed = describe(rb.build(everything()))
    for words in (
        "spherical, reversed",
        "floating ",
        "universal about x and y",
        "planar about -0.136 0.925 -0.354, x 0.971 0.195 0.136",
        "spherical_ypr",
        "sixdof_fp, reversed",
        "storage_twist, lead 0.1",
        "sway   function storage_swing",
        "wave   3 knots from 0 to 2 s, periodic",
    ):
        assert words in printed


def test_no_line_of_a_description_is_too_wide():
    register()
    for m in (rb.build(everything()), trees.build(trees.auto_tree(30, kinds=trees.LIBRARY))):
        assert max(map(len, describe(m).splitlines())) <= WIDTH


@robots.needs_robots
def test_a_long_model_is_cut_in_the_middle():
    m = robots.load(robots.find("talos_reduced.urdf"), floating_base=True)
    lines = describe(m, most=6).splitlines()
    start = lines.index("tree joints")
    numbers = [line.split()[0] for line in lines[start + 2 : start + 9]]
    assert numbers == ["1", "2", "3", "...", str(m.nbody - 3), str(m.nbody - 2), str(m.nbody - 1)]
    assert f"  ... {m.njnt - 6} more ..." in lines
    assert max(map(len, lines)) <= WIDTH


def test_the_numbers_agree_with_the_model():
    m = trees.build(trees.auto_tree(6, 1.5, kinds=trees.HINGES, seed=2))
    lines = describe(m).splitlines()
    body = lines[lines.index("bodies") + 5].split()
    printed = [float(word) for word in body[2:]]
    expected = [m.body_mass[4], *m.body_ipos[4], *m.body_fullinertia[4]]
    assert np.allclose(printed, expected, rtol=6e-4, atol=1e-9)


@pytest.mark.parametrize("pitch", [0.3, np.pi / 2, -np.pi / 2])
def test_roll_pitch_and_yaw_are_printed(pitch):
    """The angles are right in gimbal lock, too."""
    origin = rb.pose((0.0, 0.0, 0.0), (0.2, pitch, -0.4))
    joint = Joint("j", "continuous", "base", "arm", origin, (0.0, 0.0, 1.0))
    m = rb.build(Description("r", (Link("base"), Link("arm", ROD)), (joint,)))
    row = describe(m).splitlines()[4].split()
    printed = rb.pose((0.0, 0.0, 0.0), tuple(float(word) for word in row[-3:])).quat
    assert abs(np.dot(printed, origin.quat)) == pytest.approx(1.0, abs=1e-6)


def test_a_model_without_joints_is_described():
    m = rb.load_urdf('<robot name="stone"><link name="stone"/></robot>')
    assert describe(m) == "system model 'stone': N_B = 0, N_L = 0"


def test_only_a_model_is_described():
    with refused(rb.ModelError, "not-a-model"):
        describe(3)
