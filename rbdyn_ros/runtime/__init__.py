"""The real-time loop: one compiled function on a thread, and what others share with it."""
