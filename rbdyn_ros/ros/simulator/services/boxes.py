# SPDX-License-Identifier: Apache-2.0
"""Services for what a person does at a control box: user stop, guiding and reboot.

The protocols of the boxes have no commands for these actions.
"""

from collections.abc import Callable
from concurrent.futures import TimeoutError as NotDone
from functools import partial
from typing import TypeVar

from rclpy.exceptions import NameValidationException
from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from rbdyn_ros.control_box.box import ControlBox
from rbdyn_ros.control_box.boxes import Boxes
from rbdyn_ros.errors import quote, refusal
from rbdyn_ros.ros.common.reports.answer import serve

#: Longest wait for a box [s], which may be waiting for its client in lock-step.
PATIENCE = 5.0

T = TypeVar("T")


def offer(node: Node, boxes: Boxes) -> None:
    """Offer ~/user_stop, ~/guiding and ~/reboot; with several arms ~/ROBOT/user_stop and so on.

    Raises:
        RbdynError: the name of a robot cannot be part of the name of a service.
    """
    for prefix, box in boxes.by_prefix.items():
        _offer(node, prefix, box)


def _offer(node: Node, prefix: str, box: ControlBox) -> None:
    try:
        serve(node, SetBool, f"~/{prefix}user_stop", partial(_stop, box))
        serve(node, SetBool, f"~/{prefix}guiding", partial(_guide, box))
        serve(node, Trigger, f"~/{prefix}reboot", partial(_reboot, box))
    except NameValidationException as error:
        name = quote(prefix.removesuffix("/"))
        raise refusal(
            f"robot {name} has a control box with ROS services, so its name must consist of "
            "letters, digits and underscores, and begin with a letter"
        ) from error


def _stop(box: ControlBox, request: SetBool.Request, _: SetBool.Response) -> str:
    _done(box, lambda: box.robot.press_user_stop(request.data))
    return f"the user stop is {'pressed' if request.data else 'released'}"


def _guide(box: ControlBox, request: SetBool.Request, _: SetBool.Response) -> str:
    if not _done(box, lambda: box.robot.guide(request.data)):
        raise refusal(
            "only an idle arm can be guided; this arm moves, is stopped, or has an error"
        )
    return "the arm is guided by hand" if request.data else "the arm holds its position"


def _reboot(box: ControlBox, _request: Trigger.Request, _: Trigger.Response) -> str:
    _done(box, box.reboot)
    return "the box has rebooted; clients have to connect again"


def _done(box: ControlBox, action: Callable[[], T]) -> T:
    """Do an action between two cycles of a box; raise RbdynError if the box does not answer."""
    done = box.do(action)
    try:
        return done.result(PATIENCE)
    except NotDone:
        done.cancel()
        text = f"the box did not answer within {PATIENCE:g} s; it waits for its client"
        raise refusal(text) from None
