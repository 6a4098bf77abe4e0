# SPDX-License-Identifier: Apache-2.0
"""Dry friction and limits of joints, solved exactly in each step."""
