# SPDX-License-Identifier: Apache-2.0
"""Topics of lidars, range sensors and cameras."""
