"""What robots touch: where, with which force, and what that does to a step."""
