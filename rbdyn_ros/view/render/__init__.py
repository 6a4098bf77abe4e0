"""Pictures as a camera sees them, without a display: OpenGL through EGL."""
