# SPDX-License-Identifier: Apache-2.0
"""A payload and a scale of friction are estimated from the states of a moving simulated arm."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from running_arm import PERIOD, arm, estimates, states

import rbdyn_ros as rb
from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.identification.data import blocks as cut
from rbdyn_ros.identification.data.blocks import StateBlocks
from rbdyn_ros.identification.equations.inertia import change_of_frame
from rbdyn_ros.identification.equations.online import OnlinePayload

INERTIA = 0.01, 0.012, 0.008, 0.001, 0.0, -0.0005
LOAD = 2.0, (0.02, -0.03, 0.08), INERTIA
SEEDS = 20
SPRING = """<mujoco><worldbody><body name="tip"><joint name="a" axis="0 1 0" stiffness="5"/>
<geom type="sphere" size="0.1" mass="1"/></body></worldbody></mujoco>"""


def parameters(load, scale):
    """Return the 11 parameters: ten of the payload about the flange, and the scale of friction."""
    mass, com, (xx, yy, zz, xy, xz, yz) = load
    central = np.array([mass, 0.0, 0.0, 0.0, xx, xy, yy, xz, yz, zz])
    return np.append(change_of_frame(np.eye(3), np.array(com)) @ central, scale)


# for each kind: size of the motion [rad], scale of friction, whether there is friction, time [s]
KINDS = {
    "in motion": (0.4, 1.5, True, 8.0),
    "at rest": (0.0, 1.5, True, 8.0),
    "in slow motion": (0.12, 1.5, True, 12.0),
    "at rest without friction": (0.0, 1.0, False, 8.0),
}
NIGHTLY = [pytest.param(kind, marks=pytest.mark.nightly) for kind in list(KINDS)[2:]]


@pytest.mark.parametrize("kind", [*list(KINDS)[:2], *NIGHTLY])
def test_parameters_are_within_three_standard_deviations(kind, capsys):
    size, scale, rubs, seconds = KINDS[kind]
    m, friction = arm()
    away, deviations = [], []
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        load = rng.uniform(0.5, 3.0), tuple(rng.uniform(-0.1, 0.1, 3)), INERTIA
        seen = states(load, scale, seconds, seed, size, friction=rubs)
        found = estimates(*seen, m, friction if rubs else friction.scaled(0.0))[-1]
        away.append(np.abs(found.values - parameters(load, scale)) / found.std)
        deviations.append(found.std)
    typical, share = np.median(deviations, axis=0), float(np.mean(np.array(away) < 3.0))
    with capsys.disabled():
        print(f"\n{kind}: {share:.1%} within three; mass +- {typical[0]:.2g} kg", end="")
    assert share >= 0.95
    if kind == "in motion":  # a useful estimate is this precise
        assert typical[0] < 0.03
        assert typical[10] < 0.01
    if kind.startswith("at rest"):  # the scale of friction is not identifiable at rest
        assert typical[10] > 5.0


def test_only_the_wrench_is_identified_at_rest():
    """Joints at rest show m g and two moments about the flange, but not the payload's height."""
    m, friction = arm()
    seen = states(LOAD, 1.0, 8.0, 0, 0.0, friction=False)
    found = estimates(*seen, m, friction.scaled(0.0))[-1]
    d = rb.make_data(m)
    d.qpos[:] = seen[1][:, 0].mean(axis=0)
    rb.kinematics(m, d)
    up = rb.frame_pose(m, d, m.frame_names[-1])[1].T @ [0.0, 0.0, 1.0]
    moments = found.covariance[1:4, 1:4]
    along = np.sqrt(up @ moments @ up)
    across = np.sqrt(np.linalg.eigvalsh(moments - along**2 * np.outer(up, up))[1:])
    print(f"first moments: +- {across} kg m across, {along} kg m along gravity")
    assert found.std[0] < 1e-3
    assert (across < 5e-3).all()
    assert along > 0.05


def test_dry_friction_hides_a_load_at_rest():
    m, friction = arm()
    seen = states((0.05, (0.0, 0.0, 0.0)), 1.0, 8.0, 0, 0.0)
    free, rubbing = (estimates(*seen, m, one)[-1] for one in (friction.scaled(0.0), friction))
    # the shoulder's friction holds up to 2 N m, and the lever of the load is less than a metre
    assert rubbing.std[0] > 0.2
    assert rubbing.std[0] > 50.0 * free.std[0]


@pytest.mark.parametrize("interrupted", [False, True])
def test_a_long_rest_gives_no_more_information_than_a_short_rest(interrupted):
    """A rest of 16 s gives as much information as a rest of 8 s, even if it is interrupted."""
    m, friction = arm()
    seen = states(LOAD, 1.0, 18.0, 0, 0.0)
    found = estimates(*seen, m, friction, interrupted=interrupted)
    assert len(found) == 8
    np.testing.assert_allclose(found[-1].std[:4], found[2].std[:4], rtol=0.05)
    assert max(found[-1].excess) < 3.0


def blocks_of(times, rows, m):
    """Return the blocks into which StateBlocks divides these states."""
    collected, found = StateBlocks(m.jnt_names, np.arange(m.nv), m.nv), []
    for time, state in zip(times, rows, strict=True):
        collected.add(time, state)
        block = collected.take()
        found += [] if block is None else [block]
    return found


def online_of(m, friction):
    return OnlinePayload(m, np.arange(m.nv), m.frame_id(m.frame_names[-1]), friction)


def test_efforts_of_zero_are_refused_and_random_efforts_have_a_large_residual():
    m, friction = arm()
    times, rows = states(LOAD, 1.0, 3.0, 0, 0.0, noise=0.0)
    rows[:, 2] = 0.0
    samples, qpos, _ = blocks_of(times, rows, m)[0]
    with pytest.raises(rb.ParameterError, match="the drives seem to report none"):
        online_of(m, friction).update(samples, qpos)
    noisy = replace(samples, effort=np.random.default_rng(1).normal(size=samples.qpos.shape))
    assert max(online_of(m, friction).update(noisy, qpos).excess) > 3.0


def test_a_refused_block_of_states_changes_nothing(monkeypatch):
    m, friction = arm()
    blocks = [block[:2] for block in blocks_of(*states(LOAD, 1.5, 6.0, 3), m)]
    one, other = online_of(m, friction), online_of(m, friction)
    one.update(*blocks[0])
    other.update(*blocks[0])
    spurious = replace(blocks[1][0], effort=blocks[1][0].effort.copy())
    spurious.effort[500:503, 1] = 5e8
    with pytest.raises(rb.ParameterError, match=r"times its limit"):
        one.update(spurious, blocks[1][1])
    with monkeypatch.context() as broken:
        broken.setattr(OnlinePayload, "_noise", lambda *_: np.full(m.nv, np.nan))
        with pytest.raises(rb.ParameterError):
            one.update(*blocks[1])
    found, expected = one.update(*blocks[1]), other.update(*blocks[1])
    np.testing.assert_array_equal(found.values, expected.values)
    np.testing.assert_array_equal(found.covariance, expected.covariance)


def test_unidentifiable_payloads_are_refused_at_once(tmp_path):
    m, friction = arm()
    with pytest.raises(rb.ParameterError, match="no joint of the motion carries link"):
        OnlinePayload(m, np.array([5, 6]), int(np.flatnonzero(m.frame_bodyid == 3)[0]), friction)
    path = tmp_path / "spring.xml"
    path.write_text(SPRING)
    springs = rb.load(path)
    with pytest.raises(rb.ModelError, match="springs"):
        OnlinePayload(springs, np.array([0]), springs.frame_id("tip"), Friction.of(1))


def test_deviations_of_the_centre_of_mass_follow_from_the_covariance():
    m, friction = arm()
    found = estimates(*states(LOAD, 1.5, 4.0, 3), m, friction)[-1]
    drawn = np.random.default_rng(0).multivariate_normal(
        found.values[:4], 1e-4 * found.covariance[:4, :4], 20000
    )
    spread = 100.0 * (drawn[:, 1:] / drawn[:, :1]).std(axis=0)
    np.testing.assert_allclose(found.com_std, spread, rtol=0.03)


def test_a_payload_is_estimated_if_the_arm_adds_its_own_gravity():
    """The robot compensates its own gravity, and reports efforts without it."""
    m, friction = arm()
    times, rows = states(LOAD, 1.5, 8.0, 3)
    expected = estimates(times, rows, m, friction)[-1]
    d = rb.make_data(m)
    for row in rows:
        d.qpos[:] = row[0]
        row[2] -= rb.gravity_term(m, d)
    found = estimates(times, rows, m, friction, adds=m)[-1]
    # one estimate filters measured gravity, the other computes gravity from filtered positions
    np.testing.assert_allclose(found.values[:4], expected.values[:4], atol=1e-3)
    assert found.friction_scale == pytest.approx(1.5, abs=0.01)


def test_efforts_that_come_late_do_not_bias_the_payload():
    """A short delay adds a multiple of the efforts' rate, so the delay is one more unknown."""
    m, friction = arm()
    times, rows = states(LOAD, 1.5, 8.0, 2)
    late = 5
    rows[late:, 2] = rows[:-late, 2].copy()
    found = estimates(times[late:], rows[late:], m, friction)[-1]
    away = np.abs(found.values - parameters(LOAD, 1.5)) / found.std
    assert (away < 3.0).all()
    assert abs(found.friction_scale - 1.5) < 0.01


def test_blocks_of_states_follow_each_other_without_gaps():
    collected = StateBlocks(["a"], np.array([1]), 2)
    got, stamps = [], []
    for k in range(int(10.0 / PERIOD)):
        collected.add(7 + round(k * PERIOD * 1e9), np.full((3, 2), float(k)))
        block = collected.take() if k % 70 == 0 else None
        if block is not None:
            got.append(block[0])
            stamps.append(block[2])
    begins = [one.qpos[0, 0] * PERIOD for one in got]
    np.testing.assert_allclose(np.diff(begins), cut.LENGTH - cut.OVERLAP, atol=1e-9)
    assert all(one.time[-1] == pytest.approx(cut.LENGTH) for one in got)
    ends = [round(one.qpos[-1, 0] * PERIOD * 1e9) + 7 for one in got]
    assert stamps == ends
    assert collected.lost == 0


def test_states_that_are_not_taken_in_time_or_whose_time_goes_back_are_left_out():
    collected = StateBlocks(["a"], np.array([0]), 1)
    for k in range(cut.ROOM):
        collected.add(k * 1_000_000, np.zeros((3, 1)))
    assert collected.take() is None  # new states have overwritten the block
    collected.add(0, np.zeros((3, 1)))
    collected.add(0, np.zeros((3, 1)))
    assert collected.take() is None
    assert collected.lost == 2


def test_states_that_are_overwritten_while_they_are_copied_are_left_out():
    collected = StateBlocks(["a"], np.array([0]), 1)

    class Late(np.ndarray):
        def __getitem__(self, places):
            collected._states = np.asarray(self)
            for k in range(cut.ROOM):
                collected.add((3000 + k) * 1_000_000, np.ones((3, 1)))
            return np.asarray(self)[places]

    for k in range(3000):
        collected.add(k * 1_000_000, np.zeros((3, 1)))
    collected._states = collected._states.view(Late)
    assert collected.take() is None
    assert collected.lost == 1


def test_storing_a_state_allocates_no_memory():
    collected, state = StateBlocks(["a"], np.arange(7), 7), np.zeros((3, 7))
    collected.add(1, state)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        for k in range(1000):
            collected.add(1_000_000 * k, state)
        now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert now - before < 500
    assert peak - before < 1000  # these bytes are views and numbers, which are freed at once
