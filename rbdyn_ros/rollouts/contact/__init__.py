# SPDX-License-Identifier: Apache-2.0
"""Programs for contact in lanes (robots side by side): points, joint stops, solver, checks."""
