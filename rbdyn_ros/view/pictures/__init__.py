# SPDX-License-Identifier: Apache-2.0
"""Pictures, plots and films of robots, with matplotlib."""
