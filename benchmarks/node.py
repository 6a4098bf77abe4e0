"""How punctual the simulator is: python -m benchmarks.node [--seconds 10].

In this process, beside a Python thread that never rests: lateness of the loop's wake-ups and the
real-time factor. Then the node in a process of its own, with every topic at its default rate: its
share of a core, and the time from publishing a torque to receiving the joint state that holds it.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np


def beside_a_busy_thread(seconds: float) -> list[tuple[str, str, str]]:
    """Run the loop, without ROS, beside a busy Python thread."""
    import rbdyn_ros as rb
    from rbdyn_ros.assets import bundled_robot
    from rbdyn_ros.runtime.runtime import Runtime, Settings, warm

    m = rb.load_urdf(bundled_robot("seven_dof_arm"))
    warm(m)
    rows = []
    for mode in ("off", "try"):
        stop = threading.Event()
        busy = threading.Thread(target=lambda stop=stop: [None for _ in iter(stop.is_set, True)])
        runtime = Runtime(m, Settings(realtime=mode))
        busy.start()
        runtime.start()
        time.sleep(seconds)
        timing = runtime.timing()
        runtime.stop()
        stop.set()
        busy.join()
        asked = f"loop beside a busy thread, realtime {mode}"
        rows += [
            (asked, "real-time factor", f"{timing.real_time_factor:.4f}"),
            (
                asked,
                "lateness p50 / p99 / worst",
                f"{timing.p50:.0f} / {timing.p99:.0f} / {timing.worst:.0f} us",
            ),
            (asked, "overruns", f"{timing.overruns} of {timing.ticks}"),
        ]
    return rows


def node(seconds: float) -> list[tuple[str, str, str]]:
    """Start the node as a user does, and be its controller."""
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ["ROS_DOMAIN_ID"] = str(10 + os.getpid() % 90)
    code = "import sys; sys.argv[1:1] = ['sim']; from rbdyn_ros.cli import main; main()"
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    try:
        latencies, share = _talk(process, seconds)
    finally:
        process.terminate()
        said = process.communicate(timeout=20)[1]
    rows = [
        ("node", "share of one core", f"{100 * share:.0f} %"),
        (
            "node",
            "command to state p50 / p99",
            f"{np.percentile(latencies, 50):.2f} / {np.percentile(latencies, 99):.2f} ms",
        ),
    ]
    return rows + [("node", "its own words", line) for line in said.splitlines() if "p99" in line]


def _talk(process: subprocess.Popen[str], seconds: float) -> tuple[list[float], float]:
    import rclpy
    from sensor_msgs.msg import JointState

    from rbdyn_ros.ros.simulator import make_executor

    rclpy.init()
    peer = rclpy.create_node("benchmark")
    executor = make_executor()
    executor.add_node(peer)
    publisher = peer.create_publisher(JointState, "joint_commands", 10)
    waiting, latencies = [], []

    def receive(state: JointState) -> None:
        if waiting and state.effort[0] == waiting[0][0]:
            latencies.append(1e3 * (time.perf_counter() - waiting.pop()[1]))

    subscription = peer.create_subscription(JointState, "joint_states", receive, 10)
    while publisher.get_subscription_count() == 0 or subscription.get_publisher_count() == 0:
        executor.spin_once(timeout_sec=0.1)
    time.sleep(1.0)
    before, began = _cpu_seconds(process.pid), time.monotonic()
    rng, sent = np.random.default_rng(0), 0
    while time.monotonic() < began + seconds:
        if not waiting:
            sent += 1
            time.sleep(0.005 * rng.random())  # at no fixed place within the node's period
            effort = float(sent % 97) / 97.0
            waiting.append((effort, time.perf_counter()))
            publisher.publish(JointState(name=["shoulder_yaw"], effort=[effort]))
        executor.spin_once(timeout_sec=0.05)
    share = (_cpu_seconds(process.pid) - before) / (time.monotonic() - began)
    executor.shutdown()
    peer.destroy_node()
    rclpy.try_shutdown()
    return latencies, share


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main(seconds: float = 10.0) -> None:
    """Print the table."""
    rows = beside_a_busy_thread(seconds)
    rows += node(seconds)
    print(f"{os.cpu_count()} processors, memory {resource.getrusage(0).ru_maxrss // 1024} MiB")
    for row in rows:
        print("{:42} {:30} {}".format(*row))


if __name__ == "__main__":
    main()
