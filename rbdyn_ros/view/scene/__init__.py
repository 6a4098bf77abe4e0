"""What is shown of a robot, and where it is at an instant; no browser."""
