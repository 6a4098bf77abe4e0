# SPDX-License-Identifier: Apache-2.0
"""Layouts of RViz, Foxglove and PlotJuggler for the topics of one simulated robot."""
