"""Many robots of one Model at once: different starts, parameters and controls, on all cores."""
