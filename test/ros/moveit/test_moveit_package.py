# SPDX-License-Identifier: Apache-2.0
"""Pinocchio, urdf_parser_py and our readers can read the packages of `rbdyn moveit`."""

import ast
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import yaml
from support.commands import run
from support.robots import find
from urdf_parser_py.urdf import URDF

import rbdyn_ros as rb
from rbdyn_ros.ros.arm import parameters as arm_parameters
from rbdyn_ros.ros.simulator import parameters as simulator_parameters
from rbdyn_ros.share import bundled_robot

BRICK = (
    '<inertial><mass value="1"/>'
    '<inertia ixx="0.1" iyy="0.2" izz="0.25" ixy="0" ixz="0" iyz="0"/></inertial>'
)
LIMIT = '<limit lower="-1" upper="1" effort="10" velocity="2"/>'
ARM = [("a", "revolute", "base", "one")]
PANDA_JOINTS = [f"panda_joint{k}" for k in range(1, 8)]


def urdf(joints, links):
    """Return the URDF of a robot; its joints are given as (name, type, parent, child)."""
    rows = "".join(
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<axis xyz="0 1 0"/>{LIMIT}</joint>'
        for name, kind, parent, child in joints
    )
    bodies = "".join(f'<link name="{name}">{BRICK}</link>' for name in links)
    return f'<robot name="robot">{bodies}{rows}</robot>'


def write(folder, joints, links):
    path = folder / "robot.urdf"
    path.write_text(urdf(joints, links))
    return path


class Package:
    """A package that `rbdyn moveit` has written into a folder."""

    def __init__(self, folder, *words):
        done = run("moveit", words[0], folder, "--samples", 100, *words[1:])
        assert (done.returncode, done.stderr) == (0, "")
        self.folder, self.text = folder, done.stdout
        self.stem = folder.name.removesuffix("_moveit_config")
        self.urdf = folder / "config" / f"{self.stem}.urdf"
        self.srdf = folder / "config" / f"{self.stem}.srdf"
        self.semantic = ET.parse(self.srdf).getroot()

    def yaml(self, name):
        return yaml.safe_load((self.folder / "config" / f"{name}.yaml").read_text())

    def tags(self, tag):
        return [dict(element.attrib) for element in self.semantic.iter(tag)]

    @property
    def disabled(self):
        rows = self.tags("disable_collisions")
        return {frozenset((row["link1"], row["link2"])) for row in rows}


def files(package, *below):
    return [path for path in package.folder.joinpath(*below).rglob("*") if path.is_file()]


@pytest.fixture(scope="module")
def panda(tmp_path_factory):
    folder = tmp_path_factory.mktemp("panda") / "panda_moveit_config"
    return Package(folder, find("panda.urdf"))


@pytest.fixture(scope="module")
def ur5(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ur5") / "ur5_moveit_config"
    return Package(folder, find("ur5_robot.urdf"))


@pytest.fixture(params=["panda", "ur5"])
def package(request):
    return request.getfixturevalue(request.param)


def test_the_controller_has_the_joints_of_the_chain_in_the_srdf(package):
    """urdf_parser_py finds the joints between the base link and the tip link of the chain."""
    robot = URDF.from_xml_string(package.urdf.read_bytes())
    (chain,) = package.tags("chain")
    names = robot.get_chain(chain["base_link"], chain["tip_link"], links=False)
    moving = [name for name in names if robot.joint_map[name].type != "fixed"]
    controllers = package.yaml("moveit_controllers")["moveit_simple_controller_manager"]
    assert controllers["arm_controller"]["joints"] == moving
    ours = package.yaml("arm_controller")["arm_controller"]["ros__parameters"]
    assert ours["joints"] == moving


def test_joint_limits_yaml_has_the_velocity_limits_of_the_urdf(package):
    joints = URDF.from_xml_string(package.urdf.read_bytes()).joint_map
    limits = package.yaml("joint_limits")["joint_limits"]
    for name, row in limits.items():
        assert row["max_velocity"] == joints[name].limit.velocity
        assert row["has_velocity_limits"] is True
        assert row["has_acceleration_limits"] is False
        # YAML must say 1.0, as a parameter of type double refuses the integer 1
        assert all(type(value) is float for key, value in row.items() if key.startswith("max"))


def test_joint_limits_yaml_does_not_change_the_limits_of_the_robot(panda):
    """The package's joint_limits.yaml lies beside its URDF, so our readers read both."""
    m, original = rb.load_urdf(panda.urdf), rb.load_urdf(find("panda.urdf"))
    for name in ("jnt_velocity", "jnt_acceleration", "jnt_jerk", "jnt_range", "jnt_effort"):
        np.testing.assert_array_equal(getattr(m, name), getattr(original, name))


def test_limits_of_acceleration_and_jerk_reach_the_package(tmp_path):
    path = write(tmp_path, [("a", "revolute", "base", "one")], ["base", "one"])
    text = path.read_text().replace("<robot ", '<robot version="1.2" ')
    path.write_text(text.replace('velocity="2"', 'velocity="2" acceleration="3" jerk="40"'))
    found = Package(tmp_path / "quick_moveit_config", path)
    assert found.yaml("joint_limits")["joint_limits"]["a"] == {
        "has_velocity_limits": True,
        "max_velocity": 2.0,
        "has_acceleration_limits": True,
        "max_acceleration": 3.0,
        "has_jerk_limits": True,
        "max_jerk": 40.0,
    }


def test_pinocchio_reads_states_and_disabled_pairs_from_the_srdf(package):
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromUrdf(str(package.urdf))
    folders = [str(package.folder.parent)]
    shapes = pin.buildGeomFromUrdf(
        model, str(package.urdf), pin.GeometryType.COLLISION, package_dirs=folders
    )
    shapes.addAllCollisionPairs()
    before = shapes.collisionPairs.tolist()
    pin.removeCollisionPairs(model, shapes, str(package.srdf))
    names = [shape.name.rpartition("_")[0] for shape in shapes.geometryObjects]
    left = {frozenset((names[p.first], names[p.second])) for p in shapes.collisionPairs}
    assert len(before) > len(shapes.collisionPairs)
    assert left.isdisjoint(package.disabled)
    assert f"{len(left)} pairs of links may collide" in package.text
    pin.loadReferenceConfigurations(model, str(package.srdf))
    for state in package.semantic.iter("group_state"):
        q = model.referenceConfigurations[state.get("name")]
        for joint in state:
            at = model.joints[model.getJointId(joint.get("name"))].idx_q
            assert q[at] == float(joint.get("value"))


def test_the_states_in_the_srdf_become_keyframes_of_the_loaded_robot(package):
    m = rb.load_urdf(package.urdf)
    assert {row["name"] for row in package.tags("group_state")} == set(m.key_names)
    assert not [f for f in m.findings if f.severity == "warning" and "srdf" in f.element]
    start = package.yaml("simulator")["simulator"]["ros__parameters"]["initial_positions"]
    key = m.key(m.key_names[0]).qpos
    for name, position in start.items():
        assert key[m.joint(name).id] == position


def test_the_gripper_is_the_end_effector_of_the_arm(panda):
    (end,) = panda.tags("end_effector")
    assert end == {
        "name": "gripper",
        "parent_link": "panda_link8",
        "group": "gripper",
        "parent_group": "arm",
    }
    links = {row["name"] for row in panda.tags("link")}
    assert links == {"panda_hand", "panda_hand_tcp", "panda_leftfinger", "panda_rightfinger"}
    managed = panda.yaml("moveit_controllers")["moveit_simple_controller_manager"]
    assert managed["controller_names"] == ["arm_controller", "simulator"]
    assert managed["simulator"]["joints"] == ["panda_finger_joint1"]
    assert managed["simulator"]["max_effort"] > 0.0  # the action refuses an effort of 0
    states = {row["name"]: row["group"] for row in panda.tags("group_state")}
    assert states == {"default": "arm", "open": "gripper", "closed": "gripper"}


def test_pairs_that_the_robots_own_srdf_disables_stay_disabled(panda):
    own = find("panda.urdf").parents[1] / "srdf" / "panda.srdf"
    rows = ET.parse(own).getroot().iter("disable_collisions")
    pairs = {frozenset((row.get("link1"), row.get("link2"))) for row in rows}
    assert pairs
    assert pairs <= panda.disabled


def test_a_robot_without_gripper_has_one_controller(ur5):
    assert not ur5.tags("end_effector")
    assert [row["name"] for row in ur5.tags("group")] == ["arm"]
    (chain,) = ur5.tags("chain")
    assert chain == {"base_link": "base_link", "tip_link": "tool0"}
    assert not ur5.tags("virtual_joint")  # its root link already is the world
    managed = ur5.yaml("moveit_controllers")["moveit_simple_controller_manager"]
    assert managed["controller_names"] == ["arm_controller"]
    assert "grippers" not in ur5.yaml("simulator")["simulator"]["ros__parameters"]


def test_the_srdf_fixes_the_root_link_to_the_world(panda):
    assert panda.tags("virtual_joint") == [
        {
            "name": "world_joint",
            "type": "fixed",
            "parent_frame": "world",
            "child_link": "panda_link0",
        }
    ]


@pytest.mark.parametrize("node", ["simulator", "arm_controller"])
def test_the_nodes_know_all_parameters_in_the_package(package, node):
    table = {"simulator": simulator_parameters, "arm_controller": arm_parameters}[node]
    known = {parameter.name: parameter for parameter in table.PARAMETERS}
    given = package.yaml(node)[node]["ros__parameters"]
    given.pop("initial_positions", None)
    for name, value in given.items():
        known[name].checked(tuple(value) if isinstance(value, list) else value)


def test_every_file_of_the_package_is_complete_and_readable(package):
    names = {p.relative_to(package.folder).as_posix() for p in package.folder.rglob("*")}
    assert {"package.xml", "CMakeLists.txt", ".setup_assistant", "config/moveit.rviz"} <= names
    for path in (*files(package, "config"), *files(package, "launch")):
        assert "@{" not in path.read_text(), path
    assert "@{" not in (package.folder / "package.xml").read_text()
    launch = (package.folder / "launch" / "moveit.launch.py").read_text()
    ast.parse(launch)
    assert f'PACKAGE, NAME = "{package.folder.name}", "{package.stem}"' in launch
    manifest = ET.parse(package.folder / "package.xml").getroot()
    assert manifest.findtext("name") == package.folder.name
    origin = yaml.safe_load((package.folder / ".setup_assistant").read_text())
    for place in origin["moveit_setup_assistant_config"].values():
        assert (package.folder / place["relative_path"]).is_file()
    planned = yaml.safe_load((package.folder / "config" / "moveit.rviz").read_text())
    displays = planned["Visualization Manager"]["Displays"]
    (display,) = [d for d in displays if d["Class"] == "moveit_rviz_plugin/MotionPlanning"]
    assert display["Planning Request"]["Planning Group"] == "arm"


def test_meshes_that_are_in_no_ros_package_are_copied(panda):
    names = {e.get("filename") for e in ET.parse(panda.urdf).getroot().iter("mesh")}
    start = "package://panda_moveit_config/meshes/"
    assert names
    assert all(name.startswith(start) for name in names)
    found = {p.relative_to(panda.folder / "meshes").as_posix() for p in files(panda, "meshes")}
    assert found == {name.removeprefix(start) for name in names}
    original = find("panda.urdf").parents[1] / "meshes"
    for name in found:
        assert (panda.folder / "meshes" / name).read_bytes() == (original / name).read_bytes()
    assert "example-robot-data" not in (panda.folder / "package.xml").read_text()
    # arm_controller checks trajectories for self-collision with the geometries
    m = rb.load_urdf(panda.urdf, contact=True)
    assert m.ngeomlink == rb.load_urdf(find("panda.urdf"), contact=True).ngeomlink


def test_meshes_of_an_installed_package_keep_their_uris(tmp_path, monkeypatch):
    (tmp_path / "prefix" / "share" / "example-robot-data").mkdir(parents=True)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "prefix"))
    found = Package(tmp_path / "panda_moveit_config", find("panda.urdf"))
    assert not files(found, "meshes")
    names = [e.get("filename") for e in ET.parse(found.urdf).getroot().iter("mesh")]
    assert all(name.startswith("package://example-robot-data/") for name in names)
    manifest = (found.folder / "package.xml").read_text()
    assert "<exec_depend>example-robot-data</exec_depend>" in manifest


def test_the_default_state_is_within_limits_that_exclude_zero(tmp_path):
    """The simulator starts in this state, and MoveIt plans only from states within the limits."""
    joints = [("a", "revolute", "base", "one")]
    path = write(tmp_path, joints, ["base", "one"])
    path.write_text(path.read_text().replace('lower="-1"', 'lower="0.25"'))
    found = Package(tmp_path / "low_moveit_config", path)
    (row,) = found.tags("joint")
    assert row == {"name": "a", "value": "0.25"}
    assert found.yaml("kinematics")["arm"]["position_only_ik"] is True


JAWS = [*ARM, ("jaw", "prismatic", "one", "finger")]
SRDF = """<robot name="robot">
<group_state name="shut" group="hand"><joint name="jaw" value="0.5"/></group_state>
<group_state name="up" group="arm"><joint name="a" value="0.75"/></group_state></robot>"""


def test_states_of_the_hand_are_not_written_as_states_of_the_arm(tmp_path):
    path = write(tmp_path, JAWS, ["base", "one", "finger"])
    beside = path.with_suffix(".srdf")
    for name, text, states, start in (
        ("both", SRDF, {"up": "arm"}, 0.75),
        ("hand", SRDF.replace('"a"', '"other"'), {"home": "arm"}, 0.0),
    ):
        beside.write_text(text)
        found = Package(tmp_path / name, path, "--gripper", "jaw")
        groups = {row["name"]: row["group"] for row in found.tags("group_state")}
        ends = dict.fromkeys(("lower", "upper", "shut"), "gripper")
        assert groups == {**states, **ends}
        simulated = found.yaml("simulator")["simulator"]["ros__parameters"]
        assert simulated["initial_positions"] == {"a": start}
        (shut,) = [x for x in found.semantic.iter("group_state") if x.get("name") == "shut"]
        assert [dict(x.attrib) for x in shut] == [{"name": "jaw", "value": "0.5"}]


def test_a_pair_that_the_srdf_enables_is_checked(tmp_path):
    """The spheres never touch, so sampling alone would disable the pair."""
    ball = '<collision><geometry><sphere radius="0.01"/></geometry></collision>'
    path = write(tmp_path, [*ARM, ("b", "revolute", "one", "two")], ["base", "one", "two"])
    text = path.read_text().replace(BRICK, BRICK + ball)
    path.write_text(text.replace("<axis", '<origin xyz="0 0 1"/><axis'))
    pair = frozenset(("base", "two"))
    assert pair in Package(tmp_path / "before", path).disabled
    rule = '<robot name="robot"><enable_collisions link1="two" link2="base"/></robot>'
    path.with_suffix(".srdf").write_text(rule)
    found = Package(tmp_path / "after", path)
    assert pair not in found.disabled
    assert "1 pair of links may collide" in found.text


def meshed(folder, *names):
    """Write the URDF of a robot with visual meshes of these names; return its path."""
    shapes = "".join(
        f"<visual><geometry><mesh filename='{name}'/></geometry></visual>" for name in names
    )
    path = write(folder, ARM, ["base", "one"])
    path.write_text(path.read_text().replace("</link>", shapes + "</link>", 1))
    return path


def put(folder, *names):
    for k, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"solid {k}\nendsolid {k}\n")


def test_copied_meshes_get_unique_names_without_special_characters(tmp_path):
    names = ["w/2/s.stl", "x/m/s.stl", "y/m/s.stl", "z/m_1/s.stl", "p & q/a&b.stl"]
    put(tmp_path, *names)
    path = meshed(tmp_path, *(name.replace("&", "&amp;") for name in names))
    found = Package(tmp_path / "copied", path)
    addresses = [e.get("filename") for e in ET.parse(found.urdf).getroot().iter("mesh")]
    assert all(re.fullmatch(r"package://copied/meshes/[\w.-]+/[\w.-]+", x) for x in addresses)
    places = [found.folder / x.removeprefix("package://copied/") for x in addresses]
    assert [p.read_bytes() for p in places] == [(tmp_path / n).read_bytes() for n in names]


def test_a_warning_names_the_meshes_that_are_not_copied(tmp_path):
    put(tmp_path, "a.stl", "b.glb")
    path = meshed(tmp_path, "a.stl", "b.glb", "none.stl")
    path.write_text(path.read_text().replace("</robot>", "<!-- <mesh filename='c'/> --></robot>"))
    done = run("moveit", path, tmp_path / "package", "--samples", 1)
    assert done.returncode == 0
    text = "meshes are not copied, and MoveIt may not find them: 'b.glb', 'none.stl'; only"
    assert text in done.stderr


def test_moveit_gets_acceleration_limits_in_a_separate_file(package):
    """The planner Pilz needs these limits. Our nodes read joint_limits.yaml instead."""
    rows = package.yaml("moveit_joint_limits")["joint_limits"]
    assert rows.keys() == package.yaml("joint_limits")["joint_limits"].keys()
    for row in rows.values():
        assert (row["has_acceleration_limits"], row["max_acceleration"]) == (True, 1.0)
    launch = (package.folder / "launch" / "moveit.launch.py").read_text()
    assert 'builder.joint_limits(file_path="config/moveit_joint_limits.yaml")' in launch


@pytest.mark.parametrize("words", [("--samples", 0), ("--seed", -3), ("--tip", "nolink")])
def test_arguments_out_of_range_end_with_status_2(tmp_path, words):
    done = run("moveit", bundled_robot("seven_dof_arm"), tmp_path / "package", *words)
    assert done.returncode == 2
    assert str(words[1]) in done.stderr


def test_a_joint_can_be_the_gripper_and_its_parent_link_becomes_the_tip(tmp_path):
    joints = [
        ("a", "revolute", "base", "one"),
        ("b", "revolute", "one", "two"),
        ("flange", "fixed", "two", "palm"),
        ("jaw", "prismatic", "palm", "finger"),
    ]
    path = write(tmp_path, joints, ["base", "one", "two", "palm", "finger"])
    found = Package(tmp_path / "jaws", path, "--gripper", "jaw")
    (chain,) = found.tags("chain")
    assert chain == {"base_link": "base", "tip_link": "two"}
    assert {row["name"] for row in found.tags("link")} == {"palm", "finger"}
    states = {row["name"] for row in found.tags("group_state")}
    assert states == {"home", "lower", "upper"}


def test_the_option_tip_selects_one_leg_of_a_quadruped(tmp_path):
    found = Package(tmp_path / "leg", find("solo12.urdf"), "--tip", "FL_FOOT")
    joints = found.yaml("arm_controller")["arm_controller"]["ros__parameters"]["joints"]
    assert joints == ["FL_HAA", "FL_HFE", "FL_KFE"]


BRANCHES = [("a", "revolute", "base", "one"), ("b", "revolute", "base", "two")]
FIXED = [("a", "fixed", "base", "one")]
AWAY = [*BRANCHES, ("jaw", "prismatic", "two", "finger")]
ELBOW = [("b", "revolute", "one", "two")]
REFUSED = {
    "several arms": (BRANCHES, (), "2 chains of joints, which end in the links 'one', 'two'"),
    "no arm": (FIXED, (), "it has no joint that moves"),
    "unknown tip": (BRANCHES, ("--tip", "on"), "there is no link 'on' (did you mean 'one'?)"),
    "tip without joint": (BRANCHES, ("--tip", "base"), "no joint that can be controlled lies"),
    "unknown gripper": (BRANCHES, ("--gripper", "hand"), "there is no joint and no preset 'hand'"),
    "gripper elsewhere": (AWAY, ("--tip", "one", "--gripper", "jaw"), "is not a link of the arm"),
    "tip in the gripper": (
        [("a", "revolute", "base", "one"), ("jaw", "prismatic", "one", "finger")],
        ("--tip", "finger", "--gripper", "jaw"),
        "the tip 'finger' is a link of the gripper 'jaw', which link 'one' carries",
    ),
    "an elbow as gripper": (
        [("a", "revolute", "base", "one"), *ELBOW, ("c", "revolute", "two", "three")],
        ("--gripper", "b"),
        "the gripper 'b' carries further joints that can be commanded, 'c'",
    ),
    "two fingers": (
        [*ELBOW, ("left", "prismatic", "two", "l"), ("right", "prismatic", "two", "r")],
        ("--gripper", "left"),
        "carries further joints that can be commanded, 'right'",
    ),
    "only a gripper": (
        [("jaw", "prismatic", "base", "one")],
        ("--gripper", "jaw"),
        "has no arm: no joint is left that can be controlled",
    ),
}


@pytest.mark.parametrize(("joints", "words", "text"), REFUSED.values(), ids=REFUSED)
def test_a_robot_without_an_arm_is_refused(tmp_path, joints, words, text):
    links = dict.fromkeys(link for joint in joints for link in joint[2:])
    path = write(tmp_path, joints, links)
    done = run("moveit", path, tmp_path / "package", *words)
    assert done.returncode == (2 if words and "has no arm" not in text else 1)
    assert text in done.stderr
    assert not (tmp_path / "package").exists()


def test_an_mjcf_file_is_refused(tmp_path):
    path = tmp_path / "robot.xml"
    path.write_text(
        "<mujoco><worldbody><body><joint type='hinge'/><geom size='.1'/></body></worldbody>"
        "</mujoco>"
    )
    done = run("moveit", path, tmp_path / "package")
    assert done.returncode == 1
    assert "MoveIt reads a URDF; write one with rbdyn convert" in done.stderr


@pytest.mark.parametrize("option", ["--floating-base", "--contact", "--repair"])
def test_options_without_effect_are_refused(tmp_path, option):
    done = run("moveit", bundled_robot("seven_dof_arm"), tmp_path / "package", option)
    assert done.returncode == 2
    assert f"{option} has no effect" in done.stderr


def test_a_folder_with_files_or_an_invalid_package_name_is_refused(tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    for name, text in {"full": "it is not empty", "Bad-Name": "names the package"}.items():
        done = run("moveit", bundled_robot("seven_dof_arm"), tmp_path / name)
        assert done.returncode == 2
        assert text in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["full"]


def test_states_in_the_srdf_have_finite_positions(panda):
    values = [float(row["value"]) for row in panda.tags("joint")]
    assert np.isfinite(values).all()
