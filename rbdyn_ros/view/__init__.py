# SPDX-License-Identifier: Apache-2.0
"""Pictures and films of robots, and views in the browser."""
