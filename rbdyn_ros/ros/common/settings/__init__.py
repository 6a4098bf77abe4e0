# SPDX-License-Identifier: Apache-2.0
"""Parameters of the nodes and of their launch files."""
