"""The node arm_controller."""
