"""Commands of `rbdyn`, one a file."""
