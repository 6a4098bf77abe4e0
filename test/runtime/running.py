"""What tests of the loop share beside their fixtures."""

import time


def states_for(runtime, seconds):
    """Return the states of the next seconds."""
    states, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        state = runtime.next_state(0.05)
        states += [state] if state else []
    return states


def states_over(runtime, simulated):
    """Return the states of the next simulated seconds, however slow the machine is."""
    states, give_up = [], time.monotonic() + 20.0
    while not states or states[-1].time < states[0].time + simulated:
        assert time.monotonic() < give_up, "the loop hardly moves"
        state = runtime.next_state(0.05)
        states += [state] if state else []
    return states
