"""The audit of `rbdyn check`: what it counts, and that both forms say the same."""

import json

import pytest

import rbdyn_ros as rb
from rbdyn_ros.description.types import Description, Inertial, Joint, Limit, Link, Mimic
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


def test_masses_are_told_apart(little):
    assert little.mass == 8.5
    assert little.world_mass == 5.5  # base and foot do not move
    assert little.massless == ("tip",)


def test_a_body_no_matter_can_form_is_named(little):
    assert little.non_physical == ("odd",)


def test_joint_table_has_none_for_what_is_unlimited(little):
    lift, turn = little.joints[1], little.joints[3]
    assert (lift.lower, lift.upper, lift.effort, lift.velocity) == (-1.0, 2.0, 30.0, 4.0)
    assert lift.damping == 0.25
    assert (turn.lower, turn.upper, turn.effort) == (None, None, None)
    assert turn.mimic == "2 lift + 0.5"


def test_uncoupled_mimic_is_said_loudly(little):
    text = str(little)
    assert "warning: line 12: joint 'turn': follows 'lift'" in text
    assert "it moves as an ordinary joint of its own" in text


def test_json_and_text_tell_the_same(little):
    told = json.loads(little.to_json())
    assert told["ok"] is True
    assert told["mass"] == little.mass
    assert [row["name"] for row in told["joints"]] == ["bolt", "lift", "glue", "turn"]
    assert all(finding["message"] in str(little) for finding in told["findings"])


def test_refusal_lists_every_error():
    wrong = Description(
        "w",
        (Link("a"), Link("b", BRICK)),
        (Joint("j", "revolute", "a", "c", axis=(0.0, 0.0, 0.0), limit=Limit(2.0, 1.0)),),
    )
    with pytest.raises(rb.DescriptionError) as caught:
        rb.build(wrong)
    told = json.loads(refusal_json(caught.value))
    assert told["ok"] is False
    assert {"zero-axis", "limit-order", "unknown-link"} <= {f["code"] for f in told["findings"]}


def test_worst_comes_first():
    found = [
        rb.Finding("n", "a note", "note", line=1),
        rb.Finding("w", "a warning", "warning", line=9),
        rb.Finding("e", "an error", "error", line=5),
    ]
    assert [line.split(":")[0] for line in findings_text(found)] == ["error", "warning", "note"]
