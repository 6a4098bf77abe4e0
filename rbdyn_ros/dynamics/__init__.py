# SPDX-License-Identifier: Apache-2.0
"""The public functions of (m, d): stages, configurations, joints, loads, and the toolbox."""
