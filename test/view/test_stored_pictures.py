# SPDX-License-Identifier: Apache-2.0
"""Pictures of robots, a mechanism and a scene are similar to the stored pictures."""

import numpy as np
import pytest
from stored_pictures import halved, picture, stored
from support.drawing import needs_renderer
from support.robots import needs_robots
from support.similarity import similarity


def likeness(a, b):
    """Return the similarity of two pictures in the rectangle that contains more than sky."""
    seen = (np.abs(a - a[0, 0].astype(float)) + np.abs(b - b[0, 0].astype(float))).sum(axis=2) > 6
    rows, columns = (np.flatnonzero(seen.any(axis=axis)) for axis in (1, 0))
    part = slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)
    return similarity(a[part], b[part])


@needs_renderer
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("panda", marks=needs_robots),
        pytest.param("talos", marks=needs_robots),
        pytest.param("anymal", marks=needs_robots),
        pytest.param("go2", marks=needs_robots),
        pytest.param("tiago", marks=needs_robots),
        "delta",
        "scene",
    ],
)
def test_a_picture_is_similar_to_its_stored_picture(name):
    assert likeness(halved(picture(name)), stored(name)) >= 0.98


@pytest.mark.parametrize("name", ["panda", "talos", "anymal", "go2", "tiago", "delta", "scene"])
def test_moved_dark_and_mirrored_pictures_are_not_similar(name):
    own = stored(name)
    others = {"moved": np.roll(own, 2, axis=1), "dark": 0.5 * own, "mirrored": own[:, ::-1]}
    assert likeness(own, own) == pytest.approx(1.0)
    assert {what for what, other in others.items() if likeness(own, other) >= 0.95} == set()
