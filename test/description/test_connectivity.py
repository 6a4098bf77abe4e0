# SPDX-License-Identifier: Apache-2.0
"""A system on a named base may be any connected graph, with loops and reversed joints."""

from dataclasses import replace

import pytest
from support.refusals import refused

from rbdyn_ros.description.checks.check import check
from rbdyn_ros.description.parts.types import Description, Joint, Limit, Link, Spring
from rbdyn_ros.errors import DescriptionError


def joint(name, ends, kind="revolute", **fields):
    return Joint(name, kind, ends[0], ends[1], limit=fields.pop("limit", None), **fields)


def loop(name, ends, kind="revolute"):
    return joint(name, ends, kind, closes_loop=True)


def system(links, *joints, base="a", springs=()):
    parts = tuple(Link(name) for name in links)
    return Description("r", parts, joints, source="built", base=base, springs=springs)


@pytest.mark.parametrize(
    "joints",
    [
        (joint("j", "ab"), joint("k", "bc"), loop("m", "cd"), joint("n", "da")),
        (joint("j", "ba"), joint("k", "cb"), joint("m", "dc")),
        (joint("m", "cd"), joint("k", "bc"), joint("j", "ab")),
        (joint("j", "ab"), loop("k", "ab"), joint("m", "bc"), joint("n", "bd")),
        (joint("j", "ab", "fixed"), joint("k", "bc"), joint("m", "cd"), loop("n", "da", "fixed")),
    ],
    ids=["a ring", "all reversed", "any order", "two parallel joints", "a weld closes the loop"],
)
def test_connected_graphs_are_accepted(joints):
    given = system("abcd", *joints)
    assert check(given) == given


def test_wrong_joints_that_close_loops_are_refused():
    limit = Limit(-1, 1)
    tree = (joint("j", "ab", limit=limit), joint("k", "bc", limit=limit))
    given = system("abc", *tree, loop("m", "ac"), base="")
    assert check(given) == given
    with refused(DescriptionError, "self-loop", "joint 'm'"):
        check(replace(given, joints=(*tree, loop("m", "cc"))))
    with refused(DescriptionError, "unknown-link", "joint 'm'"):
        check(replace(given, joints=(*tree, loop("m", "cx"))))
    with refused(DescriptionError, "two-parents", "link 'c'"):
        check(replace(given, joints=(*tree, joint("m", "ac", limit=limit))))


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        (system("ab", joint("j", "ab"), base="x"), ("unknown-base", "robot 'r'")),
        (
            system(["ground", "arm"], joint("j", ("ground", "arm")), base="gruond"),
            ("unknown-base", "robot 'r'"),
        ),
        (system("ab", joint("j", "ab"), base=3), ("wrong-kind", "robot 'r'")),
        (
            system("abc", joint("j", "ab")),
            ("disconnected", "robot 'r'"),
        ),
        (
            system("abcd", joint("j", "ab"), joint("k", "cd")),
            ("disconnected", "robot 'r'"),
        ),
        (
            system("abc", joint("j", "ab"), loop("k", "bc")),
            ("disconnected", "robot 'r'"),
        ),
        (
            system("ab", joint("j", "ab"), joint("k", "bb")),
            ("self-loop", "joint 'k'"),
        ),
        (
            system("abc", joint("j", "ab", "fixed"), joint("k", "bc"), joint("m", "ab")),
            ("one-body", "joint 'm'"),
        ),
        (
            system(
                "abc",
                joint("j", "ab", "fixed"),
                joint("k", "bc", "fixed"),
                joint("m", "ca", "fixed"),
            ),
            ("one-body", "joint 'm'"),
        ),
        (
            system("ab", joint("j", "ab", "fixed"), loop("m", "ba", "fixed")),
            ("one-body", "joint 'm'"),
        ),
        (
            system("ab", joint("j", "ab"), joint("j", "ba")),
            ("duplicate-name", "joint 'j'"),
        ),
        (
            system("ab", joint("j", "ac")),
            ("unknown-link", "joint 'j'"),
        ),
    ],
)
def test_bad_graphs_are_refused(given, refusal):
    with refused(DescriptionError, *refusal):
        check(given)


def spring(name="s", **fields):
    return Spring(**{"name": name, "link1": "a", "link2": "b", "stiffness": 1.0, **fields})


def sprung(*springs, fixed=False):
    kind = "fixed" if fixed else "revolute"
    return system(["a", "b"], joint("j", "ab", kind), springs=springs)


def test_springs_are_accepted():
    given = sprung(spring(), spring("t", link1="b", link2="a", damping=2.0, length=0.5))
    assert check(given) == given
    tree = replace(given, base="", joints=(joint("j", "ab", limit=Limit()),))
    assert check(tree) == tree


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        (sprung(spring(link2="bb")), ("unknown-link", "spring 's'")),
        (sprung(spring(link2="a")), ("spring-ends", "spring 's'")),
        (
            sprung(spring(), fixed=True),
            ("spring-ends", "spring 's'"),
        ),
        (sprung(spring(stiffness=-1.0)), ("negative-stiffness", "spring 's'")),
        (sprung(spring(damping=float("nan"))), ("not-finite", "spring 's'")),
        (sprung(spring(length="long")), ("not-finite", "spring 's'")),
        (sprung(spring(length=-0.5)), ("negative-length", "spring 's'")),
        (sprung(spring(point2=(0.0, 1.0))), ("not-finite", "spring 's'")),
        (
            sprung(spring(), spring()),
            ("duplicate-name", "spring 's'"),
        ),
    ],
)
def test_bad_springs_are_refused(given, refusal):
    with refused(DescriptionError, *refusal):
        check(given)


def test_a_long_chain_can_have_its_base_in_the_middle():
    count = 20_000
    links = tuple(Link(f"l{i}") for i in range(count))
    joints = tuple(
        Joint(f"j{i}", "fixed" if i % 3 else "revolute", f"l{i}", f"l{i + 1}")
        for i in range(count - 1)
    )
    assert len(check(Description("r", links, joints[::-1], base="l7777")).joints) == count - 1
    cut = check_findings(Description("r", links, joints[1:], base="l7777"))
    assert cut == ["robot 'r': the link 'l0' is not connected to the base 'l7777' by joints"]


def check_findings(description):
    with pytest.raises(DescriptionError) as caught:
        check(description)
    return [finding.message for finding in caught.value.findings]
