# SPDX-License-Identifier: Apache-2.0
"""Jobs are timed in turns, here by a simulated clock; other engines load the same robots."""

import sys

import numpy as np
import pytest
from support.robots import find, needs_robots

import rbdyn_ros as rb
from rbdyn_ros.measuring import turns
from rbdyn_ros.measuring.peers import mujoco_model, peers
from rbdyn_ros.measuring.turns import (
    STEPS,
    TICK,
    in_turns,
    median_ratio,
    our_jobs,
    repeated,
    stepped,
)
from rbdyn_ros.share import bundled_robot


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that advances only during jobs; it replaces perf_counter."""

    class Clock:
        now = 0.0

        def job(self, name, cost, calls):
            def run(n):
                calls.append(name)
                self.now += n * cost

            return run

    clock = Clock()
    monkeypatch.setattr(turns.time, "perf_counter", lambda: clock.now)
    return clock


def test_jobs_are_timed_alternately(clock):
    calls, rounds = [], []
    jobs = [clock.job("a", 2e-6, calls), clock.job("b", 5e-4, calls)]
    a, b = in_turns(jobs, seconds=0.01, rounds=4, after_round=lambda: rounds.append(len(calls)))
    assert a == pytest.approx([2.0] * 4)  # microseconds
    assert b == pytest.approx([500.0] * 4)
    assert calls[-8:] == ["a", "b"] * 4
    assert len(rounds) == 4


def test_a_round_takes_the_given_time(clock):
    counts = []

    def job(n):
        counts.append(n)
        clock.now += n * 3e-6

    in_turns([job], seconds=0.03, rounds=2)
    # the count is estimated from a run of at least half this time
    assert counts[-2:] == [10_000] * 2 or counts[-2:] == [9_999] * 2


def test_a_run_longer_than_a_round_is_timed_once_per_round(clock):
    calls = []
    (times,) = in_turns([clock.job("a", 1.0, calls)], seconds=0.01, rounds=3)
    assert times == pytest.approx([1e6] * 3)
    assert len(calls) == 1 + 1 + 3


def test_the_median_ratio_is_the_median_of_the_ratios_in_each_round():
    """In a slow round both jobs are slow, so their ratio is right."""
    assert median_ratio([2.0, 20.0, 2.0], [1.0, 10.0, 1.0]) == 2.0
    assert median_ratio([1.0, 1.0, 9.0], [1.0, 1.0, 1.0]) == 1.0


def test_jobs_reset_once_and_run_n_times():
    messages = []
    repeated(lambda: messages.append("call"), lambda: messages.append("reset"))(3)
    stepped(messages.append, lambda: messages.append("reset"))(5)
    assert messages == ["reset", "call", "call", "call", "reset", 5]


def test_our_jobs_take_the_given_number_of_steps(monkeypatch):
    m = rb.load(bundled_robot("seven_dof_arm"))
    made = []
    monkeypatch.setattr(turns.api, "make_data", lambda m: made.append(rb.make_data(m)) or made[0])
    jobs = our_jobs(m)
    assert set(jobs) == {
        *(STEPS, TICK, "forward", "forward_dynamics", "inverse", "mass_matrix", "kinematics")
    }
    (d,) = made
    for name in (STEPS, TICK):
        for _ in range(2):  # each call counts from zero
            jobs[name](7)
            assert d.time == pytest.approx(7 * m.opt.timestep)
    d.qpos[:] = 1.0
    jobs["mass_matrix"](1)
    assert d.time == 0.0
    assert np.array_equal(d.qpos, m.qpos0)


# other engines

ARM = bundled_robot("seven_dof_arm").read_text()


@pytest.mark.parametrize("floating", [False, True])
def test_the_robot_in_mujoco_has_the_same_mass_matrix(floating):
    mujoco = pytest.importorskip("mujoco")
    m = rb.load_urdf(ARM, floating_base=floating)
    theirs = mujoco_model(ARM, floating, 0.002)
    assert (theirs.nq, theirs.nv, theirs.opt.timestep) == (m.nq, m.nv, 0.002)
    data, column = mujoco.MjData(theirs), np.empty(m.nv)
    mujoco.mj_forward(theirs, data)
    ours = rb.mass_matrix(m, rb.make_data(m))
    for k, unit in enumerate(np.eye(m.nv)):
        mujoco.mj_mulM(theirs, data, column, unit)
        # the mass matrices agree only if bodies and coordinates are the same
        assert np.abs(column - ours[k]).max() < 1e-12 * np.abs(ours).max()


@pytest.mark.parametrize("floating", [False, True])
def test_every_job_of_both_other_engines_runs(floating):
    pytest.importorskip("mujoco")
    pytest.importorskip("pinocchio")
    m = rb.load_urdf(ARM, floating_base=floating)
    mujoco, pinocchio = peers(ARM, floating, 0.001)
    assert mujoco.name.startswith("MuJoCo ")
    assert pinocchio.name.startswith("Pinocchio ")
    for peer in (mujoco, pinocchio):
        assert (peer.refusal, peer.nv) == ("", m.nv)
        assert peer.jobs.keys() == peer.calls.keys()
        assert peer.jobs.keys() <= our_jobs(m).keys()
        for job in peer.jobs.values():
            job(2)
    assert {STEPS, TICK, "forward", "inverse"} <= set(mujoco.jobs)
    assert {"forward_dynamics", "inverse", "mass_matrix"} <= set(pinocchio.jobs)


def test_an_engine_that_is_not_installed_has_no_jobs(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    monkeypatch.setitem(sys.modules, "pinocchio", None)
    for peer in peers(ARM, False, 0.001):
        assert (peer.refusal, peer.jobs) == ("it is not installed", {})


def test_a_refused_robot_is_reported_in_one_line():
    pytest.importorskip("mujoco")
    pytest.importorskip("pinocchio")
    for peer in peers("<robot name='r'><nothing/></robot>\n" * 2, False, 0.001):
        assert peer.jobs == {}
        assert peer.refusal
        assert "\n" not in peer.refusal
        assert len(peer.refusal) <= 160
    assert {peer.refusal for peer in peers(ARM, False, 0.001, "no")} == {"no"}


@needs_robots
def test_mujoco_loads_a_urdf_without_its_extensions_and_meshes():
    pytest.importorskip("mujoco")
    text = find("talos_reduced.urdf").read_text()
    text = text.replace("</robot>", '<mujoco><compiler meshdir="/no/such"/></mujoco></robot>')
    assert mujoco_model(text, floating_base=True).nv == rb.load_urdf(text, True).nv
