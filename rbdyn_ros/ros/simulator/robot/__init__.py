"""One simulated robot with its loop, and all robots of a process together."""
