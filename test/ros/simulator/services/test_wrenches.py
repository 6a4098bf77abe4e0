# SPDX-License-Identifier: Apache-2.0
"""External wrenches act on a robot and have arrows in RViz, or are refused."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from support.refusals import refused

import rbdyn_ros as rb

pytest.importorskip("rclpy")

from geometry_msgs.msg import Point, WrenchStamped
from geometry_msgs.msg import Wrench as WrenchMessage

from rbdyn_ros.ros.simulator.services.wrenches import (
    wrench_of_message,
    wrench_of_request,
    wrench_on,
)
from rbdyn_ros.ros.simulator.topics.markers import WrenchMarkers, arrow

ARM = "config/robots/seven_dof_arm.urdf"
POINT, FORCE, TORQUE = (0.1, -0.2, 0.3), (1.0, 2.0, 3.0), (-0.1, 0.2, 0.4)


@pytest.fixture(scope="module")
def arm():
    return rb.load_urdf(ARM)


@pytest.mark.parametrize("link", ["arm", "tool"])
@pytest.mark.parametrize("axes", ["link", "world"])
def test_joint_efforts_of_a_wrench_follow_from_the_jacobian(two_joints, link, axes):
    """A wrench w adds joint efforts J^T w, where J belongs to its point and axes.

    The tool is fixed to the arm and rotated relative to the arm.
    """
    m = rb.load_urdf(two_joints)
    d = rb.make_data(m)
    d.qpos[:] = 0.7, 1.1
    rb.forward(m, d)
    wrench = wrench_on(m, link, POINT, FORCE, TORQUE, axes, 0.5)
    R = d.xmat[wrench.body].reshape(3, 3)
    f, n = (R @ v if wrench.in_body else v for v in (wrench.force, wrench.torque))
    point = d.xpos[wrench.body] + R @ wrench.point
    e = rb.make_data(m)
    e.qpos[:] = d.qpos
    e.xfrc_applied[wrench.body] = [*f, *(n + np.cross(point - d.xipos[wrench.body], f))]
    rb.forward(m, e)
    ours = rb.mass_matrix(m, d) @ (e.qacc - d.qacc)

    _, R_link = rb.frame_pose(m, d, link)
    turned = np.eye(3) if axes == "link" else R_link.T
    force, torque = turned @ FORCE, turned @ TORQUE
    J = rb.frame_jacobian(m, d, link, "local")
    expected = J.T @ [*(torque + np.cross(POINT, force)), *force]
    np.testing.assert_allclose(ours, expected, atol=1e-10)
    assert wrench.duration == 0.5


@pytest.mark.parametrize(
    "given",
    [
        {"force": (np.nan, 0, 0)},
        {"torque": (0, np.inf, 0)},
        {"point": (0, 0, -np.inf)},
        {"duration": float("nan")},
        {"link": "hnd"},
        {"link": ""},
        {"axes": "body"},
        {"axes": "wold"},
        {"link": "base_link"},
        {"duration": 0.0},
        {"duration": -1.0},
        {"link": "a\nb" + "c" * 2_000_000},
        {"axes": "\x1b[2J"},
        {"duration": 4000.0},
        {"force": (0.0, -2e6, 0.0)},
        {"point": (2e3, 0, 0)},
    ],
)
def test_wrench_on_refuses_invalid_arguments(arm, given):
    arguments = {
        "link": "hand",
        "point": POINT,
        "force": FORCE,
        "torque": TORQUE,
        "axes": "link",
        "duration": 1.0,
    }
    with refused(rb.RbdynError, "request") as error:
        wrench_on(arm, **arguments | given)
    assert next(iter(given)) in str(error.value)
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 300


def message(frame="tool_flange"):
    stamped = WrenchStamped()
    stamped.header.frame_id = frame
    f, n = stamped.wrench.force, stamped.wrench.torque
    (f.x, f.y, f.z), (n.x, n.y, n.z) = FORCE, TORQUE
    return stamped


def same(a, b):
    pairs = [(getattr(a, name), getattr(b, name)) for name in ("point", "force", "torque")]
    same_numbers = all(np.array_equal(x, y) for x, y in pairs)
    return same_numbers and (a.body, a.in_body, a.duration) == (b.body, b.in_body, b.duration)


def test_a_wrench_message_is_converted_to_a_wrench_on_the_link(arm):
    expected = wrench_on(arm, "tool_flange", (0, 0, 0), FORCE, TORQUE, "link", 0.1)
    assert same(wrench_of_message(arm, message(), 0.1), expected)
    assert same(wrench_of_message(arm, message("left/tool_flange"), 0.1, "left/"), expected)
    with refused(rb.RbdynError, "request"):
        wrench_of_message(arm, message("right/hand"), 0.1, "left/")
    with refused(rb.RbdynError, "request"):
        wrench_of_message(arm, message("hnd"), 0.1)


def test_a_wrench_request_is_converted_to_a_wrench_on_the_link(arm):
    request = SimpleNamespace(
        link="hand",
        point=Point(x=POINT[0], y=POINT[1], z=POINT[2]),
        wrench=message().wrench,
        axes="world",
        duration=SimpleNamespace(sec=1, nanosec=500_000_000),
    )
    assert isinstance(request.wrench, WrenchMessage)
    expected = wrench_on(arm, "hand", POINT, FORCE, TORQUE, "world", 1.5)
    assert same(wrench_of_request(arm, request), expected)


def test_an_arrow_shows_the_point_direction_and_size_of_a_force(arm):
    m, d = arm, rb.make_data(arm)
    d.qpos[:] = np.random.default_rng(4).uniform(-1.0, 1.0, m.nq)
    rb.kinematics(m, d)
    wrench = wrench_on(m, "tool_flange", POINT, (0.0, 0.0, 40.0), (0, 0, 0), "world", 1.0)
    link, tail, along = arrow(m, d.xmat, wrench, wrench.force)
    x, R = rb.frame_pose(m, d, link)
    x_tool, R_tool = rb.frame_pose(m, d, "tool_flange")
    np.testing.assert_allclose(x + R @ tail, x_tool + R_tool @ POINT, atol=1e-12)
    np.testing.assert_allclose(R @ along, [0.0, 0.0, 0.2], atol=1e-12)
    wrench = wrench_on(m, "hand", POINT, (1e5, 0.0, 0.0), (0.0, 1e-3, 0.0), "link", 1.0)
    assert np.linalg.norm(arrow(m, d.xmat, wrench, wrench.force)[2]) == pytest.approx(1.0)
    assert np.linalg.norm(arrow(m, d.xmat, wrench, wrench.torque)[2]) == pytest.approx(0.05)


def test_markers_appear_and_disappear_with_their_wrenches(arm, peer, domain):
    pytest.importorskip("visualization_msgs")
    import rclpy
    from visualization_msgs.msg import Marker, MarkerArray

    context = rclpy.Context()
    rclpy.init(context=context, domain_id=domain)
    node = rclpy.create_node("robot", context=context)
    acting = []
    orders = SimpleNamespace(wrenches=lambda: list(acting))
    loop = SimpleNamespace(m=arm, period_ns=1_000_000, orders=orders)
    markers = WrenchMarkers(node, loop, "left_")
    heard = peer.collect(MarkerArray, "/robot/wrench_markers")
    tick = iter(range(0, 10**9, 33))

    def publish():
        markers.publish(5, SimpleNamespace(epoch=0, tick=next(tick), time=0.0, qpos=arm.qpos0))

    try:
        peer.until(lambda: node.count_subscribers("/robot/wrench_markers") == 1)
        publish()
        acting[:] = [wrench_on(arm, "hand", POINT, FORCE, TORQUE, "link", 1.0)]
        peer.until(lambda: publish() or bool(heard))
        force, torque = heard[0].markers
        assert [(marker.ns, marker.id) for marker in (force, torque)] == [
            ("force", 0),
            ("torque", 0),
        ]
        assert {marker.action for marker in heard[0].markers} == {Marker.ADD}
        assert force.type == Marker.ARROW
        assert force.header.frame_id == "left_hand"
        assert [force.points[0].x, force.points[0].y, force.points[0].z] == pytest.approx(POINT)
        # after a reset of time a tick returns, with another state
        epochs = itertools.count()

        def begin_again():
            for stamp, tick in ((6, 34), (7, 33)):
                state = SimpleNamespace(epoch=next(epochs), tick=tick, time=0.0, qpos=arm.qpos0)
                markers.publish(stamp, state)

        stamps = lambda: {message.markers[0].header.stamp.nanosec for message in heard}  # noqa: E731
        peer.repeat(begin_again, lambda: {6, 7} <= stamps())
        acting.clear()
        peer.until(lambda: publish() or heard[-1].markers[0].action == Marker.DELETE)
        assert [(marker.ns, marker.action) for marker in heard[-1].markers] == [
            ("force", Marker.DELETE),
            ("torque", Marker.DELETE),
        ]
    finally:
        node.destroy_node()
        context.try_shutdown()
