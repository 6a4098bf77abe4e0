# SPDX-License-Identifier: Apache-2.0
"""One timestep: the law of its forces, the integrators, and its warnings."""
