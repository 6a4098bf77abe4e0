# SPDX-License-Identifier: Apache-2.0
"""Show an identified robot: as text, as a figure, in a URDF."""
