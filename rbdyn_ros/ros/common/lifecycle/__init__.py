# SPDX-License-Identifier: Apache-2.0
"""The life of a node's process: its states, its signals and its end."""
