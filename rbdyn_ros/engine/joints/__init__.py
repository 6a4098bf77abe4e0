"""The joint library. No other part of the engine depends on joint types."""
