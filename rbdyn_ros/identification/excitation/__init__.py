# SPDX-License-Identifier: Apache-2.0
"""Motions to record: well conditioned for identification, or sweeps at constant speeds."""
