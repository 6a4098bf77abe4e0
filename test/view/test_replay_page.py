# SPDX-License-Identifier: Apache-2.0
"""A player plays, pauses and steps a recording, also by the buttons of a page in a browser."""

import numpy as np
import pytest

pytest.importorskip("viser", reason="viser is not installed")

from web_page import open_browser, open_page, press, slider, wait_until

import rbdyn_ros as rb
from rbdyn_ros.description.appearance.shapes import read_appearance
from rbdyn_ros.recording.run import RecordedRun
from rbdyn_ros.view.web.charts import Quantities
from rbdyn_ros.view.web.playing import Player
from rbdyn_ros.view.web.server import address_of, open_server
from rbdyn_ros.view.web.show import Show
from rbdyn_ros.view.web.timeline import Timeline, chart_table, with_cursor

PENDULUM = """<robot name="pendulum"><link name="base"/>
<link name="rod"><visual><origin xyz="0 0 -0.5"/><geometry><box size="0.1 0.1 1"/></geometry>
</visual><inertial><mass value="1"/><origin xyz="0 0 -0.5"/>
<inertia ixx="0.1" iyy="0.1" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="swing" type="continuous"><parent link="base"/><child link="rod"/>
<axis xyz="0 1 0"/></joint></robot>"""


def a_run(n=1001, begin=2.0, effort=None):
    m = rb.load_urdf(PENDULUM)
    time = begin + 0.01 * np.arange(n)
    qpos = 0.1 * np.arange(n)[:, None]
    if effort is None:
        effort = np.zeros((n, 1))
    stamps = (1e9 * time).astype(np.int64)
    return RecordedRun(m, "x", "x", time, time, stamps, qpos, np.ones((n, 1)), effort)


def test_a_player_advances_seeks_and_steps_its_time():
    player = Player(duration=10.0, frame=0.1)
    assert not player.advance(1.0)
    player.play(True)
    player.speed = 2.0
    assert player.advance(1.5)
    assert player.time == pytest.approx(3.0)
    assert player.advance(4.0)  # the replay starts again
    assert player.time == pytest.approx(1.0)
    player.loop = False
    assert player.advance(100.0)
    assert (player.time, player.playing) == (10.0, False)
    player.play(True)
    assert player.time == 0.0
    player.step(3)
    assert (player.time, player.playing) == (pytest.approx(0.3), False)
    player.step(-9)
    assert player.time == 0.0
    for wanted, got in ((-1.0, 0.0), (99.0, 10.0), (4.5, 4.5)):
        player.seek(wanted)
        assert player.time == got
    still = Player(duration=0.0, frame=0.1)
    still.play(True)
    assert not still.advance(1.0)


def test_the_charts_of_a_run_have_the_values_of_the_run_and_a_cursor():
    run = a_run()
    quantities = Quantities(run.m)
    table = chart_table(run, quantities)
    assert table.shape == (600, 1 + quantities.width)
    assert np.allclose(table[:, 1], 0.1 * (table[:, 0] - 2.0) / 0.01)
    assert np.isfinite(table).all()
    unknown = chart_table(a_run(effort=np.full((1001, 1), np.nan)), quantities)
    assert np.isnan(unknown[:, 3]).all()
    for at in (2.0, 5.005, 12.0):
        time, curve, line = with_cursor(table, [1], at)
        assert (np.diff(time) >= 0.0).all()
        top = np.flatnonzero(line > table[:, 1].min())
        assert time[top].tolist() == [at]
        assert line[top] == table[:, 1].max()
        assert curve[top] == pytest.approx(10.0 * (at - 2.0), abs=1e-9)


def test_a_page_plays_a_recording_and_its_buttons_pause_seek_and_step():
    run = a_run()
    server = open_server(0, "127.0.0.1", "replay")
    timeline = None
    try:
        show = Show(server, run.m, read_appearance(PENDULUM))
        (rod,) = (node for _, node in show.nodes._parts["visuals"])
        assert rod._impl.click_cb
        assert not rod._impl.drag_cb  # links of a replay cannot be pulled
        put = []
        show_put = show.put
        show.put = lambda instant: (put.append(instant), show_put(instant))
        timeline = Timeline(show, run)
        timeline.start()
        with (
            open_browser() as browser,
            open_page(browser, address_of(server), server, scale=0.25) as page,
        ):
            wait_until(lambda: timeline.player.time > 0.2, "time to resume", page)
            press(page, "Pause")
            wait_until(lambda: not timeline.player.playing, "the recording to pause", page)
            page.get_by_role("button", name="Play", exact=True).wait_for()
            press(page, "|<")
            wait_until(lambda: timeline.player.time == 0.0, "the start", page)
            wait_until(lambda: put[-1].qpos[0] == 0.0, "the robot to follow", page)
            press(page, ">")
            press(page, ">")
            wait_until(lambda: timeline.player.time > 0.06, "two frames", page)
            wait_until(lambda: put[-1].qpos[0] == run.qpos[6, 0], "the robot to follow", page)
            thumb = slider(page, "Time [s]")
            thumb.focus()
            thumb.press("End")
            wait_until(
                lambda: timeline.player.time == run.duration, "the end of the recording", page
            )
            wait_until(lambda: put[-1].qpos[0] == run.qpos[-1, 0], "the robot to follow", page)
            assert put[-1].time == run.time[-1]
            page.get_by_text("position [rad, m]").wait_for()
            assert page.complaints == []
    finally:
        if timeline is not None:
            timeline.stop()
        server.stop()
