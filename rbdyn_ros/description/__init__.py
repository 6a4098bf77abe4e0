"""What the author of a robot wrote: readers, builders and checks."""
