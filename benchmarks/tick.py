# SPDX-License-Identifier: Apache-2.0
"""Measure the control tick, from a state of an armed arm to the efforts, without ROS.

    python -m benchmarks.tick

A simulated arm and a controller run in one process, at 1 kHz of simulated time. Each run times
2,000 ticks of the controller, without the simulation of the arm. A table shows the lowest value
that a percentile has in RUNS runs, because other work of the machine can only add time.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.robots import folder

ROBOTS = {
    "UR5": ("ur_description/urdf/ur5_robot.urdf", (0.3, -0.9, 1.1, -0.7, 0.5, 0.4)),
    "bundled 7-dof arm": ("", (0.3, 0.6, 0.4, -0.7, 0.5, 0.4, 0.2)),
}
MODES = ("gravity", "hold", "computed_torque", "impedance")
RUNS, WARM, STATES = 5, 1000, 2000
PERIOD = 1_000_000  # [ns]


def main() -> None:
    print("| robot | mode | p50 [us] | p99 [us] |\n|---|---|---|---|")
    for robot in ROBOTS:
        for mode in MODES:
            loop = Loop(robot, mode)
            loop.run(WARM)
            runs = [np.percentile(loop.run(STATES), (50, 99)) for _ in range(RUNS)]
            p50, p99 = np.min(runs, axis=0)
            print(f"| {robot} | {mode} | {p50:.1f} | {p99:.1f} |", flush=True)


class Loop:
    """An armed arm and its simulation.

    Args:
        robot: one of ROBOTS.
        mode: one of MODES.
    """

    def __init__(self, robot: str, mode: str) -> None:
        import rbdyn_ros as rb
        from rbdyn_ros.control.arm.arm import Arm
        from rbdyn_ros.control.arm.settings import ControlSettings
        from rbdyn_ros.control.base.limits import Limits
        from rbdyn_ros.control.controller import Controller
        from rbdyn_ros.control.states.gate import SafetyGate
        from rbdyn_ros.share import bundled_robot

        name, start = ROBOTS[robot]
        m = rb.load_urdf(folder() / name if name else bundled_robot("seven_dof_arm"))
        arm = Arm(m)
        self._m, self._d, self._advance = arm.m, rb.make_data(arm.m), rb.step
        self._d.qpos[:] = start
        arm.gravity_effort(self._d.qpos, self._d.qfrc_applied)
        gate = SafetyGate(m, Limits.of(m))
        self.controller = Controller(
            arm, gate, ControlSettings(dry_run=False, start_up_test=False)
        )
        self._dofs, self._names, self._now = gate.limits.dofs, list(arm.names), PERIOD
        self.controller.set_mode(mode)
        for _ in range(20):
            self._tick()
        self.controller.try_arm(self._now)

    def run(self, states: int) -> Any:
        """Return the times [us] of the controller for a number of states."""
        times = [self._tick() for _ in range(states)]
        fault = self.controller.fault
        if fault is not None:
            raise RuntimeError(fault.text)
        return 1e-3 * np.array(times)

    def _tick(self) -> int:
        """Run the controller for a state, then move the arm; return the controller's time [ns]."""
        d = self._d
        q, v, tau = d.qpos.copy(), d.qvel.copy(), d.qfrc_applied.copy()
        begin = time.perf_counter_ns()
        effort = self.controller.on_state(self._names, q, v, tau, self._now, self._now)
        spent = time.perf_counter_ns() - begin
        if self.controller.armed and effort is not None:
            d.qfrc_applied[self._dofs] = effort
        self._advance(self._m, d)
        self._now += PERIOD
        return spent


if __name__ == "__main__":
    main()
