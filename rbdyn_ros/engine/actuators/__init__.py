# SPDX-License-Identifier: Apache-2.0
"""Actuators: from a commanded effort to the force on the joint."""
