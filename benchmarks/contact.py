"""A step of a robot lying on the floor, and of stacks, against MuJoCo and without contact.

MuJoCo gets our geometries: the same boxes, spheres, cylinders and capsules, and the vertices of
our hulls for meshes. In both engines the robot touches only the floor, or also itself: the same
pairs of links in both. Each engine lets the robot
fall for ten seconds, then its steps are timed from that state, in turns. MuJoCo runs its default
solver; ours iterates as well, but a body at rest takes one pass.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np

import rbdyn_ros as rb
from benchmarks.robots import path_of
from benchmarks.turns import row
from rbdyn_ros.measuring.turns import Job, in_turns
from rbdyn_ros.model.geoms import GeomType

FALL = 10.0  # [s]
TALOS = "Talos reduced"
CUBE = (0.2, 0.2, 0.2)


def main() -> None:
    print("| a step | us | peer, us | ratio |\n|---|---|---|---|")
    for line in (*_talos(), *_box(), *_stacks()):
        print(line, flush=True)


def _talos() -> Iterator[str]:
    m, theirs = talos()
    plain = rb.load_urdf(path_of(TALOS), floating_base=True)
    d, other = rb.make_data(m), mujoco.MjData(theirs)
    d.qpos[2] = other.qpos[2] = 1.1
    yield from _lines("Talos on the floor", m, d, plain, theirs, other)
    m = rb.load_urdf(path_of(TALOS), floating_base=True, contact=True)
    for cone in ("pyramidal", "elliptic"):
        theirs = _with_geometries(m, path_of(TALOS).read_text(), cone)
        d, other = rb.make_data(m), mujoco.MjData(theirs)
        d.qpos[2] = other.qpos[2] = 1.1
        yield next(_lines(f"Talos, which touches itself, {cone}", m, d, plain, theirs, other))


def talos() -> tuple[rb.Model, Any]:
    """Return our Model of Talos above a floor, and MuJoCo's."""
    path = path_of(TALOS)
    m = rb.load_urdf(path, floating_base=True, contact=rb.Contact(self_collision=False))
    return m, _with_geometries(m, path.read_text())


def _box() -> Iterator[str]:
    system = rb.SystemBuilder("box", base="world").body("box", rb.shapes.box(CUBE, mass=1.0))
    plain = rb.build(system.joint("free", "floating", "world", "box"))
    m, theirs = stack(1)
    d, other = rb.make_data(m), mujoco.MjData(theirs)
    d.qpos[2] = other.qpos[2] = 0.2
    yield from _lines("a box on the floor", m, d, plain, theirs, other)


def _stacks() -> Iterator[str]:
    """Cubes on top of each other, against MuJoCo's elliptic cone, without and with noslip."""
    for number in (4, 10):
        for noslip in (0, 10):
            m, theirs = stack(number, f'cone="elliptic" noslip_iterations="{noslip}"')
            d, other = rb.make_data(m), mujoco.MjData(theirs)
            d.qpos[:] = other.qpos
            rb.step(m, d, 2000)
            mujoco.mj_step(theirs, other, 2000)
            label = f"{number} cubes, {d.ncon} and {other.ncon} points"
            label += f" / mj_step, noslip {noslip}"
            yield row(label, *in_turns((_ours(m, d), _theirs(theirs, other))))


def stack(number: int, option: str = "") -> tuple[rb.Model, Any]:
    """Return our Model of cubes to be stacked on a floor, and MuJoCo's, whose qpos0 stacks them.

    Args:
        number: of cubes.
        option: attributes of MuJoCo's <option>.
    """
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
      <mujoco><option timestep="0.001" {option}/><worldbody>
        <geom type="plane" size="9 9 1" friction="0.8"/>{bodies}</worldbody></mujoco>""")
    return rb.build(system), theirs


def _lines(
    label: str, m: rb.Model, d: rb.Data, plain: rb.Model, theirs: Any, other: Any
) -> Iterator[str]:
    steps = round(FALL / m.opt.timestep)
    rb.step(m, d, steps)
    mujoco.mj_step(theirs, other, steps)
    points = f"{d.ncon} and {other.ncon} points"
    yield row(f"{label}, {points} / mj_step", *in_turns((_ours(m, d), _theirs(theirs, other))))
    free = rb.make_data(plain)
    yield row(f"{label} / in the air", *in_turns((_ours(m, d), _ours(plain, free))))


def _ours(m: rb.Model, d: rb.Data) -> Job:
    return lambda n: rb.step(m, d, n)


def _theirs(m: Any, d: Any) -> Job:
    return lambda n: mujoco.mj_step(m, d, n)


def _with_geometries(m: rb.Model, urdf: str, cone: str = "pyramidal") -> Any:
    """Return MuJoCo's model of a free robot with our geometries and a floor."""
    tree = ET.fromstring(urdf)
    for link in tree.iter("link"):
        for tag in ("visual", "collision"):
            for element in link.findall(tag):
                link.remove(element)
    extension = ET.SubElement(tree, "mujoco")
    ET.SubElement(extension, "compiler", fusestatic="true", balanceinertia="true")
    _free_root(tree)
    spec = mujoco.MjSpec.from_string(ET.tostring(tree, encoding="unicode"))
    spec.option.timestep = 0.001
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_PLANE, size=[9, 9, 1], contype=1, conaffinity=0
    )
    if cone == "elliptic":
        spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    for g in range(m.ngeommoving):
        _add_geometry(spec, m, g)
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


def _add_geometry(spec: Any, m: rb.Model, g: int) -> None:
    body = spec.body(m.body_names[m.geom_bodyid[g]])
    what: dict[str, Any] = {"name": f"g{g}", "contype": 0, "conaffinity": 1, "density": 0.0}
    friction = [m.geom_friction[g], 0.0, 0.0]
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
    place = {"pos": m.geom_pos[g], "quat": quat, "size": m.geom_size[g]}
    body.add_geom(type=kind, friction=friction, **place, **what)
