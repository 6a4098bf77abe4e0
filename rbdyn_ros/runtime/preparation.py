# SPDX-License-Identifier: Apache-2.0
"""Convert settings, Models, delays and trajectories to the form that the loop reads."""

from hashlib import blake2b

import numpy as np

from rbdyn_ros.arrays import Array, Bools
from rbdyn_ros.dynamics.commanded import commandable, with_blocked
from rbdyn_ros.errors import Finding, ParameterError, exactly
from rbdyn_ros.model.connected import connected_trees
from rbdyn_ros.model.model import Model
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.runtime import shared
from rbdyn_ros.runtime.compiled import Words
from rbdyn_ros.runtime.settings import LOCKSTEP, MODES_OF_TIME, ON_TIMEOUT, LoopSettings
from rbdyn_ros.runtime.shared import Shared
from rbdyn_ros.runtime.types import Faults, TrajectoryOrder

#: Shortest time constant of a servo [ticks]; with a shorter one it would ring.
TICKS_OF_SERVO = 5.0

#: Shortest time constant of an actuator's servo, in multiples of the delay of its efforts, and of
#: the decay time of its gear.
LAGS_OF_SERVO, GEARS_OF_SERVO = 4.0, 2.0

#: A gear never requires a longer time constant than this [s].
SLOWEST_SERVO = 1.0


def prepare(s: Shared, m: Model, given: LoopSettings, period_ns: int, first: Model) -> None:
    """Write the settings, and data of the joints, to the loop's memory before the loop starts.

    Args:
        s: memory shared with the loop, which is written.
        m: the robot.
        given: the settings.
        period_ns: length of a tick [ns].
        first: Model with which the loop was made, before any change of objects.
    """
    s.period[()] = period_ns
    s.decimation[()] = given.control_decimation
    s.time_mode[()] = MODES_OF_TIME.index(given.time_mode)
    s.timeout[()] = round(given.command_timeout * NANOSECONDS)
    s.policy[()] = ON_TIMEOUT.index(given.on_timeout)
    s.lockstep_timeout[()] = round(given.lockstep_timeout * NANOSECONDS)
    s.locked[()] = given.locked and s.time_mode == LOCKSTEP
    s.every[()] = 1 if s.time_mode == LOCKSTEP else given.hand_over_every
    s.report_current[()] = given.report_current
    s.seed[()] = given.seed
    # readers must see whether time starts paused, even before the loop runs
    s.asked[shared.PAUSE] = s.done[shared.PAUSE] = given.start_paused
    s.fault[()] = -1
    j = m.dof_jntid
    s.dof_acts[:] = actuated(m)
    s.dof_drive[m.actuator_dofid] = 1
    s.dof_time[:] = servo_times(m, given.servo_time_constant, period_ns / NANOSECONDS)
    s.dof_effort[:], s.dof_speed[:] = m.jnt_effort[j], m.jnt_velocity[j]
    single = m.jnt_dofnum[j] == 1
    s.dof_qposadr[:] = np.where(single, m.jnt_qposadr[j], -1)
    limited = single & (m.jnt_limited[j] == 1)
    s.dof_low[:] = np.where(limited, m.jnt_range[j, 0], -np.inf)
    s.dof_high[:] = np.where(limited, m.jnt_range[j, 1], np.inf)
    required = s.dof_acts == 1
    if given.lockstep_dofs is not None:
        required = np.isin(np.arange(m.nv), given.lockstep_dofs)
    s.dof_required[:] = required
    s.body_group[:] = connected_trees(m)
    s.noise_stream[:] = noise_streams(m, first)


def servo_times(m: Model, wanted: float, period: float) -> Array:
    """Return the time constant of each dof's servo (nv,) [s]: at least `wanted`, and stable.

    With an elastic gear, rotor and joint oscillate against each other. The oscillation decays with
    the rate c/2 (1/J + 1/M) [1/s]; c is the damping of the gear, J the inertia of the rotor at the
    joint, and M the inertia of the joint. The servo measures the joint, so it must be slower than
    this decay. The servos of connected trees, which shake the gear, must also be slower.

    Args:
        m: the robot.
        wanted: least time constant [s].
        period: period of a tick [s].

    Source: Spong, Modeling and control of elastic joint robots, 1987 (the model).
    """
    times = np.full(m.nv, max(wanted, TICKS_OF_SERVO * period))
    k, (stiffness, damping) = m.actuator_dofid, m.actuator_spring.T
    rotor = m.actuator_armature * m.actuator_gear**2
    soft = (stiffness > 0.0) & (rotor > 0.0)
    lightness = 1.0 / rotor[soft] + 1.0 / m.dof_inertia0[k[soft]]
    rate = np.maximum(0.5 * damping[soft] * lightness, GEARS_OF_SERVO / SLOWEST_SERVO)
    times[k[soft]] = np.maximum(times[k[soft]], GEARS_OF_SERVO / rate)
    group, slowest = connected_trees(m)[m.dof_bodyid], np.zeros(m.nbody)
    np.maximum.at(slowest, group, times)
    times[:] = slowest[group]
    lag = m.actuator_delay * m.opt.timestep
    resists = m.actuator_resistance > 0.0
    lag[resists] += m.actuator_inductance[resists] / m.actuator_resistance[resists]
    times[k] = np.maximum(times[k], LAGS_OF_SERVO * lag)
    return times


def noise_streams(m: Model, first: Model) -> Words:
    """Return the argument k of each dof for noise.py (nv,), which does not depend on other joints.

    It is the number of the dof in the first Model; for a dof that was added later it is a hash of
    its joint's name. So a joint that is deleted and added again has the same noise.
    """
    known = {name: k for k, name in enumerate(_dof_names(first))}
    return np.array(
        [known[name] if name in known else _hash(name) for name in _dof_names(m)], np.int64
    )


def _dof_names(m: Model) -> list[str]:
    """Return a name for each dof: its index within the joint, and the name of the joint."""
    return [f"{k - m.jnt_dofadr[j]} {m.jnt_names[j]}" for k, j in enumerate(m.dof_jntid.tolist())]


def _hash(name: str) -> int:
    """Return a hash of a name, at least 2^38 and less than 2^39."""
    digest = blake2b(name.encode("utf-8", "backslashreplace"), digest_size=8).digest()
    return 2**38 + int.from_bytes(digest, "little") % 2**38


def actuated(m: Model) -> Words:
    """Return (nv,) 1 for each dof on which commands act, and 0 for all other dofs.

    Commands act on a dof if its joint, or a mimic joint of it, has an actuator and one coordinate.
    """
    dofs: Words = np.zeros(m.nv, np.int64)
    dofs[m.jnt_dofadr[commandable(m) & (m.jnt_dofnum == 1)]] = 1
    return dofs


def for_efforts(m: Model) -> Model:
    """Return a copy of the Model in which only the joints of actuated dofs have an actuator."""
    joints = np.zeros(m.njnt, np.int64)
    joints[m.dof_jntid] = actuated(m)
    return m.replaced(jnt_actuated=joints)


def models_with(m: Model, faults: Faults, braked: Bools) -> tuple[Model, Model, Model]:
    """Return the simulated Model, the Model for computing efforts, and the Model with brakes.

    Args:
        m: the robot.
        faults: the faults, with the stuck joints.
        braked: (nv,) dofs whose brakes are on before the first command.
    """
    stuck, standing = faults.stuck, faults.stuck | braked
    return with_blocked(m, stuck), for_efforts(m), with_blocked(m, standing)


def with_start(trajectory: TrajectoryOrder) -> tuple[TrajectoryOrder, bool]:
    """Return the trajectory with a point at time 0, and whether the loop must fill it in."""
    if trajectory.times[0] == 0.0:
        return trajectory, False
    blank = np.zeros((1, len(trajectory.dofs)))
    begun = TrajectoryOrder(
        trajectory.dofs,
        np.concatenate([[0.0], trajectory.times]),
        np.vstack([blank, trajectory.positions]),
        np.vstack([blank, trajectory.velocities]),
        np.vstack([blank, trajectory.accelerations]),
        trajectory.order,
    )
    return begun, True


def delays_in_ticks(s: Shared, faults: Faults) -> list[int]:
    """Return delay and jitter of commands, then delay and jitter of states [ticks].

    Raises:
        ParameterError: they exceed the memory of the channel.
    """
    longest, period_ns = s.sizes["nring"] - 2, int(s.period)
    findings, ticks = [], []
    for name in ("command", "state"):
        delay, jitter = (
            round(getattr(faults, f"{name}_{part}") * NANOSECONDS / period_ns)
            for part in ("delay", "jitter")
        )
        ticks += [delay, jitter]
        if delay + jitter > longest:
            allowed = f"at most {exactly(longest * period_ns / NANOSECONDS)} s"
            text = (
                f"faults.{name}_delay and faults.{name}_jitter are {delay + jitter} ticks "
                f"together; allowed is {allowed} ({longest} ticks)."
            )
            parameter = f"faults.{name}_delay"
            findings.append(Finding("fault-delay", text, "error", parameter, None, "", allowed))
    if findings:
        raise ParameterError(findings)
    return ticks
