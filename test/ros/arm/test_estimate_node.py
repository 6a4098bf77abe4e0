# SPDX-License-Identifier: Apache-2.0
"""Services over DDS estimate the payload and the friction of an arm in mode gravity."""

import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("diagnostic_msgs.msg", reason="diagnostic_msgs is not installed")

from arm_pair import LATCHED, SEVEN_START, start_pair
from geometry_msgs.msg import InertiaStamped
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool

import rbdyn_ros as rb

SEVEN = Path(__file__).parents[3] / "config/robots/seven_dof_arm.urdf"
LINK, MASS, COM, SCALE = "tool_flange", 1.0, (0.02, -0.01, 0.06), 1.5
#: Shape of a message: a row with the estimates of the mass m, m c (3) and the friction scale, and
#: five rows with their covariance.
SHAPE = 6, 5


def rough(folder):
    """Return the file of an arm with SCALE times the friction that its controller knows."""

    def more(found):
        damping, friction = (SCALE * float(number) for number in found.groups())
        return f'<dynamics damping="{damping}" friction="{friction}"/>'

    path, text = folder / "rough.urdf", SEVEN.read_text()
    path.write_text(re.sub(r'<dynamics damping="([\d.]+)" friction="([\d.]+)"/>', more, text))
    assert rb.load_urdf(path).dof_frictionloss[0] == pytest.approx(0.9)
    return path


def load():
    message = InertiaStamped()
    message.header.frame_id, inertia = LINK, message.inertia
    inertia.m, inertia.ixx, inertia.iyy, inertia.izz = MASS, 1e-3, 1e-3, 1e-3
    inertia.com.x, inertia.com.y, inertia.com.z = COM
    return message


def test_services_estimate_and_apply_a_payload(simulate, control, peer, tmp_path):
    real = rough(tmp_path)
    pair = start_pair(
        lambda *words, **how: simulate(*(w.replace(str(SEVEN), str(real)) for w in words), **how),
        control,
        peer,
        SEVEN,
        SEVEN_START,
        500,
        lockstep=True,
        **{"estimate.link": LINK, "friction.from_robot": "true"},
    )
    found, spreads = [], []

    def ask(begin):
        answer = peer.call(
            SetBool, f"{pair.node}/estimate_payload", SetBool.Request(data=begin), again=None
        )
        return answer.success, answer.message

    for kind, name, rows in (
        (InertiaStamped, "payload_estimate", found),
        (Float64MultiArray, "payload_covariance", spreads),
    ):
        peer.node.create_subscription(kind, f"{pair.node}/{name}", rows.append, LATCHED)
    assert ask(False) == (False, "the estimate of the payload does not run")
    pair.arm_it()
    loads, first = peer.publisher(InertiaStamped, "simulator/payload"), len(pair.arm.rows)
    loads.publish(load())
    pair.arm.until_moving(first, 0.02, lambda: loads.publish(load()))  # the load lowers the arm
    assert ask(True)[0]
    assert ask(True) == (False, "the estimate of the payload already runs")
    peer.until(lambda: len(found) > 1 and len(spreads) > 1, 120.0)
    done, text = ask(False)
    print(text)
    assert done

    values, covariance = np.split(np.array(spreads[-1].data).reshape(SHAPE), [1])
    std = np.sqrt(np.diag(covariance))
    truth = [MASS, *(MASS * np.array(COM)), SCALE]
    assert (np.abs(values[0] - truth) < 3.0 * std).all()
    assert std[0] < 0.2
    assert std[4] < 0.3  # the motion identifies the scale of friction
    np.testing.assert_allclose(covariance, covariance.T, atol=1e-15)
    inertia = found[-1].inertia
    assert found[-1].header.frame_id == LINK
    assert inertia.m == values[0, 0]
    np.testing.assert_allclose([inertia.com.x, inertia.com.z], COM[::2], atol=0.02)

    # the controller applies an estimate only if the user sends it
    assert pair.report()[2]["payloads"] == ""
    pair.do("disarm")  # while friction holds the load, efforts do not show the load
    payloads = peer.publisher(InertiaStamped, f"{pair.node}/payload")
    payloads.publish(found[-1])
    peer.until(
        lambda: pair.report()[2]["payloads"].startswith(LINK),
        again=lambda: payloads.publish(found[-1]),
    )
    pair.end_well()


@pytest.mark.parametrize(
    ("link", "reason"),
    [
        ("tol_flange", "did you mean 'tool_flange'?"),
        ("base_link", "is fixed to the world"),
    ],
)
def test_a_link_without_a_payload_is_refused_at_the_start(control, link, reason):
    control(SEVEN, wait=False, **{"estimate.link": link}).wait_for(reason)
