# SPDX-License-Identifier: Apache-2.0
"""Read URDF files: prune, parse and repair them."""
