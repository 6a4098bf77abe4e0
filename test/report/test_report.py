# SPDX-License-Identifier: Apache-2.0
"""The report of `rbdyn check` counts parts and findings; its text and JSON agree."""

import json

import pytest
from support import trees

import rbdyn_ros as rb
from rbdyn_ros.description.parts.types import (
    Description,
    Inertial,
    Joint,
    Limit,
    Link,
    Mimic,
    Trajectory,
)
from rbdyn_ros.report import findings_text, refusal_json, report

BRICK = Inertial(2.0, inertia=(0.1, 0.1, 0.1, 0.0, 0.0, 0.0))


def _robot() -> Description:
    limit = Limit(-1.0, 2.0, 30.0, 4.0)
    return Description(
        "little",
        (
            Link("base", Inertial(5.0, inertia=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0))),
            Link("foot", Inertial(0.5, inertia=(1e-3, 1e-3, 1e-3, 0.0, 0.0, 0.0))),
            Link("arm", BRICK),
            Link("tip"),
            Link("odd", Inertial(1.0, inertia=(0.1, 0.1, 0.5, 0.0, 0.0, 0.0))),
        ),
        (
            Joint("bolt", "fixed", "base", "foot"),
            Joint("lift", "prismatic", "base", "arm", limit=limit, damping=0.25),
            Joint("glue", "fixed", "arm", "tip"),
            Joint("turn", "continuous", "arm", "odd", mimic=Mimic("lift", 2.0, 0.5), line=12),
        ),
    )


@pytest.fixture(scope="module")
def little():
    description = _robot()
    return report(description, rb.build(description))


def test_massless_and_fixed_links_are_reported(little):
    assert little.mass == 8.5
    assert little.world_mass == 5.5  # this is the mass of base and foot, which do not move
    assert little.massless == ("tip",)


def test_an_impossible_inertia_is_reported(little):
    assert little.non_physical == ("odd",)


def test_unlimited_values_are_none_in_the_joint_table(little):
    lift, turn = little.joints[1], little.joints[3]
    assert (lift.lower, lift.upper, lift.effort, lift.velocity) == (-1.0, 2.0, 30.0, 4.0)
    assert lift.damping == 0.25
    assert (turn.lower, turn.upper, turn.effort) == (None, None, None)
    assert turn.mimic == "2 lift + 0.5"


def test_a_mimic_joint_causes_no_warning(little):
    assert "2 lift + 0.5" in str(little)
    assert "turn" not in "".join(f.message for f in little.findings if f.severity == "warning")


def test_the_json_of_a_report_agrees_with_its_text(little):
    printed = json.loads(little.to_json())
    assert printed["ok"] is True
    assert printed["mass"] == little.mass
    assert [row["name"] for row in printed["joints"]] == ["bolt", "lift", "glue", "turn"]
    assert all(finding["message"] in str(little) for finding in printed["findings"])


def test_the_report_of_a_refused_robot_lists_every_error():
    wrong = Description(
        "w",
        (Link("a"), Link("b", BRICK)),
        (Joint("j", "revolute", "a", "c", axis=(0.0, 0.0, 0.0), limit=Limit(2.0, 1.0)),),
    )
    with pytest.raises(rb.DescriptionError) as caught:
        rb.build(wrong)
    printed = json.loads(refusal_json(caught.value))
    assert printed["ok"] is False
    assert {"zero-axis", "limit-order", "unknown-link"} <= {f["code"] for f in printed["findings"]}


def test_findings_are_sorted_with_errors_first():
    found = [
        rb.Finding("n", "a note", "note", line=1),
        rb.Finding("w", "a warning", "warning", line=9),
        rb.Finding("e", "an error", "error", line=5),
    ]
    assert [line.split(":")[0] for line in findings_text(found)] == ["error", "warning", "note"]


# mechanisms: the spanning tree, the loops, and joints that URDF lacks


def _mechanism(name="J4") -> Description:
    z = (0.0, 0.0, 1.0)
    return Description(
        "linkage",
        (Link("ground"), Link("crank", BRICK), Link("rod", BRICK), Link("slider", BRICK)),
        (
            Joint("J1", "revolute", "ground", "crank", axis=z, stiffness=2.0, armature=0.1),
            Joint("J2", "universal", "rod", "crank", axis=z, axis2=(1.0, 0.0, 0.0),
                  limits=(Limit(-1.0, 1.0), Limit(-0.5))),
            Joint("J3", "helical", "rod", "slider", axis=z, parameters={"pitch": 0.01}),
            Joint(name, "prismatic", "slider", "ground", axis=z, closes_loop=True),
        ),
        base="ground",
    )  # fmt: skip


@pytest.fixture(scope="module")
def linkage():
    description = _mechanism()
    return report(description, rb.build(description))


def test_the_report_has_spanning_tree_and_loops(linkage):
    assert (linkage.N_B, linkage.N_J, linkage.N_L) == (3, 4, 1)
    assert (linkage.links, linkage.base) == (4, "ground")
    assert [row.parent for row in linkage.tree] == [0, 1, 2]
    assert [row.reversed for row in linkage.tree] == [False, True, False]
    (loop,) = linkage.loops
    assert (loop.number, loop.joint, loop.type) == (4, "J4", "prismatic")
    assert (loop.predecessor, loop.successor) == ("slider", "world")
    assert loop.cycle == ("J4", "J1", "J2", "J3")


def test_the_report_prints_spanning_tree_and_loops(linkage):
    lines = str(linkage).splitlines()
    start = lines.index("spanning tree: N_B 3, N_J 4, N_L 1")
    assert lines[start + 1 : start + 9] == [
        "  0 world (ground)",
        "    1 crank <- J1 (revolute)",
        "      2 rod <- J2 (universal, reversed)",
        "        3 slider <- J3 (helical)",
        "",
        "loop joints",
        "  4 J4 (prismatic) from slider to world; around it: J4, J1, J2, J3",
        "",
    ]


def test_a_tree_has_no_loops(little):
    assert (little.N_B, little.N_L, little.loops) == (2, 0, ())
    assert "loops" not in str(little)
    assert "  0 world (base)\n    1 arm <- lift (prismatic)\n" in str(little)


def test_a_floating_base_has_the_world_as_parent():
    description = _robot()
    found = report(description, rb.build(description, floating_base=True))
    assert found.base == ""
    assert "  0 world\n    1 base <- root_joint (floating)\n" in str(found)


def test_indentation_of_a_deep_tree_is_limited():
    found = str(report(*_chain(60)))
    assert max(map(len, found.splitlines())) < 150
    assert "60 link60 <- joint60 (revolute), on body 59" in found


def _chain(number):
    tree = trees.auto_tree(number, kinds=trees.HINGES)
    return tree, rb.build(tree)


def test_rare_properties_have_a_column_only_if_a_joint_uses_them(linkage, little):
    head = next(line for line in str(linkage).splitlines() if line.lstrip().startswith("name"))
    assert head.split()[10:] == ["mimic", "parameters", "limits", "stiffness", "armature",
                                 "closes", "loop"]  # fmt: skip
    text = str(linkage)
    assert "pitch 0.01" in text
    assert "-1 to 1, -0.5 to -" in text
    head = next(line for line in str(little).splitlines() if line.lstrip().startswith("name"))
    assert head.split()[-1] == "mimic"


def test_json_contains_the_properties_of_all_joint_types(linkage):
    printed = json.loads(linkage.to_json())
    rows = {row["name"]: row for row in printed["joints"]}
    assert rows["J3"]["parameters"] == {"pitch": 0.01}
    assert rows["J2"]["limits"] == [[-1.0, 1.0], [-0.5, None]]
    assert (rows["J1"]["stiffness"], rows["J1"]["armature"]) == (2.0, 0.1)
    assert [row["closes_loop"] for row in printed["joints"]] == [False, False, False, True]
    assert [row["parent"] for row in printed["tree"]] == [0, 1, 2]
    assert printed["tree"][1] == {
        "number": 2,
        "body": "rod",
        "parent": 1,
        "joint": "J2",
        "type": "universal",
        "reversed": True,
    }
    assert printed["loops"][0]["cycle"] == ["J4", "J1", "J2", "J3"]
    assert (printed["N_B"], printed["N_J"], printed["N_L"]) == (3, 4, 1)


def test_the_table_of_joints_lists_driven_joints():
    samples = Trajectory((0.0, 1.0), ((0.0,), (1.0,)))
    joints = (
        Joint("sampled", "revolute", "base", "a", motion=samples),
        Joint("free", "revolute", "a", "b"),
    )
    description = Description("d", (Link("base"), Link("a", BRICK), Link("b", BRICK)), joints,
                              base="base")  # fmt: skip
    found = report(description, rb.build(description))
    assert [row.motion for row in found.joints] == ["sampled", ""]
