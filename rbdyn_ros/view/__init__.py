"""Pictures and films of robots, and views in the browser."""
