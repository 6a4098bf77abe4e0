"""Contact: points, forces, and their effect on a step.

The order to read it in: obstacles, pairs and terrain find points, which contact_list lists; memory
recalls their forces; start writes what law needs; linearise makes the law linear, and solve_step
finds the forces of a step with it.
"""
