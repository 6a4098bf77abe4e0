"""What was identified: as text, as a figure, in a URDF."""
