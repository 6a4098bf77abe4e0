# SPDX-License-Identifier: Apache-2.0
"""Topics of sensors with rays: lidars, range sensors and cameras."""
