"""The view of a simulation that runs in another process."""
