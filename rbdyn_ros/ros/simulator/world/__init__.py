# SPDX-License-Identifier: Apache-2.0
"""The objects and obstacles around a robot: they are added, deleted and moved at run time."""
