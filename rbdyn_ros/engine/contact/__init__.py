"""Contact: points, forces, and their effect on a step.

Read it in this order: obstacles, pairs and terrain find points, which contact_list lists; start
writes velocities and, with contact_constants, the constants of law; linearise makes the law
linear, and body_sums adds it up for the dynamics; solve_step finds the forces of a step with
them, until convergence says that they are exact.
"""
