# SPDX-License-Identifier: Apache-2.0
"""An interactive marker of a tool for RViz: while the mouse drags the marker, the tool follows.

As in interactive_markers the topics are ~/tool_marker/update, ~/tool_marker/feedback and the
service ~/tool_marker/get_interactive_markers.
"""

import importlib
import math
import threading
import time
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from rclpy.node import Node

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.motion.servoing import towards
from rbdyn_ros.errors import quote, refusal
from rbdyn_ros.model.tree.rotation import mat_to_quat, quat_to_mat
from rbdyn_ros.ros.common.graph.qos import SERVICES, reliable
from rbdyn_ros.ros.common.parsing.convert import fill_vector, xyzw
from rbdyn_ros.ros.common.parsing.magnitudes import check_pose
from rbdyn_ros.ros.common.reports.answer import MessageLog

NAME, TOPIC = "tool", "~/tool_marker"
#: A drag ends if no pose has arrived for this time [s]; RViz sends a pose at least every 0.25 s.
LOST = 0.6
#: Interval of the updates of a marker that is not dragged [s].
PERIOD = 0.1
#: Size of the handles [m].
SCALE = 0.2
#: Rate at which the tool approaches the marker [1/s], and largest share of the distance that one
#: twist may cover, because the next twist may be late.
GAIN, SHARE = 4.0, 0.5
#: Orientations wxyz of the handles, which rotate the x axis to the x, z and y axis.
_AXES = {
    "x": (math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0),
    "z": (math.sqrt(0.5), 0.0, math.sqrt(0.5), 0.0),
    "y": (math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5)),
}


@dataclass(frozen=True, slots=True)
class DragGoal:
    """Pose of a dragged marker: position (3,) [m], rotation (3, 3), time [s] and client."""

    place: Array
    R: Array
    since: float
    client: str


class ToolMarker:
    """Serves the marker of a tool; only one thread may call `twist` and `show`.

    Args:
        node: node that serves the marker.
        frame: frame of the marker's poses.
        log: counts and logs refused messages.
        timeout: time after which a twist expires [s].

    Raises:
        ImportError: visualization_msgs is not installed.
    """

    def __init__(self, node: Node, frame: str, log: MessageLog, timeout: float) -> None:
        self._gain = min(GAIN, SHARE / timeout)
        self._msg = importlib.import_module("visualization_msgs.msg")
        srv = importlib.import_module("visualization_msgs.srv")
        self._frame, self._count, self._due = frame, 0, -math.inf
        self._goal: DragGoal | None = None
        self._lock = threading.Lock()  # guards _goal
        self._led = False  # whether the last `twist` moved the tool towards a goal
        self._pose = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
        self._updates = node.create_publisher(
            self._msg.InteractiveMarkerUpdate, f"{TOPIC}/update", reliable(100)
        )
        log.subscribe(
            node, self._msg.InteractiveMarkerFeedback, f"{TOPIC}/feedback", self._on_feedback
        )
        node.create_service(
            srv.GetInteractiveMarkers,
            f"{TOPIC}/get_interactive_markers",
            self._on_request,
            qos_profile=SERVICES,
        )

    def twist(self, place: Array, R: Array) -> Array | None:
        """Return the twist (6,) of the tool towards the dragged marker, or None without a drag.

        At the end of a drag the twist is zero once, so that the tool stops at once.

        Args:
            place: (3,) position of the tool in the frame of the marker [m].
            R: (3, 3) rotation of the tool in this frame.
        """
        goal = self._present()
        led, self._led = self._led, goal is not None
        if goal is None:
            return np.zeros(6) if led else None
        return towards(place, R, goal.place, goal.R, self._gain)

    def _present(self) -> DragGoal | None:
        """Return the pose of the dragged marker; None without a drag, or if RViz is silent."""
        with self._lock:
            if self._goal is not None and time.monotonic() - self._goal.since > LOST:
                self._goal = None
            return self._goal

    def drop(self) -> None:
        """End a drag, so that the tool does not follow it any more."""
        with self._lock:
            self._goal, self._led = None, False

    def show(self, place: Array, R: Array) -> None:
        """Move the marker to the tool, unless it is dragged; arguments as for `twist`."""
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + PERIOD
        self._pose = place.copy(), mat_to_quat(R)
        update = self._msg.InteractiveMarkerUpdate(server_id=NAME, seq_num=self._count)
        if self._goal is None:
            self._count += 1
            update.seq_num, update.type = self._count, update.UPDATE
            pose = self._msg.InteractiveMarkerPose(name=NAME)
            pose.header.frame_id = self._frame
            self._fill(pose.pose)
            update.poses = [pose]
        else:
            update.type = update.KEEP_ALIVE
        self._updates.publish(update)

    def _on_feedback(self, message: Any) -> None:
        """Store the pose of a dragged marker; a released button ends the drag."""
        if message.marker_name != NAME:
            return
        goal, client = self._present(), message.client_id
        if goal is not None and goal.client != client:  # another RViz drags the marker
            return
        if message.event_type == message.MOUSE_UP:
            self._set(None)
            return
        if message.event_type not in (message.POSE_UPDATE, message.KEEP_ALIVE):
            return
        if message.event_type == message.KEEP_ALIVE and goal is None:
            return
        found = message.header.frame_id
        if found not in ("", self._frame):
            text = f"the marker is in frame {quote(found)}; allowed is {quote(self._frame)}"
            raise refusal(f"{text}, the frame that it was sent in")
        p, q = message.pose.position, message.pose.orientation
        place, quat = (p.x, p.y, p.z), (q.w, q.x, q.y, q.z)
        check_pose(place, quat)
        R = quat_to_mat(np.array(quat) / np.linalg.norm(quat))
        self._set(DragGoal(np.array(place), R, time.monotonic(), client))

    def _set(self, goal: DragGoal | None) -> None:
        with self._lock:
            self._goal = goal

    def _on_request(self, _request: Any, response: Any) -> Any:
        response.sequence_number, response.markers = self._count, [self._marker()]
        return response

    def _marker(self) -> Any:
        """Return the marker, with handles to move along each axis and to rotate about it."""
        marker = self._msg.InteractiveMarker(name=NAME, scale=SCALE, description="tool")
        marker.header.frame_id = self._frame
        self._fill(marker.pose)
        for axis, quat in _AXES.items():
            for what in ("MOVE", "ROTATE"):
                control = self._msg.InteractiveMarkerControl(name=f"{what.lower()}_{axis}")
                control.interaction_mode = getattr(control, f"{what}_AXIS")
                fill_vector(control.orientation, xyzw(quat).tolist())
                marker.controls.append(control)
        return marker

    def _fill(self, pose: Any) -> None:
        place, quat = self._pose
        fill_vector(pose.position, place.tolist())
        fill_vector(pose.orientation, xyzw(quat).tolist())


def open_marker(
    node: Node, values: SimpleNamespace, frame: str, log: MessageLog
) -> ToolMarker | None:
    """Return the marker; None if it is off or visualization_msgs is missing. See ToolMarker."""
    if not getattr(values, "servo.marker"):
        return None
    try:
        return ToolMarker(node, frame, log, getattr(values, "servo.timeout"))
    except ImportError:
        node.get_logger().warning(f"visualization_msgs is not installed: no {TOPIC}")
        return None
