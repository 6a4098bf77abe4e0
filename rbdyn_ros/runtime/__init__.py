# SPDX-License-Identifier: Apache-2.0
"""The real-time loop: one compiled function on a thread, and the calls of other threads."""
