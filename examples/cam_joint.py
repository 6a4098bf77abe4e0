# SPDX-License-Identifier: Apache-2.0
"""A user-defined joint type: a barrel cam, which lifts a rotating arm along a curve.

    python examples/cam_joint.py

The type is one function, compiled and called inside the engine's tick. The joint costs a tenth of
a microsecond more than a hinge, mostly for the sines of the cam.
"""

import time

import numpy as np

import rbdyn_ros as rb


@rb.register_joint("barrel_cam", parameters=("lift", "lobes"))
def barrel_cam(q, qd, p, E, r, S, S_dot):
    """Rotate by q about z and rise by h(q) = lift / 2 (1 - cos(lobes q))."""
    lift, lobes = p[0], p[1]
    c, s = np.cos(q[0]), np.sin(q[0])
    E[0, 0], E[0, 1] = c, s  # E converts the cam's coordinates to the follower's
    E[1, 0], E[1, 1] = -s, c
    r[2] = 0.5 * lift * (1.0 - np.cos(lobes * q[0]))
    slope = 0.5 * lift * lobes * np.sin(lobes * q[0])
    curve = 0.5 * lift * lobes**2 * np.cos(lobes * q[0])
    S[2, 0], S[5, 0] = 1.0, slope
    S_dot[5, 0] = curve * qd[0]


def model(joint_type, **parameters):
    """Return an arm on a joint of the given type, with a pendulum at its end."""
    arm = rb.shapes.box((0.4, 0.05, 0.05), density=2700.0, at=rb.pose((0.2, 0.0, 0.0)))
    rod = rb.shapes.cylinder(0.02, 0.3, density=2700.0, at=rb.pose((0.0, 0.0, -0.15)))
    return rb.build(
        rb.SystemBuilder("cam")
        .body("arm", arm)
        .body("rod", rod)
        .joint("cam", joint_type, "base", "arm", **parameters)
        .joint("pivot", "revolute", "arm", "rod", xyz=(0.4, 0.0, 0.0), axis=(0, 1, 0))
    )


def energy(m, d):
    rb.forward(m, d)
    rb.energy(m, d)
    return d.energy.sum()


def main():
    # The arm slides down from one lobe and up the next lobe. Its energy is conserved.
    m = model("barrel_cam", lift=0.1, lobes=3.0)
    m.opt.integrator = "rk4"
    d = rb.make_data(m)
    d.qpos[0] = 0.9  # the arm starts just before the top of a lobe
    start = energy(m, d)
    print("time [s]  angle [rad]  height [m]")
    for _ in range(10):
        rb.step(m, d, 100)
        rb.kinematics(m, d)
        print(f"{d.time:7.1f}  {d.qpos[0]:11.4f}  {d.xpos[m.body_names.index('arm'), 2]:10.4f}")
    print(f"energy gained: {energy(m, d) - start:.1e} J")

    # The same arm on a plain hinge shows the cost of the function.
    for name, robot in {"barrel_cam": m, "revolute": model("revolute", axis=(0, 0, 1))}.items():
        robot.opt.integrator = "euler"
        d = rb.make_data(robot)
        rb.step(robot, d)
        begin = time.perf_counter()
        rb.step(robot, d, 100_000)
        print(f"{name}: {(time.perf_counter() - begin) * 10:.2f} us a step")


if __name__ == "__main__":
    main()
