# SPDX-License-Identifier: Apache-2.0
"""Read robots and worlds from SDF, the format of Gazebo, versions 1.4 to 1.12."""
