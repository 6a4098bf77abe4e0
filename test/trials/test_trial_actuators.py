# SPDX-License-Identifier: Apache-2.0
"""A run of a robot with actuators has the bits of steps of a Model built by hand."""

import numpy as np
import pytest
from support.refusals import refused
from support.trials import joint, text, trial

import rbdyn_ros as rb
from rbdyn_ros import trials
from rbdyn_ros.errors import DescriptionError
from rbdyn_ros.rollouts.params import OF_ACTUATORS
from rbdyn_ros.share import bundled_robot
from rbdyn_ros.trials.simulation.runs import run_shard
from rbdyn_ros.trials.simulation.simulated import HistoryWatcher

FILE = f"""\
rbdyn_actuators: 1
actuators:
  {joint()}:
    gear: 20
    armature: 1e-4
    motorconst: [0.07, 0.05]
    resistance: 0.4
    inductance: 2e-4
    thermal: {{resistance: 2.5, timeconst: 0.5, tempcoef: 0.004}}
    lugre: {{coulomb: 0.002}}
"""

VARY = """{actuators: {gear: {uniform: {low: 15, high: 25}},
  motorconst_error: {normal: {mean: 0, stddev: 0.1, low: -0.5, high: 0.5}},
  delay: {choice: [0, 0.001, 0.003]}, thermal: {ambient: {uniform: {low: 10, high: 40}}},
  lugre: {coulomb: {JOINT: {uniform: {low: 0.001, high: 0.004}}}}, voltage: 12},
  dof_armature: {uniform: {low: 0, high: 0.1}}}"""


@pytest.fixture
def found(tmp_path):
    (tmp_path / "actuators.yaml").write_text(FILE)
    vary = VARY.replace("JOINT", joint())
    return trial(tmp_path, actuators="actuators.yaml", vary=vary, timestep=0.001)


def built(values):
    """Return the Model of a run, built from the numbers in its row."""
    m, name = rb.load_urdf(bundled_robot("pendulum")), joint()
    coulomb = values[f"actuators.lugre.coulomb.{name}"]
    spec = rb.ActuatorSpec(
        name, gear=values[f"actuators.gear.{name}"], armature=1e-4, motorconst=(0.07, 0.05),
        motorconst_error=values[f"actuators.motorconst_error.{name}"], resistance=0.4,
        inductance=2e-4, voltage=12.0, delay=values[f"actuators.delay.{name}"],
        thermal=(2.5, 0.5 / 2.5, 0.004, 25.0, values[f"actuators.thermal.ambient.{name}"]),
        lugre=(coulomb / 1e-3, 0.0, coulomb, coulomb, 1.0),
    )  # fmt: skip
    own = m.replaced(dof_armature=[values[f"dof_armature.{name}"]])
    return rb.with_actuators(own, [spec])


def test_a_run_gives_the_bits_of_a_model_built_with_its_actuators(found):
    seeds = [3, 4, 5, 6]
    watcher = HistoryWatcher(found, len(seeds))
    runs = run_shard(found, seeds, watcher)
    delays = set()
    for i, run in enumerate(runs):
        m, seen = built(run.values), watcher.history(i, run.seed, dict(run.values))
        d = rb.make_data(m)
        d.qpos[0] = run.values[f"start.position.{joint()}"]
        for effort, qpos, qvel in zip(seen.effort, seen.qpos, seen.qvel, strict=True):
            d.qfrc_applied[:] = effort
            rb.step(m, d)
            assert d.qpos.tobytes() == qpos.tobytes()
            assert d.qvel.tobytes() == qvel.tobytes()
        delays.add(int(m.actuator_delay[0]))
    assert len(delays) > 1
    assert run_shard(found, [5])[0] == runs[2]


def test_a_recording_contains_the_actuators_of_its_run_and_their_states(found, tmp_path):
    payload = "{link: rod, mass: {uniform: {low: 0.1, high: 1}}, z: -0.5}"
    vary = VARY.replace("JOINT", joint())
    found = trial(tmp_path, actuators="actuators.yaml", vary=vary, payload=payload)
    run = trials.record(found, 4, tmp_path / "run.mcap")
    assert run == trials.repeat(found, 4)
    read, m = rb.read_run(tmp_path / "run.mcap"), built(run.values)
    for name in (*OF_ACTUATORS, "dof_armature", "dof_inertia0"):
        np.testing.assert_array_equal(getattr(read.m, name), getattr(m, name))
    # the batch has room for the longest delay
    assert m.actuator_delay[0] < found.plant.actuator_delay[0]
    d = rb.make_data(read.m)
    read.restore(d, 99)
    for k in range(100, 120):
        d.qfrc_applied = read.effort[k]
        rb.step(read.m, d)
        np.testing.assert_array_equal(d.qpos, read.qpos[k])
        np.testing.assert_array_equal(d.act, read.act[k])


#: Variations that are refused, and words of the message.
BAD = {
    "{gear: {knee: 2}}": "unknown-joint",
    "{gear: {uniform: {low: -1, high: 20}}}": "bad-distribution",
    "{gaer: 2}": "unknown-key",
    "{derating: 2}": "unknown-key",
    "{lugre: 2}": "bad-value",
    "{lugre: {coulom: 2}}": "unknown-key",
    "{lugre: {static: {uniform: {low: 0.001, high: 0.01}}, stribeck: 1}}": "bad-distribution",
    "{lugre: {coulomb: {choice: [0.01, 0.03]}, static: 0.02, stribeck: 1}}": "bad-distribution",
    "{motorconst_error: {normal: {mean: 0, stddev: 0.1}}}": "bad-distribution",
    "{delay: {choice: [0, 0.0005]}}": "bad-distribution",
    "{delay: {uniform: {low: 0, high: 2}}}": "bad-distribution",
    "{resistance: 0}": "bad-distribution",
    "{elastic: {damping: 1}}": "bad-distribution",
}


@pytest.mark.parametrize("vary", BAD)
def test_the_error_about_an_impossible_actuator_names_its_line(tmp_path, vary):
    (tmp_path / "actuators.yaml").write_text(FILE)
    given = f"\n  dof_damping: 1\n  actuators: {vary}"
    written = text(actuators="actuators.yaml", vary=given)
    (tmp_path / "trial.yaml").write_text(written)
    with refused(DescriptionError, BAD[vary]) as caught:
        trials.load(tmp_path / "trial.yaml")
    assert "actuators: {" in written.splitlines()[caught.value.line - 1]


def test_a_missing_or_unsuitable_actuators_file_of_a_trial_is_refused(tmp_path):
    (tmp_path / "actuators.yaml").write_text(FILE.replace(joint(), "knee"))
    for changed, code in (
        ({"actuators": "actuators.yaml"}, "bad-actuators"),
        ({"actuators": "nowhere.yaml", "vary": "{actuators: {gear: 2}}"}, "bad-actuators"),
        ({"vary": "{actuators: {gear: 2}}"}, "no-actuators"),
    ):
        (tmp_path / "trial.yaml").write_text(text(**changed))
        with refused(DescriptionError, code):
            trials.load(tmp_path / "trial.yaml")


def test_other_actuators_change_the_digest_of_a_trial(found, tmp_path):
    (tmp_path / "actuators.yaml").write_text(FILE.replace("0.4", "0.5"))
    assert trials.load(tmp_path / "trial.yaml").digest != found.digest
