# SPDX-License-Identifier: Apache-2.0
"""Write a robot as URDF, SDF, MJCF or a mechanism file, and list what the format lacks."""
