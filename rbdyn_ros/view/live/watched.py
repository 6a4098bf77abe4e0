# SPDX-License-Identifier: Apache-2.0
"""Convert the latest state of a loop to an Instant, and measure the speed of its time."""

import math
import time
from collections import deque
from dataclasses import replace

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.dynamics.instant import Instant, contact_points
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.dynamics.toolbox.terms import kinetic_energy, potential_energy
from rbdyn_ros.model.model import Model
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.runtime.state import LoopState

#: Length of the window in which the speed is measured [s].
SPAN = 1.0


class Pace:
    """Measures the simulated seconds per second over about the last second.

    The measurement restarts when time is paused or jumps back.
    """

    def __init__(self) -> None:
        self._marks: deque[tuple[float, float]] = deque()

    def at(self, now: float, simulated: float, paused: bool) -> float:
        """Return the simulated seconds per second; NaN in a pause and at the first call after it.

        Args:
            now: time of a steady clock [s].
            simulated: simulated time [s].
            paused: whether the simulation is paused.
        """
        marks = self._marks
        if paused or (marks and simulated < marks[-1][1]):
            marks.clear()
        if paused:
            return math.nan
        marks.append((now, simulated))
        while len(marks) > 2 and marks[1][0] <= now - SPAN:
            marks.popleft()
        gone = now - marks[0][0]
        return (simulated - marks[0][1]) / gone if gone > 0.0 else math.nan


def before_start(m: Model, qpos: Array, held: bool) -> Instant:
    """Return the Instant before the start at qpos (nq,); held: whether the robot is held."""
    return replace(Instant.still(m, qpos), paused=True, tick=-1, held=held)


class Watched:
    """Makes Instants from the states of a loop. Only one thread at a time may use it.

    Args:
        loop: loop to watch.

    Attributes:
        m: Model of the last instant.
        world: number of the world, see Instant.
    """

    def __init__(self, loop: Loop) -> None:
        self._loop, self._pace = loop, Pace()
        self.m, self.world = loop.m, 0
        self._plant: Model | None = None

    def instant(self, energy: bool = False) -> Instant:
        """Return the present instant of the robot; `energy`: include its energies."""
        loop, control = self._loop, self._loop.time
        if not loop.running and control.tick == 0:
            # do not read the latest state, which would run the loop before its start
            still = before_start(loop.m, loop.start_position, loop.holding)
            return replace(still, wanted=control.real_time_factor)
        state = loop.readout.latest()
        if state.m is not self.m:
            self.m, self.world = state.m, self.world + 1
        paused, fault = control.paused, ""
        if state.fault >= 0:
            fault = f"the state of joint '{state.m.jnt_names[state.fault]}' diverged"
        stopped = paused or bool(fault) or control.waiting
        return Instant(
            time=state.time,
            qpos=state.qpos,
            qvel=state.qvel,
            effort=state.effort,
            xfrc=state.xfrc,
            contact=state.contact if state.m.ncontact else None,
            points=self._points(state),
            energy=self._energy(state) if energy else None,
            paused=paused,
            fault=fault,
            factor=self._pace.at(time.monotonic(), state.time, stopped),
            tick=state.tick,
            wanted=control.real_time_factor,
            world=self.world,
            held=loop.holding,
        )

    def _points(self, state: LoopState) -> Array:
        """Return the contact points and forces (n, 6), which may be a tick newer than the state.

        The loop may write them meanwhile, so one picture can have old and new numbers.
        """
        if state.m.ncontact == 0 or not state.contact.any():
            return np.zeros((0, 6))
        return contact_points(self._loop.plant.d)

    def _energy(self, state: LoopState) -> tuple[float, float] | None:
        """Return potential and kinetic energy with the present payloads and gravity [J].

        Return None if the objects have just changed.
        """
        plant = self._loop.plant.m
        if plant.data_slots != state.m.data_slots:
            return None  # the objects are changing
        if plant is not self._plant:
            self._plant, self._d = plant, make_data(plant)
        self._d.qpos, self._d.qvel, self._d.time = state.qpos, state.qvel, state.time
        return potential_energy(plant, self._d), kinetic_energy(plant, self._d)
