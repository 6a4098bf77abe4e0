# SPDX-License-Identifier: Apache-2.0
"""Robot descriptions: data types, readers of URDF and mechanism files, builders, checks."""
