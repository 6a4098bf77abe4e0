# SPDX-License-Identifier: Apache-2.0
"""Paths of joints and of a frame: planning, sampling, following and joining them."""
