# SPDX-License-Identifier: Apache-2.0
"""What was identified: as text, as a figure, in a URDF."""
