# SPDX-License-Identifier: Apache-2.0
"""Runs agree with a simulation step by step in Python, and their measures with NumPy."""

import math

import numpy as np
import pytest
from support.trials import joint, trial

import rbdyn_ros as rb
from rbdyn_ros import trials
from rbdyn_ros.runtime.kernels.noise import COMMAND_DROP, ENCODER, SPEED, normal, uniform
from rbdyn_ros.share import bundled_robot
from rbdyn_ros.trials.simulation.runs import run_shard
from rbdyn_ros.trials.simulation.simulated import HistoryWatcher

KP, KD = 40.0, 4.0

#: The law pd_gravity of the pendulum as a function that can be compiled, and as a class.
POLICY = f"""
import numpy as np

def control(t, qpos, qvel, reference):
    gravity = 9.81 * 0.5 * np.sin(qpos)
    return {KP} * (reference[:1] - qpos) + {KD} * (reference[1:2] - qvel) + gravity

class Kept:
    def __init__(self, m):
        self.calls = 0

    def __call__(self, t, qpos, qvel, reference):
        self.calls += 1
        assert round(t / 0.001) == self.calls - 1
        return control(t, qpos, qvel, reference)
"""

FAULTS = (
    "{command_delay: 0.003, command_drop: 0.3, state_delay: 0.002, position_noise: 1e-3, "
    "velocity_noise: 1e-2, effort_scale: 0.9}"
)


def history(found, seed=5):
    """Simulate one run; return its Run and its history of states."""
    watcher = HistoryWatcher(found, 1)
    (run,) = run_shard(found, [seed], watcher)
    return run, watcher.history(0, seed, dict(run.values))


def stepped(found, run, faults):
    """Simulate a run with rb.step and explicit faults; return rows (qpos, qvel, effort)."""
    m, d = found.m, rb.make_data(found.m)
    d.qpos[0] = run.values[f"start.position.{joint()}"]
    every, rows, held, commands, states = found.controller.every, [], 0.0, [], []
    late, old = round(faults["command_delay"] * 1000), round(faults["state_delay"] * 1000)
    for k in range(found.nstep):
        states.append((d.qpos[0], d.qvel[0]))
        if k % every == 0:
            q, v = states[max(0, k - old)]
            q += faults["position_noise"] * normal(run.seed, k, ENCODER, 0)
            v += faults["velocity_noise"] * normal(run.seed, k, SPEED, 0)
            target = found.reference[k]
            effort = KP * (target[0] - q) + KD * (target[1] - v) + 0.5 * 9.81 * math.sin(q)
        commands.append(effort)
        sent = k - late
        if (
            sent >= 0
            and uniform(run.seed, sent // every, COMMAND_DROP, 0) >= faults["command_drop"]
        ):
            held = commands[sent]
        d.qfrc_applied[0] = faults["effort_scale"] * held
        rb.step(m, d)
        rows.append((d.qpos[0], d.qvel[0], d.qfrc_applied[0]))
    return np.array(rows)


@pytest.mark.parametrize("rate", [1000, 250])
@pytest.mark.parametrize("kind", ["law", "traced", "python"])
def test_a_run_equals_a_simulation_with_its_faults_written_out(tmp_path, kind, rate):
    code = {
        "law": f"law: pd_gravity, stiffness: {KP}, damping: {KD}",
        "traced": "traced: 'policy.py:control'",
        "python": "python: 'policy.py:control'",
    }
    controller = f"{{{code[kind]}, rate: {rate}}}"
    found = trial(tmp_path, POLICY, controller=controller, faults=FAULTS)
    run, states = history(found)
    faults = {name.removeprefix("faults."): value for name, value in run.values.items()}
    expected = stepped(found, run, faults)
    own = np.concatenate([states.qpos, states.qvel, states.effort], axis=1)
    # vector code and the engine round differently, which feedback does not amplify within 0.2 s
    np.testing.assert_allclose(own, expected, rtol=0, atol=1e-10)
    assert run.status == "finished"


def test_the_measures_match_the_states(tmp_path):
    found = trial(tmp_path, measures="{settling_band: 0.01}")
    run, states = history(found)
    error = states.qpos - states.reference[:, :1]
    final = states.reference[-1, 0]
    outside = np.flatnonzero(abs(states.qpos[:, 0] - final) > 0.01)
    start = run.values[f"start.position.{joint()}"]
    past = (states.qpos[:, 0] - final) * np.sign(final - start)
    expected = {
        "tracking_rms": np.sqrt(np.mean(error**2)),
        "tracking_max": abs(error).max(),
        "overshoot": max(0.0, past.max()),
        "settling_time": states.time[outside[-1]] if outside[-1] < found.nstep - 1 else None,
        "effort_rms": np.sqrt(np.mean(states.effort**2)),
        "effort_max": abs(states.effort).max(),
        "effort_ratio": 0.0,  # the joint has no limits
        "velocity_ratio": 0.0,
        "energy": 0.001 * abs(states.effort * states.qvel).sum(),
        "beyond_range": 0.0,
    }
    assert run.measures.keys() == expected.keys()
    for name, value in expected.items():
        assert run.measures[name] == pytest.approx(value, rel=1e-12, abs=1e-15), name


def test_a_run_has_the_payload_and_the_parameters_of_its_row(tmp_path):
    found = trial(
        tmp_path, faults=None, start=None, controller="{law: pd, stiffness: 0, damping: 0}",
        payload="{link: rod, mass: {uniform: {low: 0, high: 2}}, x: 0.2, z: -0.9}",
        vary="{dof_damping: {uniform: {low: 0, high: 1}}}",
    )  # fmt: skip
    run, states = history(found)
    laden = rb.with_payload(found.m, "rod", run.values["payload.mass"], (0.2, 0.0, -0.9))
    laden = laden.replaced(dof_damping=np.array([run.values[f"dof_damping.{joint()}"]]))
    d = rb.make_data(laden)
    rb.step(laden, d, found.nstep)
    assert abs(d.qpos[0]) > 1e-3
    np.testing.assert_allclose(states.qpos[-1], d.qpos, rtol=0, atol=1e-13)


@pytest.mark.parametrize("exact", [False, True])
def test_a_joint_below_its_friction_creeps_or_stands_still(tmp_path, exact):
    """Under a torque T the joint creeps at 1e-3 T / F with smooth friction, else it rests."""
    found = trial(
        tmp_path, "def control(t, qpos, qvel, reference):\n    return 0.0 * qvel\n",
        controller="{traced: 'policy.py:control'}", start=f"{{position: {{{joint()}: 0.5}}}}",
        vary=f"{{dof_frictionloss: {{{joint()}: 20.0}}}}", exact_stops=str(exact).lower(),
    )  # fmt: skip
    _, seen = history(found)
    load = 9.81 * 0.5 * math.sin(0.5)
    creep = 0.0 if exact else 1e-3 * load / 20.0
    np.testing.assert_allclose(seen.qvel[-1, 0], -creep, rtol=1e-3, atol=0.0)
    assert found.digest != trial(tmp_path, exact_stops=str(not exact).lower()).digest


def test_efforts_are_limited_and_measures_compare_with_the_limits(tmp_path):
    arm = bundled_robot("seven_dof_arm")
    found = trial(
        tmp_path, robot=arm, reference="{elbow_pitch: 2.0}", start=None, limits=None,
        controller="{law: pd, stiffness: 1e4, damping: 10}", duration=0.5,
    )  # fmt: skip
    run, states = history(found)
    assert (abs(states.effort) <= found.m.jnt_effort).all()
    assert run.measures["effort_ratio"] == 1.0
    elbow = states.qpos[:, found.m.jnt_names.index("elbow_pitch")]
    assert run.measures["beyond_range"] == pytest.approx(elbow.max() - 1.05)
    assert run.measures["velocity_ratio"] > 1.0


def test_the_measures_of_a_floating_base_are_its_height_and_tilt(tmp_path):
    found = trial(
        tmp_path, floating_base="true", reference=None, start=None, faults=None,
        robot=bundled_robot("seven_dof_arm"), limits="{base_height: {min: -0.1}}",
        controller="{law: pd, stiffness: 0, damping: 0}",
    )  # fmt: skip
    run, states = history(found)
    # n semi-implicit steps fall h^2 g sum(1 ... n), and a freely falling body does not rotate
    fallen = 0.5 * 9.81 * 0.2 * 0.201
    assert run.measures["base_height"] == pytest.approx(-fallen, rel=1e-9)
    assert run.measures["base_tilt"] == pytest.approx(0.0, abs=1e-9)
    assert states.qpos.shape == (200, 14)


def test_a_run_does_not_depend_on_the_other_runs(tmp_path):
    found = trial(tmp_path, faults=FAULTS)
    whole = run_shard(found, list(range(20)))
    assert run_shard(found, [7]) == [whole[7]]
    assert run_shard(found, [19, 7, 3]) == [whole[19], whole[7], whole[3]]
    assert len({run.state for run in whole}) == 20


def test_every_run_gets_a_new_object_of_a_controller_class(tmp_path):
    kept = trial(tmp_path, POLICY, controller="{python: 'policy.py:Kept'}")
    plain = trial(tmp_path, POLICY, controller="{python: 'policy.py:control'}")
    for seed in (1, 2):
        assert trials.repeat(kept, seed) == trials.repeat(plain, seed)


def test_the_status_of_a_run_reports_nan_commands_and_a_diverging_state(tmp_path):
    nan = "import numpy as np\ndef control(t, qpos, qvel, reference):\n"
    nan += "    return qvel * np.where(t > 0.05, np.nan, 0.0)\n"
    found = trial(tmp_path, nan, controller="{traced: 'policy.py:control'}")
    run, _ = history(found)
    assert run.status == "not finite"
    growing = "{law: pd, stiffness: 1e9, damping: 0}"
    found = trial(
        tmp_path, controller=growing, faults="{command_delay: 0.002, effort_scale: -1e12}"
    )
    run, _ = history(found)
    assert run.status in ("diverged", "not finite")


def test_a_measure_of_the_user_gets_the_history(tmp_path):
    code = "def last(run):\n    return run.qpos[-1, 0] + run.values['faults.command_delay']\n"
    code += "def broken(run):\n    return run.qpos[-1, 7]\n"
    found = trial(tmp_path, code, measures="{last: {python: 'policy.py:last'}}")
    run, states = history(found)
    assert run.measures["last"] == states.qpos[-1, 0] + run.values["faults.command_delay"]
    found = trial(tmp_path, code, measures="{last: {python: 'policy.py:broken'}}")
    run, _ = history(found)
    assert run.status == "measure failed"
    assert "IndexError" in run.why
    assert "policy.py, line 4" in run.why
