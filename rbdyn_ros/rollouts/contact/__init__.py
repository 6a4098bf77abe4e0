# SPDX-License-Identifier: Apache-2.0
"""Programs for lanes (robots side by side) with contact: points, joint stops, solver, checks."""
