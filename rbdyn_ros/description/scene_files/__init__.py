# SPDX-License-Identifier: Apache-2.0
"""Scene files: robots, free objects and obstacles in YAML."""
