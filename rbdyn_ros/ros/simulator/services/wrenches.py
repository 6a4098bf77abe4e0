# SPDX-License-Identifier: Apache-2.0
"""Convert messages with external wrenches to wrenches for the loop."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.checks.names import chosen, one_of
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.errors import quote, refusal
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.tree.rotation import quat_to_mat
from rbdyn_ros.nanoseconds import NANOSECONDS, nanoseconds
from rbdyn_ros.ros.common.parsing.convert import vector_numbers
from rbdyn_ros.ros.common.parsing.magnitudes import REQUEST
from rbdyn_ros.runtime.types import Wrench

AXES = ("link", "world")
MAX_DURATION = 3600.0  # longest duration [s]
MAX_SIZE = 1e6  # largest force and torque [N, N m]; a larger wrench is a mistake
MAX_REACH = 1e3  # largest distance of the point from the origin of the link [m]


def wrench_on(
    m: Model,
    link: str,
    point: ArrayLike,
    force: ArrayLike,
    torque: ArrayLike,
    axes: str,
    duration: float,
) -> Wrench:
    """Return a wrench on a link for the loop.

    Args:
        m: the robot.
        link: name of the link.
        point: (3,) point of application, in the frame of the link [m].
        force: (3,) the force [N].
        torque: (3,) the torque about the point [N m].
        axes: axes of force and torque: "link" or "world".
        duration: how long the wrench acts [s].

    Raises:
        RbdynError: a number, the link or the axes are refused.
    """
    p = finite("the point", point, (3,), -MAX_REACH, MAX_REACH, **REQUEST)
    f = finite("the force", force, (3,), -MAX_SIZE, MAX_SIZE, **REQUEST)
    n = finite("the torque", torque, (3,), -MAX_SIZE, MAX_SIZE, **REQUEST)
    time = finite("the duration", duration, high=MAX_DURATION, above=0.0, **REQUEST)
    chosen([link], m.frame_names, "link", **REQUEST)
    one_of("axes", axes, AXES, **REQUEST)
    k = m.frame_numbers[link]
    body = int(m.frame_bodyid[k])
    if body == 0:
        raise refusal(f"link '{link}' is fixed to the world, so a wrench on it has no effect")
    R = quat_to_mat(m.frame_quat[k])
    in_body = axes == "link"
    return Wrench(
        body=body,
        point=m.frame_pos[k] + R @ p,
        force=R @ f if in_body else f,
        torque=R @ n if in_body else n,
        in_body=in_body,
        duration=time,
    )


def wrench_of_request(m: Model, request: Any) -> Wrench:
    """Return the wrench of an rbdyn_interfaces/ApplyWrench request."""
    return wrench_on(
        m,
        request.link,
        vector_numbers(request.point),
        vector_numbers(request.wrench.force),
        vector_numbers(request.wrench.torque),
        request.axes,
        nanoseconds(request.duration) / NANOSECONDS,
    )


def wrench_of_message(m: Model, message: Any, duration: float, prefix: str = "") -> Wrench:
    """Return the wrench in a geometry_msgs/WrenchStamped.

    It acts on the link of the message's frame, at the origin and in the axes of this link.

    Args:
        m: the robot.
        message: the WrenchStamped.
        duration: how long the wrench acts [s].
        prefix: prefix of the names of links in TF.
    """
    link = link_of(message.header.frame_id, prefix)
    force, torque = map(vector_numbers, (message.wrench.force, message.wrench.torque))
    return wrench_on(m, link, np.zeros(3), force, torque, "link", duration)


def link_of(frame: str, prefix: str) -> str:
    """Return the name of the link of a TF frame; RbdynError if the frame lacks the prefix."""
    if not frame.startswith(prefix):
        found = f"the frame {quote(frame)} does not belong to this robot"
        raise refusal(f"{found}, whose frames begin with '{prefix}'")
    return frame[len(prefix) :]
