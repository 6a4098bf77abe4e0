# SPDX-License-Identifier: Apache-2.0
"""Draw pictures as a camera sees them, without a display: OpenGL through EGL."""
