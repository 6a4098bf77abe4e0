# SPDX-License-Identifier: Apache-2.0
"""A gymnasium environment of the simulator node in lock-step, with nodes of the user."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.numbers import count, finite
from rbdyn_ros.errors import bad_argument
from rbdyn_ros.gym.batch_env import action_efforts
from rbdyn_ros.gym.simulation import NodeSimulation
from rbdyn_ros.loading.load import load
from rbdyn_ros.ros.common.parsing.single_joints import SingleJoints


class NodeEnv(gymnasium.Env):  # type: ignore[misc, type-arg, unused-ignore]
    """One robot in the simulator node, in a ROS domain of its own.

    The simulator runs in a process of its own and waits for the answer to every state, so an
    episode depends only on its seed and actions. An action has a number from -1 to 1 for each
    joint that accepts efforts. It is multiplied by `effort` and acts for nstep timesteps. An
    observation has the positions and then the velocities of all joints of joint_states. A subclass
    must override `reward`; it may override `observe` (together with `limits`), `ended` and
    `start`. It overrides `act` if its own nodes get the actions and command the joints.

    Args:
        robot: path of the robot file.
        nstep: number of timesteps of an action.
        horizon: largest number of actions of an episode.
        effort: effort of an action of 1 [N m or N]: one number for all joints or one for each;
            None: the effort limits.
        nodes: command lines of nodes to run besides the simulator, in the present folder.
        parameters: parameters of the simulator, by name; None: the defaults, without a floating
            base and contact.
        patience: longest wait for a state, in wall time [s].

    Attributes:
        m: the Model.
        joints: names of the joints of joint_states.
        actuated: names of the joints on which actions act.
        position, velocity: positions and velocities of the joints in the latest state [rad or m;
            per s].
        simulation: the simulation; `simulation.client.node` is a node of rclpy in its ROS domain,
            and `simulation.environment` puts other processes into this domain.

    Raises:
        ParameterError: an argument is not allowed, or a joint has no effort limit.
        RbdynError: the robot is refused, or the simulator does not start.
    """

    def __init__(
        self,
        robot: str | Path,
        *,
        nstep: int = 10,
        horizon: int = 1000,
        effort: ArrayLike | None = None,
        nodes: Sequence[Sequence[str]] = (),
        parameters: Mapping[str, Any] | None = None,
        patience: float = 60.0,
    ) -> None:
        given = {"floating_base": False, "contact": False, **(parameters or {})}
        floating, contact = given["floating_base"], given["contact"]
        self.m = load(robot, floating_base=floating, contact=contact)
        self.horizon = count("horizon", horizon, 1)
        acting = SingleJoints.commanded(self.m)
        self.joints, self.actuated = SingleJoints.all(self.m).names, acting.names
        self.effort = action_efforts(self.m, acting.dofadr, effort)
        self.position = self.velocity = np.zeros(len(self.joints))
        given |= {"time_mode": "lockstep", "lockstep_timeout": 0.0, "realtime": "off"}
        given["control_decimation"] = count("nstep", nstep, 1)
        given["urdf"] = str(Path(robot).resolve())
        self.simulation = NodeSimulation(
            given, nodes, float(finite("patience", patience, (), 0.0))
        )
        one = np.ones(len(self.actuated), np.float32)
        self.action_space = gymnasium.spaces.Box(-one, one)
        low, high = (np.asarray(x, np.float32) for x in self.limits())
        self.observation_space = gymnasium.spaces.Box(low, high)
        self.metadata = {"render_modes": []}
        self._taken = 0

    # methods that a task can override

    def observe(self) -> Array:
        """Return the observation (n,); by default positions, then velocities."""
        return np.concatenate([self.position, self.velocity])

    def limits(self) -> tuple[Array, Array]:
        """Return the lowest and the highest observation (n,).

        By default these are the limits of positions and velocities in the Model. They are infinite
        if the Model has no limit, or if `observe` is overridden.
        """
        if type(self).observe is not NodeEnv.observe:
            high = np.full(np.asarray(self.observe()).shape, np.inf)
            return -high, high
        m, chosen = self.m, [self.m.jnt_id(name) for name in self.joints]
        limited = m.jnt_limited[chosen] == 1
        low = np.where(limited, m.jnt_range[chosen, 0], -np.inf)
        high, speed = np.where(limited, m.jnt_range[chosen, 1], np.inf), m.jnt_velocity[chosen]
        return np.concatenate([low, -speed]), np.concatenate([high, speed])

    def reward(self, action: Array) -> float:
        """Return the reward for an action and the new state."""
        raise NotImplementedError(f"{type(self).__name__} needs a method reward(action)")

    def ended(self) -> bool:
        """Return whether the episode has ended; by default it never has."""
        return False

    def start(self) -> tuple[Mapping[str, float], Mapping[str, float]]:
        """Return initial positions and velocities by joint; by default none.

        All other joints begin at rest where the simulator starts them. Draw random numbers from
        self.np_random.
        """
        return {}, {}

    def act(self, action: Array) -> None:
        """Answer the latest state with an action; by default the action commands efforts."""
        self.simulation.ask().command(self.actuated, (action * self.effort).tolist())

    # gymnasium's interface

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin a new episode; return the observation and infos."""
        super().reset(seed=seed, options=options)
        position, velocity = self.start()
        number = int(self.np_random.integers(2**31))
        self._take(self.simulation.ask().reset(number, position, velocity))
        self._taken = 0
        return self._seen(), {}

    def step(self, action: ArrayLike) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action; return observation, reward, whether the episode ended, and infos.

        Raises:
            ParameterError: the action is not an array (na,) of numbers.
            RbdynError: no state arrives within `patience`, or a process has ended.
        """
        given = np.asarray(action, np.float64)
        if given.shape != (len(self.actuated),):
            text = f"the action has the shape {given.shape}; allowed is ({len(self.actuated)},)"
            raise bad_argument("action", text)
        wanted = np.clip(given, -1.0, 1.0)
        client = self.simulation.ask()
        self.act(wanted)
        self._take(client.next_state())
        self._taken += 1
        reward, ended = float(self.reward(wanted)), bool(self.ended())
        return self._seen(), reward, ended, self._taken >= self.horizon and not ended, {}

    def close(self) -> None:
        """End the simulator and the nodes."""
        self.simulation.close()

    def _take(self, state: Any) -> None:
        order = [state.name.index(name) for name in self.joints]
        self.position = np.array(state.position)[order]
        self.velocity = np.array(state.velocity)[order]

    def _seen(self) -> Any:
        space: Any = self.observation_space
        with np.errstate(over="ignore"):
            return np.clip(self.observe(), space.low, space.high).astype(np.float32)
