# SPDX-License-Identifier: Apache-2.0
"""Read MJCF, the format of MuJoCo."""
