# SPDX-License-Identifier: Apache-2.0
"""Measured states of an arm, and the safety gate that checks each of them."""
