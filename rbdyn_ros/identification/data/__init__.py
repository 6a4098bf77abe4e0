# SPDX-License-Identifier: Apache-2.0
"""Recordings, and the motions that they become."""
