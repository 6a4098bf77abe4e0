"""Measurements against the peers; run `python -m benchmarks --help`."""
