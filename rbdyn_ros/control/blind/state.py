# SPDX-License-Identifier: Apache-2.0
"""The memory of an arm whose states may be wrong: every number of control/blind, declared once."""

from __future__ import annotations

from typing import ClassVar

from rbdyn_ros.control.base.record import Record
from rbdyn_ros.model.declared.fields import Field

#: States that velocity_vote remembers: with its SPACING they must span its REACH.
REMEMBERED = 32
#: Two standstills of a joint, see witness: its numbers repeat exactly, or nearly.
EXACTLY, NEARLY, STANDSTILLS = range(3)


class BlindState(Record):
    """State of the kernels in control/blind.

    Angles are in rad and lengths in m; velocities, efforts and inertias go with them.
    """

    FIELDS: ClassVar[tuple[Field, ...]] = (
        # the arm
        Field("dofs", ("n",), "controlled degrees of freedom", "int"),
        Field("limits", (6, "n"), "limits of these joints, rows as in state_kernels"),
        Field("velocity_scale", (), "their velocity limits as a share of the robot's"),
        Field("controlled", ("nv",), "1: the degree of freedom is controlled", "int"),
        Field("dry", ("nv",), "dry friction that the witness expects"),
        Field("gains", (2, "nv"), "stiffness [1/s^2] and damping [1/s] of holding"),
        Field("blind_time", (), "how long an arm is braked without states [s]"),
        # lasting effects of the efforts sent: witness
        Field("push", ("nv",), "acceleration that the model does not explain"),
        Field("due", ("nv",), "velocity that the efforts sent should have given so far"),
        Field("steady_push", ("nv",), "mean of the push"),
        Field("expected", ("nv",), "predicted velocity"),
        Field("last_qpos", ("nv",), "position of the last state"),
        Field("last_qvel", ("nv",), "its velocity; NaN: there is none to compare with"),
        Field("lag", ("nv",), "velocity that the motion lacks"),
        Field("behind", ("nv",), "displacement that it lacks"),
        Field("peak", ("nv",), "largest velocity of recent time"),
        Field("suspicion", ("nv",), "that the numbers are old; above 1 it is a fault"),
        Field("residual", ("nv",), "acceleration beyond model and steady push"),
        Field("jump", ("nv",), "last unexplained change of the velocity"),
        Field("noise", ("nv",), "mean square of the velocity's noise"),
        Field("mass", ("nv", "nv"), "mass matrix"),
        Field("grip", ("nv",), "acceleration that dry friction withstands"),
        Field("most", ("nv",), "acceleration of the largest effort"),
        Field("weighed", (), "states since the mass matrix was computed", "int"),
        Field("acting", ("nv",), "efforts of the rigid body dynamics under a command"),
        # standstills of the joints at the tolerances EXACTLY and NEARLY, see witness
        Field("still_qpos", (STANDSTILLS, "nv"), "position"),
        Field("still_qvel", (STANDSTILLS, "nv"), "velocity that repeats"),
        Field("still_push", (STANDSTILLS, "nv"), "size of the push before it"),
        Field("still_gain", (STANDSTILLS, "nv"), "velocity that the joint should have gained"),
        Field("still_way", (STANDSTILLS, "nv"), "distance that the joint should have moved"),
        Field("still_drift", (STANDSTILLS, "nv"), "distance by its repeated velocity"),
        Field("still_moving", (STANDSTILLS, "nv"), "1: it moved before at its velocity"),
        Field("still_time", (STANDSTILLS, "nv"), "duration [s]"),
        Field("still_command", (STANDSTILLS, "nv"), "command at its beginning"),
        Field("still_measured", (STANDSTILLS, "nv"), "measured effort at its beginning"),
        Field("unheard", ("nv",), "time for which the measured effort has not followed [s]"),
        # states of recent time, a ring: velocity_vote
        Field("past_time", (REMEMBERED,), "times of measurement [ns]", "int"),
        Field("past_qpos", (REMEMBERED, "nv"), "positions"),
        Field("past_qvel", (REMEMBERED, "nv"), "velocities"),
        Field("past_due", (REMEMBERED, "nv"), "values of due"),
        Field("remembered", (), "states remembered so far", "int"),
        Field("newest", (), "time of the newest state [ns]", "int"),
        Field("voted", ("nv",), "velocity by which the arm is braked"),
        # an arm whose newest state is late: coasting
        Field("coasts", (), "1: the arm coasts", "int"),
        Field("coast_begun", (), "steady clock [ns]", "int"),
        Field("coast_answered", (), "when its last effort was computed [ns]", "int"),
        Field("coast_qpos", ("nv",), "position where coasting began"),
        Field("coast_qvel", ("nv",), "its velocity there"),
        # after a fault: endings
        Field("phase", (), "RUNNING, BRAKED, HOLDING, BLIND or SILENT", "int"),
        Field("reason", (), "why braking was given up, index in REASONS", "int"),
        Field("lied", (), "1: a state lied", "int"),
        Field("lasts", (), "1: no state is believed again", "int"),
        Field("braked_for", (), "time of braking [s]"),
        Field("resting_for", (), "time at rest [s]"),
        Field("motion", (), "kinetic energy [J]"),
        Field("energy", (), "its largest value while a push may be new [J]"),
        Field("fastest", (), "largest share of a velocity limit at first"),
        Field("carried", ("nv",), "efforts that replace the push"),
        Field("marked", ("nv",), "position late in braking"),
        Field("held", (3, "nv"), "position, velocity, acceleration of a held arm"),
        Field("blind_for", (), "time without states to believe [s]"),
        Field("lost", (), "when the arm became blind, steady clock [ns]", "int"),
        Field("answered", (), "its last effort without states [ns]", "int"),
        Field("blind_qpos", ("nv",), "where it became blind"),
        Field("blind_qvel", ("nv",), "its velocity there"),
        # work space
        Field("qpos", ("nv",), "where the arm should be by now"),
        Field("qvel", ("nv",), "its velocity there"),
    )
