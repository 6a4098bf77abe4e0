# SPDX-License-Identifier: Apache-2.0
"""Sensors with rays measure objects that are spawned and deleted in a running simulator."""

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("simulation_interfaces.srv", reason="simulation_interfaces is not built")

from sensor_msgs.msg import Range
from standard_services import done
from support.robots import ROOM
from test_spawning_node import pytestmark, spawn  # noqa: F401 - a fixture and a mark

SENSORS = """rbdyn_sensors: 1
sensors:
  solid: {type: range, link: laser, rate: 50, near: 0.1, far: 10}
  seen: {type: range, link: laser, rate: 50, near: 0.1, far: 10, sees: visual}
"""


def test_an_object_is_seen_from_its_spawning_to_its_deletion(
    simulate, peer, ask, spawn, tmp_path  # noqa: F811
):  # fmt: skip
    (tmp_path / "cart.urdf").write_text(ROOM)
    (tmp_path / "sensors.yaml").write_text(SENSORS)
    values = {"urdf": tmp_path / "cart.urdf", "sensors": tmp_path / "sensors.yaml"}
    values |= {"contact": "true", "gravity": "[0.0, 0.0, 0.0]"}
    given = [part for key, value in values.items() for part in ("-p", f"{key}:={value}")]
    simulator = simulate("--ros-args", *given)
    solid, seen = (peer.collect(Range, f"/{name}/range", 100) for name in ("solid", "seen"))

    def wait_for(*distances):
        def is_so():
            return solid and seen and (solid[-1].range, seen[-1].range) == pytest.approx(
                distances, abs=1e-5
            )  # fmt: skip

        peer.until(is_so)

    wait_for(4.5, 3.5)  # the wall is 4.5 m away in collision geometry, and 3.5 m in visuals
    done(spawn("box", xyz=(2.5, 0.0, 1.2)))
    wait_for(1.95, 1.95)
    done(ask("DeleteEntity", entity="box"))
    wait_for(4.5, 3.5)
    simulator.end_well()
