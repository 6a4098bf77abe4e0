# SPDX-License-Identifier: Apache-2.0
"""`rbdyn check --collisions` and `--write-srdf`."""

import json
import re

import pytest
from support.commands import run

import rbdyn_ros as rb
from rbdyn_ros.loading.self_collision import sample_collisions

LINK = """<link name="{name}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0"
ixz="0" iyz="0"/></inertial><collision name="{name} skin"><origin xyz="0 0 {z}"/><geometry>
<sphere radius="{r}"/></geometry></collision></link>"""
JOINT = """<joint name="to {b}" type="revolute"><origin xyz="{xyz}"/><axis xyz="0 1 0"/>
<parent link="{a}"/><child link="{b}"/><limit lower="{low}" upper="{high}" effort="1"
velocity="1"/></joint>"""
LINKS = {"base": (0.0, 0.1), "arm": (0.5, 0.1), "hand": (1.0, 0.1), "hook": (0.0, 0.1),
         "bulk": (0.0, 2.0), "far": (0.0, 0.01)}  # fmt: skip
JOINTS = [
    # this joint moves a ball on a circle with a radius of 0.5 m about the base
    ("base", "arm", "0 0 0", -1, 1),
    # this joint moves a ball on a circle of 1 m about the arm's axis
    ("arm", "hand", "0 0 0", -3, 3),
    ("arm", "hook", "0 0 1", -1, 1),  # at 0 the ball of the hand is at this joint
    ("base", "bulk", "0 0 0", 0, 0.1),  # this ball contains all other balls but `far`
    ("base", "far", "0 9 0", 0, 0.1),
]
URDF = "\n".join(
    ['<?xml version="1.0"?>', '<robot name="bot">']
    + [LINK.format(name=name, z=z, r=r) for name, (z, r) in LINKS.items()]
    + [JOINT.format(a=a, b=b, xyz=xyz, low=low, high=high) for a, b, xyz, low, high in JOINTS]
    + ["</robot>"]
)
#: Share of samples in which hand and hook overlap: angles below 2 asin(0.1), of up to 3 rad.
PART = 0.2003 / 3.0


@pytest.fixture
def robot(tmp_path):
    path = tmp_path / "bot.urdf"
    path.write_text(URDF)
    return path


def checked(robot, *flags):
    done = run("check", robot, "--json", "--samples", "3000", *flags)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["self_collision"]


def test_pairs_that_always_never_and_sometimes_overlap_are_listed(robot):
    found = checked(robot, "--collisions")
    assert found["samples"] == 3000
    assert [row[:2] for row in found["default"]] == [
        ["arm", "bulk"], ["bulk", "hand"], ["bulk", "hook"], ["hand", "hook"],
    ]  # fmt: skip
    assert found["always"] == found["sometimes"] == []
    assert found["default"][0][2] == 1.0
    assert found["default"][3][2] == pytest.approx(PART, abs=0.02)
    neighbours = [["arm", "base"], ["arm", "hand"], ["arm", "hook"], ["base", "bulk"],
                  ["base", "far"]]  # fmt: skip
    assert found["adjacent"] == neighbours
    never = [["arm", "far"], ["base", "hand"], ["base", "hook"], ["bulk", "far"], ["far", "hand"],
             ["far", "hook"]]  # fmt: skip
    assert found["never"] == never


def test_links_that_are_apart_at_the_start_are_not_listed_as_always_overlapping(robot):
    """At zero the hook is a quarter turn away, so it overlaps the hand only in other poses."""
    robot.write_text(URDF.replace('"to hook" type="revolute"><origin xyz="0 0 1"',
                                  '"to hook" type="revolute"><origin xyz="1 0 0"'))  # fmt: skip
    found = checked(robot, "--collisions")
    assert [row[:2] for row in found["sometimes"]] == [["hand", "hook"]]
    assert found["sometimes"][0][2] == pytest.approx(PART, abs=0.02)
    always = [row for row in found["default"] if row[2] == 1.0]
    assert len(always) == 3


def test_check_reports_overlapping_links_only_with_the_option_collisions(robot):
    text = run("check", robot, "--collisions", "--samples", "50").stdout
    assert "pairs of links that overlap at qpos0: 4" in text
    assert "pairs that never overlap: 6" in text
    plain = run("check", robot)
    assert "links that overlap" not in plain.stdout
    assert json.loads(run("check", robot, "--json").stdout)["self_collision"] is None


def test_only_links_that_a_joint_connects_are_adjacent(robot, tmp_path):
    """A gripper is fixed to the hand. No joint connects it with the arm, which it overlaps."""
    # in the middle of the hand, where the arm's ball is
    grip = LINK.format(name="grip", z=0.5, r=0.1)
    fixed = '<joint name="f" type="fixed"><parent link="hand"/><child link="grip"/></joint>'
    robot.write_text(URDF.replace("</robot>", f"{grip}{fixed}</robot>"))
    found = checked(robot, "--collisions")
    assert ["grip", "hand"] in found["adjacent"]
    assert ["arm", "grip"] not in found["adjacent"]
    assert ["arm", "grip"] in [row[:2] for row in found["default"]]
    assert found["left_out"] == [["arm", "grip"]]


@pytest.mark.parametrize(
    ("kind", "group", "other"),
    [
        ("planar", "unlimited", "never"),
        ("floating", "unlimited", "never"),
        ("prismatic", "never", "unlimited"),
    ],
)
def test_pairs_across_unlimited_joints_are_not_listed_as_never_overlapping(
    kind, group, other, robot
):
    """Poses of an unlimited joint are sampled only within 1 m; the prismatic joint has limits."""
    robot.write_text(URDF.replace('"to arm" type="revolute"', f'"to arm" type="{kind}"'))
    srdf = robot.with_suffix(".srdf")
    found = checked(robot, "--collisions", "--write-srdf", srdf)
    far = [["arm", "far"], ["far", "hand"], ["far", "hook"]]
    assert [pair for pair in far if pair in found[group]] == far
    assert [pair for pair in far if pair in found[other]] == []
    assert ('link1="far" link2="hook"' in srdf.read_text()) == (group == "never")
    assert ["bulk", "far"] in found["never"]


def test_equal_seeds_draw_equal_samples(robot):
    one, two = (checked(robot, "--collisions", "--seed", "7") for _ in range(2))
    other = checked(robot, "--collisions", "--seed", "8")
    assert one == two
    assert one["default"] != other["default"]


def test_with_the_written_srdf_no_pairs_are_left_to_check(robot, tmp_path):
    srdf = tmp_path / "bot.srdf"
    done = run("check", robot, "--samples", "100", "--write-srdf", srdf)
    assert (done.returncode, done.stderr) == (0, "")
    assert srdf.read_text().count("<disable_collisions") == 15
    assert 'link1="hand" link2="hook" reason="Default"' in srdf.read_text()
    m = rb.load_urdf(robot, contact=rb.Contact(obstacles=()))
    assert m.ndistance == 0  # the SRDF beside the robot was read
    assert [f.severity for f in m.findings if f.code == "unknown-link"] == []
    again = run("check", robot, "--samples", "100", "--write-srdf", srdf, "--overwrite")
    assert again.returncode == 0
    assert srdf.read_text().count("<disable_collisions") == 15  # the old SRDF was not used


def test_an_existing_srdf_is_not_overwritten_without_the_option(robot, tmp_path):
    srdf = tmp_path / "bot.srdf"
    srdf.write_text("mine")
    done = run("check", robot, "--write-srdf", srdf)
    assert done.returncode == 2
    assert "--overwrite" in done.stderr
    assert srdf.read_text() == "mine"


@pytest.mark.parametrize(
    ("flags", "status"),
    [
        (["--samples", "10"], 2),
        (["--seed", "1"], 2),
        (["--overwrite"], 2),
        (["--write-srdf", "pairs.txt"], 2),
        (["--write-srdf", "/no/such/folder/pairs.srdf"], 2),
        (["--collisions", "--samples", "0"], 1),
        (["--collisions", "--samples", "1000001"], 1),
        (["--collisions", "--seed", "-1"], 1),
    ],
)
def test_bad_options_are_refused(robot, flags, status):
    assert run("check", robot, *flags).returncode == status


def test_one_srdf_for_two_robots_is_refused(robot, tmp_path):
    assert run("check", robot, robot, "--write-srdf", tmp_path / "a.srdf").returncode == 2


def test_no_srdf_is_written_for_a_mechanism(tmp_path):
    srdf = tmp_path / "m.srdf"
    done = run("check", tmp_path / "m.yaml", "--write-srdf", srdf)
    assert (done.returncode, srdf.exists()) == (2, False)
    assert "in exclude of a scene file" in done.stderr


def test_robots_without_geometries_and_saved_models_are_refused(robot, tmp_path):
    rb.save(rb.load_urdf(robot), tmp_path / "bot.npz")
    assert run("check", tmp_path / "bot.npz", "--collisions").returncode == 1
    scene = run("check", "config/scenes/gripper.yaml", "--collisions")
    assert (scene.returncode, "this is a scene" in scene.stderr) == (1, True)
    bare = tmp_path / "bare.urdf"
    bare.write_text(re.sub("<collision.*?</collision>", "", URDF, flags=re.DOTALL))
    assert run("check", bare, "--collisions").returncode == 1


def test_names_are_escaped_in_a_written_srdf(robot, tmp_path):
    robot.write_text(URDF.replace('"far"', '"a&lt;&quot;b"').replace("far skin", "skin"))
    srdf = tmp_path / "odd.srdf"
    assert run("check", robot, "--samples", "10", "--write-srdf", srdf).returncode == 0
    m = rb.load_urdf(robot, contact=True, srdf=srdf)
    assert [f.found for f in m.findings if f.code == "srdf"] == ["15"]


def test_pairs_of_a_link_and_an_obstacle_are_not_sampled():
    system = (
        rb.SystemBuilder("s", base="world")
        .body("ball", rb.shapes.box((0.1, 0.1, 0.1), mass=1.0))
        .joint("j", "revolute", "world", "ball")
        .geometry("ball", "ball", rb.Sphere(0.1))
        .floor()
    )
    found = sample_collisions(rb.build(system), system.description(), 5)
    assert (found.never, found.default, found.sometimes) == ((), {}, {})
