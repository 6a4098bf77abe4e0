# SPDX-License-Identifier: Apache-2.0
"""The process of a node: its lifecycle states, its signals and its end."""
