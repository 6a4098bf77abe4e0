"""C99 of what was traced: standalone sources for firmware, with a test and a build file."""
