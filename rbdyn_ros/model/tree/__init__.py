# SPDX-License-Identifier: Apache-2.0
"""From links and joints to the arrays of the spanning tree and its constraints."""
