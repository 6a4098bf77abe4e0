# SPDX-License-Identifier: Apache-2.0
"""Environments of many robots that learn side by side, with rb.Batch."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array, Bools
from rbdyn_ros.checks.numbers import count, finite
from rbdyn_ros.dynamics.commanded import commandable
from rbdyn_ros.errors import Finding, ModelError, ParameterError, bad_argument, not_allowed
from rbdyn_ros.model.declared.joints import JointClass
from rbdyn_ros.model.model import Model
from rbdyn_ros.rollouts.batch import Batch

try:
    import gymnasium
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError as error:
    text = "rbdyn_ros.gym needs gymnasium 1.1 or later: pip install 'rbdyn_ros[gym]'"
    raise ImportError(text) from error


class BatchEnv(VectorEnv):  # type: ignore[misc, type-arg, unused-ignore]
    """Robots of a Model as a gymnasium VectorEnv; a subclass defines the task.

    An action has a number from -1 to 1 for each actuated degree of freedom. It is multiplied by
    `effort` and acts for nstep timesteps. An observation is a row of 32-bit floats. A subclass
    must override `reward`; it may override `observe` (together with `limits`), `ended`, `start`
    and `drive`. These methods compute with the arrays of all robots at once.

    An episode is terminated by `ended` or if its robot diverges, and truncated after `horizon`
    actions. Gymnasium's autoreset mode says what happens then. NEXT_STEP: the next step resets the
    robot and ignores its action. SAME_STEP: the same step resets the robot, and returns the last
    observation in infos["final_obs"]. DISABLED: the caller resets the robot by
    reset(options={"reset_mask": mask}).

    Args:
        m: the Model.
        num_envs: number of robots.
        nstep: number of timesteps of an action.
        horizon: largest number of actions of an episode.
        effort: effort of an action of 1 [N m or N]: one number for all actuated degrees of
            freedom, or one for each; None: the effort limits of the Model.
        autoreset_mode: an AutoresetMode or its value, such as "NextStep".
        nthread: number of threads; 0: one per core.

    Attributes:
        batch: the robots, an rb.Batch; every step computes the fields that are bound.
        actuated: (na,) degrees of freedom on which actions act.
        actions_taken: (num_envs,) number of actions since the last reset of each robot.
        diverged_reward: reward of an action in which a robot diverges; 0 unless the subclass sets
            it. If rewards are negative, set it below the sum of the rewards of a whole episode;
            otherwise a policy learns to diverge.

    Raises:
        ParameterError: an argument is not allowed, or a joint has no effort limit.
        ModelError: m is not a Model, or has no actuated joint.
    """

    diverged_reward = 0.0

    def __init__(
        self,
        m: Model,
        num_envs: int,
        *,
        nstep: int = 10,
        horizon: int = 1000,
        effort: ArrayLike | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        nthread: int = 0,
    ) -> None:
        self.batch = Batch(m, num_envs, nthread)
        self.num_envs = num_envs
        self.nstep = count("nstep", nstep, 1)
        self.horizon = count("horizon", horizon, 1)
        self.autoreset_mode = _mode(autoreset_mode)
        self.metadata = {"autoreset_mode": self.autoreset_mode, "render_modes": []}
        moved = (m.jnt_class == JointClass.FREE) & commandable(m)
        self.actuated = np.flatnonzero(moved[m.dof_jntid])
        self.effort = action_efforts(m, self.actuated, effort)
        one = np.ones(self.actuated.size, np.float32)
        self.single_action_space = gymnasium.spaces.Box(-one, one)
        low, high = (np.asarray(x, np.float32) for x in self.limits())
        self.single_observation_space: Any = gymnasium.spaces.Box(low, high)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.actions_taken = np.zeros(num_envs, np.int64)
        self._over: Bools = np.zeros(num_envs, bool)
        self._seen = np.zeros((num_envs, low.size), np.float32)

    # methods that a task can override

    def observe(self) -> Array:
        """Return the observations of all robots (num_envs, n); by default qpos, then qvel.

        The environment clips them to the observation space.
        """
        return np.concatenate([self.batch.qpos, self.batch.qvel], axis=1)

    def limits(self) -> tuple[Array, Array]:
        """Return the lowest and the highest observation (n,).

        By default these are the limits of positions and velocities in the Model. They are infinite
        if the Model has no limit, or if `observe` is overridden.
        """
        if type(self).observe is not BatchEnv.observe:
            high = np.full(np.asarray(self.observe()).shape[1], np.inf)
            return -high, high
        m = self.batch.model
        low, high = np.full(m.nq + m.nv, -np.inf), np.full(m.nq + m.nv, np.inf)
        for j in np.flatnonzero((m.jnt_class == JointClass.FREE) & (m.jnt_dofnum == 1)):
            if m.jnt_limited[j]:
                low[m.jnt_qposadr[j]], high[m.jnt_qposadr[j]] = m.jnt_range[j]
            high[m.nq + m.jnt_dofadr[j]] = m.jnt_velocity[j]
            low[m.nq + m.jnt_dofadr[j]] = -m.jnt_velocity[j]
        return low, high

    def drive(self, actions: Array) -> None:
        """Advance the robots by nstep timesteps with actions (num_envs, na) from -1 to 1.

        By default an action is a constant effort. Override this method for another law, for
        example to let the joints follow position targets.
        """
        self.batch.qfrc_applied[:, self.actuated] = actions * self.effort
        self.batch.step(nstep=self.nstep)

    def reward(self, actions: Array) -> Array:
        """Return the reward (num_envs,) of each robot for its action and its new state."""
        raise NotImplementedError(f"{type(self).__name__} needs a method reward(actions)")

    def ended(self) -> Bools:
        """Return a mask (num_envs,) of the robots whose episode has ended; by default none has."""
        return np.zeros(self.num_envs, bool)

    def start(self, robots: Bools) -> None:
        """Write the initial states of some robots; by default the robots rest at m.qpos0.

        Draw random numbers from self.np_random.

        Args:
            robots: mask (num_envs,) of these robots.
        """

    # gymnasium's interface

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin new episodes; return the observations of all robots, and infos.

        Args:
            seed: seed of self.np_random; None: the generator continues.
            options: {"reset_mask": mask} with a mask (num_envs,) of bools, to begin only episodes
                of these robots; None: of all robots.

        Raises:
            ParameterError: the mask is not an array of this kind.
        """
        super().reset(seed=seed)
        mask = (options or {}).get("reset_mask", np.ones(self.num_envs, bool))
        if (
            not isinstance(mask, np.ndarray)
            or mask.dtype != bool
            or mask.shape != self._over.shape
        ):
            allowed = f"an array ({self.num_envs},) of bools"
            raise not_allowed("options['reset_mask']", mask, allowed, "options")
        self._begin(mask)
        self._look()
        return self._seen.copy(), {}

    def step(self, actions: ArrayLike) -> tuple[Any, Array, Bools, Bools, dict[str, Any]]:
        """Take an action for each robot; return observations, rewards, two masks and infos.

        The masks are the terminated and the truncated episodes. If robots diverge in this step,
        infos["diverged"] is their mask.

        Raises:
            ParameterError: actions are not numbers (num_envs, na), or a robot has ended and
                autoreset is off.
        """
        wanted = self._checked(actions)
        ending = self._over
        if self.autoreset_mode == AutoresetMode.DISABLED and ending.any():
            text = f"robot {int(ending.argmax())} has ended its episode"
            remedy = "reset it by reset(options={'reset_mask': mask}) before the next step"
            raise bad_argument("actions", f"{text}; {remedy}")
        self.drive(wanted)
        self.actions_taken += 1
        diverged = self.batch.diverged.copy()
        self._look()
        with np.errstate(invalid="ignore"):
            rewards = np.array(self.reward(wanted), np.float64)
            terminated = np.asarray(self.ended(), bool) | diverged
        rewards[diverged] = self.diverged_reward
        truncated = (self.actions_taken >= self.horizon) & ~terminated
        infos: dict[str, Any] = {}
        if ending.any():  # in NEXT_STEP these robots begin a new episode instead of acting
            self._begin(ending)
            self._look()
            rewards[ending], terminated[ending], truncated[ending] = 0.0, False, False
            diverged &= ~ending
        if diverged.any():
            infos |= {"diverged": diverged, "_diverged": diverged.copy()}
        over = terminated | truncated
        if self.autoreset_mode == AutoresetMode.SAME_STEP and over.any():
            # return the last observations and infos as gymnasium's vector environments do
            last = np.full(self.num_envs, None, object)
            for k in np.flatnonzero(over):
                last[k] = self._seen[k].copy()
            infos = {"final_info": infos, "_final_info": over.copy()}
            infos |= {"final_obs": last, "_final_obs": over.copy()}
            self._begin(over)
            self._look()
        self._over = over & (self.autoreset_mode != AutoresetMode.SAME_STEP)
        return self._seen.copy(), rewards, terminated, truncated, infos

    def close_extras(self, **kwargs: Any) -> None:  # noqa: ARG002 - gymnasium passes them
        """Delete the robots and end their threads."""
        vars(self).pop("batch", None)

    def _begin(self, robots: Bools) -> None:
        if robots.any():
            self.batch.reset(robots)
            self.start(robots)
            self.batch.forward(robots)
            self.actions_taken[robots] = 0
            self._over = self._over & ~robots

    def _look(self) -> None:
        """Update the observations; a diverged robot keeps its last observation."""
        seen = np.asarray(self.observe(), np.float64)
        if seen.shape != self._seen.shape:
            text = f"observe returned the shape {seen.shape}; its limits have {self._seen.shape}"
            raise bad_argument("observe", text)
        space = self.single_observation_space
        with np.errstate(over="ignore"):
            seen = np.clip(seen, space.low, space.high).astype(np.float32)
        well = np.isfinite(seen).all(axis=1) & ~self.batch.diverged
        self._seen[well] = seen[well]

    def _checked(self, actions: ArrayLike) -> Array:
        """Return the actions, clipped to their space; ParameterError if their shape is wrong."""
        try:
            given = np.asarray(actions, np.float64)
        except (TypeError, ValueError):
            given = np.empty(0)
        shape = self.num_envs, self.actuated.size
        if given.shape != shape:
            raise bad_argument("actions", f"actions need the shape {shape}, got {given.shape}")
        return np.clip(given, -1.0, 1.0)


class RobotEnv(gymnasium.Env):  # type: ignore[misc, type-arg, unused-ignore]
    """One robot of a task as a gymnasium.Env, for libraries that do not support a VectorEnv.

    Args:
        task: a subclass of BatchEnv.
        m: the Model.
        settings: further arguments of the task.
    """

    def __init__(self, task: type[BatchEnv], m: Model, **settings: Any) -> None:
        self.robots = task(m, 1, autoreset_mode=AutoresetMode.DISABLED, **settings)
        self.action_space = self.robots.single_action_space
        self.observation_space = self.robots.single_observation_space
        self.metadata = {"render_modes": []}

    def reset(
        self,
        *,
        seed: int | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002 - there are none
    ) -> tuple[Any, dict[str, Any]]:
        """Begin a new episode; return the observation and infos."""
        super().reset(seed=seed)
        self.robots._np_random = self.np_random  # noqa: SLF001 - both are seeded as one
        seen, _ = self.robots.reset(options=None)
        return seen[0], {}

    def step(self, action: ArrayLike) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action; return observation, reward, whether the episode ended, and infos."""
        seen, rewards, terminated, truncated, infos = self.robots.step(np.asarray(action)[None])
        info = {"diverged": True} if "diverged" in infos else {}
        return seen[0], float(rewards[0]), bool(terminated[0]), bool(truncated[0]), info

    def close(self) -> None:
        """End the threads of the robots and delete their arrays."""
        self.robots.close()


def _mode(given: object) -> AutoresetMode:
    try:
        return AutoresetMode(given)
    except ValueError:
        allowed = ", ".join(repr(mode.value) for mode in AutoresetMode)
        raise not_allowed("autoreset_mode", given, f"one of {allowed}") from None


def action_efforts(m: Model, dofs: Any, given: ArrayLike | None) -> Array:
    """Return the effort of an action of 1 for each of the dofs, from `given` or the effort limits.

    Raises:
        ParameterError: `given` is not allowed, or a joint has no effort limit.
        ModelError: the robot has no actuated joint.
    """
    if dofs.size == 0:
        text = f"'{m.name}' has no actuated joint, so no action would move it"
        raise ModelError(Finding("no-actuator", text, "error", m.name))
    if given is not None:
        values = np.asarray(finite("effort", given, None, 0.0))
        if values.shape not in ((), dofs.shape):
            text = f"effort has the shape {values.shape}; allowed are one number or {dofs.shape}"
            raise bad_argument("effort", text)
        return np.broadcast_to(values, dofs.shape)
    limits: Array = m.jnt_effort[m.dof_jntid[dofs]]
    if not np.isfinite(limits).all():
        joint = m.jnt_names[m.dof_jntid[dofs[int(np.argmin(np.isfinite(limits)))]]]
        text = f"joint '{joint}' has no effort limit; give `effort`, the force of an action of 1"
        raise ParameterError(Finding("bad-argument", text, "error", "effort"))
    return limits
