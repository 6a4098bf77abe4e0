# SPDX-License-Identifier: Apache-2.0
"""The memory of the loop of an arm and of its safety gate: every number, declared once."""

from __future__ import annotations

from typing import ClassVar

from rbdyn_ros.control.base.faults import FOUND
from rbdyn_ros.control.base.record import Record
from rbdyn_ros.control.base.state_kernels import ROWS
from rbdyn_ros.control.states.clock import NUMBERS, TIMES
from rbdyn_ros.model.declared.fields import Field

#: Rows of the efforts (OUT, n): the law's efforts within their limits, whether it exceeded the
#: effort limit, the efforts at a start without a jump, their difference from the efforts of
#: the law, and the efforts sent.
LIMITED, SATURATED, START, DIFFERENCE, RELEASED, OUT = range(6)


class ArmLoopState(Record):
    """State of the kernels of the gate and of the loop.

    Angles are in rad and lengths in m, times in s, masses in kg.
    """

    FIELDS: ClassVar[tuple[Field, ...]] = (
        # settings
        Field("dofs", ("n",), "controlled degrees of freedom", "int"),
        Field("limits", (6, "n"), "limits of these joints, rows as in state_kernels"),
        Field("acceleration", (), "largest measured acceleration"),
        Field("contact", (), "effort that a contact may withstand, as a share of the limits"),
        Field(
            "bounds",
            (3, "nv"),
            "bounds of other joints' measurements: lower and upper positions, speed",
        ),
        Field("state_timeout", (), "largest age of a state [s]"),
        Field("latency", (), "largest lag of states that may last [s]"),
        Field("effort_rate", (), "largest rate of change of an effort"),
        Field("blend_time", (), "duration of a bumpless start [s]"),
        Field("simulated", (), "1: the clock of the states may run at any speed", "int"),
        Field("measures", (), "1: measured efforts are compared with the efforts sent", "int"),
        Field("period", (), "mean time between two states [s]; NaN: not known yet"),
        # actions of the arm
        Field("armed", (), "1: efforts are computed for an armed arm", "int"),
        Field("acts", (), "1: the efforts are sent, too", "int"),
        Field("testing", (), "1: the start-up test runs", "int"),
        Field("floats", (), "1: the mode lets the arm float", "int"),
        Field("soft", (), "1: the mode lets contacts push the arm", "int"),
        # states
        Field("state", (3, "nv"), "positions, velocities and measured efforts (NaN: none)"),
        Field("before", (3, "nv"), "the previous state"),
        Field("known", (), "1: there is a state", "int"),
        Field("time", (), "stamp of the newest state [ns]", "int"),
        Field("arrival", (), "arrival of the newest state, steady clock [ns]", "int"),
        Field("passed", (), "time since the previous state; infinite for the first state [s]"),
        Field("step", (), "time step of the newest accepted state, at least SHORTEST [s]"),
        Field("dt", (), "step, from SHORTEST to LONGEST; 0: no new credible state"),
        Field("held", (), "mean time for which an effort acted, until the next states came [s]"),
        Field("dropped", (), "1: the newest state was replaced by the state before", "int"),
        Field("lost", (), "1: the newest state is not believed", "int"),
        # checks of states
        Field("times", (TIMES,), "times of the clock of the states, see clock", "int"),
        Field("numbers", (NUMBERS,), "numbers of the clock of the states, see clock"),
        Field("memory", (ROWS, "n"), "memory of the inspection, see state_kernels"),
        Field("found", (FOUND,), "finding of the inspection, see faults"),
        Field("wrong", (FOUND,), "fault of the newest state, see faults"),
        Field("lie", (FOUND,), "first fault of a wrong state"),
        Field("latched", (FOUND,), "fault of the arm, or fault that ended its start-up test"),
        Field("faulty", (), "1: a fault is latched", "int"),
        # efforts
        Field("holding", ("nv",), "commands that hold the arm at the newest state"),
        Field("command", ("nv",), "commands sent last; other joints are held"),
        Field("measured", ("nv",), "measured efforts to compare with them; NaN: none"),
        Field("wanted", ("nv",), "commands before the gate"),
        Field("out", (OUT, "n"), "efforts of the gate"),
        Field("since_start", (), "time since a bumpless start; infinite after its end [s]"),
    )
