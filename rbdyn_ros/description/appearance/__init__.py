"""The appearance of a robot: the shapes and colours of its visual elements."""
