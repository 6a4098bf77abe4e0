"""Other nodes: simulators with the same topics, publishers of /clock, and of the same states."""
