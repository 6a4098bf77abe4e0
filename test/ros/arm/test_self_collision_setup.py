# SPDX-License-Identifier: Apache-2.0
"""The arm controller finds the geometries for its collision checks, or logs the reason."""

from types import SimpleNamespace

import numpy as np
import pytest
from support.refusals import refused

pytest.importorskip("rclpy", reason="rclpy is not installed")

import rbdyn_ros as rb
from rbdyn_ros.control.motion.paths import Path
from rbdyn_ros.description.reading.robot_file import RobotFile
from rbdyn_ros.description.reading.xacro_files import xacro_arguments
from rbdyn_ros.description.scene_files.arm_scene import read_arm_scene
from rbdyn_ros.description.source import Source, read
from rbdyn_ros.description.urdf_files import urdf
from rbdyn_ros.errors import RbdynError
from rbdyn_ros.ros.arm.node import _without_scene
from rbdyn_ros.ros.arm.self_collision import collision_check

SHAPE = '<capsule radius="0.05" length="0.7"/>'
LINK = """<link name="l{n}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0"
ixz="0" iyz="0"/></inertial><collision><origin xyz="0 0 0.5"/><geometry>{shape}</geometry>
</collision></link>"""
JOINT = """<joint name="j{n}" type="{kind}"><origin xyz="0 0 1"/><axis xyz="0 1 0"/><parent
link="l{n}"/><child link="l{m}"/><limit lower="-3" upper="3" effort="9" velocity="9"/></joint>"""
SRDF = '<robot name="arm"><disable_collisions link1="l1" link2="l3"/></robot>'
FOLDED = Path([0.0, 2.0], np.array([np.zeros(3), [0.0, 2.3, 2.3]]))


def text(shape=SHAPE, kind="revolute"):
    links = "".join(LINK.format(n=n, shape=shape) for n in range(4))
    joints = "".join(JOINT.format(n=n, m=n + 1, kind=kind) for n in range(3))
    return f'<robot name="arm" version="1.2">{links}{joints}</robot>'


class Log:
    """A stand-in for a node, which stores the lines of its log."""

    def __init__(self):
        self.lines = []

    def get_logger(self):
        return SimpleNamespace(
            info=lambda line: self.lines.append(("info", line)),
            warning=lambda line: self.lines.append(("warning", line)),
        )


def made(source, scene=None, dofs=3, **values):
    node = Log()
    given = {
        "check_self_collision": True,
        "self_collision_margin": 0.01,
        "srdf": "",
        "strict": True,
        "package_dirs": [],
    }
    check = collision_check(
        node, SimpleNamespace(**given | values), source, np.arange(dofs), scene
    )
    return check, node.lines


def of_text(document):
    return Source(urdf.read_text(document), document, received=True)


def of_file(path, document):
    path.write_text(document)
    return Source(*urdf.read_file(path), RobotFile(path))


def test_a_robot_from_a_topic_or_a_file_is_checked_for_self_collision(tmp_path):
    for source in (of_text(text()), of_file(tmp_path / "arm.urdf", text())):
        check, lines = made(source)
        assert lines == []
        with refused(RbdynError, "self-collision", "l1"):
            check.check([FOLDED], np.zeros(3))


def with_tool(at):
    """Return the URDF of the arm with a tool at `at`, fixed across the last link."""
    tool = LINK.format(n="_tool", shape='<box size="0.04 0.04 0.4"/>').replace("0 0 0.5", "0 0 0")
    joint = '<joint name="jt" type="fixed"><origin xyz="{at}"/><parent link="l3"/><child '
    joint = joint.format(at=at) + 'link="l_tool"/></joint>'
    return text().replace("</robot>", tool + joint + "</robot>")


def test_collisions_of_a_tool_with_the_link_before_the_last_joint_are_refused():
    """In the simulation, tool and last link are one body, whose neighbour l2 is not checked."""
    check, lines = made(of_text(with_tool("0.4 0 0.1")))
    assert lines == []
    folded = Path([0.0, 2.0], np.array([np.zeros(3), [0.0, 0.0, 1.5]]))
    with refused(RbdynError, "self-collision", "l2") as caught:
        check.check([folded], np.zeros(3))
    assert "'l_tool'" in str(caught.value)


def test_a_tool_that_overlaps_a_link_is_logged_once_and_not_checked():
    check, [(level, line)] = made(of_text(with_tool("0 0 -0.1")))
    assert (level, "l2 and l_tool" in line, "1 pair" in line) == ("warning", True, True)
    check.check([Path([0.0, 2.0], np.array([np.zeros(3), [0.0, 0.0, 0.5]]))], np.zeros(3))


def test_a_given_srdf_or_the_srdf_beside_the_urdf_is_used(tmp_path):
    source = of_file(tmp_path / "arm.urdf", text())
    other = tmp_path / "other.srdf"
    other.write_text(SRDF)
    check, _ = made(source, srdf=str(other))
    check.check([FOLDED], np.zeros(3))
    check, _ = made(of_text(text()), srdf=str(other))
    check.check([FOLDED], np.zeros(3))
    (tmp_path / "arm.srdf").write_text(SRDF)
    check, lines = made(source)
    assert lines == []
    check.check([FOLDED], np.zeros(3))


@pytest.mark.parametrize(
    ("document", "values", "level", "word"),
    [
        (text(), {"check_self_collision": False}, "warning", "check_self_collision"),
        (text().replace("collision>", "visual>"), {}, "info", "no <collision>"),
        (text('<mesh filename="package://nowhere/a.stl"/>'), {}, "warning", "a.stl"),
    ],
)
def test_pairs_that_are_not_checked_are_logged(document, values, level, word):
    check, lines = made(of_text(document), **values)
    assert check is None
    assert [line[0] for line in lines] == [level]
    assert word in lines[0][1]


@pytest.mark.parametrize("content", [None, "", "<robot name='arm'><disable_collisions link1='l1'"])
def test_the_start_is_refused_if_a_given_srdf_cannot_be_used(content, tmp_path):
    """A mistyped path must not switch the check off."""
    path = tmp_path / "given.srdf"
    if content is not None:
        path.write_text(content)
    for source in (of_text(text()), of_file(tmp_path / "arm.urdf", text())):
        with refused(RbdynError, "bad-srdf", "srdf") as caught:
            made(source, srdf=str(path))
        assert "given.srdf" in str(caught.value)


def test_missing_meshes_and_overlaps_at_zero_positions_are_logged():
    """The mesh of one link is missing, and the other links are long and overlap at zero."""
    document = text(SHAPE.replace("0.7", "2.5")).replace(
        SHAPE.replace("0.7", "2.5"), '<mesh filename="package://nowhere/a.stl"/>', 1
    )
    source = Source(urdf.read_text(document, strict=False), document)
    check, lines = made(source, strict=False)
    assert check is not None
    assert [line[0] for line in lines] == ["warning"]
    assert "a.stl" in lines[0][1]
    assert "l1 and l3" in lines[0][1]


SCENE = """rbdyn_scene: 1
robot: {file: arm.urdf, xyz: [0, 0, 0.3], rpy: [0, 0, 1.5707963267948966]}
objects:
  ball: {sphere: {radius: 0.1}, mass: 1, xyz: [0, 1, 1]}
obstacles:
  wall: {box: {size: [4, 0.1, 4]}, xyz: [0, 1.5, 2]}
"""
TO_THE_WALL = Path([0.0, 2.0], np.array([np.zeros(3), [1.2, 0.0, 0.0]]))
BACKWARDS = Path([0.0, 2.0], -FOLDED.positions)
AWAY = Path([0.0, 2.0], np.array([np.zeros(3), [-1.2, 0.0, 0.0]]))


def scene_file(folder, document=SCENE):
    (folder / "arm.urdf").write_text(text())
    (folder / "hill.csv").write_text("0, 1\n1, 2\n")
    (folder / "scene.yaml").write_text(document)
    return str(folder / "scene.yaml")


def test_obstacles_of_a_scene_are_placed_relative_to_the_base_of_the_arm(tmp_path):
    """The arm is rotated, so its x axis points to the wall; free objects are ignored."""
    scene = read_arm_scene(scene_file(tmp_path))
    floor, wall = scene.contact.obstacles
    assert floor.origin.pos == pytest.approx((0.0, 0.0, -0.3))
    assert wall.origin.pos == pytest.approx((1.5, 0.0, 1.7))
    check, lines = made(of_text(text()), scene)
    assert lines == [("info", "trajectories keep clear of floor, wall")]
    check.check([AWAY], np.zeros(3))
    with refused(RbdynError, "scene-collision", "l3") as caught:
        check.check([TO_THE_WALL], np.zeros(3))
    assert "'wall'" in str(caught.value)
    with refused(RbdynError, "self-collision", "l1"):
        check.check([BACKWARDS], np.zeros(3))


def test_obstacles_are_checked_even_if_the_self_collision_check_is_off(tmp_path):
    scene = read_arm_scene(scene_file(tmp_path))
    check, lines = made(of_text(text()), scene, check_self_collision=False)
    assert [line[0] for line in lines] == ["warning", "info"]
    check.check([BACKWARDS], np.zeros(3))
    with refused(RbdynError, "scene-collision"):
        check.check([TO_THE_WALL], np.zeros(3))


def test_pairs_that_the_scene_excludes_are_not_checked(tmp_path):
    document = SCENE + "exclude: [[l2, wall], [l3, wall], [ball, wall]]"
    check, _ = made(of_text(text()), read_arm_scene(scene_file(tmp_path, document)))
    check.check([TO_THE_WALL], np.zeros(3))


def test_the_arm_is_the_robot_of_the_scene_unless_a_urdf_is_given(tmp_path):
    scene = read_arm_scene(scene_file(tmp_path))
    values = SimpleNamespace(urdf="", robot_description="", scene="scene.yaml")
    values.xacro_args, values.package_dirs = [], []
    assert _without_scene(values, scene).urdf == str(tmp_path / "arm.urdf")
    assert _without_scene(values, scene).scene == ""
    values.urdf = "other.urdf"
    assert _without_scene(values, scene).urdf == "other.urdf"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("robot: {", "robots:\n  other: {file: arm.urdf}\n  arm: {"),
        ("robot: {", "robot: {floating_base: true, "),
        ("obstacles:\n  wall: {box: {size: [4, 0.1, 4]}, xyz: [0, 1.5, 2]}", "floor: false"),
        ("box: {size: [4, 0.1, 4]}", "height_field: {file: hill.csv, size: [2, 2]}"),
    ],
)
def test_scenes_that_an_arm_controller_cannot_use_are_refused(old, new, tmp_path):
    assert old in SCENE
    with refused(RbdynError, "arm-scene", "scene"):
        read_arm_scene(scene_file(tmp_path, SCENE.replace(old, new)))


def test_a_scene_that_cannot_be_checked_is_refused(tmp_path):
    scene = read_arm_scene(scene_file(tmp_path))
    with refused(RbdynError, "arm-scene", "scene"):
        made(of_text(text().replace("collision>", "visual>")), scene)
    for name in ("l2", "arm/l2"):
        document = SCENE.replace("wall:", f"{name}:")
        if "/" in name:
            document = document.replace("robot: {", "robots:\n  arm: {")
        with refused(RbdynError, "arm-scene", "scene") as caught:
            made(of_text(text()), read_arm_scene(scene_file(tmp_path, document)))
        assert f"obstacle '{name}' has the name" in str(caught.value)
    named = text().replace("<collision>", '<collision name="skin">')
    document = SCENE.replace("wall:", "l2:")
    with refused(RbdynError, "arm-scene", "scene") as caught:
        made(of_text(named), read_arm_scene(scene_file(tmp_path, document)))
    assert "the name of a link" in str(caught.value)
    with refused(RbdynError, "unknown-geometry"):
        document = f"{SCENE}exclude: [[l2, door]]"
        made(of_text(text()), read_arm_scene(scene_file(tmp_path, document)))


def test_a_hull_near_an_obstacle_causes_no_warning_about_contact_forces(tmp_path):
    """Contact forces act only at the corners of a hull, but its distance to a box is exact."""
    tetrahedron = "\n".join(
        f"v {x} {y} {z}" for x, y, z in ((0, 0, 0), (0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.7))
    )
    faces = "f 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4"
    (tmp_path / "hull.obj").write_text(f"{tetrahedron}\n{faces}\n")
    scene = read_arm_scene(scene_file(tmp_path))
    source = of_file(tmp_path / "arm.urdf", text(f'<mesh filename="{tmp_path}/hull.obj"/>'))
    check, lines = made(source, scene)
    assert lines == [("info", "trajectories keep clear of floor, wall")]
    with refused(RbdynError, "scene-collision"):
        check.check([TO_THE_WALL], np.zeros(3))


def test_an_obstacle_that_overlaps_the_arm_at_zero_positions_causes_no_warning(tmp_path):
    document = SCENE.replace("xyz: [0, 1.5, 2]", "xyz: [0, 0, 2]")
    _, lines = made(of_text(text()), read_arm_scene(scene_file(tmp_path, document)))
    assert lines == [("info", "trajectories keep clear of floor, wall")]


MECHANISM = """rbdyn_mechanism: 1
name: arm
base: world
links:
  upper: {mass: 1, xyz: [0.3, 0, 0], inertia: [0.1, 0, 0, 0.1, 0, 0.1]}
joints:
  j: {type: revolute, parent: world, child: upper, axis: [0, 1, 0], xyz: [0, 0, 1],
      limit: {lower: -2, upper: 2, effort: 10, velocity: 3}}
geometries:
  skin: {link: upper, capsule: {radius: 0.05, length: 0.6}, xyz: [0.4, 0, 0], rpy: [0, 1.5708, 0]}
obstacles:
  block: {box: {size: [0.2, 0.2, 0.2]}, xyz: [0.7, 0, 0.4]}
"""
MECHANISM_SCENE = "rbdyn_scene: 1\nrobot: {file: arm.yaml, xyz: [0, 0, 1]}\n"


def mechanism(folder, document=MECHANISM):
    (folder / "arm.yaml").write_text(document)
    (folder / "scene.yaml").write_text(MECHANISM_SCENE)
    (folder / "hill.csv").write_text("0.5, 0.5\n0.5, 0.5\n")
    return Source(read(folder / "arm.yaml"), "", RobotFile(folder / "arm.yaml"))


@pytest.mark.parametrize("floor", ["", "  floor: {plane: {}, xyz: [0, 0, -0.2]}\n"])
def test_the_controller_places_obstacles_of_a_mechanism_as_the_simulator_does(floor, tmp_path):
    source = mechanism(tmp_path, MECHANISM + floor)
    scene = tmp_path / "scene.yaml"
    seen = made(source, read_arm_scene(str(scene)), dofs=1)[0].model
    simulated = rb.load(scene)
    distances = []
    for m in (seen, simulated):
        d = rb.make_data(m)
        d.qpos[:] = 0.9
        distances.append([rb.distance(m, d, "skin", name).distance for name in ("block", "floor")])
    np.testing.assert_allclose(*distances, rtol=0.0, atol=1e-12)
    assert distances[0][0] > 0.9


def test_a_height_field_of_a_mechanism_is_refused(tmp_path):
    hill = "  hill: {height_field: {file: hill.csv, size: [4, 4]}}\n"
    source = mechanism(tmp_path, MECHANISM + hill)
    with refused(RbdynError, "arm-scene", "scene") as caught:
        made(source, read_arm_scene(str(tmp_path / "scene.yaml")), dofs=1)
    assert "'hill' of the robot's file is a height field" in str(caught.value)


def test_an_srdf_of_a_mechanism_is_refused(tmp_path):
    source = mechanism(tmp_path)
    for check in (True, False):
        with refused(RbdynError, "bad-srdf", "srdf") as caught:
            made(source, dofs=1, srdf="/no/such.srdf", check_self_collision=check)
    assert "exclude in a scene file" in str(caught.value)


def test_the_parameters_of_the_node_reach_the_scene_and_its_robot(tmp_path):
    """Meshes are found in package_dirs of the node, whose xacro_args override the scene's."""
    (tmp_path / "far/cups").mkdir(parents=True)
    (tmp_path / "far/cups/cup.obj").write_text(
        "v 0 0 0\nv 0.1 0 0\nv 0 0.1 0\nv 0 0 0.1\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n"
    )
    robot = "robot: {file: arm.urdf.xacro, xacro_args: {side: left, length: 1}}"
    cup = "objects:\n  cup: {mesh: {file: package://cups/cup.obj}, mass: 1}"
    (tmp_path / "scene.yaml").write_text(f"rbdyn_scene: 1\n{robot}\n{cup}\n")
    with refused(RbdynError, "package-not-found"):
        read_arm_scene(str(tmp_path / "scene.yaml"))
    scene = read_arm_scene(str(tmp_path / "scene.yaml"), [str(tmp_path / "far")])
    values = SimpleNamespace(urdf="", robot_description="", scene="scene.yaml")
    values.xacro_args, values.package_dirs = ["side:=right", "speed:=2"], [str(tmp_path / "far")]
    found = _without_scene(values, scene)
    assert xacro_arguments(found.xacro_args) == {"side": "right", "length": "1", "speed": "2"}
    assert [*map(str, found.package_dirs)] == values.package_dirs
