"""Mechanism files: what they mean, and what each mistake is told."""

import math
import time

import pytest
import yaml

from rbdyn_ros.description.build import shapes
from rbdyn_ros.description.mechanism_files import mechanism
from rbdyn_ros.description.poses import Pose, pose
from rbdyn_ros.description.types import (
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
from rbdyn_ros.errors import DescriptionError

CRANK_SLIDER = """\
# a comment
rbdyn_mechanism: 1
name: crank_slider
base: ground
links:
  crank: {box: {size: [1, 0.1, 0.1], density: 2700, xyz: [0.5, 0, 0], rpy: [0, 0, 0.1]}}
  rod: {mass: 1.5, com: [0.5, 0, 0], inertia: [2, 2, 3, 0.1, 0.2, 0.3]}
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


def test_what_a_file_says():
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
    """A mechanism of two links; line 3 is the joint, what is added begins on line 4."""
    return (
        "rbdyn_mechanism: 1\nbase: a\n"
        f"joints: {{j: {{parent: a, child: b, {joint}}}}}\nlinks: {{a: , b: }}\n{more}"
    )


def only_joint(text):
    return mechanism.read_text(text).joints[0]


def test_types_parameters_and_motions():
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


def test_a_joint_that_closes_a_loop_cannot_be_driven():
    loop = "loops: {k: {type: revolute, predecessor: b, successor: a}}\n"
    with pytest.raises(DescriptionError) as caught:
        mechanism.read_text(small(more=f"{loop}drives: {{k: {{function: wave}}}}"))
    assert [(f.line, f.code) for f in caught.value.findings] == [(5, "motion-loop-joint")]


def test_couplings():
    text = (
        "rbdyn_mechanism: 1\nbase: a\nlinks: {b: , c: }\n"
        "joints: {j: {type: revolute, parent: a, child: b}, k: {type: helical, pitch: 1, "
        "parent: b, child: c}}\ncouplings: {k: {follows: j, ratio: -2, offset: .5}}"
    )
    assert mechanism.read_text(text).joints[1].mimic == Mimic("j", -2.0, 0.5)


def test_actuators():
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
  ball: {roll: {body: c, on: a, radius: 0.1}}
  disk:
    roll: {body: c, on: a, radius: 0.1, centre: [1, 0, 0], axis: [0, 1, 0], point: [0, 0, 1],
           normal: [0, 1, 0]}
"""


def test_constraints():
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


def test_names_are_what_stands_there():
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
NON_PHYSICAL = (
    "link 'upper': no rigid body has this inertia: its principal moments are 1, 1, 9 kg m^2, and "
    "the largest is more than the sum of the other two"
)


@pytest.fixture
def over(tmp_path):
    """Return a function that reads a mechanism file over ROBOT."""
    (tmp_path / "arm.urdf").write_text(ROBOT)

    def read(text, **options):
        path = tmp_path / "arm.yaml"
        path.write_text(f"rbdyn_mechanism: 1\nrobot: arm.urdf\n{text}")
        return mechanism.read(path, **options)

    return read


def test_a_robot_alone(over):
    read = over("")
    assert (read.name, read.base) == ("arm", "root")
    assert [link.name for link in read.links] == ["root", "upper", "lower"]
    assert [joint.name for joint in read.joints] == ["shoulder", "elbow"]
    assert [(f.line, f.severity, f.message) for f in read.findings] == [
        (2, "warning", f"arm.urdf, line 3: {NON_PHYSICAL}"),
        (
            2,
            "note",
            "arm.urdf, line 6: joint 'shoulder': the axis has length 2 and was normalised",
        ),
        (
            2,
            "warning",
            (
                "arm.urdf, line 9: joint 'elbow': the effort limit is 0, "
                "so a controller cannot move this joint"
            ),
        ),
    ]


def test_over_a_robot_only_what_is_named_changes(over):
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
    assert not any("inertia" in finding.message for finding in read.findings)


def test_limits_go_with_the_coordinates_they_are_of(over):
    read = over("joints: {shoulder: {type: universal, axis2: [1, 0, 0]}}")
    assert read.joints[0].limit is None
    said = (
        "joint 'shoulder': the limits of the revolute joint it was are left out: "
        "a universal joint has other coordinates"
    )
    assert said in [finding.message for finding in read.findings]
    read = over("joints: {shoulder: {type: spherical, limit: {upper: 0.5}}}")
    assert read.joints[0].limit == Limit(0.0, 0.5)


def test_a_loop_over_a_robot(over):
    read = over("loops: {weld: {type: fixed, predecessor: lower, successor: root}}")
    assert read.joints[2] == Joint("weld", "fixed", "lower", "root", closes_loop=True, line=3)


def test_errors_of_the_robot(tmp_path):
    (tmp_path / "bad.urdf").write_text(ROBOT.replace('value="1"', 'value="nan"'))
    path = tmp_path / "bad.yaml"
    path.write_text("rbdyn_mechanism: 1\nrobt: x\nrobot: bad.urdf\n")
    with pytest.raises(DescriptionError) as caught:
        mechanism.read(path)
    assert str(caught.value) == (
        f"{path}: 2 errors\n"
        "  line 2: the key 'robt' of the mechanism is unknown (did you mean 'robot'?)\n"
        "  line 3: bad.urdf, line 3: link 'upper': <mass value> is 'nan'; numbers must be finite"
    )
    path.write_text("rbdyn_mechanism: 1\nrobot: bat.urdf\n")
    with pytest.raises(DescriptionError) as caught:
        mechanism.read(path)
    assert str(caught.value) == (
        f"{path}: line 2: bat.urdf: there is no file '{tmp_path / 'bat.urdf'}' "
        "(did you mean 'bad.urdf'?); give a path or the text of a URDF"
    )


def refused(text, **options):
    with pytest.raises(DescriptionError) as caught:
        mechanism.read_text(text, source="m", **options)
    return str(caught.value)


def at_line(line, sentence):
    return f"m: line {line}: {sentence}"


TOP = "rbdyn_mechanism: 1\n"

DOCUMENTS = {
    "empty": ("", "m: the document is empty; a mechanism is a table of keys"),
    "only a comment": ("# nothing", "m: the document is empty; a mechanism is a table of keys"),
    "a list": ("- 1", at_line(1, "this is not a table of keys, which a mechanism is")),
    "another file": (
        "\nlinks: {}",
        at_line(2, "this is not a mechanism file, which says 'rbdyn_mechanism: 1' at its top"),
    ),
    "another version": (
        "rbdyn_mechanism: 2",
        at_line(
            1, "the version of the mechanism file is not known; known is 'rbdyn_mechanism: 1'"
        ),
    ),
    "not UTF-8": (b"\xff\xfe\x00", "m: the document is not valid UTF-8; save it as UTF-8"),
    "surrogate": ("\ud800", "m: the document is not valid UTF-8; save it as UTF-8"),
    "an alias": (
        TOP + "name: &x y\nbase: *x",
        at_line(2, "'&x' is an anchor, which is refused; write out what it stands for"),
    ),
    "a tag": (
        TOP + "name: !!python/object/apply:os.system ['true']",
        at_line(
            2,
            "'tag:yaml.org,2002:python/object/apply:os.system' is a tag, which is refused; "
            "write out what it stands for",
        ),
    ),
    "a merge key": (
        TOP + "links: {a: {<<: {mass: 1}}}",
        at_line(2, "'<<' is a merge key, which is refused; write out what it stands for"),
    ),
    "a key that is a list": (
        TOP + "? [a]\n: b",
        at_line(2, "a key is a table or a list; keys are names"),
    ),
    "two documents": (
        TOP + "---\nbase: a",
        at_line(2, "there is a second document after '---'; a mechanism is one document"),
    ),
    "too deep": (
        TOP + "name: " + "[" * 40,
        at_line(2, "the document is nested more than 16 deep"),
    ),
    "robot in text": (
        TOP + "robot: arm.urdf",
        at_line(2, "the robot 'arm.urdf' is a file, and a mechanism given as text opens none"),
    ),
    "a mechanism as robot": (
        TOP + "robot: other.yaml",
        at_line(2, "the robot 'other.yaml' is neither a .urdf nor a .xacro file"),
    ),
    "no base": (
        TOP + "links: {a: }",
        at_line(
            1,
            "the mechanism: has no key 'base'; without a robot it must name the link that stands "
            "on the ground",
        ),
    ),
}


@pytest.mark.parametrize(("text", "sentence"), DOCUMENTS.values(), ids=DOCUMENTS)
def test_documents_refused(text, sentence):
    assert refused(text) == sentence


def test_without_libyaml(monkeypatch):
    expected = mechanism.read_text(CRANK_SLIDER)
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    assert mechanism.read_text(CRANK_SLIDER) == expected
    for text, sentence in DOCUMENTS.values():
        assert refused(text) == sentence
    test_malformed_yaml_has_its_line()
    for escape in ("\\U99999999", "\\x", "\\uD800"):
        refused(f'{TOP}name: "{escape}"')


def test_malformed_yaml_has_its_line():
    assert refused(TOP + "name: [a\nbase: }").startswith("m: line 3: the YAML is malformed: ")
    assert refused(TOP + "name: \0").startswith("m: ")


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
        "joint 'j': the damping is '1_0', not a finite number; digits cannot be grouped by '_'",
    ),
    "octal": (
        in_joint("damping: 0o7"),
        "joint 'j': the damping is '0o7', not a finite number; write decimals such as -0.5",
    ),
    "old octal": (
        in_joint("damping: 010"),
        "joint 'j': the damping is '010', not a finite number; write it without leading zeros",
    ),
    "sexagesimal": (
        in_joint("damping: 1:30"),
        "joint 'j': the damping is '1:30', not a finite number; write decimals such as -0.5",
    ),
    "yes": (
        in_joint("damping: yes"),
        "joint 'j': the damping is 'yes', not a finite number; write decimals such as -0.5",
    ),
    "quoted": (
        in_joint("damping: '1'"),
        "joint 'j': the damping is '1', not a finite number; write it without quotes",
    ),
    "comma": (
        in_joint("damping: 1,5"),
        "joint 'j': the key '5' of the joint is unknown",
    ),
    "infinite": (
        in_joint("damping: .inf"),
        "joint 'j': the damping is '.inf', not a finite number",
    ),
    "too large": (
        in_joint("damping: 1e999"),
        ("joint 'j': the damping is '1e999', not a finite number; write decimals such as -0.5"),
    ),
    "not a number": (
        in_joint("limit: {lower: .nan}"),
        "joint 'j': the lower of the limit is '.nan', not a number or .inf",
    ),
    "other digits": (
        in_joint("damping: \u0661"),
        "joint 'j': the damping is '\u0661', not a finite number; write decimals such as -0.5",
    ),
    "empty": (in_joint("damping: "), "joint 'j': the damping is empty, not a finite number"),
    "a list": (in_joint("damping: [1]"), "joint 'j': the damping is a list, not a finite number"),
    "a number": (in_joint("axis: 1"), "joint 'j': the axis is '1', not a list of 3 numbers"),
    "two numbers": (in_joint("axis: [1, 0]"), "joint 'j': the axis has 2 numbers, not 3"),
    "in a list": (
        in_joint("axis: [1, 0, z]"),
        "joint 'j': the axis holds 'z', not finite numbers; write decimals such as -0.5",
    ),
    "pose": (
        in_joint("origin: [1, 0, 0]"),
        "joint 'j': the origin is a list, not a table of keys",
    ),
    "xyz": (
        in_joint("origin: {xzy: [1, 0, 0]}"),
        "joint 'j': the key 'xzy' of the origin is unknown (did you mean 'xyz'?)",
    ),
    "limits": (
        in_joint("limits: 3"),
        "joint 'j': the limits is '3', not a list with a limit for each coordinate",
    ),
    "unknown key": (
        in_joint("dampng: 1"),
        "joint 'j': the key 'dampng' of the joint is unknown (did you mean 'damping'?)",
    ),
    "parameter of another type": (
        in_joint("pitch: 1"),
        "joint 'j': the parameter 'pitch' is unknown; a revolute joint takes none",
    ),
    "shape": (
        in_link("{bx: {size: [1, 1, 1]}}"),
        "link 'b': the key 'bx' of the link is unknown (did you mean 'box'?)",
    ),
    "size": (in_link("{box: {mass: 1}}"), "link 'b': the box has no key 'size'"),
    "density or mass": (
        in_link("{sphere: {radius: 1}}"),
        "link 'b': a shape takes either a density or a mass; neither is given",
    ),
    "radius": (
        in_link("{sphere: {radius: -1, mass: 1}}"),
        "link 'b': the radius is -1.0; allowed is a finite number above 0",
    ),
    "shape and mass": (
        in_link("{mass: 1, box: {size: [1, 1, 1], mass: 1}}"),
        (
            "link 'b': the key 'box' of the link without a shape is unknown; "
            "allowed are 'mass', 'com', 'inertia'"
        ),
    ),
    "no mass": (
        in_link("{com: [0, 0, 0]}"),
        "link 'b': the link without a shape has no key 'mass'",
    ),
    "a word": (in_link("heavy"), "link 'b': the link is 'heavy', not a table of keys"),
    "inertia": (
        in_link("{mass: 1, inertia: [1, 1, 1]}"),
        "link 'b': the inertia has 3 numbers, not 6",
    ),
    "coupling": (
        below("couplings: {k: {follows: j}}"),
        "coupling 'k': there is no joint 'k'",
    ),
    "coupling to none": (
        below("couplings: {j: {follows: jj}}"),
        "coupling 'j': there is no joint 'jj' (did you mean 'j'?)",
    ),
    "drive": (
        below("drives: {jj: {function: f}}"),
        "drive 'jj': there is no joint 'jj' (did you mean 'j'?)",
    ),
    "periodic": (
        below("drives: {j: {times: [0, 1], positions: [0, 1], periodic: yes}}"),
        "drive 'j': the periodic is 'yes', not true or false",
    ),
    "function and times": (
        below("drives: {j: {times: [0, 1], function: f}}"),
        (
            "drive 'j': the key 'times' of the drive by a function is unknown; "
            "allowed are 'function'"
        ),
    ),
    "no function": (
        below("drives: {j: {function: }}"),
        "drive 'j': the function is empty, not a name",
    ),
    "spring": (
        below("springs: {s: {from: {link: a}, stiffness: 1}}"),
        "spring 's': the spring has no key 'to'",
    ),
    "spring to nowhere": (
        below("springs: {s: {from: {link: a}, to: {link: c}}}"),
        "spring 's': the link 'c' does not exist",
    ),
    "no kind of constraint": (
        below("constraints: {r: }"),
        "constraint 'r': the constraint is empty, not a table of keys",
    ),
    "unknown kind of constraint": (
        below("constraints: {r: {rodd: {length: 1}}}"),
        "constraint 'r': the key 'rodd' of the constraint is unknown (did you mean 'rod'?)",
    ),
    "two kinds of constraint": (
        below("constraints: {r: {rod: {}, gear: {}}}"),
        (
            "constraint 'r': the constraint has 'rod', 'gear'; "
            "it must have one of 'rod', 'band', 'gear', 'roll'"
        ),
    ),
    "an empty constraint": (
        below("constraints: {r: {}}"),
        (
            "constraint 'r': the constraint has nothing; "
            "it must have one of 'rod', 'band', 'gear', 'roll'"
        ),
    ),
    "rod": (
        below("constraints: {r: {rod: {from: {link: a}, to: {link: b}}}}"),
        "constraint 'r': the rod has no key 'length'",
    ),
    "end of a rod": (
        below("constraints: {r: {rod: {from: a, to: {link: b}, length: 1}}}"),
        "constraint 'r': the from is 'a', not a table of keys",
    ),
    "rod on one body": (
        below("constraints: {r: {rod: {from: {link: b}, to: {link: b}, length: 1}}}"),
        ("constraint 'r': points 1 and 2 are both on the link 'b'; their distance cannot change"),
    ),
    "points": (
        below("constraints: {r: {band: {points: {link: a}, length: 1}}}"),
        "constraint 'r': the points is a table, not a list of points",
    ),
    "point": (
        below("constraints: {r: {band: {points: [{link: a}, {xyz: [1, 0, 0]}], length: 1}}}"),
        "constraint 'r': the point 2 has no key 'link'",
    ),
    "ends of a band": (
        below(
            "constraints: {r: {band: {points: [{link: a}, {link: b}], length: 1, radius: 0.1, "
            "closed: false}}}"
        ),
        (
            "constraint 'r': the radius is 0.1; "
            "allowed is 0, for a band with ends does not go round disks"
        ),
    ),
    "short band": (
        below("constraints: {r: {band: {points: [{link: a}, {link: b}], length: 1, radius: 1}}}"),
        "constraint 'r': the length is 1.0; allowed is more than once round a disk, 6.28319",
    ),
    "terms": (
        below("constraints: {r: {gear: {terms: 3}}}"),
        "constraint 'r': the terms is '3', not a list of terms",
    ),
    "term": (
        below("constraints: {r: {gear: {terms: [{joint: j}]}}}"),
        "constraint 'r': the term 1 has no key 'factor'",
    ),
    "coordinate": (
        below("constraints: {r: {gear: {terms: [{joint: j, factor: 1, coordinate: 0.5}]}}}"),
        "constraint 'r': the coordinate is '0.5', not one of 0, 1, 2, ...",
    ),
    "gear of no joint": (
        below(
            "constraints: {r: {gear: {terms: [{joint: j, factor: 1}, {joint: jj, factor: 1}]}}}"
        ),
        "constraint 'r': there is no joint 'jj' (did you mean 'j'?)",
    ),
    "roll": (
        below("constraints: {r: {roll: {body: a, radius: 1}}}"),
        "constraint 'r': the roll has no key 'on'",
    ),
    "normal": (
        below("constraints: {r: {roll: {body: b, on: a, radius: 1, normal: up}}}"),
        "constraint 'r': the normal is 'up', not a list of 3 numbers",
    ),
    "actuated": (
        in_joint("actuated: 1"),
        "joint 'j': the actuated is '1', not true or false",
    ),
    "transmission": (
        in_joint("transmission: [0, 0, 1, 0, 0, 0]"),
        "joint 'j': the transmission holds '0', not spatial forces, each a list of six",
    ),
    "length of a transmission": (
        in_joint("transmission: [[0, 0, 1, 0, 0, 0], [0, 0, 1, 0, 0, 0]]"),
        (
            "joint 'j': the transmission has 2 forces; a revolute joint takes 1, "
            "one for each degree of freedom"
        ),
    ),
    "section": (below("springs: 3"), "the section 'springs' is '3', not a table of names"),
    "top key": (
        below("lonks: {}"),
        "the key 'lonks' of the mechanism is unknown (did you mean 'links'?)",
    ),
    "key twice": (
        below("base: b"),
        "the key 'base' stands twice, on lines 2 and 5; delete one",
    ),
    "duplicate joint": (
        below("loops: {j: {type: fixed, predecessor: a, successor: b}}"),
        (
            "joint 'j': the name is given to more than one joint, on lines 3 and 5; "
            "names must be unique"
        ),
    ),
}


@pytest.mark.parametrize(("said", "sentence"), VALUES.values(), ids=VALUES)
def test_values_refused(said, sentence):
    text, line = said
    first = refused(text).removeprefix("m: ")
    assert first.startswith(f"line {line}: {sentence}")


def test_all_errors_are_told_in_the_order_of_the_text():
    text = """\
rbdyn_mechanism: 1
naem: x
base: ground
links:
  crank: {box: {size: [1, 0.1], densty: 2700}}
  rod: {mass: 1_0, com: [0, 0, .nan]}
  rod: {}
joints:
  J1: {type: revolute, parent: ground, child: crank, axis: [0, 0, 1], dampng: 0.1}
  J2: {type: helical, parent: crank, child: rod, pitch: 0}
loops: {J4: {type: fixed}}
drives: {J2: {times: [0], positions: [1], periodic: yes}}
"""
    assert refused(text) == (
        "m: 10 errors\n"
        "  line 2: the key 'naem' of the mechanism is unknown (did you mean 'name'?)\n"
        "  line 5: link 'crank': the key 'densty' of the box is unknown "
        "(did you mean 'density'?)\n"
        "  line 6: link 'rod': the mass is '1_0', not a finite number; "
        "digits cannot be grouped by '_'\n"
        "  line 6: link 'rod': the com holds '.nan', not finite numbers\n"
        "  line 7: the key 'rod' stands twice, on lines 6 and 7; delete one\n"
        "  line 9: joint 'J1': the key 'dampng' of the joint is unknown "
        "(did you mean 'damping'?)\n"
        "  line 10: joint 'J2': the pitch is 0; it must not be zero\n"
        "  line 11: joint 'J4': the joint has no key 'predecessor'\n"
        "  line 11: joint 'J4': the joint has no key 'successor'\n"
        "  line 12: drive 'J2': the periodic is 'yes', not true or false"
    )


def test_a_large_file_is_read_in_time():
    count = 3000
    links = "".join(f"  l{i}: {{sphere: {{radius: 1, mass: 1}}}}\n" for i in range(count))
    joints = "".join(
        f"  j{i}: {{type: revolute, parent: l{i + 1}, child: l{i}}}\n" for i in range(count - 1)
    )
    start = time.process_time()
    text = f"{TOP}base: l0\nlinks:\n{links}joints:\n{joints}"
    assert len(mechanism.read_text(text).joints) == count - 1
    assert time.process_time() - start < 10.0  # 0.3 s with libyaml, 2 s without


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "arm.yaml").write_text("x")
    with pytest.raises(DescriptionError) as caught:
        mechanism.read(tmp_path / "arn.yaml")
    assert str(caught.value) == (
        f"there is no file '{tmp_path / 'arn.yaml'}' (did you mean 'arm.yaml'?); "
        "give the path of a mechanism file"
    )
    with pytest.raises(DescriptionError, match=r"is not a file; give the path of a \.yaml file"):
        mechanism.read(tmp_path)
