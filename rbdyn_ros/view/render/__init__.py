# SPDX-License-Identifier: Apache-2.0
"""Pictures as a camera sees them, without a display: OpenGL through EGL."""
