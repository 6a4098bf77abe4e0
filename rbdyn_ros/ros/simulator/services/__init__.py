# SPDX-License-Identifier: Apache-2.0
"""The services and the view of the simulator: they check requests and change the simulation."""
