# SPDX-License-Identifier: Apache-2.0
"""Models, Datas and films have output for notebooks: pictures, tables and films as HTML."""

import base64
import io
import re

import numpy as np
import pytest

import rbdyn_ros as rb
from rbdyn_ros.share import bundled_robot
from rbdyn_ros.view.notebook import MOST_JOINTS, html_of_model


def picture_in(text):
    """Return the pixels of a picture in HTML; skip the test if no picture can be drawn."""
    pytest.importorskip("moderngl", reason="moderngl is not installed")
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    found = re.search(r"data:image/png;base64,([^\"]+)", text)
    if found is None:
        pytest.skip("no picture can be drawn on this machine")
    return np.asarray(image.open(io.BytesIO(base64.b64decode(found[1]))).convert("RGB"))


def test_a_notebook_shows_a_model_as_a_picture_and_a_table_of_joints():
    m = rb.load_urdf(bundled_robot("seven_dof_arm"))
    text = m._repr_html_()
    for word in ("elbow_pitch", "revolute", "-1.45 to 1.05", "80"):
        assert f"<td>{word}</td>" in text
    pixels = picture_in(text)
    sky = pixels[0, 0].astype(int)
    seen = np.abs(pixels - sky).sum(axis=2) > 60
    rows, columns = np.nonzero(seen)
    assert 0.02 < seen.mean() < 0.6
    assert rows.min() > 0  # the whole robot is in the picture
    assert rows.max() < len(pixels) - 1
    assert columns.min() > 0
    assert columns.max() < pixels.shape[1] - 1


def test_a_notebook_shows_the_present_state_of_a_data():
    m = rb.load_urdf(bundled_robot("seven_dof_arm"))
    d = rb.make_data(m)
    before = d._repr_html_()
    d.qpos[3], d.qvel[1] = -1.25, 0.5
    after = d._repr_html_()
    assert "<tr><td>elbow_pitch</td><td>-1.25</td><td>0</td></tr>" in after
    assert "<tr><td>shoulder_pitch</td><td>0</td><td>0.5</td></tr>" in after
    assert (picture_in(before) != picture_in(after)).mean() > 0.01
    d.qpos[0] = np.nan  # no picture of this state exists
    assert "<td>nan</td>" in d._repr_html_()


def test_tables_escape_names_and_end_after_a_number_of_joints():
    builder = rb.SystemBuilder("chain", base="b0")
    for k in range(MOST_JOINTS + 5):
        builder = builder.body(f"b{k + 1}", rb.shapes.box((0.1, 0.1, 0.1), density=100.0))
        builder = builder.joint(f"<j{k}>", "revolute", f"b{k}", f"b{k + 1}")
    text = html_of_model(rb.build(builder))
    assert "&lt;j0&gt;" in text
    assert "<j0>" not in text
    assert "and 5 more joints" in text


def test_a_notebook_plays_a_film(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    m = rb.load_urdf(bundled_robot("pendulum"))
    path = tmp_path / "film.gif"
    film = rb.animate(m, [[0.0], [0.5]], path, size=(100, 100))
    assert film.path == path
    data = re.search(r"data:image/gif;base64,([^\"]+)", film._repr_html_())[1]
    assert base64.b64decode(data) == path.read_bytes()
