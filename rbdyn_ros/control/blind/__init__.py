"""An arm whose states cannot be believed: how that is noticed, and how it is stopped."""
