# SPDX-License-Identifier: Apache-2.0
"""Mobile bases drive closed squares over DDS, and publish odometry and transforms."""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("nav_msgs.msg")

from geometry_msgs.msg import Twist, TwistStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState
from simulation_interfaces.srv import GetEntities, GetEntityState, StepSimulation
from std_srvs.srv import Trigger
from support.mobile import car, mecanum, omni
from support.robots import find
from support.rovers import SKID_STEER, TURTLEBOT3
from tf2_msgs.msg import TFMessage

from rbdyn_ros.runtime.loop import warm

ROOT = Path(__file__).parents[3]
SPEC = importlib.util.spec_from_file_location("drive_square", ROOT / "examples/drive_square.py")
EXAMPLE = importlib.util.module_from_spec(SPEC)
PERIOD = 40_000_000  # between two messages of odometry [ns]
SPEC.loader.exec_module(EXAMPLE)


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """Compile the contact kernels first: otherwise waiting for a simulator could time out."""
    warm(TURTLEBOT3.model())


class Stepped(EXAMPLE.Driver):
    """The driver of the example in stepped time, which stops while the driver computes."""

    def __init__(self, peer):
        self.peer, self.stamp = peer, 0
        super().__init__(peer.node, peer.executor)
        name = self.ask(GetEntities, "get_entities").entities[0]
        state = self.ask(GetEntityState, "get_entity_state", entity=name).state
        self.time = nanoseconds(state.header.stamp)

    def ask(self, kind, name, **fields):
        answer = self.peer.call(kind, f"/simulator/{name}", kind.Request(**fields))
        assert answer.result.result == 1, answer.result.error_message
        return answer

    def _on_odometry(self, message):
        super()._on_odometry(message)
        self.stamp = nanoseconds(message.header.stamp)

    def wait(self):
        """Step by 40 ms and wait for the odometry of this time; return the pose."""
        self.ask(StepSimulation, "step_simulation", steps=40)
        self.time += PERIOD
        self.peer.until(lambda: self.stamp > self.time - PERIOD)
        return self.pose


def nanoseconds(stamp):
    return stamp.sec * 10**9 + stamp.nanosec


class Rover:
    """A mobile base in a simulator, and its true pose from /tf."""

    def __init__(self, simulate, peer, urdf, tmp_path, wheels=True, wait=True, **parameters):
        path, scene = tmp_path / "rover.urdf", parameters.pop("scene", "")
        if "<robot" in str(urdf):
            path.write_text(urdf)
        else:
            path = urdf
        if scene:
            (tmp_path / "scene.yaml").write_text(scene)
        words = ["-p", "floating_base:=true", "-p", "contact:=true"] * (wheels and not scene)
        # slow time, because late commands on a busy machine would make a wheel slip
        calm = {"command_timeout": "5.0", "real_time_factor": "0.5", "publish_rate": "100.0"}
        parameters = calm | parameters
        for name, value in parameters.items():
            words += ["-p", f"{name}:={value}"]
        file = ["--scene", tmp_path / "scene.yaml"] if scene else [path]
        self.simulator = simulate(*file, "--ros-args", *words, wait=wait)
        self.peer, self.links = peer, {}
        if wait:
            peer.node.create_subscription(TFMessage, "/tf", self._on_tf, 100)
            self.odometry = peer.hear(Odometry, "odom")

    def _on_tf(self, message):
        for one in message.transforms:
            self.links[one.child_frame_id] = one

    def truth(self, *chain):
        """Return x, y [m] and angle [rad] of the base in the world, by the frames of `chain`."""
        chain = (*chain, self.odometry[-1].child_frame_id)
        self.links.clear()
        self.peer.until(lambda: all(name in self.links for name in chain))
        place = np.zeros(3)
        for name in chain:
            at, turn = self.links[name].transform.translation, self.links[name].transform.rotation
            angle = 2.0 * math.atan2(turn.z, turn.w)
            c, s = math.cos(place[2]), math.sin(place[2])
            place += (c * at.x - s * at.y, s * at.x + c * at.y, angle)
        return place


#: A scene with a mobile base. Friction at the caster would make the wheels turn about an edge
#: instead of their middle, so the caster is smooth.
SCENE = """rbdyn_scene: 1
surfaces: {smooth: {friction: 0.05}}
robot: {file: rover.urdf, floating_base: true, base: auto, surfaces: {caster-0.081: smooth}}
"""
#: Wheels without steering slip when a base turns: the base turns by this share of their rolling.
SKID = 0.5512
NO_CAMERA = "rbdyn_sensors: 1\nsensors:\n  imu: {type: imu, link: torso_lift_link}\n"
#: By name: robot, parameters, radius of the corners [m], frames between world and base.
SQUARES = {
    "differential": (TURTLEBOT3.urdf, {"scene": SCENE}, 0.0, ["odom"]),
    "public": (lambda: find("tiago_no_hand.urdf"), {"base.kind": "auto"}, 0.0, ["odom"]),
    "skid": (
        SKID_STEER.urdf,
        {"base.kind": "skid_steer", "base.track_scale": f"{1.0 / SKID:.4f}"},
        0.0,
        ["odom"],
    ),
    "car": (car(), {"base.kind": "ackermann"}, 0.8, ["odom"]),
    "mecanum": (mecanum(24), {"base.kind": "auto"}, 0.0, ["odom"]),
    "omni": (omni(24), {"base.kind": "auto"}, 0.0, ["odom"]),
    "planar": (car(), {"base.kind": "planar"}, 0.0, ["odom_x", "odom_y"]),
}
#: Sides of the squares that are not 1 m long [m]: a base with many rollers is slow to simulate.
SIDES = {"differential": 0.5, "mecanum": 0.5, "omni": 0.5}


@pytest.mark.parametrize("name", SQUARES)
def test_a_driven_square_ends_near_its_start(simulate, peer, tmp_path, name):
    urdf, parameters, radius, chain = SQUARES[name]
    side = SIDES.get(name, 1.0)
    if callable(urdf):  # hold its arm, and leave out its camera
        urdf, sensors = urdf(), tmp_path / "sensors.yaml"
        sensors.write_text(NO_CAMERA)
        parameters = parameters | {"on_timeout": "hold", "sensors": sensors}
    # commands come every 40 ms, so a delay of some ms hardly matters
    parameters = parameters | {"publish_rate": "25.0", "real_time_factor": "1.0"}
    rover = Rover(simulate, peer, urdf, tmp_path, name != "planar", **parameters)
    peer.spin(0.5)
    before = rover.truth(*chain)
    peer.pause(True)
    Stepped(peer).square(side, radius)
    peer.pause(False)
    after = rover.truth(*chain)
    way = 4.0 * side + 2.0 * math.pi * radius
    off = math.hypot(*(after - before)[:2])
    turned = EXAMPLE.wrapped(after[2] - before[2])
    print(f"{name}: {1e3 * off:.1f} mm of {way:.1f} m, {turned:.4f} rad")
    assert off < 0.01 * way
    assert abs(turned) < 0.01 * 2.0 * math.pi


def twist(forward=0.0, left=0.0, turn=0.0):
    message = Twist()
    message.linear.x, message.linear.y, message.angular.z = forward, left, turn
    return message


def speeds(peer):
    """Return the joint velocities of the newest joint_states."""
    return np.array(peer.hear(JointState, "joint_states")[-1].velocity)


BAD = [
    (twist(math.nan), "linear.x is nan; allowed is a finite number"),
    (twist(0.1, turn=math.inf), "angular.z is inf"),
    (twist(0.1, 0.1), "linear.y is 0.1; a base of kind 'differential' does not move sideways"),
]


def test_refusals_of_bad_twists_name_the_error_and_nothing_moves(simulate, peer, tmp_path):
    rover = Rover(simulate, peer, TURTLEBOT3.urdf, tmp_path, scene=SCENE)
    peer.spin(0.5)
    before = rover.truth("odom")
    publisher = peer.publisher(Twist, "cmd_vel")
    lifted = twist(0.1)
    lifted.linear.z = 0.5
    for message, words in [*BAD, (lifted, "linear.z is 0.5; allowed is 0 for a mobile base")]:
        peer.insist(publisher, message, lambda words=words: words in rover.simulator.text())
        peer.spin(1.1)  # at most one refusal per second is logged
    assert rover.truth("odom") == pytest.approx(before, abs=1e-4)


def test_a_stamped_twist_in_another_frame_is_refused(simulate, peer, tmp_path):
    more = {"scene": SCENE, "base.stamped": "true"}
    rover = Rover(simulate, peer, TURTLEBOT3.urdf, tmp_path, **more)
    publisher = peer.publisher(TwistStamped, "cmd_vel")
    message = TwistStamped(twist=twist(0.2))
    message.header.frame_id = "map"
    said = "the twist is in frame 'map'; allowed is 'base', or none"
    peer.insist(publisher, message, lambda: said in rover.simulator.text())
    assert abs(rover.odometry[-1].twist.twist.linear.x) < 1e-3
    message.header.frame_id = "base"
    # later a stamp of 0.0 s would be too old, so the stamp 0 must mean now
    peer.until(lambda: rover.odometry[-1].header.stamp.sec > 2)
    message.header.stamp.sec = 1
    said = "s old; base.timeout is 0.5 s"
    peer.insist(publisher, message, lambda: said in rover.simulator.text())
    assert abs(rover.odometry[-1].twist.twist.linear.x) < 1e-3
    message.header.stamp.sec = 0
    peer.insist(publisher, message, lambda: rover.odometry[-1].twist.twist.linear.x > 0.19)


def test_the_base_speeds_up_within_its_limit_and_stops_after_the_timeout(simulate, peer, tmp_path):
    more = {"base.linear_acceleration": "0.5", "base.timeout": "0.3", "base.max_linear": "0.15"}
    rover = Rover(simulate, peer, TURTLEBOT3.urdf, tmp_path, scene=SCENE, **more)
    publisher = peer.publisher(Twist, "cmd_vel")
    forward = lambda message: message.twist.twist.linear.x  # noqa: E731
    peer.insist(publisher, twist(1.0), lambda: forward(rover.odometry[-1]) > 0.149)
    peer.until(lambda: abs(forward(rover.odometry[-1])) < 1e-3)  # no further cmd_vel comes
    stamps = np.array([m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for m in rover.odometry])
    along = np.array([forward(m) for m in rover.odometry])
    assert along.max() < 0.155
    # over a fifth of a second the lag of the wheels' servos does not matter
    later = np.searchsorted(stamps, stamps + 0.2)
    pairs = [(a, b) for a, b in enumerate(later) if b < len(stamps)]
    gains = [(along[b] - along[a]) / (stamps[b] - stamps[a]) for a, b in pairs]
    assert max(map(abs, gains)) < 0.5 * 1.1


def test_odometry_has_the_frames_of_rep_105_and_a_covariance_that_grows(simulate, peer, tmp_path):
    rover = Rover(simulate, peer, TURTLEBOT3.urdf, tmp_path, scene=SCENE)
    first = rover.odometry[-1]
    assert (first.header.frame_id, first.child_frame_id) == ("odom", "base")
    publisher = peer.publisher(Twist, "cmd_vel")
    peer.insist(publisher, twist(0.2), lambda: rover.odometry[-1].pose.pose.position.x > 0.2)
    last = rover.odometry[-1]
    assert last.pose.covariance[0] > first.pose.covariance[0] > 0.0
    assert last.pose.covariance[14] == 1e6  # for z, which is not measured
    rover.truth("odom")
    assert rover.links["odom"].header.frame_id == "world"
    assert rover.links["base"].header.frame_id == "odom"
    assert peer.call(Trigger, "/simulator/reset", Trigger.Request()).success
    peer.until(lambda: abs(rover.odometry[-1].pose.pose.position.x) < 1e-3)


WRONG = [
    ({"base.kind": "auto", "floating_base": "false"}, "the robot is fixed to the world"),
    ({"base.kind": "ackermann"}, "base.kind is 'ackermann', but a base with"),
    ({"base.kind": "auto", "base.wheels": "[left]"}, "base.wheels has 'left'"),
    ({"base.kind": "auto", "contact": "false"}, "the robot has no wheels"),
]


@pytest.mark.parametrize(("parameters", "words"), WRONG, ids=[words for _, words in WRONG])
def test_mobile_base_parameters_that_do_not_fit_the_robot_are_refused(
    simulate, peer, tmp_path, parameters, words
):
    rover = Rover(simulate, peer, TURTLEBOT3.urdf, tmp_path, wait=False, **parameters)
    assert rover.simulator.process.wait(300.0) == 2
    assert words in rover.simulator.text()
