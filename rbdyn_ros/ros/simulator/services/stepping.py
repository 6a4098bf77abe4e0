# SPDX-License-Identifier: Apache-2.0
"""The step service and the step action of simulation_interfaces, on a helper node."""

import threading
from collections.abc import Callable
from typing import Any

from rclpy.node import Node

from rbdyn_ros.errors import RbdynError, refusal
from rbdyn_ros.ros.common.graph.action_thread import ActionThread
from rbdyn_ros.ros.simulator.robot.simulation import Simulation
from rbdyn_ros.ros.simulator.services.results import fill_result

#: The service checks for interruptions each time after this many steps.
STEPS_AT_ONCE = 100


class Stepping:
    """Serves step_simulation and simulate_steps in its own thread, from `start` until `close`.

    Args:
        node: node that offers them under its name.
        simulation: the simulation to step.
    """

    def __init__(self, node: Node, simulation: Simulation) -> None:
        from simulation_interfaces.action import SimulateSteps
        from simulation_interfaces.srv import StepSimulation

        self._simulation, self._action = simulation, SimulateSteps
        self._busy = threading.Lock()
        self._thread = ActionThread(node, "steps", "a request to step")
        self._thread.service(StepSimulation, "step_simulation", self._step)
        self._thread.action(SimulateSteps, "simulate_steps", self._simulate)

    def start(self) -> None:
        """Begin to serve requests to step."""
        self._thread.start()

    def close(self) -> None:
        """End the steps in progress, and stop serving."""
        self._thread.close()

    def _step(self, request: Any, response: Any) -> Any:
        def act() -> None:
            self._advance(request.steps, STEPS_AT_ONCE, lambda _: True)

        fill_result(response.result, act)
        return response

    def _simulate(self, goal: Any) -> Any:
        """Make single steps with feedback until all are made or the goal is cancelled."""
        steps = goal.request.steps

        def report(done: int) -> bool:
            feedback = self._action.Feedback(completed_steps=done, remaining_steps=steps - done)
            goal.publish_feedback(feedback)
            return not goal.is_cancel_requested

        message = self._action.Result()
        done = fill_result(message.result, lambda: self._advance(steps, 1, report))
        if done:
            goal.succeed()
        elif goal.is_cancel_requested:
            goal.canceled()
        else:
            goal.abort()
        return message

    def _advance(self, steps: int, at_once: int, go_on: Callable[[int], bool]) -> None:
        """Make steps; refuse if another request is making steps.

        Args:
            steps: number of steps.
            at_once: number of steps between two checks for interruptions.
            go_on: called with the number of steps done; returns False to cancel.

        Raises:
            RbdynError: another request is stepping, or not all steps were made.
        """
        if not self._busy.acquire(blocking=False):
            raise refusal("another request is stepping; wait for it or cancel it")
        try:
            self._advance_alone(steps, at_once, go_on)
        finally:
            self._busy.release()

    def _advance_alone(self, steps: int, at_once: int, go_on: Callable[[int], bool]) -> None:
        simulation, done = self._simulation, 0
        while done < steps:
            progress = f"after {done} of {steps} steps"
            if self._thread.closing.is_set():
                raise refusal(f"the simulation ends, {progress}")
            if not simulation.paused and done == 0:
                raise refusal("only a paused simulation can be stepped; it is playing")
            if not simulation.paused:
                raise refusal(f"the simulation was resumed, {progress}")
            count = min(at_once, steps - done)
            try:
                simulation.step(count)
            except RbdynError as error:
                reason = "the state diverged" if simulation.diverged else str(error)
                raise refusal(f"{reason}, {progress}") from error
            done += count
            if not go_on(done) and done < steps:
                raise refusal(f"cancelled after {done} of {steps} steps")
