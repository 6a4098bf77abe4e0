# SPDX-License-Identifier: Apache-2.0
"""How long the calls of this engine and of its peers take, measured in turns."""
