"""The scene of a robot and its placement at an instant, without a browser."""
