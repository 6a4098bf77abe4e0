# SPDX-License-Identifier: Apache-2.0
"""Shared parts of the readers of XML: elements of SDF, and notes on unread elements."""
