"""What tests of the loop share beside their fixtures."""

import time

import numpy as np

import rbdyn_ros as rb
from rbdyn_ros.loading.assets import bundled_robot


def states_for(runtime, seconds):
    """Return the states of the next seconds."""
    states, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        state = runtime.next_state(0.05)
        states += [state] if state else []
    return states


def states_over(runtime, simulated):
    """Return the states of the next simulated seconds, however slow the machine is."""
    states, give_up = [], time.monotonic() + 60.0
    while not states or states[-1].time < states[0].time + simulated:
        assert time.monotonic() < give_up, "the loop hardly moves"
        state = runtime.next_state(0.05)
        states += [state] if state else []
    return states


def states_until(runtime, condition):
    """Return the states up to the first that meets a condition; one must."""
    states, give_up = [], time.monotonic() + 60.0
    while not states or not condition(states[-1]):
        assert time.monotonic() < give_up, "there is no such state"
        state = runtime.next_state(0.05)
        states += [state] if state else []
    return states


#: Settings of a loop that moves on request only, by step(n): nothing depends on the clock.
WALKING = {"time_mode": "fast", "start_paused": True, "command_timeout": 1e6}

#: Ticks between two looks of the reader: the loop keeps no more states for it.
STRIDE = 25


def walk(runtime, ticks):
    """Make ticks; return the state after each of them."""
    states, before = [], runtime.tick
    while ticks > 0:
        while state := runtime.next_state(0.0):
            states.append(state)
        assert runtime.step(min(STRIDE, ticks))
        ticks -= STRIDE
    while state := runtime.next_state(0.0):
        states.append(state)
    return [state for state in states if state.tick > before]


def commanded(dofs, mode, position=0.0, velocity=0.0, effort=0.0, stiffness=0.0, damping=0.0):
    """Return a Command; numbers hold for all its dofs."""
    from rbdyn_ros.runtime.orders import Command

    numbers = (position, velocity, effort, stiffness, damping)
    dofs = np.atleast_1d(dofs)
    return Command(dofs, np.full(len(dofs), mode), *(np.full(len(dofs), x) for x in numbers))


def rail(mass=2.0, **joint):
    """A mass on a horizontal rail: one dof, q'' = effort / mass."""
    box = rb.shapes.box((0.1, 0.1, 0.1), mass=mass)
    return rb.build(
        rb.SystemBuilder("rail").body("cart", box).joint("x", "prismatic", "base", "cart", **joint)
    )


def bundled_arm():
    """The arm that comes along, options of its own."""
    return rb.load_urdf(bundled_robot("seven_dof_arm"))


def wait_until(condition, seconds=60.0):
    """Wait for a condition; the bound is for machines that are stuck, not for slow ones."""
    give_up = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up, "it never happened"
        time.sleep(1e-3)
