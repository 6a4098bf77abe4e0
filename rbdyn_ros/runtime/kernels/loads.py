# SPDX-License-Identifier: Apache-2.0
"""Estimate the load of each joint with a servo: contact, pushes, and masses not in the Model.

After each tick, inverse dynamics give the effort that the motion of the tick needed:
  load = M q'' + bias + friction - effort
The load is zero, up to rounding, if the Model explains the motion. The servo subtracts the load,
after a filter with the gain 4 tick / T, from its next efforts. This acts as an integral of the
error, which does not wind up because `effort` is the clamped effort.

A wheel on the floor accelerates a whole robot. If a joint seems `ratio` times as heavy as in the
Model, the filter is faster by this factor; otherwise the servo would ring. The ratio is the
regression of the changes of the efforts on the changes of the needed efforts in the last ticks.
"""

from __future__ import annotations

from rbdyn_ros.engine.compiler.optional import call_stage
from rbdyn_ros.engine.step.passive import STICTION_SPEED
from rbdyn_ros.engine.stops.stop_law import exact_stops
from rbdyn_ros.engine.tree.rne import rne_acc
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.runtime.compiled import kernel
from rbdyn_ros.runtime.shared import Shared
from rbdyn_ros.runtime.types import GRIP

#: Rows of load_memory: the last effort; the effort that its motion needed; and sums over the last
#: ticks of the products of the changes of these two.
EFFORT, NEED, EFFORT_EFFORT, EFFORT_NEED, NEED_NEED = range(5)

#: Gain of the filter times the time constant of the servo. With this value the poles of a velocity
#: servo under load are equal.
GAIN = 4.0

#: The same for a joint with an actuator, which delays efforts and may have an elastic gear.
GAIN_WITH_DRIVE = 0.2

#: Limits of the ratio of a joint's apparent inertia to its inertia in the Model.
LEAST_RATIO, MOST_RATIO = 0.25, 1e4

#: Smaller changes of effort are rounding errors [N m or N].
ROUNDING = 1e-9


@kernel
def invert(m: Model, still: Data) -> None:
    """Write still.qfrc_inverse from still.qacc. Call `bias_force` first."""
    rne_acc(m, still)
    if m.nefc > 0:
        call_stage(m.constraint_stage, m, still)
        call_stage(m.share_stage, m, still)


@kernel
def effort_limit(s: Shared, k: int) -> float:
    """Return the effort limit of dof k [N or N m]; mode GRIP may lower it."""
    if s.mode[k] == GRIP and s.held[k] == 1 and s.traj_column[k] < 0:
        return min(s.dof_effort[k], s.order[2, k])
    return s.dof_effort[k]


@kernel
def forget_load(s: Shared, k: int) -> None:
    """Assume from now on that dof k has no load."""
    s.load[k] = 0.0
    for n in range(5):
        s.load_memory[n, k] = 0.0


@kernel
def learn_loads(d: Data, nominal: Model, still: Data, s: Shared) -> None:
    """Estimate the loads of joints with a servo after a tick; `still` has the state before it."""
    serving = False
    for k in range(nominal.nv):
        still.qacc[k] = s.row_qacc[k]
        serving |= s.servo[k] > 0
    if not serving:
        return
    invert(nominal, still)
    for k in range(nominal.nv):
        if s.servo[k] > 0 and s.dof_acts[k] != 0.0:
            _learn_load(d, nominal, still, s, k, s.period / NANOSECONDS / s.dof_time[k])


@kernel
def _learn_load(d, m, still, s, k, share):
    effort = d.qfrc_applied[k]
    need = still.qfrc_inverse[k]
    if m.opt.passive:
        v, loss = d.qvel[k], m.dof_frictionloss[k]
        need += m.dof_damping[k] * v
        if abs(v) >= STICTION_SPEED or not exact_stops(m, d):
            need += loss * min(max(v / STICTION_SPEED, -1.0), 1.0)
        else:  # the friction of a joint at rest is unknown, so keep the load
            need += min(max(effort + s.load[k] - need, -loss), loss)
    load = need - effort
    gain = GAIN * share * _ratio(s, k, effort, need, share)
    if s.dof_drive[k] == 1:
        gain = min(gain, GAIN_WITH_DRIVE * share)
    limit = effort_limit(s, k)
    if abs(effort) >= limit:
        gain = min(gain, 1.0)
    # The effort that carried a load must not throw a joint that loses this load. A load grows
    # gradually, so that the servo hardly reacts to an impact of one tick
    lost = abs(s.load[k]) > 2.0 * abs(load) or s.load[k] * load < 0.0
    if lost and s.dof_drive[k] == 0:
        gain = max(gain, 1.0)
    change = gain * (load - s.load[k])
    if not lost:
        change = min(max(change, -share * limit), share * limit)
    s.load[k] += change


@kernel
def _ratio(s, k, effort, need, share):
    """Update the memory of dof k; return the ratio of its apparent inertia to the Model's."""
    memory = s.load_memory
    change, needed = effort - memory[EFFORT, k], need - memory[NEED, k]
    # in the first tick there are no changes yet
    if memory[EFFORT, k] == 0.0 and memory[NEED, k] == 0.0:
        change = needed = 0.0
    memory[EFFORT, k], memory[NEED, k] = effort, need
    # avoid denormal numbers, which would slow down the loop of a robot at rest
    rests = max(memory[EFFORT_EFFORT, k], memory[NEED_NEED, k]) < ROUNDING**4
    for n in range(EFFORT_EFFORT, NEED_NEED + 1):
        memory[n, k] *= 0.0 if rests else 1.0 - share
    memory[EFFORT_EFFORT, k] += change * change
    memory[EFFORT_NEED, k] += change * needed
    memory[NEED_NEED, k] += needed * needed
    least = ROUNDING * ROUNDING
    ratio = (memory[EFFORT_NEED, k] + least) / (
        memory[NEED_NEED, k] + memory[EFFORT_EFFORT, k] / MOST_RATIO**2 + least
    )
    return max(ratio, LEAST_RATIO)
