# SPDX-License-Identifier: Apache-2.0
"""Numbers in robot files have allowed ranges, at whose ends robots stay finite."""

import math

import numpy as np
import pytest
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description import robot_files
from rbdyn_ros.description.mechanism_files import mechanism
from rbdyn_ros.description.parts.bounds import BOUNDS
from rbdyn_ros.errors import DescriptionError, ParameterError

ARM = {
    "mass": "1",
    "ixx": "1",
    "com": "0 0 0.5",
    "turn": "0 0 1",
    "place": "0 0 1",
    "angles": "0 1 0",
    "axis": "0 1 0",
    "lower": "-1",
    "upper": "1",
    "effort": "1",
    "velocity": "1",
    "damping": "1",
    "friction": "1",
    "ratio": "2",
    "offset": "1",
}
URDF = """<robot name="r"><link name="base"/>
<link name="a"><inertial><origin xyz="{com}" rpy="{turn}"/><mass value="{mass}"/>
  <inertia ixx="{ixx}" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<link name="b"><inertial><origin xyz="0 0 1"/><mass value="1"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<joint name="j" type="revolute"><parent link="base"/><child link="a"/>
  <origin xyz="{place}" rpy="{angles}"/><axis xyz="{axis}"/>
  <limit lower="{lower}" upper="{upper}" effort="{effort}" velocity="{velocity}"/>
  <dynamics damping="{damping}" friction="{friction}"/></joint>
<joint name="k" type="revolute"><parent link="a"/><child link="b"/>
  <limit lower="-9" upper="9" effort="1" velocity="1"/>
  <mimic joint="j" multiplier="{ratio}" offset="{offset}"/></joint>
</robot>"""

#: For each number of the arm: its quantity, and the line of its element.
OF_URDF = {
    "mass": ("mass", 2),
    "ixx": ("inertia", 2),
    "com": ("position", 2),
    "turn": ("angle", 2),
    "place": ("position", 6),
    "angles": ("angle", 7),
    "axis": ("direction", 6),
    "lower": ("limit", 6),
    "upper": ("limit", 6),
    "effort": ("limit", 6),
    "velocity": ("limit", 6),
    "damping": ("force coefficient", 6),
    "friction": ("force coefficient", 6),
    "ratio": ("ratio", 10),
    "offset": ("coordinate", 10),
}


def with_number(name, number):
    """Return the arm's URDF with one number changed (in a vector the first)."""
    old = ARM[name].split()
    sign = "-" if name == "lower" else ""
    return URDF.format(**{**ARM, name: " ".join([f"{sign}{number!r}", *old[1:]])})


@pytest.mark.parametrize("number", [1e300, 1e308])
@pytest.mark.parametrize("name", OF_URDF)
def test_a_urdf_with_a_number_out_of_range_is_refused(name, number):
    quantity, line = OF_URDF[name]
    element = "link 'a'" if line == 2 else f"joint '{'k' if line == 10 else 'j'}'"
    with refused(DescriptionError, "out-of-range", element, line=line) as caught:
        robot_files.read(with_number(name, number))
    assert caught.value.allowed == BOUNDS[quantity].allowed
    assert f"{number:g}" in caught.value.found


@pytest.mark.parametrize("name", OF_URDF)
def test_a_robot_with_a_number_at_the_end_of_its_range_stays_finite(name):
    m = rb.load_urdf(with_number(name, BOUNDS[OF_URDF[name][0]].high))
    d = rb.make_data(m)
    rb.step(m, d, 5)
    assert np.isfinite([*d.qpos, *d.qvel]).all()


def test_limits_out_of_range_are_repaired_to_no_limit():
    text = with_number("effort", 1.7e308)
    described = robot_files.read(text, strict=False)
    assert described.joints[0].limit.effort == math.inf
    assert [f.code for f in described.findings if f.severity == "warning"] == ["out-of-range"]
    robot_files.read(with_number("upper", 1e16))  # in SDF, 1e16 means no limit


def test_the_product_of_ratios_in_a_chain_of_mimic_joints_has_a_range():
    ends = '<parent link="l{0}"/><child link="l{1}"/><axis xyz="0 0 1"/>'
    follow = '<mimic joint="j{0}" multiplier="1000"/>'
    joints = "".join(
        f'<link name="l{i + 1}"/>\n<joint name="j{i}" type="continuous">{ends.format(i, i + 1)}'
        f"{follow.format(i - 1) if i else ''}</joint>"
        for i in range(4)
    )
    with refused(DescriptionError, "out-of-range", "joint 'j3'"):
        robot_files.read(f'<robot name="r"><link name="l0"/>{joints}</robot>')


HEAD = "rbdyn_mechanism: 1\nbase: g\nlinks: {b: {mass: 1, inertia: [1, 1, 1, 0, 0, 0]}}\n"
JOINT = "joints: {{j: {{type: {0}, parent: g, child: b{1}}}}}\n"
HINGE = JOINT.format("revolute", "")
#: Mechanisms with a number N, and the elements that findings name if N is too large.
MECHANISMS = {
    "shape": ("links: {b: {sphere: {radius: N, density: 1}}}\n" + HINGE, "link 'b'"),
    "density": ("links: {b: {sphere: {radius: 1, density: N}}}\n" + HINGE, "link 'b'"),
    "rpy": (JOINT.format("revolute", ", origin: {rpy: [0, N, 0]}"), "joint 'j'"),
    "stiffness": (JOINT.format("revolute", ", stiffness: N"), "joint 'j'"),
    "armature": (JOINT.format("revolute", ", armature: N"), "joint 'j'"),
    "rest": (JOINT.format("revolute", ", rest: N, stiffness: 1"), "joint 'j'"),
    "pitch": (JOINT.format("helical", ", pitch: N"), "joint 'j'"),
    "child": (JOINT.format("revolute", ", child_origin: {xyz: [N, 0, 0]}"), "joint 'j'"),
    "limits": (JOINT.format("cylindrical", ", limits: [[-1, N], [0, 1]]"), "joint 'j'"),
    "transmission": (
        JOINT.format("revolute", ", transmission: [[N, 0, 0, 0, 0, 0]]"),
        "joint 'j'",
    ),
    "drive": (HINGE + "drives: {j: {times: [0, 1], positions: [0, N]}}", "joint 'j'"),
    "time": (HINGE + "drives: {j: {times: [0, N], positions: [0, 1]}}", "joint 'j'"),
    "short": (HINGE + "drives: {j: {times: [0, 1e-300], positions: [0, 1]}}", "joint 'j'"),
    "spring": (
        HINGE + "springs: {s: {from: {link: g}, to: {link: b}, stiffness: N}}",
        "spring 's'",
    ),
    "rod": (
        HINGE + "constraints: {s: {rod: {from: {link: g}, to: {link: b}, length: N}}}",
        "constraint 's'",
    ),
    "roll": (
        HINGE + "constraints: {s: {roll: {link: b, on: g, radius: N}}}",
        "constraint 's'",
    ),
    "surface": (
        HINGE + "geometries: {s: {link: b, sphere: {radius: 1}, stiffness: N}}",
        "geometry 's'",
    ),
    "far": (HINGE + "floor: {height: N}", "obstacle 'floor'"),
    "slip": (HINGE + "floor: {friction: N}", "obstacle 'floor'"),
}


@pytest.mark.parametrize("kind", MECHANISMS)
def test_a_mechanism_with_a_number_out_of_range_is_refused(kind):
    rest, element = MECHANISMS[kind]
    head = HEAD if "links" not in rest else HEAD[: HEAD.index("links")]
    code = "bad-argument" if kind in ("shape", "density") else "out-of-range"
    with refused(DescriptionError, code, element) as caught:
        mechanism.read_text((head + rest).replace("N", "1e300"))
    assert caught.value.line is not None


def test_builders_and_tables_have_the_same_ranges():
    heavy = rb.SystemBuilder("s").body("a", rb.Inertial(1e300))
    with refused(DescriptionError, "out-of-range", "link 'a'"):
        heavy.joint("j", "revolute", "base", "a").description()
    with refused(DescriptionError, ["out-of-range"] * 2, "row 1"):
        rb.dh.proximal([rb.dh.DHRow(1e300, 1e300, 0.0, 0.0)])
    for make in (rb.shapes.sphere, lambda r, mass: rb.shapes.box((r, 1.0, 1.0), mass=mass)):
        with refused(ParameterError, "bad-argument"):
            make(1e300, mass=1.0)
    with refused(ParameterError, "bad-argument"):
        rb.pose((0.0, 0.0, 0.0), (1e300, 0.0, 0.0))


def test_numbers_of_a_saved_model_have_a_range(tmp_path):
    m = rb.load_urdf(URDF.format(**ARM))
    file = tmp_path / "m.npz"
    rb.save(m, file)
    with np.load(file) as archive:
        arrays = dict(archive)
    arrays["body_mass"] = arrays["body_mass"] * 1e300
    np.savez(file, **arrays)
    with refused(DescriptionError, "bad-array", "body_mass"):
        rb.load(file)
