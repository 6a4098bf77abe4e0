# SPDX-License-Identifier: Apache-2.0
"""Mechanism files are read completely, and the error about each mistake names its line."""

import math
import time

import pytest
import yaml
from support.refusals import refused

from rbdyn_ros.description.build import shapes
from rbdyn_ros.description.mechanism_files import mechanism
from rbdyn_ros.description.parts.poses import Pose, pose
from rbdyn_ros.description.parts.types import (
    Gear,
    GearTerm,
    Inertial,
    Joint,
    Length,
    Limit,
    Link,
    Mimic,
    Roll,
    Spring,
    Trajectory,
)
from rbdyn_ros.description.urdf_files import urdf
from rbdyn_ros.errors import DescriptionError

CRANK_SLIDER = """\
# a comment
rbdyn_mechanism: 1
name: crank_slider
base: ground
links:
  crank: {box: {size: [1, 0.1, 0.1], density: 2700, xyz: [0.5, 0, 0], rpy: [0, 0, 0.1]}}
  rod: {mass: 1.5, xyz: [0.5, 0, 0], inertia: [2, 2, 3, 0.1, 0.2, 0.3]}
  slider: [{sphere: {radius: 0.1, mass: 1}}, {cylinder: {radius: 0.1, length: 1, mass: 2e0}}]
  marker:
joints:
  J1: {type: revolute, parent: ground, child: crank, axis: [0, 0, 1]}
  J2: {type: revolute, parent: crank, child: rod, origin: {xyz: [1, 0, 0]}, axis: [0, 0, 1]}
  J3:
    type: prismatic
    parent: slider
    child: ground
    child_origin: {xyz: [0, 1, 0], rpy: [0, 0, .5]}
    limit: {lower: -1, upper: .inf, effort: 10}
    damping: 1
    friction: 2
    armature: 3
    stiffness: 4
    rest: 0.5
  J5: {type: fixed, parent: slider, child: marker}
loops:
  J4: {type: revolute, predecessor: rod, successor: slider, X_P: {xyz: [2, 0, 0]}, axis: [0, 0, 1]}
springs:
  return: {from: {link: crank, xyz: [1, 0, 0]}, to: {link: ground}, stiffness: 10, length: 0.5}
"""


def test_all_sections_are_read():
    read = mechanism.read_text(CRANK_SLIDER)
    z = (0.0, 0.0, 1.0)
    assert (read.name, read.base, read.source) == ("crank_slider", "ground", "<text>")
    assert read.findings == ()
    at = pose((0.5, 0, 0), (0, 0, 0.1))
    parts = (shapes.sphere(0.1, mass=1.0), shapes.cylinder(0.1, 1.0, mass=2.0))
    assert read.links == (
        Link("crank", shapes.box((1, 0.1, 0.1), density=2700.0, at=at), 6),
        Link("rod", Inertial(1.5, Pose((0.5, 0.0, 0.0)), (2, 2, 3, 0.1, 0.2, 0.3)), 7),
        Link("slider", shapes.combine(*parts), 8),
        Link("marker", None, 9),
        Link("ground"),
    )
    assert read.joints == (
        Joint("J1", "revolute", "ground", "crank", axis=z, line=11),
        Joint("J2", "revolute", "crank", "rod", pose((1, 0, 0)), z, line=12),
        Joint(
            "J3",
            "prismatic",
            "slider",
            "ground",
            child_origin=pose((0, 1, 0), (0, 0, 0.5)),
            limit=Limit(-1, math.inf, 10),
            damping=1.0,
            friction=2.0,
            armature=3.0,
            stiffness=4.0,
            rest=(0.5,),
            line=13,
        ),
        Joint("J5", "fixed", "slider", "marker", line=24),
        Joint("J4", "revolute", "rod", "slider", pose((2, 0, 0)), z, closes_loop=True, line=26),
    )
    springs = (Spring("return", "crank", "ground", (1.0, 0.0, 0.0), (0, 0, 0), 10, 0, 0.5, 28),)
    assert read.springs == springs
    assert mechanism.read_text(CRANK_SLIDER.encode()) == read
    assert mechanism.read_text("\ufeff" + CRANK_SLIDER) == read
    assert mechanism.read_text(CRANK_SLIDER.replace("\n", "\r\n")) == read


def small(joint="type: revolute", more=""):
    """Return a mechanism of two links; the joint is on line 3, and `more` begins on line 5."""
    return (
        "rbdyn_mechanism: 1\nbase: a\n"
        f"joints: {{j: {{parent: a, child: b, {joint}}}}}\nlinks: {{a: , b: }}\n{more}"
    )


def only_joint(text):
    return mechanism.read_text(text).joints[0]


def test_types_parameters_and_motions_are_read():
    assert only_joint(small("type: helical, pitch: -1e-3")).parameters == {"pitch": -0.001}
    cross = only_joint(small("type: universal, axis2: [0, 1, 0], limits: [[-1, 1], {upper: 2}]"))
    assert (cross.axis2, cross.limits) == ((0, 1, 0), (Limit(-1, 1), Limit(upper=2)))
    spring = only_joint(small("type: cylindrical, stiffness: 1, rest: [1, 2]"))
    assert spring.rest == (1.0, 2.0)
    wave = "drives: {j: {times: [0, 1, 2], positions: [0, 1, 0], periodic: true}}"
    moved = Trajectory((0.0, 1.0, 2.0), ((0.0,), (1.0,), (0.0,)), periodic=True)
    assert only_joint(small(more=wave)).motion == moved
    rows = "drives: {j: {times: [0, 1], positions: [[0, 1], [2, 3]]}}"
    moved = Trajectory((0.0, 1.0), ((0.0, 1.0), (2.0, 3.0)))
    assert only_joint(small("type: universal, axis2: [0, 1, 0]", rows)).motion == moved
    assert only_joint(small(more="drives: {j: {function: wave}}")).motion == "wave"


def test_couplings_are_read():
    text = (
        "rbdyn_mechanism: 1\nbase: a\nlinks: {b: , c: }\n"
        "joints: {j: {type: revolute, parent: a, child: b}, k: {type: helical, pitch: 1, "
        "parent: b, child: c}}\ncouplings: {k: {follows: j, ratio: -2, offset: .5}}"
    )
    assert mechanism.read_text(text).joints[1].mimic == Mimic("j", -2.0, 0.5)


def test_actuators_are_read():
    assert only_joint(small("type: revolute, actuated: false")).actuated is False
    pushed = only_joint(small("type: revolute, transmission: [[0, 0, 1, 0, 0, .5]]"))
    assert pushed.transmission == ((0.0, 0.0, 1.0, 0.0, 0.0, 0.5),)


CONSTRAINTS = """\
rbdyn_mechanism: 1
base: a
links: {b: , c: }
joints:
  j: {type: revolute, parent: a, child: b}
  k: {type: cylindrical, parent: b, child: c}
constraints:
  strut: {rod: {from: {link: a, xyz: [1, 2, 3]}, to: {link: c}, length: 0.5}}
  belt: {band: {points: [{link: a}, {link: b}, {link: c, xyz: [0, 1, 0]}], length: 9, radius: 0.5}}
  rope: {band: {points: [{link: a}, {link: b}], length: 2, closed: false}}
  pair:
    gear: {terms: [{joint: j, factor: 2}, {joint: k, factor: -1, coordinate: 1}], offset: 0.1}
  ball: {roll: {link: c, on: a, radius: 0.1}}
  disk:
    roll: {link: c, on: a, radius: 0.1, centre: [1, 0, 0], axis: [0, 1, 0], point: [0, 0, 1],
           normal: [0, 1, 0]}
"""


def test_constraints_are_read():
    zero, line = (0.0, 0.0, 0.0), math.tau * 0.5
    belt = (zero, zero, (0.0, 1.0, 0.0))
    terms = (GearTerm("j", 2.0), GearTerm("k", -1.0, 1))
    read = mechanism.read_text(CONSTRAINTS)
    assert read.constraints == (
        Length("strut", ("a", "c"), ((1.0, 2.0, 3.0), zero), 0.5, line=8),
        Length("belt", ("a", "b", "c"), belt, 9.0 - line, closed=True, line=9),
        Length("rope", ("a", "b"), (zero, zero), 2.0, line=10),
        Gear("pair", terms, 0.1, line=11),
        Roll("ball", "c", "a", 0.1, line=13),
        Roll("disk", "c", "a", 0.1, (1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 1, 0), line=14),
    )
    assert read.findings == ()


def test_names_are_read_as_written():
    text = "rbdyn_mechanism: 1\nbase: 1e-3\nlinks: {on: , 'no': }\njoints: {007: {type: fixed, "
    read = mechanism.read_text(
        text + "parent: 1e-3, child: on}, ~: {type: fixed, parent: on, child: no}}"
    )
    assert [link.name for link in read.links] == ["on", "no", "1e-3"]
    assert [joint.name for joint in read.joints] == ["007", "~"]


ROBOT = """\
<robot name="arm">
  <link name="root"/>
  <link name="upper"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="9" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="lower"/>
  <joint name="shoulder" type="revolute"><parent link="root"/><child link="upper"/>
    <origin xyz="0 0 1" rpy="0 0 1"/><axis xyz="0 0 2"/>
    <limit lower="-1" upper="1" effort="5" velocity="6"/><dynamics damping="0.5"/></joint>
  <joint name="elbow" type="prismatic"><parent link="upper"/><child link="lower"/>
    <limit lower="-1" upper="1" effort="0" velocity="6"/></joint>
</robot>
"""


@pytest.fixture
def over(tmp_path):
    """Return a function that writes a mechanism file of ROBOT with lines `text`, and reads it."""
    (tmp_path / "arm.urdf").write_text(ROBOT)

    def read(text, **options):
        path = tmp_path / "arm.yaml"
        path.write_text(f"rbdyn_mechanism: 1\nrobot: arm.urdf\n{text}")
        return mechanism.read(path, **options)

    return read


def test_a_mechanism_file_with_only_a_robot_is_read(over):
    read = over("")
    assert (read.name, read.base) == ("arm", "root")
    assert [link.name for link in read.links] == ["root", "upper", "lower"]
    assert [joint.name for joint in read.joints] == ["shoulder", "elbow"]
    assert [(f.line, f.severity, f.code, f.element) for f in read.findings] == [
        (2, "warning", "non-physical-inertia", "link 'upper'"),
        (2, "note", "axis-normalised", "joint 'shoulder'"),
        (2, "warning", "zero-effort", "joint 'elbow'"),
    ]
    lines = [f.message.split(":")[0] for f in read.findings]
    assert lines == ["arm.urdf, line 3", "arm.urdf, line 6", "arm.urdf, line 9"]


def test_only_named_properties_of_a_robot_change(over):
    read = over(
        "name: changed\nbase: upper\n"
        "links: {upper: {sphere: {radius: 1, mass: 1}}, hand: }\n"
        "joints:\n"
        "  shoulder: {type: helical, pitch: 0.01, origin: {xyz: [0, 0, 2]}, limit: {upper: 2}}\n"
        "  wrist: {type: fixed, parent: lower, child: hand}\n"
        "couplings: {elbow: {follows: shoulder, ratio: 3}}\n"
    )
    assert (read.name, read.base) == ("changed", "upper")
    assert [link.name for link in read.links] == ["root", "upper", "lower", "hand"]
    assert read.links[1].inertial == shapes.sphere(1.0, mass=1.0)
    shoulder, elbow, wrist = read.joints
    assert shoulder == Joint(
        "shoulder",
        "helical",
        "root",
        "upper",
        pose((0, 0, 2), (0, 0, 1)),
        (0.0, 0.0, 1.0),
        Limit(-1, 2, 5, 6),
        0.5,
        parameters={"pitch": 0.01},
        line=7,
    )
    assert elbow.mimic == Mimic("shoulder", 3.0)
    assert wrist.name == "wrist"
    assert "non-physical-inertia" not in [finding.code for finding in read.findings]


def test_limits_that_do_not_suit_a_new_joint_type_are_left_out(over):
    read = over("joints: {shoulder: {type: universal, axis2: [1, 0, 0]}}")
    assert read.joints[0].limit is None
    codes = {(finding.code, finding.element) for finding in read.findings}
    assert ("limit-left-out", "joint 'shoulder'") in codes
    read = over("joints: {shoulder: {type: spherical, limit: {upper: 0.5}}}")
    assert read.joints[0].limit == Limit(0.0, 0.5)


def test_a_loop_is_added_to_a_robot(over):
    read = over("loops: {weld: {type: fixed, predecessor: lower, successor: root}}")
    assert read.joints[2] == Joint("weld", "fixed", "lower", "root", closes_loop=True, line=3)


def test_errors_of_the_robot_are_reported(tmp_path):
    (tmp_path / "bad.urdf").write_text(ROBOT.replace('value="1"', 'value="nan"'))
    path = tmp_path / "bad.yaml"
    path.write_text("rbdyn_mechanism: 1\nrobt: x\nrobot: bad.urdf\n")
    with refused(DescriptionError, ["unknown-key", "not-finite"], "", line=2) as caught:
        mechanism.read(path)
    below = caught.value.findings[1]
    assert (below.element, below.line) == ("link 'upper'", 3)
    assert below.message.startswith("bad.urdf, line 3: link 'upper'")
    path.write_text("rbdyn_mechanism: 1\nrobot: bat.urdf\n")
    with refused(DescriptionError, "no-such-file", line=2) as caught:
        mechanism.read(path)
    assert "(did you mean 'bad.urdf'?)" in str(caught.value)


TOP = "rbdyn_mechanism: 1\n"

DOCUMENTS = {
    "empty": ("", ("empty", None)),
    "only a comment": ("# nothing", ("empty", None)),
    "a list": ("- 1", ("not-a-table", 1)),
    "another file": (
        "\nlinks: {}",
        ("not-a-mechanism", 2),
    ),
    "another version": (
        "rbdyn_mechanism: 2",
        ("bad-version", 1),
    ),
    "not UTF-8": (b"\xff\xfe\x00", ("bad-encoding", None)),
    "surrogate": ("\ud800", ("bad-encoding", None)),
    "an alias": (
        TOP + "name: &x y\nbase: *x",
        ("forbidden-yaml", 2),
    ),
    "a tag": (
        TOP + "name: !!python/object/apply:os.system ['true']",
        ("forbidden-yaml", 2),
    ),
    "a merge key": (
        TOP + "links: {a: {<<: {mass: 1}}}",
        ("forbidden-yaml", 2),
    ),
    "a key that is a list": (
        TOP + "? [a]\n: b",
        ("bad-key", 2),
    ),
    "two documents": (
        TOP + "---\nbase: a",
        ("many-documents", 2),
    ),
    "too deep": (
        TOP + "name: " + "[" * 40,
        ("too-deep", 2),
    ),
    "robot in text": (
        TOP + "robot: arm.urdf",
        ("bad-robot", 2),
    ),
    "a mechanism as robot": (
        TOP + "robot: other.yaml",
        ("bad-robot", 2),
    ),
    "no base": (
        TOP + "links: {a: }",
        ("missing-key", 1),
    ),
}


@pytest.mark.parametrize(("text", "refusal"), DOCUMENTS.values(), ids=DOCUMENTS)
def test_bad_documents_are_refused(text, refusal):
    code, line = refusal
    with refused(DescriptionError, code, line=line):
        mechanism.read_text(text)


def test_documents_are_read_without_libyaml(monkeypatch):
    expected = mechanism.read_text(CRANK_SLIDER)
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    assert mechanism.read_text(CRANK_SLIDER) == expected
    for text, (code, _) in DOCUMENTS.values():
        with pytest.raises(DescriptionError) as caught:
            mechanism.read_text(text)
        assert caught.value.code == code
    for escape in ("\\U99999999", "\\x", "\\uD800"):
        with pytest.raises(DescriptionError):
            mechanism.read_text(f'{TOP}name: "{escape}"')


def test_the_error_about_malformed_yaml_names_its_line():
    with refused(DescriptionError, "malformed-yaml", line=3):
        mechanism.read_text(TOP + "name: [a\nbase: }")
    with pytest.raises(DescriptionError):
        mechanism.read_text(TOP + "name: \0")


def in_joint(said):
    return small(f"type: revolute, {said}"), 3


def in_link(said):
    text = (
        f"{TOP}base: a\njoints: {{j: {{type: fixed, parent: a, child: b}}}}\nlinks: {{b: {said}}}"
    )
    return text, 4


def below(said):
    return small(more=said), 5


VALUES = {
    "underscore": (
        in_joint("damping: 1_0"),
        ("bad-value", "joint 'j'"),
    ),
    "octal": (
        in_joint("damping: 0o7"),
        ("bad-value", "joint 'j'"),
    ),
    "old octal": (
        in_joint("damping: 010"),
        ("bad-value", "joint 'j'"),
    ),
    "sexagesimal": (
        in_joint("damping: 1:30"),
        ("bad-value", "joint 'j'"),
    ),
    "yes": (
        in_joint("damping: yes"),
        ("bad-value", "joint 'j'"),
    ),
    "quoted": (
        in_joint("damping: '1'"),
        ("bad-value", "joint 'j'"),
    ),
    "comma": (
        in_joint("damping: 1,5"),
        ("unknown-key", "joint 'j'"),
    ),
    "infinite": (
        in_joint("damping: .inf"),
        ("bad-value", "joint 'j'"),
    ),
    "too large": (
        in_joint("damping: 1e999"),
        ("bad-value", "joint 'j'"),
    ),
    "not a number": (
        in_joint("limit: {lower: .nan}"),
        ("bad-value", "joint 'j'"),
    ),
    "other digits": (
        in_joint("damping: \u0661"),
        ("bad-value", "joint 'j'"),
    ),
    "empty": (in_joint("damping: "), ("bad-value", "joint 'j'")),
    "a list": (in_joint("damping: [1]"), ("bad-value", "joint 'j'")),
    "a number": (in_joint("axis: 1"), ("bad-value", "joint 'j'")),
    "two numbers": (in_joint("axis: [1, 0]"), ("bad-value", "joint 'j'")),
    "in a list": (
        in_joint("axis: [1, 0, z]"),
        ("bad-value", "joint 'j'"),
    ),
    "pose": (
        in_joint("origin: [1, 0, 0]"),
        ("bad-value", "joint 'j'"),
    ),
    "xyz": (
        in_joint("origin: {xzy: [1, 0, 0]}"),
        ("unknown-key", "joint 'j'"),
    ),
    "limits": (
        in_joint("limits: 3"),
        ("bad-value", "joint 'j'"),
    ),
    "unknown key": (
        in_joint("dampng: 1"),
        ("unknown-key", "joint 'j'"),
    ),
    "parameter of another type": (
        in_joint("pitch: 1"),
        ("unknown-parameter", "joint 'j'"),
    ),
    "shape": (
        in_link("{bx: {size: [1, 1, 1]}}"),
        ("unknown-key", "link 'b'"),
    ),
    "size": (in_link("{box: {mass: 1}}"), ("missing-key", "link 'b'")),
    "density or mass": (
        in_link("{sphere: {radius: 1}}"),
        ("density-or-mass", "link 'b'"),
    ),
    "radius": (
        in_link("{sphere: {radius: -1, mass: 1}}"),
        ("bad-argument", "link 'b'"),
    ),
    "shape and mass": (
        in_link("{mass: 1, box: {size: [1, 1, 1], mass: 1}}"),
        ("unknown-key", "link 'b'"),
    ),
    "no mass": (
        in_link("{xyz: [0, 0, 0]}"),
        ("missing-key", "link 'b'"),
    ),
    "a word": (in_link("heavy"), ("bad-value", "link 'b'")),
    "inertia": (
        in_link("{mass: 1, inertia: [1, 1, 1]}"),
        ("bad-value", "link 'b'"),
    ),
    "coupling": (
        below("couplings: {k: {follows: j}}"),
        ("unknown-joint", "coupling 'k'"),
    ),
    "coupling to none": (
        below("couplings: {j: {follows: jj}}"),
        ("unknown-joint", "coupling 'j'"),
    ),
    "drive": (
        below("drives: {jj: {function: f}}"),
        ("unknown-joint", "drive 'jj'"),
    ),
    "periodic": (
        below("drives: {j: {times: [0, 1], positions: [0, 1], periodic: yes}}"),
        ("bad-value", "drive 'j'"),
    ),
    "function and times": (
        below("drives: {j: {times: [0, 1], function: f}}"),
        ("unknown-key", "drive 'j'"),
    ),
    "no function": (
        below("drives: {j: {function: }}"),
        ("bad-value", "drive 'j'"),
    ),
    "spring": (
        below("springs: {s: {from: {link: a}, stiffness: 1}}"),
        ("missing-key", "spring 's'"),
    ),
    "spring to nowhere": (
        below("springs: {s: {from: {link: a}, to: {link: c}}}"),
        ("unknown-link", "spring 's'"),
    ),
    "no kind of constraint": (
        below("constraints: {r: }"),
        ("bad-value", "constraint 'r'"),
    ),
    "unknown kind of constraint": (
        below("constraints: {r: {rodd: {length: 1}}}"),
        ("unknown-key", "constraint 'r'"),
    ),
    "two kinds of constraint": (
        below("constraints: {r: {rod: {}, gear: {}}}"),
        ("bad-constraint", "constraint 'r'"),
    ),
    "an empty constraint": (
        below("constraints: {r: {}}"),
        ("bad-constraint", "constraint 'r'"),
    ),
    "rod": (
        below("constraints: {r: {rod: {from: {link: a}, to: {link: b}}}}"),
        ("missing-key", "constraint 'r'"),
    ),
    "end of a rod": (
        below("constraints: {r: {rod: {from: a, to: {link: b}, length: 1}}}"),
        ("bad-value", "constraint 'r'"),
    ),
    "rod on one body": (
        below("constraints: {r: {rod: {from: {link: b}, to: {link: b}, length: 1}}}"),
        ("one-body", "constraint 'r'"),
    ),
    "points": (
        below("constraints: {r: {band: {points: {link: a}, length: 1}}}"),
        ("bad-value", "constraint 'r'"),
    ),
    "point": (
        below("constraints: {r: {band: {points: [{link: a}, {xyz: [1, 0, 0]}], length: 1}}}"),
        ("missing-key", "constraint 'r'"),
    ),
    "ends of a band": (
        below(
            "constraints: {r: {band: {points: [{link: a}, {link: b}], length: 1, radius: 0.1, "
            "closed: false}}}"
        ),
        ("bad-argument", "constraint 'r'"),
    ),
    "short band": (
        below("constraints: {r: {band: {points: [{link: a}, {link: b}], length: 1, radius: 1}}}"),
        ("bad-argument", "constraint 'r'"),
    ),
    "terms": (
        below("constraints: {r: {gear: {terms: 3}}}"),
        ("bad-value", "constraint 'r'"),
    ),
    "term": (
        below("constraints: {r: {gear: {terms: [{joint: j}]}}}"),
        ("missing-key", "constraint 'r'"),
    ),
    "coordinate": (
        below("constraints: {r: {gear: {terms: [{joint: j, factor: 1, coordinate: 0.5}]}}}"),
        ("bad-value", "constraint 'r'"),
    ),
    "gear of no joint": (
        below(
            "constraints: {r: {gear: {terms: [{joint: j, factor: 1}, {joint: jj, factor: 1}]}}}"
        ),
        ("unknown-joint", "constraint 'r'"),
    ),
    "roll": (
        below("constraints: {r: {roll: {link: a, radius: 1}}}"),
        ("missing-key", "constraint 'r'"),
    ),
    "normal": (
        below("constraints: {r: {roll: {link: b, on: a, radius: 1, normal: up}}}"),
        ("bad-value", "constraint 'r'"),
    ),
    "actuated": (
        in_joint("actuated: 1"),
        ("bad-value", "joint 'j'"),
    ),
    "transmission": (
        in_joint("transmission: [0, 0, 1, 0, 0, 0]"),
        ("bad-value", "joint 'j'"),
    ),
    "length of a transmission": (
        in_joint("transmission: [[0, 0, 1, 0, 0, 0], [0, 0, 1, 0, 0, 0]]"),
        ("bad-transmission", "joint 'j'"),
    ),
    "section": (below("springs: 3"), ("bad-value", "")),
    "top key": (
        below("lonks: {}"),
        ("unknown-key", ""),
    ),
    "key twice": (
        below("base: b"),
        ("duplicate-key", ""),
    ),
    "duplicate joint": (
        below("loops: {j: {type: fixed, predecessor: a, successor: b}}"),
        ("duplicate-name", "joint 'j'"),
    ),
}


@pytest.mark.parametrize(("said", "refusal"), VALUES.values(), ids=VALUES)
def test_bad_values_are_refused(said, refusal):
    text, line = said
    with refused(DescriptionError, *refusal, line=line):
        mechanism.read_text(text)


def test_all_errors_are_reported_in_the_order_of_the_text():
    text = """\
rbdyn_mechanism: 1
naem: x
base: ground
links:
  crank: {box: {size: [1, 0.1], densty: 2700}}
  rod: {mass: 1_0, xyz: [0, 0, .nan]}
  rod: {}
joints:
  J1: {type: revolute, parent: ground, child: crank, axis: [0, 0, 1], dampng: 0.1}
  J2: {type: helical, parent: crank, child: rod, pitch: 0}
loops: {J4: {type: fixed}}
drives: {J2: {times: [0], positions: [1], periodic: yes}}
"""
    expected = {
        2: ["unknown-key"],
        5: ["unknown-key", "bad-value"],
        6: ["bad-value", "bad-value"],
        7: ["duplicate-key"],
        9: ["unknown-key"],
        10: ["zero-parameter"],
        11: ["missing-key", "missing-key"],
        12: ["bad-value"],
    }
    codes = [code for codes in expected.values() for code in codes]
    with refused(DescriptionError, codes, line=2) as caught:
        mechanism.read_text(text)
    lines = [finding.line for finding in caught.value.findings]
    assert lines == [line for line, codes in expected.items() for _ in codes]


def test_a_file_of_3000_links_is_read_in_less_than_a_minute():
    count = 3000
    links = "".join(f"  l{i}: {{sphere: {{radius: 1, mass: 1}}}}\n" for i in range(count))
    joints = "".join(
        f"  j{i}: {{type: revolute, parent: l{i + 1}, child: l{i}}}\n" for i in range(count - 1)
    )
    start = time.process_time()
    text = f"{TOP}base: l0\nlinks:\n{links}joints:\n{joints}"
    assert len(mechanism.read_text(text).joints) == count - 1
    assert time.process_time() - start < 60.0  # it takes 0.3 s


def test_unreadable_files_are_refused(tmp_path):
    (tmp_path / "arm.yaml").write_text("x")
    with refused(DescriptionError, "no-such-file") as caught:
        mechanism.read(tmp_path / "arn.yaml")
    assert "(did you mean 'arm.yaml'?)" in str(caught.value)
    with refused(DescriptionError, "not-a-file"):
        mechanism.read(tmp_path)


HEAD = "rbdyn_mechanism: 1\nbase: g\n"
#: The two notations of a pose: the keys `xyz` and `rpy` of all elements, and a table of both.
COMMON = {
    "joint": (
        "links: {b: }\njoints: {j: {type: revolute, parent: g, child: b, %s}}",
        ("xyz: [1, 2, 3], rpy: [0, 0, 1]", "origin: {xyz: [1, 2, 3], rpy: [0, 0, 1]}"),
        "joint 'j'",
    ),
    "loop": (
        """links: {b: }
joints: {j: {type: revolute, parent: g, child: b}}
loops: {l: {type: revolute, predecessor: g, successor: b, %s}}""",
        ("xyz: [1, 2, 3]", "X_P: {xyz: [1, 2, 3]}"),
        "joint 'l'",
    ),
}


@pytest.mark.parametrize("kind", COMMON)
def test_two_forms_of_a_pose_mean_the_same_and_exclude_each_other(kind):
    text, ways, element = COMMON[kind]
    new, old = (mechanism.read_text(HEAD + text % way) for way in ways)
    assert new == old
    with refused(DescriptionError, "duplicate-key", element):
        mechanism.read_text(HEAD + text % ", ".join(ways))


def test_the_inertia_of_a_link_can_be_given_in_rotated_axes():
    link = "links: {g: {mass: 1, inertia: [1, 1, 1, 0, 0, 0], rpy: [0, 0, 1]}}"
    made = mechanism.read_text(HEAD + link)
    assert made.links[0].inertial.origin == pose((0, 0, 0), (0, 0, 1))


def test_sensors_and_exclusions_of_the_robot_stay(over, tmp_path):
    parts = (
        '<gazebo reference="{0}"><sensor name="s" type="imu"/><selfCollide>false</selfCollide>'
        "</gazebo><gazebo><self_collide>false</self_collide></gazebo>"
    )
    plain = over("", contact=True)
    link = plain.links[-1].name
    text = (tmp_path / "arm.urdf").read_text()
    (tmp_path / "arm.urdf").write_text(text.replace("</robot>", f"{parts.format(link)}</robot>"))
    own, found = urdf.read_file(tmp_path / "arm.urdf", contact=True)[0], over("", contact=True)
    assert [x.name for x in found.sensors] == [x.name for x in own.sensors] == ["s"]
    assert len(found.exclusions) == len(own.exclusions)
    assert not found.self_collision
