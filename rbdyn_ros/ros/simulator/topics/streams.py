# SPDX-License-Identifier: Apache-2.0
"""Topics on which compiled code publishes, through the C library rcl below rclpy."""

import ctypes
import functools
import os

import numpy as np
from rclpy.publisher import Publisher

from rbdyn_ros.arrays import Ints
from rbdyn_ros.ros.common.parsing.convert import Prepared
from rbdyn_ros.runtime.stream import StreamTopic

#: Number of words of rcl_serialized_message_t: address of the bytes, length, capacity, and five
#: words of an allocator, which publishing does not use.
NMESSAGE = 8


@functools.cache
def _publish_function() -> int:
    """Return the address of rcl_publish_serialized_message in rclpy's library; 0: not found."""
    try:
        # use the library that rclpy has loaded, not one of another ROS 2
        library = ctypes.CDLL("librcl.so", os.RTLD_NOLOAD)
        found = library.rcl_publish_serialized_message
    except (OSError, AttributeError):
        return 0
    return ctypes.cast(found, ctypes.c_void_p).value or 0


def stream_topic(
    publisher: Publisher,  # type: ignore[type-arg]  # it is generic only in newer ROS 2
    prepared: Prepared,
    every: int,
    picks: Ints,
    of_measurement: bool,
) -> StreamTopic | None:
    """Return a topic for compiled code, or None if only Python can publish it.

    Args:
        publisher: publisher of the topic.
        prepared: message of the topic.
        every: period [ticks].
        picks: indices of the message's numbers in the row of a state.
        of_measurement: whether the message has the stamp of the measurement, not of the state.
    """
    function = _publish_function()
    if type(publisher).publish is not Publisher.publish or not function:
        return None
    content = np.frombuffer(prepared.content, np.uint8)
    message = np.zeros(NMESSAGE, np.int64)
    message[:3] = content.ctypes.data, len(content), len(content)
    return StreamTopic(
        function,
        publisher.handle.pointer,
        message,
        prepared.content,
        of_measurement,
        every,
        prepared.stamps,
        prepared.doubles,
        picks,
    )
