# SPDX-License-Identifier: Apache-2.0
"""Quantities beyond the motion: terms, frames, momentum, regressors, derivatives."""
