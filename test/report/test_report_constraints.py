# SPDX-License-Identifier: Apache-2.0
"""The report of `rbdyn check` lists constraints and actuators."""

import json

import pytest

import rbdyn_ros as rb
from rbdyn_ros.report import report

BRICK = rb.shapes.box((0.1, 0.1, 0.1), mass=1.0)


@pytest.fixture(scope="module")
def found():
    system = (
        rb.SystemBuilder("held")
        .body("a", BRICK)
        .body("b", BRICK)
        .joint("ja", "revolute", "base", "a", actuated=False)
        .joint("jb", "floating", "base", "b")
        .joint("jc", "cylindrical", "a", "c")
        .body("c", BRICK)
        .rod("strut", "a", "b", 1.0)
        .band("belt", [("base", (0, 0, 0)), ("a", (1, 0, 0)), ("b", (0, 0, 0))], 5.0)
        .band("rope", [("a", (0, 0, 0)), ("b", (0, 0, 0)), ("a", (1, 0, 0))], 5.0, closed=False)
        .gear("pair", [("ja", 0, 1.0), ("jc", 1, 2.0)])
        .roll("ball", "b", "base", 0.1)
    ).description()
    return report(system, rb.build(system))


def test_the_text_lists_constraints(found):
    lines = str(found).splitlines()
    start = lines.index("constraints")
    assert lines[start + 1 : start + 7] == [
        "  strut (rod) between a, b",
        "  belt (band) between base, a, b",
        "  rope (open band) between a, b, a",
        "  pair (gear) between ja, jc",
        "  ball (roll) between b, base",
        "",
    ]


def test_json_lists_constraints(found):
    printed = json.loads(found.to_json())
    assert printed["constraints"][0] == {"name": "strut", "kind": "rod", "between": ["a", "b"]}
    assert [row["not_actuated"] for row in printed["joints"]] == [True, False, False]


def test_a_joint_without_an_actuator_adds_a_column(found):
    head = next(line for line in str(found).splitlines() if line.lstrip().startswith("name"))
    assert head.split()[-2:] == ["not", "actuated"]
