# SPDX-License-Identifier: Apache-2.0
"""Kernels that loop over the runs of a shard: measured states, commands and measures.

Arrays have a column for each run, (entries, runs). Random numbers depend only on the run's seed,
the timestep and the purpose, as in the simulator's loop.
"""

from __future__ import annotations

import math
from pathlib import Path

from rbdyn_ros.engine.compiler import jit
from rbdyn_ros.rollouts import driver
from rbdyn_ros.rollouts.driver import call_memory
from rbdyn_ros.runtime.kernels import noise
from rbdyn_ros.runtime.kernels.noise import COMMAND_DROP, ENCODER, SPEED, normal, uniform

#: Rows of the accumulators.
ACCUMULATORS = (
    "error_squares",  # sum over timesteps and joints
    "largest_error",
    "last_outside",  # last timestep outside the settling band
    "effort_squares",
    "largest_effort",
    "effort_ratio",
    "work",  # integral of |effort times speed| / timestep
    "beyond_range",
    "velocity_ratio",
    "lowest_base",
    "largest_tilt",
)
(
    ERROR_SQUARES, LARGEST_ERROR, LAST_OUTSIDE, EFFORT_SQUARES, LARGEST_EFFORT, EFFORT_RATIO, WORK,
    BEYOND_RANGE, VELOCITY_RATIO, LOWEST_BASE, LARGEST_TILT,
) = range(len(ACCUMULATORS))  # fmt: skip

CACHE_DIRECTORY = jit.cache_below(
    "trials", [Path(x) for x in (__file__, noise.__file__, driver.__file__)]
)
kernel = jit.kernels_in(CACHE_DIRECTORY)


@kernel
def observe(
    k, wanted, seeds, delay, position_noise, velocity_noise, qpos, qvel, ring, joints, seen
):  # fmt: skip
    """Compute the state that the controller measures.

    Args:
        k: the timestep.
        wanted: whether the controller reads the state; False: the state is only stored.
        seeds: (n,), seeds of the runs.
        delay: (n,), age of the measured state in timesteps; the state at the start also stands for
            earlier times.
        position_noise: (n,), standard deviation of the noise of positions.
        velocity_noise: (n,), standard deviation of the noise of velocities.
        qpos: (nq, n), positions of the runs.
        qvel: (nv, n), velocities of the runs.
        ring: (depth, nq + nv, n), the latest states.
        joints: (2, nj), entries of qpos and qvel that encoders measure.
        seen: (nq + nv, n), receives qpos and qvel.
    """
    depth, nq, nv, runs = ring.shape[0], qpos.shape[0], qvel.shape[0], qpos.shape[1]
    now = ring[k % depth]
    for i in range(runs):
        for j in range(nq):
            now[j, i] = qpos[j, i]
        for j in range(nv):
            now[nq + j, i] = qvel[j, i]
    if not wanted:
        return
    for i in range(runs):
        old = ring[(k - min(delay[i], k)) % depth]
        for j in range(nq + nv):
            seen[j, i] = old[j, i]
    for i in range(runs):
        if position_noise[i] > 0.0:
            for j in range(joints.shape[1]):
                drawn = normal(seeds[i], k, ENCODER, j)
                seen[joints[0, j], i] += position_noise[i] * drawn
        if velocity_noise[i] > 0.0:
            for j in range(joints.shape[1]):
                drawn = normal(seeds[i], k, SPEED, j)
                seen[nq + joints[1, j], i] += velocity_noise[i] * drawn


@kernel
def call_law(address, at, memory, time, seen, reference, slots, commands):
    """Compute the commands of all runs with the machine code of a law.

    Args:
        address: address of the code.
        at: address of the memory of the code.
        memory: (slots, W), the memory of the code, W runs at a time.
        time: time of the state [s].
        seen: (nq + nv, n), the measured states.
        reference: (width,), the reference of the timestep.
        slots: slots of the state, the reference, the commands and the time, in this order.
        commands: (nv, n), receives the commands.
    """
    lanes, state, runs = memory.shape[1], seen.shape[0], seen.shape[1]
    width, nv = reference.shape[0], commands.shape[0]
    for lane in range(lanes):
        memory[slots[state + width + nv], lane] = time
        for j in range(width):
            memory[slots[state + j], lane] = reference[j]
    for first in range(0, runs, lanes):
        for j in range(state):
            for lane in range(lanes):
                memory[slots[j], lane] = seen[j, min(first + lane, runs - 1)]
        call_memory(address, at)
        for j in range(nv):
            for lane in range(min(lanes, runs - first)):
                commands[j, first + lane] = memory[slots[state + width + j], lane]


@kernel
def act(k, every, seeds, delay, drop, scale, largest, commands, ring, held, bad, qfrc):
    """Pass the commands through the channel and the actuators.

    Args:
        k: the timestep.
        every: timesteps from one command to the next.
        seeds: (n,), seeds of the runs.
        delay: (n,), delay of the channel in timesteps.
        drop: (n,), probability that a command is lost; the last command that arrived then
            continues to act.
        scale: (n,), ratio of effort to commanded effort.
        largest: (nv,), the effort limits; 0 where there is no actuator.
        commands: (nv, n), the new commands of the controller.
        ring: (depth, nv, n), the commands of the latest timesteps.
        held: (nv, n), the commands that arrived last.
        bad: (n,), set to 1 where a command is not finite.
        qfrc: (nv, n), receives the efforts.
    """
    depth, nv, runs = ring.shape[0], commands.shape[0], commands.shape[1]
    for i in range(runs):
        for j in range(nv):
            ring[k % depth, j, i] = commands[j, i]
        sent = k - delay[i]
        if sent < 0:
            continue
        if drop[i] > 0.0 and uniform(seeds[i], sent // every, COMMAND_DROP, 0) < drop[i]:
            continue
        for j in range(nv):
            arrived = ring[sent % depth, j, i]
            if math.isfinite(arrived):
                held[j, i] = arrived
            elif largest[j] > 0.0:
                bad[i] = 1
    for j in range(nv):
        for i in range(runs):
            qfrc[j, i] = min(max(scale[i] * held[j, i], -largest[j]), largest[j])


@kernel
def score(k, qpos, qvel, qfrc, target, goal, band, limits, joints, base, total, over):
    """Add a timestep to the measures.

    Args:
        k: the timestep that ended.
        qpos: (nq, n), positions at the end of the timestep.
        qvel: (nv, n), velocities at the end of the timestep.
        qfrc: (nv, n), efforts during the timestep.
        target: (nj,), reference of the joints.
        goal: (nj,), reference at the end of the run.
        band: the settling band.
        limits: (4, nj), lower and upper position, speed and effort.
        joints: (2, nj), entries of the joints in qpos and qvel.
        base: first entry of a floating base in qpos, or -1.
        total: accumulators, (len(ACCUMULATORS), n).
        over: (2, nj, n), side of the goal on which a joint starts (1 or -1), and how far it has
            passed the goal.
    """
    runs = qpos.shape[1]
    for j in range(joints.shape[1]):
        a, v = joints[0, j], joints[1, j]
        low, high, speed, strength = limits[0, j], limits[1, j], limits[2, j], limits[3, j]
        for i in range(runs):
            x, error, effort = qpos[a, i], qpos[a, i] - target[j], qfrc[v, i]
            total[ERROR_SQUARES, i] += error * error
            total[LARGEST_ERROR, i] = max(total[LARGEST_ERROR, i], abs(error))
            total[EFFORT_SQUARES, i] += effort * effort
            total[LARGEST_EFFORT, i] = max(total[LARGEST_EFFORT, i], abs(effort))
            total[EFFORT_RATIO, i] = max(total[EFFORT_RATIO, i], abs(effort) / strength)
            total[WORK, i] += abs(effort * qvel[v, i])
            total[BEYOND_RANGE, i] = max(total[BEYOND_RANGE, i], low - x, x - high)
            total[VELOCITY_RATIO, i] = max(total[VELOCITY_RATIO, i], abs(qvel[v, i]) / speed)
            beyond = (goal[j] - x) * over[0, j, i]
            over[1, j, i] = max(over[1, j, i], beyond)
            if not abs(x - goal[j]) <= band:
                total[LAST_OUTSIDE, i] = k
    if base >= 0:
        for i in range(runs):
            total[LOWEST_BASE, i] = min(total[LOWEST_BASE, i], qpos[base + 2, i])
            x, y = qpos[base + 4, i], qpos[base + 5, i]
            # cosine of the angle between the z axes of base and world
            upright = 1.0 - 2.0 * (x * x + y * y)
            tilt = math.acos(min(max(upright, -1.0), 1.0))
            total[LARGEST_TILT, i] = max(total[LARGEST_TILT, i], tilt)
