# SPDX-License-Identifier: Apache-2.0
"""One simulated robot with its loop, and all robots of a process together."""
