# SPDX-License-Identifier: Apache-2.0
"""Refuse paths on which an arm would touch itself or its world."""
