# SPDX-License-Identifier: Apache-2.0
"""Several threads change payloads and gravity at once."""

import threading
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

import rbdyn_ros as rb
from rbdyn_ros.ros.simulator.robot.payloads import Payloads
from rbdyn_ros.share import bundled_robot

#: Time in which the second thread could wrongly read the old value [s].
HEAD_START = 0.1
POINT = (0.0, 0.0, 0.1), (0.0,) * 6


@pytest.mark.parametrize(
    "change",
    [
        lambda payloads: payloads.set_payload("forearm", 0.5, *POINT),
        lambda payloads: payloads.set_gravity((0.0, 0.0, -1.6)),
    ],
)
def test_changes_by_two_threads_at_once_are_both_kept(change):
    m = rb.load_urdf(bundled_robot("seven_dof_arm"))
    threads = []

    def exchange(_):
        if not threads:  # start the second change in the middle of the first
            threads.append(threading.Thread(target=change, args=(payloads,)))
            threads[0].start()
            threads[0].join(HEAD_START)

    loop = SimpleNamespace(m=m, plant=SimpleNamespace(exchange=exchange))
    payloads = Payloads(loop, None)
    payloads.set_payload("hand", 2.0, *POINT)
    threads[0].join()
    alone = Payloads(SimpleNamespace(m=m, plant=SimpleNamespace(exchange=lambda _: None)), None)
    alone.set_payload("hand", 2.0, *POINT)
    change(alone)
    assert payloads.m.body_mass.tolist() == alone.m.body_mass.tolist()
    assert payloads.m.opt.gravity.tolist() == alone.m.opt.gravity.tolist()
