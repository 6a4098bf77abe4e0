# SPDX-License-Identifier: Apache-2.0
"""Policy files, and exports of Isaac Lab, mjlab and legged_gym, are read or refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from support import networks
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.policies.reader import read_policy, read_policy_text

SEEDS = Path(__file__).parents[1] / "fuzz" / "seeds" / "good"
PLAIN = {
    "rbdyn_policy": 1,
    "network": "walk.onnx",
    "joints": ["hip", "knee"],
    "rate": 50,
    "stiffness": 20,
    "damping": [0.5, 0.6],
    "action": {"scale": 0.25},
    "observation": [{"term": "joint_pos_rel"}, {"term": "base_ang_vel", "scale": 0.25}],
}


def written(**changes):
    return json.dumps(PLAIN | changes)


def test_the_keys_of_a_policy_file_are_read():
    spec = read_policy_text(
        written(
            default_position=[0.1, -0.2],
            action={"scale": [0.25, 0.5], "clip": 3},
            command={"forward": [-0.5, 1]},
        )
    )
    assert spec.joints == ("hip", "knee")
    np.testing.assert_array_equal(spec.stiffness, [20, 20])
    np.testing.assert_array_equal(spec.damping, [0.5, 0.6])
    np.testing.assert_array_equal(spec.action_offset, spec.default_position)
    np.testing.assert_array_equal(spec.command_range[0], [-0.5, 1.0])
    assert np.isinf(spec.command_range[1:]).all()
    assert [spec.size(term) for term in spec.terms] == [2, 3]


#: Changes of PLAIN, and the code of the error that they cause.
BAD = [
    ({"joints": []}, "bad-value"),
    ({"joints": "hip"}, "bad-value"),
    ({"joints": ["hip", ""]}, "bad-value"),
    ({"stiffness": -1}, "bad-value"),
    ({"stiffness": [1, -2]}, "bad-value"),
    ({"stiffness": "stiff"}, "bad-value"),
    ({"damping": {"hip": 1}}, "bad-value"),
    ({"default_position": ["zero", 0]}, "bad-value"),
    ({"rate": 0}, "bad-value"),
    ({"rate": 1e9}, "bad-value"),
    ({"rate": [50]}, "bad-value"),
    ({"network": ["a"]}, "bad-value"),
    ({"action": 0.25}, "bad-value"),
    ({"action": {}}, "missing-key"),
    ({"action": {"scale": 1, "clip": 0}}, "bad-value"),
    ({"action": {"scale": 1, "range": 3}}, "unknown-key"),
    ({"observation": []}, "bad-value"),
    ({"observation": [3]}, "bad-value"),
    ({"observation": [{}]}, "missing-key"),
    ({"observation": [{"term": "height_scan"}]}, "bad-value"),
    ({"observation": [{"term": "base_ang_vel", "clip": [1]}]}, "bad-value"),
    ({"observation": [{"term": "base_ang_vel", "history": 0}]}, "bad-value"),
    ({"observation": [{"term": "base_ang_vel", "history": 1.5}]}, "bad-value"),
    ({"observation": [{"term": "gait_phase", "period": 0}]}, "bad-value"),
    ({"observation": [{"term": "gait_phase", "time": 1}]}, "unknown-key"),
    ({"command": [1, 2]}, "bad-value"),
    ({"command": {"turn": 1}}, "bad-value"),
    ({"command": {"up": [0, 1]}}, "unknown-key"),
    ({"gains": 3}, "unknown-key"),
]
#: Changes that no schema can refuse: the error depends on two keys, or on the size of a term.
TOGETHER = [
    ({"joints": ["hip", "hip"]}, "duplicate-name"),
    ({"stiffness": [1, 2, 3]}, "bad-value"),
    ({"action": {"scale": 1, "offset": [0, 1, 2]}}, "bad-value"),
    ({"observation": [{"term": "base_ang_vel", "scale": [1, 2]}]}, "bad-value"),
    ({"observation": [{"term": "joint_pos_rel", "clip": [1, -1]}]}, "bad-value"),
    ({"command": {"turn": [1, -1]}}, "bad-value"),
    ({"rbdyn_policy": 2}, "not-a-policy-file"),
]


@pytest.mark.parametrize(("changes", "code"), [*BAD, *TOGETHER])
def test_bad_files_are_refused(changes, code):
    with refused(rb.DescriptionError, code):
        read_policy_text(written(**changes))


@pytest.mark.parametrize("key", [key for key in PLAIN if key != "rbdyn_policy"])
def test_a_missing_key_is_refused(key):
    with refused(rb.DescriptionError, "missing-key"):
        read_policy_text(json.dumps({name: x for name, x in PLAIN.items() if name != key}))


ISAAC_LAB = (SEEDS / "policy.isaac_lab.yaml").read_text()


def test_an_export_of_isaac_lab_is_read(tmp_path):
    path = tmp_path / "deploy.yaml"
    path.write_text(ISAAC_LAB)
    spec = read_policy(path, joints=["first", "second"])
    assert spec.joints == ("second", "first")
    np.testing.assert_array_equal(spec.stiffness, [20, 10])  # gains are in the order of the robot
    # these are in the order of the network
    np.testing.assert_array_equal(spec.default_position, [0.2, -0.1])
    np.testing.assert_array_equal(spec.command_range, [[-0.5, 1], [-0.3, 0.3], [-0.2, 0.2]])
    assert spec.rate == 50.0
    assert [(term.name, term.history) for term in spec.terms] == [
        ("base_ang_vel", 5),
        ("joint_pos_rel", 1),
        ("gait_phase", 1),
    ]
    assert spec.terms[1].clip == (-10.0, 10.0)
    assert spec.terms[2].period == 0.8
    assert spec.network == tmp_path / "../exported/policy.onnx"


@pytest.mark.parametrize(
    ("before", "after", "code"),
    [
        ("joint_ids_map: [1, 0]", "joint_ids_map: [1, 1]", "bad-order"),
        ("joint_ids_map: [1, 0]", "joint_ids_map: [0]", "bad-value"),
        ("joint_ids_map: [1, 0]", "joint_ids_map: [1.7, 0.2]", ["bad-value"] * 2),
        ("joint_ids_map: [1, 0]", "joint_ids_map: [1, 2]", "bad-order"),
        ("default_joint_pos: [0.2, -0.1]", "default_joint_pos: [0.2]", "bad-value"),
        ("step_dt: 0.02", "step_dt: 0.02\nstep_dt: 0.01", "duplicate-key"),
        ("scale: [0.2, 0.2, 0.2]", "scale: [0.2, 0.2]", "bad-value"),
        ("  base_ang_vel:", "  height_scan:", "unknown-term"),
        ("JointPositionAction", "JointVelocityAction", ["unknown-key", "missing-key"]),
        (
            "    clip: null\n    joint_names",
            "    clip: [-1, 1]\n    joint_names",
            "unknown-action",
        ),
        ("step_dt", "step", "missing-key"),
        ("step_dt: 0.02", "step_dt: 0", "bad-value"),
        ("step_dt: 0.02", "step_dt: fast", "bad-value"),
        ("stiffness: [10.0, 20.0]", "stiffness: [10.0]", "joint-names"),
        ("observations:\n", "observations: none\nothers:\n", "bad-value"),
        ("  base_ang_vel:\n    params: {}", "  base_ang_vel:\n    params: 3", "bad-value"),
        ("    history_length: 5", "    history_length: 1.5", "bad-value"),
    ],
)
def test_unusable_exports_of_isaac_lab_are_refused(tmp_path, before, after, code):
    path = tmp_path / "deploy.yaml"
    assert before in ISAAC_LAB
    path.write_text(ISAAC_LAB.replace(before, after))
    with refused(rb.DescriptionError, code):
        read_policy(path, joints=["first", "second"])


def test_an_export_of_isaac_lab_can_have_unused_motor_numbers(tmp_path):
    path = tmp_path / "deploy.yaml"
    text = ISAAC_LAB.replace("joint_ids_map: [1, 0]", "joint_ids_map: [2, 0]")
    text = text.replace("stiffness: [10.0, 20.0]", "stiffness: [10.0, 0.0, 20.0]")
    path.write_text(text.replace("damping: [1.0, 2.0]", "damping: [1.0, 0.0, 2.0]"))
    spec = read_policy(path, joints=["first", "", "third"])
    assert spec.joints == ("third", "first")
    np.testing.assert_array_equal(spec.damping, [2, 1])


LEGGED_GYM = {
    "policy_path": "{LEGGED_GYM_ROOT_DIR}/motion.pt",
    "simulation_dt": 0.002,
    "control_decimation": 10,
    "kps": [20.0] * 12,
    "kds": [0.5] * 12,
    "default_angles": networks.STANDING,
    "lin_vel_scale": 2.0,
    "ang_vel_scale": 0.25,
    "dof_pos_scale": 1.0,
    "dof_vel_scale": 0.05,
    "action_scale": 0.25,
    "cmd_scale": [2.0, 2.0, 0.25],
    "num_obs": 48,
}
COMMON = ["base_ang_vel", "projected_gravity", "velocity_commands"]
JOINTS = ["joint_pos_rel", "joint_vel_rel", "last_action"]


@pytest.mark.parametrize(
    ("size", "terms"),
    [
        (45, [*COMMON, *JOINTS]),
        (48, ["base_lin_vel", *COMMON, *JOINTS]),
        (47, [*COMMON, *JOINTS, "gait_phase"]),
    ],
)
def test_a_configuration_of_legged_gym_is_read(tmp_path, size, terms):
    path = tmp_path / "go2.yaml"
    path.write_text(json.dumps(LEGGED_GYM | {"num_obs": size}))
    spec = read_policy(path, network=tmp_path / "motion.onnx", joints=networks.GO2)
    assert [term.name for term in spec.terms] == terms
    assert sum(map(spec.size, spec.terms)) == size
    assert spec.rate == 50.0
    path.write_text(json.dumps(LEGGED_GYM | {"num_obs": size, "dof_vel_scale": 0.0}))
    spec = read_policy(path, network=tmp_path / "motion.onnx", joints=networks.GO2)
    assert next(x for x in spec.terms if x.name == "joint_vel_rel").scale == (0.0,)


def test_unusable_configurations_of_legged_gym_are_refused(tmp_path):
    path = tmp_path / "go2.yaml"
    path.write_text(json.dumps(LEGGED_GYM))
    with refused(rb.DescriptionError, "not-onnx"):
        read_policy(path, joints=networks.GO2)
    path.write_text(json.dumps(LEGGED_GYM | {"num_obs": 60}))
    with refused(rb.DescriptionError, "unknown-layout"):
        read_policy(path, network="motion.onnx", joints=networks.GO2)


METADATA = {
    "joint_names": "hip,knee",
    "joint_stiffness": "20.000,30.000",
    "joint_damping": "1.000,2.000",
    "default_joint_pos": "0.100,0.200",
    "observation_names": "base_lin_vel,joint_pos,actions,command",
    "action_scale": "0.500,0.250",
}


def test_an_export_of_mjlab_is_read(tmp_path):
    path = networks.linear(tmp_path / "p.onnx", np.zeros((2, 10)), np.zeros(2), METADATA)
    spec = rb.load_policy(path).spec
    assert spec.joints == ("hip", "knee")
    assert [term.name for term in spec.terms] == [
        *("base_lin_vel", "joint_pos_rel", "last_action", "velocity_commands")
    ]
    np.testing.assert_array_equal(spec.action_scale, [0.5, 0.25])
    lacking = {name: text for name, text in METADATA.items() if name != "action_scale"}
    networks.linear(path, np.zeros((2, 10)), np.zeros(2), lacking)
    with refused(rb.DescriptionError, "missing-metadata"):
        rb.load_policy(path)
    networks.linear(path, np.zeros((2, 10)), np.zeros(2), METADATA | {"action_scale": "a,b"})
    with refused(rb.DescriptionError, "bad-value"):
        rb.load_policy(path)
