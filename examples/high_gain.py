# SPDX-License-Identifier: Apache-2.0
"""High-gain control: the joints of a humanoid follow a pattern while its body flies freely.

    python examples/high_gain.py [--out FOLDER]

OpenHRP calls perfect servos high-gain control: the motion of the joints is given, the motion of
the body follows from it, and the torques of the servos are computed. Only gravity changes the
momentum of a jump, however the limbs move; the error is of the order of the timestep.

    torque [N m]:       hip      knee     ankle  shoulder     elbow   trunk at [m]
            0.1 s    -31.27    -11.09      0.57     15.67      6.19         0.328
            0.2 s    -79.21    -30.77     -0.50     21.93      7.42         0.548
    ...
            0.8 s     25.48      9.85      1.11     -4.34      1.93        -0.061
          largest     86.83     34.48      1.53     21.94      7.42
    momentum changed by -586.45 N s, gravity's share -586.46: off by 0.01
"""

import argparse
from pathlib import Path

import numpy as np

import rbdyn_ros as rb

PERIOD = 0.8  # period of the pattern [s]
#: Centre and amplitude [rad] and phase [turns] by joint; the right side is half a period later.
PATTERN = {
    "hip": (0.4, 0.6, 0.0),
    "knee": (-0.8, 0.6, 0.25),
    "ankle": (0.1, 0.2, 0.5),
    "shoulder": (0.0, 0.8, 0.5),
    "elbow": (1.0, 0.4, 0.5),
}
BENDS = {"axis": (0, -1, 0)}  # bends forwards


def limb(length, radius):
    """Return a limb that hangs down from its joint."""
    return rb.shapes.capsule(radius, length, density=1000.0, at=rb.pose((0, 0, -length / 2)))


def humanoid():
    """Return a humanoid of 1.6 m that faces along x."""
    trunk = rb.shapes.box((0.2, 0.3, 0.6), density=1000.0, at=rb.pose((0, 0, 0.3)))
    head = rb.shapes.sphere(0.11, density=1000.0, at=rb.pose((0, 0, 0.72)))
    foot = rb.shapes.box((0.25, 0.1, 0.05), density=1000.0, at=rb.pose((0.06, 0, 0)))
    s = rb.SystemBuilder("humanoid", base="world")
    s.body("trunk", rb.shapes.combine(trunk, head))
    s.joint("body", "floating", "world", "trunk", xyz=(0, 0, 0.85))
    for side, y in (("left", 1.0), ("right", -1.0)):
        s.body(f"{side}_thigh", limb(0.4, 0.07))
        s.body(f"{side}_shank", limb(0.4, 0.05))
        s.body(f"{side}_foot", foot)
        s.body(f"{side}_arm", limb(0.3, 0.045))
        s.body(f"{side}_forearm", limb(0.3, 0.04))
        for joint, parent, child, xyz in (
            ("hip", "trunk", f"{side}_thigh", (0, 0.1 * y, 0)),
            ("knee", f"{side}_thigh", f"{side}_shank", (0, 0, -0.4)),
            ("ankle", f"{side}_shank", f"{side}_foot", (0, 0, -0.4)),
            ("shoulder", "trunk", f"{side}_arm", (0, 0.2 * y, 0.55)),
            ("elbow", f"{side}_arm", f"{side}_forearm", (0, 0, -0.3)),
        ):
            s.joint(f"{side}_{joint}", "revolute", parent, child, xyz=xyz, **BENDS)
    return rb.build(s)


def pattern(joint, time):
    side, name = joint.split("_")
    centre, amplitude, phase = PATTERN[name]
    late = 0.5 if side == "right" else 0.0
    return centre + amplitude * np.sin(2.0 * np.pi * (time / PERIOD - phase - late))


def on_the_pattern(m):
    """Return a Data at take-off, with joints on the pattern."""
    d, h = rb.make_data(m), m.opt.timestep
    d.qvel[2] = 9.81 * PERIOD / 2.0  # lands again after a period
    for name in m.jnt_names[1:]:
        j = m.jnt_id(name)
        d.qpos[m.jnt_qposadr[j]] = pattern(name, 0.0)
        d.qvel[m.jnt_dofadr[j]] = (pattern(name, 0.0) - pattern(name, -h)) / h
    return d


def momentum(m, d):
    """Return the linear momentum [N s]: the first three rows of M qvel."""
    return (rb.mass_matrix(m, d) @ d.qvel)[:3]


def draw(path, time, torques, heights):
    from matplotlib.figure import Figure  # imported here because only drawing needs it

    figure = Figure(figsize=(10, 4), layout="constrained")
    servos, body = figure.subplots(1, 2)
    for name, torque in zip(PATTERN, torques, strict=True):
        servos.plot(time, torque, label=name)
    servos.set(title="torques of the servos on the left side", ylabel="torque [N m]")
    servos.legend(loc="lower right")
    for name, place in heights.items():
        body.plot(time, place - place[0], label=name)
    body.set(title="the jump", ylabel="risen by [m]")
    body.legend(loc="lower center")
    for axes in (servos, body):
        axes.set(xlabel="time [s]", xlim=(0.0, PERIOD))
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=80)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path(), metavar="FOLDER", help="output folder")
    folder = parser.parse_args().out
    m = humanoid()
    m.opt.integrator = "rk4"

    # Before each step every joint gets its position on the pattern at the end of the step.
    d, h = on_the_pattern(m), m.opt.timestep
    start = momentum(m, d)
    shown = [m.jnt_dofadr[m.jnt_id(f"left_{name}")] for name in PATTERN]
    rows = []
    print("torque [N m]:", *(f"{name:>9}" for name in PATTERN), "  trunk at [m]")
    for tick in range(1, round(PERIOD / h) + 1):
        for name in m.jnt_names[1:]:
            rb.set_drive(m, d, name, "position", pattern(name, d.time + h))
        rb.step(m, d)
        rows.append((d.time, d.qpos[2], rb.com(m, d)[2], *d.qfrc_drive[shown]))
        if tick % 100 == 0:
            torques = (f"{torque:9.2f}" for torque in d.qfrc_drive[shown])
            print(f"{d.time:11.1f} s", *torques, f"{d.qpos[2]:13.3f}")
    time, trunk, com, *torques = np.array(rows).T
    print("      largest", *(f"{np.abs(torque).max():9.2f}" for torque in torques))

    # However the limbs moved, momentum has changed by gravity's impulse only.
    change, fall = momentum(m, d) - start, m.body_mass.sum() * m.opt.gravity * d.time
    off = np.linalg.norm(change - fall)
    share = f"gravity's share {fall[2]:.2f}: off by {off:.2f}"
    print(f"momentum changed by {change[2]:.2f} N s, {share}")

    heights = {"trunk": trunk, "centre of mass, a parabola": com}
    draw(folder / "high_gain.png", time, torques, heights)


if __name__ == "__main__":
    main()
