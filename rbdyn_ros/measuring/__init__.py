# SPDX-License-Identifier: Apache-2.0
"""Time calls of this engine and of other engines in turns."""
