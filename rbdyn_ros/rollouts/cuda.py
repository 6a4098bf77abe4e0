# SPDX-License-Identifier: Apache-2.0
"""The robots of a Batch on a GPU. Steps with contact that need the engine run on the CPU."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from rbdyn_ros.errors import Finding, ModelError, bad_argument
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model
from rbdyn_ros.rollouts.arguments import robot_numbers
from rbdyn_ros.rollouts.contact.points import touching
from rbdyn_ros.rollouts.contact_drive import PASSES, ROUNDS
from rbdyn_ros.rollouts.contact_programs import contact_programs, memory_of
from rbdyn_ros.rollouts.contact_step import MEMORY
from rbdyn_ros.rollouts.cpu import Cpu
from rbdyn_ros.rollouts.gpu import Gpu, Launch
from rbdyn_ros.rollouts.job import COMMANDS
from rbdyn_ros.rollouts.law import plain_tree
from rbdyn_ros.rollouts.outputs import OBSERVED_OUTPUTS
from rbdyn_ros.rollouts.params import check_built_in, open_places, with_springs
from rbdyn_ros.rollouts.programs import observer_program, step_program
from rbdyn_ros.specialization.functions import FORCES
from rbdyn_ros.specialization.languages.c_language import DOUBLE, FLOAT
from rbdyn_ros.specialization.languages.cuda_code import (
    BLOCK,
    LONGEST_FUNCTION,
    CudaKernel,
    advance_kernel,
    contact_kernel,
    gave_up,
    observe_kernel,
    source,
)
from rbdyn_ros.specialization.programs.program import hoist

#: The array with the number of steps that a robot still has to do.
LEFT = "left"


class Cuda:
    """A Device of a Batch, see device.Device, on the present GPU and stream of CuPy.

    Args:
        m: the Model.
        nsim: number of robots.
        number: type of the numbers.
        threads: number of CPU threads on which the engine advances robots with contact.

    Raises:
        ParameterError: there is no CuPy or no GPU, the robots do not fit in its memory, or robots
            with contact have 32-bit floats.
    """

    why = ""  # a GPU runs only code for the Model

    def __init__(self, m: Model, nsim: int, number: np.dtype[Any], threads: int) -> None:
        self._gpu = Gpu()
        self.model, self.nsim, self.number = m, nsim, number
        self.nbad = self._gpu.zeros(f"{nsim} robots", (nsim,), np.int64)
        self.diverged = self._gpu.zeros(f"{nsim} robots", (nsim,), np.bool_)
        self._memory: Mapping[str, Any] = {}
        self._kernels: list[tuple[CudaKernel, Launch]] = []
        self._engine: EngineOfGpu | None = None
        if m.ncontact > 0:
            if number != np.float64:
                text = f"dtype is '{number.name}'; allowed is float64 for a Model with contact"
                raise bad_argument("dtype", text)
            counts = {"nbad": self.nbad, "diverged": self.diverged}
            self._engine = EngineOfGpu(Cpu(m, nsim, threads, True), self._gpu, counts)

    def zeros(self, name: str, shape: tuple[int, ...]) -> Any:
        """Return new memory (*shape, nsim)."""
        return self._gpu.zeros(f"{name} of {self.nsim} robots", (*shape, self.nsim), self.number)

    def given(self, value: Any) -> Any:
        """Convert a value to an array of the GPU."""
        return self._gpu.arrays.asarray(value)

    def on_host(self, values: Any) -> Any:
        """Return an array as a NumPy array."""
        return self._gpu.on_host(values)

    def chosen(self, ids: Any) -> Any:
        """Return numbers of robots, given numbers or a mask."""
        known = ids if isinstance(ids, self._gpu.arrays.ndarray) else np.asarray(ids)
        return self.given(robot_numbers(known, ids, self.nsim, _sorted))

    def check_own(self, name: str) -> None:
        """Raise ModelError unless each robot can have its own values of a field of the Model."""
        check_built_in(self.model, name, "device='cpu' runs the engine's own code")

    def prepare(self, memory: Mapping[str, Any], expanded: Collection[str]) -> None:
        """Compile the kernels for the options of the Model."""
        bound = [name for name in memory if name not in expanded]
        own = {name: open_places(self.model, name).tolist() for name in expanded}
        real = DOUBLE if self.number == np.float64 else FLOAT
        for longest in (LONGEST_FUNCTION, BLOCK):
            kernels = kernels_of(self.model, own, bound, self.number, longest)
            names = [kernel.name for kernel in kernels]
            launches = self._gpu.compiled(source(kernels, real), names)
            if not any(gave_up(each.registers, each.local_memory) for each in launches):
                break
        self._kernels = list(zip(kernels, launches, strict=True))
        more = self._engine.prepare(memory, expanded) if self._engine else {}
        self._memory = {**memory, **more}

    def run(self, nstep: int, ids: Any) -> None:
        """Advance robots, all if `ids` is None.

        Without contact, return before the GPU has finished.
        """
        if ids is not None and ids.size == 0:
            return
        if self.model.nu > 0 and COMMANDS in self._memory:
            rows, robots = self.model.actuator_dofid, slice(None) if ids is None else ids
            commands = self._memory[COMMANDS][:, robots]
            for row, command in zip(rows.tolist(), commands, strict=True):
                self._memory["qfrc_applied"][row, robots] = command
        if self._engine is None:
            self._launch(0, nstep, ids)
        else:
            self._engine.run(lambda robots: self._launch(0, nstep, robots), nstep, ids)
        for k in range(1, len(self._kernels)):
            self._launch(k, nstep, ids)

    def _launch(self, k: int, nstep: int, ids: Any) -> None:
        """Run kernel number k for robots, or for all if `ids` is None."""
        kernel, launch = self._kernels[k]
        count = self.nsim if ids is None else int(ids.size)
        arrays = [self._memory[name] for name in kernel.arrays]
        numbers = np.int64(self.nsim), np.int64(nstep)
        launch.run(count, ids, *numbers, self.nbad, self.diverged, *arrays)

    def clear(self, rows: Any) -> None:
        """Reset the counts and the memory of friction of some robots."""
        self.nbad[rows] = 0
        if self._engine is not None:
            self._engine.clear(rows)

    def remember(self, d: Data, k: int) -> None:
        """Write the memory of robot k, without its state, into a Data."""
        if self._engine is not None:
            self._engine.settled().remember(d, k)

    def counted(self, name: str) -> Any:
        """Return the counter `name` of each robot, (nsim,)."""
        if self._engine is None:
            return self._gpu.arrays.zeros(self.nsim, np.int64)
        return self.given(self._engine.settled().counted(name))

    def __str__(self) -> str:
        return f"code for this Model on {self._gpu}, {self.number.name}"


class EngineOfGpu:
    """The robots of a GPU in the host's memory; the host does the steps that need the engine.

    A kernel stops before such a step. The robot is copied to the host, a Batch on the CPU does the
    step, the robot is copied back, and the GPU continues.

    On the GPU the friction memory "grip" always has the lanes' form. While its last entry is 1,
    the host also has the memory in the engine's form, which is exact.

    Args:
        cpu: the robots on the host.
        gpu: the GPU that has the robots.
        counts: nbad and diverged on the GPU.
    """

    def __init__(self, cpu: Cpu, gpu: Gpu, counts: Mapping[str, Any]) -> None:
        self._cpu, self._gpu, self._counts = cpu, gpu, counts
        # by name, the array on the GPU and the array on the host
        self._arrays: dict[str, tuple[Any, Any]] = {}
        self._left = gpu.zeros(f"{cpu.nsim} robots", (1, cpu.nsim), np.float64)

    def prepare(self, memory: Mapping[str, Any], expanded: Collection[str]) -> dict[str, Any]:
        """Prepare the code of the host; return the arrays that a kernel needs besides `memory`.

        The arguments are those of Device.prepare.
        """
        cpu, before = self.settled(), self._arrays
        here = {name: each for name, (_, each) in before.items() if name in memory}
        for name in {*memory} - {*OBSERVED_OUTPUTS, *here}:
            here[name] = cpu.zeros(name, memory[name].shape[:-1])
        cpu.prepare(here, expanded)
        cpu.load(np.arange(cpu.nsim))
        assert cpu.friction is not None  # this object exists only for robots with contact
        grip = self._gpu.arrays.asarray(cpu.friction.grip)
        self._arrays = {name: (memory[name], each) for name, each in here.items()}
        self._arrays[MEMORY] = grip, cpu.friction.grip
        self._arrays |= {name: (each, getattr(cpu, name)) for name, each in self._counts.items()}
        return {MEMORY: grip, LEFT: self._left}

    def run(self, launch: Callable[[Any], None], nstep: int, ids: Any) -> None:
        """Advance robots, all if `ids` is None; `launch` runs the kernel for some robots.

        Raises:
            KeyboardInterrupt: after Ctrl-C; each robot has then done some of the steps.
        """
        self._left[0, slice(None) if ids is None else ids] = nstep
        try:
            launch(ids)
            while (left := self._gpu.arrays.flatnonzero(self._left[0])).size > 0:
                self._step(left)
                self._left[0, left] -= 1
                launch(left)
        finally:
            self._left[:] = 0

    def _step(self, ids: Any) -> None:
        """Do one step of some robots on the host."""
        robots = self._gpu.on_host(ids)
        for there, here in self._arrays.values():
            here[..., robots] = self._gpu.on_host(there[..., ids])
        try:
            self._cpu.run(1, robots)
        finally:
            self._cpu.load(robots)
            for there, here in self._arrays.values():
                there[..., ids] = self._gpu.arrays.asarray(here[..., robots])

    def settled(self) -> Cpu:
        """Copy the friction memory from the GPU to the host; return the robots on the host."""
        if MEMORY in self._arrays:
            there, here = self._arrays[MEMORY]
            here[:] = self._gpu.on_host(there)
        return self._cpu

    def clear(self, rows: Any) -> None:
        """Reset the counts and the memory of friction of some robots."""
        self._cpu.clear(rows if isinstance(rows, slice) else self._gpu.on_host(rows))
        grip, _ = self._arrays[MEMORY]
        grip[:, rows] = 0.0
        grip[-1, rows] = 1.0


def kernels_of(
    m: Model, own: Mapping[str, Collection[int]], bound: Collection[str], number: np.dtype[Any],
    longest: int = LONGEST_FUNCTION,
) -> list[CudaKernel]:  # fmt: skip
    """Return the kernels of a Batch, in the order of their calls.

    Args:
        m: the Model.
        own: the flat indices at which robots differ, for each field of the Model, or "gravity".
        bound: fields of Data that have arrays.
        number: float64 or float32.
        longest: largest number of operations of a program that becomes one function.

    Raises:
        ModelError: the Model cannot be specialised, or has contacts for which a GPU has no code.
    """
    real = DOUBLE if number == np.float64 else FLOAT
    model = with_springs(m, {name: tuple(places) for name, places in own.items()})
    given = [name for name in FORCES if name in bound]
    state = {"time": 1, "qpos": m.nq, "qvel": m.nv} | ({"act": m.na} if m.na else {})
    try:
        if m.ncontact > 0:
            programs, size = _with_contact(model, own, given)
            limits = ROUNDS, PASSES
            first = contact_kernel(programs, state | {MEMORY: size}, limits, real, longest)
            model = plain_tree(model)
        else:
            once, repeated = hoist(step_program(model, own, None, given), tuple(own))
            first = advance_kernel(once, repeated, state, real, longest)
    except ModelError as error:
        if error.code != "not-traceable":
            raise
        text = f"{error}; this case has no GPU code, but device='cpu' runs the engine's own code"
        raise ModelError(Finding("not-traceable", text, "error", m.name)) from None
    seen = [name for name in OBSERVED_OUTPUTS if name in bound]
    outputs = observer_program(model, tuple(own.items()), seen)
    return [first, observe_kernel(outputs, real, longest)] if outputs.outputs else [first]


def _with_contact(
    m: Model, own: Mapping[str, Collection[int]], given: Collection[str]
) -> tuple[dict[str, Any], int]:
    """Return the programs of a step with contact, and the length of the friction memory.

    Raise ModelError if a contact is not with a plane.
    """
    found = touching(m)
    if found.loops:
        text = f"'{m.name}' cannot be specialised: it has contacts that are not with planes"
        raise ModelError(Finding("not-traceable", text, "error", m.name))
    programs, stops = contact_programs(m, own, None, given, found)
    # the last entry is 1 if the engine's memory is newer
    return programs, memory_of(found) + len(stops) + 1


def _sorted(numbers: Any) -> Any:
    ordered = numbers.copy()
    ordered.sort()
    return ordered
