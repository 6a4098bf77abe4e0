# SPDX-License-Identifier: Apache-2.0
"""Textbook algorithms in plain NumPy, to check the engine and to learn from.

Vectors are in link coordinates unless a file says otherwise. Sources: R. Featherstone, Rigid Body
Dynamics Algorithms (RBDA), Springer 2008; S. Kajita et al., Introduction to Humanoid Robotics,
Springer 2014.
"""
