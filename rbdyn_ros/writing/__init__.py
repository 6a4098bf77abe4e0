# SPDX-License-Identifier: Apache-2.0
"""Write a robot as URDF, SDF, MJCF or a mechanism file, and say what the format cannot say."""
