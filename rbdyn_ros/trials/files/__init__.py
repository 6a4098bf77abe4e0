"""Read trial files."""
