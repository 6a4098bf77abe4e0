# SPDX-License-Identifier: Apache-2.0
"""A simulation that a view can show without ROS: a loop with one robot in this process."""

import threading
from pathlib import Path

import numpy as np

from rbdyn_ros.description.urdf_files import urdf
from rbdyn_ros.loading.load import complete
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.runtime.settings import LoopSettings
from rbdyn_ros.runtime.types import EFFORT, POSITION, Command, Wrench
from rbdyn_ros.view.live.link import Cast
from rbdyn_ros.view.live.pull import HandSpring
from rbdyn_ros.view.live.watched import Watched


class ViewedLoop:
    """A simulation of a robot file that records every order of a view in `orders`."""

    def __init__(self, path, **settings):
        path = Path(path)
        description, text = urdf.read_file(path)
        self.m = complete(description)
        joints = tuple(n for n, e in zip(self.m.jnt_names, self.m.jnt_dofnum, strict=True) if e)
        self.cast = Cast("", description, text=text, path=path, joints=joints)
        self.loop = Loop(self.m, LoopSettings(realtime="off", **settings))
        self.watched, self.hand = Watched(self.loop), HandSpring(self.loop)
        self.orders, self.looks, self.energies = [], 0, 0
        self.seen = []
        self._lock = threading.Lock()

    def __enter__(self):
        self.loop.start()
        return self

    def __exit__(self, *_):
        self.loop.stop()

    def _note(self, *order):
        with self._lock:
            self.orders.append(order)

    def all_of(self, what):
        """Return the arguments of all orders whose kind is `what`."""
        with self._lock:
            return [order[1:] for order in self.orders if order[0] == what]

    @property
    def state(self):
        return self.loop.readout.latest()

    def instants(self, energy=False):
        self.looks += 1
        self.energies += energy
        return [self.watched.instant(energy)]

    def recast(self, _robot):
        return None

    def sights(self, _robot):
        return self.seen

    def pause(self, paused):
        self._note("pause", paused)
        self.loop.time.pause(paused)
        return ""

    def step(self, ticks):
        self._note("step", ticks)
        if not self.loop.time.paused:
            return "the simulation runs; pause it first"
        self.loop.time.step(ticks)
        return ""

    def reset(self):
        self._note("reset")
        self.loop.plant.reset()
        return ""

    def set_speed(self, factor):
        self._note("set_speed", factor)
        self.loop.time.set_real_time_factor(factor)
        return ""

    def push(self, _robot, link, point, force, torque, duration):
        self._note("push", link, tuple(force), duration)
        body = int(self.m.frame_bodyid[self.m.frame_id(link)])
        wrench = Wrench(body, point, force, torque, False, duration)
        self.loop.orders.push(wrench, "view")
        return ""

    def pull(self, _robot, link, point, goal, duration):
        self._note("pull", link, tuple(point), tuple(goal), duration)
        if goal:
            pull = self.hand.pull(link, np.array(point), np.array(goal), duration)
            self.loop.orders.push(pull, "hand")
        else:
            self.loop.orders.clear_wrenches()
        return ""

    def drive(self, _robot, efforts, positions):
        self._note("drive", dict(efforts), dict(positions))
        names, zeros = [*efforts, *positions], np.zeros(len(efforts) + len(positions))
        dofs = [int(self.m.jnt_dofadr[self.m.jnt_names.index(name)]) for name in names]
        modes = [EFFORT] * len(efforts) + [POSITION] * len(positions)
        goals = [*zeros[: len(efforts)], *positions.values()]
        loads = [*efforts.values(), *zeros[len(efforts) :]]
        self.loop.orders.command(Command(dofs, modes, goals, zeros, loads, zeros, zeros))
        return ""

    def release(self, _robot):
        self._note("release")
        return ""
