# SPDX-License-Identifier: Apache-2.0
"""Ray casting: the points at which rays hit shapes."""
