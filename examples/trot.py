# SPDX-License-Identifier: Apache-2.0
"""A Go2 learns to follow velocity commands by PPO: hundreds of robots on two cores.

    python examples/trot.py [--iterations 1500] [--robots 384] [--seed 1] [--out FOLDER]

    command [0.5, 0.0, 0.0], velocity [0.53, 0.0, 0.0]
    ...

Velocities are forwards, to the left [m/s] and about the vertical [rad/s]. Without --iterations it
walks by trot.onnx, which was learned with the values above. With --iterations it learns a network
and writes it into a folder first. trot.yaml lists the observations of the network; `policy_node`
runs it.

Learning needs: pip install "rbdyn_ros[learn]". Walking needs gymnasium, onnxruntime and
example-robot-data.
"""

import argparse
import re
import shutil
import sys
import time
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

import rbdyn_ros as rb
from rbdyn_ros.gym import BatchEnv
from rbdyn_ros.policies.reader import read_policy

try:
    import jax
    import jax.numpy as jnp
except ImportError:  # walking does not need JAX
    jax = jnp = None

ROBOT = "cmeel.prefix/share/example-robot-data/robots/go2_description/urdf/go2.urdf"
POLICY = Path(__file__).with_name("trot.yaml")
SPEC = read_policy(POLICY)
STANDING, SCALE = SPEC.default_position, SPEC.action_scale
LOWEST, HIGHEST = SPEC.command_range.T
#: Duration of two steps [s], and signs of the legs: legs on a diagonal move together.
PERIOD, DIAGONALS = SPEC.terms[-1].period, np.array([1.0, -1.0, -1.0, 1.0])
#: Centre of a foot in the axes of the calf, and its radius [m].
FOOT, RADIUS = np.array([0.0, 0.0, -0.213]), 0.023
#: Height of the base of a standing robot, and of a swinging foot [m].
HEIGHT, LIFT = 0.31, 0.08
#: Sensor errors during learning.
NOISE = {"base_ang_vel": 0.1, "projected_gravity": 0.03, "joint_pos_rel": 0.01,
         "joint_vel_rel": 0.5}  # fmt: skip
#: Size of a push [m/s]; share of actions at which a robot is pushed, or gets a new command.
PUSH, RARELY = 0.5, 0.005
#: Number of actions in an iteration, of passes over these actions, and of pieces of a pass. Then
#: for PPO: both discounts, the limit of the ratio, the weight of the entropy, the KL divergence of
#: an iteration, and the highest learning rate.
STEPS, EPOCHS, PIECES = 20, 4, 4
GAMMA, LAMBDA, CLIP, ENTROPY, MOVE, FASTEST = 0.99, 0.95, 0.2, 0.003, 0.01, 1e-3

# The robot


def go2(timestep=0.001, feet_only=False):
    """Return a Model of a Go2 on a floor; feet_only: only balls at the feet touch."""
    found = [Path(entry, ROBOT) for entry in sys.path if Path(entry, ROBOT).is_file()]
    if not found:
        raise SystemExit("the Go2 is missing: pip install example-robot-data")
    robot = found[0]
    if feet_only:
        ball = f'<collision><geometry><sphere radius="{RADIUS}"/></geometry></collision>'
        chosen = lambda part: ball if "foot" in part[0] else ""  # noqa: E731
        robot = re.sub("<collision>.*?</collision>", chosen, robot.read_text(), flags=re.DOTALL)
    contact = rb.Contact(self_collision=False)
    m = rb.load_urdf(robot, floating_base=True, contact=contact, strict=False)
    m.opt.timestep = timestep
    return m


def trot(policy, m, command, seconds):
    """Walk by a policy; yield the same Data after each action."""
    d, legs = rb.make_data(m), rb.PolicyJoints(m, policy)
    d.qpos[2], d.qpos[7:] = HEIGHT + 0.01, STANDING
    for _ in range(round(seconds * SPEC.rate)):
        legs.act(d, command)
        for _ in range(round(1.0 / (SPEC.rate * m.opt.timestep))):
            legs.apply(d)
            rb.step(m, d)
        yield d


def velocity(d):
    """Return the velocity forwards and to the left [m/s], and about the vertical [rad/s]."""
    x, y = d.xmat[1].reshape(3, 3)[:2, 0]
    forwards = np.array([x, y]) / np.hypot(x, y)
    return np.array([forwards @ d.qvel[:2], forwards @ [d.qvel[1], -d.qvel[0]], d.qvel[5]])


# The task


class Trot(BatchEnv):
    """Robots that follow velocity commands and lift their feet by a clock.

    An observation holds the terms of the policy, then terms for the critic alone: velocity and
    height of the base, and heights of the feet.
    """

    def __init__(self, robots):
        self.command, self.phase = np.zeros((robots, 3)), np.zeros(robots)
        self.action, self.change, self.torque = np.zeros((3, robots, 12))
        self.feet = np.zeros((robots, 4, 3))
        self.actions_taken = np.zeros(robots, np.int64)
        m = go2(0.005, feet_only=True)
        self.calves = [m.body_names.index(f"{leg}_calf") for leg in ("FL", "FR", "RL", "RR")]
        super().__init__(m, robots, nstep=4, horizon=10**9, autoreset_mode="SameStep")

    def start(self, robots):
        b, rng, count = self.batch, self.np_random, int(robots.sum())
        b.qpos[robots, 2] = HEIGHT + 0.01
        b.qpos[robots, 7:] = STANDING + rng.uniform(-0.1, 0.1, (count, 12))
        b.qvel[robots, :6] = rng.uniform(-0.3, 0.3, (count, 6))
        self.phase[robots] = rng.uniform(0.0, 2.0 * np.pi, count)
        self.action[robots] = 0.0
        self.give_commands(robots)

    def give_commands(self, robots):
        """Draw velocity commands for some robots; one command of ten is zero."""
        rng, count = self.np_random, int(robots.sum())
        drawn = rng.uniform(LOWEST, HIGHEST, (count, 3))
        self.command[robots] = drawn * (rng.random((count, 1)) > 0.1)

    def drive(self, actions):
        """Drive the joints to position targets; push some robots first."""
        b, rng = self.batch, self.np_random
        self.give_commands(rng.random(self.num_envs) < RARELY)
        pushed = rng.random(self.num_envs) < RARELY
        b.qvel[pushed, :2] += rng.uniform(-PUSH, PUSH, (int(pushed.sum()), 2))
        self.change, self.action = actions - self.action, actions.copy()
        for _ in range(self.nstep):
            stretch = STANDING + SCALE * actions - b.qpos[:, 7:]
            wanted = SPEC.stiffness * stretch - SPEC.damping * b.qvel[:, 6:]
            self.torque = np.clip(wanted, -self.effort, self.effort)
            b.qfrc_applied[:, 6:] = self.torque
            b.step()

    def clock(self):
        """Return sine and cosine of the phase at the next action, (num_envs, 2)."""
        angle = 2.0 * np.pi * (self.actions_taken + 1) / (SPEC.rate * PERIOD) + self.phase
        return np.stack([np.sin(angle), np.cos(angle)], axis=1)

    def base(self):
        """Return the base's velocity, its angular velocity, and the vertical, all in its axes."""
        R = self.batch.xmat[:, 1].reshape(-1, 3, 3)
        linear = np.einsum("nji,nj->ni", R, self.batch.qvel[:, :3])
        return linear, self.batch.qvel[:, 3:6], R[:, 2]

    def soles(self):
        """Return the lowest points of the feet, (num_envs, 4, 3)."""
        centres = self.batch.xmat[:, self.calves].reshape(-1, 4, 3, 3) @ FOOT
        return self.batch.xpos[:, self.calves] + centres - [0.0, 0.0, RADIUS]

    def observe(self):
        b, (linear, angular, up) = self.batch, self.base()
        values = {
            "base_ang_vel": angular,
            "projected_gravity": -up,
            "velocity_commands": self.command,
            "joint_pos_rel": b.qpos[:, 7:] - STANDING,
            "joint_vel_rel": b.qvel[:, 6:],
            "last_action": self.action,
            "gait_phase": self.clock(),
        }
        rng = self.np_random
        for name, size in NOISE.items():
            values[name] = values[name] + rng.uniform(-size, size, values[name].shape)
        measured = [values[term.name] * term.scale for term in SPEC.terms]
        height = b.qpos[:, 2:3] - HEIGHT
        return np.hstack([*measured, 3.0 * linear, 30.0 * height, 30.0 * self.soles()[:, :, 2]])

    def reward(self, actions):  # noqa: ARG002 - self.change knows them
        """Return the rewards for velocity and lifted feet, minus costs of shaking and effort."""
        linear, angular, up = self.base()
        before, self.feet = self.feet, self.soles()
        clock = self.clock()[:, :1] * DIAGONALS
        slide = SPEC.rate * (self.feet - before)[:, :, :2]
        slide *= ((clock < 0.0) & (self.actions_taken > 1)[:, None])[:, :, None]
        square = lambda x: (x**2).reshape(len(x), -1).sum(axis=1)  # noqa: E731
        return 1.0 / SPEC.rate * (
            1.5 * np.exp(-10.0 * square(linear[:, :2] - self.command[:, :2]))
            + 0.75 * np.exp(-10.0 * square(angular[:, 2] - self.command[:, 2]))
            + 1.0 * np.exp(-200.0 * square(self.feet[:, :, 2] - LIFT * np.maximum(clock, 0.0)))
            - 1.0 * square(linear[:, 2])
            - 0.05 * square(angular[:, :2])
            - 2.0 * square(up[:, :2])
            - 10.0 * square(self.batch.qpos[:, 2] - HEIGHT)
            - 0.3 * square(self.batch.qpos[:, 7::3])
            - 0.1 * square(slide)
            - 0.05 * square(self.change)
            - 2e-4 * square(self.torque)
        )  # fmt: skip

    def ended(self):
        return (self.batch.qpos[:, 2] < 0.18) | (self.batch.xmat[:, 1, 8] < 0.7)


# The networks, which are symmetric between left and right

_JOINTS = ([3, 4, 5, 0, 1, 2, 9, 10, 11, 6, 7, 8], [-1, 1, 1] * 4)
_LINEAR, _ANGULAR = ([0, 1, 2], [1, -1, 1]), ([0, 1, 2], [-1, 1, -1])
#: For each term the indices of its numbers in the mirror image, and their signs.
_IMAGES = {
    "base_ang_vel": _ANGULAR,
    "projected_gravity": _LINEAR,
    "velocity_commands": ([0, 1, 2], [1, -1, -1]),
    "joint_pos_rel": _JOINTS,
    "joint_vel_rel": _JOINTS,
    "last_action": _JOINTS,
    "gait_phase": ([0, 1], [-1, -1]),  # the mirror image is half a period later
}


def mirror(*images):
    """Return the matrix M of the mirror image x @ M."""
    size = sum(len(signs) for _, signs in images)
    matrix, first = np.zeros((size, size), np.float32), 0
    for places, signs in images:
        matrix[first + np.array(places), first + np.arange(len(signs))] = signs
        first += len(signs)
    return matrix


_TERMS = [_IMAGES[term.name] for term in SPEC.terms]
SEEN, DONE, ONE = mirror(*_TERMS), mirror(_JOINTS), np.ones((1, 1), np.float32)
# of all terms that the critic observes
ALL = mirror(*_TERMS, _LINEAR, ([0], [1]), ([1, 0, 3, 2], [1] * 4))


def layers(rng, *sizes):
    """Return random weights and biases of layers; the last weights are small."""
    made = []
    for n, k in pairwise(sizes):
        weights = np.linalg.qr(rng.normal(size=(max(n, k), min(n, k))))[0]
        weights *= 0.01 if k == sizes[-1] else 1.0
        made.append((np.float32(weights if n >= k else weights.T), np.zeros(k, np.float32)))
    return made


def symmetric(net, seen, done):
    """Return the layers of net(x) + net(x @ seen) @ done, where seen and done mirror vectors."""
    (w1, b1), (w2, b2), (w3, b3) = net
    return [
        (jnp.hstack([w1, seen @ w1]), jnp.hstack([b1, b1])),
        (jax.scipy.linalg.block_diag(w2, w2), jnp.hstack([b2, b2])),
        (jnp.vstack([w3, w3 @ done]), b3 + b3 @ done),
    ]


def perceptron(net, x):
    for weights, bias in net[:-1]:
        x = jax.nn.elu(x @ weights + bias)
    return x @ net[-1][0] + net[-1][1]


def decide(params, seen):
    """Return the mean action, the logarithm of its spread, and the value of an observation."""
    actor, critic = symmetric(params["actor"], SEEN, DONE), symmetric(params["critic"], ALL, ONE)
    mean = jnp.tanh(perceptron(actor, seen[:, : len(SEEN)]))
    spread = params["spread"] + params["spread"] @ jnp.abs(DONE)
    return mean, spread, perceptron(critic, seen)[:, 0]


# PPO: Schulman et al., Proximal policy optimization algorithms, 2017


def loss(params, batch):
    """Return the loss of a batch, and how far the policy has moved."""
    seen, action, before, advantage, wanted = batch
    mean, spread, value = decide(params, seen)
    now = (-0.5 * ((action - mean) / jnp.exp(spread)) ** 2 - spread).sum(axis=1)
    ratio = jnp.exp(now - before)
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    gain = jnp.minimum(ratio * advantage, jnp.clip(ratio, 1.0 - CLIP, 1.0 + CLIP) * advantage)
    total = ((value - wanted) ** 2).mean() - gain.mean() - ENTROPY * spread.sum()
    return total, (ratio - 1.0 - (now - before)).mean()


def adam(state, slopes, rate):
    """Return parameters, moments and count after a step; gradients are clipped to length 1."""
    params, first, second, n = state
    size = jnp.sqrt(sum((g**2).sum() for g in jax.tree.leaves(slopes)))
    slopes = jax.tree.map(lambda g: g / jnp.maximum(size, 1.0), slopes)
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, slopes)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g**2, second, slopes)
    rate = rate * jnp.sqrt(1.0 - 0.999**n) / (1.0 - 0.9**n)
    move = lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-8)  # noqa: E731
    return jax.tree.map(move, params, first, second), first, second, n + 1


def improve(state, batch, rows, rate):
    """Return the state after a step for each piece of a batch, and how far the policy moved."""

    def step(state, chosen):
        piece = [each[chosen] for each in batch]
        (_, moved), slopes = jax.value_and_grad(loss, has_aux=True)(state[0], piece)
        return adam(state, slopes, rate), moved

    state, moved = jax.lax.scan(step, state, rows)
    return state, moved.mean()


def advantages(rewards, values, over):
    """Return generalised advantages (actions, robots).

    values: one row more than rewards. over: whether an episode ended.
    """
    found, later = np.zeros_like(rewards), 0.0
    for k in reversed(range(len(rewards))):
        error = rewards[k] + GAMMA * values[k + 1] * ~over[k] - values[k]
        found[k] = later = error + GAMMA * LAMBDA * ~over[k] * later
    return found


def practise(envs, seen, network, rng):
    """Take STEPS actions; return the next observations, the rewards, and a batch."""
    rows = []
    for _ in range(STEPS):
        mean, spread, value = (np.asarray(each) for each in network(seen))
        noise = rng.normal(size=mean.shape).astype(np.float32)
        action = mean + np.exp(spread) * noise
        after, reward, over, *_ = envs.step(action)
        before = (-0.5 * noise**2 - spread).sum(axis=1)
        rows.append((seen, action, before, value, reward.astype(np.float32), over))
        seen = after
    saw, action, before, value, reward, over = map(np.stack, zip(*rows, strict=True))
    gain = advantages(reward, [*value, np.asarray(network(seen)[2])], over)
    batch = saw, action, before, gain, gain + value
    return seen, reward, [each.reshape(-1, *each.shape[2:]) for each in batch]


def learn(iterations, robots, seed, folder):
    """Learn, and write the policy into a folder after every 50 iterations and the last one.

    Returns:
        The parameters of the networks, and the mean reward of each iteration, per second.
    """
    if jax is None:
        raise SystemExit("learning needs JAX: pip install 'rbdyn_ros[learn]'")
    folder.mkdir(parents=True, exist_ok=True)
    envs, rng = Trot(robots), np.random.default_rng(seed)
    seen, _ = envs.reset(seed=seed)
    params = {
        "actor": layers(rng, len(SEEN), 96, 64, len(DONE)),
        "critic": layers(rng, len(ALL), 96, 64, 1),
        "spread": np.full(len(DONE), -0.4, np.float32),
    }
    zeros = jax.tree.map(np.zeros_like, params)
    state, rate, rewards, begun = (params, zeros, zeros, 1), FASTEST, [], time.perf_counter()
    network, update = jax.jit(decide), jax.jit(improve)
    for n in range(1, iterations + 1):
        seen, reward, batch = practise(envs, seen, partial(network, state[0]), rng)
        rows = [rng.permutation(len(batch[0])).reshape(PIECES, -1) for _ in range(EPOCHS)]
        state, moved = update(state, batch, np.concatenate(rows), rate)
        rate *= 1.5 if moved < 0.5 * MOVE else 1.0 / 1.5 if moved > 2.0 * MOVE else 1.0
        rate = min(max(rate, 1e-5), FASTEST * (1.0 - (n - 1) / iterations))
        rewards.append(float(SPEC.rate * reward.mean()))
        if n % 50 == 0 or n == iterations:
            taken = time.perf_counter() - begun
            print(f"iteration {n}, {taken:.0f} s: reward {rewards[-1]:.2f} a second", flush=True)
            export(state[0], folder)
    return state[0], rewards


def export(params, folder):
    """Write the actor as ONNX, and a copy of its policy file, into a folder."""
    import onnx
    from onnx import helper, numpy_helper

    nodes, tensors, last = [], [], "obs"
    for k, (weights, bias) in enumerate(symmetric(params["actor"], SEEN, DONE)):
        tensors.append(numpy_helper.from_array(np.asarray(weights), f"weights{k}"))
        tensors.append(numpy_helper.from_array(np.asarray(bias), f"bias{k}"))
        nodes.append(helper.make_node("Gemm", [last, f"weights{k}", f"bias{k}"], [f"sum{k}"]))
        last = ("layer0", "layer1", "actions")[k]
        nodes.append(helper.make_node(("Elu", "Elu", "Tanh")[k], [f"sum{k}"], [last]))
    ends = [
        [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, size])]
        for name, size in (("obs", len(SEEN)), (last, len(DONE)))
    ]
    graph = helper.make_graph(nodes, "trot", *ends, tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, folder / SPEC.network.name)
    if folder.resolve() != POLICY.parent.resolve():
        shutil.copy(POLICY, folder)


def main():
    parser = argparse.ArgumentParser(description="A Go2 learns to follow velocity commands.")
    parser.add_argument("--iterations", type=int, default=0, help="rounds of learning; 0: none")
    parser.add_argument("--robots", type=int, default=384, help="robots side by side")
    parser.add_argument("--seed", type=int, default=1, help="seed of all random numbers")
    parser.add_argument("--out", type=Path, default=Path(), help="folder for a new network")
    given = parser.parse_args()
    path = POLICY
    if given.iterations > 0:
        learn(given.iterations, given.robots, given.seed, given.out)
        path = given.out / POLICY.name
    policy, m = rb.load_policy(path), go2()

    # Walk for 10 s by each command, and print the mean velocity after 2 s.
    for command in ([0.5, 0.0, 0.0], [0.0, 0.0, 0.0], [0.3, 0.0, 0.8]):
        policy.reset()
        velocities = [velocity(d) for d in trot(policy, m, command, 10.0)]
        found = np.round(np.mean(velocities[100:], axis=0), 2) + 0.0
        print(f"command {command}, velocity {found.tolist()}")


if __name__ == "__main__":
    main()
