"""The points of contact: where bodies touch in a step, listed, remembered and started."""
