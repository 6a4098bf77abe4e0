# SPDX-License-Identifier: Apache-2.0
"""Attach two links to each other in their present pose; carry a state over to another Model."""

import copy
from itertools import product

import numpy as np

from rbdyn_ros.arrays import Arrays, Ints
from rbdyn_ros.description.parts.poses import IN_PLACE, Pose, compose, inverse
from rbdyn_ros.description.parts.types import WORLD
from rbdyn_ros.dynamics.carrying import carry_data
from rbdyn_ros.dynamics.entry import check_pair
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.dynamics.toolbox.frames import frame_pose
from rbdyn_ros.errors import Finding, ParameterError, quote
from rbdyn_ros.model.capabilities import check_mass_matrix_fits
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.declared.joints import JointType
from rbdyn_ros.model.declared.model_fields import MODEL_FIELDS, PRIMARY
from rbdyn_ros.model.matching import Match
from rbdyn_ros.model.model import Model, check_model, unchecked_model, with_arrays
from rbdyn_ros.model.tree.lumping import Placement
from rbdyn_ros.model.tree.rotation import mat_to_quat, quat_to_mat


def attach(m: Model, d: Data, link: str, to: str = WORLD) -> tuple[Model, Data]:
    """Return a Model in which a link is attached to another link in its present pose, and a Data.

    The connection is a weld (a loop joint without degrees of freedom), as of a suction cup, a tool
    changer or a magnet. `joint_forces` writes its force to `d.loop_force`. The two bodies no
    longer make contact with each other. The new Data has the state of d, see `carry`. The given
    Model and Data do not change, and `d = carry(m2, d2, m)` detaches the link.

    Args:
        m: the Model.
        d: its Data; qpos determines the present pose.
        link: name of a link.
        to: name of a link, or "world".

    Returns:
        The Model with one more loop joint, named "LINK on TO", and its Data.

    Raises:
        ModelError: d was not made for m, a link is unknown, or the integrator does not support
            loops.
        ParameterError: both links are parts of one rigid body, or are attached already.
    """
    check_pair(m, d, "attach")
    first, second = _place(m, link), _place(m, to)
    name = f"{link} on {to}"
    ends = sorted((first.body, second.body))
    if ends[0] == ends[1]:
        raise _refused(f"{quote(link)} and {quote(to)} are parts of one rigid body", link)
    welds = m.loop_bodyid[m.loop_type == JointType.WELD]
    if any(sorted(pair) == ends for pair in welds.tolist()) or name in m.loop_names:
        raise _refused(f"{quote(link)} and {quote(to)} are attached already", link)
    pose = compose(inverse(_pose(m, d, to)), _pose(m, d, link))
    arrays: Arrays = {field: getattr(m, field) for field in PRIMARY}
    arrays |= _with_weld(m, second.then(pose), first) | _without_contact(m, *ends)
    names = dict(m.names)
    names["loop_names"] = (*m.loop_names, name)
    names["loop_usertype"] = (*m.loop_usertype, "")
    new = unchecked_model(m.name, arrays, names, copy.copy(m.opt), m.findings)
    check_mass_matrix_fits(new)
    return new, carry(m, d, new)


def carry(m: Model, d: Data, other: Model) -> Data:
    """Return a Data of another Model with the state of d, matched by names of bodies and joints.

    Parts that both Models have keep their positions, velocities, forces, controls and memory of
    friction bit for bit, and the time does not change. New parts start at the qpos0 of the other
    Model, at rest. The modes of `set_drive` are not carried over.

    Args:
        m: the Model of d.
        d: a Data of m.
        other: a Model with other objects, or with other attachments.

    Raises:
        ModelError: d was not made for m, or other is not a Model.
    """
    check_pair(m, d, "carry")
    check_model(other, "carry")
    new = make_data(other)
    carry_data(d, new, Match(m, other))
    return new


def with_loop_pose(m: Model, loop: str, frame: int, pose: Pose) -> Model:
    """Return a Model in which a loop joint has a given pose on its predecessor.

    Args:
        m: the Model.
        loop: name of the joint.
        frame: number of a frame of its predecessor.
        pose: pose of the joint's frame in that frame.
    """
    k = m.loop_names.index(loop)
    place = _of_frame(m, frame).then(pose)
    arrays = {field.name: getattr(m, field.name) for field in MODEL_FIELDS}
    for name, value in (("loop_pos", place.pos), ("loop_quat", mat_to_quat(place.mat))):
        arrays[name] = np.array(arrays[name])
        arrays[name][k, 0] = value
    return with_arrays(m, arrays)


def _with_weld(m: Model, there: Placement, here: Placement) -> Arrays:
    """Return the loop_ fields with one more weld, between two frames."""
    more = {
        "loop_type": JointType.WELD,
        "loop_bodyid": [there.body, here.body],
        "loop_pos": [there.pos, here.pos],
        "loop_quat": [mat_to_quat(there.mat), mat_to_quat(here.mat)],
        "loop_axis": [1.0, 0.0, 0.0],
        "loop_basis": np.eye(3).ravel(),
        "loop_param": np.zeros(m.loop_param.shape[1]),
    }
    return {
        name: np.concatenate([getattr(m, name), np.array([row], getattr(m, name).dtype)])
        for name, row in more.items()
    }


def _without_contact(m: Model, low: int, high: int) -> Arrays:
    """Return the changed fields of a Model in which two bodies make no contact with each other."""
    body = m.geom_bodyid
    pairs = product(np.flatnonzero(body == low).tolist(), np.flatnonzero(body == high).tolist())
    between = {(min(pair), max(pair)) for pair in pairs}
    known = {*between, *map(tuple, m.exclude_geom.tolist())}
    excluded: Ints = np.array(sorted(known), np.int64).reshape(-1, 2)
    left = [pair for pair in m.push_geom.tolist() if tuple(pair) not in between]
    pushing: Ints = np.array(left, np.int64).reshape(-1, 2)
    return {"exclude_geom": excluded, "push_geom": pushing}


def _place(m: Model, link: str) -> Placement:
    if link == WORLD and WORLD not in m.frame_names:
        return Placement(0, np.zeros(3), np.eye(3))
    return _of_frame(m, m.frame_id(link))


def _of_frame(m: Model, frame: int) -> Placement:
    body = int(m.frame_bodyid[frame])
    return Placement(body, m.frame_pos[frame], quat_to_mat(m.frame_quat[frame]))


def _pose(m: Model, d: Data, link: str) -> Pose:
    if link == WORLD and WORLD not in m.frame_names:
        return IN_PLACE
    pos, mat = frame_pose(m, d, link)
    return Pose(tuple(pos.tolist()), tuple(mat_to_quat(mat).tolist()))


def _refused(text: str, element: str) -> ParameterError:
    return ParameterError(Finding("attach", f"attach: {text}", "error", element))
