# SPDX-License-Identifier: Apache-2.0
"""Robots built in Python: SystemBuilder, Denavit-Hartenberg chains, homogeneous bodies."""

from rbdyn_ros.description.build import dh as dh
from rbdyn_ros.description.build import shapes as shapes
