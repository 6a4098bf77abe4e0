# SPDX-License-Identifier: Apache-2.0
"""Topics of what rays measure: lidars, range sensors and cameras."""
