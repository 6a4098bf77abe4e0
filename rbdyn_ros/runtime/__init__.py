"""The real-time loop: one compiled function on its own thread, and what other threads share with it."""
