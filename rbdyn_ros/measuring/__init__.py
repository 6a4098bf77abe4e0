# SPDX-License-Identifier: Apache-2.0
"""The time of calls of this engine and of its peers, measured in turns."""
