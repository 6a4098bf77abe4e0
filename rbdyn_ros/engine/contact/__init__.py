# SPDX-License-Identifier: Apache-2.0
"""Contact: points, forces, and their effect on a step.

In points/, obstacles, pairs and terrain find points, which contact_list lists; start writes
velocities and, with contact_constants, the constants of the law. In law/, force has the law, and
body_sums adds it up for the dynamics. In solve/, linearise makes the law linear, and solve_step
finds the forces of a step, until the test in convergence shows that they are exact.
"""
