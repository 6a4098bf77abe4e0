# SPDX-License-Identifier: Apache-2.0
"""A robot that was written as MJCF has the same dynamics in MuJoCo as in this library."""

import numpy as np
import pytest
from support import states, trees
from support.compare import Comparison
from support.mechanisms import bar, four_bar
from support.robots import FAMILIES, needs_robots, robot_id

import rbdyn_ros as rb

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")

TOLERANCE = 1e-10
TURNABLE = ("revolute", "continuous", "prismatic", "fixed")
KINDS = (*TURNABLE, "cylindrical", "universal", "planar", "spherical_ypr")
#: MuJoCo refuses these robots, because some of their moving links have no inertia.
NOT_THERE = ("human", "icub_reduced", "romeo")
QUICK = ("baxter", "panda", "talos_reduced")
SHOWN = [path for path in FAMILIES if robot_id(path) not in NOT_THERE]


def written(source, folder, **how):
    path = folder / "robot.xml"
    return rb.convert(source, path, **how), mujoco.MjModel.from_xml_path(str(path))


def compare(m, mm, seed, where):
    """Compare mass matrix, bias forces and positions of links in a random state."""
    d, md = rb.make_data(m), mujoco.MjData(mm)
    states.randomise(m, d, seed)
    md.qpos[:], md.qvel[:] = d.qpos, d.qvel
    mujoco.mj_forward(mm, md)
    rb.forward(m, d)
    dense = np.empty((m.nv, m.nv))
    mujoco.mj_fullM(mm, md, dense)
    with Comparison("mjcf", where) as case:
        case.close("mass_matrix", rb.mass_matrix(m, d), dense, TOLERANCE)
        case.close("bias", rb.bias_term(m, d), md.qfrc_bias, TOLERANCE)
        for name in m.frame_names:
            position, _ = rb.frame_pose(m, d, name)
            case.close(f"position of {name}", position, md.body(name).xpos, TOLERANCE)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("turned", [False, True], ids=["outwards", "turned round"])
def test_random_trees_agree_in_mujoco(seed, turned, tmp_path):
    tree = trees.auto_tree(
        12,
        1.5,
        kinds=TURNABLE if turned else KINDS,
        seed=seed,
        damping=0.3,
        reversals=0.5 * turned,
        offsets=0.5,
    )
    _, mm = written(tree, tmp_path)
    compare(rb.build(tree), mm, seed, tree.name)


def test_ball_joints_agree_in_mujoco(tmp_path):
    """A finding says if the joint's frame is rotated in the link, for then quaternions differ."""
    tree = trees.auto_tree(6, 2.0, kinds=("spherical", "revolute"), seed=2)
    findings, mm = written(tree, tmp_path)
    assert not findings
    compare(rb.build(tree), mm, 2, tree.name)
    turned = trees.auto_tree(1, kinds=("spherical",), offsets=1.0)
    (finding,), _ = written(turned, tmp_path)
    assert "MuJoCo's quaternion is in the axes of the link" in str(finding)


STACKED = """<mujoco><worldbody><body name="leg" pos="0 0 1" euler="10 20 30">
  <joint name="x" type="slide" axis="1 0 0" damping="1"/>
  <joint name="z" axis="0 0 1" pos="0.2 0 0" range="-90 40"/>
  <joint name="ball" type="ball" pos="0 0.1 0"/>
  <geom size="0.1" pos="0.3 0 0"/>
  <body name="foot" pos="0 0 -1"><joint name="y" axis="0 1 0" armature="0.1"/>
    <joint name="w" axis="1 1 0"/><geom type="box" size="0.1 0.2 0.3"/></body></body>
  </worldbody></mujoco>"""


def test_several_joints_of_a_body_stay_in_one_body(tmp_path):
    """MuJoCo would refuse bodies without mass between the joints."""
    given = tmp_path / "given.xml"
    given.write_text(STACKED)
    _, mm = written(given, tmp_path)
    theirs = mujoco.MjModel.from_xml_path(str(given))
    assert mm.nbody == theirs.nbody
    data = [mujoco.MjData(model) for model in (theirs, mm)]
    rng = np.random.default_rng(1)
    mujoco.mj_integratePos(theirs, data[0].qpos, rng.uniform(-1, 1, theirs.nv), 0.5)
    data[0].qvel[:] = rng.uniform(-1, 1, theirs.nv)
    data[1].qpos[:], data[1].qvel[:] = data[0].qpos, data[0].qvel
    for model, one in zip((theirs, mm), data, strict=True):
        mujoco.mj_forward(model, one)
    for name in ("xpos", "xmat", "qfrc_bias", "qfrc_passive", "qacc"):
        np.testing.assert_allclose(*(getattr(x, name) for x in data), atol=1e-9, err_msg=name)


@pytest.mark.parametrize(
    ("kinds", "light"), [(["revolute"] * 8, 1), (["spherical", "revolute", "prismatic"], 1)]
)
def test_a_body_has_no_more_joints_than_mujoco_accepts(kinds, light, tmp_path):
    """In MuJoCo a body has at most six dofs, and no rotation after a ball joint."""
    system, before = rb.SystemBuilder("stack"), "base"
    for n, kind in enumerate(kinds):
        system.body(f"b{n}", bar(0.2) if n == len(kinds) - 1 else None)
        axis = {} if kind == "spherical" else {"axis": np.eye(3)[n % 3]}
        system.joint(f"j{n}", kind, before, f"b{n}", xyz=(0.1, 0, 0), armature=0.1, **axis)
        before = f"b{n}"
    findings, mm = written(system, tmp_path)
    assert sum("kg are written" in str(finding) for finding in findings) == light
    assert mm.nbody == light + 3  # the others are the world, the base and the last link


def test_a_link_without_mass_at_the_end_gets_the_smallest_mass(tmp_path):
    system = rb.SystemBuilder("tip").body("arm", bar(0.3)).body("tip")
    system.joint("A", "revolute", "base", "arm", axis=(0, 1, 0))
    system.joint("B", "revolute", "arm", "tip", axis=(0, 1, 0), armature=1.0)
    findings, mm = written(system, tmp_path)
    assert "1e-06 kg are written" in str(findings[0])
    assert mm.body("tip").mass[0] == 1e-6


@needs_robots
@pytest.mark.parametrize(
    "path",
    [pytest.param(p, marks=[pytest.mark.nightly] * (robot_id(p) not in QUICK)) for p in SHOWN],
    ids=list(map(robot_id, SHOWN)),
)
def test_robots_agree_in_mujoco(path, tmp_path):
    m = rb.load_urdf(path, strict=False, mimic=False)
    findings, mm = written(path, tmp_path, strict=False)
    mm.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    impossible = any("no body can have it" in str(finding) for finding in findings)
    assert impossible == any(finding.code == "non-physical-inertia" for finding in m.findings)
    if not impossible:
        compare(m, mm, 1, path.stem)


def test_a_floating_base_agrees_in_mujoco(tmp_path):
    tree = trees.auto_tree(5, seed=3, kinds=("revolute",))
    _, mm = written(tree, tmp_path, floating_base=True)
    compare(rb.build(tree, floating_base=True), mm, 3, "floating")


def test_a_closed_loop_is_closed_in_mujoco(tmp_path):
    system = four_bar(0.1, 0.25, 0.2, 0.3)
    m = rb.build(system)
    _, mm = written(system, tmp_path)
    d, md = rb.make_data(m), mujoco.MjData(mm)
    md.qpos[:] = d.qpos
    mujoco.mj_forward(mm, md)
    assert mm.neq == 2
    np.testing.assert_allclose(md.efc_pos, 0.0, atol=1e-9)
    md.qpos[0] += 0.1
    mujoco.mj_forward(mm, md)
    assert np.abs(md.efc_pos).max() > 1e-3


def coupled():
    return (
        rb.SystemBuilder("coupled", base="ground")
        .body("one", bar(0.3))
        .body("two", bar(0.2))
        .joint("A", "revolute", "ground", "one", axis=(0, 1, 0), limit=rb.Limit(-1.0, 2.0, 30.0))
        .joint("B", "prismatic", "ground", "two", axis=(1, 0, 0), armature=0.3, stiffness=20.0)
        .gear("gear", {"A": 2.0, "B": -3.0}, offset=0.5)
        .spring("spring", "one", "two", stiffness=40.0, damping=3.0, length=0.1)
    )


def test_gears_springs_and_limits_agree_in_mujoco(tmp_path):
    system = coupled()
    m = rb.build(system)
    findings, mm = written(system, tmp_path)
    assert not findings
    md = mujoco.MjData(mm)
    md.qpos[:] = 0.4, (2.0 * 0.4 - 0.5) / 3.0
    mujoco.mj_forward(mm, md)
    np.testing.assert_allclose(md.efc_pos, 0.0, atol=1e-12)
    np.testing.assert_array_equal(mm.jnt_range[0], (-1.0, 2.0))
    np.testing.assert_array_equal(mm.jnt_actfrcrange[0], (-30.0, 30.0))
    np.testing.assert_array_equal(mm.dof_armature, m.dof_armature)
    # the spring between the links is compared, not a spring of the joint
    d = rb.make_data(m)
    d.qpos, d.qvel = md.qpos.copy(), (0.3, -0.2)
    md.qvel[:] = d.qvel
    mujoco.mj_forward(mm, md)
    rb.forward(m, d)
    np.testing.assert_allclose(md.qfrc_passive, d.qfrc_passive, rtol=1e-9)


def shapes():
    corners = ((0, 0, 0), (0.3, 0, 0), (0, 0.2, 0), (0, 0, 0.25))
    system = rb.SystemBuilder("shapes", base="ground").body("one", bar(0.3))
    system.joint("A", "revolute", "ground", "one", axis=(0, 1, 0), xyz=(0, 0, 1))
    at = rb.pose((0.1, 0.2, -0.1), (0.3, -0.4, 0.5))
    for name, shape in (
        ("ball", rb.Sphere(0.1)),
        ("brick", rb.Box((0.1, 0.2, 0.3))),
        ("can", rb.Cylinder(0.1, 0.3)),
        ("pill", rb.Capsule(0.1, 0.3)),
        ("hull", rb.Points(corners)),
    ):
        surface = rb.Surface(friction=0.4, torsional=0.01, restitution=0.5)
        system.geometry(name, "one", shape, origin=at, surface=surface, filter=rb.Filter(2, 5))
    slope = rb.pose((0.5, 0.0, 0.1), (0.0, 0.2, 0.0))
    heights = [[0.0, 0.1, 0.3, 0.2], [0.1, 0.4, 0.2, 0.0], [-0.2, 0.0, 0.1, 0.2]]
    system.obstacle("floor", rb.Plane(), origin=rb.pose((0.0, 0.0, -1.0)))
    system.obstacle("block", rb.Box((0.4, 0.4, 0.2)), origin=slope)
    system.obstacle("hills", rb.HeightField(heights, (3.0, 2.0)), origin=rb.pose((4.0, 1.0, 0.2)))
    return system


def test_written_shapes_keep_their_poses(tmp_path):
    findings, mm = written(shapes(), tmp_path)
    assert {str(finding).split(": ")[1] for finding in findings if finding.code == "left-out"} == {
        "its restitution is left out"
    }
    m, md = rb.build(shapes()), mujoco.MjData(mm)
    d = rb.make_data(m)
    d.qpos[0] = md.qpos[0] = 0.7
    rb.fwd_position(m, d)
    mujoco.mj_forward(mm, md)
    rng = np.random.default_rng(0)
    starts = rng.uniform((-0.5, -0.8, 0.5), (5.5, 1.8, 1.8), (400, 3))
    aims = rng.uniform((-0.2, -0.5, -1.0), (5.0, 1.8, 1.0), (400, 3)) - starts
    aims /= np.linalg.norm(aims, axis=1)[:, None]
    ours = rb.cast_rays(m, d, starts, aims)
    theirs = np.full(400, np.inf)
    geom = np.zeros(1, np.int32)
    for n, (start, aim) in enumerate(zip(starts, aims, strict=True)):
        distance = mujoco.mj_ray(mm, md, start, aim, None, 1, -1, geom)
        hit = start + distance * aim
        if geom[0] == mm.geom("hills").id and np.any(np.abs(hit - (4, 1, 0))[:2] > (1.499, 0.999)):
            # in MuJoCo this ray hits the side of a height field; ours have no sides
            theirs[n] = np.nan
        elif distance >= 0.0:
            theirs[n] = distance
    seen = ~np.isnan(theirs)
    assert np.isfinite(theirs).sum() > 200
    # MuJoCo stores corners of hulls and heights in single precision
    np.testing.assert_allclose(ours.distance[seen], theirs[seen], atol=2e-6, rtol=1e-5)
    for name in ("ball", "hull"):
        geom = mm.geom(name)
        np.testing.assert_allclose(geom.friction, (0.4, 0.01, 0.0))
        assert (geom.contype, geom.conaffinity, geom.condim) == (2, 5, 4)
