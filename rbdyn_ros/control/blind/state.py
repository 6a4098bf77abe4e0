# SPDX-License-Identifier: Apache-2.0
"""The memory of an arm whose states may be wrong: every number of control/blind, declared once."""

from __future__ import annotations

from typing import ClassVar

from rbdyn_ros.control.base.record import Record
from rbdyn_ros.model.declared.fields import Field

#: Number of states that velocity_vote.py remembers. They are stored at intervals of SPACING and
#: must cover the time REACH.
REMEMBERED = 32
#: A joint stands still if its numbers repeat exactly, or if they nearly repeat, see witness.py.
EXACTLY, NEARLY, STANDSTILLS = range(3)


class BlindState(Record):
    """State of the kernels in control/blind.

    Angles are in rad and lengths in m, times in s, masses in kg.
    """

    FIELDS: ClassVar[tuple[Field, ...]] = (
        # the arm
        Field("dofs", ("n",), "controlled degrees of freedom", "int"),
        Field("limits", (6, "n"), "limits of these joints, rows as in state_kernels"),
        Field("velocity_scale", (), "velocity limits of these joints as a share of the robot's"),
        Field("controlled", ("nv",), "1: the degree of freedom is controlled", "int"),
        Field("dry", ("nv",), "dry friction that the witness expects"),
        Field("gains", (2, "nv"), "stiffness [1/s^2] and damping [1/s] of holding"),
        Field("blind_time", (), "time for which an arm is braked without states [s]"),
        # lasting effects of the efforts sent, see witness.py
        Field("push", ("nv",), "acceleration that the model does not explain"),
        Field("due", ("nv",), "velocity that the efforts sent should have given so far"),
        Field("steady_push", ("nv",), "mean of the push"),
        Field("expected", ("nv",), "predicted velocity"),
        Field("last_qpos", ("nv",), "position of the last state"),
        Field("last_qvel", ("nv",), "velocity of the last state; NaN: unknown"),
        Field("lag", ("nv",), "velocity by which the motion is behind the model"),
        Field("behind", ("nv",), "displacement by which the motion is behind the model"),
        Field("peak", ("nv",), "largest recent velocity"),
        Field("suspicion", ("nv",), "measure of how old the numbers seem; above 1 is a fault"),
        Field("residual", ("nv",), "acceleration beyond model and steady push"),
        Field("jump", ("nv",), "last unexplained change of the velocity"),
        Field("noise", ("nv",), "mean square of the velocity's noise"),
        Field("mass", ("nv", "nv"), "mass matrix"),
        Field("grip", ("nv",), "acceleration that dry friction withstands"),
        Field("most", ("nv",), "acceleration of the largest effort"),
        Field("weighed", (), "states since the mass matrix was computed", "int"),
        Field("acting", ("nv",), "efforts of the rigid body dynamics under a command"),
        # standstills of the joints at the tolerances EXACTLY and NEARLY, see witness.py
        Field("still_qpos", (STANDSTILLS, "nv"), "position"),
        Field("still_qvel", (STANDSTILLS, "nv"), "velocity that repeats"),
        Field("still_push", (STANDSTILLS, "nv"), "size of the push before the standstill"),
        Field("still_gain", (STANDSTILLS, "nv"), "velocity that the joint should have gained"),
        Field("still_way", (STANDSTILLS, "nv"), "distance that the joint should have moved"),
        Field("still_drift", (STANDSTILLS, "nv"), "distance that the repeated velocity covers"),
        Field(
            "still_moving",
            (STANDSTILLS, "nv"),
            "1: before, the joint moved at its measured velocity",
        ),
        Field("still_time", (STANDSTILLS, "nv"), "duration [s]"),
        Field("still_command", (STANDSTILLS, "nv"), "command when the standstill began"),
        Field("still_measured", (STANDSTILLS, "nv"), "measured effort when the standstill began"),
        Field("unheard", ("nv",), "time for which the measured effort has not followed [s]"),
        # recent states in a ring buffer, see velocity_vote.py
        Field("past_time", (REMEMBERED,), "times of measurement [ns]", "int"),
        Field("past_qpos", (REMEMBERED, "nv"), "positions"),
        Field("past_qvel", (REMEMBERED, "nv"), "velocities"),
        Field("past_due", (REMEMBERED, "nv"), "values of the field due"),
        Field("remembered", (), "states remembered so far", "int"),
        Field("newest", (), "time of the newest state [ns]", "int"),
        Field("voted", ("nv",), "velocity by which the arm is braked"),
        # an arm whose newest state is late, see coasting.py
        Field("coasts", (), "1: the arm coasts", "int"),
        Field("coast_begun", (), "when coasting began, steady clock [ns]", "int"),
        Field("coast_answered", (), "when the last effort of coasting was computed [ns]", "int"),
        Field("coast_qpos", ("nv",), "position when coasting began"),
        Field("coast_qvel", ("nv",), "velocity when coasting began"),
        # an arm after a fault, see endings.py
        Field("phase", (), "RUNNING, BRAKED, HOLDING, BLIND or SILENT", "int"),
        Field("reason", (), "reason why braking was given up, index in REASONS", "int"),
        Field("lied", (), "1: a state was wrong", "int"),
        Field("lasts", (), "1: no later state is believed", "int"),
        Field("braked_for", (), "time of braking [s]"),
        Field("resting_for", (), "time at rest [s]"),
        Field("motion", (), "kinetic energy [J]"),
        Field(
            "energy", (), "largest kinetic energy early in braking, while a push may be new [J]"
        ),
        Field("fastest", (), "largest allowed share of a velocity limit early in braking"),
        Field("carried", ("nv",), "efforts that replace the push"),
        Field("marked", ("nv",), "position late in braking"),
        Field("held", (3, "nv"), "position, velocity, acceleration of a held arm"),
        Field("blind_for", (), "time without credible states [s]"),
        Field("lost", (), "when the arm became blind, steady clock [ns]", "int"),
        Field("answered", (), "time of the last effort without states [ns]", "int"),
        Field("blind_qpos", ("nv",), "position when the arm became blind"),
        Field("blind_qvel", ("nv",), "velocity when the arm became blind"),
        # work space
        Field("qpos", ("nv",), "predicted position of the arm"),
        Field("qvel", ("nv",), "predicted velocity of the arm"),
    )
