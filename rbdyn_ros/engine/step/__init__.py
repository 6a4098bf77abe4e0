# SPDX-License-Identifier: Apache-2.0
"""One timestep: its forces, the integrators, and the warnings."""
