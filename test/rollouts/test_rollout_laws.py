# SPDX-License-Identifier: Apache-2.0
"""The machine code of a user's law gives the results of NumPy; errors say why others fail."""

# ruff: noqa: ARG005  laws are given four arguments, whatever they use

import numpy as np
import pytest
from support.refusals import refused
from support.robots import needs_robots
from support.rollouts import robot, starts

import rbdyn_ros as rb
from rbdyn_ros.rollouts.rollout import rollout

pytestmark = needs_robots
BOTH = pytest.mark.parametrize("specialize", [True, False])
REFERENCE = np.linspace(-1.0, 1.0, 6)
BOUND = np.linspace(0.1, 0.6, 6)


def _zeros_like(_, q, v, __):
    tau = np.zeros_like(q)
    tau[0] = np.sin(q[0])
    tau[1:] += np.sqrt(np.abs(q[1:]))
    tau -= v
    return np.sin(tau)


def _masked(_, q, v, r):
    tau = r - q
    tau[tau > BOUND] = 0.25
    tau[(v < 0.0) | (tau < -0.5)] = v[0]
    return tau


def _partly_known(_, q, v, __):
    mask = q > 0.0
    mask[0] = True
    return np.where(~mask, 1.0, v)


LAWS = {
    "clip": lambda t, q, v, r: np.clip(-50.0 * q - 3.0 * v, -2.0, 2.0),
    "clip by arrays": lambda t, q, v, r: np.clip(-50.0 * q, -BOUND, BOUND),
    "clip on one side": lambda t, q, v, r: np.clip(q, None, 0.2) + np.clip(v, -0.1, None),
    "clip by symbols": lambda t, q, v, r: np.clip(q, -np.abs(v), np.abs(v)),
    "minimum, maximum": lambda t, q, v, r: np.minimum(np.maximum(-q, v), r),
    "of one number": lambda t, q, v, r: [
        np.clip(-9.0 * x, -1.0, 1.0) + np.minimum(x, 0.1) + np.maximum(0.2, x) + np.sign(x)
        for x in q
    ],
    "where": lambda t, q, v, r: np.where(np.abs(q) > 0.5, -q, -v),
    "where by time": lambda t, q, v, r: np.where(t > 0.5, -q, -v),
    "and, or, not": lambda t, q, v, r: np.where(
        (q > 0.0) & (v < 0.2) | np.logical_not(q < 0.5),
        -q,
        np.where(np.logical_or(v > 0.0, q <= r), 1.0, 0.0)
        + np.where(np.logical_and(q < v, ~(r >= 0.5)), 2.0, -v),
    ),
    "equal": lambda t, q, v, r: np.where(r == -1.0, q, np.where(r != 1.0, v, 0.5)),
    "a condition as a number": lambda t, q, v, r: (q > 0.0) * 3.0 - q,
    "sign": lambda t, q, v, r: -0.3 * np.sign(v) - np.sign(0.0 * q),
    "arctan2": lambda t, q, v, r: (
        np.arctan2(0.5, q) + np.arctan2(BOUND, q) + np.arctan2(q, 0.5) + np.arctan2(q, v)
        + np.arctan2(q[0], -1.0) + np.arctan2(-1.0, q[0])
    ),
    "reductions": lambda t, q, v, r: -q * np.max(np.abs(v)) + q.min() + np.sum(q) + q @ v,
    "norm": lambda t, q, v, r: -q / np.linalg.norm(q) / np.sqrt(v @ v),
    "any": lambda t, q, v, r: -q if np.any(q > 0.5) else q,
    "all": lambda t, q, v, r: -q if np.all(q < 0.5) else q,
    "zeros_like": _zeros_like,
    "a mask": _masked,
    "a mask that is known in part": _partly_known,
    "known numbers compared": lambda t, q, v, r: np.where(~(np.ones_like(q) > 0.5), 10.0, q),
    "one number clipped by arrays": lambda t, q, v, r: np.clip(9.0 * q[0], -BOUND, BOUND) - v,
    "any of one": lambda t, q, v, r: q + 3.0 * np.any(q[:1]) + np.all(v[:1]),
    "stacked": lambda t, q, v, r: np.maximum(np.stack([q, v]), 0.0)[1] + np.outer(q, v).max(),
    "of a matrix": lambda t, q, v, r: np.max(q[:, None] * v, axis=1) - np.min(q[:, None] * v),
    "known and not": lambda t, q, v, r: np.where((BOUND > 0.3) & (q > 0.0), q, v),
    "how many": lambda t, q, v, r: q * np.sum(1.0 * (v > 0.0)),
    "but for NaN": lambda t, q, v, r: np.fmax(1.0, np.sqrt(q)) + np.fmin(np.sqrt(q), 1.0),
    "put together": lambda t, q, v, r: np.concatenate([-q[:3], np.tanh(v[3:])]) + np.stack([*r]),
    "matrices": lambda t, q, v, r: -np.diag(BOUND) @ q + np.outer(q, v) @ q,
    "powers": lambda t, q, v, r: -(q**3) + np.square(v) + np.float64(2.0) * q[0] * t,
    "not a number": lambda t, q, v, r: [
        np.minimum(np.sqrt(-1.0 - q[0] * q[0]), 1.0), np.maximum(1.0, np.sqrt(-1.0 - q[0] ** 2)),
        np.maximum(np.sqrt(-1.0 - q[0] ** 2), v[0]), np.minimum(v[0], np.sqrt(-1.0 - q[0] ** 2)),
        np.sign(np.sqrt(-1.0 - q[0] ** 2)), np.clip(np.sqrt(-1.0 - q[0] ** 2), -1.0, 1.0),
    ],
}  # fmt: skip


@BOTH
@pytest.mark.parametrize("name", LAWS)
@pytest.mark.filterwarnings("ignore:invalid value encountered in sqrt")
def test_laws_compute_the_same_as_numpy(name, specialize):
    """The expected forces of the first step come from the function, called with numbers."""
    law, (qpos, qvel) = LAWS[name], starts(robot("arm"), 24)
    r = rollout(robot("arm"), qpos, qvel, REFERENCE, nstep=1, policy=law, specialize=specialize,
                outputs=("qfrc_applied",))  # fmt: skip
    expected = np.array(
        [np.array(law(0.0, q, v, REFERENCE), float) for q, v in zip(qpos, qvel, strict=True)]
    )
    assert np.isnan(expected).all() == (name == "not a number")
    np.testing.assert_allclose(r.qfrc_applied[:, 0], expected, rtol=0.0, atol=1e-13)


def _keeping(change):
    kept = []

    def law(_, q, __, ___):
        if not kept:
            kept.append(q.copy())
        return change(kept[0])

    return law


def _halving(_, q, __, ___):
    x, times = q[0], 0
    while x > 0.1:
        x, times = 0.5 * x, times + 1
    return times * q


def _into_numbers(_, q, __, ___):
    tau = np.zeros(6)
    tau[0] = q[0]
    return tau


def _mask_of_arrays(_, q, v, __):
    tau = q.copy()
    tau[q > 0.0] = v
    return tau


def _places(_, q, v, __):
    tau = v.copy()
    tau[np.zeros_like(q, dtype=int) + 2] = 7.0 * q[0]
    tau[np.where(q > 0.0, 1, 0)] = 7.0
    return tau


REFUSED = {
    "keeps": _keeping(lambda q: -5.0 * q),
    "keeps it as it is": _keeping(lambda q: q),
    "loops": _halving,
    "branches": lambda t, q, v, r: [1.0 if x > 0.0 else -x for x in q],
    "fills an array of numbers": _into_numbers,
    "a mask to read by": lambda t, q, v, r: q[q > 0.0],
    "places for a mask": _places,
    "where=": lambda t, q, v, r: q + np.sum(q, where=q > 0.0),
    "a sum of conditions": lambda t, q, v, r: 5.0 * ((q > 0.0) + (v > 0.0)),
    "a sum of all": lambda t, q, v, r: q * np.sum(v > 0.0),
    "a function that passes over": lambda t, q, v, r: np.nan_to_num(np.sqrt(q)),
    "a mask for arrays": _mask_of_arrays,
    "a remainder": lambda t, q, v, r: q % 1.0,
    "another function": lambda t, q, v, r: np.expm1(q),
    "too few": lambda t, q, v, r: q[:3],
    "one": lambda t, q, v, r: 0.0,
    "texts": lambda t, q, v, r: ["1"] * 6,
    "complex": lambda t, q, v, r: [np.complex128(1j)] * 6,
    "too large": lambda t, q, v, r: [10**400] * 6,
    "three arguments": lambda t, q, v: q,
    "a class": rb.PDPolicy,
}


@BOTH
@pytest.mark.parametrize("name", REFUSED)
def test_bad_laws_are_refused(name, specialize):
    law = REFUSED[name]
    with refused(rb.ParameterError, "policy", "policy"):
        rollout(robot("arm"), np.zeros(6), np.zeros(6), nstep=1, policy=law, specialize=specialize)


def test_a_user_joint_that_loops_runs_but_cannot_be_traced():
    """The engine can run its code, but tracing it would never end."""

    @rb.register_joint("winding", parameters=("lift",))
    def winding(q, qd, p, E, r, S, S_dot):
        x = q[0]
        while x > np.pi:
            x -= 2.0 * np.pi
        r[2] = p[0] * x
        S[5, 0] = p[0]

    builder = rb.SystemBuilder("winch").body("drum", rb.shapes.box((0.6, 0.2, 0.3), mass=1.5))
    builder.joint("turns", "winding", "base", "drum", lift=0.2)
    m = rb.build(builder)
    rb.step(m, rb.make_data(m), 3)
    with refused(rb.ModelError, "not-traceable", "'winch'"):
        rb.specialize(m)
