"""Scene files: robots, free objects and obstacles in YAML."""
