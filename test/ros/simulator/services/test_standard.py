# SPDX-License-Identifier: Apache-2.0
"""Services of simulation_interfaces act over DDS on a stand-in that only counts ticks."""

import math
import threading
import time

import pytest

pytest.importorskip("simulation_interfaces")

import rclpy
from geometry_msgs.msg import Vector3
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from simulation_interfaces import srv
from simulation_interfaces.action import SimulateSteps
from simulation_interfaces.msg import EntityCategory, EntityInfo
from simulation_interfaces.srv import (
    GetEntities,
    GetEntitiesStates,
    GetEntityInfo,
    GetEntityState,
    GetSimulationState,
    GetSimulatorFeatures,
    ResetSimulation,
    SetEntityState,
    SetSimulationState,
    StepSimulation,
)
from support.refusals import worded

from rbdyn_ros.errors import refusal
from rbdyn_ros.ros.simulator.services.standard import open_standard

UNSUPPORTED, OK, NOT_FOUND, INCORRECT_STATE, FAILED = range(5)
STOPPED, PLAYING, PAUSED, QUITTING = range(4)
TURN = (0.0, 0.0, math.sin(0.3), math.cos(0.3))


class TwoRobots:
    """A stand-in for the entities: the floating robot `arm` and the fixed robot `rail`."""

    has_world, first_scene = True, None

    def __init__(self):
        self.infos, self.placed = {}, []

    def names(self):
        return ["arm", "rail"]

    def kind(self, _):
        return "robot"

    def info(self, name):
        return self.infos.get(name)

    def set_info(self, name, info):
        self.infos[name] = info

    def shapes(self, _):
        return []

    def state(self, name):
        k = self.names().index(name)
        return (k, 2, 3), TURN, (4, 5, 6), (7, 8, 9), (1, 2, 3, -1, -2, -3)

    def states(self, names):
        return [(1_500_000_000, self.state(name)) for name in names]

    def set_state(self, name, pose, twist):
        if name == "rail":
            raise refusal("robot 'rail' is fixed to the world")
        self.placed.append((pose, twist))


class CountingSimulation:
    """A stand-in for a simulation, which only counts ticks."""

    world_frame = "world"

    def __init__(self):
        self.paused, self.diverged, self.tick = True, False, 0
        self.as_loaded = True
        self.entities = TwoRobots()
        self.breaks = 0  # number of steps that will raise RuntimeError
        self.stuck = False  # whether pause() refuses
        self.resets, self.ended = [], threading.Event()

    def pause(self, wanted):
        if self.stuck:
            raise refusal("the loop does not answer")
        self.paused = wanted

    def step(self, count):
        if self.breaks:
            self.breaks -= 1
            raise RuntimeError("the cable is out")
        time.sleep(0.001)
        self.tick += count
        if self.diverged:
            raise refusal("diverged")

    def reset(self, time, state, robot):
        self.resets.append((time, state, robot))
        self.diverged = False
        self.tick = 0 if time else self.tick + 1

    def quit(self):
        self.ended.set()


@pytest.fixture
def simulation(peer):
    """Yield a CountingSimulation that the node /sim serves."""
    simulation = CountingSimulation()
    node = rclpy.create_node("sim", context=peer.context)
    executor = SingleThreadedExecutor(context=peer.context)
    executor.add_node(node)
    served = open_standard(node, simulation)
    served.start()
    thread = threading.Thread(target=executor.spin, daemon=True)
    thread.start()
    yield simulation
    served.close()
    executor.shutdown(5.0)
    thread.join(5.0)
    node.destroy_node()


@pytest.fixture
def ask(peer, simulation):
    """Return ask(kind, name, field=value...), which calls a service of /sim."""

    def call(kind, name, **fields):
        return peer.call(kind, f"/sim/{name}", kind.Request(**fields))

    return call


def result_of(response):
    """Return the result code of a response; assert that only a failure has a message."""
    code, message = response.result.result, response.result.error_message
    assert bool(message) == (code != OK)
    if message:
        worded("simulation_interfaces", message)
    return code


def set_state(ask, state):
    request = SetSimulationState.Request()
    request.state.state = state
    return result_of(ask(SetSimulationState, "set_simulation_state", state=request.state))


def state_of(ask):
    return ask(GetSimulationState, "get_simulation_state").state.state


def test_the_listed_features_match_the_offered_services(ask):
    features = ask(GetSimulatorFeatures, "get_simulator_features").features
    expected = {4, 8, 10, 11, 12, 20, 21, 22, 23, 24, 25, 26, 31, 32, 33}
    for kind, more in (
        ("SpawnEntity", {0, 1, 5, 6, 9, 14}),
        ("SpawnEntities", {50}),
        ("SetEntityInfo", {13}),
        ("LoadWorld", {40, 41, 42, 43, 44, 45}),
    ):
        expected |= more if hasattr(srv, kind) else set()
    assert sorted(features.features) == sorted(expected)
    assert ("urdf" in features.spawn_formats) == hasattr(srv, "SpawnEntity")


def test_the_simulation_state_can_be_set(ask, simulation):
    assert state_of(ask) == STOPPED
    assert set_state(ask, STOPPED) == 101
    assert set_state(ask, PLAYING) == OK
    assert (state_of(ask), simulation.paused) == (PLAYING, False)
    assert set_state(ask, PAUSED) == OK
    simulation.tick = 7
    assert state_of(ask) == PAUSED
    assert set_state(ask, STOPPED) == OK
    assert simulation.resets == [(True, True, True)]
    assert state_of(ask) == STOPPED
    simulation.tick = 1  # as after a call of ~/step
    assert state_of(ask) == PAUSED
    assert set_state(ask, 4) == UNSUPPORTED
    simulation.diverged = True
    assert set_state(ask, PLAYING) == 102


@pytest.mark.parametrize("wanted", [PLAYING, PAUSED])
def test_a_refused_change_of_state_keeps_the_state(ask, simulation, wanted):
    simulation.stuck = True
    assert set_state(ask, wanted) == 102
    assert state_of(ask) == STOPPED


def test_setting_the_state_quitting_ends_the_simulation(ask, simulation):
    assert set_state(ask, PLAYING) == OK
    assert set_state(ask, QUITTING) == OK
    assert simulation.paused
    assert simulation.ended.wait(10.0)
    assert state_of(ask) == QUITTING
    assert set_state(ask, PLAYING) == INCORRECT_STATE


def test_each_scope_of_a_reset_resets_its_parts(ask, simulation):
    for scope in (0, 1, 2, 3, 4, 6, 255):
        assert result_of(ask(ResetSimulation, "reset_simulation", scope=scope)) == OK
    all_three, time, state = (True, True, True), (True, False, False), (False, True, False)
    both, robot, moved = (True, True, False), (False, False, True), (False, True, True)
    assert simulation.resets == [all_three, time, state, both, robot, moved, all_three]
    assert result_of(ask(ResetSimulation, "reset_simulation", scope=9)) == UNSUPPORTED
    assert len(simulation.resets) == 7


def test_steps_are_made_only_while_the_simulation_is_paused(ask, simulation):
    assert result_of(ask(StepSimulation, "step_simulation", steps=250)) == OK
    assert simulation.tick == 250
    assert result_of(ask(StepSimulation, "step_simulation")) == OK  # the default is one step
    assert simulation.tick == 251
    simulation.diverged = True
    assert result_of(ask(StepSimulation, "step_simulation", steps=5)) == FAILED
    simulation.paused = False
    assert result_of(ask(StepSimulation, "step_simulation")) == FAILED


def test_later_steps_work_after_an_exception_in_a_step(ask, peer, simulation, capfd):
    simulation.breaks = 2
    broken = peer.node.create_client(StepSimulation, "/sim/step_simulation")
    peer.until(broken.service_is_ready)
    for left in (1, 0):
        broken.call_async(StepSimulation.Request())
        peer.until(lambda left=left: simulation.breaks == left)
    for tick in (1, 2, 3):
        assert result_of(ask(StepSimulation, "step_simulation")) == OK
        assert simulation.tick == tick
    peer.node.destroy_client(broken)
    heard = capfd.readouterr().err
    # rclpy may report one error twice
    assert heard.count("a request to step failed: Traceback") >= 2
    assert "RuntimeError: the cable is out" in heard


def start(peer, steps):
    """Send a goal of this many steps; return its handle and the growing list of feedback."""
    client, feedback = ActionClient(peer.node, SimulateSteps, "/sim/simulate_steps"), []
    peer.until(client.server_is_ready)
    sent = client.send_goal_async(
        SimulateSteps.Goal(steps=steps), feedback_callback=lambda m: feedback.append(m.feedback)
    )
    peer.until(sent.done)
    assert sent.result().accepted
    return sent.result(), feedback


def end(peer, goal):
    future = goal.get_result_async()
    peer.until(future.done)
    result = future.result().result.result
    return future.result().status, result.result, result.error_message


def test_the_action_simulate_steps_makes_the_requested_steps(peer, simulation):
    goal, _ = start(peer, 5)
    assert end(peer, goal) == (4, OK, "")
    assert simulation.tick == 5


def test_the_action_simulate_steps_gives_feedback(peer, simulation):
    # so many steps take longer than discovery of the feedback topic
    goal, feedback = start(peer, 10**6)
    peer.until(lambda: len(feedback) >= 5)
    cancelled = goal.cancel_goal_async()
    peer.until(cancelled.done)
    end(peer, goal)
    done = [f.completed_steps for f in feedback]
    assert done == sorted(set(done))
    assert 0 < done[-1] <= simulation.tick
    assert all(f.completed_steps + f.remaining_steps == 10**6 for f in feedback)


def test_a_long_action_can_be_cancelled_while_other_requests_are_served(ask, peer, simulation):
    goal, _ = start(peer, 10**12)
    peer.until(lambda: simulation.tick > 2)
    assert state_of(ask) == PAUSED
    assert result_of(ask(StepSimulation, "step_simulation")) == FAILED
    cancelled = goal.cancel_goal_async()
    peer.until(cancelled.done)
    status, code, why = end(peer, goal)
    assert (status, code) == (5, FAILED)
    assert f"{simulation.tick} of 1000000000000 steps" in why


def test_setting_the_state_playing_aborts_a_long_action(ask, peer, simulation):
    goal, _ = start(peer, 10**12)
    peer.until(lambda: simulation.tick > 2)
    assert set_state(ask, PLAYING) == OK
    status, code, why = end(peer, goal)
    assert (status, code) == (6, FAILED)
    assert f"{simulation.tick} of 1000000000000 steps" in why


def entities(ask, **fields):
    request = GetEntities.Request()
    for field, value in fields.items():
        setattr(request.filters, field, value)
    answer = ask(GetEntities, "get_entities", filters=request.filters)
    return list(answer.entities), result_of(answer)


def test_get_entities_lists_entities_by_filters(ask, simulation):
    assert entities(ask) == (["arm", "rail"], OK)
    assert entities(ask, filter="^a.m$") == (["arm"], OK)
    assert entities(ask, filter="(a+)+$" * 20) == ([], FAILED)
    assert entities(ask, categories=[EntityCategory(category=2)]) == ([], OK)
    robot = EntityCategory(category=EntityCategory.CATEGORY_ROBOT)
    assert entities(ask, categories=[robot], filter="l") == (["rail"], OK)
    assert entities(ask, filter="(a") == ([], FAILED)
    request = GetEntities.Request()
    bounds = request.filters.bounds
    bounds.type = bounds.TYPE_SPHERE
    assert entities(ask, bounds=bounds) == ([], FAILED)
    # entities without shapes are filtered by their origins; the rail is at (1, 2, 3)
    bounds.points = [Vector3(x=1.0, y=2.0, z=3.5), Vector3(x=0.51)]
    assert entities(ask, bounds=bounds) == (["rail"], OK)
    bounds.points[1].x = 0.49
    assert entities(ask, bounds=bounds) == ([], OK)


@pytest.mark.skipif(not hasattr(srv, "SetEntityInfo"), reason="simulation_interfaces is older")
def test_entities_can_be_filtered_by_tags_that_a_client_has_set(ask, simulation):
    def describe(entity, category=2, text="", tags=()):
        info = EntityInfo(description=text, tags=list(tags))
        info.category.category = category
        return result_of(ask(srv.SetEntityInfo, "set_entity_info", entity=entity, info=info))

    assert describe("arm", text="on wheels", tags=["red", "fast"]) == OK
    assert describe("rail", category=5, tags=["red"]) == OK
    info = ask(GetEntityInfo, "get_entity_info", entity="arm").info
    assert (info.category.category, info.description) == (2, "on wheels")
    assert list(info.tags) == ["red", "fast"]
    tags = GetEntities.Request().filters.tags
    tags.tags = ["red", "fast"]
    assert entities(ask, tags=tags) == (["arm", "rail"], OK)
    human = [EntityCategory(category=EntityCategory.CATEGORY_HUMAN)]
    assert entities(ask, tags=tags, categories=human) == (["arm"], OK)
    tags.filter_mode = tags.FILTER_MODE_ALL
    assert entities(ask, tags=tags) == (["arm"], OK)
    tags.filter_mode = 2
    assert entities(ask, tags=tags) == ([], FAILED)
    assert describe("arm", category=3) == FAILED
    assert describe("arm", text="a" * 1001) == FAILED
    assert describe("arm", tags=["a"] * 101) == FAILED
    assert describe("army") == NOT_FOUND
    assert len(simulation.entities.infos) == 2


def test_get_entity_state_returns_the_state_of_an_entity(ask, simulation):
    states = ask(GetEntitiesStates, "get_entities_states")
    assert list(states.entities) == ["arm", "rail"]
    answer = ask(GetEntityState, "get_entity_state", entity="rail")
    assert answer.state == states.states[1]
    state = answer.state
    assert (state.header.stamp.sec, state.header.stamp.nanosec) == (1, 500_000_000)
    assert state.header.frame_id == "world"
    assert (state.pose.position.x, state.pose.position.z) == (1.0, 3.0)
    assert (state.pose.orientation.z, state.pose.orientation.w) == TURN[2:]
    assert (state.twist.linear.y, state.twist.angular.z) == (5.0, 9.0)
    assert (state.acceleration.linear.y, state.acceleration.angular.z) == (2.0, -3.0)
    info = ask(GetEntityInfo, "get_entity_info", entity="arm").info
    assert info.category.category == EntityCategory.CATEGORY_ROBOT
    assert result_of(ask(GetEntityState, "get_entity_state", entity="rial")) == NOT_FOUND


def place(ask, entity="arm", frame="", w=1.0, x=0.0, y=2.0, **flags):
    request = SetEntityState.Request(**flags)
    request.state.header.frame_id = frame
    request.state.pose.position.x = x
    request.state.pose.orientation.w = w
    request.state.twist.angular.y = y
    return result_of(
        ask(SetEntityState, "set_entity_state", entity=entity, state=request.state, **flags)
    )


def test_the_state_of_an_entity_can_be_set(ask, simulation):
    assert place(ask, x=4.0, set_pose=True) == OK
    assert place(ask, set_twist=True, frame="world") == OK
    assert simulation.entities.placed == [
        (((4, 0, 0), (0, 0, 0, 1)), None),
        (None, ((0, 0, 0), (0, 2, 0))),
    ]
    assert place(ask, w=2.0, set_pose=True) == 101
    assert place(ask, x=math.nan, set_pose=True) == 101
    assert place(ask, x=-2e6, set_pose=True) == 101
    assert place(ask, y=1e160, set_twist=True) == FAILED
    assert place(ask, y=math.inf, set_twist=True) == FAILED
    assert place(ask, frame="a\nb", set_pose=True) == UNSUPPORTED
    assert place(ask, frame="arm", set_pose=True) == UNSUPPORTED
    assert place(ask, entity="rail", set_pose=True) == FAILED
    assert place(ask, set_acceleration=True) == UNSUPPORTED
    assert place(ask) == FAILED
    assert place(ask, entity="no", set_pose=True) == NOT_FOUND
    assert len(simulation.entities.placed) == 2
