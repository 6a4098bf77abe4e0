# SPDX-License-Identifier: Apache-2.0
"""Charts without a browser store rows and draw curves, and hidden charts cost nothing."""

import contextlib
import itertools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from support.systems import everything, register

import rbdyn_ros as rb
from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.view.web import charts
from rbdyn_ros.view.web.charts import Charts, ChartSamples, Quantities


def test_the_samples_of_a_chart_are_the_last_rows():
    history, rng = ChartSamples(3, length=7), np.random.default_rng(0)
    rows, kept = rng.normal(size=(40, 3)), []
    for k, row in enumerate(rows):
        assert history.add(0.5 * k, row)
        assert not history.add(0.5 * k, row + 1.0)  # the time is the same
        kept = [*kept, [0.5 * k, *row]][-7:]
        assert len(history) == len(kept)
        assert np.array_equal(history.table(), kept)
    assert history.add(0.25, rows[0])  # simulated time starts again
    assert np.array_equal(history.table(), [[0.25, *rows[0]]])
    history.clear()
    assert history.table().shape == (0, 4)


def test_a_changed_table_does_not_change_the_samples():
    history = ChartSamples(1, length=2)
    for at in range(3):
        history.add(float(at), [0.0])
        table = history.table()
        table[:] = 7.0
    assert np.array_equal(history.table(), [[1.0, 0.0], [2.0, 0.0]])


def test_each_column_of_a_chart_has_the_values_of_its_joint():
    """The system has joints of several freedoms, mimic joints, drives and loops."""
    register()
    m = rb.build(everything())
    quantities, rng = Quantities(m), np.random.default_rng(1)
    instant = Instant(
        1.0, *(rng.normal(size=n) for n in (m.nq, m.nv, m.nv)), energy=(3.0, 4.0), factor=0.5
    )
    row = np.concatenate([[1.0], quantities.row(instant)])
    assert len(row) == 1 + quantities.width
    chosen = list(range(len(quantities.joints)))
    assert chosen
    parts = instant.qpos, instant.qvel, instant.effort
    drawn = quantities.columns(chosen)
    for (labels, columns), part, q in zip(
        list(drawn.values())[:3], parts, (True, False, False), strict=True
    ):
        for label, column in zip(labels, columns, strict=True):
            j = m.jnt_names.index(label)
            assert m.jnt_dofnum[j] == 1
            address = m.jnt_qposadr[j] if q else m.jnt_dofadr[j]
            assert row[column] == part[address]
    assert list(drawn)[3:] == ["energy [J]", "real-time factor"]
    assert row[drawn["energy [J]"][1]].tolist() == [3.0, 4.0, 7.0]
    assert row[drawn["real-time factor"][1]].tolist() == [0.5]
    labels, columns = quantities.columns([2])["velocity [rad/s, m/s]"]
    assert (labels, len(columns)) == ((quantities.joints[2],), 1)


def test_an_undefined_real_time_factor_is_drawn_as_the_last_value(arm):
    quantities, still = Quantities(arm), Instant.still(arm, arm.qpos0)
    factors = [float("nan"), 0.9, float("nan"), 1.1]
    drawn = [quantities.row(replace(still, factor=factor))[-1] for factor in factors]
    assert drawn == [0.0, 0.9, 0.9, 1.1]


class Part:
    """An element of a panel, which has a value and callbacks until it is removed."""

    def __init__(self, gui, **props):
        self.gui, self.calls = gui, []
        vars(self).update(props)
        gui.parts.append(self)

    def on_update(self, call):
        self.calls.append(call)

    def set(self, value):
        self.value = value
        for call in self.calls:
            call(SimpleNamespace(client=object(), target=self))

    def remove(self):
        self.gui.parts.remove(self)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class Panel:
    """A replacement for viser's panel, which stores the added elements in `parts`."""

    def __init__(self):
        self.parts = []
        self.gui = self

    atomic = staticmethod(contextlib.nullcontext)

    def add_folder(self, label, expand_by_default):
        return Part(self, label=label, expand_by_default=expand_by_default)

    def add_checkbox(self, label, initial_value, **_):
        return Part(self, label=label, value=initial_value)

    def add_button(self, label, **_):
        part = Part(self, label=label)
        part.on_click = part.on_update
        return part

    def add_panel(self):
        part = Part(self, label="panel")
        part.add_tab = lambda name: Part(self, label=name)
        part.dock_left = part.set_width = lambda *_: None
        remove = part.remove

        def remove_all():
            remove()
            self.parts.remove(self["arm"])

        part.remove = remove_all
        return part

    def add_uplot(self, data, series, *, title, scales, **_):
        assert len(data) == len(series)
        return Part(self, label=title, data=data, series=series, scales=scales)

    def __getitem__(self, label):
        return next(part for part in self.parts if part.label == label)


TITLES = ("position", "velocity", "torque", "energy", "real-time factor")


@pytest.fixture
def clocked(monkeypatch):
    """Return a clock whose time is constant until a test sets `now` [s]."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(charts, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


def test_charts_are_updated_only_while_they_are_shown(arm, clocked):
    panel = Panel()
    drawn = Charts(panel, arm, "arm")
    fixed = len(panel.parts)
    instant = Instant.still(arm, arm.qpos0)

    def run(seconds, start):
        for k in range(round(seconds * 30)):
            clocked.now += 1.0 / 30.0
            drawn.put(replace(instant, time=start + k / 30.0, energy=(0.0, 1.0)))

    assert not panel["Charts"].expand_by_default
    run(5.0, 0.0)
    assert len(panel.parts) == fixed
    assert not drawn.shown
    panel["Show charts"].set(True)
    assert drawn.shown
    run(30.0, 5.0)
    fixed += 2  # the drawer and its tab are two more parts
    plots = panel.parts[fixed:]
    assert [plot.label.split(" [")[0] for plot in plots] == list(TITLES)
    flat = [plot.scales["y"] == {"range": (-charts.FLAT, charts.FLAT)} for plot in plots]
    assert flat == [True, True, True, False, True]  # the energy is 1 J and not 0
    for plot in plots:
        times = plot.data[0]
        assert {len(line) for line in plot.data} == {len(times)} == {charts.LENGTH}
        assert (np.diff(times) > 0.0).all()
        assert times[0] > 5.0 + 30.0 - 1.5 * charts.LENGTH * charts.SAMPLE
    assert [part["label"] for part in plots[0].series] == ["t [s]", *arm.jnt_names[: charts.FIRST]]
    panel[arm.jnt_names[6]].set(True)
    panel[arm.jnt_names[0]].set(False)
    run(0.5, 35.0)
    assert [part["label"] for part in panel.parts[fixed].series[1:]] == list(arm.jnt_names[1:])
    assert len(panel.parts[fixed].data[0]) == charts.LENGTH  # the chart also shows the stored rows
    run(0.5, 0.0)  # simulated time starts again
    assert len(panel.parts[fixed].data[0]) <= 11
    panel["Show charts"].set(False)
    run(1.0, 0.5)
    assert len(panel.parts) == fixed - 2
    panel["Show charts"].set(True)
    run(0.2, 9.0)
    assert min(panel.parts[fixed].data[0]) >= 9.0


def test_charts_are_drawn_at_most_ten_times_a_second(arm, clocked):
    panel = Panel()
    drawn, instant = Charts(panel, arm, "arm"), Instant.still(arm, arm.qpos0)
    panel["Show charts"].set(True)
    seen = []
    for k in range(300):
        clocked.now += 0.01
        drawn.put(replace(instant, time=0.01 * k))
        seen.append(panel["energy [J]"].data)
    changes = sum(new is not old for old, new in itertools.pairwise(seen))
    assert 20 <= changes <= 30


def test_only_chosen_curves_until_the_freeze_are_saved(arm, clocked):
    panel, still = Panel(), Instant.still(arm, arm.qpos0)
    drawn = Charts(panel, arm, "arm")
    panel["Show charts"].set(True)

    def put(at):
        clocked.now += 1.0
        drawn.put(replace(still, time=at, qpos=still.qpos + at))

    for part in drawn._titles.values():
        part.set(False)
    drawn._titles["position [rad, m]"].set(True)
    for box in drawn._boxes[1:]:
        box.set(False)
    put(1.0)
    put(2.0)
    panel["Freeze"].value = True
    put(3.0)
    name = arm.jnt_names[0]
    assert drawn.csv() == f't [s],"{name} position [rad, m]"\n1.0,1.0\n2.0,2.0\n'
    sent = []
    client = SimpleNamespace(send_file_download=lambda *file: sent.append(file))
    for call in panel["Save as CSV"].calls:
        call(SimpleNamespace(client=client))
    assert sent == [("arm.csv", drawn.csv().encode())]
