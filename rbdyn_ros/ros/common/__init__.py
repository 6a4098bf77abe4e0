# SPDX-License-Identifier: Apache-2.0
"""Shared by both nodes: life cycle, parameters, messages, recording."""
