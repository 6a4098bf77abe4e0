# SPDX-License-Identifier: Apache-2.0
"""Contact: points, forces, and their effect on a step.

In points/, obstacles.py, pairs.py and terrain.py find the contact points, contact_list.py lists
them, and start.py writes their velocities and constants. In law/, force.py has the law of a
contact, contact_constants.py its constants, and body_sums.py the sums of forces over bodies. In
solve/, solve_step.py finds the forces of a step with the linearised law (linearise.py), and
convergence.py tests whether they have converged.
"""
