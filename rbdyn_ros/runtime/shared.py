"""What the loop and the threads around it share: every number declared once, in one row.

Inside a kernel it is `s`, as a Data is `d`: `s.tick += 1`. From Python `shared.tick` is a view, of
one number or of an array. A field `inside` another lies in it, behind those declared before it,
so a group can be copied as a whole.

Who writes what: Python writes `asked`, the settings before the loop starts, and `edit_...` while
no edit is under way; the loop writes everything else. Commands, pushes and states go through
mailboxes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba.extending import typeof_impl

from rbdyn_ros.engine.views import ViewType
from rbdyn_ros.model.fields import Field
from rbdyn_ros.model.model import Model

#: What Python asks for; `done` holds what the loop has made of it, where it answers.
ASKED = ("stop", "pause", "pause_tick", "steps", "edits", "pace", "read")
STOP, PAUSE, PAUSE_TICK, STEPS, EDITS, PACE, READ = range(len(ASKED))

#: Wrenches that can act at once.
NPUSH = 16
#: Longest delay of a faulty link [ticks], and the memory for it [numbers].
LONGEST_DELAY, DELAY_MEMORY = 1024, 2_000_000
#: Bins of a histogram [us]; the last holds all above.
NBIN = 10_001
#: Mailbox slots: of commands and pushes only the latest counts. States are kept for a reader that
#: is late, for a second at 1 kHz unless that takes more memory than this [numbers].
LATEST_DEPTH, STATE_DEPTHS, STATE_MEMORY = 2, (64, 1024), 4_000_000

NSTATE_WORDS, NFAULT_WORDS, NTRAJECTORY, NEDIT = 10, 5, 10, 4

FIELDS = (
    Field("asked", (len(ASKED),), "see ASKED", "int"),
    Field("done", (len(ASKED),), "the same words", "int"),
    # settings
    Field("period", (), "of a tick [ns]", "int"),
    Field("decimation", (), "physics steps a tick", "int"),
    Field("time_mode", (), "position in MODES_OF_TIME", "int"),
    Field("timeout", (), "age at which a command is given up [ns]", "int"),
    Field("policy", (), "position in ON_TIMEOUT", "int"),
    Field("lockstep_timeout", (), "[ns]; 0: for ever", "int"),
    Field("every", (), "ticks between two states that are handed over", "int"),
    Field("servo_time", (), "time constant of position and velocity commands [s]"),
    Field("states_bell", (), "eventfd that says: a state", "int"),
    Field("orders_bell", (), "eventfd that says: a command, or something asked", "int"),
    # the Models may be exchanged between two ticks
    Field("plant", (), "address of the Model that moves", "int"),
    Field("nominal", (), "address of the Model that efforts are computed with", "int"),
    Field("row_address", (), "of the Data that moves", "int"),
    Field("still_address", (), "of the Data in which efforts are computed", "int"),
    Field("start_qpos", ("nq",), "position after a reset"),
    Field("dof_acts", ("nv",), "1 where an effort acts"),
    Field("dof_effort", ("nv",), "largest effort [N m or N]"),
    Field("dof_low", ("nv",), "lowest position [rad or m]"),
    Field("dof_high", ("nv",), "highest position"),
    Field("dof_speed", ("nv",), "largest speed"),
    Field("dof_qposadr", ("nv",), "position of a joint of one coordinate, else -1", "int"),
    Field("dof_required", ("nv",), "1 where lock-step waits for a command", "int"),
    # what an edit changes, see edits.py
    Field("edit", (NEDIT,), "which edits; a seed; reset's scope", "int"),
    Field("edit_qpos", ("nq",), "new positions"),
    Field("edit_qvel", ("nv",), "new velocities"),
    Field("edit_qpos_given", ("nq",), "1 where they are given", "int"),
    Field("edit_qvel_given", ("nv",), "the same", "int"),
    Field("edit_plant", (), "as plant", "int"),
    Field("edit_nominal", (), "as nominal", "int"),
    Field("edit_trajectory", (NTRAJECTORY,), "as trajectory", "int"),
    Field("edit_fault_words", (NFAULT_WORDS,), "as fault_words", "int"),
    Field("edit_fault_floats", ("nfault",), "as fault_floats"),
    # faults
    Field("fault_words", (NFAULT_WORDS,), "", "int"),
    Field("command_delay", (), "[ticks]", "int", inside="fault_words"),
    Field("command_jitter", (), "[ticks]", "int", inside="fault_words"),
    Field("state_delay", (), "[ticks]", "int", inside="fault_words"),
    Field("state_jitter", (), "[ticks]", "int", inside="fault_words"),
    Field("link_loss", (), "1: nothing passes", "int", inside="fault_words"),
    Field("fault_floats", ("nfault",), ""),
    Field("command_drop", (), "probability", inside="fault_floats"),
    Field("state_drop", (), "probability", inside="fault_floats"),
    Field("encoder_resolution", ("nv",), "0: exact [rad or m]", inside="fault_floats"),
    Field("encoder_noise", ("nv",), "standard deviation", inside="fault_floats"),
    Field("encoder_bias", ("nv",), "", inside="fault_floats"),
    Field("velocity_noise", ("nv",), "standard deviation", inside="fault_floats"),
    Field("effort_noise", ("nv",), "standard deviation", inside="fault_floats"),
    Field("stuck", ("nv",), "1: the joint does not move", inside="fault_floats"),
    Field("seed", (), "of all noise", "int"),
    Field("seeded_tick", (), "tick at which noise began: after a reset it repeats", "int"),
    # mailboxes
    Field("command_version", (8,), "", "int"),
    Field("command_words", (LATEST_DEPTH, "ncommandword"), "", "int"),
    Field("command_floats", (LATEST_DEPTH, "ncommandfloat"), ""),
    Field("push_version", (8,), "", "int"),
    Field("push_words", (LATEST_DEPTH, 4 * NPUSH), "", "int"),
    Field("push_floats", (LATEST_DEPTH, 9 * NPUSH), ""),
    Field("state_version", (8,), "", "int"),
    Field("state_slots", ("ndepth", NSTATE_WORDS), "", "int"),
    Field("state_float_slots", ("ndepth", "nrow"), ""),
    # commands as they came in
    Field("inbox_words", ("ncommandword",), "", "int"),
    Field(
        "inbox_arrival", ("nv",), "[ns]; also tells commands apart", "int", inside="inbox_words"
    ),
    Field("inbox_mode", ("nv",), "EFFORT, POSITION ...", "int", inside="inbox_words"),
    Field("inbox_tick", ("nv",), "tick it is stamped for, or -1", "int", inside="inbox_words"),
    Field("inbox_floats", ("ncommandfloat",), ""),
    Field("inbox", (5, "nv"), "position velocity effort stiffness damping", inside="inbox_floats"),
    Field("inbox_known", ("nv",), "arrival of the newest command that was looked at", "int"),
    Field("inbox_since", ("nv",), "when that came, on the watch [ns]", "int"),
    Field("inbox_new", ("nv",), "1: it has not entered the link yet", "int"),
    Field("due", ("nv",), "tick that it is stamped for, -1: none", "int"),
    # what a faulty link holds back: records by tick, the last nring of them
    Field("line_start", (), "first tick there is a record of", "int"),
    Field("line_last", (), "tick of the record that came out last: none overtakes", "int"),
    Field("line_words", ("nring", 2, "nv"), "arrival, mode", "int"),
    Field("line_floats", ("nring", 5, "nv"), "as inbox"),
    Field("back_last", (), "tick of the measurement that came out last", "int"),
    Field("back_start", (), "first tick there is a measurement of", "int"),
    Field("back", ("nring", 3, "nvall"), "as measured"),
    # commands in force
    Field("arrival", ("nv",), "of the command [ns]", "int"),
    Field("since", ("nv",), "when it came into force, on the watch [ns]", "int"),
    Field("mode", ("nv",), "", "int"),
    Field("kept", ("nv",), "1: it does not grow old (the end of a trajectory)", "int"),
    Field("order", (5, "nv"), "as inbox"),
    Field("aim", ("nv",), "where a position servo is led now: limited in speed"),
    Field("speed", ("nv",), "at which it is led: limited"),
    Field("servo", ("nv",), "what a servo leads: 1 position, 2 speed; 0: none", "int"),
    Field("carried", ("nv",), "1 where inverse dynamics gives the effort", "int"),
    Field("effort", ("nv",), "before it is clamped"),
    Field("full", ("nv",), "of inverse dynamics with all that servos ask for"),
    # trajectory: addresses of its arrays, which Python keeps
    Field("trajectory", (NTRAJECTORY,), "", "int"),
    Field("traj_points", (), "number of points; 0: none", "int", inside="trajectory"),
    Field("traj_dofs", (), "number of dofs", "int", inside="trajectory"),
    Field("traj_order", (), "1, 3 or 5", "int", inside="trajectory"),
    Field("traj_start", (), "tick of its time 0", "int", inside="trajectory"),
    Field(
        "traj_from_here",
        (),
        "1: its first point is still to be filled in",
        "int",
        "",
        inside="trajectory",
    ),
    Field("traj_dof", (), "address of the dofs", "int", inside="trajectory"),
    Field("traj_time", (), "address", "int", inside="trajectory"),
    Field("traj_pos", (), "address", "int", inside="trajectory"),
    Field("traj_vel", (), "address", "int", inside="trajectory"),
    Field("traj_acc", (), "address", "int", inside="trajectory"),
    Field("traj_column", ("nv",), "column of the dof, -1: it does not follow", "int"),
    Field("traj_now", (3, "nv"), "position, velocity, acceleration of those that follow"),
    # wrenches that act: numbers 1, 2 ...; body; whether in its axes; duration, then last tick
    Field("push_inbox_words", (4 * NPUSH,), "", "int"),
    Field("push_inbox_floats", (9 * NPUSH,), ""),
    Field("push_number", (NPUSH,), "0: none", "int"),
    Field("push_until", (NPUSH,), "first tick at which it acts no longer", "int"),
    Field("push_newest", (), "highest number seen", "int"),
    # the state that is handed over
    Field("state", (NSTATE_WORDS,), "", "int"),
    Field("tick", (), "ticks since time began", "int", inside="state"),
    Field("epoch", (), "times time began anew", "int", inside="state"),
    Field("paused", (), "", "int", inside="state"),
    Field("fault", (), "joint whose state diverged, -1", "int", inside="state"),
    Field(
        "saturated",
        (),
        "dof whose effort was clamped since the last state, -1",
        "int",
        "",
        inside="state",
    ),
    Field("stale", (), "dofs without a command that is young enough", "int", inside="state"),
    Field("bad", (), "Data.nbad", "int", inside="state"),
    Field("singular", (), "Data.nsingular", "int", inside="state"),
    Field("following", (), "1: a trajectory is under way", "int", inside="state"),
    Field(
        "measured_tick",
        (),
        "tick of `measured`; -1: nothing is delivered",
        "int",
        "",
        inside="state",
    ),
    Field("row", ("nrow",), ""),
    Field("row_qpos", ("nqall",), "Data.qpos_all", inside="row"),
    Field("row_qvel", ("nvall",), "Data.qvel_all", inside="row"),
    Field("row_effort", ("nvall",), "effort that led here", inside="row"),
    Field("row_time", (), "Data.time [s]", inside="row"),
    Field(
        "row_measured", (3, "nvall"), "position, velocity, effort that are delivered", inside="row"
    ),
    Field("row_qacc", ("nv",), "mean of the last physics step", inside="row"),
    Field("row_xfrc", ("nbody", 6), "force, torque at xipos, world axes: wrenches", inside="row"),
    Field("row_contact", ("nbody", 6), "the same of contact", inside="row"),
    Field("measured", (3, "nvall"), "position, velocity, effort as encoders see them now"),
    # times of the loop, all in ns
    Field("deadline", (), "next wake-up, steady clock", "int"),
    Field("woken", (), "last wake-up, steady clock", "int"),
    Field("elapsed", (), "between the last two", "int"),
    Field("watch", (), "stands while time stands, never runs ahead of it", "int"),
    Field("halted", (), "1: no tick now", "int"),
    Field("locked", (), "1: lock-step waits for commands", "int"),
    Field("waiting", (), "1: it does so now", "int"),
    Field("performed", (), "edits that were made; told to Python with the next state", "int"),
    Field("begun", (), "1: some dof ever got a command", "int"),
    # statistics
    Field("ticks", (), "made", "int"),
    Field("overruns", (), "ticks that ended too late", "int"),
    Field("latest", (), "worst lateness [ns]", "int"),
    Field("longest", (), "longest work of a tick [ns]", "int"),
    Field("active", (), "time not halted [ns]", "int"),
    Field("missed", (), "commands lost between threads", "int"),
    Field("clamped", (), "ticks in which an effort was clamped", "int"),
    Field("given_up", (), "times lock-step waited in vain", "int"),
    Field("age", (), "of the oldest command in force [ns]", "int"),
    Field("lateness", (NBIN,), "wake-ups by lateness [us]", "int"),
    Field("work", (NBIN,), "ticks by the time they took [us]", "int"),
    # work space
    Field("saved", ("nsaved",), "qpos and qvel before a tick"),
    Field("before", ("nv",), "qvel before the last physics step"),
    Field("scratch", (8,), "for system calls", "int"),
)


def _sizes(m: Model) -> dict[str, int]:
    nv, per_tick = m.nv, 7 * m.nv + 3 * m.nvall
    nrow = m.nqall + 5 * m.nvall + 1 + nv + 12 * m.nbody
    sizes = {name: getattr(m, name) for name in ("nq", "nv", "nqall", "nvall", "nbody")}
    return sizes | {
        "nring": int(np.clip(DELAY_MEMORY // max(per_tick, 1), 16, LONGEST_DELAY)),
        "nfault": 2 + 6 * nv,
        "ncommandword": 3 * nv,
        "ncommandfloat": 5 * nv,
        "nrow": nrow,
        "ndepth": int(np.clip(STATE_MEMORY // nrow, *STATE_DEPTHS)),
        "nsaved": m.nq + nv,
    }


_SIZES = (
    *("nq", "nv", "nqall", "nvall", "nbody"),
    *("nring", "nfault", "ncommandword", "ncommandfloat", "nrow", "ndepth", "nsaved"),
)
SHARED = ViewType("Shared", FIELDS, len(_SIZES), in_row=True, sizes=_SIZES)


class Shared:
    """The row of a loop; every field is an attribute: a view, of one number or of an array.

    Args:
        m: the robot.

    Attributes:
        sizes: the dims of the fields.
        buffer: the row.
    """

    def __init__(self, m: Model) -> None:
        self.sizes = _sizes(m)
        assert tuple(self.sizes) == _SIZES
        offsets, end = _offsets(self.sizes)
        raw = np.zeros(end + 16)
        start = 8 + -raw.ctypes.data % 64 // 8  # on a cache line
        self._table = np.array([*self.sizes.values(), *offsets.values()], np.int64)
        raw.view(np.int64)[start - 1] = self._table.ctypes.data  # where kernels look for it
        self.buffer = raw[start : start + end]
        for field in FIELDS:
            shape = field.shape(self.sizes)
            begin = offsets[field.name]
            view = self.buffer[begin : begin + int(np.prod(shape, dtype=np.int64))]
            view = view.view(np.int64) if field.kind == "int" else view
            setattr(self, field.name, view.reshape(shape))

    def __index__(self) -> int:
        return int(self.buffer.ctypes.data)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...


def _offsets(sizes: dict[str, int]) -> tuple[dict[str, int], int]:
    """Return where each field begins, and the length of the row."""
    offsets: dict[str, int] = {}
    inside: dict[str, int] = {}  # the end of what lies in a group so far
    end = 0
    for field in FIELDS:
        slots = int(np.prod(field.shape(sizes), dtype=np.int64))
        group = field.inside
        offsets[field.name] = inside.setdefault(group, offsets[group]) if group else end
        if group:
            inside[group] += slots
        else:
            end += (slots + 7) // 8 * 8  # each on cache lines of its own
    for group, filled in inside.items():
        length = next(f for f in FIELDS if f.name == group).shape(sizes)
        assert filled - offsets[group] == int(np.prod(length)), f"{group} is not filled"
    return offsets, end


@typeof_impl.register(Shared)  # type: ignore[untyped-decorator]
def _typeof_shared(value: Shared, context: object) -> Any:  # noqa: ARG001
    return SHARED
