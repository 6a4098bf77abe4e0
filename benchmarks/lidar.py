# SPDX-License-Identifier: Apache-2.0
"""The simulator node at 1 kHz with a lidar, a depth camera or both, without and with a subscriber.

The lidar has 16 x 900 rays at 10 Hz, the camera 640 x 480 pixels at 30 Hz.

Each message of `~/stats` covers one second. The table has the medians over these seconds.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.processes import NodeProcess

TURNS, SECONDS = 8, 8.0

HEAD = "rbdyn_sensors: 1\nsensors:\n"
LIDAR = """  front:
    type: lidar
    link: hand
    rate: 10
    near: 0.05
    far: 30
    horizontal: {from: -3.14159, to: 3.14159, rays: 900}
    vertical: {from: -0.26, to: 0.26, rays: 16}
    sweep: SWEEP
    noise: {range: {stddev: 0.01}}
    dropout: 0.001
"""
CAMERA = """  eye:
    type: depth
    link: tool_flange
    rate: 30
    near: 0.05
    far: 10
    width: 640
    height: 480
    field_of_view: 1.2
"""


def main() -> None:
    print("| sensors | lateness p50 | p99 | worst | messages/s | dropped |")
    print("|---|---|---|---|---|---|")
    at_once, swept = LIDAR.replace("SWEEP", "0"), LIDAR.replace("SWEEP", "0.1")
    for what, sensors in (
        ("lidar, all at once", at_once),
        ("lidar, swept in 0.1 s", swept),
        ("camera", CAMERA),
        ("both", at_once + CAMERA),
    ):
        for line in _lines(what, HEAD + sensors):
            print(line, flush=True)


def _lines(what: str, sensors: str) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "sensors.yaml")
        path.write_text(sensors, encoding="ascii")
        process = NodeProcess(f"sensors:={path}", "contact:=true", "stats_rate:=1.0")
        try:
            process.wait(1)
            rows = _measure()
        finally:
            process.end()
    lines = []
    for heard in (False, True):
        some = [row for row in rows if row[0] == heard]
        p50, p99 = (statistics.median(row[k] for row in some) for k in (1, 2))
        worst = max(row[3] for row in some)
        rate = sum(row[4] for row in some) / len(some)
        dropped = sum(row[5] for row in some)
        words = what if heard else "no subscriber"
        lines.append(
            f"| {words} | {p50:.0f} us | {p99:.0f} us | {worst:.0f} us | {rate:.1f} | {dropped} |"
        )
    return lines


def _measure() -> list[tuple[bool, float, float, float, int, int]]:
    """Return, for each window: subscribed, lateness p50, p99 and worst, messages, dropped."""
    import rclpy
    from rclpy.qos import qos_profile_sensor_data
    from sensor_msgs.msg import Image, PointCloud2

    from rbdyn_interfaces.msg import Statistics

    rclpy.init()
    node = rclpy.create_node("listener")
    windows: list[Any] = []
    messages: list[Any] = []
    node.create_subscription(Statistics, "/simulator/stats", windows.append, 10)
    rows = []
    try:
        for turn in range(TURNS):
            heard = bool(turn % 2)
            listeners = []
            if heard:
                listeners = [
                    node.create_subscription(
                        kind, topic, messages.append, qos_profile_sensor_data, raw=True
                    )
                    for kind, topic in ((PointCloud2, "/front/points"), (Image, "/eye/image_raw"))
                ]
            _spin(node, 2.5)  # skip the windows in which the subscription changes
            windows.clear()
            messages.clear()
            _spin(node, SECONDS)
            share = len(messages) / max(len(windows), 1)
            dropped = np.diff([w.dropped_readings for w in windows], prepend=np.nan)
            for window, lost in zip(windows, dropped, strict=True):
                lateness = window.lateness_p50, window.lateness_p99, window.lateness_max
                rows.append((heard, *lateness, share, int(np.nan_to_num(lost))))
            for listener in listeners:
                node.destroy_subscription(listener)
    finally:
        node.destroy_node()
        rclpy.shutdown()
    return rows


def _spin(node: Any, seconds: float) -> None:
    import rclpy

    end = time.monotonic() + seconds
    while time.monotonic() < end:
        rclpy.spin_once(node, timeout_sec=0.1)


if __name__ == "__main__":
    main()
