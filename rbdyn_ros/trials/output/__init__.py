"""Reports and records of a trial."""
