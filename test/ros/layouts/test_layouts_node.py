# SPDX-License-Identifier: Apache-2.0
"""A simulator publishes every topic in the layouts of `rbdyn layout`, with the right type."""

import importlib
import json
from xml.etree import ElementTree as ET

import pytest
import yaml
from support.commands import run

pytest.importorskip("rclpy", reason="rclpy is not installed")

from sensor_msgs.msg import JointState

import rbdyn_ros as rb
from rbdyn_ros.description import robot_files
from rbdyn_ros.ros.layouts.topics import shown_topics
from rbdyn_ros.sensors.reader import read_sensors
from rbdyn_ros.share import bundled_robot

BODY = (
    '<inertial><mass value="1"/>'
    '<inertia ixx="0.1" iyy="0.2" izz="0.25" ixy="0" ixz="0" iyz="0"/></inertial>'
    '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
)
ROBOT = f"""<robot name="mast"><link name="base">{BODY}</link><link name="laser">{BODY}</link>
<joint name="turn" type="revolute"><parent link="base"/><child link="laser"/>
<origin xyz="0 0 0.5"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="10" velocity="2"/></joint></robot>"""
RAYS = "link: laser, rate: 10, near: 0.1, far: 10"
FAN = f"{{type: lidar, {RAYS}, horizontal: {{from: -3, to: 3, rays: 9}}"
SENSORS = f"""rbdyn_sensors: 1
sensors:
  flat: {FAN}}}
  round: {FAN}, vertical: {{from: -0.2, to: 0.2, rays: 3}}}}
  bumper: {{type: range, {RAYS}, field_of_view: 0.2}}
  eye: {{type: depth, {RAYS}, width: 8, height: 6, field_of_view: 1}}
  imu: {{type: imu, link: laser}}
  gyro: {{type: imu, link: laser, orientation: false}}
  wrist: {{type: force_torque, joint: turn}}
  skin: {{type: contact, link: laser}}
  compass: {{type: magnetometer, link: laser}}
  roof: {{type: gps, link: laser, latitude: 48, longitude: 9}}
  tracker: {{type: pose, link: laser}}
  gauge: {{type: joint_torque, joint: turn}}
"""
#: Message types of RViz's display classes. Sources: plugins_description.xml of
#: rviz_default_plugins, and the code of the displays TF and RobotModel.
RVIZ = {
    "Image": "sensor_msgs/msg/Image",
    "LaserScan": "sensor_msgs/msg/LaserScan",
    "MarkerArray": "visualization_msgs/msg/MarkerArray",
    "Odometry": "nav_msgs/msg/Odometry",
    "PointCloud2": "sensor_msgs/msg/PointCloud2",
    "PoseWithCovariance": "geometry_msgs/msg/PoseWithCovarianceStamped",
    "Range": "sensor_msgs/msg/Range",
    "RobotModel": "std_msgs/msg/String",
    "Wrench": "geometry_msgs/msg/WrenchStamped",
}
PANELS = {"3D", "DiagnosticSummary", "Image", "Plot"}


@pytest.fixture(scope="module")
def mast(tmp_path_factory):
    """Return the URDF file and the sensor file of a robot with every kind of sensor."""
    folder = tmp_path_factory.mktemp("mast")
    robot, sensors = folder / "mast.urdf", folder / "sensors.yaml"
    robot.write_text(ROBOT)
    sensors.write_text(SENSORS)
    return robot, sensors


@pytest.fixture(params=["", "left"])
def written(request, mast, tmp_path):
    """Return the written layouts of RViz and Foxglove, and their namespace."""
    robot, sensors = mast
    for name in ("mast.rviz", "mast.json"):
        words = ["layout", robot, tmp_path / name, "--sensors", sensors]
        done = run(*words, "--namespace", request.param, "--floating-base")
        assert (done.returncode, done.stderr) == (0, "")
    rviz = yaml.safe_load((tmp_path / "mast.rviz").read_text())
    return rviz, json.loads((tmp_path / "mast.json").read_text()), request.param


def rviz_topics(rviz):
    """Return the message type of each topic in an RViz layout, by the class of its display."""
    found = {}
    for display in rviz["Visualization Manager"]["Displays"]:
        kind = display["Class"].removeprefix("rviz_default_plugins/")
        topic = display.get("Topic") or display.get("Description Topic")
        if topic is not None:
            found[topic["Value"]] = RVIZ[kind]
    return found


def foxglove_topics(layout):
    """Return the topics of all panels in a Foxglove layout."""
    found = set()
    for key, panel in layout["configById"].items():
        assert key.split("!")[0] in PANELS
        found |= {path["value"].split(".")[0] for path in panel.get("paths", ())}
        found |= set(panel.get("imageMode", {}).values()) | set(panel.get("topics", ()))
        found |= {x["topic"] for x in panel.get("layers", {}).values() if "topic" in x}
        found |= {panel["topicToRender"]} if "topicToRender" in panel else set()
    return found


def test_the_simulator_publishes_every_topic(written, mast, simulate, peer):
    rviz, foxglove, namespace = written
    robot, sensors = mast
    specs = read_sensors(sensors, rb.load_urdf(robot), robot_files.read(robot))
    expected = {x.name: x.type for x in shown_topics(specs, namespace, odom=True)}
    given = ["-p", f"sensors:={sensors}", "-p", "contact:=true", "-p", "floating_base:=true"]
    moved = ["-r", f"__ns:=/{namespace}"] if namespace else []
    simulate(robot, "--ros-args", *given, *moved)

    def published():
        return dict(peer.node.get_topic_names_and_types())

    peer.until(lambda: expected.keys() <= published().keys())
    kinds = published()
    assert {name: kinds[name] for name in expected} == {n: [k] for n, k in expected.items()}
    # every topic in the layout files is one of the published topics
    assert rviz_topics(rviz).items() <= expected.items()
    assert foxglove_topics(foxglove) <= expected.keys()
    # every sensor is in a layout file
    drawn = rviz_topics(rviz).keys() | foxglove_topics(foxglove)
    assert drawn == expected.keys()
    root = f"/{namespace}" if namespace else ""
    names = list(peer.hear(JointState, f"{root}/joint_states")[0].name)
    paths = foxglove["configById"]["Plot!joint_position"]["paths"]
    assert [path["label"] for path in paths] == names
    assert [path["value"] for path in paths] == [
        f"{root}/joint_states.position[{k}]" for k in range(len(names))
    ]


def test_rviz_uses_qos_that_is_compatible_with_the_publishers(written):
    rviz, _, _ = written
    for display in rviz["Visualization Manager"]["Displays"]:
        if description := display.get("Description Topic"):
            assert description["Durability Policy"] == "Transient Local"
        if topic := display.get("Topic"):
            assert topic["Durability Policy"] == "Volatile"  # as published
    assert rviz["Visualization Manager"]["Global Options"]["Fixed Frame"] == "world"


def test_every_panel_appears_once_in_the_layout(written):
    _, layout, _ = written

    def names(tree):
        if isinstance(tree, str):
            return [tree]
        assert tree["direction"] in ("row", "column")
        assert 0 < tree["splitPercentage"] < 100
        return [*names(tree["first"]), *names(tree["second"])]

    assert sorted(names(layout["layout"])) == sorted(layout["configById"])
    assert set(layout) >= {"configById", "globalVariables", "userNodes", "playbackConfig"}


def test_a_robot_without_sensors_has_a_layout(tmp_path):
    done = run("layout", bundled_robot("pendulum"), tmp_path / "p.json")
    assert done.returncode == 0
    layout = json.loads((tmp_path / "p.json").read_text())
    assert set(layout["configById"]) == {
        "3D!robot",
        "Plot!joint_position",
        "Plot!joint_effort",
        "DiagnosticSummary!all",
    }


@pytest.mark.parametrize(
    ("output", "sensors", "status", "text"),
    [
        ("p.txt", "", 2, ".rviz"),
        ("missing/p.rviz", "", 2, "missing"),
        ("p.rviz", "rbdyn_sensors: 1\nsensors: {s: {type: imu, link: leg}}", 1, "'leg'"),
    ],
)
def test_a_refused_layout_writes_no_file(tmp_path, output, sensors, status, text):
    words = ["layout", bundled_robot("pendulum"), tmp_path / output]
    if sensors:
        (tmp_path / "sensors.yaml").write_text(sensors)
        words += ["--sensors", tmp_path / "sensors.yaml"]
    done = run(*words)
    assert done.returncode == status
    assert text in done.stderr
    assert not (tmp_path / output).exists()


def layout(folder, robot, *words, name="p.json"):
    done = run("layout", robot, folder / name, *words)
    assert done.returncode == 0, done.stderr
    text = (folder / name).read_text()
    return (json.loads if name.endswith("json") else yaml.safe_load)(text), done.stderr


def test_a_layout_uses_the_namespace_and_the_frame_prefix(tmp_path):
    words = bundled_robot("pendulum"), "--namespace", "left", "--frame-prefix", "left/"
    foxglove, _ = layout(tmp_path, *words)
    robot = foxglove["configById"]["3D!robot"]["layers"]["robot"]
    assert (robot["topic"], robot["framePrefix"]) == ("/left/robot_description", "left/")
    rviz, _ = layout(tmp_path, *words, name="p.rviz")
    displays = rviz["Visualization Manager"]["Displays"]
    (model,) = [x for x in displays if x["Class"].endswith("/RobotModel")]
    assert model["TF Prefix"] == "left"  # RViz appends the slash


@pytest.mark.parametrize(
    ("option", "value"),
    [("--namespace", x) for x in ("le ft", "1a", "a//b", "a-b")]
    + [("--frame-prefix", x) for x in ("left", "/", "left//")],
)
def test_names_that_no_simulator_has_are_refused(tmp_path, option, value):
    done = run("layout", bundled_robot("pendulum"), tmp_path / "p.json", option, value)
    assert done.returncode == 2
    assert f"{option} is {value!r}" in done.stderr
    assert not (tmp_path / "p.json").exists()


def test_a_sensor_with_the_name_of_a_plot_gets_its_own_panel(mast, tmp_path):
    (tmp_path / "s.yaml").write_text(
        "rbdyn_sensors: 1\nsensors: {joint_position: {type: imu, link: laser}}"
    )
    found, _ = layout(tmp_path, mast[0], "--sensors", tmp_path / "s.yaml")
    panels = found["configById"]
    assert "/joint_states" in panels["Plot!joint_position"]["paths"][0]["value"]
    assert "/joint_position/data" in panels["Plot!joint_position_"]["paths"][0]["value"]


def scene(folder, robots):
    path = folder / "scene.yaml"
    path.write_text(f"rbdyn_scene: 1\n{robots}")
    return path


def fields(message, path):
    """Return the number in a message to which the path of a PlotJuggler series leads."""
    for part in path.split("/"):
        message = getattr(message, part)
    return message


def message_class(kind):
    package, _, name = kind.split("/")
    return getattr(importlib.import_module(f"{package}.msg"), name)


def test_every_series_of_plotjuggler_exists_in_the_messages(mast, tmp_path, simulate, peer):
    robot, sensors = mast
    words = "--sensors", sensors, "--namespace", "left", "--floating-base"
    assert run("layout", robot, tmp_path / "p.xml", *words).returncode == 0
    root = ET.parse(tmp_path / "p.xml").getroot()
    tabs = {tab.get("tab_name"): tab for tab in root.iter("Tab")}
    assert list(tabs) == ["joints", "sensors"]
    for splitter in root.iter("DockSplitter"):
        assert int(splitter.get("count")) == len(splitter) == len(splitter.get("sizes").split(";"))
    (plugin,) = root.iter("plugin")
    assert plugin.get("ID") == root.find("previouslyLoaded_Streamer").get("name")
    given = ["-p", f"sensors:={sensors}", "-p", "contact:=true", "-p", "floating_base:=true"]
    simulate(robot, "--ros-args", *given, "-r", "__ns:=/left")
    heard = plugin.find("selected_topics").get("value").split(";")
    peer.until(lambda: set(heard) <= dict(peer.node.get_topic_names_and_types()).keys())
    kinds = dict(peer.node.get_topic_names_and_types())
    latest = {name: peer.hear(message_class(*kinds[name]), name)[-1] for name in heard}
    series = [curve.get("name") for curve in root.iter("curve")]
    unused = set(heard)
    for name in series:
        topic = max((one for one in heard if name.startswith(f"{one}/")), key=len)
        unused.discard(topic)
        path = name.removeprefix(f"{topic}/")
        if topic == "/left/joint_states":
            joint, kind = path.split("/")
            assert len(getattr(latest[topic], kind)) > latest[topic].name.index(joint)
        else:
            assert isinstance(fields(latest[topic], path), float)
    assert not unused
    assert len(set(series)) == len(series)


def test_a_scene_of_several_robots_is_refused(mast, tmp_path):
    rows = "".join(f"  {x}: {{file: {mast[0]}, xyz: [{k}, 0, 0]}}\n" for k, x in enumerate("lr"))
    done = run("layout", scene(tmp_path, f"robots:\n{rows}"), tmp_path / "p.json")
    assert done.returncode == 1
    assert "a layout shows one robot, but the scene has several" in done.stderr


def test_a_robot_without_urdf_is_not_shown(tmp_path):
    path = tmp_path / "robot.xml"
    path.write_text(
        "<mujoco><worldbody><body><joint name='j' type='hinge'/><geom size='.1'/></body>"
        "</worldbody></mujoco>"
    )
    found, note = layout(tmp_path, path)
    assert "robot" not in found["configById"]["3D!robot"]["layers"]
    assert "publishes no robot_description" in note


def test_a_mobile_base_of_a_scene_has_odometry(mast, tmp_path):
    for base, topics in (("", set()), (", base: planar", {"/odom"})):
        path = scene(tmp_path, f"robot: {{file: {mast[0]}{base}}}\n")
        found, _ = layout(tmp_path, path, name="p.rviz")
        displays = found["Visualization Manager"]["Displays"]
        shown = {x["Topic"]["Value"] for x in displays if x["Class"].endswith("/Odometry")}
        assert shown == topics
