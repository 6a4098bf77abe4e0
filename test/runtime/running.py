# SPDX-License-Identifier: Apache-2.0
"""Step loops, read their states and make commands, for tests of loops."""

import time

import numpy as np

import rbdyn_ros as rb
from rbdyn_ros.share import bundled_robot


def states_for(loop, seconds):
    """Return the states that arrive in the next `seconds` of wall time."""
    states, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        state = loop.readout.next_state(0.05)
        states += [state] if state else []
    return states


def states_over(loop, simulated):
    """Return the next states, until they cover a simulated duration [s]."""
    states, give_up = [], time.monotonic() + 300.0
    while not states or states[-1].time < states[0].time + simulated:
        assert time.monotonic() < give_up, "the loop has sent too few states in 300 s"
        state = loop.readout.next_state(0.05)
        states += [state] if state else []
    return states


def states_until(loop, condition):
    """Return the states up to the first state that meets a condition."""
    states, give_up = [], time.monotonic() + 300.0
    while not states or not condition(states[-1]):
        assert time.monotonic() < give_up, "no state has met the condition in 300 s"
        state = loop.readout.next_state(0.05)
        states += [state] if state else []
    return states


#: Settings of a loop that moves only by step(n), as fast as it can.
WALKING = {"time_mode": "fast", "start_paused": True, "command_timeout": 1e6}

#: Number of ticks between two reads; the loop can store the states of a few more ticks.
STRIDE = 25


def walk(loop, ticks):
    """Step a loop by a number of ticks; return the states of these ticks."""
    states, before = [], loop.time.tick
    while ticks > 0:
        while state := loop.readout.next_state(0.0):
            states.append(state)
        loop.time.step(min(STRIDE, ticks))
        ticks -= STRIDE
    while state := loop.readout.next_state(0.0):
        states.append(state)
    return [state for state in states if state.tick > before]


def commanded(dofs, mode, position=0.0, velocity=0.0, effort=0.0, stiffness=0.0, damping=0.0):
    """Return a Command that has the same numbers for all dofs, unless a number is an array."""
    from rbdyn_ros.runtime.types import Command

    numbers = (position, velocity, effort, stiffness, damping)
    dofs = np.atleast_1d(dofs)
    return Command(dofs, np.full(len(dofs), mode), *(np.full(len(dofs), x) for x in numbers))


def rail(mass=2.0, **joint):
    """Return the Model of a mass on a horizontal rail, with one dof and q'' = effort / mass."""
    box = rb.shapes.box((0.1, 0.1, 0.1), mass=mass)
    return rb.build(
        rb.SystemBuilder("rail").body("cart", box).joint("x", "prismatic", "base", "cart", **joint)
    )


def bundled_arm():
    """Return a new Model of the bundled arm."""
    return rb.load_urdf(bundled_robot("seven_dof_arm"))


def wait_until(condition, seconds=300.0):
    """Wait until a condition is true; fail after `seconds`."""
    give_up = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up, "the condition has not become true"
        time.sleep(1e-3)
