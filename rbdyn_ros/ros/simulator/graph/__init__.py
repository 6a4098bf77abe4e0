# SPDX-License-Identifier: Apache-2.0
"""Other nodes: simulators with the same topics, publishers of /clock, and of the same states."""
