# SPDX-License-Identifier: Apache-2.0
"""Every command and every function accepts the same sources and loads the same robot from them."""

import argparse
import threading
from types import SimpleNamespace

import pytest
import yaml
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.cli import make_parser
from rbdyn_ros.commands.line.common import loaded_robot, mounted_robot
from rbdyn_ros.commands.sim import ros_words
from rbdyn_ros.description.appearance.shapes import read_appearance
from rbdyn_ros.errors import DescriptionError, RbdynError

pytest.importorskip("xacro")

#: A robot that needs xacro arguments, a package, and the repair of a flaw (no <limit>).
ARM = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="length" default="1"/>
  <xacro:include filename="$(find pack)/tool.xacro"/>
  <link name="base"/>
  <link name="upper">
    <inertial><mass value="$(arg length)"/>
      <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><sphere radius="$(arg length)"/></geometry></visual>
    <collision><geometry><sphere radius="$(arg length)"/></geometry></collision>
  </link>
  <joint name="j" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
  </joint>
</robot>"""
TOOL = '<robot><link name="tool"/><joint name="t" type="fixed"><parent link="base"/>'
TOOL += '<child link="tool"/></joint></robot>'
#: For each command that loads a robot: the name of its argument, and other required words.
COMMANDS = {
    "check": ("files", []),
    "view": ("file", []),
    "convert": ("robot", ["out.xml"]),
    "codegen": ("robot", ["-o", "out"]),
    "identify": ("robot", ["bag.mcap"]),
    "excite": ("robot", ["-o", "motion.csv"]),
    "bench": ("robot", []),
    "sim": ("file", []),
}
ARGUMENTS = {"package_dir", "floating_base", "contact", "repair", "imports"}


@pytest.fixture
def arm(tmp_path):
    """Return a robot file, and the folder elsewhere in which its package is."""
    (tmp_path / "here").mkdir()
    (tmp_path / "here/arm.urdf.xacro").write_text(ARM)
    (tmp_path / "far/ws/clone").mkdir(parents=True)
    (tmp_path / "far/ws/clone/package.xml").write_text("<package><name>pack</name></package>")
    (tmp_path / "far/ws/clone/tool.xacro").write_text(TOOL)
    return tmp_path / "here/arm.urdf.xacro", tmp_path / "far"


def parsed(command, path, *words):
    """Return the options and the robot file that the parser reads from a command line."""
    name, more = COMMANDS[command]
    options = make_parser()[0].parse_args([command, str(path), *more, *words])
    file = getattr(options, name)
    return options, file[0] if isinstance(file, list) else file


def by_command(command):
    def door(path, folder, floating):
        words = ["length:=2", "--package-dir", str(folder), "--repair", "--contact"]
        options, file = parsed(command, path, *words, *["--floating-base"] * floating)
        if command == "sim":
            options.ros_args = []  # as without --ros-args
            return by_parameters(ros_words(options, False), file)
        return loaded_robot(options, file)[0]

    return door


def by_parameters(words, path):
    """Return the robot that the simulator node loads with these parameters."""
    pytest.importorskip("rclpy")
    from rbdyn_ros.ros.common.graph.source import load_robot

    pairs = [word.split(":=", 1) for word in words if ":=" in word]
    values = {name: yaml.safe_load(text) for name, text in pairs}
    usual = {"robot_description": "", "required_sha256": "", "xacro_args": [], "package_dirs": []}
    values = {"urdf": str(path), "strict": True, **usual, **values}
    node = SimpleNamespace(get_logger=lambda: SimpleNamespace(warning=lambda _: None))
    return load_robot(node, SimpleNamespace(**values), threading.Event())[0]


def by_call(function):
    def door(path, folder, floating):
        how = {"xacro_args": {"length": 2}, "package_dirs": folder, "floating_base": floating}
        return function(path, strict=False, contact=True, **how)

    return door


def by_robot_file(path, folder, floating):
    file = rb.RobotFile(path, {"length": 2}, [folder])
    return rb.load(file, strict=False, contact=True, floating_base=floating)


def keys(path, folder):
    return {"file": str(path), "xacro_args": {"length": 2}, "package_dirs": [str(folder)]}


def by_scene_file(path, folder, floating):
    scene = path.parent / "scene.yaml"
    robot = keys(path, folder) | {"floating_base": floating}
    scene.write_text(yaml.safe_dump({"rbdyn_scene": 1, "robot": robot}))
    return rb.load(scene, strict=False)


def by_mechanism_file(path, folder, floating):
    file = path.parent / "mechanism.yaml"
    top = {"rbdyn_mechanism": 1, "robot": keys(path, folder), "contact": True}
    file.write_text(yaml.safe_dump(top))
    return rb.load(file, strict=False, floating_base=floating)


def by_trial_file(path, folder, floating):
    from rbdyn_ros.trials.files.reader import load

    file = path.parent / "trial.yaml"
    top = {"robot": keys(path, folder), "repair": True, "contact": True, "duration": 1.0}
    law = {"controller": {"law": "pd_gravity", "stiffness": 1.0, "damping": 1.0}}
    top |= {"rbdyn_trial": 1, "floating_base": floating, **law}
    file.write_text(yaml.safe_dump(top))
    return load(file).m


DOORS = {
    **{command: by_command(command) for command in COMMANDS},
    "rb.load": by_call(rb.load),
    "rb.load_urdf": by_call(rb.load_urdf),
    "rb.RobotFile": by_robot_file,
    "scene file": by_scene_file,
    "mechanism file": by_mechanism_file,
    "trial file": by_trial_file,
}


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_every_function_and_command_loads_the_same_robot(arm, door, floating):
    m = door(*arm, floating)
    assert m.nv == 1 + 6 * floating
    assert m.body_mass[m.body_id("upper")] == 2.0
    assert "tool" in m.frame_names
    assert m.ngeom == 2  # these are the sphere and the floor


MJCF = """<mujoco model="mjcf"><worldbody><geom name="ground" type="plane" size="1 1 1"/>
  <body name="upper"><joint name="j"/><geom size="0.1" mass="2"/></body></worldbody></mujoco>"""


SDF = """<sdf version="1.11"><model name="sdf"><link name="upper">
  <inertial><mass>2</mass></inertial>
  <collision name="c"><geometry><sphere><radius>0.1</radius></sphere></geometry></collision>
  <visual name="v"><geometry><sphere><radius>0.1</radius></sphere></geometry></visual></link>
  <joint name="j" type="revolute"><parent>world</parent><child>upper</child>
  <axis><xyz>0 0 1</xyz></axis></joint></model></sdf>"""
MECHANISM = """rbdyn_mechanism: 1
name: yaml
contact: true
base: world
links: {upper: {mass: 2, inertia: [1, 1, 1, 0, 0, 0]}}
joints: {j: {type: continuous, parent: world, child: upper}}
geometries: {g: {link: upper, sphere: {radius: 0.1}}}
"""
OTHERS = {
    "mjcf.xml": MJCF,
    "mjcf.mjcf": MJCF,
    "sdf.sdf": SDF,
    "sdf.xml": SDF,
    "yaml.yaml": MECHANISM,
}


@pytest.fixture(params=OTHERS)
def other(request, tmp_path):
    """Write a robot in another format; return its file."""
    (tmp_path / request.param).write_text(OTHERS[request.param])
    return tmp_path / request.param


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_loads_every_format(other, command):
    options, file = parsed(command, other, "--contact")
    if command == "sim":
        options.ros_args = []
        m = by_parameters(ros_words(options, False), file)
    else:
        m = loaded_robot(options, file)[0]
    assert (m.nv, m.ngeom, m.name) == (1, 2, other.stem)


@pytest.mark.parametrize("top", ["robot", "scene", "scene call", "text"])
def test_scene_files_mechanism_files_and_functions_load_every_format(other, top):
    scene = other.parent / "scene.yaml"
    scene.write_text(yaml.safe_dump({"rbdyn_scene": 1, "robot": other.name}))
    text = other.read_text() if top == "text" and other.suffix != ".yaml" else None
    doors = {
        "robot": lambda: rb.load(rb.RobotFile(other), contact=True),
        "scene": lambda: rb.load(scene),
        "scene call": lambda: rb.scene(rb.RobotFile(other)),
        "text": lambda: rb.load_urdf(text or other, contact=True),
    }
    m = doors[top]()
    assert m.body_mass[m.body_id("upper")] == 2.0
    assert m.nv == 1
    assert m.ngeomlink == 1  # a scene has its own floor
    looks = read_appearance(text or other)
    assert [look.link for look in (looks.visuals or looks.collisions)] == ["upper"]


def test_xacro_arguments_for_another_format_are_refused(other):
    with refused(DescriptionError, "xacro-args"):
        rb.load(other, xacro_args={"length": 2})


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_the_same_arguments(command):
    parser = make_parser()[1].choices[command]
    own = {action.dest for action in parser._actions}
    assert own >= ARGUMENTS | {COMMANDS[command][0]}
    assert "NAME:=VALUE" in parser.format_help()


@pytest.mark.parametrize("command", ["codegen", "identify", "excite"])
def test_contact_is_refused_where_it_has_no_effect(arm, command):
    options, _ = parsed(command, arm[0], "--contact")
    with refused(rb.ParameterError, "useless-option", "contact"):
        mounted_robot(options)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_accepts_the_name_of_a_robot(command):
    options, file = parsed(command, "seven_dof_arm")
    assert file.name == "seven_dof_arm.urdf"
    assert isinstance(options, argparse.Namespace)


def test_functions_accept_the_name_of_a_robot():
    assert rb.load("seven_dof_arm").nv == rb.load_urdf("seven_dof_arm").nv == 7
    assert rb.scene("seven_dof_arm").nv == 7
    with refused(rb.ParameterError, "unknown-robot"):
        rb.load("seven_dof_amr")


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_the_error_about_a_missing_package_names_the_option_for_it(arm, door):
    with pytest.raises(RbdynError, match=r"'pack' is not found.*package_dirs.*--package-dir"):
        door(arm[0], arm[0].parent, False)


@pytest.mark.parametrize("command", sorted({*COMMANDS} - {"sim"}))
def test_every_command_refuses_a_flawed_robot_without_repair(arm, command):
    options, file = parsed(command, arm[0], "--package-dir", str(arm[1]))
    with refused(DescriptionError, "missing-limit"):
        loaded_robot(options, file)


def test_the_appearance_is_read_with_xacro_arguments_and_package_folders(arm):
    path, folder = arm
    looks = read_appearance(rb.RobotFile(path, {"length": 2}, [folder]))
    assert [shape.shape.radius for shape in looks.visuals] == [2.0]


@pytest.mark.parametrize("word", ["my-arg:=1", "length:=-1", "a:=b=c"])
def test_xacro_arguments_with_dashes_are_parsed(arm, word):
    options, file = parsed("check", arm[0], word)
    assert (options.xacro_args, file, len(options.files)) == ([word], arm[0], 1)


def test_load_refuses_the_text_of_a_robot():
    with refused(rb.ParameterError, "not-a-source"):
        rb.load(b'<robot name="r"/>')
    with refused(DescriptionError, "no-such-file"):
        rb.load('<robot name="r"/>')
