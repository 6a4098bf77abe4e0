"""Pictures, plots and films of robots, with matplotlib."""
