"""What each joint type does. Nothing else in the engine asks for a type."""
