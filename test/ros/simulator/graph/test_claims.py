# SPDX-License-Identifier: Apache-2.0
"""Simulators announce claims on topics, and of two claims one has priority."""

import json

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from rbdyn_ros.ros.simulator.graph.claims import Claim

ONE = Claim(5, "a", "/simulator", "/_simulator_claims", ("/joint_states",), ("tool on /tf",))


@pytest.mark.parametrize(("since", "token"), [(6, "a"), (5, "b")])
def test_of_two_claims_one_has_priority(since, token):
    other = Claim(since, token, ONE.node, ONE.helper)
    assert ONE.is_before(other)
    assert not other.is_before(ONE)


def test_reading_an_announcement_returns_its_claim():
    assert Claim.from_text(ONE.to_text()) == ONE


@pytest.mark.parametrize("bad", [None, "soon", "Infinity", "[]"])
def test_an_announcement_in_an_invalid_format_is_ignored(bad):
    text = ONE.to_text()
    assert Claim.from_text(text[:-1]) is None
    assert Claim.from_text("[" * 100_000) is None
    assert Claim.from_text(text.replace('"since": 5', f'"since": {bad}')) is None
    assert Claim.from_text(json.dumps(bad)) is None
