# SPDX-License-Identifier: Apache-2.0
"""Write small ONNX files and the policy by which a Go2 trots."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from rbdyn_ros.policies.reader import read_policy

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

TROT = Path(__file__).parents[2] / "examples" / "trot.yaml"
_spec = read_policy(TROT)
GO2, STANDING = _spec.joints, _spec.default_position.tolist()


def trot(folder):
    """Copy the policy by which a Go2 trots, and its network, into a folder; return its path."""
    for suffix in (".onnx", ".yaml"):
        path = shutil.copy(TROT.with_suffix(suffix), folder)
    return Path(path)


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


def linear(path, weights, bias, metadata=None, batch=1):
    """Write a network that returns weights x + bias; return the path of the file.

    Args:
        path: path of the file.
        weights, bias: arrays (n, k) and (n,).
        metadata: texts of the file by name.
        batch: declared size of the batch.
    """
    n, k = np.shape(weights)
    node = onnx.helper.make_node("Gemm", ["obs", "W", "b"], ["actions"], transB=1)
    given = {"W": weights, "b": bias}
    return _saved(
        path, [node], {"obs": [batch, k]}, {"actions": [batch, n]}, given, metadata or {}
    )


def adding_up(path, size):
    """Write a network that adds its input to its state h and returns h; return the file's path."""
    shape = [1, size]
    node = onnx.helper.make_node("Add", ["obs", "h_in"], ["h_out"])
    copy = onnx.helper.make_node("Identity", ["h_out"], ["actions"])
    ends = {"obs": shape, "h_in": shape}, {"actions": shape, "h_out": shape}
    return _saved(path, [node, copy], *ends, {}, {})
