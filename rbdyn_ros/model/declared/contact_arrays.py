# SPDX-License-Identifier: Apache-2.0
"""Columns of the contact arrays in Data, and the meaning of their values."""

from __future__ import annotations

#: Columns of contact_spring.
PUSH, SLOPE, K, B, MASS_BY_H, MOST_PUSH, IS_SPRING, EDGE, WIDTH = 0, 1, 2, 3, 4, 5, 6, 7, 8
#: Column of contact_spring that is 1 if restitution acts in the step.
REBOUNDS = 9

#: Columns of contact_grip.
PENALTY, MU, TURN_PENALTY, TORSIONAL, ROLLING, SIZE = 0, 1, 2, 3, 4, 5

#: Column of the normal in contact_vel, contact_change, contact_step, contact_load and contact_end.
#: The three columns before it hold friction.
NORMAL = 3

#: Columns of contact_force_slope and contact_torque_slope; the slip has three columns.
ALONG, ACROSS, SLIP = 0, 1, 2

#: Values of contact_phase. AT_START: list and prepare contacts, with the velocities at the start
#: of the step. AT_END: only list contacts, also with the velocities at its end. PREPARE: only
#: prepare contacts.
AT_START, AT_END, PREPARE = 0, 1, 2

#: Largest number of features of a pair, which include the corners of a mesh.
FEATURES = 1 << 24
