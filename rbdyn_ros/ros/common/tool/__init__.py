# SPDX-License-Identifier: Apache-2.0
"""The tool of an arm on topics: twists, its marker and external wrenches."""
