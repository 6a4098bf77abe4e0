# SPDX-License-Identifier: Apache-2.0
"""Time calls to this engine and to other engines in turns."""
