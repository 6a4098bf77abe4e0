# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics against a loop around Pinocchio, target by target in turns.

Targets are drawn by forward kinematics within the limits; every search starts at the middle of
the limits, or at zero. Both libraries stop below 1e-8 m and rad, and may start 100 times.
Pinocchio's loop is the usual loop in Python: damped least squares with the error of the pose as
damping, and steps clipped to the limits. The number of steps and the starts are the same as ours.
A robot that example-robot-data lacks is built from its Denavit-Hartenberg table in both libraries.
"""

from __future__ import annotations

import math
import statistics
import time
from typing import Any

import numpy as np
import pinocchio as pin

import rbdyn_ros as rb
from benchmarks.robots import ROBOTS, path_of

TARGETS = 10_000
#: Number of targets for Pinocchio's loop, which is slower and gets only a part of all targets.
THEIRS = 500
TOLERANCE, STARTS, STEPS = 1e-8, 100, 60
HALF = math.pi / 2
#: a, alpha, d of the KUKA LBR iiwa 14, distal convention, and its limits [deg].
IIWA = (
    (0.0, -HALF, 0.36, 170), (0.0, HALF, 0.0, 120), (0.0, HALF, 0.42, 170),
    (0.0, -HALF, 0.0, 120), (0.0, -HALF, 0.4, 170), (0.0, HALF, 0.0, 120), (0.0, 0.0, 0.126, 175),
)  # fmt: skip


def main() -> None:
    print("| robot | solved | one call, us: median | p99 | 10,000 in one call, us each |", end="")
    print(" worst error | Pinocchio's loop: solved | median, us | ratio of medians |")
    print("|---|---|---|---|---|---|---|---|---|")
    for robot, frame in (("UR5", "tool0"), ("Panda", "panda_hand"), ("iiwa 14", "link7")):
        print(_row(robot, frame), flush=True)


def _row(robot: str, frame: str) -> str:
    m = _iiwa() if robot == "iiwa 14" else rb.load_urdf(path_of(robot))
    d = rb.make_data(m)
    places, turns = _targets(m, frame)
    d.qpos = _middle(m)
    rb.ik(m, d, frame, places[:2], turns[:2])  # the first call compiles
    start = time.perf_counter()
    found = rb.ik(m, d, frame, places, turns, tolerance=TOLERANCE, attempts=STARTS)
    each = (time.perf_counter() - start) / TARGETS * 1e6
    loop = PinocchioLoop(*_theirs(robot, frame))
    ours, theirs, solved = [], [], 0
    for k in range(TARGETS):
        start = time.perf_counter()
        rb.ik(m, d, frame, places[k], turns[k], tolerance=TOLERANCE, attempts=STARTS)
        ours.append((time.perf_counter() - start) * 1e6)
        if k < THEIRS:
            start = time.perf_counter()
            solved += loop.solve(places[k], turns[k])
            theirs.append((time.perf_counter() - start) * 1e6)
    worst = max(
        found.position_error[found.success].max(), found.rotation_error[found.success].max()
    )
    middle, late = statistics.median(ours), float(np.quantile(ours, 0.99))
    cells = f"| {robot} | {found.success.mean():.2%} | {middle:.1f} | {late:.0f} | {each:.1f} |"
    cells += f" {worst:.0e} |"
    other = statistics.median(theirs)
    ratio = other / statistics.median(ours[:THEIRS])
    return cells + f" {solved / THEIRS:.2%} | {other:.0f} | {ratio:.0f} |"


def _targets(m: Any, frame: str) -> tuple[Any, Any]:
    d, rng = rb.make_data(m), np.random.default_rng(1)
    poses = []
    for _ in range(TARGETS):
        d.qpos = rb.random_qpos(m, rng)
        poses.append(rb.frame_pose(m, d, frame))
    return np.array([p for p, _ in poses]), np.array([R for _, R in poses])


def _middle(m: Any) -> Any:
    low, high = m.jnt_range[m.dof_jntid].T
    bounded = np.isfinite(low) & np.isfinite(high)
    return np.where(bounded, 0.5 * (np.where(bounded, low, 0) + np.where(bounded, high, 0)), 0.0)


def _iiwa() -> Any:
    inertial = rb.Inertial(1.0, inertia=(0.01, 0.01, 0.01, 0.0, 0.0, 0.0))
    rows = []
    for a, alpha, d, most in IIWA:
        limit = rb.Limit(-math.radians(most), math.radians(most))
        rows.append(rb.dh.DHRow(a, alpha, d, 0.0, inertial=inertial, limit=limit))
    return rb.build(rb.dh.distal(rows, name="iiwa"))


def _theirs(robot: str, frame: str) -> tuple[Any, int]:
    """Return Pinocchio's model, and the number of the frame in it."""
    if robot in ROBOTS:
        model = pin.buildModelFromUrdf(str(path_of(robot)), mimic=True)
        return model, model.getFrameId(frame)
    model, joint, place = pin.Model(), 0, pin.SE3.Identity()
    for k, (a, alpha, d, most) in enumerate(IIWA):
        low, high = -math.radians(most), math.radians(most)
        limits = (np.full(1, x) for x in (1e3, 1e3, low, high))
        joint = model.addJoint(joint, pin.JointModelRZ(), place, f"joint{k + 1}", *limits)
        place = pin.SE3(pin.utils.rotate("x", alpha), np.array([a, 0.0, d]))
    last = pin.Frame(frame, joint, place, pin.FrameType.OP_FRAME)
    return model, model.addFrame(last)


class PinocchioLoop:
    """Damped least squares as users of Pinocchio write it."""

    def __init__(self, model: Any, frame: int) -> None:
        self.model, self.frame = model, frame
        self.data = self.model.createData()
        self.low, self.high = self.model.lowerPositionLimit, self.model.upperPositionLimit
        self.rng = np.random.default_rng(0)

    def solve(self, place: Any, turn: Any) -> bool:
        goal, q = pin.SE3(turn, place), 0.5 * (self.low + self.high)
        for _ in range(STARTS):
            if self._descend(goal, q):
                return True
            q = self.rng.uniform(self.low, self.high)
        return False

    def _descend(self, goal: Any, q: Any) -> bool:
        for _ in range(STEPS):
            pin.framesForwardKinematics(self.model, self.data, q)
            error = pin.log6(self.data.oMf[self.frame].actInv(goal)).vector
            if max(np.linalg.norm(error[:3]), np.linalg.norm(error[3:])) < TOLERANCE:
                return True
            J = pin.computeFrameJacobian(self.model, self.data, q, self.frame, pin.LOCAL)
            A = J @ J.T + (0.02 * error @ error + 1e-11) * np.eye(6)
            step = J.T @ np.linalg.solve(A, error)
            q = np.clip(pin.integrate(self.model, q, step), self.low, self.high)
        return False
