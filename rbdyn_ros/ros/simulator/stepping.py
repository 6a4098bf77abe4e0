"""The service and the action of simulation_interfaces that step, on a node of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

from rclpy.node import Node

from rbdyn_ros.ros.common.action_thread import ActionThread

#: Steps between two looks at whether to go on.
STEPS_AT_ONCE = 100


class Steppable(Protocol):
    """What of a simulation is needed to step it."""

    @property
    def paused(self) -> bool:
        """Whether time stands."""

    @property
    def faulty(self) -> bool:
        """Whether a state diverged and is frozen until a reset."""

    def step(self, count: int) -> bool:
        """Simulate so many ticks while paused; return when they are done, and whether."""


class Stepping:
    """Serves them from a thread of its own until `close`.

    Args:
        node: under whose name they are.
        simulation: what they step.
    """

    def __init__(self, node: Node, simulation: Steppable) -> None:
        from simulation_interfaces.action import SimulateSteps
        from simulation_interfaces.msg import Result
        from simulation_interfaces.srv import StepSimulation

        self._simulation, self._result, self._action = simulation, Result, SimulateSteps
        self._busy = threading.Lock()
        self._thread = ActionThread(node, "steps", "a request to step")
        self._thread.service(StepSimulation, "step_simulation", self._step)
        self._thread.action(SimulateSteps, "simulate_steps", self._simulate)
        self._thread.start()

    def close(self) -> None:
        """End what is stepping, and serve no more."""
        self._thread.close()

    def _step(self, request: Any, response: Any) -> Any:
        why = self._advance(request.steps, STEPS_AT_ONCE, lambda _: True)
        result = self._result
        response.result.result = result.RESULT_OPERATION_FAILED if why else result.RESULT_OK
        response.result.error_message = why
        return response

    def _simulate(self, goal: Any) -> Any:
        """Step one at a time, tell of each, end when the goal is cancelled."""
        steps = goal.request.steps

        def tell(done: int) -> bool:
            feedback = self._action.Feedback(completed_steps=done, remaining_steps=steps - done)
            goal.publish_feedback(feedback)
            return not goal.is_cancel_requested

        why = self._advance(steps, 1, tell)
        message = self._action.Result()
        failed = self._result.RESULT_OPERATION_FAILED
        message.result.result = failed if why else self._result.RESULT_OK
        message.result.error_message = why
        if why and goal.is_cancel_requested:
            goal.canceled()
        elif why:
            goal.abort()
        else:
            goal.succeed()
        return message

    def _advance(self, steps: int, at_once: int, go_on: Callable[[int], bool]) -> str:
        """Step; return why it ended early, or an empty string.

        Args:
            steps: how many.
            at_once: how many between two looks at the simulation.
            go_on: told how many are done; whether to go on.
        """
        if not self._busy.acquire(blocking=False):
            return "another request is stepping; wait for it or cancel it"
        try:
            return self._advance_alone(steps, at_once, go_on)
        finally:
            self._busy.release()

    def _advance_alone(self, steps: int, at_once: int, go_on: Callable[[int], bool]) -> str:
        simulation, done = self._simulation, 0
        while done < steps:
            if self._thread.closing.is_set():
                return f"the simulation ends, after {done} of {steps} steps"
            if not simulation.paused and done == 0:
                return "only a paused simulation can be stepped; it is playing"
            if not simulation.paused:
                return f"the simulation was resumed, after {done} of {steps} steps"
            count = min(at_once, steps - done)
            if not simulation.step(count):
                what = "the state diverged" if simulation.faulty else "the step was not taken"
                return f"{what}, after {done} of {steps} steps"
            done += count
            if not go_on(done) and done < steps:
                return f"cancelled after {done} of {steps} steps"
        return ""
