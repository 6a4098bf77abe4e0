# SPDX-License-Identifier: Apache-2.0
"""A robot's bits depend neither on the other robots nor on the number of threads."""

import functools

import numpy as np
import pytest
from support.robots import needs_robots
from support.rollouts import light_forces, robot, starts

from rbdyn_ros.rollouts import job as module
from rbdyn_ros.rollouts.lane_step import LaneStep
from rbdyn_ros.rollouts.policies import PDGravityPolicy
from rbdyn_ros.rollouts.rollout import rollout

NBATCH, NSTEP = 21, 10
BOTH = pytest.mark.parametrize("specialize", [True, False])


def rolled(m, rows=slice(None), **more):
    """Return the Rollout of robots `rows` of NBATCH robots, which all have different inputs."""
    qpos, qvel = starts(m, NBATCH)
    mass = m.body_mass * np.random.default_rng(2).uniform(0.8, 1.2, (NBATCH, 1))
    policy = PDGravityPolicy(np.linspace(5.0, 20.0, NBATCH)[rows, None], 1.0)
    reference = np.concatenate([qpos[::-1], qvel], axis=1)[:, None]
    return rollout(
        m, qpos[rows], qvel[rows], reference[rows], nstep=NSTEP, policy=policy,
        params={"body_mass": mass[rows]}, **more,
    )  # fmt: skip


def assert_same(found, expected):
    for name, array in expected.outputs.items():
        np.testing.assert_array_equal(getattr(found, name), array, name)


@needs_robots
@BOTH
def test_result_bits_do_not_depend_on_the_number_of_threads(specialize):
    m = robot("arm")
    expected = rolled(m, threads=1, specialize=specialize)
    for threads in (2, 7):
        assert_same(rolled(m, threads=threads, specialize=specialize), expected)


@needs_robots
@BOTH
@pytest.mark.parametrize("rows", [slice(0, 1), slice(3, 12), slice(None, None, -1)])
def test_result_bits_do_not_depend_on_the_other_robots_of_a_batch(specialize, rows):
    m = robot("arm")
    expected = rolled(m, specialize=specialize)
    found = rolled(m, rows, specialize=specialize)
    for name, array in expected.outputs.items():
        np.testing.assert_array_equal(getattr(found, name), array[rows], name)


@needs_robots
@BOTH
def test_result_bits_do_not_depend_on_the_size_of_pieces_of_work(specialize, monkeypatch):
    m = robot("arm")
    expected = rolled(m, specialize=specialize)
    # a piece is one step, some steps of a block, or all steps
    for piece in (1, 4 * 8 * m.nv, 10**9):
        monkeypatch.setattr(module, "PIECE_WORK", piece)
        assert_same(rolled(m, specialize=specialize), expected)


@needs_robots
def test_result_bits_do_not_depend_on_the_number_of_lanes(monkeypatch):
    m = robot("arm")
    expected = rolled(m)
    for width in (1, 2, 4, 8):
        step = functools.partial(LaneStep, width=width)
        monkeypatch.setattr(module, "LaneStep", step)
        assert_same(rolled(m.replaced()), expected)  # a new Model has no stored code


@needs_robots
@BOTH
def test_result_bits_do_not_depend_on_neighbours_that_diverge(specialize):
    m = robot("arm")
    qpos, qvel = starts(m, NBATCH)
    ctrl = light_forces(m, (NBATCH, NSTEP))
    expected = rollout(m, qpos, qvel, ctrl, nstep=NSTEP, specialize=specialize)
    lost = np.array([2, 9, 20])
    wild = qvel.copy()
    wild[lost] = 1e200  # the square of this number overflows
    found = rollout(m, qpos, wild, ctrl, nstep=NSTEP, specialize=specialize)
    well = np.setdiff1d(np.arange(NBATCH), lost)
    np.testing.assert_array_equal(found.diverged, np.isin(np.arange(NBATCH), lost))
    assert not np.isfinite(found.qvel[lost, -1]).all()
    np.testing.assert_array_equal(found.qpos[well], expected.qpos[well])
    np.testing.assert_array_equal(found.qvel[well], expected.qvel[well])
    np.testing.assert_array_equal(found.nbad[well], 0)


@needs_robots
def test_specialised_and_generic_code_count_a_massless_robot_in_nbad():
    """Each step counts each dof without inertia once."""
    m = robot("arm").replaced(dof_armature=np.zeros(6))
    mass = np.concatenate([[m.body_mass], [0.0 * m.body_mass]])
    inertia = np.stack([m.body_fullinertia, 0.0 * m.body_fullinertia])
    params = {"body_mass": mass, "body_fullinertia": inertia}
    for specialize in (True, False):
        found = rollout(m, m.qpos0, np.zeros(6), nstep=2, params=params, specialize=specialize)
        assert found.nbad.tolist() == [0, 12]
        assert found.diverged.tolist() == [False, True]
