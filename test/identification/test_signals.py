# SPDX-License-Identifier: Apache-2.0
"""Filtering and differentiation agree with the closed forms of sines."""

import numpy as np
import pytest
from support.refusals import refused

from rbdyn_ros.errors import ParameterError
from rbdyn_ros.identification.data.samples import Samples
from rbdyn_ros.identification.data.signals import saturated, to_motion

W = 2.0 * np.pi * np.array([0.3, 0.7])  # frequencies of the two joints [rad/s]


def sines(time):
    """Return position, velocity, acceleration and effort (p, 2) of two joints."""
    phase = np.multiply.outer(time, W)
    q = np.sin(phase) + 0.3
    return q, W * np.cos(phase), -(W**2) * np.sin(phase), 20.0 * np.cos(phase) - 5.0


def recorded(time, velocities=False, noise=(0.0, 0.0, 0.0), seed=0):
    q, qd, _, tau = sines(time)
    rng = np.random.default_rng(seed)
    q, qd, tau = (
        x + s * rng.normal(size=x.shape) for x, s in zip((q, qd, tau), noise, strict=True)
    )
    return Samples(("a", "b"), time, q, qd if velocities else None, tau)


def errors(motion):
    """Return the largest error of position, velocity, acceleration and effort in a motion."""
    found = motion.qpos, motion.qvel, motion.qacc, motion.effort
    return [np.abs(x - y).max() for x, y in zip(found, sines(motion.time), strict=True)]


CLOCK = 0.002 * np.arange(5001)


def test_derivatives_of_a_sine_are_exact():
    motion = to_motion(recorded(CLOCK), cutoff=10.0)
    # the filter's gain at 0.7 Hz is 1 / (1 + 0.07^8), and differences are of fourth order. The
    # remaining error is the filter's transient after 2 / cutoff; each derivative multiplies it by
    # 2 pi 10 / s
    assert errors(motion)[0] < 1e-5
    assert errors(motion)[1] < 3e-4
    assert errors(motion)[2] < 1e-2
    assert errors(motion)[3] < 1e-3
    inner = np.abs(motion.time - 5.0) < 3.0
    assert np.abs(motion.qacc - sines(motion.time)[2])[inner].max() < 1e-6


def test_all_signals_pass_the_same_filter_without_delay():
    # a cutoff near the motion's frequency reduces the amplitudes of positions and efforts equally,
    # and does not change their phase
    motion = to_motion(recorded(CLOCK), cutoff=0.8, rate=100.0)
    q, _, _, tau = sines(motion.time)
    kept = (motion.qpos[:, 1] - 0.3) @ (q[:, 1] - 0.3) / np.sum((q[:, 1] - 0.3) ** 2)
    same = (motion.effort[:, 1] + 5.0) @ (tau[:, 1] + 5.0) / np.sum((tau[:, 1] + 5.0) ** 2)
    # the bilinear transform changes 0.7 / 0.8 by less than 1e-5; the ends of the record add errors
    assert kept == pytest.approx(1.0 / (1.0 + (0.7 / 0.8) ** 8), rel=0.03)
    assert same == pytest.approx(kept, rel=0.03)
    quadrature = np.cos(W[1] * motion.time)
    assert abs((motion.qpos[:, 1] - 0.3) @ quadrature) / len(quadrature) < 0.03


def test_noise_is_filtered_out():
    noise = (1e-4, 0.0, 0.5)
    motion = to_motion(recorded(CLOCK, noise=noise), cutoff=5.0)
    qpos, qvel, qacc, effort = (
        np.std(x - y)
        for x, y in zip(
            (motion.qpos, motion.qvel, motion.qacc, motion.effort), sines(motion.time), strict=True
        )
    )
    # of white noise at 500 Hz the power sigma^2 2 f / 500 passes the cutoff f; derivatives have (2
    # pi f)^2 / 3 and (2 pi f)^4 / 5 times this power. The bounds allow 50 % more
    left, w = np.sqrt(2.0 * 5.0 / 500.0), 2.0 * np.pi * 5.0
    assert qpos < 1.5 * left * 1e-4
    assert qvel < 1.5 * left * 1e-4 * w / np.sqrt(3.0)
    assert qacc < 1.5 * left * 1e-4 * w**2 / np.sqrt(5.0)
    assert effort < 1.5 * left * 0.5
    # this lower bound shows that the filter does not remove the sine
    assert qacc > 0.5 * left * 1e-4 * w**2 / np.sqrt(5.0)


@pytest.mark.parametrize("noise", [0.0, 1e-4])
def test_the_default_cutoff_is_ten_times_the_motions_frequency(noise):
    rates = []
    for factor in (1.0, 3.0):  # the highest frequencies are 0.7 and 2.1 Hz
        samples = recorded(CLOCK * factor, noise=(noise, 0.0, 0.0))
        motion = to_motion(Samples(samples.names, CLOCK, samples.qpos, None, samples.effort))
        rates.append(1.0 / np.diff(motion.time).mean())
    # samples are skipped until the rate is five times the cutoff; the spectrum has bins of 0.1 Hz
    assert rates[0] == pytest.approx(35.0, rel=0.3)
    assert rates[1] == pytest.approx(105.0, rel=0.3)


def test_jittering_stamps_are_resampled():
    rng = np.random.default_rng(3)
    time = CLOCK + rng.uniform(0.0, 0.0015, CLOCK.shape)
    motion = to_motion(recorded(time - time[0]), cutoff=10.0)
    assert np.diff(motion.time).std() < 1e-12
    assert errors(motion)[0] < 1e-4
    # if the stamps were regular, positions would be wrong by the jitter times the speed
    jittered = recorded(time - time[0])
    careless = to_motion(Samples(("a", "b"), CLOCK, jittered.qpos, None, jittered.effort), 10.0)
    assert errors(careless)[0] > 5e-4


def test_lost_samples_are_bridged():
    time = np.delete(CLOCK, [700, 701, 1500, 1501, 1502, 1503])
    motion = to_motion(recorded(time), cutoff=10.0)
    # a straight line over the widest gap, of 10 ms, has an error of (10 ms)^2 / 8 times the
    # acceleration of 19 rad/s^2, or 2.4e-4 rad; the filter spreads it over 50 ms
    assert errors(motion)[0] < 5e-5
    # four samples in a row are missing: the gap and 0.1 s around it are marked
    marked = motion.time[~motion.kept[:, 0]]
    assert marked == pytest.approx(3.005, abs=0.115)
    assert len(marked) > 8


def test_nearly_equal_stamps_are_accepted():
    # a spline through two samples 10 us apart instead of 2 ms would overshoot by radians
    time = CLOCK.copy()
    time[2000] = time[1999] + 1e-5
    moved = recorded(CLOCK)
    motion = to_motion(Samples(("a", "b"), time, moved.qpos, None, moved.effort), cutoff=10.0)
    # one stamp is 2 ms early, so the error is 4.4 rad/s times 2 ms, spread over 50 ms instead of 2
    # ms
    assert errors(motion)[0] < 1e-3
    assert errors(motion)[2] < 1.0


def friction_like(speed):
    return 3.0 * np.tanh(speed / 0.05)


def test_a_function_of_unfiltered_velocities_is_filtered_like_the_effort():
    q, qd, _, _ = sines(CLOCK)
    motion = to_motion(Samples(("a", "b"), CLOCK, q, None, friction_like(qd)), cutoff=5.0)
    column = motion.of_velocity(friction_like)
    # near the ends the filter's transients change the velocities
    inner = np.abs(motion.time - 5.0) < 3.5
    error = np.abs(column - motion.effort)[inner].max()
    careless = np.abs(friction_like(motion.qvel) - motion.effort)[inner].max()
    print("largest error of Coulomb friction", error, "without the filter", careless)
    assert error < 2e-3
    assert careless > 100.0 * error


def test_saturated_samples_are_marked_before_they_are_filtered():
    samples = recorded(CLOCK)
    clipped = np.clip(samples.effort, -22.0, None)
    at = clipped[:, 1] == -22.0
    motion = to_motion(
        Samples(samples.names, CLOCK, samples.qpos, None, clipped),
        cutoff=10.0,
        effort_limits=[np.inf, 22.0],
    )
    raw = np.interp(motion.time, CLOCK, at) > 0.0
    assert not motion.kept[raw, 1].any()
    near = np.array([np.abs(t - CLOCK[at]).min() for t in motion.time])
    assert (motion.kept[:, 1] == (near > 0.1005)).mean() > 0.98
    assert motion.kept[near > 0.12, 1].all()


@pytest.mark.parametrize("limits", [None, [0.0, np.inf], [150.0, 150.0]])
def test_flat_tops_below_the_limit_are_marked(limits):
    effort = sines(CLOCK)[3]
    cut = effort.copy()
    cut[:, 1] = np.clip(effort[:, 1], -20.0, 12.0)
    marks = saturated(cut, limits)
    top, bottom = effort[:, 1] >= 0.999 * 12.0, effort[:, 1] <= 0.999 * -20.0
    assert np.array_equal(marks[:, 1], top | bottom)
    assert not marks[:, 0].any()


def test_coarse_efforts_do_not_count_as_saturated():
    effort = sines(CLOCK)[3]
    for quantum in (0.01, 0.1, 0.5, 1.0, 5.0):
        assert not saturated(quantum * np.round(effort / quantum)).any()
    assert not saturated(np.full((5000, 1), 7.0)).any()


@pytest.mark.parametrize(
    "factor",
    [1e9, 1e3, 1e-6],
)
@pytest.mark.filterwarnings("error")
def test_time_in_other_units_is_refused(factor):
    samples = recorded(CLOCK)
    odd = Samples(samples.names, factor * CLOCK, samples.qpos, None, samples.effort)
    with refused(ParameterError, "odd-period"):
        to_motion(odd)


def test_a_slightly_irregular_clock_does_not_drift():
    time = 1.003 * CLOCK + 1e-6 * np.sin(np.arange(len(CLOCK)))
    motion = to_motion(recorded(time), cutoff=10.0)
    assert errors(motion)[0] < 1e-4


@pytest.mark.parametrize(
    ("sigma", "delay", "taken"),
    [
        ((1e-3, 1e-4), 0.0, True),  # a coarse encoder and a good tachometer
        ((1e-6, 1e-2), 0.0, False),  # a good encoder and a poor tachometer
        ((1e-3, 1e-4), 0.02, False),  # velocities that come 20 ms late, because they were filtered
    ],
)
def test_measured_velocities_are_used_if_better(sigma, delay, taken):
    samples = recorded(CLOCK, True, (sigma[0], sigma[1], 0.0))
    rng = np.random.default_rng(5)
    late = sines(CLOCK - delay)[1] + sigma[1] * rng.normal(size=(len(CLOCK), 2))
    with_speeds = Samples(samples.names, CLOCK, samples.qpos, late, samples.effort)
    without = Samples(samples.names, CLOCK, samples.qpos, None, samples.effort)
    motions = [to_motion(s, cutoff=8.0) for s in (with_speeds, without)]
    assert np.array_equal(motions[0].qvel, motions[1].qvel) == (not taken)
    if taken:
        assert errors(motions[0])[2] < 0.5 * errors(motions[1])[2]


def test_a_recording_at_rest_is_accepted():
    rest = Samples(("a",), CLOCK, np.full((5001, 1), 0.4), None, np.full((5001, 1), 7.0))
    motion = to_motion(rest)
    assert motion.qpos == pytest.approx(0.4)
    assert motion.qacc == pytest.approx(0.0, abs=1e-9)
    assert motion.effort == pytest.approx(7.0)


@pytest.mark.parametrize(
    ("samples", "arguments", "code"),
    [
        (recorded(CLOCK), {"cutoff": 0.0}, "bad-cutoff"),
        (recorded(CLOCK), {"cutoff": np.nan}, "bad-cutoff"),
        (recorded(CLOCK), {"rate": -1.0}, "bad-rate"),
        (recorded(CLOCK), {"cutoff": 300.0}, "high-cutoff"),
        (recorded(CLOCK[:400]), {"cutoff": 5.0}, "short-recording"),
        (recorded(np.delete(CLOCK, np.arange(2000, 2200))), {}, "gap"),
    ],
)
def test_bad_signals_are_refused(samples, arguments, code):
    with refused(ParameterError, code):
        to_motion(samples, **arguments)
