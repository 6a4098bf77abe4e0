# SPDX-License-Identifier: Apache-2.0
"""The compiled functions of the loop; cycle.py calls the functions of all other modules."""
