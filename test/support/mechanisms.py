# SPDX-License-Identifier: Apache-2.0
"""Functions that return mechanisms with closed loops as a SystemBuilder.

Planar mechanisms lie in the x-z plane. A joint about ACROSS turns x towards z when its angle q
increases, so a bar points to (cos q, 0, sin q), and gravity acts in the plane.
"""

import numpy as np
from scipy.spatial.transform import Rotation

import rbdyn_ros as rb
from support.states import energy

ACROSS = (0.0, -1.0, 0.0)
HINGE = {"axis": ACROSS}


def bar(length):
    """Return a bar of 1 kg/m from the origin along x."""
    return rb.shapes.box((length, 0.02, 0.02), mass=length, at=rb.pose((length / 2, 0.0, 0.0)))


def end(length):
    """Return the frame of a joint at the far end of a bar."""
    return rb.pose((length, 0.0, 0.0))


def four_bar(crank, coupler, rocker, ground, closing="revolute"):
    """Return a four-bar: joints A and B of the crank, D of the rocker, and C, the loop joint."""
    across = HINGE if closing == "revolute" else {}
    return (
        rb.SystemBuilder("four_bar", base="ground")
        .body("crank", bar(crank))
        .body("coupler", bar(coupler))
        .body("rocker", bar(rocker))
        .joint("A", "revolute", "ground", "crank", **HINGE)
        .joint("B", "revolute", "crank", "coupler", xyz=(crank, 0, 0), **HINGE)
        .joint("D", "revolute", "ground", "rocker", xyz=(ground, 0, 0), **HINGE)
        .loop("C", closing, "coupler", "rocker", X_P=end(coupler), X_S=end(rocker), **across)
    )


def grashof():
    return four_bar(0.1, 0.25, 0.2, 0.3)


def parallelogram():
    return four_bar(0.1, 0.3, 0.1, 0.3)


def change_point():
    """Return a four-bar that folds flat: shortest and longest bar add up to the other two."""
    return four_bar(0.1, 0.35, 0.15, 0.3)


def crank_slider(crank=0.1, rod=0.3):
    return (
        rb.SystemBuilder("crank_slider", base="frame")
        .body("crank", bar(crank))
        .body("rod", bar(rod))
        .body("slider", rb.shapes.box((0.08, 0.06, 0.06), mass=0.5))
        .joint("A", "revolute", "frame", "crank", **HINGE)
        .joint("B", "revolute", "crank", "rod", xyz=(crank, 0, 0), **HINGE)
        .joint("guide", "prismatic", "frame", "slider", axis=(1, 0, 0))
        .loop("C", "revolute", "rod", "slider", X_P=end(rod), **HINGE)
    )


def crank_slider_gap(qpos):
    """Return the largest gap [m] in the loop of examples/crank_slider.yaml, in closed form."""
    crank, pin, guide = qpos
    x = 0.1 * np.cos(crank) + 0.3 * np.cos(crank + pin) - 0.4 - guide
    return max(abs(x), abs(0.1 * np.sin(crank) + 0.3 * np.sin(crank + pin)))


def watt(half_ground=0.2, rocker=0.25, half_coupler=0.1):
    """Return two equal rockers on (-a, 0) and (a, 0), whose ends a coupler joins."""
    return (
        rb.SystemBuilder("watt", base="ground")
        .body("left", bar(rocker))
        .body("coupler", bar(2 * half_coupler))
        .body("right", bar(rocker))
        .joint("A", "revolute", "ground", "left", xyz=(-half_ground, 0, 0), **HINGE)
        .joint("B", "revolute", "left", "coupler", xyz=(rocker, 0, 0), **HINGE)
        .joint("D", "revolute", "ground", "right", xyz=(half_ground, 0, 0), **HINGE)
        .loop("C", "revolute", "coupler", "right",
              X_P=end(2 * half_coupler), X_S=end(rocker), **HINGE)
    )  # fmt: skip


def five_bar(passive=True):
    """Return two arms of two bars, with actuated shoulders and a common hinge at the ends."""
    upper, lower, ground = 0.15, 0.25, 0.24
    elbow = {"xyz": (upper, 0, 0), "actuated": not passive, **HINGE}
    return (
        rb.SystemBuilder("five_bar", base="ground")
        .body("upper_1", bar(upper))
        .body("lower_1", bar(lower))
        .body("upper_2", bar(upper))
        .body("lower_2", bar(lower))
        .joint("shoulder_1", "revolute", "ground", "upper_1", **HINGE)
        .joint("elbow_1", "revolute", "upper_1", "lower_1", **elbow)
        .joint("shoulder_2", "revolute", "ground", "upper_2", xyz=(ground, 0, 0), **HINGE)
        .joint("elbow_2", "revolute", "upper_2", "lower_2", **elbow)
        .loop("tip", "revolute", "lower_1", "lower_2", X_P=end(lower), X_S=end(lower), **HINGE)
    )


def spatial_slider_crank(crank=0.1, rod=0.4, offset=0.15, idle_spin=False):
    """Return a slider crank with ball joints at its rod, and a guide off the crank's plane."""
    pin = {} if idle_spin else {"axis": (0, 1, 0), "axis2": (0, 0, 1)}
    return (
        rb.SystemBuilder("spatial_slider_crank", base="frame")
        .body("crank", bar(crank))
        .body("rod", bar(rod))
        .body("slider", rb.shapes.box((0.08, 0.06, 0.06), mass=0.5))
        .joint("A", "revolute", "frame", "crank", **HINGE)
        .joint("B", "spherical" if idle_spin else "universal", "crank", "rod",
               xyz=(crank, 0, 0), **pin)
        .joint("guide", "prismatic", "frame", "slider", axis=(1, 0, 0), xyz=(0, offset, 0))
        .point("C", "rod", "slider", X_P=end(rod))
    )  # fmt: skip


DELTA = {"base": 0.2, "arm": 0.25, "rod": 0.5, "platform": 0.06, "half_width": 0.04}


def delta(passive=True, stiffness=0.0):
    """Return three arms, each with two parallel rods to a platform, which cannot rotate.

    Springs in the motors pull the platform to 0.5 m below the ceiling.
    """
    rod, half = DELTA["rod"], DELTA["half_width"]
    spring = {"stiffness": stiffness, "rest": delta_motors((0.0, 0.0, -0.5))[0]}
    s = rb.SystemBuilder("delta", base="ceiling")
    s.body("platform", rb.shapes.cylinder(DELTA["platform"], 0.02, mass=0.3))
    for i in range(3):
        angle = 2.0 * np.pi / 3.0 * i
        out = np.array([np.cos(angle), np.sin(angle), 0.0])
        side = np.array([-np.sin(angle), np.cos(angle), 0.0])
        place = rb.pose(tuple(DELTA["base"] * out), (0, 0, angle))
        s.body(f"arm_{i}", bar(DELTA["arm"]))
        # the arm points outwards at zero and rises when the angle increases
        s.joint(f"motor_{i}", "revolute", "ceiling", f"arm_{i}", origin=place, **spring, **HINGE)
        for n, shift in enumerate((-half, half)):
            # the x axis of a rod points down at zero
            where = rb.pose((DELTA["arm"], shift, 0), (0, np.pi / 2, 0))
            s.body(f"rod_{i}{n}", bar(rod))
            s.joint(f"elbow_{i}{n}", "universal", f"arm_{i}", f"rod_{i}{n}", origin=where,
                    axis=(0, 1, 0), axis2=(0, 0, 1), actuated=not passive)  # fmt: skip
            corner = rb.pose(tuple(DELTA["platform"] * out + shift * side))
            if i == n == 0:
                s.joint("wrist_00", "spherical", "rod_00", "platform", xyz=(rod, 0, 0),
                        child_origin=corner, actuated=not passive)  # fmt: skip
            else:
                s.point(f"wrist_{i}{n}", f"rod_{i}{n}", "platform", end(rod), corner)
    return s


def delta_motors(centre):
    """Return the three motor angles [rad] for a position of the platform, with elbows outward."""
    angles = []
    for i in range(3):
        x, y = _turned_back(2.0 * np.pi / 3.0 * i, centre)
        out, side, up = x + DELTA["platform"] - DELTA["base"], y, centre[2]
        arm, rod = DELTA["arm"], DELTA["rod"]
        # from |elbow - wrist| = rod follows out cos q + up sin q = k
        k = (out**2 + side**2 + up**2 + arm**2 - rod**2) / (2.0 * arm)
        angles.append(np.arctan2(up, out) + np.arccos(k / np.hypot(out, up)))
    return np.array(angles)


def _turned_back(angle, point):
    c, s = np.cos(angle), np.sin(angle)
    return c * point[0] + s * point[1], -s * point[0] + c * point[1]


def delta_at(m, centre):
    """Return the qpos of a delta robot with its platform at a point, in closed form."""
    d = rb.make_data(m)
    for i, angle in enumerate(delta_motors(centre)):
        d.qpos[m.jnt_qposadr[m.jnt_id(f"motor_{i}")]] = angle
    rb.kinematics(m, d)
    for i in range(3):
        spoke = 2.0 * np.pi / 3.0 * i
        out, side = [np.cos(spoke), np.sin(spoke), 0.0], [-np.sin(spoke), np.cos(spoke), 0.0]
        for n, shift in enumerate((-DELTA["half_width"], DELTA["half_width"])):
            wrist = centre + DELTA["platform"] * np.array(out) + shift * np.array(side)
            place, R = rb.frame_pose(m, d, f"arm_{i}")
            elbow = place + R @ [DELTA["arm"], shift, 0.0]
            # x of the rod is (cos q1 cos q2, sin q2, -sin q1 cos q2) in the elbow's frame
            R = R @ Rotation.from_euler("y", np.pi / 2).as_matrix()
            x, y, z = R.T @ (wrist - elbow) / DELTA["rod"]
            q = np.arctan2(-z, x), np.arcsin(y)
            at = m.jnt_qposadr[m.jnt_id(f"elbow_{i}{n}")]
            d.qpos[at : at + 2] = q
            if i == n == 0:
                at = m.jnt_qposadr[m.jnt_id("wrist_00")]
                back = (Rotation.from_matrix(R) * Rotation.from_euler("YZ", q)).inv()
                d.qpos[at : at + 4] = np.roll(back.as_quat(), 1)
    return d.qpos.copy()


BRICARD_TWIST = np.pi / 3


def bricard():
    """Return Bricard's threefold-symmetric 6R loop, which moves although it has only 6 hinges."""
    length = 0.2
    s = rb.SystemBuilder("bricard", base="link_0")
    for i in range(1, 6):
        s.body(f"link_{i}", bar(length))
    for i in range(1, 7):
        sign = 1.0 if i % 2 == 1 else -1.0
        # Denavit and Hartenberg: a shift along the link and a rotation about it precede the joint
        place = rb.pose((length, 0, 0), (sign * BRICARD_TWIST, 0, 0))
        if i < 6:
            s.joint(f"hinge_{i}", "revolute", f"link_{i - 1}", f"link_{i}", origin=place,
                    axis=(0, 0, 1))  # fmt: skip
        else:
            s.loop("hinge_6", "revolute", "link_5", "link_0", X_P=place, axis=(0, 0, 1))
    return s


def bricard_partner(theta):
    """Return the two possible angles [rad] of every second hinge; other hinges are at theta.

    The angles solve cos^2 a + sin^2 a (c1 + c2) + (1 + cos^2 a) c1 c2 - 2 cos a s1 s2 = 0.
    Source: Chen, You, Tarnai, Threefold-symmetric Bricard linkages for deployable
    structures, 2005.
    """
    c, s = np.cos(BRICARD_TWIST), np.sin(BRICARD_TWIST)
    cosine = s * s + (1.0 + c * c) * np.cos(theta)
    sine = -2.0 * c * np.sin(theta)
    rest = c * c + s * s * np.cos(theta)
    half = np.arccos(-rest / np.hypot(cosine, sine))
    middle = np.arctan2(sine, cosine)
    return middle + half, middle - half


def gripper():
    """Return a slider that opens two fingers by a rod on each side."""
    s = rb.SystemBuilder("gripper", base="palm")
    s.body("slider", rb.shapes.box((0.02, 0.02, 0.02), mass=0.1))
    s.joint("push", "prismatic", "palm", "slider", axis=(0, 0, 1), xyz=(0, 0, -0.05))
    for side, x in (("left", -1.0), ("right", 1.0)):
        s.body(side, bar(0.1))
        turned = (0, 0, 0) if x > 0 else (0, 0, np.pi)
        place = rb.pose((0.03 * x, 0, 0), turned)
        s.joint(side, "revolute", "palm", side, origin=place, **HINGE)
        s.rod(f"rod_{side}", "slider", side, 0.06,
              point1=(0.01 * x, 0, 0), point2=(0.03, 0, 0))  # fmt: skip
    return s


def pantograph(stiffness=0.0):
    """Return four bars on a fixed pivot, whose tip moves twice as far as the short bars' joint."""
    springs = {"stiffness": stiffness, **HINGE}
    a = 0.2
    return (
        rb.SystemBuilder("pantograph", base="table")
        .body("long_1", bar(2 * a))
        .body("long_2", bar(2 * a))
        .body("short_1", bar(a))
        .body("short_2", bar(a))
        .joint("O", "revolute", "table", "long_1", **springs)
        .joint("A", "revolute", "long_1", "long_2", xyz=(2 * a, 0, 0), rest=-1.0, **springs)
        .joint("B", "revolute", "long_1", "short_1", xyz=(a, 0, 0), **HINGE)
        .joint("C", "revolute", "long_2", "short_2", xyz=(a, 0, 0), **HINGE)
        .loop("Q", "revolute", "short_1", "short_2", X_P=end(a), X_S=end(a), **HINGE)
    )


def pantograph_at(first, second):
    """Return qpos (O, A, C, B) of a pantograph with its long bars at these angles."""
    return np.array([first, second, np.pi - second, second])


def wedge(radius=0.05):
    """Return three disks with a band around them (RBDA fig 3.2c)."""
    s = rb.SystemBuilder("wedge", base="floor")
    for i, (x, z) in enumerate(((-0.2, 0.0), (0.2, 0.0), (0.0, 0.3))):
        s.body(f"disk_{i}", rb.shapes.sphere(radius, mass=0.5 + 0.2 * i))
        s.joint(f"place_{i}", "planar", "floor", f"disk_{i}", axis=ACROSS, xyz=(x, 0, z))
    points = [(f"disk_{i}", (0, 0, 0)) for i in range(3)]
    centre_line = 0.4 + 2.0 * np.hypot(0.2, 0.3)
    return s.band("band", points, centre_line + 2.0 * np.pi * radius, radius=radius)


def screw_jack(pitch=0.005):
    """Return a nut on the screw of a table, whose loop is closed after any number of turns."""
    table = rb.shapes.box((0.4, 0.2, 0.02), mass=3.0)
    nut = rb.shapes.cylinder(0.03, 0.02, mass=0.3)
    return (
        rb.SystemBuilder("screw_jack", base="floor")
        .body("table", table)
        .body("nut", nut)
        .joint("guide", "prismatic", "floor", "table", axis=(0, 0, 1))
        .joint("spin", "revolute", "floor", "nut", axis=(0, 0, 1), damping=0.01)
        .loop("thread", "helical", "nut", "table", axis=(0, 0, 1), pitch=pitch)
    )


def rack(radius=0.05):
    """Return a pinion on an axle, and a rack on a guide that the pinion drives."""
    return (
        rb.SystemBuilder("rack", base="frame")
        .body("pinion", rb.shapes.cylinder(radius, 0.02, mass=0.4))
        .body("rack", rb.shapes.box((0.5, 0.02, 0.02), mass=1.0))
        .joint("axle", "revolute", "frame", "pinion", axis=(0, 0, 1))
        .joint("guide", "prismatic", "frame", "rack", axis=(1, 0, 0))
        .loop("teeth", "rack_pinion", "rack", "pinion", axis=(0, 0, 1), axis2=(1, 0, 0),
              radius=radius)
    )  # fmt: skip


def ball(radius=0.1, tilt=0.0, spinning_floor=None):
    """Return a ball on a plane, which is tilted about y or turns as a function of time."""
    s = rb.SystemBuilder("ball", base="ground")
    s.body("plane", rb.shapes.box((1, 1, 0.01), mass=1.0))
    s.body("ball", rb.shapes.sphere(radius, mass=2.0))
    if spinning_floor is None:
        s.joint("plane", "fixed", "ground", "plane", rpy=(0, tilt, 0))
    else:
        s.joint("plane", "revolute", "ground", "plane", axis=(0, 0, 1)).drive(
            "plane", spinning_floor
        )
    height = (radius * np.sin(tilt), 0.0, radius * np.cos(tilt))
    s.joint("free", "floating", "ground", "ball", xyz=height)
    return s.roll("contact", "ball", "plane", radius)


def disk(radius=0.1):
    """Return a thin disk of 1 kg that rolls on the ground about the y axis of its frame."""
    across, along = radius**2 / 4.0, radius**2 / 2.0
    thin = rb.Inertial(1.0, rb.pose(), (across, along, across, 0.0, 0.0, 0.0))
    return (
        rb.SystemBuilder("disk", base="ground")
        .body("disk", thin)
        .joint("free", "floating", "ground", "disk", xyz=(0, 0, radius))
        .roll("contact", "disk", "ground", radius, axis=(0, 1, 0))
    )


def started(m, seed=0, speed=1.0, qpos=None, **positions):
    """Return Data with given joint positions, closed loops and a velocity that the loops allow.

    The loops are closed near `qpos` (default qpos0).
    """
    d = rb.make_data(m)
    d.qpos = m.qpos0 if qpos is None else qpos
    for name, q in positions.items():
        d.qpos[m.jnt_qposadr[m.jnt_id(name)]] = q
    d.qpos = rb.assemble(m, d.qpos, fixed=tuple(positions))
    d.qvel = allowed_velocity(m, d, speed * np.random.default_rng(seed).uniform(-1, 1, m.nv))
    return d


def see_constraints(m, d):
    """Compute efc_pos, efc_vel, efc_aref and efc_J at the state of d."""
    rb.fwd_position(m, d)
    rb.fwd_velocity(m, d)
    rb.make_constraint(m, d)


def allowed_velocity(m, d, qvel):
    """Return the velocity (nv,) nearest to qvel for which efc_vel is zero at d.qpos and d.time."""
    d.qvel = qvel
    see_constraints(m, d)
    return qvel - np.linalg.lstsq(d.efc_J, d.efc_vel, rcond=1e-9)[0]


class Drift:
    """A run of a mechanism: errors of positions, velocities and energy, and ranks of K."""

    def __init__(self, m, d, seconds, every=10):
        start = energy(m, d)
        self.kinetic = float(d.energy[1])
        self.pos, self.vel, self.energy, self.ranks = [], [], [], set()
        for _ in range(round(seconds / m.opt.timestep / every)):
            rb.step(m, d, every)
            self.ranks.add(d.efc_rank)
            self.energy.append(energy(m, d) - start)
            self.kinetic = max(self.kinetic, float(d.energy[1]))
            rb.make_constraint(m, d)
            self.pos.append(np.abs(d.efc_pos).max())
            self.vel.append(np.abs(d.efc_vel).max())

    @property
    def largest(self):
        return max(self.pos)

    @property
    def share(self):
        """Return the largest error of the energy as a share of the largest kinetic energy."""
        return max(np.abs(self.energy)) / self.kinetic

    def __str__(self):
        return (
            f"position {self.largest:.1e}, at the end {self.pos[-1]:.1e}; velocity "
            f"{max(self.vel):.1e}; energy {self.share:.1e}; ranks {sorted(self.ranks)}"
        )
