# SPDX-License-Identifier: Apache-2.0
"""Many robots of one Model at once: different starts, parameters and controls, on all cores."""
