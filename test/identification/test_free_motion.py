# SPDX-License-Identifier: Apache-2.0
"""A free simulation with the efforts of a recording shows the errors of a Model."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("mcap", reason="mcap is not installed")
pytest.importorskip("rosbags", reason="rosbags is not installed")

from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.errors import ModelError, ParameterError
from rbdyn_ros.identification.reports.free_motion import free_motion, free_motion_text
from rbdyn_ros.recording.reader import read_run
from rbdyn_ros.recording.recorder import Recorder

ROD = """<robot name="rod"><link name="base"/>
<link name="rod"><inertial><mass value="{mass}"/><origin xyz="0 0 -0.5"/>
<inertia ixx="{inertia}" iyy="{inertia}" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="{joint}" type="continuous"><parent link="base"/><child link="rod"/>
<axis xyz="0 1 0"/><dynamics damping="{damping}"/></joint></robot>"""


def rod(mass=1.0, inertia=0.1, joint="swing", damping=0.0):
    return rb.load_urdf(ROD.format(mass=mass, inertia=inertia, joint=joint, damping=damping))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return a recorded Run: a rod that moves under efforts for 2.5 s."""
    m = rod()
    d, path = rb.make_data(m), tmp_path_factory.mktemp("free") / "run.mcap"
    with Recorder(m, path) as recorder:
        for k in range(round(2.5 / m.opt.timestep)):
            d.qfrc_applied[:] = np.sin(3.0 * k * m.opt.timestep)
            rb.step(m, d)
            recorder.write(d)
    return read_run(path)


def test_the_recorded_robot_moves_as_recorded(run):
    found = free_motion(rod(), run)
    assert found.windows == (0.1, 0.5, 2.0)
    assert found.rms.max() < 1e-9
    # for a real recording, efforts are interpolated between samples
    assert free_motion(rod(), replace(run, exact=False)).rms.max() < 1e-3
    # missing velocities are computed from the positions
    still = replace(run, exact=False, qvel=np.full_like(run.qvel, np.nan))
    assert free_motion(rod(), still).rms.max() < 1e-2


def test_the_error_of_a_short_window_matches_the_acceleration(run):
    # a wrong mass changes the acceleration from a to a', so the angle's error is (a' - a) t^2 / 2
    found = free_motion(rod(mass=1.5), run, windows=(0.1,))
    h, errors = run.m.opt.timestep, []
    for start in np.arange(0.0, run.duration - 0.1 + h / 2, 0.1):
        k = round(start / h)
        q, effort = run.qpos[k, 0], run.effort[k, 0]
        right, wrong = (
            (effort - 9.81 * 0.5 * mass * np.sin(q)) / (0.1 + 0.25 * mass) for mass in (1.0, 1.5)
        )
        # the RMS of t^2 over T is T^2 / sqrt(5)
        errors.append(0.5 * (wrong - right) * 0.1**2 / np.sqrt(5.0))
    assert found.rms[0, 0] == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=0.15)


def test_errors_grow_with_the_window_and_have_a_table(run):
    found = {"described": free_motion(rod(1.5), run), "against": free_motion(rod(1.01), run)}
    assert (np.diff(found["described"].rms[:, 0]) > 0.0).all()
    assert (found["against"].rms < 0.1 * found["described"].rms).all()
    text = free_motion_text(found)
    assert "2 s, against" in text
    assert f"{found['described'].rms[2, 0]:.3g}" in text


def test_other_robots_and_recordings_without_efforts_are_refused(run):
    with refused(ModelError, "other-joints"):
        free_motion(rod(joint="other"), run)
    with refused(ParameterError, "no-efforts"):
        free_motion(rod(), replace(run, effort=np.full_like(run.effort, np.nan)))
    with refused(ParameterError, "short-recording"):
        free_motion(rod(), run, windows=(10.0,))
