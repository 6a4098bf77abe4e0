"""Whether a Model can be simulated: what the engine would otherwise have to trust."""
