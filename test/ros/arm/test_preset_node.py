"""The arm controller with the name of an arm: its topics, what the log says, refused starts."""

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("diagnostic_msgs.msg", reason="diagnostic_msgs is not installed")

import numpy as np
from arm_pair import ALL, UR5_START, Pair, Relay, start_arm
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from support.refusals import worded
from support.robots import find

import rbdyn_ros as rb
from rbdyn_ros.control.arm import Arm

ROBOT = find("ur5_robot.urdf")


def publishers(peer, topic):
    return [info.node_name for info in peer.node.get_publishers_info_by_topic(topic)]


def test_a_preset_names_topics_and_explicit_values_count_more(control, peer):
    node = control(ROBOT, arm="ur5e")
    commands = "/forward_effort_controller/commands"
    peer.until(lambda: publishers(peer, commands))
    said = node.text()
    assert "arm 'ur5e' behind ur_robot_driver; its preset was not run on the arm" in said
    assert "robot_compensates_gravity is true" in said
    assert "output is effort_commands" in said
    assert not publishers(peer, "/effort_commands")
    node.end_well()

    node = control(
        ROBOT, arm="ur5e", remap={"effort_commands": "/mine"}, robot_compensates_friction="false"
    )
    peer.until(lambda: publishers(peer, "/mine"))
    said = node.text()
    assert "robot_compensates_friction is false, set explicitly; the preset has true" in said
    assert "topic effort_commands is /mine, explicitly" in said
    node.end_well()


def test_refused_starts_with_a_preset(control):
    """Exit status 2 and one line each."""
    starts = [
        ({"arm": "ur5"}, "did you mean 'ur5e'"),
        ({"arm": "fr3"}, "the robot has no joint"),
        ({"arm": "xarm7"}, "takes no efforts"),
        ({"arm": "5"}, "'arm'"),
        ({"arm": "ur5e", "friction_compensation": 0.9}, "friction_compensation is 0.9"),
    ]
    started = [control(ROBOT, False, **given) for given, _ in starts]
    for controller, (_, words) in zip(started, starts, strict=True):
        assert controller.process.wait(120.0) == 2, controller.text()
        lines = controller.text().splitlines()
        (why,) = (line for line in lines if line.startswith("rbdyn: "))
        assert words in why
        worded("arm_controller", why)
        assert "Traceback" not in controller.text()


class UrDriver(Relay):
    """Between a simulated arm and its controller, as ur_robot_driver with direct torques.

    It adds gravity to every command, and reports torques without gravity.
    """

    def __init__(self, peer):
        self.model = Arm(rb.load_urdf(ROBOT)).bare
        self.d = rb.make_data(self.model)
        self.names, self.stamp, self.commands = [], None, []
        super().__init__(peer)
        self.change = self.report
        self.simulated = self.node.create_publisher(JointState, "inner_commands", 10)
        topic = "forward_effort_controller/commands"
        self.node.create_subscription(Float64MultiArray, topic, self.obey, 10)

    def gravity(self, names, position):
        by_name = dict(zip(names, position, strict=True))
        self.d.qpos = [by_name[name] for name in self.model.jnt_names]
        effort = dict(zip(self.model.jnt_names, rb.gravity_term(self.model, self.d), strict=True))
        return np.array([effort[name] for name in names])

    def report(self, state):
        self.names, self.stamp = list(state.name), state.header.stamp
        self.own = self.gravity(state.name, state.position)
        state.effort = (np.array(state.effort) - self.own).tolist()
        return state

    def obey(self, message):
        """Take a command in the order of the joints of the driver."""
        self.commands.append(np.array(message.data))
        given = dict(zip(self.model.jnt_names, message.data, strict=True))
        total = np.array([given[name] for name in self.names]) + self.own
        command = JointState(name=self.names, effort=total.tolist())
        command.header.stamp = self.stamp
        self.simulated.publish(command)


def behind_the_driver(simulate, control, peer, **given):
    """Return the pair of a simulated UR5 and its controller, and the driver between them."""
    # a second publisher on joint_commands would be a rival of the controller
    inner = ("-r", "joint_commands:=inner_commands")
    simulator = start_arm(simulate, ROBOT, UR5_START, 250, lockstep=True, more=inner)
    driver = UrDriver(peer)
    words = {"arm": "ur5e", "mode": "gravity", "state_timeout": 1.0, "use_sim_time": "true"}
    controller = control(ROBOT, remap={"joint_states": "relayed_states"}, **words, **given)
    return Pair(simulator, controller, peer, qos=ALL), driver


def test_an_arm_floats_behind_the_driver_of_its_preset(simulate, control, peer):
    pair, driver = behind_the_driver(simulate, control, peer)
    try:
        pair.arm_it()
        place = pair.arm.position
        pair.arm.wait(1.0)
        assert np.abs(pair.arm.position - place).max() < 1e-3
        assert len(driver.commands) > 100
        # the controller leaves gravity to the arm: here 40 N m at the shoulder
        assert np.abs(driver.own).max() > 10.0
        assert np.abs(driver.commands[-1]).max() < 0.5
    finally:
        driver.close()
    pair.end_well()


def test_a_wrong_setting_is_refused_behind_the_driver(simulate, control, peer):
    """The preset says that the arm carries gravity; an explicit parameter denies it."""
    pair, driver = behind_the_driver(simulate, control, peer, robot_compensates_gravity="false")
    try:
        pair.arm.rest(0.04)
        pair.until_arming(lambda why: "where the model needs" in why)
        assert not driver.commands
    finally:
        driver.close()
    pair.end_well()
