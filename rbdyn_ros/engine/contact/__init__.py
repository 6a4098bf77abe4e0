"""Contact: points, forces, and their effect on a step."""
