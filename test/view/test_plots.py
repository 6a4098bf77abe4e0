# SPDX-License-Identifier: Apache-2.0
"""Figures of runs have the right curves and keep peaks of long runs; bad calls are refused."""

import numpy as np
import pytest
from support import robots

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.errors import ParameterError
from rbdyn_ros.recording.run import RecordedRun
from rbdyn_ros.recording.series import Series
from rbdyn_ros.view.pictures import plots
from rbdyn_ros.view.pictures.plot_curves import (
    COMMAND,
    STATE,
    Curve,
    contact_forces,
    energies,
    joint_rows,
)
from rbdyn_ros.view.pictures.plot_panels import broken, thinned
from rbdyn_ros.view.pictures.plots import draw_run


def run_of(m, n=200, **more):
    time = 0.01 * np.arange(n)
    rng = np.random.default_rng(0)
    fields = {
        "qpos": np.tile(m.qpos0, (n, 1)) + 0.1 * np.sin(time)[:, None],
        "qvel": rng.normal(size=(n, m.nv)),
        "effort": rng.normal(size=(n, m.nv)),
        "exact": True,
    }
    fields |= more
    stamps = (1e9 * time).astype(np.int64)
    return RecordedRun(
        m=m, name=m.name, source="x", time=time, clock=time, stamps=stamps, **fields
    )


def arm():
    return robots.load(robots.find("ur5_robot.urdf"))


def commanded(m, time, position):
    k = len(time)
    position = np.column_stack([position, np.full(k, np.nan)])
    names = (m.jnt_names[0], m.jnt_names[1])
    empty = np.full((k, 2), np.nan)
    return {"/joint_commands": Series("/joint_commands", names, time, position, empty, empty)}


def test_a_thinned_curve_keeps_the_peaks():
    rng, n = np.random.default_rng(1), 1_000_000
    time, values = np.sort(rng.uniform(0.0, 100.0, n)), rng.normal(size=n)
    values[123_456], values[654_321] = 50.0, -60.0
    few_time, few = thinned(time, values, 4000)
    assert len(few) <= 4002
    assert (few.max(), few.min()) == (50.0, -60.0)
    assert few_time[few.argmax()] == time[123_456]
    assert (few_time[0], few_time[-1]) == (time[0], time[-1])
    assert (np.diff(few_time) >= 0.0).all()
    # in each hundredth of the time, both curves have the same minimum and maximum
    for edge in range(100):
        here, there = (time // 1 == edge), (few_time // 1 == edge)
        assert few[there].max() == values[here].max()
        assert few[there].min() == values[here].min()


def test_a_thinned_curve_keeps_the_gaps():
    time = np.arange(10_000.0)
    values = np.sin(time / 100.0)
    values[4000:6000] = np.nan
    few_time, few = thinned(time, values, 400)
    gap = np.flatnonzero(np.isnan(few))
    assert gap.size
    assert few_time[gap[0]] == 4000.0
    assert not ((few_time > 4100) & (few_time < 5900) & np.isfinite(few)).any()
    assert thinned(time, values, 20_000)[1] is values


def test_a_curve_breaks_where_the_recording_lost_states():
    """The states have a rate of 100 Hz; some states are late, and 0.7 s are lost."""
    time = 0.01 * np.arange(200) + 0.002 * np.sin(np.arange(200))
    kept = np.r_[0:80, 150:200]
    few_time, few = broken(Curve(STATE, time[kept], np.cos(time[kept])))
    (gap,) = np.flatnonzero(np.isnan(few))
    assert gap == 80
    assert time[79] < few_time[gap] < time[150]
    np.testing.assert_array_equal(np.delete(few, gap), np.cos(time[kept]))
    for n in (0, 1, 2):
        assert len(broken(Curve(STATE, time[:n], time[:n]))[0]) == n


def test_energies_of_a_run_equal_energies_of_the_engine():
    m = arm()
    run = run_of(m)
    kinetic, potential, total = energies(run)
    assert [curve.kind for curve in (kinetic, potential, total)] == [
        "kinetic",
        "potential",
        "total",
    ]
    d = rb.make_data(m)
    for k in (0, 57, 199):
        d.qpos, d.qvel = run.qpos[k], run.qvel[k]
        M = rb.mass_matrix(m, d)
        assert kinetic.values[k] == pytest.approx(0.5 * run.qvel[k] @ M @ run.qvel[k], rel=1e-12)
        rb.forward(m, d)
        height = -(m.body_mass * (d.xipos @ m.opt.gravity)).sum()
        assert potential.values[k] == pytest.approx(height, rel=1e-12, abs=1e-12)
    assert np.allclose(total.values, kinetic.values + potential.values)
    assert energies(run_of(m, qvel=np.full((200, m.nv), np.nan))) == []


def test_the_error_of_a_command_is_measured_when_the_next_command_arrives():
    m = arm()
    time = np.array([0.5, 1.0])
    run = run_of(m, commanded=commanded(m, time, np.array([1.0, 2.0])))
    first, second = joint_rows(run, ())[:2]
    assert [curve.kind for curve in first.curves["position"]] == [STATE, COMMAND]
    (error,) = first.curves["error"]
    there = np.interp([1.0, run.time[-1]], run.time, run.qpos[:, 0])
    assert np.allclose(error.values, np.array([1.0, 2.0]) - there)
    assert second.curves["error"] == []


def test_a_floating_base_has_a_row_for_each_of_six_coordinates():
    m = rb.load_urdf(robots.find("go2.urdf"), floating_base=True, strict=False)
    run = run_of(m, qpos=np.tile(m.qpos0, (200, 1)))
    angle = np.linspace(0.0, 6.0, 200)  # nearly a turn about z, with no jump at pi
    run.qpos[:, 3], run.qpos[:, 6] = np.cos(angle / 2), np.sin(angle / 2)
    rows = joint_rows(run, ())
    names = [row.name for row in rows]
    assert names[:6] == [f"root_joint {w}" for w in
                         ("x", "y", "z", "rotation x", "rotation y", "rotation z")]  # fmt: skip
    assert len(rows) == m.nv
    assert [row.unit for row in rows[:6]] == ["m"] * 3 + ["rad"] * 3
    assert np.allclose(rows[5].curves["position"][0].values, angle, atol=1e-12)


def test_patterns_choose_the_joints_of_a_figure():
    run = run_of(arm())
    assert [row.name for row in joint_rows(run, ["wrist_*", "elbow_joint"])] == [
        *("elbow_joint", "wrist_1_joint", "wrist_2_joint", "wrist_3_joint")
    ]
    with refused(ParameterError, "no-joint", "joints", found="elbow_jont"):
        joint_rows(run, ["elbow_jont"])


def test_a_figure_has_the_contact_forces_of_the_most_loaded_bodies():
    m = robots.load(robots.find("talos_reduced.urdf"))
    contact = np.zeros((200, m.nbody, 6))
    for k in range(1, 12):
        contact[50, k, :3] = [0.0, 3.0 * k, 4.0 * k]
    curves = contact_forces(run_of(m, contact=contact))
    assert [curve.kind for curve in curves[:2]] == [m.body_names[11], m.body_names[10]]
    assert curves[0].values.max() == 55.0
    assert curves[-1].kind == "3 others"
    assert contact_forces(run_of(m)) == []


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_draw_run_writes_each_file_format(tmp_path, suffix):
    m = arm()
    run = run_of(m, commanded=commanded(m, np.array([0.5, 1.0]), np.array([1.0, 2.0])))
    path = tmp_path / f"run{suffix}"
    draw_run(run, path, joints=["shoulder_*"])
    start = path.read_bytes()[:300]
    assert {".png": b"PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}[suffix] in start


def test_texts_and_legends_cover_neither_curves_nor_other_texts():
    """All panels of the figure share the same range of time."""
    m = arm()
    run = run_of(m, commanded=commanded(m, np.array([0.5, 1.0]), np.array([1.0, 2.0])))
    rows = joint_rows(run, ())
    columns = ["position", "velocity", "effort", "error"]
    figure = plots._page(run, rows, columns, {"energy": energies(run)}, None)
    figure.canvas.draw()
    boxes = [axes.get_window_extent() for axes in figure.axes]
    assert len(boxes) == 4 * 6 + 1
    assert {axes.get_xlim() for axes in figure.axes} == {(run.time[0], run.time[-1])}
    texts = [text for axes in figure.axes for text in (axes.title, *axes.texts)]
    texts = [t for t in [*texts, *figure.texts] if t.get_text() not in ("", "not known")]
    legends = [axes.get_legend() for axes in figure.axes] + figure.legends
    for one in [*texts, *filter(None, legends)]:
        place = one.get_window_extent()
        for box in boxes:
            assert not (place.x0 < box.x1 and place.x1 > box.x0
                        and place.y0 < box.y1 and place.y1 > box.y0), one  # fmt: skip
    for a in texts:
        for b in texts:
            if a is not b:
                assert not a.get_window_extent().overlaps(b.get_window_extent()), (a, b)


def test_many_joints_need_several_pages(tmp_path):
    m = robots.load(robots.find("talos_full_v2.urdf"))
    assert m.nv > plots.PAGE_ROWS
    run = run_of(m, n=20)
    draw_run(run, tmp_path / "run.pdf", quantities=["position"])
    data = (tmp_path / "run.pdf").read_bytes()
    assert data.count(b"/Type /Page ") == -(-m.nv // plots.PAGE_ROWS)


def test_invalid_arguments_of_a_figure_are_refused(tmp_path, monkeypatch):
    run = run_of(arm())
    with refused(ParameterError, "no-quantity", "quantities", found="efort"):
        draw_run(run, tmp_path / "run.png", quantities=["efort"])
    with refused(ParameterError, "nothing-to-draw", "quantities"):
        draw_run(run, tmp_path / "run.png", quantities=["contact"])
    with refused(ParameterError, "unknown-suffix", "path"):
        draw_run(run, tmp_path / "run.bmp")
    with refused(ParameterError, "bad-size", "size"):
        draw_run(run, tmp_path / "run.png", size=(1e9, 1.0))
    monkeypatch.setattr(plots, "MOST_ROWS", 5)
    with refused(ParameterError, "many-joints", "joints"):
        draw_run(run, tmp_path / "run.png")
    assert list(tmp_path.iterdir()) == []
