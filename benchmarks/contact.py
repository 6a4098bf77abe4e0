# SPDX-License-Identifier: Apache-2.0
"""Time a step of bodies at rest on the floor or on each other, and in the air, against MuJoCo.

MuJoCo gets our geometries: the same boxes, spheres, cylinders and capsules, and the vertices of
our hulls for meshes. In both engines the same pairs of links can touch: a robot touches only the
floor, or also itself. Each engine lets the robot fall for ten seconds; then its steps are timed
from that state, in turns. The time depends on how a robot lies, so it falls from
STARTS starts, and a row has the medians. MuJoCo runs its default solver with the elliptic cone,
without and with ten iterations of its solver against slip; our solver also iterates, but a body at
rest needs only one pass. The times are the smallest of all turns, so that other programs disturb
them least.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np

import rbdyn_ros as rb
from benchmarks.robots import folder, path_of
from rbdyn_ros.arrays import Array
from rbdyn_ros.measuring.turns import Job, in_turns
from rbdyn_ros.model.geometry.geoms import GeomType

FALL = 10.0  # simulated time before the timed steps [s]
STARTS, OFF = 5, 0.05  # falls of a robot, and random offsets of its joints [rad or m]
TALOS = "Talos reduced"
CUBE = (0.2, 0.2, 0.2)
NOSLIP = 10

#: Duration of a turn [s], so short that other programs do not disturb all turns; number of turns.
SHORT, ROUNDS = 0.001, 300

#: Links below this mass [kg] get no mass and no inertia in MuJoCo.
NO_MASS = 1e-5

#: Robots that fall on the floor, and the height from which they fall [m].
FALLING = {
    "ANYmal": ("anymal_b_simple_description/robots/anymal.urdf", 0.6),
    "Go2": ("go2_description/urdf/go2.urdf", 0.5),
    "Talos": ("talos_data/robots/talos_reduced.urdf", 1.1),
}
HEAD = (
    "| a step | points | us | in the air, us | MuJoCo, points | elliptic, us, and its ratio "
    f"| with noslip {NOSLIP} |\n{'|---' * 7}|"
)

#: The arm that holds a cube, the opening of its fingers [m], and their force [N].
HOLDING = {"panda_joint2": -0.3, "panda_joint4": -2.2, "panda_joint6": 2.0, "panda_joint7": 0.785}
OPENING, GRIP = 0.0255, -40.0
HELD, AGAIN = 2000, 100  # steps


def main() -> None:
    print(HEAD)
    for rows in (_box, _robots, _stacks, _grasp):
        for line in rows():
            print(line, flush=True)


def _robots() -> Iterator[str]:
    for name, (file, height) in FALLING.items():
        for itself in (False, True):
            path = folder() / file
            contact = rb.Contact(self_collision=itself)
            m = rb.load_urdf(path, floating_base=True, strict=False, contact=contact)
            plain = rb.load_urdf(path, floating_base=True, strict=False)
            theirs = _with_geometries(m, path.read_text())
            label = f"{name}, which touches itself" if itself else f"{name} on the floor"
            yield _line(label, m, plain, theirs, _starts(m, theirs, height))


def _starts(m: rb.Model, theirs: Any, height: float) -> list[tuple[Array, Array]]:
    """Return pairs of positions from which a robot falls: qpos of our engine and of MuJoCo.

    height: height of the base above the floor [m]. Random offsets move the joints off qpos0.
    """
    starts = []
    for seed in range(STARTS):
        qpos, qpos0 = m.qpos0.copy(), theirs.qpos0.copy()
        qpos[2] = qpos0[2] = height
        off = np.random.default_rng(seed).uniform(-OFF, OFF, m.nq - 7)
        qpos[7:] += off
        qpos0[7:] += off
        starts.append((qpos, qpos0))
    return starts


def talos() -> tuple[rb.Model, Any]:
    """Return our Model of Talos above a floor, and MuJoCo's."""
    path = path_of(TALOS)
    m = rb.load_urdf(path, floating_base=True, contact=rb.Contact(self_collision=False))
    return m, _with_geometries(m, path.read_text())


def _box() -> Iterator[str]:
    system = rb.SystemBuilder("box", base="world").body("box", rb.shapes.box(CUBE, mass=1.0))
    plain = rb.build(system.joint("free", "floating", "world", "box"))
    m, theirs = stack(1)
    yield _line("a box on the floor", m, plain, theirs, [(theirs.qpos0, theirs.qpos0)])


def _stacks() -> Iterator[str]:
    for number in (4, 10):
        m, theirs = stack(number)
        yield _line(f"{number} cubes", m, None, theirs, [(theirs.qpos0, theirs.qpos0)])


def _grasp() -> Iterator[str]:
    """Yield rows of a Panda that holds a cube without control, so that all turns are equal."""
    box = rb.Box((0.05, 0.05, 0.05))
    cube = rb.Object("cube", box, mass=0.1, pose=rb.pose((0.5, 0.0, 0.025)))
    m = rb.scene(path_of("Panda"), objects=[cube], strict=False)
    d = _holding(m)
    start = d.copy()

    def turn(n: int) -> None:
        for _ in range(n):
            d.buffer[:] = start.buffer
            rb.step(m, d, AGAIN)

    (ours,) = in_turns([turn], SHORT, ROUNDS)
    yield f"| a Panda that holds a cube | {start.ncon} | {min(ours) / AGAIN:.2f} | | | | |"


def _holding(m: rb.Model) -> rb.Data:
    """Return a Data of the arm at rest, with the cube between its fingers in the air."""
    d = rb.make_data(m)
    for name, angle in HOLDING.items():
        d.qpos[m.jnt_qposadr[m.jnt_id(name)]] = angle
    d.qpos[m.jnt_qposadr[m.jnt_id("panda_finger_joint1")]] = OPENING
    rb.kinematics(m, d)
    tip, turn = rb.frame_pose(m, d, "panda_hand_tcp")
    place = m.jnt_qposadr[m.jnt_id("cube")]
    d.qpos[place : place + 3] = tip
    mujoco.mju_mat2Quat(d.qpos[place + 3 : place + 7], np.ravel(turn))
    arm = [m.jnt_dofadr[m.jnt_id(f"panda_joint{n}")] for n in range(1, 8)]
    start, stiffness = d.qpos[arm].copy(), np.repeat((600.0, 30.0), (4, 3))
    rb.forward(m, d)
    for _ in range(HELD):
        springs = stiffness * (start - d.qpos[arm] - 0.05 * d.qvel[arm])
        d.qfrc_applied[arm] = d.qfrc_bias[arm] + springs
        d.qfrc_applied[m.jnt_dofadr[m.jnt_id("panda_finger_joint1")]] = GRIP
        rb.step(m, d)
    return d


def stack(number: int) -> tuple[rb.Model, Any]:
    """Return our Model of some cubes on a floor, and MuJoCo's model; its qpos0 is a stack."""
    system = rb.SystemBuilder("stack", base="world").floor()
    bodies = ""
    for n in range(number):
        system.body(f"b{n}", rb.shapes.box(CUBE, mass=1.0))
        system.joint(f"j{n}", "floating", "world", f"b{n}")
        system.geometry(f"g{n}", f"b{n}", rb.Box(CUBE))
        place = f"{0.006 * (n % 3)} {0.004 * (n % 2)} {0.1 + 0.2 * n}"
        bodies += f'<body pos="{place}"><freejoint/>'
        bodies += '<geom type="box" size="0.1 0.1 0.1" mass="1" friction="0.8"/></body>'
    theirs = mujoco.MjModel.from_xml_string(f"""
      <mujoco><option timestep="0.001"/><worldbody>
        <geom type="plane" size="9 9 1" friction="0.8"/>{bodies}</worldbody></mujoco>""")
    return rb.build(system), theirs


def _line(
    label: str,
    m: rb.Model,
    plain: rb.Model | None,
    theirs: Any,
    starts: list[tuple[Array, Array]],
) -> str:
    """Return a table row: medians over the falls, for MuJoCo without and with noslip.

    plain: our Model without contact, which is timed in the air, or None.
    """
    rows = [_timed(m, plain, theirs, *start) for start in starts]
    points, ours, others, *more = np.median(np.array(rows), axis=0)
    without, ratio, with_noslip, other_ratio, *free = more
    cells = f"{without:.2f}, {ratio:.2f} | {with_noslip:.2f}, {other_ratio:.2f}"
    air = f"{free[0]:.2f}" if free else ""
    return f"| {label} | {points:.0f} | {ours:.2f} | {air} | {others:.0f} | {cells} |"


def _timed(
    m: rb.Model, plain: rb.Model | None, theirs: Any, qpos: Array, qpos0: Array
) -> list[float]:
    """Return our contacts and time [us], MuJoCo's contacts, times and ratios, our time in the air.

    plain: our Model without contact, which is timed in the air, or None.
    """
    steps = round(FALL / m.opt.timestep)
    d = rb.make_data(m)
    d.qpos[:] = qpos
    rb.step(m, d, steps)
    jobs = [_ours(m, d)]
    for noslip in (0, NOSLIP):
        model, other = theirs.__copy__(), mujoco.MjData(theirs)
        model.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        model.opt.noslip_iterations = noslip
        other.qpos[:] = qpos0
        mujoco.mj_step(model, other, steps)
        jobs.append(_theirs(model, other))
    if plain is not None:
        jobs.append(_ours(plain, rb.make_data(plain)))
    ours, without, slow, *free = (min(times) for times in in_turns(jobs, SHORT, ROUNDS))
    return [d.ncon, ours, other.ncon, without, without / ours, slow, slow / ours, *free]


def _ours(m: rb.Model, d: rb.Data) -> Job:
    return lambda n: rb.step(m, d, n)


def _theirs(m: Any, d: Any) -> Job:
    return lambda n: mujoco.mj_step(m, d, n)


def _with_geometries(m: rb.Model, urdf: str) -> Any:
    """Return MuJoCo's model of a free robot with our geometries and a floor."""
    tree = ET.fromstring(urdf)
    for link in tree.iter("link"):
        for tag in ("visual", "collision"):
            for element in link.findall(tag):
                link.remove(element)
        inertial = link.find("inertial")
        if inertial is not None and float(inertial.find("mass").get("value")) < NO_MASS:
            link.remove(inertial)  # MuJoCo refuses the inertia of ANYmal's base
    extension = ET.SubElement(tree, "mujoco")
    ET.SubElement(extension, "compiler", fusestatic="true", balanceinertia="true")
    _free_root(tree)
    spec = mujoco.MjSpec.from_string(ET.tostring(tree, encoding="unicode"))
    spec.option.timestep = 0.001
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_PLANE, size=[9, 9, 1], contype=1, conaffinity=0
    )
    for g in range(m.ngeommoving):
        body = spec.body(m.body_names[m.geom_bodyid[g]])
        add_geometry(spec, body, m, g, contype=0, conaffinity=1)
    for g, h in m.push_geom.tolist():
        if max(g, h) < m.ngeommoving:
            friction = [min(m.geom_friction[[g, h]])] * 2 + [0.0] * 3
            spec.add_pair(geomname1=f"g{g}", geomname2=f"g{h}", friction=friction, condim=3)
    return spec.compile()


def _free_root(tree: ET.Element) -> None:
    """Put a free joint above the root link, which MuJoCo would fix to the world."""
    links = [str(link.get("name")) for link in tree.findall("link")]
    children = {child.get("link") for child in tree.iterfind("joint/child")}
    (root,) = [name for name in links if name not in children]
    ET.SubElement(tree, "link", name="the-world")
    joint = ET.SubElement(tree, "joint", name="root_joint", type="floating")
    ET.SubElement(joint, "parent", link="the-world")
    ET.SubElement(joint, "child", link=root)


def add_geometry(spec: Any, body: Any, m: rb.Model, g: int, **groups: int) -> None:
    """Add one of our geometries, of any kind except a height field, to a body of MuJoCo."""
    what: dict[str, Any] = {"name": f"g{g}", "density": 0.0, **groups}
    # MuJoCo uses the larger friction of both geometries, so with 0 the other geometry decides
    friction = [m.geom_friction[g] if np.isfinite(m.geom_friction[g]) else 0.0, 0.0, 0.0]
    if m.geom_type[g] == GeomType.MESH:
        first = m.geom_vertadr[g]
        corners = m.vert_pos[first : first + m.geom_vertnum[g]] @ m.geom_mat[g].reshape(3, 3).T
        corners += m.geom_pos[g]
        spec.add_mesh(name=f"hull{g}", uservert=np.ravel(corners).tolist())
        kind = mujoco.mjtGeom.mjGEOM_MESH
        body.add_geom(type=kind, meshname=f"hull{g}", friction=friction, **what)
        return
    quat = np.empty(4)
    mujoco.mju_mat2Quat(quat, m.geom_mat[g])
    kind = mujoco.mjtGeom(int(m.geom_type[g]))
    size = (9.0, 9.0, 1.0) if kind == mujoco.mjtGeom.mjGEOM_PLANE else m.geom_size[g]
    place = {"pos": m.geom_pos[g], "quat": quat, "size": size}
    body.add_geom(type=kind, friction=friction, **place, **what)
