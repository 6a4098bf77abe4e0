# SPDX-License-Identifier: Apache-2.0
"""The appearance of a robot: the shapes and colors of its visual elements."""
