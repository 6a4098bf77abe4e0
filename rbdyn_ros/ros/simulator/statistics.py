# SPDX-License-Identifier: Apache-2.0
"""Publish the statistics of each robot's loop: ~/stats for programs, /diagnostics for people."""

import math
from collections.abc import Sequence
from typing import Any

from rclpy.node import Node

from rbdyn_ros.ros.common.graph.interfaces import message_class
from rbdyn_ros.ros.common.parsing.convert import time_message
from rbdyn_ros.ros.common.reports.diagnostics import Diagnostics
from rbdyn_ros.ros.common.reports.qos_reports import for_publisher
from rbdyn_ros.ros.common.reports.status import Status
from rbdyn_ros.ros.simulator.robot.robot import Robot
from rbdyn_ros.ros.simulator.topics.alarms import has_locked_drive
from rbdyn_ros.ros.simulator.topics.diagnosis import EventCounts, Observation, diagnose
from rbdyn_ros.runtime.timing import Window


class Statistics:
    """Reports on all robots of a node.

    Args:
        node: node that publishes /diagnostics for all robots; each robot's own node publishes
            ~/stats.
        robots: the robots, whose loops run.
        rate: rate of the reports [Hz].
    """

    def __init__(self, node: Node, robots: Sequence[Robot], rate: float) -> None:
        self._interval, self._due = 1.0 / rate, -math.inf
        statistics = message_class(node, "rbdyn_interfaces", "Statistics", "~/stats")
        self._watches = [_Watch(robot, statistics) for robot in robots]
        self._diagnostics = Diagnostics(node)

    def publish_if_due(self, now: float) -> None:
        """Publish a report if it is due at the time `now` of the steady clock [s]."""
        if now < self._due:
            return
        # a slightly late report does not delay the next report
        self._due += self._interval
        if self._due < now:
            self._due = now + self._interval
        observed = [(watch, watch.observe()) for watch in self._watches]
        for watch, observation in observed:
            watch.publish(observation)
        self._diagnostics.publish([row for w, o in observed for row in w.statuses(o)])


class _Watch:
    """The topic ~/stats of one robot, and the robot's counts at the last report."""

    def __init__(self, robot: Robot, kind: Any) -> None:
        self._robot, self._class = robot, kind
        self._sha256 = robot.loop.m.sha256()
        self._window = Window()
        self._counts = EventCounts()
        self._factor = robot.loop.time.real_time_factor
        self._publisher: Any = None
        if kind is not None:
            self._publisher = robot.node.create_publisher(
                kind, "~/stats", 10, event_callbacks=for_publisher(robot.node, "~/stats")
            )

    def observe(self) -> Observation:
        """Return an observation, with the numbers of events since the last observation."""
        robot, loop = self._robot, self._robot.loop
        readout, settings = loop.readout, loop.settings
        total, state = readout.timing(), readout.latest()
        before = self._counts
        self._counts = EventCounts(
            robot.rejected,
            readout.saturated_ticks,
            readout.lockstep_timeouts,
            robot.reception.ages.late,
            robot.dropped_readings,
        )
        steady = self._factor == loop.time.real_time_factor
        self._factor = loop.time.real_time_factor
        return Observation(
            total=total,
            window=self._window.next(total),
            period_ns=loop.period_ns,
            time_mode=settings.time_mode,
            factor=self._factor if steady else None,
            tick=state.tick,
            paused=loop.time.paused,
            waiting=loop.time.waiting,
            unanswered=loop.unanswered,
            fault=loop.m.jnt_names[state.fault] if state.fault >= 0 else "",
            locked=has_locked_drive(loop.m, state.fault),
            stale=state.stale,
            command_age=readout.command_age(),
            command_timeout=settings.command_timeout,
            on_timeout=settings.on_timeout,
            accepted=robot.accepted,
            counts=self._counts,
            new=self._counts.since(before),
            model_sha256=self._sha256,
        )

    def publish(self, o: Observation) -> None:
        """Publish an observation on ~/stats of the robot's node."""
        if self._publisher is None:
            return
        message, w = self._class(), o.window
        message.header.stamp = time_message(self._robot.stamp_ns(o.tick))
        message.ticks, message.overruns = o.total.ticks, o.total.overruns
        message.real_time_factor = w.real_time_factor
        message.lateness_p50, message.lateness_p99, message.lateness_max = w.p50, w.p99, w.worst
        message.step_time_p50, message.step_time_p99 = w.step_p50, w.step_p99
        message.step_time_max = w.step_worst
        message.command_age = o.command_age
        message.accepted, message.rejected = o.accepted, o.counts.rejected
        message.stale_joints, message.saturated_ticks = o.stale, o.counts.saturated
        message.dropped_readings = o.counts.dropped
        message.paused, message.waiting, message.fault = o.paused, o.waiting, bool(o.fault)
        message.model_sha256 = o.model_sha256
        for port in self._robot.grippers:
            now = port.state()
            message.gripper.append(port.gripper.joint)
            message.gripper_width.append(port.gripper.width(now.position))
            message.gripper_force.append(port.gripper.force(now.effort))
        self._publisher.publish(message)

    def statuses(self, o: Observation) -> list[tuple[Node, str, Status]]:
        """Return the rows of an observation for Diagnostics.publish."""
        node, hardware = self._robot.node, self._robot.loop.m.name
        return [(node, hardware, status) for status in diagnose(o)]
