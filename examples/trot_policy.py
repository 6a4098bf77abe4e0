# SPDX-License-Identifier: Apache-2.0
"""A Go2 trots by a policy: an ONNX file, and a policy file with its inputs and its joints.

    python examples/trot_policy.py

    height of the base: 0.32 to 0.37 m, tilt at most 10 degrees

The network is not learned: it is one layer, which moves diagonal legs together with the phase of
the gait and leans against a roll. The script writes trot.onnx and trot.yaml into the present
folder; `policy_node` runs them, too. It needs a robot and two libraries: pip install
example-robot-data onnx onnxruntime.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

import rbdyn_ros as rb

ROBOT = "cmeel.prefix/share/example-robot-data/robots/go2_description/urdf/go2.urdf"
LEGS = ("FL", "FR", "RL", "RR")
JOINTS = [f"{leg}_{part}_joint" for leg in LEGS for part in ("hip", "thigh", "calf")]
STANDING = [0.0, 0.8, -1.5] * 4  # [rad]
LIFT, LEAN, PERIOD = 0.2, -0.3, 0.4  # [rad], [rad per unit of gravity], [s]
POLICY = {
    "rbdyn_policy": 1,
    "network": "trot.onnx",
    "joints": JOINTS,
    "rate": 50,
    "default_position": STANDING,
    "stiffness": 60,
    "damping": 1.5,
    "action": {"scale": 1},
    "observation": [{"term": "projected_gravity"}, {"term": "gait_phase", "period": PERIOD}],
}


def weights():
    """Return the matrix of the layer, (12, 5): gravity in the base, sine and cosine."""
    found = np.zeros((12, 5))
    for leg, sign in enumerate((1.0, -1.0, -1.0, 1.0)):  # legs on a diagonal move together
        hip, thigh, calf = found[3 * leg : 3 * leg + 3]
        hip[1], thigh[4], calf[4] = LEAN, sign * LIFT, -2.0 * sign * LIFT
    return found


def write(folder):
    """Write the network and the policy file; return the path of the latter."""
    kind = onnx.TensorProto.FLOAT
    obs, actions = (
        helper.make_tensor_value_info(name, kind, [1, size])
        for name, size in (("obs", 5), ("actions", 12))
    )
    matrix = numpy_helper.from_array(weights().astype(np.float32), "weights")
    node = helper.make_node("Gemm", ["obs", "weights"], ["actions"], transB=1)
    graph = helper.make_graph([node], "trot", [obs], [actions], [matrix])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, folder / "trot.onnx")
    path = folder / "trot.yaml"
    path.write_text(json.dumps(POLICY, indent=1), encoding="ascii")
    return path


def go2():
    """Return a Model of a Go2 on a floor, and a Data in which it stands."""
    found = [Path(entry, ROBOT) for entry in sys.path if Path(entry, ROBOT).is_file()]
    if not found:
        raise SystemExit("the Go2 is missing: pip install example-robot-data")
    m = rb.load_urdf(found[0], floating_base=True, contact=True, strict=False)
    d = rb.make_data(m)
    d.qpos[2], d.qpos[7:] = 0.33, STANDING
    return m, d


def trot(policy, m, d, seconds):
    """Yield after each action, 50 a second."""
    legs = rb.PolicyJoints(m, policy)
    for _ in range(round(seconds * policy.spec.rate)):
        legs.act(d, [0.0, 0.0, 0.0])
        for _ in range(round(1.0 / (policy.spec.rate * m.opt.timestep))):
            legs.apply(d)
            rb.step(m, d)
        yield


def main():
    policy = rb.load_policy(write(Path()))
    m, d = go2()
    poses = [(d.qpos[2], np.degrees(np.arccos(d.xmat[1, 8]))) for _ in trot(policy, m, d, 3.0)]
    heights, tilts = np.transpose(poses)
    low, high = heights.min(), heights.max()
    print(f"height of the base: {low:.2f} to {high:.2f} m, tilt at most {tilts.max():.0f} degrees")


if __name__ == "__main__":
    main()
