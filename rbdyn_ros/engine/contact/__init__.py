"""Contact: points, forces, and their effect on a step.

Read it in this order: obstacles, pairs and terrain find points, which contact_list lists; start
writes what law needs; linearise makes the law linear, body_sums adds it up for the dynamics, and
solve_step finds the forces of a step with it.
"""
