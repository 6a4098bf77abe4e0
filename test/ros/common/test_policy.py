# SPDX-License-Identifier: Apache-2.0
"""config/sros2/policy.xml gives each role the rights that its nodes need, and no others."""

import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from lxml import etree

pytest.importorskip("rclpy", reason="rclpy is not installed")

from rclpy.action import get_action_server_names_and_types_by_node

ROOT = Path(__file__).parents[3]
RIGHTS = {"topics": ("publish", "subscribe"), "services": ("reply", "request")}
RIGHTS["actions"] = ("execute", "call")
#: Topics that every ROS 2 node has.
OF_A_NODE = {"/rosout", "/parameter_events"}


def policy():
    return etree.parse(str(ROOT / "config" / "sros2" / "policy.xml")).getroot()


def allowed(role, right):
    """Return the full names, with wildcards, for which a role has a right such as `publish`."""
    patterns = set()
    for profile in policy().iterfind(f"enclaves/enclave[@path='/rbdyn_ros/{role}']//profile"):
        space, node = profile.get("ns").rstrip("/") + "/", profile.get("node")
        for group in profile.iterchildren(tag=etree.Element):
            if group.get(right) == "ALLOW":
                names = [element.text for element in group]
                own = [f"{space}{node}{n[1:]}" if n[0] == "~" else n for n in names]
                patterns |= {n if n[0] == "/" else space + n for n in own}
    return patterns


def may(role, right, name):
    return any(fnmatchcase(name, pattern) for pattern in allowed(role, right))


def test_the_policy_file_has_the_format_of_sros2():
    root = policy()
    assert (root.tag, root.get("version")) == ("policy", "0.2.0")
    paths = [enclave.get("path") for enclave in root.iterfind("enclaves/enclave")]
    roles = ["simulator", "controller", "operator", "arm_controller", "arm_operator", "observer"]
    assert paths == [f"/rbdyn_ros/{role}" for role in roles]
    for profile in root.iter("profile"):
        assert set(profile.keys()) == {"ns", "node"}
        for group in profile.iterchildren(tag=etree.Element):
            assert group.keys()
            assert set(group.keys()) <= set(RIGHTS[group.tag])
            assert set(group.values()) == {"ALLOW"}
            assert {(name.tag, *name.keys()) for name in group} == {(group.tag[:-1],)}


def rows(node, heading):
    """Return the cells of the first column of the table after a heading in a node's reference."""
    text = (ROOT / f"docs/reference/{node}.md").read_text()
    table = text[text.index(heading) :].split("\n\n")[1]
    return re.findall(r"^\| (.*?) \|", table, re.MULTILINE)[1:]  # the first row is the header


def full(name, space, node):
    if name.startswith("~"):
        return f"{space}{node}{name[1:]}"
    return name if name.startswith("/") else space + name


TABLES = {
    "simulator": ("\nRelative names", "The other services"),
    "arm_controller": ("\nRelative names", "\nThese services"),
}


@pytest.mark.parametrize("space", ["/", "/left/", "/hall/left/"])
@pytest.mark.parametrize("node", TABLES)
def test_a_node_may_use_all_topics_and_services_of_its_reference_page(node, space):
    topics, services = (rows(node, heading) for heading in TABLES[node])
    assert topics
    for cell in topics:
        right = "subscribe" if "(in)" in cell else "publish"
        for name in re.findall(r"`(.*?)`", cell):
            assert may(node, right, full(name.replace("<name>", "imu"), space, node)), name
    listed = [name for cell in services for name in re.findall(r"`(.*?)`", cell)]
    assert listed
    for name in listed:
        it = full(name, space, node)
        assert may(node, "reply", it) or may(node, "execute", it), name


@pytest.mark.parametrize("space", ["/policy", "/policy/of"])
def test_the_policy_allows_every_endpoint_of_the_simulator(simulate, peer, space):
    simulate("--ros-args", "-r", f"__ns:={space}", "-p", "floating_base:=true", clock=True)
    who = ("simulator", space)
    wait_for(peer, who, f"{space}/joint_states", f"{space}/simulator/reset")
    assert f"{space}/odom" in names(peer.node, "publisher", who)
    assert_all_allowed(peer.node, who)


@pytest.mark.parametrize("space", ["/policy", "/policy/of"])
def test_the_policy_allows_every_endpoint_of_the_arm_controller(simulate, peer, space, two_joints):
    given = {"urdf": two_joints, "output": "both", "dry_run": "false", "use_sim_time": "true"}
    words = [word for name, value in given.items() for word in ("-p", f"{name}:={value}")]
    words = ["--ros-args", "-r", f"__ns:={space}", *words]
    simulate(*words, entry="arm", wait=False, clock=True).wait_for("controlling 'two'")
    who = ("arm_controller", space)
    wait_for(peer, who, "/diagnostics", f"{space}/arm_controller/clear_fault")
    helper = ("_arm_controller_arming", space)
    peer.until(lambda: f"{space}/arm_controller/arm" in names(peer.node, "service", helper))
    helper = ("_arm_controller_io", space)
    wait_for(peer, helper, f"{space}/effort_commands", f"{space}/_arm_controller_io/{TYPES}")
    assert f"{space}/joint_commands" in names(peer.node, "publisher", helper)
    assert_all_allowed(peer.node, who)


#: The last service that a node opens.
TYPES = "get_type_description"


def wait_for(peer, who, topic, service):
    """Wait until a node `who`, (name, namespace), has opened its last topic and service."""
    node = peer.node
    peer.until(lambda: who in node.get_node_names_and_namespaces())
    peer.until(lambda: topic in names(node, "publisher", who))
    peer.until(lambda: service in names(node, "service", who))


def assert_all_allowed(node, who):
    """Check that the role allows every endpoint of all nodes in the namespace `who[1]`."""
    role, space = who
    for each in node.get_node_names_and_namespaces():
        if each[1] != space:
            continue
        for kind, right in (("publisher", "publish"), ("subscriber", "subscribe")):
            found = names(node, kind, each)
            assert {n for n in found if not may(role, right, n)} == set(), each
        served = names(node, "service", each)
        assert {n for n in served if not may(role, "reply", n)} == set(), each
        actions = get_action_server_names_and_types_by_node(node, *each)
        assert {n for n, _ in actions if not may(role, "execute", n)} == set(), each


def names(node, kind, who):
    """Return the names of a node's publishers, subscribers or services, except its actions'."""
    found = getattr(node, f"get_{kind}_names_and_types_by_node")(*who)
    return {name for name, _ in found if "/_action/" not in name}


def test_a_namespace_can_replace_the_wildcard():
    """The file's header gives the command: sed "s|>[*]|>left/|"."""
    path = ROOT / "config" / "sros2" / "policy.xml"
    names = re.findall(r">([^<>\s]+)</", path.read_text().replace(">*", ">left/"))
    assert "left/joint_states" in names
    assert "left/simulator/pause" in names
    assert "left/*/data" in names
    assert not any("//" in name for name in names)


#: Services for parameters and types that every node has.
OF_EVERY_NODE = (
    "describe_parameters",
    "get_parameter_types",
    "get_parameters",
    "get_type_description",
    "list_parameters",
    "set_parameters",
    "set_parameters_atomically",
)


@pytest.mark.parametrize("role", ["controller", "operator", "arm_operator", "observer"])
@pytest.mark.parametrize("node", ["_ros2cli_4711", "_ros2cli_requester_std_srvs_SetBool"])
def test_roles_of_users_may_run_the_command_ros2(role, node):
    """Nodes of the command ros2 have no namespace, so a namespace in the file has no effect."""
    for service in OF_EVERY_NODE:
        assert may(role, "reply", f"/{node}/{service}")
        assert not may(role, "reply", f"/left/simulator/{service}")


@pytest.mark.parametrize("space", ["/", "/left/"])
def test_roles_have_only_the_rights_they_need(space):
    assert may("controller", "publish", f"{space}joint_commands")
    assert not may("operator", "publish", f"{space}joint_commands")
    assert may("operator", "request", f"{space}simulator/set_parameters")
    for role in ("controller", "observer"):
        for service in ("pause", "reset", "set_parameters", "set_simulation_state"):
            assert not may(role, "request", f"{space}simulator/{service}")
        assert not may(role, "call", f"{space}simulator/simulate_steps")
    assert allowed("observer", "publish") == OF_A_NODE
    for role in ("controller", "operator", "observer"):
        for topic in ("joint_states", "robot_description"):
            assert not may(role, "publish", space + topic)
        assert not may(role, "publish", "/clock")
        assert not may(role, "reply", f"{space}simulator/get_parameters")
    assert may("arm_operator", "request", f"{space}arm_controller/arm")
    assert not may("arm_operator", "publish", f"{space}joint_commands")
    for role in ("operator", "observer"):
        for service in ("arm", "gravity", "clear_fault", "set_payload", "set_parameters"):
            assert not may(role, "request", f"{space}arm_controller/{service}")
        assert not may(role, "publish", f"{space}arm_controller/joint_trajectory")
        assert not may(role, "call", f"{space}arm_controller/follow_joint_trajectory")
