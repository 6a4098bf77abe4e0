# SPDX-License-Identifier: Apache-2.0
"""The server of a view: its address, the pages that may connect, and the messages it sends."""

import asyncio
import contextlib
import dataclasses
import gzip
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import numpy as np
import pytest
from support import robots, touching
from support.refusals import refused, worded
from view_arm import ARM

import rbdyn_ros as rb
from rbdyn_ros.description.appearance.shapes import Appearance, LinkShape
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.dynamics.assembly import is_closed
from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.view.scene.scene import (
    BOXES,
    COLLISIONS,
    ELLIPSOIDS,
    FORCES,
    FRAMES,
    GRID,
    JOINTS,
    MASSES,
    VISUALS,
)
from rbdyn_ros.view.web.server import HEAD, PORTS_TRIED, is_local, refusal

pytest.importorskip("viser")

from rbdyn_ros.view.web.display import TRANSLUCENT
from rbdyn_ros.view.web.nodes import frame_labels
from rbdyn_ros.view.web.show import Show, address_of, body_facts, open_server
from rbdyn_ros.view.web.sliders import MOST_SLIDERS, Sliders

LOOKS = Appearance((LinkShape("upper", rb.Box((0.1, 0.1, 0.4)), color=(1.0, 0.0, 0.0, 0.5)),))


@pytest.fixture
def server():
    server = open_server(0)
    yield server
    server.stop()


@contextlib.contextmanager
def taken_ports(number):
    """Occupy a number of successive ports; yield the first port."""
    for first in range(20_000, 60_000, 50):
        with contextlib.ExitStack() as held:
            try:
                for port in range(first, first + number):
                    held.enter_context(socket.create_server(("127.0.0.1", port)))
            except OSError:
                continue
            yield first
            return
    pytest.skip("no ports in a row are free")


def test_address_of_returns_a_local_address_that_serves_the_page(server):
    address = address_of(server)
    assert address == f"http://127.0.0.1:{server.get_port()}"
    with urllib.request.urlopen(address, timeout=30) as page:
        assert b"<html" in page.read().lower()


def test_the_server_uses_the_next_free_port():
    with taken_ports(2) as first:
        server = open_server(first)
        try:
            assert server.get_port() == first + 2
        finally:
            server.stop()


def test_a_server_without_a_free_port_is_refused():
    with taken_ports(PORTS_TRIED) as first, pytest.raises(rb.ParameterError) as caught:
        open_server(first)
    assert (caught.value.code, caught.value.found) == ("no-free-port", str(first))
    assert str(first + PORTS_TRIED - 1) in str(caught.value)


@pytest.mark.parametrize("port", [-1, 65536, 10**30, 8080.0, "8080", True, None, float("nan")])
def test_an_invalid_port_is_refused(port):
    with refused(rb.ParameterError, "bad-port", "port", found=repr(port)):
        open_server(port)


@pytest.mark.parametrize(
    "address", ["", "nowhere", "127.0.0.1:80", "http://127.0.0.1", "256.0.0.1", None, 5, "1\n"]
)
def test_an_invalid_address_is_refused(address):
    with refused(rb.ParameterError, "bad-address", "address", found=repr(address)):
        open_server(0, address)


def test_an_address_of_another_machine_is_refused():
    with refused(rb.ParameterError, "bad-address", "address", found="192.0.2.1"):
        open_server(0, "192.0.2.1")


def test_loopback_addresses_are_local():
    assert is_local("127.0.0.1")
    assert is_local("localhost")
    assert is_local("::1")
    assert not is_local("0.0.0.0")


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("127.0.0.1:8080", None),
        ("127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("LocalHost:8080", "http://localhost:8080"),
        ("[::1]:8080", "http://[::1]:8080"),
        ("192.168.1.7", "https://192.168.1.7"),
    ],
)
def test_pages_of_the_view_itself_may_connect_to_it(host, origin):
    assert refusal(host, origin) == ""


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("127.0.0.1:8080", "http://evil.example"),
        ("127.0.0.1:8080", "http://127.0.0.1:3000"),
        ("127.0.0.1:8080", "null"),
        ("127.0.0.1:8080", "file://127.0.0.1:8080"),
        ("127.0.0.1:8080", ""),
        ("127.0.0.1:8080", "http://["),
        ("evil.example:8080", "http://evil.example:8080"),  # this name may lead to this machine
        ("127.0.0.1.evil.example", "http://127.0.0.1.evil.example"),
        ("evil.example", None),
        ("", None),
        (None, None),
        ("[::1", None),
        ("127.0.0.1@evil.example", None),
    ],
)
def test_other_pages_may_not_connect_to_the_view(host, origin):
    assert refusal(host, origin) != ""


def test_an_address_with_a_websocket_query_is_refused():
    """With ?websocket= a link on any page could connect viser's page to another server."""
    assert refusal("127.0.0.1:80", None, "/?websocket=ws://evil.example") != ""
    assert refusal("127.0.0.1:80", None, "/assets/x.js") == ""


def knock(server, headers, host=None):
    """Open a websocket like a browser; return the status of a refusal, or 101 if it opens."""
    import viser
    import websockets.asyncio.client
    import websockets.exceptions

    async def try_it():
        port = server.get_port()
        where = f"ws://{host or '127.0.0.1'}:{port}"
        protocol = f"viser-v{viser.__version__}"
        connection = websockets.asyncio.client.connect(
            where, host="127.0.0.1", port=port, additional_headers=headers,
            subprotocols=[protocol], open_timeout=30, proxy=None,
        )  # fmt: skip
        try:
            async with connection as socket:
                await asyncio.wait_for(socket.recv(), 30)
                return 101
        except websockets.exceptions.InvalidStatus as refused:
            return refused.response.status_code

    return asyncio.run(try_it())


def test_the_server_refuses_a_websocket_for_a_page_of_the_internet(server):
    assert knock(server, {"Origin": "http://evil.example"}) == 403
    assert knock(server, {"Origin": "null"}) == 403
    assert knock(server, {"Origin": "http://evil.example"}, host="evil.example") == 403
    assert knock(server, {}, host="evil.example") == 403
    assert knock(server, {"Origin": address_of(server)}) == 101
    assert knock(server, {}) == 101  # programs send no origin
    assert server.get_clients() == {}


def test_the_server_refuses_a_page_under_another_host_name(server):
    request = urllib.request.Request(address_of(server), headers={"Host": "evil.example"})
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(request, timeout=30)


def test_the_server_has_no_handler_for_requests_to_share_the_view(server):
    from viser import _messages

    handlers = server._websock_server._incoming_handlers
    assert _messages.ShareUrlRequest not in handlers
    assert _messages.ShareUrlDisconnect not in handlers


def test_opening_a_server_prints_nothing(capfd):
    server = open_server(0)
    server.stop()
    import rich

    rich.print("of others")
    out, err = capfd.readouterr()
    assert (out, err) == ("of others\n", "")


def nodes_of(server, kind):
    """Return the last message of a kind for each node of the scene, by the node's name."""
    messages = server._websock_server._broadcast_buffer.message_from_id.values()
    return {one.name: one for one in messages if type(one).__name__ == kind}


def test_an_instant_sends_only_poses_of_bodies_that_have_moved(server):
    m = rb.load_urdf(ARM)
    show = Show(server, m, LOOKS, "arm")
    qpos = np.array([0.4, 0.2])
    with contextlib.closing(_Sent(server)) as sent:
        show.put(Instant.still(m, qpos))
    placed = show.scene.place(Instant.still(m, qpos))
    assert np.allclose(sent.of("SetPositionMessage", "/arm/2").position, placed.xpos[2])
    for body in (1, 2):
        turned = sent.of("SetOrientationMessage", f"/arm/{body}").wxyz
        assert np.allclose(turned, placed.xquat[body])
    assert len(sent.messages) == 3  # body 1 rotates in place


class _Sent:
    """Collect the messages of a server to all clients until `close` is called."""

    def __init__(self, server):
        self._server, self._queue = server, server._websock_server.queue_message
        self.messages = []
        server._websock_server.queue_message = self._note

    def _note(self, message):
        self.messages.append(message)
        self._queue(message)

    def of(self, kind, name):
        (found,) = (one for one in self.messages
                    if type(one).__name__ == kind and one.name == name)  # fmt: skip
        return found

    def close(self):
        del self._server._websock_server.queue_message


def test_arrows_of_forces_start_where_the_forces_act(server):
    m = rb.build(touching.free(rb.Sphere(0.1), mass=2.0))
    d = rb.make_data(m)
    d.qpos[2] = 0.099
    d.xfrc_applied[1, 0] = 2.0 * 9.81
    rb.forward(m, d)
    show = Show(server, m, Appearance(), "ball")
    show.put(Instant.of(m, d))
    arrows = show.nodes._arrows
    (push,), (contact,) = arrows["pushes"].points, arrows["contacts"].points
    assert np.allclose(push[1] - push[0], [0.5 * show.scene.size, 0.0, 0.0], atol=1e-6)
    assert contact[1, 2] > contact[0, 2]
    assert np.allclose(arrows["touches"].points, [contact[0]])
    show.put(Instant.still(m, m.qpos0))
    assert arrows["pushes"].points.shape == (0, 2, 3)
    assert arrows["touches"].points.shape == (0, 3)
    show.display.set(FORCES, False)
    show.put(Instant.of(m, d))
    assert arrows["pushes"].points.shape == (0, 2, 3)  # a hidden layer gets no arrows
    assert not arrows["touches"].visible
    assert arrows["touches"].points.shape == (0, 3)
    show.display.set(FORCES, True)
    assert arrows["pushes"].points.shape == (1, 2, 3)
    assert arrows["touches"].points.shape == (1, 3)


def test_frames_at_the_same_position_share_a_label():
    link = '<link name="{}"/><joint name="{}" type="fixed"><parent link="{}"/><child link="{}"/>'
    link += '<origin xyz="{} 0 0"/></joint>'
    parts = [("b", "a", 0.01), ("c", "b", 0.01), ("d", "c", 0.01), ("e", "a", 0.5)]
    text = '<robot name="r"><link name="a"/>'
    text += "".join(link.format(n, f"j{n}", on, n, x) for n, on, x in parts) + "</robot>"
    m = rb.load_urdf(text)
    (_, pos, first), (_, away, second) = frame_labels(m, 0.1)
    assert (first, second) == ("a, b, c, ...", "e")
    assert (pos[0], away[0]) == (0.0, 0.5)
    assert [label[2] for label in frame_labels(m, 0.001)] == list("abcde")


def test_every_layer_can_be_shown_and_hidden(server):
    path = robots.find("panda.urdf")
    m = rb.load_urdf(path, contact=True)
    box = LinkShape("panda_link1", rb.Box((0.1, 0.1, 0.1)))
    show = Show(server, m, Appearance((box,), (box,)))
    present = [VISUALS, COLLISIONS, BOXES, ELLIPSOIDS, MASSES, FRAMES, JOINTS, FORCES, GRID]
    assert list(show.display.boxes) == present  # this robot has no lines
    for layer in present:
        show.display.set(layer, True)
        assert show.nodes._layers[layer]
        assert all(node.visible for node in show.nodes._layers[layer])
        show.display.set(layer, False)
        assert not any(node.visible for node in show.nodes._layers[layer])


def test_a_layer_has_nodes_only_after_it_is_shown(server):
    show = Show(server, rb.load_urdf(ARM), LOOKS)
    assert MASSES not in show.nodes._layers
    assert BOXES not in show.nodes._layers


def test_the_robot_is_translucent_while_frames_or_joints_are_shown(server):
    display = Show(server, rb.load_urdf(ARM), LOOKS).display
    display.set(FRAMES, True)
    assert display.opacity.value == TRANSLUCENT
    display.set(JOINTS, True)
    display.set(FRAMES, False)
    assert display.opacity.value == TRANSLUCENT
    display.set(JOINTS, False)
    assert display.opacity.value == 1.0
    display.opacity.value = 0.7  # the user sets the opacity
    display.set(FRAMES, True)
    display.set(FRAMES, False)
    assert display.opacity.value == 0.7


def test_the_slider_of_opacity_multiplies_the_opacity_of_each_part(server):
    show = Show(server, rb.load_urdf(ARM), LOOKS)
    (node,) = show.nodes._layers[VISUALS]
    assert node.opacity == 0.5
    assert tuple(node.color) == (255, 0, 0)
    show.display.opacity.value = 0.5
    assert node.opacity == 0.25


def test_a_robot_has_its_textures_only_while_it_is_opaque(server, tmp_path):
    pillow = pytest.importorskip("PIL.Image")
    pillow.new("RGB", (8, 8), (0, 255, 0)).save(tmp_path / "green.png")
    painted = dataclasses.replace(LOOKS.visuals[0], color=None, texture=tmp_path / "green.png")
    show = Show(server, rb.load_urdf(ARM), Appearance((painted,)))
    (node,) = show.nodes._layers[VISUALS]
    assert node.glb_data.startswith(b"glTF")
    show.display.opacity.value = 0.5
    (node,) = show.nodes._layers[VISUALS]
    assert (node.opacity, tuple(node.color)) == (0.5, (0, 255, 0))
    show.display.opacity.value = 1.0
    (node,) = show.nodes._layers[VISUALS]
    assert node.glb_data.startswith(b"glTF")


def test_a_click_selects_a_body_and_a_second_click_ends_the_selection(server):
    m = rb.load_urdf(ARM)
    show, told = Show(server, m, LOOKS), []
    show.on_click(told.append)
    show._click("upper")
    assert show.picked == "upper"
    assert "turn (revolute)" in show._facts.content
    assert show._facts.visible
    show._click("upper")
    assert told == ["upper", ""]
    assert not show._facts.visible


def room(*names):
    """Return a Model of an arm and of objects without colours, in different shapes."""
    items = [rb.Object(name, rb.Sphere(0.1 + 0.1 * k), mass=1.0, pose=Pose((1.0 + k, 0.0, 1.0)))
             for k, name in enumerate(names)]  # fmt: skip
    return rb.scene(ARM, objects=items)


def test_unchanged_objects_keep_their_nodes_when_other_objects_change(server):
    show = Show(server, room("ball", "other"), LOOKS)
    show.display.set(FRAMES, True)
    show.display.set(FRAMES, False)
    show._click("ball")
    nodes = dict(zip(show.m.body_names, show.nodes._bodies, strict=True))
    surfaces = {part.body: node for part, node in show.nodes._parts[VISUALS]}
    arm, other = surfaces[show.m.body_id("upper")], surfaces[show.m.body_id("other")]
    gone = surfaces[show.m.body_id("ball")]
    m = room("third", "other")
    show.move(m, LOOKS)
    now = dict(zip(m.body_names, show.nodes._bodies, strict=True))
    assert {name for name in now if now[name] is nodes.get(name)} == {*now} - {"third"}
    kept = {part.body: node for part, node in show.nodes._parts[VISUALS]}
    assert (kept[m.body_id("upper")], kept[m.body_id("other")]) == (arm, other)
    assert gone._impl.removed
    assert nodes["ball"]._impl.removed
    assert (show.picked, show._facts.visible) == ("", False)
    assert not any(node.visible for node in show.nodes._layers[FRAMES])
    assert f"{m.nbody - 1} bodies" in show._title.content
    qpos = m.qpos0.copy()
    qpos[m.jnt_qposadr[m.jnt_id("third")]] = 5.0
    show.put(Instant.still(m, qpos))
    assert now["third"].position[0] == 5.0
    show._click("third")  # a click gives the body's name, not its index in the Model
    assert show.picked == "third"


def test_a_view_shows_names_of_a_hostile_file_as_plain_text(server):
    name = "<img src=x onerror=alert(1)>{7*7}/../"
    text = ARM.replace('"upper"', f'"{name.replace("<", "&lt;")}"')
    m = rb.load_urdf(text.replace('name="arm"', f'name="{name.replace("<", "&lt;")}"'))
    show = Show(server, m, Appearance())
    assert "<img" not in body_facts(m, m.body_id(name))
    assert "<img" not in show._title.content
    assert nodes_of(server, "FrameMessage")
    assert all(one.count("/") <= 2 for one in nodes_of(server, "FrameMessage"))
    kinds = {type(one).__name__ for one in
             server._websock_server._broadcast_buffer.message_from_id.values()}  # fmt: skip
    assert "GuiMarkdownMessage" not in kinds  # in such a message viser runs text in braces


def test_a_robot_can_be_removed_from_a_view_and_shown_again(server):
    m = rb.load_urdf(ARM)
    Show(server, m, LOOKS, "one").remove()
    assert not server.gui._gui_input_handle_from_uuid
    show = Show(server, m, LOOKS, "one")
    show.put(Instant.still(m, m.qpos0))


def test_a_slider_keeps_a_loop_closed_or_returns_to_its_last_value(server):
    m = rb.load("examples/delta_robot.yaml")
    sliders = Sliders(Show(server, m, Appearance()))
    one = sliders._coordinates[0]
    event = _Event(sliders._handles[0])
    _slide(sliders, event, one, -0.3)
    assert sliders.qpos[one.entry] == pytest.approx(-0.3)
    assert is_closed(m, sliders.qpos)
    before = sliders.qpos
    reach = next(x for x in sliders._coordinates if x.word == "z")
    at = sliders._coordinates.index(reach)
    _slide(sliders, _Event(sliders._handles[at], event.client), reach, reach.high)
    assert np.array_equal(sliders.qpos, before)
    assert sliders._handles[at].value == pytest.approx(before[reach.entry])
    ((title, sentence),) = event.client.told
    assert title == "Not possible"
    assert "cannot be closed" in sentence


@robots.needs_robots
def test_sliders_of_joints_whose_limits_exclude_zero_start_inside_the_limits(server):
    m = rb.load_urdf(robots.find("panda.urdf"), floating_base=False)
    sliders, j = Sliders(Show(server, m, Appearance())), m.jnt_id("panda_joint4")
    (low, high), elbow = m.jnt_range[j], m.jnt_qposadr[j]
    assert high < 0.0
    assert sliders.qpos[elbow] == pytest.approx(0.5 * (low + high))
    sliders.zero()
    assert sliders.qpos[elbow] == 0.0


def test_only_the_first_joints_of_a_long_robot_have_sliders(server):
    link = (
        '<link name="l{0}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"'
        ' ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )
    joint = (
        '<joint name="j{0}" type="continuous"><parent link="l{0}"/><child link="l{1}"/></joint>'
    )
    number = MOST_SLIDERS + 5
    parts = [link.format(i) for i in range(number + 1)]
    parts += [joint.format(i, i + 1) for i in range(number)]
    m = rb.load_urdf(f'<robot name="long">{"".join(parts)}</robot>')
    sliders = Sliders(Show(server, m, Appearance()))
    assert len(sliders._handles) == MOST_SLIDERS
    sliders.random()
    assert sliders.qpos[-1] != 0.0


def test_a_random_configuration_does_not_move_a_floating_base(server):
    m = rb.load_urdf(ARM, floating_base=True)
    sliders = Sliders(Show(server, m, Appearance()))
    sliders.random()
    assert np.array_equal(sliders.qpos[:7], m.qpos0[:7])
    assert np.all(sliders.qpos[7:] != m.qpos0[7:])


class _Client:
    def __init__(self):
        self.told = []

    def add_notification(self, title, body, **_):
        self.told.append((title, body))


class _Event:
    def __init__(self, target, client=None):
        self.target, self.client = target, client or _Client()


def _slide(sliders, event, one, number):
    event.target.value = number
    sliders._slid(event, one)


def test_a_view_shows_the_data_that_a_program_gives_it():
    m = rb.load_urdf(ARM)
    d = rb.make_data(m)
    d.qpos[:] = 0.3, 0.1
    with rb.view(m, looks=ARM, port=0) as view:
        view.show(d)
        assert view.address.startswith("http://127.0.0.1:")
        assert view.findings == ()
        rb.kinematics(m, d)
        assert np.allclose(view._show.nodes._bodies[2].position, d.xpos[2])
        d.qpos[0] = np.nan
        with refused(rb.ModelError, "bad-instant", "qpos"):
            view.show(d)
        with refused(rb.ModelError, "data-of-other-model"):
            view.show(rb.make_data(rb.load_urdf(ARM)))
    view.close()
    with refused(rb.ModelError, "view-closed"):
        view.show(d)


def test_a_view_follows_a_data_that_is_stepped():
    m = rb.load_urdf(ARM)
    d = rb.make_data(m)
    with rb.view(m, d, ARM, port=0) as view:
        shown = view._show.nodes._bodies[2]
        d.qpos[:] = np.nan, 0.0  # the view ignores this state
        d.qpos[:] = 0.3, 0.1
        end = time.monotonic() + 60.0
        expected = d.copy()
        rb.kinematics(m, expected)
        while not np.allclose(shown.position, expected.xpos[2], atol=1e-6):
            assert time.monotonic() < end, "the view does not show the new state"
            time.sleep(0.02)
    with refused(rb.ModelError, "data-of-other-model"):
        rb.view(rb.load_urdf(ARM), d, port=0)


def test_only_local_notebooks_may_frame_a_view():
    m = rb.load_urdf(ARM)
    with rb.view(m, port=0) as view:
        inline = view.show_inline(300)._repr_html_()
        assert view.address in inline
        assert 'height="300"' in inline
        with urllib.request.urlopen(view.address) as answer:
            policy = answer.headers["Content-Security-Policy"]
        assert "frame-ancestors http://127.0.0.1:* http://localhost:*;" in policy
        with refused(rb.ParameterError, "bad-argument", "height"):
            view.show_inline(-1)


@pytest.mark.parametrize("packed", [False, True])
def test_the_page_begins_with_the_head_of_this_package(server, packed):
    wanted = {"Accept-Encoding": "gzip"} if packed else {}
    request = urllib.request.Request(address_of(server), headers=wanted)
    with urllib.request.urlopen(request) as answer:
        body = answer.read()
        assert int(answer.headers["Content-Length"]) == len(body)
    page = gzip.decompress(body) if packed else body
    assert page.count(HEAD) == 1
    assert page.index(HEAD) == page.index(b"<head>") + len(b"<head>")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((5,), "not-a-source"),
        (("nowhere.urdf",), "no-such-file"),
        ((Appearance((LinkShape("elbow", rb.Sphere(1.0)),)),), "unknown-frame"),
    ],
)
def test_invalid_arguments_of_a_view_are_refused(arguments, code):
    with refused(rb.RbdynError, code):
        rb.view(rb.load_urdf(ARM), None, *arguments, port=0)


def test_a_view_of_an_object_that_is_not_a_model_is_refused():
    with refused(rb.RbdynError, "not-a-model"):
        rb.view("no model", port=0)


RUN = """
import argparse, sys
from rbdyn_ros.commands.line.parser import Parser
from rbdyn_ros.commands.view import add_view
parser = Parser(prog="rbdyn")
add_view(parser.add_subparsers())
options = parser.parse_args(sys.argv[1:])
sys.exit(options.run(options))
"""


def run_view(*words):
    return subprocess.Popen(
        [sys.executable, "-c", RUN, "view", *map(str, words)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_the_command_view_prints_its_address_and_ends_at_ctrl_c(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(ARM.replace(
        '<link name="tool">',
        '<link name="tool"><visual><geometry><mesh filename="gone.stl"/></geometry></visual>',
    ))  # fmt: skip
    with taken_ports(1) as first:
        process = run_view(path, "--port", first)
        try:
            line = process.stdout.readline()
            assert line == f"rbdyn view: http://127.0.0.1:{first + 1}  (Ctrl-C ends)\n"
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 0
    assert out == ""
    (warning,) = err.splitlines()
    assert warning.startswith("rbdyn view: warning: ")
    assert "gone.stl" in warning


@robots.needs_robots
def test_the_command_view_names_joints_that_do_not_start_at_zero():
    process = run_view(robots.find("panda.urdf"), "--port", 0)
    try:
        lines = [process.stdout.readline() for _ in range(2)]
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    finally:
        process.kill()
    assert lines[0] == (
        "rbdyn view: joints whose limits exclude 0 start elsewhere: 'panda_joint4' at -1.571\n"
    )
    assert "http://127.0.0.1:" in lines[1]


@pytest.mark.parametrize(
    ("words", "status", "named"),
    [
        (["nowhere.urdf"], 1, "nowhere.urdf"),
        (["ARM", "--port", "70000"], 2, "'70000'"),
        (["ARM", "--address", "example.org"], 2, "'example.org'"),
    ],
)
def test_a_refusal_by_the_command_view_has_one_line(tmp_path, words, status, named):
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    process = run_view(*(path if word == "ARM" else word for word in words))
    out, err = process.communicate(timeout=60)
    assert process.returncode == status
    assert out == ""
    assert err.startswith("rbdyn view: ")
    assert named in err
    assert err.count("\n") == 1
    worded("rbdyn", err.removesuffix("\n"))


def test_a_server_without_viser_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with refused(rb.ParameterError, "no-view-extra"):
        open_server(0)


def test_a_viser_version_that_cannot_limit_requests_is_refused(monkeypatch):
    from rbdyn_ros.view.web import server as module

    @contextlib.contextmanager
    def unguarded(frames):
        yield module._Guard(None, frames)

    monkeypatch.setattr(module, "_guarded", unguarded)
    with refused(rb.ParameterError, "wrong-viser"):
        open_server(0)
