"""Control laws: from a state and a target to efforts."""
