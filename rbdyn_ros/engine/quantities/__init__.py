# SPDX-License-Identifier: Apache-2.0
"""Quantities that a simulation does not need: terms, frames, momentum, regressors, derivatives."""
