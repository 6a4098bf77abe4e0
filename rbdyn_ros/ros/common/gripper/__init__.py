# SPDX-License-Identifier: Apache-2.0
"""Grippers that move one joint, and their actions."""
