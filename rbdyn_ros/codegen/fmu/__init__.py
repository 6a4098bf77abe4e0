# SPDX-License-Identifier: Apache-2.0
"""Wrap the generated C of a robot as an FMU: a co-simulation with torques in and states out."""
