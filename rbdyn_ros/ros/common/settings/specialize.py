# SPDX-License-Identifier: Apache-2.0
"""The parameter `specialize` of both nodes: compile code for the robot when the node starts."""

import time
from collections.abc import Callable
from typing import TypeVar

from rclpy.node import Node

from rbdyn_ros.errors import Finding, ModelError, ParameterError

T = TypeVar("T")


def specialized(node: Node, what: str, compile_code: Callable[[], T]) -> T:
    """Compile code for the robot; log the duration.

    Args:
        node: node that logs.
        what: beginning of the log line, before the duration.
        compile_code: returns the code, or raises ModelError.

    Raises:
        ParameterError: the robot cannot be specialised.
    """
    began = time.perf_counter()
    try:
        code = compile_code()
    except ModelError as error:
        text = f"parameter 'specialize' is true, but {error}"
        raise ParameterError(Finding("specialize", text, "error", "specialize")) from error
    node.get_logger().info(f"{what} in {time.perf_counter() - began:.2f} s")
    return code
