"""The appearance of a robot: the shapes and colors of its visual elements."""
