# SPDX-License-Identifier: Apache-2.0
"""Recordings, and their conversion to motions."""
