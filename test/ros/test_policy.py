"""config/sros2/policy.xml allows all that a simulator has, and nobody more than he needs."""

import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from lxml import etree

pytest.importorskip("rclpy", reason="rclpy is not installed")

from rclpy.action import get_action_server_names_and_types_by_node

ROOT = Path(__file__).parents[2]
RIGHTS = {"topics": ("publish", "subscribe"), "services": ("reply", "request")}
RIGHTS["actions"] = ("execute", "call")
#: What every node of ROS 2 has.
OF_A_NODE = {"/rosout", "/parameter_events"}


def policy():
    return etree.parse(str(ROOT / "config" / "sros2" / "policy.xml")).getroot()


def allowed(role, right):
    """Return the patterns of full names that a role has a right to, as SROS2 reads them."""
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


def test_it_has_the_form_that_sros2_wants():
    root = policy()
    assert (root.tag, root.get("version")) == ("policy", "0.2.0")
    paths = [enclave.get("path") for enclave in root.iterfind("enclaves/enclave")]
    roles = ["simulator", "controller", "operator", "observer"]
    assert paths == [f"/rbdyn_ros/{role}" for role in roles]
    for profile in root.iter("profile"):
        assert set(profile.keys()) == {"ns", "node"}
        for group in profile.iterchildren(tag=etree.Element):
            assert group.keys()
            assert set(group.keys()) <= set(RIGHTS[group.tag])
            assert set(group.values()) == {"ALLOW"}
            assert {(name.tag, *name.keys()) for name in group} == {(group.tag[:-1],)}


def rows(heading):
    """Return the first cells of the README's table after some words."""
    text = (ROOT / "README.md").read_text()
    table = text[text.index(heading) :].split("\n\n")[1]
    return re.findall(r"^\| (.*?) \|", table, re.MULTILINE)[2:]


def full(name, space):
    if name.startswith("~"):
        return f"{space}simulator{name[1:]}"
    return name if name.startswith("/") else space + name


@pytest.mark.parametrize("space", ["/", "/left/", "/hall/left/"])
def test_the_simulator_may_have_what_the_readme_lists(space):
    cells = rows("Topics; relative names")
    assert cells
    for cell in cells:
        right = "subscribe" if "(in)" in cell else "publish"
        for name in re.findall(r"`(.*?)`", cell):
            assert may("simulator", right, full(name.replace("<name>", "imu"), space)), name
    services = [name for cell in rows("\nServices") for name in re.findall(r"`(.*?)`", cell)]
    assert services
    for name in services:
        it = full(name, space)
        assert may("simulator", "reply", it) or may("simulator", "execute", it), name


@pytest.mark.parametrize("space", ["/policy", "/policy/of"])
def test_the_simulator_may_have_all_that_it_opens(simulate, peer, space):
    simulate("--ros-args", "-r", f"__ns:={space}", "-p", "floating_base:=true", clock=True)
    node, who = peer.node, ("simulator", space)
    peer.until(lambda: who in node.get_node_names_and_namespaces())
    peer.until(lambda: f"{space}/joint_states" in names(node, "publisher", who))
    peer.until(lambda: f"{space}/simulator/reset" in names(node, "service", who))
    assert f"{space}/odom" in names(node, "publisher", who)
    for each in node.get_node_names_and_namespaces():  # it may have more nodes than one
        if each[1] != space:
            continue
        for kind, right in (("publisher", "publish"), ("subscriber", "subscribe")):
            found = names(node, kind, each)
            assert {n for n in found if not may("simulator", right, n)} == set(), each
        served = names(node, "service", each)
        assert {n for n in served if not may("simulator", "reply", n)} == set(), each
        actions = get_action_server_names_and_types_by_node(node, *each)
        assert {n for n, _ in actions if not may("simulator", "execute", n)} == set(), each


def names(node, kind, who):
    """Return the names of what a node has, without the parts of its actions."""
    found = getattr(node, f"get_{kind}_names_and_types_by_node")(*who)
    return {name for name, _ in found if "/_action/" not in name}


def test_roles_meet():
    """What one role sends another takes: a rule for a name that nobody has helps nobody."""
    served, said = allowed("simulator", "reply"), allowed("simulator", "publish")
    for role in ("controller", "operator", "observer"):
        assert allowed(role, "publish") - OF_A_NODE <= allowed("simulator", "subscribe")
        assert allowed(role, "subscribe") - OF_A_NODE == said - OF_A_NODE
        assert allowed(role, "request") <= served
    own = {n for n in served if not n.startswith("/*simulator/")}  # of nodes that help it
    assert allowed("operator", "request") == served - own
    assert allowed("operator", "call") == allowed("simulator", "execute")


def test_a_namespace_can_be_written_for_any():
    """As the head of the file says: sed "s|>[*]|>left/|"."""
    path = ROOT / "config" / "sros2" / "policy.xml"
    names = re.findall(r">([^<>\s]+)</", path.read_text().replace(">*", ">left/"))
    assert "left/joint_states" in names
    assert "left/simulator/pause" in names
    assert "left/*/data" in names
    assert not any("//" in name for name in names)


@pytest.mark.parametrize("space", ["/", "/left/"])
def test_nobody_may_more_than_he_needs(space):
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
