# SPDX-License-Identifier: Apache-2.0
"""Small ONNX files, and a policy that lets a Go2 trot."""

import json

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

#: The joints of a Go2, leg by leg.
LEGS = ("FL", "FR", "RL", "RR")
GO2 = [f"{leg}_{part}_joint" for leg in LEGS for part in ("hip", "thigh", "calf")]
STANDING = [0.0, 0.8, -1.5] * 4


def _saved(path, nodes, inputs, outputs, weights, metadata):
    h, kind = onnx.helper, onnx.TensorProto.FLOAT
    ends = [
        [h.make_tensor_value_info(name, kind, shape) for name, shape in each.items()]
        for each in (inputs, outputs)
    ]
    tensors = [
        onnx.numpy_helper.from_array(np.asarray(values, np.float32), name)
        for name, values in weights.items()
    ]
    model = h.make_model(
        h.make_graph(nodes, "policy", *ends, tensors), opset_imports=[h.make_opsetid("", 13)]
    )
    model.ir_version = 8
    h.set_model_props(model, metadata)
    onnx.save(model, path)
    return path


def linear(path, weights, bias, metadata=None):
    """Write a network that returns weights x + bias, (n, k) and (n); return its path."""
    n, k = np.shape(weights)
    node = onnx.helper.make_node("Gemm", ["obs", "W", "b"], ["actions"], transB=1)
    given = {"W": weights, "b": bias}
    return _saved(path, [node], {"obs": [1, k]}, {"actions": [1, n]}, given, metadata or {})


def adding_up(path, size):
    """Write a network that returns the sum of all it has got, kept in h; return its path."""
    shape = [1, size]
    node = onnx.helper.make_node("Add", ["obs", "h_in"], ["h_out"])
    copy = onnx.helper.make_node("Identity", ["h_out"], ["actions"])
    ends = {"obs": shape, "h_in": shape}, {"actions": shape, "h_out": shape}
    return _saved(path, [node, copy], *ends, {}, {})


def trot(folder):
    """Write a policy file: a Go2 trots and leans against a tilt; return its path."""
    phase = np.zeros((12, 2))
    for leg, sign in enumerate((1.0, -1.0, -1.0, 1.0)):  # legs on a diagonal move together
        phase[3 * leg + 1] = 0.0, 0.2 * sign
        phase[3 * leg + 2] = 0.0, -0.4 * sign
    tilt = np.zeros((12, 3))
    tilt[0::3, 1] = -0.3
    linear(folder / "trot.onnx", np.hstack([tilt, phase]), np.zeros(12))
    policy = {
        "rbdyn_policy": 1,
        "network": "trot.onnx",
        "joints": GO2,
        "rate": 50,
        "default_position": STANDING,
        "stiffness": 60,
        "damping": 1.5,
        "action": {"scale": 1},
        "observation": [{"term": "projected_gravity"}, {"term": "gait_phase", "period": 0.4}],
    }
    path = folder / "trot.yaml"
    path.write_text(json.dumps(policy))
    return path
