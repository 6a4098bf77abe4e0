# SPDX-License-Identifier: Apache-2.0
"""The real-time loop: a compiled function on a thread, and functions for other threads."""
