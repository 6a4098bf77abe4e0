# SPDX-License-Identifier: Apache-2.0
"""An arm tracks a fast motion: computed torque against PD control with the same gains.

    python examples/computed_torque.py [--out FOLDER] [--error PERCENT]

Computed torque feeds inverse dynamics forward, so the gains act directly on the joints'
accelerations. PD control scales the gains by the inertia of each joint in the middle posture.
Both run at 1 kHz. In the last row the controller's masses and friction are 5 % too large:

    error of the flange [mm], root of mean square after the first second
    PD                           71.410
    PD with gravity term         41.567
    computed torque               0.187
    computed torque, 5 % off      1.765
"""

import argparse
from pathlib import Path

import numpy as np

import rbdyn_ros as rb
from rbdyn_ros.share import bundled_robot

STIFFNESS, DAMPING = 400.0, 40.0  # [1/s^2, 1/s], critically damped at 20 rad/s
FLANGE, SECONDS, SETTLED = "tool_flange", 5.0, 1.0  # [s]
CENTRE = np.array([0.0, 0.9, 0.0, -0.8, 0.0, 0.8, 0.0])  # [rad]
SWING = np.array([0.6, 0.4, 0.6, 0.4, 0.7, 0.4, 0.8])  # [rad]
RATE = np.array([3.0, 3.5, 3.0, 4.0, 3.5, 4.0, 4.0])  # [rad/s]


def wanted(time):
    """Return the desired position, velocity and acceleration of the joints."""
    angle = RATE * time
    swing, rate = SWING * np.sin(angle), SWING * RATE * np.cos(angle)
    return CENTRE + swing, rate, -(RATE**2) * swing


class Controller:
    """Base class of controllers; a subclass computes torques from a state.

    Args:
        m: the controller's Model of the robot.
        trust: factor of the torques, as if all masses and friction were wrong by this factor.
    """

    def __init__(self, m, trust=1.0):
        self.m, self.d, self.trust = m, rb.make_data(m), trust
        self.d.qpos = CENTRE
        self.inertia = rb.mass_matrix(m, self.d).diagonal().copy()

    def acceleration(self, time, qpos, qvel):
        """Return the errors of position and velocity times the gains, as accelerations."""
        q, v, _ = wanted(time)
        return STIFFNESS * (q - qpos) + DAMPING * (v - qvel)


class PD(Controller):
    def torque(self, time, qpos, qvel):
        return self.inertia * self.acceleration(time, qpos, qvel)


class PDWithGravity(PD):
    def torque(self, time, qpos, qvel):
        self.d.qpos = qpos
        return super().torque(time, qpos, qvel) + rb.gravity_term(self.m, self.d)


class ComputedTorque(Controller):
    def torque(self, time, qpos, qvel):
        self.d.qpos, self.d.qvel = qpos, qvel
        # when a joint reverses, dry friction opposes the new direction
        self.d.stick_qfrc = -self.m.dof_frictionloss * np.sign(wanted(time)[1])
        self.d.qacc = wanted(time)[2] + self.acceleration(time, qpos, qvel)
        rb.inverse(self.m, self.d)
        return self.trust * self.d.qfrc_inverse


def track(m, controller):
    """Let a controller track the desired motion; return times [s] and errors of the flange [m]."""
    d, target, rows = rb.make_data(m), rb.make_data(m), []
    d.qpos, d.qvel, _ = wanted(0.0)
    while d.time < SECONDS:
        d.qfrc_applied = controller.torque(d.time, d.qpos, d.qvel)
        rb.step(m, d)
        target.qpos = wanted(d.time)[0]
        place, goal = (rb.frame_pose(m, x, FLANGE)[0] for x in (d, target))
        rows.append((d.time, np.linalg.norm(place - goal)))
    return np.array(rows).T


def draw(path, runs):
    from matplotlib.figure import Figure  # imported here because only drawing needs it

    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots()
    for name, (time, error) in runs.items():
        axes.semilogy(time, 1e3 * error, linewidth=0.9, label=name)
    axes.set(xlabel="time [s]", ylabel="error of the flange [mm]", xlim=(0.0, SECONDS))
    axes.set_ylim(1e-2, 1e3)
    axes.grid(alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(path, dpi=80)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path(), metavar="FOLDER", help="output folder")
    parser.add_argument(
        "--error", type=float, default=5.0, metavar="PERCENT", help="error of the masses"
    )
    given = parser.parse_args()
    m = rb.load_urdf(bundled_robot("seven_dof_arm"))
    controllers = {
        "PD": PD(m),
        "PD with gravity term": PDWithGravity(m),
        "computed torque": ComputedTorque(m),
        f"computed torque, {given.error:g} % off": ComputedTorque(m, 1.0 + given.error / 100.0),
    }

    # All controllers track the same motion of the same arm. Only the last controller has a wrong
    # Model.
    runs = {name: track(m, controller) for name, controller in controllers.items()}
    print("error of the flange [mm], root of mean square after the first second")
    for name, (time, error) in runs.items():
        rms = np.sqrt(np.mean(error[time > SETTLED] ** 2))
        print(f"{name:26} {1e3 * rms:8.3f}")

    draw(given.out / "computed_torque.png", runs)


if __name__ == "__main__":
    main()
