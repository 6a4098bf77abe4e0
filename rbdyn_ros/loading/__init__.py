# SPDX-License-Identifier: Apache-2.0
"""From a file to a Model that can be simulated, and from a Model to a file."""
