# SPDX-License-Identifier: Apache-2.0
"""Algorithms of textbooks in plain NumPy, for checking the engine and for learning.

Vectors are in link coordinates unless a file says otherwise. Sources: R. Featherstone, Rigid Body
Dynamics Algorithms (RBDA), Springer 2008; S. Kajita et al., Introduction to Humanoid Robotics,
Springer 2014.
"""
