# SPDX-License-Identifier: Apache-2.0
"""Scenes of robots and objects, joined to one description."""
