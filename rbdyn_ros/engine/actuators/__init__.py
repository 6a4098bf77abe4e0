# SPDX-License-Identifier: Apache-2.0
"""Actuators: what becomes of a commanded effort on its way to the joint."""
