"""How long the calls of this engine and of its peers take, measured in turns."""
