"""Fuzz the readers of files from outside, and rows of Data: `make fuzz`."""
