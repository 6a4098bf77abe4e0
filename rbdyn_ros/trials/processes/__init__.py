# SPDX-License-Identifier: Apache-2.0
"""Processes that simulate runs of a trial."""
