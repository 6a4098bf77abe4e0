# SPDX-License-Identifier: Apache-2.0
"""Read files and text that may come from anybody: size, paths, XML, xacro."""
