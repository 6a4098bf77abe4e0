# SPDX-License-Identifier: Apache-2.0
"""Carry the state of a loop over to a Model with other objects; names identify the parts.

Parts that remain keep their positions, velocities, time, commands, delays, noise and memory of
friction to the last bit. New parts start at the qpos0 of the new Model, at rest.
"""

import numpy as np

from rbdyn_ros.dynamics.carrying import carry_fields
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.matching import Match
from rbdyn_ros.runtime import shared
from rbdyn_ros.runtime.shared import Shared
from rbdyn_ros.runtime.types import PER_DOF, Faults

#: Dimensions of fields of Shared that cannot simply be copied, such as mailboxes.
PACKED = ("ncommandword", "ncommandfloat", "nfault", "nrow", "nstickrow", "ndepth", "nsaved")
#: Fields of Shared that keep the values of the new row: mailboxes, addresses, and the fields that
#: `prepare` writes.
OWN = (
    *("command_version", "push_version", "push_words", "push_floats", "state_version"),
    *(
        "models",
        "plant",
        "nominal",
        "braked_plant",
        "row_address",
        "still_address",
        "start_qpos",
        "before",
    ),
    *("dof_acts", "dof_drive", "dof_effort", "dof_low", "dof_high", "dof_speed", "dof_qposadr"),
    *("dof_required", "dof_time"),
    *("body_group", "noise_stream"),
)


def carried_faults(faults: Faults, match: Match, of_new: Faults | None) -> Faults:
    """Return the faults of the new Model; new joints have the faults `of_new`, None: no faults."""
    old, new = match.places["nv"]
    values = {name: getattr(faults, name) for name in Faults.__slots__}
    for name in (*PER_DOF, "stuck"):
        values[name] = getattr(of_new or Faults.none(match.new.nv), name).copy()
        values[name][new] = getattr(faults, name)[old]
    return Faults(**values)


def carry_shared(old: Shared, new: Shared, match: Match) -> None:
    """Copy the state of a loop from the row `old` to the row `new`, where the loop continues."""
    fields = [
        field
        for field in shared.FIELDS
        if field.name not in OWN
        and not field.name.startswith(("edit", "stream_"))
        and not set(field.dims) & {*PACKED}
    ]
    carry_fields(fields, vars(old), vars(new), match, old.sizes, new.sizes)
    for words in (new.asked, new.done):
        words[shared.STOP] = words[shared.READ] = 0
    fresh = np.setdiff1d(np.arange(match.new.nv), match.places["nv"][1])
    new.traj_column[fresh] = new.due[fresh] = -1
    new.since[fresh] = new.watch - new.timeout - 1
    new.loaded[()] = 1  # tells the loop to continue from this state


def measure_new(new: Shared, d: Data, match: Match) -> None:
    """Write the positions of new joints with one dof into all measurements.

    Measurements that are still under way are included.
    """
    m = match.new
    for j in np.setdiff1d(np.arange(m.njnt), match.places["njnt"][1]).tolist():
        if m.jnt_dofnum[j] == 1:
            k, position = m.jnt_dofadr_all[j], d.qpos_all[m.jnt_qposadr_all[j]]
            new.measured[0, k] = new.row_measured[0, k] = new.back[:, 0, k] = position
