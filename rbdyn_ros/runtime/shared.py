# SPDX-License-Identifier: Apache-2.0
"""The memory that the loop shares with other threads: one row, in which each number is a field.

Kernels call this memory `s`, as they call a Data `d`: `s.tick += 1`. In Python `shared.tick` is a
view of one number or of an array. A field `inside` another field is a part of it, after the parts
declared before; so the whole group can be copied at once.

Python writes `asked`, the settings before the loop starts, and `edit_...` while no edit is under
way. The loop writes everything else. Commands, pushes and states pass through mailboxes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba.extending import typeof_impl

from rbdyn_ros.engine.compiler.views import ViewType
from rbdyn_ros.model.declared.data_fields import STICK_NUMBERS
from rbdyn_ros.model.declared.fields import Field
from rbdyn_ros.model.model import Model

#: Words of `asked`, the requests of Python; the loop acknowledges in the same words of `done`.
ASKED = ("stop", "pause", "steps", "edits", "pace", "read")
STOP, PAUSE, STEPS, EDITS, PACE, READ = range(len(ASKED))

#: Largest number of wrenches that act at once.
NPUSH = 16
#: Largest number of contacts whose memory of friction is in a state.
MOST_STICKS = 256
#: Longest delay of the channel [ticks], and most memory for messages under way [numbers].
LONGEST_DELAY, DELAY_MEMORY = 1024, 2_000_000
#: Number of bins of a histogram, 1 us each; the last bin has all larger values.
NBIN = 10_001
#: Slots of the mailboxes. Only the latest commands and pushes count. States are kept for a late
#: reader: the states of a second at 1 kHz, but at most STATE_MEMORY [numbers].
LATEST_DEPTH, STATE_DEPTHS, STATE_MEMORY = 2, (64, 1024), 4_000_000

#: Words of a state that is handed over.
STATE_WORDS = (
    *("tick", "epoch", "paused", "fault", "saturated", "stale", "bad", "singular", "unsolved"),
    *("dropped", "tracking", "measured_tick"),
)
TICK, EPOCH, PAUSED, FAULT, SATURATED, STALE, BAD, SINGULAR, UNSOLVED = range(9)
DROPPED, TRACKING, MEASURED = range(9, len(STATE_WORDS))
NSTATE_WORDS = len(STATE_WORDS)
NFAULT_WORDS, NTRAJECTORY, NEDIT = 5, 10, 4
#: Largest number of different periods of topics that only Python publishes.
NEVERY = 8
#: Number of floats that describe a wrench or a pull, see kernels/pushes.py.
NPUSH_FLOATS = 23

FIELDS = (
    Field("asked", (len(ASKED),), "requests, see ASKED", "int"),
    Field("done", (len(ASKED),), "acknowledgements, the same words", "int"),
    # settings
    Field("period", (), "length of a tick [ns]", "int"),
    Field("decimation", (), "physics steps per tick", "int"),
    Field("time_mode", (), "index in MODES_OF_TIME", "int"),
    Field("timeout", (), "age at which a command expires [ns]", "int"),
    Field("policy", (), "index in ON_TIMEOUT", "int"),
    Field("lockstep_timeout", (), "longest wait for commands [ns]; 0: forever", "int"),
    Field("every", (), "ticks from one state handed over to the next", "int"),
    Field("report_current", (), "1: the effort of an actuator is its current", "int"),
    Field("port", (), "address of the table of a Port, 0: none", "int"),
    Field("states_wakeup", (), "eventfd: a state was handed over", "int"),
    Field("orders_wakeup", (), "eventfd: a command or a request came", "int"),
    # the Models may be exchanged between two ticks
    Field("models", (3,), "", "int"),
    Field("plant", (), "address of the simulated Model", "int", inside="models"),
    Field("nominal", (), "address of the Model for computing efforts", "int", inside="models"),
    Field(
        "braked_plant", (), "address of the simulated Model with brakes", "int", inside="models"
    ),
    Field("row_address", (), "address of the simulated Data", "int"),
    Field("still_address", (), "address of the Data for computing efforts", "int"),
    Field("start_qpos", ("nq",), "position after a reset"),
    Field("dof_acts", ("nv",), "1 where an actuator acts"),
    Field("dof_time", ("nv",), "time constant of the servo of the dof [s]"),
    Field("dof_drive", ("nv",), "1 for a joint with a simulated drive and gear", "int"),
    Field("dof_effort", ("nv",), "largest effort [N m or N]"),
    Field("dof_low", ("nv",), "lowest position [rad or m]"),
    Field("dof_high", ("nv",), "highest position"),
    Field("dof_speed", ("nv",), "largest speed"),
    Field("dof_qposadr", ("nv",), "address in qpos for single-coordinate joints, else -1", "int"),
    Field("body_group", ("nbody",), "first root body of the connected trees", "int"),
    Field("noise_stream", ("nv",), "number of the dof in noise.py", "int"),
    Field("dof_required", ("nv",), "1 where lock-step waits for a command", "int"),
    Field("nheld", (), "number of dofs that are held before their first command", "int"),
    Field("dof_held", ("nv",), "how a dof is held before its first command, index in HELD", "int"),
    # changes of an edit, see edits.py
    Field("edit", (NEDIT,), "see KIND, SCOPE, RESEED, SEED in edits.py", "int"),
    Field("edit_qpos", ("nq",), "new positions"),
    Field("edit_qvel", ("nv",), "new velocities"),
    Field("edit_qpos_given", ("nq",), "1 where edit_qpos is set", "int"),
    Field("edit_qvel_given", ("nv",), "1 where edit_qvel is set", "int"),
    Field("edit_moved", ("nbody",), "1 for the bodies of all trees that the edit moves", "int"),
    Field("edit_arrival", ("nv",), "commands to release [ns]; 0: none", "int"),
    Field("edit_models", (3,), "as models", "int"),
    Field("edit_trajectory", (NTRAJECTORY,), "as trajectory", "int"),
    Field("edit_fault_words", (NFAULT_WORDS,), "as fault_words", "int"),
    Field("edit_fault_floats", ("nfault",), "as fault_floats"),
    Field("edit_copies", (), "address of a table, one row per copy: target, source, count", "int"),
    Field("edit_ncopy", (), "rows of the table", "int"),
    # faults
    Field("fault_words", (NFAULT_WORDS,), "", "int"),
    Field("command_delay", (), "delay of commands [ticks]", "int", inside="fault_words"),
    Field("command_jitter", (), "[ticks]", "int", inside="fault_words"),
    Field("state_delay", (), "delay of states [ticks]", "int", inside="fault_words"),
    Field("state_jitter", (), "[ticks]", "int", inside="fault_words"),
    Field("link_loss", (), "1: nothing passes the channel", "int", inside="fault_words"),
    Field("fault_floats", ("nfault",), ""),
    Field("command_drop", (), "probability that a command is lost", inside="fault_floats"),
    Field("state_drop", (), "probability that a state is lost", inside="fault_floats"),
    Field(
        "encoder_resolution",
        ("nv",),
        "step of positions; 0: exact [rad or m]",
        inside="fault_floats",
    ),
    Field("encoder_noise", ("nv",), "standard deviation", inside="fault_floats"),
    Field("encoder_bias", ("nv",), "", inside="fault_floats"),
    Field("velocity_noise", ("nv",), "standard deviation", inside="fault_floats"),
    Field("effort_noise", ("nv",), "standard deviation", inside="fault_floats"),
    Field("stuck", ("nv",), "1: the joint does not move", inside="fault_floats"),
    Field("seed", (), "seed of all random numbers", "int"),
    Field("seeded_tick", (), "tick at which the random numbers restart", "int"),
    # mailboxes
    Field("command_version", (8,), "", "int"),
    Field("command_words", (LATEST_DEPTH, "ncommandword"), "", "int"),
    Field("command_floats", (LATEST_DEPTH, "ncommandfloat"), ""),
    Field("push_version", (8,), "", "int"),
    Field("push_words", (LATEST_DEPTH, 4 * NPUSH), "", "int"),
    Field("push_floats", (LATEST_DEPTH, NPUSH_FLOATS * NPUSH), ""),
    Field("state_version", (8,), "", "int"),
    Field("state_slots", ("ndepth", NSTATE_WORDS), "", "int"),
    Field("state_float_slots", ("ndepth", "nrow"), ""),
    # the last record of commands
    Field("letter_words", ("ncommandword",), "as inbox_words", "int"),
    Field("letter_arrival", ("nv",), "", "int", inside="letter_words"),
    Field("letter_mode", ("nv",), "", "int", inside="letter_words"),
    Field("letter_tick", ("nv",), "", "int", inside="letter_words"),
    Field("letter_floats", ("ncommandfloat",), "as inbox_floats"),
    Field("letter", (5, "nv"), "as inbox", inside="letter_floats"),
    # commands as they were received, from the records and through the port
    Field("inbox_words", ("ncommandword",), "", "int"),
    Field(
        "inbox_arrival",
        ("nv",),
        "arrival, which also identifies the command [ns]",
        "int",
        inside="inbox_words",
    ),
    Field("inbox_mode", ("nv",), "EFFORT, POSITION ...", "int", inside="inbox_words"),
    Field("inbox_tick", ("nv",), "stamped tick, or -1", "int", inside="inbox_words"),
    Field("inbox_floats", ("ncommandfloat",), ""),
    Field("inbox", (5, "nv"), "position velocity effort stiffness damping", inside="inbox_floats"),
    Field("inbox_known", ("nv",), "arrival of the newest command of a record", "int"),
    Field("inbox_since", ("nv",), "arrival of that command by the stopwatch [ns]", "int"),
    Field("inbox_new", ("nv",), "1: not sent through the channel yet", "int"),
    Field("due", ("nv",), "stamped tick of that command, or -1", "int"),
    # messages under way in a delayed channel: records of the last nring ticks
    Field("line_start", (), "first tick with a record", "int"),
    Field("line_last", (), "tick of the last delivered record", "int"),
    Field("line_words", ("nring", 2, "nv"), "arrival, mode", "int"),
    Field("line_floats", ("nring", 5, "nv"), "as inbox"),
    Field("back_last", (), "tick of the last delivered measurement", "int"),
    Field("back_start", (), "first tick with a measurement", "int"),
    Field("back", ("nring", 3, "nvall"), "as measured"),
    # commands in force
    Field("arrival", ("nv",), "arrival of the command, which identifies it [ns]", "int"),
    Field("since", ("nv",), "when the command came into force, by the stopwatch [ns]", "int"),
    Field("mode", ("nv",), "EFFORT, POSITION ...", "int"),
    Field("held", ("nv",), "1: the command does not expire (end of a trajectory)", "int"),
    Field("braked", (), "1: brakes are on, before the first command", "int"),
    Field("commanded", ("nv",), "1 from the first command since the start or a reset", "int"),
    Field("order", (5, "nv"), "as inbox"),
    Field("aim", ("nv",), "reference position of a servo, limited in speed"),
    Field("speed", ("nv",), "reference speed of a servo, limited"),
    Field("servo", ("nv",), "servo of the dof: 1 position, 2 speed, 3 hold, 0 none", "int"),
    Field("by_dynamics", ("nv",), "1 where inverse dynamics gives the effort", "int"),
    Field("effort", ("nv",), "effort before clamping, without the load"),
    Field("load", ("nv",), "load that a servo carries, see kernels/loads.py [N m or N]"),
    Field("load_memory", (5, "nv"), "effort, need, and their sums, see kernels/loads.py"),
    Field("full", ("nv",), "inverse dynamics with the full accelerations of all servos"),
    Field("part", ("nbody",), "factor of these accelerations, at the bodies of body_group"),
    # trajectory: addresses of its arrays, which Python keeps alive
    Field("trajectory", (NTRAJECTORY,), "", "int"),
    Field("traj_points", (), "number of points; 0: no trajectory", "int", inside="trajectory"),
    Field("traj_dofs", (), "number of dofs", "int", inside="trajectory"),
    Field("traj_order", (), "1, 3 or 5", "int", inside="trajectory"),
    Field("traj_start", (), "tick of the time 0 of the trajectory", "int", inside="trajectory"),
    Field(
        "traj_from_here",
        (),
        "1: the loop fills in the first point",
        "int",
        "",
        inside="trajectory",
    ),
    Field("traj_dof", (), "address of the dofs", "int", inside="trajectory"),
    Field("traj_time", (), "address", "int", inside="trajectory"),
    Field("traj_pos", (), "address", "int", inside="trajectory"),
    Field("traj_vel", (), "address", "int", inside="trajectory"),
    Field("traj_acc", (), "address", "int", inside="trajectory"),
    Field("traj_column", ("nv",), "column of the dof, or -1", "int"),
    Field("traj_now", (3, "nv"), "position, velocity, acceleration of the references"),
    # wrenches and pulls, see kernels/pushes.py
    Field("push_inbox_words", (4 * NPUSH,), "", "int"),
    Field("push_inbox_floats", (NPUSH_FLOATS * NPUSH,), ""),
    Field("push_number", (NPUSH,), "0: empty slot", "int"),
    Field("push_until", (NPUSH,), "first tick without the push", "int"),
    Field("push_newest", (), "highest serial number read", "int"),
    Field("push_now", (NPUSH, 6), "force and torque of this tick, world axes"),
    # the state handed over
    Field("state", (NSTATE_WORDS,), "", "int"),
    Field("tick", (), "ticks since time began", "int", inside="state"),
    Field("epoch", (), "number of resets of time and of loaded states", "int", inside="state"),
    Field("paused", (), "", "int", inside="state"),
    Field("fault", (), "joint that diverged or whose drive locked, or -1", "int", inside="state"),
    Field(
        "saturated",
        (),
        "dof whose effort was clamped since the last state, or -1",
        "int",
        "",
        inside="state",
    ),
    Field("stale", (), "number of dofs whose command expired", "int", inside="state"),
    Field("bad", (), "Data.nbad", "int", inside="state"),
    Field("singular", (), "Data.nsingular", "int", inside="state"),
    Field("unsolved", (), "Data.nunsolved", "int", inside="state"),
    Field("dropped", (), "Data.ndropped", "int", inside="state"),
    Field("tracking", (), "1: a trajectory is in progress", "int", inside="state"),
    Field(
        "measured_tick", (), "tick of `measured`; -1: nothing arrived", "int", "", inside="state"
    ),
    Field("row", ("nrow",), ""),
    Field("row_qpos", ("nqall",), "Data.qpos_all", inside="row"),
    Field("row_qvel", ("nvall",), "Data.qvel_all", inside="row"),
    Field("row_effort", ("nvall",), "applied effort", inside="row"),
    Field("row_time", (), "Data.time [s]", inside="row"),
    Field("row_measured", (3, "nvall"), "position, velocity, effort that arrived", inside="row"),
    Field("row_qacc", ("nv",), "mean acceleration of the last physics step", inside="row"),
    Field("row_xfrc", ("nbody", 6), "wrenches: force, torque at xipos, world axes", inside="row"),
    Field("row_contact", ("nbody", 6), "force, torque of contact, the same frame", inside="row"),
    Field("row_stick_qfrc", ("nv",), "Data.stick_qfrc", inside="row"),
    Field("row_blocked", ("nv",), "1: kept at rest, see LoopState.blocked", inside="row"),
    Field("row_act", ("na",), "Data.act", inside="row"),
    Field("row_stick", ("nstickrow",), "memory of friction: number, contacts", inside="row"),
    Field("measured", (3, "nvall"), "position, velocity, effort by the encoders now"),
    # times of the loop, all in ns
    Field("deadline", (), "next wake-up, steady clock", "int"),
    Field("woken", (), "last wake-up, steady clock", "int"),
    Field("elapsed", (), "time between the last two wake-ups", "int"),
    Field("watch", (), "stopwatch: rests while paused, never ahead of simulated time", "int"),
    Field("halted", (), "1: no tick now", "int"),
    Field("locked", (), "1: lock-step waits for commands", "int"),
    Field("waiting", (), "1: lock-step is waiting now", "int"),
    Field("performed", (), "number of edits made; acknowledged with the next state", "int"),
    Field("begun", (), "1: a command or trajectory has come", "int"),
    Field("loaded", (), "1: the state was loaded, with the measurement that arrived", "int"),
    # statistics
    Field("ticks", (), "number of ticks made", "int"),
    Field("overruns", (), "ticks that ended after their deadline", "int"),
    Field("latest", (), "worst lateness [ns]", "int"),
    Field("longest", (), "longest work of a tick [ns]", "int"),
    Field("active", (), "wall time without pauses [ns]", "int"),
    Field("missed", (), "records overwritten while they were read", "int"),
    Field("clamped", (), "ticks in which an effort was clamped", "int"),
    Field("timeouts", (), "lock-step timeouts", "int"),
    Field("age", (), "age of the oldest command in force [ns]", "int"),
    Field("lateness", (NBIN,), "wake-ups by lateness [us]", "int"),
    Field("work", (NBIN,), "ticks by their duration [us]", "int"),
    # the reader of the states, which publishes plain states without Python: kernels/stream.py
    Field("stream_version", (), "number of the newest record that was read", "int"),
    Field("stream_words", (NSTATE_WORDS,), "that record, or the next one", "int"),
    Field("stream_row", ("nrow",), "numbers of that record"),
    Field("stream_tick", (), "tick of the newest record that was published", "int"),
    Field("stream_epoch", (), "epoch of that record; -1: none was published", "int"),
    Field("stream_kept", (), "1: joint_states have been published", "int"),
    Field("stream_kept_words", (NSTATE_WORDS,), "the record on joint_states", "int"),
    Field("stream_kept_row", ("nrow",), "numbers of that record"),
    Field("stream_armed", (), "1: plain records need no Python", "int"),
    Field("stream_known", (NSTATE_WORDS,), "the newest record that Python published", "int"),
    Field("stream_every", (NEVERY,), "periods of what Python publishes [ticks]; 0: none", "int"),
    Field("stream_fastest", (), "Python handles larger speeds [rad/s or m/s]"),
    Field("stream_time_base", (), "stamp of tick 0 [ns]", "int"),
    Field("stream_topics", (), "address of a table with one row per topic", "int"),
    Field("stream_ntopic", (), "rows of the table", "int"),
    Field("stream_scratch", (8,), "for system calls", "int"),
    # work space
    Field("saved", ("nsaved",), "qpos and qvel before a tick"),
    Field("before", ("nv",), "qvel before the last physics step"),
    Field("scratch", (8,), "for system calls", "int"),
)


def stick_length(m: Model) -> int:
    """Return the number of floats for a state's memory of friction (MOST_STICKS contacts)."""
    return 1 + STICK_NUMBERS * min(m.ncontact, MOST_STICKS) if m.ncontact else 0


def _sizes(m: Model, nring: int | None) -> dict[str, int]:
    nv, per_tick = m.nv, 7 * m.nv + 3 * m.nvall
    nstickrow = stick_length(m)
    nrow = m.nqall + 5 * m.nvall + 1 + 3 * nv + 12 * m.nbody + m.na + nstickrow
    sizes = {name: getattr(m, name) for name in ("nq", "nv", "nqall", "nvall", "nbody", "na")}
    return sizes | {
        "nring": nring or int(np.clip(DELAY_MEMORY // max(per_tick, 1), 16, LONGEST_DELAY)),
        "nfault": 2 + 6 * nv,
        "ncommandword": 3 * nv,
        "ncommandfloat": 5 * nv,
        "nstickrow": nstickrow,
        "nrow": nrow,
        "ndepth": int(np.clip(STATE_MEMORY // nrow, *STATE_DEPTHS)),
        "nsaved": m.nq + nv,
    }


_SIZES = (
    *("nq", "nv", "nqall", "nvall", "nbody", "na"),
    *("nring", "nfault", "ncommandword", "ncommandfloat", "nstickrow", "nrow", "ndepth", "nsaved"),
)
SHARED = ViewType("Shared", FIELDS, len(_SIZES), in_row=True, sizes=_SIZES)


class Shared:
    """The shared memory of a loop; each field is an attribute: a view of a number or an array.

    Args:
        m: the robot.
        nring: number of ticks that the channel remembers; None: as many as its memory allows.

    Attributes:
        sizes: size of each dimension of the fields, by name.
        buffer: the row, with all fields.
        place: (1,) address of the row; `become` updates it.
    """

    def __init__(self, m: Model, nring: int | None = None) -> None:
        self.sizes = _sizes(m, nring)
        assert tuple(self.sizes) == _SIZES
        offsets, end = _offsets(self.sizes)
        raw = np.zeros(end + 16)
        start = 8 + -raw.ctypes.data % 64 // 8  # the row begins on a cache line
        self._table = np.array([*self.sizes.values(), *offsets.values()], np.int64)
        raw.view(np.int64)[start - 1] = self._table.ctypes.data  # kernels read this address
        self.buffer = raw[start : start + end]
        for field in FIELDS:
            shape = field.shape(self.sizes)
            begin = offsets[field.name]
            view = self.buffer[begin : begin + int(np.prod(shape, dtype=np.int64))]
            view = view.view(np.int64) if field.kind == "int" else view
            setattr(self, field.name, view.reshape(shape))
        self.stream_epoch[()] = -1
        self.place = np.array([int(self)])

    def __index__(self) -> int:
        return int(self.buffer.ctypes.data)

    def become(self, other: Shared) -> None:
        """Use the row of another Shared from now on. Call it while no loop runs on this row."""
        place = self.place
        vars(self).update(vars(other))
        self.place = place
        place[0] = int(self)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...


def _offsets(sizes: dict[str, int]) -> tuple[dict[str, int], int]:
    """Return the offset of each field, and the length of the row."""
    offsets: dict[str, int] = {}
    inside: dict[str, int] = {}  # end of the last field in each group
    end = 0
    for field in FIELDS:
        slots = int(np.prod(field.shape(sizes), dtype=np.int64))
        group = field.inside
        offsets[field.name] = inside.setdefault(group, offsets[group]) if group else end
        if group:
            inside[group] += slots
        else:
            end += (slots + 7) // 8 * 8  # each field has cache lines of its own
    for group, filled in inside.items():
        length = next(f for f in FIELDS if f.name == group).shape(sizes)
        assert filled - offsets[group] == int(np.prod(length)), f"{group} is not filled"
    return offsets, end


@typeof_impl.register(Shared)  # type: ignore[untyped-decorator]
def _typeof_shared(value: Shared, context: object) -> Any:  # noqa: ARG001
    return SHARED
