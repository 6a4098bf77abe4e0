"""The solution of a step with contacts."""
