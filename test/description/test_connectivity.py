"""Systems on a named base: any connected graph, joints either way, loops."""

from dataclasses import replace

import pytest

from rbdyn_ros.description.checks.check import check
from rbdyn_ros.description.types import Description, Joint, Limit, Link, Spring
from rbdyn_ros.errors import DescriptionError


def joint(name, ends, kind="revolute", **fields):
    return Joint(name, kind, ends[0], ends[1], limit=fields.pop("limit", None), **fields)


def loop(name, ends, kind="revolute"):
    return joint(name, ends, kind, closes_loop=True)


def system(links, *joints, base="a", springs=()):
    parts = tuple(Link(name) for name in links)
    return Description("r", parts, joints, source="built", base=base, springs=springs)


def refused(description):
    with pytest.raises(DescriptionError) as caught:
        check(description)
    return str(caught.value)


@pytest.mark.parametrize(
    "joints",
    [
        (joint("j", "ab"), joint("k", "bc"), joint("m", "cd"), joint("n", "da")),
        (joint("j", "ba"), joint("k", "cb"), joint("m", "dc")),
        (joint("m", "cd"), joint("k", "bc"), joint("j", "ab")),
        (joint("j", "ab"), joint("k", "ab"), joint("m", "bc"), joint("n", "bd")),
        (joint("j", "ab", "fixed"), joint("k", "bc"), joint("m", "cd"), loop("n", "da", "fixed")),
    ],
    ids=["a ring", "all reversed", "any order", "two parallel joints", "a weld closes the loop"],
)
def test_connected_graphs_are_taken(joints):
    given = system("abcd", *joints)
    assert check(given) == given


def test_loops_on_top_of_a_tree():
    limit = Limit(-1, 1)
    tree = (joint("j", "ab", limit=limit), joint("k", "bc", limit=limit))
    given = system("abc", *tree, loop("m", "ac"), base="")
    assert check(given) == given
    assert refused(replace(given, joints=(*tree, loop("m", "cc")))) == (
        "built: joint 'm': joins the link 'c' to itself"
    )
    assert refused(replace(given, joints=(*tree, loop("m", "cx")))) == (
        "built: joint 'm': its child link 'x' does not exist"
    )
    # what is no loop is a second parent as ever
    assert "link 'c': has two parents" in refused(
        replace(given, joints=(*tree, joint("m", "ac", limit=limit)))
    )


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (system("ab", joint("j", "ab"), base="x"), "robot 'r': its base link 'x' does not exist"),
        (
            system(["ground", "arm"], joint("j", ("ground", "arm")), base="gruond"),
            "robot 'r': its base link 'gruond' does not exist (did you mean 'ground'?)",
        ),
        (system("ab", joint("j", "ab"), base=3), "robot 'r': base is 3; allowed is a text"),
        (
            system("abc", joint("j", "ab")),
            "robot 'r': the link 'c' is not connected to the base 'a' by joints",
        ),
        (
            system("abcd", joint("j", "ab"), joint("k", "cd")),
            "robot 'r': the links 'c', 'd' are not connected to the base 'a' by joints",
        ),
        (
            system("abc", joint("j", "ab"), loop("k", "bc")),
            (
                "robot 'r': the link 'c' is not connected to the base 'a' by joints; "
                "the joint 'k' reaches it, but loop joints carry nothing"
            ),
        ),
        (
            system("ab", joint("j", "ab"), joint("k", "bb")),
            "joint 'k': joins the link 'b' to itself",
        ),
        (
            system("abc", joint("j", "ab", "fixed"), joint("k", "bc"), joint("m", "ab")),
            (
                "joint 'm': joins the links 'a' and 'b', which fixed joints make one rigid body; "
                "it could not move"
            ),
        ),
        (
            system(
                "abc",
                joint("j", "ab", "fixed"),
                joint("k", "bc", "fixed"),
                joint("m", "ca", "fixed"),
            ),
            (
                "joint 'm': joins the links 'c' and 'a', which fixed joints make one rigid body; "
                "delete one of these joints"
            ),
        ),
        (
            system("ab", joint("j", "ab", "fixed"), loop("m", "ba", "fixed")),
            (
                "joint 'm': joins the links 'b' and 'a', which fixed joints make one rigid body; "
                "delete one of these joints"
            ),
        ),
        (
            system("ab", joint("j", "ab"), joint("j", "ba")),
            "joint 'j': the name is given to more than one joint; names must be unique",
        ),
        (
            system("ab", joint("j", "ac")),
            "joint 'j': its child link 'c' does not exist",
        ),
    ],
)
def test_refused(given, sentence):
    assert refused(given) == f"built: {sentence}"


def spring(name="s", **fields):
    return Spring(**{"name": name, "link1": "a", "link2": "b", "stiffness": 1.0, **fields})


def sprung(*springs, fixed=False):
    kind = "fixed" if fixed else "revolute"
    return system(["a", "b"], joint("j", "ab", kind), springs=springs)


def test_springs_are_taken():
    given = sprung(spring(), spring("t", link1="b", link2="a", damping=2.0, length=0.5))
    assert check(given) == given
    tree = replace(given, base="", joints=(joint("j", "ab", limit=Limit()),))
    assert check(tree) == tree


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (sprung(spring(link2="bb")), "the link 'bb' does not exist (did you mean 'b'?)"),
        (sprung(spring(link2="a")), "both its ends are on the link 'a'"),
        (
            sprung(spring(), fixed=True),
            "the links 'a' and 'b' are one rigid body, so it could not move anything",
        ),
        (sprung(spring(stiffness=-1.0)), "the stiffness is -1; it must not be negative"),
        (sprung(spring(damping=float("nan"))), "the damping is nan, not a finite number"),
        (sprung(spring(length="long")), "the length is 'long', not a finite number"),
        (sprung(spring(length=-0.5)), "the length is -0.5; it must not be negative"),
        (sprung(spring(point2=(0.0, 1.0))), "the point 2 is (0.0, 1.0), not 3 finite numbers"),
        (
            sprung(spring(), spring()),
            "the name is given to more than one spring; names must be unique",
        ),
    ],
)
def test_springs_refused(given, sentence):
    assert refused(given) == f"built: spring 's': {sentence}"


def test_a_long_chain_hung_up_in_the_middle():
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
