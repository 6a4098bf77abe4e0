# SPDX-License-Identifier: Apache-2.0
"""A server that was busy still answers every one of many requests."""

import threading

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile
from std_srvs.srv import Trigger

from rbdyn_ros.ros.common.graph.action_thread import ActionThread
from rbdyn_ros.ros.common.reports.answer import serve

STORM = 1900


def storm(peer, name, begin_to_serve):
    """Send STORM requests, then call begin_to_serve(); return the answers."""
    # the default depth of 10 would drop requests and answers
    client = peer.node.create_client(Trigger, name, qos_profile=QoSProfile(depth=STORM))
    peer.until(client.service_is_ready)
    peer.spin(0.3)  # discovery of the client by the server
    answers, quiet = [], 0
    for _ in range(STORM):
        client.call_async(Trigger.Request()).add_done_callback(answers.append)
    begin_to_serve()
    while len(answers) < STORM and quiet < 300:  # until three seconds pass without an answer
        before = len(answers)
        peer.executor.spin_once(timeout_sec=0.01)
        quiet = quiet + 1 if len(answers) == before else 0
    return [future.result() for future in answers]


@pytest.fixture
def node(peer):
    node = rclpy.create_node("busy", context=peer.context)
    yield node
    node.destroy_node()


def test_a_service_answers_all_requests_of_a_storm(peer, node):
    executor = SingleThreadedExecutor(context=peer.context)
    executor.add_node(node)
    serve(node, Trigger, "~/hit", lambda *_: "hit")
    thread = threading.Thread(target=executor.spin, daemon=True)
    answers = storm(peer, "/busy/hit", thread.start)
    executor.shutdown(5.0)
    thread.join(5.0)
    assert [answer.message for answer in answers] == ["hit"] * STORM


def test_a_service_with_its_own_thread_answers_all_requests_of_a_storm(peer, node):
    steps = ActionThread(node, "steps", "a request")

    def answer(_, response):
        response.message = "made"
        return response

    steps.service(Trigger, "step", answer)
    answers = storm(peer, "/busy/step", steps.start)
    steps.close()
    assert [answer.message for answer in answers] == ["made"] * STORM
