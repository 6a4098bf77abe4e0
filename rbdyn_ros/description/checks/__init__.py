"""Checks of a Description, whichever reader or builder it comes from."""
