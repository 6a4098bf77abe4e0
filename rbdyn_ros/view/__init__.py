"""Pictures of a Model and of its motion; drawn to files, without a display."""
